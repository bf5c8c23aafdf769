//! Packets in flight, by number.

use crate::Request;
use kit::Cycle;

/// A request on its way through the memory system.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    pub request: Request,
    /// The SM that asked.
    pub sm: u16,
    /// Sectors (parts) that have not come back yet.
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

/// All packets in flight. Grows to the most that were ever in flight at once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Packets {
    entries: Vec<Packet>,
    free: Vec<PacketId>,
}

impl Packets {
    pub fn insert(&mut self, packet: Packet) -> PacketId {
        match self.free.pop() {
            Some(id) => {
                self.entries[id as usize] = packet;
                id
            }
            None => {
                self.entries.push(packet);
                self.entries.len() as PacketId - 1
            }
        }
    }

    pub fn remove(&mut self, id: PacketId) {
        self.free.push(id);
    }

    pub fn in_flight(&self) -> usize {
        self.entries.len() - self.free.len()
    }
}

impl std::ops::Index<PacketId> for Packets {
    type Output = Packet;
    fn index(&self, id: PacketId) -> &Packet {
        &self.entries[id as usize]
    }
}

impl std::ops::IndexMut<PacketId> for Packets {
    fn index_mut(&mut self, id: PacketId) -> &mut Packet {
        &mut self.entries[id as usize]
    }
}
