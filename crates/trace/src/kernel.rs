//! A kernel's trace: opened, looked through once, ready to be run.

use crate::cta::{Body, CtaReader, Event};
use crate::line::{ADDRESS_BITS, Addresses, Layout, addresses, is_sane};
use crate::program::{InstIndex, InstTable};
use crate::source::Lines;
use crate::{Header, TraceError};
use isa::Program;
use kit::WARP_LANES;
use sass::meaning::Generation;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An opcode that no table has; it is timed as an integer operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownOpcode {
    /// Without modifiers.
    pub opcode: String,
    /// Warp instructions with it.
    pub count: u64,
}

/// What is odd about a trace without making it useless.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Oddities {
    /// Opcodes in no table.
    pub unknown_opcodes: Vec<UnknownOpcode>,
    /// Accesses by active lanes without addresses; they are taken to access address 0.
    pub accesses_without_address: u64,
    /// Accesses to global memory, by their opcode or by their first lane's address, in which a lane's
    /// address is below 64 KiB.
    pub accesses_near_zero: u64,
    /// Accesses with addresses of more than 57 bits, which no GPU has; the rest is cut off.
    pub accesses_beyond_memory: u64,
    /// Warps whose last instruction is not an EXIT.
    pub warps_without_exit: u64,
}

impl Oddities {
    /// Adds those of another trace of the kernel.
    pub fn add(&mut self, other: &Self) {
        for unknown in &other.unknown_opcodes {
            match self.unknown_opcodes.iter_mut().find(|u| u.opcode == unknown.opcode) {
                Some(same) => same.count += unknown.count,
                None => self.unknown_opcodes.push(unknown.clone()),
            }
        }
        self.accesses_without_address += other.accesses_without_address;
        self.accesses_near_zero += other.accesses_near_zero;
        self.accesses_beyond_memory += other.accesses_beyond_memory;
        self.warps_without_exit += other.warps_without_exit;
    }
}

/// A kernel's trace.
#[derive(Debug)]
pub struct KernelTrace {
    path: PathBuf,
    /// What its head says.
    pub header: Header,
    /// Its static instructions.
    pub program: Arc<Program>,
    /// What is odd about it.
    pub oddities: Oddities,
    /// Warp instructions in all.
    pub warp_instructions: u64,
    /// Thread instructions in all.
    pub thread_instructions: u64,
    pub(crate) table: InstTable,
}

/// Addresses below this are no device memory of any process.
const NEAR_ZERO: u64 = 64 << 10;

impl KernelTrace {
    /// Reads the trace at `path` through: its head, its static instructions, whether it is whole.
    ///
    /// # Errors
    /// A file that cannot be read, is damaged, or does not have the CTAs that its grid has.
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        let mut lines = Lines::open(path)?;
        let header = Header::read(&mut lines)?;
        let generation = Generation::of(header.binary_version);
        let mut scan = Scan {
            body: Body::new(lines, Layout::of(&header)),
            table: InstTable::new(generation),
            oddities: Oddities::default(),
            warp_instructions: 0,
            thread_instructions: 0,
            seen: vec![false; header.shape.warps() as usize],
            knows_windows: header.shared_base != 0 && header.local_base != 0,
        };
        let ctas = scan.run()?;
        if ctas != header.shape.ctas() {
            let what = format!("has {ctas} CTAs, its grid {}", header.shape.ctas());
            return Err(TraceError::new(path, 0, what).hint("the trace may be cut short"));
        }
        let program = Arc::new(scan.table.finish(&header));
        let mut oddities = scan.oddities;
        oddities.unknown_opcodes = scan.table.unknown();
        Ok(Self {
            path: path.to_owned(),
            program,
            oddities,
            warp_instructions: scan.warp_instructions,
            thread_instructions: scan.thread_instructions,
            table: scan.table,
            header,
        })
    }

    /// Generation of its machine code.
    pub fn generation(&self) -> Generation {
        Generation::of(self.header.binary_version)
    }

    /// Reads it again from its first CTA.
    pub(crate) fn ctas(&self) -> Result<CtaReader, TraceError> {
        let mut lines = Lines::open(&self.path)?;
        let header = Header::read(&mut lines)?;
        let body = Body::new(lines, Layout::of(&header));
        Ok(CtaReader::new(body, self.header.shape.warps() as usize))
    }
}

/// The first pass over a body.
struct Scan {
    body: Body,
    table: InstTable,
    oddities: Oddities,
    warp_instructions: u64,
    thread_instructions: u64,
    /// Warps of the present CTA that have instructions.
    seen: Vec<bool>,
    /// The trace says where the windows of generic addresses are.
    knows_windows: bool,
}

impl Scan {
    /// Returns the number of CTAs.
    fn run(&mut self) -> Result<u64, TraceError> {
        let mut ctas = 0;
        let mut previous: InstIndex = InstIndex::MAX;
        let mut in_warp = false;
        while let Some(event) = self.body.next()? {
            if !matches!(event, Event::Inst) && std::mem::take(&mut in_warp) {
                self.end_warp(previous);
            }
            match event {
                Event::Begin => {
                    ctas += 1;
                    self.seen.fill(false);
                }
                Event::Warp(warp) => {
                    self.begin_warp(warp)?;
                    previous = InstIndex::MAX;
                    in_warp = true;
                }
                Event::Inst => previous = self.instruction(previous)?,
                Event::End => {
                    if let Some(warp) = self.seen.iter().position(|seen| !seen) {
                        return Err(self.body.error(format!("the CTA has no instructions of warp {warp}")));
                    }
                }
            }
        }
        Ok(ctas)
    }

    fn begin_warp(&mut self, warp: u32) -> Result<(), TraceError> {
        let warps = self.seen.len();
        match self.seen.get_mut(warp as usize) {
            None => Err(self.body.error(format!("warp {warp} of a CTA that has {warps}"))),
            Some(true) => Err(self.body.error(format!("warp {warp} comes twice in its CTA"))),
            Some(seen) => {
                // Without any instruction it could never end.
                *seen = self.body.announced() > 0;
                Ok(())
            }
        }
    }

    fn end_warp(&mut self, last: InstIndex) {
        let exits = last != InstIndex::MAX && self.table.meaning(last).control == isa::Control::Exit;
        self.oddities.warps_without_exit += u64::from(!exits);
    }

    #[inline]
    fn instruction(&mut self, previous: InstIndex) -> Result<InstIndex, TraceError> {
        let mut line = self.body.line()?;
        let at = self.table.intern(&line, previous).map_err(|expected| self.body.expected(expected))?;
        self.warp_instructions += 1;
        self.thread_instructions += u64::from(line.mask.count_ones());
        let Some(mem) = self.table.meaning(at).mem else { return Ok(at) };
        if line.mask == 0 {
            return Ok(at);
        }
        let lanes = line.mask.count_ones();
        let mut list = [0; WARP_LANES];
        let found =
            if line.width == 0 { Ok(Addresses::Absent) } else { addresses(&mut line.rest, line.mask, &mut list) };
        match found.map_err(|expected| self.body.expected(expected))? {
            Addresses::Absent => self.oddities.accesses_without_address += 1,
            Addresses::Affine { base, stride } => {
                let last = base.wrapping_add_signed(stride.wrapping_mul(i64::from(lanes) - 1));
                self.note_addresses(mem.space, base.min(last), !is_sane(base, stride, lanes));
            }
            Addresses::List => {
                let list = &list[..lanes as usize];
                let (low, bits) = list.iter().fold((u64::MAX, 0), |(low, bits), &a| (low.min(a), bits | a));
                self.note_addresses(mem.space, low, bits >> ADDRESS_BITS != 0);
            }
        }
        Ok(at)
    }

    /// Notes what is odd about an access whose lowest address is `low`.
    fn note_addresses(&mut self, space: isa::Space, low: u64, beyond: bool) {
        let off_chip = match space {
            isa::Space::Global => true,
            isa::Space::Generic => self.knows_windows,
            _ => false,
        };
        self.oddities.accesses_near_zero += u64::from(off_chip && low < NEAR_ZERO);
        self.oddities.accesses_beyond_memory += u64::from(beyond);
    }
}
