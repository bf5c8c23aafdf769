//! Messages between an SM and the memory system.

use crate::Level;
use kit::{Cycle, Ring};

/// Kind of request to the L2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RequestKind {
    /// Data for L1 or, bypassing it, for a load.
    Read,
    /// Data to be written; replied to by an acknowledgement without data.
    Write,
    /// Dirty data that a write-back L1 gives up; never replied to.
    WriteBack,
    /// Read-modify-write at the L2; replied to with the old data.
    Atomic,
    /// Instruction cache miss.
    Instruction,
    /// Constant cache miss.
    Constant,
    /// Texture cache miss.
    Texture,
}

impl RequestKind {
    /// Whether data go to memory and none come back.
    pub const fn is_write(self) -> bool {
        matches!(self, Self::Write | Self::WriteBack)
    }
}

/// A request from an SM, and later its reply: at most one 128-byte line, whole sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub struct Request {
    /// Byte address of the first sector, a multiple of 32.
    pub address: u64,
    /// Bytes of data moved: to the L2 for writes and atomics, to the SM for reads and atomics.
    pub bytes: u32,
    pub kind: RequestKind,
    /// Whether the access is to local memory (for the statistics and for write policies).
    pub local: bool,
    /// Whether its data cross to the SM as one packet, instead of one for each sector.
    pub whole: bool,
    /// Bytes of the sector that a write covers: bit *i* is byte *i* of the sector. For several
    /// sectors, the bytes covered in every one of them.
    pub byte_mask: u32,
    /// A word of the requester's, returned with the reply.
    pub token: u32,
    /// Of a reply: the furthest level that any of its data came from. Of a request: the level that it has come to, at
    /// first L2.
    pub from: Level,
}

impl Request {
    /// A request of whole sectors in global memory, which comes to L2 first.
    #[inline]
    pub const fn new(kind: RequestKind, address: u64, bytes: u32, token: u32) -> Self {
        Self { address, bytes, kind, local: false, whole: false, byte_mask: u32::MAX, token, from: Level::L2 }
    }
}

/// The only thing an SM and the memory system share: time-stamped queues, one each way.
///
/// The SM pushes to `outbox` with the present cycle; what is there goes to the crossbar's input buffer
/// when SMs and memory system exchange messages, and leaves that when the crossbar moves the packet. Both
/// together *are* the input buffer, so the SM must keep them within
/// [`config::Interconnect::input_buffer_packets`] (see [`Port::has_room`]). Replies come
/// to `inbox` with the cycle from which the SM may take them, in order; the SM should take at most
/// one per cycle.
#[derive(Clone, Debug, Default)]
pub struct Port {
    /// Requests of the SM.
    pub outbox: Ring<(Cycle, Request)>,
    /// Earlier requests in the crossbar's input buffer, as of the last exchange.
    pub waiting: usize,
    /// How fast they leave it.
    pub drain: Drain,
    /// Replies to the SM.
    pub inbox: Ring<(Cycle, Request)>,
}

/// How fast packets leave a crossbar's input buffer, as the last exchanges have shown.
#[derive(Clone, Copy, Debug, Default)]
pub struct Drain {
    /// The crossbar has done the cycles before.
    upto: Cycle,
    /// Packets that it took in the last of them.
    packets: usize,
    /// How many cycles these were.
    cycles: Cycle,
}

impl Drain {
    /// The crossbar has done the cycles before `upto`, in which it took `packets`.
    pub(crate) fn note(&mut self, upto: Cycle, packets: usize) {
        if upto > self.upto {
            *self = Self { upto, packets, cycles: upto - self.upto };
        }
    }

    /// Packets that it is going to have taken by `now`, at the same rate.
    fn expected(&self, now: Cycle) -> usize {
        now.saturating_sub(self.upto) as usize * self.packets / self.cycles.max(1) as usize
    }
}

impl Port {
    /// Whether the crossbar's input buffer of `packets` packets has room for one more at `now`. While it
    /// is full, an SM assumes that it drains at the rate before the last exchange.
    #[inline]
    pub fn has_room(&self, packets: u32, now: Cycle) -> bool {
        let most = packets as usize;
        self.outbox.len() + self.waiting < most || self.will_have_room(most, now)
    }

    #[cold]
    fn will_have_room(&self, most: usize, now: Cycle) -> bool {
        self.outbox.len() + self.waiting.saturating_sub(self.drain.expected(now)) < most
    }

    /// The next reply, if the SM may see one at `now`.
    #[inline]
    pub fn answer(&self, now: Cycle) -> Option<&Request> {
        self.inbox.front().filter(|(from, _)| *from <= now).map(|(_, answer)| answer)
    }

    /// Takes it.
    #[inline]
    pub fn take_answer(&mut self, now: Cycle) -> Option<Request> {
        let answer = *self.answer(now)?;
        self.inbox.drop_front(1);
        Some(answer)
    }
}

kit::persist! {
    enum RequestKind {
        Read = 0, Write = 1, WriteBack = 2, Atomic = 3, Instruction = 4, Constant = 5, Texture = 6
    }
    new struct Request { address, bytes, kind, local, whole, byte_mask, token, from }
    struct Drain { upto, packets, cycles }
    struct Port { outbox, waiting, drain, inbox }
}
