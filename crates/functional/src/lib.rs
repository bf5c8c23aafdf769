//! A core without a pipeline: each cycle some warps execute an instruction each, completely.
//!
//! For results: a program is run to its end, checked or recorded in a fraction of the host time that an SM takes.
//! Its cycles are turns of warps and no model of time. It has no hazards, caches or energy, and sends no requests
//! to the memory system.
//!
//! - In a cycle up to [`FunctionalConfig::width`] turns are taken, by the ready warps in round-robin order: with
//!   fewer ready warps than turns, a warp has several. A warp that spins cannot keep another from its turn.
//! - In a turn the stream executes the warp's next instruction, memory and atomics included. Nothing of it is under
//!   way afterwards, so fences and waits for asynchronous copies are complete at once.
//! - A warp is not ready while it waits at a CTA barrier or sleeps.
//! - CTAs are resident as on an SM: the limits are warp slots, registers, shared memory and CTA slots.
#![warn(missing_docs)]

mod core;
mod counters;

pub use crate::core::{FunctionalConfig, FunctionalCore, FunctionalKernel, FunctionalSpec};
pub use counters::FunctionalCounters;
