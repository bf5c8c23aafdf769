//! Per-warp instruction buffers: a short queue for each warp.

use crate::inflight::InstId;
use crate::policy::Structure;
use crate::spec::WarpMask;
use crate::warps::{PerWarp, bit};
use isa::WarpSlot;

/// The queues of all warps, in one array.
#[derive(Debug)]
pub struct InstructionBuffer {
    /// A ring of `stride` places, a power of two, for each warp.
    entries: Box<[InstId]>,
    stride: usize,
    /// The oldest of each queue that is not empty.
    heads: PerWarp<InstId>,
    first: PerWarp<u8>,
    len: PerWarp<u8>,
    capacity: u8,
    per_fetch: u8,
    room: WarpMask,
}

impl InstructionBuffer {
    /// Empty queues of `capacity` entries, filled `per_fetch` at a time.
    pub fn new(capacity: u32, per_fetch: u32) -> Self {
        let stride = (capacity as usize).next_power_of_two();
        Self {
            entries: vec![InstId(0); 64 * stride].into(),
            stride,
            heads: PerWarp::new(InstId(0)),
            first: PerWarp::new(0),
            len: PerWarp::new(0),
            capacity: capacity as u8,
            per_fetch: per_fetch as u8,
            room: WarpMask::MAX,
        }
    }

    /// Warps with room for a whole fetch.
    #[inline]
    pub fn room(&self) -> WarpMask {
        self.room
    }

    #[inline]
    fn place(&self, w: usize, behind_first: u8) -> usize {
        w * self.stride + (usize::from(self.first[w].wrapping_add(behind_first)) & (self.stride - 1))
    }

    /// The oldest instruction of `warp`.
    #[inline]
    pub fn front(&self, warp: WarpSlot) -> Option<InstId> {
        let w = warp.index();
        (self.len[w] > 0).then(|| self.heads[w])
    }

    /// Adds the youngest instruction of `warp`; there is room.
    #[inline]
    pub fn push(&mut self, warp: WarpSlot, id: InstId) {
        let w = warp.index();
        debug_assert!(self.len[w] < self.capacity);
        let at = self.place(w, self.len[w]);
        self.entries[at] = id;
        if self.len[w] == 0 {
            self.heads[w] = id;
        }
        self.len[w] += 1;
        if self.len[w] + self.per_fetch > self.capacity {
            self.room &= !bit(warp);
        }
    }

    /// Takes the oldest instruction of `warp`; there is one.
    #[inline]
    pub fn pop(&mut self, warp: WarpSlot) {
        let w = warp.index();
        debug_assert!(self.len[w] > 0);
        self.first[w] = self.first[w].wrapping_add(1);
        self.len[w] -= 1;
        self.heads[w] = self.entries[self.place(w, 0)];
        if self.len[w] + self.per_fetch <= self.capacity {
            self.room |= bit(warp);
        }
    }

    /// As hardware: a valid bit, a 64-bit instruction and its 32-lane mask.
    pub fn structure(&self, warps: usize) -> Structure {
        Structure {
            name: "instruction buffer",
            instances: warps,
            entries: self.capacity.into(),
            bits: 1 + 64 + 32,
            read_ports: 1,
            write_ports: self.per_fetch.into(),
        }
    }
}
