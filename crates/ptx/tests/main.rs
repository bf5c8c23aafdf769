//! Tests of the PTX front end.
//!
//! One program: linking takes longer than the tests. A file of tests is a line here.

mod checks;
mod common;
mod conformance;
mod errors;
mod robust;
mod round_trip;
mod tree;
mod valid;
