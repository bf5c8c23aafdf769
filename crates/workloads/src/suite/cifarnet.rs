//! A network that classifies small pictures.

use crate::bounded::F32;
use crate::bundled;
use crate::check::Check;
use crate::device::Buffer;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};

const TAPS: usize = 5;
const COLOURS: usize = 3;
const HIDDEN: usize = 64;
const CLASSES: usize = 10;
/// CUDA's exponential is accurate to 2 ulp (CUDA C++ Programming Guide, table of single-precision functions).
const EXP_ULPS: f64 = 2.0;

pub(super) const WORKLOAD: Workload = Workload {
    name: "cifarnet",
    summary: "a network that classifies pictures of 32 x 32: three layers of convolutions with pooling, two connected",
    character: "nine launches, a CTA per plane: large CTAs in the first layers, few warps at the end; chains of multiply-adds",
    suite: Suite::Tango,
    papers: &[("ghost", "CN")],
    module: bundled!("cifarnet"),
    parameters: &[
        Parameter::new("pictures", "pictures", [1, 1, 4], 1, 1024),
        Parameter::new("side", "rows and columns of a picture", [16, 32, 32], 8, 32).in_steps_of(8),
        Parameter::new(
            "maps",
            "planes of the first and second layer; the third has twice as many",
            [6, 16, 32],
            1,
            256,
        ),
    ],
    body,
};

/// Pooling of the sums of a convolution layer.
#[derive(Clone, Copy, PartialEq)]
enum Pooling {
    /// The largest of 3 x 3, or zero.
    Largest,
    /// The average of 3 x 3, of sums or zero.
    Average,
}

struct Layer {
    filters: Vec<f32>,
    bias: Vec<f32>,
    pooling: Pooling,
}

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let [pictures, mut side, maps] = ["pictures", "side", "maps"].map(|name| run.param(name));
    let input = run.floats(pictures * COLOURS * side * side, -1.0, 1.0);
    let planes = [COLOURS, maps, maps, 2 * maps];
    let mut layers = Vec::new();
    for (depths, pooling) in planes.windows(2).zip([Pooling::Largest, Pooling::Average, Pooling::Average]) {
        let filters = run.floats(depths[1] * depths[0] * TAPS * TAPS, -0.2, 0.2);
        layers.push(Layer { filters, bias: run.floats(depths[1], -0.2, 0.2), pooling });
    }

    let mut values = input.clone();
    let mut on_device = run.upload("pictures", &input)?;
    for (number, layer) in layers.iter().enumerate() {
        on_device = convolved(run, on_device, layer, pictures, side)?;
        values = layer.of(&values, pictures, side);
        side /= 2;
        let got = run.download::<f32>(on_device)?;
        run.check(Check::same_bits(&format!("layer {}", number + 1), &got, &values));
    }
    for (name, outputs) in [("hidden", HIDDEN), ("classes", CLASSES)] {
        let inputs = values.len() / pictures;
        let (weights, bias) = (run.floats(outputs * inputs, -0.1, 0.1), run.floats(outputs, -0.1, 0.1));
        let buffers = [on_device, run.upload("weights", &weights)?, run.upload("bias", &bias)?];
        on_device = run.alloc::<f32>(name, pictures * outputs)?;
        let args = [&buffers.map(Into::into)[..], &[on_device.into(), (inputs as i32).into()]].concat();
        run.launch("connect", pictures, outputs, &args)?;
        let of = |picture: &[f32]| -> Vec<f32> {
            let rows = weights.chunks_exact(inputs).zip(&bias);
            rows.map(|(row, bias)| row.iter().zip(picture).fold(*bias, |sum, (w, x)| x.mul_add(*w, sum))).collect()
        };
        values = values.chunks_exact(inputs).flat_map(of).collect();
        let got = run.download::<f32>(on_device)?;
        run.check(Check::same_bits(name, &got, &values));
    }
    let shares = run.alloc::<f32>("shares", values.len())?;
    run.launch("softmax", pictures, CLASSES, &[on_device.into(), shares.into()])?;
    let got = run.download::<f32>(shares)?;
    run.check_bounds("shares", &got, &values.chunks_exact(CLASSES).flat_map(softmax).collect::<Vec<_>>());
    Ok(())
}

/// A layer's two launches; where its result is.
fn convolved(
    run: &mut Run<'_>,
    input: Buffer,
    layer: &Layer,
    pictures: usize,
    side: usize,
) -> Result<Buffer, WorkloadError> {
    let outputs = layer.bias.len();
    let planes = layer.filters.len() / outputs / (TAPS * TAPS);
    let (filters, bias) = (run.upload("filters", &layer.filters)?, run.upload("bias", &layer.bias)?);
    let sums = run.alloc::<f32>("sums", pictures * outputs * side * side)?;
    let pooled = run.alloc::<f32>("pooled", pictures * outputs * side * side / 4)?;
    let rectify = i32::from(layer.pooling == Pooling::Average);
    let buffers = [input, filters, bias, sums].map(Into::into);
    let args = [&buffers[..], &[(planes as i32).into(), rectify.into()]].concat();
    run.launch("convolve", [outputs, pictures], [side, side], &args)?;
    let kernel = if layer.pooling == Pooling::Largest { "max_pool" } else { "average_pool" };
    run.launch(kernel, [outputs, pictures], [side / 2, side / 2], &[sums.into(), pooled.into()])?;
    Ok(pooled)
}

impl Layer {
    /// The result for pictures of planes with this side.
    fn of(&self, input: &[f32], pictures: usize, side: usize) -> Vec<f32> {
        let each = self.filters.len() / self.bias.len();
        let mut out = Vec::new();
        for picture in input.chunks_exact(input.len() / pictures) {
            for (filter, bias) in self.filters.chunks_exact(each).zip(&self.bias) {
                let sums: Vec<f32> = (0..side * side).map(|at| sum_at(picture, filter, *bias, side, at)).collect();
                out.extend((0..side * side / 4).map(|at| self.pooled(&sums, side, at)));
            }
        }
        out
    }

    fn pooled(&self, sums: &[f32], side: usize, at: usize) -> f32 {
        let window = |start: usize| 2 * start..(2 * start + 3).min(side);
        let columns = window(at % (side / 2));
        let rows = window(at / (side / 2));
        let points = rows.flat_map(|y| columns.clone().map(move |x| sums[y * side + x].max(0.0)));
        match self.pooling {
            Pooling::Largest => points.fold(0.0, f32::max),
            Pooling::Average => points.clone().fold(0.0, |sum, point| sum + point) / points.count() as f32,
        }
    }
}

/// A point of a layer's sums.
fn sum_at(picture: &[f32], filter: &[f32], bias: f32, side: usize, at: usize) -> f32 {
    let inside = |place: usize, tap: usize| (place + tap).checked_sub(TAPS / 2).filter(|&place| place < side);
    let (x, y) = (at % side, at / side);
    let mut sum = bias;
    for (plane, taps) in picture.chunks_exact(side * side).zip(filter.chunks_exact(TAPS * TAPS)) {
        for row in 0..TAPS {
            let Some(from) = inside(y, row) else { continue };
            for column in 0..TAPS {
                let value = inside(x, column).map_or(0.0, |at| plane[from * side + at]);
                sum = value.mul_add(taps[row * TAPS + column], sum);
            }
        }
    }
    sum
}

fn softmax(values: &[f32]) -> Vec<F32> {
    let largest = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let powers: Vec<F32> = values.iter().map(|&value| (F32::from(value) - F32::from(largest)).exp(EXP_ULPS)).collect();
    let sum = powers.iter().fold(F32::exact(0.0), |sum, power| sum + *power);
    powers.iter().map(|power| *power / sum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_end_with_the_plane() {
        // A filter that shifts a plane of 4 x 4 to the left.
        let mut filters = vec![0.0; TAPS * TAPS];
        filters[2 * TAPS + 3] = 1.0;
        let plane: Vec<f32> = (0..16).map(|i| i as f32 - 4.0).collect();
        let layer = |pooling| Layer { filters: filters.clone(), bias: vec![0.0], pooling };
        assert_eq!(layer(Pooling::Largest).of(&plane, 1, 4), [7.0, 7.0, 11.0, 11.0]);
        // 0 to 2, 5 to 7 of the first three rows, whose first is negative.
        let averages = layer(Pooling::Average).of(&plane, 1, 4);
        assert_eq!(averages, [24.0 / 9.0, 10.0 / 6.0, 48.0 / 6.0, 18.0 / 4.0]);
    }

    #[test]
    fn shares_add_up() {
        let shares = softmax(&[0.0, 0.0, -100.0]);
        assert!((shares[0].value() - 0.5).abs() < 1e-6 && shares[2].value() < 1e-40);
    }
}
