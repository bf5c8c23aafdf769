//! Loose round robin, as GPGPU-Sim's `lrr`.

use super::scheduler::{View, WarpScheduler};
use crate::spec::CoreSpec;
use crate::warps::mask::WarpMask;
use isa::WarpSlot;
use kit::persist::{Archive, Mismatch, Persist};

/// Loose round robin over the ready warps.
#[derive(Debug)]
pub struct LooseRoundRobin {
    /// The warp that issued last.
    last: u32,
}

impl<M: WarpMask> WarpScheduler<M> for LooseRoundRobin {
    type Config = ();

    const CONSIDERS_LIVE: bool = true;

    fn new(_: &(), _spec: &CoreSpec, _mine: M) -> Self {
        Self { last: M::SLOTS as u32 - 1 }
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
        self.last.persist(archive)
    }
}
