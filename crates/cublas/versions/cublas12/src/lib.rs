//! `libcublas.so.12`: cuBLAS of version 12 for C programs.
#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "functions with C names are exported")]

cublas::library!(12_0901);
