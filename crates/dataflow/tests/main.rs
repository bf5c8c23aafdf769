//! The crate's tests, one program.

mod damaged;
mod device;
mod drawings;
#[allow(dead_code, reason = "other crates use the rest")]
#[path = "../../workloads/tests/host.rs"]
mod host;
mod mapping;
mod partition;
mod passes;
mod suite;
mod support;
