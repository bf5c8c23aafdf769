//! Addresses of the heap: holes between allocations are used again.

use std::collections::{BTreeMap, BTreeSet};

/// Alignment of allocations.
pub(super) const ALIGNMENT: u64 = 256;
/// Minimum distance in bytes between two allocations.
const GUARD_BYTES: u64 = 4096;
/// First address of the heap. It is high so that a kernel that truncates a pointer to 32 bits faults.
const HEAP_BASE: u64 = 0x7f_0000_0000;
/// First address beyond the address space.
pub(super) const ADDRESS_LIMIT: u64 = 1 << 40;

/// Free addresses. An allocation takes the smallest hole that it fits in, of those the lowest, or else the
/// addresses after all others.
#[derive(Debug)]
pub(super) struct Heap {
    /// Nothing at or after it has been taken, or all of it has been given back.
    next: u64,
    /// Size by start; no two holes are adjacent, and none ends at `next`.
    holes: BTreeMap<u64, u64>,
    /// The same holes as size and start.
    by_size: BTreeSet<(u64, u64)>,
}

impl Default for Heap {
    fn default() -> Self {
        Self { next: HEAP_BASE, holes: BTreeMap::new(), by_size: BTreeSet::new() }
    }
}

/// Bytes that an allocation takes with the guard after it.
fn footprint(bytes: u64) -> Option<u64> {
    bytes.max(1).checked_add(GUARD_BYTES)?.checked_next_multiple_of(ALIGNMENT)
}

impl Heap {
    /// Whether the heap gives out `address`.
    pub(super) fn has(address: u64) -> bool {
        (HEAP_BASE..ADDRESS_LIMIT).contains(&address)
    }

    /// Leaves out the first `bytes` of the addresses. Only before anything is taken.
    pub(super) fn skip(&mut self, bytes: u64) {
        assert_eq!((self.next, self.holes.len()), (HEAP_BASE, 0), "something is taken");
        self.next += bytes.next_multiple_of(ALIGNMENT);
    }

    /// Takes addresses for `bytes` that start at a multiple of `alignment`, a power of two of at least
    /// [`ALIGNMENT`]. `None`: there is no room.
    pub(super) fn take(&mut self, bytes: u64, alignment: u64) -> Option<u64> {
        let need = footprint(bytes)?;
        let fits = |&&(size, start): &&(u64, u64)| start.next_multiple_of(alignment) + need <= start + size;
        if let Some(&(size, start)) = self.by_size.range((need, 0)..).find(fits) {
            let base = start.next_multiple_of(alignment);
            self.holes.remove(&start);
            self.by_size.remove(&(size, start));
            self.add_hole(start, base - start);
            self.add_hole(base + need, start + size - base - need);
            return Some(base);
        }
        let base = self.next.checked_next_multiple_of(alignment)?;
        base.checked_add(bytes).filter(|&end| end < ADDRESS_LIMIT)?;
        self.add_hole(self.next, base - self.next);
        self.next = base + need;
        Some(base)
    }

    /// Gives back what [`Heap::take`] has given for `bytes`.
    pub(super) fn give_back(&mut self, base: u64, bytes: u64) {
        let (mut start, mut end) = (base, base + footprint(bytes).unwrap_or(0));
        if let Some((&before, &size)) = self.holes.range(..start).next_back()
            && before + size == start
        {
            self.remove_hole(before, size);
            start = before;
        }
        if let Some(&size) = self.holes.get(&end) {
            self.remove_hole(end, size);
            end += size;
        }
        if end == self.next {
            self.next = start;
        } else {
            self.add_hole(start, end - start);
        }
    }

    fn add_hole(&mut self, start: u64, size: u64) {
        if size > 0 {
            self.holes.insert(start, size);
            self.by_size.insert((size, start));
        }
    }

    fn remove_hole(&mut self, start: u64, size: u64) {
        self.holes.remove(&start);
        self.by_size.remove(&(size, start));
    }
}
