//! Which accesses happen before others.
//!
//! Warps of a CTA have vector clocks, which barriers and atomic operations on shared memory join. CTAs of a
//! launch are ordered by a rule that never finds a race where there is none: an access of a CTA happens before one
//! of another CTA if both have performed an atomic or volatile access to global memory since.

use super::shadow::Stamp;
use crate::warp::BARRIERS;
use isa::BarrierArrival;
use std::collections::BTreeMap;

/// Maximum number of warps of a CTA.
const WARPS: usize = 32;

/// By warp, the time of it that is known to have passed.
type Clock = [u32; WARPS];

fn join(clock: &mut Clock, other: &Clock) {
    clock.iter_mut().zip(other).for_each(|(mine, &other)| *mine = (*mine).max(other));
}

/// Arrivals at a barrier.
#[derive(Clone, Copy, Debug, Default)]
struct Barrier {
    /// Completions that have been noticed.
    generation: u32,
    /// Joint clock of the arrivals since.
    arrived: Clock,
    /// Joint clock of the arrivals before the last completion.
    released: Clock,
}

/// The order of the accesses of a CTA's warps.
#[derive(Clone, Debug)]
pub(super) struct WarpOrder {
    clocks: Vec<Clock>,
    /// The barrier that a warp waits for, and its generation.
    waiting: Vec<Option<(u8, u32)>>,
    barriers: [Barrier; BARRIERS],
    /// Clock of the last atomic operation on a word of shared memory.
    atomics: BTreeMap<u64, Clock>,
}

impl WarpOrder {
    pub fn new(warps: usize) -> Self {
        let warps = warps.min(WARPS);
        let mut clocks = vec![Clock::default(); warps];
        clocks.iter_mut().enumerate().for_each(|(warp, clock)| clock[warp] = 1);
        let barriers = [Barrier::default(); BARRIERS];
        Self { clocks, waiting: vec![None; warps], barriers, atomics: BTreeMap::new() }
    }

    /// A warp executes an instruction: the barrier that it has waited for is complete (the contract of
    /// [`isa::WarpStream`]).
    pub fn resume(&mut self, warp: usize) {
        let Some((number, generation)) = self.waiting[warp].take() else { return };
        let barrier = &mut self.barriers[usize::from(number)];
        if barrier.generation == generation {
            barrier.generation += 1;
            barrier.released = std::mem::take(&mut barrier.arrived);
        }
        join(&mut self.clocks[warp], &barrier.released);
    }

    /// A warp arrives at a barrier, and waits for it if it `waits`.
    pub fn arrive(&mut self, warp: usize, arrival: BarrierArrival, waits: bool) {
        let barrier = &mut self.barriers[usize::from(arrival.id) % BARRIERS];
        join(&mut barrier.arrived, &self.clocks[warp]);
        self.clocks[warp][warp] += 1;
        if waits {
            self.waiting[warp] = Some((arrival.id % BARRIERS as u8, barrier.generation));
        }
    }

    /// A warp performs an atomic operation on a word: it acquires and releases.
    pub fn synchronise(&mut self, warp: usize, word: u64) {
        let known = self.atomics.entry(word).or_default();
        let clock = &mut self.clocks[warp];
        join(clock, known);
        *known = *clock;
        clock[warp] += 1;
    }

    /// The present time of a warp.
    pub fn now(&self, warp: usize) -> u32 {
        self.clocks[warp][warp]
    }

    /// Whether an access happens before the present of `warp`.
    pub fn is_before(&self, old: &Stamp, warp: usize) -> bool {
        self.clocks[warp][old.who as usize % WARPS] >= old.clock
    }
}

/// The order of the accesses of a launch's CTAs.
#[derive(Clone, Debug, Default)]
pub(super) struct CtaOrder {
    /// Accesses to global memory so far.
    pub now: u32,
    /// By CTA, when it last performed an atomic or volatile one.
    strong: Vec<u32>,
}

impl CtaOrder {
    /// A CTA performs an access.
    pub fn advance(&mut self, cta: u32, strong: bool) {
        self.now = self.now.saturating_add(1);
        let cta = cta as usize;
        if self.strong.len() <= cta {
            self.strong.resize(cta + 1, 0);
        }
        if strong {
            self.strong[cta] = self.now;
        }
    }

    /// Whether an access happens before the present of `cta`.
    pub fn is_before(&self, old: &Stamp, cta: u32) -> bool {
        let since = |cta: u32| self.strong.get(cta as usize).is_some_and(|&at| at > old.clock);
        since(old.who) && since(cta)
    }
}
