//! cuFFT over the C interface of the driver API, with kernels of our own (`standins`).
//!
//! ```text
//! program ──► cufftExecC2C … (api) ──► Plan ──► a pass along each dimension ──► cuLaunchKernel … (`cabi::stand_in`)
//! ```
//!
//! - `status`: results of the API's functions.
//! - `table`: factors that kernels multiply by.
//! - `pass`: transforms of all lines along a dimension, in one launch or several.
//! - `plan`: the plan of a `cufftHandle`.
//! - `api`: the functions.
//!
//! A version's library is made by [`library!`].
#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "this crate is a boundary to C in both directions")]
#![allow(non_snake_case, reason = "functions have the names of their C declarations")]
#![allow(clippy::too_many_arguments, reason = "functions have the arguments of C's")]

mod api;
mod pass;
mod plan;
mod status;
mod table;

pub use api::set_version;

/// Makes a library of a version, as `cufftGetVersion` gives it.
#[macro_export]
macro_rules! library {
    ($version:literal) => {
        /// Called by the loader.
        #[used]
        #[unsafe(link_section = ".init_array")]
        static AT_LOAD: extern "C" fn() = {
            extern "C" fn at_load() {
                $crate::set_version($version)
            }
            at_load
        };
    };
}
