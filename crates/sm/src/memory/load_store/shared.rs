//! Shared memory: a pipe after the dispatch register, in which bank conflicts keep an access.

use super::dispatch::Dispatch;
use crate::inflight::{InFlight, InstId};
use crate::observe::counters::SmCounters;
use crate::slab::Slab;
use crate::spec::CoreSpec;
use config::SharedMemory;
use isa::{Access, DynInst};
use kit::{Cycle, NEVER, Ring};
use mem::shared_banks::{conflict_degree, most_in_a_bank};

/// Accesses with a result on their way through the shared-memory pipe, by the cycle from which the
/// write-back register may take them.
#[derive(Debug)]
pub(super) struct SharedPipe {
    results: Ring<(Cycle, InstId)>,
    /// When the oldest has come through.
    next_result: Cycle,
    stages: usize,
    latency: Cycle,
}

impl SharedPipe {
    /// The pipe of an SM of `spec`, `spent` of whose latency accesses have spent before they come.
    pub fn new(spec: &CoreSpec, spent: u32) -> Self {
        let latency = spec.sm.shared.latency_cycles.saturating_sub(spent).max(1);
        let stages = latency as usize;
        Self { results: Ring::new(), next_result: NEVER, stages, latency: Cycle::from(latency) }
    }

    /// Whether the first stage is free.
    fn has_room(&self) -> bool {
        self.results.len() < self.stages
    }

    /// Access `id`, which has a result, enters the pipe in cycle `now`, if it has room. Whether it did.
    #[inline(always)]
    pub fn enter(&mut self, now: Cycle, id: InstId, slab: &mut Slab) -> bool {
        if !self.has_room() {
            return false;
        }
        slab.get_mut(id).pending = 1;
        let due = now + self.latency;
        self.results.push_back((due, id));
        self.next_result = self.next_result.min(due);
        true
    }

    /// When the oldest result comes through, or did; it waits there for the write-back register.
    #[inline]
    pub fn next_result(&self) -> Cycle {
        self.next_result
    }

    /// Takes the oldest result.
    #[inline]
    pub fn take(&mut self) -> Option<InstId> {
        let (_, id) = self.results.pop_front()?;
        self.next_result = self.results.front().map_or(NEVER, |&(due, _)| due);
        Some(id)
    }
}

/// Cycles that accesses to `bytes` of different words take at least.
pub(super) fn cycles_needed(bytes: u32, shared: &SharedMemory) -> u32 {
    bytes.div_ceil(shared.bytes_per_cycle.unwrap_or(4 * shared.banks)).max(1)
}

impl Dispatch {
    /// An access to shared memory is in the dispatch register, for which the banks are free from cycle `now` on: conflicts
    /// keep it there.
    #[inline(always)]
    pub(super) fn begin_shared(
        &mut self,
        now: Cycle,
        (flight, dynamic): (&InFlight, &DynInst),
        spec: &CoreSpec,
        counters: &mut SmCounters,
    ) {
        let shared = &spec.sm.shared;
        let (mask, mem, addresses) = (flight.mask, flight.mem, &dynamic.addresses);
        let atomic = matches!(mem.map(|m| m.access), Some(Access::Atomic | Access::Reduction));
        let degree = match shared.atomic_lane_cycles.filter(|_| atomic) {
            Some(cycles) => 1 + cycles * most_in_a_bank(mask, addresses, shared.banks).saturating_sub(1),
            None => conflict_degree(mask, addresses, shared.banks, shared.limited_broadcast).max(1),
        };
        counters.shared_accesses += 1;
        counters.shared_conflict_cycles += u64::from(degree - 1);
        let bytes = mask.count_ones() * mem.map_or(0, |m| u32::from(m.bytes));
        let cycles = match shared.bytes_per_cycle {
            // Mostly it is the conflicts that take longer; a division takes the host long.
            Some(width) if u64::from(bytes) > u64::from(degree) * u64::from(width) => bytes.div_ceil(width),
            _ => degree,
        };
        counters.shared_cycles += u64::from(cycles);
        if cycles > 1 {
            counters.shared_excess_cycles += u64::from(cycles.saturating_sub(cycles_needed(bytes, shared)));
        }
        self.ready_at = now + Cycle::from(cycles);
    }
}
