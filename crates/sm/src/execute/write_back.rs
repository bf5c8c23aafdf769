//! Write-back: the end of instructions, and of the warps and CTAs they end.

use crate::execute::latches::Latches;
use crate::inflight::InstId;
use crate::issue::policy::IssuePolicy;
use crate::observe::observer::{Awaited, Observer, Seen};
use crate::observe::stalls::Stall;
use crate::operands::OperandStage;
use crate::slab::{Flight, Window};
use crate::state::{State, Tick};
use crate::warps::mask::WarpMask;
use isa::{Access, KernelId, Pc, WarpSlot};
use kit::Cycle;
use mem::Level;
use std::fmt;

/// Wires of the execution of an instruction and of its end.
pub struct WriteBack<'a, P: IssuePolicy, R, O> {
    pub(crate) tick: Tick<'a, O>,
    pub(crate) state: &'a mut State<P::Mask>,
    /// The issue design and the operand stage, which learn of it.
    pub(crate) policy: &'a mut P,
    pub(crate) operands: &'a mut R,
}

impl<P: IssuePolicy, R, O> fmt::Debug for WriteBack<'_, P, R, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WriteBack").field("now", &self.tick.now).finish_non_exhaustive()
    }
}

/// For stages in which instructions execute.
impl<P: IssuePolicy, R: OperandStage<P>, O: Observer> WriteBack<'_, P, R, O> {
    /// The same, for a function that is not inlined: this one stays in registers of the host.
    #[inline(always)]
    pub(crate) fn reborrow(&mut self) -> WriteBack<'_, P, R, O> {
        let Self { tick, state, policy, operands } = self;
        let tick = Tick { now: tick.now, kernels: tick.kernels, observer: tick.observer };
        WriteBack { tick, state, policy, operands }
    }

    /// The present cycle.
    pub fn now(&self) -> Cycle {
        self.tick.now
    }

    /// The instructions in flight.
    pub fn window(&self) -> Window<'_> {
        self.state.window(self.tick.kernels)
    }

    /// The stage may have something to do at `cycle`, which is after the present one, whatever else happens.
    pub fn wake_at(&mut self, cycle: Cycle) {
        self.state.wake_up.at(cycle);
    }

    /// Takes the oldest access to memory out of `oc_ex`, which has one: it begins to execute.
    #[inline(always)]
    pub fn begin_access(&mut self, oc_ex: &mut Latches) -> InstId {
        let latch = oc_ex.oldest(oc_ex.waiting_for_memory());
        let id = oc_ex.oldest_in(latch);
        oc_ex.drop_oldest(latch);
        self.operands.latches_freed(1 << (latch & 63));
        self.state.wake_up.moved();
        self.tick.observer.executing(self.tick.now, Seen { id, window: self.state.window(self.tick.kernels) });
        id
    }

    /// `id`, an access whose registers the operand stage has left to the memory stage, has read them.
    #[inline]
    pub fn registers_read(&mut self, id: InstId) {
        let Self { tick, state, policy, .. } = self;
        state.wake_up.moved();
        let window = state.window(tick.kernels);
        policy.on_operands_read(window, id);
        tick.observer.operands_read(tick.now, Seen { id, window });
    }

    /// `id`, which comes from a unit, writes its results and is complete: see [`Self::complete`]. `contended`: the memory
    /// unit has a result to write as well.
    #[inline(always)]
    pub fn end(&mut self, id: InstId, contended: bool) {
        let Self { tick, state, operands, .. } = self;
        let flight = Window { slab: &state.slab, kernels: tick.kernels }.flight(id);
        state.counters.register_writes += register_writes(flight);
        let banks = operands.banks();
        if contended || banks.any_read_waits() {
            banks.write(flight.warp, flight.banks().writes);
        }
        self.complete(id);
    }

    /// Writes the results of `id`, which comes from the memory stage, if their banks are free.
    #[inline(always)]
    pub fn try_write_registers(&mut self, id: InstId) -> bool {
        let Self { tick, state, operands, .. } = self;
        let flight = Window { slab: &state.slab, kernels: tick.kernels }.flight(id);
        let free = operands.banks().try_write(flight.warp, flight.banks().writes);
        if free {
            state.counters.register_writes += register_writes(flight);
        }
        free
    }

    /// `id` is complete: its results are there, or it has none and has done its work.
    #[inline(always)]
    pub fn complete(&mut self, id: InstId) {
        let Self { tick, state, policy, operands } = self;
        state.wake_up.moved();
        let window = state.window(tick.kernels);
        let flight = window.flight(id);
        policy.on_writeback(flight);
        let (warp, mem, group, record, writes) =
            (flight.warp, flight.mem, flight.group, flight.record, flight.dsts > 0);
        let place = (flight.kernel, flight.pc);
        operands.written_back(policy, &state.slab, id, state.partition_of(warp));
        tick.observer.written_back(tick.now, Seen { id, window });
        if let Some(Access::Atomic | Access::Reduction) = mem.map(|m| m.access) {
            state.end_atomic(id);
        }
        state.slab.release(id, record);
        state.warps.in_pipeline[warp.index()] -= 1;
        state.warps.writers[warp.index()] -= u32::from(writes);
        let Some(mem) = mem else {
            if group != 0 {
                state.commands.end(state.partition_of(warp));
                if state.matrices.performed(warp, group - 1) {
                    state.warps.at_matrices.remove(warp);
                    state.dirty.insert(warp);
                    self.awaited(warp, Stall::MatrixGroup, place);
                }
            }
            let Self { state, .. } = self;
            if state.warps.at_fence.contains(warp) {
                self.reborrow().pass_fence(warp);
            } else if state.warps.exited.contains(warp) {
                self.reborrow().retire_if_drained(warp);
            }
            return;
        };
        if mem.access == Access::AsyncCopy && state.copies.performed(warp, group) {
            state.warps.at_copies.remove(warp);
            state.dirty.insert(warp);
            self.awaited(warp, Stall::AsyncCopy, place);
        }
        self.performed(warp);
    }

    /// `warp` has waited because of `stall` for the instruction at `place`.
    #[inline(always)]
    pub(crate) fn awaited(&mut self, warp: WarpSlot, stall: Stall, place: (KernelId, Pc)) {
        if self.tick.observer.watches_details() {
            let by = Awaited { place, window: self.state.window(self.tick.kernels) };
            self.tick.observer.awaited(self.tick.now, warp, stall, Some(by));
        }
    }

    /// The data of a transaction of `id` have come from `level`.
    #[inline]
    pub(crate) fn served(&mut self, id: InstId, level: Level) {
        let window = self.state.window(self.tick.kernels);
        self.tick.observer.served(self.tick.now, Seen { id, window }, level);
    }

    /// A memory access of `warp` has been performed.
    #[inline(always)]
    pub(crate) fn performed(&mut self, warp: WarpSlot) {
        let warps = &mut self.state.warps;
        let left = &mut warps.outstanding[warp.index()];
        *left -= 1;
        let is_last = *left == 0;
        if warps.at_fence.contains(warp) {
            self.reborrow().pass_fence(warp);
        }
        if is_last && self.state.warps.exited.contains(warp) {
            self.reborrow().retire_if_drained(warp);
        }
    }

    /// The fence at which `warp` waits is passed, if nothing is left that it waits for.
    fn pass_fence(&mut self, warp: WarpSlot) {
        if self.state.before_fence(warp) == 0 {
            self.state.dirty.insert(warp);
            self.state.warps.pass_fence(warp);
        }
    }

    /// If nothing of `warp` is left, its slot is free, and with its last warp the CTA's.
    fn retire_if_drained(&mut self, warp: WarpSlot) {
        let state = &mut *self.state;
        if !state.warps.is_drained(warp) || !state.warps.resident.contains(warp) {
            return;
        }
        state.count_warps(self.tick.now);
        state.warps.resident.remove(warp);
        state.dirty.insert(warp);
        let instructions = u64::from(state.warps.next_order[warp.index()]);
        let sum = &mut state.counters.squared_instructions;
        // The sum over all SMs is a number, too.
        *sum = sum.saturating_add(instructions.saturating_mul(instructions)).min(1 << 55);
        let slot = state.warps.cta[warp.index()];
        if state.ctas.finish_warp(slot, warp) {
            state.counters.ctas_finished += 1;
            self.tick.observer.cta_finished(self.tick.now, slot);
        }
    }
}

/// Registers that an instruction writes, those that bypass the banks not among them.
#[inline]
fn register_writes(flight: Flight<'_>) -> u64 {
    let past_banks = if flight.route().skips_writes { flight.vector_dsts } else { 0 };
    u64::from(flight.dsts - past_banks)
}

impl<M: WarpMask> State<M> {
    /// Atomic `id` holds its warp no longer, if it did.
    pub fn end_atomic(&mut self, id: InstId) {
        let flight = self.slab.get_mut(id);
        if !flight.holds_warp {
            return;
        }
        flight.holds_warp = false;
        let warp = flight.warp;
        let left = &mut self.warps.atomics[warp.index()];
        *left = left.saturating_sub(1);
        if *left == 0 {
            self.warps.at_atomic.remove(warp);
            self.dirty.insert(warp);
        }
    }
}
