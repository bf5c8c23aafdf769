//! 128-bit instruction words to typed operands, modifiers and text.
//!
//! ```
//! let word = 0x000fe400078e0209_0000000302077224; // low half last
//! let inst = sass::decode::decode(word, 0, 75).unwrap();
//! assert_eq!(inst.to_string(), "IMAD R7, R2, R3, R9");
//! assert_eq!(inst.control_bits().stall_cycles, 2);
//! ```

mod field;
pub mod modifier;
pub mod names;
pub mod op;
pub mod operand;
mod print;
pub mod row;
mod special;
pub mod table;

use isa::{ControlBits, CounterBound};
use modifier::{Key, Value};
pub use op::SassOp;
pub use operand::SassOperand;
use operand::{Constant, Descriptors, Memory, Number, Register, Sign};
pub(crate) use print::common_use;
use row::{Address, Field, RESERVED, Row, Show, Style, What, Width, bits};
use std::sync::LazyLock;

/// Bytes of an instruction.
pub const INSTRUCTION_BYTES: u64 = 16;

/// The reason why a word is not an instruction.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the names say it")]
pub enum DecodeError {
    /// No row of the table matches the word.
    #[error("{} on sm_{sm}{} ({word:#034x})", unknown(*code, *sm), others(known))]
    UnknownOpcode {
        /// Bits 0 to 11.
        code: u16,
        word: u128,
        sm: u8,
        /// The operation that has the opcode on other architectures, and the first and last of these.
        known: Option<(SassOp, (u8, u8))>,
    },
    /// A modifier has a reserved value.
    #[error("{op}: field \"{field}\" has the {} ({word:#034x})", reserved(op.name(), field, *value))]
    Reserved {
        op: SassOp,
        /// Name of the modifier.
        field: &'static str,
        value: u64,
        word: u128,
    },
}

impl DecodeError {
    /// Whether it is an instruction of a known name that is not supported.
    pub fn is_unsupported(&self) -> bool {
        matches!(*self, Self::UnknownOpcode { code, sm, .. } if names::of(code, sm).is_some())
    }
}

/// Names the instruction, if it is one that is known but not executed.
fn unknown(code: u16, sm: u8) -> String {
    match names::of(code, sm) {
        Some((name, what)) => format!("{name} ({what}, opcode {code:#05x}) is not supported"),
        None => format!("opcode {code:#05x} is not known"),
    }
}

/// Names the value of a field, if it is known what it means.
fn reserved(op: &str, field: &str, value: u64) -> String {
    match names::reserved(op, field, value) {
        Some(what) => format!("value {value} ({what}), which is not supported"),
        None => format!("reserved value {value}"),
    }
}

/// Names the instruction that has the opcode on other architectures.
fn others(known: &Option<(SassOp, (u8, u8))>) -> String {
    known.map_or(String::new(), |(op, (first, last))| format!(", on sm_{first} to sm_{last} it is a form of {op}"))
}

/// The control bits of a word, with which the compiler schedules it.
pub fn control_bits(word: u128) -> ControlBits {
    ControlBits::of((word >> 105) as u32 & ((1 << ControlBits::BITS) - 1))
}

/// The predicate that enables an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Guard {
    /// Index of the predicate; 7 is always true.
    pub index: u8,
    /// It is a uniform predicate.
    pub uniform: bool,
    pub not: bool,
}

/// A decoded instruction: a word and its row.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct SassInst {
    pub row: &'static Row,
    /// The word, with bits that the architecture ignores set to 0.
    pub word: u128,
    /// Byte address in the function.
    pub address: u64,
    /// Architecture, such as 75 for sm_75.
    pub sm: u8,
}

/// Rows by bits 0 to 11 of their words.
static INDEX: LazyLock<Vec<Vec<&'static Row>>> = LazyLock::new(|| {
    let mut index = vec![Vec::new(); 1 << 12];
    for row in table::rows() {
        for form in (0..8).filter(|form| row.forms >> form & 1 == 1) {
            index[usize::from(row.code) | form << 9].push(row);
        }
    }
    index
});

/// Decodes the word at a byte address of its function.
pub fn decode(word: u128, address: u64, sm: u8) -> Result<SassInst, DecodeError> {
    // Volta has no uniform registers and ignores the bit that selects them.
    let word = if sm < 75 { word & !(1 << 91) } else { word };
    let code = bits(0, 12).get(word) as u16;
    let rows = &INDEX[usize::from(code)];
    let Some(row) = rows.iter().copied().find(|row| row.matches(word, sm)) else {
        let known = rows.iter().find(|row| !(row.sm.0..=row.sm.1).contains(&sm)).map(|row| (row.op, row.sm));
        return Err(DecodeError::UnknownOpcode { code, word, sm, known });
    };
    let inst = SassInst { row, word, address, sm };
    for modifier in row.mods {
        let value = modifier.field.get(word);
        let text = modifier.text.get(value as usize).copied().unwrap_or(RESERVED);
        if text == RESERVED && inst.shows(modifier.show, None) {
            return Err(DecodeError::Reserved { op: row.op, field: modifier.name, value, word });
        }
    }
    Ok(inst)
}

/// Decodes the code of a function; each word is decoded independently.
pub fn decode_function(code: &[u8], sm: u8) -> impl Iterator<Item = Result<SassInst, DecodeError>> + '_ {
    code.chunks_exact(INSTRUCTION_BYTES as usize).enumerate().map(move |(at, word)| {
        let word = u128::from_le_bytes(word.try_into().expect("the chunk has 16 bytes"));
        decode(word, at as u64 * INSTRUCTION_BYTES, sm)
    })
}

impl SassInst {
    /// The bits with which the compiler schedules it.
    pub fn control_bits(&self) -> ControlBits {
        control_bits(self.word)
    }

    /// Bits 9 to 11: positions of the sources.
    pub fn form(&self) -> u8 {
        bits(9, 3).get(self.word) as u8
    }

    /// The guard predicate.
    pub fn guard(&self) -> Guard {
        Guard {
            index: bits(12, 3).get(self.word) as u8,
            uniform: self.row.uniform,
            not: bits(15, 1).get(self.word) == 1,
        }
    }

    /// Value of a modifier, if the row has it. Where the text omits the modifier, the value may be a reserved one: then
    /// `None` too.
    pub fn modifier<T: Value>(&self, key: Key<T>) -> Option<T> {
        let found = self.row.mods.iter().find(|m| key.is_of(m))?;
        T::of(*found.values.get(found.field.get(self.word) as usize)?)
    }

    /// Whether a modifier of one bit is set; not if the row lacks it.
    pub fn has(&self, key: Key<bool>) -> bool {
        self.modifier(key) == Some(true)
    }

    /// Text of a modifier, for messages.
    pub fn text_of<T: Value>(&self, key: Key<T>) -> &'static str {
        let found = self.row.mods.iter().find(|m| key.is_of(m));
        found.and_then(|m| m.text.get(m.field.get(self.word) as usize)).copied().unwrap_or_default()
    }

    /// Whether one bit is set.
    pub fn bit(&self, bit: u8) -> bool {
        self.word >> bit & 1 == 1
    }

    /// Whether the operand cache keeps the source: its contents are lost on a switch to another warp, which a
    /// yield requests.
    fn reuses(&self, bit: u8) -> bool {
        self.bit(bit) && !self.control_bits().yields
    }

    /// The wait of a `DEPBAR.LE`.
    pub fn counter_bound(&self) -> Option<CounterBound> {
        let waits = self.row.op == SassOp::DepBar && self.has(modifier::key::AT_MOST);
        let [mut counter, mut at_most, mut drained] = [0; 3];
        for operand in self.operands().filter(|_| waits) {
            match operand {
                SassOperand::Scoreboard(number) => counter = number,
                SassOperand::Immediate { bits, .. } => at_most = bits as u8,
                SassOperand::ScoreboardSet(set) => drained = set,
                _ => {}
            }
        }
        waits.then_some(CounterBound { counter, at_most, drained })
    }

    /// The general registers in positions A, B and C, for which the reuse bits stand.
    pub fn slots(&self) -> [Option<u8>; 3] {
        let mut slots = [None; 3];
        for slot in self.row.slots {
            let position = match slot.what {
                What::Reused(_, reuse) | What::Shaped(.., reuse) => reuse - 122,
                What::A(_) => 0,
                What::B(_) | What::ShapedB(..) | What::SwappedB(_) | What::Word(_) => 1,
                What::WordC(_) if self.form() != 1 => 1,
                What::WordC(_) | What::C(_) | What::Slot64(_) => 2,
                _ => continue,
            };
            if let SassOperand::Register(Register { index, uniform: false, .. }) = self.operand(slot.what) {
                slots[usize::from(position) % 3] = (index != operand::RZ).then_some(index);
            }
        }
        slots
    }

    fn get(&self, lo: u8, len: u8) -> u64 {
        bits(lo, len).get(self.word)
    }

    /// All operands in the order of the row, including those that the text omits.
    pub fn operands(&self) -> impl Iterator<Item = SassOperand> + '_ {
        self.row.slots.iter().map(|slot| self.operand(slot.what))
    }

    /// The operands that the text shows.
    pub fn shown_operands(&self) -> impl Iterator<Item = SassOperand> + '_ {
        self.row.slots.iter().filter_map(|slot| {
            let operand = self.operand(slot.what);
            self.shows(slot.show, Some(operand)).then_some(operand)
        })
    }

    fn shows(&self, show: Show, operand: Option<SassOperand>) -> bool {
        match show {
            Show::Always => true,
            Show::Never => false,
            Show::UnlessTrue => !matches!(operand, Some(SassOperand::Predicate { index: operand::PT, not: false, .. })),
            Show::Unless(field, value) => field.get(self.word) != value,
            Show::When(field, value) => field.get(self.word) == value,
        }
    }

    /// The operand that a slot describes.
    pub fn operand(&self, what: What) -> SassOperand {
        match what {
            What::Reg(lo) => SassOperand::Register(self.general(lo)),
            What::Reused(lo, reuse) => {
                SassOperand::Register(Register { reuse: self.reuses(reuse), ..self.general(lo) })
            }
            What::Shaped(lo, style, field, names, reuse) => {
                let SassOperand::Register(register) = self.register(lo, reuse, style) else { unreachable!() };
                let suffix = names.get(field.get(self.word) as usize).copied().unwrap_or_default();
                SassOperand::Register(Register { suffix, ..register })
            }
            What::ShapedB(style, suffix) => match self.operand(What::B(style)) {
                SassOperand::Register(r) => SassOperand::Register(Register { suffix, ..r }),
                SassOperand::Constant(c) => SassOperand::Constant(Constant { suffix, ..c }),
                operand => operand,
            },
            What::PredInverse(lo, not) => {
                SassOperand::Predicate { index: 7 - self.get(lo, 3) as u8, uniform: false, not: self.bit(not) }
            }
            What::UPredInverse(lo, not) => {
                SassOperand::Predicate { index: 7 - self.get(lo, 3) as u8, uniform: true, not: self.bit(not) }
            }
            // With A in registers, bit 72 is a sign of the register.
            What::Descriptors(lo) => {
                let of_a = lo == 24;
                SassOperand::Descriptors(Descriptors {
                    register: self.get(lo, 6) as u8,
                    negated: [of_a && self.bit(72), self.bit(63)],
                    transposed: [of_a && self.bit(61), self.bit(62)],
                })
            }
            What::UReg(lo) => SassOperand::Register(self.uniform(lo)),
            What::URegInvert(lo, invert) => {
                let sign = Sign { invert: self.bit(invert), ..Sign::default() };
                SassOperand::Register(Register { sign, ..self.uniform(lo) })
            }
            What::A(style) => self.register(24, 122, style),
            What::SwappedB(style) => match (self.operand(What::B(style)), self.bit(86)) {
                (SassOperand::Register(r), true) => SassOperand::Register(Register { suffix: swapped(r.suffix), ..r }),
                (SassOperand::Constant(c), true) => SassOperand::Constant(Constant { suffix: swapped(c.suffix), ..c }),
                (operand, _) => operand,
            },
            What::B(style) if matches!(self.form(), 2 | 3 | 7) => self.register(64, 123, style),
            What::B(style) | What::Word(style) => self.word_source(style),
            What::Late(style) => match self.word_source(style) {
                SassOperand::Register(register) => SassOperand::Register(Register { reuse: false, ..register }),
                operand => operand,
            },
            What::WordC(style) if self.form() == 1 => self.register(32, 124, style),
            What::WordC(style) => self.word_source(style),
            What::C(style) if matches!(self.form(), 2 | 3 | 7) => self.word_source(style),
            What::C(style) | What::Slot64(style) => self.register(64, 124, style),
            What::Pred(lo, not) => self.predicate(lo, not, false),
            What::UPred(lo, not) => self.predicate(lo, not, true),
            What::EitherPred(lo, not, uniform) => self.predicate(lo, not, self.sm >= 75 && self.bit(uniform)),
            What::Imm(field) => hex(field.get(self.word), field.get(self.word) as i64),
            What::SImm(field) => hex(field.get(self.word), sign_extend(field, self.word)),
            What::Target(field) => SassOperand::Target(self.target(field)),
            What::TargetAbsolute(field) => SassOperand::Target(self.distance(field)),
            What::Indirect(lo, field) => {
                SassOperand::Indirect { register: self.general(lo), target: self.target(field) }
            }
            What::IndirectAbsolute(lo, field) => {
                SassOperand::Indirect { register: self.general(lo), target: self.distance(field) }
            }
            What::IndirectUniform(lo, field) => {
                SassOperand::Indirect { register: self.uniform(lo), target: self.target(field) }
            }
            What::IndirectUniformAbsolute(lo, field) => {
                SassOperand::Indirect { register: self.uniform(lo), target: self.distance(field) }
            }
            What::ConstLoad => SassOperand::Constant(self.constant_load()),
            What::ConstUniform => {
                let offset = sign_extend(bits(38, 16), self.word) as i32;
                SassOperand::Constant(Constant { offset, ..self.constant(Sign::default(), "") })
            }
            What::ConstUniformIndexed => {
                let offset = sign_extend(bits(38, 16), self.word) as i32;
                let index = Some(self.uniform(24));
                SassOperand::Constant(Constant { bindless: None, index, offset, ..self.constant(Sign::default(), "") })
            }
            What::Address(address) => SassOperand::Memory(self.memory(address)),
            What::Special => SassOperand::Special(self.get(72, 8) as u8),
            What::Barrier(lo) => SassOperand::Barrier(self.get(lo, 4) as u8),
            What::Scoreboard(lo) => SassOperand::Scoreboard(self.get(lo, 3) as u8),
            What::ScoreboardSet(field) => SassOperand::ScoreboardSet(field.get(self.word) as u8),
            What::AllPreds => SassOperand::AllPredicates { uniform: self.row.uniform },
            What::Text(text) => SassOperand::Text(text),
            What::Named(field, names) => {
                SassOperand::Text(names.get(field.get(self.word) as usize).copied().unwrap_or_default())
            }
            What::UAddress(lo) => SassOperand::Memory(self.uniform_memory(lo, 0)),
            What::UAddressOffset(lo, offset) => {
                SassOperand::Memory(self.uniform_memory(lo, sign_extend(offset, self.word) as i32))
            }
            What::Coordinates(lo) => {
                SassOperand::Memory(Memory { base: self.get(lo, 8) as u8, suffix: "", uniform: None, offset: 0 })
            }
        }
    }

    /// The general register whose number begins at bit `lo`.
    fn general(&self, lo: u8) -> Register {
        Register::general(self.get(lo, 8) as u8)
    }

    /// The uniform register whose number begins at bit `lo`.
    fn uniform(&self, lo: u8) -> Register {
        Register::uniform(self.get(lo, 6) as u8)
    }

    /// A number of words of four bytes, in bytes.
    fn distance(&self, field: Field) -> i64 {
        sign_extend(field, self.word).wrapping_mul(4)
    }

    /// The address at a distance from the next instruction.
    fn target(&self, field: Field) -> i64 {
        (self.address.wrapping_add(INSTRUCTION_BYTES) as i64).wrapping_add(self.distance(field))
    }

    fn predicate(&self, lo: u8, not: u8, uniform: bool) -> SassOperand {
        SassOperand::Predicate { index: self.get(lo, 3) as u8, uniform, not: not != 0 && self.bit(not) }
    }

    /// Sign modifiers of the source at bit 24, 32 or 64.
    fn sign(&self, lo: u8, style: Style) -> Sign {
        let half = matches!(style, Style::Half | Style::BHalf | Style::HalfMma | Style::BHalfMma);
        let (negate, absolute) = match lo {
            24 => (72, 73),
            64 if half => (84, 83),
            64 => (75, 74),
            _ => (63, 62),
        };
        let (negate, absolute) = (self.bit(negate), self.bit(absolute));
        match style {
            Style::Bits | Style::Bytes | Style::Signed => Sign::default(),
            Style::Int => Sign { negate, ..Sign::default() },
            Style::Invert => Sign { invert: negate, ..Sign::default() },
            Style::IntX | Style::BitsX if self.bit(74) => Sign { invert: negate, ..Sign::default() },
            Style::IntX | Style::BitsX => Sign { negate, ..Sign::default() },
            Style::F32 | Style::F64 | Style::F16 | Style::Half | Style::BHalf | Style::HalfMma | Style::BHalfMma => {
                Sign { negate, absolute, invert: false }
            }
        }
    }

    /// Choice of halves of the source at bit 24, 32 or 64.
    fn halves(&self, lo: u8, style: Style) -> &'static str {
        if style == Style::F16 {
            return ["", ".H1", ".INVALID2", ".INVALID3"][self.get(60, 2) as usize];
        }
        if style == Style::Bytes {
            return match (self.get(84, 2), self.get(60, 2)) {
                (0, byte) => ["", ".B1", ".B2", ".B3"][byte as usize],
                (1, half) => ["", ".H1", ".INVALID2", ".INVALID3"][half as usize],
                _ => "",
            };
        }
        if style != Style::Half && style != Style::BHalf {
            return "";
        }
        let at = match lo {
            24 => 74,
            64 => 81,
            _ => 60,
        };
        ["", ".F32", ".H0_H0", ".H1_H1"][self.get(at, 2) as usize]
    }

    fn register(&self, lo: u8, reuse: u8, style: Style) -> SassOperand {
        let (sign, suffix) = (self.sign(lo, style), self.halves(lo, style));
        if self.row.uniform {
            return SassOperand::Register(Register { sign, suffix, ..self.uniform(lo) });
        }
        SassOperand::Register(Register { sign, suffix, reuse: self.reuses(reuse), ..self.general(lo) })
    }

    /// The source at bit 32, according to the form.
    fn word_source(&self, style: Style) -> SassOperand {
        let (sign, suffix) = (self.sign(32, style), self.halves(32, style));
        match self.form() {
            // In conversions the type of the source determines its sign.
            2 | 4 if style == Style::Bytes && self.bit(74) => immediate(self.get(32, 32) as u32, Style::Signed),
            2 | 4 => immediate(self.get(32, 32) as u32, style),
            3 | 5 => SassOperand::Constant(self.constant(sign, suffix)),
            6 | 7 => SassOperand::Register(Register { sign, suffix, ..self.uniform(32) }),
            _ => self.register(32, 123, style),
        }
    }

    fn constant(&self, sign: Sign, suffix: &'static str) -> Constant {
        let uniform = if self.row.uniform { 24 } else { 32 };
        // Operands are words; only loads have byte offsets.
        Constant {
            bank: self.get(54, 5) as u8,
            bindless: self.bit(91).then(|| self.get(uniform, 6) as u8),
            index: None,
            offset: sign_extend(bits(40, 14), self.word) as i32 * 4,
            sign,
            suffix,
        }
    }

    fn constant_load(&self) -> Constant {
        let index = self.get(24, 8) as u8;
        let offset = sign_extend(bits(38, 16), self.word) as i32;
        let plain = self.constant(Sign::default(), "");
        match index {
            operand::RZ if offset != 0 => Constant { offset, ..plain },
            _ => Constant { index: Some(Register::general(index)), offset, ..plain },
        }
    }

    /// An address in a uniform register.
    fn uniform_memory(&self, lo: u8, offset: i32) -> Memory {
        Memory { base: operand::RZ, suffix: "", uniform: Some(self.get(lo, 6) as u8), offset }
    }

    fn memory(&self, address: Address) -> Memory {
        let base = self.get(address.base, 8) as u8;
        let uniform = self.shows(address.has_uniform, None).then(|| self.get(address.uniform, 6) as u8);
        // Scales exist since Turing.
        let scale = address.scale.filter(|_| self.sm >= 75).map_or(0, |field| field.get(self.word));
        let suffix = match address.width {
            Width::Descriptor(bit) => {
                if uniform.is_none() || self.bit(bit) {
                    ".64"
                } else {
                    ".U32"
                }
            }
            Width::Bit(bit) if uniform.is_some() => {
                if self.bit(bit) {
                    ".64"
                } else {
                    ".U32"
                }
            }
            _ => ["", ".X4", ".X8", ".X16"][scale as usize & 3],
        };
        Memory { base, suffix, uniform, offset: sign_extend(address.offset, self.word) as i32 }
    }
}

/// A choice of halves when the bit for swapped halves is set; no other choice is valid then.
fn swapped(choice: &str) -> &'static str {
    match choice {
        "" => ".H0_NH1",
        ".F32" => ".INVALID5",
        ".H0_H0" => ".INVALID6",
        _ => ".INVALID7",
    }
}

fn sign_extend(field: Field, word: u128) -> i64 {
    let unused = 64 - u32::from(field.len + field.len_high);
    ((field.get(word) << unused) as i64) >> unused
}

fn hex(bits: u64, value: i64) -> SassOperand {
    SassOperand::Immediate { bits, number: Number::Hex(value) }
}

fn float(value: f64, quiet: bool) -> Number {
    match value.is_nan() {
        true => Number::NotANumber { negative: value.is_sign_negative(), signalling: !quiet },
        false => Number::Float(value),
    }
}

/// Converts IEEE half precision, which is exact.
fn half(bits: u16) -> Number {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 0x3ff));
    Number::Float(match exponent {
        0 => sign * fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => sign * f64::INFINITY,
        31 => return Number::NotANumber { negative: sign < 0.0, signalling: false },
        _ => sign * (1024.0 + fraction) * 2f64.powi(exponent - 25),
    })
}

fn immediate(word: u32, style: Style) -> SassOperand {
    let bits = u64::from(word);
    let number = match style {
        Style::Bits | Style::Bytes | Style::BitsX => Number::Hex(i64::from(word)),
        Style::Signed | Style::Int | Style::IntX | Style::Invert => Number::Hex(i64::from(word as i32)),
        Style::F32 => float(f32::from_bits(word).into(), word >> 22 & 1 == 1),
        Style::F64 => float(f64::from_bits(bits << 32), word >> 19 & 1 == 1),
        Style::F16 => half(word as u16),
        Style::Half | Style::HalfMma => {
            return SassOperand::HalfPair { bits: word, numbers: [half((word >> 16) as u16), half(word as u16)] };
        }
        Style::BHalf | Style::BHalfMma => {
            let wide = |bits: u32| float(f32::from_bits(bits).into(), true);
            return SassOperand::HalfPair { bits: word, numbers: [wide(word & 0xffff_0000), wide(word << 16)] };
        }
    };
    SassOperand::Immediate { bits, number }
}
