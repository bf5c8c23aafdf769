//! What collectors and reservation stations have in common: places that hold an instruction until it has
//! its operands, over the register banks.

use super::{Hooks, Mask, PARTITIONS, RegisterBanks, Route, Wires};
use crate::execute::latches::LatchId;
use crate::inflight::{InstId, Slab, Stage};
use crate::issue::policy::IssuePolicy;
use crate::observe::observer::Observer;
use crate::spec::CoreSpec;
use isa::{RegId, WarpSlot};
use kit::bits::set_bits;

/// Maximum number of reads of one instruction that are modelled.
const MAX_READS: usize = 64;

#[derive(Clone, Copy, Debug)]
pub(super) struct Collector {
    pub inst: InstId,
    /// Reads that have not been served.
    pub outstanding: u8,
    /// Awaited sources that have not come.
    pub awaited: u8,
    /// Latch that the instruction goes to.
    pub latch: LatchId,
}

impl Collector {
    /// `inst`, on its way to `latch`, before its sources are known.
    pub fn of(inst: InstId, latch: LatchId) -> Self {
        Self { inst, outstanding: 0, awaited: 0, latch }
    }
}

/// What an operand stage over a `pool` says of itself by its pool.
macro_rules! of_the_pool {
    () => {
        #[inline]
        fn banks(&mut self) -> &mut RegisterBanks {
            &mut self.pool.banks
        }

        #[inline]
        fn is_stuck(&self) -> bool {
            self.pool.awake == 0
        }

        #[inline]
        fn wake(&mut self, partition: usize) {
            self.pool.awake |= 1 << partition;
        }

        #[inline]
        fn latches_freed(&mut self, partitions: u8) {
            self.pool.latches_freed(partitions);
        }

        fn any_waits_for_unit(&self, partition: usize) -> bool {
            self.pool.any_waits_for_unit(partition)
        }
    };
}
pub(super) use of_the_pool;

/// Up to 64 collectors, split among the partitions.
#[derive(Debug)]
pub(super) struct Pool {
    pub collectors: [Collector; 64],
    pub free: Mask,
    /// Occupied, and every operand is there.
    pub ready: Mask,
    /// The ready ones that found the latch of their unit full, which it has been since.
    pub blocked: Mask,
    pub of_partition: [Mask; PARTITIONS],
    /// The last collector of each partition that sent its instruction on.
    pub last: [u32; PARTITIONS],
    pub banks: RegisterBanks,
    pub partitions: usize,
    pub rounds: u32,
    pub in_ports: u32,
    /// Output ports of each partition.
    pub out_ports: u32,
    /// Partitions in which something has moved, or their latches have changed, since a cycle in which
    /// nothing could; one bit each.
    pub awake: u8,
}

impl Pool {
    /// Free collectors: those of each partition are `of_partition`, the first of which holds `each`.
    pub fn new(spec: &CoreSpec, each: usize, of_partition: impl Fn(usize) -> Mask) -> Self {
        let (operands, partitions) = (&spec.sm.operands, spec.partitions);
        let of_partition = |p: usize| if p < partitions { of_partition(p) } else { 0 };
        Self {
            collectors: [Collector::of(InstId(0), 0); 64],
            free: (0..partitions).fold(0, |all, p| all | of_partition(p)),
            ready: 0,
            blocked: 0,
            of_partition: std::array::from_fn(of_partition),
            last: std::array::from_fn(|p| (p * each) as u32),
            banks: RegisterBanks::new(spec, of_partition(0).count_ones() as usize * MAX_READS),
            partitions,
            rounds: operands.reads_per_bank,
            in_ports: operands.in_ports,
            out_ports: (operands.out_ports / partitions as u32).max(1),
            awake: 0,
        }
    }

    /// Instructions have left dispatch latches of `partitions`, one bit each: that moves only the
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

    /// Whether a collector of `partition` holds an instruction that has its operands: it waits for its
    /// unit.
    pub fn any_waits_for_unit(&self, partition: usize) -> bool {
        self.ready & self.of_partition[partition % PARTITIONS] != 0
    }

    /// Whether collector `c` holds a memory access of whose warp an access that issued before is in
    /// another collector.
    #[inline]
    pub fn would_overtake(&self, c: u32, slab: &Slab) -> bool {
        let Collector { inst, latch, .. } = self.collectors[c as usize % 64];
        let me = slab.get(inst);
        let is_older = |other: &Collector| {
            let other = slab.get(other.inst);
            other.warp == me.warp && other.mem.is_some() && other.issue_order() < me.issue_order()
        };
        let mine = self.of_partition[usize::from(latch) % self.partitions % PARTITIONS];
        me.mem.is_some() && set_bits(mine & !self.free).any(|o| is_older(&self.collectors[o % 64]))
    }

    /// Each of `banks` serves its oldest read.
    #[inline(never)]
    pub fn serve_reads<P: IssuePolicy, O: Observer>(
        &mut self,
        banks: Mask,
        wires: &Wires<'_>,
        hooks: &mut Hooks<'_, P, O>,
    ) {
        for bank in set_bits(self.banks.waiting & banks) {
            let (c, more) = self.banks.serve(bank);
            hooks.done.reads += 1;
            hooks.done.conflicts += u32::from(more);
            let collector = &mut self.collectors[c as usize % 64];
            collector.outstanding -= 1;
            self.ready |= u64::from(collector.outstanding == 0 && collector.awaited == 0) << (c % 64);
            if collector.outstanding == 0 {
                hooks.collected(wires.window(), collector.inst);
            }
        }
    }

    /// Collector `c` takes an instruction that has left its issue latch. It awaits the sources `awaited`
    /// (by place, one bit each) instead of reading them.
    #[inline]
    pub fn place<const ROUTED: bool, P: IssuePolicy, O: Observer>(
        &mut self,
        (c, partition): (u32, usize),
        place: Collector,
        awaited: u64,
        wires: &mut Wires<'_>,
        hooks: &mut Hooks<'_, P, O>,
    ) {
        let Wires { slab, kernels, .. } = wires;
        let route = if ROUTED { slab.route(place.inst) } else { Route::default() };
        let flight = slab.get_mut(place.inst);
        flight.stage = Stage::Collecting;
        flight.station = c as u8;
        let kernel = &kernels[flight.kernel.index()];
        let operands = &kernel.names(flight.pc).operands;
        let srcs = operands.vector_srcs(&kernel.code);
        self.collect((c, partition), place, flight.warp, srcs, [awaited, route.skipped]);
        if route.copied != 0 {
            self.copy((c, partition), flight.warp, route, operands.dsts(&kernel.code));
        }
        hooks.collecting(wires.window(), place.inst, awaited);
        if self.collectors[c as usize % 64].outstanding == 0 {
            hooks.collected(wires.window(), place.inst);
        }
    }

    /// The instruction in collector `c` waits for registers to be copied to their banks, each of which
    /// takes a cycle of its bank.
    #[cold]
    #[inline(never)]
    fn copy(&mut self, (c, partition): (u32, usize), warp: WarpSlot, route: Route, dsts: &[RegId]) {
        for i in set_bits(route.copied).filter(|&i| i < dsts.len()) {
            self.banks.queue(c, partition, warp, dsts[i]);
            self.collectors[c as usize % 64].outstanding += 1;
        }
        self.ready &= !(1 << c);
    }

    /// Collector `c` takes an instruction of `warp`; its sources but those that are awaited or skipped
    /// queue at their banks.
    #[inline]
    fn collect(
        &mut self,
        (c, partition): (u32, usize),
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
            self.banks.queue(c, partition, warp, reg);
            place.outstanding += 1;
        }
        place.awaited = awaited.count_ones() as u8;
        self.ready |= u64::from(place.outstanding == 0 && awaited == 0) << c;
        self.collectors[c as usize % 64] = place;
    }
}

kit::persist! {
    struct Pool {
        free, ready, blocked, last, banks, awake;
        skip collectors, of_partition, partitions, rounds, in_ports, out_ports
    }
}
