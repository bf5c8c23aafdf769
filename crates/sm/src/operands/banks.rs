//! The banks of the register file: reads that wait at each, and what is written in a cycle.

use super::{Mask, PARTITIONS};
use crate::resolved::Banks;
use crate::spec::CoreSpec;
use crate::warps::PerWarp;
use isa::{RegId, WarpSlot};

/// Reads of an instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reads {
    /// How often it reads each bank, the two lowest bits of these numbers.
    pub few: [Mask; 2],
    /// The banks that it reads.
    pub banks: Mask,
    /// Those that it reads more than once.
    pub again: Mask,
}

impl From<CountedReads> for Reads {
    fn from(CountedReads { few, more }: CountedReads) -> Self {
        let above = more.iter().flatten().fold(few[1], |all, bits| all | bits);
        Self { few, banks: few[0] | above, again: above }
    }
}

/// How often an instruction has yet to read each bank, bit by bit, lowest first.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CountedReads {
    /// All there is, unless some number was more than three.
    pub few: [Mask; 2],
    pub more: Option<[Mask; Self::BITS - 2]>,
}

impl CountedReads {
    /// More than 127 reads of a bank by one instruction are not modelled.
    pub const BITS: usize = 7;

    /// One more read of `bank`, a bit.
    pub fn add(&mut self, bank: Mask) {
        let [low, high] = &mut self.few;
        let mut carry = *low & *high & bank;
        if carry != 0 && self.more.get_or_insert_default().iter().all(|bits| bits & bank != 0) {
            return;
        }
        (*low, *high) = (*low ^ bank, *high ^ *low & bank);
        for bits in self.more.iter_mut().flatten() {
            (*bits, carry) = (*bits ^ carry, *bits & carry);
        }
    }
}

/// The register banks: at which reads wait, and which are written. Sets of banks, as `write` takes them, are
/// those of `Banks` of `kernel.rs`: of a warp whose register 0 is in bank 0 of a partition.
#[derive(Debug)]
pub struct RegisterBanks {
    /// Banks at which reads wait.
    pub(super) waiting: Mask,
    /// Banks written in this cycle.
    pub(super) written: Mask,
    pub(super) of_partition: [Mask; PARTITIONS],
    per_partition: u32,
    places: PerWarp<Place, u128>,
}

/// Where the registers of a warp are.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// The bank of register 0, within the partition.
    first: u8,
    /// How many banks of the partition come after that.
    after: u8,
    /// The first bank of the partition.
    start: u8,
}

impl RegisterBanks {
    /// The banks of an SM of `spec`.
    pub(super) fn new(spec: &CoreSpec) -> Self {
        let banks = spec.banks_per_partition() as usize;
        let of_partition = |p: usize| if p < spec.partitions { super::low(banks) << (p * banks) } else { 0 };
        Self {
            waiting: 0,
            written: 0,
            of_partition: std::array::from_fn(of_partition),
            per_partition: banks as u32,
            places: PerWarp::from_fn(|w| {
                let first = if spec.sm.operands.bank_uses_warp { w % banks } else { 0 };
                let start = spec.partition(w % spec.schedulers()) * banks;
                Place { first: first as u8, after: (banks - 1 - first) as u8, start: start as u8 }
            }),
        }
    }

    /// No banks: every write finds them free.
    pub(super) fn none(spec: &CoreSpec) -> Self {
        Self { of_partition: [0; PARTITIONS], ..Self::new(spec) }
    }

    /// The bank of a vector register.
    #[inline]
    pub(super) fn bank(&self, warp: WarpSlot, reg: RegId) -> Mask {
        let Place { first, start, .. } = self.places[warp.index()];
        let (number, banks) = (u32::from(reg.0) + u32::from(first), self.per_partition);
        let place = if banks.is_power_of_two() { number & (banks - 1) } else { number % banks };
        1 << ((place + u32::from(start)) % 64)
    }

    /// Reads of an instruction of `warp`, none of it more than three times.
    #[inline]
    pub(super) fn reads(&self, warp: WarpSlot, banks: Banks) -> Reads {
        let [low, high] = banks.reads;
        let low = self.of_warp(warp, low);
        if high == 0 {
            return Reads { few: [low, 0], banks: low, again: 0 };
        }
        let high = self.of_warp(warp, high);
        Reads { few: [low, high], banks: low | high, again: high }
    }

    /// The banks that are `set` to `warp`.
    #[inline]
    pub(super) fn of_warp(&self, warp: WarpSlot, set: u64) -> Mask {
        let Place { first, after, start } = self.places[warp.index()];
        let turned = set << (first % 64) | set >> 1 >> (after % 64);
        (turned & self.of_partition[0]) << (start % 64)
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
    pub(crate) fn write(&mut self, warp: WarpSlot, banks: u64) {
        self.written |= self.of_warp(warp, banks);
    }

    /// Writes results of `warp` to `banks` in this cycle unless one of them is being written already.
    #[inline]
    pub(crate) fn try_write(&mut self, warp: WarpSlot, banks: u64) -> bool {
        let banks = self.of_warp(warp, banks);
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
}

kit::persist! {
    struct RegisterBanks { waiting, written; skip of_partition, per_partition, places }
}
