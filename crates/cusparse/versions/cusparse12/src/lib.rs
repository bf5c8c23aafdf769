//! `libcusparse.so.12`: cuSPARSE of version 12 for C programs.
#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "functions with C names are exported")]

cusparse::library!(12_510);
