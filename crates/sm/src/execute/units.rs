//! Execution units other than memory, the result buses, and write-back's queue.
//!
//! A unit takes an instruction from its OC_EX latch when its dispatch register is free (the last
//! one's initiation interval has passed), no instruction in it ends in the same cycle, and a
//! result bus is free in that cycle. Nothing is shifted or counted down: an accepted instruction
//! waits in the bucket of the cycle of its write-back.
//!
//! Timing follows GPGPU-Sim's `pipelined_simd_unit`: an instruction accepted in cycle *t* with
//! latency *L* is in EX_WB in *t + L + 1* and writes back in *t + L + 2*, before that cycle's issue.
//! Where the GPU's latencies count from issue to issue ([`LatencyOf::Issue`]), it does so in *t + L - 3*:
//! an instruction is accepted 3 cycles after its issue if nothing delays it.
//!
//! - D-U1: units that are fewer than the sub-cores, such as the one FP64 unit of consumer GPUs, serve all of
//!   them: each takes the oldest instruction of any sub-core.
//! - D-U2: with latencies from issue to issue, a result is written to its bank in the cycle in which it is
//!   forwarded, a few cycles before hardware writes it.

use crate::execute::latches::{LatchId, Latches};
use crate::inflight::InstId;
use crate::slab::Slab;
use crate::spec::{CoreSpec, Pipe};
use crate::wake_up::WakeUp;
use config::LatencyOf;
use kit::bits::set_bits;
use kit::{Cycle, NEVER};
use std::ops::Range;

/// Cycles from acceptance to write-back beyond the latency: leaving the pipe, and EX_WB; or, where latencies count
/// from issue, less those from issue to acceptance.
fn beyond_latency(spec: &CoreSpec) -> i64 {
    match spec.sm.latency.unwrap_or(LatencyOf::Execution) {
        LatencyOf::Execution => 2,
        LatencyOf::Issue => -3,
    }
}

/// The units of one pipe that serve one partition: every `step`-th from `first` to below `end`.
#[derive(Clone, Copy, Debug, Default)]
struct Service {
    first: u16,
    end: u16,
    step: u16,
}

/// An execution unit.
#[derive(Clone, Copy, Debug, Default)]
struct Unit {
    /// First cycle in which its dispatch register is free.
    free_at: Cycle,
    /// The last cycle in which an instruction of it writes back.
    latest_end: Cycle,
}

/// The units, the result buses, and what is on its way to write-back.
#[derive(Debug)]
pub struct Units {
    units: Box<[Unit]>,
    /// The units that serve each latch.
    service: [Service; 64],
    /// Latches of pipes whose units serve all partitions.
    shared: u64,
    partitions: usize,
    /// Instructions by the cycle in which they write back, modulo the ring: a bucket per cycle with
    /// a place per result bus.
    ending: Box<[InstId]>,
    /// Instructions in each bucket.
    lens: Box<[u8]>,
    /// Buckets with an instruction, one bit each.
    occupied: Box<[u64]>,
    /// Result buses: most instructions of one bucket.
    buses: usize,
    /// Cycles from acceptance to write-back beyond the latency.
    beyond_latency: i64,
}

impl Units {
    /// Creates the units of `spec`, all idle.
    pub fn new(spec: &CoreSpec) -> Self {
        let ring = (spec.max_latency() + 3).next_power_of_two().max(64);
        let buses = spec.writeback_width();
        let partitions = spec.partitions;
        let (mut service, mut shared, mut total) = (Vec::new(), 0, 0);
        for pipe in Pipe::all() {
            let count = if pipe == Pipe::MEM { 0 } else { spec.unit_count(pipe) as u16 };
            let split = usize::from(count).is_multiple_of(partitions);
            for part in 0..partitions as u16 {
                shared |= u64::from(!split) << service.len();
                let (skip, step) = if split { (part, partitions as u16) } else { (0, 1) };
                service.push(Service { first: total + skip, end: total + count, step });
            }
            total += count;
        }
        Self {
            units: vec![Unit::default(); total as usize].into(),
            service: std::array::from_fn(|latch| service.get(latch).copied().unwrap_or_default()),
            shared,
            partitions,
            ending: vec![InstId(0); ring * buses].into(),
            lens: vec![0; ring].into(),
            occupied: vec![0; ring / 64].into(),
            buses,
            beyond_latency: beyond_latency(spec),
        }
    }

    /// Units take instructions from their latches. Calls `begin` for each one taken. Returns the
    /// latches that any was taken from, one bit each.
    pub fn accept(
        &mut self,
        now: Cycle,
        oc_ex: &mut Latches,
        slab: &mut Slab,
        wake_up: &mut WakeUp,
        mut begin: impl FnMut(&Slab, InstId),
    ) -> u64 {
        let mut from = 0;
        let waiting = oc_ex.occupied() & !oc_ex.of_memory();
        for latch in set_bits(waiting & !self.shared) {
            let Service { first, end, step } = self.service[latch % 64];
            if first < end {
                from |= self.accept_one(now, (latch as LatchId, first), oc_ex, slab, wake_up, &mut begin);
            }
            if first + step < end {
                from |= self.accept_more(now, (latch as LatchId, first + step), oc_ex, slab, wake_up, &mut begin);
            }
        }
        if waiting & self.shared != 0 {
            from |= self.accept_shared(now, oc_ex, slab, wake_up, &mut begin);
        }
        from
    }

    /// `unit` takes the oldest instruction in `latch`, if it can. Returns the latch as a bit, none if it does not.
    #[inline(always)]
    fn accept_one(
        &mut self,
        now: Cycle,
        (latch, unit): (LatchId, u16),
        oc_ex: &mut Latches,
        slab: &mut Slab,
        wake_up: &mut WakeUp,
        begin: &mut impl FnMut(&Slab, InstId),
    ) -> u64 {
        let Some(id) = oc_ex.front(latch) else { return 0 };
        if !self.try_accept(now, unit, id, slab, wake_up) {
            return 0;
        }
        oc_ex.pop(latch);
        begin(slab, id);
        1 << (latch & 63)
    }

    /// The units of `latch` from `unit` on take instructions.
    #[cold]
    #[inline(never)]
    fn accept_more(
        &mut self,
        now: Cycle,
        (latch, mut unit): (LatchId, u16),
        oc_ex: &mut Latches,
        slab: &mut Slab,
        wake_up: &mut WakeUp,
        begin: &mut impl FnMut(&Slab, InstId),
    ) -> u64 {
        let Service { end, step, .. } = self.service[usize::from(latch) % 64];
        let mut from = 0;
        while unit < end {
            from |= self.accept_one(now, (latch, unit), oc_ex, slab, wake_up, begin);
            unit += step;
        }
        from
    }

    /// Units that serve all partitions take the oldest instruction of any.
    #[cold]
    #[inline(never)]
    fn accept_shared(
        &mut self,
        now: Cycle,
        oc_ex: &mut Latches,
        slab: &mut Slab,
        wake_up: &mut WakeUp,
        begin: &mut impl FnMut(&Slab, InstId),
    ) -> u64 {
        let mut from = 0;
        for pipe in Pipe::all() {
            let latches = oc_ex.of_pipe(pipe) & self.shared;
            if oc_ex.occupied() & latches == 0 {
                continue;
            }
            let Service { first, end, .. } = self.service[pipe.index() * self.partitions];
            for unit in first..end {
                if oc_ex.occupied() & latches == 0 {
                    break;
                }
                let latch = oc_ex.oldest(oc_ex.occupied() & latches);
                from |= self.accept_one(now, (latch, unit), oc_ex, slab, wake_up, begin);
            }
        }
        from
    }

    /// A unit takes `id` if its dispatch register is free, unless another instruction ends with it.
    #[inline(always)]
    fn try_accept(&mut self, now: Cycle, number: u16, id: InstId, slab: &mut Slab, wake_up: &mut WakeUp) -> bool {
        let unit = &mut self.units[usize::from(number)];
        if unit.free_at > now {
            wake_up.at(unit.free_at);
            return false;
        }
        let after = (i64::from(slab.get(id).latency_cycles) + self.beyond_latency).max(1);
        let ends = now + after as Cycle;
        let at = ends as usize & (self.lens.len() - 1);
        let (first, len) = (at * self.buses, usize::from(self.lens[at]));
        // One end per unit and cycle, and one per bus. Behind the unit's latest end there is none.
        let same_end = |&other: &InstId| slab.get(other).unit == number;
        if len == self.buses || ends <= unit.latest_end && self.ending[first..first + len].iter().any(same_end) {
            wake_up.at(now + 1);
            return false;
        }
        let flight = slab.get_mut(id);
        *unit = Unit { free_at: now + Cycle::from(flight.initiation_cycles), latest_end: ends.max(unit.latest_end) };
        flight.unit = number;
        self.ending[first + len] = id;
        self.lens[at] += 1;
        self.occupied[at / 64] |= 1 << (at % 64);
        wake_up.moved();
        true
    }

    /// The places of the instructions that write back in cycle `now`, if there are any; the caller
    /// takes each of them ([`Units::ending`]), since their places are free with this.
    #[inline]
    pub fn take_ending(&mut self, now: Cycle) -> Option<Range<usize>> {
        let at = now as usize & (self.lens.len() - 1);
        let len = std::mem::take(&mut self.lens[at]);
        if len == 0 {
            return None;
        }
        self.occupied[at / 64] &= !(1 << (at % 64));
        Some(at * self.buses..at * self.buses + usize::from(len))
    }

    /// The instruction in a place of those that write back, before any is accepted in that cycle.
    #[inline]
    pub fn ending(&self, place: usize) -> InstId {
        self.ending[place]
    }

    /// The first cycle from `from` on in which an instruction writes back.
    pub fn next_ending(&self, from: Cycle) -> Cycle {
        let (ring, words) = (self.lens.len(), self.occupied.len());
        let start = from as usize & (ring - 1);
        for i in 0..=words {
            let word = (start / 64 + i) % words;
            let mut bits = self.occupied[word];
            if i == 0 {
                bits &= u64::MAX << (start % 64);
            } else if i == words {
                bits &= !(u64::MAX << (start % 64));
            }
            if bits != 0 {
                let at = word * 64 + bits.trailing_zeros() as usize;
                return from + ((at + ring - start) & (ring - 1)) as Cycle;
            }
        }
        NEVER
    }
}

kit::persist! {
    struct Unit { free_at, latest_end }
    struct Units { units; skip service, shared, partitions, ending, lens, occupied, buses, beyond_latency }
}
