//! `libcublas.so.11`: cuBLAS of version 11 for C programs.
#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "functions with C names are exported")]

cublas::library!(11_1103);
