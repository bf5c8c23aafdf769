//! Warps that repeat themselves: their states for a watchdog, and the loops that they execute.

use crate::design::CoreDesign;
use crate::kernel::ResidentKernel;
use crate::observe::observer::Observer;
use crate::sm::Sm;
use crate::warps::mask::WarpMask;
use gpu::{LoopStep, Pulse, SpinningWarp};
use isa::{Access, DynInst, Program, Space, StepContext, WarpSlot, WarpStream};
use kit::{Cycle, lanes};

/// Maximum number of instructions of a loop that are followed.
const MOST_STEPS: usize = 4096;
/// Maximum number of addresses that an instruction is said to read.
const NAMED_READS: usize = 4;

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
        kernels: &[ResidentKernel],
        shared: &mut S::Shared,
        blocked: impl Fn(WarpSlot) -> bool,
    ) -> Vec<SpinningWarp> {
        let warps = self.state.warps.resident;
        warps.iter().map(|warp| self.follow(now, kernels, shared, warp, blocked(warp))).collect()
    }

    fn follow(
        &mut self,
        now: Cycle,
        kernels: &[ResidentKernel],
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
