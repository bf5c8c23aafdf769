//! Tests of the arithmetic.
//!
//! One program: linking takes longer than the tests. A file of tests is a line here.

mod approximations;
mod conversions;
mod floats;
mod halves;
mod integers;
mod reference;
