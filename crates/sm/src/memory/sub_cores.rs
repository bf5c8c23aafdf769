//! The memory stage of sub-cores: a queue and address generation each, before a load/store unit that they share.
//!
//! ```text
//!   sub-core (4)                             │            SM
//!   OC_EX ─► queue ─► address generation ────┼─ by turns ─► load/store unit (shared memory, L1, …)
//! ```
//! Follows Huerta et al., *Dissecting and Modeling the Architecture of Modern GPU Cores* (MICRO 2025), section 5.4 and
//! tables 1 and 2 (Ampere).
//!
//! - **Queue.** A sub-core has a number of accesses between issue and the shared part, five on Ampere. The sixth issues
//!   when the first has left: the latch of the memory pipe is closed until then ([`OperandStage::access_left`]).
//! - **Address generation** takes some cycles from one access to the next of a sub-core, half of them for shared memory,
//!   and more for each.
//! - **Shared part.** It takes accesses of the sub-cores in turn, one in some cycles, if the load/store unit has room.
//! - Sizes and times are keys of GPU descriptions ([`config::MemoryQueues`]).
//! - **Data of stores** move to it at [`DATA_BYTES`] a cycle, for which it takes nothing else.
//! - **Registers** of an access are read when it comes to the shared part, the last data of stores a cycle after they
//!   have moved, of shared memory two cycles earlier. Until then they may not be overwritten.
//! - **Latencies** of the GPU description apply to an access that meets no other: the load/store unit has as many
//!   cycles less for L1 and shared memory as the stage adds before it.
//!
//! - D-SM1: every address is taken for one in registers. Hardware is three cycles faster with a uniform one.
//! - D-SM2: wider accesses take longer as the load/store unit makes them, by their transactions.
//! - D-SM3: what bypasses L1 has no latency there from which the cycles of the stage could be taken.
//!
//! Stall reasons: `memory_pipe_full` while a sub-core has five accesses.

use super::load_store::LoadStoreUnit;
use super::{MemoryCounters, MemoryStage, MemoryWires};
use crate::execute::latches::Latches;
use crate::execute::write_back::WriteBack;
use crate::inflight::InstId;
use crate::issue::policy::IssuePolicy;
use crate::kernel::ResidentKernel;
use crate::observe::observer::Observer;
use crate::operands::OperandStage;
use crate::outbox::{Client, Outbox};
use crate::slab::Slab;
use crate::spec::{CoreSpec, Pipe};
use isa::{Access, KernelId, Space};
use kit::bits::set_bits;
use kit::persist::{Archive, Mismatch, Persist};
use kit::{Cycle, NEVER, WARP_LANES};
use mem::Request;
use std::collections::VecDeque;

/// Sizes and times of the queues: [`config::MemoryQueues`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queues {
    /// Accesses of a sub-core between issue and the shared part.
    pub accesses: u8,
    /// From one access of a sub-core to the next.
    address_cycles: Cycle,
    /// From the latch of the memory pipe to the shared part.
    unit_cycles: Cycle,
    /// From one access of the shared part to the next.
    shared_cycles: Cycle,
}

impl Queues {
    /// Those of an SM of `spec`.
    pub fn of(spec: &CoreSpec) -> Self {
        let of = &spec.sm.memory_queues;
        Self {
            accesses: of.accesses.unwrap_or(5) as u8,
            address_cycles: of.address_cycles.unwrap_or(4).into(),
            unit_cycles: of.unit_cycles.unwrap_or(8).into(),
            shared_cycles: of.shared_cycles.unwrap_or(2).into(),
        }
    }
}

/// Cycles that a store to shared memory saves: its data arrive earlier than the data of other stores.
const SHARED_STORES: Cycle = 2;
/// Bytes of a store that move to the shared part in a cycle.
const DATA_BYTES: Cycle = 64;
/// An access on its way to the shared part.
#[derive(Clone, Copy, Debug)]
struct Queued {
    id: InstId,
    /// Its place in the order of issue.
    order: u64,
    /// When it may go to the shared part, if no other is before it.
    due: Cycle,
    address_cycles: Cycle,
}

/// The queue of a sub-core.
#[derive(Debug, Default)]
struct Queue {
    accesses: VecDeque<Queued>,
    /// When the last one left.
    last_left: Cycle,
}

impl Queue {
    /// When the oldest access may go to the shared part.
    #[inline]
    fn ready_at(&self) -> Cycle {
        self.accesses.front().map_or(NEVER, |first| first.due.max(self.last_left + first.address_cycles))
    }
}

/// The queues of all sub-cores, and the load/store unit.
#[derive(Debug)]
pub struct SubCoreMemory {
    queues: Box<[Queue]>,
    /// Of all queues.
    queued: u32,
    times: Queues,
    /// The access that the load/store unit takes next.
    entry: Latches,
    /// When the shared part may take another access, and which sub-core is first then.
    free_at: Cycle,
    turn: usize,
    unit: LoadStoreUnit,
    /// A store whose data move to the shared part: when the unit may have it, its place in the order of issue, its
    /// sub-core.
    moving: Option<(Cycle, InstId, u64, usize)>,
    /// A store, and when the last of its data is read.
    reading: Option<(Cycle, InstId)>,
    /// Without queues, accesses go to the unit as they come.
    direct: bool,
}

impl SubCoreMemory {
    /// The stage of an SM of `spec`, with queues or without.
    pub fn with_queues(spec: &CoreSpec, queues: bool) -> Self {
        let (mut of_unit, times) = (spec.clone(), Queues::of(spec));
        if queues {
            for cycles in [&mut of_unit.sm.l1d.latency_cycles, &mut of_unit.sm.shared.latency_cycles] {
                *cycles = cycles.saturating_sub(times.unit_cycles as u32).max(1);
            }
        }
        Self {
            queues: (0..spec.partitions).map(|_| Queue::default()).collect(),
            queued: 0,
            times,
            entry: Latches::new(spec, |_| spec.partitions as u32),
            free_at: 0,
            turn: 0,
            unit: LoadStoreUnit::new(&of_unit),
            moving: None,
            reading: None,
            direct: !queues,
        }
    }

    /// Checks that the latencies of an SM of `spec` have room for the stage.
    ///
    /// # Errors
    /// They are too short.
    pub fn check(spec: &CoreSpec) -> Result<(), String> {
        let latencies = [
            ("sm.l1d.latency_cycles", spec.sm.l1d.latency_cycles),
            ("sm.shared.latency_cycles", spec.sm.shared.latency_cycles),
        ];
        let own = Queues::of(spec).unit_cycles;
        match latencies.iter().find(|(_, cycles)| Cycle::from(*cycles) <= own) {
            Some((key, cycles)) => Err(format!("{key} is {cycles}, of which sm.memory_queues.unit_cycles takes {own}")),
            None => Ok(()),
        }
    }

    /// Cycles for which the data of `id` move to the shared part, and those after which the load/store unit has them.
    fn data_cycles(slab: &Slab, id: InstId) -> (Cycle, Cycle) {
        let flight = slab.get(id);
        let Some(mem) = flight.mem.filter(|mem| mem.access == Access::Store && flight.mask != 0) else { return (0, 0) };
        let space = if mem.space == Space::Generic { slab.dynamic(id).space } else { mem.space };
        let moving = Cycle::from(u32::from(mem.bytes) * WARP_LANES as u32).div_ceil(DATA_BYTES).max(SHARED_STORES);
        // Shared memory begins with the first half of a warp.
        (moving, if space == Space::Shared { moving - SHARED_STORES } else { moving })
    }

    /// Accesses come from OC_EX into the queues.
    #[inline]
    fn take<P: IssuePolicy, R: OperandStage<P>, O: Observer>(
        &mut self,
        wb: &mut WriteBack<'_, P, R, O>,
        oc_ex: &mut Latches,
    ) {
        for latch in set_bits(oc_ex.waiting_for_memory()) {
            let latch = latch as u8;
            let (id, order) = (oc_ex.oldest_in(latch), oc_ex.order(latch));
            oc_ex.drop_oldest(latch);
            wb.operands.latches_freed(1 << (latch & 63));
            let is_shared = wb.state.slab.get(id).mem.is_some_and(|mem| mem.space == Space::Shared);
            let address_cycles = if is_shared { self.times.address_cycles / 2 } else { self.times.address_cycles };
            let access = Queued { id, order, due: wb.tick.now + self.times.unit_cycles, address_cycles };
            self.queues[oc_ex.partition(latch)].accesses.push_back(access);
            self.queued += 1;
            wb.state.wake_up.moved();
        }
    }

    /// The shared part takes an access, if it can.
    #[inline]
    fn pass<P: IssuePolicy, R: OperandStage<P>, O: Observer>(&mut self, wb: &mut WriteBack<'_, P, R, O>) {
        let now = wb.tick.now;
        if self.entry.occupied() != 0 {
            return;
        }
        self.enter(wb);
        if self.queued == 0 || self.free_at > now || self.moving.is_some() || self.entry.occupied() != 0 {
            return;
        }
        let count = self.queues.len();
        let in_turn = (self.turn..self.turn + count).map(|core| core % count);
        let Some(core) = in_turn.into_iter().find(|&core| self.queues[core].ready_at() <= now) else { return };
        let queue = &mut self.queues[core];
        let Some(Queued { id, order, .. }) = queue.accesses.pop_front() else { return };
        queue.last_left = now;
        self.queued -= 1;
        (self.turn, self.free_at) = ((core + 1) % count, now + self.times.shared_cycles);
        wb.operands.access_left(core);
        wb.state.wake_up.moved();
        let (moving, delay) = Self::data_cycles(&wb.state.slab, id);
        if moving == 0 {
            wb.registers_read(id);
            self.entry.push(self.entry.id(Pipe::MEM, core), id, order);
        } else {
            self.free_at = now + moving;
            self.moving = Some((now + delay, id, order, core));
            self.enter(wb);
        }
    }

    /// The store whose data have come goes to the load/store unit. Its last data are read in the next cycle.
    #[inline]
    fn enter<P: IssuePolicy, R: OperandStage<P>, O: Observer>(&mut self, wb: &mut WriteBack<'_, P, R, O>) {
        let Some((_, id, order, core)) = self.moving.take_if(|store| store.0 <= wb.tick.now) else { return };
        self.reading = Some((wb.tick.now + 1, id));
        self.entry.push(self.entry.id(Pipe::MEM, core), id, order);
        wb.state.wake_up.moved();
    }

    /// The data of a store have been read.
    #[inline]
    fn read<P: IssuePolicy, R: OperandStage<P>, O: Observer>(&mut self, wb: &mut WriteBack<'_, P, R, O>) {
        if let Some((_, id)) = self.reading.take_if(|read| read.0 <= wb.tick.now) {
            wb.registers_read(id);
        }
    }

    /// Whether any access is before the load/store unit's entry, or has data to read.
    #[inline]
    fn holds_any(&self) -> bool {
        self.queued > 0 || self.reading.is_some() || self.moving.is_some()
    }

    /// The next cycle in which an access may pass or data are read.
    fn next_of_queues(&self) -> Cycle {
        let ready = self.queues.iter().map(Queue::ready_at).min().unwrap_or(NEVER);
        let reads = self.reading.map_or(NEVER, |read| read.0);
        let enters = self.moving.map_or(NEVER, |store| store.0);
        if self.entry.occupied() != 0 { reads } else { ready.max(self.free_at).min(reads).min(enters) }
    }
}

impl MemoryStage for SubCoreMemory {
    fn new(spec: &CoreSpec) -> Self {
        Self::with_queues(spec, true)
    }

    #[inline]
    fn has_work(&self, now: Cycle, access_waits: bool) -> bool {
        if self.direct {
            return self.unit.has_work(now, access_waits);
        }
        access_waits
            || self.holds_any() && self.next_of_queues() <= now
            || self.unit.has_work(now, self.entry.occupied() != 0)
    }

    fn next_event(&self, from: Cycle) -> Cycle {
        let of_unit = self.unit.next_event(from);
        if self.holds_any() { of_unit.min(self.next_of_queues().max(from)) } else { of_unit }
    }

    #[inline(always)]
    fn write_back<P: IssuePolicy, R: OperandStage<P>, O: Observer>(&mut self, wb: &mut WriteBack<'_, P, R, O>) {
        if self.reading.is_some() {
            self.read(wb);
        }
        self.unit.write_back(wb);
    }

    #[inline(always)]
    fn receive<P: IssuePolicy, R: OperandStage<P>, O: Observer>(
        &mut self,
        wb: &mut WriteBack<'_, P, R, O>,
        reply: &Request,
    ) -> Cycle {
        self.unit.receive(wb, reply)
    }

    #[inline(always)]
    fn step<P: IssuePolicy, R: OperandStage<P>, O: Observer>(
        &mut self,
        wb: &mut WriteBack<'_, P, R, O>,
        wires: &mut MemoryWires<'_>,
    ) {
        if self.direct {
            return self.unit.step(wb, wires);
        }
        self.take(wb, wires.oc_ex);
        self.pass(wb);
        self.unit.step(wb, &mut MemoryWires { port: wires.port, oc_ex: &mut self.entry });
    }

    fn is_idle(&self) -> bool {
        !self.holds_any() && self.entry.occupied() == 0 && self.unit.is_idle()
    }

    #[inline]
    fn is_writing_back(&self) -> bool {
        self.unit.is_writing_back()
    }

    fn prepare_kernel(&mut self, spec: &CoreSpec, kernel: (KernelId, &ResidentKernel), alone: bool) {
        self.unit.prepare_kernel(spec, kernel, alone);
    }

    fn invalidate_l1(&mut self) {
        self.unit.invalidate_l1();
    }

    fn counters(&self) -> MemoryCounters {
        self.unit.counters()
    }

    fn persist(&mut self, spec: &CoreSpec, archive: &mut Archive) -> Result<(), Mismatch> {
        if self.holds_any() || self.entry.occupied() != 0 {
            return Err(Mismatch::new("an access is in the memory stage"));
        }
        for queue in &mut self.queues {
            queue.last_left.persist(archive)?;
        }
        self.free_at.persist(archive)?;
        self.turn.persist(archive)?;
        self.unit.persist(spec, archive)
    }
}

impl Client for SubCoreMemory {
    #[inline]
    fn may_send(&self) -> bool {
        self.unit.may_send()
    }

    #[inline(always)]
    fn send(&mut self, outbox: &mut Outbox<'_>) {
        self.unit.send(outbox);
    }
}
