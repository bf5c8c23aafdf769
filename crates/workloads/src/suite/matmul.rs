//! Tiled matrix product.

use crate::bounded::F32;
use crate::bundled;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};

const TILE: usize = 16;

pub(super) const WORKLOAD: Workload = Workload {
    name: "matmul",
    summary: "C = A B in single precision, 16 x 16 tiles in shared memory",
    character: "shared-memory loads and fused multiply-adds in a fixed order, a barrier per tile",
    suite: Suite::Own,
    papers: &[],
    module: bundled!("matmul"),
    parameters: &[
        Parameter::new("m", "rows of A and C", [64, 256, 448], 1, 16384),
        Parameter::new("n", "columns of B and C", [64, 256, 448], 1, 16384),
        Parameter::new("k", "columns of A, rows of B", [64, 256, 448], 1, 16384),
    ],
    body,
};

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let (m, n, k) = (run.param("m"), run.param("n"), run.param("k"));
    let a = run.floats(m * k, -1.0, 1.0);
    let b = run.floats(k * n, -1.0, 1.0);
    let (da, db) = (run.upload("a", &a)?, run.upload("b", &b)?);
    let dc = run.alloc::<f32>("c", m * n)?;
    let sizes = [m as i32, n as i32, k as i32];
    let args = [da.into(), db.into(), dc.into(), sizes[0].into(), sizes[1].into(), sizes[2].into()];
    run.launch("matmul", [n.div_ceil(TILE), m.div_ceil(TILE)], [TILE, TILE], &args)?;
    let c = run.download::<f32>(dc)?;
    run.check_bounds("c", &c, &product(&a, &b, m, n, k));
    Ok(())
}

/// C = A B, each element summed in the order of k: what the kernel does. (Its zeros at the rim of a
/// tile add nothing, not even an error.)
pub(super) fn product(a: &[f32], b: &[f32], m: usize, n: usize, k: usize) -> Vec<F32> {
    let mut c = Vec::with_capacity(m * n);
    // Apart, so that the compiler takes several at a time.
    let (mut values, mut errors) = (vec![0.0; n], vec![0.0; n]);
    for row in 0..m {
        values.fill(0.0);
        errors.fill(0.0);
        for i in 0..k {
            let factor = a[row * k + i];
            for ((value, error), &x) in values.iter_mut().zip(&mut errors).zip(&b[i * n..][..n]) {
                let sum = F32::with_error(*value, *error) + F32::exact_product(factor, x);
                (*value, *error) = (sum.value(), sum.error());
            }
        }
        c.extend(values.iter().zip(&errors).map(|(&value, &error)| F32::with_error(value, error)));
    }
    c
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounded::Values;

    #[test]
    fn two_by_two() {
        let c = product(&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0], 2, 2, 2);
        assert_eq!(c.map_values(), [19.0, 22.0, 43.0, 50.0]);
        let row = product(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0], 1, 1, 3);
        assert_eq!(row.map_values(), [32.0]);
    }
}
