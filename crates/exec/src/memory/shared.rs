//! Shared memory of a CTA.

use super::Window;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// An address, if there is one; 0 is none. It is atomic since shared memory of clusters is in the state that SMs share.
#[derive(Debug, Default)]
struct Stray(AtomicU64);

impl Clone for Stray {
    fn clone(&self) -> Self {
        Self(AtomicU64::new(self.0.load(Relaxed)))
    }
}

/// Words of one CTA's shared memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedMemory {
    words: Vec<u32>,
    /// Its first address: not 0 in clusters only.
    start: u64,
    bytes: u32,
    /// Bytes that it may access: hardware gives a CTA shared memory in units.
    room: u32,
    /// The first access beyond `bytes` since this was last taken.
    stray: Stray,
}

impl SharedMemory {
    /// Resizes it to `bytes` from address `start` on, all zero, and as much more as makes it `room`.
    pub fn reset(&mut self, start: u64, bytes: u32, room: u32) {
        let room = room.max(bytes);
        self.words.clear();
        self.words.resize(room.div_ceil(4) as usize, 0);
        (self.start, self.bytes, self.room) = (start, bytes, room);
        self.take_stray();
    }

    /// The first access beyond its bytes since this was last called.
    pub fn take_stray(&self) -> Option<u64> {
        self.stray.0.swap(0, Relaxed).checked_sub(1)
    }

    /// First address that an access of `size` bytes at `address` must be below: of the bytes, or of the room if it is
    /// beyond them. `None` if it is beyond both.
    #[inline]
    fn limit(&self, address: u64, size: u64) -> Option<u64> {
        let limit = (u64::from(self.bytes) + 1).saturating_sub(size);
        let address = address.wrapping_sub(self.start);
        if address < limit { Some(limit) } else { self.limit_beyond(address, size) }
    }

    #[cold]
    fn limit_beyond(&self, address: u64, size: u64) -> Option<u64> {
        let limit = (u64::from(self.room) + 1).saturating_sub(size);
        if address >= limit {
            return None;
        }
        let _ = self.stray.0.compare_exchange(0, address + 1, Relaxed, Relaxed);
        Some(limit)
    }

    /// Its first address.
    pub fn start(&self) -> u64 {
        self.start
    }

    pub fn bytes(&self) -> u32 {
        self.bytes
    }

    /// All of it, as a window for accesses of `size` bytes.
    #[inline]
    pub fn window(&self, address: u64, size: u64) -> Option<Window<&[u32]>> {
        self.limit(address, size).map(|limit| Window { start: self.start, limit, words: &self.words[..] })
    }

    /// The same window for stores.
    #[inline]
    pub fn window_mut(&mut self, address: u64, size: u64) -> Option<Window<&mut [u32]>> {
        self.limit(address, size).map(|limit| Window { start: self.start, limit, words: &mut self.words[..] })
    }
}
