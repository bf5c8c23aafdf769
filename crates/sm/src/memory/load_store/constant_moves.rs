//! Constant loads of machine code, whose results take the latency of another unit.

use crate::execute::{beyond_latency, cycles_to_end};
use crate::inflight::InstId;
use crate::slab::Slab;
use crate::spec::CoreSpec;
use kit::{Cycle, NEVER};
use std::collections::VecDeque;

/// Constant loads of machine code between their last look-up and their result.
#[derive(Debug)]
pub(super) struct ConstantMoves {
    /// The oldest first: all of them take equally long.
    results: VecDeque<(Cycle, InstId)>,
    /// When the oldest result is there.
    next: Cycle,
    /// Cycles from acceptance by a unit to write-back beyond the latency.
    beyond_latency: i64,
    /// Of these cycles, those until an access leaves the dispatch register.
    passed: Cycle,
}

impl ConstantMoves {
    /// Those of a unit that accesses come to `later` than to other units.
    pub fn new(spec: &CoreSpec, later: Cycle) -> Self {
        Self { results: VecDeque::new(), next: NEVER, beyond_latency: beyond_latency(spec), passed: later + 1 }
    }

    /// Access `id` leaves the dispatch register in cycle `now`. Whether its result comes later.
    #[inline]
    pub fn enter(&mut self, now: Cycle, id: InstId, slab: &Slab) -> bool {
        let left = cycles_to_end(slab, id, self.beyond_latency).saturating_sub(self.passed);
        if left > 0 {
            self.results.push_back((now + left, id));
            self.next = self.next.min(now + left);
        }
        left > 0
    }

    /// When the oldest result is there.
    #[inline]
    pub fn next(&self) -> Cycle {
        self.next
    }

    /// Takes a result that is there in cycle `now`.
    pub fn take(&mut self, now: Cycle) -> Option<InstId> {
        let id = self.results.front().filter(|(due, _)| *due <= now)?.1;
        self.results.pop_front();
        self.next = self.results.front().map_or(NEVER, |(due, _)| *due);
        Some(id)
    }

    pub fn is_idle(&self) -> bool {
        self.results.is_empty()
    }
}
