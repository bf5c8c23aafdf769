//! Pairs of half-precision numbers and of bfloat16.
//!
//! Choices where nothing is published:
//! 1. `.FMZ`: `.FTZ`, and a product with a zero factor is +0, whatever the other factor is.
//! 2. A single-precision source (`.F32`) is truncated to a half, which is used for both halves: compiled code
//!    truncates this way, by adding -0.
//! 3. `HSETP2.H_AND`: the first predicate is for both comparisons, the second for their complement (as in
//!    emulators of Maxwell).
//! 4. A single-precision result (`HADD2.F32`, `HMUL2.F32`, `HFMA2.F32`) is rounded to a half first: for sm_70
//!    and sm_75 the compiler combines an operation on halves and the conversion of its result into these.

use super::builder::{Builder, Lowered};
use super::float::{HALF_SIGNS, combine, compared, comparison, cvt, min_max, mode, modifiers};
use super::operand::{operands, sign_of};
use exec::compare::{Combine, CompareType, Comparison, Relation};
use exec::convert::{Convert1, Numeric};
use exec::float::{Float2, Float3, Modifiers};
use exec::int::{Int1, Int2, Int3};
use exec::lanes::{Pred, Reg};
use exec::op::Op;
use num::{Mode, Rounding};
use sass::decode::modifier::key;
use sass::decode::operand::{Constant, Register, Sign};
use sass::decode::{SassInst, SassOp, SassOperand};

/// Sign of the lower half.
const LOW_SIGN: u32 = 0x8000;
/// One in half precision.
const ONE: u32 = 0x3c00;
/// One in bfloat16.
const BF16_ONE: u32 = 0x3f80;

/// The choice of halves of an operand.
fn choice(operand: SassOperand) -> &'static str {
    match operand {
        SassOperand::Register(Register { suffix, .. }) | SassOperand::Constant(Constant { suffix, .. }) => suffix,
        _ => "",
    }
}

impl Builder<'_> {
    /// A pair of halves, as it is or one of them twice, with its absolute value and negation.
    pub fn half_source(&mut self, operand: SassOperand) -> Lowered<Reg> {
        let mut s = self.source(operand)?;
        let sign = sign_of(operand);
        let selector = match choice(operand) {
            "" => None,
            ".H0_H0" => Some(0x1010),
            ".H1_H1" => Some(0x3232),
            ".H0_NH1" if !sign.absolute => Some(0x1032),
            ".F32" => {
                let half = self.truncated(s);
                let d = self.scratch(1);
                self.emit(Op::Int2(Int2::Pack16, d, [half, half]));
                return Ok(self.signed_bits(d, sign, HALF_SIGNS));
            }
            other => return Err(format!("the choice of halves {other} is not executable")),
        };
        if let Some(selector) = selector {
            let (d, selector) = (self.scratch(1), self.constant(selector));
            self.emit(Op::Int3(Int3::PrmtDefault, d, [s, s, selector]));
            s = d;
        }
        if choice(operand) == ".H0_NH1" {
            s = self.signed_bits(s, Sign { negate: true, ..Sign::default() }, LOW_SIGN);
        }
        Ok(self.signed_bits(s, sign, HALF_SIGNS))
    }

    /// A single-precision number truncated to a half.
    fn truncated(&mut self, s: Reg) -> Reg {
        let d = self.scratch(1);
        self.emit(Op::Cvt(cvt(Numeric::F32, Numeric::F16, Mode { round: Rounding::Zero, ..Mode::RN }), d, s));
        d
    }
}

pub(super) fn add(b: &mut Builder<'_>, inst: &SassInst, op: Float2) -> Lowered<()> {
    let [d, x, y] = operands(inst)?;
    let is_minus_zero = |o: SassOperand| matches!(o, SassOperand::Register(r) if r.is_zero() && r.sign.negate);
    let mode = mode(inst);
    // Compiled code converts to single precision in this way.
    if inst.has(key::F32_RESULT) && is_minus_zero(x) && !mode.sat && !mode.ftz {
        let s = b.one_half(y)?;
        let d = b.destination(d, 1)?;
        b.emit(widen(if op == Float2::AddBf16x2 { Numeric::Bf16 } else { Numeric::F16 }, d, s));
        return Ok(());
    }
    let s = [b.half_source(x)?, b.half_source(y)?];
    result(b, inst, d, op == Float2::AddBf16x2, |d| Op::Float2(op, modifiers(mode), d, s))
}

/// Writes the pair that `op` computes; with `.F32`, the lower half in single precision.
fn result(b: &mut Builder<'_>, inst: &SassInst, d: SassOperand, bf16: bool, op: impl FnOnce(Reg) -> Op) -> Lowered<()> {
    if !inst.has(key::F32_RESULT) {
        let d = b.destination(d, 1)?;
        b.emit(op(d));
        return Ok(());
    }
    let pair = b.scratch(1);
    b.emit(op(pair));
    let d = b.destination(d, 1)?;
    b.emit(widen(if bf16 { Numeric::Bf16 } else { Numeric::F16 }, d, pair));
    Ok(())
}

/// Converts the half in the lower bits of `s` to single precision.
fn widen(from: Numeric, d: Reg, s: Reg) -> Op {
    match from {
        Numeric::F16 => Op::Convert(Convert1::F16ToF32, d, [s]),
        _ => Op::Cvt(cvt(from, Numeric::F32, Mode::RN), d, s),
    }
}

impl Builder<'_> {
    /// One half of an operand in the lower bits: the upper one if it is selected, otherwise the lower.
    fn one_half(&mut self, operand: SassOperand) -> Lowered<Reg> {
        let mut s = self.source(operand)?;
        match choice(operand) {
            ".H1_H1" => {
                let (d, by) = (self.scratch(1), self.constant(16));
                self.emit(Op::Int2(Int2::ShrU32, d, [s, by]));
                s = d;
            }
            "" | ".H0_H0" => {}
            other => return Err(format!("the choice of halves {other} is not executable")),
        }
        Ok(self.signed_bits(s, sign_of(operand), HALF_SIGNS))
    }
}

pub(super) fn multiply(b: &mut Builder<'_>, inst: &SassInst, op: Float2) -> Lowered<()> {
    let [d, x, y] = operands(inst)?;
    let s = [b.half_source(x)?, b.half_source(y)?];
    let bf16 = op == Float2::MulBf16x2;
    let [x, y] = if inst.has(key::FMZ) { factors(b, s, bf16) } else { s };
    if !inst.has(key::RELU) {
        return result(b, inst, d, bf16, |d| Op::Float2(op, modifiers(mode(inst)), d, [x, y]));
    }
    let d = b.destination(d, 1)?;
    // Adding -0 leaves a product unchanged.
    let minus_zero = b.constant(HALF_SIGNS);
    let op = if bf16 { Float3::FmaBf16x2 } else { Float3::FmaF16x2 };
    b.emit(Op::Float3(op, Modifiers { relu: true, ..modifiers(mode(inst)) }, d, [x, y, minus_zero]));
    Ok(())
}

/// `.FMZ`: both pairs of factors, with +0 where either factor is zero.
fn factors(b: &mut Builder<'_>, s: [Reg; 2], bf16: bool) -> [Reg; 2] {
    let zero = b.constant(0);
    let ty = if bf16 { CompareType::Bf16x2 } else { CompareType::F16x2 };
    let test = Comparison { relation: Relation::Neu, ty, ftz: true };
    let [keep, other] = s.map(|s| {
        let d = b.scratch(1);
        b.emit(Op::Set { test, s: [s, zero], d, holds: 0xffff, with: (Combine::And, Pred::TRUE) });
        d
    });
    b.emit(Op::Int2(Int2::And32, keep, [keep, other]));
    s.map(|s| {
        let d = b.scratch(1);
        b.emit(Op::Int2(Int2::And32, d, [s, keep]));
        d
    })
}

pub(super) fn fuse(b: &mut Builder<'_>, inst: &SassInst, op: Float3) -> Lowered<()> {
    let [d, x, y, z] = operands(inst)?;
    let m = Modifiers { relu: inst.has(key::RELU), ..modifiers(mode(inst)) };
    if m == Modifiers::default()
        && !inst.has(key::F32_RESULT)
        && let Some(value) = moved_constant([x, y, z])
    {
        let (d, value) = (b.destination(d, 1)?, b.constant(value));
        b.emit(Op::Int1(Int1::Mov32, d, [value]));
        return Ok(());
    }
    let (x, y, z) = (b.half_source(x)?, b.half_source(y)?, b.half_source(z)?);
    let bf16 = op == Float3::FmaBf16x2;
    let [x, y] = if inst.has(key::FMZ) { factors(b, [x, y], bf16) } else { [x, y] };
    result(b, inst, d, bf16, |d| Op::Float3(op, m, d, [x, y, z]))
}

/// `-0 * 0 + constant`, which compiled code uses to move constants: the constant, if neither half is NaN.
fn moved_constant(operands: [SassOperand; 3]) -> Option<u32> {
    let [SassOperand::Register(x), SassOperand::Register(y), SassOperand::HalfPair { bits, .. }] = operands else {
        return None;
    };
    let minus_zero = x.is_zero() && y.is_zero() && x.sign.negate != y.sign.negate;
    // The lowest exponents of NaN in either format.
    let number = |half: u32| half & 0x7fff < 0x7c00;
    (minus_zero && number(bits & 0xffff) && number(bits >> 16)).then_some(bits)
}

/// `VHMNMX`: the least of three where the predicate holds, otherwise the greatest.
pub(super) fn extreme_of_three(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [d, x, y, z, p] = operands(inst)?;
    if inst.has(key::XOR_SIGN) {
        return Err("the sign of .XORSIGN with three operands is not published".into());
    }
    let ops = match inst.has(key::BF16) {
        true => [Float2::MinBf16x2, Float2::MaxBf16x2],
        false => [Float2::MinF16x2, Float2::MaxF16x2],
    };
    let [x, y, z] = [b.half_source(x)?, b.half_source(y)?, b.half_source(z)?];
    let (m, p) = (Modifiers { nan: inst.has(key::NAN), ..modifiers(mode(inst)) }, b.pred(p)?);
    let results = ops.map(|op| {
        let (first, all) = (b.scratch(1), b.scratch(1));
        b.emit(Op::Float2(op, m, first, [x, y]));
        b.emit(Op::Float2(op, m, all, [first, z]));
        all
    });
    let d = b.destination(d, 1)?;
    b.emit(Op::Selp { d, s: results, wide: false, p });
    Ok(())
}

/// `HMNMX2`.
pub(super) fn extreme(b: &mut Builder<'_>, inst: &SassInst, ops: [Float2; 2]) -> Lowered<()> {
    let [d, x, y, p] = operands(inst)?;
    let [x, y] = compared(inst, [x, y])?;
    let s = [b.half_source(x)?, b.half_source(y)?];
    min_max(b, inst, d, s, p, ops)
}

/// `HSET2`.
pub(super) fn set(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [d, x, y, r] = operands(inst)?;
    let (s, r) = ([b.half_source(x)?, b.half_source(y)?], b.pred(r)?);
    let (ty, one) = match inst.row.op {
        SassOp::HSet2 => (CompareType::F16x2, ONE),
        _ => (CompareType::Bf16x2, BF16_ONE),
    };
    let (test, s) = comparison(b, inst, ty, s);
    let holds = if inst.has(key::BOOLEAN_FLOAT) { one } else { 0xffff };
    let d = b.destination(d, 1)?;
    b.emit(Op::Set { test, s, d, holds, with: (combine(inst), r) });
    Ok(())
}

/// `HSETP2`.
pub(super) fn set_predicates(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [p, q, x, y, r] = operands(inst)?;
    let ty = if inst.row.op == SassOp::HSetP2 { CompareType::F16x2 } else { CompareType::Bf16x2 };
    let (s, r) = ([b.half_source(x)?, b.half_source(y)?], b.pred(r)?);
    let (test, s) = comparison(b, inst, ty, s);
    let ([p, q], combine) = ([b.pred(p)?, b.pred(q)?], combine(inst));
    if !inst.has(key::BOTH_HALVES) {
        b.emit(Op::Setp { test, s, d: [p, q], with: (combine, r) });
        return Ok(());
    }
    let [low, high, combined] = [b.scratch_pred(), b.scratch_pred(), b.scratch_pred()];
    b.emit(Op::Setp { test, s, d: [low, high], with: (Combine::And, Pred::TRUE) });
    b.emit(Op::PredLogic(Combine::And, low, [low, high]));
    b.emit(Op::PredLogic(combine, combined, [low, r]));
    b.emit(Op::PredLogic(combine, q, [low.not(), r]));
    b.emit(Op::PredLogic(Combine::And, p, [combined, Pred::TRUE]));
    Ok(())
}
