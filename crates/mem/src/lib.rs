//! Timing of the memory hierarchy: coalescer, shared-memory banks, caches with MSHRs, crossbar,
//! L2 slices, DRAM channels.
//!
//! **Invariant:** no values and no SM state here; SMs meet the rest of the GPU only through
//! [`Port`]s, whose messages carry the cycle from which they may be seen.

#![warn(missing_docs)]

pub mod cache;
pub mod carveout;
mod clock;
pub mod coalesce;
mod crossbar;
pub mod dram;
mod ipoly;
mod partition;
mod port;
pub mod shared_banks;
mod slab;
mod system;
#[cfg(test)]
mod testing;

pub use cache::{Cache, CacheCounters};
pub use crossbar::CrossbarCounters;
pub use dram::DramCounters;
pub use partition::PartitionCounters;
pub use port::{Port, Request, RequestKind};
pub use system::{AnswerCounters, MemoryCounters, MemorySystem};
