//! Static instructions resolved: their pipe, timing and registers, as stages ask for them.

use crate::spec::Pipe;
use isa::{Control, ControlBits, MemAccess, OpClass, Program, RegId, Traits, Work};

/// Properties of a static instruction that stages use often, resolved against a GPU's timing table once per program.
/// Its registers and their banks are in `Names`.
#[derive(Clone, Copy, Debug)]
pub struct Micro {
    /// Kind of work.
    pub class: OpClass,
    /// Operation of its lanes, for energy.
    pub work: Work,
    /// Where it executes.
    pub pipe: Pipe,
    /// Effect on control flow.
    pub control: Control,
    /// Memory access, if it is one.
    pub mem: Option<MemAccess>,
    /// From entry into the unit to the result, in cycles.
    pub latency_cycles: u16,
    /// From its entry into the unit to the next instruction's, in cycles.
    pub initiation_cycles: u16,
    /// How many registers it reads through operand collectors.
    pub vector_srcs: u8,
    /// How many registers it writes.
    pub dsts: u8,
    /// How many of these lie in the register file.
    pub vector_dsts: u8,
    /// From its issue to the earliest issue of its warp's next instruction, in cycles.
    pub issue_distance: u8,
    /// Cycles for which it keeps pipes active, as hardware counters count them.
    pub pipe_cycles: u8,
    /// Operations of half precision of a lane.
    pub half_operations: u8,
    /// Multiply-adds of a matrix instruction; 0 of other instructions.
    pub multiply_adds: u32,
    /// Some statistics count it that do not count most instructions.
    pub is_special: bool,
    /// Some of its registers have no place in a [`RegSet`].
    pub is_wide: bool,
    /// Cycles in which the factors of a matrix operation of a warp group come from shared memory; 0 of other instructions.
    pub wavefronts: u16,
}

impl Micro {
    /// Whether it is a matrix operation of a warp group: nothing waits for it but waits for its group.
    #[inline]
    pub fn is_asynchronous(&self) -> bool {
        self.wavefronts > 0
    }

    /// Whether it is a constant load of machine code that the memory stage serves: its result takes the latency of its
    /// class or its own.
    #[inline]
    pub fn is_constant_move(&self) -> bool {
        self.class == OpClass::Move && self.mem.is_some()
    }

    /// Whether it is a matrix operation, one of half precision or a constant load of machine code that hits always.
    pub(crate) fn counts_apart(&self) -> bool {
        let is_constant_move = self.work == Work::Memory && self.mem.is_none();
        self.class == OpClass::Tensor || self.multiply_adds > 0 || self.half_operations > 0 || is_constant_move
    }

    /// Contents of a place for an instruction before the first one comes.
    pub(crate) const NOTHING: Self = Self {
        class: OpClass::Nop,
        work: Work::ALL[0],
        pipe: Pipe(0),
        control: Control::None,
        mem: None,
        latency_cycles: 0,
        initiation_cycles: 0,
        vector_srcs: 0,
        dsts: 0,
        vector_dsts: 0,
        issue_distance: 1,
        pipe_cycles: 0,
        half_operations: 0,
        multiply_adds: 0,
        is_special: false,
        is_wide: false,
        wavefronts: 0,
    };
}

/// Registers of a static instruction, for stages that look at them.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub struct Names {
    /// Its registers.
    pub(crate) operands: Operands,
    /// The registers that it reads.
    pub reads: RegSet,
    /// Those that it writes.
    pub writes: RegSet,
    /// The banks of these.
    pub(crate) banks: Banks,
    /// Its control bits, for designs that issue by them.
    pub scheduling: Scheduling,
}

/// The compiler's scheduling of a static instruction, packed: its control bits, and the registers of its operand
/// positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheduling {
    /// As in its word, or [`Scheduling::NONE`].
    bits: u32,
    /// The general register in each position, the first of a wider operand; none is [`Scheduling::NO_SLOT`].
    slots: [u8; 3],
    /// The positions whose operands have more than one register, one bit each.
    wide: u8,
    /// It names a constant as an operand.
    pub(crate) names_constant: bool,
}

impl Default for Scheduling {
    fn default() -> Self {
        Self { bits: Self::NONE, slots: [Self::NO_SLOT; 3], wide: 0, names_constant: false }
    }
}

impl Scheduling {
    const NONE: u32 = u32::MAX;
    const NO_SLOT: u8 = u8::MAX;
    /// Where the wait mask is, the bound of a counter, and one more than that counter's number.
    const WAITS_AT: u32 = 11;
    const BOUND_AT: u32 = ControlBits::BITS;
    const COUNTER_AT: u32 = Self::BOUND_AT + 6;
    /// Of an instruction without bits in a program that has them: it waits for all dependence counters.
    pub(crate) const WAITS_FOR_ALL: Self = Self {
        bits: 0x3f << Self::WAITS_AT | 7 << 8 | 7 << 5 | 1 << 4 | 1,
        slots: [Self::NO_SLOT; 3],
        wide: 0,
        names_constant: false,
    };

    /// The scheduling of `inst`, which reads `srcs`.
    pub(crate) fn of(inst: &Traits, srcs: &[RegId]) -> Self {
        let Some(bits) = inst.control_bits else { return Self::default() };
        let bound = inst.counter_bound.map_or(0, |bound| {
            let (counter, at_most) = (u32::from(bound.counter.min(5)) + 1, u32::from(bound.at_most.min(63)));
            counter << Self::COUNTER_AT | at_most << Self::BOUND_AT | u32::from(bound.drained & 63) << Self::WAITS_AT
        });
        // The next register belongs to the operand if the instruction reads it and no other operand begins there.
        let is_wide = |slot: u8| {
            let next = u16::from(slot) + 1;
            srcs.contains(&RegId(next)) && !inst.slots.iter().flatten().any(|&first| u16::from(first) == next)
        };
        let wide = (0..3).filter(|&i| inst.slots[i].is_some_and(is_wide)).fold(0, |all, i| all | 1 << i);
        let slots = inst.slots.map(|slot| slot.unwrap_or(Self::NO_SLOT));
        Self { bits: bits.bits() | bound, slots, wide, names_constant: inst.constant.is_some() }
    }

    /// Whether the program has control bits.
    #[inline]
    pub fn has_bits(self) -> bool {
        self.bits != Self::NONE
    }

    /// The dependence counters that it waits for, one bit each.
    #[inline]
    pub fn wait_mask(self) -> usize {
        (self.bits >> Self::WAITS_AT & 63) as usize
    }

    /// The dependence counter of which little may be left, and how much.
    #[inline]
    pub fn counter_bound(self) -> Option<(u32, u32)> {
        let counter = self.bits >> Self::COUNTER_AT & 7;
        (counter != 0).then(|| (counter - 1, self.bits >> Self::BOUND_AT & 63))
    }

    /// The counter that counts it until its results are written, and that until its sources are read; none is 7.
    #[inline]
    pub fn counters(self) -> [u32; 2] {
        [self.bits >> 5 & 7, self.bits >> 8 & 7]
    }

    /// Whether a counter counts it until its results are written.
    #[inline]
    pub fn counts_results(self) -> bool {
        self.counters()[0] != 7
    }

    /// Whether any of its operand positions has a general register.
    #[inline]
    pub(crate) fn has_slots(self) -> bool {
        self.slots != [Self::NO_SLOT; 3]
    }

    /// The general registers in operand position `position`, the first two of a wider one.
    #[inline]
    pub(crate) fn slot(self, position: usize) -> impl Iterator<Item = RegId> {
        let slot = u16::from(self.slots[position % 3]);
        let count = if slot == u16::from(Self::NO_SLOT) { 0 } else { 1 + u16::from(self.wide >> position & 1) };
        (slot..slot + count).map(RegId)
    }

    /// Whether the cache of operands keeps the operand in `position`.
    #[inline]
    pub(crate) fn keeps(self, position: usize) -> bool {
        self.bits >> (17 + position) & 1 != 0
    }
}

/// The banks, within a sub-core, of the vector registers of an instruction of a warp whose register 0
/// is in bank 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Banks {
    /// How often it reads each of them, three times at most: the lower bits of these numbers, and the higher ones.
    pub reads: [u64; 2],
    /// It reads some more than three times.
    pub has_many: bool,
    /// Those that it writes.
    pub writes: u64,
}

impl Banks {
    /// The banks of an instruction in a sub-core of `count` banks. It writes the first `dsts` of `operands` and reads
    /// the rest.
    pub fn new(program: &Program, operands: &[RegId], dsts: usize, count: u32) -> Self {
        let (writes, reads) = operands.split_at(dsts);
        let vector = |reg: &&RegId| program.regs.is_vector(**reg);
        let bank = |reg: &RegId| 1 << (u32::from(reg.0) % count);
        let mut banks =
            Self { writes: writes.iter().filter(vector).map(bank).fold(0, |set, bank| set | bank), ..Self::default() };
        reads.iter().filter(vector).for_each(|reg| banks.add_read(bank(reg)));
        banks
    }

    /// One more read of `bank`, a bit.
    pub fn add_read(&mut self, bank: u64) {
        let [low, high] = self.reads;
        if low & high & bank != 0 {
            self.has_many = true;
        } else {
            self.reads = [low ^ bank, high ^ low & bank];
        }
    }

    /// Those that it reads.
    #[inline]
    pub fn read(&self) -> u64 {
        self.reads[0] | self.reads[1]
    }
}

/// A set of registers below [`RegSet::BOUND`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegSet([u64; RegSet::BOUND / 64]);

impl RegSet {
    /// Registers from here on have no place in such a set.
    pub const BOUND: usize = 256;

    /// The registers of `regs` that have a place.
    pub fn of(regs: &[RegId]) -> Self {
        let mut set = Self::default();
        for reg in regs.iter().filter(|r| r.index() < Self::BOUND) {
            set.0[reg.index() / 64] |= 1 << (reg.index() % 64);
        }
        set
    }

    /// Whether the two have a register in common.
    #[inline]
    pub fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).fold(0, |common, (a, b)| common | a & b) != 0
    }

    /// Adds those in `other`.
    #[inline]
    pub fn insert(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(a, b)| *a |= b);
    }

    /// Adds `reg`, if it has a place.
    #[inline]
    pub fn put(&mut self, reg: RegId) {
        if let Some(word) = self.0.get_mut(reg.index() / 64) {
            *word |= 1 << (reg.index() % 64);
        }
    }

    /// Takes `reg` out.
    #[inline]
    pub fn take(&mut self, reg: RegId) {
        if let Some(word) = self.0.get_mut(reg.index() / 64) {
            *word &= !(1 << (reg.index() % 64));
        }
    }

    /// Takes out those in `other`.
    #[inline]
    pub fn remove(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(a, b)| *a &= !b);
    }

    /// Whether it is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.iter().fold(0, |all, a| all | a) == 0
    }
}

/// Most registers that an instruction carries with it.
const INLINE_REGISTERS: usize = 8;

/// An instruction's registers: those written, then those read from the banked register file, then
/// the others read. If they are many, they stand with all of the [`Code`](crate::Code).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Operands {
    inline: [RegId; INLINE_REGISTERS],
    start: u32,
    pub dsts: u8,
    /// End of those read from the register file.
    pub vector_end: u8,
    /// End of all.
    end: u8,
    /// They stand in the code.
    is_long: bool,
}

impl Operands {
    /// Splits the registers of an instruction and appends them to `pool`.
    pub fn new(program: &Program, dsts: &[RegId], srcs: &[RegId], pool: &mut Vec<RegId>) -> Self {
        let start = pool.len();
        pool.extend_from_slice(dsts);
        // A register that an instruction names twice is read once.
        let named_first = |(i, reg): (usize, &RegId)| (!srcs[..i].contains(reg)).then_some(*reg);
        pool.extend(srcs.iter().enumerate().filter_map(named_first).filter(|r| program.regs.is_vector(*r)));
        let vector_end = (pool.len() - start) as u8;
        pool.extend(srcs.iter().enumerate().filter_map(named_first).filter(|r| !program.regs.is_vector(*r)));
        let all = &pool[start..];
        let is_long = all.len() > INLINE_REGISTERS;
        let mut inline = [RegId(0); INLINE_REGISTERS];
        if !is_long {
            inline[..all.len()].copy_from_slice(all);
        }
        // An instruction with more than 255 registers could not be encoded; its tail goes unseen.
        let end = all.len().min(255) as u8;
        Self { inline, start: start as u32, dsts: dsts.len() as u8, vector_end, end, is_long }
    }

    #[inline]
    fn all<'a>(&'a self, registers: impl FnOnce() -> &'a [RegId]) -> &'a [RegId] {
        if self.is_long { self.in_code(registers()) } else { &self.inline }
    }

    #[cold]
    fn in_code<'a>(&self, registers: &'a [RegId]) -> &'a [RegId] {
        let start = self.start as usize;
        &registers[start..start + self.end as usize]
    }

    /// Registers written. `registers` are the code's, needed if they are many.
    #[inline]
    pub fn dsts<'a>(&'a self, registers: impl FnOnce() -> &'a [RegId]) -> &'a [RegId] {
        &self.all(registers)[..self.dsts as usize]
    }

    /// Registers read.
    #[inline]
    pub fn srcs<'a>(&'a self, registers: impl FnOnce() -> &'a [RegId]) -> &'a [RegId] {
        &self.all(registers)[self.dsts as usize..self.end as usize]
    }

    /// Registers read through operand collectors.
    #[inline]
    pub fn vector_srcs<'a>(&'a self, registers: impl FnOnce() -> &'a [RegId]) -> &'a [RegId] {
        &self.all(registers)[self.dsts as usize..self.vector_end as usize]
    }
}
