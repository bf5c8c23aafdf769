//! A layer of convolutions.

use crate::bundled;
use crate::check::Check;
use crate::device::{ArgBytes, Buffer};
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};

const THREADS: usize = 128;
/// Points and maps of a CTA.
const TILE: [usize; 2] = [128, 64];

pub(super) const WORKLOAD: Workload = Workload {
    name: "convlayer",
    summary: "a layer of convolutions and its gradients by data and by filters, as implicit matrix products",
    character: "hundreds of independent multiply-adds a barrier, tables of offsets; many registers and few warps",
    suite: Suite::DeepBench,
    papers: &[("socgpu", "conv_train, conv_inference")],
    module: bundled!("convlayer"),
    parameters: &[
        Parameter::new("training", "1: with the gradients; 0: forward only", [1; 3], 0, 1).variant(),
        Parameter::new("width", "columns of a plane", [12, 7, 14], 1, 1024),
        Parameter::new("height", "rows of a plane", [12, 7, 14], 1, 1024),
        Parameter::new("channels", "planes of an input", [4, 64, 128], 1, 4096),
        Parameter::new("batch", "inputs", [1, 2, 2], 1, 256),
        Parameter::new("filters", "filters, planes of an output", [4, 64, 128], 1, 4096),
        Parameter::new("taps_across", "columns of a filter", [3; 3], 1, 32),
        Parameter::new("taps_down", "rows of a filter", [3; 3], 1, 32),
        Parameter::new("pad", "zeros around a plane", [1; 3], 0, 32),
        Parameter::new("stride", "distance of the places of a filter", [2, 1, 1], 1, 32),
    ],
    body,
};

/// Sizes of a layer. Arrays are by input, then by plane, row and column; filters by filter, then likewise.
struct Layer {
    batch: usize,
    channels: usize,
    filters: usize,
    /// Rows and columns of an input's plane, of a filter and of an output's plane.
    input: [usize; 2],
    taps: [usize; 2],
    output: [usize; 2],
    pad: usize,
    stride: usize,
}

/// `Place` of the kernels: plane, row, column, offset in the other array.
type Place = [i32; 4];

/// One of the passes as a matrix product.
struct Pass<'a> {
    points: &'a [Place],
    terms: &'a [Place],
    maps: usize,
    plane: [usize; 2],
    weight_step: usize,
    out_step: usize,
    /// Of the places that are read.
    stride: usize,
}

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let layer = layer(run)?;
    let [inputs, weights, outputs] = layer.counts();
    let x = run.floats(inputs, -1.0, 1.0);
    let w = run.floats(weights, -1.0, 1.0);
    let (dx, dw) = (run.upload("inputs", &x)?, run.upload("filters", &w)?);
    let out = run.alloc::<f32>("outputs", outputs)?;
    let (pixels, taps) = (layer.output_pixels(), layer.taps());
    let forward = Pass {
        points: &pixels,
        terms: &taps,
        maps: layer.filters,
        plane: layer.input,
        weight_step: taps.len(),
        out_step: area(layer.output),
        stride: 1,
    };
    launch(run, &forward, [dx, dw, out])?;
    let got = run.download::<f32>(out)?;
    run.check(Check::same_bits("outputs", &got, &layer.forward(&x, &w)));
    if run.param("training") == 0 {
        return Ok(());
    }

    let y = run.floats(outputs, -1.0, 1.0);
    let dy = run.upload("gradient of outputs", &y)?;
    let gradient = run.alloc::<f32>("gradient of filters", weights)?;
    let by_taps =
        Pass { points: &taps, terms: &pixels, weight_step: area(layer.output), out_step: taps.len(), ..forward };
    launch(run, &by_taps, [dx, dy, gradient])?;
    let got = run.download::<f32>(gradient)?;
    run.check(Check::same_bits("gradient of filters", &got, &layer.gradient_of_filters(&x, &y)));

    let gradient = run.alloc::<f32>("gradient of inputs", inputs)?;
    let by_data = Pass {
        points: &layer.input_pixels(),
        terms: &layer.taps_backwards(),
        maps: layer.channels,
        plane: layer.output,
        weight_step: area(layer.taps),
        out_step: area(layer.input),
        stride: layer.stride,
    };
    launch(run, &by_data, [dy, dw, gradient])?;
    let got = run.download::<f32>(gradient)?;
    run.check(Check::same_bits("gradient of inputs", &got, &layer.gradient_of_inputs(&y, &w)));
    Ok(())
}

/// The layer that the parameters describe.
fn layer(run: &Run<'_>) -> Result<Layer, WorkloadError> {
    let bad = |name: &'static str, rule: &str| {
        let value = run.param(name) as u64;
        Err(WorkloadError::BadParameter { workload: WORKLOAD.name, name, value, rule: rule.to_owned() })
    };
    let [height, width, down, across] = ["height", "width", "taps_down", "taps_across"].map(|name| run.param(name));
    let (pad, stride) = (run.param("pad"), run.param("stride"));
    for (name, taps, size) in [("taps_across", across, width), ("taps_down", down, height)] {
        if taps > size + 2 * pad {
            return bad(name, "a filter must fit into the plane with its zeros");
        }
    }
    let places = |size: usize, taps: usize| (size + 2 * pad - taps) / stride + 1;
    let layer = Layer {
        batch: run.param("batch"),
        channels: run.param("channels"),
        filters: run.param("filters"),
        input: [height, width],
        taps: [down, across],
        output: [places(height, down), places(width, across)],
        pad,
        stride,
    };
    if layer.counts().iter().any(|&count| i32::try_from(count).is_err()) {
        return bad("batch", "inputs, filters and outputs must have fewer than 2^31 numbers each");
    }
    Ok(layer)
}

fn launch(run: &mut Run<'_>, pass: &Pass<'_>, [planes, weights, out]: [Buffer; 3]) -> Result<(), WorkloadError> {
    let [points, terms] = [("points", pass.points), ("terms", pass.terms)]
        .map(|(name, table)| run.upload(name, &table.iter().flatten().copied().collect::<Vec<_>>()));
    let [height, width] = pass.plane;
    let sizes =
        [pass.points.len(), pass.maps, pass.terms.len(), height, width, pass.weight_step, pass.out_step, pass.stride];
    let sizes = ArgBytes::from_bytes(sizes.iter().flat_map(|&size| (size as i32).to_le_bytes()).collect());
    let kernel = if pass.stride == 1 { "implicit_gemm" } else { "implicit_gemm_strided" };
    let grid = [pass.points.len().div_ceil(TILE[0]), pass.maps.div_ceil(TILE[1])];
    run.launch(
        kernel,
        grid,
        THREADS,
        &[planes.into(), weights.into(), out.into(), points?.into(), terms?.into(), sizes],
    )
}

fn area([height, width]: [usize; 2]) -> usize {
    height * width
}

/// All of `planes` x rows x columns, in order, with their number.
fn each(planes: usize, [height, width]: [usize; 2]) -> impl Iterator<Item = (usize, [usize; 3])> {
    (0..planes * height * width).map(move |i| (i, [i / (height * width), i / width % height, i % width]))
}

impl Layer {
    /// Numbers of all inputs, filters and outputs.
    fn counts(&self) -> [usize; 3] {
        let maps = self.channels * self.filters;
        let [inputs, outputs] = [(self.channels, self.input), (self.filters, self.output)]
            .map(|(planes, size)| self.batch.saturating_mul(planes * area(size)));
        [inputs, maps * area(self.taps), outputs]
    }

    /// Row or column of a plane that a tap sees, where it is in the plane.
    fn seen(&self, axis: usize, place: usize, tap: usize) -> Option<usize> {
        (place * self.stride + tap).checked_sub(self.pad).filter(|&at| at < self.input[axis])
    }

    /// Output pixels as places of inputs, and their offset in the outputs.
    fn output_pixels(&self) -> Vec<Place> {
        let [inputs, outputs] = [self.channels * area(self.input), self.filters * area(self.output)];
        let corner = |place: usize| (place * self.stride) as i32 - self.pad as i32;
        let place = |[input, row, column]: [usize; 3]| {
            let other = input * outputs + row * self.output[1] + column;
            [(input * inputs) as i32, corner(row), corner(column), other as i32]
        };
        each(self.batch, self.output).map(|(_, at)| place(at)).collect()
    }

    /// Taps of a filter as distances in an input, and their offset in the filter.
    fn taps(&self) -> Vec<Place> {
        let place = |(i, [channel, row, column]): (usize, [usize; 3])| {
            [channel * area(self.input), row, column, i].map(|number| number as i32)
        };
        each(self.channels, self.taps).map(place).collect()
    }

    /// Input pixels as places of outputs (times the stride), and their offset in the inputs.
    fn input_pixels(&self) -> Vec<Place> {
        let [inputs, outputs] = [self.channels * area(self.input), self.filters * area(self.output)];
        let place = |[input, row, column]: [usize; 3]| {
            let other = input * inputs + row * self.input[1] + column;
            [input * outputs, row + self.pad, column + self.pad, other].map(|number| number as i32)
        };
        each(self.batch, self.input).map(|(_, at)| place(at)).collect()
    }

    /// Taps of all filters as distances in an output (times the stride), and their offset in the filters.
    fn taps_backwards(&self) -> Vec<Place> {
        let place = |(_, [filter, row, column]): (usize, [usize; 3])| {
            let other = filter * self.channels * area(self.taps) + row * self.taps[1] + column;
            [(filter * area(self.output)) as i32, -(row as i32), -(column as i32), other as i32]
        };
        each(self.filters, self.taps).map(place).collect()
    }

    /// Calls `visit` with the offsets of input, weight and output of all products of a filter's tap with a pixel, in
    /// the order in which the products of an output, and of a tap, are added.
    fn products(&self, mut visit: impl FnMut(usize, usize, usize)) {
        for (out, [plane, row, column]) in each(self.batch * self.filters, self.output) {
            let (input, filter) = (plane / self.filters, plane % self.filters);
            for (tap, [channel, down, across]) in each(self.channels, self.taps) {
                let seen = [(0, row, down), (1, column, across)].map(|(axis, place, tap)| self.seen(axis, place, tap));
                let [Some(y), Some(x)] = seen else { continue };
                let from = ((input * self.channels + channel) * self.input[0] + y) * self.input[1] + x;
                visit(from, filter * self.channels * area(self.taps) + tap, out);
            }
        }
    }

    fn forward(&self, x: &[f32], w: &[f32]) -> Vec<f32> {
        let mut sums = vec![0.0f32; self.counts()[2]];
        self.products(|from, tap, out| sums[out] = x[from].mul_add(w[tap], sums[out]));
        sums
    }

    fn gradient_of_filters(&self, x: &[f32], y: &[f32]) -> Vec<f32> {
        let mut sums = vec![0.0f32; self.counts()[1]];
        self.products(|from, tap, out| sums[tap] = x[from].mul_add(y[out], sums[tap]));
        sums
    }

    fn gradient_of_inputs(&self, y: &[f32], w: &[f32]) -> Vec<f32> {
        // Place of the output of which a tap sees the row or column, if there is one.
        let place = |axis: usize, at: usize, tap: usize| {
            let distance = (at + self.pad).checked_sub(tap).filter(|distance| distance.is_multiple_of(self.stride))?;
            Some(distance / self.stride).filter(|&place| place < self.output[axis])
        };
        let sum = |(_, [plane, row, column]): (usize, [usize; 3])| {
            let (input, channel) = (plane / self.channels, plane % self.channels);
            let rows: Vec<[usize; 2]> = (0..self.taps[0]).filter_map(|tap| Some([tap, place(0, row, tap)?])).collect();
            let columns: Vec<[usize; 2]> =
                (0..self.taps[1]).filter_map(|tap| Some([tap, place(1, column, tap)?])).collect();
            let mut sum = 0.0f32;
            for filter in 0..self.filters {
                let weights = &w[(filter * self.channels + channel) * area(self.taps)..];
                let outputs = &y[(input * self.filters + filter) * area(self.output)..];
                for [down, row] in &rows {
                    for [across, column] in &columns {
                        let output = outputs[row * self.output[1] + column];
                        sum = output.mul_add(weights[down * self.taps[1] + across], sum);
                    }
                }
            }
            sum
        };
        each(self.batch * self.channels, self.input).map(sum).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Layer =
        Layer { batch: 1, channels: 1, filters: 1, input: [3, 3], taps: [2, 2], output: [2, 2], pad: 1, stride: 2 };

    #[test]
    fn a_filter_is_not_reversed() {
        let x: Vec<f32> = (1..=9).map(|i| i as f32).collect();
        // Only the last tap of the first place is inside, and so on; the last place sees the pixels 5, 6, 8 and 9.
        let w = [1.0, 10.0, 100.0, 1000.0];
        assert_eq!(SMALL.forward(&x, &w), [1000.0, 3200.0, 7040.0, 9865.0]);
    }

    #[test]
    fn gradients_are_those_of_the_sum_of_outputs() {
        let x: Vec<f32> = (1..=9).map(|i| i as f32).collect();
        let (w, y) = ([1.0, 2.0, 3.0, 4.0], [1.0, 0.0, 0.0, 2.0]);
        // The first output is 4 x[0], the last x[4] + 2 x[5] + 3 x[7] + 4 x[8].
        assert_eq!(SMALL.gradient_of_inputs(&y, &w), [4.0, 0.0, 0.0, 0.0, 2.0, 4.0, 0.0, 6.0, 8.0]);
        assert_eq!(SMALL.gradient_of_filters(&x, &y), [10.0, 12.0, 16.0, 1.0 + 18.0]);
    }
}
