//! A first-in first-out queue.

use crate::persist::{Archive, Fresh, Mismatch, Persist};

/// A queue of small values that keeps its storage. The storage has room for the maximum number of entries
/// that it ever held, rounded up to a power of two, so that positions are found by masking.
#[derive(Clone, Debug)]
pub struct Ring<T> {
    /// None, or a power of two.
    slots: Vec<T>,
    first: usize,
    len: usize,
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), first: 0, len: 0 }
    }
}

impl<T: Copy> Ring<T> {
    /// Creates a queue without storage.
    pub fn new() -> Self {
        Self::default()
    }

    /// Entries in the queue.
    #[inline(always)]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[inline(always)]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline(always)]
    fn place(&self, i: usize) -> usize {
        self.first.wrapping_add(i) & self.slots.len().wrapping_sub(1)
    }

    /// Adds an entry at the end.
    #[inline(always)]
    pub fn push_back(&mut self, entry: T) {
        if self.len == self.slots.len() {
            self.grow(entry);
        }
        let at = self.place(self.len);
        self.slots[at] = entry;
        self.len += 1;
    }

    /// Doubles the storage, filled up with `filler`. To copy within the allocator would keep other threads out of it.
    #[cold]
    fn grow(&mut self, filler: T) {
        let at = self.first.checked_rem(self.slots.len()).unwrap_or(0);
        let size = (2 * self.slots.len()).max(4);
        let mut slots = Vec::with_capacity(size);
        slots.extend_from_slice(&self.slots[at..]);
        slots.extend_from_slice(&self.slots[..at]);
        slots.resize(size, filler);
        (self.slots, self.first) = (slots, 0);
    }

    /// Entry number `i`, counted from the oldest.
    #[inline(always)]
    pub fn get(&self, i: usize) -> Option<&T> {
        if i < self.len { self.slots.get(self.place(i)) } else { None }
    }

    /// Entry number `i`, counted from the oldest.
    #[inline(always)]
    pub fn get_mut(&mut self, i: usize) -> Option<&mut T> {
        let at = self.place(i);
        if i < self.len { self.slots.get_mut(at) } else { None }
    }

    /// The oldest entry.
    #[inline(always)]
    pub fn front(&self) -> Option<&T> {
        self.get(0)
    }

    /// Removes the oldest entry and returns it.
    #[inline(always)]
    pub fn pop_front(&mut self) -> Option<T> {
        let entry = *self.front()?;
        self.first = self.first.wrapping_add(1);
        self.len -= 1;
        Some(entry)
    }

    /// Moves all entries to the end of `other`.
    pub fn append_to(&mut self, other: &mut Self) {
        if self.is_empty() {
            return;
        }
        if other.is_empty() {
            std::mem::swap(self, other);
            return;
        }
        while other.slots.len() < other.len + self.len {
            other.grow(self.slots[0]);
        }
        while self.len > 0 {
            // As many as are together both here and there.
            let (from, to) = (self.place(0), other.place(other.len));
            let count = self.len.min(self.slots.len() - from).min(other.slots.len() - to);
            other.slots[to..to + count].copy_from_slice(&self.slots[from..from + count]);
            other.len += count;
            self.drop_front(count);
        }
    }

    /// Removes the `count` oldest entries, which there must be.
    #[inline(always)]
    pub fn drop_front(&mut self, count: usize) {
        self.first = self.first.wrapping_add(count);
        self.len -= count;
    }

    /// Inserts an entry before entry number `i`, or at the end.
    pub fn insert(&mut self, i: usize, entry: T) {
        self.push_back(entry);
        for i in (i + 1..self.len).rev() {
            let (from, to) = (self.place(i - 1), self.place(i));
            self.slots.swap(from, to);
        }
    }

    /// Removes entry number `i`, which there must be, and returns it.
    pub fn remove(&mut self, i: usize) -> T {
        for i in i + 1..self.len {
            let (from, to) = (self.place(i), self.place(i - 1));
            self.slots.swap(from, to);
        }
        self.len -= 1;
        self.slots[self.place(self.len)]
    }

    /// The entries, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.len).map(|i| &self.slots[self.place(i)])
    }
}

impl<T: Copy + Fresh> Persist for Ring<T> {
    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        let mut length = self.len;
        archive.length(&mut length)?;
        if archive.is_reading() {
            *self = Self::new();
        }
        for i in 0..length {
            let mut entry = self.get(i).copied().unwrap_or_else(T::fresh);
            entry.persist(archive)?;
            if archive.is_reading() {
                self.push_back(entry);
            }
        }
        Ok(())
    }
}

impl<T: Copy + Fresh> Fresh for Ring<T> {
    fn fresh() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    #[test]
    fn agrees_with_the_standard_queue() {
        let (mut ring, mut model) = (Ring::new(), VecDeque::new());
        let mut state = 1u64;
        for i in 0..10_000 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            match state >> 60 {
                0..8 => {
                    ring.push_back(i);
                    model.push_back(i);
                }
                8 => {
                    let at = (state >> 33) as usize % (model.len() + 1);
                    ring.insert(at, i);
                    model.insert(at, i);
                }
                10 if model.len() > 2 => {
                    ring.drop_front(2);
                    model.drain(..2);
                }
                11 => {
                    // Storage of any size and turn on both sides.
                    let mut more: Ring<_> = Ring::new();
                    for j in 0..(state >> 40 & 15) as i32 {
                        more.push_back(-j);
                        if j % 3 == 0 {
                            more.pop_front();
                        }
                    }
                    model.extend(more.iter());
                    more.append_to(&mut ring);
                    assert!(more.is_empty());
                }
                9 if !model.is_empty() => {
                    let at = (state >> 33) as usize % model.len();
                    assert_eq!(Some(ring.remove(at)), model.remove(at));
                }
                _ => assert_eq!(ring.pop_front(), model.pop_front()),
            }
            assert_eq!((ring.len(), ring.is_empty()), (model.len(), model.is_empty()));
            assert_eq!((ring.front(), ring.get(3)), (model.front(), model.get(3)));
        }
        assert!(ring.iter().eq(&model));
    }
}
