//! Shared memory of a CTA.

use super::Window;
use std::cell::Cell;

/// Words of one CTA's shared memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedMemory {
    words: Vec<u32>,
    bytes: u32,
    /// Bytes that it may access: hardware gives a CTA shared memory in units.
    room: u32,
    /// The first access beyond `bytes` since this was last taken.
    stray: Cell<Option<u64>>,
}

impl SharedMemory {
    /// Resizes it to `bytes`, all zero, and as much more as makes it `room`.
    pub fn reset(&mut self, bytes: u32, room: u32) {
        let room = room.max(bytes);
        self.words.clear();
        self.words.resize(room.div_ceil(4) as usize, 0);
        (self.bytes, self.room) = (bytes, room);
        self.stray.take();
    }

    /// The first access beyond its bytes since this was last called.
    pub fn take_stray(&self) -> Option<u64> {
        self.stray.take()
    }

    /// First address that an access of `size` bytes at `address` must be below: of the bytes, or of the room if it is
    /// beyond them. `None` if it is beyond both.
    #[inline]
    fn limit(&self, address: u64, size: u64) -> Option<u64> {
        let limit = (u64::from(self.bytes) + 1).saturating_sub(size);
        if address < limit { Some(limit) } else { self.limit_beyond(address, size) }
    }

    #[cold]
    fn limit_beyond(&self, address: u64, size: u64) -> Option<u64> {
        let limit = (u64::from(self.room) + 1).saturating_sub(size);
        if address >= limit {
            return None;
        }
        self.stray.set(self.stray.get().or(Some(address)));
        Some(limit)
    }

    pub fn bytes(&self) -> u32 {
        self.bytes
    }

    /// All of it, as a window for accesses of `size` bytes.
    #[inline]
    pub fn window(&self, address: u64, size: u64) -> Option<Window<&[u32]>> {
        self.limit(address, size).map(|limit| Window { start: 0, limit, words: &self.words[..] })
    }

    /// The same window for stores.
    #[inline]
    pub fn window_mut(&mut self, address: u64, size: u64) -> Option<Window<&mut [u32]>> {
        self.limit(address, size).map(|limit| Window { start: 0, limit, words: &mut self.words[..] })
    }
}
