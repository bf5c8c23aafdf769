//! f16 and bf16 arithmetic on their bits, each operation rounded once (PTX ISA, "Half Precision
//! Floating Point Instructions"), and the same on packed pairs.
//!
//! Functions are generic over the format: `add::<F16>(a, b, mode)`. Sums, products and fused multiply-adds
//! are computed in f32 where that is exact enough, otherwise in f64, where a product is exact (22 or 16 bits)
//! and a sum is rounded to odd, so that only the last rounding has an effect.

use crate::float32;
use crate::format::{self, Format, odd_f32, odd_sum, odd_sum_f32};
use crate::{Mode, Rounding};

/// A 16-bit floating point format.
#[allow(missing_docs, reason = "the names say it")]
pub trait Half: Copy {
    const FORMAT: Format;
    const ONE: u16;
    /// Whether f32 holds every product of two numbers exactly, and its sum with a third number without
    /// overflow or loss of low bits.
    const PRODUCTS_IN_F32: bool;
    /// The value, exact; NaN gives the canonical one.
    fn to_f32(bits: u16) -> f32;
    /// Rounds to nearest even without branches, as [`from_f32`] does; NaN gives the canonical one.
    fn from_f32_rn(a: f32) -> u16;
}

/// NaN result of f16 and bf16 operations (PTX ISA: "canonical NaN").
pub const NAN: u16 = 0x7fff;

/// f16: `.f16`, and the elements of `.f16x2`.
#[derive(Clone, Copy, Debug)]
pub struct F16;

/// bf16: `.bf16`, and the elements of `.bf16x2`.
#[derive(Clone, Copy, Debug)]
pub struct Bf16;

impl Half for F16 {
    const FORMAT: Format = format::F16;
    const ONE: u16 = 0x3c00;
    const PRODUCTS_IN_F32: bool = true;

    #[inline(always)]
    fn to_f32(bits: u16) -> f32 {
        let magnitude = u32::from(bits & 0x7fff);
        let sign = u32::from(bits & 0x8000) << 16;
        // The f16 exponent and mantissa fields, read as f32, are the value times 2^-112.
        let value = f32::from_bits(magnitude << 13) * f32::from_bits(0x7780_0000);
        let finite = value.to_bits() | sign;
        let special = if magnitude > 0x7c00 { float32::NAN.to_bits() } else { 0x7f80_0000 | sign };
        f32::from_bits(if magnitude >= 0x7c00 { special } else { finite })
    }

    #[inline(always)]
    fn from_f32_rn(a: f32) -> u16 {
        let magnitude = a.to_bits() & 0x7fff_ffff;
        let sign = (a.to_bits() >> 16) as u16 & 0x8000;
        // Normal results: adds slightly less than half an ulp, and the tie bit; then subtracts 112 from the
        // exponent.
        let tie = magnitude >> 13 & 1;
        let normal = (magnitude + 0xfff + tie).wrapping_sub(0x3800_0000) >> 13;
        // Subnormal results: adding 0.5 leaves bits of 2^-24 and more, rounded by the host.
        let subnormal = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0.5f32.to_bits());
        let finite = if magnitude < 0x3880_0000 { subnormal } else { normal };
        // Results are infinite from 65520 on.
        let number = if magnitude < 0x477f_f000 { finite } else { 0x7c00 };
        if magnitude > 0x7f80_0000 { NAN } else { number as u16 | sign }
    }
}

impl Half for Bf16 {
    const FORMAT: Format = format::BF16;
    const ONE: u16 = 0x3f80;
    const PRODUCTS_IN_F32: bool = false;

    #[inline(always)]
    fn to_f32(bits: u16) -> f32 {
        float32::canonical(f32::from_bits(u32::from(bits) << 16))
    }

    #[inline(always)]
    fn from_f32_rn(a: f32) -> u16 {
        let bits = a.to_bits();
        // Carries into the exponent, up to infinity, as required.
        let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
        if bits & 0x7fff_ffff > 0x7f80_0000 { NAN } else { rounded as u16 }
    }
}

/// Rounds `a` to the format; NaN gives the canonical one (`cvt.rnd.f16.f32`, `cvt.rnd.bf16.f32`).
#[inline]
pub fn from_f32<F: Half>(a: f32, round: Rounding) -> u16 {
    match round {
        Rounding::NearestEven => F::from_f32_rn(a),
        round => from_f64::<F>(f64::from(a), round),
    }
}

/// Rounds `a` to the format; NaN gives the canonical one (`cvt.rnd.f16.f64`).
#[inline]
pub fn from_f64<F: Half>(a: f64, round: Rounding) -> u16 {
    match round {
        // f32 has more than two bits above either format, and at least its range.
        Rounding::NearestEven => F::from_f32_rn(odd_f32(a)),
        round => F::FORMAT.round_f64(a, round, NAN as u64) as u16,
    }
}

/// The value as f64, exact; NaN gives a NaN.
#[inline]
pub fn to_f64<F: Half>(bits: u16) -> f64 {
    f64::from(F::to_f32(bits))
}

/// Whether `bits` is a NaN.
#[inline]
pub fn is_nan<F: Half>(bits: u16) -> bool {
    u64::from(bits & 0x7fff) > F::FORMAT.infinity()
}

/// `bits`, or the canonical NaN if it is any NaN.
#[inline]
pub fn canonical<F: Half>(bits: u16) -> u16 {
    if is_nan::<F>(bits) { NAN } else { bits }
}

/// `bits`, or zero of its sign if it is subnormal.
#[inline]
pub fn flush<F: Half>(bits: u16) -> u16 {
    if u64::from(bits) & F::FORMAT.infinity() == 0 { bits & 0x8000 } else { bits }
}

/// `bits` clamped to [+0, 1]; NaN and -0 become +0 (`.sat`).
#[inline]
pub fn saturate<F: Half>(bits: u16) -> u16 {
    if bits & 0x8000 != 0 || is_nan::<F>(bits) { 0 } else { bits.min(F::ONE) }
}

/// `bits`, or +0 if it is negative; NaN becomes the canonical NaN (`.relu`).
#[inline]
pub fn relu<F: Half>(bits: u16) -> u16 {
    if is_nan::<F>(bits) {
        NAN
    } else if bits & 0x8000 != 0 {
        0
    } else {
        bits
    }
}

#[inline(always)]
fn operand<F: Half>(bits: u16, mode: Mode) -> f32 {
    F::to_f32(if mode.ftz { flush::<F>(bits) } else { bits })
}

#[inline(always)]
fn finish<F: Half>(bits: u16, mode: Mode) -> u16 {
    let bits = if mode.ftz { flush::<F>(bits) } else { bits };
    if mode.sat { saturate::<F>(bits) } else { bits }
}

/// `x + y`, to be rounded to the format, with the sign that an exact zero has in mode `round`.
#[inline(always)]
fn sum(x: f64, y: f64, round: Rounding) -> f64 {
    let sum = odd_sum(x, y);
    let negative_zero = round == Rounding::Down && (x.is_sign_negative() || y.is_sign_negative());
    if sum == 0.0 && negative_zero { -0.0 } else { sum }
}

/// `add{.rnd}{.ftz}{.sat}`.
#[inline]
pub fn add<F: Half>(a: u16, b: u16, mode: Mode) -> u16 {
    let (x, y) = (operand::<F>(a, mode), operand::<F>(b, mode));
    let bits = match mode.round {
        // f32 has more than twice the format's bits plus two, so that rounding twice is harmless (Figueroa);
        // a sum below the normal numbers is exact.
        Rounding::NearestEven => F::from_f32_rn(x + y),
        round => from_f64::<F>(sum(x.into(), y.into(), round), round),
    };
    finish::<F>(bits, mode)
}

/// `sub{.rnd}{.ftz}{.sat}`.
#[inline]
pub fn sub<F: Half>(a: u16, b: u16, mode: Mode) -> u16 {
    add::<F>(a, b ^ 0x8000, mode)
}

/// `mul{.rnd}{.ftz}{.sat}`.
#[inline]
pub fn mul<F: Half>(a: u16, b: u16, mode: Mode) -> u16 {
    let (x, y) = (operand::<F>(a, mode), operand::<F>(b, mode));
    let bits = match mode.round {
        Rounding::NearestEven if F::PRODUCTS_IN_F32 => F::from_f32_rn(x * y),
        round => from_f64::<F>(f64::from(x) * f64::from(y), round),
    };
    finish::<F>(bits, mode)
}

/// `fma.rnd{.ftz}{.sat}`: `a * b + c` rounded once. For `.relu` apply [`relu`] to the result.
#[inline]
pub fn fma<F: Half>(a: u16, b: u16, c: u16, mode: Mode) -> u16 {
    let (x, y, z) = (operand::<F>(a, mode), operand::<F>(b, mode), operand::<F>(c, mode));
    let bits = match mode.round {
        Rounding::NearestEven if F::PRODUCTS_IN_F32 => F::from_f32_rn(odd_sum_f32(x * y, z)),
        round => from_f64::<F>(sum(f64::from(x) * f64::from(y), z.into(), round), round),
    };
    finish::<F>(bits, mode)
}

/// `abs{.ftz}`. A NaN only loses its sign.
#[inline]
pub fn abs<F: Half>(a: u16, ftz: bool) -> u16 {
    (if ftz { flush::<F>(a) } else { a }) & 0x7fff
}

/// `neg{.ftz}`. A NaN only changes its sign.
#[inline]
pub fn neg<F: Half>(a: u16, ftz: bool) -> u16 {
    (if ftz { flush::<F>(a) } else { a }) ^ 0x8000
}

/// `min{.ftz}{.NaN}{.xorsign.abs}`: as [`float32::min`], with the canonical NaN of the format.
#[inline]
pub fn min<F: Half>(a: u16, b: u16, flags: float32::MinMax) -> u16 {
    select::<F>(a, b, flags, float32::min)
}

/// `max{.ftz}{.NaN}{.xorsign.abs}`: as [`float32::max`], with the canonical NaN of the format.
#[inline]
pub fn max<F: Half>(a: u16, b: u16, flags: float32::MinMax) -> u16 {
    select::<F>(a, b, flags, float32::max)
}

/// Selects with the f32 function: conversion there and back keeps every number, and NaN is canonical.
#[inline(always)]
fn select<F: Half>(a: u16, b: u16, flags: float32::MinMax, pick: fn(f32, f32, float32::MinMax) -> f32) -> u16 {
    let (a, b) = if flags.ftz { (flush::<F>(a), flush::<F>(b)) } else { (a, b) };
    let result = pick(F::to_f32(a), F::to_f32(b), float32::MinMax { ftz: false, ..flags });
    F::from_f32_rn(result)
}

/// `copysign`: the magnitude of `b` with the sign of `a`.
#[inline]
pub fn copysign(a: u16, b: u16) -> u16 {
    (b & 0x7fff) | (a & 0x8000)
}

/// Splits a packed pair: (lower, upper).
#[inline(always)]
pub const fn unpack2(x: u32) -> (u16, u16) {
    (x as u16, (x >> 16) as u16)
}

/// Packs a pair: lower, upper.
#[inline(always)]
pub const fn pack2(lower: u16, upper: u16) -> u32 {
    (upper as u32) << 16 | lower as u32
}

/// Applies `f` to both elements of a packed pair.
#[inline(always)]
pub fn map2(a: u32, f: impl Fn(u16) -> u16) -> u32 {
    pack2(f(a as u16), f((a >> 16) as u16))
}

/// Applies `f` to the elements of two packed pairs.
#[inline(always)]
pub fn zip2(a: u32, b: u32, f: impl Fn(u16, u16) -> u16) -> u32 {
    pack2(f(a as u16, b as u16), f((a >> 16) as u16, (b >> 16) as u16))
}

/// Applies `f` to the elements of three packed pairs.
#[inline(always)]
pub fn zip3(a: u32, b: u32, c: u32, f: impl Fn(u16, u16, u16) -> u16) -> u32 {
    pack2(f(a as u16, b as u16, c as u16), f((a >> 16) as u16, (b >> 16) as u16, (c >> 16) as u16))
}
