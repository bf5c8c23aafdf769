//! Decode: the fetched instructions are done functionally, in program order, and enter the
//! instruction buffer.
//!
//! The stream executes an instruction here (see [`isa::WarpStream`]). Decode goes no further in a
//! warp than the contract and the front end allow: after a barrier when it is released, and
//! after a change of control flow as [`config::BranchFetch`] says, unless the core design knows the
//! path ([`CoreDesign::branches`]). What is left of a fetch at a barrier is decoded in the cycle of the
//! release, as if it had waited in the buffer. The same holds after an instruction that waits for the
//! exchange between SMs ([`isa::WarpStream::exchange`]): an atomic whose result is used, a fence.

use crate::design::{CoreDesign, FetchOf, MaskOf};
use crate::inflight::{InFlight, InstId};
use crate::issue::policy::IssuePolicy;
use crate::observe::observer::{Observer, Seen};
use crate::operands::layer::Layer;
use crate::state::{State, Tick};
use crate::warps::mask::WarpMask;
use config::BranchFetch;
use isa::{Control, Fault, Pc, StepContext, WarpSlot, WarpStream};

/// The decode stage, which owns the warps' stream.
#[derive(Debug)]
pub(crate) struct Decode<S> {
    pub stream: S,
}

/// What decode is connected to.
pub(crate) struct DecodeWires<'a, D: CoreDesign, O> {
    pub tick: Tick<'a, O>,
    pub state: &'a mut State<MaskOf<D>>,
    pub fetch: &'a mut FetchOf<D>,
    pub layer: &'a mut Layer,
    pub policy: &'a mut D::Issue,
}

impl<S: WarpStream> Decode<S> {
    /// Decodes what was fetched, and what a barrier had held back.
    #[inline(always)]
    pub fn step<D: CoreDesign, O: Observer>(
        &mut self,
        shared: &S::Shared,
        w: &mut DecodeWires<'_, D, O>,
    ) -> Result<(), Box<Fault>> {
        while let Some((warp, count)) = w.fetch.take_packet() {
            w.state.wake_up.moved();
            self.decode_packet(shared, w, warp, count)?;
        }
        Ok(())
    }

    /// Decodes up to `count` instructions of `warp`.
    #[inline(always)]
    fn decode_packet<D: CoreDesign, O: Observer>(
        &mut self,
        shared: &S::Shared,
        w: &mut DecodeWires<'_, D, O>,
        warp: WarpSlot,
        count: u8,
    ) -> Result<(), Box<Fault>> {
        let mut next = w.fetch.next_pc(warp);
        for left in (0..count).rev() {
            let Some(pc) = next else { break };
            let id = self.decode_next(shared, w, warp, pc)?;
            next = w.look_ahead(id, left);
        }
        Ok(())
    }

    /// Executes the next instruction of `warp`, at `pc`, and puts it into the buffer.
    #[inline(always)]
    fn decode_next<D: CoreDesign, O: Observer>(
        &mut self,
        shared: &S::Shared,
        wires: &mut DecodeWires<'_, D, O>,
        warp: WarpSlot,
        pc: Pc,
    ) -> Result<InstId, Box<Fault>> {
        let DecodeWires { tick, state, layer, policy, .. } = wires;
        let w = warp.index();
        let kernel = state.warps.kernel[w];
        let micro = tick.kernels[kernel.index()].code.micro(pc);
        let record = state.slab.take_record(micro);
        let context = StepContext { now: tick.now, sm: state.id };
        let done = layer.step(&mut self.stream, shared, warp, context, state.slab.record_mut(record));
        if let Err(fault) = done {
            state.slab.release_record(record);
            return Err(fault);
        }
        let out = state.slab.record(record);
        debug_assert_eq!(out.pc, pc);
        let order = state.warps.next_order[w];
        let id = state.slab.insert(InFlight { warp, kernel, order, record, ..InFlight::new(*micro, out) });
        layer.settle(&mut state.slab, tick.kernels, id);
        state.warps.next_order[w] += 1;
        state.warps.in_pipeline[w] += 1;
        state.counters.decoded += 1;
        let window = state.window(tick.kernels);
        policy.insert(window, id);
        tick.observer.decoded(tick.now, Seen { id, window });
        Ok(id)
    }
}

impl<D: CoreDesign, O> DecodeWires<'_, D, O> {
    /// Where decode may continue after `id`, `left` instructions of whose fetch are left.
    #[inline(always)]
    fn look_ahead(&mut self, id: InstId, left: u8) -> Option<Pc> {
        let state = &mut *self.state;
        let flight = state.slab.get(id);
        let (warp, control, mask) = (flight.warp, flight.control, flight.mask);
        let dynamic = state.slab.dynamic(id);
        self.fetch.set_next_pc(warp, dynamic.next_pc);
        let Some(next) = dynamic.next_pc else {
            state.warps.decoded.insert(warp);
            return None;
        };
        if dynamic.diverged && control == Control::Branch {
            state.counters.divergences += 1;
        }
        if control == Control::BarrierSync && mask != 0 && !state.spec.options.decode_past_barriers {
            self.fetch.hold_at_barrier(warp, left);
            return None;
        }
        let (sequential, held) = (!flight.turns, dynamic.held);
        let (kernel, pc) = (flight.kernel, flight.pc);
        let blocks = match self.fetch.branches {
            BranchFetch::Oracle => false,
            BranchFetch::SequentialFlush => !sequential,
            BranchFetch::Stall => control == Control::Branch || !sequential,
        };
        if held {
            self.hold_until_exchange(warp, control, if blocks { 0 } else { left });
        }
        if blocks {
            let insts = self.tick.kernels[kernel.index()].code.program.insts();
            let fallthrough = pc.index() + 1 < insts.len();
            self.fetch.hold_at_branch(warp, id, left > 0 || !fallthrough);
        }
        (!blocks && !held).then_some(next)
    }

    /// Decode of `warp` has come to an instruction that waits for the exchange, `left` instructions of whose fetch
    /// are left.
    #[cold]
    fn hold_until_exchange(&mut self, warp: WarpSlot, control: Control, left: u8) {
        let warps = &mut self.state.warps;
        let held = if control == Control::Fence { &mut warps.fence_at_exchange } else { &mut warps.atomic_at_exchange };
        held.insert(warp);
        self.fetch.hold_at_barrier(warp, left);
    }
}
