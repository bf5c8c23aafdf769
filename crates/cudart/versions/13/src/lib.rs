//! `libcudart.so.13`: CUDA's runtime API of version 13 for C programs.
#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "functions with C names are exported")]

cudart::runtime!(13);
