//! Fetch: each cycle, warps in turn whose buffer has room for a fetch.
//!
//! Follows GPGPU-Sim: round robin over the warps; a hit is in the fetch latch for the next decode;
//! a miss takes the warp out of the running until its answer goes through the latch. Fetch and
//! decode alternate [`config::Frontend::fetches_per_cycle`] times in a cycle, so that all but the
//! last of a cycle's fetches are decoded in that cycle.
//!
//! Behind a taken branch ([`config::BranchFetch::SequentialFlush`]) the sequential path is fetched
//! until the branch issues. Wrong-path instructions are not modelled as such, only their cost:
//! where the branch had sequential instructions behind it in its own fetch, these are found to be
//! wrong one cycle after the branch issued, and the right path is fetched in that cycle; else the
//! sequential path is fetched in the cycle of the issue, and the right one two cycles after it.
//!
//! - D-F1: GPGPU-Sim finds out only when the warp scheduler comes to look at the warp.
//! - D-F2: wrong-path fetches neither occupy the fetch latch nor touch the instruction cache.

use crate::inflight::InstId;
use crate::observe::observer::Observer;
use crate::spec::CoreSpec;
use crate::state::{State, Tick};
use crate::wake_up::Timer;
use crate::warps::PerWarp;
use crate::warps::mask::WarpMask;
use config::BranchFetch;
use isa::{Pc, WarpSlot};
use kit::Cycle;
use mem::cache::CacheOutcome;
use mem::{Cache, Request, RequestKind};
use std::collections::VecDeque;

/// Where code is for the caches.
const CODE_BASE: u64 = 1 << 43;

/// The fetch stage's state.
#[derive(Debug)]
pub struct Fetch<M: WarpMask> {
    /// Absent if every fetch hits.
    pub icache: Option<Cache>,
    /// What was fetched for the next decode: a warp and the number of its instructions.
    packet: Option<(WarpSlot, u8)>,
    /// The warp that was last fetched for.
    last: u32,
    /// Warps whose fetch has missed.
    missing: M,
    /// Warps whose fetch has been answered, to go through the latch.
    answered: VecDeque<WarpSlot>,
    /// Warps behind a change of control flow that has not been resolved.
    at_branch: M,
    /// That change, and whether sequential instructions were fetched with it.
    branch: Box<[(InstId, bool)]>,
    /// Warps behind a barrier in decode.
    at_barrier: M,
    /// Instructions fetched and held back at a barrier.
    left_at_barrier: Box<[u8]>,
    /// Warps released from a barrier with instructions held back.
    resumed: M,
    /// The next instruction of each warp; none once all of them are decoded.
    next: PerWarp<Option<Pc>, M>,
    per_fetch: u8,
    /// How decode continues after a change of control flow.
    pub branches: BranchFetch,
    /// The instruction cache may have a request for the memory.
    pub may_send: bool,
}

impl<M: WarpMask> Fetch<M> {
    /// Nothing fetched.
    pub fn new(spec: &CoreSpec, branches: BranchFetch) -> Self {
        let warps = spec.sm.max_warps as usize;
        let perfect = spec.sm.perfect_instruction_and_constant_caches;
        Self {
            icache: (!perfect).then(|| Cache::new(&spec.sm.frontend.icache)),
            packet: None,
            // As GPGPU-Sim: the first cycle looks at warp 1 first.
            last: 0,
            missing: M::NONE,
            answered: VecDeque::with_capacity(warps),
            at_branch: M::NONE,
            branch: vec![(InstId(0), false); warps].into(),
            at_barrier: M::NONE,
            left_at_barrier: vec![0; warps].into(),
            resumed: M::NONE,
            next: PerWarp::new(None),
            per_fetch: spec.sm.frontend.instructions_per_fetch as u8,
            branches,
            may_send: false,
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

    /// Warps waiting for the instruction cache.
    pub fn missing(&self) -> M {
        self.missing
    }

    /// Warps behind an unresolved change of control flow.
    pub fn at_branch(&self) -> M {
        self.at_branch
    }

    /// Takes the fetched packet.
    #[inline]
    pub fn take_packet(&mut self) -> Option<(WarpSlot, u8)> {
        self.packet.take()
    }

    /// Takes instructions that a barrier had held back.
    #[inline]
    pub fn take_resumed(&mut self) -> Option<(WarpSlot, u8)> {
        let warp = self.resumed.first()?;
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

    /// `id` issues. If its warp is held behind it: whether the wrong path was fetched with it.
    #[inline]
    fn resolves(&self, warp: WarpSlot, id: InstId) -> Option<bool> {
        let (branch, found_early) = self.branch[warp.index()];
        (self.at_branch.contains(warp) && branch == id).then_some(found_early)
    }

    /// The right path of `warp` may be fetched.
    pub fn refetch(&mut self, warp: WarpSlot) {
        self.at_branch.remove(warp);
    }

    /// Instructions have come from the memory: the warps that wait for them go on.
    pub fn fill(&mut self, now: Cycle, token: u32) {
        let Some(icache) = &mut self.icache else { return };
        icache.fill(now, token);
        while let Some(waiter) = icache.pop_ready() {
            self.answered.push_back(WarpSlot(waiter.token as u16));
        }
    }

    /// Whether a packet waits for decode.
    pub fn has_packet(&self) -> bool {
        self.packet.is_some() || !self.resumed.is_empty()
    }

    /// Fetches for one warp, if the latch is free and a warp has room for a fetch. `room` are the warps
    /// whose buffers have.
    #[inline(always)]
    pub fn step<O: Observer>(&mut self, tick: &mut Tick<'_, O>, state: &mut State<M>, room: M) {
        if self.packet.is_some() {
            return;
        }
        if let Some(warp) = self.answered.pop_front() {
            self.missing.remove(warp);
            state.dirty.insert(warp);
            self.packet = Some((warp, self.per_fetch));
            state.wake_up.moved();
            return;
        }
        let held = self.missing | self.at_branch | self.at_barrier | self.resumed | state.warps.decoded;
        let wanting = state.warps.resident & room & !held;
        let Some(warp) = wanting.next_after(self.last) else { return };
        let Some(pc) = self.next[warp.index()] else {
            state.warps.decoded.insert(warp);
            return;
        };
        self.last = u32::from(warp.0);
        state.wake_up.moved();
        if self.look_up(tick, state, warp, pc) {
            self.packet = Some((warp, self.per_fetch));
            state.counters.fetches += 1;
            tick.observer.fetched(tick.now, warp, pc);
        }
    }

    /// Looks the instruction at `pc` up in the instruction cache; true on a hit.
    #[inline(always)]
    fn look_up<O: Observer>(&mut self, tick: &mut Tick<'_, O>, state: &mut State<M>, warp: WarpSlot, pc: Pc) -> bool {
        let Some(icache) = &mut self.icache else { return true };
        let program = &tick.kernels[state.warps.kernel[warp.index()].index()].code.program;
        let request = Request {
            address: program.address(pc) + CODE_BASE,
            bytes: program.inst_bytes,
            kind: RequestKind::Instruction,
            local: false,
            byte_mask: u32::MAX,
            token: u32::from(warp.0),
        };
        let outcome = icache.access(tick.now, &request).outcome;
        self.may_send |= icache.peek_miss().is_some();
        match outcome {
            CacheOutcome::Hit => true,
            CacheOutcome::Miss | CacheOutcome::Merged => {
                self.missing.insert(warp);
                state.dirty.insert(warp);
                state.counters.fetches += 1;
                state.counters.fetch_misses += 1;
                tick.observer.fetched(tick.now, warp, pc);
                false
            }
            CacheOutcome::Fail(_) => {
                state.counters.fetch_refusals += 1;
                false
            }
        }
    }

    /// `id` issues: if fetch of its warp was held after it, the right path is fetched.
    #[inline]
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
                let refetch = if found_early { tick.now + 1 } else { tick.now + 2 };
                state.timers.start(refetch, Timer::Refetch(warp));
                state.counters.flushes += 1;
                tick.observer.flushed(tick.now, warp);
            }
            BranchFetch::Stall | BranchFetch::Oracle => self.refetch(warp),
        }
    }
}
