//! A small fixed-capacity table from block numbers to slots, for tags and MSHRs.
//!
//! Fully associative caches of 512 ways and tables of 512 MSHRs are looked up every cycle; walking
//! their ways would dominate the simulation. Blocks of one hash are chained through their slots.

use kit::persist::{Archive, Mismatch, Persist};

/// From a block number to a slot number. The blocks themselves are stored in the slots: the caller
/// of a look-up says which block a slot holds, so that a link takes four bytes.
#[derive(Clone, Debug)]
pub(super) struct Lookup {
    /// The first link of each chain, by the upper bits of the block's hash. A link is zero at the end of a chain, else
    /// the slot's number plus one, and above it as many more bits of the block's hash as there is room for: they rule
    /// out most other blocks without a look at their slots.
    chains: Box<[u32]>,
    /// The link after each slot.
    after: Box<[u32]>,
    shift: u32,
    /// Slots that there may be. The table grows with those that are in use: few caches are ever full.
    capacity: usize,
}

impl Lookup {
    /// A table for at most `capacity` blocks, in slots below that.
    pub fn new(capacity: usize) -> Self {
        Self { capacity, ..Self::of_slots(capacity.min(Self::FIRST)) }
    }

    /// Slots that an empty table has.
    const FIRST: usize = 16;

    /// An empty table with places for `slots`.
    fn of_slots(slots: usize) -> Self {
        let size = (2 * slots).next_power_of_two().max(4);
        let (chains, after) = (vec![0; size].into(), vec![0; slots].into());
        Self { chains, after, shift: 64 - size.trailing_zeros(), capacity: slots }
    }

    /// The bits of a link that hold the slot.
    #[inline]
    fn slot_bits(&self) -> u32 {
        self.chains.len() as u32 - 1
    }

    /// The chain of `block`, and a link to it in slot 0.
    #[inline]
    fn place(&self, block: u64) -> (usize, u32) {
        let hash = block.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((hash >> self.shift) as usize, hash as u32 & !self.slot_bits() | 1)
    }

    /// The slot of `block`, if it is in the table. `block_of` gives the block in a slot.
    #[inline]
    pub fn get(&self, block: u64, block_of: impl Fn(u32) -> u64) -> Option<u32> {
        let (chain, wanted) = self.place(block);
        let mut link = self.chains[chain];
        while link != 0 {
            let slot = (link & self.slot_bits()) - 1;
            if link - slot == wanted && block_of(slot) == block {
                return Some(slot);
            }
            link = self.after[slot as usize];
        }
        None
    }

    /// Adds `block`, which must be absent. `block_of` gives the block in each slot that is in the table.
    #[inline]
    pub fn insert(&mut self, block: u64, slot: u32, block_of: impl Fn(u32) -> u64) {
        if slot as usize >= self.after.len() {
            self.grow(slot as usize, block_of);
        }
        self.link(block, slot);
    }

    #[inline]
    fn link(&mut self, block: u64, slot: u32) {
        let (chain, link) = self.place(block);
        self.after[slot as usize] = std::mem::replace(&mut self.chains[chain], link + slot);
    }

    /// Makes room for `slot`.
    #[cold]
    fn grow(&mut self, slot: usize, block_of: impl Fn(u32) -> u64) {
        let slots = (4 * self.after.len()).max(slot + 1).min(self.capacity);
        let old = std::mem::replace(self, Self { capacity: self.capacity, ..Self::of_slots(slots) });
        for &first in &old.chains {
            let mut link = first;
            while link != 0 {
                let slot = (link & old.slot_bits()) - 1;
                link = old.after[slot as usize];
                self.link(block_of(slot), slot);
            }
        }
    }

    /// Takes `block` out, which is in `slot`.
    #[inline]
    pub fn remove(&mut self, block: u64, slot: u32) {
        let (chain, link) = self.place(block);
        let (after, slot_bits) = (self.after[slot as usize], self.slot_bits());
        let mut at = &mut self.chains[chain];
        while *at != link + slot {
            at = &mut self.after[((*at & slot_bits) - 1) as usize];
        }
        *at = after;
    }
}

impl Persist for Lookup {
    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        let mut slots = self.after.len();
        slots.persist(archive)?;
        if slots > self.capacity {
            return Err(archive.wrong("more slots than the table may have"));
        }
        if slots != self.after.len() {
            *self = Self { capacity: self.capacity, ..Self::of_slots(slots) };
        }
        self.chains.persist(archive)?;
        self.after.persist(archive)
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
            let (mut table, mut model) = (Lookup::new(24), BTreeMap::<u64, u32>::new());
            let mut slots = [u64::MAX; 24];
            for (block, add) in steps {
                let free = slots.iter().position(|&b| b == u64::MAX);
                if let (true, Some(slot), false) = (add, free, model.contains_key(&block)) {
                    slots[slot] = block;
                    table.insert(block, slot as u32, |slot| slots[slot as usize]);
                    model.insert(block, slot as u32);
                } else if !add && let Some(slot) = model.remove(&block) {
                    table.remove(block, slot);
                    slots[slot as usize] = u64::MAX;
                }
                for block in 0..40 {
                    prop_assert_eq!(table.get(block, |slot| slots[slot as usize]), model.get(&block).copied());
                }
            }
        }
    }
}
