//! The latches before (ID_OC) and after (OC_EX) the operand collectors: for each pipe and
//! partition a short queue, oldest first.

use crate::inflight::InstId;
use crate::spec::{CoreSpec, Pipe, PipeSet};
use kit::bits::set_bits;

/// A latch by number: pipe x partitions + partition, so that ascending order is service order.
pub type LatchId = u8;

/// Most latches: pipes x partitions.
pub const LATCHES: usize = 64;

/// One set of latches.
#[derive(Debug)]
pub struct Latches {
    /// The oldest instruction of each latch, and its place in the order of issue.
    front: [InstId; LATCHES],
    order: [u64; LATCHES],
    /// Those behind it: `stride` places for each latch, used as a ring.
    behind: Box<[(InstId, u64)]>,
    stride: usize,
    first: [u8; LATCHES],
    len: [u8; LATCHES],
    capacity: [u8; LATCHES],
    /// Latches that hold one instruction, as all do in a sub-core.
    single: u64,
    occupied: u64,
    /// Latches without room. In this mask and the next two, the latches of a partition are neighbours: schedulers need the
    /// latches of their partition.
    full: u64,
    /// See [`Latches::block`].
    blocked: u64,
    /// See [`Latches::close`].
    closed: u64,
    /// The bit of each latch in these three masks.
    places: [u64; LATCHES],
    /// The same for latches that hold one instruction, else no bit.
    single_places: [u64; LATCHES],
    /// From the bits of a partition in these masks to the bits of the next one.
    per_partition: usize,
    /// The bits of partition 0.
    first_partition: u64,
    partitions: usize,
    /// The pipe of each latch.
    pipes: [Pipe; LATCHES],
    /// The partition of each latch.
    parts: [u8; LATCHES],
    /// The latches of partition 0.
    every_partition: u64,
    /// The latches of pipe 0.
    first_pipe: u64,
    of_memory: u64,
}

impl Latches {
    /// Most partitions, rounded up.
    const PARTITIONS: usize = 8;

    /// Latches whose capacity per pipe, over all partitions, is `total`.
    pub fn new(spec: &CoreSpec, total: impl Fn(Pipe) -> u32) -> Self {
        let partitions = spec.partitions;
        let mut capacity = [0; LATCHES];
        for (latch, capacity) in capacity.iter_mut().enumerate().take(Pipe::COUNT * partitions) {
            *capacity = (total(Pipe((latch / partitions) as u8)) as usize / partitions) as u8;
        }
        let single = capacity.iter().enumerate().fold(0, |mask, (l, &c)| mask | u64::from(c == 1) << l);
        let stride = usize::from(*capacity.iter().max().expect("there are latches")).next_power_of_two();
        let per_partition = LATCHES / partitions;
        let place = |latch: usize| 1 << ((latch % partitions * per_partition + latch / partitions) % LATCHES);
        Self {
            front: [InstId(0); LATCHES],
            order: [0; LATCHES],
            behind: vec![(InstId(0), 0); stride * LATCHES].into(),
            stride,
            first: [0; LATCHES],
            len: [0; LATCHES],
            capacity,
            single,
            occupied: 0,
            full: 0,
            blocked: 0,
            closed: 0,
            places: std::array::from_fn(place),
            single_places: std::array::from_fn(|latch| if single >> latch & 1 != 0 { place(latch) } else { 0 }),
            per_partition,
            first_partition: u64::from(PipeSet::ALL.0) & u64::MAX >> (LATCHES - per_partition),
            partitions,
            pipes: std::array::from_fn(|l| Pipe((l / partitions) as u8)),
            parts: std::array::from_fn(|l| (l % partitions) as u8),
            first_pipe: (1 << partitions) - 1,
            of_memory: ((1 << partitions) - 1) << (Pipe::MEM.index() * partitions),
            every_partition: (0..Pipe::COUNT).fold(0, |mask, p| mask | 1 << (p * partitions)),
        }
    }

    /// The latch of `pipe` in `partition`.
    #[inline]
    pub fn id(&self, pipe: Pipe, partition: usize) -> LatchId {
        (pipe.index() * self.partitions + partition) as LatchId
    }

    /// Latches that take no other instruction, in the order of `full`.
    #[inline]
    fn taken(&self) -> u64 {
        self.full | self.blocked | self.closed
    }

    /// Whether `latch` takes another instruction.
    #[inline]
    pub fn has_room(&self, latch: LatchId) -> bool {
        self.taken() & self.places[latch as usize % LATCHES] == 0
    }

    /// Pipes whose latch in `partition` takes another instruction.
    #[inline]
    pub fn open_pipes(&self, partition: usize) -> PipeSet {
        let full = self.taken() >> (partition * self.per_partition % LATCHES);
        PipeSet(!full as u16 & PipeSet::ALL.0)
    }

    /// The pipe of `latch`.
    #[inline]
    pub fn pipe(&self, latch: LatchId) -> Pipe {
        self.pipes[latch as usize % LATCHES]
    }

    /// The partition of `latch`.
    #[inline]
    pub fn partition(&self, latch: LatchId) -> usize {
        usize::from(self.parts[latch as usize % LATCHES]) % Self::PARTITIONS
    }

    /// Latches with an instruction, one bit each.
    #[inline]
    pub fn occupied(&self) -> u64 {
        self.occupied
    }

    /// Latches whose instruction waits for an execution unit, one bit each.
    #[inline]
    pub fn waiting_for_units(&self) -> u64 {
        self.occupied & !self.of_memory
    }

    /// Latches whose instruction waits for the memory stage, one bit each.
    #[inline]
    pub fn waiting_for_memory(&self) -> u64 {
        self.occupied & self.of_memory
    }

    /// Of `partition`, only the latches of `pipes` take no instruction from now on until the next call.
    #[inline]
    pub fn close(&mut self, partition: usize, pipes: PipeSet) {
        let at = partition * self.per_partition % LATCHES;
        self.closed &= !(self.first_partition << at);
        self.closed |= (self.first_partition & u64::from(pipes.0)) << at;
    }

    /// `latch` takes no instruction until it is [unblocked](Self::unblock), even if it has room.
    #[inline]
    pub fn block(&mut self, latch: LatchId) {
        self.blocked |= self.places[latch as usize % LATCHES];
    }

    /// `latch` takes instructions again, as far as it has room.
    #[inline]
    pub fn unblock(&mut self, latch: LatchId) {
        self.blocked &= !self.places[latch as usize % LATCHES];
    }

    /// Puts an instruction, which is at place `order` in the order of issue, behind those in `latch`,
    /// which must have room.
    #[inline]
    pub fn push(&mut self, latch: LatchId, id: InstId, order: u64) {
        debug_assert!(self.has_room(latch));
        let (l, bit) = (latch as usize % LATCHES, 1 << (latch & 63));
        if self.occupied & bit == 0 {
            self.front[l] = id;
            self.order[l] = order;
            self.occupied |= bit;
            self.full |= self.single_places[l];
        } else {
            self.push_behind(l, id, order);
        }
    }

    #[inline(never)]
    fn push_behind(&mut self, l: usize, id: InstId, order: u64) {
        let at = (self.first[l] as usize + self.len[l] as usize) & (self.stride - 1);
        self.behind[l * self.stride + at] = (id, order);
        self.len[l] += 1;
        if self.len[l] + 1 == self.capacity[l] {
            self.full |= self.places[l];
        }
    }

    /// The latch that holds the oldest instruction. `latches` must be occupied and not empty.
    #[inline]
    pub fn oldest(&self, latches: u64) -> LatchId {
        let first = latches.trailing_zeros() as usize % LATCHES;
        let older = |best: usize, l: usize| if self.order[l % LATCHES] < self.order[best] { l } else { best };
        set_bits(latches & (latches - 1)).fold(first, older) as LatchId
    }

    /// Whether `is_it` holds for an instruction in `latches` that issued before the oldest one in `latch`.
    #[inline(always)]
    pub fn any_before(&self, latch: LatchId, latches: u64, is_it: impl Fn(InstId) -> bool) -> bool {
        let order = self.order[latch as usize % LATCHES];
        // Those behind it in its own latch are younger.
        for l in set_bits(self.occupied & latches & !(1 << (latch & 63))) {
            let l = l % LATCHES;
            let behind = |i: u8| self.behind[l * self.stride + (usize::from(self.first[l] + i) & (self.stride - 1))];
            let (mut next, mut i) = ((self.front[l], self.order[l]), 0);
            // Oldest first.
            while next.1 < order {
                if is_it(next.0) {
                    return true;
                }
                if i == self.len[l] {
                    break;
                }
                (next, i) = (behind(i), i + 1);
            }
        }
        false
    }

    /// The oldest instruction in `latch`.
    #[inline]
    pub fn front(&self, latch: LatchId) -> Option<InstId> {
        let l = latch as usize % LATCHES;
        (self.occupied >> l & 1 != 0).then_some(self.front[l])
    }

    /// The place in the order of issue of the oldest instruction in `latch`.
    #[inline]
    pub fn order(&self, latch: LatchId) -> u64 {
        self.order[latch as usize % LATCHES]
    }

    /// The oldest instruction in `latch`, which is not empty.
    #[inline]
    pub fn oldest_in(&self, latch: LatchId) -> InstId {
        debug_assert!(self.occupied >> (latch & 63) & 1 != 0);
        self.front[latch as usize % LATCHES]
    }

    /// Takes the oldest instruction out of `latch`.
    #[inline]
    pub fn pop(&mut self, latch: LatchId) -> Option<InstId> {
        let id = self.front(latch)?;
        self.drop_oldest(latch);
        Some(id)
    }

    /// Takes the oldest instruction out of `latch`, which is not empty.
    #[inline]
    pub fn drop_oldest(&mut self, latch: LatchId) {
        let (l, bit) = (latch as usize % LATCHES, 1 << (latch & 63));
        self.full &= !self.places[l];
        if self.single & bit != 0 || self.len[l] == 0 {
            self.occupied &= !bit;
        } else {
            (self.front[l], self.order[l]) = self.behind[l * self.stride + self.first[l] as usize];
            self.first[l] = ((self.first[l] as usize + 1) & (self.stride - 1)) as u8;
            self.len[l] -= 1;
        }
    }

    /// All latches of a partition, one bit each.
    #[inline]
    pub fn of_partition(&self, partition: usize) -> u64 {
        self.every_partition << partition
    }

    /// All latches of the pipe of `latch`, one bit each.
    #[inline]
    pub fn of_same_pipe(&self, latch: LatchId) -> u64 {
        let first = latch - self.parts[latch as usize % LATCHES];
        self.first_pipe << (first & 63)
    }

    /// All latches of a pipe, one bit each.
    #[inline]
    pub fn of_pipe(&self, pipe: Pipe) -> u64 {
        self.first_pipe << (pipe.index() * self.partitions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::CoreOptions;
    use isa::Form;
    use std::collections::VecDeque;

    #[test]
    fn latches_are_queues_of_their_capacity() {
        let gpu = config::load("accel-sim/rtx2060s").expect("a built-in GPU");
        let spec = CoreSpec::new(&gpu, Form::Sass, CoreOptions::default()).expect("a sound GPU");
        for per_partition in [1, 2, 3, 5] {
            let mut latches = Latches::new(&spec, |_| per_partition * spec.partitions as u32);
            let latch = latches.id(Pipe::MEM, 2);
            let mut model = VecDeque::new();
            let mut state = 1u64;
            for n in 0..2000u16 {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                if state >> 63 == 0 && latches.has_room(latch) {
                    latches.push(latch, InstId(n), n.into());
                    model.push_back(InstId(n));
                } else {
                    assert_eq!(latches.pop(latch), model.pop_front());
                }
                assert_eq!(latches.front(latch), model.front().copied());
                assert_eq!(latches.has_room(latch), model.len() < per_partition as usize);
                assert_eq!(latches.occupied(), u64::from(!model.is_empty()) << latch);
            }
        }
    }
}
