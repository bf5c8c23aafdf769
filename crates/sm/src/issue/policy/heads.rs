//! [`Candidates`] of designs that offer at most one per warp.

use super::candidates::Candidates;
use crate::observe::stalls::Stall;
use crate::spec::Pipe;
use crate::warps::PerWarp;
use crate::warps::mask::WarpMask;
use isa::WarpSlot;

/// What a warp offers, as a byte: nothing, a candidate for a pipe, or the reason of its stall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head(u8);

impl Head {
    /// The warp has no instruction.
    pub const EMPTY: Self = Self(u8::MAX);

    /// The warp has a candidate for `pipe`.
    #[inline(always)]
    pub const fn ready(pipe: Pipe) -> Self {
        Self(pipe.0)
    }

    /// The warp has instructions but no candidate, because of `stall`.
    #[inline(always)]
    pub const fn stalled(stall: Stall) -> Self {
        Self(Pipe::COUNT as u8 + stall as u8)
    }

    /// The pipe of its candidate.
    #[inline(always)]
    const fn pipe(self) -> Option<Pipe> {
        if self.0 < Pipe::COUNT as u8 { Some(Pipe(self.0)) } else { None }
    }

    /// Why it has no candidate.
    #[inline(always)]
    const fn stall(self) -> Option<Stall> {
        if self.0 < Pipe::COUNT as u8 || self.0 == u8::MAX {
            return None;
        }
        Some(Stall::ALL[(self.0 - Pipe::COUNT as u8) as usize])
    }
}

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
    #[inline]
    pub fn set(&mut self, warp: WarpSlot, head: Head) {
        let old = std::mem::replace(&mut self.of[warp.index()], head);
        if old == head {
            return;
        }
        let Candidates { ready, stalls, changed, .. } = &mut self.candidates;
        changed.insert(warp);
        if let Some(pipe) = old.pipe() {
            ready.remove(pipe, M::of(warp));
        } else if let Some(stall) = old.stall() {
            stalls.remove(stall, M::of(warp));
        }
        if let Some(pipe) = head.pipe() {
            ready.insert(pipe, M::of(warp));
        } else if let Some(stall) = head.stall() {
            stalls.insert(stall, M::of(warp));
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
        self.of[warp.index()].stall().is_some()
    }

    /// Warps whose head has changed since the last call.
    #[inline]
    pub fn take_changed(&mut self) -> M {
        self.candidates.take_changed()
    }

    /// What the schedulers see.
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
