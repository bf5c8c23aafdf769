//! Effect of an issue on the instruction's warp, beside where the instruction goes next: memory instructions,
//! barriers, fences, sleeps and exits take their effect here, as in GPGPU-Sim.

use super::stage::IssueWires;
use crate::design::{CoreDesign, MaskOf};
use crate::inflight::InstId;
use crate::observe::observer::Observer;
use crate::wake_up::Timer;
use crate::warps::mask::WarpMask;
use config::{HoldingAtomics, InvalidatingFences};
use isa::{ALL_COPIES, Access, Control, Space, TransferKind, WarpSlot};
use kit::Cycle;

impl<D: CoreDesign, O: Observer> IssueWires<'_, D, O> {
    /// The effects of `id`, an instruction of `warp` that has some ([`InFlight::has_effect`]). Returns the warps that it
    /// releases from a barrier.
    ///
    /// [`InFlight::has_effect`]: crate::inflight::InFlight::has_effect
    #[inline(never)]
    pub(super) fn take_effect(&mut self, warp: WarpSlot, id: InstId) -> MaskOf<D> {
        let flight = self.state.slab.get(id);
        let (control, ends_warp) = (flight.control, flight.ends_warp);
        if flight.is_routed {
            self.issue_routed(id);
        }
        self.remember_access(warp, id);
        self.fetch.resolve_control(&mut self.tick, self.state, warp, id);
        let mut released = MaskOf::<D>::NONE;
        if control != Control::None {
            released |= self.control(control, id);
        }
        if ends_warp {
            released |= self.exit_warp(warp);
        }
        released
    }

    /// Copies and atomics are remembered.
    fn remember_access(&mut self, warp: WarpSlot, id: InstId) {
        let state = &mut *self.state;
        let flight = state.slab.get_mut(id);
        if flight.is_asynchronous() {
            flight.group = 1 + state.matrices.issue(warp);
            return self.queue_command(warp, id);
        }
        match flight.mem.map(|m| m.access) {
            Some(Access::AsyncCopy) => flight.group = state.copies.issue(warp),
            Some(Access::Atomic | Access::Reduction) if self.holds_warp(id) => {
                let state = &mut *self.state;
                state.slab.get_mut(id).holds_warp = true;
                state.warps.atomics[warp.index()] += 1;
                state.warps.at_atomic.insert(warp);
            }
            _ => {}
        }
    }

    /// `id`, a matrix operation of a warp group, comes into the SM's command queue.
    fn queue_command(&mut self, warp: WarpSlot, id: InstId) {
        const WARPS: u64 = 4;
        let state = &mut *self.state;
        let (flight, groups) = (state.slab.get(id), &state.spec.sm.matrix_groups);
        let bytes = u64::from(flight.wavefronts) * u64::from(groups.shared_bytes_per_cycle());
        state.counters.matrix_group_bytes += bytes / WARPS;
        state.counters.matrix_group_cycles += u64::from(flight.initiation_cycles);
        state.commands.issue(state.partition_of(warp), self.id_oc);
    }

    /// The copy engine gets the work that `id` starts, if it starts any.
    fn start_transfer(&mut self, warp: WarpSlot, id: InstId) {
        let state = &mut *self.state;
        let flight = state.slab.get(id);
        let (record, place) = (flight.record, (flight.kernel, flight.pc));
        let Some(transfer) = state.slab.record_mut(record).transfer.take() else { return };
        state.counters.transfers += 1;
        let bytes = u64::from(transfer.shared_bytes);
        let counters = &mut state.counters;
        counters.transfer_bytes += bytes;
        match transfer.kind {
            TransferKind::GlobalToShared => counters.transfer_load_bytes += bytes,
            TransferKind::SharedToGlobal => counters.transfer_store_bytes += bytes,
            TransferKind::SharedReduction => counters.transfer_reduction_bytes += bytes,
            TransferKind::SharedToShared | TransferKind::Prefetch => {}
        }
        counters.multicast_bytes += bytes * u64::from(transfer.multicast.map_or(0, |_| transfer.others.count_ones()));
        state.warps.outstanding[warp.index()] += 1;
        state.warps.transfers[warp.index()] += 1;
        let parameters = &state.spec.sm.copy_engine;
        if let Some(multicast) = state.engine.start(self.tick.now, (warp, place), *transfer, parameters) {
            state.peers.note_multicast(multicast);
        }
    }

    /// Whether the warp of `id`, an atomic, issues nothing until it has returned.
    fn holds_warp(&self, id: InstId) -> bool {
        let (slab, holding) = (&self.state.slab, self.state.spec.sm.issue.atomics_hold_warp);
        let holds = match slab.dynamic(id).space {
            Space::Shared => holding == HoldingAtomics::All,
            _ => holding != HoldingAtomics::None,
        };
        holds && slab.get(id).mask != 0
    }

    /// Applies the effect of `id` on its warp as an instruction of `control`. Returns the warps that it releases from a
    /// barrier.
    fn control(&mut self, control: Control, id: InstId) -> MaskOf<D> {
        let state = &mut *self.state;
        let (warp, mask) = (state.slab.get(id).warp, state.slab.get(id).mask);
        let dynamic = state.slab.dynamic(id);
        match control {
            Control::BarrierSync | Control::BarrierArrive if mask != 0 => {
                let (arrival, waits) = (dynamic.barrier, control == Control::BarrierSync);
                state.counters.barrier_arrivals += 1;
                let occupied = state.spec.sm.barrier_warp_cycles.unwrap_or(0);
                state.barrier_free = state.barrier_free.max(self.tick.now) + Cycle::from(occupied);
                if waits {
                    state.warps.at_barrier.insert(warp);
                }
                let released = state.ctas.barriers.arrive(state.warps.cta[warp.index()], warp, arrival, waits);
                return self.release(released);
            }
            Control::Fence | Control::FenceCta => self.reach_fence(warp, control),
            Control::AsyncCommit => state.copies.commit(warp),
            Control::AsyncWait => {
                let left = dynamic.async_groups_left;
                if !state.copies.wait(warp, left) {
                    state.warps.at_copies.insert(warp);
                }
                // Machine code waits for its counter, whichever asynchronous work has it.
                if left != ALL_COPIES && !state.engine.reads.wait(warp, left) {
                    state.warps.at_bulk_reads.insert(warp);
                }
            }
            Control::Transfer => self.start_transfer(warp, id),
            Control::MatrixCommit => state.matrices.commit(warp),
            Control::MatrixWait if !state.matrices.wait(warp, dynamic.async_groups_left) => {
                state.warps.at_matrices.insert(warp);
            }
            Control::BulkCommit => {
                state.engine.reads.commit(warp);
                state.engine.groups.commit(warp);
            }
            Control::BulkWait if !state.engine.groups.wait(warp, dynamic.async_groups_left) => {
                state.warps.at_bulk.insert(warp);
            }
            Control::BulkReadWait if !state.engine.reads.wait(warp, dynamic.async_groups_left) => {
                state.warps.at_bulk_reads.insert(warp);
            }
            Control::Sleep if dynamic.sleep_cycles > 0 => {
                state.warps.asleep.insert(warp);
                let due = self.tick.now + Cycle::from(dynamic.sleep_cycles);
                state.timers.start(due, Timer::Rise(warp));
            }
            _ => {}
        }
        MaskOf::<D>::NONE
    }

    /// `warp` issues a fence: it waits for what is under way.
    fn reach_fence(&mut self, warp: WarpSlot, control: Control) {
        let waits = self.state.before_fence(warp) > 0;
        let warps = &mut self.state.warps;
        let invalidates = match self.state.spec.sm.l1d.fences_invalidate {
            InvalidatingFences::None => false,
            InvalidatingFences::Device => control == Control::Fence,
            InvalidatingFences::All => true,
        };
        if invalidates {
            warps.invalidates.insert(warp);
        }
        if waits {
            warps.at_fence.insert(warp);
        } else {
            warps.pass_fence(warp);
        }
    }

    /// All threads of `warp` have exited. Returns the warps that this releases from a barrier.
    fn exit_warp(&mut self, warp: WarpSlot) -> MaskOf<D> {
        let state = &mut *self.state;
        state.warps.exited.insert(warp);
        let released = state.ctas.barriers.exit(state.warps.cta[warp.index()], warp);
        self.release(released)
    }

    /// Warps continue after a barrier, now or when its latency is over. Returns those that do now.
    fn release(&mut self, warps: MaskOf<D>) -> MaskOf<D> {
        let state = &mut *self.state;
        let latency = state.spec.sm.barrier_latency_cycles.unwrap_or(0);
        let due = state.barrier_free.max(self.tick.now) + Cycle::from(latency);
        if due > self.tick.now {
            warps.iter().for_each(|warp| state.timers.start(due, Timer::Pass(warp)));
            return MaskOf::<D>::NONE;
        }
        if !warps.is_empty() {
            self.state.warps.at_barrier &= !warps;
            self.state.dirty |= warps;
            self.fetch.release_from_barrier(warps);
            self.tick.observer.released(self.tick.now, warps.widest());
        }
        warps
    }
}
