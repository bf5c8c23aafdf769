//! f32 arithmetic, exactly rounded in every mode (PTX ISA, "Floating Point Instructions": `add`,
//! `sub`, `mul`, `fma`, `mad`, `div`, `rcp`, `sqrt`, `min`, `max`, `abs`, `neg`, `copysign`, `testp`).
//!
//! Operations with a [`Mode`] accept any modifiers. Those ending in `_rn` are the plain ones, which most code
//! uses; loops over lanes should call them where the modifiers allow it.
//!
//! The directed modes are exact for this reason: f32 operands are exact in f64, where a product is exact (48
//! bits of 53), a sum can be rounded to odd, and a quotient or square root that is not itself an f32 differs
//! from every f32, and from every midpoint of two, by more than f64's rounding error. One more rounding, to
//! f32, therefore gives the exact result rounded once.

use crate::format::odd_sum;
use crate::{Mode, Rounding};

/// The NaN that NVIDIA GPUs return: `0x7fffffff`.
pub const NAN: f32 = f32::from_bits(0x7fff_ffff);

/// `x`, or the canonical NaN if it is any NaN.
#[inline(always)]
pub fn canonical(x: f32) -> f32 {
    // On bits: the compiler may take any NaN for any other in a selection between floats.
    let bits = x.to_bits();
    f32::from_bits(if bits & 0x7fff_ffff > 0x7f80_0000 { 0x7fff_ffff } else { bits })
}

/// `x`, or zero of its sign if it is subnormal.
#[inline(always)]
pub fn flush(x: f32) -> f32 {
    let bits = x.to_bits();
    f32::from_bits(if bits & 0x7f80_0000 == 0 { bits & 0x8000_0000 } else { bits })
}

/// `x` clamped to [+0, 1]; NaN and -0 become +0 (`.sat`).
#[inline(always)]
pub fn saturate(x: f32) -> f32 {
    let x = if x > 0.0 { x } else { 0.0 };
    if x < 1.0 { x } else { 1.0 }
}

#[inline(always)]
fn operand(x: f32, mode: Mode) -> f32 {
    if mode.ftz { flush(x) } else { x }
}

#[inline(always)]
fn finish(x: f32, mode: Mode) -> f32 {
    let x = if mode.ftz { flush(x) } else { x };
    if mode.sat { saturate(x) } else { canonical(x) }
}

/// Rounds `x` to f32; NaN stays some NaN.
#[inline]
pub(crate) fn narrow(x: f64, round: Rounding) -> f32 {
    let nearest = x as f32;
    let back = f64::from(nearest);
    match round {
        Rounding::NearestEven => nearest,
        Rounding::Down if back > x => nearest.next_down(),
        Rounding::Up if back < x => nearest.next_up(),
        Rounding::Zero if back.abs() > x.abs() => f32::from_bits(nearest.to_bits() - 1),
        Rounding::NearestAway => f32::from_bits(crate::format::F32.round_f64(x, round, 0x7fff_ffff) as u32),
        _ => nearest,
    }
}

/// `x + y` rounded to odd in f64, with the sign that an exact zero has in mode `round`.
#[inline]
fn sum(x: f64, y: f64, round: Rounding) -> f64 {
    let sum = odd_sum(x, y);
    let negative_zero = round == Rounding::Down && (x.is_sign_negative() || y.is_sign_negative());
    if sum == 0.0 && negative_zero { -0.0 } else { sum }
}

/// `add.rn.f32`.
#[inline(always)]
pub fn add_rn(a: f32, b: f32) -> f32 {
    canonical(a + b)
}

/// `sub.rn.f32`.
#[inline(always)]
pub fn sub_rn(a: f32, b: f32) -> f32 {
    canonical(a - b)
}

/// `mul.rn.f32`.
#[inline(always)]
pub fn mul_rn(a: f32, b: f32) -> f32 {
    canonical(a * b)
}

/// `fma.rn.f32`: `a * b + c` rounded once.
#[inline(always)]
pub fn fma_rn(a: f32, b: f32, c: f32) -> f32 {
    canonical(fused(a, b, c))
}

/// `a * b + c` rounded once, to nearest even. Uses the host's instruction if the build may assume one,
/// otherwise f64 with rounding to odd, which is also free of calls.
#[inline(always)]
fn fused(a: f32, b: f32, c: f32) -> f32 {
    if cfg!(any(target_feature = "fma", target_arch = "aarch64")) {
        a.mul_add(b, c)
    } else {
        odd_sum(f64::from(a) * f64::from(b), f64::from(c)) as f32
    }
}

/// `add{.rnd}{.ftz}{.sat}.f32`.
#[inline]
pub fn add(a: f32, b: f32, mode: Mode) -> f32 {
    let (a, b) = (operand(a, mode), operand(b, mode));
    let result = match mode.round {
        Rounding::NearestEven => a + b,
        round => narrow(sum(f64::from(a), f64::from(b), round), round),
    };
    finish(result, mode)
}

/// `sub{.rnd}{.ftz}{.sat}.f32`.
#[inline]
pub fn sub(a: f32, b: f32, mode: Mode) -> f32 {
    add(a, -b, mode)
}

/// `mul{.rnd}{.ftz}{.sat}.f32`.
#[inline]
pub fn mul(a: f32, b: f32, mode: Mode) -> f32 {
    let (a, b) = (operand(a, mode), operand(b, mode));
    let result = match mode.round {
        Rounding::NearestEven => a * b,
        round => narrow(f64::from(a) * f64::from(b), round),
    };
    finish(result, mode)
}

/// `fma.rnd{.ftz}{.sat}.f32` and `mad.rnd.f32`: `a * b + c` rounded once.
#[inline]
pub fn fma(a: f32, b: f32, c: f32, mode: Mode) -> f32 {
    let (a, b, c) = (operand(a, mode), operand(b, mode), operand(c, mode));
    let result = match mode.round {
        Rounding::NearestEven => fused(a, b, c),
        round => narrow(sum(f64::from(a) * f64::from(b), f64::from(c), round), round),
    };
    finish(result, mode)
}

/// `div.rnd{.ftz}.f32`.
#[inline]
pub fn div(a: f32, b: f32, mode: Mode) -> f32 {
    let (a, b) = (operand(a, mode), operand(b, mode));
    let result = match mode.round {
        Rounding::NearestEven => a / b,
        round => narrow(f64::from(a) / f64::from(b), round),
    };
    finish(result, mode)
}

/// `rcp.rnd{.ftz}.f32`.
#[inline]
pub fn rcp(a: f32, mode: Mode) -> f32 {
    div(1.0, a, mode)
}

/// `sqrt.rnd{.ftz}.f32`. The root of -0 is -0, of another negative number NaN.
#[inline]
pub fn sqrt(a: f32, mode: Mode) -> f32 {
    let a = operand(a, mode);
    let result = match mode.round {
        Rounding::NearestEven => a.sqrt(),
        round => narrow(f64::from(a).sqrt(), round),
    };
    finish(result, mode)
}

/// `abs{.ftz}.f32`. A NaN only loses its sign (the ISA leaves its payload open).
#[inline(always)]
pub fn abs(a: f32, ftz: bool) -> f32 {
    (if ftz { flush(a) } else { a }).abs()
}

/// `neg{.ftz}.f32`. A NaN only changes its sign (the ISA leaves its payload open).
#[inline(always)]
pub fn neg(a: f32, ftz: bool) -> f32 {
    -(if ftz { flush(a) } else { a })
}

/// `copysign.f32`: the magnitude of `b` with the sign of `a` (the PTX order of operands).
#[inline(always)]
pub fn copysign(a: f32, b: f32) -> f32 {
    b.copysign(a)
}

/// Modifiers of `min` and `max`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub struct MinMax {
    pub ftz: bool,
    /// `.NaN`: any NaN operand gives the canonical NaN; otherwise the other operand is returned.
    pub nan: bool,
    /// `.xorsign.abs`: compares magnitudes; the result's sign is the exclusive or of the operands'.
    pub xorsign_abs: bool,
}

/// `min{.ftz}{.NaN}{.xorsign.abs}.f32`: -0 is less than +0; two NaNs give the canonical NaN.
#[inline]
pub fn min(a: f32, b: f32, flags: MinMax) -> f32 {
    select(a, b, flags, |a, b| a < b || (a == b && a.is_sign_negative()))
}

/// `max{.ftz}{.NaN}{.xorsign.abs}.f32`: +0 is greater than -0; two NaNs give the canonical NaN.
#[inline]
pub fn max(a: f32, b: f32, flags: MinMax) -> f32 {
    select(a, b, flags, |a, b| a > b || (a == b && a.is_sign_positive()))
}

/// The operand that `first` selects, with the rules for NaN.
#[inline(always)]
fn select(a: f32, b: f32, flags: MinMax, first: impl Fn(f32, f32) -> bool) -> f32 {
    let (a, b) = if flags.ftz { (flush(a), flush(b)) } else { (a, b) };
    let sign = (a.to_bits() ^ b.to_bits()) & 0x8000_0000;
    let (a, b) = if flags.xorsign_abs { (a.abs(), b.abs()) } else { (a, b) };
    let result = if first(a, b) || b.is_nan() { a } else { b };
    let result = if flags.nan && (a.is_nan() || b.is_nan()) { NAN } else { canonical(result) };
    if flags.xorsign_abs && !result.is_nan() { f32::from_bits(result.to_bits() | sign) } else { result }
}

/// Classes of `testp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum TestClass {
    /// Neither infinite nor NaN.
    Finite,
    Infinite,
    Number,
    NotANumber,
    /// Neither NaN, infinite nor subnormal; the ISA counts zero as normal here.
    Normal,
    /// Subnormal and not zero.
    Subnormal,
}

/// `testp.class.f32`.
#[inline]
pub fn testp(a: f32, class: TestClass) -> bool {
    match class {
        TestClass::Finite => a.is_finite(),
        TestClass::Infinite => a.is_infinite(),
        TestClass::Number => !a.is_nan(),
        TestClass::NotANumber => a.is_nan(),
        TestClass::Normal => a.is_normal() || a == 0.0,
        TestClass::Subnormal => a.is_subnormal(),
    }
}
