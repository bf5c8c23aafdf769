//! Integer arithmetic, logic, shifts, bit fields and moves: one row per operation.
//!
//! Names end in the operand type; `16`, `32`, `64` alone means that the sign does not matter.

use crate::lanes::lane_ops;
use num::bits;
use num::int::{self, Int};

lane_ops! {
    /// Operations on one integer.
    Int1, map1, 1;

    Mov32: Move (a: u32) -> u32 { a }
    Mov64: Move (a: u64) -> u64 { a }
    Neg16: IntAdd (a: i16) -> i16 { a.wrapping_neg() }
    Abs16: IntAdd (a: i16) -> i16 { a.wrapping_abs() }
    Neg32: IntAdd (a: i32) -> i32 { a.wrapping_neg() }
    Abs32: IntAdd (a: i32) -> i32 { a.wrapping_abs() }
    Neg64: IntAdd (a: i64) -> i64 { a.wrapping_neg() }
    Abs64: IntAdd (a: i64) -> i64 { a.wrapping_abs() }
    Not16: IntAdd (a: u16) -> u16 { !a }
    /// One if zero, else zero.
    Cnot16: IntAdd (a: u16) -> u16 { u16::from(a == 0) }
    Not32: IntAdd (a: u32) -> u32 { !a }
    /// One if zero, else zero.
    Cnot32: IntAdd (a: u32) -> u32 { u32::from(a == 0) }
    Not64: IntAdd (a: u64) -> u64 { !a }
    /// One if zero, else zero.
    Cnot64: IntAdd (a: u64) -> u64 { u64::from(a == 0) }
    Popc32: BitScan (a: u32) -> u32 { a.count_ones() }
    /// Number of leading zeros.
    Clz32: BitScan (a: u32) -> u32 { a.leading_zeros() }
    Brev32: BitScan (a: u32) -> u32 { a.reverse_bits() }
    Popc64: BitScan (a: u64) -> u32 { a.count_ones() }
    /// Number of leading zeros.
    Clz64: BitScan (a: u64) -> u32 { a.leading_zeros() }
    Brev64: BitScan (a: u64) -> u64 { a.reverse_bits() }
    /// Position of the highest bit that is not a sign bit.
    BfindU32: BitScan (a: u32) -> u32 { bits::bfind_u32(a, false) }
    /// The same, as the left shift that brings it to the top.
    BfindShiftU32: BitScan (a: u32) -> u32 { bits::bfind_u32(a, true) }
    /// Position of the highest bit that is not a sign bit.
    BfindS32: BitScan (a: i32) -> u32 { bits::bfind_s32(a, false) }
    /// The same, as the left shift that brings it to the top.
    BfindShiftS32: BitScan (a: i32) -> u32 { bits::bfind_s32(a, true) }
    /// Position of the highest bit that is not a sign bit.
    BfindU64: BitScan (a: u64) -> u32 { bits::bfind_u64(a, false) }
    /// The same, as the left shift that brings it to the top.
    BfindShiftU64: BitScan (a: u64) -> u32 { bits::bfind_u64(a, true) }
    /// Position of the highest bit that is not a sign bit.
    BfindS64: BitScan (a: i64) -> u32 { bits::bfind_s64(a, false) }
    /// The same, as the left shift that brings it to the top.
    BfindShiftS64: BitScan (a: i64) -> u32 { bits::bfind_s64(a, true) }
    /// Sign extension of the low 32 bits.
    Sext64: ConvertInt (a: i32) -> i64 { i64::from(a) }
    /// Zero extension of the low 32 bits.
    Zext64: ConvertInt (a: u32) -> u64 { u64::from(a) }
    Low32: ConvertInt (a: u64) -> u32 { a as u32 }
    /// Sign extension of the low 16 bits.
    Sext16: ConvertInt (a: i16) -> i32 { i32::from(a) }
    Low16: ConvertInt (a: u32) -> u16 { a as u16 }
}

lane_ops! {
    /// Operations on two integers.
    Int2, map2, 2;

    Add16: IntAdd (a: u16, b: u16) -> u16 { a.wrapping_add(b) }
    Sub16: IntAdd (a: u16, b: u16) -> u16 { a.wrapping_sub(b) }
    /// Low half of the product.
    MulLo16: IntMul (a: u16, b: u16) -> u16 { a.wrapping_mul(b) }
    Add32: IntAdd (a: u32, b: u32) -> u32 { a.wrapping_add(b) }
    Sub32: IntAdd (a: u32, b: u32) -> u32 { a.wrapping_sub(b) }
    /// Low half of the product.
    MulLo32: IntMul (a: u32, b: u32) -> u32 { a.wrapping_mul(b) }
    Add64: IntAdd (a: u64, b: u64) -> u64 { a.wrapping_add(b) }
    Sub64: IntAdd (a: u64, b: u64) -> u64 { a.wrapping_sub(b) }
    /// Low half of the product.
    MulLo64: IntMul (a: u64, b: u64) -> u64 { a.wrapping_mul(b) }
    AddSatS32: IntAdd (a: i32, b: i32) -> i32 { a.saturating_add(b) }
    SubSatS32: IntAdd (a: i32, b: i32) -> i32 { a.saturating_sub(b) }
    /// High half of the product.
    MulHiU16: IntMul (a: u16, b: u16) -> u16 { a.mul_hi(b) }
    /// High half of the product.
    MulHiS16: IntMul (a: i16, b: i16) -> i16 { a.mul_hi(b) }
    /// High half of the product.
    MulHiU32: IntMul (a: u32, b: u32) -> u32 { a.mul_hi(b) }
    /// High half of the product.
    MulHiS32: IntMul (a: i32, b: i32) -> i32 { a.mul_hi(b) }
    /// High half of the product.
    MulHiU64: IntMul (a: u64, b: u64) -> u64 { a.mul_hi(b) }
    /// High half of the product.
    MulHiS64: IntMul (a: i64, b: i64) -> i64 { a.mul_hi(b) }
    MulWideU16: IntMul (a: u16, b: u16) -> u32 { a.mul_wide(b) }
    MulWideS16: IntMul (a: i16, b: i16) -> i32 { a.mul_wide(b) }
    MulWideU32: IntMul (a: u32, b: u32) -> u64 { a.mul_wide(b) }
    MulWideS32: IntMul (a: i32, b: i32) -> i64 { a.mul_wide(b) }
    DivU16: IntDiv (a: u16, b: u16) -> u16 { a.div(b) }
    /// Remainder, with the sign of `a`.
    RemU16: IntDiv (a: u16, b: u16) -> u16 { a.rem(b) }
    MinU16: IntMinMax (a: u16, b: u16) -> u16 { a.min(b) }
    MaxU16: IntMinMax (a: u16, b: u16) -> u16 { a.max(b) }
    DivS16: IntDiv (a: i16, b: i16) -> i16 { a.div(b) }
    /// Remainder, with the sign of `a`.
    RemS16: IntDiv (a: i16, b: i16) -> i16 { a.rem(b) }
    MinS16: IntMinMax (a: i16, b: i16) -> i16 { a.min(b) }
    MaxS16: IntMinMax (a: i16, b: i16) -> i16 { a.max(b) }
    DivU32: IntDiv (a: u32, b: u32) -> u32 { a.div(b) }
    /// Remainder, with the sign of `a`.
    RemU32: IntDiv (a: u32, b: u32) -> u32 { a.rem(b) }
    MinU32: IntMinMax (a: u32, b: u32) -> u32 { a.min(b) }
    MaxU32: IntMinMax (a: u32, b: u32) -> u32 { a.max(b) }
    DivS32: IntDiv (a: i32, b: i32) -> i32 { a.div(b) }
    /// Remainder, with the sign of `a`.
    RemS32: IntDiv (a: i32, b: i32) -> i32 { a.rem(b) }
    MinS32: IntMinMax (a: i32, b: i32) -> i32 { a.min(b) }
    MaxS32: IntMinMax (a: i32, b: i32) -> i32 { a.max(b) }
    DivU64: IntDiv (a: u64, b: u64) -> u64 { a.div(b) }
    /// Remainder, with the sign of `a`.
    RemU64: IntDiv (a: u64, b: u64) -> u64 { a.rem(b) }
    MinU64: IntMinMax (a: u64, b: u64) -> u64 { a.min(b) }
    MaxU64: IntMinMax (a: u64, b: u64) -> u64 { a.max(b) }
    DivS64: IntDiv (a: i64, b: i64) -> i64 { a.div(b) }
    /// Remainder, with the sign of `a`.
    RemS64: IntDiv (a: i64, b: i64) -> i64 { a.rem(b) }
    MinS64: IntMinMax (a: i64, b: i64) -> i64 { a.min(b) }
    MaxS64: IntMinMax (a: i64, b: i64) -> i64 { a.max(b) }
    /// Lesser, at least zero.
    MinReluS32: IntMinMax (a: i32, b: i32) -> i32 { a.min(b).max(0) }
    /// Greater, at least zero.
    MaxReluS32: IntMinMax (a: i32, b: i32) -> i32 { a.max(b).max(0) }
    /// On both 16-bit halves.
    Add16x2: IntAdd (a: u32, b: u32) -> u32 { halves(a, b, u16::wrapping_add) }
    /// On both 16-bit halves.
    MinU16x2: IntMinMax (a: u32, b: u32) -> u32 { halves(a, b, Ord::min) }
    /// On both 16-bit halves.
    MaxU16x2: IntMinMax (a: u32, b: u32) -> u32 { halves(a, b, Ord::max) }
    /// On both 16-bit halves.
    MinS16x2: IntMinMax (a: u32, b: u32) -> u32 { halves(a, b, |a, b| (a as i16).min(b as i16) as u16) }
    /// On both 16-bit halves, at least zero.
    MinReluS16x2: IntMinMax (a: u32, b: u32) -> u32 { halves(a, b, |a, b| (a as i16).min(b as i16).max(0) as u16) }
    /// On both 16-bit halves, at least zero.
    MaxReluS16x2: IntMinMax (a: u32, b: u32) -> u32 { halves(a, b, |a, b| (a as i16).max(b as i16).max(0) as u16) }
    /// On both 16-bit halves.
    MaxS16x2: IntMinMax (a: u32, b: u32) -> u32 { halves(a, b, |a, b| (a as i16).max(b as i16) as u16) }
    /// Low 32 bits of the product of the low 24 bits.
    Mul24LoU: IntMul (a: u32, b: u32) -> u32 { int::mul24_lo_u32(a, b) }
    /// High 32 bits of the 48-bit product of the low 24 bits.
    Mul24HiU: IntMul (a: u32, b: u32) -> u32 { int::mul24_hi_u32(a, b) }
    /// Low 32 bits of the product of the low 24 bits.
    Mul24LoS: IntMul (a: i32, b: i32) -> i32 { int::mul24_lo_s32(a, b) }
    /// High 32 bits of the 48-bit product of the low 24 bits.
    Mul24HiS: IntMul (a: i32, b: i32) -> i32 { int::mul24_hi_s32(a, b) }
    And32: IntAdd (a: u32, b: u32) -> u32 { a & b }
    And64: IntAdd (a: u64, b: u64) -> u64 { a & b }
    Or32: IntAdd (a: u32, b: u32) -> u32 { a | b }
    Or64: IntAdd (a: u64, b: u64) -> u64 { a | b }
    Xor32: IntAdd (a: u32, b: u32) -> u32 { a ^ b }
    Xor64: IntAdd (a: u64, b: u64) -> u64 { a ^ b }
    /// Left shift; amounts past the width give zero.
    Shl16: IntAdd (a: u16, b: u32) -> u16 { Int::shl(a, b) }
    /// Left shift; amounts past the width give zero.
    Shl32: IntAdd (a: u32, b: u32) -> u32 { Int::shl(a, b) }
    /// Left shift; amounts past the width give zero.
    Shl64: IntAdd (a: u64, b: u32) -> u64 { Int::shl(a, b) }
    /// Right shift with the sign of the type; amounts past the width shift everything out.
    ShrU16: IntAdd (a: u16, b: u32) -> u16 { Int::shr(a, b) }
    /// Right shift with the sign of the type; amounts past the width shift everything out.
    ShrS16: IntAdd (a: i16, b: u32) -> i16 { Int::shr(a, b) }
    /// Right shift with the sign of the type; amounts past the width shift everything out.
    ShrU32: IntAdd (a: u32, b: u32) -> u32 { Int::shr(a, b) }
    /// Right shift with the sign of the type; amounts past the width shift everything out.
    ShrS32: IntAdd (a: i32, b: u32) -> i32 { Int::shr(a, b) }
    /// Right shift with the sign of the type; amounts past the width shift everything out.
    ShrU64: IntAdd (a: u64, b: u32) -> u64 { Int::shr(a, b) }
    /// Right shift with the sign of the type; amounts past the width shift everything out.
    ShrS64: IntAdd (a: i64, b: u32) -> i64 { Int::shr(a, b) }
    /// Mask of `b` ones from bit `a` on.
    BmskClamp: IntAdd (a: u32, b: u32) -> u32 { bits::bmsk(a, b, true) }
    /// Zero extension of the low `b` bits.
    SzextClampU32: IntAdd (a: u32, b: u32) -> u32 { bits::szext(a, b, false, true) }
    /// Sign extension of the low `b` bits.
    SzextClampS32: IntAdd (a: u32, b: u32) -> u32 { bits::szext(a, b, true, true) }
    /// Mask of `b` ones from bit `a` on.
    BmskWrap: IntAdd (a: u32, b: u32) -> u32 { bits::bmsk(a, b, false) }
    /// Zero extension of the low `b` bits.
    SzextWrapU32: IntAdd (a: u32, b: u32) -> u32 { bits::szext(a, b, false, false) }
    /// Sign extension of the low `b` bits.
    SzextWrapS32: IntAdd (a: u32, b: u32) -> u32 { bits::szext(a, b, true, false) }
    /// Absolute differences of the bytes.
    AbsDiff4U8: IntAdd (a: u32, b: u32) -> u32 { u32::from_le_bytes(byte_differences(a, b, false)) }
    /// Absolute differences of the bytes.
    AbsDiff4S8: IntAdd (a: u32, b: u32) -> u32 { u32::from_le_bytes(byte_differences(a, b, true)) }
    /// `a` in the lower, `b` in the upper half.
    Pack16: Move (a: u16, b: u16) -> u32 { u32::from(a) | u32::from(b) << 16 }
}

lane_ops! {
    /// Operations on three integers.
    Int3, map3, 3;

    /// Low half of the product, plus `c`; wraps.
    MadLo16: IntMad (a: u16, b: u16, c: u16) -> u16 { a.mad_lo(b, c) }
    /// Low half of the product, plus `c`; wraps.
    MadLo32: IntMad (a: u32, b: u32, c: u32) -> u32 { a.mad_lo(b, c) }
    /// Low half of the product, plus `c`; wraps.
    MadLo64: IntMad (a: u64, b: u64, c: u64) -> u64 { a.mad_lo(b, c) }
    /// High half of the product, plus `c`; wraps.
    MadHiU16: IntMad (a: u16, b: u16, c: u16) -> u16 { a.mad_hi(b, c) }
    /// Absolute difference, plus `c`; wraps.
    SadU16: IntAdd (a: u16, b: u16, c: u16) -> u16 { a.sad(b, c) }
    /// High half of the product, plus `c`; wraps.
    MadHiS16: IntMad (a: i16, b: i16, c: i16) -> i16 { a.mad_hi(b, c) }
    /// Absolute difference, plus `c`; wraps.
    SadS16: IntAdd (a: i16, b: i16, c: i16) -> i16 { a.sad(b, c) }
    /// High half of the product, plus `c`; wraps.
    MadHiU32: IntMad (a: u32, b: u32, c: u32) -> u32 { a.mad_hi(b, c) }
    /// Absolute difference, plus `c`; wraps.
    SadU32: IntAdd (a: u32, b: u32, c: u32) -> u32 { a.sad(b, c) }
    /// High half of the product, plus `c`; wraps.
    MadHiS32: IntMad (a: i32, b: i32, c: i32) -> i32 { a.mad_hi(b, c) }
    /// Absolute difference, plus `c`; wraps.
    SadS32: IntAdd (a: i32, b: i32, c: i32) -> i32 { a.sad(b, c) }
    /// High half of the product, plus `c`; wraps.
    MadHiU64: IntMad (a: u64, b: u64, c: u64) -> u64 { a.mad_hi(b, c) }
    /// Absolute difference, plus `c`; wraps.
    SadU64: IntAdd (a: u64, b: u64, c: u64) -> u64 { a.sad(b, c) }
    /// High half of the product, plus `c`; wraps.
    MadHiS64: IntMad (a: i64, b: i64, c: i64) -> i64 { a.mad_hi(b, c) }
    /// Absolute difference, plus `c`; wraps.
    SadS64: IntAdd (a: i64, b: i64, c: i64) -> i64 { a.sad(b, c) }
    /// High half of the product, plus `c`, clamped.
    MadHiSatS32: IntMad (a: i32, b: i32, c: i32) -> i32 { int::mad_hi_sat_s32(a, b, c) }
    /// Whole product, plus `c`; wraps.
    MadWideU16: IntMad (a: u16, b: u16, c: u32) -> u32 { a.mul_wide(b).wrapping_add(c) }
    /// Whole product, plus `c`; wraps.
    MadWideS16: IntMad (a: i16, b: i16, c: i32) -> i32 { a.mul_wide(b).wrapping_add(c) }
    /// Whole product, plus `c`; wraps.
    MadWideU32: IntMad (a: u32, b: u32, c: u64) -> u64 { a.mul_wide(b).wrapping_add(c) }
    /// Whole product, plus `c`; wraps.
    MadWideS32: IntMad (a: i32, b: i32, c: i64) -> i64 { a.mul_wide(b).wrapping_add(c) }
    /// `Mul24Lo` plus `c`; wraps.
    Mad24LoU: IntMad (a: u32, b: u32, c: u32) -> u32 { int::mul24_lo_u32(a, b).wrapping_add(c) }
    /// `Mul24Hi` plus `c`; wraps.
    Mad24HiU: IntMad (a: u32, b: u32, c: u32) -> u32 { int::mul24_hi_u32(a, b).wrapping_add(c) }
    /// `Mul24Lo` plus `c`; wraps.
    Mad24LoS: IntMad (a: i32, b: i32, c: i32) -> i32 { int::mul24_lo_s32(a, b).wrapping_add(c) }
    /// `Mul24Hi` plus `c`; wraps.
    Mad24HiS: IntMad (a: i32, b: i32, c: i32) -> i32 { int::mul24_hi_s32(a, b).wrapping_add(c) }
    /// `Mul24Hi` plus `c`, clamped.
    Mad24HiSatS: IntMad (a: i32, b: i32, c: i32) -> i32 { int::mad24_hi_sat_s32(a, b, c) }
    /// Bit field of `a` of `len` bits from `pos` on.
    BfeU32: IntAdd (a: u32, pos: u32, len: u32) -> u32 { bits::bfe_u32(a, pos, len) }
    /// Bit field of `a` of `len` bits from `pos` on.
    BfeS32: IntAdd (a: i32, pos: u32, len: u32) -> i32 { bits::bfe_s32(a, pos, len) }
    /// Bit field of `a` of `len` bits from `pos` on.
    BfeU64: IntAdd (a: u64, pos: u32, len: u32) -> u64 { bits::bfe_u64(a, pos, len) }
    /// Bit field of `a` of `len` bits from `pos` on.
    BfeS64: IntAdd (a: i64, pos: u32, len: u32) -> i64 { bits::bfe_s64(a, pos, len) }
    /// Bytes picked from the pair by a selector.
    PrmtDefault: Move (a: u32, b: u32, c: u32) -> u32 { bits::prmt_default(a, b, c) }
    /// Bytes picked from the pair by a selector.
    PrmtForward4: Move (a: u32, b: u32, c: u32) -> u32 { bits::prmt(a, b, c, bits::Permute::Forward4) }
    /// Bytes picked from the pair by a selector.
    PrmtBackward4: Move (a: u32, b: u32, c: u32) -> u32 { bits::prmt(a, b, c, bits::Permute::Backward4) }
    /// Bytes picked from the pair by a selector.
    PrmtReplicate8: Move (a: u32, b: u32, c: u32) -> u32 { bits::prmt(a, b, c, bits::Permute::Replicate8) }
    /// Bytes picked from the pair by a selector.
    PrmtEdgeClampLeft: Move (a: u32, b: u32, c: u32) -> u32 { bits::prmt(a, b, c, bits::Permute::EdgeClampLeft) }
    /// Bytes picked from the pair by a selector.
    PrmtEdgeClampRight: Move (a: u32, b: u32, c: u32) -> u32 { bits::prmt(a, b, c, bits::Permute::EdgeClampRight) }
    /// Bytes picked from the pair by a selector.
    PrmtReplicate16: Move (a: u32, b: u32, c: u32) -> u32 { bits::prmt(a, b, c, bits::Permute::Replicate16) }
    /// Funnel shift of the pair (`a` low, `b` high).
    ShfLeftClamp: IntAdd (a: u32, b: u32, c: u32) -> u32 { bits::shf_l(a, b, c, true) }
    /// Funnel shift of the pair (`a` low, `b` high).
    ShfLeftWrap: IntAdd (a: u32, b: u32, c: u32) -> u32 { bits::shf_l(a, b, c, false) }
    /// Funnel shift of the pair (`a` low, `b` high).
    ShfRightClamp: IntAdd (a: u32, b: u32, c: u32) -> u32 { bits::shf_r(a, b, c, true) }
    /// Funnel shift of the pair (`a` low, `b` high).
    ShfRightWrap: IntAdd (a: u32, b: u32, c: u32) -> u32 { bits::shf_r(a, b, c, false) }
    /// Four-way byte dot product, plus `c`.
    Dp4aUU: IntMad (a: u32, b: u32, c: u32) -> u32 { int::dp4a(a, false, b, false, c) }
    /// Two-way dot product of halves with two bytes of `b`, plus `c`.
    Dp2aLoUU: IntMad (a: u32, b: u32, c: u32) -> u32 { int::dp2a(a, false, b, false, false, c) }
    /// Two-way dot product of halves with two bytes of `b`, plus `c`.
    Dp2aHiUU: IntMad (a: u32, b: u32, c: u32) -> u32 { int::dp2a(a, false, b, false, true, c) }
    /// Four-way byte dot product, plus `c`.
    Dp4aUS: IntMad (a: u32, b: u32, c: u32) -> u32 { int::dp4a(a, false, b, true, c) }
    /// Two-way dot product of halves with two bytes of `b`, plus `c`.
    Dp2aLoUS: IntMad (a: u32, b: u32, c: u32) -> u32 { int::dp2a(a, false, b, true, false, c) }
    /// Two-way dot product of halves with two bytes of `b`, plus `c`.
    Dp2aHiUS: IntMad (a: u32, b: u32, c: u32) -> u32 { int::dp2a(a, false, b, true, true, c) }
    /// Four-way byte dot product, plus `c`.
    Dp4aSU: IntMad (a: u32, b: u32, c: u32) -> u32 { int::dp4a(a, true, b, false, c) }
    /// Two-way dot product of halves with two bytes of `b`, plus `c`.
    Dp2aLoSU: IntMad (a: u32, b: u32, c: u32) -> u32 { int::dp2a(a, true, b, false, false, c) }
    /// Two-way dot product of halves with two bytes of `b`, plus `c`.
    Dp2aHiSU: IntMad (a: u32, b: u32, c: u32) -> u32 { int::dp2a(a, true, b, false, true, c) }
    /// Four-way byte dot product, plus `c`.
    Dp4aSS: IntMad (a: u32, b: u32, c: u32) -> u32 { int::dp4a(a, true, b, true, c) }
    /// Two-way dot product of halves with two bytes of `b`, plus `c`.
    Dp2aLoSS: IntMad (a: u32, b: u32, c: u32) -> u32 { int::dp2a(a, true, b, true, false, c) }
    /// Two-way dot product of halves with two bytes of `b`, plus `c`.
    Dp2aHiSS: IntMad (a: u32, b: u32, c: u32) -> u32 { int::dp2a(a, true, b, true, true, c) }
    /// `a` where `c` is not negative, else `b`.
    Slct16S32: Move (a: u16, b: u16, c: i32) -> u16 { if c >= 0 { a } else { b } }
    /// `a` where `c` is at least zero, else `b`; NaN counts as less.
    Slct16F32: Move (a: u16, b: u16, c: f32) -> u16 { if c >= 0.0 { a } else { b } }
    /// The same with subnormal `c` as zero.
    Slct16F32Ftz: Move (a: u16, b: u16, c: f32) -> u16 { if c > -f32::MIN_POSITIVE { a } else { b } }
    /// `a` where `c` is not negative, else `b`.
    Slct32S32: Move (a: u32, b: u32, c: i32) -> u32 { if c >= 0 { a } else { b } }
    /// `a` where `c` is at least zero, else `b`; NaN counts as less.
    Slct32F32: Move (a: u32, b: u32, c: f32) -> u32 { if c >= 0.0 { a } else { b } }
    /// The same with subnormal `c` as zero.
    Slct32F32Ftz: Move (a: u32, b: u32, c: f32) -> u32 { if c > -f32::MIN_POSITIVE { a } else { b } }
    /// `a` where `c` is not negative, else `b`.
    Slct64S32: Move (a: u64, b: u64, c: i32) -> u64 { if c >= 0 { a } else { b } }
    /// `a` where `c` is at least zero, else `b`; NaN counts as less.
    Slct64F32: Move (a: u64, b: u64, c: f32) -> u64 { if c >= 0.0 { a } else { b } }
    /// The same with subnormal `c` as zero.
    Slct64F32Ftz: Move (a: u64, b: u64, c: f32) -> u64 { if c > -f32::MIN_POSITIVE { a } else { b } }
    Add3x32: IntAdd (a: u32, b: u32, c: u32) -> u32 { a.wrapping_add(b).wrapping_add(c) }
    /// `a + b - c`; wraps.
    AddSub32: IntAdd (a: u32, b: u32, c: u32) -> u32 { a.wrapping_add(b).wrapping_sub(c) }
    /// `a - b - c`; wraps.
    SubSub32: IntAdd (a: u32, b: u32, c: u32) -> u32 { a.wrapping_sub(b).wrapping_sub(c) }
    /// `a` shifted left by `c`, plus `b`; wraps.
    ShlAdd32: IntAdd (a: u32, b: u32, c: u32) -> u32 { Int::shl(a, c).wrapping_add(b) }
    /// `a` shifted right by `c`, plus `b`; wraps.
    ShrAddU32: IntAdd (a: u32, b: u32, c: u32) -> u32 { Int::shr(a, c).wrapping_add(b) }
    /// `a` shifted right by `c`, plus `b`; wraps.
    ShrAddS32: IntAdd (a: i32, b: i32, c: u32) -> i32 { Int::shr(a, c).wrapping_add(b) }
    /// High half of the product plus a 64-bit `c`; wraps.
    MadHigh64U32: IntMad (a: u32, b: u32, c: u64) -> u32 { (a.mul_wide(b).wrapping_add(c) >> 32) as u32 }
    /// High half of the product plus a 64-bit `c`; wraps.
    MadHigh64S32: IntMad (a: i32, b: i32, c: i64) -> u32 { (a.mul_wide(b).wrapping_add(c) >> 32) as u32 }
    /// High word of the pair (`a` low, `b` high) shifted left; amounts past 64 count as 64.
    ShfLeft64: IntAdd (a: u32, b: u32, c: u32) -> u32 { (Int::shl(pair(a, b), c) >> 32) as u32 }
    /// Low word of the pair (`a` low, `b` high) shifted right; amounts past 64 count as 64.
    ShfRightU64: IntAdd (a: u32, b: u32, c: u32) -> u32 { Int::shr(pair(a, b), c) as u32 }
    /// Low word of the signed pair (`a` low, `b` high) shifted right; amounts past 64 count as 64.
    ShfRightS64: IntAdd (a: u32, b: u32, c: u32) -> u32 { Int::shr(pair(a, b) as i64, c) as u32 }
    /// Sum of the absolute differences of the bytes, plus `c`; wraps.
    Sad4U8: IntAdd (a: u32, b: u32, c: u32) -> u32 { sum(byte_differences(a, b, false)).wrapping_add(c) }
    /// Sum of the absolute differences of the bytes, plus `c`; wraps.
    Sad4S8: IntAdd (a: u32, b: u32, c: u32) -> u32 { sum(byte_differences(a, b, true)).wrapping_add(c) }
    /// Position of the `c`-th one of `a` from bit `b` on.
    Fns: IntAdd (a: u32, b: u32, c: i32) -> u32 { bits::fns(a, b, c) }
}

lane_ops! {
    /// Operations on four integers.
    Int4, map4, 4;

    /// `b` with its bit field of `len` bits from `pos` on replaced by `a`.
    Bfi32: IntAdd (a: u32, b: u32, pos: u32, len: u32) -> u32 { bits::bfi_u32(a, b, pos, len) }
    /// `b` with its bit field of `len` bits from `pos` on replaced by `a`.
    Bfi64: IntAdd (a: u64, b: u64, pos: u32, len: u32) -> u64 { bits::bfi_u64(a, b, pos, len) }
}

/// `f` on both 16-bit halves.
#[inline(always)]
fn halves(a: u32, b: u32, f: impl Fn(u16, u16) -> u16) -> u32 {
    u32::from(f(a as u16, b as u16)) | u32::from(f((a >> 16) as u16, (b >> 16) as u16)) << 16
}

#[inline(always)]
fn pair(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

/// Absolute differences of the bytes; they are at most 255 also of signed bytes.
#[inline(always)]
fn byte_differences(a: u32, b: u32, signed: bool) -> [u8; 4] {
    let (a, b) = (a.to_le_bytes(), b.to_le_bytes());
    std::array::from_fn(|k| if signed { (a[k] as i8).abs_diff(b[k] as i8) } else { a[k].abs_diff(b[k]) })
}

#[inline(always)]
fn sum(bytes: [u8; 4]) -> u32 {
    bytes.into_iter().map(u32::from).sum()
}
