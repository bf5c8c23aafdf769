//! Masks over lanes and dense sets of small integers.

/// Number of lanes (threads) of a warp, on every NVIDIA GPU so far.
pub const WARP_LANES: usize = 32;

/// One bit per lane of a warp; bit *i* is lane *i*.
pub type LaneMask = u32;

/// The set bits of `mask`, lowest first.
///
/// ```
/// assert_eq!(kit::lanes(0b1010).collect::<Vec<_>>(), [1, 3]);
/// ```
#[inline]
pub fn lanes(mask: LaneMask) -> impl Iterator<Item = usize> {
    set_bits(u64::from(mask))
}

/// The set bits of `mask`, lowest first.
#[inline]
pub fn set_bits(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        if mask == 0 {
            return None;
        }
        let bit = mask.trailing_zeros() as usize;
        mask &= mask - 1;
        Some(bit)
    })
}

/// A set of integers below a bound that is fixed at its creation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BitSet {
    /// Members below 64, stored in place: many sets have no others.
    first: u64,
    rest: Box<[u64]>,
}

impl BitSet {
    /// An empty set for integers in `0..bound`.
    pub fn new(bound: usize) -> Self {
        Self { first: 0, rest: vec![0; bound.div_ceil(64).saturating_sub(1)].into() }
    }

    #[inline]
    fn word_mut(&mut self, i: usize) -> &mut u64 {
        if i < 64 { &mut self.first } else { &mut self.rest[i / 64 - 1] }
    }

    /// Adds `i`; returns whether it was absent. Panics if `i` is not below the bound's next multiple of 64.
    #[inline]
    pub fn insert(&mut self, i: usize) -> bool {
        let (word, bit) = (self.word_mut(i), 1 << (i % 64));
        let fresh = *word & bit == 0;
        *word |= bit;
        fresh
    }

    /// Removes `i`; returns whether it was present.
    #[inline]
    pub fn remove(&mut self, i: usize) -> bool {
        let (word, bit) = (self.word_mut(i), 1 << (i % 64));
        let there = *word & bit != 0;
        *word &= !bit;
        there
    }

    /// Whether `i` is in the set.
    #[inline]
    pub fn contains(&self, i: usize) -> bool {
        self.word(i / 64) >> (i % 64) & 1 != 0
    }

    /// Whether the set is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first == 0 && self.rest.iter().all(|&w| w == 0)
    }

    /// Removes all members.
    pub fn clear(&mut self) {
        self.first = 0;
        self.rest.fill(0);
    }

    /// Removes all members, and calls `take` with each, smallest first.
    #[inline]
    pub fn take_all(&mut self, mut take: impl FnMut(usize)) {
        set_bits(std::mem::take(&mut self.first)).for_each(&mut take);
        for (i, word) in self.rest.iter_mut().enumerate() {
            set_bits(std::mem::take(word)).for_each(|bit| take((i + 1) * 64 + bit));
        }
    }

    /// Adds all members of `other`; returns whether that changed the set. Bounds must agree.
    pub fn union_with(&mut self, other: &Self) -> bool {
        debug_assert_eq!(self.words(), other.words());
        let mut changed = other.first & !self.first != 0;
        self.first |= other.first;
        for (mine, theirs) in self.rest.iter_mut().zip(&other.rest) {
            changed |= *theirs & !*mine != 0;
            *mine |= *theirs;
        }
        changed
    }

    /// The first member at or after `from`.
    #[inline]
    pub fn next(&self, from: usize) -> Option<usize> {
        if from < 64 {
            let bits = self.first & u64::MAX << from;
            if bits != 0 {
                return Some(bits.trailing_zeros() as usize);
            }
        }
        if self.rest.is_empty() { None } else { self.next_of_rest(from.max(64) - 64) }
    }

    fn next_of_rest(&self, from: usize) -> Option<usize> {
        let mut word = from / 64;
        let mut bits = self.rest.get(word)? & u64::MAX << (from % 64);
        while bits == 0 {
            word += 1;
            bits = *self.rest.get(word)?;
        }
        Some((word + 1) * 64 + bits.trailing_zeros() as usize)
    }

    /// The first member at or after `from`, or else the first member.
    #[inline]
    pub fn next_cyclic(&self, from: usize) -> Option<usize> {
        self.next(from).or_else(|| self.next(0))
    }

    /// Number of words of 64 integers, at least one.
    #[inline]
    pub fn words(&self) -> usize {
        1 + self.rest.len()
    }

    /// The members from `64 * i` to `64 * i + 63`, as a mask.
    #[inline]
    pub fn word(&self, i: usize) -> u64 {
        if i == 0 { self.first } else { self.rest[i - 1] }
    }

    /// The members, smallest first.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        (0..self.words()).flat_map(|i| set_bits(self.word(i)).map(move |bit| i * 64 + bit))
    }

    /// Number of members.
    pub fn len(&self) -> usize {
        self.rest.iter().fold(self.first.count_ones() as usize, |sum, word| sum + word.count_ones() as usize)
    }
}

crate::persist! { struct BitSet { first, rest } }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_remembers_what_went_in_and_forgets_what_came_out() {
        let mut set = BitSet::new(130);
        for i in [0, 63, 64, 129] {
            assert!(set.insert(i));
            assert!(!set.insert(i));
        }
        assert!(set.remove(63) && !set.remove(63));
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 64, 129]);
        assert_eq!(set.len(), 3);
        set.clear();
        assert!(set.is_empty());
    }

    #[test]
    fn members_are_found_in_cyclic_order() {
        let mut set = BitSet::new(130);
        assert_eq!(set.next_cyclic(5), None);
        [3, 64, 129].into_iter().for_each(|p| _ = set.insert(p));
        assert_eq!(set.next(0), Some(3));
        assert_eq!(set.next(4), Some(64));
        assert_eq!(set.next(65), Some(129));
        assert_eq!(set.next(130), None);
        assert_eq!(set.next_cyclic(130), Some(3));
        set.remove(3);
        assert_eq!(set.next_cyclic(130), Some(64));
        assert_eq!((set.iter().count(), set.is_empty(), set.contains(129)), (2, false, true));
        assert_eq!((0..set.words()).map(|i| set.word(i)).collect::<Vec<_>>(), [0, 1, 2]);
    }
}
