//! Kernels of the libraries that stand in for NVIDIA's, and the choice among them: data and tables only.
//!
//! `tools/rebuild-standins` compiles `kernels/*.cu`. The page docs/standins.md describes the kernels.
#![warn(missing_docs)]

pub mod gemm;

/// The fat binary of `kernels/NAME.cu`.
#[must_use]
pub fn image(name: &str) -> Option<&'static [u8]> {
    match name {
        "blas" => Some(include_bytes!("../kernels/blas.fatbin")),
        "gemm" => Some(include_bytes!("../kernels/gemm.fatbin")),
        _ => None,
    }
}
