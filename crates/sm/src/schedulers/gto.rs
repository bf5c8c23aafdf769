//! Greedy then oldest, as GPGPU-Sim's `gto`.

use super::{View, WarpScheduler};
use crate::spec::{CoreSpec, WarpMask};
use crate::warps::{bit, warps_in};
use isa::WarpSlot;

/// Remembers whom it favours.
#[derive(Debug)]
pub struct GreedyThenOldest {
    /// Bit of the warp that issued last.
    greedy: WarpMask,
}

impl WarpScheduler for GreedyThenOldest {
    /// Favours its first warp to begin with.
    fn new(_spec: &CoreSpec, mine: WarpMask) -> Self {
        Self { greedy: mine & mine.wrapping_neg() }
    }

    #[inline]
    fn choose(&mut self, ready: WarpMask, view: &View<'_>) -> WarpSlot {
        if ready & self.greedy != 0 {
            return WarpSlot(self.greedy.trailing_zeros() as u16);
        }
        warps_in(ready).min_by_key(|w| view.age[w.index()]).expect("some warp is ready")
    }

    #[inline]
    fn on_issue(&mut self, warp: WarpSlot) {
        self.greedy = bit(warp);
    }
}
