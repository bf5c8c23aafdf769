//! Exact arithmetic on f64 values with one rounding at the end, for rounding modes that the host lacks.
//!
//! A value is `mantissa * 2^exponent` with a mantissa of up to 128 bits. Its lowest bit is set if nonzero
//! bits below it were cut off (a sticky bit, "jam").

use crate::Rounding;
use crate::format::F64;

/// A finite number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exact {
    pub negative: bool,
    pub exponent: i32,
    pub mantissa: u128,
}

impl Exact {
    /// The value of `x`, which is finite.
    pub fn of(x: f64) -> Self {
        let bits = x.to_bits();
        let field = (bits >> 52 & 0x7ff) as i32;
        let fraction = u128::from(bits & ((1 << 52) - 1));
        let (mantissa, exponent) = if field == 0 { (fraction, -1074) } else { (fraction | 1 << 52, field - 1075) };
        Exact { negative: x.is_sign_negative(), exponent, mantissa }
    }

    /// The same value with its leading bit at bit 126; not for zero.
    fn normalised(self) -> Self {
        let shift = self.mantissa.leading_zeros() as i32 - 1;
        debug_assert!(shift >= 0);
        Exact { exponent: self.exponent - shift, mantissa: self.mantissa << shift, ..self }
    }

    /// Product of two values of up to 53 bits.
    pub fn mul(self, other: Self) -> Self {
        Exact {
            negative: self.negative != other.negative,
            exponent: self.exponent + other.exponent,
            mantissa: self.mantissa * other.mantissa,
        }
    }

    /// Sum of two values of up to 106 bits. An exact zero is -0 if both are negative, or if they differ in
    /// sign and `round` is down.
    ///
    /// Both are shifted to a leading bit at 126, so that at least the lowest 20 bits are zero; the smaller
    /// one is then shifted right by the difference `d` of their exponents with a sticky bit. If `d` is at
    /// most 20 nothing is lost. Otherwise at most one leading bit cancels, the result keeps 125 bits, and the
    /// sticky bit is far below the rounding position.
    pub fn add(self, other: Self, round: Rounding) -> Self {
        let zero_sign = if self.negative == other.negative { self.negative } else { round == Rounding::Down };
        if self.mantissa == 0 && other.mantissa == 0 {
            return Exact { negative: zero_sign, exponent: 0, mantissa: 0 };
        }
        if self.mantissa == 0 {
            return other;
        }
        if other.mantissa == 0 {
            return self;
        }
        let (a, b) = (self.normalised(), other.normalised());
        let (large, small) = if (a.exponent, a.mantissa) >= (b.exponent, b.mantissa) { (a, b) } else { (b, a) };
        let shifted = shift_right_jam(small.mantissa, large.exponent - small.exponent);
        if large.negative == small.negative {
            return Exact { mantissa: large.mantissa + shifted, ..large };
        }
        let mantissa = large.mantissa - shifted;
        Exact { negative: if mantissa == 0 { zero_sign } else { large.negative }, mantissa, ..large }
    }

    /// Quotient of two values of up to 53 bits, `other` not zero: at least 72 bits and a sticky one.
    pub fn div(self, other: Self) -> Self {
        let negative = self.negative != other.negative;
        if self.mantissa == 0 {
            return Exact { negative, ..self };
        }
        let a = self.normalised();
        let quotient = a.mantissa / other.mantissa;
        let sticky = u128::from(!a.mantissa.is_multiple_of(other.mantissa));
        Exact { negative, exponent: a.exponent - other.exponent, mantissa: quotient | sticky }
    }

    /// Square root of a value that is not negative: 63 bits and a sticky one.
    pub fn sqrt(self) -> Self {
        if self.mantissa == 0 {
            return self;
        }
        let mut a = self.normalised();
        if a.exponent % 2 != 0 {
            a.mantissa <<= 1;
            a.exponent -= 1;
        }
        let root = a.mantissa.isqrt();
        // One more bit below makes room for the sticky bit.
        let sticky = u128::from(root * root != a.mantissa);
        Exact { negative: a.negative, exponent: a.exponent / 2 - 1, mantissa: root << 1 | sticky }
    }

    /// Rounds to f64.
    pub fn round(self, round: Rounding) -> f64 {
        if self.mantissa == 0 {
            return if self.negative { -0.0 } else { 0.0 };
        }
        let excess = (64 - self.mantissa.leading_zeros() as i32).max(0);
        let mantissa = shift_right_jam(self.mantissa, excess) as u64;
        f64::from_bits(F64.pack(self.negative, self.exponent + excess, mantissa, round))
    }
}

/// `x >> amount`, with the lowest bit set if a one was shifted out.
fn shift_right_jam(x: u128, amount: i32) -> u128 {
    match amount {
        ..=0 => x,
        1..=127 => x >> amount | u128::from(x << (128 - amount) != 0),
        _ => u128::from(x != 0),
    }
}
