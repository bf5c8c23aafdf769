//! The command queue of an SM's tensor cores: matrix operations of warp groups from issue to their end.
//!
//! An operation is in it four times, once for each of its warps; a sub-core counts its own. While its part is full, the
//! issue latch of the unit takes nothing.

use crate::execute::latches::{LatchId, Latches};
use crate::spec::{CoreSpec, Pipe};
use isa::OpClass;

/// Operations under way, by partition.
#[derive(Debug)]
pub(crate) struct Commands {
    under_way: [u16; Self::PARTITIONS],
    /// Most of them in a partition.
    most: u16,
    /// The pipe of their unit.
    pipe: Pipe,
    /// Partitions that have had room again since they were last [taken](Self::take_freed), one bit each.
    freed: u8,
}

impl Commands {
    const PARTITIONS: usize = 8;
    /// Warps of a group.
    const WARPS: usize = 4;

    /// The empty queue of an SM of `spec`.
    pub fn new(spec: &CoreSpec) -> Self {
        let warps = (Self::WARPS / spec.partitions).max(1) as u32;
        Self {
            under_way: [0; Self::PARTITIONS],
            most: (warps * spec.sm.matrix_groups.queue_entries()) as u16,
            pipe: Pipe::of(spec.timing.of(OpClass::Tensor).unit),
            freed: 0,
        }
    }

    /// Operations of a partition, at most.
    pub fn most(&self) -> usize {
        self.most.into()
    }

    /// An operation of `partition` issues; if it is the last that has room, its latch among `id_oc` is closed.
    pub fn issue(&mut self, partition: usize, id_oc: &mut Latches) {
        let under_way = &mut self.under_way[partition % Self::PARTITIONS];
        *under_way += 1;
        if *under_way == self.most {
            id_oc.block(id_oc.id(self.pipe, partition));
        }
    }

    /// An operation of `partition` has ended.
    pub fn end(&mut self, partition: usize) {
        let under_way = &mut self.under_way[partition % Self::PARTITIONS];
        self.freed |= u8::from(*under_way == self.most) << (partition % Self::PARTITIONS);
        *under_way -= 1;
    }

    /// Whether operations of `partition` wait for room.
    #[inline]
    pub fn is_full(&self, partition: usize) -> bool {
        self.under_way[partition % Self::PARTITIONS] == self.most
    }

    /// The pipe of their unit.
    #[inline]
    pub fn pipe(&self) -> Pipe {
        self.pipe
    }

    /// Whether any partition has room again.
    #[inline]
    pub fn has_freed(&self) -> bool {
        self.freed != 0
    }

    /// Opens the latches among `id_oc` of partitions that have room again. Returns these, one bit each.
    pub fn take_freed(&mut self, id_oc: &mut Latches) -> u8 {
        for partition in kit::bits::set_bits(self.freed.into()) {
            let latch: LatchId = id_oc.id(self.pipe, partition);
            id_oc.unblock(latch);
        }
        std::mem::take(&mut self.freed)
    }
}
