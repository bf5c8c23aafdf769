//! Typed operands and their text.

use std::fmt;

/// Index of the general register that reads as zero.
pub const RZ: u8 = 255;
/// Index of the uniform register that reads as zero.
pub const URZ: u8 = 63;
/// Index of the predicate that is always true.
pub const PT: u8 = 7;

/// Sign modifiers of a source operand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Sign {
    pub negate: bool,
    /// Absolute value, before the negation.
    pub absolute: bool,
    pub invert: bool,
}

/// A register operand with its modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Register {
    /// Index: [`RZ`] or, if uniform, [`URZ`] reads as zero.
    pub index: u8,
    /// It is a uniform register.
    pub uniform: bool,
    pub sign: Sign,
    /// The operand cache keeps the value.
    pub reuse: bool,
    /// Suffix such as `.H0_H0`, `.ROW`, `.64`; usually empty.
    pub suffix: &'static str,
}

impl Register {
    /// A plain general register.
    pub fn general(index: u8) -> Register {
        Register { index, uniform: false, sign: Sign::default(), reuse: false, suffix: "" }
    }

    /// A plain uniform register.
    pub fn uniform(index: u8) -> Register {
        Register { uniform: true, ..Register::general(index) }
    }

    /// Whether it is the zero register.
    pub fn is_zero(&self) -> bool {
        self.index == if self.uniform { URZ } else { RZ }
    }
}

/// A constant bank operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Constant {
    /// Index of the bank, unless `bindless` is set.
    pub bank: u8,
    /// Uniform register that holds the bank's descriptor (bindless).
    pub bindless: Option<u8>,
    /// Register that is added to the offset.
    pub index: Option<Register>,
    /// In bytes.
    pub offset: i32,
    pub sign: Sign,
    /// Choice of halves, such as `.H0_H0`; empty in most.
    pub suffix: &'static str,
}

/// A number in the notation of the text.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Number {
    Hex(i64),
    Float(f64),
    /// A quiet or signalling NaN.
    NotANumber {
        negative: bool,
        signalling: bool,
    },
}

/// A memory address operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Index of the base register.
    pub base: u8,
    /// `.64`, `.U32`, `.X4` and so on.
    pub suffix: &'static str,
    /// Index of the uniform register that is added.
    pub uniform: Option<u8>,
    /// In bytes.
    pub offset: i32,
}

/// Uniform registers with the matrix descriptors of A and B, and changes of these factors, each of A and of B.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Descriptors {
    /// Index of the first of four registers; [`URZ`] reads as zero.
    pub register: u8,
    pub negated: [bool; 2],
    pub transposed: [bool; 2],
}

/// An operand of an instruction, as its text shows it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum SassOperand {
    Register(Register),
    Predicate {
        /// Index; [`PT`] is always true.
        index: u8,
        /// It is a uniform predicate.
        uniform: bool,
        not: bool,
    },
    /// Immediate number.
    Immediate {
        /// The encoded bits.
        bits: u64,
        /// The number in the text.
        number: Number,
    },
    /// Two half-precision immediates, upper one first.
    HalfPair {
        /// The encoded bits.
        bits: u32,
        /// The numbers in the text.
        numbers: [Number; 2],
    },
    Constant(Constant),
    Memory(Memory),
    Descriptors(Descriptors),
    /// Sum of a register and a branch target.
    Indirect {
        register: Register,
        /// Byte address that is added.
        target: i64,
    },
    /// Branch target: byte address in the function.
    Target(i64),
    /// Number of a special register.
    Special(u8),
    /// Index of a convergence barrier register.
    Barrier(u8),
    /// Index of a scoreboard.
    Scoreboard(u8),
    /// Set of scoreboards as a bit mask.
    ScoreboardSet(u8),
    AllPredicates {
        uniform: bool,
    },
    /// Text that no bits encode.
    Text(&'static str),
}

fn name(f: &mut fmt::Formatter, uniform: bool, index: u8) -> fmt::Result {
    match (uniform, index) {
        (false, RZ) => write!(f, "RZ"),
        (true, URZ) => write!(f, "URZ"),
        (false, index) => write!(f, "R{index}"),
        (true, index) => write!(f, "UR{index}"),
    }
}

/// `0x10` or `-0x10`.
struct SignedHex(i64);

impl fmt::Display for SignedHex {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        write!(f, "{sign}{:#x}", self.0.unsigned_abs())
    }
}

impl fmt::Display for Sign {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(if self.negate { "-" } else { "" })?;
        f.write_str(if self.invert { "~" } else { "" })?;
        f.write_str(if self.absolute { "|" } else { "" })
    }
}

impl Sign {
    fn close(self) -> &'static str {
        if self.absolute { "|" } else { "" }
    }
}

impl fmt::Display for Register {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}", self.sign)?;
        name(f, self.uniform, self.index)?;
        // In conversions the absolute value is taken of the chosen half; elsewhere the choice is made
        // afterwards.
        let (within, after) = if self.suffix == ".H1" { (".H1", "") } else { ("", self.suffix) };
        write!(f, "{within}{}{}{after}", self.sign.close(), if self.reuse { ".reuse" } else { "" })
    }
}

impl fmt::Display for Constant {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.bindless {
            Some(register) => {
                write!(f, "{}cx[", self.sign)?;
                name(f, true, register)?;
            }
            None => write!(f, "{}c[{:#x}", self.sign, self.bank)?,
        }
        f.write_str("][")?;
        match self.index {
            None => write!(f, "{}", SignedHex(self.offset.into()))?,
            Some(index) => {
                write!(f, "{index}")?;
                if self.offset != 0 {
                    write!(f, "+{}", SignedHex(self.offset.into()))?;
                }
            }
        }
        write!(f, "]{}{}", self.suffix, self.sign.close())
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("[")?;
        let mut parts = 0;
        let scaled = self.uniform.is_some() && self.suffix.starts_with(".X");
        if self.base != RZ || scaled || (self.uniform.is_none() && self.offset == 0) {
            name(f, false, self.base)?;
            f.write_str(if self.base != RZ || scaled { self.suffix } else { "" })?;
            parts += 1;
        }
        if let Some(register) = self.uniform {
            f.write_str(if parts > 0 { "+" } else { "" })?;
            name(f, true, register)?;
            parts += 1;
        }
        match (self.offset, parts) {
            (0, 1..) => {}
            // Without a register the address is absolute: 24 bits, unsigned.
            (offset, 0) => write!(f, "{:#x}", offset & 0xff_ffff)?,
            (offset, _) => write!(f, "+{}", SignedHex(offset.into()))?,
        }
        f.write_str("]")
    }
}

/// Prints like C's `%.20g` and, from a billion up, `%.20e`, as the disassembler does.
fn float(f: &mut fmt::Formatter, value: f64) -> fmt::Result {
    if value == 0.0 {
        return f.write_str(if value.is_sign_negative() { "-0.0" } else { "0" });
    }
    if value.is_infinite() {
        return f.write_str(if value > 0.0 { "+INF" } else { "-INF" });
    }
    let large = value.abs() >= 1e9;
    let text = format!("{value:.*e}", if large { 20 } else { 19 });
    let (mantissa, exponent) = text.split_once('e').expect("the format has an exponent");
    let exponent: i32 = exponent.parse().expect("the exponent is a number");
    let power = |f: &mut fmt::Formatter, mantissa: &str| {
        write!(f, "{mantissa}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
    };
    let trim = |text: &str| -> String {
        match text.contains('.') {
            true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
            false => text.to_owned(),
        }
    };
    match (large, exponent) {
        (true, _) => power(f, mantissa),
        (false, ..-4) => power(f, &trim(mantissa)),
        (false, _) => f.write_str(&trim(&format!("{value:.*}", (19 - exponent).max(0) as usize))),
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match *self {
            Number::Hex(value) => write!(f, "{}", SignedHex(value)),
            Number::Float(value) => float(f, value),
            Number::NotANumber { negative, signalling } => {
                write!(f, "{}{}NAN", if negative { '-' } else { '+' }, if signalling { 'S' } else { 'Q' })
            }
        }
    }
}

impl fmt::Display for SassOperand {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match *self {
            SassOperand::Register(register) => write!(f, "{register}"),
            SassOperand::Predicate { index, uniform, not } => {
                write!(f, "{}{}P", if not { "!" } else { "" }, if uniform { "U" } else { "" })?;
                if index == PT { f.write_str("T") } else { write!(f, "{index}") }
            }
            SassOperand::Immediate { number, .. } => write!(f, "{number}"),
            SassOperand::HalfPair { numbers: [high, low], .. } => write!(f, "{high}, {low}"),
            SassOperand::Constant(constant) => write!(f, "{constant}"),
            SassOperand::Memory(memory) => write!(f, "{memory}"),
            SassOperand::Descriptors(Descriptors { register, negated, transposed }) => {
                f.write_str("gdesc[")?;
                name(f, true, register)?;
                f.write_str("]")?;
                let changes = [(".neg", negated), (".tnsp", transposed)];
                let all = changes.into_iter().flat_map(|(text, set)| [(text, "A", set[0]), (text, "B", set[1])]);
                all.filter(|&(.., set)| set).try_for_each(|(text, factor, _)| write!(f, "{text}{factor}"))
            }
            SassOperand::Indirect { register, target } => write!(f, "{register} {}", SignedHex(target)),
            SassOperand::Target(address) => write!(f, "{}", SignedHex(address)),
            SassOperand::Special(number) => match super::special::name(number) {
                Some(name) => f.write_str(name),
                None => write!(f, "SR{number}"),
            },
            SassOperand::Barrier(number) => write!(f, "B{number}"),
            SassOperand::Scoreboard(number) => write!(f, "SB{number}"),
            SassOperand::ScoreboardSet(mask) => {
                let list: Vec<_> = (0..8).rev().filter(|bit| mask >> bit & 1 == 1).map(|bit| bit.to_string()).collect();
                write!(f, "{{{}}}", list.join(","))
            }
            SassOperand::AllPredicates { uniform } => f.write_str(if uniform { "UPR" } else { "PR" }),
            SassOperand::Text(text) => f.write_str(text),
        }
    }
}
