//! cuBLAS and cuBLASLt over the C interface of the driver API, with kernels of our own (`standins`).
//!
//! ```text
//! program ──► cublasSgemm … (this crate) ──► cuLaunchKernel … (`libcuda.so.1`, found by `dlopen`)
//!                                       └──► warpwrightStandIn: the driver has the kernels
//! ```
//!
//! - `status`: results of the API's functions, and the error of each body.
//! - `driver`: the driver's functions as a typed table.
//! - `element`: types of elements, scalars, and how matrices are stored.
//! - `handle`: what a `cublasHandle_t` stands for.
//! - `kernel`: launches of the kernels.
//! - `api`: the macro that makes C functions of Rust ones, with 32-bit and with 64-bit sizes.
//! - `management`, `level1`, `level2`, `level3`, `product`, `solver`: the functions, by family.
//! - `lt`: cuBLASLt.
//! - `unsupported`: functions that say that they are not.
//!
//! Functions are exported by every library, also those that a version's headers lack. A version's library is made by
//! [`library!`].
#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "this crate is a boundary to C in both directions")]
#![allow(clippy::too_many_arguments, reason = "functions have the arguments of C's")]
#![allow(non_snake_case, reason = "functions have the names of their C declarations")]

mod api;
mod driver;
mod element;
mod handle;
mod kernel;
mod level1;
mod level2;
mod level3;
mod lt;
mod management;
mod product;
mod solver;
mod status;
mod unsupported;

pub use management::set_version;

/// Makes a library: of cuBLAS or cuBLASLt of a version, as `cublasGetVersion` gives it.
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
