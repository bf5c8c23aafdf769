//! Floating-point arithmetic: one row per operation. Names end in the operand type; `Rn` marks the
//! plain forms (round to nearest even, no other modifier), which vectorise.

use crate::lanes::lane_ops;
use num::half::{self, Bf16, F16};
use num::{Mode, approx, float32, float64};

/// Modifiers of a floating-point operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Modifiers {
    /// Rounding, `.ftz` and `.sat`.
    pub mode: Mode,
    /// `.NaN` of min and max.
    pub nan: bool,
    /// `.xorsign.abs` of min and max.
    pub xorsign_abs: bool,
    /// `.relu` of fma.
    pub relu: bool,
}

impl Modifiers {
    #[inline(always)]
    const fn min_max(self) -> float32::MinMax {
        float32::MinMax { ftz: self.mode.ftz, nan: self.nan, xorsign_abs: self.xorsign_abs }
    }
}

lane_ops! {
    /// Operations on one number.
    Float1, map1, 1, m: Modifiers;

    AbsF32: FpAdd (a: f32) -> f32 { float32::abs(a, m.mode.ftz) }
    NegF32: FpAdd (a: f32) -> f32 { float32::neg(a, m.mode.ftz) }
    RcpF32: Sfu[Sqrt] (a: f32) -> f32 { float32::rcp(a, m.mode) }
    /// Square root, rounded exactly.
    SqrtF32: Sfu[Sqrt] (a: f32) -> f32 { float32::sqrt(a, m.mode) }
    RcpApprox: Sfu[Sqrt] (a: f32) -> f32 { approx::rcp(a, m.mode.ftz) }
    SqrtApprox: Sfu[Sqrt] (a: f32) -> f32 { approx::sqrt(a, m.mode.ftz) }
    /// Reciprocal of the square root, approximate.
    RsqrtApprox: Sfu[Sqrt] (a: f32) -> f32 { approx::rsqrt(a, m.mode.ftz) }
    /// Power of two, approximate.
    Ex2Approx: Sfu[Exp] (a: f32) -> f32 { approx::ex2(a, m.mode.ftz) }
    /// Logarithm to base two, approximate.
    Lg2Approx: Sfu[Log] (a: f32) -> f32 { approx::lg2(a, m.mode.ftz) }
    SinApprox: Sfu[Sin] (a: f32) -> f32 { approx::sin(a) }
    CosApprox: Sfu[Sin] (a: f32) -> f32 { approx::cos(a) }
    /// Sine of an angle in turns, approximate.
    SinTurns: Sfu[Sin] (a: f32) -> f32 { approx::sin_turns(a, m.mode.ftz) }
    /// Cosine of an angle in turns, approximate.
    CosTurns: Sfu[Sin] (a: f32) -> f32 { approx::cos_turns(a, m.mode.ftz) }
    TanhApprox: Sfu[Exp] (a: f32) -> f32 { approx::tanh(a) }
    AbsF64: DpAdd (a: f64) -> f64 { float64::abs(a) }
    NegF64: DpAdd (a: f64) -> f64 { float64::neg(a) }
    RcpF64: DpDiv (a: f64) -> f64 { float64::rcp(a, m.mode.round) }
    /// Square root, rounded exactly.
    SqrtF64: DpDiv (a: f64) -> f64 { float64::sqrt(a, m.mode.round) }
    RcpApproxF64: DpDiv (a: f64) -> f64 { approx::rcp_ftz_f64(a) }
    /// Reciprocal of the square root, approximate.
    RsqrtApproxF64: DpDiv (a: f64) -> f64 { if m.mode.ftz { approx::rsqrt_ftz_f64(a) } else { approx::rsqrt_f64(a) } }
    /// Reciprocal of an f64 by its upper word, approximate: the upper word of the result.
    RcpHighF64: Sfu[Sqrt] (a: u32) -> u32 { upper_word(a, approx::rcp_ftz_f64) }
    /// Reciprocal of the square root, in the same way.
    RsqrtHighF64: Sfu[Sqrt] (a: u32) -> u32 { upper_word(a, approx::rsqrt_ftz_f64) }
    AbsF16: Half[FpAdd] (a: u16) -> u16 { half::abs::<F16>(a, m.mode.ftz) }
    /// Absolute value, of both halves.
    AbsF16x2: Half[FpAdd] (a: u32) -> u32 { half::map2(a, |a| half::abs::<F16>(a, m.mode.ftz)) }
    NegF16: Half[FpAdd] (a: u16) -> u16 { half::neg::<F16>(a, m.mode.ftz) }
    /// Negation, of both halves.
    NegF16x2: Half[FpAdd] (a: u32) -> u32 { half::map2(a, |a| half::neg::<F16>(a, m.mode.ftz)) }
    /// Power of two, approximate.
    Ex2F16: Sfu[Exp] (a: u16) -> u16 { approx::ex2_half::<F16>(a, m.mode.ftz) }
    /// Power of two, approximate, of both halves.
    Ex2F16x2: Sfu[Exp] (a: u32) -> u32 { half::map2(a, |a| approx::ex2_half::<F16>(a, m.mode.ftz)) }
    TanhF16: Sfu[Exp] (a: u16) -> u16 { approx::tanh_half::<F16>(a) }
    /// Hyperbolic tangent, approximate, of both halves.
    TanhF16x2: Sfu[Exp] (a: u32) -> u32 { half::map2(a, approx::tanh_half::<F16>) }
    AbsBf16: Half[FpAdd] (a: u16) -> u16 { half::abs::<Bf16>(a, m.mode.ftz) }
    /// Absolute value, of both halves.
    AbsBf16x2: Half[FpAdd] (a: u32) -> u32 { half::map2(a, |a| half::abs::<Bf16>(a, m.mode.ftz)) }
    NegBf16: Half[FpAdd] (a: u16) -> u16 { half::neg::<Bf16>(a, m.mode.ftz) }
    /// Negation, of both halves.
    NegBf16x2: Half[FpAdd] (a: u32) -> u32 { half::map2(a, |a| half::neg::<Bf16>(a, m.mode.ftz)) }
    /// Power of two, approximate.
    Ex2Bf16: Sfu[Exp] (a: u16) -> u16 { approx::ex2_half::<Bf16>(a, m.mode.ftz) }
    /// Power of two, approximate, of both halves.
    Ex2Bf16x2: Sfu[Exp] (a: u32) -> u32 { half::map2(a, |a| approx::ex2_half::<Bf16>(a, m.mode.ftz)) }
    TanhBf16: Sfu[Exp] (a: u16) -> u16 { approx::tanh_half::<Bf16>(a) }
    /// Hyperbolic tangent, approximate, of both halves.
    TanhBf16x2: Sfu[Exp] (a: u32) -> u32 { half::map2(a, approx::tanh_half::<Bf16>) }
}

lane_ops! {
    /// Operations on two numbers.
    Float2, map2, 2, m: Modifiers;

    AddRnF32: FpAdd (a: f32, b: f32) -> f32 { float32::add_rn(a, b) }
    AddF32: FpAdd (a: f32, b: f32) -> f32 { float32::add(a, b, m.mode) }
    AddRnF64: DpAdd (a: f64, b: f64) -> f64 { float64::add_rn(a, b) }
    AddF64: DpAdd (a: f64, b: f64) -> f64 { float64::add(a, b, m.mode.round) }
    AddF16: Half[FpAdd] (a: u16, b: u16) -> u16 { half::add::<F16>(a, b, m.mode) }
    /// Sum of both halves.
    AddF16x2: Half[FpAdd] (a: u32, b: u32) -> u32 { half::zip2(a, b, |a, b| half::add::<F16>(a, b, m.mode)) }
    AddBf16: Half[FpAdd] (a: u16, b: u16) -> u16 { half::add::<Bf16>(a, b, m.mode) }
    /// Sum of both halves.
    AddBf16x2: Half[FpAdd] (a: u32, b: u32) -> u32 { half::zip2(a, b, |a, b| half::add::<Bf16>(a, b, m.mode)) }
    SubRnF32: FpAdd (a: f32, b: f32) -> f32 { float32::sub_rn(a, b) }
    SubF32: FpAdd (a: f32, b: f32) -> f32 { float32::sub(a, b, m.mode) }
    SubRnF64: DpAdd (a: f64, b: f64) -> f64 { float64::sub_rn(a, b) }
    SubF64: DpAdd (a: f64, b: f64) -> f64 { float64::sub(a, b, m.mode.round) }
    SubF16: Half[FpAdd] (a: u16, b: u16) -> u16 { half::sub::<F16>(a, b, m.mode) }
    /// Difference of both halves.
    SubF16x2: Half[FpAdd] (a: u32, b: u32) -> u32 { half::zip2(a, b, |a, b| half::sub::<F16>(a, b, m.mode)) }
    SubBf16: Half[FpAdd] (a: u16, b: u16) -> u16 { half::sub::<Bf16>(a, b, m.mode) }
    /// Difference of both halves.
    SubBf16x2: Half[FpAdd] (a: u32, b: u32) -> u32 { half::zip2(a, b, |a, b| half::sub::<Bf16>(a, b, m.mode)) }
    MulRnF32: FpMul (a: f32, b: f32) -> f32 { float32::mul_rn(a, b) }
    MulF32: FpMul (a: f32, b: f32) -> f32 { float32::mul(a, b, m.mode) }
    MulRnF64: DpMul (a: f64, b: f64) -> f64 { float64::mul_rn(a, b) }
    MulF64: DpMul (a: f64, b: f64) -> f64 { float64::mul(a, b, m.mode.round) }
    MulF16: Half[FpMul] (a: u16, b: u16) -> u16 { half::mul::<F16>(a, b, m.mode) }
    /// Product of both halves.
    MulF16x2: Half[FpMul] (a: u32, b: u32) -> u32 { half::zip2(a, b, |a, b| half::mul::<F16>(a, b, m.mode)) }
    MulBf16: Half[FpMul] (a: u16, b: u16) -> u16 { half::mul::<Bf16>(a, b, m.mode) }
    /// Product of both halves.
    MulBf16x2: Half[FpMul] (a: u32, b: u32) -> u32 { half::zip2(a, b, |a, b| half::mul::<Bf16>(a, b, m.mode)) }
    DivRnF32: FpDiv (a: f32, b: f32) -> f32 { float32::canonical(a / b) }
    DivF32: FpDiv (a: f32, b: f32) -> f32 { float32::div(a, b, m.mode) }
    /// Quotient, approximate, for divisors up to 2^126.
    DivApprox: FpDiv (a: f32, b: f32) -> f32 { approx::div(a, b, m.mode.ftz) }
    /// Quotient, approximate, full range.
    DivFull: FpDiv (a: f32, b: f32) -> f32 { approx::div_full(a, b, m.mode.ftz) }
    DivF64: DpDiv (a: f64, b: f64) -> f64 { float64::div(a, b, m.mode.round) }
    /// Magnitude of `b` with the sign of `a`.
    CopysignF32: FpAdd (a: f32, b: f32) -> f32 { float32::copysign(a, b) }
    /// Magnitude of `b` with the sign of `a`.
    CopysignF64: DpAdd (a: f64, b: f64) -> f64 { float64::copysign(a, b) }
    MinRnF32: FpMinMax (a: f32, b: f32) -> f32 { float32::min(a, b, float32::MinMax::default()) }
    MinF32: FpMinMax (a: f32, b: f32) -> f32 { float32::min(a, b, m.min_max()) }
    MinF64: DpMinMax (a: f64, b: f64) -> f64 { float64::min(a, b) }
    MinF16: Half[FpAdd] (a: u16, b: u16) -> u16 { half::min::<F16>(a, b, m.min_max()) }
    /// Lesser of both halves.
    MinF16x2: Half[FpAdd] (a: u32, b: u32) -> u32 { half::zip2(a, b, |a, b| half::min::<F16>(a, b, m.min_max())) }
    MinBf16: Half[FpAdd] (a: u16, b: u16) -> u16 { half::min::<Bf16>(a, b, m.min_max()) }
    /// Lesser of both halves.
    MinBf16x2: Half[FpAdd] (a: u32, b: u32) -> u32 { half::zip2(a, b, |a, b| half::min::<Bf16>(a, b, m.min_max())) }
    MaxRnF32: FpMinMax (a: f32, b: f32) -> f32 { float32::max(a, b, float32::MinMax::default()) }
    MaxF32: FpMinMax (a: f32, b: f32) -> f32 { float32::max(a, b, m.min_max()) }
    MaxF64: DpMinMax (a: f64, b: f64) -> f64 { float64::max(a, b) }
    MaxF16: Half[FpAdd] (a: u16, b: u16) -> u16 { half::max::<F16>(a, b, m.min_max()) }
    /// Greater of both halves.
    MaxF16x2: Half[FpAdd] (a: u32, b: u32) -> u32 { half::zip2(a, b, |a, b| half::max::<F16>(a, b, m.min_max())) }
    MaxBf16: Half[FpAdd] (a: u16, b: u16) -> u16 { half::max::<Bf16>(a, b, m.min_max()) }
    /// Greater of both halves.
    MaxBf16x2: Half[FpAdd] (a: u32, b: u32) -> u32 { half::zip2(a, b, |a, b| half::max::<Bf16>(a, b, m.min_max())) }
}

lane_ops! {
    /// Operations on three numbers.
    Float3, map3, 3, m: Modifiers;

    /// `a * b + c`, rounded once.
    FmaRnF32: FpFma (a: f32, b: f32, c: f32) -> f32 { float32::fma_rn(a, b, c) }
    /// `a * b - c`, rounded once.
    FmsRnF32: FpFma (a: f32, b: f32, c: f32) -> f32 { float32::fma_rn(a, b, -c) }
    /// `c - a * b`, rounded once.
    FnmaRnF32: FpFma (a: f32, b: f32, c: f32) -> f32 { float32::fma_rn(-a, b, c) }
    /// `a * b + c`, rounded once.
    FmaF32: FpFma (a: f32, b: f32, c: f32) -> f32 { float32::fma(a, b, c, m.mode) }
    /// `a * b + c`, rounded once.
    FmaRnF64: DpFma (a: f64, b: f64, c: f64) -> f64 { float64::fma_rn(a, b, c) }
    /// `a * b - c`, rounded once.
    FmsRnF64: DpFma (a: f64, b: f64, c: f64) -> f64 { float64::fma_rn(a, b, -c) }
    /// `c - a * b`, rounded once.
    FnmaRnF64: DpFma (a: f64, b: f64, c: f64) -> f64 { float64::fma_rn(-a, b, c) }
    /// `a * b + c`, rounded once.
    FmaF64: DpFma (a: f64, b: f64, c: f64) -> f64 { float64::fma(a, b, c, m.mode.round) }
    /// `a * b + c`, rounded once.
    FmaF16: Half[FpMul] (a: u16, b: u16, c: u16) -> u16 { fma_half::<F16>(a, b, c, m) }
    /// `a * b + c`, rounded once, of both halves.
    FmaF16x2: Half[FpMul] (a: u32, b: u32, c: u32) -> u32 { half::zip3(a, b, c, |a, b, c| fma_half::<F16>(a, b, c, m)) }
    /// `a * b + c`, rounded once.
    FmaBf16: Half[FpMul] (a: u16, b: u16, c: u16) -> u16 { fma_half::<Bf16>(a, b, c, m) }
    /// `a * b + c`, rounded once, of both halves.
    FmaBf16x2: Half[FpMul] (a: u32, b: u32, c: u32) -> u32 { half::zip3(a, b, c, |a, b, c| fma_half::<Bf16>(a, b, c, m)) }
}

/// `fma{.relu}` of one 16-bit number.
#[inline]
fn fma_half<F: half::Half>(a: u16, b: u16, c: u16, m: Modifiers) -> u16 {
    let result = half::fma::<F>(a, b, c, m.mode);
    if m.relu { half::relu::<F>(result) } else { result }
}

/// `f` of the f64 whose upper word is `a` and whose lower one is zero: the upper word of the result.
#[inline(always)]
fn upper_word(a: u32, f: impl Fn(f64) -> f64) -> u32 {
    (f(f64::from_bits(u64::from(a) << 32)).to_bits() >> 32) as u32
}
