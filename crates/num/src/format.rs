//! Binary floating-point formats, and the only code that rounds a value into any of them.

use crate::Rounding;

/// A binary floating-point format of up to 64 bits: sign, exponent, mantissa, with the layout and meaning of
/// IEEE 754 (including subnormals, infinities and NaNs).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Format {
    /// Number of stored mantissa bits, without the implicit one.
    pub mantissa_bits: u32,
    pub exponent_bits: u32,
}

/// f16: 5 exponent bits, 10 mantissa bits.
pub const F16: Format = Format { mantissa_bits: 10, exponent_bits: 5 };
/// bf16, the upper half of f32.
pub const BF16: Format = Format { mantissa_bits: 7, exponent_bits: 8 };
/// tf32: f32 with 10 mantissa bits, stored in 19 bits here.
pub const TF32: Format = Format { mantissa_bits: 10, exponent_bits: 8 };
/// f32: 8 exponent bits, 23 mantissa bits.
pub const F32: Format = Format { mantissa_bits: 23, exponent_bits: 8 };
/// f64: 11 exponent bits, 52 mantissa bits.
pub const F64: Format = Format { mantissa_bits: 52, exponent_bits: 11 };
/// e5m2, the upper half of f16.
pub const E5M2: Format = Format { mantissa_bits: 2, exponent_bits: 5 };
/// e4m3 interpreted as in IEEE 754. The ISA's e4m3 has no infinities; see [`small`](crate::small).
pub(crate) const E4M3_IEEE: Format = Format { mantissa_bits: 3, exponent_bits: 4 };

impl Format {
    /// Exponent of the smallest normal number, as a power of two.
    #[inline]
    pub const fn min_exponent(self) -> i32 {
        2 - (1 << (self.exponent_bits - 1))
    }

    /// Mask of the sign bit.
    #[inline]
    pub const fn sign_bit(self) -> u64 {
        1 << (self.mantissa_bits + self.exponent_bits)
    }

    /// Bits of positive infinity.
    #[inline]
    pub const fn infinity(self) -> u64 {
        ((1 << self.exponent_bits) - 1) << self.mantissa_bits
    }

    /// The largest finite number.
    #[inline]
    pub const fn max_finite(self) -> u64 {
        self.infinity() - 1
    }

    /// Rounds the magnitude `mantissa * 2^exponent`, which is not zero, to this format.
    ///
    /// If the exact value has more than 64 bits, the caller sets the lowest bit of `mantissa` for the bits
    /// cut off (round to odd). The result is the exact value rounded once if `mantissa` then has at least
    /// `mantissa_bits + 3` significant bits.
    #[inline(always)]
    pub(crate) const fn pack(self, negative: bool, exponent: i32, mantissa: u64, round: Rounding) -> u64 {
        let sign = if negative { self.sign_bit() } else { 0 };
        let shift = mantissa.leading_zeros();
        let mantissa = mantissa << shift;
        // Now the value is mantissa / 2^63 * 2^exponent.
        let exponent = exponent - shift as i32 + 63;
        let below_normal = self.min_exponent() - exponent;
        let (drop, base) = if below_normal > 0 {
            let drop = 63 - self.mantissa_bits + below_normal as u32;
            // Dropping 65 bits leaves a fraction below one half, and so does dropping more.
            (if drop > 65 { 65 } else { drop }, 0)
        } else {
            let above = -below_normal as u64;
            // Too large to shift into place; any value above infinity is sufficient.
            let above = if above > 1 << self.exponent_bits { 1 << self.exponent_bits } else { above };
            // The leading one of the kept bits adds one to the exponent field.
            (63 - self.mantissa_bits, above)
        };
        let aligned = ((mantissa as u128) << 64) >> drop;
        let (kept, rest) = ((aligned >> 64) as u64, aligned as u64);
        if base > (1 << self.exponent_bits) - 2 {
            return sign | self.overflow(negative, round);
        }
        let up = round.increments(negative, kept & 1 != 0, rest) as u64;
        let magnitude = (base << self.mantissa_bits) + kept + up;
        if magnitude >= self.infinity() { sign | self.overflow(negative, round) } else { sign | magnitude }
    }

    /// Bits of the magnitude of a result that is too large for the format.
    #[inline]
    const fn overflow(self, negative: bool, round: Rounding) -> u64 {
        if round.overflows_to_infinity(negative) { self.infinity() } else { self.max_finite() }
    }

    /// Rounds `x` to this format once; `nan` is the result for NaN.
    #[inline(always)]
    pub fn round_f64(self, x: f64, round: Rounding, nan: u64) -> u64 {
        let bits = x.to_bits();
        let negative = x.is_sign_negative();
        let sign = if negative { self.sign_bit() } else { 0 };
        let field = (bits >> 52 & 0x7ff) as i32;
        let fraction = bits & ((1 << 52) - 1);
        if field == 0x7ff {
            return if fraction == 0 { sign | self.infinity() } else { nan };
        }
        let (mantissa, exponent) = if field == 0 { (fraction, -1074) } else { (fraction | 1 << 52, field - 1075) };
        if mantissa == 0 { sign } else { self.pack(negative, exponent, mantissa, round) }
    }

    /// The value of `bits` in this format, exact for formats of at most 11 exponent and 52 mantissa bits. NaN
    /// gives a quiet NaN.
    #[inline(always)]
    pub fn to_f64(self, bits: u64) -> f64 {
        let negative = bits & self.sign_bit() != 0;
        let field = bits >> self.mantissa_bits & ((1 << self.exponent_bits) - 1);
        let fraction = bits & ((1 << self.mantissa_bits) - 1);
        let magnitude = if field == (1 << self.exponent_bits) - 1 {
            if fraction == 0 { f64::INFINITY } else { f64::NAN }
        } else {
            let (mantissa, field) =
                if field == 0 { (fraction, 1) } else { (fraction | 1 << self.mantissa_bits, field) };
            let exponent = field as i32 - 1 + self.min_exponent() - self.mantissa_bits as i32;
            scale(mantissa, exponent)
        };
        if negative { -magnitude } else { magnitude }
    }
}

/// `mantissa * 2^exponent`, if that is an f64.
#[inline]
fn scale(mantissa: u64, exponent: i32) -> f64 {
    if mantissa == 0 {
        return 0.0;
    }
    f64::from_bits(F64.pack(false, exponent, mantissa, Rounding::NearestEven))
}

/// The sum of `x` and `y` rounded to odd: the exact sum if it is an f64, otherwise its neighbour with an odd
/// mantissa. Rounding that to any format of at most 50 mantissa bits gives the exact sum rounded once (Boldo
/// and Melquiond, "Emulation of a FMA and correctly rounded sums").
///
/// Exact for operands whose sum neither overflows nor needs bits below 2^-1074, as products and sums of f32
/// and narrower types.
#[inline(always)]
pub(crate) fn odd_sum(x: f64, y: f64) -> f64 {
    let sum = x + y;
    // Knuth's two-sum: `error` is exactly the part that rounding lost.
    let back = sum - x;
    let error = (x - (sum - back)) + (y - back);
    // NaN (from infinities) compares false and leaves the sum unchanged.
    let inexact = u64::from(error.abs() > 0.0);
    // If rounding increased the magnitude, steps back to the truncated sum, whose lowest bit becomes the
    // sticky one.
    let too_large = (error.to_bits() ^ sum.to_bits()) >> 63 & inexact;
    f64::from_bits(sum.to_bits().wrapping_sub(too_large) | inexact)
}

/// [`odd_sum`] in f32, for a further rounding to a format of at most 21 mantissa bits.
#[inline(always)]
pub(crate) fn odd_sum_f32(x: f32, y: f32) -> f32 {
    let sum = x + y;
    let back = sum - x;
    let error = (x - (sum - back)) + (y - back);
    let inexact = u32::from(error.abs() > 0.0);
    let too_large = (error.to_bits() ^ sum.to_bits()) >> 31 & inexact;
    f32::from_bits(sum.to_bits().wrapping_sub(too_large) | inexact)
}

/// `x` rounded to odd in f32, for a further rounding to a format of at most 22 significant bits that
/// has f32's range or less. NaN stays NaN, infinity infinite.
#[inline(always)]
pub(crate) fn odd_f32(x: f64) -> f32 {
    let nearest = x as f32;
    let back = f64::from(nearest);
    // This steps from infinity, after an overflow, to the largest number, and from zero to the least.
    let inexact = u32::from((x - back).abs() > 0.0);
    let too_large = u32::from(back.abs() > x.abs());
    f32::from_bits(nearest.to_bits().wrapping_sub(too_large) | inexact)
}
