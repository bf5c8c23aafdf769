//! Clusters in a stream: shared memory is handed over, transfers end, warps at barriers are woken.

use super::{LiveStream, Pending, Waiting, WaitingKind};
use crate::cluster::{ClusterPlace, Membership};
use crate::copy_engine::Started;
use crate::cta::Cta;
use crate::mbarrier::{self, Arriving, Mail};
use crate::state::DeviceState;
use crate::warp::Warp;
use isa::{ClusterMember, CtaSlot, DynInst, MessageId, PeerAccesses, Space, TransferId, TransferKind, WarpSlot};
use kit::{Cycle, LaneMask, lanes};

/// Bytes of a segment, the unit in which accesses to other CTAs' shared memory move data.
const SEGMENT: u64 = 32;

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
            cluster.mail.extend(state.clusters.take_mail(cluster.place));
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

    /// Begins a transfer. A load for other CTAs sends the bytes for their barriers now.
    pub(super) fn begin(&mut self, cta: u16, Started { mut barriers }: Started, now: Cycle, out: &mut DynInst) {
        let Some(transfer) = &mut out.transfer else { return };
        let place = self.ctas[usize::from(cta)].cluster.as_ref().map(|cluster| cluster.place);
        if let Some(place) = place.filter(|_| transfer.kind == TransferKind::GlobalToShared && transfer.others != 0) {
            let message = self.new_message();
            transfer.multicast = Some((place.member(), message));
            let others: Vec<_> = barriers.extract_if(.., |arriving| arriving.rank != place.rank).collect();
            others.into_iter().for_each(|arriving| self.send(place, arriving, message, now));
        }
        transfer.id = TransferId(self.next_transfer);
        self.next_transfer = self.next_transfer.wrapping_add(1);
        self.transfers.push(Pending { id: transfer.id, cta: Some(cta), place, barriers });
    }

    /// Sends bytes to a barrier of another CTA in the exchange.
    fn send(&mut self, place: ClusterPlace, arriving: Arriving, message: MessageId, now: Cycle) {
        self.wants_peers = true;
        self.waiting.push(Waiting { kind: WaitingKind::Arrival(self.arrivals.len()), seen: None });
        self.cycles.push(now);
        self.arrivals.push((place, arriving, message));
    }

    /// Ends a transfer: barriers of its own CTA count their bytes, and barriers of other CTAs are sent theirs. Returns
    /// the accesses to other CTAs.
    pub(super) fn finish(&mut self, transfer: TransferId, now: Cycle) -> Option<Box<PeerAccesses>> {
        let at = self.transfers.iter().position(|pending| pending.id == transfer)?;
        let Pending { cta, place, mut barriers, .. } = self.transfers.swap_remove(at);
        let others: Vec<_> = match place {
            Some(place) => barriers.extract_if(.., |arriving| arriving.rank != place.rank).collect(),
            None => Vec::new(),
        };
        if let Some(slot) = cta {
            let cta = &mut self.ctas[usize::from(slot)];
            barriers.into_iter().for_each(|arriving| mbarrier::complete(&mut cta.shared, arriving));
            cta.barriers_changed = true;
            self.wake(CtaSlot(slot));
        }
        let place = place.filter(|_| !others.is_empty())?;
        let message = self.new_message();
        let to = others.iter().map(|arriving| (arriving.rank as u8, arriving.bytes)).collect();
        others.into_iter().for_each(|arriving| self.send(place, arriving, message, now));
        Some(Box::new(PeerAccesses { from: place.member(), to, message }))
    }

    /// A new number for an access to other CTAs.
    pub(super) fn new_message(&mut self) -> MessageId {
        self.next_message = self.next_message.wrapping_add(1);
        MessageId(self.next_message)
    }

    /// The part of the access `out` in other CTAs' shared memory, if any.
    pub(super) fn peers_of(place: ClusterPlace, out: &DynInst, message: MessageId) -> Option<Box<PeerAccesses>> {
        if out.transfer.is_some() || out.space != Space::Shared {
            return None;
        }
        let place_of = |lane: usize| place.resolve(out.addresses[lane]).filter(|(rank, _)| *rank != place.rank);
        let segment = |(rank, address): (u32, u64)| (rank as u8, address / SEGMENT);
        let mut segments: Vec<_> = lanes(out.mask).filter_map(place_of).map(segment).collect();
        segments.sort_unstable();
        segments.dedup();
        let of_rank = |of: &[(u8, u64)]| (of[0].0, of.len() as u32 * SEGMENT as u32);
        let to: Vec<_> = segments.chunk_by(|a, b| a.0 == b.0).map(of_rank).collect();
        (!to.is_empty()).then(|| Box::new(PeerAccesses { from: place.member(), to, message }))
    }

    /// Performs the arrivals at barriers that belong to an access of another CTA, which has arrived.
    pub(super) fn deliver(&mut self, to: ClusterMember, of: (u8, MessageId), now: Cycle) {
        let is_it = |cluster: &Membership| cluster.place.member() == to && !cluster.has_ended;
        let Some(slot) = self.ctas.iter().position(|cta| cta.cluster.as_deref().is_some_and(is_it)) else { return };
        let Cta { cluster: Some(cluster), shared, barriers_changed, warps, .. } = &mut self.ctas[slot] else { return };
        for Mail { arrival, address, pc, .. } in cluster.mail.extract_if(.., |mail| mail.of == of) {
            (*barriers_changed, self.own.changed) = (true, true);
            let Err(what) = mbarrier::arrive(shared, address, arrival) else { continue };
            if let (Some(pc), Some(&warp)) = (pc, warps.first()) {
                let what = format!("`mbarrier` at shared address {address:#x}: {what}, by CTA {} of the cluster", of.0);
                self.waiting.push(Waiting { kind: WaitingKind::Refused(warp, pc, self.refused.len()), seen: None });
                self.cycles.push(now);
                self.refused.push(what);
            }
        }
        self.wake(CtaSlot::from(slot));
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
