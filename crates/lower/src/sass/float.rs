//! Single and double precision arithmetic, comparisons, special functions.
//!
//! Choices where nothing is published:
//! 1. `MUFU` returns the true value rounded to nearest (error below 0.5001 ulp, see [`num::approx`]);
//!    hardware's last bits come from its tables. Subnormal operands and results are zero, except for `.TANH`:
//!    compiled code scales operands and results for this. `.SIN` and `.COS` take turns: compiled code multiplies
//!    by 1/2pi first.
//! 2. `FCHK` selects the slow path of a division wherever a step of the fast path could produce a number that
//!    is not normal, including zero dividends. Both paths give the same quotient.
//! 3. `DSETP.MIN` and `.MAX`: the first predicate selects the first operand, the second reports that both are
//!    NaN. Compiled code selects by the first and uses the second to turn the second operand into a quiet NaN.
//!    -0 is less than +0.
//! 4. `.FMZ`: `.FTZ`, and a product with a zero factor is +0, whatever the other factor is.

use super::builder::{Builder, Lowered};
use super::operand::{operands, sign_of};
use exec::compare::{Combine, CompareType, Comparison, Relation};
use exec::convert::{Cvt, Numeric};
use exec::float::{Float1, Float2, Float3, Modifiers};
use exec::int::{Int2, Int3};
use exec::lanes::{Pred, Reg};
use exec::op::Op;
use num::{Mode, Rounding};
use sass::decode::modifier::{self, Compare, Function, Round, Scale, key};
use sass::decode::operand::{Constant, PT, Register, Sign};
use sass::decode::{SassInst, SassOperand};

/// Sign bit of a single-precision number.
const SIGN: u32 = 0x8000_0000;
/// Sign bits of a pair of halves.
pub(super) const HALF_SIGNS: u32 = 0x8000_8000;
/// Rounding, `.FTZ` and `.SAT` of an instruction.
pub(super) fn mode(inst: &SassInst) -> Mode {
    Mode { round: rounding(inst), ftz: inst.has(key::FTZ) || inst.has(key::FMZ), sat: inst.has(key::SATURATE) }
}

/// Rounding of a result.
pub(super) fn rounding(inst: &SassInst) -> Rounding {
    rounding_of(inst.modifier(key::ROUND))
}

/// Nearest, if the instruction says nothing.
pub(super) fn rounding_of(round: Option<Round>) -> Rounding {
    match round {
        Some(Round::Down) => Rounding::Down,
        Some(Round::Up) => Rounding::Up,
        Some(Round::Zero) => Rounding::Zero,
        Some(Round::Nearest) | None => Rounding::NearestEven,
    }
}

pub(super) fn modifiers(mode: Mode) -> Modifiers {
    Modifiers { mode, ..Modifiers::default() }
}

/// How a comparison is combined with a predicate.
pub(super) fn combine(inst: &SassInst) -> Combine {
    match inst.modifier(key::COMBINE) {
        Some(modifier::Combine::Or) => Combine::Or,
        Some(modifier::Combine::Xor) => Combine::Xor,
        Some(modifier::Combine::And) | None => Combine::And,
    }
}

/// The comparison of an instruction and its operands; zeros for a comparison that always or never holds.
pub(super) fn comparison(b: &mut Builder<'_>, inst: &SassInst, ty: CompareType, s: [Reg; 2]) -> (Comparison, [Reg; 2]) {
    let ftz = inst.has(key::FTZ);
    let relation = match inst.modifier(key::COMPARE) {
        Some(Compare::Lt) => Relation::Lt,
        Some(Compare::Eq) => Relation::Eq,
        Some(Compare::Le) => Relation::Le,
        Some(Compare::Gt) => Relation::Gt,
        Some(Compare::Ne) => Relation::Ne,
        Some(Compare::Ge) => Relation::Ge,
        Some(Compare::Num) => Relation::Num,
        Some(Compare::Nan) => Relation::Nan,
        Some(Compare::Ltu) => Relation::Ltu,
        Some(Compare::Equ) => Relation::Equ,
        Some(Compare::Leu) => Relation::Leu,
        Some(Compare::Gtu) => Relation::Gtu,
        Some(Compare::Neu) => Relation::Neu,
        Some(Compare::Geu) => Relation::Geu,
        always => {
            let zero = b.constant(0);
            let relation = if always == Some(Compare::Always) { Relation::Eq } else { Relation::Ne };
            return (Comparison { relation, ty, ftz }, [zero; 2]);
        }
    };
    (Comparison { relation, ty, ftz }, s)
}

impl Builder<'_> {
    /// A source with its absolute value, and whether it must be negated.
    fn magnitude(&mut self, operand: SassOperand) -> Lowered<(Reg, bool)> {
        let sign = sign_of(operand);
        let s = self.source(operand)?;
        Ok((self.signed_bits(s, Sign { negate: false, ..sign }, SIGN), sign.negate))
    }

    /// The same in double precision.
    fn magnitude64(&mut self, operand: SassOperand) -> Lowered<(Reg, bool)> {
        let negate = sign_of(operand).negate;
        let without = match operand {
            SassOperand::Register(r) => SassOperand::Register(Register { sign: Sign { negate: false, ..r.sign }, ..r }),
            SassOperand::Constant(c) => SassOperand::Constant(Constant { sign: Sign { negate: false, ..c.sign }, ..c }),
            other => other,
        };
        Ok((self.double_source(without)?, negate))
    }

    fn negated(&mut self, s: Reg, negate: bool) -> Reg {
        self.signed_bits(s, Sign { negate, ..Sign::default() }, SIGN)
    }

    fn negated64(&mut self, s: Reg, negate: bool) -> Reg {
        if !negate {
            return s;
        }
        let d = self.scratch(2);
        self.emit(Op::Float1(Float1::NegF64, Modifiers::default(), d, [s]));
        d
    }
}

pub(super) fn add_f32(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [d, x, y] = operands(inst)?;
    let mode = mode(inst);
    let ((x, minus_x), (y, minus_y)) = (b.magnitude(x)?, b.magnitude(y)?);
    let (subtract, s) = match (minus_x, minus_y) {
        (false, minus_y) => (minus_y, [x, y]),
        (true, false) => (true, [y, x]),
        (true, true) => (true, [b.negated(x, true), y]),
    };
    let op = match (subtract, mode == Mode::RN) {
        (false, true) => Float2::AddRnF32,
        (false, false) => Float2::AddF32,
        (true, true) => Float2::SubRnF32,
        (true, false) => Float2::SubF32,
    };
    let d = b.destination(d, 1)?;
    b.emit(Op::Float2(op, modifiers(mode), d, s));
    Ok(())
}

pub(super) fn multiply_f32(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [d, x, y] = operands(inst)?;
    let mode = mode(inst);
    let ((x, minus_x), (y, minus_y)) = (b.magnitude(x)?, b.magnitude(y)?);
    let x = b.negated(x, minus_x != minus_y);
    let [x, y] = if inst.has(key::FMZ) { factors(b, [x, y]) } else { [x, y] };
    let scale = match inst.modifier(key::SCALE) {
        Some(Scale::Eighth) => 0.125,
        Some(Scale::Quarter) => 0.25,
        Some(Scale::Half) => 0.5,
        Some(Scale::Two) => 2.0,
        Some(Scale::Four) => 4.0,
        Some(Scale::Eight) => 8.0,
        Some(Scale::One) | None => {
            let op = if mode == Mode::RN { Float2::MulRnF32 } else { Float2::MulF32 };
            let d = b.destination(d, 1)?;
            b.emit(Op::Float2(op, modifiers(mode), d, [x, y]));
            return Ok(());
        }
    };
    multiply_scaled(b, d, [x, y], scale, mode)
}

/// `x * y * scale`, rounded once: products are exact in double precision.
fn multiply_scaled(b: &mut Builder<'_>, d: SassOperand, s: [Reg; 2], scale: f64, mode: Mode) -> Lowered<()> {
    let widen = cvt(Numeric::F32, Numeric::F64, Mode { round: Rounding::NearestEven, sat: false, ..mode });
    let [x, y] = s.map(|s| {
        let wide = b.scratch(2);
        b.emit(Op::Cvt(widen, wide, s));
        wide
    });
    let scale = b.constant64(scale.to_bits());
    b.emit(Op::Float2(Float2::MulRnF64, Modifiers::default(), x, [x, y]));
    b.emit(Op::Float2(Float2::MulRnF64, Modifiers::default(), x, [x, scale]));
    let d = b.destination(d, 1)?;
    b.emit(Op::Cvt(cvt(Numeric::F64, Numeric::F32, mode), d, x));
    Ok(())
}

/// A conversion between floating-point types.
pub(super) const fn cvt(from: Numeric, to: Numeric, mode: Mode) -> Cvt {
    Cvt {
        from,
        to,
        mode,
        integral: false,
        relu: false,
        satfinite: false,
        dst_bits: to.bits() as u8,
        src_bits: from.bits() as u8,
    }
}

/// `.FMZ`: both factors, replaced by +0 if either is zero.
fn factors(b: &mut Builder<'_>, s: [Reg; 2]) -> [Reg; 2] {
    let (zero, p) = (b.constant(0), b.scratch_pred());
    let test = Comparison { relation: Relation::Eq, ty: CompareType::F32, ftz: true };
    b.emit(Op::Setp { test, s: [s[0], zero], d: [p, Pred::TRUE], with: (Combine::And, Pred::TRUE) });
    b.emit(Op::Setp { test, s: [s[1], zero], d: [p, Pred::TRUE], with: (Combine::Or, p) });
    s.map(|s| {
        let d = b.scratch(1);
        b.emit(Op::Selp { d, s: [zero, s], wide: false, p });
        d
    })
}

pub(super) fn fuse_f32(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [d, x, y, z] = operands(inst)?;
    let mode = mode(inst);
    let ((x, minus_x), (y, minus_y), (z, minus_z)) = (b.magnitude(x)?, b.magnitude(y)?, b.magnitude(z)?);
    let minus_product = minus_x != minus_y;
    if mode != Mode::RN {
        let (x, z) = (b.negated(x, minus_product), b.negated(z, minus_z));
        let [x, y] = if inst.has(key::FMZ) { factors(b, [x, y]) } else { [x, y] };
        let d = b.destination(d, 1)?;
        b.emit(Op::Float3(Float3::FmaF32, modifiers(mode), d, [x, y, z]));
        return Ok(());
    }
    let (op, x) = match (minus_product, minus_z) {
        (false, false) => (Float3::FmaRnF32, x),
        (true, false) => (Float3::FnmaRnF32, x),
        (false, true) => (Float3::FmsRnF32, x),
        (true, true) => (Float3::FmsRnF32, b.negated(x, true)),
    };
    let d = b.destination(d, 1)?;
    b.emit(Op::Float3(op, Modifiers::default(), d, [x, y, z]));
    Ok(())
}

/// The operands of a minimum or maximum. `.XORSIGN` compares absolute values, which compiled code requests on
/// the operands, and xors their signs into the result: the operation does both.
pub(super) fn compared(inst: &SassInst, operands: [SassOperand; 2]) -> Lowered<[SassOperand; 2]> {
    if !inst.has(key::XOR_SIGN) {
        return Ok(operands);
    }
    let plain = |operand| match operand {
        SassOperand::Register(r) if r.sign == ABSOLUTE => {
            Ok(SassOperand::Register(Register { sign: Sign::default(), ..r }))
        }
        SassOperand::Constant(c) if c.sign == ABSOLUTE => {
            Ok(SassOperand::Constant(Constant { sign: Sign::default(), ..c }))
        }
        SassOperand::Immediate { .. } | SassOperand::HalfPair { .. } => Ok(operand),
        _ => Err(".XORSIGN of other than absolute values is not executable".to_owned()),
    };
    Ok([plain(operands[0])?, plain(operands[1])?])
}

const ABSOLUTE: Sign = Sign { negate: false, absolute: true, invert: false };

pub(super) fn min_max(
    b: &mut Builder<'_>,
    inst: &SassInst,
    d: SassOperand,
    s: [Reg; 2],
    p: SassOperand,
    [min, max]: [Float2; 2],
) -> Lowered<()> {
    let m = Modifiers { nan: inst.has(key::NAN), xorsign_abs: inst.has(key::XOR_SIGN), ..modifiers(mode(inst)) };
    let fixed = match p {
        SassOperand::Predicate { index: PT, not, .. } => Some(if not { max } else { min }),
        _ => None,
    };
    if let Some(op) = fixed {
        let d = b.destination(d, 1)?;
        b.emit(Op::Float2(op, m, d, s));
        return Ok(());
    }
    let results = [b.scratch(1), b.scratch(1)];
    b.emit(Op::Float2(min, m, results[0], s));
    b.emit(Op::Float2(max, m, results[1], s));
    let (d, p) = (b.destination(d, 1)?, b.pred(p)?);
    b.emit(Op::Selp { d, s: results, wide: false, p });
    Ok(())
}

/// `FMNMX`.
pub(super) fn extreme(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [d, x, y, p] = operands(inst)?;
    let [x, y] = compared(inst, [x, y])?;
    let s = [b.float_source(x)?, b.float_source(y)?];
    min_max(b, inst, d, s, p, [Float2::MinF32, Float2::MaxF32])
}

/// `FSET`.
pub(super) fn set(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [d, x, y, r] = operands(inst)?;
    let (s, r) = ([b.float_source(x)?, b.float_source(y)?], b.pred(r)?);
    let (test, s) = comparison(b, inst, CompareType::F32, s);
    let d = b.destination(d, 1)?;
    b.emit(Op::Set { test, s, d, holds: 1f32.to_bits(), with: (combine(inst), r) });
    Ok(())
}

/// `FSETP`.
pub(super) fn compare_f32(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [p, q, x, y, r] = operands(inst)?;
    let (s, r) = ([b.float_source(x)?, b.float_source(y)?], b.pred(r)?);
    let (test, s) = comparison(b, inst, CompareType::F32, s);
    let d = [b.pred(p)?, b.pred(q)?];
    b.emit(Op::Setp { test, s, d, with: (combine(inst), r) });
    Ok(())
}

pub(super) fn select(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [d, x, y, p] = operands(inst)?;
    let (s, p) = ([b.float_source(x)?, b.float_source(y)?], b.pred(p)?);
    let d = b.destination(d, 1)?;
    if !inst.has(key::FTZ) {
        b.emit(Op::Selp { d, s, wide: false, p });
        return Ok(());
    }
    // Negating twice flushes and has no other effect.
    let t = b.scratch(1);
    b.emit(Op::Selp { d: t, s, wide: false, p });
    b.emit(Op::Float1(Float1::NegF32, modifiers(Mode::RN_FTZ), t, [t]));
    b.emit(Op::Float1(Float1::NegF32, modifiers(Mode::RN_FTZ), d, [t]));
    Ok(())
}

/// Biased exponents for which the fast path of a division is exact. Dividend: the remainder, 2^-47 of it,
/// must be normal or an exact subnormal. Divisor and quotient: both and the divisor's reciprocal must be
/// normal.
const DIVIDEND_EXPONENTS: [u32; 2] = [27, 253];
const DIVISOR_EXPONENTS: [u32; 2] = [2, 252];
const QUOTIENT_EXPONENTS: [u32; 2] = [3, 252];
/// Bias of exponents.
const BIAS: u32 = 127;

pub(super) fn check_division(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [p, x, y] = operands(inst)?;
    let (position, length) = (b.constant(23), b.constant(8));
    let mut exponents = [Reg(0); 3];
    for (exponent, operand) in exponents.iter_mut().zip([x, y]) {
        let s = b.source(operand)?;
        *exponent = b.scratch(1);
        b.emit(Op::Int3(Int3::BfeU32, *exponent, [s, position, length]));
    }
    let (quotient, bias) = (b.scratch(1), b.constant(BIAS));
    b.emit(Op::Int2(Int2::Sub32, quotient, [exponents[0], exponents[1]]));
    b.emit(Op::Int2(Int2::Add32, quotient, [quotient, bias]));
    exponents[2] = quotient;
    let (d, found) = (b.pred(p)?, b.scratch_pred());
    let test = Comparison { relation: Relation::Gt, ty: CompareType::U32, ftz: false };
    let mut with = (Combine::And, Pred::TRUE);
    let bounds = [DIVIDEND_EXPONENTS, DIVISOR_EXPONENTS, QUOTIENT_EXPONENTS];
    for (i, (exponent, [least, most])) in exponents.into_iter().zip(bounds).enumerate() {
        let (t, least, range) = (b.scratch(1), b.constant(least), b.constant(most - least));
        b.emit(Op::Int2(Int2::Sub32, t, [exponent, least]));
        let to = if i == 2 { d } else { found };
        b.emit(Op::Setp { test, s: [t, range], d: [to, Pred::TRUE], with });
        with = (Combine::Or, found);
    }
    Ok(())
}

pub(super) fn special_function(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [d, x] = operands(inst)?;
    let function = match inst.modifier(key::FUNCTION) {
        Some(Function::Cos) => Float1::CosTurns,
        Some(Function::Sin) => Float1::SinTurns,
        Some(Function::Ex2) => Float1::Ex2Approx,
        Some(Function::Lg2) => Float1::Lg2Approx,
        Some(Function::Rcp) => Float1::RcpApprox,
        Some(Function::Rsq) => Float1::RsqrtApprox,
        Some(Function::Rcp64H) => Float1::RcpHighF64,
        Some(Function::Rsq64H) => Float1::RsqrtHighF64,
        Some(Function::Sqrt) => Float1::SqrtApprox,
        Some(Function::Tanh) => Float1::TanhApprox,
        None => return Err("this function is not executable".into()),
    };
    let (half, bf16) = (inst.has(key::HALF), inst.has(key::BF16));
    let (s, function) = if half || bf16 {
        let function = match (function, bf16) {
            (Float1::Ex2Approx, false) => Float1::Ex2F16,
            (Float1::TanhApprox, false) => Float1::TanhF16,
            (Float1::Ex2Approx, true) => Float1::Ex2Bf16,
            (Float1::TanhApprox, true) => Float1::TanhBf16,
            _ => return Err("of halves, only EX2 and TANH are executable".into()),
        };
        (b.float_source_of(x, Numeric::F16)?, function)
    } else {
        (b.float_source(x)?, function)
    };
    let mode = if function == Float1::Ex2F16 { Mode::RN } else { Mode::RN_FTZ };
    let d = b.destination(d, 1)?;
    b.emit(Op::Float1(function, modifiers(mode), d, [s]));
    Ok(())
}

pub(super) fn add_f64(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [d, x, y] = operands(inst)?;
    let mode = mode(inst);
    let ((x, minus_x), (y, minus_y)) = (b.magnitude64(x)?, b.magnitude64(y)?);
    let (subtract, s) = match (minus_x, minus_y) {
        (false, minus_y) => (minus_y, [x, y]),
        (true, false) => (true, [y, x]),
        (true, true) => (true, [b.negated64(x, true), y]),
    };
    let op = match (subtract, mode == Mode::RN) {
        (false, true) => Float2::AddRnF64,
        (false, false) => Float2::AddF64,
        (true, true) => Float2::SubRnF64,
        (true, false) => Float2::SubF64,
    };
    let d = b.destination(d, 2)?;
    b.emit(Op::Float2(op, modifiers(mode), d, s));
    Ok(())
}

pub(super) fn multiply_f64(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [d, x, y] = operands(inst)?;
    let mode = mode(inst);
    let ((x, minus_x), (y, minus_y)) = (b.magnitude64(x)?, b.magnitude64(y)?);
    let x = b.negated64(x, minus_x != minus_y);
    let op = if mode == Mode::RN { Float2::MulRnF64 } else { Float2::MulF64 };
    let d = b.destination(d, 2)?;
    b.emit(Op::Float2(op, modifiers(mode), d, [x, y]));
    Ok(())
}

pub(super) fn fuse_f64(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [d, x, y, z] = operands(inst)?;
    let mode = mode(inst);
    let ((x, minus_x), (y, minus_y), (z, minus_z)) = (b.magnitude64(x)?, b.magnitude64(y)?, b.magnitude64(z)?);
    let minus_product = minus_x != minus_y;
    let (op, x, z) = match (minus_product, minus_z) {
        _ if mode != Mode::RN => (Float3::FmaF64, b.negated64(x, minus_product), b.negated64(z, minus_z)),
        (false, false) => (Float3::FmaRnF64, x, z),
        (true, false) => (Float3::FnmaRnF64, x, z),
        (false, true) => (Float3::FmsRnF64, x, z),
        (true, true) => (Float3::FmsRnF64, b.negated64(x, true), z),
    };
    let d = b.destination(d, 2)?;
    b.emit(Op::Float3(op, modifiers(mode), d, [x, y, z]));
    Ok(())
}

pub(super) fn compare_f64(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [p, q, x, y, r] = operands(inst)?;
    let s = [b.double_source(x)?, b.double_source(y)?];
    let (d, with) = ([b.pred(p)?, b.pred(q)?], (combine(inst), b.pred(r)?));
    let better = match inst.modifier(key::COMPARE) {
        Some(Compare::Min) => Float2::MinF64,
        Some(Compare::Max) => Float2::MaxF64,
        _ => {
            let (test, s) = comparison(b, inst, CompareType::F64, s);
            b.emit(Op::Setp { test, s, d, with });
            return Ok(());
        }
    };
    let chosen = b.scratch(2);
    b.emit(Op::Float2(better, Modifiers::default(), chosen, s));
    // The selected number is the first operand, bit for bit, if that is a number.
    let [is_first, both_nan, second_nan] = [b.scratch_pred(), b.scratch_pred(), b.scratch_pred()];
    let test = |relation, ty| Comparison { relation, ty, ftz: false };
    let and = |p| (Combine::And, p);
    let nan = test(Relation::Nan, CompareType::F64);
    b.emit(Op::Setp { test: nan, s: [s[1]; 2], d: [second_nan, Pred::TRUE], with: and(Pred::TRUE) });
    // In order: the first operand is a number; it is NaN, and the second one too.
    b.emit(Op::Setp { test: nan, s: [s[0]; 2], d: [Pred::TRUE, is_first], with: and(Pred::TRUE) });
    b.emit(Op::Setp { test: nan, s: [s[0]; 2], d: [both_nan, Pred::TRUE], with: and(second_nan) });
    let same = test(Relation::Eq, CompareType::U64);
    b.emit(Op::Setp { test: same, s: [chosen, s[0]], d: [is_first, Pred::TRUE], with: and(is_first) });
    let combined = b.scratch_pred();
    b.emit(Op::PredLogic(with.0, combined, [is_first, with.1]));
    b.emit(Op::PredLogic(with.0, d[1], [both_nan, with.1]));
    b.emit(Op::PredLogic(Combine::And, d[0], [combined, Pred::TRUE]));
    Ok(())
}
