//! Tests of the command `warpwright`.
//!
//! One program: linking takes longer than the tests. A file of tests is a line here.

mod bad_input;
mod bounds;
mod causes;
mod checkpoints;
mod commands;
mod common;
mod comparisons;
mod energy;
mod exec;
mod figures;
mod fills;
mod inputs;
mod inspection;
mod memory_checks;
mod outputs;
mod pages;
mod processor;
mod profiled;
mod pytorch;
mod ranges;
mod schema;
mod selectors;
mod shown;
mod splits;
mod sweeps;
mod tables;
mod trace_export;
mod traces;
mod validate;
mod versions;
