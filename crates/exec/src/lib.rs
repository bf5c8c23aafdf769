//! Functional execution: what the instructions of a kernel do to registers and memory.
//!
//! **Invariant:** nothing here knows of time, caches or pipelines, save the cycle number that
//! `clock` reads.
#![warn(missing_docs)]

mod access;
mod atomic;
mod calls;
pub mod cfg;
mod compare;
mod convert;
mod fault;
mod float;
pub mod functional;
mod int;
mod interpret;
mod kernel;
mod lanes;
mod launch;
pub mod matrix;
pub mod memory;
pub mod op;
mod print;
mod shuffle;
pub mod simt;
mod special;
mod state;
mod stream;
mod tensor;
mod warp;

pub use functional::{FunctionalStats, run};
pub use kernel::{Kernel, Module, Param, RegisterCount, Variable, plain_name};
pub use launch::{Arg, Launch, LaunchError};
pub use memory::{DeviceMemory, MemoryError};
pub use state::{DeviceState, GpuFacts};
pub use stream::LiveStream;
