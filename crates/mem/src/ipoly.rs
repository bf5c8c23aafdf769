//! Pseudo-random interleaving by an irreducible polynomial (B. R. Rau, ISCA 1991).
//!
//! The bits above an index, taken as a polynomial over GF(2) and multiplied by `x^n`, are reduced
//! modulo an irreducible polynomial of degree `n` and added to the index. For 16, 32 and 64
//! positions these are GPGPU-Sim's hashes, bit for bit, including how many upper bits take part.

/// Irreducible (primitive) polynomials by degree, without the leading term.
const POLYNOMIALS: [u32; 13] = [0, 1, 0b11, 0b11, 0b11, 0b101, 0b11, 0b11, 0x1d, 0x11, 0x9, 0x5, 0x53];

/// Upper bits that take part, by degree. GPGPU-Sim stops at 13, 15 and 19 for degrees 4 to 6.
const UPPER_BITS: [usize; DEGREES] = [0, 24, 24, 24, 13, 15, 19, 24, 24, 24, 24, 24, 24];

/// Degrees for which there is a polynomial, with 0.
const DEGREES: usize = POLYNOMIALS.len();

/// Remainders of the upper bits, a byte at a time.
type Remainders = [[u16; 256]; 3];

/// The remainders by degree. All caches of a GPU have the same few.
static REMAINDERS: [Remainders; DEGREES] = {
    let (mut all, mut degree) = ([[[0; 256]; 3]; DEGREES], 0);
    while degree < DEGREES {
        all[degree] = remainders(degree);
        degree += 1;
    }
    all
};

const fn remainders(degree: usize) -> Remainders {
    let mut tables = [[0; 256]; 3];
    // x^n mod P, then times x for each further bit.
    let (mut remainder, mut bit) = (POLYNOMIALS[degree], 0);
    while bit < UPPER_BITS[degree] {
        let mut byte = 0;
        while byte < 256 {
            if byte >> (bit % 8) & 1 != 0 {
                tables[bit / 8][byte] ^= remainder as u16;
            }
            byte += 1;
        }
        remainder <<= 1;
        if remainder >> degree & 1 != 0 {
            remainder ^= 1 << degree | POLYNOMIALS[degree];
        }
        bit += 1;
    }
    tables
}

/// The hash over `2^n` positions.
#[derive(Clone, Debug)]
pub struct IPoly {
    mask: u32,
    remainders: &'static Remainders,
}

impl IPoly {
    /// Maximum number of positions: there is no polynomial for more.
    pub const MAX_POSITIONS: u32 = 1 << (DEGREES - 1);

    /// A hash over `positions` positions, rounded up to a power of two and at most
    /// [`IPoly::MAX_POSITIONS`].
    pub fn new(positions: u32) -> Self {
        let positions = positions.clamp(1, Self::MAX_POSITIONS).next_power_of_two();
        Self { mask: positions - 1, remainders: &REMAINDERS[positions.trailing_zeros() as usize] }
    }

    /// Where `index` goes, given the address bits above it.
    #[inline]
    pub fn hash(&self, upper: u64, index: u32) -> u32 {
        let byte = |t: usize| u32::from(self.remainders[t][(upper >> (8 * t) & 0xff) as usize]);
        (byte(0) ^ byte(1) ^ byte(2) ^ index) & self.mask
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// The hash written out as exclusive-ors, for the rows that GPGPU-Sim documents.
    fn parity(upper: u64, bits: &[u32]) -> u32 {
        bits.iter().fold(0, |p, b| p ^ (upper >> b & 1) as u32)
    }

    proptest! {
        #[test]
        fn sixteen_positions_follow_the_published_rows(upper: u64, index in 0u32..16) {
            let rows: [&[u32]; 4] = [
                &[11, 10, 9, 8, 6, 4, 3, 0],
                &[12, 8, 7, 6, 5, 3, 1, 0],
                &[9, 8, 7, 6, 4, 2, 1],
                &[10, 9, 8, 7, 5, 3, 2],
            ];
            let expected = (0..4).fold(0, |h, r| h | parity(upper, rows[r]) << r) ^ index;
            prop_assert_eq!(IPoly::new(16).hash(upper, index), expected);
        }

        #[test]
        fn thirty_two_positions_follow_the_published_rows(upper: u64, index in 0u32..32) {
            let rows: [&[u32]; 5] = [
                &[13, 12, 11, 10, 9, 6, 5, 3, 0],
                &[14, 13, 12, 11, 10, 7, 6, 4, 1],
                &[14, 10, 9, 8, 7, 6, 3, 2, 0],
                &[11, 10, 9, 8, 7, 4, 3, 1],
                &[12, 11, 10, 9, 8, 5, 4, 2],
            ];
            let expected = (0..5).fold(0, |h, r| h | parity(upper, rows[r]) << r) ^ index;
            prop_assert_eq!(IPoly::new(32).hash(upper, index), expected);
        }

        #[test]
        fn sixty_four_positions_follow_the_published_rows(upper: u64, index in 0u32..64) {
            let rows: [&[u32]; 6] = [
                &[18, 17, 16, 15, 12, 10, 6, 5, 0],
                &[15, 13, 12, 11, 10, 7, 5, 1, 0],
                &[16, 14, 13, 12, 11, 8, 6, 2, 1],
                &[17, 15, 14, 13, 12, 9, 7, 3, 2],
                &[18, 16, 15, 14, 13, 10, 8, 4, 3],
                &[17, 16, 15, 14, 11, 9, 5, 4],
            ];
            let expected = (0..6).fold(0, |h, r| h | parity(upper, rows[r]) << r) ^ index;
            prop_assert_eq!(IPoly::new(64).hash(upper, index), expected);
        }
    }

    #[test]
    fn every_power_of_two_stride_visits_all_positions() {
        for degree in 1..=12u32 {
            let positions = 1u64 << degree;
            let hash = IPoly::new(positions as u32);
            for stride_log in 0..12 {
                let seen: BTreeSet<u32> = (0..positions)
                    .map(|i| i << stride_log)
                    .map(|block| hash.hash(block >> degree, (block & (positions - 1)) as u32))
                    .collect();
                // Strides that run out of participating bits cannot visit all.
                if degree + stride_log <= degree + UPPER_BITS[degree as usize] as u32 {
                    assert_eq!(seen.len() as u64, positions, "{positions} positions, stride 2^{stride_log}");
                }
            }
        }
    }
}
