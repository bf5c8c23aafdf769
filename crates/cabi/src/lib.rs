//! Parts shared by our libraries with a C interface over the driver: memory of the program, search for the driver,
//! and the check of the processor at load.
#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "this crate is a boundary to C")]
#![allow(non_snake_case, reason = "functions of the driver have their names")]
#![allow(clippy::too_many_arguments, reason = "functions have the arguments of C's")]

pub mod address;
pub mod driver;
#[cfg(target_arch = "x86_64")]
#[path = "../processor.rs"]
mod processor;
pub mod stand_in;
