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
//! - **Address generation** takes some cycles from one access to the next of a sub-core, half of them if the address is
//!   uniform or in shared memory. Such an access also comes to the shared part by that half earlier.
//! - **Shared part.** It takes accesses of the sub-cores in turn, one in some cycles, if the load/store unit has room.
//! - Sizes and times are keys of GPU descriptions ([`config::MemoryQueues`]).
//! - **Registers** move between register file and shared part at half a register a cycle. A store moves its data there,
//!   for which the shared part takes nothing else, after its address registers if it has any; the last is read a cycle
//!   later. An asynchronous copy moves its second address. Other registers are read when an access comes to the shared
//!   part. Until they are read they may not be overwritten.
//! - **Wide loads** end as many cycles later as their further registers move; from shared memory these move at twice the
//!   rate.
//! - **Constants** that `LDC` loads by a register are in a cache of the SM, of 2 KB on Ampere. A miss takes the path of
//!   D-LS8 in [`LoadStoreUnit`].
//! - **Latencies** of the GPU description apply to a load of 4 bytes that meets no other and whose address is in
//!   registers. The load/store unit has as many cycles less for L1 and shared memory as the stage adds before it.
//!
//! - D-SM1: an address is uniform if the access reads no more general registers than its data fill. A store of `RZ` whose
//!   address is in one register is taken for one with a uniform address.
//! - D-SM2: a wide load waits before the load/store unit, in order, and not on its way to the registers. If its address is
//!   in registers, one cycle for each further register is left to the unit, whose transactions or conflicts make it.
//! - D-SM3: what bypasses L1 has no latency there from which the cycles of the stage could be taken.
//!
//! Stall reasons: `memory_pipe_full` while a sub-core has five accesses.

use super::load_store::{Constants, LoadStoreUnit, Spent};
use super::{MemoryCounters, MemoryStage, MemoryWires};
use crate::execute::latches::Latches;
use crate::execute::write_back::WriteBack;
use crate::frontend::sub_cores::SubCoreCaches;
use crate::inflight::{InFlight, InstId};
use crate::issue::policy::IssuePolicy;
use crate::kernel::ResidentKernel;
use crate::observe::observer::Observer;
use crate::operands::OperandStage;
use crate::outbox::{Client, Outbox};
use crate::spec::{CoreSpec, Pipe};
use isa::{Access, KernelId, Space};
use kit::bits::set_bits;
use kit::persist::{Archive, Mismatch, Persist};
use kit::{Cycle, NEVER};
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
    /// From the shared part to the load/store unit, unless the address is uniform.
    gather_cycles: Cycle,
    /// In which a register moves.
    register_cycles: Cycle,
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
            gather_cycles: of.gather_cycles.unwrap_or(1).into(),
            register_cycles: of.register_cycles.unwrap_or(2).into(),
        }
    }

    /// Address generation of an access, and its way from the latch to the shared part. `is_short`: its address is
    /// uniform or in shared memory.
    #[inline]
    fn to_shared_part(self, is_short: bool) -> (Cycle, Cycle) {
        let saved = if is_short { self.address_cycles.div_ceil(2) } else { 0 };
        (self.address_cycles - saved, self.unit_cycles.saturating_sub(saved).max(1))
    }

    /// Cycles of a load of 4 bytes whose address is in registers before the load/store unit.
    fn before_unit(self, is_shared: bool) -> Cycle {
        self.to_shared_part(is_shared).1 + self.gather_cycles
    }

    /// The path of `flight`, an access to `space`, from when it comes to the shared part.
    #[inline]
    fn in_shared_part(self, flight: &InFlight, space: Option<Space>) -> Passage {
        let Self { shared_cycles, gather_cycles, register_cycles: moving, .. } = self;
        let (is_uniform, access) = (is_uniform(flight), flight.mem.map(|mem| mem.access));
        let registers = Cycle::from(registers(flight));
        let gathers = if is_uniform { 0 } else { gather_cycles };
        let plain = Passage { busy: shared_cycles, reads: 0, enters: gathers };
        match access {
            Some(Access::Store) if flight.mask != 0 => {
                let data = moving * registers;
                let moved = if is_uniform { data - moving } else { data };
                Passage { busy: data.max(shared_cycles), reads: moved + 1, enters: gathers.max(moved) }
            }
            Some(Access::Load) if flight.is_constant_move() => plain,
            Some(Access::AsyncCopy) => Passage { reads: moving, enters: gathers.max(moving - 1), ..plain },
            Some(Access::Load) => {
                let all =
                    if space == Some(Space::Shared) { (moving * registers).div_ceil(2) } else { moving * registers };
                let of_unit = if is_uniform { 0 } else { registers - 1 };
                Passage { enters: (gathers + all.saturating_sub(moving)).saturating_sub(of_unit), ..plain }
            }
            _ => plain,
        }
    }
}

/// Registers of a lane's data, one at least.
#[inline]
fn registers(flight: &InFlight) -> u8 {
    flight.mem.map_or(1, |mem| mem.bytes.div_ceil(4).max(1))
}

/// Whether the address of `flight` is in no general register (D-SM1).
#[inline]
fn is_uniform(flight: &InFlight) -> bool {
    let data = match flight.mem.map(|mem| mem.access) {
        Some(Access::Store | Access::Atomic | Access::Reduction) => registers(flight),
        _ => 0,
    };
    flight.vector_srcs <= data
}

/// The cycles of an access from when it comes to the shared part.
#[derive(Clone, Copy, Debug)]
struct Passage {
    /// To the next access.
    busy: Cycle,
    /// To the read of its last register.
    reads: Cycle,
    /// To the load/store unit.
    enters: Cycle,
}

/// Accesses between the shared part and the load/store unit.
const LEAVING: usize = 8;

/// An access that the shared part has taken.
#[derive(Clone, Copy, Debug)]
struct Leaving {
    id: InstId,
    order: u64,
    core: usize,
    enters_at: Cycle,
}

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
#[derive(Debug)]
struct Queue {
    accesses: VecDeque<Queued>,
    /// When the last one left.
    last_left: Cycle,
    /// When the oldest access may go to the shared part; [`NEVER`] without one.
    ready_at: Cycle,
}

impl Queue {
    fn new() -> Self {
        Self { accesses: VecDeque::new(), last_left: 0, ready_at: NEVER }
    }

    /// `access` comes.
    #[inline]
    fn push(&mut self, access: Queued) {
        if self.accesses.is_empty() {
            self.ready_at = self.ready_at_if_first(&access);
        }
        self.accesses.push_back(access);
    }

    /// The oldest access leaves in cycle `now`.
    #[inline]
    fn pop(&mut self, now: Cycle) -> Option<Queued> {
        let first = self.accesses.pop_front()?;
        self.last_left = now;
        self.ready_at = self.accesses.front().map_or(NEVER, |next| self.ready_at_if_first(next));
        Some(first)
    }

    #[inline]
    fn ready_at_if_first(&self, access: &Queued) -> Cycle {
        access.due.max(self.last_left + access.address_cycles)
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
    /// Accesses on their way to the load/store unit.
    leaving: VecDeque<Leaving>,
    /// Accesses that have registers to read, each with the cycle of the last.
    reading: VecDeque<(Cycle, InstId)>,
    /// The next cycle in which an access may pass or enter, or registers are read.
    next: Cycle,
    /// Without queues, accesses go to the unit as they come.
    direct: bool,
}

impl SubCoreMemory {
    /// The stage of an SM of `spec`, with queues or without, and with the cache that `caches` has for loads of constants.
    pub fn with_caches(spec: &CoreSpec, queues: bool, caches: &SubCoreCaches) -> Self {
        let times = Queues::of(spec);
        let spent = |is_shared| if queues { times.before_unit(is_shared) as u32 } else { 0 };
        Self {
            queues: (0..spec.partitions).map(|_| Queue::new()).collect(),
            queued: 0,
            times,
            entry: Latches::new(spec, |_| spec.partitions as u32),
            free_at: 0,
            turn: 0,
            unit: LoadStoreUnit::after(
                spec,
                Spent { shared: spent(true), others: spent(false) },
                Constants::of_sub_cores(caches.constant_loads.as_ref().filter(|_| !caches.perfect)),
            ),
            leaving: VecDeque::with_capacity(LEAVING),
            reading: VecDeque::with_capacity(LEAVING),
            next: NEVER,
            direct: !queues,
        }
    }

    /// Checks that the latencies of an SM of `spec` have room for the stage.
    ///
    /// # Errors
    /// They are too short.
    pub fn check(spec: &CoreSpec) -> Result<(), String> {
        let latencies = [
            ("sm.l1d.latency_cycles", spec.sm.l1d.latency_cycles, false),
            ("sm.shared.latency_cycles", spec.sm.shared.latency_cycles, true),
        ];
        let queues = Queues::of(spec);
        let too_short = |&&(_, cycles, is_shared): &&(_, u32, _)| Cycle::from(cycles) <= queues.before_unit(is_shared);
        match latencies.iter().find(too_short) {
            Some(&(key, cycles, is_shared)) => {
                let own = queues.before_unit(is_shared);
                Err(format!("{key} is {cycles}, of which the stages of sm.memory_queues take {own}"))
            }
            None => Ok(()),
        }
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
            let flight = wb.state.slab.get(id);
            let is_shared = flight.mem.is_some_and(|mem| mem.space == Space::Shared && mem.access != Access::AsyncCopy);
            let (address_cycles, unit_cycles) = self.times.to_shared_part(is_shared || is_uniform(flight));
            let access = Queued { id, order, due: wb.tick.now + unit_cycles, address_cycles };
            self.queues[oc_ex.partition(latch)].push(access);
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
        if self.queued == 0 || self.free_at > now || self.leaving.len() == LEAVING {
            return;
        }
        let (before, from_turn) = self.queues.split_at(self.turn.min(self.queues.len()));
        let is_ready = |queue: &Queue| queue.ready_at <= now;
        let from_turn = from_turn.iter().position(is_ready).map(|core| self.turn + core);
        let Some(core) = from_turn.or_else(|| before.iter().position(is_ready)) else { return };
        let Some(Queued { id, order, .. }) = self.queues[core].pop(now) else { return };
        self.queued -= 1;
        wb.operands.access_left(core);
        wb.state.wake_up.moved();
        let flight = wb.state.slab.get(id);
        let space = match flight.mem {
            Some(mem) if mem.space == Space::Generic && flight.mask != 0 => Some(wb.state.slab.dynamic(id).space),
            mem => mem.map(|mem| mem.space),
        };
        let Passage { busy, reads, enters } = self.times.in_shared_part(flight, space);
        self.turn = if core + 1 == self.queues.len() { 0 } else { core + 1 };
        self.free_at = now + busy;
        wb.state.counters.memory_pipe_cycles += busy;
        if reads == 0 {
            wb.registers_read(id);
        } else {
            self.reading.push_back((now + reads, id));
        }
        self.leaving.push_back(Leaving { id, order, core, enters_at: now + enters });
        self.enter(wb);
    }

    /// The oldest access that has left the shared part goes to the load/store unit, if its time has come.
    #[inline]
    fn enter<P: IssuePolicy, R: OperandStage<P>, O: Observer>(&mut self, wb: &mut WriteBack<'_, P, R, O>) {
        if self.entry.occupied() != 0 {
            return;
        }
        let Some(&Leaving { id, order, core, enters_at }) = self.leaving.front() else { return };
        if enters_at <= wb.tick.now {
            self.leaving.pop_front();
            self.entry.push(self.entry.id(Pipe::MEM, core), id, order);
            wb.state.wake_up.moved();
        }
    }

    /// The last registers of accesses are read.
    #[inline]
    fn read<P: IssuePolicy, R: OperandStage<P>, O: Observer>(&mut self, wb: &mut WriteBack<'_, P, R, O>) {
        while let Some(&(due, id)) = self.reading.front().filter(|&&(due, _)| due <= wb.tick.now) {
            debug_assert_eq!(due, wb.tick.now);
            self.reading.pop_front();
            wb.registers_read(id);
        }
    }

    /// Whether any access is before the load/store unit's entry, or has registers to read.
    #[inline]
    fn holds_any(&self) -> bool {
        self.queued > 0 || !self.reading.is_empty() || !self.leaving.is_empty()
    }

    /// That next cycle, from what is there.
    fn next_of_queues(&self) -> Cycle {
        let reads = self.reading.front().map_or(NEVER, |&(due, _)| due);
        if self.entry.occupied() != 0 {
            return reads;
        }
        let enters = self.leaving.front().map_or(NEVER, |access| access.enters_at);
        let has_room = self.queued > 0 && self.leaving.len() < LEAVING;
        let ready = || self.queues.iter().fold(NEVER, |first, queue| first.min(queue.ready_at));
        let passes = if has_room { ready().max(self.free_at) } else { NEVER };
        passes.min(reads).min(enters)
    }
}

impl MemoryStage for SubCoreMemory {
    fn new(spec: &CoreSpec) -> Self {
        Self::with_caches(spec, true, &SubCoreCaches::of(spec))
    }

    #[inline]
    fn has_work(&self, now: Cycle, access_waits: bool) -> bool {
        if self.direct {
            return self.unit.has_work(now, access_waits);
        }
        access_waits || self.next <= now || self.unit.has_work(now, self.entry.occupied() != 0)
    }

    fn next_event(&self, from: Cycle) -> Cycle {
        self.unit.next_event(from).min(self.next.max(from))
    }

    #[inline(always)]
    fn write_back<P: IssuePolicy, R: OperandStage<P>, O: Observer>(&mut self, wb: &mut WriteBack<'_, P, R, O>) {
        if !self.reading.is_empty() {
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

    fn receive_from_peers(&mut self, id: InstId) {
        self.unit.receive_from_peers(id);
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
        if self.next <= wb.tick.now || wires.oc_ex.waiting_for_memory() != 0 {
            self.take(wb, wires.oc_ex);
            self.pass(wb);
            self.unit.step(wb, &mut MemoryWires { port: wires.port, oc_ex: &mut self.entry });
            self.next = self.next_of_queues();
        } else {
            let was_blocked = self.entry.occupied() != 0;
            self.unit.step(wb, &mut MemoryWires { port: wires.port, oc_ex: &mut self.entry });
            if was_blocked && self.entry.occupied() == 0 {
                self.next = self.next_of_queues();
            }
        }
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
