//! `libcusparse.so.11`: cuSPARSE of version 11 for C programs.
#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "functions with C names are exported")]

cusparse::library!(11_705);
