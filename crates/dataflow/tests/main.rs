//! The crate's tests, one program.

mod damaged;
mod device;
mod drawings;
mod mapping;
mod partition;
mod passes;
mod suite;
mod support;
