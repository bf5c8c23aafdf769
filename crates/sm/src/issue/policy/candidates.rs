//! The view of an issue design that schedulers have: which warps have a candidate, and why the others have none.

use crate::observe::stalls::Stall;
use crate::spec::{Pipe, PipeSet};
use crate::warps::mask::WarpMask;
use kit::bits::set_bits;

/// Offer of a warp, as a byte: a candidate for a pipe, the reason of its stall, or nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head(u8);

impl Head {
    /// Numbers of heads, rounded up: pipes, then reasons, then nothing.
    const COUNT: usize = 32;

    /// Reasons from here on are none of an instruction.
    const REASONS: u8 = Stall::EmptyBuffer as u8;
    /// The warp has no instruction.
    pub const EMPTY: Self = Self(Pipe::COUNT as u8 + Self::REASONS);

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

    /// Whether the warp has instructions but no candidate.
    #[inline(always)]
    pub const fn is_stalled(self) -> bool {
        self.0 >= Pipe::COUNT as u8 && self.0 < Self::EMPTY.0
    }
}

const _: () = assert!((Head::EMPTY.0 as usize) < Head::COUNT, "a number for each head");

/// The schedulers' view of a design's warps. A design updates it in the calls that change a warp's state: the issue
/// stage reads it in every cycle. A warp with several candidates may have several heads.
#[derive(Clone, Copy, Debug)]
pub struct Candidates<M = u64> {
    /// The warps of each head. A candidate has no hazard left; its issue latch may be full.
    warps: [M; Head::COUNT],
    /// Heads that any warp has, one bit each.
    heads: u32,
    /// Warps that go before all others of their schedulers while they have a candidate that has room.
    pub first: M,
    /// Warps whose heads have changed since [`IssuePolicy::tick`](super::IssuePolicy::tick) last reported them.
    pub changed: M,
}

impl<M: WarpMask> Default for Candidates<M> {
    fn default() -> Self {
        Self { warps: [M::NONE; Head::COUNT], heads: 0, first: M::NONE, changed: M::NONE }
    }
}

impl<M: WarpMask> Candidates<M> {
    /// `warps` have `head`.
    #[inline]
    pub fn insert(&mut self, head: Head, warps: M) {
        self.warps[usize::from(head.0) % Head::COUNT] |= warps;
        self.heads |= 1 << (head.0 & 31);
    }

    /// `warps` have `head` no more.
    #[inline]
    pub fn remove(&mut self, head: Head, warps: M) {
        let of = &mut self.warps[usize::from(head.0) % Head::COUNT];
        *of &= !warps;
        self.heads &= !(u32::from(of.is_empty()) << (head.0 & 31));
    }

    /// Warps with `head`.
    #[inline]
    pub fn of(&self, head: Head) -> M {
        self.warps[usize::from(head.0) % Head::COUNT]
    }

    /// Pipes for which any warp has a candidate.
    #[inline]
    fn pipes(&self) -> PipeSet {
        PipeSet(self.heads as u16 & PipeSet::ALL.0)
    }

    /// Warps with a candidate for one of the pipes that are `open`, and those pipes that any has one for.
    #[inline(always)]
    pub fn offered(&self, open: PipeSet) -> (M, PipeSet) {
        let pipes = PipeSet(self.pipes().0 & open.0);
        (pipes.iter().fold(M::NONE, |warps, pipe| warps | self.of(Head::ready(pipe))), pipes)
    }

    /// Warps with a candidate.
    #[inline]
    pub fn ready(&self) -> M {
        self.offered(PipeSet::ALL).0
    }

    /// Warps with an instruction that has not issued.
    #[inline]
    pub fn waiting(&self) -> M {
        let heads = u64::from(self.heads) & ((1 << Head::EMPTY.0) - 1);
        set_bits(heads).fold(M::NONE, |warps, head| warps | self.warps[head % Head::COUNT])
    }

    /// Pipes for which any of `warps` has a candidate.
    #[inline]
    pub fn pipes_of(&self, warps: M) -> PipeSet {
        let pipes = self.pipes().iter().filter(|&p| self.of(Head::ready(p)).meets(warps));
        pipes.fold(PipeSet::default(), PipeSet::with)
    }

    /// Warps without a candidate because of `stall`.
    #[inline]
    pub fn stalled(&self, stall: Stall) -> M {
        // Other reasons are none of an instruction, and have no head.
        if (stall as u8) < Head::REASONS { self.of(Head::stalled(stall)) } else { M::NONE }
    }

    /// The first reason in order of priority for which any of `warps` has no candidate.
    #[inline]
    pub fn first_stall(&self, warps: M) -> Option<Stall> {
        let stalls = u64::from(self.heads >> Pipe::COUNT) & ((1 << Head::REASONS) - 1);
        let mut stalls = set_bits(stalls).map(|stall| Stall::ALL[stall]);
        stalls.find(|&stall| self.stalled(stall).meets(warps))
    }

    /// Warps whose heads have changed since the last call.
    #[inline]
    pub fn take_changed(&mut self) -> M {
        std::mem::replace(&mut self.changed, M::NONE)
    }
}
