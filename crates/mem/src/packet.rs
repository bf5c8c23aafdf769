//! Packets in flight, by number.

use crate::Request;
use kit::Cycle;

/// A request in the memory system.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    pub request: Request,
    /// The SM that sent the request.
    pub sm: u16,
    /// Parts without a reply so far: sectors, or lines where the L2 fetches whole ones.
    pub parts_left: u8,
    /// Cycle of the request.
    pub since: Cycle,
}

/// A packet that comes to a slice's latency path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivery {
    /// The L2 cycle, [`NEVER`](kit::NEVER) while it is not known.
    pub at: u64,
    pub packet: Packet,
}

/// A part of a packet on its way to the reply crossbar.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reply {
    /// The crossbar cycle from which it is in the crossbar's input buffer.
    pub from: u64,
    pub part: Part,
    /// The packet's SM.
    pub sm: u16,
}

/// Number of a packet.
pub(crate) type PacketId = u32;

/// One sector's part of a packet: the packet's number and the sector's within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part(pub u32);

impl Part {
    pub const fn new(packet: PacketId, part: u32) -> Self {
        Self(packet << 2 | part)
    }

    pub const fn packet(self) -> PacketId {
        self.0 >> 2
    }

    pub const fn number(self) -> u32 {
        self.0 & 3
    }
}

/// The packets of a partition.
pub(crate) type Packets = kit::Slab<Packet>;

kit::persist! {
    new struct Packet { request, sm, parts_left, since }
    new struct Delivery { at, packet }
    new struct Reply { from, part, sm }
    new id Part;
}
