//! `libcublasLt.so.13`: cuBLASLt of version 13 for C programs.
#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "functions with C names are exported")]

cublas::library!(13_0200);
