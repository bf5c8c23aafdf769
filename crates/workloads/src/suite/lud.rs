//! LU decomposition.

use crate::bounded::F32;
use crate::bundled;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};

const SIDE: usize = 16;

pub(super) const WORKLOAD: Workload = Workload {
    name: "lud",
    summary: "LU decomposition in place by 16 x 16 blocks, three kernels per block step",
    character: "a serial diagonal kernel of half a warp between wide parallel ones",
    suite: Suite::Rodinia,
    papers: &[("ghost", "LUD"), ("socgpu", "lud"), ("war", "LUD"), ("scalar", "lud")],
    module: bundled!("lud"),
    parameters: &[Parameter::new("n", "rows and columns of the matrix", [64, 256, 576], 16, 8192).in_steps_of(16)],
    body,
};

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let n = run.param("n");
    let mut matrix = run.floats(n * n, -1.0, 1.0);
    // A dominant diagonal, so that it works without pivoting.
    (0..n).for_each(|i| matrix[i * n + i] += n as f32);
    let m = run.upload("m", &matrix)?;
    for offset in (0..n).step_by(SIDE) {
        let args = [m.into(), (n as i32).into(), (offset as i32).into()];
        run.launch("lud_diagonal", 1, SIDE, &args)?;
        let rest = (n - offset) / SIDE - 1;
        if rest > 0 {
            run.launch("lud_perimeter", rest, 2 * SIDE, &args)?;
            run.launch("lud_internal", [rest, rest], [SIDE, SIDE], &args)?;
        }
    }
    let got = run.download::<f32>(m)?;
    run.check_bounds("m", &got, &decompose(&matrix, n));
    Ok(())
}

/// L below the diagonal (its own diagonal is 1) and U, with the kernels' order of operations.
fn decompose(matrix: &[f32], n: usize) -> Vec<F32> {
    let mut m: Vec<F32> = matrix.iter().map(|&v| v.into()).collect();
    for offset in (0..n).step_by(SIDE) {
        let end = offset + SIDE;
        // The diagonal block, the blocks right of it and those below it: what is in the block
        // row or the block column is finished, one product subtracted at a time.
        for i in offset..end {
            for col in i..n {
                for k in offset..i {
                    m[i * n + col] = m[i * n + col] - m[i * n + k] * m[k * n + col];
                }
            }
            for row in i + 1..n {
                for k in offset..i {
                    m[row * n + i] = m[row * n + i] - m[row * n + k] * m[k * n + i];
                }
                m[row * n + i] = m[row * n + i] / m[i * n + i];
            }
        }
        // The rest: the products are added up first.
        for row in end..n {
            for col in end..n {
                let products = (offset..end).map(|k| m[row * n + k] * m[k * n + col]);
                let sum = products.fold(F32::exact(0.0), |sum, p| sum + p);
                m[row * n + col] = m[row * n + col] - sum;
            }
        }
    }
    m
}

#[cfg(test)]
mod tests {
    use super::*;

    /// L times U gives the matrix back.
    #[test]
    fn multiplies_back() {
        let n = 48;
        let matrix: Vec<f32> =
            (0..n * n).map(|i| if i % (n + 1) == 0 { 50.0 } else { ((i * 7919) % 101) as f32 / 50.0 - 1.0 }).collect();
        let m = decompose(&matrix, n);
        for row in 0..n {
            for col in 0..n {
                let low = |k: usize| if k == row { 1.0 } else { m[row * n + k].value() };
                let sum: f64 = (0..=row.min(col)).map(|k| low(k) * m[k * n + col].value()).sum();
                assert!((sum - f64::from(matrix[row * n + col])).abs() < 1e-10, "({row}, {col})");
            }
        }
        assert!(m.iter().all(|v| v.error() < 1e-3));
    }
}
