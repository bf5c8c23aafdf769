//! The parts of a row of the instruction table.

pub use super::field::{Field, Show, bits, split};
pub use super::modifier::{Mod, RESERVED, flag, modifier};
use super::op::SassOp;

/// Sign modifiers of a source operand, and notation of its immediates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// No modifiers; immediates as unsigned hexadecimal numbers.
    Bits,
    /// A byte of the source if the operation has 8-bit sources; immediates as unsigned hexadecimal numbers.
    Bytes,
    /// No modifiers; immediates as signed hexadecimal numbers.
    Signed,
    /// The negate bit gives the two's complement.
    Int,
    /// The negate bit gives the two's complement or, if bit 74 (`.X`) is set, the one's complement.
    IntX,
    /// As `IntX`, with immediates as unsigned numbers.
    BitsX,
    /// The negate bit gives the one's complement.
    Invert,
    /// Negate and absolute bits; immediates are single-precision numbers.
    F32,
    /// Negate and absolute bits; immediates are the upper half of a double-precision number.
    F64,
    /// Negate and absolute bits; immediates are a half-precision number.
    F16,
    /// Negate and absolute bits, a choice of halves; immediates are two half-precision numbers.
    Half,
    /// As `Half`, on pairs of bfloat16.
    BHalf,
    /// Pairs of halves without a choice.
    HalfMma,
    /// As `HalfMma`, on pairs of bfloat16.
    BHalfMma,
}

/// Encoding of a row's operand. Numbers are bits of the word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum What {
    /// General register at a bit, without modifiers.
    Reg(u8),
    /// General register with its reuse bit.
    Reused(u8, u8),
    /// General register with a suffix named by a field, and its reuse bit.
    Shaped(u8, Style, Field, &'static [&'static str], u8),
    /// Second source with a suffix.
    ShapedB(Style, &'static str),
    /// Uniform register at a bit.
    UReg(u8),
    /// Uniform register at a bit, with the bit that inverts it.
    URegInvert(u8, u8),
    /// First source: register at bit 24 (uniform in uniform instructions).
    A(Style),
    /// Second source: at bit 32, or the register at 64 in the forms whose third source is at 32.
    B(Style),
    /// As `B`, with bit 86 as a third bit of the choice of halves: swapped, with the new lower one negated.
    SwappedB(Style),
    /// Third source: the register at 64, or the source at 32 in forms 2, 3 and 7.
    C(Style),
    /// As `C`, in operations that bypass the operand cache.
    Late(Style),
    /// The source at bit 32, in every form.
    Word(Style),
    /// The source at bit 32 with the reuse bit of the third source.
    WordC(Style),
    /// The source at 64 with its modifiers, in every form.
    Slot64(Style),
    /// Predicate at a bit, with the bit that negates it (0: none).
    Pred(u8, u8),
    /// Uniform predicate at a bit, with the bit that negates it (0: none).
    UPred(u8, u8),
    /// Predicate that is uniform if the third bit is set.
    EitherPred(u8, u8, u8),
    /// Predicate whose number is stored as its complement, with the bit that negates it.
    PredInverse(u8, u8),
    /// Uniform predicate whose number is stored as its complement, with the bit that negates it.
    UPredInverse(u8, u8),
    /// Four uniform registers with matrix descriptors, the first at a bit; their changes of the factors.
    Descriptors(u8),
    /// Unsigned number in hexadecimal.
    Imm(Field),
    /// Signed number in hexadecimal.
    SImm(Field),
    /// Absolute address: number in the field, scaled, relative to the next instruction.
    Target(Field),
    /// Absolute address: number in the field, scaled.
    TargetAbsolute(Field),
    /// Register that is added to a target: `R2 0x40`.
    Indirect(u8, Field),
    /// As `Indirect`, with an absolute target.
    IndirectAbsolute(u8, Field),
    /// As `Indirect`, with a uniform register.
    IndirectUniform(u8, Field),
    /// As `IndirectUniform`, with an absolute target.
    IndirectUniformAbsolute(u8, Field),
    /// Constant bank with a register index (LDC): base register at 24, offset at 38, bank at 54.
    ConstLoad,
    /// Constant bank without an index (ULDC).
    ConstUniform,
    /// As `ConstUniform`, with a uniform register at 24 as index.
    ConstUniformIndexed,
    Address(Address),
    /// Special register number at bit 72.
    Special,
    /// Convergence barrier register `B0`..`B15` at a bit.
    Barrier(u8),
    /// Scoreboard `SB0`.. at a bit.
    Scoreboard(u8),
    /// Set of scoreboards by bit mask, `{4,2}`.
    ScoreboardSet(Field),
    /// All predicate registers, printed `PR`.
    AllPreds,
    /// Text that no bits encode.
    Text(&'static str),
    /// Text by the value of a field.
    Named(Field, &'static [&'static str]),
    /// Uniform register in brackets.
    UAddress(u8),
    /// The same with an offset.
    UAddressOffset(u8, Field),
    /// Register in brackets: the first of the coordinates of a surface access.
    Coordinates(u8),
}

/// Encoding of a memory address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Address {
    /// Bit of the base register.
    pub base: u8,
    pub offset: Field,
    /// Bit of the uniform register.
    pub uniform: u8,
    /// Condition for the uniform register.
    pub has_uniform: Show,
    /// Suffix of the base register.
    pub width: Width,
    /// Scale of an index into shared memory.
    pub scale: Option<Field>,
}

/// Notation of the width of a base register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// Without a suffix.
    Plain,
    /// `.64` or `.U32` by the bit, if there is a uniform register.
    Bit(u8),
    /// `.64`, or `.U32` by the bit if a uniform register is added.
    Descriptor(u8),
}

/// A slot: an operand of a row.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Slot {
    pub what: What,
    pub show: Show,
}

/// A slot that is always printed.
pub const fn slot(what: What) -> Slot {
    Slot { what, show: Show::Always }
}

/// A slot that is printed under a condition.
pub const fn shown(what: What, show: Show) -> Slot {
    Slot { what, show }
}

/// One instruction form: everything that decoding and printing need.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Row {
    pub op: SassOp,
    /// Bits 0 to 8.
    pub code: u16,
    /// Values of bits 9 to 11 that the row matches, as a bit set.
    pub forms: u8,
    /// First and last architecture.
    pub sm: (u8, u8),
    /// Fields that must have a fixed value.
    pub fixed: &'static [(Field, u64)],
    /// The guard predicate is uniform.
    pub uniform: bool,
    /// Modifiers in the order in which they are printed.
    pub mods: &'static [Mod],
    /// Operands in the order in which they are printed.
    pub slots: &'static [Slot],
    /// Meaning of the instruction, for documentation.
    pub doc: &'static str,
}

/// A row for all architectures.
pub const fn row(
    op: SassOp,
    code: u16,
    forms: &[u8],
    mods: &'static [Mod],
    slots: &'static [Slot],
    doc: &'static str,
) -> Row {
    let mut set = 0;
    let mut at = 0;
    while at < forms.len() {
        set |= 1 << forms[at];
        at += 1;
    }
    Row { op, code, forms: set, sm: (70, 90), fixed: &[], uniform: false, mods, slots, doc }
}

impl Row {
    /// The same row for some architectures.
    pub const fn sm(mut self, first: u8, last: u8) -> Row {
        self.sm = (first, last);
        self
    }

    /// The same row with fixed fields.
    pub const fn fixed(mut self, fixed: &'static [(Field, u64)]) -> Row {
        self.fixed = fixed;
        self
    }

    /// A row of the uniform datapath: the guard is a uniform predicate.
    pub const fn uniform(mut self) -> Row {
        self.uniform = true;
        self.sm = (75, 90);
        self
    }

    /// Whether the row matches a word of an architecture.
    pub fn matches(&self, word: u128, sm: u8) -> bool {
        (word & 0x1ff) as u16 == self.code
            && self.forms >> (word >> 9 & 7) & 1 == 1
            && (self.sm.0..=self.sm.1).contains(&sm)
            && self.fixed.iter().all(|&(field, value)| field.get(word) == value)
    }
}
