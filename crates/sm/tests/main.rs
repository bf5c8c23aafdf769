//! Tests of the SM: its stages and core designs.
//!
//! One program: linking takes longer than the tests. A file of tests is a line here.

mod accounting;
mod auditor;
mod boards;
mod designs;
mod ghost;
mod gpus;
mod ideal;
mod limits;
mod load_slice;
mod loog;
mod occupancy;
mod own_stages;
mod scalar;
mod schedulers;
mod socgpu;
mod support;
mod timelines;
mod timing;
mod windows;
