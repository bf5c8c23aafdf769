//! Greedy: the warp that issued last as long as it is ready, then the first by some order. With the order
//! of arrival that is greedy then oldest, as GPGPU-Sim's `gto`. With the opposite order it is greedy then
//! youngest, which Huerta et al. (arXiv 2503.20481) find on Ampere.

use super::scheduler::{View, WarpScheduler};
use crate::spec::CoreSpec;
use crate::warps::mask::WarpMask;
use isa::WarpSlot;
use kit::persist::{Archive, Mismatch};
use std::cmp::Reverse;
use std::marker::PhantomData;

/// The order in which a greedy scheduler prefers warps.
pub trait Order: Send {
    /// The smaller, the earlier; no two warps have the same.
    type Key: Ord;

    /// The first warp of a scheduler is its favourite to begin with, as in GPGPU-Sim.
    const BEGINS_WITH_FIRST: bool = true;

    /// The key of `warp` now.
    fn key<M: WarpMask>(view: &View<'_, M>, warp: WarpSlot) -> Self::Key;
}

/// By arrival on the SM.
#[derive(Debug)]
pub struct Oldest;

impl Order for Oldest {
    type Key = u64;

    #[inline]
    fn key<M: WarpMask>(view: &View<'_, M>, warp: WarpSlot) -> u64 {
        view.age(warp)
    }
}

/// By arrival on the SM, the last first.
#[derive(Debug)]
pub struct Youngest;

impl Order for Youngest {
    type Key = Reverse<u64>;

    const BEGINS_WITH_FIRST: bool = false;

    #[inline]
    fn key<M: WarpMask>(view: &View<'_, M>, warp: WarpSlot) -> Reverse<u64> {
        Reverse(view.age(warp))
    }
}

/// Greedy, then the first by `By`.
#[derive(Debug)]
pub struct Greedy<M, By> {
    /// Bit of the warp that issued last.
    last: M,
    by: PhantomData<By>,
}

impl<M: WarpMask, By: Order> WarpScheduler<M> for Greedy<M, By> {
    type Config = ();

    const CONSIDERS_LIVE: bool = true;

    fn new(_: &(), _spec: &CoreSpec, mine: M) -> Self {
        let first = mine.first().filter(|_| By::BEGINS_WITH_FIRST);
        Self { last: first.map_or(M::NONE, M::of), by: PhantomData }
    }

    #[inline]
    fn choose(&mut self, ready: M, view: &View<'_, M>) -> WarpSlot {
        if let Some(last) = (ready & self.last).first() {
            return last;
        }
        ready.iter().min_by_key(|&warp| By::key(view, warp)).expect("some warp is ready")
    }

    #[inline]
    fn on_issue(&mut self, warp: WarpSlot) {
        self.last = M::of(warp);
    }

    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        self.last.persist(archive)
    }
}
