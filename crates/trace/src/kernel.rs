//! A kernel's trace: opened, read through once, ready to be run.

use crate::cta::{CtaReader, Decoded};
use crate::program::{InstTable, UnknownOpcode};
use crate::source::Lines;
use crate::{Header, TraceError};
use isa::Program;
use sass::meaning::Generation;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Unusual properties of a trace that do not make it unusable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Oddities {
    /// Opcodes that are in no table.
    pub unknown_opcodes: Vec<UnknownOpcode>,
    /// Accesses by active lanes without addresses; they are treated as accesses to address 0.
    pub accesses_without_address: u64,
    /// Accesses to global memory, by opcode or by the address of the first lane, with an address below 64 KiB
    /// in some lane.
    pub accesses_near_zero: u64,
    /// Accesses with addresses of more than 57 bits, which no GPU has; higher bits are discarded.
    pub accesses_beyond_memory: u64,
    /// Warps whose last instruction is not an EXIT.
    pub warps_without_exit: u64,
}

impl Oddities {
    /// Adds the counts of another trace of the kernel.
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
#[allow(missing_docs, reason = "the names say it")]
pub struct KernelTrace {
    path: PathBuf,
    /// The head of the file.
    pub header: Header,
    pub program: Arc<Program>,
    pub oddities: Oddities,
    /// Total number of warp instructions.
    pub warp_instructions: u64,
    /// Total number of thread instructions.
    pub thread_instructions: u64,
    table: InstTable,
    /// All CTAs, if they take little memory.
    pub(crate) kept: Option<Arc<Decoded>>,
}

impl KernelTrace {
    /// Maximum size of decoded CTAs that [`KernelTrace::open`] keeps; the file is about five times as long.
    pub const KEPT_BYTES: usize = 64 << 20;

    /// Reads the trace at `path` through: its head, its static instructions, and whether it is complete.
    ///
    /// # Errors
    /// A file that cannot be read, is damaged, or has another number of CTAs than its grid.
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        let read = Self::open_while(path, Self::KEPT_BYTES, &mut || ControlFlow::Continue(()))?;
        Ok(read.expect("it is not broken off"))
    }

    /// As [`KernelTrace::open`]; keeps the decoded CTAs if they take at most `kept_bytes`. Calls `keep_on`
    /// after each CTA and returns `None` if that breaks.
    ///
    /// # Errors
    /// As [`KernelTrace::open`].
    pub fn open_while(
        path: &Path,
        kept_bytes: usize,
        keep_on: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<Option<Self>, TraceError> {
        let mut lines = Lines::open(path)?;
        let header = Header::read(&mut lines)?;
        let mut reader = CtaReader::new(lines, &header);
        let mut table = InstTable::new(Generation::of(header.binary_version));
        let (mut decoded, mut ctas) = (Decoded::default(), 0);
        let mut keep = true;
        while if keep { reader.next(&mut table, &mut decoded)? } else { reader.next_alone(&mut table, &mut decoded)? } {
            ctas += 1;
            if keep_on().is_break() {
                return Ok(None);
            }
            if keep && decoded.bytes() > kept_bytes {
                (keep, decoded) = (false, Decoded::default());
            }
        }
        if ctas != header.shape.ctas() {
            let what = format!("has {}, its grid {}", kit::text::counted(ctas, "CTA"), header.shape.ctas());
            return Err(TraceError::new(path, 0, what).hint("the trace may be cut short"));
        }
        let program = Arc::new(table.finish(&header));
        decoded.place(&table);
        Ok(Some(Self {
            path: path.to_owned(),
            program,
            oddities: Oddities {
                unknown_opcodes: table.unknown(reader.counts()),
                accesses_without_address: reader.tally.accesses_without_address,
                accesses_near_zero: reader.tally.accesses_near_zero,
                accesses_beyond_memory: reader.tally.accesses_beyond_memory,
                warps_without_exit: reader.tally.warps_without_exit,
            },
            warp_instructions: reader.counts().sum(),
            thread_instructions: reader.tally.thread_instructions,
            table,
            header,
            kept: keep.then(|| Arc::new(decoded)),
        }))
    }

    /// Generation of its machine code.
    pub fn generation(&self) -> Generation {
        Generation::of(self.header.binary_version)
    }

    /// Reads the CTAs again from the first one, with a copy of the static instructions.
    pub(crate) fn ctas(&self) -> Result<(CtaReader, InstTable), TraceError> {
        let mut lines = Lines::open(&self.path)?;
        Header::read(&mut lines)?;
        Ok((CtaReader::new(lines, &self.header), self.table.clone()))
    }
}

kit::persist! {
    new struct Oddities {
        unknown_opcodes, accesses_without_address, accesses_near_zero, accesses_beyond_memory, warps_without_exit
    }
}
