//! First in, first out. As in GPGPU-Sim, a miss of a sector counts as a new arrival of its line.

#[derive(Clone, Debug)]
pub(in crate::cache) struct Fifo;

impl super::Queue for Fifo {
    const REQUEUES_ON_HIT: bool = false;
}

#[cfg(test)]
mod tests {
    use crate::cache::replacement::tests::victims;
    use config::Replacement;
    use proptest::prelude::*;

    #[test]
    fn the_line_that_came_first_is_replaced() {
        assert_eq!(victims(Replacement::Fifo, 3, &[0, 1, 2, 0, 3, 2, 4, 5]), [0, 1, 2]);
    }

    proptest! {
        #[test]
        fn agrees_with_a_queue(ways in 1usize..9, blocks in prop::collection::vec(0u64..12, 0..200)) {
            let (mut queue, mut expected) = (Vec::new(), Vec::new());
            for &block in &blocks {
                if queue.contains(&block) {
                    continue;
                }
                if queue.len() == ways {
                    expected.push(queue.remove(0));
                }
                queue.push(block);
            }
            prop_assert_eq!(victims(Replacement::Fifo, ways, &blocks), expected);
        }
    }
}
