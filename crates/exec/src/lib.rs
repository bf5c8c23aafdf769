//! Functional execution: what the instructions of a kernel do to registers and memory.
//!
//! **Invariant:** nothing here depends on time, caches or pipelines, except the cycle number that `clock`
//! reads.
#![warn(missing_docs)]
#![allow(clippy::needless_range_loop, reason = "a loop over lanes indexes several columns")]

pub mod access;
pub mod arrival;
pub mod atomic;
pub mod bulk;
mod calls;
pub mod check;
pub mod cluster;
pub mod compare;
pub mod convergence;
pub mod convert;
mod copy_engine;
mod cta;
mod fault;
pub mod float;
pub mod function;
pub mod functional;
mod heap;
pub mod image;
pub mod int;
mod interpret;
pub mod kernel;
pub mod lanes;
mod launch;
mod machine;
pub mod machine_code;
pub mod matrix;
pub mod mbarrier;
pub mod memory;
pub mod op;
pub mod operand;
mod print;
mod probe;
mod runtime;
mod screen;
pub mod shuffle;
pub mod simt;
pub mod single;
pub mod special;
mod spot;
mod state;
pub mod steer;
mod stream;
mod surroundings;
pub mod system_shared;
pub mod tensor;
pub mod tensor_copy;
pub mod tensor_map;
mod turn;
mod update;
mod uses;
pub mod video;
mod warp;

pub use functional::{FunctionalStats, Observer, Round, run, run_ctas, run_observed};
pub use heap::DEFAULT_HEAP_BYTES;
pub use image::{ImageError, ImageReference};
pub use kernel::{
    Kernel, LoadedModule, LoadedVariable, Param, RegisterAllocation, RegisterCount, is_named, plain_name,
};
pub use launch::{Arg, Launch, LaunchError};
pub use memory::{DeviceMemory, MemoryError, OutOfBounds};
pub use probe::decisive_races;
pub use screen::run_screened;
pub use spot::spot;
pub use state::{DeviceState, GpuFacts, Undo};
pub use stream::LiveStream;
pub use uses::{operands_mut, uses};
