//! Operand collectors over the banked register file.
//!
//! Follows GPGPU-Sim's `opndcoll_rfu_t` with generic collectors: several rounds per cycle
//! ([`config::Operands::reads_per_bank`]), each of which first sends collected instructions on to
//! the latches of their units, then lets every bank serve the oldest of its waiting reads, then
//! moves instructions from the issue latches into free collectors. A bank that is written in a
//! cycle serves no read in that cycle's first round.
//!
//! - D-OC1: input ports limit instructions per pipe and round, as in GPGPU-Sim 4; but a pipe whose
//!   oldest instruction finds its own sub-core's collectors taken does not hold up other sub-cores.
//! - D-OC2: two registers of one instruction that lie in one bank are written in one cycle.
//! - D-OC3: one round-robin pointer serves all output ports instead of one pointer each.

use crate::inflight::{InstId, Slab, Stage};
use crate::latches::{LatchId, Latches};
use crate::spec::CoreSpec;
use isa::{RegFile, RegId, WarpSlot};
use kit::bits::set_bits;
use std::collections::VecDeque;

/// One bit per collector, or per bank.
type Mask = u64;

#[derive(Clone, Copy, Debug)]
struct Collector {
    inst: InstId,
    /// Reads that have not been served.
    outstanding: u16,
    /// Latch that the instruction goes to.
    latch: LatchId,
}

/// The collectors, the banks' read queues and the banks' write ports.
#[derive(Debug)]
pub struct OperandCollector {
    collectors: Box<[Collector]>,
    free: Mask,
    /// Occupied, and every operand has been read.
    ready: Mask,
    /// Collectors of each partition.
    of_partition: Box<[Mask]>,
    /// The last collector that sent its instruction on.
    last: u32,
    /// Reads waiting at each bank, by collector.
    reads: Box<[VecDeque<u8>]>,
    /// Banks at which reads wait.
    waiting: Mask,
    /// Banks written this cycle.
    written: Mask,
    rounds: u32,
    in_ports: u32,
    out_ports: u32,
    banks_per_partition: u32,
    bank_uses_warp: bool,
}

/// What an operand read step did, for the counters.
#[derive(Clone, Copy, Debug, Default)]
pub struct Collected {
    /// Register reads served.
    pub reads: u32,
    /// Rounds in which a bank left reads waiting behind the one it served.
    pub conflicts: u32,
    /// Whether anything moved.
    pub moved: bool,
}

impl OperandCollector {
    /// Empty collectors.
    pub fn new(spec: &CoreSpec) -> Self {
        let operands = &spec.sm.operands;
        let (count, partitions) = (operands.collectors as usize, spec.partitions);
        let each = count / partitions;
        let low = |n: usize| if n == 64 { Mask::MAX } else { (1 << n) - 1 };
        Self {
            collectors: vec![Collector { inst: InstId(0), outstanding: 0, latch: 0 }; count].into(),
            free: low(each * partitions),
            ready: 0,
            of_partition: (0..partitions).map(|p| low(each) << (p * each)).collect(),
            last: 0,
            // A collector's operands may all lie in one bank; longer lists are rare and may allocate.
            reads: (0..operands.banks).map(|_| VecDeque::with_capacity(8 * count)).collect(),
            waiting: 0,
            written: 0,
            rounds: operands.reads_per_bank,
            in_ports: operands.in_ports,
            out_ports: operands.out_ports,
            banks_per_partition: operands.banks / partitions as u32,
            bank_uses_warp: operands.bank_uses_warp,
        }
    }

    /// The bank of a vector register.
    #[inline]
    fn bank(&self, warp: WarpSlot, partition: usize, reg: RegId) -> u32 {
        let number = u32::from(reg.0) + if self.bank_uses_warp { u32::from(warp.0) } else { 0 };
        number % self.banks_per_partition + partition as u32 * self.banks_per_partition
    }

    /// The banks of the vector registers among `dsts`.
    #[inline]
    fn banks_of(&self, warp: WarpSlot, partition: usize, regs: &RegFile, dsts: &[RegId]) -> Mask {
        let vector = dsts.iter().filter(|r| regs.is_vector(**r));
        vector.fold(0, |banks, r| banks | 1 << self.bank(warp, partition, *r))
    }

    /// Writes `dsts` in this cycle whatever else is written.
    #[inline]
    pub fn write(&mut self, warp: WarpSlot, partition: usize, regs: &RegFile, dsts: &[RegId]) {
        self.written |= self.banks_of(warp, partition, regs, dsts);
    }

    /// Writes `dsts` in this cycle unless one of their banks is being written already.
    #[inline]
    pub fn try_write(&mut self, warp: WarpSlot, partition: usize, regs: &RegFile, dsts: &[RegId]) -> bool {
        let banks = self.banks_of(warp, partition, regs, dsts);
        let free = banks & self.written == 0;
        if free {
            self.written |= banks;
        }
        free
    }

    /// Ends a cycle in which there is nothing to collect.
    #[inline]
    pub fn rest(&mut self) {
        self.written = 0;
    }

    /// Whether a cycle can move anything.
    #[inline]
    pub fn has_work(&self, id_oc: &Latches) -> bool {
        self.ready | self.waiting | id_oc.occupied() != 0
    }

    /// One cycle. Calls `read` for each instruction that leaves with its operands.
    pub fn step<'a>(
        &mut self,
        id_oc: &mut Latches,
        oc_ex: &mut Latches,
        slab: &mut Slab,
        sources: impl Fn(&Slab, InstId) -> (&'a RegFile, &'a [RegId]),
        mut read: impl FnMut(&mut Slab, InstId),
    ) -> Collected {
        let mut done = Collected::default();
        for _ in 0..self.rounds {
            done.moved |= self.dispatch(oc_ex, slab, &mut read);
            self.serve_reads(&mut done);
            done.moved |= self.allocate(id_oc, slab, &sources);
            self.written = 0;
        }
        done
    }

    /// Sends collected instructions on, in turn from behind the last one sent.
    #[inline]
    fn dispatch(&mut self, oc_ex: &mut Latches, slab: &mut Slab, read: &mut impl FnMut(&mut Slab, InstId)) -> bool {
        let mut moved = false;
        let turn = (self.last + 1) % 64;
        let mut candidates = self.ready.rotate_right(turn);
        let mut ports = self.out_ports;
        while candidates != 0 && ports > 0 {
            let c = (candidates.trailing_zeros() + turn) % 64;
            candidates &= candidates - 1;
            let Collector { inst, latch, .. } = self.collectors[c as usize];
            if oc_ex.has_room(latch) {
                oc_ex.push(latch, inst);
                self.ready &= !(1 << c);
                self.free |= 1 << c;
                self.last = c;
                ports -= 1;
                moved = true;
                slab.get_mut(inst).stage = Stage::Dispatched;
                read(slab, inst);
            }
        }
        moved
    }

    /// Each bank serves its oldest read.
    #[inline]
    fn serve_reads(&mut self, done: &mut Collected) {
        for bank in set_bits(self.waiting & !self.written) {
            let queue = &mut self.reads[bank];
            let c = queue.pop_front().expect("a waiting bank has reads");
            if queue.is_empty() {
                self.waiting &= !(1 << bank);
            } else {
                done.conflicts += 1;
            }
            done.reads += 1;
            done.moved = true;
            let collector = &mut self.collectors[c as usize];
            collector.outstanding -= 1;
            if collector.outstanding == 0 {
                self.ready |= 1 << c;
            }
        }
    }

    /// Moves instructions from the issue latches into free collectors.
    #[inline]
    fn allocate<'a>(
        &mut self,
        id_oc: &mut Latches,
        slab: &mut Slab,
        sources: &impl Fn(&Slab, InstId) -> (&'a RegFile, &'a [RegId]),
    ) -> bool {
        let mut moved = false;
        let partitions = self.of_partition.len();
        for latch in set_bits(id_oc.occupied()) {
            let partition = latch % partitions;
            for _ in 0..self.in_ports {
                let free = self.free & self.of_partition[partition];
                if free == 0 {
                    break;
                }
                let Some(inst) = id_oc.pop(latch as LatchId) else { break };
                self.collect(free.trailing_zeros(), latch, partition, inst, slab, sources);
                moved = true;
            }
        }
        moved
    }

    fn collect<'a>(
        &mut self,
        c: u32,
        latch: usize,
        partition: usize,
        inst: InstId,
        slab: &mut Slab,
        sources: &impl Fn(&Slab, InstId) -> (&'a RegFile, &'a [RegId]),
    ) {
        self.free &= !(1 << c);
        let (regs, srcs) = sources(slab, inst);
        let flight = slab.get_mut(inst);
        flight.stage = Stage::Collecting;
        flight.collector = c as u8;
        let mut outstanding = 0;
        for &reg in srcs.iter().filter(|r| regs.is_vector(**r)) {
            let bank = self.bank(flight.warp, partition, reg);
            self.reads[bank as usize].push_back(c as u8);
            self.waiting |= 1 << bank;
            outstanding += 1;
        }
        self.collectors[c as usize] = Collector { inst, outstanding, latch: latch as LatchId };
        if outstanding == 0 {
            self.ready |= 1 << c;
        }
    }

    /// Whether a collector of `partition` is taken by an instruction that has its operands: what it
    /// waits for is its unit.
    pub fn any_waits_for_unit(&self, partition: usize) -> bool {
        self.ready & self.of_partition[partition] != 0
    }
}
