//! What an issue design shows the schedulers: which warps have a candidate, and why the others have none.

use crate::observe::stalls::StallMasks;
use crate::spec::{Pipe, PipeSet};
use crate::warps::mask::WarpMask;

/// Warps that have a candidate, by the pipe it goes to. A warp with several candidates may be
/// listed for several pipes.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReadyMasks<M = u64> {
    of: [M; Pipe::COUNT],
    /// Pipes for which some warp has a candidate.
    pipes: PipeSet,
}

impl<M: WarpMask> ReadyMasks<M> {
    /// Warps with a candidate for `pipe`.
    #[inline]
    pub fn of(&self, pipe: Pipe) -> M {
        self.of[pipe.index()]
    }

    /// Pipes for which any warp has a candidate.
    #[inline]
    pub fn pipes(&self) -> PipeSet {
        self.pipes
    }

    /// Warps with a candidate for a pipe that is not one of `full`.
    #[inline]
    pub fn outside(&self, full: PipeSet) -> M {
        if self.pipes.0 & full.0 == 0 {
            return self.of.iter().fold(M::NONE, |all, &warps| all | warps);
        }
        self.pipes.except(full).iter().fold(M::NONE, |all, pipe| all | self.of(pipe))
    }

    /// Pipes for which any of `warps` has a candidate.
    #[inline]
    pub fn pipes_of(&self, warps: M) -> PipeSet {
        self.pipes.iter().filter(|&p| self.of(p).meets(warps)).fold(PipeSet::default(), PipeSet::with)
    }

    /// The warps have a candidate for `pipe`.
    #[inline]
    pub fn insert(&mut self, pipe: Pipe, warps: M) {
        self.of[pipe.index()] |= warps;
        self.pipes = if self.of(pipe).is_empty() { self.pipes } else { self.pipes.with(pipe) };
    }

    /// The warps have no candidate for `pipe` any more.
    #[inline]
    pub fn remove(&mut self, pipe: Pipe, warps: M) {
        self.of[pipe.index()] &= !warps;
        self.pipes = if self.of(pipe).is_empty() { self.pipes.without(pipe) } else { self.pipes };
    }
}

/// What the schedulers see of a design's warps. A design updates the masks in the calls that change a
/// warp's state: the issue stage reads them in every cycle.
#[derive(Clone, Copy, Debug)]
pub struct Candidates<M = u64> {
    /// Warps with candidates. A candidate has no hazard left; its issue latch may be full.
    pub ready: ReadyMasks<M>,
    /// Why warps whose buffer is not empty have no candidate.
    pub stalls: StallMasks<M>,
    /// Warps that go before all others of their schedulers while they have a candidate that has room.
    pub first: M,
    /// Warps for which `ready` or `stalls` has changed since [`IssuePolicy::tick`](super::IssuePolicy::tick)
    /// last reported them.
    pub changed: M,
}

impl<M: WarpMask> Default for Candidates<M> {
    fn default() -> Self {
        let (ready, stalls) = (ReadyMasks::default(), StallMasks::default());
        Self { ready, stalls, first: M::NONE, changed: M::NONE }
    }
}

impl<M: WarpMask> Candidates<M> {
    /// Warps whose masks have changed since the last call.
    #[inline]
    pub fn take_changed(&mut self) -> M {
        std::mem::replace(&mut self.changed, M::NONE)
    }
}
