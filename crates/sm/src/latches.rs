//! The latches before (ID_OC) and behind (OC_EX) the operand collectors: for each pipe and
//! partition a short queue, oldest first.

use crate::inflight::InstId;
use crate::spec::{CoreSpec, Pipe};
use std::collections::VecDeque;

/// A latch by number: pipe x partitions + partition, so that ascending order is service order.
pub type LatchId = u8;

/// One set of latches.
#[derive(Debug)]
pub struct Latches {
    queues: Box<[VecDeque<InstId>]>,
    capacity: Box<[usize]>,
    occupied: u64,
    full: u64,
    partitions: usize,
}

impl Latches {
    /// Latches whose capacity per pipe, over all partitions, is `total`.
    pub fn new(spec: &CoreSpec, total: impl Fn(Pipe) -> u32) -> Self {
        let partitions = spec.partitions;
        let capacity: Box<[usize]> =
            (0..Pipe::COUNT * partitions).map(|i| total(Pipe((i / partitions) as u8)) as usize / partitions).collect();
        let full = capacity.iter().enumerate().filter(|(_, c)| **c == 0).fold(0, |full, (i, _)| full | 1 << i);
        let queues = capacity.iter().map(|&c| VecDeque::with_capacity(c)).collect();
        Self { queues, capacity, occupied: 0, full, partitions }
    }

    /// The latch of `pipe` in `partition`.
    #[inline]
    pub fn id(&self, pipe: Pipe, partition: usize) -> LatchId {
        (pipe.index() * self.partitions + partition) as LatchId
    }

    /// Whether `latch` takes another instruction.
    #[inline]
    pub fn has_room(&self, latch: LatchId) -> bool {
        self.full >> latch & 1 == 0
    }

    /// Latches with an instruction, one bit each.
    #[inline]
    pub fn occupied(&self) -> u64 {
        self.occupied
    }

    /// Puts an instruction behind those in `latch`, which must have room.
    #[inline]
    pub fn push(&mut self, latch: LatchId, id: InstId) {
        let queue = &mut self.queues[latch as usize];
        debug_assert!(self.full >> latch & 1 == 0);
        queue.push_back(id);
        self.occupied |= 1 << latch;
        if queue.len() == self.capacity[latch as usize] {
            self.full |= 1 << latch;
        }
    }

    /// The oldest instruction in `latch`.
    #[inline]
    pub fn front(&self, latch: LatchId) -> Option<InstId> {
        self.queues[latch as usize].front().copied()
    }

    /// Takes the oldest instruction out of `latch`.
    #[inline]
    pub fn pop(&mut self, latch: LatchId) -> Option<InstId> {
        let queue = &mut self.queues[latch as usize];
        let id = queue.pop_front();
        if queue.is_empty() {
            self.occupied &= !(1 << latch);
        }
        if self.capacity[latch as usize] > 0 {
            self.full &= !(1 << latch);
        }
        id
    }

    /// All latches of a pipe, one bit each.
    #[inline]
    pub fn of_pipe(&self, pipe: Pipe) -> u64 {
        ((1 << self.partitions) - 1) << (pipe.index() * self.partitions)
    }
}
