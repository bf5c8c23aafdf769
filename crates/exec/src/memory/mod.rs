//! The memory that kernels load from and store to.
//!
//! | space | kept as | address within the space |
//! | --- | --- | --- |
//! | global, const | [`DeviceMemory`]: allocations of sparse pages | the generic address |
//! | shared | `SharedMemory`: words of one CTA | offset from the CTA's first byte |
//! | local | `LocalMemory`: one column per word | offset from the thread's first byte |
//! | param | the launch's parameter bytes | offset from the first parameter |
//!
//! Shared, local and param memory are three fixed windows of the generic address space; other generic
//! addresses are global.

mod device;
mod heap;
mod holes;
mod local;
mod overlay;
mod pages;
mod reader;
mod reduction;
mod shared;
mod stray;
mod view;

pub(crate) use device::Window;
pub use device::{DeviceMemory, Fill, MemoryError};
pub(crate) use holes::Holes;
pub(crate) use local::LocalMemory;
pub(crate) use overlay::{Overlay, Unreduced};
pub use pages::DeviceAllocation;
pub(crate) use reader::Reader;
pub(crate) use reduction::{Reduction, modify_at, modify_device, modify_words};
pub(crate) use shared::SharedMemory;
pub use stray::OutOfBounds;
pub(crate) use view::{Own, View};

use isa::Space;

/// Size of the local and param windows, and of what one CTA has of the shared window.
pub const WINDOW_BYTES: u64 = 16 << 20;
/// Distance between windows. It makes the lower half of a generic address the address within the space: code
/// of sm_90 combines it with the upper half of the shared window.
const WINDOW_DISTANCE: u64 = 1 << 32;
/// Generic address of the first byte of shared memory.
pub const SHARED_WINDOW: u64 = WINDOW_DISTANCE;
/// Generic address of the first byte of local memory.
pub const LOCAL_WINDOW: u64 = 2 * WINDOW_DISTANCE;
/// Generic address of the first kernel parameter.
pub const PARAM_WINDOW: u64 = 3 * WINDOW_DISTANCE;
/// Size of the shared window: shared memory of all CTAs of a cluster ([`crate::cluster`]).
const SHARED_WINDOW_BYTES: u64 = WINDOW_DISTANCE;
/// Upper bound of all windows.
pub(crate) const WINDOWS_END: u64 = 4 * WINDOW_DISTANCE;

/// Maximum local memory of a thread, frames of calls included: 512 KiB, as on sm_20 and later (CUDA C++
/// Programming Guide, table of compute capabilities).
pub const MAX_LOCAL_BYTES: u32 = 512 << 10;

/// The space that a generic address is in.
#[inline(always)]
pub const fn generic_space(address: u64) -> Space {
    const SHARED: u64 = SHARED_WINDOW / WINDOW_BYTES;
    const SHARED_END: u64 = SHARED + SHARED_WINDOW_BYTES / WINDOW_BYTES - 1;
    const LOCAL: u64 = LOCAL_WINDOW / WINDOW_BYTES;
    const PARAM: u64 = PARAM_WINDOW / WINDOW_BYTES;
    match address / WINDOW_BYTES {
        SHARED..=SHARED_END => Space::Shared,
        LOCAL => Space::Local,
        PARAM => Space::Param,
        _ => Space::Global,
    }
}

/// Generic address of offset 0 of `space`.
pub const fn window_base(space: Space) -> u64 {
    match space {
        Space::Shared => SHARED_WINDOW,
        Space::Local => LOCAL_WINDOW,
        Space::Param => PARAM_WINDOW,
        Space::Global | Space::Constant | Space::Generic | Space::Texture => 0,
    }
}
