//! Tests of the core designs, by programs whose instructions are given.
//!
//! One program: linking takes longer than the tests. A file of tests is a line here.

#[allow(dead_code, reason = "the tests of `sm` use the rest")]
#[path = "../../sm/tests/support/mod.rs"]
mod support;

/// The file that `warpwright new-design` writes, as if it were part of `designs`.
#[path = "../../cli/src/commands/new_design/design.rs"]
mod new_design;
use designs::boards;

mod begun;
mod ghost;
mod hazards;
mod ideal;
mod load_slice;
mod loog;
mod modern;
mod modern_memory;
mod modern_timelines;
mod on_sub_cores;
mod socgpu;
