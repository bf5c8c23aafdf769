//! The crate's tests, one program.

mod drawings;
mod mapping;
mod partition;
mod support;
