//! Where each warp stands before the schedulers, for designs that offer one candidate per warp.

use super::ReadyMasks;
use crate::observe::stalls::{Stall, StallMasks};
use crate::spec::Pipe;
use crate::warps::PerWarp;
use crate::warps::mask::WarpMask;
use isa::WarpSlot;

/// Where a warp stands, as a byte: it has nothing, a candidate for a pipe, or is stalled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head(u8);

impl Head {
    /// It has no instruction.
    pub const EMPTY: Self = Self(u8::MAX);

    /// It has a candidate for `pipe`.
    #[inline(always)]
    pub const fn ready(pipe: Pipe) -> Self {
        Self(pipe.0)
    }

    /// It has instructions but no candidate.
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

/// All warps' heads, and what the schedulers see of them.
#[derive(Debug)]
pub(crate) struct Heads<M: WarpMask> {
    of: PerWarp<Head, M>,
    ready: ReadyMasks<M>,
    stalls: StallMasks<M>,
    /// Warps whose head stands elsewhere than when this was last asked.
    changed: M,
}

impl<M: WarpMask> Default for Heads<M> {
    fn default() -> Self {
        let (ready, stalls) = (ReadyMasks::default(), StallMasks::default());
        Self { of: PerWarp::new(Head::EMPTY), ready, stalls, changed: M::NONE }
    }
}

impl<M: WarpMask> Heads<M> {
    /// `warp` stands at `head` now.
    #[inline]
    pub fn set(&mut self, warp: WarpSlot, head: Head) {
        let old = std::mem::replace(&mut self.of[warp.index()], head);
        if old == head {
            return;
        }
        self.changed.insert(warp);
        if let Some(pipe) = old.pipe() {
            self.ready.remove(pipe, M::of(warp));
        } else if let Some(stall) = old.stall() {
            self.stalls.remove(stall, M::of(warp));
        }
        if let Some(pipe) = head.pipe() {
            self.ready.insert(pipe, M::of(warp));
        } else if let Some(stall) = head.stall() {
            self.stalls.insert(stall, M::of(warp));
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

    /// Warps whose head has changed since this was last asked.
    #[inline]
    pub fn take_changed(&mut self) -> M {
        std::mem::take(&mut self.changed)
    }

    /// Warps with a candidate.
    #[inline]
    pub fn ready(&self) -> &ReadyMasks<M> {
        &self.ready
    }

    /// Warps without, by reason.
    #[inline]
    pub fn stalls(&self) -> &StallMasks<M> {
        &self.stalls
    }
}
