//! Tests of GPU descriptions.
//!
//! One program: linking takes longer than the tests. A file of tests is a line here.

mod descriptions;
mod docs;
mod errors;
mod import;
mod papers;
