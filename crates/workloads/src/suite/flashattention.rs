//! Attention in one pass over the keys.

use crate::bounded::{F16, F32};
use crate::bundled;
use crate::device::{ArgBytes, Buffer};
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};
use num::Rounding;
use num::half;

/// Values of a head's vector.
pub(super) const WIDTH: usize = 64;
/// Queries of a CTA, and keys of a step.
const TILE: usize = 64;
const THREADS: usize = 128;

pub(super) const WORKLOAD: Workload = Workload {
    name: "flashattention",
    summary: "attention in half precision with softmax online, forward, in the manner of FlashAttention-2",
    character: "mma on tiles that are copied asynchronously, exponentials between them (PTX for sm_80)",
    suite: Suite::Own,
    papers: &[],
    module: bundled!("transformer"),
    parameters: &[
        Parameter::new("length", "queries and keys of a head", [192, 512, 2048], 1, 16384),
        Parameter::new("heads", "heads of a sequence", [2, 4, 2], 1, 128),
        Parameter::new("batch", "sequences", [1, 1, 1], 1, 128),
        Parameter::new("causal", "whether queries see no later keys: 0 or 1", [0; 3], 0, 1).variant(),
    ],
    body,
};

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    check(run, |run, shape, [q, k, v], out| {
        launch(run, shape, [q, k, v, out].map(|buffer| buffer.address), shape.stride)
    })
}

/// Draws queries, keys and values, launches attention, and compares with the reference.
pub(super) fn check<'a>(
    run: &mut Run<'a>,
    launch: impl FnOnce(&mut Run<'a>, &Shape, [Buffer; 3], Buffer) -> Result<(), WorkloadError>,
) -> Result<(), WorkloadError> {
    let (length, heads, batch) = (run.param("length"), run.param("heads"), run.param("batch"));
    let shape = Shape { length, heads, batch, causal: run.param("causal") == 1, stride: heads * WIDTH };
    let count = batch * length * shape.stride;
    let inputs = [(); 3].map(|()| normal_halves(run, count));
    let [q, k, v] = [0, 1, 2].map(|i| run.upload(["q", "k", "v"][i], &inputs[i]));
    let out = run.alloc::<u16>("out", count)?;
    launch(run, &shape, [q?, k?, v?], out)?;
    let got = floats(&run.download::<u16>(out)?);
    let [q, k, v] = inputs.map(|halves| floats(&halves));
    run.check_bounds("out", &got, &attention(&shape, [&q, &k, &v]));
    Ok(())
}

/// Heads whose vectors are parts of the rows of a matrix, a row for each position of a sequence.
pub(super) struct Shape {
    pub length: usize,
    pub heads: usize,
    pub batch: usize,
    pub causal: bool,
    /// Values of a row.
    pub stride: usize,
}

impl Shape {
    /// Last arguments of a kernel: the factor of scores as exponents of 2, and the mask.
    pub fn softmax_args(&self) -> [ArgBytes; 2] {
        [score_scale().into(), i32::from(self.causal).into()]
    }
}

/// Launches the kernel on queries, keys, values and results at these addresses.
pub(super) fn launch(
    run: &mut Run<'_>,
    shape: &Shape,
    pointers: [u64; 4],
    out_stride: usize,
) -> Result<(), WorkloadError> {
    let numbers = [shape.length, shape.stride, out_stride].map(|n| (n as i32).into());
    let args = [&pointers.map(Into::into)[..], &numbers, &shape.softmax_args()];
    let grid = [shape.length.div_ceil(TILE), shape.heads, shape.batch];
    run.launch("flash_attention", grid, THREADS, &args.concat())
}

fn score_scale() -> f32 {
    std::f32::consts::LOG2_E / (WIDTH as f32).sqrt()
}

/// Halves of about a normal distribution.
pub(super) fn normal_halves(run: &mut Run<'_>, count: usize) -> Vec<u16> {
    // The sum of four numbers has the variance 4/12.
    let sums = run.floats(4 * count, -0.5, 0.5);
    let sum = |four: &[f32]| four.iter().sum::<f32>() * 3f32.sqrt();
    sums.chunks(4).map(|four| half::from_f32::<half::F16>(sum(four), Rounding::NearestEven)).collect()
}

/// Halves of an even distribution from `-most` to `most`.
pub(super) fn halves_in(run: &mut Run<'_>, count: usize, most: f32) -> Vec<u16> {
    let values = run.floats(count, -most, most);
    values.into_iter().map(|x| half::from_f32::<half::F16>(x, Rounding::NearestEven)).collect()
}

/// The values of halves.
pub(super) fn floats(halves: &[u16]) -> Vec<f32> {
    halves.iter().map(|&bits| half::to_f64::<half::F16>(bits) as f32).collect()
}

/// Attention of queries, keys and values, whose vectors are `shape.stride` apart; of the results they are side by side.
pub(super) fn attention(shape: &Shape, [q, k, v]: [&[f32]; 3]) -> Vec<F16> {
    let mut out = Vec::with_capacity(shape.batch * shape.length * shape.heads * WIDTH);
    for row in 0..shape.batch * shape.length {
        let (sequence, position) = (row / shape.length * shape.length, row % shape.length);
        let seen = sequence..sequence + if shape.causal { position + 1 } else { shape.length };
        for head in 0..shape.heads {
            let vector = |of: &'_ [f32], row: usize| row * shape.stride + head * WIDTH..of.len();
            let query = &q[vector(q, row)][..WIDTH];
            let scores = seen.clone().map(|key| F32::on_tensor_cores(query, &k[vector(k, key)][..WIDTH]));
            let weights = Weights::of(&scores.collect::<Vec<_>>());
            let (mut sums, mut sizes, mut values) = ([0.0; WIDTH], [0.0; WIDTH], [0.0; WIDTH]);
            for (key, weight) in seen.clone().zip(&weights.values) {
                for (i, &value) in v[vector(v, key)][..WIDTH].iter().enumerate() {
                    let value = f64::from(value);
                    sums[i] += weight * value;
                    sizes[i] += weight * value.abs();
                    values[i] += value.abs();
                }
            }
            out.extend((0..WIDTH).map(|i| weights.mean(sums[i], sizes[i], values[i])));
        }
    }
    out
}

/// The weights of a query's keys, relative to the greatest, and the bounds of the results.
struct Weights {
    values: Vec<f64>,
    /// Bound on their relative error in single precision.
    error: f64,
}

/// Half an ulp of single precision, relative.
const UNIT: f64 = 1.0 / (1 << 24) as f64;

impl Weights {
    fn of(scores: &[F32]) -> Self {
        let scale = f64::from(score_scale());
        let greatest = scores.iter().map(|s| s.value()).fold(f64::NEG_INFINITY, f64::max);
        let size = scores.iter().map(|s| s.value().abs()).fold(0.0, f64::max) * scale;
        let error = scores.iter().map(|s| s.error()).fold(0.0, f64::max) * scale;
        let values = scores.iter().map(|s| ((s.value() - greatest) * scale).exp2()).collect();
        // An exponent is a difference of rounded products, `ex2.approx` has a relative error of 2^-22. Each step over the
        // keys scales what was summed up before by such a power, for the greatest score so far.
        let power = std::f64::consts::LN_2 * (2.0 * error + 4.0 * size * UNIT) + 5.0 * UNIT;
        let steps = scores.len().div_ceil(TILE) as f64;
        Self { values, error: (1.0 + steps) * power }
    }

    /// The mean of values by these weights; given are the sum of their products, the sum without signs, and the sum of the
    /// values without signs.
    fn mean(&self, sum: f64, size: f64, values: f64) -> F16 {
        let count = self.values.len() as f64;
        let total: f64 = self.values.iter().sum();
        // Weights are rounded to half precision before they meet the values on tensor cores, which cut off four products
        // and the sum below 23 bits.
        let half = 1.0 / (1 << 11) as f64;
        let products =
            size * (self.error + half + count.div_euclid(4.0) * 12.0 * UNIT) + values * half / (1 << 14) as f64;
        F32::with_error(sum, products + size * 12.0 * UNIT)
            .over(F32::with_error(total, total * (self.error + count * UNIT)), 3.0)
            .convert()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_scores_give_the_mean_and_a_great_one_its_value() {
        let shape = Shape { length: 2, heads: 1, batch: 1, causal: false, stride: WIDTH };
        let [zeros, mut q, mut k] = [0.0, 0.0, 0.0].map(|x| vec![x; 2 * WIDTH]);
        let v: Vec<f32> = (0..2 * WIDTH).map(|i| if i < WIDTH { 1.0 } else { 3.0 }).collect();
        assert!(attention(&shape, [&zeros, &k, &v]).iter().all(|mean| mean.value() == 2.0));
        (q[WIDTH], k[WIDTH]) = (100.0, 100.0);
        let out = attention(&shape, [&q, &k, &v]);
        assert_eq!((out[0].value(), out[WIDTH].value()), (2.0, 3.0));
        let first = attention(&Shape { causal: true, ..shape }, [&q, &k, &v])[0];
        assert!(first.value() == 1.0 && first.error() < 0.002, "{first:?}");
    }
}
