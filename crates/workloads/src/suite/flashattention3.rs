//! Attention in one pass over the keys, by warp groups.

use super::flashattention::{WIDTH, check};
use crate::bundled;
use crate::device::ArgBytes;
use crate::tensor::{Element, row_major};
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};

/// Queries of a CTA, and keys of a step.
const TILE: usize = 128;
/// The copying warp group and the two that multiply.
const THREADS: usize = 3 * 128;
/// Stages of the ring, each with keys and values.
const STAGES: usize = 2;
/// Tiles, and barriers: one for the queries, and of each stage full and empty for keys and values.
const SHARED: usize = (1 + 2 * STAGES) * TILE * WIDTH * size_of::<u16>() + (1 + 4 * STAGES) * 8;

pub(super) const WORKLOAD: Workload = Workload {
    name: "flashattention3",
    summary: "attention in half precision with softmax online, forward, in the manner of FlashAttention-3",
    character: "one warp group copies boxes of tensors, two take turns with products and exponentials (sm_90a)",
    suite: Suite::Own,
    papers: &[],
    module: bundled!("hopper"),
    parameters: &[
        Parameter::new("length", "queries and keys of a head", [384, 1024, 2048], 1, 16384),
        Parameter::new("heads", "heads of a sequence", [2, 4, 8], 1, 128),
        Parameter::new("batch", "sequences", [1, 1, 1], 1, 128),
        Parameter::new("causal", "whether queries see no later keys: 0 or 1", [0; 3], 0, 1).variant(),
    ],
    body,
};

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    check(run, |run, shape, buffers, out| {
        let size = [shape.stride, shape.batch * shape.length];
        let maps = buffers.map(|buffer| row_major(buffer, Element::F16, size, [WIDTH, TILE]));
        let numbers: [ArgBytes; 2] = [shape.length, shape.stride].map(|n| (n as i32).into());
        let args = [&maps[..], &[out.into()], &numbers, &shape.softmax_args()].concat();
        let grid = [shape.length.div_ceil(TILE), shape.heads, shape.batch];
        run.launch_with_shared("flash_attention_3", grid, THREADS, SHARED as u32, &args)
    })
}
