//! Timing of the memory hierarchy: coalescer, shared-memory banks, caches with MSHRs, crossbar,
//! L2 slices, DRAM channels.
//!
//! **Invariant:** no values and no SM state here; SMs meet the rest of the GPU only through
//! [`Port`]s, whose messages carry the cycle from which they may be seen.

#![warn(missing_docs)]

pub mod cache;
pub mod carveout;
pub mod coalesce;
mod ipoly;
mod port;
pub mod shared_banks;
#[cfg(test)]
mod testing;

pub use cache::Cache;
pub use port::{Port, Request, RequestKind};
