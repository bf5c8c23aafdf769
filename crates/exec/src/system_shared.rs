//! The part of a CTA's shared memory that is the system's: PTX's `%reserved_smem_offset_…`, from sm_80 on. Cooperative
//! groups keep there what tiles of several warps exchange.
//!
//! Machine code of sm_90 has it at address 0, and the kernel's own memory after it. For sm_80 to sm_89 the driver says where
//! it is. Here it is behind the kernel's own memory, and only if the kernel asks for it, so that accesses past the end
//! remain errors.

use std::ops::Range;

/// Bytes that it has.
const BYTES: u32 = 1024;
/// Its alignment.
const ALIGNMENT: u32 = 16;
/// Where the scratch of cooperative groups is in it (`%reserved_smem_offset_1`): a guess.
const GROUPS: u32 = 512;

/// Place of the system's part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SystemShared {
    /// There is none.
    #[default]
    None,
    /// Before the kernel's own memory.
    Before,
    /// Behind it.
    Behind,
}

impl SystemShared {
    /// The addresses beside `own` bytes of the kernel.
    pub(crate) fn range(self, own: u32) -> Range<u32> {
        let start = match self {
            Self::None => return 0..0,
            Self::Before => 0,
            Self::Behind => own.next_multiple_of(ALIGNMENT),
        };
        start..start + BYTES
    }

    /// Bytes of both parts.
    pub(crate) fn with(self, own: u32) -> u32 {
        match self {
            Self::None => own,
            Self::Before => own + BYTES,
            Self::Behind => self.range(own).end,
        }
    }

    /// Address of the scratch of cooperative groups.
    pub(crate) fn groups(self, own: u32) -> u32 {
        self.range(own).start + GROUPS
    }
}
