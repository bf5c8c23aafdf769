//! From a kernel to a configured dataflow fabric.
//!
//! A kernel becomes regions without loops and barriers, each a graph of operations, memory accesses and control
//! ([`graph`]). A region that needs more units than the [`fabric`] has is cut ([`partition`]); delays make its paths
//! equally long ([`balance`]); then its nodes get units ([`place`]) and their results links ([`route`]).

pub mod balance;
mod configuration;
pub mod fabric;
pub mod graph;
pub mod map;
pub mod mapping;
pub mod partition;
pub mod place;
pub mod resources;
pub mod route;
pub mod svg;
pub mod text;
