//! Tests of the kernels that stand in for NVIDIA's.
//!
//! One program: linking takes longer than the tests. A file of tests is a line here.

mod choice;
mod files;
mod gemm;
