//! Instruction buffers: a short queue for each warp.

use crate::inflight::InstId;
use crate::spec::CoreSpec;
use crate::warps::PerWarp;
use crate::warps::mask::WarpMask;
use energy::{Each, Structure};
use isa::WarpSlot;

/// The queues of all warps, in one array.
#[derive(Debug)]
pub struct InstructionBuffer<M: WarpMask = u64> {
    /// A ring of `stride` places, a power of two, for each warp.
    entries: Box<[InstId]>,
    stride: usize,
    queues: PerWarp<Queue, M>,
    capacity: u8,
    per_fetch: u8,
    room: M,
}

/// The queue of a warp in its ring.
#[derive(Clone, Copy, Debug)]
struct Queue {
    /// The oldest, if it is not empty.
    head: InstId,
    /// Its place, modulo the ring.
    first: u8,
    len: u8,
}

impl<M: WarpMask> InstructionBuffer<M> {
    /// Empty queues of `capacity` entries, 128 at most, for the warps of an SM of `spec`.
    pub fn new(spec: &CoreSpec, capacity: u32) -> Self {
        let (warps, per_fetch) = (spec.sm.max_warps as usize, spec.sm.frontend.instructions_per_fetch);
        let stride = (capacity as usize).next_power_of_two();
        Self {
            entries: vec![InstId(0); warps * stride].into(),
            stride,
            queues: PerWarp::new(Queue { head: InstId(0), first: 0, len: 0 }),
            capacity: capacity as u8,
            per_fetch: per_fetch as u8,
            room: M::ALL,
        }
    }

    /// Warps with room for a whole fetch.
    #[inline]
    pub fn room(&self) -> M {
        self.room
    }

    /// Where in `entries` the ring of a warp has the place numbered `place`.
    #[inline]
    fn at(&self, w: usize, place: u8) -> usize {
        w * self.stride + (usize::from(place) & (self.stride - 1))
    }

    /// The oldest instruction of `warp`.
    #[inline]
    pub fn front(&self, warp: WarpSlot) -> Option<InstId> {
        let queue = self.queues[warp.index()];
        (queue.len > 0).then_some(queue.head)
    }

    /// The instruction of `warp` that `place` older ones precede.
    #[inline]
    pub fn get(&self, warp: WarpSlot, place: u8) -> Option<InstId> {
        let queue = self.queues[warp.index()];
        (place < queue.len).then(|| self.entries[self.at(warp.index(), queue.first.wrapping_add(place))])
    }

    /// Takes the instruction of `warp` that `place` older ones precede; there is one.
    pub fn remove(&mut self, warp: WarpSlot, place: u8) {
        let (w, first) = (warp.index(), self.queues[warp.index()].first);
        debug_assert!(place < self.queues[w].len);
        for younger in (1..=place).rev() {
            let (to, from) = (self.at(w, first.wrapping_add(younger)), self.at(w, first.wrapping_add(younger - 1)));
            self.entries[to] = self.entries[from];
        }
        self.pop(warp);
    }

    /// Adds the youngest instruction of `warp`; there is room.
    #[inline]
    pub fn push(&mut self, warp: WarpSlot, id: InstId) {
        let w = warp.index();
        let mut queue = self.queues[w];
        debug_assert!(queue.len < self.capacity);
        let at = self.at(w, queue.first.wrapping_add(queue.len));
        self.entries[at] = id;
        if queue.len == 0 {
            queue.head = id;
        }
        queue.len += 1;
        self.queues[w] = queue;
        if queue.len + self.per_fetch > self.capacity {
            self.room.remove(warp);
        }
    }

    /// Takes the oldest instruction of `warp`; there is one.
    #[inline]
    pub fn pop(&mut self, warp: WarpSlot) {
        let w = warp.index();
        let Queue { first, len, .. } = self.queues[w];
        debug_assert!(len > 0);
        let (first, len) = (first.wrapping_add(1), len - 1);
        self.queues[w] = Queue { head: self.entries[self.at(w, first)], first, len };
        if len + self.per_fetch <= self.capacity {
            self.room.insert(warp);
        }
    }

    /// As hardware: a valid bit, a 64-bit instruction and its 32-lane mask.
    pub fn structure(&self) -> Structure {
        let warps = self.entries.len() / self.stride;
        Structure::new("instruction buffer", warps, self.capacity.into(), 1 + 64 + 32)
            .ports(1, self.per_fetch.into())
            .read(Each::Instruction.times(1))
            .written(Each::Instruction.times(1))
    }
}
