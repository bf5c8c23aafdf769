//! Tests of the workloads.
//!
//! One program: linking takes longer than the tests. A file of tests is a line here.

mod bundled;
mod functional;
mod host;
mod inputs;
mod page;
