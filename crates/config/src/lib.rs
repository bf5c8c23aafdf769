//! GPU descriptions: data files whose numbers carry their source, checked when loaded.
//!
//! **Invariant:** a [`GpuConfig`] that exists is consistent; the simulator checks nothing again.
#![warn(missing_docs)]

pub mod model;

pub use model::*;
