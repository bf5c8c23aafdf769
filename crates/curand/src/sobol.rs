//! Direction numbers of Sobol sequences.
//!
//! Polynomials and first numbers are the ones of S. Joe and F. Y. Kuo, "Constructing Sobol sequences with better
//! two-dimensional projections", 2008 (`joe-kuo.txt`).

/// A dimension in a line, the second dimension first: degree, inner coefficients of the polynomial, first numbers.
const TABLE: &str = include_str!("../joe-kuo.txt");

/// Dimensions with direction numbers.
pub fn most_dimensions() -> usize {
    lines().count() + 1
}

fn lines() -> impl Iterator<Item = &'static str> {
    TABLE.lines().filter(|line| !line.starts_with('#'))
}

/// Direction numbers of `bits` bits of the first `dimensions`, in their upper bits.
pub fn directions(dimensions: usize, bits: usize) -> Vec<Vec<u64>> {
    let first = (0..bits).map(|k| 1 << (bits - 1 - k)).collect();
    std::iter::once(first).chain(lines().take(dimensions - 1).map(|line| of_line(line, bits))).collect()
}

fn of_line(line: &str, bits: usize) -> Vec<u64> {
    let mut numbers = line.split(' ').map(|number| number.parse::<u64>().unwrap_or(0));
    let degree = numbers.next().and_then(|degree| usize::try_from(degree).ok()).unwrap_or(1);
    let inner = numbers.next().unwrap_or(0);
    let mut all: Vec<u64> = numbers.take(degree).enumerate().map(|(k, m)| m << (bits - 1 - k)).collect();
    for k in degree..bits {
        let mut next = all[k - degree] ^ (all[k - degree] >> degree);
        for (i, earlier) in all[k - degree + 1..].iter().enumerate() {
            if inner >> i & 1 == 1 {
                next ^= earlier;
            }
        }
        all.push(next);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In each dimension the first 2^k points are in the 2^k intervals of that length, one in each.
    #[test]
    fn points_fill_intervals() {
        let most = most_dimensions();
        assert_eq!(most, 337);
        let all = directions(most, 32);
        assert_eq!(all.len(), most);
        for (dimension, directions) in all.iter().enumerate() {
            for k in [1, 4, 10] {
                let mut hit = vec![false; 1 << k];
                for point in 0..1_u64 << k {
                    let gray = point ^ (point >> 1);
                    let bits = (0..k).filter(|bit| gray >> bit & 1 == 1);
                    let value = bits.fold(0, |value, bit| value ^ directions[bit]);
                    hit[usize::try_from(value >> (32 - k)).unwrap()] = true;
                }
                assert!(hit.into_iter().all(|hit| hit), "dimension {dimension}");
            }
        }
    }

    #[test]
    fn more_bits_are_the_same_numbers() {
        for (short, long) in directions(337, 32).into_iter().zip(directions(337, 64)) {
            assert_eq!(long.len(), 64);
            assert!(short.iter().zip(&long).all(|(short, long)| *short == long >> 32));
        }
    }
}
