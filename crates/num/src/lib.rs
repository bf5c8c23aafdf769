//! Arithmetic as the PTX ISA defines it, on scalars.
//!
//! Every function is pure, allocates nothing and never panics. Values of 32 and 64 bits are Rust's own number
//! types; 16-bit floating-point values are their bits in a `u16`. The executor applies a function to a column
//! of 32 lanes. Functions that plain kernels use often (`float32::fma_rn`, everything in [`int`]) have no
//! branches and calls, so that such a loop is vectorised.
//!
//! | module | content | PTX ISA sections |
//! | --- | --- | --- |
//! | [`round`] | rounding modes and instruction modifiers | Floating point comparisons, Rounding modifiers |
//! | [`float32`], [`float64`] | exactly rounded arithmetic, min/max, classes | Floating Point Instructions |
//! | [`half`] | f16, bf16 and their packed pairs | Half Precision Instructions |
//! | [`small`] | tf32, e4m3, e5m2 | cvt |
//! | [`convert`] | between all types | cvt |
//! | [`int`], [`bits`] | integer arithmetic; bit fields, permutes, shifts | Integer, Logic and Shift Instructions |
//! | [`video`] | scalar and SIMD video instructions | Video Instructions |
//! | [`approx`] | approximate functions with their error bounds | `.approx` forms |
//! | [`atomic`] | new values of atomics | atom, red |
//!
//! **NaN.** Arithmetic on f32 with a NaN result returns `0x7fffffff`, as NVIDIA GPUs do (CUDA C++ Programming
//! Guide, "Floating-Point Standard"); f16 and bf16 return `0x7fff` (PTX ISA, canonical NaN). For f64 we
//! always return `0xfff8000000000000`, the NaN of CUDA's own headers. Deviation: hardware supports NaN payloads in
//! double precision (PTX ISA, "Floating Point Instructions"), by rules that are not published in full (docs/sass.md).
//!
//! **Flushing (`.ftz`).** Subnormal operands count as zero of the same sign; a result is flushed if it is
//! subnormal after rounding. Hardware may decide before rounding: a product within half an ulp below the
//! smallest normal number is then zero there and the smallest normal number here.
//!
//! **Invariant:** nothing here depends on the host's rounding mode, its libm or its vector units: results
//! have the same bits on every machine.
#![warn(missing_docs)]

pub mod approx;
pub mod atomic;
pub mod bits;
pub mod convert;
mod exact;
pub mod float32;
pub mod float64;
pub mod format;
pub mod half;
pub mod int;
pub mod round;
pub mod small;
pub mod video;

pub use round::{Mode, Rounding};
