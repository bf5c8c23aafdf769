//! [`Candidates`] of designs that offer at most one per warp.

use super::candidates::{Candidates, Head};
use crate::warps::PerWarp;
use crate::warps::mask::WarpMask;
use isa::WarpSlot;

/// The heads of all warps, and the candidates and stalls that follow from them.
#[derive(Debug)]
pub struct Heads<M: WarpMask = u64> {
    of: PerWarp<Head, M>,
    candidates: Candidates<M>,
}

impl<M: WarpMask> Default for Heads<M> {
    fn default() -> Self {
        Self { of: PerWarp::new(Head::EMPTY), candidates: Candidates::default() }
    }
}

impl<M: WarpMask> Heads<M> {
    /// `warp` offers `head` from now on.
    #[inline(always)]
    pub fn set(&mut self, warp: WarpSlot, head: Head) {
        let old = std::mem::replace(&mut self.of[warp.index()], head);
        if old != head {
            let only = M::of(warp);
            self.candidates.changed |= only;
            self.candidates.remove(old, only);
            self.candidates.insert(head, only);
        }
    }

    /// Whether `warp` has no instruction.
    #[inline]
    pub fn is_empty(&self, warp: WarpSlot) -> bool {
        self.of[warp.index()] == Head::EMPTY
    }

    /// Whether `warp` has instructions but no candidate.
    #[inline]
    pub fn is_stalled(&self, warp: WarpSlot) -> bool {
        self.of[warp.index()].is_stalled()
    }

    /// Warps whose head has changed since the last call.
    #[inline]
    pub fn take_changed(&mut self) -> M {
        self.candidates.take_changed()
    }

    /// The schedulers' view.
    #[inline]
    pub fn candidates(&self) -> &Candidates<M> {
        &self.candidates
    }

    /// From now on `warps` go first: see [`Candidates::first`].
    #[inline]
    pub fn set_first(&mut self, warps: M) {
        self.candidates.first = warps;
    }
}
