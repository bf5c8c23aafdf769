//! Shared memory of a CTA.

use super::Window;

/// Words of one CTA's shared memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedMemory {
    words: Vec<u32>,
    bytes: u32,
}

impl SharedMemory {
    /// Resizes it to `bytes`, all zero.
    pub fn reset(&mut self, bytes: u32) {
        self.words.clear();
        self.words.resize(bytes.div_ceil(4) as usize, 0);
        self.bytes = bytes;
    }

    pub fn bytes(&self) -> u32 {
        self.bytes
    }

    /// All of it, as a window for accesses of `size` bytes.
    #[inline]
    pub fn window(&self, address: u64, size: u64) -> Option<Window<&[u32]>> {
        let limit = (u64::from(self.bytes) + 1).saturating_sub(size);
        (address < limit).then_some(Window { start: 0, limit, words: &self.words })
    }

    /// The same window for stores.
    #[inline]
    pub fn window_mut(&mut self, address: u64, size: u64) -> Option<Window<&mut [u32]>> {
        let limit = (u64::from(self.bytes) + 1).saturating_sub(size);
        (address < limit).then_some(Window { start: 0, limit, words: &mut self.words })
    }
}
