//! Turns of a warp that has the device for itself: runs without time.

use super::{LiveStream, finish_reduction};
use crate::fault::Stop;
use crate::interpret::{Environment, execute, execute_machine_code_unseen, execute_ptx_unseen};
use crate::machine;
use crate::state::DeviceState;
use crate::turn::{Turn, wait};
use crate::warp::{Warp, Way};
use isa::{DynInst, Fault, StepContext, WarpSlot, WarpStream};
use kit::LaneMask;
use std::ops::ControlFlow;

impl LiveStream {
    /// Executes up to `most` instructions of a warp that has the device for itself. `observe` sees each, with the lanes
    /// that were live before it, and may end the run. The last one is in `out`; the cycle in `context` counts instructions.
    pub(crate) fn take_turn(
        &mut self,
        shared: &mut DeviceState,
        slot: WarpSlot,
        (most, context): (u32, &mut StepContext),
        out: &mut DynInst,
        observe: impl FnMut(LaneMask, &DynInst) -> ControlFlow<()>,
    ) -> Result<Turn, Box<Fault>> {
        if self.warps[slot.index()].way == Way::Watched {
            return self.take_watched_turn(shared, slot, (most, context), out, observe);
        }
        let turn = self.take_seen_turn(shared, slot, (most, context), out, observe);
        self.end_turn(shared, slot);
        turn
    }

    /// The warp, and the state that its instructions may access; `None` if its kernel has ended.
    #[inline]
    fn begin_turn<'a>(
        &'a mut self,
        shared: &'a mut DeviceState,
        slot: WarpSlot,
        context: StepContext,
        out: &mut DynInst,
    ) -> Option<(&'a mut Warp, Environment<'a>)> {
        self.is_alone = true;
        self.take_shared(shared, slot);
        let Self { warps, ctas, reader, .. } = self;
        if !warps[slot.index()].pending.is_empty() {
            finish_reduction(warps, ctas, slot);
        }
        let warp = &mut warps[slot.index()];
        let parts = shared.alone(warp.launch, reader);
        let launch = parts.launch?;
        let env = parts.environment(launch, &mut ctas[warp.cta as usize], context);
        (out.held, out.at_mbarrier) = (false, false);
        Some((warp, env))
    }

    fn take_seen_turn(
        &mut self,
        shared: &mut DeviceState,
        slot: WarpSlot,
        (most, context): (u32, &mut StepContext),
        out: &mut DynInst,
        mut observe: impl FnMut(LaneMask, &DynInst) -> ControlFlow<()>,
    ) -> Result<Turn, Box<Fault>> {
        let Some((warp, mut env)) = self.begin_turn(shared, slot, *context, out) else { return Ok(Turn::Done) };
        let kernel = &*env.launch.kernel;
        let insts = kernel.program.insts();
        for _ in 0..most {
            if warp.pc().is_none() {
                return Ok(Turn::Done);
            }
            let live = warp.live();
            let done = if warp.is_machine_code {
                machine::execute(warp, kernel, &mut env, out)
            } else {
                execute(warp, &mut env, out)
            };
            env.context.now += 1;
            *context = env.context;
            let waits = done == Err(Stop::AtCluster);
            if let Err(Stop::Trap(trap)) = done {
                return Err(self.fault(shared, slot, out.pc, *trap));
            }
            if observe(live, out).is_break() {
                return Ok(Turn::Stopped);
            }
            if waits {
                self.at_cluster.push(slot);
                return Ok(Turn::Held);
            }
            if let Some(end) = wait(insts, out) {
                return Ok(end);
            }
        }
        Ok(Turn::Over)
    }

    /// The same where nobody observes the instructions. Adds the instructions of threads to `threads`.
    pub(crate) fn take_unseen_turn(
        &mut self,
        shared: &mut DeviceState,
        slot: WarpSlot,
        (most, context): (u32, &mut StepContext),
        out: &mut DynInst,
        threads: &mut u64,
    ) -> Result<Turn, Box<Fault>> {
        let way = self.warps[slot.index()].way;
        if way == Way::Watched {
            return self.take_watched_turn(shared, slot, (most, context), out, |_, out| {
                *threads += u64::from(out.mask.count_ones());
                ControlFlow::Continue(())
            });
        }
        let Some((warp, mut env)) = self.begin_turn(shared, slot, *context, out) else { return Ok(Turn::Done) };
        let end = if way == Way::Ptx {
            execute_ptx_unseen(warp, &mut env, out, most, threads)
        } else {
            execute_machine_code_unseen(warp, &mut env, out, most, threads)
        };
        *context = env.context;
        self.end_turn(shared, slot);
        match end {
            Ok(turn) => Ok(turn),
            Err(Stop::AtCluster) => {
                self.at_cluster.push(slot);
                Ok(Turn::Held)
            }
            Err(Stop::Trap(trap)) => Err(self.fault(shared, slot, out.pc, *trap)),
            Err(Stop::Deferred) => unreachable!("a warp that has the device for itself does not wait for the exchange"),
        }
    }

    /// The same under checks.
    #[cold]
    fn take_watched_turn(
        &mut self,
        shared: &mut DeviceState,
        slot: WarpSlot,
        (most, context): (u32, &mut StepContext),
        out: &mut DynInst,
        mut observe: impl FnMut(LaneMask, &DynInst) -> ControlFlow<()>,
    ) -> Result<Turn, Box<Fault>> {
        let Some(kernel) = self.kernel(slot).cloned() else { return Ok(Turn::Done) };
        for _ in 0..most {
            if self.next_pc(slot).is_none() {
                return Ok(Turn::Done);
            }
            let live = self.live(slot);
            self.step_alone(shared, slot, *context, out)?;
            context.now += 1;
            if observe(live, out).is_break() {
                return Ok(Turn::Stopped);
            }
            if let Some(end) = wait(kernel.program.insts(), out) {
                return Ok(end);
            }
        }
        Ok(Turn::Over)
    }
}
