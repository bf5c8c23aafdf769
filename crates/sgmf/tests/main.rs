//! Tests of the fabric core.

mod support;

#[allow(dead_code, reason = "other crates use the rest")]
#[path = "../../workloads/tests/host.rs"]
mod host;

mod energy;
mod figures;
mod memory;
mod programs;
mod random;
mod rates;
mod regions;
mod workloads;
