//! Conversions between number formats.
//!
//! Choices where nothing is published:
//! 1. Integers narrower than a register are sign-extended, halves zero-extended.
//! 2. `F2I` of NaN: zero with `.NTZ`, otherwise the number with only the top bit set, as in the PTX ISA for
//!    the types for which compiled code omits `.NTZ`.

use super::builder::{Builder, Lowered};
use super::float::{cvt, mode, rounding, rounding_of};
use super::operand::{operands, sign_of};
use exec::compare::{Combine, CompareType, Comparison, Relation};
use exec::convert::{Convert1, Cvt, Numeric, PackedCvt};
use exec::int::{Int2, Int3};
use exec::lanes::{Pred, Reg};
use exec::op::Op;
use num::convert::IntType;
use num::{Mode, Rounding};
use sass::decode::modifier::{self, ByteType, FloatType, key};
use sass::decode::operand::{Constant, Register};
use sass::decode::{SassInst, SassOperand};

/// Sign bit of a half in the lower bits.
const HALF_SIGN: u32 = 0x8000;

/// `F2F`.
pub(super) fn float_to_float(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [d, x] = operands(inst)?;
    let from = float_type(inst.modifier(key::FROM_FLOAT))?;
    let to = if inst.has(key::BF16) { Numeric::Bf16 } else { float_type(inst.modifier(key::TO_FLOAT))? };
    convert_float(b, d, x, cvt(from, to, mode(inst)))
}

/// `FRND`.
pub(super) fn round(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [d, x] = operands(inst)?;
    let ty = float_type(inst.modifier(key::TO_FLOAT))?;
    if float_type(inst.modifier(key::FROM_FLOAT))? != ty {
        return Err("rounding to another type is not executable".into());
    }
    convert_float(b, d, x, Cvt { integral: true, ..cvt(ty, ty, mode(inst)) })
}

/// `I2F`.
pub(super) fn int_to_float(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let from = int_type(inst.modifier(key::FROM_INT))?;
    convert_int(b, inst, [Numeric::Int(from), float_type(inst.modifier(key::TO_FLOAT))?])
}

/// `I2FP`.
pub(super) fn word_to_float(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let from = if inst.has(key::SIGNED) { IntType::S32 } else { IntType::U32 };
    convert_int(b, inst, [Numeric::Int(from), Numeric::F32])
}

/// `F2FP.PACK_AB`.
pub(super) fn pack_halves(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [d, x, y] = operands(inst)?;
    let [x, y] = [b.float_source(x)?, b.float_source(y)?];
    let (d, unused) = (b.destination(d, 1)?, b.constant(0));
    b.emit(Op::PackedCvt(pair_of_halves(inst), d, [x, y, unused]));
    Ok(())
}

/// `F2FP.MERGE_C`.
pub(super) fn merge_half(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [d, x, rest] = operands(inst)?;
    let (x, unused) = (b.float_source(x)?, b.constant(0));
    let low = b.scratch(1);
    b.emit(Op::PackedCvt(pair_of_halves(inst), low, [unused, x, unused]));
    merge(b, d, low, rest)
}

/// `F2FP` of two numbers to bytes.
pub(super) fn to_bytes(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [d, x, y, rest] = operands(inst)?;
    let op = PackedCvt::BytesFromF32 { e5m2: to_e5m2(inst), relu: inst.has(key::RELU) };
    let s = [finite(inst, b.source(x)?)?, b.source(y)?, b.constant(0)];
    let low = b.scratch(1);
    b.emit(Op::PackedCvt(op, low, s));
    merge(b, d, low, rest)
}

/// `F2FP` of two halves to bytes.
pub(super) fn halves_to_bytes(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [d, x, rest] = operands(inst)?;
    let op = PackedCvt::BytesFromF16x2 { e5m2: to_e5m2(inst), relu: inst.has(key::RELU) };
    let (s, unused) = (finite(inst, b.source(x)?)?, b.constant(0));
    let low = b.scratch(1);
    b.emit(Op::PackedCvt(op, low, [s, unused, unused]));
    merge(b, d, low, rest)
}

/// `F2FP` of two bytes to halves.
pub(super) fn bytes_to_halves(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [d, x] = operands(inst)?;
    let op = PackedCvt::F16x2FromBytes {
        e5m2: inst.modifier(key::FROM_BYTE) == Some(ByteType::E5m2),
        relu: inst.has(key::RELU),
    };
    let s = b.source(x)?;
    let (s, unused) = (if part_of(x) == ".H1" { b.shifted_right(s, 16) } else { s }, b.constant(0));
    let d = b.destination(d, 1)?;
    b.emit(Op::PackedCvt(op, d, [s, unused, unused]));
    Ok(())
}

/// The part of a register that an operand selects.
fn part_of(operand: SassOperand) -> &'static str {
    match operand {
        SassOperand::Register(Register { suffix, .. }) | SassOperand::Constant(Constant { suffix, .. }) => suffix,
        _ => "",
    }
}

/// Whether the bytes are E5M2 rather than E4M3.
fn to_e5m2(inst: &SassInst) -> bool {
    inst.modifier(key::TO_BYTE) == Some(ByteType::E5m2)
}

/// Only saturating conversions to bytes are known: PTX has no others.
fn finite<T>(inst: &SassInst, s: T) -> Lowered<T> {
    if inst.has(key::SATURATE) {
        Ok(s)
    } else {
        Err("a conversion to bytes without .SATFINITE is not executable".into())
    }
}

/// `d` = `low`, with a half of `rest` as its upper half.
fn merge(b: &mut Builder<'_>, d: SassOperand, low: Reg, rest: SassOperand) -> Lowered<()> {
    const LOWER: u32 = 0x5410;
    const UPPER: u32 = 0x7610;
    let selector = b.constant(if part_of(rest) == ".H1" { UPPER } else { LOWER });
    let (rest, d) = (b.source(rest)?, b.destination(d, 1)?);
    b.emit(Op::Int3(Int3::PrmtDefault, d, [low, rest, selector]));
    Ok(())
}

fn float_type(ty: Option<FloatType>) -> Lowered<Numeric> {
    match ty {
        Some(FloatType::F16) => Ok(Numeric::F16),
        Some(FloatType::F32) => Ok(Numeric::F32),
        Some(FloatType::F64) => Ok(Numeric::F64),
        Some(FloatType::Bf16) => Ok(Numeric::Bf16),
        _ => Err("this type of number is not executable".into()),
    }
}

fn int_type(ty: Option<modifier::IntType>) -> Lowered<IntType> {
    use modifier::IntType as Type;
    Ok(match ty {
        Some(Type::U8) => IntType::U8,
        Some(Type::S8) => IntType::S8,
        Some(Type::U16) => IntType::U16,
        Some(Type::S16) => IntType::S16,
        Some(Type::U32) => IntType::U32,
        Some(Type::S32) => IntType::S32,
        Some(Type::U64) => IntType::U64,
        Some(Type::S64) => IntType::S64,
        _ => return Err("this type of integer is not executable".into()),
    })
}

/// Number of columns of a number.
fn columns(ty: Numeric) -> u16 {
    if ty.bits() == 64 { 2 } else { 1 }
}

fn pair_of_halves(inst: &SassInst) -> PackedCvt {
    PackedCvt::HalvesFromF32 {
        bf16: inst.modifier(key::TO_FLOAT) == Some(FloatType::Bf16),
        round: rounding_of(inst.modifier(key::PACK_ROUND)),
        relu: inst.has(key::RELU),
        satfinite: false,
    }
}

/// `I2IP`: two clamped integers in the lowest bits, and above them the third operand.
pub(super) fn pack_integers(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    use modifier::IntType as Type;
    let [d, x, y, rest] = operands(inst)?;
    let above = b.source(rest)?;
    let above = if part_of(rest) == ".H1" { b.shifted_right(above, 16) } else { above };
    let s = [b.source(x)?, b.source(y)?, above];
    let (bits, signed) = match inst.modifier(key::TO_INT) {
        Some(Type::U2) => (2, false),
        Some(Type::S2) => (2, true),
        Some(Type::U4) => (4, false),
        Some(Type::S4) => (4, true),
        ty => {
            let signed = matches!(ty, Some(Type::S8 | Type::S16));
            let byte = matches!(ty, Some(Type::U8 | Type::S8));
            let op = if byte { PackedCvt::PackInt8 { signed } } else { PackedCvt::PackInt16 { signed } };
            let d = b.destination(d, 1)?;
            b.emit(Op::PackedCvt(op, d, s));
            return Ok(());
        }
    };
    let (least, greatest) = if signed { (-1 << (bits - 1), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) };
    let (least, greatest) = (b.constant(least as u32), b.constant(greatest as u32));
    let [keep, amount] = [b.constant((1 << bits) - 1), b.constant(bits)];
    let mut packed = s[2];
    let to = b.destination(d, 1)?;
    for (k, s) in s[..2].iter().enumerate() {
        let clamped = b.scratch(1);
        b.emit(Op::Int2(Int2::MaxS32, clamped, [*s, least]));
        b.emit(Op::Int2(Int2::MinS32, clamped, [clamped, greatest]));
        b.emit(Op::Int2(Int2::And32, clamped, [clamped, keep]));
        let d = if k == 0 { b.scratch(1) } else { to };
        b.emit(Op::Int3(Int3::ShlAdd32, d, [packed, clamped, amount]));
        packed = d;
    }
    Ok(())
}

/// `F2IP`: two numbers as bytes in the lower half, the second one lowest; in the upper half the lower half of
/// the third operand.
pub(super) fn pack_bytes(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [d, x, y, rest] = operands(inst)?;
    if !inst.has(key::NAN_TO_ZERO) {
        return Err("the result for NaN without .NTZ is not published".into());
    }
    let to = Numeric::Int(int_type(inst.modifier(key::TO_INT))?);
    let conversion = Cvt { dst_bits: 32, ..cvt(Numeric::F32, to, mode(inst)) };
    let [keep, eight] = [b.constant(0xff), b.constant(8)];
    let bytes = [x, y].map(|x| {
        let (s, byte) = (b.float_source(x)?, b.scratch(1));
        b.emit(Op::Cvt(conversion, byte, s));
        b.emit(Op::Int2(Int2::And32, byte, [byte, keep]));
        Lowered::Ok(byte)
    });
    let [high, low] = bytes;
    let (rest, pair) = (b.source(rest)?, b.scratch(1));
    b.emit(Op::Int3(Int3::ShlAdd32, pair, [high?, low?, eight]));
    let d = b.destination(d, 1)?;
    b.emit(Op::Int2(Int2::Pack16, d, [pair, rest]));
    Ok(())
}

impl Builder<'_> {
    /// A source of a floating-point type with its sign modifiers; a half is in the lower bits.
    pub fn float_source_of(&mut self, operand: SassOperand, ty: Numeric) -> Lowered<Reg> {
        match ty {
            Numeric::F64 => self.double_source(operand),
            Numeric::F16 | Numeric::Bf16 => {
                let s = self.source(operand)?;
                let s = match part_of(operand) {
                    "" => s,
                    ".H1" => self.shifted_right(s, 16),
                    other => return Err(format!("the choice of halves {other} is not executable")),
                };
                Ok(self.signed_bits(s, sign_of(operand), HALF_SIGN))
            }
            _ => self.float_source(operand),
        }
    }

    fn shifted_right(&mut self, s: Reg, by: u32) -> Reg {
        let (d, by) = (self.scratch(1), self.constant(by));
        self.emit(Op::Int2(Int2::ShrU32, d, [s, by]));
        d
    }
}

fn convert_float(b: &mut Builder<'_>, d: SassOperand, x: SassOperand, conversion: Cvt) -> Lowered<()> {
    let s = b.float_source_of(x, conversion.from)?;
    let d = b.destination(d, columns(conversion.to))?;
    let plain = conversion.mode == Mode::RN && !conversion.integral;
    b.emit(match (conversion.from, conversion.to) {
        (Numeric::F32, Numeric::F64) if plain => Op::Convert(Convert1::F32ToF64, d, [s]),
        (Numeric::F64, Numeric::F32) if plain => Op::Convert(Convert1::F64ToF32, d, [s]),
        (Numeric::F16, Numeric::F32) if plain => Op::Convert(Convert1::F16ToF32, d, [s]),
        (Numeric::F32, Numeric::F16) if plain => Op::Convert(Convert1::F32ToF16, d, [s]),
        _ => Op::Cvt(conversion, d, s),
    });
    Ok(())
}

/// `F2I`.
pub(super) fn float_to_int(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [d, x] = operands(inst)?;
    let (from, to) = (float_type(inst.modifier(key::FROM_FLOAT))?, int_type(inst.modifier(key::TO_INT))?);
    let (nan_to_zero, mode) = (inst.has(key::NAN_TO_ZERO), mode(inst));
    let s = b.float_source_of(x, from)?;
    // Truncation makes subnormal numbers zero, with or without `.FTZ`.
    let frequent = match (from, to) {
        (Numeric::F32, IntType::S32) => Some(Convert1::F32ToS32),
        (Numeric::F32, IntType::U32) => Some(Convert1::F32ToU32),
        _ => None,
    };
    if let Some(op) = frequent.filter(|_| nan_to_zero && mode.round == Rounding::Zero) {
        let d = b.destination(d, 1)?;
        b.emit(Op::Convert(op, d, [s]));
        return Ok(());
    }
    let wide = columns(Numeric::Int(to)) == 2;
    let conversion = Cvt { dst_bits: if wide { 64 } else { 32 }, ..cvt(from, Numeric::Int(to), mode) };
    // The conversion has a different rule for NaN.
    let rule = from != Numeric::F64 && !wide;
    if rule == nan_to_zero {
        let d = b.destination(d, columns(Numeric::Int(to)))?;
        b.emit(Op::Cvt(conversion, d, s));
        return Ok(());
    }
    let (p, t) = (b.scratch_pred(), b.scratch(columns(Numeric::Int(to))));
    let ty = match from {
        Numeric::F16 => CompareType::F16,
        Numeric::F64 => CompareType::F64,
        _ => CompareType::F32,
    };
    let test = Comparison { relation: Relation::Nan, ty, ftz: false };
    b.emit(Op::Setp { test, s: [s, s], d: [p, Pred::TRUE], with: (Combine::And, Pred::TRUE) });
    b.emit(Op::Cvt(conversion, t, s));
    let top = if nan_to_zero { 0 } else { to.extend(1 << (to.bits() - 1)) };
    let top = if wide { b.constant64(top) } else { b.constant(top as u32) };
    let d = b.destination(d, columns(Numeric::Int(to)))?;
    b.emit(Op::Selp { d, s: [top, t], wide, p });
    Ok(())
}

fn convert_int(b: &mut Builder<'_>, inst: &SassInst, [from, to]: [Numeric; 2]) -> Lowered<()> {
    let [d, x] = operands(inst)?;
    let s = match x {
        // An immediate is the upper word of a double.
        SassOperand::Immediate { bits, .. } if columns(from) == 2 => b.constant64(bits << 32),
        _ => b.columns(x, columns(from))?,
    };
    let s = match part_of(x) {
        ".B1" => b.shifted_right(s, 8),
        ".B2" | ".H1" => b.shifted_right(s, 16),
        ".B3" => b.shifted_right(s, 24),
        "" => s,
        other => return Err(format!("the choice of halves {other} is not executable")),
    };
    let mode = Mode { round: rounding(inst), ..Mode::RN };
    let d = b.destination(d, columns(to))?;
    let nearest = mode == Mode::RN;
    b.emit(match (from, to) {
        (Numeric::Int(IntType::S32), Numeric::F32) if nearest => Op::Convert(Convert1::S32ToF32, d, [s]),
        (Numeric::Int(IntType::U32), Numeric::F32) if nearest => Op::Convert(Convert1::U32ToF32, d, [s]),
        (Numeric::Int(IntType::S32), Numeric::F64) => Op::Convert(Convert1::S32ToF64, d, [s]),
        (Numeric::Int(IntType::U32), Numeric::F64) => Op::Convert(Convert1::U32ToF64, d, [s]),
        _ => Op::Cvt(Cvt { src_bits: if columns(from) == 2 { 64 } else { 32 }, ..cvt(from, to, mode) }, d, s),
    });
    Ok(())
}
