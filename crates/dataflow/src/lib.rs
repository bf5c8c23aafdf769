//! From a kernel to a configured dataflow fabric.
//!
//! A kernel becomes regions without loops and barriers, each a graph of operations, memory accesses and control
//! ([`graph`]). A region that needs more units than the [`fabric`] has is cut ([`partition`]); delays make its paths
//! equally long ([`balance`]); then its nodes get units ([`place`]) and their results links ([`route`]).
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
//! | [`fabric`] | units, switches, links |
//! | [`resources`] | which units a region needs |
//! | [`width`] | bits of the values that tokens carry |
//! | [`partition`], [`balance`], [`place`], [`route`], [`configuration`] | the steps from a graph to its units and links |
//! | [`map`] | all of them for a kernel |
//! | [`text`], [`svg`] | graphs as text and as drawings |
#![warn(missing_docs)]

pub mod balance;
mod build;
mod compile;
pub mod configuration;
mod draft;
pub mod evaluate;
pub mod fabric;
mod flow;
pub mod graph;
mod groups;
pub mod map;
pub mod mapping;

mod order;
pub mod partition;
mod passes;
pub mod place;
mod refusal;
pub mod resources;
pub mod route;
pub mod svg;
pub mod text;
mod truth;
pub mod uniforms;
pub mod width;

pub use compile::{dataflow, watched};
pub use refusal::Refusal;
