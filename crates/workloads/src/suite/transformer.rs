//! A layer of a transformer.

use super::flashattention::{self, Shape, WIDTH, attention, floats, halves_in, normal_halves};
use crate::bounded::{F16, F32};
use crate::bundled;
use crate::device::Buffer;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};

/// Rows and columns of a CTA's result, and terms of a step.
const TILE: usize = 64;
const THREADS: usize = 128;
/// The hidden layer is wider by this.
const EXPANSION: usize = 4;
/// CUDA's hyperbolic tangent is accurate to 2 ulp, its reciprocal square root too (CUDA C++ Programming Guide, table of
/// single-precision functions).
const ULPS: f64 = 2.0;

pub(super) const WORKLOAD: Workload = Workload {
    name: "transformer",
    summary: "a layer of a transformer in half precision: norms, products with weights, causal attention, hidden layer",
    character: "seven launches: products on tensor cores, attention and norms, whose kernels load tiles asynchronously (PTX for sm_80)",
    suite: Suite::Own,
    papers: &[],
    module: bundled!("transformer"),
    parameters: &[
        Parameter::new("length", "positions of a sequence", [64, 256, 512], 1, 8192),
        Parameter::new("width", "numbers of a position", [64, 128, 256], 64, 4096).in_steps_of(TILE as u64),
        Parameter::new("batch", "sequences", [1, 1, 2], 1, 128),
    ],
    body,
};

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let (length, width, batch) = (run.param("length"), run.param("width"), run.param("batch"));
    let rows = length * batch;
    let x = Matrix::new(run, "x", rows, width)?;
    let norms = [Norm::new(run, width)?, Norm::new(run, width)?];
    let hidden = EXPANSION * width;
    let [qkv, project, up, down] = [(3 * width, width), (width, width), (hidden, width), (width, hidden)]
        .map(|(columns, width)| Layer::new(run, columns, width));
    let (qkv, project, up, down) = (qkv?, project?, up?, down?);

    // Each result is compared with the reference for what the device has computed before it.
    let normed = norms[0].apply(run, "norm_1", &x)?;
    let heads = qkv.apply(run, "qkv", &normed, Extra::None)?;
    let mixed = attend(run, &heads, &Shape { length, heads: width / WIDTH, batch, causal: true, stride: 3 * width })?;
    let middle = project.apply(run, "projection", &mixed, Extra::Residual(&x))?;
    let normed = norms[1].apply(run, "norm_2", &middle)?;
    let raised = up.apply(run, "up", &normed, Extra::Gelu)?;
    down.apply(run, "down", &raised, Extra::Residual(&middle))?;
    Ok(())
}

/// Halves on the device, and their values.
struct Matrix {
    buffer: Buffer,
    values: Vec<f32>,
    width: usize,
}

impl Matrix {
    fn new(run: &mut Run<'_>, name: &str, rows: usize, width: usize) -> Result<Self, WorkloadError> {
        let halves = normal_halves(run, rows * width);
        Ok(Self { buffer: run.upload(name, &halves)?, values: floats(&halves), width })
    }

    /// A result, compared with its reference.
    fn checked(
        run: &mut Run<'_>,
        name: &str,
        buffer: Buffer,
        reference: &[F16],
        width: usize,
    ) -> Result<Self, WorkloadError> {
        let values = floats(&run.download::<u16>(buffer)?);
        run.check_bounds(name, &values, reference);
        Ok(Self { buffer, values, width })
    }

    fn rows(&self) -> usize {
        self.values.len() / self.width
    }
}

fn attend(run: &mut Run<'_>, heads: &Matrix, shape: &Shape) -> Result<Matrix, WorkloadError> {
    let width = shape.heads * WIDTH;
    let out = run.alloc::<u16>("attention", heads.rows() * width)?;
    let part = |i: usize| heads.buffer.address + (i * width * size_of::<u16>()) as u64;
    flashattention::launch(run, shape, [part(0), part(1), part(2), out.address], width)?;
    let reference = attention(shape, [0, 1, 2].map(|i| &heads.values[i * width..]));
    Matrix::checked(run, "attention", out, &reference, width)
}

/// A layer norm.
struct Norm {
    gain: Matrix,
    shift: Matrix,
}

impl Norm {
    fn new(run: &mut Run<'_>, width: usize) -> Result<Self, WorkloadError> {
        Ok(Self { gain: Matrix::new(run, "gain", 1, width)?, shift: Matrix::new(run, "shift", 1, width)? })
    }

    fn apply(&self, run: &mut Run<'_>, name: &str, x: &Matrix) -> Result<Matrix, WorkloadError> {
        let (rows, width) = (x.rows(), x.width);
        let out = run.alloc::<u16>(name, rows * width)?;
        let pointers = [x.buffer, self.gain.buffer, self.shift.buffer, out].map(Into::into);
        let sizes = [rows as i32, width as i32].map(Into::into);
        run.launch("layer_norm", rows.div_ceil(THREADS / 32), THREADS, &[&pointers[..], &sizes].concat())?;
        let reference: Vec<F16> = x.values.chunks(width).flat_map(|row| self.reference(row)).collect();
        Matrix::checked(run, name, out, &reference, width)
    }

    fn reference(&self, row: &[f32]) -> Vec<F16> {
        let width = F32::exact(row.len() as f64);
        // A lane adds pairs, then the lanes add their sums.
        let mean_of = |terms: Vec<F32>| {
            let mut lanes = [F32::exact(0.0); 32];
            for (i, pair) in terms.chunks(2).enumerate() {
                lanes[i % 32] = lanes[i % 32] + (pair[0] + pair[1]);
            }
            for distance in [16, 8, 4, 2, 1] {
                lanes = std::array::from_fn(|lane| lanes[lane] + lanes[lane ^ distance]);
            }
            lanes[0] / width
        };
        let mean = mean_of(row.iter().map(|&x| x.into()).collect());
        let differences: Vec<F32> = row.iter().map(|&x| F32::from(x) - mean).collect();
        let variance = mean_of(differences.iter().map(|&d| d * d).collect());
        let factor = (variance + F32::from(1e-5)).rsqrt(ULPS);
        let scaled = differences.iter().zip(&self.gain.values).zip(&self.shift.values);
        scaled.map(|((&d, &gain), &shift)| (d * factor * F32::from(gain) + F32::from(shift)).convert()).collect()
    }
}

/// After a product with weights.
#[derive(Clone, Copy)]
enum Extra<'a> {
    None,
    Gelu,
    Residual(&'a Matrix),
}

/// A product with weights, a row for each output, and a bias.
struct Layer {
    weights: Matrix,
    bias: Matrix,
}

impl Layer {
    fn new(run: &mut Run<'_>, columns: usize, width: usize) -> Result<Self, WorkloadError> {
        // Sums of `width` products of numbers of about 1 and these are about 1.
        let scale = 1.0 / (width as f32).sqrt();
        let halves = halves_in(run, columns * width, scale * 3f32.sqrt());
        let weights = Matrix { buffer: run.upload("weights", &halves)?, values: floats(&halves), width };
        Ok(Self { weights, bias: Matrix::new(run, "bias", 1, columns)? })
    }

    fn apply(&self, run: &mut Run<'_>, name: &str, x: &Matrix, extra: Extra<'_>) -> Result<Matrix, WorkloadError> {
        let (rows, columns, width) = (x.rows(), self.bias.width, x.width);
        let out = run.alloc::<u16>(name, rows * columns)?;
        let residual = match extra {
            Extra::Residual(residual) => residual.buffer.address,
            _ => 0,
        };
        let pointers = [x.buffer.address, self.weights.buffer.address, self.bias.buffer.address, residual, out.address];
        let activates = matches!(extra, Extra::Gelu).into();
        let sizes = [rows as i32, columns as i32, width as i32, activates].map(Into::into);
        let args = [&pointers.map(Into::into)[..], &sizes].concat();
        run.launch("linear", [columns / TILE, rows.div_ceil(TILE)], THREADS, &args)?;
        let mut reference = Vec::with_capacity(rows * columns);
        for (row, x) in x.values.chunks(width).enumerate() {
            for (column, weights) in self.weights.values.chunks(width).enumerate() {
                let sum = F32::on_tensor_cores(x, weights) + F32::from(self.bias.values[column]);
                let sum = match extra {
                    Extra::None => sum,
                    Extra::Gelu => gelu(sum),
                    Extra::Residual(residual) => sum + F32::from(residual.values[row * columns + column]),
                };
                reference.push(sum.convert());
            }
        }
        Matrix::checked(run, name, out, &reference, columns)
    }
}

/// GELU by the hyperbolic tangent, in the order of the kernel.
fn gelu(x: F32) -> F32 {
    let inner = x * F32::from(0.797_884_6) * (F32::exact(1.0) + F32::from(0.044_715) * (x * x));
    F32::exact(0.5) * x * (F32::exact(1.0) + inner.tanh(ULPS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gelu_is_half_of_the_error_function() {
        // 2 * 0.977249868 = 1.954499736 by the normal distribution; the tangent's is within 2e-3.
        assert!((gelu(F32::exact(2.0)).value() - 1.954_499_7).abs() < 2e-3);
        assert_eq!(gelu(F32::exact(0.0)).value(), 0.0);
    }
}
