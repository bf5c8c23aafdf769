//! Instruction buffers: a short queue for each warp.

use crate::inflight::InstId;
use crate::spec::CoreSpec;
use crate::warps::PerWarp;
use crate::warps::mask::WarpMask;
use energy::{Each, Structure};
use isa::WarpSlot;

/// The queues of all warps.
#[derive(Debug)]
pub struct InstructionBuffer<M: WarpMask = u64> {
    queues: PerWarp<Queue, M>,
    /// What comes after the first [`Queue::AHEAD`] of a queue: a ring of `stride` places, a power of two, for each warp.
    behind: Box<[InstId]>,
    stride: usize,
    warps: usize,
    capacity: u8,
    per_fetch: u8,
    room: M,
}

/// The queue of a warp.
#[derive(Clone, Copy, Debug)]
struct Queue {
    /// The oldest ones; places from `len` on hold nothing.
    ahead: [InstId; Self::AHEAD],
    /// Where the oldest of the others is, modulo the ring.
    first: u8,
    len: u8,
}

impl Queue {
    /// Instructions that are held apart from the ring: those of most buffers.
    const AHEAD: usize = 2;
}

impl<M: WarpMask> InstructionBuffer<M> {
    /// Empty queues of `capacity` entries, 128 at most, for the warps of an SM of `spec`.
    pub fn new(spec: &CoreSpec, capacity: u32) -> Self {
        let (warps, per_fetch) = (spec.sm.max_warps as usize, spec.sm.frontend.instructions_per_fetch);
        let behind = (capacity as usize).saturating_sub(Queue::AHEAD);
        let stride = behind.next_power_of_two();
        Self {
            queues: PerWarp::new(Queue { ahead: [InstId(0); Queue::AHEAD], first: 0, len: 0 }),
            behind: vec![InstId(0); if behind > 0 { warps * stride } else { 0 }].into(),
            stride,
            warps,
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

    /// Where in `behind` the ring of a warp has the place numbered `place`.
    fn at(&self, warp: WarpSlot, place: u8) -> usize {
        warp.index() * self.stride + (usize::from(place) & (self.stride - 1))
    }

    /// Where the instruction of `warp` is that `place` older ones precede.
    fn place_mut(&mut self, warp: WarpSlot, place: u8) -> &mut InstId {
        match place.checked_sub(Queue::AHEAD as u8) {
            None => &mut self.queues[warp.index()].ahead[usize::from(place)],
            Some(place) => {
                let at = self.at(warp, self.queues[warp.index()].first.wrapping_add(place));
                &mut self.behind[at]
            }
        }
    }

    /// The oldest instruction of `warp`.
    #[inline]
    pub fn front(&self, warp: WarpSlot) -> Option<InstId> {
        let queue = &self.queues[warp.index()];
        (queue.len > 0).then_some(queue.ahead[0])
    }

    /// The instruction of `warp` that `place` older ones precede.
    #[inline]
    pub fn get(&self, warp: WarpSlot, place: u8) -> Option<InstId> {
        let queue = &self.queues[warp.index()];
        (place < queue.len).then(|| match place.checked_sub(Queue::AHEAD as u8) {
            None => queue.ahead[usize::from(place)],
            Some(place) => self.behind[self.at(warp, queue.first.wrapping_add(place))],
        })
    }

    /// Takes the instruction of `warp` that `place` older ones precede; there is one.
    pub fn remove(&mut self, warp: WarpSlot, place: u8) {
        debug_assert!(place < self.queues[warp.index()].len);
        for younger in (1..=place).rev() {
            let older = *self.place_mut(warp, younger - 1);
            *self.place_mut(warp, younger) = older;
        }
        self.pop(warp);
    }

    /// Adds the youngest instruction of `warp`; there is room.
    #[inline]
    pub fn push(&mut self, warp: WarpSlot, id: InstId) {
        let queue = &mut self.queues[warp.index()];
        debug_assert!(queue.len < self.capacity);
        let place = queue.len;
        queue.len += 1;
        match queue.ahead.get_mut(usize::from(place)) {
            Some(ahead) => *ahead = id,
            None => self.put_behind(warp, place, id),
        }
        if place + 1 + self.per_fetch > self.capacity {
            self.room.remove(warp);
        }
    }

    #[inline(never)]
    fn put_behind(&mut self, warp: WarpSlot, place: u8, id: InstId) {
        *self.place_mut(warp, place) = id;
    }

    /// Takes the oldest instruction of `warp`; there is one.
    #[inline]
    pub fn pop(&mut self, warp: WarpSlot) {
        let queue = &mut self.queues[warp.index()];
        debug_assert!(queue.len > 0);
        queue.ahead[0] = queue.ahead[1];
        queue.len -= 1;
        let left = queue.len;
        if usize::from(left) >= Queue::AHEAD {
            self.come_ahead(warp);
        }
        if left + self.per_fetch <= self.capacity {
            self.room.insert(warp);
        }
    }

    /// The oldest of those in the ring of `warp` leaves it.
    #[inline(never)]
    fn come_ahead(&mut self, warp: WarpSlot) {
        let next = self.behind[self.at(warp, self.queues[warp.index()].first)];
        let queue = &mut self.queues[warp.index()];
        queue.ahead[Queue::AHEAD - 1] = next;
        queue.first = queue.first.wrapping_add(1);
    }

    /// As hardware: a valid bit, a 64-bit instruction and its 32-lane mask.
    pub fn structure(&self) -> Structure {
        Structure::new("instruction buffer", self.warps, self.capacity.into(), 1 + 64 + 32)
            .ports(1, self.per_fetch.into())
            .read(Each::Instruction.times(1))
            .written(Each::Instruction.times(1))
    }
}
