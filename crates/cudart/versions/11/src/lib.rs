//! `libcudart.so.11.0`: CUDA's runtime API of version 11 for C programs.
#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "functions with C names are exported")]

cudart::runtime!(11);
