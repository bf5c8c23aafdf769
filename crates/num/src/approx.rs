//! Approximate functions (PTX ISA, `.approx` and `.full` forms).
//!
//! Hardware computes these from tables with a quadratic interpolation; its exact bits are not
//! published. Ours are the true value computed in f64 (by the pure-Rust `libm` crate, so the same on
//! every machine, within one f64 ulp) and rounded to f32. The error against the true value is
//! therefore below 0.5001 ulp: relative 2^-23.99 for normal results. That is within each of the
//! ISA's bounds, which the tests check:
//!
//! | function | ISA's bound | ours |
//! | --- | --- | --- |
//! | `rcp`, `div.full`, `div.approx`, `ex2` | 1, 2, 2, 2 ulp | 0.5001 ulp |
//! | `sqrt`, `rsqrt` | relative 2^-23, 2^-22.9 | 2^-23.99 |
//! | `lg2` | 2^-22 absolute in (0.5, 2), relative elsewhere | 2^-23.99 relative |
//! | `sin`, `cos` | 2^-20.5 absolute to 2 pi, 2^-14.7 to 100 pi | 2^-24.9 absolute, any argument |
//! | `tanh.f32` | relative 2^-11 | 2^-23.99 |
//! | `ex2.f16`, `ex2.bf16` | relative 2^-9.9, 2^-7 | 2^-11, 2^-8 |
//! | `tanh.f16`, `tanh.bf16` | absolute 2^-10.987, 2^-8 | 2^-12, 2^-9 |
//!
//! Deviation: for arguments beyond 100 pi the ISA promises nothing for `sin` and `cos` and hardware
//! loses all accuracy; ours do not.

use crate::float32::{canonical, flush};
use crate::half::{self, Half};
use crate::{Rounding, float64};

/// Applies the f64 function `f` under the rules for `.ftz` and NaN.
#[inline(always)]
fn through_f64(a: f32, ftz: bool, f: impl Fn(f64) -> f64) -> f32 {
    let a = if ftz { flush(a) } else { a };
    let result = f(f64::from(a)) as f32;
    canonical(if ftz { flush(result) } else { result })
}

/// `rcp.approx{.ftz}.f32`: 1 / a. Zero gives infinity of its sign.
#[inline]
pub fn rcp(a: f32, ftz: bool) -> f32 {
    through_f64(a, ftz, |x| 1.0 / x)
}

/// `sqrt.approx{.ftz}.f32`. The root of -0 is -0, of any other negative number NaN.
#[inline]
pub fn sqrt(a: f32, ftz: bool) -> f32 {
    through_f64(a, ftz, f64::sqrt)
}

/// `rsqrt.approx{.ftz}.f32`: 1 / sqrt(a). Zero gives infinity of its sign, a negative number NaN.
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

/// `sin.approx{.ftz}.f32`, argument in radians. Infinity gives NaN.
#[inline]
pub fn sin(a: f32, ftz: bool) -> f32 {
    through_f64(a, ftz, libm::sin)
}

/// `cos.approx{.ftz}.f32`, argument in radians. Infinity gives NaN.
#[inline]
pub fn cos(a: f32, ftz: bool) -> f32 {
    through_f64(a, ftz, libm::cos)
}

/// Sine of `a` turns, as machine code computes it: compiled `sin.approx` multiplies by 1/2pi first.
/// Infinity gives NaN.
#[inline]
pub fn sin_turns(a: f32, ftz: bool) -> f32 {
    through_f64(a, ftz, |x| sine(x % 1.0))
}

/// Cosine of `a` turns.
#[inline]
pub fn cos_turns(a: f32, ftz: bool) -> f32 {
    through_f64(a, ftz, |x| sine(x % 1.0 + 0.25))
}

/// Sine of at most some turns: of the distance to the next half turn, which is exact.
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

/// `div.approx{.ftz}.f32`. For a divisor of magnitude above 2^126 the ISA has 0 for a finite
/// dividend (NaN for an infinite one), since it multiplies by a flushed reciprocal.
#[inline]
pub fn div(a: f32, b: f32, ftz: bool) -> f32 {
    const LIMIT: f32 = f32::from_bits(0x7e80_0000); // 2^126
    let magnitude = b.abs();
    if magnitude > LIMIT && magnitude < f32::INFINITY {
        let sign = (a.to_bits() ^ b.to_bits()) & 0x8000_0000;
        return if a.is_finite() { f32::from_bits(sign) } else { crate::float32::NAN };
    }
    div_full(a, b, ftz)
}

/// `div.full{.ftz}.f32`.
#[inline]
pub fn div_full(a: f32, b: f32, ftz: bool) -> f32 {
    let b = f64::from(if ftz { flush(b) } else { b });
    through_f64(a, ftz, |x| x / b)
}

/// NaN of the gross f64 approximations (PTX ISA, "rsqrt.approx.ftz.f64").
const GROSS_NAN: f64 = f64::from_bits(0x7fff_ffff_0000_0000);

/// `rcp.approx.ftz.f64`: a gross approximation from the upper word of `a`. The lower word of the
/// result is zero and its mantissa has 20 bits; subnormals count as zero; NaN is
/// `0x7fffffff00000000`.
#[inline]
pub fn rcp_ftz_f64(a: f64) -> f64 {
    gross(a, |x| 1.0 / x)
}

/// `rsqrt.approx.ftz.f64`: a gross approximation, as [`rcp_ftz_f64`].
#[inline]
pub fn rsqrt_ftz_f64(a: f64) -> f64 {
    gross(a, |x| 1.0 / x.sqrt())
}

/// `rsqrt.approx.f64`: 1 / sqrt(a) within 1 ulp (the ISA states no bound).
#[inline]
pub fn rsqrt_f64(a: f64) -> f64 {
    float64::canonical(1.0 / a.sqrt())
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
    // Cannot carry past infinity: the largest results are far below it, or infinite already.
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
