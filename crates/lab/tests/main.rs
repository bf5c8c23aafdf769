//! Tests of the laboratory: whole kernels on whole GPUs.
//!
//! One program: linking takes longer than the tests. A file of tests is a line here.

#[allow(dead_code, reason = "the tests of `sm` use the rest")]
#[path = "../../sm/tests/support/mod.rs"]
mod support;

mod audit;
mod checkpoints;
mod clusters;
mod concurrency;
mod contract;
mod cooperative;
mod corpus;
mod dead_keys;
mod design_power;
mod differential;
mod energy;
mod export;
mod fabric_energy;
mod functional;
mod hopper;
mod hostile_traces;
mod launch_files;
mod litmus;
mod livelock;
mod mbarriers;
mod memory_checks;
mod own_design;
mod profile;
mod registers;
mod samples;
mod sampling;
mod scalar;
mod settings;
mod starvation;
mod suite;
mod textures;
mod threads;
mod wide;
