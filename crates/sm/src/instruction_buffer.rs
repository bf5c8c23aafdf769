//! Per-warp instruction buffers: a short queue for each warp.

use crate::inflight::InstId;
use crate::policy::Structure;
use crate::spec::WarpMask;
use crate::warps::bit;
use isa::WarpSlot;

/// The queues of all warps, in one array.
#[derive(Debug)]
pub struct InstructionBuffer {
    entries: Box<[InstId]>,
    /// (first, length) of each warp's queue.
    queues: Box<[(u8, u8)]>,
    capacity: usize,
    per_fetch: usize,
    room: WarpMask,
}

impl InstructionBuffer {
    /// Empty queues of `capacity` entries, filled `per_fetch` at a time.
    pub fn new(warps: usize, capacity: usize, per_fetch: usize) -> Self {
        Self {
            entries: vec![InstId(0); warps * capacity].into(),
            queues: vec![(0, 0); warps].into(),
            capacity,
            per_fetch,
            room: WarpMask::MAX,
        }
    }

    /// Warps with room for a whole fetch.
    #[inline]
    pub fn room(&self) -> WarpMask {
        self.room
    }

    /// The oldest instruction of `warp`.
    #[inline]
    pub fn front(&self, warp: WarpSlot) -> Option<InstId> {
        let (first, len) = self.queues[warp.index()];
        (len > 0).then(|| self.entries[warp.index() * self.capacity + first as usize])
    }

    /// Adds the youngest instruction of `warp`; there is room.
    #[inline]
    pub fn push(&mut self, warp: WarpSlot, id: InstId) {
        let (first, len) = &mut self.queues[warp.index()];
        debug_assert!((*len as usize) < self.capacity);
        let mut at = *first as usize + *len as usize;
        if at >= self.capacity {
            at -= self.capacity;
        }
        self.entries[warp.index() * self.capacity + at] = id;
        *len += 1;
        if *len as usize + self.per_fetch > self.capacity {
            self.room &= !bit(warp);
        }
    }

    /// Takes the oldest instruction of `warp`.
    #[inline]
    pub fn pop(&mut self, warp: WarpSlot) -> Option<InstId> {
        let front = self.front(warp)?;
        let (first, len) = &mut self.queues[warp.index()];
        *first = if *first as usize + 1 == self.capacity { 0 } else { *first + 1 };
        *len -= 1;
        if *len as usize + self.per_fetch <= self.capacity {
            self.room |= bit(warp);
        }
        Some(front)
    }

    /// As hardware: a valid bit, a 64-bit instruction and its 32-lane mask.
    pub fn structure(&self, warps: usize) -> Structure {
        Structure {
            name: "instruction buffer",
            instances: warps,
            entries: self.capacity,
            bits: 1 + 64 + 32,
            read_ports: 1,
            write_ports: self.per_fetch,
        }
    }
}
