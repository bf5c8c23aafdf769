//! CUDA's runtime API over the C interface of the driver API.
//!
//! ```text
//! program ──► cudaMalloc … (this crate) ──► cuMemAlloc … (`libcuda.so.1`, found by `dlopen`)
//!         └─► __cudaRegister… ──► registry: host function or variable ──► fat binary, name
//! ```
//!
//! The library uses the driver's public functions only, so a program may call both APIs. Modules
//! are loaded at the first use of one of their kernels or variables in a context.
//!
//! - `driver`: the driver's functions as a typed table, the only calls into it.
//! - `argument`: pointers, streams, devices as arguments, checked in one place.
//! - `api`: the macro that makes C functions of Rust ones: no panic leaves them, errors are kept.
//! - `context`: which device and context a host thread uses.
//! - `registry`: what the compiler's start-up code registers.
//! - One module for each family of functions.
//! - `versioned`: functions whose signature or structure differs between major versions. Each
//!   version's library exports them by [`runtime!`].
//!
//! Functions are exported by every library, also those that a version's headers lack.
#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "this crate is a boundary to C in both directions")]
#![allow(clippy::too_many_arguments, reason = "functions have the arguments of C's")]
#![allow(non_snake_case, reason = "functions have the names of their C declarations")]

mod api;
mod argument;
mod array;
mod batch;
mod context;
mod copy;
mod device;
mod driver;
mod error;
mod event;
mod fill;
mod function;
mod geometry;
mod graph;
mod graph_node;
mod launch;
mod library;
mod memory;
mod peer;
mod pool;
mod properties;
mod registration;
mod registry;
mod stream;
mod symbol;
mod texture;
mod texture_reference;
mod transfer;
mod unsupported;
pub mod versioned;

pub use driver::use_driver;
