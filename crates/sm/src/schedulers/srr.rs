//! Strict round robin: the scheduler looks only at the warp behind the one that issued last, and
//! waits for it. Warps that cannot issue until others do (at a barrier, fence or asleep, or not
//! there at all) lose their turn, since waiting for them would be a deadlock.

use super::{View, WarpScheduler};
use crate::spec::{CoreSpec, WarpMask};
use crate::warps::{bit, next_after};
use isa::WarpSlot;

/// Remembers who issued last.
#[derive(Debug)]
pub struct StrictRoundRobin {
    last: u32,
}

impl WarpScheduler for StrictRoundRobin {
    fn new(_spec: &CoreSpec, _mine: WarpMask) -> Self {
        Self { last: 63 }
    }

    #[inline]
    fn considered(&mut self, view: &View<'_>) -> WarpMask {
        next_after(view.live & !view.held, self.last).map_or(0, bit)
    }

    #[inline]
    fn choose(&mut self, ready: WarpMask, _view: &View<'_>) -> WarpSlot {
        WarpSlot(ready.trailing_zeros() as u16)
    }

    #[inline]
    fn on_issue(&mut self, warp: WarpSlot) {
        self.last = u32::from(warp.0);
    }
}
