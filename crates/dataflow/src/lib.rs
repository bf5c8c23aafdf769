//! From a kernel to a configured dataflow fabric.
//!
//! A kernel becomes regions without loops and barriers, each a graph of operations, memory accesses and control
//! ([`graph`]).
//!
//! | module | content |
//! | --- | --- |
//! | [`graph`], [`mapping`] | what the compiler makes |
//! | `flow` | blocks, loops, regions |
//! | `groups` | registers as values, liveness, values that need no place in memory |
//! | `nodes` | a graph under construction |
//! | `order` | the order of memory accesses |
//! | `build` | from instructions to graphs |
//! | `refusal` | what cannot be mapped |
//! | [`evaluate`] | what graphs compute, without a fabric |
#![warn(missing_docs)]

mod build;
pub mod evaluate;
mod flow;
pub mod graph;
mod groups;
pub mod mapping;
mod nodes;
mod order;
mod refusal;

pub use build::dataflow;
pub use refusal::Refusal;
