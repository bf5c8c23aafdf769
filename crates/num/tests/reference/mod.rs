//! An independent exact reference: big dyadic numbers, and a check that a rounded result is the
//! right one by comparing the exact value with the result's neighbours. Shares no code with the
//! crate.
use num::Rounding;
use std::cmp::Ordering;

/// A deterministic generator (splitmix64).
pub struct Random(pub u64);

impl Random {
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.bits() % n
    }

    /// A value of a format with `exponent` and `mantissa` bits: any, near one, special or with few
    /// mantissa bits.
    pub fn float(&mut self, exponent: u32, mantissa: u32) -> u64 {
        let width = 1 + exponent + mantissa;
        let mask = if width == 64 { u64::MAX } else { (1 << width) - 1 };
        let infinity = ((1u64 << exponent) - 1) << mantissa;
        let one = ((1u64 << (exponent - 1)) - 1) << mantissa;
        let sign = (self.bits() & 1) << (width - 1);
        let any = self.bits() & mask;
        match self.below(10) {
            0 => {
                let specials =
                    [0, 1, 2, (1 << mantissa) - 1, 1 << mantissa, (1 << mantissa) + 1, one, one + 1, one - 1];
                let more =
                    [infinity - 1, infinity, infinity + 1, infinity - (1 << mantissa), infinity | 1 << (mantissa - 1)];
                let at = self.below(14) as usize;
                sign | if at < 9 { specials[at] } else { more[at - 9] }
            }
            1 => sign | (any & ((1 << mantissa) - 1)),
            2..=5 => {
                let near = one.wrapping_add((self.below(9) << mantissa).wrapping_sub(4 << mantissa));
                sign | near | (any & ((1 << mantissa) - 1))
            }
            6 => {
                let few = any & !((1 << (mantissa - mantissa / 3)) - 1);
                sign | (few & (mask >> 1))
            }
            _ => any,
        }
    }

    pub fn f32(&mut self) -> f32 {
        f32::from_bits(self.float(8, 23) as u32)
    }

    pub fn f64(&mut self) -> f64 {
        f64::from_bits(self.float(11, 52))
    }
}

/// `(-1)^negative * sum(limbs[i] * 2^(32 i)) * 2^exponent`.
#[derive(Clone, Debug)]
pub struct Big {
    negative: bool,
    limbs: Vec<u32>,
    exponent: i32,
}

impl Big {
    pub fn new(negative: bool, magnitude: u64, exponent: i32) -> Self {
        Big { negative, limbs: vec![magnitude as u32, (magnitude >> 32) as u32], exponent }
    }

    pub fn int(x: i128) -> Self {
        let m = x.unsigned_abs();
        Big { negative: x < 0, limbs: (0..4).map(|i| (m >> (32 * i)) as u32).collect(), exponent: 0 }
    }

    pub fn is_zero(&self) -> bool {
        self.limbs.iter().all(|&l| l == 0)
    }

    pub fn is_negative(&self) -> bool {
        self.negative
    }

    pub fn neg(&self) -> Self {
        Big { negative: !self.negative, ..self.clone() }
    }

    pub fn times(&self, other: &Self) -> Self {
        let mut limbs = vec![0u32; self.limbs.len() + other.limbs.len()];
        for (i, &a) in self.limbs.iter().enumerate() {
            let mut carry = 0u64;
            for (j, &b) in other.limbs.iter().enumerate() {
                let t = u64::from(a) * u64::from(b) + u64::from(limbs[i + j]) + carry;
                limbs[i + j] = t as u32;
                carry = t >> 32;
            }
            limbs[i + other.limbs.len()] = carry as u32;
        }
        while limbs.len() > 1 && limbs.last() == Some(&0) {
            limbs.pop();
        }
        Big { negative: self.negative != other.negative, limbs, exponent: self.exponent + other.exponent }
    }

    /// The limbs at the lower exponent `to`.
    fn at(&self, to: i32) -> Vec<u32> {
        let shift = (self.exponent - to) as usize;
        let mut limbs = vec![0u32; shift / 32];
        let mut carry = 0u64;
        for &l in &self.limbs {
            let t = u64::from(l) << (shift % 32) | carry;
            limbs.push(t as u32);
            carry = t >> 32;
        }
        limbs.push(carry as u32);
        limbs
    }

    pub fn plus(&self, other: &Self) -> Self {
        if self.is_zero() {
            return other.clone();
        }
        if other.is_zero() {
            return self.clone();
        }
        let exponent = self.exponent.min(other.exponent);
        let (mut a, mut b) = (self.at(exponent), other.at(exponent));
        let length = a.len().max(b.len()) + 1;
        a.resize(length, 0);
        b.resize(length, 0);
        if self.negative == other.negative {
            let mut carry = 0u64;
            for (x, y) in a.iter_mut().zip(&b) {
                let t = u64::from(*x) + u64::from(*y) + carry;
                *x = t as u32;
                carry = t >> 32;
            }
            return Big { negative: self.negative, limbs: a, exponent };
        }
        let swap = a.iter().rev().cmp(b.iter().rev()) == Ordering::Less;
        let (mut large, small, negative) = if swap { (b, a, other.negative) } else { (a, b, self.negative) };
        let mut borrow = 0i64;
        for (x, y) in large.iter_mut().zip(&small) {
            let t = i64::from(*x) - i64::from(*y) + borrow;
            *x = t as u32;
            borrow = t >> 32;
        }
        Big { negative, limbs: large, exponent }
    }

    pub fn compare(&self, other: &Self) -> Ordering {
        let difference = self.plus(&other.neg());
        if difference.is_zero() {
            Ordering::Equal
        } else if difference.negative {
            Ordering::Less
        } else {
            Ordering::Greater
        }
    }
}

/// A format by its exponent and mantissa bits.
#[derive(Clone, Copy, Debug)]
pub struct Shape(pub u32, pub u32);

pub const F16: Shape = Shape(5, 10);
pub const BF16: Shape = Shape(8, 7);
pub const F32: Shape = Shape(8, 23);
pub const F64: Shape = Shape(11, 52);

impl Shape {
    fn sign(self) -> u64 {
        1 << (self.0 + self.1)
    }

    pub fn infinity(self) -> u64 {
        ((1 << self.0) - 1) << self.1
    }

    pub fn is_nan(self, bits: u64) -> bool {
        bits & (self.sign() - 1) > self.infinity()
    }

    pub fn is_finite(self, bits: u64) -> bool {
        bits & (self.sign() - 1) < self.infinity()
    }

    /// The value; infinity counts as the power of two after the largest finite number.
    pub fn value(self, bits: u64) -> Big {
        let field = (bits >> self.1 & ((1 << self.0) - 1)) as i32;
        let fraction = bits & ((1 << self.1) - 1);
        let bias = (1 << (self.0 - 1)) - 1;
        let (m, e) = if field == 0 { (fraction, 1) } else { (fraction | 1 << self.1, field) };
        Big::new(bits & self.sign() != 0, m, e - bias - self.1 as i32)
    }

    /// Panics unless `bits` is the rounding of the nonzero number that `exact` compares (exact
    /// against its argument) and whose sign is `negative`.
    pub fn check(self, bits: u64, round: Rounding, negative: bool, exact: impl Fn(&Big) -> Ordering) {
        if let Err(why) = self.try_check(bits, round, negative, exact) {
            panic!("{bits:#x} ({self:?}, {round:?}, negative {negative}): {why}");
        }
    }

    fn try_check(
        self,
        bits: u64,
        round: Rounding,
        negative: bool,
        exact: impl Fn(&Big) -> Ordering,
    ) -> Result<(), &'static str> {
        if self.is_nan(bits) {
            return Err("is NaN");
        }
        if (bits & self.sign() != 0) != negative {
            return Err("has the wrong sign");
        }
        // Magnitudes from here on.
        let compare = |x: &Big| {
            if negative { exact(&x.neg()).reverse() } else { exact(x) }
        };
        let m = bits & (self.sign() - 1);
        let value = |m: u64| self.value(m);
        let away = match round {
            Rounding::Zero => Some(false),
            Rounding::Down => Some(negative),
            Rounding::Up => Some(!negative),
            Rounding::NearestEven | Rounding::NearestAway => None,
        };
        let infinite = m == self.infinity();
        match away {
            // Towards zero: m <= exact < next.
            Some(false) => {
                if infinite || compare(&value(m)) == Ordering::Less {
                    return Err("is above");
                }
                // The largest finite number holds for everything above it.
                if m + 1 != self.infinity() && compare(&value(m + 1)) != Ordering::Less {
                    return Err("is too small");
                }
            }
            // Away: previous < exact <= m.
            Some(true) => {
                if !infinite && compare(&value(m)) == Ordering::Greater {
                    return Err("is below");
                }
                if m == 0 || compare(&value(m - 1)) != Ordering::Greater {
                    return Err("is too large");
                }
            }
            None => {
                let half = Big::new(false, 1, -1);
                let tie =
                    |this_wins: bool, got: Ordering, want: Ordering| got == want || got == Ordering::Equal && this_wins;
                let even = m & 1 == 0;
                let away = round == Rounding::NearestAway;
                if !infinite {
                    let middle = value(m).plus(&value(m + 1)).times(&half);
                    if !tie(even && !away, compare(&middle), Ordering::Less) {
                        return Err("is too small");
                    }
                }
                if m > 0 {
                    let middle = value(m).plus(&value(m - 1)).times(&half);
                    if !tie(even || away, compare(&middle), Ordering::Greater) {
                        return Err("is too large");
                    }
                }
            }
        }
        Ok(())
    }

    /// [`Shape::check`] for a known exact value. `zero_negative` is the sign of an exact zero.
    pub fn check_value(self, bits: u64, round: Rounding, exact: &Big, zero_negative: bool) {
        if exact.is_zero() {
            let want = if zero_negative { self.sign() } else { 0 };
            assert_eq!(bits, want, "{self:?} {round:?}: an exact zero");
        } else {
            self.check(bits, round, exact.is_negative(), |x| exact.compare(x));
        }
    }
}

/// The sign of an exactly zero sum.
pub fn zero_sum_sign(a_negative: bool, b_negative: bool, round: Rounding) -> bool {
    if a_negative == b_negative { a_negative } else { round == Rounding::Down }
}

pub const DIRECTED_AND_NEAREST: [Rounding; 4] = [Rounding::NearestEven, Rounding::Zero, Rounding::Down, Rounding::Up];
