//! f64 arithmetic, exactly rounded in every mode (PTX ISA, "Floating Point Instructions").
//!
//! For rounding to nearest even the host's operations are used, including `fma`: IEEE 754 determines their
//! results. The directed modes compute exactly in 128-bit integers and round once.

use crate::Rounding;
use crate::exact::Exact;
pub use crate::float32::TestClass;

/// The NaN result of operations: `0xfff8000000000000` (see the crate's documentation).
pub const NAN: f64 = f64::from_bits(0xfff8_0000_0000_0000);

/// `x`, or the canonical NaN if it is any NaN.
#[inline(always)]
pub fn canonical(x: f64) -> f64 {
    // Selects by bits: the compiler may replace a NaN by another one in a selection between floats.
    let bits = x.to_bits();
    f64::from_bits(if bits & (u64::MAX >> 1) > 0x7ff0_0000_0000_0000 { 0xfff8_0000_0000_0000 } else { bits })
}

/// `add.rn.f64`.
#[inline(always)]
pub fn add_rn(a: f64, b: f64) -> f64 {
    canonical(a + b)
}

/// `sub.rn.f64`.
#[inline(always)]
pub fn sub_rn(a: f64, b: f64) -> f64 {
    canonical(a - b)
}

/// `mul.rn.f64`.
#[inline(always)]
pub fn mul_rn(a: f64, b: f64) -> f64 {
    canonical(a * b)
}

/// `fma.rn.f64`: `a * b + c` rounded once.
#[inline(always)]
pub fn fma_rn(a: f64, b: f64, c: f64) -> f64 {
    canonical(a.mul_add(b, c))
}

/// Whether all operands are finite; if not, the host's result is correct in every mode.
#[inline]
fn finite(operands: &[f64]) -> bool {
    operands.iter().all(|x| x.is_finite())
}

/// `add{.rnd}.f64`.
#[inline]
pub fn add(a: f64, b: f64, round: Rounding) -> f64 {
    if round == Rounding::NearestEven || !finite(&[a, b]) {
        return add_rn(a, b);
    }
    Exact::of(a).add(Exact::of(b), round).round(round)
}

/// `sub{.rnd}.f64`.
#[inline]
pub fn sub(a: f64, b: f64, round: Rounding) -> f64 {
    add(a, -b, round)
}

/// `mul{.rnd}.f64`.
#[inline]
pub fn mul(a: f64, b: f64, round: Rounding) -> f64 {
    if round == Rounding::NearestEven || !finite(&[a, b]) {
        return mul_rn(a, b);
    }
    Exact::of(a).mul(Exact::of(b)).round(round)
}

/// `fma.rnd.f64` and `mad.rnd.f64`: `a * b + c` rounded once.
#[inline]
pub fn fma(a: f64, b: f64, c: f64, round: Rounding) -> f64 {
    if round == Rounding::NearestEven || !finite(&[a, b, c]) {
        return fma_rn(a, b, c);
    }
    Exact::of(a).mul(Exact::of(b)).add(Exact::of(c), round).round(round)
}

/// `div.rnd.f64`.
#[inline]
pub fn div(a: f64, b: f64, round: Rounding) -> f64 {
    if round == Rounding::NearestEven || b == 0.0 || !finite(&[a, b]) {
        return canonical(a / b);
    }
    Exact::of(a).div(Exact::of(b)).round(round)
}

/// `rcp.rnd.f64`.
#[inline]
pub fn rcp(a: f64, round: Rounding) -> f64 {
    div(1.0, a, round)
}

/// `sqrt.rnd.f64`. The root of -0 is -0, of another negative number NaN.
#[inline]
pub fn sqrt(a: f64, round: Rounding) -> f64 {
    if round == Rounding::NearestEven || a < 0.0 || !a.is_finite() {
        return canonical(a.sqrt());
    }
    Exact::of(a).sqrt().round(round)
}

/// `abs.f64`.
#[inline(always)]
pub fn abs(a: f64) -> f64 {
    a.abs()
}

/// `neg.f64`.
#[inline(always)]
pub fn neg(a: f64) -> f64 {
    -a
}

/// `copysign.f64`: the magnitude of `b` with the sign of `a` (the PTX order of operands).
#[inline(always)]
pub fn copysign(a: f64, b: f64) -> f64 {
    b.copysign(a)
}

/// `min.f64`: of a NaN and a number, the number; -0 is less than +0.
#[inline]
pub fn min(a: f64, b: f64) -> f64 {
    let first = a < b || (a == b && a.is_sign_negative()) || b.is_nan();
    canonical(if first { a } else { b })
}

/// `max.f64`: of a NaN and a number, the number; +0 is greater than -0.
#[inline]
pub fn max(a: f64, b: f64) -> f64 {
    let first = a > b || (a == b && a.is_sign_positive()) || b.is_nan();
    canonical(if first { a } else { b })
}

/// `x` clamped to [+0, 1]; NaN and -0 become +0 (`cvt.sat.f64`).
#[inline]
pub fn saturate(x: f64) -> f64 {
    let x = if x > 0.0 { x } else { 0.0 };
    if x < 1.0 { x } else { 1.0 }
}

/// `testp.class.f64`.
#[inline]
pub fn testp(a: f64, class: TestClass) -> bool {
    match class {
        TestClass::Finite => a.is_finite(),
        TestClass::Infinite => a.is_infinite(),
        TestClass::Number => !a.is_nan(),
        TestClass::NotANumber => a.is_nan(),
        TestClass::Normal => a.is_normal() || a == 0.0,
        TestClass::Subnormal => a.is_subnormal(),
    }
}
