//! An SM as a core of a machine: [`gpu::Core`].

mod activity;
mod report;
mod totals;

pub use totals::SmTotals;

use crate::design::CoreDesign;
use crate::kernel::ResidentKernel;
use crate::observe::observer::Observer;
use crate::sm::{Env, Sm};
use gpu::{Core, CoreKernel, FinishedCta, Pulse, SpinningWarp};
use isa::{Dim3, Fault, KernelId, LaunchShape, Space, WarpSlot, WarpStream};
use kit::Cycle;
use mem::Port;

impl CoreKernel for ResidentKernel {
    fn shape(&self) -> &LaunchShape {
        &self.shape
    }

    fn reads_textures(&self) -> bool {
        self.code.program.insts().iter().any(|i| i.mem.is_some_and(|m| m.space == Space::Texture))
    }
}

impl<S: WarpStream, D: CoreDesign, O: Observer> Core for Sm<S, D, O> {
    type Kernel = ResidentKernel;
    type Shared = S::Shared;
    type Counters = SmTotals;

    /// Each of four caches makes one request, and one access bypasses them.
    const MOST_REQUESTS: usize = 5;

    #[inline]
    fn tick(&mut self, now: Cycle, env: &mut Env<'_, S::Shared>) -> Result<(), Box<Fault>> {
        Sm::tick(self, now, env)
    }

    #[inline]
    fn next_event(&self, port: &Port) -> Cycle {
        Sm::next_event(self, port)
    }

    fn is_alone(&self) -> bool {
        self.stream().is_alone()
    }

    fn cycles(&self) -> Cycle {
        self.account().cycles()
    }

    fn can_accept(&self, shape: &LaunchShape) -> bool {
        Sm::can_accept(self, shape)
    }

    fn start_cta(&mut self, now: Cycle, env: &mut Env<'_, S::Shared>, kernel: KernelId, cta: Dim3) {
        Sm::start_cta(self, now, env, kernel, cta);
    }

    fn finished(&mut self) -> &mut Vec<FinishedCta> {
        Sm::finished(self)
    }

    fn has_threads(&self) -> bool {
        self.resident_warps() > 0
    }

    fn is_idle(&self) -> bool {
        Sm::is_idle(self)
    }

    fn settle(&mut self, now: Cycle) {
        Sm::settle(self, now);
    }

    /// Every issue slot is an issue or a stall.
    fn check(&self) {
        self.account().check();
    }

    fn flush_l1(&mut self) {
        self.invalidate_l1();
    }

    fn count(&self, sum: &mut SmTotals) {
        sum.add_sm(self);
    }

    fn warp_instructions(&self) -> u64 {
        self.counters().warp_instructions
    }

    fn cta_events(&self) -> u64 {
        self.counters().ctas_started + self.counters().ctas_finished
    }

    fn describe_stalls(&self, kernels: &[ResidentKernel]) -> Vec<String> {
        Sm::describe_stalls(self, kernels).iter().map(ToString::to_string).collect()
    }

    fn watch_changes(&self, shared: &mut S::Shared) {
        self.stream().watch_changes(shared);
    }

    fn has_changed(&self, shared: &S::Shared) -> bool {
        self.stream().has_changed(shared)
    }

    fn pulses(&self) -> Vec<(WarpSlot, Pulse)> {
        Sm::pulses(self).collect()
    }

    fn follow_loops(
        &mut self,
        now: Cycle,
        kernels: &[ResidentKernel],
        shared: &mut S::Shared,
        blocked: &dyn Fn(WarpSlot) -> bool,
    ) -> Vec<SpinningWarp> {
        Sm::follow_loops(self, now, kernels, shared, blocked)
    }
}
