//! Products of small matrices.

use crate::bundled;
use crate::check::Check;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};

pub(super) const WORKLOAD: Workload = Workload {
    name: "matrixmul",
    summary: "products of small square matrices from global memory, each a launch of one CTA",
    character: "one CTA on the GPU at a time; loads of each product are independent, its additions are a chain",
    suite: Suite::Pagoda,
    papers: &[("ghost", "MTM")],
    module: bundled!("matrixmul"),
    parameters: &[
        Parameter::new("products", "products", [1, 32, 320], 1, 4096),
        Parameter::new("n", "rows and columns of a matrix", [64; 3], 1, 1024),
        Parameter::new("block", "threads per CTA", [128; 3], 1, 1024),
    ],
    body,
};

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let [count, n, block] = ["products", "n", "block"].map(|name| run.param(name));
    let (a, b) = (run.floats(count * n * n, -1.0, 1.0), run.floats(count * n * n, -1.0, 1.0));
    let (d_a, d_b) = (run.upload("a", &a)?, run.upload("b", &b)?);
    let d_c = run.alloc::<f32>("c", a.len())?;
    for product in 0..count {
        let matrices = [d_a, d_b, d_c].map(|all| (all.address + (product * n * n * size_of::<f32>()) as u64).into());
        run.launch("matrix_product", 1, block, &[&matrices[..], &[(n as i32).into()]].concat())?;
    }
    let got = run.download::<f32>(d_c)?;
    let pairs = a.chunks(n * n).zip(b.chunks(n * n));
    run.check(Check::same_bits("c", &got, &pairs.flat_map(|(a, b)| product(a, b, n)).collect::<Vec<_>>()));
    Ok(())
}

/// The product of two square matrices, each sum in the order of the kernel.
pub(super) fn product(a: &[f32], b: &[f32], n: usize) -> Vec<f32> {
    let element = |row: &[f32], column: usize| {
        row.iter().enumerate().fold(0.0f32, |sum, (k, value)| value.mul_add(b[k * n + column], sum))
    };
    a.chunks(n).flat_map(|row| (0..n).map(move |column| element(row, column))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_by_two() {
        assert_eq!(product(&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0], 2), [19.0, 22.0, 43.0, 50.0]);
    }
}
