//! A small fixed-capacity table from block numbers to slots, for tags and MSHRs.
//!
//! Fully associative caches of 512 ways and tables of 512 MSHRs are looked up every cycle; walking
//! their ways would dominate the simulation. Open addressing with linear probing; deletion moves
//! later entries back, so that there are no tombstones.

/// From a block number to a slot number.
#[derive(Clone, Debug)]
pub(super) struct Lookup {
    entries: Box<[(u64, u32)]>,
    shift: u32,
}

/// Marks a free entry. Block numbers are addresses shifted right, so never this.
const FREE: u64 = u64::MAX;

impl Lookup {
    /// A table for at most `capacity` blocks.
    pub fn new(capacity: usize) -> Self {
        let size = (2 * capacity).next_power_of_two().max(4);
        Self { entries: vec![(FREE, 0); size].into(), shift: 64 - size.trailing_zeros() }
    }

    #[inline]
    fn home(&self, block: u64) -> usize {
        (block.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize
    }

    /// The slot of `block`, if it is in the table.
    #[inline]
    pub fn get(&self, block: u64) -> Option<u32> {
        let mask = self.entries.len() - 1;
        let mut at = self.home(block);
        loop {
            let (key, slot) = self.entries[at & mask];
            if key == block {
                return Some(slot);
            }
            if key == FREE {
                return None;
            }
            at += 1;
        }
    }

    /// Adds `block`, which must be absent; the caller keeps within the capacity.
    #[inline]
    pub fn insert(&mut self, block: u64, slot: u32) {
        debug_assert!(self.get(block).is_none());
        let mask = self.entries.len() - 1;
        let mut at = self.home(block) & mask;
        while self.entries[at].0 != FREE {
            at = (at + 1) & mask;
        }
        self.entries[at] = (block, slot);
    }

    /// Takes `block` out, if it is in.
    #[inline]
    pub fn remove(&mut self, block: u64) {
        let mask = self.entries.len() - 1;
        let mut hole = self.home(block) & mask;
        while self.entries[hole].0 != block {
            if self.entries[hole].0 == FREE {
                return;
            }
            hole = (hole + 1) & mask;
        }
        let mut at = hole;
        loop {
            at = (at + 1) & mask;
            let key = self.entries[at].0;
            if key == FREE {
                break;
            }
            // An entry may fill the hole unless its home lies cyclically after the hole.
            let home = self.home(key) & mask;
            if (at.wrapping_sub(home) & mask) >= (at.wrapping_sub(hole) & mask) {
                self.entries[hole] = self.entries[at];
                hole = at;
            }
        }
        self.entries[hole].0 = FREE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn agrees_with_a_map(steps in proptest::collection::vec((0u64..40, any::<bool>()), 0..400)) {
            let (mut table, mut model) = (Lookup::new(24), BTreeMap::new());
            for (i, (block, add)) in steps.into_iter().enumerate() {
                if add && model.len() < 24 && !model.contains_key(&block) {
                    table.insert(block, i as u32);
                    model.insert(block, i as u32);
                } else if !add {
                    table.remove(block);
                    model.remove(&block);
                }
                for block in 0..40 {
                    prop_assert_eq!(table.get(block), model.get(&block).copied());
                }
            }
        }
    }
}
