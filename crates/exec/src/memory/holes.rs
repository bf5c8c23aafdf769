//! Free ranges of addresses.

use std::collections::{BTreeMap, BTreeSet};

/// Free ranges of addresses, no two of which are adjacent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Holes {
    /// Size by start.
    sizes: BTreeMap<u64, u64>,
    /// The same holes as size and start.
    by_size: BTreeSet<(u64, u64)>,
}

impl Holes {
    pub fn is_empty(&self) -> bool {
        self.sizes.is_empty()
    }

    /// Takes `bytes` from a multiple of `alignment`, a power of two, on: of the smallest hole that has room, the
    /// lowest such addresses.
    pub fn take(&mut self, bytes: u64, alignment: u64) -> Option<u64> {
        let fits = |&&(size, start): &&(u64, u64)| start.next_multiple_of(alignment) + bytes <= start + size;
        let &(size, start) = self.by_size.range((bytes, 0)..).find(fits)?;
        let base = start.next_multiple_of(alignment);
        self.remove(start, size);
        self.insert(start, base - start);
        self.insert(base + bytes, start + size - base - bytes);
        Some(base)
    }

    /// Adds a free range, joined with those beside it.
    pub fn add(&mut self, start: u64, bytes: u64) {
        let (start, bytes) = self.take_joined(start, bytes);
        self.insert(start, bytes);
    }

    /// Removes the holes beside a free range. Returns start and size of them and the range together.
    pub fn take_joined(&mut self, mut start: u64, mut bytes: u64) -> (u64, u64) {
        if let Some((&before, &size)) = self.sizes.range(..start).next_back()
            && before + size == start
        {
            self.remove(before, size);
            (start, bytes) = (before, size + bytes);
        }
        if let Some(&size) = self.sizes.get(&(start + bytes)) {
            self.remove(start + bytes, size);
            bytes += size;
        }
        (start, bytes)
    }

    fn insert(&mut self, start: u64, size: u64) {
        if size > 0 {
            self.sizes.insert(start, size);
            self.by_size.insert((size, start));
        }
    }

    fn remove(&mut self, start: u64, size: u64) {
        self.sizes.remove(&start);
        self.by_size.remove(&(size, start));
    }
}

kit::persist! {
    struct Holes { sizes, by_size }
}
