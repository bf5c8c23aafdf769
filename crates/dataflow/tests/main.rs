//! The crate's tests, one program.

mod mapping;
mod partition;
mod support;
