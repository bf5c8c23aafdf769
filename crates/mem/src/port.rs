//! Messages between an SM and the memory system.

use kit::Cycle;
use std::collections::VecDeque;

/// What a request asks of the L2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RequestKind {
    /// Data for L1 or, bypassing it, for a load.
    Read,
    /// Data to be written; answered by an acknowledgement without data.
    Write,
    /// Read-modify-write at the L2; answered with the old data.
    Atomic,
    /// Instruction cache miss.
    Instruction,
    /// Constant cache miss.
    Constant,
    /// Texture cache miss.
    Texture,
}

/// A request from an SM, and later its answer: at most one 128-byte line, whole sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Byte address of the first sector, a multiple of 32.
    pub address: u64,
    /// Bytes of data moved: to the L2 for writes and atomics, to the SM for reads and atomics.
    pub bytes: u32,
    /// What is asked.
    pub kind: RequestKind,
    /// Whether the access is to local memory (for the statistics and for write policies).
    pub local: bool,
    /// Bytes of the sector that a write covers: bit *i* is byte *i* of the sector.
    pub byte_mask: u32,
    /// The requester's own word, given back with the answer.
    pub token: u32,
}

/// The only thing an SM and the memory system share: time-stamped queues, one each way.
///
/// The SM pushes to `outbox` with the present cycle; the memory system takes from its front when
/// the crossbar input has room. Answers come to `inbox` with the cycle from which the SM may take
/// them, in order.
#[derive(Clone, Debug, Default)]
pub struct Port {
    /// From the SM.
    pub outbox: VecDeque<(Cycle, Request)>,
    /// To the SM.
    pub inbox: VecDeque<(Cycle, Request)>,
}
