//! Tests of what is held against the figures of others.
//!
//! One program: linking takes longer than the tests. A file of tests is a line here.

mod accelsim;
mod applications;
mod microbench;
mod power;
mod scheduling;
mod timing;
mod validation;
