//! Strict round robin: the scheduler looks only at the warp after the one that issued last, and
//! waits for it. Warps that cannot issue until others do (at a barrier, fence or `mbarrier`, asleep, or not
//! there at all) lose their turn, since waiting for them would be a deadlock.

use super::scheduler::{View, WarpScheduler};
use crate::spec::CoreSpec;
use crate::warps::mask::WarpMask;
use isa::WarpSlot;
use kit::persist::{Archive, Mismatch, Persist};

/// Strict round robin over the live warps.
#[derive(Debug)]
pub struct StrictRoundRobin {
    /// The warp that issued last.
    last: u32,
}

impl<M: WarpMask> WarpScheduler<M> for StrictRoundRobin {
    type Config = ();

    const CONSIDERS_LIVE: bool = false;

    fn new(_: &(), _spec: &CoreSpec, _mine: M) -> Self {
        Self { last: M::SLOTS as u32 - 1 }
    }

    #[inline]
    fn considered(&mut self, view: &View<'_, M>) -> M {
        (view.live & !view.held).next_after(self.last).map_or(M::NONE, M::of)
    }

    #[inline]
    fn choose(&mut self, ready: M, _view: &View<'_, M>) -> WarpSlot {
        ready.first().expect("some warp is ready")
    }

    #[inline]
    fn on_issue(&mut self, warp: WarpSlot) {
        self.last = u32::from(warp.0);
    }

    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        self.last.persist(archive)
    }
}
