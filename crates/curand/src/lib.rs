//! cuRAND's host interface over the C interface of the driver API, with kernels of our own (`standins`).
//!
//! ```text
//! program ──► curandGenerateUniform … (api) ──► Generator ──► cuLaunchKernel … (`cabi::stand_in`)
//!                                                   └──► the same numbers on the host (`host`)
//! ```
//!
//! - `status`: results of the API's functions.
//! - `engine`: generators: their first states, and the next word of a state.
//! - `sobol`: direction numbers.
//! - `draw`: calls that draw, the argument of kernels.
//! - `generator`: the generator of a `curandGenerator_t`; draws on the device.
//! - `host`: draws on the host.
//! - `api`: the functions.
#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "this crate is a boundary to C in both directions")]
#![allow(non_snake_case, reason = "functions have the names of their C declarations")]

mod api;
mod draw;
mod engine;
mod generator;
mod host;
mod sobol;
mod status;

pub use api::VERSION;
