//! Clusters in a stream: shared memory is handed over, transfers end, warps at barriers are woken.

use super::{LiveStream, Pending, Waiting, WaitingKind};
use crate::cluster::Membership;
use crate::cta::Cta;
use crate::mbarrier;
use crate::state::DeviceState;
use crate::warp::Warp;
use isa::{CtaSlot, TransferId, WarpSlot};
use kit::{Cycle, LaneMask};

/// Threads of a CTA that have not exited, and those among them that have not arrived at the cluster's barrier.
fn counts(warps: &[Warp], cta: &Cta) -> (u32, u32) {
    let of = |lanes: fn(&Warp) -> LaneMask| {
        cta.warps.iter().map(|slot| lanes(&warps[slot.index()]).count_ones()).sum::<u32>()
    };
    (of(Warp::live), of(|warp| warp.live() & !warp.at_cluster))
}

impl LiveStream {
    /// Takes the shared memory of a warp's CTA back, if it is handed over; returns whether it was.
    #[inline]
    pub(super) fn take_shared(&mut self, state: &mut DeviceState, slot: WarpSlot) -> bool {
        let cta = &mut self.ctas[self.warps[slot.index()].cta as usize];
        cta.cluster.is_some() && take(cta, state)
    }

    /// Hands over the shared memory of a warp's CTA.
    #[inline]
    pub(super) fn lend_shared(&mut self, state: &mut DeviceState, slot: WarpSlot) {
        let Self { warps, ctas, .. } = self;
        let cta = &mut ctas[warps[slot.index()].cta as usize];
        if cta.cluster.is_some() {
            lend(warps, cta, state);
        }
    }

    /// The end of a warp's turn: ends waits of its CTA, and hands over the CTA's shared memory.
    #[inline]
    pub(super) fn end_turn(&mut self, state: &mut DeviceState, slot: WarpSlot) {
        self.wake(CtaSlot(self.warps[slot.index()].cta));
        self.lend_shared(state, slot);
    }

    /// Hands over the shared memory of all clusters' CTAs. CTAs that have ended leave the stream.
    #[cold]
    pub(super) fn lend_all(&mut self, state: &mut DeviceState) {
        let Self { warps, ctas, .. } = self;
        for cta in ctas {
            lend(warps, cta, state);
            if let Some(cluster) = cta.cluster.take_if(|cluster| cluster.has_ended) {
                state.clusters.end(cluster.place);
            }
        }
    }

    /// Takes shared memory back, unless the stream has the device for itself, and wakes the warps whose cluster's barrier
    /// is complete.
    #[cold]
    pub(super) fn take_all_back(&mut self, state: &mut DeviceState) {
        let Self { warps, ctas, at_cluster, woken, .. } = self;
        for cta in ctas {
            let Some(cluster) = &mut cta.cluster else { continue };
            let phase = state.clusters.phase(cluster.place);
            cluster.arrived = state.clusters.arrived(cluster.place);
            if std::mem::replace(&mut cluster.phase, phase) != phase {
                cta.warps.iter().for_each(|slot| warps[slot.index()].at_cluster = 0);
                let here = |slot: &mut WarpSlot| cta.warps.contains(slot);
                woken.extend(at_cluster.extract_if(.., here));
            }
            take(cta, state);
            if !cta.waits.is_empty() {
                // Other CTAs may have arrived at its barriers.
                super::wake(warps, cta, woken);
            }
            if self.is_alone {
                lend(warps, cta, state);
            }
        }
        self.wants_peers = !at_cluster.is_empty() || self.is_alone && self.waits_in_cluster();
    }

    /// Whether a warp waits at an `mbarrier` at which other CTAs may arrive.
    pub(super) fn waits_in_cluster(&self) -> bool {
        self.ctas.iter().any(|cta| cta.cluster.is_some() && !cta.waits.is_empty())
    }

    /// Ends a transfer: its bytes come to its barriers.
    pub(super) fn finish(&mut self, transfer: TransferId, now: Cycle) {
        let Some(at) = self.transfers.iter().position(|pending| pending.id == transfer) else { return };
        let Pending { cta, place, barriers, .. } = self.transfers.swap_remove(at);
        for arriving in barriers {
            match (place, cta) {
                (Some(place), _) if place.rank != arriving.rank => {
                    self.wants_peers = true;
                    self.waiting.push(Waiting { kind: WaitingKind::Arrival(self.arrivals.len()), seen: None });
                    self.cycles.push(now);
                    self.arrivals.push((place, arriving));
                }
                (_, Some(cta)) => {
                    let cta = &mut self.ctas[usize::from(cta)];
                    mbarrier::complete(&mut cta.shared, arriving);
                    cta.barriers_changed = true;
                }
                (_, None) => {}
            }
        }
        if let Some(cta) = cta {
            self.wake(CtaSlot(cta));
        }
    }

    /// The barrier of a cluster at which a warp waits, for messages.
    pub(super) fn describe_cluster_wait(&self, slot: WarpSlot) -> Option<String> {
        let cta = self.at_cluster.contains(&slot).then(|| &self.ctas[self.warps[slot.index()].cta as usize])?;
        let &Membership { place, arrived: (arrived, missing), .. } = cta.cluster.as_deref()?;
        Some(format!(
            "the barrier of cluster {}, as CTA {} of {}: {arrived} threads have arrived, {missing} have not",
            place.cluster, place.rank, place.ctas
        ))
    }
}

fn take(cta: &mut Cta, state: &mut DeviceState) -> bool {
    let Some(cluster) = cta.cluster.as_mut().filter(|cluster| cluster.is_lent) else { return false };
    if let Some(shared) = state.clusters.take_back(cluster.place) {
        (cta.shared, cluster.is_lent) = (shared, false);
    }
    true
}

fn lend(warps: &[Warp], cta: &mut Cta, state: &mut DeviceState) {
    let counts = if cta.cluster.is_some() { counts(warps, cta) } else { return };
    if let Some(cluster) = cta.cluster.as_mut().filter(|cluster| !cluster.is_lent) {
        state.clusters.lend(cluster.place, std::mem::take(&mut cta.shared), counts);
        cluster.is_lent = true;
    }
}
