//! What our libraries with a C interface over the driver share: memory of the program, and how the driver is found.
#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "this crate is a boundary to C")]
#![allow(non_snake_case, reason = "functions of the driver have their names")]
#![allow(clippy::too_many_arguments, reason = "functions have the arguments of C's")]

pub mod address;
pub mod driver;
pub mod stand_in;
