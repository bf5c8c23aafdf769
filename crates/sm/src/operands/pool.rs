//! The common part of collectors and reservation stations: places that hold an instruction until it has
//! its operands, over the register banks.

use super::banks::{CountedReads, Reads};
use super::{Hooks, Mask, PARTITIONS, RegisterBanks, Wires, low};
use crate::execute::latches::{LatchId, Latches};
use crate::inflight::InstId;
use crate::issue::policy::IssuePolicy;
use crate::observe::counters::SmCounters;
use crate::observe::observer::Observer;
use crate::slab::{Slab, Window};
use crate::spec::{CoreSpec, Pipe};
use kit::bits::set_bits;

/// An instruction that has left its issue latch, with its place in the order of issue, and the latch that it goes to.
pub(super) type Issued = (InstId, u64, LatchId);

#[derive(Clone, Copy, Debug)]
pub(super) struct Collector {
    /// Its place in the order of issue.
    pub order: u64,
    pub inst: InstId,
    /// Awaited sources that have not come.
    pub awaited: u8,
    /// Latch that the instruction goes to.
    pub latch: LatchId,
    /// The partition of both.
    pub partition: u8,
}

/// Properties of an operand stage over a `pool` that follow from its pool.
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
        fn latches_freed(&mut self, latches: u64) {
            self.pool.latches_freed(latches);
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
    /// Latches of the partitions in which any is free, one bit each.
    pub open: Mask,
    /// The latches of partition 0.
    every_partition: Mask,
    /// Occupied, and every operand is there.
    pub ready: Mask,
    /// Those whose instruction goes to a latch that is full.
    pub blocked: Mask,
    /// Those whose instruction goes to each latch.
    aiming: [Mask; 64],
    /// Those whose instruction awaits sources that have not come.
    pub awaiting: Mask,
    /// Those with reads to be served.
    pub reading: Mask,
    /// These in the order in which they came, in which a bank serves them.
    order: [u8; 64],
    /// How often each of them has yet to read each bank: the two lowest bits of these numbers, and the others of those
    /// in `has_more`.
    few: [[Mask; 2]; 64],
    more: [[Mask; CountedReads::BITS - 2]; 64],
    has_more: Mask,
    /// Banks of which two reads may wait; none if there are no such banks.
    contended: Mask,
    /// The partition of each collector, as a bit.
    partition_bit: [u8; 64],
    pub of_partition: [Mask; PARTITIONS],
    /// The last collector of each partition that sent its instruction on.
    pub last: [u32; PARTITIONS],
    pub banks: RegisterBanks,
    pub partitions: usize,
    /// All of them, one bit each.
    every: u8,
    pub rounds: u32,
    pub in_ports: u32,
    /// Output ports of each partition.
    pub out_ports: u32,
    /// Partitions in which something has moved, or their latches have changed, since a cycle in which
    /// nothing could; one bit each.
    pub awake: u8,
}

impl Pool {
    /// Free collectors: each partition has `of_partition`, the first of which holds `each`.
    pub fn new(spec: &CoreSpec, each: usize, of_partition: impl Fn(usize) -> Mask) -> Self {
        let (operands, partitions) = (&spec.sm.operands, spec.partitions);
        let of_partition = |p: usize| if p < partitions { of_partition(p) } else { 0 };
        let bit = |c: usize| (0..partitions).filter(|&p| of_partition(p) >> c & 1 != 0).fold(0, |bit, p| bit | 1 << p);
        Self {
            collectors: [Collector { order: 0, inst: InstId(0), awaited: 0, latch: 0, partition: 0 }; 64],
            free: (0..partitions).fold(0, |all, p| all | of_partition(p)),
            open: Mask::MAX,
            every_partition: (0..Pipe::COUNT).fold(0, |mask, p| mask | 1 << (p * partitions)),
            ready: 0,
            blocked: 0,
            aiming: [0; 64],
            awaiting: 0,
            reading: 0,
            order: [0; 64],
            few: [[0; 2]; 64],
            more: [[0; CountedReads::BITS - 2]; 64],
            has_more: 0,
            contended: 0,
            partition_bit: std::array::from_fn(bit),
            of_partition: std::array::from_fn(of_partition),
            last: std::array::from_fn(|p| (p * each) as u32),
            banks: RegisterBanks::new(spec),
            partitions,
            every: low(partitions) as u8,
            rounds: operands.reads_per_bank,
            in_ports: operands.in_ports,
            out_ports: (operands.out_ports / partitions as u32).max(1),
            awake: 0,
        }
    }

    /// Instructions have left dispatch `latches`, one bit each: that moves only the collectors that have their
    /// operands, and send there.
    #[inline]
    pub fn latches_freed(&mut self, latches: u64) {
        for latch in set_bits(latches) {
            let aiming = self.aiming[latch % 64];
            self.blocked &= !aiming;
            if aiming & self.ready != 0 {
                self.awake = self.every;
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
        let Collector { order, inst, partition, .. } = self.collectors[c as usize % 64];
        let me = slab.get(inst);
        let is_older = |other: &Collector| {
            let is_before = other.order < order;
            let other = slab.get(other.inst);
            is_before && other.warp == me.warp && other.mem.is_some()
        };
        let mine = self.of_partition[usize::from(partition) % PARTITIONS];
        me.mem.is_some() && set_bits(mine & !self.free).any(|o| is_older(&self.collectors[o % 64]))
    }

    /// The instruction in collector `c` has its operands and leaves to its latch.
    #[inline(always)]
    pub fn send(&mut self, c: u32, oc_ex: &mut Latches) {
        let Collector { order, inst, latch, .. } = self.collectors[c as usize % 64];
        let bit = 1 << (c % 64);
        let aiming = &mut self.aiming[usize::from(latch) % 64];
        *aiming &= !bit;
        self.ready &= !bit;
        oc_ex.push(latch, inst, order);
        if !oc_ex.has_room(latch) {
            self.blocked |= *aiming;
        }
    }

    /// Collector `c` of `partition` is free.
    #[inline]
    pub fn release(&mut self, c: u32, partition: usize) {
        self.free |= 1 << (c % 64);
        self.open |= self.every_partition << partition;
    }

    /// Each of `banks` at which reads wait serves the oldest. Returns the partitions of the collectors that have read all
    /// of theirs, one bit each.
    #[inline(always)]
    pub fn serve_reads<P: IssuePolicy, O: Observer>(
        &mut self,
        banks: Mask,
        wires: &Wires<'_>,
        hooks: &mut Hooks<'_, P, O>,
    ) -> u8 {
        let waiting = self.banks.waiting;
        let done = if self.contended | waiting & !banks != 0 {
            self.serve_oldest(banks, hooks.counters)
        } else {
            hooks.counters.register_reads += u64::from(waiting.count_ones());
            self.banks.waiting = 0;
            std::mem::take(&mut self.reading)
        };
        self.ready |= done & !self.awaiting;
        let mut partitions = 0;
        for c in set_bits(done) {
            partitions |= self.partition_bit[c % 64];
            hooks.collected(wires.window(), self.collectors[c % 64].inst);
        }
        partitions
    }

    /// The same where reads wait at a bank that serves another one, or none. Returns the collectors that have read all.
    #[inline(never)]
    fn serve_oldest(&mut self, banks: Mask, counters: &mut SmCounters) -> Mask {
        if self.has_more == 0 {
            self.serve_in_order::<false>(banks, counters)
        } else {
            self.serve_in_order::<true>(banks, counters)
        }
    }

    /// `MORE`: there may be collectors in `has_more`.
    #[inline(always)]
    fn serve_in_order<const MORE: bool>(&mut self, banks: Mask, counters: &mut SmCounters) -> Mask {
        let (mut served, mut waiting, mut contended) = (0, 0, 0);
        let (mut done, mut kept) = (0, 0);
        for i in 0..self.reading.count_ones() as usize {
            let c = self.order[i % 64];
            let place = usize::from(c) % 64;
            let [low, high] = self.few[place];
            let mine = (low | high | self.more_of::<MORE>(place)) & banks & !served;
            let carry = mine & !low;
            if MORE && self.has_more >> place & 1 != 0 {
                self.borrow_from_more(place, carry & !high);
            }
            let (low, high) = (low ^ mine, high ^ carry);
            self.few[place] = [low, high];
            let again = high | self.more_of::<MORE>(place);
            let left = low | again;
            served |= mine;
            contended |= waiting & left | again;
            waiting |= left;
            self.order[kept % 64] = c;
            kept += usize::from(left != 0);
            done |= u64::from(left == 0) << place;
        }
        self.banks.waiting = waiting;
        self.contended = contended;
        self.reading &= !done;
        self.has_more &= !done;
        counters.register_reads += u64::from(served.count_ones());
        counters.bank_conflicts += u64::from((served & waiting).count_ones());
        done
    }

    /// The banks that the instruction in collector `c` has yet to read four times or more.
    #[inline(always)]
    fn more_of<const MORE: bool>(&self, c: usize) -> Mask {
        if !MORE || self.has_more >> c & 1 == 0 {
            return 0;
        }
        self.more[c].iter().fold(0, |all, bits| all | bits)
    }

    /// The rest of a subtraction beyond the two lowest bits of collector `c`.
    #[cold]
    fn borrow_from_more(&mut self, c: usize, mut banks: Mask) {
        for bits in &mut self.more[c] {
            (*bits, banks) = (*bits ^ banks, !*bits & banks);
        }
    }

    /// Collector `c` takes an instruction that has left its issue latch, on its way to `latch`; its place in the order
    /// of issue goes with it. It awaits the sources `awaited` (by place, one bit each) instead of reading them.
    #[inline(always)]
    pub fn place<const ROUTED: bool, P: IssuePolicy, O: Observer>(
        &mut self,
        at: (u32, usize),
        issued @ (inst, ..): Issued,
        awaited: u64,
        wires: &mut Wires<'_>,
        hooks: &mut Hooks<'_, P, O>,
    ) {
        let flight = wires.window().flight(inst);
        let (warp, banks) = (flight.warp, flight.names().banks);
        if ROUTED || awaited != 0 || banks.has_many {
            let ((c, partition), (_, order, latch)) = (at, issued);
            let (wires, hooks) = (&mut wires.reborrow(), &mut hooks.reborrow());
            self.place_counted(c, partition, inst, order, latch, awaited, wires, hooks);
        } else {
            let reads = self.banks.reads(warp, banks);
            hooks.collecting(wires.window(), inst, 0);
            self.enter(at, issued, 0, reads, wires, hooks);
        }
    }

    /// The same for an instruction whose reads are counted one by one. Its arguments stay in registers of the host.
    #[cold]
    #[inline(never)]
    #[allow(clippy::too_many_arguments)]
    fn place_counted<P: IssuePolicy, O: Observer>(
        &mut self,
        c: u32,
        partition: usize,
        inst: InstId,
        order: u64,
        latch: LatchId,
        awaited: u64,
        wires: &mut Wires<'_>,
        hooks: &mut Hooks<'_, P, O>,
    ) {
        if awaited != 0 {
            self.awaiting |= 1 << (c % 64);
        }
        let reads = self.reads_one_by_one(c, inst, awaited, wires.window());
        hooks.collecting(wires.window(), inst, awaited);
        let (at, issued) = ((c, partition), (inst, order, latch));
        self.enter(at, issued, awaited.count_ones() as u8, reads, wires, hooks);
    }

    /// Collector `c` of `partition` holds an instruction from now on, and asks the banks for what it reads.
    #[inline(always)]
    fn enter<P: IssuePolicy, O: Observer>(
        &mut self,
        (c, partition): (u32, usize),
        (inst, order, latch): Issued,
        awaited: u8,
        Reads { few, banks, again }: Reads,
        wires: &Wires<'_>,
        hooks: &mut Hooks<'_, P, O>,
    ) {
        let bit = 1 << (c % 64);
        self.free &= !bit;
        if self.free & self.of_partition[partition % PARTITIONS] == 0 {
            self.open &= !(self.every_partition << partition);
        }
        self.collectors[c as usize % 64] = Collector { order, inst, awaited, latch, partition: partition as u8 };
        self.aiming[usize::from(latch) % 64] |= bit;
        if !wires.oc_ex.has_room(latch) {
            self.blocked |= bit;
        }
        self.few[c as usize % 64] = few;
        if banks == 0 {
            self.ready |= bit & !self.awaiting;
            hooks.collected(wires.window(), inst);
            return;
        }
        self.order[self.reading.count_ones() as usize % 64] = c as u8;
        self.reading |= bit;
        self.contended |= self.banks.waiting & banks | again;
        self.banks.waiting |= banks;
    }

    /// Reads of an instruction of `partition`: its sources except those that are awaited or that its route skips, and
    /// the registers that are copied to their banks, each of which takes a cycle of its bank.
    #[cold]
    #[inline(never)]
    fn reads_one_by_one(&mut self, c: u32, id: InstId, awaited: u64, window: Window<'_>) -> Reads {
        let (warp, route) = (window.inst(id).warp, window.slab.route(id));
        let mut reads = CountedReads::default();
        // No more sources have a bit.
        let sources = window.vector_srcs(id).iter().take(64).enumerate();
        let read = sources.filter(|(i, _)| (awaited | route.skipped) >> i & 1 == 0).map(|(_, reg)| reg);
        let copied = window.dsts(id).iter().take(64).enumerate().filter(|(i, _)| route.copied >> i & 1 != 0);
        read.chain(copied.map(|(_, reg)| reg)).for_each(|&reg| reads.add(self.banks.bank(warp, reg)));
        if let Some(more) = reads.more {
            self.has_more |= 1 << (c % 64);
            self.more[c as usize % 64] = more;
        }
        reads.into()
    }
}

kit::persist! {
    struct Pool {
        free, open, ready, blocked, last, banks, awake;
        skip aiming, every_partition, collectors, awaiting, reading, order, few, more, has_more, contended, partition_bit,
        of_partition, partitions, every, rounds, in_ports, out_ports
    }
}
