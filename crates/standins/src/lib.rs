//! Kernels of the libraries that stand in for NVIDIA's, and the choice among them: data and tables only.
//!
//! `tools/rebuild-standins` compiles `kernels/*.cu`. The page docs/standins.md describes the kernels.
#![warn(missing_docs)]

pub mod gemm;

/// The library in whose place a kernel runs, by its name: `standin_LIBRARY_…`.
#[must_use]
pub fn library_of(kernel: &str) -> Option<&str> {
    kernel.strip_prefix("standin_")?.split('_').next()
}

/// The fat binary of `kernels/NAME.cu`.
#[must_use]
pub fn image(name: &str) -> Option<&'static [u8]> {
    match name {
        "blas" => Some(include_bytes!("../kernels/blas.fatbin")),
        "gemm" => Some(include_bytes!("../kernels/gemm.fatbin")),
        "rand" => Some(include_bytes!("../kernels/rand.fatbin")),
        "fft" => Some(include_bytes!("../kernels/fft.fatbin")),
        "sparse" => Some(include_bytes!("../kernels/sparse.fatbin")),
        _ => None,
    }
}
