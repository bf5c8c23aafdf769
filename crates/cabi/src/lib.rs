//! What our libraries with a C interface over the driver share: memory of the program, and how the driver is found.
#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "this crate is a boundary to C")]

pub mod address;
pub mod driver;
