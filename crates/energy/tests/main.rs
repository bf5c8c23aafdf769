//! Tests of the energy model.
//!
//! One program: linking takes longer than the tests. A file of tests is a line here.

mod accelwattch;
mod model;
