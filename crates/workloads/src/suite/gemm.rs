//! Matrix product as libraries compute it.

use super::int8mma::product;
use super::wmma::halves;
use crate::bundled;
use crate::check::Check;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};

const THREADS: usize = 128;
/// Whole numbers up to this are exact in half precision.
const EXACT_HALF: usize = 2048;

pub(super) const WORKLOAD: Workload = Workload {
    name: "gemm",
    summary: "C = A B as a BLAS library computes it: 128 x 64 tiles, of which a thread holds 8 x 8 in registers",
    character: "hundreds of independent multiply-adds a barrier, few branches; many registers and few warps",
    suite: Suite::DeepBench,
    papers: &[("socgpu", "gemm_train, gemm_inference")],
    module: bundled!("gemm"),
    parameters: &[
        Parameter::new("math", "1: single precision; 2: pairs of halves; 3: halves on tensor cores", [1; 3], 1, 3)
            .variant(),
        Parameter::new("m", "rows of A and C", [256, 512, 1760], 1, 16384),
        Parameter::new("n", "columns of B and C", [128, 128, 64], 1, 16384),
        Parameter::new("k", "columns of A, rows of B", [32, 384, 1760], 1, 16384),
    ],
    body,
};

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let (math, m, n, k) = (run.param("math"), run.param("m"), run.param("n"), run.param("k"));
    let sizes = [m, n, k].map(|size| (size as i32).into());
    if math == 1 {
        let (a, b) = (run.floats(m * k, -1.0, 1.0), run.floats(k * n, -1.0, 1.0));
        let (da, db) = (run.upload("a", &a)?, run.upload("b", &b)?);
        let dc = run.alloc::<f32>("c", m * n)?;
        let args = [&[da.into(), db.into(), dc.into()][..], &sizes].concat();
        run.launch("sgemm", [m.div_ceil(128), n.div_ceil(64)], THREADS, &args)?;
        let c = run.download::<f32>(dc)?;
        run.check(Check::same_bits("c", &c, &in_order(&a, &b, m, k)));
        return Ok(());
    }
    // Whole numbers so small that every sum is exact, in whichever order it is made.
    let most = if math == 2 { 1 } else { 8 };
    if math == 2 && k > EXACT_HALF {
        let rule = format!("with math=2 it must be at most {EXACT_HALF}: larger sums are not exact in half precision");
        return Err(WorkloadError::BadParameter { workload: WORKLOAD.name, name: "k", value: k as u64, rule });
    }
    let (a, b) = (run.integers::<i8>(m * k, -most, most), run.integers::<i8>(k * n, -most, most));
    let (da, db) = (run.upload("a", &halves(&a))?, run.upload("b", &halves(&b))?);
    let rows: Vec<i8> = (0..m * k).map(|i| a[i / k + i % k * m]).collect();
    // By columns: of the transposed product, whose rows they are.
    let expected = product(&b, &rows, m, k);
    if math == 2 {
        let dc = run.alloc::<u16>("c", m * n)?;
        let args = [&[da.into(), db.into(), dc.into()][..], &sizes].concat();
        run.launch("hgemm", [m.div_ceil(128), n.div_ceil(64)], THREADS, &args)?;
        let c = run.download::<u16>(dc)?;
        run.check_equal("c", &c, &halves(&expected));
    } else {
        let dc = run.alloc::<f32>("c", m * n)?;
        let args = [&[da.into(), db.into(), dc.into()][..], &sizes].concat();
        run.launch("wgemm", [m.div_ceil(64), n.div_ceil(64)], THREADS, &args)?;
        let c = run.download::<f32>(dc)?;
        run.check_equal("c", &c, &expected.into_iter().map(|sum| sum as f32).collect::<Vec<_>>());
    }
    Ok(())
}

/// C = A B of matrices by columns, each element added up in the order of k.
fn in_order(a: &[f32], b: &[f32], m: usize, k: usize) -> Vec<f32> {
    let mut c = Vec::with_capacity(b.len() / k * m);
    for column in b.chunks_exact(k) {
        let mut sums = vec![0.0f32; m];
        for (from, &factor) in a.chunks_exact(m).zip(column) {
            sums.iter_mut().zip(from).for_each(|(sum, x)| *sum = x.mul_add(factor, *sum));
        }
        c.extend(sums);
    }
    c
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_columns() {
        // [1 3 5; 2 4 6] times [7; 8; 9].
        assert_eq!(in_order(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[7.0, 8.0, 9.0], 2, 3), [76.0, 100.0]);
    }
}
