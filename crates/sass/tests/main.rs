//! Tests of the machine code decoder.
//!
//! One program: linking takes longer than the tests. A file of tests is a line here.

mod elf;
mod golden;
mod properties;
mod table;
