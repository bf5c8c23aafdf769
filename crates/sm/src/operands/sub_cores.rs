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
//!   register there if its reuse bit says so, of an operand of 64 bits or more one in each bank. Any read of the same
//!   bank and position makes the entry unavailable, hit or miss, unless it leaves its own.
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
//!   scalar ALUs leaves Control like one of variable latency, and neither uses the cache of operands. Copies from the
//!   scalar file to the banks take no port.
//!
//! Stall reasons: `operand_collector_full` while Allocate waits for ports, `unit_busy` and `memory_pipe_full` while
//! Control waits for the latch of a unit.

use super::{Hooks, OperandStage, PARTITIONS, RegisterBanks, Wires};
use crate::execute::latches::{LATCHES, LatchId};
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
/// Cycles in which ports may be reserved, rounded up: a byte of a word each.
const AHEAD: u32 = 8;
/// Pipes, rounded up: a division takes the host long.
const PIPES: usize = Pipe::COUNT.next_power_of_two();
/// Cycles of reads.
const READS: u32 = 3;

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

/// Reads that have reserved ports.
#[derive(Clone, Copy, Debug, Default)]
struct Reserved {
    first: Cycle,
    /// By bank: a byte for each cycle from the first on, the first in the lowest.
    reads: [u64; BANKS],
}

/// The stages of a sub-core.
#[derive(Debug)]
struct SubCore {
    control: Option<Passing>,
    allocate: Option<Passing>,
    reserved: Reserved,
    /// From when a latch of each pipe takes an instruction.
    free_at: [Cycle; PIPES],
    /// Pipes of which that may be later than now.
    busy: PipeSet,
    /// Accesses that have not left the queue of the memory stage.
    accesses: u8,
    /// Pipes whose latches are closed.
    closed: PipeSet,
    /// By position and bank: see [`cached`].
    cache: [[u32; BANKS]; POSITIONS],
}

/// The entry of the cache of operands with register `reg` of `warp`.
#[inline(always)]
fn cached(warp: WarpSlot, reg: RegId) -> u32 {
    u32::from(warp.0) << 16 | u32::from(reg.0)
}

/// The entry without a register.
const UNAVAILABLE: u32 = u32::MAX;

/// The operand stage of all sub-cores.
#[derive(Debug)]
pub struct SubCoreOperands {
    sub_cores: Box<[SubCore]>,
    /// The partition of each latch.
    partition_of: [u8; LATCHES],
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
            reserved: Reserved::default(),
            free_at: [0; PIPES],
            busy: PipeSet::default(),
            accesses: 0,
            closed: PipeSet::default(),
            cache: [[UNAVAILABLE; BANKS]; POSITIONS],
        };
        // Units of double precision that serve several sub-cores are behind a queue.
        let has_own = |unit: &Unit| spec.has_own_units(Pipe::of(*unit));
        let of_units = [Unit::Int, Unit::Sp, Unit::Dp, Unit::Tensor, Unit::Uniform];
        let fixed = of_units.iter().filter(|unit| has_own(unit)).fold(PipeSet::default(), |s, u| s.with(Pipe::of(*u)));
        Self {
            sub_cores: (0..spec.partitions).map(|_| sub_core()).collect(),
            partition_of: std::array::from_fn(|latch| (latch % spec.partitions) as u8),
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
            if self.fixed.contains(flight.pipe) && !flight.is_asynchronous() {
                // It issued in the cycle before.
                sub_core.free_at[flight.pipe.index() % PIPES] = now - 1 + Cycle::from(flight.initiation_cycles);
                sub_core.busy = sub_core.busy.with(flight.pipe);
            }
            sub_core.accesses += u8::from(self.settings.memory_queues && flight.unit_pipe == Pipe::MEM);
            hooks.collecting(wires.window(), id, 0);
            (moved, taken) = (true, true);
        }
        let closed = sub_core.closed_at(now, wires.id_oc.occupied() & mine != 0, self.most_accesses);
        if closed != sub_core.closed {
            taken |= sub_core.closed.except(closed) != PipeSet::default();
            wires.id_oc.close(partition, closed);
            sub_core.closed = closed;
        }
        // Room in the latch wakes an instruction that waits only for it; the next issue wakes an empty sub-core.
        let waits_for_ports = sub_core.allocate.is_some_and(|(_, _, latch)| wires.oc_ex.has_room(latch));
        let holds_any = sub_core.control.is_some() || sub_core.allocate.is_some() || wires.id_oc.occupied() & mine != 0;
        let goes_on = moved && holds_any || waits_for_ports || sub_core.busy != PipeSet::default();
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
            // Bit by bit to bytes.
            let spread = |bits: u32| bits.wrapping_mul(0x0020_4081) & 0x0101_0101;
            let of_bank = (1 << banks) - 1;
            needed = (spread(low as u32 & of_bank) + 2 * spread(high as u32 & of_bank)).to_le_bytes();
            if flight.banks().has_many {
                needed = [0; BANKS];
                let skipped = flight.route().skipped;
                let read = flight.vector_srcs().iter().enumerate();
                let read = read.filter(|(i, _)| skipped.checked_shr(*i as u32).is_none_or(|bits| bits & 1 == 0));
                read.for_each(|(_, reg)| needed[reg.index() % banks] += 1);
            }
        }
        let scheduling = flight.names().scheduling;
        let has_cache = self.settings.register_cache && scheduling.has_slots() && !flight.is_routed;
        if has_cache {
            for (position, cache) in sub_core.cache.iter().enumerate() {
                for reg in scheduling.slot(position) {
                    let bank = reg.index() % banks;
                    if cache[bank] == cached(flight.warp, reg) {
                        needed[bank] = needed[bank].saturating_sub(1);
                    }
                }
            }
        }
        let reads = sub_core.reserved.take(now + 1, &needed[..banks], self.settings.ports)?;
        if has_cache {
            for (position, cache) in sub_core.cache.iter_mut().enumerate() {
                let kept = scheduling.keeps(position);
                for reg in scheduling.slot(position) {
                    cache[reg.index() % banks] = if kept { cached(flight.warp, reg) } else { UNAVAILABLE };
                }
            }
        }
        Some(reads)
    }
}

impl SubCore {
    /// The pipes whose latches take nothing in cycle `now`: all if one of the latches is `occupied`, else the pipes of busy
    /// units, and the memory pipe at `most` accesses.
    #[inline(always)]
    fn closed_at(&mut self, now: Cycle, occupied: bool, most: u8) -> PipeSet {
        for pipe in self.busy.iter() {
            if self.free_at[pipe.index() % PIPES] <= now {
                self.busy = self.busy.without(pipe);
            }
        }
        if occupied {
            PipeSet::ALL
        } else if self.accesses >= most {
            self.busy.with(Pipe::MEM)
        } else {
            self.busy
        }
    }
}

impl Reserved {
    /// Reserves the reads `needed` of each bank, which has `ports`, each as early as it can from cycle `first` on, if there
    /// are enough in the cycles of reads. Returns their number.
    #[inline(always)]
    fn take(&mut self, first: Cycle, needed: &[u8], ports: u32) -> Option<u32> {
        let most = needed.iter().fold(0, |most, &n| most.max(u32::from(n)));
        if most == 0 {
            return Some(0);
        }
        let passed = (first - self.first).min(u64::from(AHEAD)) as u32;
        let past = |reads: u64| reads.checked_shr(8 * passed).unwrap_or(0);
        let cycles = if most > READS * ports { 2 * READS } else { READS };
        let in_cycles = (1 << (8 * cycles)) - 1;
        let of_all = self.reads.iter().fold(0, |all, &reads| all | past(reads)) & in_cycles;
        let sum = |reads: u64| (reads & in_cycles).wrapping_mul(0x0101_0101_0101_0101) >> 56;
        let lacks = |(&n, &reads): (&u8, &u64)| u64::from(n) + sum(past(reads)) > u64::from(ports * cycles);
        if of_all != 0 && needed.iter().zip(&self.reads).any(lacks) {
            return None;
        }
        self.first = first;
        self.reads = self.reads.map(past);
        let mut count = 0;
        for (&needed, reserved) in needed.iter().zip(&mut self.reads) {
            let mut left = u64::from(needed);
            count += u32::from(needed);
            for at in (0..8 * cycles).step_by(8) {
                if left == 0 {
                    break;
                }
                let reads = left.min(u64::from(ports) - (*reserved >> at & 0xff));
                *reserved += reads << at;
                left -= reads;
            }
        }
        Some(count)
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
        for latch in set_bits(latches) {
            // A sub-core's instructions go to latches of its own partition.
            let partition = usize::from(self.partition_of[latch % LATCHES]);
            let waits = |passing: Option<Passing>| passing.is_some_and(|(_, _, aim)| usize::from(aim) == latch);
            let sub_core = &self.sub_cores[partition];
            self.awake |= u8::from(waits(sub_core.control) || waits(sub_core.allocate)) << (partition % PARTITIONS);
        }
    }

    #[inline]
    fn access_left(&mut self, partition: usize) {
        let accesses = &mut self.sub_cores[partition].accesses;
        // The latch of the memory pipe opens.
        self.awake |= u8::from(*accesses == self.most_accesses) << partition;
        *accesses -= 1;
    }

    fn any_waits_for_unit(&self, partition: usize) -> bool {
        let sub_core = &self.sub_cores[partition];
        sub_core.control.is_some() || sub_core.closed != PipeSet::default()
    }

    fn is_full(&self, partition: usize) -> bool {
        self.sub_cores[partition].allocate.is_some()
    }

    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        if self.sub_cores.iter().any(|s| s.control.is_some() || s.allocate.is_some()) {
            return Err(Mismatch::new("an instruction is in the operand stage"));
        }
        for SubCore { control: _, allocate: _, accesses: _, reserved, free_at, busy, closed, cache } in
            &mut self.sub_cores
        {
            reserved.persist(archive)?;
            kit::persist::each(free_at, archive)?;
            busy.0.persist(archive)?;
            closed.0.persist(archive)?;
            for of_position in cache {
                kit::persist::each(of_position, archive)?;
            }
        }
        self.awake.persist(archive)
    }
}

kit::persist! {
    struct Reserved { first, reads: each }
}
