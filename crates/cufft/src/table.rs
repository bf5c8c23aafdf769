//! Factors that kernels multiply by, computed in double precision.

use std::f64::consts::{PI, TAU};

/// A complex number.
pub type Complex = [f64; 2];

/// A table of factors for transforms of a length.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Table {
    /// exp(-2 pi i k / n).
    Roots,
    /// exp(-pi i k^2 / n).
    Chirp,
    /// The spectrum of the conjugated chirp over [`padded`] elements, divided by their number.
    Spectrum,
}

/// Elements of a line of n in Bluestein's method: a power of two that holds the product.
pub const fn padded(n: usize) -> usize {
    (2 * n - 1).next_power_of_two()
}

impl Table {
    /// The factors.
    pub fn of(self, n: usize) -> Vec<Complex> {
        match self {
            Self::Roots => (0..n).map(|k| root(k, n)).collect(),
            Self::Chirp => (0..n).map(|k| chirp(k, n)).collect(),
            Self::Spectrum => {
                let m = padded(n);
                let mut filter = vec![[0.0; 2]; m];
                for k in 0..n {
                    let [re, im] = chirp(k, n);
                    let value = [re / m as f64, -im / m as f64];
                    filter[k] = value;
                    filter[(m - k) % m] = value;
                }
                transform(&mut filter);
                filter
            }
        }
    }
}

#[allow(clippy::cast_precision_loss, reason = "lengths of transforms are far below 2^53")]
fn root(k: usize, n: usize) -> Complex {
    let (sine, cosine) = (TAU * (k as f64 / n as f64)).sin_cos();
    [cosine, -sine]
}

#[allow(clippy::cast_precision_loss, reason = "lengths of transforms are far below 2^53")]
fn chirp(k: usize, n: usize) -> Complex {
    let (k, n) = (k as u128, n as u128);
    let (sine, cosine) = (PI * ((k * k % (2 * n)) as f64 / n as f64)).sin_cos();
    [cosine, -sine]
}

fn times([a, b]: Complex, [c, d]: Complex) -> Complex {
    [a * c - b * d, a * d + b * c]
}

/// The transform of a power of two of numbers.
fn transform(data: &mut [Complex]) {
    let n = data.len();
    if n == 1 {
        return;
    }
    let bits = n.trailing_zeros();
    for i in 0..n {
        let j = i.reverse_bits() >> (usize::BITS - bits);
        if i < j {
            data.swap(i, j);
        }
    }
    let roots = Table::Roots.of(n);
    let mut half = 1;
    while half < n {
        for block in data.chunks_mut(2 * half) {
            let (low, high) = block.split_at_mut(half);
            for (k, (x, y)) in low.iter_mut().zip(high).enumerate() {
                let [re, im] = times(*y, roots[k * (n / (2 * half))]);
                *y = [x[0] - re, x[1] - im];
                *x = [x[0] + re, x[1] + im];
            }
        }
        half *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_transform_is_the_sum() {
        let data: Vec<Complex> = (0..16).map(|k| [f64::from(k * k % 7), f64::from(k % 3)]).collect();
        let mut fast = data.clone();
        transform(&mut fast);
        for (k, found) in fast.into_iter().enumerate() {
            let sum = data.iter().enumerate().fold([0.0; 2], |sum, (j, x)| {
                let [re, im] = times(*x, root(j * k % 16, 16));
                [sum[0] + re, sum[1] + im]
            });
            assert!((sum[0] - found[0]).abs() < 1e-12 && (sum[1] - found[1]).abs() < 1e-12);
        }
    }
}
