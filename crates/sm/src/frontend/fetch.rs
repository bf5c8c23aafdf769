//! The path of each warp: where its decode may continue, at changes of control flow and barriers, and which
//! warps may be fetched for. A [`FrontEnd`] fetches.
//!
//! After a taken branch ([`config::BranchFetch::SequentialFlush`]) the sequential path is fetched
//! until the branch issues, and the right one as the front end says ([`FrontEnd::refetch_cycles`]). Wrong-path instructions are not modelled as such, only their cost. By
//! default, where the branch had sequential instructions after it in its own fetch, these are found to be wrong one
//! cycle after the branch issued, and the right path is fetched in that cycle. Else the sequential
//! path is fetched in the cycle of the issue, and the right one two cycles after it.
//!
//! - D-F1: GPGPU-Sim finds out only when the warp scheduler comes to look at the warp.
//! - D-F2: wrong-path fetches neither occupy the fetch latch nor touch the instruction cache.

use super::{FetchWires, FrontEnd};
use crate::inflight::InstId;
use crate::observe::observer::Observer;
use crate::spec::CoreSpec;
use crate::state::{State, Tick};
use crate::wake_up::Timer;
use crate::warps::PerWarp;
use crate::warps::mask::WarpMask;
use config::BranchFetch;
use isa::{Pc, WarpSlot};
use kit::persist::{Archive, Mismatch, Persist};

/// The warps' paths, and what fetches along them.
#[derive(Debug)]
pub struct Fetch<M: WarpMask, F> {
    /// The design's front end.
    pub source: F,
    /// Warps after a change of control flow that has not been resolved.
    at_branch: M,
    /// That change, and whether sequential instructions were fetched with it.
    branch: Box<[(InstId, bool)]>,
    /// Warps whose decode has come to a barrier.
    at_barrier: M,
    /// Instructions fetched and held back at a barrier.
    left_at_barrier: Box<[u8]>,
    /// Warps released from a barrier with instructions held back.
    resumed: M,
    /// The next instruction of each warp; none once all of them are decoded.
    next: PerWarp<Option<Pc>, M>,
    /// How decode continues after a change of control flow.
    pub branches: BranchFetch,
}

impl<M: WarpMask, F: FrontEnd<M>> Fetch<M, F> {
    /// Creates the paths of an SM without warps, along which `source` fetches.
    pub fn new(spec: &CoreSpec, source: F, branches: BranchFetch) -> Self {
        let warps = spec.sm.max_warps as usize;
        Self {
            source,
            at_branch: M::NONE,
            branch: vec![(InstId(0), false); warps].into(),
            at_barrier: M::NONE,
            left_at_barrier: vec![0; warps].into(),
            resumed: M::NONE,
            next: PerWarp::new(None),
            branches,
        }
    }

    /// The next instruction of `warp` to decode.
    #[inline]
    pub fn next_pc(&self, warp: WarpSlot) -> Option<Pc> {
        self.next[warp.index()]
    }

    /// Decode of `warp` has come to `pc`, or begins there.
    #[inline]
    pub fn set_next_pc(&mut self, warp: WarpSlot, pc: Option<Pc>) {
        self.next[warp.index()] = pc;
    }

    /// Warps after an unresolved change of control flow.
    pub fn at_branch(&self) -> M {
        self.at_branch
    }

    /// Takes a packet for decode, a warp and the number of its instructions: those that a barrier had held
    /// back first.
    #[inline]
    pub fn take_packet(&mut self) -> Option<(WarpSlot, u8)> {
        let Some(warp) = self.resumed.first() else { return self.source.take_packet() };
        self.resumed.remove(warp);
        Some((warp, std::mem::take(&mut self.left_at_barrier[warp.index()])))
    }

    /// Decode has come to a barrier with `left` instructions of the fetch left.
    pub fn hold_at_barrier(&mut self, warp: WarpSlot, left: u8) {
        self.at_barrier.insert(warp);
        self.left_at_barrier[warp.index()] = left;
    }

    /// Warps have been released from barriers.
    pub fn release_from_barrier(&mut self, warps: M) {
        self.at_barrier &= !warps;
        self.resumed |= M::collect(warps.iter().filter(|w| self.left_at_barrier[w.index()] > 0));
    }

    /// Decode has come to a change of control flow; `found_early` if the wrong path's instructions
    /// are in the buffer already.
    pub fn hold_at_branch(&mut self, warp: WarpSlot, id: InstId, found_early: bool) {
        self.at_branch.insert(warp);
        self.branch[warp.index()] = (id, found_early);
    }

    /// `id` issues. If its warp is held after it: whether the wrong path was fetched with it.
    #[inline]
    fn resolves(&self, warp: WarpSlot, id: InstId) -> Option<bool> {
        if !self.at_branch.contains(warp) {
            return None;
        }
        let (branch, found_early) = self.branch[warp.index()];
        (branch == id).then_some(found_early)
    }

    /// The right path of `warp` may be fetched.
    pub fn refetch(&mut self, warp: WarpSlot) {
        self.at_branch.remove(warp);
    }

    /// Whether a packet waits for decode.
    #[inline]
    pub fn has_packet(&self) -> bool {
        self.source.has_packet() || !self.resumed.is_empty()
    }

    /// Fetches for warps that may be; `room` are those whose buffer has room for a fetch. Whether a packet waits for
    /// decode now.
    #[inline(always)]
    pub fn step<O: Observer>(&mut self, tick: Tick<'_, O>, state: &mut State<M>, room: M) -> bool {
        let held = self.at_branch | self.at_barrier | self.resumed | state.warps.decoded | state.warps.missing;
        let wanting = state.warps.resident & room & !held;
        self.source.step(wanting, &mut FetchWires { tick, state, next: &self.next });
        self.has_packet()
    }

    /// `id` issues: if fetch of its warp was held after it, the right path is fetched.
    #[inline(always)]
    pub fn resolve_control<O: Observer>(
        &mut self,
        tick: &mut Tick<'_, O>,
        state: &mut State<M>,
        warp: WarpSlot,
        id: InstId,
    ) {
        let Some(found_early) = self.resolves(warp, id) else { return };
        match self.branches {
            BranchFetch::SequentialFlush => {
                let refetch = tick.now + self.source.refetch_cycles(found_early);
                state.timers.start(refetch, Timer::Refetch(warp));
                state.counters.flushes += 1;
                tick.observer.flushed(tick.now, warp);
            }
            BranchFetch::Stall | BranchFetch::Oracle => self.refetch(warp),
        }
    }
}

impl<M: WarpMask, F: FrontEnd<M>> Persist for Fetch<M, F> {
    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        let Self { source, at_branch, branch: _, at_barrier, left_at_barrier, resumed, next: _, branches: _ } = self;
        source.persist(archive)?;
        at_branch.persist(archive)?;
        at_barrier.persist(archive)?;
        left_at_barrier.persist(archive)?;
        resumed.persist(archive)
    }
}
