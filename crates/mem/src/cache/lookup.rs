//! A small fixed-capacity table from block numbers to slots, for tags and MSHRs.
//!
//! Fully associative caches of 512 ways and tables of 512 MSHRs are looked up every cycle; walking
//! their ways would dominate the simulation. Open addressing with linear probing; deletion moves
//! later entries back, so that there are no tombstones.

/// From a block number to a slot number. The blocks themselves are stored in the slots: the caller
/// of a look-up says which block a slot holds, so that an entry takes four bytes.
#[derive(Clone, Debug)]
pub(super) struct Lookup {
    /// Zero if free, else the slot's number plus one, and above it as many more bits of the block's
    /// hash as there is room for: they rule out most other blocks without a look at their slots.
    entries: Box<[u32]>,
    shift: u32,
}

impl Lookup {
    /// A table for at most `capacity` blocks, in slots below that.
    pub fn new(capacity: usize) -> Self {
        let size = (2 * capacity).next_power_of_two().max(4);
        // Zeros, so that the pages of a large table are first touched when they are used.
        Self { entries: vec![0; size].into(), shift: 64 - size.trailing_zeros() }
    }

    #[inline]
    fn mask(&self) -> usize {
        self.entries.len() - 1
    }

    #[inline]
    fn hash(block: u64) -> u64 {
        block.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    #[inline]
    fn home(&self, block: u64) -> usize {
        (Self::hash(block) >> self.shift) as usize
    }

    /// The bits of an entry for `block` above the slot.
    #[inline]
    fn tag(&self, block: u64) -> u32 {
        (Self::hash(block) as u32) & !(self.mask() as u32)
    }

    /// The slot in `entry`, which is not free.
    #[inline]
    fn slot(&self, entry: u32) -> u32 {
        (entry & self.mask() as u32) - 1
    }

    /// The position of `block`, if it is in the table.
    #[inline]
    fn find(&self, block: u64, block_of: impl Fn(u32) -> u64) -> Option<usize> {
        let (mask, tag) = (self.mask(), self.tag(block));
        let mut at = self.home(block) & mask;
        loop {
            let entry = self.entries[at];
            if entry == 0 {
                return None;
            }
            if entry & !(mask as u32) == tag && block_of(self.slot(entry)) == block {
                return Some(at);
            }
            at = (at + 1) & mask;
        }
    }

    /// The slot of `block`, if it is in the table. `block_of` gives the block in a slot.
    #[inline]
    pub fn get(&self, block: u64, block_of: impl Fn(u32) -> u64) -> Option<u32> {
        self.find(block, block_of).map(|at| self.slot(self.entries[at]))
    }

    /// Adds `block`, which must be absent; the caller keeps within the capacity.
    #[inline]
    pub fn insert(&mut self, block: u64, slot: u32) {
        let mask = self.mask();
        debug_assert!((slot as usize) < mask);
        let mut at = self.home(block) & mask;
        while self.entries[at] != 0 {
            at = (at + 1) & mask;
        }
        self.entries[at] = self.tag(block) | (slot + 1);
    }

    /// Takes `block` out, if it is in. `block_of` gives the block in a slot.
    #[inline]
    pub fn remove(&mut self, block: u64, block_of: impl Fn(u32) -> u64) {
        let mask = self.mask();
        let Some(mut hole) = self.find(block, &block_of) else { return };
        let mut at = hole;
        loop {
            at = (at + 1) & mask;
            let entry = self.entries[at];
            if entry == 0 {
                break;
            }
            // An entry may fill the hole unless its home is cyclically after the hole.
            let home = self.home(block_of(self.slot(entry))) & mask;
            if (at.wrapping_sub(home) & mask) >= (at.wrapping_sub(hole) & mask) {
                self.entries[hole] = entry;
                hole = at;
            }
        }
        self.entries[hole] = 0;
    }
}

kit::persist! {
    struct Lookup { entries; skip shift }
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
            let mut slots = [u64::MAX; 24];
            for (block, add) in steps {
                let free = slots.iter().position(|&b| b == u64::MAX);
                if let (true, Some(slot), false) = (add, free, model.contains_key(&block)) {
                    slots[slot] = block;
                    table.insert(block, slot as u32);
                    model.insert(block, slot as u32);
                } else if !add {
                    table.remove(block, |slot| slots[slot as usize]);
                    if let Some(slot) = model.remove(&block) {
                        slots[slot as usize] = u64::MAX;
                    }
                }
                for block in 0..40 {
                    prop_assert_eq!(table.get(block, |slot| slots[slot as usize]), model.get(&block).copied());
                }
            }
        }
    }
}
