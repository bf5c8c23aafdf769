//! `cvt` between all scalar types (PTX ISA, "Data Movement and Conversion Instructions: cvt").
//!
//! Integers are passed as `u64`, sign- or zero-extended from their width according to their type; see
//! [`IntType::extend`].

use crate::float32;
use crate::float64;
use crate::format;
use crate::half::{self, Half};
use crate::{Mode, Rounding};

/// An integer type of `cvt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are the manual's")]
pub enum IntType {
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
}

#[allow(missing_docs, reason = "the names say it")]
impl IntType {
    pub const ALL: [IntType; 8] =
        [IntType::U8, IntType::U16, IntType::U32, IntType::U64, IntType::S8, IntType::S16, IntType::S32, IntType::S64];

    #[inline]
    pub const fn bits(self) -> u32 {
        match self {
            IntType::U8 | IntType::S8 => 8,
            IntType::U16 | IntType::S16 => 16,
            IntType::U32 | IntType::S32 => 32,
            IntType::U64 | IntType::S64 => 64,
        }
    }

    #[inline]
    pub const fn signed(self) -> bool {
        matches!(self, IntType::S8 | IntType::S16 | IntType::S32 | IntType::S64)
    }

    #[inline]
    pub const fn min(self) -> i128 {
        if self.signed() { -(1 << (self.bits() - 1)) } else { 0 }
    }

    #[inline]
    pub const fn max(self) -> i128 {
        (1 << (self.bits() - self.signed() as u32)) - 1
    }

    /// The low bits of `x` in the width of the type, sign- or zero-extended to 64 bits.
    #[inline]
    pub const fn extend(self, x: u64) -> u64 {
        let unused = 64 - self.bits();
        if self.signed() { ((x << unused) as i64 >> unused) as u64 } else { x << unused >> unused }
    }

    /// The number that the low bits of `x` encode.
    #[inline]
    const fn value(self, x: u64) -> i128 {
        let x = self.extend(x);
        if self.signed() { x as i64 as i128 } else { x as i128 }
    }
}

/// Integer to integer: truncates or extends; with `sat` clamps to the range of `to`.
#[inline]
pub fn int_to_int(a: u64, from: IntType, to: IntType, sat: bool) -> u64 {
    let value = from.value(a);
    let value = if sat { value.clamp(to.min(), to.max()) } else { value };
    to.extend(value as u64)
}

/// Rounds an f64 to an integral value.
#[inline]
pub fn integral_f64(a: f64, round: Rounding) -> f64 {
    float64::canonical(match round {
        Rounding::NearestEven => a.round_ties_even(),
        Rounding::Zero => a.trunc(),
        Rounding::Down => a.floor(),
        Rounding::Up => a.ceil(),
        Rounding::NearestAway => a.round(),
    })
}

/// Rounds an f32 to an integral value: `cvt.{rni,rzi,rmi,rpi}{.ftz}{.sat}.f32.f32`.
#[inline]
pub fn integral_f32(a: f32, mode: Mode) -> f32 {
    let a = if mode.ftz { float32::flush(a) } else { a };
    let a = match mode.round {
        Rounding::NearestEven => a.round_ties_even(),
        Rounding::Zero => a.trunc(),
        Rounding::Down => a.floor(),
        Rounding::Up => a.ceil(),
        Rounding::NearestAway => a.round(),
    };
    if mode.sat { float32::saturate(a) } else { float32::canonical(a) }
}

/// Rounds an f16 or bf16 to an integral value.
#[inline]
pub fn integral_half<F: Half>(a: u16, mode: Mode) -> u16 {
    let a = integral_f64(half::to_f64::<F>(a), mode.round);
    let bits = half::from_f64::<F>(a, Rounding::NearestEven);
    if mode.sat { half::saturate::<F>(bits) } else { bits }
}

/// f64 to integer, clamped to the range of `to`; NaN gives the value with only the top bit set
/// (PTX ISA 8.x: `1 << (BitWidth(dst) - 1)` for f64 sources).
#[inline]
pub fn f64_to_int(a: f64, to: IntType, round: Rounding) -> u64 {
    if a.is_nan() {
        return to.extend(1 << (to.bits() - 1));
    }
    let a = match round {
        Rounding::Zero => a, // `as` truncates
        round => integral_f64(a, round),
    };
    match to {
        IntType::U8 => u64::from(a as u8),
        IntType::U16 => u64::from(a as u16),
        IntType::U32 => u64::from(a as u32),
        IntType::U64 => a as u64,
        IntType::S8 => i64::from(a as i8) as u64,
        IntType::S16 => i64::from(a as i16) as u64,
        IntType::S32 => i64::from(a as i32) as u64,
        IntType::S64 => (a as i64) as u64,
    }
}

/// f32 to integer, clamped to the range of `to`. NaN gives zero, except for 64-bit destinations,
/// where it gives the value with only the top bit set (PTX ISA 8.x, cvt).
#[inline]
pub fn f32_to_int(a: f32, to: IntType, round: Rounding, ftz: bool) -> u64 {
    if a.is_nan() {
        return if to.bits() == 64 { 1 << 63 } else { 0 };
    }
    f64_to_int(f64::from(if ftz { float32::flush(a) } else { a }), to, round)
}

/// f16 or bf16 to integer, under the rules of [`f32_to_int`].
#[inline]
pub fn half_to_int<F: Half>(a: u16, to: IntType, round: Rounding) -> u64 {
    f32_to_int(F::to_f32(a), to, round, false)
}

/// `cvt.rzi.s32.f32`, to which C's conversion to int is compiled.
#[inline(always)]
pub fn f32_to_s32_rz(a: f32) -> i32 {
    a as i32
}

/// `cvt.rzi.u32.f32`, to which C's conversion to unsigned int is compiled.
#[inline(always)]
pub fn f32_to_u32_rz(a: f32) -> u32 {
    a as u32
}

/// Rounds the integer that `a` encodes as `from`.
#[inline(always)]
fn round_int(a: u64, from: IntType, to: format::Format, round: Rounding) -> u64 {
    let a = from.extend(a);
    let negative = from.signed() && (a as i64) < 0;
    let magnitude = if negative { a.wrapping_neg() } else { a };
    if magnitude == 0 { 0 } else { to.pack(negative, 0, magnitude, round) }
}

/// Integer to f32: `cvt.rnd{.sat}.f32.int`.
#[inline]
pub fn int_to_f32(a: u64, from: IntType, round: Rounding) -> f32 {
    let a = from.extend(a);
    match round {
        Rounding::NearestEven if from.signed() => a as i64 as f32,
        Rounding::NearestEven => a as f32,
        round => f32::from_bits(round_int(a, from, format::F32, round) as u32),
    }
}

/// Integer to f64.
#[inline]
pub fn int_to_f64(a: u64, from: IntType, round: Rounding) -> f64 {
    let a = from.extend(a);
    match round {
        Rounding::NearestEven if from.signed() => a as i64 as f64,
        Rounding::NearestEven => a as f64,
        round => f64::from_bits(round_int(a, from, format::F64, round)),
    }
}

/// Integer to f16 or bf16. Overflow follows the rounding mode: rounding to nearest gives infinity.
#[inline]
pub fn int_to_half<F: Half>(a: u64, from: IntType, round: Rounding) -> u16 {
    round_int(a, from, F::FORMAT, round) as u16
}

/// `cvt.rn.f32.s32`.
#[inline(always)]
pub fn s32_to_f32_rn(a: i32) -> f32 {
    a as f32
}

/// `cvt.rn.f32.u32`.
#[inline(always)]
pub fn u32_to_f32_rn(a: u32) -> f32 {
    a as f32
}

/// `cvt.rnd{.ftz}{.sat}.f32.f64`.
#[inline]
pub fn f64_to_f32(a: f64, mode: Mode) -> f32 {
    let a = float32::narrow(a, mode.round);
    let a = if mode.ftz { float32::flush(a) } else { a };
    if mode.sat { float32::saturate(a) } else { float32::canonical(a) }
}

/// `cvt{.ftz}{.sat}.f64.f32`, exact.
#[inline]
pub fn f32_to_f64(a: f32, ftz: bool, sat: bool) -> f64 {
    let a = f64::from(if ftz { float32::flush(a) } else { a });
    if sat { float64::saturate(a) } else { float64::canonical(a) }
}

/// `cvt{.ftz}{.sat}.f32.f32` without integral rounding.
#[inline]
pub fn f32_to_f32(a: f32, ftz: bool, sat: bool) -> f32 {
    let a = if ftz { float32::flush(a) } else { a };
    if sat { float32::saturate(a) } else { float32::canonical(a) }
}

/// `cvt.rnd{.ftz}{.sat}.f16.f32` and the bf16 form; `ftz` applies only to the f32 operand.
#[inline]
pub fn f32_to_half<F: Half>(a: f32, mode: Mode) -> u16 {
    let a = if mode.ftz { float32::flush(a) } else { a };
    let bits = half::from_f32::<F>(a, mode.round);
    if mode.sat { half::saturate::<F>(bits) } else { bits }
}

/// `cvt.rnd{.sat}.f16.f64` and the bf16 form.
#[inline]
pub fn f64_to_half<F: Half>(a: f64, mode: Mode) -> u16 {
    let bits = half::from_f64::<F>(a, mode.round);
    if mode.sat { half::saturate::<F>(bits) } else { bits }
}

/// `cvt.{rn,rz}{.relu}{.satfinite}.{f16,bf16}.f32`: with `satfinite`, overflow and infinities give the
/// largest finite number.
#[inline]
pub fn f32_to_half_limited<F: Half>(a: f32, round: Rounding, relu: bool, satfinite: bool) -> u16 {
    let bits = half::from_f32::<F>(a, round);
    let infinite = u64::from(bits & 0x7fff) == F::FORMAT.infinity();
    let bits = if satfinite && infinite { bits - 1 } else { bits };
    if relu { half::relu::<F>(bits) } else { bits }
}

/// f16 to bf16, bf16 to f16, and `cvt{.sat}.f16.f16`.
#[inline]
pub fn half_to_half<A: Half, B: Half>(a: u16, mode: Mode) -> u16 {
    f32_to_half::<B>(A::to_f32(a), Mode { ftz: false, ..mode })
}

/// `cvt{.ftz}{.sat}.f32.f16` and the bf16 form, exact. A subnormal bf16 is a subnormal f32, which
/// `ftz` flushes.
#[inline]
pub fn half_to_f32<F: Half>(a: u16, ftz: bool, sat: bool) -> f32 {
    f32_to_f32(F::to_f32(a), ftz, sat)
}
