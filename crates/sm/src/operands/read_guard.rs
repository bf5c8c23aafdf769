//! No write overtakes an older read of its warp, for instructions of which nothing else sees to it
//! ([`Design::is_guarded`]).
//!
//! - **In.** An instruction takes no collector while an older one of its warp waits for one that reads,
//!   from the register file, what it writes.
//! - **Out.** It is not sent to its unit while such an older one in a collector has reads to be served.
//!
//! Older is what issued before. So whatever waits by these rules waits for one that issued before it, and
//! holds nothing that this one needs: a collector is taken only when the older one has its own, and banks
//! always serve.

use super::{Collector, Design, Mask, OperandCollector, PARTITIONS};
use crate::execute::latches::{LatchId, Latches};
use crate::inflight::{InstId, Slab, Window};
use crate::kernel::Kernel;
use kit::bits::set_bits;

/// Whether `younger` writes a register that `older`, of the same warp, reads from the register file.
#[inline]
fn writes_sources(window: Window<'_>, younger: InstId, older: InstId) -> bool {
    let sources = window.vector_srcs(older);
    window.dsts(younger).iter().any(|reg| sources.contains(reg))
}

impl OperandCollector {
    /// Whether the oldest instruction in `latch` of `partition`, which is guarded, may not take a collector
    /// yet.
    #[inline]
    pub(super) fn must_wait(latch: LatchId, partition: usize, id_oc: &Latches, window: Window<'_>) -> bool {
        let Some(id) = id_oc.front(latch) else { return false };
        let warp = window.inst(id).warp;
        id_oc.any_before(latch, id_oc.of_partition(partition), |older| {
            window.inst(older).warp == warp && writes_sources(window, id, older)
        })
    }

    /// Those of the collectors `ready` of `partition`, at whose banks reads wait, whose instructions may
    /// leave.
    #[inline(never)]
    pub(super) fn may_leave_of(
        &self,
        ready: Mask,
        partition: usize,
        slab: &Slab,
        kernels: &[Kernel],
        design: &impl Design,
    ) -> Mask {
        let reading = self.of_partition[partition % PARTITIONS] & !(self.free | self.ready);
        let is_held = |c: &usize| {
            let id = self.collectors[c % 64].inst;
            let me = slab.get(id);
            let reads_mine = |o: usize| {
                let Collector { inst, outstanding, .. } = self.collectors[o % 64];
                let older = slab.get(inst);
                outstanding > 0
                    && older.warp == me.warp
                    && older.issue_order() < me.issue_order()
                    && writes_sources(Window { slab, kernels }, id, inst)
            };
            design.is_guarded(me) && set_bits(reading).any(reads_mine)
        };
        set_bits(ready).filter(is_held).fold(ready, |may, c| may & !(1 << c))
    }
}
