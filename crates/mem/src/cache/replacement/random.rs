//! A line drawn at random, the same ones in every run: the draws of a cache are from SplitMix64
//! (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014) from a
//! fixed seed. All caches draw the same numbers, each at its own misses.

use super::{Candidates, Choice};

#[derive(Clone, Debug)]
pub(in crate::cache) struct Random {
    /// Blocks brought in so far, which number the draw.
    draws: u64,
}

const SEED: u64 = 0x5eed_0f0c_ac4e_d1ce;

/// The draw of index `i`: the same in every run.
fn draw(i: u64) -> u64 {
    let z = SEED.wrapping_add(i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

impl Choice for Random {
    fn new(_sets: usize, _ways: usize) -> Self {
        Self { draws: 0 }
    }

    fn insert(&mut self, _set: usize, _way: usize) {
        self.draws += 1;
    }

    fn hit(&mut self, _set: usize, _way: usize) {}

    fn victim(&self, _set: usize, candidates: Candidates<'_>) -> usize {
        let count = candidates.iter().count() as u128;
        let nth = (u128::from(draw(self.draws)) * count) >> 64;
        candidates.iter().nth(nth as usize).expect("there is a candidate")
    }
}

kit::persist! {
    struct Random { draws }
}

#[cfg(test)]
mod tests {
    use super::draw;
    use crate::cache::replacement::tests::victims;
    use config::Replacement;
    use proptest::prelude::*;

    #[test]
    fn every_way_is_drawn_equally_often() {
        let blocks: Vec<u64> = (0..4004).collect();
        let (mut set, mut drawn) = ([0, 1, 2, 3], [0; 4]);
        for (victim, block) in victims(Replacement::Random, 4, &blocks).into_iter().zip(4..) {
            let way = set.iter().position(|&b| b == victim).unwrap();
            drawn[way] += 1;
            set[way] = block;
        }
        assert_eq!(drawn.iter().sum::<u32>(), 4000);
        // Four standard deviations of a binomial distribution are 110.
        assert!(drawn.iter().all(|n| (890..=1110).contains(n)), "{drawn:?}");
    }

    proptest! {
        #[test]
        fn agrees_with_draws_in_the_order_of_misses(
            ways in 1usize..9,
            blocks in prop::collection::vec(0u64..12, 0..200),
        ) {
            let (mut set, mut expected, mut misses) = (Vec::new(), Vec::new(), 0);
            for &block in &blocks {
                if set.contains(&block) {
                    continue;
                }
                if set.len() < ways {
                    set.push(block);
                } else {
                    let way = ((u128::from(draw(misses)) * ways as u128) >> 64) as usize;
                    expected.push(std::mem::replace(&mut set[way], block));
                }
                misses += 1;
            }
            prop_assert_eq!(victims(Replacement::Random, ways, &blocks), expected);
        }
    }
}
