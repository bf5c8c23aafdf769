//! Operand collectors over the banked register file.
//!
//! Follows GPGPU-Sim's `opndcoll_rfu_t` with generic collectors: several rounds per cycle
//! ([`config::Operands::reads_per_bank`]), each of which first sends collected instructions on to
//! the latches of their units, then lets every bank serve the oldest of its waiting reads, then
//! moves instructions from the issue latches into free collectors. A bank that is written in a
//! cycle serves no read in that cycle's first round.
//!
//! With [`crate::CoreOptions::collectors_as_gpgpu_sim`] neither D-OC1 nor D-OC3 holds (`gpgpu_sim_order`).
//!
//! A collector whose instruction has its operands may send it on before that of an older one: also
//! where both access memory, or it writes what the other has yet to read, unless the issue design asks
//! for order (`read_guard`).
//!
//! - D-OC1: input ports limit instructions per pipe and round, as in GPGPU-Sim 4; but a pipe whose
//!   oldest instruction finds its own sub-core's collectors taken does not hold up other sub-cores.
//! - D-OC2: two registers of one instruction that lie in one bank are written in one cycle.
//! - D-OC3: each sub-core has its share of the output ports and one round-robin pointer, so that its
//!   collectors take turns. GPGPU-Sim has a pointer per port over the collectors of all sub-cores,
//!   with which one sub-core's pace can keep another's instruction in its collector for ever.

mod gpgpu_sim_order;
mod read_guard;
pub mod scalar;
mod stations;

use crate::execute::latches::{LatchId, Latches};
use crate::inflight::{InFlight, InstId, Slab, Stage, Window};
use crate::issue::policy::Stations;
use crate::kernel::Kernel;
use crate::operands::scalar::Route;
use crate::spec::{CoreSpec, Pipe};
use crate::warps::PerWarp;
use isa::{RegId, WarpSlot};
use kit::bits::set_bits;
use stations::Wires;

/// One bit per collector, or per bank.
type Mask = u64;

/// Most reads of one instruction that are modelled.
const MAX_READS: usize = 64;

#[derive(Clone, Copy, Debug)]
struct Collector {
    inst: InstId,
    /// Reads that have not been served.
    outstanding: u8,
    /// Awaited sources that have not come.
    awaited: u8,
    /// Latch that the instruction goes to.
    latch: LatchId,
}

/// Where a bank's ring of waiting reads stands.
#[derive(Clone, Copy, Debug, Default)]
struct ReadQueue {
    first: u16,
    len: u16,
}

/// Most partitions: the schedulers are fewer.
const PARTITIONS: usize = 8;

/// What the collectors ask of the issue design and tell it.
pub trait Design {
    /// Accesses to memory of one warp leave in the order in which they issued.
    const KEEPS_MEMORY_ORDER: bool;
    /// The collectors are reservation stations ([`stations`]).
    const STATIONS: bool;
    /// Whether access `younger` may leave its station before `older`, of the same warp; `known` if
    /// that one has its operands.
    fn may_pass(slab: &Slab, kernels: &[Kernel], younger: InstId, older: InstId, known: bool) -> bool;
    /// Sources that `id` awaits instead of reading, one bit each.
    fn awaited(&self, slab: &Slab, id: InstId) -> u64;
    /// `id` has a collector, where it awaits the sources `awaited` and reads the others.
    fn collecting(&mut self, slab: &Slab, id: InstId, awaited: u64);
    /// Whether any instruction is guarded, whose collectors have scalar ones among them or not.
    fn guards(&self, has_scalar: bool) -> bool;
    /// Whether the collectors see to it that `inst` writes after older ones have read ([`read_guard`]).
    fn is_guarded(&self, inst: &InFlight) -> bool;
    /// The last of its reads is served.
    fn collected(&mut self, slab: &Slab, id: InstId);
    /// `id` has its operands and leaves.
    fn operands_read(&mut self, slab: &Slab, id: InstId);
}

/// The collectors, the banks' read queues and the banks' write ports.
#[derive(Debug)]
pub struct OperandCollector {
    collectors: [Collector; 64],
    free: Mask,
    /// Occupied, and every operand is there.
    ready: Mask,
    /// Those of them that found the latch of their unit full, which it has been since.
    blocked: Mask,
    /// Stations whose instructions have left and whose results have yet to come.
    sent: Mask,
    /// Stations with a memory access that has not left.
    memory: Mask,
    /// Stations for other instructions, and for memory accesses.
    of_kind: [Mask; 2],
    /// Collectors of each partition.
    of_partition: [Mask; PARTITIONS],
    /// Those of them that take vector instructions, and scalar ones ([`crate::operands::scalar`]).
    pools: [[Mask; 2]; PARTITIONS],
    has_scalar: bool,
    /// Banks of each partition.
    banks_of_partition: [Mask; PARTITIONS],
    partitions: usize,
    /// For each output port of GPGPU-Sim's, the collector that it looks at first; empty if collectors
    /// take turns instead ([`crate::CoreOptions::collectors_as_gpgpu_sim`]).
    port_first: Box<[u8]>,
    /// For each collector, the one that an output port which has served it looks at next.
    behind: [u8; 64],
    /// The last collector of each partition that sent its instruction on.
    last: [u32; PARTITIONS],
    /// Reads waiting at each bank, by collector: rings of `reads_stride` places.
    reads: Box<[u8]>,
    reads_stride: usize,
    queues: [ReadQueue; 64],
    /// Banks at which reads wait.
    waiting: Mask,
    /// Banks written this cycle.
    written: Mask,
    rounds: u32,
    in_ports: u32,
    /// Of each partition.
    out_ports: u32,
    banks_per_partition: u32,
    /// Bank of register 0 of each warp, within its partition.
    first_bank: PerWarp<u8, u128>,
    /// Partitions in which something has moved, or their latches have changed, since a cycle in
    /// which nothing could; one bit each.
    awake: u8,
}

/// What the collectors did in a cycle.
#[derive(Clone, Copy, Debug, Default)]
pub struct Collected {
    /// Register reads served.
    pub reads: u32,
    /// Rounds in which a bank left reads waiting behind the one it served.
    pub conflicts: u32,
    /// Partitions in which anything moved, one bit each.
    pub touched: u8,
}

impl OperandCollector {
    /// Empty collectors, in place of which a design may have `stations`.
    pub fn new(spec: &CoreSpec, stations: Option<Stations>) -> Self {
        let (operands, partitions) = (&spec.sm.operands, spec.partitions);
        let Stations { count, of_memory } = stations.unwrap_or(Stations { count: operands.collectors, of_memory: 0 });
        let most = 64 / partitions;
        let each = (count as usize / partitions).clamp(1, most);
        let of_memory = (of_memory as usize / partitions).min(most - each);
        let banks = operands.banks as usize / partitions;
        let low = |n: usize| if n == 64 { Mask::MAX } else { (1 << n) - 1 };
        let scalar = spec.scalar_collectors() as usize / partitions;
        let ring = ((each + of_memory + scalar) * MAX_READS).next_power_of_two();
        // Those for memory accesses alone come behind all others.
        let (shared, all) = (low(each * partitions), low((each + of_memory) * partitions));
        let first_of_memory = |p: usize| each * partitions + p * of_memory;
        let vector = |p: usize| low(each) << (p * each) | low(of_memory) << first_of_memory(p).min(63);
        // Scalar ones come behind these.
        let scalar = |p: usize| low(scalar) << ((each + of_memory) * partitions + p * scalar).min(63);
        let of_partition = |p: usize| vector(p) | scalar(p);
        let behind = |c: usize| Self::first_behind(c as u32, each as u32, partitions as u32);
        Self {
            collectors: [Collector { inst: InstId(0), outstanding: 0, awaited: 0, latch: 0 }; 64],
            free: (0..partitions).fold(0, |all, p| all | of_partition(p)),
            ready: 0,
            sent: 0,
            memory: 0,
            blocked: 0,
            of_kind: [shared, if of_memory == 0 { shared } else { all & !shared }],
            of_partition: std::array::from_fn(|p| if p < partitions { of_partition(p) } else { 0 }),
            has_scalar: spec.options.scalar.is_some(),
            pools: std::array::from_fn(|p| if p < partitions { [vector(p), scalar(p)] } else { [0; 2] }),
            banks_of_partition: std::array::from_fn(|p| if p < partitions { low(banks) << (p * banks) } else { 0 }),
            partitions,
            port_first: vec![
                behind(0);
                if spec.options.collectors_as_gpgpu_sim { operands.out_ports as usize } else { 0 }
            ]
            .into(),
            behind: std::array::from_fn(behind),
            last: std::array::from_fn(|p| (p * each) as u32),
            reads: vec![0; ring * 64].into(),
            reads_stride: ring,
            queues: [ReadQueue::default(); 64],
            waiting: 0,
            written: 0,
            rounds: operands.reads_per_bank,
            in_ports: operands.in_ports,
            out_ports: (operands.out_ports / partitions as u32).max(1),
            banks_per_partition: banks as u32,
            first_bank: PerWarp::from_fn(|w| if operands.bank_uses_warp { (w % banks) as u8 } else { 0 }),
            awake: 0,
        }
    }

    /// The bank of a vector register.
    #[inline]
    fn bank(&self, warp: WarpSlot, partition: usize, reg: RegId) -> u32 {
        let number = u32::from(reg.0) + u32::from(self.first_bank[warp.index()]);
        let banks = self.banks_per_partition;
        let place = if banks.is_power_of_two() { number & (banks - 1) } else { number % banks };
        place + partition as u32 * banks
    }

    /// The banks that are `set` (see [`crate::kernel::Banks`]) to `warp`.
    #[inline]
    fn banks_of(&self, warp: WarpSlot, partition: usize, set: u64) -> Mask {
        let first = u32::from(self.first_bank[warp.index()]);
        let turned = set << first | set >> 1 >> (self.banks_per_partition - 1 - first);
        (turned & self.banks_of_partition[0]) << (partition as u32 * self.banks_per_partition % 64)
    }

    /// Whether reads wait, which a write in this cycle would hold up.
    #[inline]
    pub fn any_read_waits(&self) -> bool {
        self.waiting != 0
    }

    /// Writes results of `warp` to `banks` (see [`crate::kernel::Banks`]) in this cycle whatever else is
    /// written.
    #[inline]
    pub fn write(&mut self, partition: usize, warp: WarpSlot, banks: u64) {
        self.written |= self.banks_of(warp, partition, banks);
    }

    /// Writes results of `warp` to `banks` in this cycle unless one of them is being written already.
    #[inline]
    pub fn try_write(&mut self, partition: usize, warp: WarpSlot, banks: u64) -> bool {
        let banks = self.banks_of(warp, partition, banks);
        let free = banks & self.written == 0;
        if free {
            self.written |= banks;
        }
        free
    }

    /// Whether reads wait at banks of `partition`.
    #[inline]
    fn any_reads_wait(&self, partition: usize) -> bool {
        self.waiting & self.banks_of_partition[partition % PARTITIONS] != 0
    }

    /// Whether nothing can move.
    #[inline]
    pub fn is_stuck(&self) -> bool {
        self.awake == 0
    }

    /// An instruction has come into an issue latch of `partition`.
    #[inline]
    pub fn wake(&mut self, partition: usize) {
        self.awake |= 1 << partition;
    }

    /// Instructions have left dispatch latches of `partitions`, one bit each: that moves none but the
    /// collectors that have their operands.
    #[inline]
    pub fn latches_freed(&mut self, partitions: u8) {
        if self.ready != 0 {
            for p in set_bits(partitions.into()) {
                self.awake |= u8::from(self.any_waits_for_unit(p)) << p;
                self.blocked &= !self.of_partition[p % PARTITIONS];
            }
        }
    }

    /// Ends a cycle in which nothing can be collected.
    #[inline]
    pub fn rest(&mut self) {
        self.written = 0;
    }

    /// One cycle. `design` says which sources are awaited rather than read, and hears of each
    /// instruction that leaves with its operands.
    pub fn step<D: Design>(
        &mut self,
        id_oc: &mut Latches,
        oc_ex: &mut Latches,
        slab: &mut Slab,
        kernels: &[Kernel],
        design: &mut D,
    ) -> Collected {
        let mut done = Collected::default();
        if D::STATIONS {
            self.step_stations(&mut Wires { id_oc, oc_ex, slab, kernels }, design, &mut done);
            return done;
        }
        if !self.port_first.is_empty() {
            self.step_together(id_oc, oc_ex, slab, kernels, design, &mut done);
            return done;
        }
        let mut awake = self.awake;
        while awake != 0 {
            let partition = awake.trailing_zeros() as usize;
            awake &= awake - 1;
            let moved = self.step_partition(partition, id_oc, oc_ex, slab, kernels, design, &mut done);
            done.touched |= u8::from(moved) << partition;
        }
        self.written = 0;
        done
    }

    /// The rounds of one partition, which shares nothing with the others. True if anything moved. The
    /// partition goes to sleep if nothing can in the next cycle unless its latches change.
    #[expect(clippy::too_many_arguments, reason = "the stage's wires")]
    #[inline]
    fn step_partition(
        &mut self,
        partition: usize,
        id_oc: &mut Latches,
        oc_ex: &mut Latches,
        slab: &mut Slab,
        kernels: &[Kernel],
        design: &mut impl Design,
        done: &mut Collected,
    ) -> bool {
        let mut moved = false;
        let mine = self.of_partition[partition % PARTITIONS];
        let latches = id_oc.of_partition(partition);
        let all_banks = self.banks_of_partition[partition % PARTITIONS];
        let mut banks = all_banks & !self.written;
        // Those whose reads find their banks free and each other not in the way: served in the round
        // behind the one in which they came.
        let mut passing = 0;
        let rounds = self.rounds;
        for round in 1..rounds + 1 {
            let mut quiet = passing == 0;
            if self.ready & mine & !self.blocked != 0 {
                moved |= self.dispatch(partition, oc_ex, slab, kernels, design);
                quiet = false;
            }
            if self.waiting & banks != 0 {
                self.serve_reads(banks, slab, design, done);
                (moved, quiet) = (true, false);
            }
            self.ready |= std::mem::take(&mut passing);
            if id_oc.occupied() & latches != 0 && self.free & mine != 0 {
                quiet = false;
                if let Some(latch) = id_oc.only(latches)
                    && let Some(c) = self.try_pass(partition, latch, round < rounds, id_oc, slab, kernels, design, done)
                {
                    passing = c;
                    moved = true;
                } else {
                    moved |= if self.has_scalar {
                        self.allocate::<true>(partition, id_oc, slab, kernels, design)
                    } else {
                        self.allocate::<false>(partition, id_oc, slab, kernels, design)
                    };
                }
            }
            // A round that finds nothing to do leaves nothing for the next, except to the banks that
            // were being written.
            if quiet && self.waiting & all_banks == 0 {
                break;
            }
            banks = all_banks;
        }
        let collects = self.waiting & all_banks != 0;
        let sends = self.ready & mine & !self.blocked != 0;
        let takes = self.free & mine != 0 && id_oc.occupied() & latches != 0;
        if !collects && !sends && !takes {
            self.awake &= !(1 << partition);
        }
        moved
    }

    /// Whether collector `c` holds a memory access of whose warp an access that issued before is in
    /// another collector.
    #[inline]
    fn would_overtake(&self, c: u32, slab: &Slab) -> bool {
        let Collector { inst, latch, .. } = self.collectors[c as usize % 64];
        let me = slab.get(inst);
        let is_older = |other: &Collector| {
            let other = slab.get(other.inst);
            other.warp == me.warp && other.mem.is_some() && other.issue_order() < me.issue_order()
        };
        let mine = self.of_partition[usize::from(latch) % self.partitions % PARTITIONS];
        me.mem.is_some() && set_bits(mine & !self.free).any(|o| is_older(&self.collectors[o % 64]))
    }

    /// Sends collected instructions of a partition on, in turn from behind the last one sent.
    #[inline]
    fn dispatch<D: Design>(
        &mut self,
        partition: usize,
        oc_ex: &mut Latches,
        slab: &mut Slab,
        kernels: &[Kernel],
        design: &mut D,
    ) -> bool {
        let mut moved = false;
        let mut candidates = self.ready & !self.blocked & self.of_partition[partition % PARTITIONS];
        if design.guards(self.has_scalar) && self.any_reads_wait(partition) {
            candidates = self.may_leave_of(candidates, partition, slab, kernels, design);
        }
        let behind_last = Mask::MAX << 1 << self.last[partition % PARTITIONS];
        let mut ports = self.out_ports;
        while candidates != 0 && ports > 0 {
            let behind = candidates & behind_last;
            let c = if behind == 0 { candidates } else { behind }.trailing_zeros();
            candidates &= !(1 << c);
            let Collector { inst, latch, .. } = self.collectors[c as usize % 64];
            if !oc_ex.has_room(latch) {
                self.blocked |= 1 << c;
                continue;
            }
            if D::KEEPS_MEMORY_ORDER && self.would_overtake(c, slab) {
                continue;
            }
            oc_ex.push(latch, inst, slab.get(inst).issue_order());
            self.ready &= !(1 << c);
            self.free |= 1 << c;
            self.last[partition % PARTITIONS] = c;
            ports -= 1;
            moved = true;
            slab.get_mut(inst).stage = Stage::Dispatched;
            design.operands_read(slab, inst);
        }
        moved
    }

    /// Each of `banks` serves its oldest read.
    #[inline(never)]
    fn serve_reads(&mut self, banks: Mask, slab: &Slab, design: &mut impl Design, done: &mut Collected) {
        for bank in set_bits(self.waiting & banks) {
            let queue = &mut self.queues[bank % 64];
            let first = usize::from(queue.first);
            let c = self.reads[bank * self.reads_stride + first];
            queue.first = ((first + 1) & (self.reads_stride - 1)) as u16;
            queue.len -= 1;
            let more = queue.len > 0;
            self.waiting &= !(u64::from(!more) << bank);
            done.reads += 1;
            done.conflicts += u32::from(more);
            let collector = &mut self.collectors[c as usize % 64];
            collector.outstanding -= 1;
            self.ready |= u64::from(collector.outstanding == 0 && collector.awaited == 0) << (c % 64);
            if collector.outstanding == 0 {
                design.collected(slab, collector.inst);
            }
        }
    }

    /// If no bank that the instruction in `latch` reads has another read to serve and the cycle has
    /// another round, it takes a free collector in which it has its operands after that round, without
    /// queueing at the banks. Returns that collector's bit, nothing if it has its operands at once.
    #[expect(clippy::too_many_arguments, reason = "the stage's wires")]
    #[inline]
    fn try_pass(
        &mut self,
        partition: usize,
        latch: LatchId,
        another_round: bool,
        id_oc: &mut Latches,
        slab: &mut Slab,
        kernels: &[Kernel],
        design: &mut impl Design,
        done: &mut Collected,
    ) -> Option<Mask> {
        let inst = id_oc.front(latch)?;
        let (flight, banks) = (slab.get(inst), slab.banks(kernels, inst));
        let reads = self.banks_of(flight.warp, partition, banks.reads);
        let passes = banks.is_spread && reads & self.waiting == 0 && (another_round || reads == 0);
        let free = if self.has_scalar {
            self.free & self.pool::<true>(partition, id_oc.pipe(latch))
        } else {
            self.free & self.of_partition[partition % PARTITIONS]
        };
        if !passes || self.has_scalar && free == 0 || design.awaited(slab, inst) != 0 {
            return None;
        }
        id_oc.pop(latch);
        let bit = free & free.wrapping_neg();
        self.free &= !bit;
        let latch = if self.has_scalar { self.latch_of(flight.unit_pipe, partition) } else { latch };
        self.collectors[bit.trailing_zeros() as usize % 64] = Collector { inst, outstanding: 0, awaited: 0, latch };
        done.reads += u32::from(flight.vector_srcs);
        if self.has_scalar {
            done.reads -= slab.route(inst).skipped.count_ones();
        }
        slab.get_mut(inst).stage = Stage::Collecting;
        design.collecting(slab, inst, 0);
        design.collected(slab, inst);
        if reads == 0 {
            self.ready |= bit;
            return Some(0);
        }
        Some(bit)
    }

    /// Moves instructions from a partition's issue latches into its free collectors.
    #[inline(never)]
    fn allocate<const SCALAR: bool>(
        &mut self,
        partition: usize,
        id_oc: &mut Latches,
        slab: &mut Slab,
        kernels: &[Kernel],
        design: &mut impl Design,
    ) -> bool {
        let mut moved = false;
        for latch in set_bits(id_oc.occupied() & id_oc.of_partition(partition)) {
            let mine = self.pool::<SCALAR>(partition, id_oc.pipe(latch as LatchId));
            let mut ports = self.in_ports;
            while ports > 0
                && let Some(inst) = id_oc.front(latch as LatchId)
            {
                let free = self.free & mine;
                if free == 0 {
                    if !SCALAR {
                        return moved;
                    }
                    break;
                }
                if design.guards(SCALAR)
                    && design.is_guarded(slab.get(inst))
                    && Self::must_wait(latch as LatchId, partition, id_oc, Window { slab, kernels })
                {
                    break;
                }
                id_oc.pop(latch as LatchId);
                let unit = if SCALAR { self.latch_of(slab.get(inst).unit_pipe, partition) } else { latch as LatchId };
                let place = Collector { inst, outstanding: 0, awaited: 0, latch: unit };
                self.place::<SCALAR>(free.trailing_zeros(), partition, place, slab, kernels, design);
                moved = true;
                ports -= 1;
            }
        }
        moved
    }

    /// Collector `c` takes an instruction that has left its issue latch.
    #[inline]
    fn place<const SCALAR: bool>(
        &mut self,
        c: u32,
        partition: usize,
        place: Collector,
        slab: &mut Slab,
        kernels: &[Kernel],
        design: &mut impl Design,
    ) {
        let awaited = design.awaited(slab, place.inst);
        let route = if SCALAR { slab.route(place.inst) } else { Route::default() };
        let flight = slab.get_mut(place.inst);
        flight.stage = Stage::Collecting;
        flight.station = c as u8;
        let kernel = &kernels[flight.kernel.index()];
        let operands = &kernel.names(flight.pc).operands;
        let srcs = operands.vector_srcs(&kernel.code);
        self.collect(c, partition, place, flight.warp, srcs, [awaited, route.skipped]);
        if route.copied != 0 {
            self.copy(c, partition, flight.warp, route, operands.dsts(&kernel.code));
        }
        design.collecting(slab, place.inst, awaited);
        if self.collectors[c as usize % 64].outstanding == 0 {
            design.collected(slab, place.inst);
        }
    }

    /// The collectors of `partition` that take instructions from issue latches of `pipe`.
    #[inline]
    fn pool<const SCALAR: bool>(&self, partition: usize, pipe: Pipe) -> Mask {
        self.pools[partition % PARTITIONS][usize::from(SCALAR && pipe == Pipe::SCALAR)]
    }

    /// The latch of the units of `pipe` in `partition`.
    #[inline]
    fn latch_of(&self, pipe: Pipe, partition: usize) -> LatchId {
        (pipe.index() * self.partitions + partition) as LatchId
    }

    /// The instruction in collector `c` waits for registers to be copied to their banks, each of which
    /// takes a cycle of its bank.
    #[cold]
    #[inline(never)]
    fn copy(&mut self, c: u32, partition: usize, warp: WarpSlot, route: Route, dsts: &[RegId]) {
        for i in set_bits(route.copied).filter(|&i| i < dsts.len()) {
            self.queue(c, partition, warp, dsts[i]);
            self.collectors[c as usize % 64].outstanding += 1;
        }
        self.ready &= !(1 << c);
    }

    /// A read for collector `c` waits at its bank.
    #[inline]
    fn queue(&mut self, c: u32, partition: usize, warp: WarpSlot, reg: RegId) {
        let bank = self.bank(warp, partition, reg) as usize % 64;
        let queue = &mut self.queues[bank];
        let end = usize::from(queue.first + queue.len) & (self.reads_stride - 1);
        queue.len += 1;
        self.reads[bank * self.reads_stride + end] = c as u8;
        self.waiting |= 1 << bank;
    }

    /// Collector `c` takes an instruction of `warp`; its sources but those that are awaited or skipped
    /// queue at their banks.
    #[inline]
    fn collect(
        &mut self,
        c: u32,
        partition: usize,
        mut place: Collector,
        warp: WarpSlot,
        srcs: &[RegId],
        [awaited, skipped]: [u64; 2],
    ) {
        self.free &= !(1 << c);
        let srcs = &srcs[..srcs.len().min(MAX_READS)];
        for (i, &reg) in srcs.iter().enumerate() {
            if (awaited | skipped) >> i & 1 != 0 {
                continue;
            }
            self.queue(c, partition, warp, reg);
            place.outstanding += 1;
        }
        place.awaited = awaited.count_ones() as u8;
        self.ready |= u64::from(place.outstanding == 0 && awaited == 0) << c;
        self.collectors[c as usize % 64] = place;
    }

    /// An awaited source of the instruction in collector `station` of `partition` has come.
    #[inline]
    pub fn deliver(&mut self, partition: usize, station: u8) {
        let collector = &mut self.collectors[usize::from(station) % 64];
        collector.awaited -= 1;
        self.ready |= u64::from(collector.outstanding == 0 && collector.awaited == 0) << (station % 64);
        self.awake |= 1 << partition;
    }

    /// Whether a collector of `partition` is taken by an instruction that has its operands: what it
    /// waits for is its unit.
    pub fn any_waits_for_unit(&self, partition: usize) -> bool {
        self.ready & self.of_partition[partition % PARTITIONS] != 0
    }
}
