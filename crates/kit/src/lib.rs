//! Small parts that every layer uses.
//!
//! Nothing here depends on a GPU, except that it has lanes and cycles.
#![warn(missing_docs)]

pub mod bits;
pub mod counters;
pub mod files;
pub mod ids;
pub mod locks;
pub mod output;
pub mod parameters;
pub mod persist;
pub mod ring;
pub mod slab;
pub mod stop;
pub mod suggest;
pub mod text;
pub mod zstd;

pub use bits::{BitSet, LaneMask, WARP_LANES, lanes};
pub use counters::{ByKind, CounterGroup, CounterInfo, Counters};
pub use parameters::Parameters;
pub use ring::Ring;
pub use slab::Slab;

/// A point in time, in cycles of the SM (core) clock since the start of the simulation.
pub type Cycle = u64;

/// A cycle after all others: "no event is pending".
pub const NEVER: Cycle = Cycle::MAX;
