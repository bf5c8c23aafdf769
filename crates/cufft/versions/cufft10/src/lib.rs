//! `libcufft.so.10`: cuFFT of version 10 for C programs.
#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "functions with C names are exported")]

cufft::library!(10_900);
