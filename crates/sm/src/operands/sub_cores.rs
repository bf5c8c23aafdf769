//! Operands in the sub-cores of GPUs since Volta: no collectors, three cycles of reads, a cache of operands.
//!
//! Follows Huerta et al., *Dissecting and Modeling the Architecture of Modern GPU Cores* (MICRO 2025), sections 5.1
//! and 5.3.
//!
//! ```text
//!  ID_OC ► Control ─┬─ fixed latency ──► Allocate ► three cycles of reads ► OC_EX ► units
//!                   └─ variable latency ──────────────────────────────────► OC_EX ► memory, special functions
//! ```
//! - **Control** takes each instruction in the cycle after its issue. One of variable latency leaves it when the latch of
//!   its unit has room, and keeps the sub-core from issuing until then.
//! - **Allocate** reserves the ports of the register banks for the reads of an instruction of fixed latency: within the
//!   next three cycles, each as early as it can. While it cannot, it holds, and the stages before it with it.
//! - **Banks**: the register's number selects its bank. A bank has [`SubCoreSettings::ports`] reads a cycle.
//! - **The register-file cache** has one register of a warp for each bank and operand position. An instruction leaves a
//!   register there if its reuse bit says so. Any read of the same bank and position makes the entry unavailable, hit or
//!   miss, unless it leaves its own.
//! - **Issue** finds the latch of a unit of fixed latency closed until the unit can take another instruction: the whole
//!   latch of the sub-core if an instruction could not enter Control.
//!
//! **Deviations**
//! - D-SC2: an instruction goes to OC_EX when its reads are reserved, not when they are done. Latencies count from issue
//!   to issue, so that the cycles of its reads are among them.
//! - D-SC3: an instruction of variable latency reads without ports of the banks. Hardware reads at a lower priority.
//! - D-SC4: operands of more than three registers in a bank have twice the cycles for their reads, as the paper has it for
//!   matrices.
//! - D-SC5: no queue of results. At one issue a cycle it would never be full: results of fixed latency are forwarded and
//!   written as they come, and a load that meets one at its bank waits for a cycle.
//!
//! - D-SC6: with a scalar path, an instruction reads the scalar register file without ports of the banks, one for
//!   scalar ALUs leaves Control as those of variable latency do, and neither uses the cache of operands. What is
//!   copied from the scalar file to the banks takes no port.
//!
//! Stall reasons: `operand_collector_full` while Allocate waits for ports, `unit_busy` and `memory_pipe_full` while
//! Control waits for the latch of a unit.

use super::{Hooks, OperandStage, PARTITIONS, RegisterBanks, Wires};
use crate::execute::latches::LatchId;
use crate::inflight::InstId;
use crate::issue::policy::IssuePolicy;
use crate::memory::sub_cores::Queues;
use crate::observe::observer::Observer;
use crate::slab::Flight;
use crate::spec::{CoreSpec, Pipe, PipeSet};
use config::Unit;
use isa::{RegId, WarpSlot};
use kit::Cycle;
use kit::bits::set_bits;
use kit::persist::{Archive, Mismatch, Persist};

/// Banks of a sub-core, at most.
const BANKS: usize = 4;
/// Operand positions of an instruction that the cache of operands knows.
const POSITIONS: usize = 3;
/// Cycles in which ports may be reserved, rounded up.
const AHEAD: usize = 8;
/// Cycles of reads.
const READS: Cycle = 3;

/// Choices of a design.
#[derive(Clone, Copy, Debug)]
pub struct SubCoreSettings {
    /// Reads of each bank in a cycle.
    pub ports: u32,
    /// There is a cache of operands.
    pub register_cache: bool,
    /// The memory stage has a queue for each sub-core, of so many accesses that issue stops in time, and reads their
    /// registers.
    pub memory_queues: bool,
}

/// An instruction on its way, its place in the order of issue, and the latch of its unit.
type Passing = (InstId, u64, LatchId);

/// Ports of a cycle that are reserved, by bank.
#[derive(Clone, Copy, Debug, Default)]
struct Reserved {
    cycle: Cycle,
    reads: [u8; BANKS],
}

/// The stages of a sub-core.
#[derive(Debug)]
struct SubCore {
    control: Option<Passing>,
    allocate: Option<Passing>,
    /// By the cycle, modulo its length.
    reserved: [Reserved; AHEAD],
    /// From when a latch of each pipe takes an instruction.
    free_at: [Cycle; Pipe::COUNT],
    /// The latest of these.
    all_free_at: Cycle,
    /// Accesses that have not left the queue of the memory stage.
    accesses: u8,
    /// Latches that are closed.
    closed: u64,
    /// By position and bank.
    cache: [[Option<(WarpSlot, RegId)>; BANKS]; POSITIONS],
}

/// The operand stage of all sub-cores.
#[derive(Debug)]
pub struct SubCoreOperands {
    sub_cores: Box<[SubCore]>,
    /// Sub-cores in which anything may move, one bit each.
    awake: u8,
    settings: SubCoreSettings,
    /// Accesses of a sub-core that the memory stage has room for.
    most_accesses: u8,
    /// Units whose instructions have a fixed latency.
    fixed: PipeSet,
    bank_count: usize,
    banks: RegisterBanks,
}

impl SubCoreOperands {
    /// The stage of an SM of `spec`, empty.
    pub fn new(spec: &CoreSpec, settings: SubCoreSettings) -> Self {
        let sub_core = || SubCore {
            control: None,
            allocate: None,
            reserved: [Reserved::default(); AHEAD],
            free_at: [0; Pipe::COUNT],
            all_free_at: 0,
            accesses: 0,
            closed: 0,
            cache: [[None; BANKS]; POSITIONS],
        };
        // Units of double precision that serve several sub-cores are behind a queue.
        let has_own = |unit: &Unit| spec.has_own_units(Pipe::of(*unit));
        let of_units = [Unit::Int, Unit::Sp, Unit::Dp, Unit::Tensor, Unit::Uniform];
        let fixed = of_units.iter().filter(|unit| has_own(unit)).fold(PipeSet::default(), |s, u| s.with(Pipe::of(*u)));
        Self {
            sub_cores: (0..spec.partitions).map(|_| sub_core()).collect(),
            awake: 0,
            most_accesses: Queues::of(spec).accesses,
            settings,
            fixed,
            bank_count: (spec.banks_per_partition() as usize).min(BANKS),
            banks: RegisterBanks::new(spec),
        }
    }

    /// Instructions of `partition` move on. Returns whether any did, whether any left its issue latch, and whether
    /// anything may move in the next cycle.
    #[inline(always)]
    fn step_one<P: IssuePolicy, O: Observer>(
        &mut self,
        partition: usize,
        wires: &mut Wires<'_>,
        hooks: &mut Hooks<'_, P, O>,
    ) -> (bool, bool, bool) {
        let now = hooks.now;
        let mine = wires.id_oc.of_partition(partition);
        let (mut moved, mut taken) = (false, false);
        // Back to front; what leaves Allocate in this cycle was there in it.
        if let Some(passing) = self.sub_cores[partition].allocate {
            moved |= self.try_allocate(partition, passing, wires, hooks);
        } else if let Some(passing @ (id, order, latch)) = self.sub_cores[partition].control {
            if self.fixed.contains(wires.oc_ex.pipe(latch)) {
                self.sub_cores[partition].control = None;
                self.sub_cores[partition].allocate = Some(passing);
                self.try_allocate(partition, passing, wires, hooks);
                moved = true;
            } else if wires.oc_ex.has_room(latch) {
                self.sub_cores[partition].control = None;
                let skipped = wires.slab.route(id).skipped.count_ones();
                hooks.counters.register_reads += u64::from(u32::from(wires.slab.get(id).vector_srcs) - skipped);
                if !self.settings.memory_queues || wires.oc_ex.pipe(latch) != Pipe::MEM {
                    hooks.collected(wires.window(), id);
                    hooks.operands_read(wires.window(), id);
                }
                wires.oc_ex.push(latch, id, order);
                moved = true;
            }
        }
        let sub_core = &mut self.sub_cores[partition];
        let waiting = wires.id_oc.occupied() & mine;
        if sub_core.control.is_none() && waiting != 0 {
            let from = wires.id_oc.oldest(waiting);
            let (id, order) = (wires.id_oc.oldest_in(from), wires.id_oc.order(from));
            wires.id_oc.drop_oldest(from);
            let flight = wires.slab.get(id);
            sub_core.control = Some((id, order, wires.oc_ex.id(flight.unit_pipe, partition)));
            if self.fixed.contains(flight.pipe) {
                // It issued in the cycle before.
                let free_at = now - 1 + Cycle::from(flight.initiation_cycles);
                sub_core.free_at[flight.pipe.index()] = free_at;
                sub_core.all_free_at = sub_core.all_free_at.max(free_at);
            }
            sub_core.accesses += u8::from(self.settings.memory_queues && flight.unit_pipe == Pipe::MEM);
            hooks.collecting(wires.window(), id, 0);
            (moved, taken) = (true, true);
        }
        let closed = sub_core.closed_at(now, (wires.id_oc.occupied() & mine != 0, self.most_accesses), mine, |pipe| {
            1 << (wires.id_oc.id(pipe, partition) & 63)
        });
        if closed != sub_core.closed {
            taken |= sub_core.closed & !closed != 0;
            wires.id_oc.open(mine);
            wires.id_oc.close(closed);
            sub_core.closed = closed;
        }
        // What waits for its unit's latch alone is woken when that has room.
        let waits_for_ports = sub_core.allocate.is_some_and(|(_, _, latch)| wires.oc_ex.has_room(latch));
        let goes_on = moved || waits_for_ports || sub_core.all_free_at > now;
        (moved | taken, taken, goes_on)
    }

    /// The instruction in Allocate reserves its reads, if it can, and leaves. Whether it did.
    #[inline(always)]
    fn try_allocate<P: IssuePolicy, O: Observer>(
        &mut self,
        partition: usize,
        (id, order, latch): Passing,
        wires: &mut Wires<'_>,
        hooks: &mut Hooks<'_, P, O>,
    ) -> bool {
        if !wires.oc_ex.has_room(latch) {
            return false;
        }
        let Some(reads) = self.reserve(partition, wires.window().flight(id), hooks.now) else { return false };
        self.sub_cores[partition].allocate = None;
        hooks.counters.register_reads += u64::from(reads);
        hooks.collected(wires.window(), id);
        hooks.operands_read(wires.window(), id);
        wires.oc_ex.push(latch, id, order);
        true
    }

    /// Reserves the ports for `flight`, if there are enough in its cycles of reads. Returns its reads.
    #[inline(always)]
    fn reserve(&mut self, partition: usize, flight: Flight<'_>, now: Cycle) -> Option<u32> {
        let (sub_core, banks) = (&mut self.sub_cores[partition], self.bank_count);
        let mut needed = [0u8; BANKS];
        let [low, high] = flight.banks().reads;
        if low | high != 0 {
            for (bank, needed) in needed.iter_mut().enumerate().take(banks) {
                *needed = (low >> bank & 1) as u8 + 2 * (high >> bank & 1) as u8;
            }
            if flight.banks().has_many {
                needed = [0; BANKS];
                let skipped = flight.route().skipped;
                let read = flight.vector_srcs().iter().enumerate();
                let read = read.filter(|(i, _)| skipped.checked_shr(*i as u32).is_none_or(|bits| bits & 1 == 0));
                read.for_each(|(_, reg)| needed[reg.index() % banks] += 1);
            }
        }
        let scheduling = flight.names().scheduling;
        let cached = self.settings.register_cache && scheduling.has_slots() && !flight.is_routed;
        let mut slots = [None; POSITIONS];
        if cached {
            for (position, slot) in slots.iter_mut().enumerate() {
                let Some(reg) = scheduling.slot(position) else { continue };
                let bank = reg.index() % banks;
                if sub_core.cache[position][bank] == Some((flight.warp, reg)) {
                    needed[bank] = needed[bank].saturating_sub(1);
                }
                *slot = Some((bank, reg));
            }
        }
        let most = u32::from(needed.iter().copied().max().unwrap_or(0));
        let window = if most > READS as u32 * self.settings.ports { 2 * READS } else { READS };
        for (bank, &needed) in needed.iter().enumerate().take(banks) {
            let free = (now + 1..=now + window).map(|cycle| sub_core.free_ports(cycle, bank, self.settings.ports));
            if free.sum::<u32>() < u32::from(needed) && sub_core.has_reserved(now + 1, window) {
                return None;
            }
        }
        for (bank, &needed) in needed.iter().enumerate().take(banks) {
            let mut left = u32::from(needed);
            for cycle in now + 1..=now + window {
                let reads = left.min(sub_core.free_ports(cycle, bank, self.settings.ports));
                if reads > 0 {
                    sub_core.reserve(cycle, bank, reads as u8);
                    left -= reads;
                }
            }
        }
        for (position, slot) in slots.iter().enumerate() {
            let Some((bank, reg)) = *slot else { continue };
            sub_core.cache[position][bank] = scheduling.keeps(position).then_some((flight.warp, reg));
        }
        Some(needed.iter().map(|&n| u32::from(n)).sum())
    }
}

impl SubCore {
    /// The latches that take nothing in cycle `now`: all of `mine` if one is `blocked`, else the latches of busy units,
    /// and the latch of the memory pipe at `most` accesses.
    #[inline(always)]
    fn closed_at(&self, now: Cycle, (blocked, most): (bool, u8), mine: u64, latch: impl Fn(Pipe) -> u64) -> u64 {
        if blocked {
            return mine;
        }
        let of_memory = if self.accesses >= most { latch(Pipe::MEM) } else { 0 };
        if self.all_free_at <= now {
            return of_memory;
        }
        of_memory | Pipe::all().filter(|pipe| self.free_at[pipe.index()] > now).fold(0, |all, pipe| all | latch(pipe))
    }

    #[inline]
    fn free_ports(&self, cycle: Cycle, bank: usize, ports: u32) -> u32 {
        let reserved = &self.reserved[cycle as usize % AHEAD];
        if reserved.cycle == cycle { ports.saturating_sub(reserved.reads[bank].into()) } else { ports }
    }

    /// Whether any port is reserved in the `count` cycles from `first` on.
    #[inline]
    fn has_reserved(&self, first: Cycle, count: Cycle) -> bool {
        (first..first + count).any(|cycle| self.reserved[cycle as usize % AHEAD].cycle == cycle)
    }

    #[inline]
    fn reserve(&mut self, cycle: Cycle, bank: usize, reads: u8) {
        let reserved = &mut self.reserved[cycle as usize % AHEAD];
        if reserved.cycle != cycle {
            *reserved = Reserved { cycle, ..Reserved::default() };
        }
        reserved.reads[bank] += reads;
    }
}

impl<P: IssuePolicy> OperandStage<P> for SubCoreOperands {
    #[inline(always)]
    fn step<O: Observer>(&mut self, wires: &mut Wires<'_>, hooks: &mut Hooks<'_, P, O>) {
        for partition in set_bits(std::mem::take(&mut self.awake).into()) {
            let (moved, taken, goes_on) = self.step_one(partition, wires, hooks);
            hooks.done.touched |= u8::from(moved) << partition;
            hooks.done.taken |= u8::from(taken) << partition;
            self.awake |= u8::from(goes_on) << partition;
        }
        self.banks.end_cycle();
    }

    #[inline]
    fn banks(&mut self) -> &mut RegisterBanks {
        &mut self.banks
    }

    #[inline]
    fn is_stuck(&self) -> bool {
        self.awake == 0
    }

    #[inline]
    fn wake(&mut self, partition: usize) {
        self.awake |= 1 << (partition % PARTITIONS);
    }

    #[inline]
    fn latches_freed(&mut self, latches: u64) {
        for (partition, sub_core) in self.sub_cores.iter().enumerate() {
            let waits = |passing: Option<Passing>| passing.is_some_and(|(_, _, latch)| latches >> latch & 1 != 0);
            self.awake |= u8::from(waits(sub_core.control) || waits(sub_core.allocate)) << partition;
        }
    }

    #[inline]
    fn access_left(&mut self, partition: usize) {
        self.sub_cores[partition].accesses -= 1;
        self.awake |= 1 << partition;
    }

    fn any_waits_for_unit(&self, partition: usize) -> bool {
        let sub_core = &self.sub_cores[partition];
        sub_core.control.is_some() || sub_core.closed != 0
    }

    fn is_full(&self, partition: usize) -> bool {
        self.sub_cores[partition].allocate.is_some()
    }

    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        if self.sub_cores.iter().any(|s| s.control.is_some() || s.allocate.is_some()) {
            return Err(Mismatch::new("an instruction is in the operand stage"));
        }
        for SubCore { control: _, allocate: _, accesses: _, reserved, free_at, all_free_at, closed, cache } in
            &mut self.sub_cores
        {
            kit::persist::each(reserved, archive)?;
            kit::persist::each(free_at, archive)?;
            all_free_at.persist(archive)?;
            closed.persist(archive)?;
            for of_position in cache {
                kit::persist::each(of_position, archive)?;
            }
        }
        self.awake.persist(archive)
    }
}

kit::persist! {
    struct Reserved { cycle, reads }
}
