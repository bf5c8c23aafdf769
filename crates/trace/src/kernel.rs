//! A kernel's trace: opened, read through once, ready to be run.
//!
//! Several threads read a long plain file together, each a run of CTAs. Their results are put together in the
//! order of the file, so that it is the same for any number of threads.

use crate::cta::CtaReader;
use crate::decoded::Decoded;
use crate::oddities::Oddities;
use crate::program::InstTable;
use crate::source::{Lines, split};
use crate::{Header, TraceError};
use isa::Program;
use sass::meaning::Generation;
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

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
        let read = Self::open_while(path, Self::KEPT_BYTES, 1, &mut || ControlFlow::Continue(()))?;
        Ok(read.expect("it is not broken off"))
    }

    /// As [`KernelTrace::open`], with up to `threads` threads; keeps the decoded CTAs if they take at most `kept_bytes`.
    /// Calls `keep_on` after each CTA that the calling thread has read, and returns `None` if that breaks.
    ///
    /// # Errors
    /// As [`KernelTrace::open`].
    pub fn open_while(
        path: &Path,
        kept_bytes: usize,
        threads: usize,
        keep_on: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<Option<Self>, TraceError> {
        let mut lines = Lines::open(path)?;
        let header = Header::read(&mut lines)?;
        let ranges = split(path, threads);
        let read = if ranges.len() > 1 { Read::together(path, &header, &ranges, kept_bytes, keep_on) } else { None };
        // A mistake in a file is found by one reader with its line.
        let Some(read) = read.map_or_else(|| Read::through(lines, &header, kept_bytes, keep_on), Ok)? else {
            return Ok(None);
        };
        let Read { ctas, mut table, mut decoded, counts, oddities, thread_instructions } = read;
        if ctas != header.shape.ctas() {
            let what = format!("has {}, its grid {}", kit::text::counted(ctas, "CTA"), header.shape.ctas());
            return Err(TraceError::new(path, 0, what).hint("the trace may be cut short"));
        }
        let program = Arc::new(table.finish(&header));
        if let Some(decoded) = &mut decoded {
            decoded.place(&table);
            decoded.shrink();
        }
        Ok(Some(Self {
            path: path.to_owned(),
            program,
            oddities: Oddities { unknown_opcodes: table.unknown(counts.iter().copied()), ..oddities },
            warp_instructions: counts.iter().sum(),
            thread_instructions,
            table,
            header,
            kept: decoded.map(Arc::new),
        }))
    }

    /// Size of the decoded CTAs; `None` if they are not kept, but read again from the file.
    pub fn kept_bytes(&self) -> Option<usize> {
        Some(self.kept.as_ref()?.bytes())
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

/// The part of a trace that has been read.
struct Read {
    ctas: u64,
    table: InstTable,
    /// The CTAs, if they are kept.
    decoded: Option<Decoded>,
    /// Executions of each static instruction.
    counts: Vec<u64>,
    /// Unknown opcodes are not among them yet.
    oddities: Oddities,
    thread_instructions: u64,
}

impl Read {
    /// Reads all CTAs that `lines` has. `None` if `keep_on` breaks.
    fn through(
        lines: Lines,
        header: &Header,
        kept_bytes: usize,
        keep_on: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<Option<Self>, TraceError> {
        let mut reader = CtaReader::new(lines, header);
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
        let (counts, oddities, thread_instructions) =
            (reader.counts().collect(), reader.oddities.clone(), reader.thread_instructions);
        Ok(Some(Self { ctas, table, decoded: keep.then_some(decoded), counts, oddities, thread_instructions }))
    }

    /// Reads the parts of a file with a thread each, the calling one for the first. `None` if any cannot be read, and
    /// `Some(None)` if `keep_on` breaks.
    fn together(
        path: &Path,
        header: &Header,
        ranges: &[Range<u64>],
        kept_bytes: usize,
        keep_on: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Option<Option<Self>> {
        let stop = AtomicBool::new(false);
        let (first, others) = ranges.split_first()?;
        let read = |range: &Range<u64>, keep_on: &mut dyn FnMut() -> ControlFlow<()>| {
            let mut lines = Lines::open_part(path, range.clone())?;
            if range.start == 0 {
                Header::read(&mut lines)?;
            }
            Self::through(lines, header, kept_bytes, keep_on)
        };
        std::thread::scope(|scope| {
            let go_on =
                || if stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
            let others: Vec<_> = others.iter().map(|range| scope.spawn(move || read(range, &mut { go_on }))).collect();
            let mut first = read(first, keep_on);
            if !matches!(first, Ok(Some(_))) {
                stop.store(true, Ordering::Relaxed);
            }
            for other in others {
                let other = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                if let (Ok(Some(all)), Ok(Some(part))) = (&mut first, &other) {
                    all.append(part, kept_bytes)?;
                } else if let Ok(Some(_)) = first {
                    first = other;
                }
            }
            first.ok()
        })
    }

    /// Appends what has been read of the part of the file that follows. `None` if it is too much.
    fn append(&mut self, next: &Self, kept_bytes: usize) -> Option<()> {
        let indices = self.table.append(&next.table)?;
        self.ctas += next.ctas;
        self.counts.resize(self.table.len(), 0);
        for (&index, count) in indices.iter().zip(&next.counts) {
            self.counts[index as usize] += count;
        }
        self.oddities.add(&next.oddities);
        self.thread_instructions += next.thread_instructions;
        self.decoded = match (self.decoded.take(), &next.decoded) {
            (Some(mut all), Some(part)) if all.bytes() + part.bytes() <= kept_bytes => {
                all.append(part, &indices);
                Some(all)
            }
            _ => None,
        };
        Some(())
    }
}
