//! From a kernel to a configured dataflow fabric.
//!
//! A kernel becomes regions without loops and barriers, each a graph of operations, memory accesses and control
//! ([`graph`]).

pub mod graph;
pub mod mapping;
