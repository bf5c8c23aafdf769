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
//! Matrix operations of warp groups wait for their unit in its command queue, not in the latch. Instructions in the latch
//! go between them.
//!
//! - D-U1: units that are fewer than the sub-cores, such as the one FP64 unit of consumer GPUs, serve all of
//!   them: each takes the oldest instruction of any sub-core.
//! - D-U2: with latencies from issue to issue, a result is written to its bank in the cycle in which it is
//!   forwarded, a few cycles before hardware writes it.
//! - D-U3: a shuffle waits in its latch while tensor cores read shared memory, and the instructions after it with it.

use super::latches::{LATCHES, LatchId, Latches};
use super::write_back::WriteBack;
use super::{ExecutionStage, beyond_latency, cycles_to_end};
use crate::execute::commands::Commands;
use crate::inflight::InstId;
use crate::issue::policy::IssuePolicy;
use crate::memory::wavefronts::Wavefronts;
use crate::observe::observer::Observer;
use crate::operands::OperandStage;
use crate::slab::Slab;
use crate::spec::{CoreSpec, Pipe};
use crate::wake_up::WakeUp;
use isa::OpClass;
use kit::bits::set_bits;
use kit::persist::{Archive, Mismatch, Persist};
use kit::{Cycle, NEVER};
use std::collections::VecDeque;
use std::ops::Range;

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
    /// The unit of each latch that has one of its own, or the first of them. Its number is the latch's.
    own: [Unit; LATCHES],
    /// The other ones, numbered from [`LATCHES`] on.
    others: Box<[Unit]>,
    /// Latches with more than one unit of their own, and latches of pipes whose units serve all partitions.
    several: u64,
    shared: u64,
    /// Where among the others the units of a latch of both kinds are.
    service: Box<[Range<usize>]>,
    queues: Queues,
    buses: Buses,
}

/// Command queues of tensor cores: matrix operations of warp groups that wait for their unit.
#[derive(Debug)]
struct Queues {
    /// The latches of these units, if each has one of its own, one bit each.
    latches: u64,
    /// Those whose queue is not empty.
    occupied: u64,
    /// By partition, oldest first.
    waiting: Box<[VecDeque<InstId>]>,
}

/// The result buses, and the instructions that are on their way to them.
#[derive(Debug)]
struct Buses {
    /// Instructions by the cycle in which they write back, modulo the ring: a bucket per cycle with
    /// a place per result bus.
    ending: Box<[InstId]>,
    /// Instructions in each bucket, and in all of them.
    lens: Box<[u8]>,
    under_way: u32,
    /// Result buses: most instructions of one bucket.
    count: usize,
    /// Cycles from acceptance to write-back beyond the latency.
    beyond_latency: i64,
}

impl ExecutionStage for Units {
    fn new(spec: &CoreSpec) -> Self {
        let ring = (spec.max_latency() + 3).next_power_of_two().max(64);
        let (buses, partitions) = (spec.writeback_width(), spec.partitions);
        let (mut service, mut several, mut shared, mut others) = (Vec::new(), 0, 0, 0);
        for pipe in Pipe::all() {
            let count = if pipe == Pipe::MEM { 0 } else { spec.unit_count(pipe) };
            let split = pipe == Pipe::MEM || spec.has_own_units(pipe);
            // Of units that are split, each partition has its first one by itself.
            let more = if split { (count / partitions).saturating_sub(1) } else { count };
            for partition in 0..partitions {
                let latch = pipe.index() * partitions + partition;
                several |= u64::from(split && more > 0) << latch;
                shared |= u64::from(!split) << latch;
                service.push(others..others + more);
                others += if split || partition + 1 == partitions { more } else { 0 };
            }
        }
        Self {
            own: [Unit::default(); LATCHES],
            others: vec![Unit::default(); others].into(),
            several,
            shared,
            service: service.into(),
            queues: Queues::new(spec, several | shared),
            buses: Buses {
                ending: vec![InstId(0); ring * buses].into(),
                lens: vec![0; ring].into(),
                under_way: 0,
                count: buses,
                beyond_latency: beyond_latency(spec),
            },
        }
    }

    #[inline]
    fn has_waiting(&self) -> bool {
        self.queues.occupied != 0
    }

    #[inline]
    fn has_ending(&self, now: Cycle) -> bool {
        self.buses.lens[self.buses.at(now)] != 0
    }

    #[inline(always)]
    fn write_back<P: IssuePolicy, R: OperandStage<P>, O: Observer>(
        &mut self,
        wb: &mut WriteBack<'_, P, R, O>,
        contended: bool,
    ) {
        for &id in self.buses.take_ending(wb.tick.now) {
            // GPGPU-Sim lets units write whatever the bank's state; only reads and the memory
            // unit's writes give way.
            wb.end(id, contended);
        }
    }

    fn accept(
        &mut self,
        now: Cycle,
        oc_ex: &mut Latches,
        slab: &mut Slab,
        wake_up: &mut WakeUp,
        wavefronts: &mut Wavefronts,
        mut begin: impl FnMut(&Slab, InstId),
    ) -> u64 {
        let mut from = 0;
        let waiting = oc_ex.waiting_for_units();
        let wavefronts_end = wavefronts.until();
        let without_shuffles = wavefronts_end > now;
        for latch in set_bits(waiting & !self.shared) {
            let (id, unit) = (oc_ex.oldest_in(latch as LatchId), &mut self.own[latch % LATCHES]);
            if self.queues.latches >> (latch % 64) & 1 != 0 && slab.get(id).is_asynchronous() {
                self.queues.push(latch, oc_ex.partition(latch as LatchId), id);
                oc_ex.drop_oldest(latch as LatchId);
                from |= 1 << (latch % 64);
                wake_up.moved();
                continue;
            }
            if without_shuffles && slab.get(id).class == OpClass::Shuffle {
                wake_up.at(wavefronts_end);
                continue;
            }
            if self.buses.try_accept(now, (unit, latch as u16), id, slab, wake_up) {
                oc_ex.drop_oldest(latch as LatchId);
                begin(slab, id);
                from |= 1 << (latch % 64);
            }
            if self.several >> (latch % 64) & 1 != 0 {
                from |= self.accept_more(now, latch, oc_ex, slab, wake_up, &mut begin);
            }
        }
        if waiting & self.shared != 0 {
            from |= self.accept_shared(now, oc_ex, slab, wake_up, &mut begin);
        }
        if self.queues.occupied != 0 {
            self.start_commands(now, slab, wake_up, wavefronts, &mut begin);
        }
        from
    }

    #[inline]
    fn next_ending(&self, from: Cycle) -> Cycle {
        if self.buses.under_way == 0 { NEVER } else { self.buses.next_ending(from) }
    }

    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        Persist::persist(self, archive)
    }
}

impl Queues {
    /// The empty queues of an SM of `spec`. Units that serve several latches, and several units of one latch, are those
    /// `without` one.
    fn new(spec: &CoreSpec, without: u64) -> Self {
        let (pipe, partitions) = (Pipe::of(spec.timing.of(OpClass::Tensor).unit), spec.partitions);
        let latches = ((1 << partitions) - 1) << (pipe.index() * partitions);
        let most = Commands::new(spec).most();
        Self {
            latches: if latches & without == 0 { latches } else { 0 },
            occupied: 0,
            waiting: (0..partitions).map(|_| VecDeque::with_capacity(most)).collect(),
        }
    }

    /// Operation `id` comes from `latch` of `partition`.
    #[cold]
    fn push(&mut self, latch: usize, partition: usize, id: InstId) {
        self.waiting[partition].push_back(id);
        self.occupied |= 1 << (latch % 64);
    }
}

impl Units {
    /// Tensor cores that are free take the oldest operations in their queues.
    #[cold]
    #[inline(never)]
    fn start_commands(
        &mut self,
        now: Cycle,
        slab: &mut Slab,
        wake_up: &mut WakeUp,
        wavefronts: &mut Wavefronts,
        begin: &mut impl FnMut(&Slab, InstId),
    ) {
        let first = self.queues.latches.trailing_zeros() as usize;
        for latch in set_bits(self.queues.occupied) {
            let waiting = &mut self.queues.waiting[latch - first];
            let Some(&id) = waiting.front() else { continue };
            if self.buses.try_accept(now, (&mut self.own[latch % LATCHES], latch as u16), id, slab, wake_up) {
                waiting.pop_front();
                self.queues.occupied &= !(u64::from(waiting.is_empty()) << (latch % 64));
                wavefronts.begin(now, slab.get(id).wavefronts);
                begin(slab, id);
            }
        }
    }

    /// The other units of `latch` take instructions.
    #[cold]
    #[inline(never)]
    fn accept_more(
        &mut self,
        now: Cycle,
        latch: usize,
        oc_ex: &mut Latches,
        slab: &mut Slab,
        wake_up: &mut WakeUp,
        begin: &mut impl FnMut(&Slab, InstId),
    ) -> u64 {
        let latches = 1 << (latch % 64);
        let mut from = 0;
        for unit in self.service[latch].clone() {
            from |= self.accept_oldest(now, (latches, unit), oc_ex, slab, wake_up, begin);
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
            for unit in self.service[usize::from(oc_ex.id(pipe, 0))].clone() {
                from |= self.accept_oldest(now, (latches, unit), oc_ex, slab, wake_up, begin);
            }
        }
        from
    }

    /// Other unit number `unit` takes the oldest instruction in `latches`, if it can. Returns its latch as a bit, none if
    /// it does not.
    fn accept_oldest(
        &mut self,
        now: Cycle,
        (latches, unit): (u64, usize),
        oc_ex: &mut Latches,
        slab: &mut Slab,
        wake_up: &mut WakeUp,
        begin: &mut impl FnMut(&Slab, InstId),
    ) -> u64 {
        let waiting = oc_ex.occupied() & latches;
        if waiting == 0 {
            return 0;
        }
        let latch = oc_ex.oldest(waiting);
        let (id, number) = (oc_ex.oldest_in(latch), (LATCHES + unit) as u16);
        if !self.buses.try_accept(now, (&mut self.others[unit], number), id, slab, wake_up) {
            return 0;
        }
        oc_ex.drop_oldest(latch);
        begin(slab, id);
        1 << (latch & 63)
    }
}

impl Buses {
    /// The bucket of cycle `cycle`.
    #[inline(always)]
    fn at(&self, cycle: Cycle) -> usize {
        cycle as usize & (self.lens.len() - 1)
    }

    /// The instructions that write back in cycle `now`. Their places are free with this, and are used again when others
    /// are accepted.
    #[inline]
    fn take_ending(&mut self, now: Cycle) -> &[InstId] {
        let at = self.at(now);
        let len = std::mem::take(&mut self.lens[at]);
        self.under_way -= u32::from(len);
        &self.ending[at * self.count..][..len.into()]
    }

    /// A unit, given with its number, takes `id` if its dispatch register is free, unless another instruction ends with
    /// it.
    #[inline(always)]
    fn try_accept(
        &mut self,
        now: Cycle,
        (unit, number): (&mut Unit, u16),
        id: InstId,
        slab: &mut Slab,
        wake_up: &mut WakeUp,
    ) -> bool {
        if unit.free_at > now {
            wake_up.at(unit.free_at);
            return false;
        }
        let ends = now + cycles_to_end(slab, id, self.beyond_latency);
        let at = self.at(ends);
        let (first, len) = (at * self.count, usize::from(self.lens[at]));
        // One end per unit and cycle, and one per bus. Behind the unit's latest end there is none.
        let same_end = |&other: &InstId| slab.get(other).unit == number;
        if len == self.count || ends <= unit.latest_end && self.ending[first..first + len].iter().any(same_end) {
            wake_up.at(now + 1);
            return false;
        }
        let flight = slab.get_mut(id);
        *unit = Unit { free_at: now + Cycle::from(flight.initiation_cycles), latest_end: ends.max(unit.latest_end) };
        flight.unit = number;
        self.ending[first + len] = id;
        self.lens[at] += 1;
        self.under_way += 1;
        wake_up.moved();
        true
    }

    #[inline(never)]
    fn next_ending(&self, from: Cycle) -> Cycle {
        let (before, after) = self.lens.split_at(self.at(from));
        let is_used = |&len: &u8| len != 0;
        let behind = || before.iter().position(is_used).map(|i| after.len() + i);
        after.iter().position(is_used).or_else(behind).map_or(NEVER, |i| from + i as Cycle)
    }
}

kit::persist! {
    struct Unit { free_at, latest_end }
    struct Units { own, others; skip several, shared, service, queues, buses }
}
