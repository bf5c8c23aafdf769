//! New values of `atom` and `red` (PTX ISA, "Parallel Synchronization and Communication Instructions: atom").
//! Their other operations are plain integer ones.

use crate::Mode;
use crate::float32;
use crate::half::{self, Half};

/// `.inc`: wraps to zero at `limit` and above.
#[inline(always)]
pub const fn inc(old: u32, limit: u32) -> u32 {
    if old >= limit { 0 } else { old + 1 }
}

/// `.dec`: wraps to `limit` from zero, and from above `limit`.
#[inline(always)]
pub const fn dec(old: u32, limit: u32) -> u32 {
    if old == 0 || old > limit { limit } else { old - 1 }
}

/// `.cas`: `new` if the old value equals `compare`.
#[inline(always)]
pub const fn cas(old: u64, compare: u64, new: u64) -> u64 {
    if old == compare { new } else { old }
}

/// `.add.f32` on global memory: rounds to nearest even and flushes subnormal operands and results.
#[inline]
pub fn add_f32_global(old: f32, a: f32) -> f32 {
    float32::add(old, a, Mode { ftz: true, ..Mode::RN })
}

/// `.add.f32` on shared memory: rounds to nearest even and keeps subnormals.
#[inline]
pub fn add_f32_shared(old: f32, a: f32) -> f32 {
    float32::add_rn(old, a)
}

/// `.add.f64`: rounds to nearest even and keeps subnormals.
#[inline]
pub fn add_f64(old: f64, a: f64) -> f64 {
    crate::float64::add_rn(old, a)
}

/// `.add.noftz.f16` and `.add.noftz.bf16`: round to nearest even and keep subnormals.
#[inline]
pub fn add_half<F: Half>(old: u16, a: u16) -> u16 {
    half::add::<F>(old, a, Mode::RN)
}

/// `.add.noftz.f16x2` and `.add.noftz.bf16x2`: each element separately.
#[inline]
pub fn add_half2<F: Half>(old: u32, a: u32) -> u32 {
    half::zip2(old, a, add_half::<F>)
}
