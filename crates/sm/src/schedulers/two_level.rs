//! Two-level scheduling (Narasiman et al., MICRO 2011, in GPGPU-Sim's `two_level_active` form):
//! loose round robin over a small active set. A warp that waits at a barrier or for a
//! long-latency operation is demoted to the end of the pending queue; the first pending warp that
//! does not wait takes its place.
//!
//! - D-TL1: GPGPU-Sim promotes the head of the queue even if it waits, and demotes it again in the
//!   next cycle. Here warps that wait stay in the queue, in order.

use super::{View, WarpScheduler};
use crate::spec::{CoreSpec, WarpMask};
use crate::warps::{bit, next_after};
use isa::WarpSlot;

/// The two sets.
#[derive(Debug)]
pub struct TwoLevel {
    active: WarpMask,
    /// Live warps outside the active set, first to be promoted first.
    pending: Vec<WarpSlot>,
    known: WarpMask,
    active_max: u32,
    last: u32,
}

impl WarpScheduler for TwoLevel {
    fn new(spec: &CoreSpec, _mine: WarpMask) -> Self {
        Self {
            active: 0,
            pending: Vec::with_capacity(64),
            known: 0,
            active_max: spec.sm.issue.two_level_active_warps.max(1),
            last: 63,
        }
    }

    #[inline]
    fn considered(&mut self, view: &View<'_>) -> WarpMask {
        let waiting = view.held | view.long_waits;
        let changed = view.live != self.known
            || self.active & waiting != 0
            || (self.active.count_ones() < self.active_max && !self.pending.is_empty());
        if changed {
            self.regroup(view, waiting);
        }
        self.active
    }

    #[inline]
    fn choose(&mut self, ready: WarpMask, _view: &View<'_>) -> WarpSlot {
        next_after(ready, self.last).expect("some warp is ready")
    }

    #[inline]
    fn on_issue(&mut self, warp: WarpSlot) {
        self.last = u32::from(warp.0);
    }
}

impl TwoLevel {
    fn regroup(&mut self, view: &View<'_>, waiting: WarpMask) {
        self.active &= view.live;
        self.pending.retain(|w| view.live & bit(*w) != 0);
        let mut arrived: WarpMask = view.live & !self.known;
        self.known = view.live;
        // Newcomers queue in order of arrival.
        while arrived != 0 {
            let oldest = crate::warps::warps_in(arrived).min_by_key(|w| view.age[w.index()]);
            let oldest = oldest.expect("the mask is not empty");
            self.pending.push(oldest);
            arrived &= !bit(oldest);
        }
        for warp in crate::warps::warps_in(self.active & waiting) {
            self.pending.push(warp);
        }
        self.active &= !waiting;
        while self.active.count_ones() < self.active_max {
            let Some(next) = self.pending.iter().position(|w| waiting & bit(*w) == 0) else { break };
            self.active |= bit(self.pending.remove(next));
        }
    }
}
