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
    /// Entries after the first [`Queue::AHEAD`] of a queue: a ring of `stride` places, a power of two, for each warp.
    behind: Box<[InstId]>,
    stride: usize,
    warps: usize,
    capacity: u8,
    per_fetch: u8,
    room: M,
}

/// The queue of a warp.
#[derive(Clone, Copy, Debug, Default)]
struct Queue {
    /// The oldest ones, 16 bits each, the oldest in the lowest; zeros from `len` on.
    ahead: u64,
    /// Where the oldest of the others is, modulo the ring.
    first: u8,
    len: u8,
}

impl Queue {
    /// Instructions that are held apart from the ring: all of most buffers.
    const AHEAD: u8 = 4;

    /// The one that `place` older ones precede, which is one of those ahead.
    #[inline]
    fn ahead(&self, place: u8) -> InstId {
        InstId((self.ahead >> (16 * (place % Self::AHEAD))) as u16)
    }

    /// The same, which it has not had, is `id`.
    #[inline]
    fn put_ahead(&mut self, place: u8, id: InstId) {
        self.ahead |= u64::from(id.0) << (16 * (place % Self::AHEAD));
    }
}

impl<M: WarpMask> InstructionBuffer<M> {
    /// Empty queues of `capacity` entries, 128 at most, for the warps of an SM of `spec`.
    pub fn new(spec: &CoreSpec, capacity: u32) -> Self {
        Self::with_fetches(spec, capacity, spec.sm.frontend.instructions_per_fetch)
    }

    /// The same for a front end that fetches `per_fetch` instructions at a time, whatever the description says.
    pub fn with_fetches(spec: &CoreSpec, capacity: u32, per_fetch: u32) -> Self {
        let warps = spec.sm.max_warps as usize;
        let behind = (capacity as usize).saturating_sub(Queue::AHEAD.into());
        let stride = behind.next_power_of_two();
        Self {
            queues: PerWarp::new(Queue::default()),
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

    /// Where in `behind` the instruction of `warp` is that `place` others precede there.
    fn at(&self, warp: WarpSlot, place: u8) -> usize {
        let place = self.queues[warp.index()].first.wrapping_add(place);
        warp.index() * self.stride + (usize::from(place) & (self.stride - 1))
    }

    /// The oldest instruction of `warp`.
    #[inline]
    pub fn front(&self, warp: WarpSlot) -> Option<InstId> {
        let queue = &self.queues[warp.index()];
        (queue.len > 0).then_some(queue.ahead(0))
    }

    /// The instruction of `warp` that `place` older ones precede.
    #[inline]
    pub fn get(&self, warp: WarpSlot, place: u8) -> Option<InstId> {
        let queue = &self.queues[warp.index()];
        (place < queue.len).then(|| match place.checked_sub(Queue::AHEAD) {
            None => queue.ahead(place),
            Some(place) => self.behind[self.at(warp, place)],
        })
    }

    /// Takes the instruction of `warp` that `place` older ones precede; there is one.
    pub fn remove(&mut self, warp: WarpSlot, place: u8) {
        debug_assert!(place < self.queues[warp.index()].len);
        // Those before it move towards it, and the first place is free.
        for place in (Queue::AHEAD..=place).rev() {
            let before = self.get(warp, place - 1).expect("it is older");
            self.put_behind(warp, place - Queue::AHEAD, before);
        }
        let queue = &mut self.queues[warp.index()];
        // The places up to the one that is free.
        let moved = u64::MAX >> (16 * (Queue::AHEAD - 1 - place.min(Queue::AHEAD - 1)));
        queue.ahead = queue.ahead & !moved | queue.ahead << 16 & moved;
        self.pop(warp);
    }

    /// Adds the youngest instruction of `warp`; there is room.
    #[inline]
    pub fn push(&mut self, warp: WarpSlot, id: InstId) {
        let queue = &mut self.queues[warp.index()];
        debug_assert!(queue.len < self.capacity);
        let place = queue.len;
        queue.len += 1;
        if place < Queue::AHEAD {
            queue.put_ahead(place, id);
        } else {
            self.put_behind(warp, place - Queue::AHEAD, id);
        }
        if place + 1 + self.per_fetch > self.capacity {
            self.room.remove(warp);
        }
    }

    #[inline(never)]
    fn put_behind(&mut self, warp: WarpSlot, place: u8, id: InstId) {
        let at = self.at(warp, place);
        self.behind[at] = id;
    }

    /// Takes the oldest instruction of `warp`; there is one.
    #[inline]
    pub fn pop(&mut self, warp: WarpSlot) {
        let queue = &mut self.queues[warp.index()];
        debug_assert!(queue.len > 0);
        queue.ahead >>= 16;
        queue.len -= 1;
        let left = queue.len;
        if left >= Queue::AHEAD {
            self.come_ahead(warp);
        }
        if left + self.per_fetch <= self.capacity {
            self.room.insert(warp);
        }
    }

    /// The oldest of those in the ring of `warp` leaves it.
    #[inline(never)]
    fn come_ahead(&mut self, warp: WarpSlot) {
        let next = self.behind[self.at(warp, 0)];
        let queue = &mut self.queues[warp.index()];
        queue.put_ahead(Queue::AHEAD - 1, next);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::CoreOptions;
    use isa::Form;
    use std::collections::VecDeque;

    #[test]
    fn a_buffer_is_a_queue_of_each_warp() {
        let gpu = config::load("accel-sim/rtx2060s").expect("a built-in GPU");
        let spec = CoreSpec::new(&gpu, Form::Sass, CoreOptions::default()).expect("a sound GPU");
        for capacity in [2, 4, 5, 8, 13] {
            let mut buffer: InstructionBuffer = InstructionBuffer::new(&spec, capacity);
            let (warp, mut model) = (WarpSlot(3), VecDeque::new());
            let mut state = 1u64;
            for n in 1..3000u16 {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let place = (state >> 40) as usize % (model.len() + 1);
                match state >> 62 {
                    0 | 1 if model.len() < capacity as usize => {
                        buffer.push(warp, InstId(n));
                        model.push_back(InstId(n));
                    }
                    2 if place < model.len() => {
                        buffer.remove(warp, place as u8);
                        model.remove(place);
                    }
                    _ if !model.is_empty() => {
                        buffer.pop(warp);
                        model.pop_front();
                    }
                    _ => {}
                }
                let held: Vec<_> = (0..=capacity as u8).map_while(|place| buffer.get(warp, place)).collect();
                assert_eq!(model, held, "{n}");
                assert_eq!(buffer.front(warp), model.front().copied());
                assert_eq!(buffer.front(WarpSlot(2)), None);
                let room = model.len() + spec.sm.frontend.instructions_per_fetch as usize <= capacity as usize;
                assert_eq!(buffer.room().contains(warp), room);
            }
        }
    }
}
