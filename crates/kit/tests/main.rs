//! Tests of the toolbox, and of the structure of the workspace.
//!
//! One program: linking takes longer than the tests. A file of tests is a line here.

mod counters;
mod drawings;
mod imports;
mod links;
mod oldest_rust;
mod persist;
mod sizes;
