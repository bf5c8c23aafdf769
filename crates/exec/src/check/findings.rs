//! Findings of checks of memory.

use crate::kernel::Kernel;
use isa::{Dim3, Pc, SourceSpot};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Instructions that are described; of others only the number of accesses is known.
const MOST_DESCRIBED: usize = 100;

/// The kinds of finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Hazard {
    /// An access to global memory outside all allocations that the policy permits.
    OutOfBounds,
    /// A load from memory of the heap that neither the host nor a kernel has written.
    UninitialisedGlobal,
    /// A load from shared memory that its CTA has not written.
    UninitialisedShared,
    /// Conflicting accesses of two warps of a CTA to shared memory with no barrier between them.
    SharedRace,
    /// Conflicting accesses of two CTAs of a launch to global memory with no synchronisation between them.
    GlobalRace,
}

impl Hazard {
    /// All kinds.
    pub const ALL: [Self; 5] =
        [Self::OutOfBounds, Self::UninitialisedGlobal, Self::UninitialisedShared, Self::SharedRace, Self::GlobalRace];

    /// Name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OutOfBounds => "out_of_bounds",
            Self::UninitialisedGlobal => "uninitialised_global",
            Self::UninitialisedShared => "uninitialised_shared",
            Self::SharedRace => "shared_race",
            Self::GlobalRace => "global_race",
        }
    }
}

/// Finding about an instruction, with its first access that had it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Finding {
    pub kind: Hazard,
    /// Accesses by threads.
    pub count: u64,
    /// The instruction.
    pub spot: SourceSpot,
    pub cta: Dim3,
    pub thread: Dim3,
    /// Address, and what is wrong with it.
    pub what: String,
    /// Of races, the place of the earlier access.
    pub earlier: Option<SourceSpot>,
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { what, spot, cta, thread, count, .. } = self;
        write!(f, "{what}; kernel `{}`, CTA {cta}, thread {thread}", spot.kernel)?;
        let origin = spot.origin.as_ref().map_or(String::new(), |(file, line)| format!(", from {file}:{line}"));
        let place = if spot.place.is_empty() { String::new() } else { format!("{}, ", spot.place) };
        write!(f, ", at {place}instruction {}: {}{origin}", spot.pc.0, spot.text)?;
        if *count > 1 {
            write!(f, "; {count} accesses of this instruction")?;
        }
        Ok(())
    }
}

/// All findings of a run.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// Instructions of warps that were checked.
    pub(super) instructions: u64,
    found: Vec<Finding>,
    /// Accesses of each kind that are in no finding.
    others: BTreeMap<Hazard, u64>,
    kernels: Vec<Arc<Kernel>>,
    /// Position in `found`, by kind, kernel and instruction.
    places: BTreeMap<(Hazard, usize, Pc), usize>,
}

impl Findings {
    /// Findings in the order of their first accesses.
    pub fn found(&self) -> &[Finding] {
        &self.found
    }

    /// Instructions of warps that were checked.
    pub fn instructions(&self) -> u64 {
        self.instructions
    }

    /// Accesses of a kind.
    pub fn count(&self, kind: Hazard) -> u64 {
        let described = self.found.iter().filter(|finding| finding.kind == kind).map(|finding| finding.count);
        described.sum::<u64>() + self.others.get(&kind).unwrap_or(&0)
    }

    /// Adds accesses of an instruction; `describe` makes the finding of the first.
    pub(super) fn add(
        &mut self,
        (kind, kernel, pc): (Hazard, &Arc<Kernel>, Pc),
        count: u64,
        describe: impl FnOnce() -> Finding,
    ) {
        let number = self.kernels.iter().position(|known| Arc::ptr_eq(known, kernel));
        let number = number.unwrap_or_else(|| {
            self.kernels.push(Arc::clone(kernel));
            self.kernels.len() - 1
        });
        if let Some(&place) = self.places.get(&(kind, number, pc)) {
            self.found[place].count += count;
        } else if self.found.len() < MOST_DESCRIBED {
            self.places.insert((kind, number, pc), self.found.len());
            self.found.push(describe());
        } else {
            *self.others.entry(kind).or_default() += count;
        }
    }
}
