//! Masks over lanes and dense sets of small integers.

/// Lanes (threads) in a warp, on every NVIDIA GPU so far.
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

/// A set of integers below a bound fixed when it is made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BitSet {
    words: Box<[u64]>,
}

impl BitSet {
    /// An empty set able to hold `0..bound`.
    pub fn new(bound: usize) -> Self {
        Self { words: vec![0; bound.div_ceil(64)].into() }
    }

    /// Adds `i`; true if it was absent. Panics if `i` is not below the bound's next multiple of 64.
    #[inline]
    pub fn insert(&mut self, i: usize) -> bool {
        let (word, bit) = (&mut self.words[i / 64], 1 << (i % 64));
        let fresh = *word & bit == 0;
        *word |= bit;
        fresh
    }

    /// Takes `i` out; true if it was there.
    #[inline]
    pub fn remove(&mut self, i: usize) -> bool {
        let (word, bit) = (&mut self.words[i / 64], 1 << (i % 64));
        let there = *word & bit != 0;
        *word &= !bit;
        there
    }

    /// Whether `i` is in the set.
    #[inline]
    pub fn contains(&self, i: usize) -> bool {
        self.words[i / 64] >> (i % 64) & 1 != 0
    }

    /// Whether nothing is in the set.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&w| w == 0)
    }

    /// Takes everything out.
    pub fn clear(&mut self) {
        self.words.fill(0);
    }

    /// Adds everything in `other`; true if that changed the set. Bounds must agree.
    pub fn union_with(&mut self, other: &Self) -> bool {
        debug_assert_eq!(self.words.len(), other.words.len());
        let mut changed = false;
        for (mine, theirs) in self.words.iter_mut().zip(&other.words) {
            changed |= *theirs & !*mine != 0;
            *mine |= *theirs;
        }
        changed
    }

    /// The members, smallest first.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        self.words.iter().enumerate().flat_map(|(w, &bits)| set_bits(bits).map(move |b| w * 64 + b))
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        self.words.iter().map(|w| w.count_ones() as usize).sum()
    }
}

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
}
