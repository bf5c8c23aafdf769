//! Tests of the fabric core.

mod support;

mod energy;
mod figures;
mod memory;
mod programs;
mod random;
mod rates;
mod regions;
mod workloads;
