//! Tests of launch files.
//!
//! One program: linking takes longer than the tests. A file of tests is a line here.

mod fake;
mod launch_files;
mod mistakes;
