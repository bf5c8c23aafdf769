//! Lowering: from PTX and machine code to kernels that [`exec`] executes and the timing model times.
//!
//! | module | content |
//! | --- | --- |
//! | `ptx` | the syntax tree of PTX to operations |
//! | `listing` | lowered instructions of PTX before they are described |
//! | `registers` | register allocation |
//! | `sass` | machine code to operations |
//! | `cfg`, `divergence` | control-flow graphs; registers that a part of a warp may write |
//! | `loaded` | options, results and errors of loading |
#![warn(missing_docs)]

mod access;
mod cfg;
mod divergence;
mod inlined;
mod listing;
mod loaded;
mod ptx;
mod registers;
mod sass;

pub use crate::ptx::{NEWEST_GPU, load, load_parsed};
#[doc(hidden)]
pub use crate::sass::load_words;
pub use crate::sass::{load_binary, load_cubin};
pub use loaded::{DEFAULT_STACK_BYTES, KernelError, LoadError, Loaded, LowerOptions, Rejected};
pub use registers::{RegisterLimits, Registers};
