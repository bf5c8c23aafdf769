//! The latches before (ID_OC) and behind (OC_EX) the operand collectors: for each pipe and
//! partition a short queue, oldest first.

use crate::inflight::InstId;
use crate::spec::{CoreSpec, Pipe};

/// A latch by number: pipe x partitions + partition, so that ascending order is service order.
pub type LatchId = u8;

/// Most latches: pipes x partitions.
const LATCHES: usize = 64;

/// One set of latches.
#[derive(Debug)]
pub struct Latches {
    /// `stride` places for each latch, used as a ring.
    slots: Box<[InstId]>,
    stride: usize,
    first: [u8; LATCHES],
    len: [u8; LATCHES],
    capacity: [u8; LATCHES],
    occupied: u64,
    full: u64,
    partitions: usize,
    /// The latches of partition 0.
    every_partition: u64,
}

impl Latches {
    /// Latches whose capacity per pipe, over all partitions, is `total`.
    pub fn new(spec: &CoreSpec, total: impl Fn(Pipe) -> u32) -> Self {
        let partitions = spec.partitions;
        let mut capacity = [0; LATCHES];
        let mut full = u64::MAX;
        for (latch, capacity) in capacity.iter_mut().enumerate().take(Pipe::COUNT * partitions) {
            *capacity = (total(Pipe((latch / partitions) as u8)) as usize / partitions) as u8;
            full &= !(u64::from(*capacity > 0) << latch);
        }
        let stride = usize::from(*capacity.iter().max().expect("there are latches")).next_power_of_two();
        Self {
            slots: vec![InstId(0); stride * LATCHES].into(),
            stride,
            first: [0; LATCHES],
            len: [0; LATCHES],
            capacity,
            occupied: 0,
            full,
            partitions,
            every_partition: (0..Pipe::COUNT).fold(0, |mask, p| mask | 1 << (p * partitions)),
        }
    }

    /// The latch of `pipe` in `partition`.
    #[inline]
    pub fn id(&self, pipe: Pipe, partition: usize) -> LatchId {
        (pipe.index() * self.partitions + partition) as LatchId
    }

    /// Whether `latch` takes another instruction.
    #[inline]
    pub fn has_room(&self, latch: LatchId) -> bool {
        self.full >> (latch & 63) & 1 == 0
    }

    /// Latches with an instruction, one bit each.
    #[inline]
    pub fn occupied(&self) -> u64 {
        self.occupied
    }

    /// Puts an instruction behind those in `latch`, which must have room.
    #[inline]
    pub fn push(&mut self, latch: LatchId, id: InstId) {
        let l = latch as usize % LATCHES;
        debug_assert!(self.has_room(latch));
        let at = (usize::from(self.first[l]) + usize::from(self.len[l])) & (self.stride - 1);
        self.slots[l * self.stride + at] = id;
        self.len[l] += 1;
        self.occupied |= 1 << l;
        self.full |= u64::from(self.len[l] == self.capacity[l]) << l;
    }

    /// The oldest instruction in `latch`.
    #[inline]
    pub fn front(&self, latch: LatchId) -> Option<InstId> {
        let l = latch as usize % LATCHES;
        (self.len[l] > 0).then(|| self.slots[l * self.stride + usize::from(self.first[l])])
    }

    /// Takes the oldest instruction out of `latch`.
    #[inline]
    pub fn pop(&mut self, latch: LatchId) -> Option<InstId> {
        let id = self.front(latch)?;
        let l = latch as usize % LATCHES;
        self.first[l] = ((usize::from(self.first[l]) + 1) & (self.stride - 1)) as u8;
        self.len[l] -= 1;
        self.occupied &= !(u64::from(self.len[l] == 0) << l);
        self.full &= !(1 << l);
        Some(id)
    }

    /// All latches of a partition, one bit each.
    #[inline]
    pub fn of_partition(&self, partition: usize) -> u64 {
        self.every_partition << partition
    }

    /// All latches of a pipe, one bit each.
    #[inline]
    pub fn of_pipe(&self, pipe: Pipe) -> u64 {
        ((1 << self.partitions) - 1) << (pipe.index() * self.partitions)
    }
}
