//! cuRAND's host interface on simulated GPUs and on the host.
//!
//! `tools/check-libraries rand` draws more calls than these tests.
#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "the libraries under test are called as a C program calls them")]

/// The file of the library under test.
const LIBRARY: &str = "libcurand10.so";

#[path = "../../cabi/testing.rs"]
#[macro_use]
mod library;
mod answers;
mod random;
mod refusals;
