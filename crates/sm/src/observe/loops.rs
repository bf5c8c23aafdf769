//! Warps that repeat themselves: what a watchdog asks of them, and what they do.

use crate::design::CoreDesign;
use crate::kernel::Kernel;
use crate::observe::observer::Observer;
use crate::sm::Sm;
use crate::warps::mask::WarpMask;
use isa::{Access, Dim3, DynInst, Pc, Program, Space, StepContext, WarpSlot, WarpStream};
use kit::{Cycle, LaneMask, lanes};
use std::fmt;

/// A warp's state in a number, and what says whether it has done anything since another look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pulse {
    /// See [`WarpStream::digest`].
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
pub struct LoopStep {
    /// Which.
    pub pc: Pc,
    /// Its text.
    pub text: String,
    /// Where it is ([`Program::place`]); empty if unknown.
    pub place: String,
    /// What it reads of shared or device memory, and the words there.
    pub reads: Vec<(Space, u64, Option<u32>)>,
}

/// A warp that does the same again and again, or waits at a barrier for such warps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpinningWarp {
    /// Its SM.
    pub sm: u16,
    /// Its slot.
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

/// Most instructions of a loop that are looked at.
const MOST_STEPS: usize = 4096;
/// Most instructions that the text of a warp names.
const NAMED_STEPS: usize = 16;
/// Most addresses that an instruction is said to read.
const NAMED_READS: usize = 4;

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
        // What it polls says more than the rest, if not all can be named.
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
        for (i, (space, address, word)) in self.reads.iter().enumerate() {
            let space = if *space == Space::Shared { "shared" } else { "global" };
            write!(f, "{} {space} {address:#x}", if i == 0 { " reads" } else { "," })?;
            word.map_or(Ok(()), |word| write!(f, " = {word:#x}"))?;
        }
        Ok(())
    }
}

impl LoopStep {
    fn new(program: &Program, pc: Pc) -> Self {
        Self { pc, text: program.text(pc).to_owned(), place: program.place(pc), reads: Vec::new() }
    }
}

impl<S: WarpStream, D: CoreDesign, O: Observer> Sm<S, D, O> {
    /// The resident warps with their states.
    pub fn pulses(&self) -> impl Iterator<Item = (WarpSlot, Pulse)> {
        let arrivals = self.state.counters.barrier_arrivals;
        self.state.warps.resident.iter().map(move |warp| {
            let executed = self.state.warps.next_order[warp.index()];
            let at_barrier = self.state.warps.at_barrier.contains(warp);
            (warp, Pulse { digest: self.decode.stream.digest(warp), executed, at_barrier, arrivals })
        })
    }

    /// What the resident warps do, each of which repeats itself, or is `blocked` at a barrier.
    /// Executes a round of each loop, through barriers, which are released each time: the machine cannot go
    /// on after this.
    pub fn follow_loops(
        &mut self,
        now: Cycle,
        kernels: &[Kernel],
        shared: &mut S::Shared,
        blocked: impl Fn(WarpSlot) -> bool,
    ) -> Vec<SpinningWarp> {
        let warps = self.state.warps.resident;
        warps.iter().map(|warp| self.follow(now, kernels, shared, warp, blocked(warp))).collect()
    }

    fn follow(
        &mut self,
        now: Cycle,
        kernels: &[Kernel],
        shared: &mut S::Shared,
        warp: WarpSlot,
        blocked: bool,
    ) -> SpinningWarp {
        let w = warp.index();
        let program = kernels[self.state.warps.kernel[w].index()].code.program.clone();
        let mut spinning = SpinningWarp {
            sm: self.state.id,
            warp,
            kernel: program.name.clone(),
            cta: self.state.ctas.position(self.state.warps.cta[w]),
            index_in_cta: self.state.warps.index_in_cta[w],
            lanes: 0,
            steps: Vec::new(),
            blocked,
        };
        if blocked {
            spinning.steps.push(LoopStep::new(&program, self.state.warps.last_issued[w]));
            return spinning;
        }
        let (first, mut done) = (self.decode.stream.digest(warp), DynInst::default());
        while let Some(pc) = self.decode.stream.next_pc(warp) {
            if self.decode.stream.step(shared, warp, StepContext { now, sm: self.state.id }, &mut done).is_err() {
                break;
            }
            let mut step = LoopStep::new(&program, pc);
            step.reads = self.reads_of(&program, shared, warp, &done);
            spinning.lanes |= done.active;
            spinning.steps.push(step);
            if self.decode.stream.digest(warp) == first {
                // Where it was found in its loop does not matter.
                let top = (0..spinning.steps.len()).min_by_key(|&i| spinning.steps[i].pc).unwrap_or(0);
                spinning.steps.rotate_left(top);
                break;
            }
            if spinning.steps.len() == MOST_STEPS {
                break;
            }
        }
        spinning
    }

    /// What `done` reads of memory that others may write, and the words there.
    fn reads_of(
        &self,
        program: &Program,
        shared: &S::Shared,
        warp: WarpSlot,
        done: &DynInst,
    ) -> Vec<(Space, u64, Option<u32>)> {
        let reads = program.inst(done.pc).mem.is_some_and(|m| matches!(m.access, Access::Load | Access::Atomic));
        if !reads || !matches!(done.space, Space::Global | Space::Shared) {
            return Vec::new();
        }
        let mut addresses: Vec<u64> = lanes(done.mask).map(|lane| done.addresses[lane]).collect();
        addresses.sort_unstable();
        addresses.dedup();
        let words = addresses.iter().take(NAMED_READS);
        words.map(|&a| (done.space, a, self.decode.stream.word_at(shared, warp, done.space, a))).collect()
    }
}
