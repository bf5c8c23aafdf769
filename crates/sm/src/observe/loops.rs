//! Warps that repeat themselves: their states for a watchdog, and the loops that they execute.

use crate::design::CoreDesign;
use crate::kernel::ResidentKernel;
use crate::observe::observer::Observer;
use crate::sm::Sm;
use crate::warps::mask::WarpMask;
use gpu::{LoopStep, Pulse, SpinningWarp};
use isa::{StepContext, WarpSlot, WarpStream};
use kit::Cycle;

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

    /// The work of the resident warps, each of which repeats itself, or is `blocked` at a barrier.
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
        } else {
            let context = StepContext { now, sm: self.state.id };
            spinning.follow(&mut self.decode.stream, shared, &program, context);
        }
        spinning
    }
}
