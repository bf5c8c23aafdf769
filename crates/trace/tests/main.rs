//! Tests of the trace formats.
//!
//! One program: linking takes longer than the tests. A file of tests is a line here.

mod native;
mod reader;
