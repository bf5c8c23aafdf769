//! Matrix product of 8-bit integers on tensor cores.

use crate::bundled;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};

const TILE: usize = 32;
const BLOCK: usize = 128;

pub(super) const WORKLOAD: Workload = Workload {
    name: "int8mma",
    summary: "C = A B of 8-bit integers on tensor cores, with matrix loads from shared memory",
    character: "ldmatrix and mma with 32-bit integer sums (PTX for sm_80)",
    suite: Suite::Own,
    papers: &[],
    module: bundled!("int8mma"),
    parameters: &[
        Parameter::new("m", "rows of A and C", [192, 640, 1536], 32, 8192).in_steps_of(TILE as u64),
        Parameter::new("n", "columns of B and C", [192, 640, 1536], 32, 8192).in_steps_of(TILE as u64),
        Parameter::new("k", "columns of A, rows of B", [384, 1280, 2048], 32, 8192).in_steps_of(TILE as u64),
    ],
    body,
};

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let (m, n, k) = (run.param("m"), run.param("n"), run.param("k"));
    let a = run.integers::<i8>(m * k, -128, 127);
    let b = run.integers::<i8>(n * k, -128, 127);
    let (da, db) = (run.upload("a", &a)?, run.upload("b", &b)?);
    let dc = run.alloc::<i32>("c", m * n)?;
    let args = [da.into(), db.into(), dc.into(), (n as i32).into(), (k as i32).into()];
    run.launch("int8_matmul", [n / TILE, m / TILE], BLOCK, &args)?;
    let c = run.download::<i32>(dc)?;
    run.check_equal("c", &c, &product(&a, &b, n, k));
    Ok(())
}

/// A by rows, B by columns. The largest sum, 8192 * 2^14, fits 32 bits.
pub(super) fn product(a: &[i8], b: &[i8], n: usize, k: usize) -> Vec<i32> {
    let mut c = Vec::with_capacity(a.len() / k * n);
    for row in a.chunks_exact(k) {
        for col in b.chunks_exact(k) {
            c.push(row.iter().zip(col).map(|(&x, &y)| i32::from(x) * i32::from(y)).sum());
        }
    }
    c
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_by_two() {
        // B = [[5, 6], [7, 8]] by columns.
        assert_eq!(product(&[1, 2, 3, 4], &[5, 7, 6, 8], 2, 2), [19, 22, 43, 50]);
    }
}
