//! The banks of the register file: reads that wait at each, and what is written in a cycle.

use super::{Mask, PARTITIONS};
use crate::spec::CoreSpec;
use crate::warps::PerWarp;
use isa::{RegId, WarpSlot};

/// The ring of the reads that wait at one bank.
#[derive(Clone, Copy, Debug, Default)]
struct ReadQueue {
    first: u16,
    len: u16,
}

/// Read queues and write ports of the register banks. Sets of banks, as `write` takes them, are
/// those of `Banks` of `kernel.rs`: of a warp whose register 0 is in bank 0 of a partition.
#[derive(Debug)]
pub struct RegisterBanks {
    /// Reads waiting at each bank, by collector: rings of `stride` places.
    reads: Box<[u8]>,
    stride: usize,
    queues: [ReadQueue; 64],
    /// Banks at which reads wait.
    pub(super) waiting: Mask,
    /// Banks written in this cycle.
    pub(super) written: Mask,
    pub(super) of_partition: [Mask; PARTITIONS],
    per_partition: u32,
    /// Bank of register 0 of each warp, within its partition.
    first: PerWarp<u8, u128>,
}

impl RegisterBanks {
    /// The banks of an SM of `spec`, with rings for `reads` reads each.
    pub(super) fn new(spec: &CoreSpec, reads: usize) -> Self {
        let banks = spec.banks_per_partition() as usize;
        let stride = reads.next_power_of_two();
        let of_partition = |p: usize| if p < spec.partitions { super::low(banks) << (p * banks) } else { 0 };
        Self {
            reads: vec![0; stride * 64].into(),
            stride,
            queues: [ReadQueue::default(); 64],
            waiting: 0,
            written: 0,
            of_partition: std::array::from_fn(of_partition),
            per_partition: banks as u32,
            first: PerWarp::from_fn(|w| if spec.sm.operands.bank_uses_warp { (w % banks) as u8 } else { 0 }),
        }
    }

    /// No banks: every write finds them free.
    pub(super) fn none(spec: &CoreSpec) -> Self {
        Self { of_partition: [0; PARTITIONS], ..Self::new(spec, 1) }
    }

    /// The bank of a vector register.
    #[inline]
    fn bank(&self, warp: WarpSlot, partition: usize, reg: RegId) -> u32 {
        let number = u32::from(reg.0) + u32::from(self.first[warp.index()]);
        let banks = self.per_partition;
        let place = if banks.is_power_of_two() { number & (banks - 1) } else { number % banks };
        place + partition as u32 * banks
    }

    /// The banks that are `set` to `warp`.
    #[inline]
    pub(super) fn of_warp(&self, warp: WarpSlot, partition: usize, set: u64) -> Mask {
        let first = u32::from(self.first[warp.index()]);
        let turned = set << first | set >> 1 >> (self.per_partition - 1 - first);
        (turned & self.of_partition[0]) << (partition as u32 * self.per_partition % 64)
    }

    /// Whether any read waits, which a write in this cycle would delay.
    #[inline]
    pub(crate) fn any_read_waits(&self) -> bool {
        self.waiting != 0
    }

    /// Whether reads wait at banks of `partition`.
    #[inline]
    pub(super) fn any_read_waits_in(&self, partition: usize) -> bool {
        self.waiting & self.of_partition[partition % PARTITIONS] != 0
    }

    /// Writes results of `warp` to `banks` in this cycle, even if other results are written there.
    #[inline]
    pub(crate) fn write(&mut self, partition: usize, warp: WarpSlot, banks: u64) {
        self.written |= self.of_warp(warp, partition, banks);
    }

    /// Writes results of `warp` to `banks` in this cycle unless one of them is being written already.
    #[inline]
    pub(crate) fn try_write(&mut self, partition: usize, warp: WarpSlot, banks: u64) -> bool {
        let banks = self.of_warp(warp, partition, banks);
        let free = banks & self.written == 0;
        if free {
            self.written |= banks;
        }
        free
    }

    /// Ends a cycle in which nothing was read.
    #[inline]
    pub(crate) fn end_cycle(&mut self) {
        self.written = 0;
    }

    /// A read for collector `c` waits at its bank.
    #[inline]
    pub(super) fn queue(&mut self, c: u32, partition: usize, warp: WarpSlot, reg: RegId) {
        let bank = self.bank(warp, partition, reg) as usize % 64;
        let queue = &mut self.queues[bank];
        let end = usize::from(queue.first + queue.len) & (self.stride - 1);
        queue.len += 1;
        self.reads[bank * self.stride + end] = c as u8;
        self.waiting |= 1 << bank;
    }

    /// Takes the oldest read at `bank`, at which one waits: the collector it is for, and whether more wait.
    #[inline]
    pub(super) fn serve(&mut self, bank: usize) -> (u8, bool) {
        let queue = &mut self.queues[bank % 64];
        let first = usize::from(queue.first);
        let collector = self.reads[bank * self.stride + first];
        queue.first = ((first + 1) & (self.stride - 1)) as u16;
        queue.len -= 1;
        let more = queue.len > 0;
        self.waiting &= !(u64::from(!more) << bank);
        (collector, more)
    }
}

kit::persist! {
    struct RegisterBanks { waiting, written; skip reads, stride, queues, of_partition, per_partition, first }
}
