//! `libcurand.so.10`: cuRAND's host interface for C programs of CUDA 11 to 13.
#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "functions with C names are exported")]

pub use curand::VERSION;
