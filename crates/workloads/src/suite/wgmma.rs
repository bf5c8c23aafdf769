//! Matrix product by warp groups.

use super::int8mma::product;
use super::wmma::halves;
use crate::bundled;
use crate::tensor::{Element, row_major};
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};
use num::small::e4m3_from_f32;

/// Rows and columns of a CTA's tile of C.
const TILE: [usize; 2] = [128, 256];
/// Bytes of a row of a tile of A or B.
const ROW_BYTES: usize = 128;
/// Stages of the ring.
const STAGES: usize = 4;
/// Most terms of a sum of numbers from -2 to 2 that it keeps all bits of with e4m3.
const MOST_E4M3: usize = (1 << 14) / 4 - 16;
/// The copying warp group and the two that multiply.
const THREADS: usize = 3 * 128;

pub(super) const WORKLOAD: Workload = Workload {
    name: "wgmma",
    summary: "C = A B by warp groups, half precision or e4m3 in, single precision out",
    character: "one warp group copies boxes of tensors into a ring of stages, two multiply (sm_90a)",
    suite: Suite::Own,
    papers: &[],
    module: bundled!("hopper"),
    parameters: &[
        Parameter::new("m", "rows of A and C", [256, 1024, 1536], 1, 16384),
        Parameter::new("n", "columns of B and C", [256, 1024, 2816], 8, 16384).in_steps_of(8),
        Parameter::new("k", "columns of A, rows of B", [256, 1024, 2048], 16, 16384).in_steps_of(16),
        Parameter::new("bits", "bits of a number of A or B: 16 (f16), 8 (e4m3)", [16; 3], 8, 16)
            .in_steps_of(8)
            .variant(),
    ],
    body,
};

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let (m, n, k, bits) = (run.param("m"), run.param("n"), run.param("k"), run.param("bits"));
    if bits == 8 && k > MOST_E4M3 {
        let rule = format!("of e4m3 it must be {MOST_E4M3} at most, so that sums are exact");
        return Err(WorkloadError::BadParameter { workload: WORKLOAD.name, name: "k", value: k as u64, rule });
    }
    // Small whole numbers: every partial sum is exact, in whichever order a tensor core adds. It keeps 24 bits of a sum
    // of f16, 14 of e4m3.
    let most = if bits == 16 { 8 } else { 2 };
    let a = run.integers::<i8>(m * k, -most, most);
    let b = run.integers::<i8>(n * k, -most, most);
    let (kernel, element) = if bits == 16 { ("wgmma_f16", Element::F16) } else { ("wgmma_e4m3", Element::U8) };
    let [da, db] = if bits == 16 {
        [run.upload("a", &halves(&a))?, run.upload("b", &halves(&b))?]
    } else {
        [run.upload("a", &e4m3(&a))?, run.upload("b", &e4m3(&b))?]
    };
    let dc = run.alloc::<f32>("c", m * n)?;
    let across = ROW_BYTES * 8 / bits;
    let map = |buffer, rows, tile| row_major(buffer, element, [k, rows], [across, tile]);
    let sizes = [m as i32, n as i32, k as i32].map(Into::into);
    let args = [&[map(da, m, TILE[0]), map(db, n, TILE[1]), dc.into()][..], &sizes].concat();
    let shared = STAGES * (TILE[0] + TILE[1]) * ROW_BYTES + 2 * STAGES * 8;
    let grid = [n.div_ceil(TILE[1]), m.div_ceil(TILE[0])];
    run.launch_with_shared(kernel, grid, THREADS, shared as u32, &args)?;
    let c = run.download::<f32>(dc)?;
    let expected: Vec<f32> = product(&a, &b, n, k).into_iter().map(|sum| sum as f32).collect();
    run.check_equal("c", &c, &expected);
    Ok(())
}

/// Small whole numbers as e4m3, which has them.
fn e4m3(values: &[i8]) -> Vec<u8> {
    values.iter().map(|&v| e4m3_from_f32(v.into(), false)).collect()
}
