//! Running error analysis: a reference value together with a bound on how far the device's value
//! may be from it.
//!
//! A host reference written with [`Bounded`] states its own tolerance. Each operation adds what
//! rounding its result may cost (half an ulp of the result) to the effect of its operands' errors
//! (N. J. Higham, *Accuracy and Stability of Numerical Algorithms*, 2nd ed., section 3.3). The order
//! of operations must be the kernel's. A fused multiply-add rounds once where the reference counts
//! two roundings, so the bound holds whichever products the compiler has contracted.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// A number computed on the device in a format with `P` bits of precision (11: f16, 24: f32, 53: f64).
///
/// The reference value is held in f64, so for `P` = 53 it is itself rounded: a bound covers both.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounded<const P: u32> {
    value: f64,
    error: f64,
}

/// A value of half precision with its bound.
pub type F16 = Bounded<11>;
/// A value of single precision with its bound.
pub type F32 = Bounded<24>;
/// A value of double precision with its bound.
pub type F64 = Bounded<53>;

impl<const P: u32> Bounded<P> {
    /// Largest relative error of rounding on the device plus the reference's, a little
    /// rounded up for the errors of computing the bound itself.
    const UNIT: f64 = (1.0 / (1u64 << P) as f64 + 1.0 / (1u64 << 53) as f64) * (1.0 + 1.0 / 4096.0);
    /// Largest absolute error of rounding a subnormal result.
    const TINY: f64 = match P {
        11 => 1.0 / (1 << 24) as f64,
        24 => f32::from_bits(1) as f64,
        _ => f64::from_bits(1),
    };

    /// A number that the device has exactly.
    pub const fn exact(value: f64) -> Self {
        Self { value, error: 0.0 }
    }

    /// The product of two numbers that the device has exactly.
    pub fn exact_product(a: f32, b: f32) -> Self {
        Self::rounded(f64::from(a) * f64::from(b), 0.0)
    }

    /// A number with a known bound on its error.
    pub const fn with_error(value: f64, error: f64) -> Self {
        Self { value, error }
    }

    /// The value without its bound.
    pub const fn value(self) -> f64 {
        self.value
    }

    /// Maximum difference of the device's value from it.
    pub const fn error(self) -> f64 {
        self.error
    }

    /// The result of an operation: adds the cost of rounding it.
    fn rounded(value: f64, error: f64) -> Self {
        Self { value, error: error + (value.abs() + error) * Self::UNIT + Self::TINY }
    }

    /// Rounds to another format, as an assignment of a double to a float does.
    pub fn convert<const Q: u32>(self) -> Bounded<Q> {
        if Q >= P { Bounded::with_error(self.value, self.error) } else { Bounded::rounded(self.value, self.error) }
    }

    /// Square root, exactly rounded.
    pub fn sqrt(self) -> Self {
        let root = self.value.max(0.0).sqrt();
        // |sqrt(x) - sqrt(y)| is at most |x - y| / sqrt(y), and at most sqrt(|x - y|).
        let error = if root > 0.0 { (self.error / root).min(self.error.sqrt()) } else { self.error.sqrt() };
        Self::rounded(root, error)
    }

    /// The result of a function that is accurate to `ulps` units in the last place; `spread` is what the operands' errors
    /// cost.
    fn computed(value: f64, spread: f64, ulps: f64) -> Self {
        Self { value, error: spread + (value.abs() + spread) * (2.0 * ulps) * Self::UNIT + Self::TINY }
    }

    /// e to the power of this, by a function accurate to `ulps` units in the last place.
    pub fn exp(self, ulps: f64) -> Self {
        let value = self.value.exp();
        Self::computed(value, value * self.error.exp_m1(), ulps)
    }

    /// Natural logarithm, by a function accurate to `ulps` units in the last place.
    pub fn ln(self, ulps: f64) -> Self {
        let spread = if self.error < self.value { -(-self.error / self.value).ln_1p() } else { f64::INFINITY };
        Self::computed(self.value.ln(), spread, ulps)
    }

    /// Hyperbolic tangent, by a function accurate to `ulps` units in the last place.
    pub fn tanh(self, ulps: f64) -> Self {
        // It is nowhere steeper than at 0.
        Self::computed(self.value.tanh(), self.error, ulps)
    }

    /// Reciprocal square root, by a function accurate to `ulps` units in the last place.
    pub fn rsqrt(self, ulps: f64) -> Self {
        let (value, least) = (1.0 / self.value.sqrt(), self.value - self.error);
        let spread = if least > 0.0 { 1.0 / least.sqrt() - value } else { f64::INFINITY };
        Self::computed(value, spread, ulps)
    }

    /// The quotient by a division accurate to `ulps` units in the last place.
    pub fn over(self, other: Self, ulps: f64) -> Self {
        let (value, spread) = self.quotient(other);
        Self::computed(value, spread, ulps)
    }

    /// The quotient before it is rounded, and what the operands' errors cost.
    fn quotient(self, other: Self) -> (f64, f64) {
        let quotient = self.value / other.value;
        let least = other.value.abs() - other.error;
        let error = if least > 0.0 { (self.error + quotient.abs() * other.error) / least } else { f64::INFINITY };
        (quotient, error)
    }

    /// This, or 0 where it is negative.
    pub fn or_zero(self) -> Self {
        if self.value + self.error < 0.0 { Self::exact(0.0) } else { Self { value: self.value.max(0.0), ..self } }
    }

    /// Whether the device may have computed `got`.
    pub fn admits(self, got: f64) -> bool {
        (got - self.value).abs() <= self.error
    }
}

impl F32 {
    /// The sum of products on the tensor cores of any architecture, of factors of half precision.
    ///
    /// They add four products or more to the sum at once, all cut off at least 23 bits below the greatest of them, and
    /// cut off the result (`exec::matrix`).
    pub fn on_tensor_cores(a: &[f32], b: &[f32]) -> Self {
        const CUT: f64 = 1.0 / (1 << 23) as f64;
        let (mut value, mut error) = (0.0f64, 0.0);
        for (a, b) in a.chunks(4).zip(b.chunks(4)) {
            let mut greatest = value.abs() + error;
            for (&a, &b) in a.iter().zip(b) {
                let product = f64::from(a) * f64::from(b);
                greatest = greatest.max(product.abs());
                value += product;
            }
            error += (5.0 * greatest + value.abs()) * CUT;
        }
        Self { value, error }
    }
}

impl<const P: u32> From<f32> for Bounded<P> {
    fn from(value: f32) -> Self {
        Self::exact(value.into())
    }
}

impl<const P: u32> Add for Bounded<P> {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self::rounded(self.value + other.value, self.error + other.error)
    }
}

impl<const P: u32> Sub for Bounded<P> {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self::rounded(self.value - other.value, self.error + other.error)
    }
}

impl<const P: u32> Neg for Bounded<P> {
    type Output = Self;
    fn neg(self) -> Self {
        Self { value: -self.value, error: self.error }
    }
}

impl<const P: u32> Mul for Bounded<P> {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        let error = self.value.abs() * other.error + other.value.abs() * self.error + self.error * other.error;
        Self::rounded(self.value * other.value, error)
    }
}

impl<const P: u32> Div for Bounded<P> {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        let (quotient, error) = self.quotient(other);
        Self::rounded(quotient, error)
    }
}

/// For tests of references: the values without their bounds.
#[cfg(test)]
pub(crate) trait Values {
    fn map_values(&self) -> Vec<f64>;
}

#[cfg(test)]
impl<const P: u32> Values for [Bounded<P>] {
    fn map_values(&self) -> Vec<f64> {
        self.iter().map(|b| b.value()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A moderate f32, so that no operation overflows.
    fn number() -> impl Strategy<Value = f32> {
        (-1000.0f32..1000.0).prop_map(|x| if x.abs() < 1e-3 { 0.5 } else { x })
    }

    proptest! {
        #[test]
        fn admits_every_evaluation(a in number(), b in number(), c in number(), d in number()) {
            let (x, y, z, w): (F32, F32, F32, F32) = (a.into(), b.into(), c.into(), d.into());
            let bounded = (x * y + z) / w;
            prop_assert!(bounded.admits(((a * b + c) / d).into()));
            prop_assert!(bounded.admits((a.mul_add(b, c) / d).into()));
            let root = (x * x + y * y).sqrt() - z;
            prop_assert!(root.admits(((a * a + b * b).sqrt() - c).into()));
            prop_assert!(root.admits((a.mul_add(a, b * b).sqrt() - c).into()));
        }

        #[test]
        fn bounds_are_tight(a in number(), b in number()) {
            // Two roundings at most: an error of three units is detected.
            let (x, y): (F32, F32) = (a.into(), b.into());
            let exact = f64::from(a) * f64::from(b);
            prop_assert!(!(x * y).admits(exact * (1.0 + 3.0 / f64::from(1 << 24))));
        }

        #[test]
        fn elementary_functions(a in -20.0f32..20.0, off in -1e-3f32..1e-3) {
            // The device has `b`, as far from `a` as the bound says.
            let b = a + off;
            let x = F32::with_error(a.into(), (f64::from(b) - f64::from(a)).abs());
            let of = |x: f64, function: fn(f64) -> f64| function(x) * (1.0 + 1.0 / f64::from(1 << 23));
            let b = f64::from(b);
            prop_assert!(x.exp(1.0).admits(of(b, f64::exp)));
            prop_assert!(x.tanh(1.0).admits(of(b, f64::tanh)));
            if a > 0.01 {
                prop_assert!(x.ln(1.0).admits(of(b, f64::ln)));
                prop_assert!(x.rsqrt(1.0).admits(of(b, |x| 1.0 / x.sqrt())));
                prop_assert!(F32::exact(3.0).over(x, 1.0).admits(of(b, |x| 3.0 / x)));
            }
            prop_assert!(x.or_zero().admits(b.max(0.0)));
        }
    }

    /// The sum as a tensor core forms it that adds `together` products at once and keeps `bits` of a fraction.
    fn on_tensor_cores(a: &[f32], b: &[f32], together: usize, bits: i32) -> f32 {
        let exponent = |x: f32| ((x.to_bits() >> 23 & 0xff) as i32).max(1) - 127;
        a.chunks(together).zip(b.chunks(together)).fold(0.0, |sum: f32, (a, b)| {
            let products = || a.iter().zip(b);
            let greatest = products().map(|(&a, &b)| exponent(a) + exponent(b)).fold(exponent(sum), i32::max);
            let unit = 2f64.powi(greatest - bits);
            let terms = products().map(|(&a, &b)| f64::from(a) * f64::from(b)).chain([f64::from(sum)]);
            let total = terms.map(|term| (term / unit).trunc()).sum::<f64>() * unit;
            // The result is cut off, too.
            f64::from_bits(total.to_bits() & !((1 << 29) - 1)) as f32
        })
    }

    proptest! {
        #[test]
        fn tensor_cores_of_every_architecture_are_within_the_bound(
            factors in prop::collection::vec((-2048i16..2048, -2048i16..2048, -8i32..1), 1..8),
        ) {
            // 16 products for each, which are of half precision.
            let spread = |scale: fn(&(i16, i16, i32)) -> f32| {
                factors.iter().flat_map(|f| (0..16).map(move |i| scale(f) * [1.0, -0.5, 3.0, 0.25][i % 4])).collect()
            };
            let a: Vec<f32> = spread(|f| f32::from(f.0 / 4) * 2f32.powi(f.2));
            let b: Vec<f32> = spread(|f| f32::from(f.1 / 4));
            let bound = F32::on_tensor_cores(&a, &b);
            for (together, bits) in [(4, 23), (8, 24), (16, 25)] {
                prop_assert!(bound.admits(on_tensor_cores(&a, &b, together, bits).into()), "{together} {bound:?}");
            }
            let size: f64 = a.iter().zip(&b).map(|(&a, &b)| f64::from(a * b).abs()).sum();
            prop_assert!(bound.error() <= size * a.len() as f64 * 6.0 / f64::from(1 << 23));
        }
    }

    #[test]
    fn functions_are_bounded_tightly() {
        // An ulp is at most 2^-23 of a number: four are detected where two are allowed.
        let off = 1.0 + 4.1 / f64::from(1 << 23);
        let two = F32::exact(2.0);
        for (bound, value) in [
            (two.exp(2.0), 2.0f64.exp()),
            (two.ln(2.0), 2.0f64.ln()),
            (two.tanh(2.0), 2.0f64.tanh()),
            (two.rsqrt(2.0), 0.5f64.sqrt()),
            (F32::exact(1.0).over(F32::exact(3.0), 2.0), 1.0 / 3.0),
        ] {
            assert!(bound.admits(value) && !bound.admits(value * off), "{bound:?} {value}");
        }
        assert_eq!(F32::with_error(-1.0, 0.5).or_zero(), F32::exact(0.0));
    }

    #[test]
    fn cancellation_is_not_hidden() {
        let third: F32 = F32::exact(1.0) / F32::exact(3.0);
        let rest = F32::exact(1.0) - (third + third + third);
        assert!(rest.admits(1.0 - f64::from(1.0f32 / 3.0 + 1.0 / 3.0 + 1.0 / 3.0)));
        assert!(rest.error() > 5e-8 && rest.error() < 1e-6);
    }
}
