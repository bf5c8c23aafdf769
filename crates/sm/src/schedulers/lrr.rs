//! Loose round robin, as GPGPU-Sim's `lrr`.

use super::{View, WarpScheduler};
use crate::spec::{CoreSpec, WarpMask};
use crate::warps::next_after;
use isa::WarpSlot;

/// Remembers who issued last.
#[derive(Debug)]
pub struct LooseRoundRobin {
    last: u32,
}

impl WarpScheduler for LooseRoundRobin {
    fn new(_spec: &CoreSpec, _mine: WarpMask) -> Self {
        Self { last: 63 }
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
