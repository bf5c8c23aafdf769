//! Local memory of a warp's threads, one column per word: threads usually access the same offset.

use crate::lanes::{Column, blend};
use kit::{LaneMask, WARP_LANES};

/// Local memory of 32 threads.
#[derive(Clone, Debug, Default, Hash)]
pub(crate) struct LocalMemory {
    words: Vec<Column>,
    bytes: u32,
}

impl LocalMemory {
    /// Resizes it to `bytes` per thread, all zero.
    pub fn reset(&mut self, bytes: u32) {
        self.words.clear();
        self.grow(bytes);
        self.bytes = bytes;
    }

    /// Extends it to at least `bytes` per thread.
    pub fn grow(&mut self, bytes: u32) {
        let words = bytes.div_ceil(4) as usize;
        if words > self.words.len() {
            self.words.resize(words, [0; WARP_LANES]);
        }
        self.bytes = self.bytes.max(bytes);
    }

    /// Bytes per thread.
    pub fn bytes(&self) -> u32 {
        self.bytes
    }

    /// Whether an access of `size` bytes at `address` is in bounds.
    #[inline]
    pub fn holds(&self, address: u64, size: u64) -> bool {
        address < (u64::from(self.bytes) + 1).saturating_sub(size)
    }

    /// The word of all lanes at offset `4 * index`, which is in bounds.
    #[inline]
    pub fn column(&self, index: usize) -> &Column {
        &self.words[index]
    }

    /// Stores to the word at offset `4 * index` of the lanes in `mask`.
    #[inline]
    pub fn write(&mut self, index: usize, values: &Column, mask: LaneMask) {
        blend(&mut self.words[index], values, mask);
    }

    /// The word of one lane.
    #[inline]
    pub fn word(&mut self, index: usize, lane: usize) -> &mut u32 {
        &mut self.words[index][lane]
    }
}
