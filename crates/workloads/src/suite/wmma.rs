//! Matrix product on tensor cores.

use super::int8mma::product;
use crate::bundled;
use crate::element::{Number, ScalarType};
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};

const TILE: usize = 16;

pub(super) const WORKLOAD: Workload = Workload {
    name: "wmma",
    summary: "C = A B on tensor cores, half precision in, single precision out",
    character: "one warp per 16 x 16 tile, fragments straight from global memory",
    suite: Suite::Own,
    papers: &[],
    module: bundled!("wmma"),
    parameters: &[
        Parameter::new("m", "rows of A and C", [192, 640, 1536], 16, 8192).in_steps_of(TILE as u64),
        Parameter::new("n", "columns of B and C", [192, 640, 1536], 16, 8192).in_steps_of(TILE as u64),
        Parameter::new("k", "columns of A, rows of B", [192, 640, 1536], 16, 8192).in_steps_of(TILE as u64),
        Parameter::new("block", "threads per CTA", [128; 3], 32, 1024).in_steps_of(32),
    ],
    body,
};

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let (m, n, k, block) = (run.param("m"), run.param("n"), run.param("k"), run.param("block"));
    // Small whole numbers: every product and every partial sum is exact (below 2^24), in whichever
    // order and with whatever rounding a tensor core adds.
    let a = run.integers::<i8>(m * k, -8, 8);
    let b = run.integers::<i8>(n * k, -8, 8);
    let (da, db) = (run.upload("a", &halves(&a))?, run.upload("b", &halves(&b))?);
    let dc = run.alloc::<f32>("c", m * n)?;
    let sizes = [m as i32, n as i32, k as i32].map(Into::into);
    let args = [&[da.into(), db.into(), dc.into()][..], &sizes].concat();
    let threads = m * n / (TILE * TILE) * 32;
    run.launch("wmma_matmul", threads.div_ceil(block), block, &args)?;
    let c = run.download::<f32>(dc)?;
    let expected: Vec<f32> = product(&a, &b, n, k).into_iter().map(|sum| sum as f32).collect();
    run.check_equal("c", &c, &expected);
    Ok(())
}

/// Whole numbers as half precision, which must have them.
pub(super) fn halves<T: Copy + Into<i64>>(values: &[T]) -> Vec<u16> {
    let half = |&v: &T| {
        let bytes = ScalarType::F16.encode(Number::Int(v.into().into())).expect("fits");
        u16::from_le_bytes([bytes[0], bytes[1]])
    };
    values.iter().map(half).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_precision_bits() {
        assert_eq!(halves(&[1i8, -2]), [0x3c00, 0xc000]);
    }
}
