//! Greedy then oldest, as GPGPU-Sim's `gto`.

use super::{View, WarpScheduler};
use crate::spec::CoreSpec;
use crate::warps::mask::WarpMask;
use isa::WarpSlot;

/// Remembers whom it favours.
#[derive(Debug)]
pub struct GreedyThenOldest<M> {
    /// Bit of the warp that issued last.
    greedy: M,
}

impl<M: WarpMask> WarpScheduler<M> for GreedyThenOldest<M> {
    /// Favours its first warp to begin with.
    fn new(_spec: &CoreSpec, mine: M) -> Self {
        Self { greedy: mine.first().map_or(M::NONE, M::of) }
    }

    #[inline]
    fn choose(&mut self, ready: M, view: &View<'_, M>) -> WarpSlot {
        if let Some(greedy) = (ready & self.greedy).first() {
            return greedy;
        }
        ready.iter().min_by_key(|w| view.age(*w)).expect("some warp is ready")
    }

    #[inline]
    fn on_issue(&mut self, warp: WarpSlot) {
        self.greedy = M::of(warp);
    }
}
