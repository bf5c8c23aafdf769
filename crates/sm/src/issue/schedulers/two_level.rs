//! Two-level scheduling (Narasiman et al., MICRO 2011, in GPGPU-Sim's `two_level_active` form):
//! loose round robin over a small active set. A warp that waits at a barrier or for a
//! long-latency operation is demoted to the end of the pending queue; the first pending warp that
//! does not wait takes its place.
//!
//! - D-TL1: GPGPU-Sim promotes the head of the queue even if it waits, and demotes it again in the
//!   next cycle. Here warps that wait stay in the queue, in order.

use super::scheduler::{View, WarpScheduler};
use crate::spec::CoreSpec;
use crate::warps::mask::WarpMask;
use isa::WarpSlot;
use kit::persist::{Archive, Mismatch, Persist};

kit::parameters! {
    /// Size of the two-level scheduler.
    pub struct TwoLevelConfig {
        /// Warps in the active set of a scheduler; 0: as many as the GPU description's
        /// sm.issue.two_level_active_warps.
        pub active: u32 = 0 in (0, 64),
    }
}

/// The active set and the queue of pending warps.
#[derive(Debug)]
pub struct TwoLevel<M> {
    active: M,
    /// Live warps outside the active set, first to be promoted first.
    pending: Vec<WarpSlot>,
    /// Live warps in one of the two.
    known: M,
    active_max: u32,
    /// The warp that issued last.
    last: u32,
}

impl<M: WarpMask> WarpScheduler<M> for TwoLevel<M> {
    type Config = TwoLevelConfig;

    const CONSIDERS_LIVE: bool = false;

    fn new(config: &TwoLevelConfig, spec: &CoreSpec, _mine: M) -> Self {
        let of_gpu = spec.sm.issue.two_level_active_warps;
        Self {
            active: M::NONE,
            pending: Vec::with_capacity(M::SLOTS),
            known: M::NONE,
            active_max: if config.active == 0 { of_gpu.max(1) } else { config.active },
            last: M::SLOTS as u32 - 1,
        }
    }

    #[inline]
    fn considered(&mut self, view: &View<'_, M>) -> M {
        let waiting = view.held | view.long_waits;
        let changed = view.live != self.known
            || self.active.meets(waiting)
            || (self.active.count() < self.active_max && !self.pending.is_empty());
        if changed {
            self.regroup(view, waiting);
        }
        self.active
    }

    #[inline]
    fn choose(&mut self, ready: M, _view: &View<'_, M>) -> WarpSlot {
        ready.next_after(self.last).expect("some warp is ready")
    }

    #[inline]
    fn on_issue(&mut self, warp: WarpSlot) {
        self.last = u32::from(warp.0);
    }

    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        self.active.persist(archive)?;
        self.pending.persist(archive)?;
        self.known.persist(archive)?;
        self.last.persist(archive)
    }
}

impl<M: WarpMask> TwoLevel<M> {
    fn regroup(&mut self, view: &View<'_, M>, waiting: M) {
        self.active &= view.live;
        self.pending.retain(|w| view.live.contains(*w));
        let mut arrived = view.live & !self.known;
        self.known = view.live;
        // Newcomers queue in order of arrival.
        while let Some(oldest) = arrived.iter().min_by_key(|w| view.age(*w)) {
            self.pending.push(oldest);
            arrived.remove(oldest);
        }
        self.pending.extend((self.active & waiting).iter());
        self.active &= !waiting;
        while self.active.count() < self.active_max {
            let Some(next) = self.pending.iter().position(|w| !waiting.contains(*w)) else { break };
            self.active.insert(self.pending.remove(next));
        }
    }
}
