//! The crate's tests, one program.

mod device;
mod suite;
