//! Tests of the SM: its stages, and the in-order core.
//!
//! One program: linking takes longer than the tests. A file of tests is a line here.

#[allow(dead_code, reason = "the tests of `designs` use the rest")]
mod support;

mod accounting;
mod auditor;
mod copy_engine;
mod dependence;
mod designs;
mod gpus;
mod limits;
mod matrix_groups;
mod occupancy;
mod own_stages;
mod scalar;
mod schedulers;
mod stall_counts;
mod sub_core_fetch;
mod timelines;
mod timing;
mod windows;
