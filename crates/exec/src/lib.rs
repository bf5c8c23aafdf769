//! Functional execution: what the instructions of a kernel do to registers and memory.
//!
//! **Invariant:** nothing here knows of time, caches or pipelines, save the cycle number that
//! `clock` reads.
#![warn(missing_docs)]
#![allow(clippy::needless_range_loop, reason = "a loop over lanes indexes several columns")]

pub mod access;
pub mod atomic;
mod calls;
pub mod cfg;
pub mod compare;
pub mod convergence;
pub mod convert;
mod divergence;
mod fault;
pub mod float;
pub mod functional;
pub mod image;
pub mod int;
mod interpret;
pub mod kernel;
pub mod lanes;
mod launch;
mod lower;
pub mod machine;
pub mod matrix;
pub mod memory;
pub mod op;
mod print;
mod registers;
mod sass;
pub mod shuffle;
pub mod simt;
pub mod special;
mod state;
mod stream;
pub mod tensor;
pub mod video;
mod warp;

pub use functional::{FunctionalStats, run, run_observed};
pub use image::ImageError;
pub use kernel::{Kernel, Module, Param, RegisterCount, Variable, plain_name};
pub use launch::{Arg, Launch, LaunchError};
pub use lower::{KernelError, LoadError, Loaded, LowerOptions, Rejected, load};
pub use memory::{DeviceMemory, MemoryError};
pub use registers::{Allocation, RegisterLimits, Registers};
#[doc(hidden)]
pub use sass::load_words;
pub use sass::{load_binary, load_cubin};
pub use state::{DeviceState, GpuFacts};
pub use stream::LiveStream;
