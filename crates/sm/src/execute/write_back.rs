//! Write-back and completion of instructions, and of the warps and CTAs they end.

use crate::design::CoreDesign;
use crate::inflight::{InstId, Window};
use crate::issue::policy::IssuePolicy;
use crate::kernel::Kernel;
use crate::observe::observer::{Observer, Seen};
use crate::operands::OperandStage;
use crate::sm::Sm;
use crate::warps::mask::WarpMask;
use gpu::FinishedCta;
use isa::{Access, WarpSlot, WarpStream};
use kit::Cycle;

impl<S: WarpStream, D: CoreDesign, O: Observer> Sm<S, D, O> {
    /// Instructions that leave their units write their results.
    #[inline]
    pub(crate) fn write_back(&mut self, now: Cycle, kernels: &[Kernel]) {
        let Some(ending) = self.units.take_ending(now) else { return };
        for place in ending {
            let id = self.units.ending(place);
            // GPGPU-Sim lets units write whatever the bank's state; only reads and the memory
            // unit's writes give way.
            self.write_registers(kernels, id);
            self.complete(now, kernels, id);
        }
    }

    /// Writes the results of `id`, which comes from a unit.
    #[inline]
    fn write_registers(&mut self, kernels: &[Kernel], id: InstId) {
        self.counters.register_writes += self.register_writes(id);
        if self.operands.banks().any_read_waits() || self.lsu.is_writing_back() {
            let (warp, banks) = (self.slab.get(id).warp, self.slab.banks(kernels, id));
            let partition = self.partition_of(warp);
            self.operands.banks().write(partition, warp, banks.writes);
        }
    }

    /// Writes the results of `id`, which comes from the memory unit, if its banks are free.
    #[inline]
    pub(crate) fn try_write_registers(&mut self, kernels: &[Kernel], id: InstId) -> bool {
        let (warp, banks) = (self.slab.get(id).warp, self.slab.banks(kernels, id));
        let partition = self.partition_of(warp);
        let free = self.operands.banks().try_write(partition, warp, banks.writes);
        if free {
            self.counters.register_writes += self.register_writes(id);
        }
        free
    }

    /// Registers that `id` writes, those that bypass the banks not among them.
    #[inline]
    fn register_writes(&self, id: InstId) -> u64 {
        let flight = self.slab.get(id);
        let past_banks = if self.slab.route(id).skips_writes { flight.vector_dsts } else { 0 };
        u64::from(flight.dsts - past_banks)
    }

    /// `id` is complete: its results are there, or it has none and has done its work.
    pub(crate) fn complete(&mut self, now: Cycle, kernels: &[Kernel], id: InstId) {
        self.agenda.moved();
        let window = Window { slab: &self.slab, kernels };
        self.policy.on_writeback(window, id);
        self.observer.written_back(now, Seen { id, window });
        let flight = self.slab.get(id);
        let (warp, mem, group) = (flight.warp, flight.mem, flight.group);
        self.operands.written_back(&mut self.policy, &self.slab, id, self.partition_of[warp.index()].into());
        self.touched.insert(warp);
        if let Some(Access::Atomic | Access::Reduction) = mem.map(|m| m.access) {
            self.end_atomic(id);
        }
        self.slab.release(id);
        self.warps.in_pipeline[warp.index()] -= 1;
        if let Some(mem) = mem {
            match mem.access {
                Access::AsyncCopy if self.copies.performed(warp, group) => {
                    self.warps.at_copies.remove(warp);
                    self.stirred.insert(warp);
                }
                _ => {}
            }
            self.performed(now, warp, 1);
        } else if self.warps.exited.contains(warp) {
            self.retire_if_drained(now, warp);
        }
    }

    /// Atomic `id` holds its warp no longer, if it did.
    pub(crate) fn end_atomic(&mut self, id: InstId) {
        let flight = self.slab.get_mut(id);
        if !std::mem::take(&mut flight.holds_warp) {
            return;
        }
        let warp = flight.warp;
        let left = &mut self.warps.atomics[warp.index()];
        *left = left.saturating_sub(1);
        if *left == 0 {
            self.warps.at_atomic.remove(warp);
            self.stirred.insert(warp);
        }
    }

    /// `count` memory accesses of `warp` have been performed.
    #[inline]
    pub(crate) fn performed(&mut self, now: Cycle, warp: WarpSlot, count: u32) {
        let left = &mut self.warps.outstanding[warp.index()];
        *left -= count;
        if *left == 0 {
            if self.warps.at_fence.contains(warp) {
                self.stirred.insert(warp);
                self.warps.at_fence.remove(warp);
                self.pass_fence(warp);
            }
            self.retire_if_drained(now, warp);
        }
    }

    /// If nothing of `warp` is left, its slot is free, and with its last warp the CTA's.
    fn retire_if_drained(&mut self, now: Cycle, warp: WarpSlot) {
        if !self.warps.is_drained(warp) || !self.warps.resident.contains(warp) {
            return;
        }
        self.warps.resident.remove(warp);
        self.stirred.insert(warp);
        let slot = self.warps.cta[warp.index()];
        let cta = self.ctas[slot.index()].as_mut().expect("a resident warp's CTA is resident");
        cta.unfinished.remove(warp);
        if cta.unfinished.is_empty() {
            let cta = self.ctas[slot.index()].take().expect("just seen");
            self.free.give_back(&cta.resources);
            self.reserved_warps &= !cta.warps;
            self.stream.end_cta(slot);
            self.counters.ctas_finished += 1;
            self.finished.push(FinishedCta { kernel: cta.kernel, cta: cta.position, slot });
            self.observer.cta_finished(now, slot);
        }
    }
}
