//! Warps that repeat themselves indefinitely: the states by which a watchdog recognises them, and their
//! report.

use isa::{Dim3, Pc, Program, Space, WarpSlot};
use kit::{Cycle, LaneMask};
use std::fmt;

/// A warp's state in a number, and a count that shows whether it has done anything since the last look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pulse {
    /// See [`isa::WarpStream::digest`].
    pub digest: u64,
    /// Instructions that it has executed.
    pub executed: u32,
    /// Waits at a CTA barrier.
    pub at_barrier: bool,
    /// Arrivals at barriers of its SM.
    pub arrivals: u64,
}

/// An instruction of a loop without end.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct LoopStep {
    pub pc: Pc,
    pub text: String,
    /// Where it is ([`Program::place`]); empty if unknown.
    pub place: String,
    /// Shared and device memory that it reads, and the words there.
    pub reads: Vec<(Space, u64, Option<u32>)>,
    /// Phases of `mbarrier`s that it tests and that are incomplete ([`isa::WarpStream::describe_polls`]).
    pub polls: Vec<String>,
}

/// A warp that repeats a loop, or waits at a barrier for such warps.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct SpinningWarp {
    pub sm: u16,
    pub warp: WarpSlot,
    /// Name of its kernel.
    pub kernel: String,
    /// Its CTA's position in the grid.
    pub cta: Dim3,
    /// Its place in the CTA.
    pub index_in_cta: u16,
    /// Lanes that execute the loop.
    pub lanes: LaneMask,
    /// The instructions in order; only the barrier for a warp that waits at one.
    pub steps: Vec<LoopStep>,
    /// Waits at a CTA barrier that is not released.
    pub blocked: bool,
}

/// Maximum number of instructions that the text of a warp names.
const NAMED_STEPS: usize = 16;

impl SpinningWarp {
    /// Whether `other` executes the same instructions.
    pub fn does_as(&self, other: &Self) -> bool {
        let pcs = |w: &Self| {
            let mut pcs: Vec<_> = w.steps.iter().map(|s| s.pc).collect();
            pcs.sort_unstable();
            pcs
        };
        self.kernel == other.kernel && self.blocked == other.blocked && pcs(self) == pcs(other)
    }
}

impl fmt::Display for SpinningWarp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sm, warp, kernel, cta, index_in_cta, lanes, steps, blocked } = self;
        write!(f, "SM {sm}, warp slot {}: warp {index_in_cta} of CTA {cta} of `{kernel}`", warp.0)?;
        if *blocked {
            write!(f, " waits at a barrier")?;
        } else {
            let plural = if steps.len() == 1 { "" } else { "s" };
            write!(f, " repeats {} instruction{plural}, lanes {lanes:#010x}", steps.len())?;
        }
        // The addresses that it polls come first, if not all can be named.
        let polls = |s: &&LoopStep| !s.reads.is_empty();
        let named = || steps.iter().filter(|s| steps.len() <= NAMED_STEPS || polls(s)).take(NAMED_STEPS);
        named().try_for_each(|step| write!(f, "\n    {step}"))?;
        let left = steps.len() - named().count();
        if left > 0 { write!(f, "\n    … and {left} more instructions") } else { Ok(()) }
    }
}

impl fmt::Display for LoopStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.text)?;
        if !self.place.is_empty() {
            write!(f, " ({})", self.place)?;
        }
        // The state of a barrier in words is more than the bits that are read.
        if !self.polls.is_empty() {
            return write!(f, " waits for {}", self.polls.join(", for "));
        }
        for (i, (space, address, word)) in self.reads.iter().enumerate() {
            let space = if *space == Space::Shared { "shared" } else { "global" };
            write!(f, "{} {space} {address:#x}", if i == 0 { " reads" } else { "," })?;
            word.map_or(Ok(()), |word| write!(f, " = {word:#x}"))?;
        }
        Ok(())
    }
}

impl LoopStep {
    /// The instruction at `pc`, without what it reads.
    pub fn new(program: &Program, pc: Pc) -> Self {
        Self { pc, text: program.text(pc).to_owned(), place: program.place(pc), reads: Vec::new(), polls: Vec::new() }
    }
}

/// Warps that execute indefinitely and change nothing: each has been in the same state twice, and in the
/// meantime nothing that warps share has changed.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct Livelock {
    /// When it was found.
    pub at: Cycle,
    /// When something changed last.
    pub since: Cycle,
    /// Unit of both: `cycle`, or `warp instruction` of what is executed without time.
    pub unit: &'static str,
    /// Nothing can change any more. Otherwise the warps have only executed very long without a change.
    pub is_certain: bool,
    pub warps: Vec<SpinningWarp>,
}

/// Maximum number of warps that the text of a livelock names.
const NAMED_WARPS: usize = 4;

impl fmt::Display for Livelock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, since, unit, is_certain, warps } = self;
        let does = match (is_certain, warps.len()) {
            (true, 1) => "warp repeats itself without end",
            (true, _) => "warps repeat themselves without end",
            (false, 1) => "warp has not ended",
            (false, _) => "warps have not ended",
        };
        write!(
            f,
            "livelock at {unit} {at}: {} {does}; memory and output have not changed for {}",
            warps.len(),
            kit::text::counted(at - since, unit)
        )?;
        let mut named: Vec<&SpinningWarp> = Vec::new();
        for warp in warps {
            if named.len() < NAMED_WARPS && !named.iter().any(|other| other.does_as(warp)) {
                named.push(warp);
            }
        }
        for warp in &named {
            write!(f, "\n  {warp}")?;
            let others = warps.iter().filter(|other| other.does_as(warp)).count() - 1;
            if others > 0 {
                write!(f, "\n    … and so {} {others} more", if others == 1 { "does" } else { "do" })?;
            }
        }
        Ok(())
    }
}

kit::persist! {
    new struct Pulse { digest, executed, at_barrier, arrivals }
}
