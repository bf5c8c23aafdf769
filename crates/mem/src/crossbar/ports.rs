//! Sets of crossbar ports.

use kit::bits::set_bits;

/// A set of ports below a bound, searched cyclically.
#[derive(Clone, Debug)]
pub(crate) struct PortSet {
    /// Ports below 64: all there are on most GPUs.
    first: u64,
    /// The others.
    rest: Box<[u64]>,
}

impl PortSet {
    pub fn new(ports: usize) -> Self {
        Self { first: 0, rest: vec![0; ports.div_ceil(64).saturating_sub(1)].into() }
    }

    #[inline]
    pub fn insert(&mut self, port: usize) {
        match port / 64 {
            0 => self.first |= 1 << port,
            word => self.rest[word - 1] |= 1 << (port % 64),
        }
    }

    #[inline]
    pub fn remove(&mut self, port: usize) {
        match port / 64 {
            0 => self.first &= !(1 << port),
            word => self.rest[word - 1] &= !(1 << (port % 64)),
        }
    }

    pub fn clear(&mut self) {
        self.first = 0;
        self.rest.fill(0);
    }

    #[inline]
    pub fn contains(&self, port: usize) -> bool {
        let word = if port < 64 { self.first } else { self.rest[port / 64 - 1] };
        word >> (port % 64) & 1 != 0
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first == 0 && self.rest.iter().all(|&w| w == 0)
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

    /// The first member at or after `from`, or else the first of all.
    #[inline]
    pub fn next_cyclic(&self, from: usize) -> Option<usize> {
        self.next(from).or_else(|| self.next(0))
    }

    /// Words of 64 ports.
    #[inline]
    pub fn words(&self) -> usize {
        1 + self.rest.len()
    }

    /// The members among ports `64 * i` and up, as a mask.
    #[inline]
    pub fn word(&self, i: usize) -> u64 {
        if i == 0 { self.first } else { self.rest[i - 1] }
    }

    /// The members, lowest first.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        let rest = self.rest.iter().zip(1..);
        set_bits(self.first).chain(rest.flat_map(|(&word, i)| set_bits(word).map(move |bit| i * 64 + bit)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_in_cyclic_order() {
        let mut set = PortSet::new(130);
        assert_eq!(set.next_cyclic(5), None);
        [3, 64, 129].into_iter().for_each(|p| set.insert(p));
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
