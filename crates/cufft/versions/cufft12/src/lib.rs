//! `libcufft.so.12`: cuFFT of version 12 for C programs.
#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "functions with C names are exported")]

cufft::library!(12_000);
