//! cuSPARSE's products and conversions over the C interface of the driver API, with kernels of our own (`standins`).
//!
//! ```text
//! program ──► cusparseSpMM … (product, convert) ──► Problem ──► cuLaunchKernel … (`cabi::stand_in`)
//!                  └── descriptors of matrices and vectors (descriptor)
//! ```
//!
//! - `status`: results of the API's functions.
//! - `handle`: handles and their settings, versions.
//! - `descriptor`: matrices and vectors of the generic interface, and `cusparseMatDescr_t`.
//! - `problem`: the argument of kernels, and their launches.
//! - `product`: SpMV and SpMM. `sampled`: SDDMM. `sparse_product`: SpGEMM.
//! - `triangle`: SpSV and SpSM.
//! - `vectors`: sparse vectors with dense ones.
//! - `convert`: between formats, and between sparse and dense.
//! - `sort`: entries in order.
//! - `sum`: sums of two sparse matrices.
//! - `unsupported`: functions that say that they are not.
//!
//! A version's library is made by [`library!`].
#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "this crate is a boundary to C in both directions")]
#![allow(non_snake_case, reason = "functions have the names of their C declarations")]
#![allow(clippy::too_many_arguments, reason = "functions have the arguments of C's")]

mod convert;
mod descriptor;
mod handle;
mod problem;
mod product;
mod sampled;
mod sort;
mod sparse_product;
mod status;
mod sum;
mod triangle;
mod unsupported;
mod vectors;

pub use handle::set_version;

/// Makes a library of a version, as `cusparseGetVersion` gives it.
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
