//! Sums of products as the tensor cores of each architecture form them.
//!
//! A tensor core adds several products and the accumulator at once. It aligns them to the greatest exponent, cuts each off
//! below some bits, and adds what is left exactly. A product's exponent is the sum of its factors' exponents: its
//! significand, from 1 to 4, is not normalised. The result is cut off to single precision, or rounded to the nearest half.
//! Longer products are made in turns, in ascending order of k, each with a result that is the next one's accumulator.
//!
//! Sources: Fasi, Higham, Mikaitis, Pranesh, "Numerical behavior of NVIDIA tensor cores", 2021; the parameters and the
//! exponents of zeros and subnormal numbers are from the MMA-Sim project's models, which agree with ten GPUs bit for
//! bit ("MMA-Sim: Bit-Accurate Reference Model of Tensor Cores and Matrix Cores", arXiv 2511.10909).

use super::fragment::Element;
use num::Rounding;
use num::half::{self, F16, Half};

/// How the tensor cores of an architecture add.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sums {
    /// Products that are added at once.
    pub together: usize,
    /// Bits below the greatest exponent that count.
    fraction_bits: i32,
    /// Type to which the result is rounded.
    result: Precision,
}

/// Precision of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Precision {
    /// Exponents of single precision, and these bits of fraction; the others are cut off.
    Single { fraction_bits: u32 },
    /// Half precision, to nearest even.
    Half,
}

/// Exponent of zero, whatever the type.
const OF_ZERO: i32 = -126;
/// An exponent above all others, of infinities and NaN.
const INFINITE: i32 = 500;

impl Sums {
    /// The rule for products of `factor` of length `k` on architecture `sm`, such as 75, with results of type `d`.
    pub fn of(sm: u32, factor: Element, k: u16, d: Element) -> Self {
        let bytes = matches!(factor, Element::E4m3 | Element::E5m2);
        let (together, fraction_bits) = match (sm, factor) {
            (..75, _) => (4, 23),
            (75..80, _) => (8, 24),
            (80..90, Element::Tf32) => (4, 24),
            (80..90, _) if bytes => (16, 13),
            (80..90, _) => (8, 24),
            // `mma` of 8-bit floats is made of two of half precision.
            (90.., _) => (16, 25),
        };
        let result = match d {
            Element::F16 => Precision::Half,
            _ if bytes && sm < 90 => Precision::Single { fraction_bits: 13 },
            _ => Precision::Single { fraction_bits: 23 },
        };
        Self { together: usize::from(k).min(together), fraction_bits, result }
    }

    /// The rule for `wgmma` of Hopper with factors of type `factor`, which adds all products of a sum at once.
    pub fn of_group(factor: Element, d: Element) -> Self {
        let fraction_bits = if matches!(factor, Element::E4m3 | Element::E5m2) { 13 } else { 25 };
        let result = match d {
            Element::F16 => Precision::Half,
            _ => Precision::Single { fraction_bits: fraction_bits.min(23) as u32 },
        };
        Self { together: 32, fraction_bits, result }
    }

    /// Adds `count` products to each of `N` accumulators. `product` gives a product's values and exponents.
    #[inline(always)]
    pub fn add<const N: usize>(
        self,
        start: [f32; N],
        count: usize,
        product: impl Fn(usize) -> ([f64; N], [i32; N]),
    ) -> [f32; N] {
        let mut greatest = start.map(|c| exponent_of_bits(c.to_bits()));
        for i in 0..count {
            let (_, exponents) = product(i);
            for n in 0..N {
                greatest[n] = greatest[n].max(exponents[n]);
            }
        }
        let greatest = greatest.map(|exponent| exponent.min(INFINITE));
        let scale = greatest.map(|exponent| power_of_two(self.fraction_bits - exponent));
        let mut sums = [0.0; N];
        for n in 0..N {
            sums[n] += (f64::from(start[n]) * scale[n]).trunc();
        }
        for i in 0..count {
            let (values, _) = product(i);
            for n in 0..N {
                sums[n] += (values[n] * scale[n]).trunc();
            }
        }
        for n in 0..N {
            sums[n] *= power_of_two(greatest[n] - self.fraction_bits);
        }
        if greatest.contains(&INFINITE) {
            for n in (0..N).filter(|&n| greatest[n] == INFINITE) {
                sums[n] = (0..count).map(|i| product(i).0[n]).fold(f64::from(start[n]), |sum, value| sum + value);
            }
        }
        self.rounded(sums)
    }

    #[inline(always)]
    fn rounded<const N: usize>(self, sums: [f64; N]) -> [f32; N] {
        match self.result {
            Precision::Single { fraction_bits } => {
                let below = (1 << (f64::MANTISSA_DIGITS - 1 - fraction_bits)) - 1;
                let cut = |x: f64| f64::from_bits(x.to_bits() & !below);
                let is_subnormal = |x: f64| x.abs() < f64::from(f32::MIN_POSITIVE) && x != 0.0;
                if sums.iter().any(|&x| is_subnormal(x)) {
                    // Their bits are above a fixed one. Whether a negative sum without any of them becomes -0, as in
                    // IEEE 754, is not published.
                    let least = power_of_two(-126 - fraction_bits as i32);
                    sums.map(|x| if is_subnormal(x) { (x / least).trunc() * least } else { cut(x) } as f32)
                } else {
                    sums.map(|x| cut(x) as f32)
                }
            }
            // Single precision, rounded to odd, has the bits that decide.
            Precision::Half => sums.map(|x| {
                const BELOW: u64 = (1 << (f64::MANTISSA_DIGITS - f32::MANTISSA_DIGITS)) - 1;
                let bits = x.to_bits();
                let odd = bits & !BELOW | if bits & BELOW == 0 { 0 } else { BELOW + 1 };
                F16::to_f32(half::from_f32::<F16>(f64::from_bits(odd) as f32, Rounding::NearestEven))
            }),
        }
    }
}

/// Exponent of a factor.
#[inline]
pub(super) fn exponent(element: Element, value: f64) -> i32 {
    let least = match element {
        Element::F16 | Element::E5m2 => -14,
        Element::E4m3 => -6,
        _ => -126,
    };
    let field = (value.to_bits() >> (f64::MANTISSA_DIGITS - 1) & 0x7ff) as i32;
    match field {
        0 => OF_ZERO,
        0x7ff => 2 * INFINITE,
        _ => (field - 1023).max(least),
    }
}

/// Exponent of an accumulator of single precision.
#[inline(always)]
fn exponent_of_bits(bits: u32) -> i32 {
    let field = (bits >> (f32::MANTISSA_DIGITS - 1) & 0xff) as i32;
    if field == 0xff { INFINITE } else { field.max(1) - 127 }
}

/// 2 to the power of `exponent`, for exponents of normal numbers.
#[inline(always)]
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << (f64::MANTISSA_DIGITS - 1))
}
