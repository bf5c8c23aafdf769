//! Static re-reference interval prediction with hit priority, SRRIP-HP with values of two bits
//! (Jaleel et al., "High performance cache replacement using re-reference interval prediction
//! (RRIP)", ISCA 2010, section 4.1).
//!
//! Each line has a prediction: 0 for a re-reference soon, 3 for one in the distant future. A new
//! line gets 2, a hit sets 0. The victim is the first way whose prediction is 3; if there is none,
//! all predictions of the set rise until there is one. A scan thus passes through the set without
//! replacing the lines that were hit.
//!
//! Hardware: two bits per line.
//!
//! Deviation: lines that cannot be replaced (under way, or dirty below the L1's limit) are passed
//! over, and their predictions rise with the others.

use super::{Candidates, Choice};

const DISTANT: u8 = 3;
const LONG: u8 = 2;

#[derive(Clone, Debug)]
pub(in crate::cache) struct Srrip {
    ways: usize,
    /// The prediction for each way of each set.
    predictions: Box<[u8]>,
}

impl Srrip {
    fn set(&mut self, set: usize) -> &mut [u8] {
        &mut self.predictions[set * self.ways..][..self.ways]
    }
}

impl Choice for Srrip {
    fn new(sets: usize, ways: usize) -> Self {
        Self { ways, predictions: vec![DISTANT; sets * ways].into() }
    }

    /// The predictions rise here, since the victim is only known to be replaced now. An empty way
    /// has the highest, so that nothing rises when it is filled.
    fn insert(&mut self, set: usize, way: usize) {
        let predictions = self.set(set);
        let rise = DISTANT - predictions[way];
        predictions.iter_mut().for_each(|p| *p = (*p + rise).min(DISTANT));
        predictions[way] = LONG;
    }

    fn hit(&mut self, set: usize, way: usize) {
        self.set(set)[way] = 0;
    }

    fn drop_block(&mut self, set: usize, way: usize) {
        self.set(set)[way] = DISTANT;
    }

    fn victim(&self, set: usize, candidates: Candidates<'_>) -> usize {
        let prediction = |way: usize| self.predictions[set * self.ways + way];
        let highest = candidates.iter().map(prediction).max();
        candidates.iter().find(|&way| Some(prediction(way)) == highest).expect("there is a candidate")
    }
}

kit::persist! {
    struct Srrip { predictions; skip ways }
}

#[cfg(test)]
mod tests {
    use crate::cache::replacement::tests::victims;
    use config::Replacement;
    use proptest::prelude::*;

    #[test]
    fn a_scan_leaves_the_lines_that_were_hit() {
        // Blocks 0 and 1 are hit, 2 to 6 are a scan through the other two ways.
        assert_eq!(victims(Replacement::Srrip, 4, &[0, 1, 0, 1, 2, 3, 4, 5, 6]), [2, 3, 4]);
        // Without hits the first way goes first.
        assert_eq!(victims(Replacement::Srrip, 2, &[0, 1, 2, 3, 4]), [0, 1, 2]);
        // Predictions 2 2 0 0: the rise to 3 3 1 1 lets blocks 0, 1, then 4 (2 after 3 5) go.
        assert_eq!(victims(Replacement::Srrip, 4, &[0, 1, 2, 3, 2, 3, 4, 5, 6]), [0, 1, 4]);
    }

    proptest! {
        #[test]
        fn agrees_with_the_paper(ways in 1usize..9, blocks in prop::collection::vec(0u64..12, 0..200)) {
            let (mut set, mut expected): (Vec<(u64, u8)>, _) = (Vec::new(), Vec::new());
            for &block in &blocks {
                if let Some(line) = set.iter_mut().find(|l| l.0 == block) {
                    line.1 = 0;
                } else if set.len() < ways {
                    set.push((block, 2));
                } else {
                    let way = loop {
                        if let Some(way) = set.iter().position(|l| l.1 == 3) {
                            break way;
                        }
                        set.iter_mut().for_each(|l| l.1 += 1);
                    };
                    expected.push(std::mem::replace(&mut set[way], (block, 2)).0);
                }
            }
            prop_assert_eq!(victims(Replacement::Srrip, ways, &blocks), expected);
        }
    }
}
