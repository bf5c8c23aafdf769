//! Decode: the fetched instructions are done functionally, in program order, and enter the
//! instruction buffer.
//!
//! The stream executes an instruction here (see [`isa::WarpStream`]). Decode goes no further in a
//! warp than the contract and the front end allow: after a barrier when it is released, and
//! after a change of control flow as [`config::BranchFetch`] says, unless the core design knows the
//! path ([`CoreDesign::branches`]). The rest of a fetch at a barrier is decoded in the cycle of the
//! release, as if it had waited in the buffer. The same holds after an instruction that waits for the
//! exchange between SMs ([`isa::WarpStream::exchange`]): an atomic whose result is used, a fence.

use crate::design::{CoreDesign, FetchOf, MaskOf};
use crate::inflight::{Entry, InFlight, InstId};
use crate::issue::policy::IssuePolicy;
use crate::kernel::Code;
use crate::observe::observer::{Awaited, Observer, Seen};
use crate::observe::stalls::Stall;
use crate::operands::layer::Layer;
use crate::state::{State, Tick};
use crate::warps::mask::WarpMask;
use config::BranchFetch;
use isa::{Control, DynInst, Fault, KernelId, Pc, StepContext, WarpSlot, WarpStream};
use kit::LaneMask;

/// The decode stage, which owns the warps' stream.
#[derive(Debug)]
pub(crate) struct Decode<S> {
    pub stream: S,
    /// Warps that need not wait at an `mbarrier` any longer and have been taken from the stream; only while an observer
    /// watches.
    pub woken: Vec<WarpSlot>,
}

/// Wires of decode.
pub(crate) struct DecodeWires<'a, D: CoreDesign, O> {
    pub tick: Tick<'a, O>,
    pub state: &'a mut State<MaskOf<D>>,
    pub fetch: &'a mut FetchOf<D>,
    pub layer: &'a mut Layer,
    pub policy: &'a mut D::Issue,
}

impl<S: WarpStream> Decode<S> {
    /// Informs `observer`, if it watches, of the warps that have waited at an `mbarrier` for the instruction at `place`.
    #[inline(always)]
    pub fn note_awaited<M: WarpMask, O: Observer>(
        &mut self,
        tick: &mut Tick<'_, O>,
        state: &State<M>,
        place: (KernelId, Pc),
    ) {
        if !tick.observer.watches_details() || state.warps.at_mbarrier.is_empty() {
            return;
        }
        while let Some(warp) = self.stream.take_woken() {
            let by = Awaited { place, window: state.window(tick.kernels) };
            tick.observer.awaited(tick.now, warp, Stall::Mbarrier, Some(by));
            self.woken.push(warp);
        }
    }

    /// A warp that need not wait at an `mbarrier` any longer.
    #[inline]
    pub fn take_woken(&mut self) -> Option<WarpSlot> {
        self.woken.pop().or_else(|| self.stream.take_woken())
    }

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
        let kernel = w.state.warps.kernel[warp.index()];
        let code = &*w.tick.kernels[kernel.index()].code;
        let mut next = w.fetch.next_pc(warp);
        for left in (0..count).rev() {
            let Some(pc) = next else { break };
            next = self.decode_next(shared, w, (warp, kernel), (code, code.template(pc)), left)?;
        }
        Ok(())
    }

    /// Executes the next instruction of `warp`, an execution of `template`, and puts it into the buffer; `left`
    /// instructions of its fetch are left. Returns where decode of the warp may continue in this cycle.
    #[inline(always)]
    fn decode_next<D: CoreDesign, O: Observer>(
        &mut self,
        shared: &S::Shared,
        wires: &mut DecodeWires<'_, D, O>,
        (warp, kernel): (WarpSlot, KernelId),
        (code, template): (&Code, &Entry),
        left: u8,
    ) -> Result<Option<Pc>, Box<Fault>> {
        let DecodeWires { tick, state, layer, .. } = wires;
        let w = warp.index();
        let record = state.slab.take_record(&template.inst);
        let out = state.slab.record_mut(record);
        let context = StepContext { now: tick.now, sm: state.id };
        if let Err(fault) = layer.step(&mut self.stream, shared, warp, context, out) {
            state.slab.release_record(record);
            return Err(fault);
        }
        debug_assert_eq!(out.pc, template.inst.pc);
        let DynInst { mask, next_pc: next, diverged, held, at_mbarrier, .. } = *out;
        self.note_awaited(tick, state, (kernel, template.inst.pc));
        let turns = next != Some(Pc(template.inst.pc.0 + 1));
        let done = Done { mask, next, turns, diverged, held, at_mbarrier };
        let order = state.warps.next_order[w];
        let id = state.slab.insert(template, (warp, kernel, order), (mask, next.is_none(), turns), record);
        layer.settle(&mut state.slab, tick.kernels, id);
        state.warps.next_order[w] = order + 1;
        state.warps.in_pipeline[w] += 1;
        state.counters.decoded += 1;
        let next = if template.inst.has_effect | turns | held {
            wires.look_ahead(warp, id, (code, &template.inst), done, left)
        } else {
            wires.fetch.set_next_pc(warp, next);
            next
        };
        let DecodeWires { tick, state, policy, .. } = wires;
        let window = state.window(tick.kernels);
        policy.insert(window.flight(id));
        tick.observer.decoded(tick.now, Seen { id, window });
        Ok(next)
    }
}

/// Inputs of the choice where decode continues after an instruction: fields of its [`isa::DynInst`].
#[derive(Clone, Copy)]
struct Done {
    mask: LaneMask,
    next: Option<Pc>,
    /// The warp does not continue at the next instruction in memory.
    turns: bool,
    diverged: bool,
    held: bool,
    at_mbarrier: bool,
}

impl<D: CoreDesign, O> DecodeWires<'_, D, O> {
    /// Where decode of `warp` may continue after `id`, an instruction of `code`, which has just been executed; `left`
    /// instructions of its fetch are left.
    #[inline(always)]
    fn look_ahead(
        &mut self,
        warp: WarpSlot,
        id: InstId,
        (code, template): (&Code, &InFlight),
        Done { mask, next, turns, diverged, held, at_mbarrier }: Done,
        left: u8,
    ) -> Option<Pc> {
        let Self { state, fetch, .. } = self;
        let (pc, control) = (template.pc, template.control);
        fetch.set_next_pc(warp, next);
        let Some(next) = next else {
            state.warps.decoded.insert(warp);
            return None;
        };
        if diverged && control == Control::Branch {
            state.counters.divergences += 1;
        }
        if control == Control::BarrierSync && mask != 0 && !state.spec.options.decode_past_barriers {
            fetch.hold_at_barrier(warp, left);
            return None;
        }
        let blocks = match fetch.branches {
            BranchFetch::Oracle => false,
            BranchFetch::SequentialFlush => turns,
            BranchFetch::Stall => control == Control::Branch || turns,
        };
        if held {
            // Decode has come to an instruction that waits for the exchange, or at an `mbarrier`.
            let warps = &mut state.warps;
            let waiting = match control {
                _ if at_mbarrier => &mut warps.at_mbarrier,
                Control::Fence => &mut warps.fence_at_exchange,
                _ => &mut warps.atomic_at_exchange,
            };
            waiting.insert(warp);
            fetch.hold_at_barrier(warp, if blocks { 0 } else { left });
        }
        if blocks {
            let fallthrough = pc.index() + 1 < code.program.insts().len();
            fetch.hold_at_branch(warp, id, left > 0 || !fallthrough);
        }
        (!blocks && !held).then_some(next)
    }
}
