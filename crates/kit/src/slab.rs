//! Values by number. A number is reused after its value is removed.

use std::ops::{Index, IndexMut};

/// A slab of values. It grows to the maximum number of values that it ever held at once.
#[derive(Clone, Debug)]
pub struct Slab<T> {
    entries: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { entries: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    /// Stores `value` and returns its number.
    #[inline]
    pub fn insert(&mut self, value: T) -> u32 {
        match self.free.pop() {
            Some(id) => {
                self.entries[id as usize] = value;
                id
            }
            None => {
                self.entries.push(value);
                self.entries.len() as u32 - 1
            }
        }
    }

    /// Removes the value `id`. It can be read until the next value is stored.
    #[inline]
    pub fn remove(&mut self, id: u32) {
        self.free.push(id);
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T> Index<u32> for Slab<T> {
    type Output = T;
    #[inline]
    fn index(&self, id: u32) -> &T {
        &self.entries[id as usize]
    }
}

impl<T> IndexMut<u32> for Slab<T> {
    #[inline]
    fn index_mut(&mut self, id: u32) -> &mut T {
        &mut self.entries[id as usize]
    }
}

crate::persist! { struct [T: crate::persist::Fresh] Slab<T> { entries, free } }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_used_again() {
        let mut slab = Slab::default();
        let (a, b) = (slab.insert('a'), slab.insert('b'));
        assert_eq!((slab[a], slab[b], slab.len()), ('a', 'b', 2));
        slab.remove(a);
        assert_eq!((slab[a], slab.len()), ('a', 1), "readable until the next one comes");
        assert_eq!((slab.insert('c'), slab[a]), (a, 'c'));
        slab[b] = 'd';
        assert_eq!((slab[b], slab.is_empty()), ('d', false));
    }
}
