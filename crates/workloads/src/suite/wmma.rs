//! Matrix product on tensor cores.

use crate::bundled;
use crate::element::{Number, ScalarType};
use crate::workload::{Parameter, Run, Workload, WorkloadError};

const TILE: usize = 16;

pub(super) const WORKLOAD: Workload = Workload {
    name: "wmma",
    summary: "C = A B on tensor cores, half precision in, single precision out",
    character: "one warp per 16 x 16 tile, fragments straight from global memory",
    module: bundled!("wmma"),
    parameters: &[
        Parameter::new("m", "rows of A and C", [128, 512, 1024], 16, 8192).in_steps_of(TILE as u64),
        Parameter::new("n", "columns of B and C", [128, 512, 1024], 16, 8192).in_steps_of(TILE as u64),
        Parameter::new("k", "columns of A, rows of B", [128, 512, 1024], 16, 8192).in_steps_of(TILE as u64),
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
    run.check_equal("c", &c, &product(&a, &b, m, n, k));
    Ok(())
}

fn halves(values: &[i8]) -> Vec<u16> {
    let half = |&v: &i8| {
        let bytes = ScalarType::F16.encode(Number::Int(v.into())).expect("fits");
        u16::from_le_bytes([bytes[0], bytes[1]])
    };
    values.iter().map(half).collect()
}

/// A by rows, B by columns.
fn product(a: &[i8], b: &[i8], m: usize, n: usize, k: usize) -> Vec<f32> {
    let mut c = Vec::with_capacity(m * n);
    for row in 0..m {
        for col in 0..n {
            let pairs = a[row * k..][..k].iter().zip(&b[col * k..][..k]);
            c.push(pairs.map(|(&x, &y)| i32::from(x) * i32::from(y)).sum::<i32>() as f32);
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
        assert_eq!(product(&[1, 2, 3, 4], &[5, 7, 6, 8], 2, 2, 2), [19.0, 22.0, 43.0, 50.0]);
        assert_eq!(halves(&[1, -2]), [0x3c00, 0xc000]);
    }
}
