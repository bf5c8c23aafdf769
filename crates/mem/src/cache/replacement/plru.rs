//! Tree pseudo-LRU: a binary tree over the ways, each node of which points to the half used longer
//! ago (PLRUt in Al-Zoubi et al., "Performance evaluation of cache replacement policies for the SPEC
//! CPU2000 benchmark suite", ACM-SE 2004).
//!
//! Hardware: a bit for each way but one, per set.
//!
//! Deviation: a half without a line that may be replaced is passed over.

use super::{Candidates, Choice};

#[derive(Clone, Debug)]
pub(in crate::cache) struct Plru {
    /// Leaves of a set's tree: the ways, rounded up to a power of two.
    leaves: usize,
    /// For each node of each set's tree, whether it points to the upper half. Node 1 is the root,
    /// the halves of node *n* are 2*n* and 2*n* + 1.
    upper: Box<[bool]>,
}

impl Choice for Plru {
    fn new(sets: usize, ways: usize) -> Self {
        let leaves = ways.next_power_of_two();
        Self { leaves, upper: vec![false; sets * leaves].into() }
    }

    fn insert(&mut self, set: usize, way: usize) {
        self.hit(set, way);
    }

    fn hit(&mut self, set: usize, way: usize) {
        let mut node = self.leaves + way;
        while node > 1 {
            self.upper[set * self.leaves + node / 2] = node.is_multiple_of(2);
            node /= 2;
        }
    }

    fn victim(&self, set: usize, candidates: Candidates<'_>) -> usize {
        let (mut node, mut first, mut ways) = (1, 0, self.leaves);
        while node < self.leaves {
            ways /= 2;
            let mut upper = usize::from(self.upper[set * self.leaves + node]);
            let half = |upper: usize| first + upper * ways..first + (upper + 1) * ways;
            if !candidates.any(half(upper)) {
                upper = 1 - upper;
            }
            (node, first) = (2 * node + upper, first + upper * ways);
        }
        first
    }
}

kit::persist! {
    struct Plru { upper; skip leaves }
}

#[cfg(test)]
mod tests {
    use crate::cache::replacement::tests::victims;
    use config::Replacement;
    use proptest::prelude::*;

    #[test]
    fn the_pointers_lead_away_from_what_was_used() {
        // Ways 0 to 3 hold blocks 0 to 3, all pointers lead to 0; block 0 turns the root and its own
        // node away, so that block 2 goes, then block 1.
        assert_eq!(victims(Replacement::Plru, 4, &[0, 1, 2, 3, 0, 4, 5, 6]), [2, 1, 3]);
        // True LRU would replace block 1 here.
        assert_eq!(victims(Replacement::Plru, 4, &[0, 1, 2, 3, 2, 0, 4]), [3]);
        assert_eq!(victims(Replacement::Plru, 3, &[0, 1, 2, 0, 1, 3, 4]), [2, 0], "the fourth way does not exist");
    }

    /// The tree as a data structure: a half is the ways of a range and whether the upper half is older.
    enum Tree {
        Way(Option<u64>),
        Halves { lower: Box<Tree>, upper: Box<Tree>, upper_is_older: bool },
    }

    impl Tree {
        fn new(ways: usize) -> Self {
            match ways {
                1 => Tree::Way(None),
                _ => {
                    let half = || Box::new(Tree::new(ways / 2));
                    Tree::Halves { lower: half(), upper: half(), upper_is_older: false }
                }
            }
        }

        fn contains(&self, block: Option<u64>) -> bool {
            match self {
                Tree::Way(way) => *way == block,
                Tree::Halves { lower, upper, .. } => lower.contains(block) || upper.contains(block),
            }
        }

        /// Uses `block`, which is in the tree.
        fn touch(&mut self, block: u64) {
            if let Tree::Halves { lower, upper, upper_is_older } = self {
                *upper_is_older = lower.contains(Some(block));
                if *upper_is_older { lower.touch(block) } else { upper.touch(block) }
            }
        }

        /// Puts `block` in the first empty way, else in the one to replace; gives what was there.
        fn bring(&mut self, block: u64, fill: bool) -> Option<u64> {
            match self {
                Tree::Way(way) => way.replace(block),
                Tree::Halves { lower, upper, upper_is_older } => {
                    let up = if fill { !lower.contains(None) } else { *upper_is_older };
                    *upper_is_older = !up;
                    if up { upper.bring(block, fill) } else { lower.bring(block, fill) }
                }
            }
        }
    }

    proptest! {
        #[test]
        fn agrees_with_a_tree(levels in 0u32..4, blocks in prop::collection::vec(0u64..12, 0..200)) {
            let ways = 1 << levels;
            let (mut tree, mut expected) = (Tree::new(ways), Vec::new());
            for &block in &blocks {
                if tree.contains(Some(block)) {
                    tree.touch(block);
                } else {
                    let fill = tree.contains(None);
                    expected.extend(tree.bring(block, fill));
                }
            }
            prop_assert_eq!(victims(Replacement::Plru, ways, &blocks), expected);
        }
    }
}
