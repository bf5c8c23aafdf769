//! Packets in flight, by number.

use crate::Request;
use kit::Cycle;

/// A request in the memory system.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    pub request: Request,
    /// The SM that sent the request.
    pub sm: u16,
    /// Sectors (parts) without a reply so far.
    pub parts_left: u8,
    /// Cycle of the request.
    pub since: Cycle,
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

/// All packets in flight.
pub(crate) type Packets = kit::Slab<Packet>;

kit::persist! {
    new struct Packet { request, sm, parts_left, since }
    new id Part;
}
