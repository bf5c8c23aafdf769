//! Loads and stores as operands of operations, and the memory that they access.

use crate::cluster::{ClusterPlace, Clusters};
use crate::lanes::Reg;
use crate::memory::{LocalMemory, SharedMemory, View};
use isa::Space;

/// An address operand: `[register + offset]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    /// Register or constant that holds the base.
    pub base: Reg,
    /// The base has two columns.
    pub wide: bool,
    /// The address is relative to the frame of the executing function (local variables and parameters).
    pub frame: bool,
    /// In bytes.
    pub offset: i64,
}

/// The elements that a load or store moves per lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Format {
    /// Bytes of an element: 1, 2, 4 or 8.
    pub bytes: u8,
    /// Elements: 1, 2 or 4.
    pub count: u8,
    /// Elements narrower than the register are sign-extended.
    pub signed: bool,
    /// Bits of each register: 16, 32 or 64.
    pub register_bits: u8,
}

impl Format {
    /// Bytes that each lane moves.
    pub const fn total_bytes(self) -> u8 {
        self.bytes * self.count
    }

    /// Columns of each register.
    pub const fn columns(self) -> u8 {
        if self.register_bits == 64 { 2 } else { 1 }
    }
}

/// A load or a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Transfer {
    pub space: Space,
    pub format: Format,
    pub address: Address,
    /// Registers that are loaded or stored: one per element of the format.
    pub registers: [Reg; 4],
}

/// All memory that the executing warp can access.
pub(crate) struct Spaces<'a, 'm> {
    pub device: &'a mut View<'m>,
    pub shared: &'a mut SharedMemory,
    pub local: &'a mut LocalMemory,
    /// Parameters of the launch, in words.
    pub params: &'a [u32],
    /// Offset of the current function's frame in local memory.
    pub frame: u32,
    /// The CTA's place in its cluster, if clusters have any effect.
    pub cluster: Option<ClusterPlace>,
    /// Shared memory of the other CTAs, if the warp has the device for itself.
    pub peers: Option<&'a mut Clusters>,
}
