//! Sparse matrix times vector.

use crate::bundled;
use crate::device::ArgBytes;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};
use isa::{Channel, Image, Sampler, Shape};

const BLOCK: usize = 128;
const WARP: usize = 32;

pub(super) const WORKLOAD: Workload = Workload {
    name: "spmv",
    summary: "sparse matrix in compressed rows times a vector, one thread and one warp per row",
    character: "texture reads at scattered places, loops of different lengths, shuffles",
    suite: Suite::Own,
    papers: &[],
    module: bundled!("spmv"),
    parameters: &[
        Parameter::new("rows", "rows and columns of the matrix", [640, 8192, 65_536], 1, 1 << 22),
        Parameter::new("degree", "entries of a row, on average", [12; 3], 1, 256),
        Parameter::new(
            "kernels",
            "kernels launched: 2 read the vector through a texture; 1 by thread, as it is",
            [2; 3],
            1,
            2,
        )
        .variant(),
    ],
    body,
};

/// A square matrix: row `i` has the entries `first[i]..first[i + 1]`.
struct Matrix {
    first: Vec<i32>,
    columns: Vec<i32>,
    values: Vec<f32>,
}

/// Eighths of small whole numbers: sums of their products are exact in any order.
fn eighths(run: &mut Run<'_>, count: usize) -> Vec<f32> {
    run.integers::<i8>(count, -32, 32).into_iter().map(|n| f32::from(n) / 8.0).collect()
}

impl Matrix {
    fn random(run: &mut Run<'_>, rows: usize, degree: usize) -> Self {
        let mut first = vec![0];
        for _ in 0..rows {
            let entries = run.integer(0, 2 * degree as i64) as i32;
            first.push(first[first.len() - 1] + entries);
        }
        let entries = first[rows] as usize;
        let columns = run.integers(entries, 0, rows as i64 - 1);
        Self { first, columns, values: eighths(run, entries) }
    }

    fn times(&self, x: &[f32]) -> Vec<f32> {
        let product = |row: &[i32]| {
            let entries = row[0] as usize..row[1] as usize;
            entries.map(|k| self.values[k] * x[self.columns[k] as usize]).sum()
        };
        self.first.windows(2).map(product).collect()
    }
}

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let (rows, degree) = (run.param("rows"), run.param("degree"));
    let matrix = Matrix::random(run, rows, degree);
    let x = eighths(run, rows);
    let expected = matrix.times(&x);
    let (first, columns) = (run.upload("first", &matrix.first)?, run.upload("columns", &matrix.columns)?);
    let (values, vector) = (run.upload("values", &matrix.values)?, run.upload("x", &x)?);
    let scalar = |n: usize| ArgBytes::from(n as i32);
    if run.param("kernels") == 1 {
        return multiply(run, "spmv_plain", rows, rows, &expected, |y| {
            vec![first.into(), columns.into(), values.into(), vector.into(), y, scalar(rows)]
        });
    }
    let texture = run.image(&Image {
        base: vector.address,
        shape: Shape::D1,
        size: [rows as u32, 1, 1],
        pitch: vector.bytes,
        channel: Channel::F32,
        channels: 1,
        sampler: Some(Sampler::default()),
    })?;
    for (kernel, threads) in [("spmv_thread", rows), ("spmv_warp", WARP * rows)] {
        multiply(run, kernel, threads, rows, &expected, |y| {
            vec![first.into(), columns.into(), values.into(), texture.clone(), y, scalar(rows)]
        })?;
    }
    Ok(())
}

/// Runs `kernel`, whose arguments follow from the product's place.
fn multiply(
    run: &mut Run<'_>,
    kernel: &'static str,
    threads: usize,
    rows: usize,
    expected: &[f32],
    args: impl Fn(ArgBytes) -> Vec<ArgBytes>,
) -> Result<(), WorkloadError> {
    let y = run.alloc::<f32>("y", rows)?;
    run.launch(kernel, threads.div_ceil(BLOCK), BLOCK, &args(y.into()))?;
    let got = run.download::<f32>(y)?;
    run.check_equal(kernel, &got, expected);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_rows_of_which_one_is_empty() {
        let matrix = Matrix { first: vec![0, 2, 2, 3], columns: vec![0, 2, 1], values: vec![1.0, 2.0, 3.0] };
        assert_eq!(matrix.times(&[1.0, 10.0, 100.0]), [201.0, 0.0, 30.0]);
    }
}
