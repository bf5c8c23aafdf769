//! Conversions to the formats that only matrix instructions compute with: tf32, e4m3, e5m2
//! (PTX ISA, "cvt", "Alternate Floating-Point Data Formats").

use crate::Rounding;
use crate::format::{E4M3_IEEE, E5M2, TF32};

/// `cvt.{rna,rn,rz}{.relu}{.satfinite}.tf32.f32`: rounds to 10 mantissa bits; the 13 bits below are zero.
///
/// NaN gives the canonical `0x7fffffff`. With `satfinite`, overflow and infinity give the largest finite
/// tf32.
#[inline]
pub fn tf32_from_f32(a: f32, round: Rounding, relu: bool, satfinite: bool) -> f32 {
    if a.is_nan() {
        return crate::float32::NAN;
    }
    if relu && a.is_sign_negative() {
        return 0.0;
    }
    let bits = TF32.round_f64(f64::from(a), round, 0) as u32;
    let bits = if satfinite && u64::from(bits & 0x3_ffff) == TF32.infinity() { bits - 1 } else { bits };
    f32::from_bits(bits << 13)
}

/// The value that a matrix instruction reads from a register as tf32: it ignores the low 13 bits (undefined
/// in the ISA; sm_80 hardware truncates).
#[inline]
pub fn tf32_operand(bits: u32) -> f32 {
    f32::from_bits(bits & !0x1fff)
}

/// `cvt.rn.satfinite{.relu}.e4m3x2.f32` for one element: magnitudes above 448 become 448; NaN is `0x7f`.
#[inline]
pub fn e4m3_from_f32(a: f32, relu: bool) -> u8 {
    const NAN: u8 = 0x7f;
    const MAX: u8 = 0x7e;
    if a.is_nan() {
        return NAN;
    }
    if relu && a.is_sign_negative() {
        return 0;
    }
    let sign = if a.is_sign_negative() { 0x80 } else { 0 };
    let magnitude = f64::from(a.abs());
    // The format has no infinities: the exponent that IEEE 754 reserves holds 256 to 448 too.
    let rounded = if magnitude < 248.0 {
        E4M3_IEEE.round_f64(magnitude, Rounding::NearestEven, 0) as u8
    } else if magnitude >= 448.0 {
        MAX
    } else {
        // The spacing is 32 (16 just below 256, where rounding up from 248 gives 256 as well).
        0x78 + (((magnitude / 32.0).round_ties_even() - 8.0).max(0.0) as u8)
    };
    sign | rounded
}

/// The value of an e4m3 number, exact; `S.1111.111` is NaN.
#[inline]
pub fn e4m3_to_f32(bits: u8) -> f32 {
    if bits & 0x7f == 0x7f {
        return crate::float32::NAN;
    }
    if bits & 0x78 == 0x78 {
        let magnitude = 256.0 + 32.0 * f32::from(bits & 7);
        return if bits & 0x80 != 0 { -magnitude } else { magnitude };
    }
    E4M3_IEEE.to_f64(u64::from(bits)) as f32
}

/// `cvt.rn.satfinite{.relu}.e5m2x2.f32` for one element: overflow gives the largest finite number; NaN is
/// `0x7f`.
#[inline]
pub fn e5m2_from_f32(a: f32, relu: bool) -> u8 {
    if a.is_nan() {
        return 0x7f;
    }
    if relu && a.is_sign_negative() {
        return 0;
    }
    let bits = E5M2.round_f64(f64::from(a), Rounding::NearestEven, 0) as u8;
    if bits & 0x7f == 0x7c { bits - 1 } else { bits }
}

/// The value of an e5m2 number, exact.
#[inline]
pub fn e5m2_to_f32(bits: u8) -> f32 {
    crate::float32::canonical(E5M2.to_f64(u64::from(bits)) as f32)
}
