//! No write overtakes an older read of its warp, for instructions that nothing else keeps in order
//! ([`Guard`]).
//!
//! - **In.** An instruction takes no collector while an older one of its warp waits for one that reads,
//!   from the register file, what it writes.
//! - **Out.** It is not sent to its unit while such an older one in a collector has reads to be served.
//!
//! An instruction is older if it issued before. Each wait is for an older instruction and holds nothing that
//! this one needs: a collector is taken only when the older instruction has its own, and banks always serve.
//! Therefore waits end.

use super::pool::{Collector, Pool};
use super::{Mask, PARTITIONS};
use crate::execute::latches::{LatchId, Latches};
use crate::inflight::{InFlight, InstId};
use crate::slab::Window;
use crate::spec::{CoreSpec, PipeSet};
use energy::{Each, Structure};
use kit::bits::set_bits;

/// Which instructions may not write a register before older ones of their warp have read it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Guard {
    /// None: the issue design has its own means, or none.
    #[default]
    None,
    /// Those whose way a layer over the stage has shortened ([`InFlight::is_routed`]).
    Routed,
    /// Every instruction: for designs in which a write-after-read dependence ends at issue.
    All,
}

/// The hardware of [`Guard::All`] in an SM of `spec`: in each sub-core, for each collector, a bit for each other one
/// whose instruction has yet to read what this one's writes. The register that an instruction writes, and its warp, are
/// compared with three sources of each other one in a collector or issue latch.
pub fn structure(spec: &CoreSpec) -> Structure {
    let collectors = spec.sm.operands.collectors as usize / spec.partitions;
    let issue_latches = PipeSet::ALL.iter().map(|p| spec.issue_latches(p) as usize).sum::<usize>() / spec.partitions;
    let warps = (spec.sm.max_warps as usize).div_ceil(spec.partitions);
    let warp = warps.next_power_of_two().trailing_zeros() as usize;
    let once = Each::Instruction.times(1);
    Structure::new("read guard", spec.partitions, collectors, collectors)
        .matrix()
        .compares((collectors - 1 + issue_latches) * (3 * 8 + warp))
        .read(once)
        .written(once)
        .searched(once)
}

impl Guard {
    /// Whether any instruction is guarded.
    #[inline]
    pub(super) fn any(self) -> bool {
        self != Self::None
    }

    /// Whether `inst` is guarded.
    #[inline]
    pub(super) fn covers(self, inst: &InFlight) -> bool {
        self == Self::All || inst.uses_layer()
    }

    /// Whether the oldest instruction in `latch` of `partition`, which is guarded, may not take a
    /// collector yet.
    #[inline(always)]
    pub(super) fn must_wait(latch: LatchId, partition: usize, id_oc: &Latches, window: Window<'_>) -> bool {
        let others = id_oc.occupied() & id_oc.of_partition(partition) & !(1 << (latch & 63));
        others != 0 && Self::must_wait_for(others, latch, id_oc, window)
    }

    /// Whether it waits for an instruction in one of the latches `others`.
    #[inline(never)]
    fn must_wait_for(others: u64, latch: LatchId, id_oc: &Latches, window: Window<'_>) -> bool {
        let Some(id) = id_oc.front(latch) else { return false };
        let warp = window.inst(id).warp;
        id_oc.any_before(latch, others, |older| window.inst(older).warp == warp && writes_sources(window, id, older))
    }

    /// The collectors of `ready` in `partition`, at whose banks reads wait, whose instructions may
    /// leave.
    #[inline(never)]
    pub(super) fn may_leave_of(self, ready: Mask, partition: usize, pool: &Pool, window: Window<'_>) -> Mask {
        let reading = pool.of_partition[partition % PARTITIONS] & pool.reading;
        let is_held = |c: &usize| {
            let Collector { order, inst: id, .. } = pool.collectors[c % 64];
            let me = window.inst(id);
            let reads_mine = |o: usize| {
                let other = &pool.collectors[o % 64];
                let is_older = other.order < order && window.inst(other.inst).warp == me.warp;
                is_older && writes_sources(window, id, other.inst)
            };
            self.covers(me) && set_bits(reading).any(reads_mine)
        };
        set_bits(ready).filter(is_held).fold(ready, |may, c| may & !(1 << c))
    }
}

/// Whether `younger` writes a register that `older`, of the same warp, reads from the register file.
#[inline]
fn writes_sources(window: Window<'_>, younger: InstId, older: InstId) -> bool {
    let sources = window.vector_srcs(older);
    window.dsts(younger).iter().any(|reg| sources.contains(reg))
}

/// The order that collectors keep among the instructions of a warp: [`CollectorRules`](super::CollectorRules), and the
/// guard of a layer over the stage.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kept {
    pub memory_order: bool,
    pub guard: Guard,
}
