//! Integer arithmetic (PTX ISA, "Integer Arithmetic Instructions" and "Extended-Precision Integer
//! Arithmetic Instructions").

/// The integer types of arithmetic instructions, with operations that PTX defines and Rust's types lack or
/// name differently.
pub trait Int: Copy + Ord {
    /// The type twice as wide; for 64 bits, 128.
    type Wide: Copy;
    /// `mul.wide`: the whole product.
    fn mul_wide(self, other: Self) -> Self::Wide;
    /// `mul.lo`: the lower half of the product.
    fn mul_lo(self, other: Self) -> Self;
    /// `mul.hi`: the upper half of the product.
    fn mul_hi(self, other: Self) -> Self;
    /// `mad.lo`: `self * b + c`, wrapping.
    fn mad_lo(self, b: Self, c: Self) -> Self;
    /// `mad.hi`: upper half of `self * b`, plus `c`, wrapping.
    fn mad_hi(self, b: Self, c: Self) -> Self;
    /// `div`. The ISA leaves division by zero undefined; the code of NVIDIA's compiler returns all ones, for
    /// signed types too. The least number divided by -1 wraps to itself.
    fn div(self, other: Self) -> Self;
    /// `rem`. By zero it returns all ones, as NVIDIA's compiled code does (see [`Int::div`]); the sign is
    /// the dividend's.
    fn rem(self, other: Self) -> Self;
    /// `sad`: `c + |self - b|`, wrapping.
    fn sad(self, b: Self, c: Self) -> Self;
    /// `add.sat`: clamped to the type's range. PTX has it for s32.
    fn add_sat(self, other: Self) -> Self;
    /// `sub.sat`: clamped to the type's range. PTX has it for s32.
    fn sub_sat(self, other: Self) -> Self;
    /// `shl`: an amount of the width or more gives zero.
    fn shl(self, amount: u32) -> Self;
    /// `shr`: an amount of the width or more gives zero, or for signed types the sign in every bit.
    fn shr(self, amount: u32) -> Self;
}

macro_rules! int {
    ($($t:ty, $wide:ty;)*) => {$(
        impl Int for $t {
            type Wide = $wide;

            #[inline(always)]
            fn mul_wide(self, other: Self) -> $wide {
                <$wide>::from(self) * <$wide>::from(other)
            }

            #[inline(always)]
            fn mul_lo(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }

            #[inline(always)]
            fn mul_hi(self, other: Self) -> Self {
                (self.mul_wide(other) >> <$t>::BITS) as $t
            }

            #[inline(always)]
            fn mad_lo(self, b: Self, c: Self) -> Self {
                self.wrapping_mul(b).wrapping_add(c)
            }

            #[inline(always)]
            fn mad_hi(self, b: Self, c: Self) -> Self {
                self.mul_hi(b).wrapping_add(c)
            }

            #[inline]
            fn div(self, other: Self) -> Self {
                if other == 0 { !0 } else { self.wrapping_div(other) }
            }

            #[inline]
            fn rem(self, other: Self) -> Self {
                if other == 0 { !0 } else { self.wrapping_rem(other) }
            }

            #[inline(always)]
            fn sad(self, b: Self, c: Self) -> Self {
                c.wrapping_add(self.abs_diff(b) as $t)
            }

            #[inline(always)]
            fn add_sat(self, other: Self) -> Self {
                self.saturating_add(other)
            }

            #[inline(always)]
            fn sub_sat(self, other: Self) -> Self {
                self.saturating_sub(other)
            }

            #[inline(always)]
            fn shl(self, amount: u32) -> Self {
                if amount < <$t>::BITS { self << amount } else { 0 }
            }

            #[inline(always)]
            #[allow(unused_comparisons, reason = "the sign of an unsigned type")]
            fn shr(self, amount: u32) -> Self {
                if amount < <$t>::BITS { self >> amount } else if self < 0 { !0 } else { 0 }
            }
        }
    )*};
}

int! {
    u16, u32;
    i16, i32;
    u32, u64;
    i32, i64;
    u64, u128;
    i64, i128;
}

/// `mad.hi.sat.s32`: upper half of `a * b`, plus `c`, clamped.
#[inline(always)]
pub fn mad_hi_sat_s32(a: i32, b: i32, c: i32) -> i32 {
    a.mul_hi(b).saturating_add(c)
}

/// The low 24 bits of `x` as an unsigned number.
#[inline(always)]
const fn low24u(x: u32) -> u64 {
    (x & 0xff_ffff) as u64
}

/// The low 24 bits of `x` as a signed number.
#[inline(always)]
const fn low24s(x: i32) -> i64 {
    (x << 8 >> 8) as i64
}

/// `mul24.lo.u32`: bits 31 to 0 of the 48-bit product of the operands' low 24 bits.
#[inline(always)]
pub const fn mul24_lo_u32(a: u32, b: u32) -> u32 {
    (low24u(a) * low24u(b)) as u32
}

/// `mul24.lo.s32`.
#[inline(always)]
pub const fn mul24_lo_s32(a: i32, b: i32) -> i32 {
    (low24s(a) * low24s(b)) as i32
}

/// `mul24.hi.u32`: bits 47 to 16 of the 48-bit product.
#[inline(always)]
pub const fn mul24_hi_u32(a: u32, b: u32) -> u32 {
    ((low24u(a) * low24u(b)) >> 16) as u32
}

/// `mul24.hi.s32`.
#[inline(always)]
pub const fn mul24_hi_s32(a: i32, b: i32) -> i32 {
    ((low24s(a) * low24s(b)) >> 16) as i32
}

/// `mad24.hi.sat.s32`.
#[inline(always)]
pub const fn mad24_hi_sat_s32(a: i32, b: i32, c: i32) -> i32 {
    mul24_hi_s32(a, b).saturating_add(c)
}

/// `addc`, `add.cc` (with no carry in): the sum and the carry out. `subc` adds the complement of `b`,
/// `sub.cc` with a carry.
#[inline(always)]
pub const fn add_carry_u32(a: u32, b: u32, carry: bool) -> (u32, bool) {
    let sum = a as u64 + b as u64 + carry as u64;
    (sum as u32, sum >> 32 != 0)
}

/// `addc.u64`, `add.cc.u64`.
#[inline(always)]
pub const fn add_carry_u64(a: u64, b: u64, carry: bool) -> (u64, bool) {
    let sum = a as u128 + b as u128 + carry as u128;
    (sum as u64, sum >> 64 != 0)
}

/// The four bytes of `x` as unsigned or signed numbers.
#[inline(always)]
fn bytes(x: u32, signed: bool) -> [i32; 4] {
    x.to_le_bytes().map(|byte| if signed { i32::from(byte as i8) } else { i32::from(byte) })
}

/// `dp4a`: `c` plus the four products of the bytes of `a` and `b`, wrapping.
#[inline(always)]
pub fn dp4a(a: u32, a_signed: bool, b: u32, b_signed: bool, c: u32) -> u32 {
    let (a, b) = (bytes(a, a_signed), bytes(b, b_signed));
    let sum = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
    c.wrapping_add(sum as u32)
}

/// `dp2a.{lo,hi}`: `c` plus the products of the two 16-bit halves of `a` with two bytes of `b`, the
/// lower pair or, with `hi`, the upper pair; wrapping.
#[inline(always)]
pub fn dp2a(a: u32, a_signed: bool, b: u32, b_signed: bool, hi: bool, c: u32) -> u32 {
    let half = |x: u16| if a_signed { i32::from(x as i16) } else { i32::from(x) };
    let b = bytes(b, b_signed);
    let b = if hi { [b[2], b[3]] } else { [b[0], b[1]] };
    let sum = half(a as u16).wrapping_mul(b[0]).wrapping_add(half((a >> 16) as u16).wrapping_mul(b[1]));
    c.wrapping_add(sum as u32)
}
