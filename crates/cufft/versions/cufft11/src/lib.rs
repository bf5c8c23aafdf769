//! `libcufft.so.11`: cuFFT of version 11 for C programs.
#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "functions with C names are exported")]

cufft::library!(11_401);
