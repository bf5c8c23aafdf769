//! The crate's tests, one program.

mod device;
mod drawings;
mod mapping;
mod partition;
mod suite;
mod support;
