//! Addresses of the heap: holes between allocations are used again.

use super::holes::Holes;

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
    /// The first address that is given out.
    first: u64,
    /// Nothing at or after it has been taken, or all of it has been given back.
    next: u64,
    /// Free addresses before `next`; none of them ends there.
    holes: Holes,
}

impl Default for Heap {
    fn default() -> Self {
        Self { first: HEAP_BASE, next: HEAP_BASE, holes: Holes::default() }
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
        assert!(self.next == self.first && self.holes.is_empty(), "something is taken");
        let first = bytes.checked_next_multiple_of(ALIGNMENT).and_then(|bytes| self.first.checked_add(bytes));
        self.first = first.map_or(ADDRESS_LIMIT, |first| first.min(ADDRESS_LIMIT));
        self.next = self.first;
    }

    /// Takes addresses for `bytes` that start at a multiple of `alignment`, a power of two of at least
    /// [`ALIGNMENT`]. `None`: there is no room.
    pub(super) fn take(&mut self, bytes: u64, alignment: u64) -> Option<u64> {
        let need = footprint(bytes)?;
        if let Some(base) = self.holes.take(need, alignment) {
            return Some(base);
        }
        let base = self.next.checked_next_multiple_of(alignment)?;
        base.checked_add(bytes).filter(|&end| end < ADDRESS_LIMIT)?;
        if base > self.next {
            self.holes.add(self.next, base - self.next);
        }
        self.next = base + need;
        Some(base)
    }

    /// Gives back what [`Heap::take`] has given for `bytes`.
    pub(super) fn give_back(&mut self, base: u64, bytes: u64) {
        let (start, size) = self.holes.take_joined(base, footprint(bytes).unwrap_or(0));
        if start + size == self.next {
            self.next = start;
        } else {
            self.holes.add(start, size);
        }
    }
}

kit::persist! {
    struct Heap { first, next, holes }
}
