//! Timing of the memory hierarchy: coalescer, shared-memory banks, caches with MSHRs, crossbar,
//! L2 slices, DRAM channels.
//!
//! **Invariant:** no values and no SM state here; SMs meet the rest of the GPU only through
//! [`Port`]s, whose messages carry the cycle from which they may be seen.

mod port;

pub use port::{Port, Request, RequestKind};
