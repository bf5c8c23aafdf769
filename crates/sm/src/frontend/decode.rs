//! Decode: the fetched instructions are done functionally, in program order, and enter the
//! instruction buffer.
//!
//! The stream executes an instruction here (see [`isa::WarpStream`]). Decode goes no further in a
//! warp than the contract and the front end allow: behind a barrier until it is released, and
//! behind a change of control flow as [`config::BranchFetch`] says, unless the core design knows the
//! way ([`CoreDesign::branches`]). What is left of a fetch at a barrier is decoded in the cycle of the
//! release, as if it had waited in the buffer.

use crate::design::CoreDesign;
use crate::inflight::{InFlight, InstId, Window};
use crate::issue::policy::IssuePolicy;
use crate::observe::observer::{Observer, Seen};
use crate::sm::{Env, Sm};
use crate::warps::mask::WarpMask;
use config::BranchFetch;
use isa::{Control, Fault, Pc, StepContext, WarpSlot, WarpStream};
use kit::Cycle;

impl<S: WarpStream, D: CoreDesign, O: Observer> Sm<S, D, O> {
    /// Decodes what was fetched, and what a barrier had held back.
    #[inline]
    pub(crate) fn decode(&mut self, now: Cycle, env: &mut Env<'_, S::Shared>) -> Result<(), Box<Fault>> {
        while let Some((warp, count)) = self.fetch.take_resumed().or_else(|| self.fetch.take_packet()) {
            self.agenda.moved();
            self.touched.insert(warp);
            self.decode_packet(now, env, warp, count)?;
        }
        Ok(())
    }

    /// Decodes up to `count` instructions of `warp`.
    fn decode_packet(
        &mut self,
        now: Cycle,
        env: &mut Env<'_, S::Shared>,
        warp: WarpSlot,
        count: u8,
    ) -> Result<(), Box<Fault>> {
        let mut next = self.stream.next_pc(warp);
        for left in (0..count).rev() {
            let Some(pc) = next else { break };
            let id = self.step(now, env, warp, pc)?;
            next = self.look_ahead(env, id, left);
        }
        Ok(())
    }

    /// Executes the next instruction of `warp`, at `pc`, and puts it into the buffer.
    #[inline]
    fn step(&mut self, now: Cycle, env: &mut Env<'_, S::Shared>, warp: WarpSlot, pc: Pc) -> Result<InstId, Box<Fault>> {
        let w = warp.index();
        let kernel = self.warps.kernel[w];
        let code = &env.kernels[kernel.index()].code;
        let micro = code.micro(pc);
        let record = self.slab.take_record(micro);
        let context = StepContext { now, sm: self.id };
        let done = self.layer.step(&mut self.stream, env.shared, warp, context, (&mut self.slab, record));
        if let Err(fault) = done {
            self.slab.release_record(record);
            return Err(fault);
        }
        let out = self.slab.record(record);
        debug_assert_eq!(out.pc, pc);
        let order = self.warps.next_order[w];
        let id = self.slab.insert(InFlight { warp, kernel, order, record, ..InFlight::new(*micro, out) });
        self.layer.settle(&mut self.slab, env.kernels, id);
        self.warps.next_order[w] += 1;
        self.warps.in_pipeline[w] += 1;
        self.counters.decoded += 1;
        let window = Window { slab: &self.slab, kernels: env.kernels };
        self.policy.insert(window, id);
        self.observer.decoded(now, Seen { id, window });
        Ok(id)
    }

    /// Where decode may go on behind `id`, `left` instructions of whose fetch are left.
    #[inline]
    fn look_ahead(&mut self, env: &Env<'_, S::Shared>, id: InstId, left: u8) -> Option<Pc> {
        let flight = self.slab.get(id);
        let (warp, control, mask) = (flight.warp, flight.control, flight.mask);
        let dynamic = self.slab.dynamic(id);
        let Some(next) = dynamic.next_pc else {
            self.warps.decoded.insert(warp);
            return None;
        };
        if dynamic.diverged && control == Control::Branch {
            self.counters.divergences += 1;
        }
        if control == Control::BarrierSync && mask != 0 && !self.spec.options.decode_past_barriers {
            self.fetch.hold_at_barrier(warp, left);
            return None;
        }
        let sequential = !flight.turns;
        let blocks = match self.fetch.branches {
            BranchFetch::Oracle => false,
            BranchFetch::SequentialFlush => !sequential,
            BranchFetch::Stall => control == Control::Branch || !sequential,
        };
        if blocks {
            let fallthrough = flight.pc.index() + 1 < env.kernels[flight.kernel.index()].code.program.insts().len();
            self.fetch.hold_at_branch(warp, id, left > 0 || !fallthrough);
        }
        (!blocks).then_some(next)
    }
}
