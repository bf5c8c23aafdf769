//! Least recently used.

#[derive(Clone, Debug)]
pub(in crate::cache) struct Lru;

impl super::Queue for Lru {
    const REQUEUES_ON_HIT: bool = true;
}

#[cfg(test)]
mod tests {
    use crate::cache::replacement::tests::victims;
    use config::Replacement;
    use proptest::prelude::*;

    #[test]
    fn the_line_used_longest_ago_is_replaced() {
        assert_eq!(victims(Replacement::Lru, 3, &[0, 1, 2, 0, 3, 2, 4, 5]), [1, 0, 3]);
    }

    proptest! {
        #[test]
        fn agrees_with_a_list(ways in 1usize..9, blocks in prop::collection::vec(0u64..12, 0..200)) {
            let (mut list, mut expected) = (Vec::new(), Vec::new());
            for &block in &blocks {
                if let Some(at) = list.iter().position(|&b| b == block) {
                    list.remove(at);
                } else if list.len() == ways {
                    expected.push(list.remove(0));
                }
                list.push(block);
            }
            prop_assert_eq!(victims(Replacement::Lru, ways, &blocks), expected);
        }
    }
}
