//! A kernel's trace: opened, looked through once, ready to be run.

use crate::cta::{Body, CtaReader, Event};
use crate::line::{Addresses, Layout, addresses};
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
    /// Accesses to global memory in which the first lane's address is below 64 KiB.
    pub accesses_near_zero: u64,
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
        let mut list = [0; WARP_LANES];
        let found =
            if line.width == 0 { Ok(Addresses::Absent) } else { addresses(&mut line.rest, line.mask, &mut list) };
        match found.map_err(|expected| self.body.expected(expected))? {
            Addresses::Absent => self.oddities.accesses_without_address += 1,
            Addresses::Affine { base, .. } => self.note_address(mem.space, base),
            Addresses::List => self.note_address(mem.space, list[0]),
        }
        Ok(at)
    }

    fn note_address(&mut self, space: isa::Space, address: u64) {
        let near_zero = space == isa::Space::Global && address < NEAR_ZERO;
        self.oddities.accesses_near_zero += u64::from(near_zero);
    }
}
