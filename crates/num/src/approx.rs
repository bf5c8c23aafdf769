//! Approximate functions (PTX ISA, `.approx` and `.full` forms).
//!
//! Hardware computes these from tables with a quadratic interpolation; its exact bits are not published. Ours
//! are the true value computed in f64 (by the pure-Rust `libm` crate, so the same on every machine, within
//! one f64 ulp) and rounded to f32. The error is therefore below 0.5001 ulp: relative 2^-23.99 for normal
//! results. That is within each of the ISA's bounds, which the tests check:
//!
//! | function | ISA's bound | ours |
//! | --- | --- | --- |
//! | `rcp`, `ex2` | 1, 2 ulp | 0.5001 ulp (`rcp`: 1 ulp of subnormals) |
//! | `div.full`, `div.approx` | 2, 2 ulp | 1.5 ulp: a reciprocal, multiplied |
//! | `sqrt`, `rsqrt` | relative 2^-23, 2^-22.9 | 2^-23.99 |
//! | `lg2` | 2^-22 absolute in (0.5, 2), relative elsewhere | 2^-23.99 relative |
//! | `sin`, `cos` | 2^-20.5 absolute to 2 pi, 2^-14.7 to 100 pi | the same: of the argument in turns |
//! | `tanh.f32` | relative 2^-11 | 2^-23.99 |
//! | `ex2.f16`, `ex2.bf16` | relative 2^-9.9, 2^-7 | 2^-11, 2^-8 |
//! | `tanh.f16`, `tanh.bf16` | absolute 2^-10.987, 2^-8 | 2^-12, 2^-9 |
//!
//! Quotients, reciprocals, sines, cosines and `rsqrt.approx.f64` are computed from the table's values in the
//! same steps as in the machine code of NVIDIA's assembler, so that PTX and machine code have the same bits.

use crate::float32::{canonical, flush};
use crate::half::{self, Half};
use crate::{Mode, Rounding, float32, float64};

/// Applies the f64 function `f` with the rules for `.ftz` and NaN.
#[inline(always)]
fn through_f64(a: f32, ftz: bool, f: impl Fn(f64) -> f64) -> f32 {
    let a = if ftz { flush(a) } else { a };
    let result = f(f64::from(a)) as f32;
    canonical(if ftz { flush(result) } else { result })
}

/// Above 2^126 reciprocals are subnormal.
const LARGE: f32 = f32::from_bits(0x7e80_0000);

/// `rcp.approx{.ftz}.f32`: 1 / a. Zero gives infinity of the same sign. The table flushes subnormals; without
/// `ftz`, arguments are scaled into its range.
#[inline]
pub fn rcp(a: f32, ftz: bool) -> f32 {
    let scale = match a.abs() {
        _ if ftz => return through_f64(a, true, |x| 1.0 / x),
        x if x < f32::MIN_POSITIVE => 2f32.powi(24),
        x if x > LARGE => 0.25,
        _ => 1.0,
    };
    canonical(rcp(a * scale, true) * scale)
}

/// `sqrt.approx{.ftz}.f32`. The root of -0 is -0, of any other negative number NaN.
#[inline]
pub fn sqrt(a: f32, ftz: bool) -> f32 {
    through_f64(a, ftz, f64::sqrt)
}

/// `rsqrt.approx{.ftz}.f32`: 1 / sqrt(a). Zero gives infinity of the same sign, a negative number NaN.
#[inline]
pub fn rsqrt(a: f32, ftz: bool) -> f32 {
    through_f64(a, ftz, |x| 1.0 / x.sqrt())
}

/// `ex2.approx{.ftz}.f32`: 2 to the power of a.
#[inline]
pub fn ex2(a: f32, ftz: bool) -> f32 {
    through_f64(a, ftz, libm::exp2)
}

/// `lg2.approx{.ftz}.f32`: logarithm to base 2. Zero gives -infinity, a negative number NaN.
#[inline]
pub fn lg2(a: f32, ftz: bool) -> f32 {
    through_f64(a, ftz, libm::log2)
}

/// `sin.approx{.ftz}.f32`, argument in radians. Infinity gives NaN. Subnormals count as zero with and without
/// `.ftz`, as in the table.
#[inline]
pub fn sin(a: f32) -> f32 {
    sin_turns(turns(a), true)
}

/// `cos.approx{.ftz}.f32`, argument in radians. Infinity gives NaN.
#[inline]
pub fn cos(a: f32) -> f32 {
    cos_turns(turns(a), true)
}

/// Converts radians to turns: the product with 1/2pi, rounded to zero.
#[inline]
fn turns(a: f32) -> f32 {
    const TURN: f32 = f32::from_bits(0x3e22_f983);
    float32::mul(a, TURN, Mode { round: Rounding::Zero, ..Mode::RN })
}

/// Sine of `a` turns. Infinity gives NaN.
#[inline]
pub fn sin_turns(a: f32, ftz: bool) -> f32 {
    through_f64(a, ftz, |x| sine(x % 1.0))
}

/// Cosine of `a` turns.
#[inline]
pub fn cos_turns(a: f32, ftz: bool) -> f32 {
    through_f64(a, ftz, |x| sine(x % 1.0 + 0.25))
}

/// Sine of at most a few turns, computed from the distance to the next half turn, which is exact.
#[inline(always)]
fn sine(turns: f64) -> f64 {
    let halves = (2.0 * turns).round_ties_even();
    let rest = if halves == 0.0 { turns } else { turns - halves / 2.0 };
    let sine = libm::sin(rest * std::f64::consts::TAU);
    if halves % 2.0 == 0.0 { sine } else { -sine }
}

/// `tanh.approx.f32`.
#[inline]
pub fn tanh(a: f32) -> f32 {
    through_f64(a, false, libm::tanh)
}

/// `div.approx{.ftz}.f32`. For a divisor of magnitude above 2^126 the ISA specifies 0 for a finite dividend
/// (NaN for an infinite one), since it multiplies by a flushed reciprocal.
#[inline]
pub fn div(a: f32, b: f32, ftz: bool) -> f32 {
    let scale = if !ftz && b.abs() < f32::MIN_POSITIVE { 2f32.powi(24) } else { 1.0 };
    quotient(a, b, scale, ftz)
}

/// `div.full{.ftz}.f32`: exact for divisors above 2^126 too, whose reciprocals are not flushed.
#[inline]
pub fn div_full(a: f32, b: f32, ftz: bool) -> f32 {
    if b.abs() > LARGE { quotient(a, b, 0.25, ftz) } else { div(a, b, ftz) }
}

/// Quotient of both operands times `scale`: the dividend times a reciprocal.
#[inline]
fn quotient(a: f32, b: f32, scale: f32, ftz: bool) -> f32 {
    let mode = Mode { ftz, ..Mode::RN };
    let [a, b] = [a, b].map(|x| if scale == 1.0 { x } else { float32::mul(x, scale, mode) });
    float32::mul(rcp(b, true), a, mode)
}

/// NaN result of the gross f64 approximations (PTX ISA, "rsqrt.approx.ftz.f64").
const GROSS_NAN: f64 = f64::from_bits(0x7fff_ffff_0000_0000);

/// `rcp.approx.ftz.f64`: a gross approximation from the upper word of `a`. The lower word of the result is
/// zero, so its mantissa has 20 bits. Subnormals count as zero; NaN is `0x7fffffff00000000`.
#[inline]
pub fn rcp_ftz_f64(a: f64) -> f64 {
    gross(a, |x| 1.0 / x)
}

/// `rsqrt.approx.ftz.f64`: a gross approximation, as [`rcp_ftz_f64`].
#[inline]
pub fn rsqrt_ftz_f64(a: f64) -> f64 {
    gross(a, |x| 1.0 / x.sqrt())
}

/// `rsqrt.approx.f64`: 1 / sqrt(a) within 1 ulp (the ISA states no bound): a third-order step from the gross
/// approximation.
#[inline]
pub fn rsqrt_f64(a: f64) -> f64 {
    if a.is_subnormal() && a > 0.0 {
        return rsqrt_f64(a * 2f64.powi(54)) * 2f64.powi(27);
    }
    if !a.is_normal() || a < 0.0 {
        return float64::canonical(1.0 / a.sqrt());
    }
    let gross = rsqrt_ftz_f64(a);
    let error = a.mul_add(-(gross * gross), 1.0);
    error.mul_add(0.375, 0.5).mul_add(gross * error, gross)
}

/// Applies `f` to the upper word of `a` and keeps the upper word of the result, rounded to nearest.
#[inline(always)]
fn gross(a: f64, f: impl Fn(f64) -> f64) -> f64 {
    let flush = |x: f64| if x.is_subnormal() { 0f64.copysign(x) } else { x };
    if a.is_nan() {
        return GROSS_NAN;
    }
    let upper = f64::from_bits(a.to_bits() & 0xffff_ffff_0000_0000);
    let result = flush(f(flush(upper)));
    if result.is_nan() {
        return GROSS_NAN;
    }
    // Cannot carry beyond infinity: the largest results are far below it, or infinite already.
    f64::from_bits((result.to_bits() + 0x8000_0000) & 0xffff_ffff_0000_0000)
}

/// Applies the f64 function `f` to a 16-bit value and rounds to nearest.
#[inline(always)]
fn through_half<F: Half>(a: u16, f: impl Fn(f64) -> f64) -> u16 {
    half::from_f64::<F>(f(half::to_f64::<F>(a)), Rounding::NearestEven)
}

/// `ex2.approx.f16`, `ex2.approx.ftz.bf16`: for bf16 `ftz` flushes subnormal operands and results.
#[inline]
pub fn ex2_half<F: Half>(a: u16, ftz: bool) -> u16 {
    let a = if ftz { half::flush::<F>(a) } else { a };
    let result = through_half::<F>(a, libm::exp2);
    if ftz { half::flush::<F>(result) } else { result }
}

/// `tanh.approx.f16`, `tanh.approx.bf16`.
#[inline]
pub fn tanh_half<F: Half>(a: u16) -> u16 {
    through_half::<F>(a, libm::tanh)
}
