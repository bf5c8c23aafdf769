//! A neural network that reads handwritten digits.

use crate::bounded::F32;
use crate::bundled;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};

/// Width of a digit and of the maps of the first and second layer.
const SIDES: [usize; 3] = [29, 13, 5];
const MAPS1: usize = 6;
/// Width of what a neuron of the first two layers sees of a map.
const SEEN: usize = 5;
const RESULTS: usize = 10;
/// CUDA's hyperbolic tangent is accurate to 2 ulp (CUDA C++ Programming Guide, table of single-precision functions).
const TANH_ULPS: f64 = 2.0;

pub(super) const WORKLOAD: Workload = Workload {
    name: "digits",
    summary: "a neural network that reads handwritten digits: two layers of convolutions, two of neurons that see all",
    character: "CTAs of 169, 25 and 1 thread: warps are mostly empty, and one thread sums up a thousand products",
    suite: Suite::Ispass,
    papers: &[("war", "NN")],
    module: bundled!("digits"),
    parameters: &[
        Parameter::new("digits", "digits that are read", [1, 3, 28], 1, 4096),
        Parameter::new("maps", "maps of the second layer", [8, 50, 50], 1, 1024),
        Parameter::new("hidden", "neurons of the third layer", [20, 100, 100], 1, 4096),
    ],
    body,
};

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let (digits, maps, hidden) = (run.param("digits"), run.param("maps"), run.param("hidden"));
    let [side, side1, side2] = SIDES;
    // Inputs of each neuron, and neurons or maps, by layer.
    let inputs = [SEEN * SEEN, MAPS1 * SEEN * SEEN, maps * side2 * side2, hidden];
    let neurons = [MAPS1, maps, hidden, RESULTS];
    let outputs = [MAPS1 * side1 * side1, maps * side2 * side2, hidden, RESULTS];
    let image = run.floats(digits * side * side, -1.0, 1.0);
    let weights: [Vec<f32>; 4] = std::array::from_fn(|layer| {
        let most = 1.0 / (inputs[layer] as f32).sqrt();
        run.floats(neurons[layer] * (1 + inputs[layer]), -most, most)
    });

    let mut values = vec![run.upload("digits", &image)?];
    let kernels = ["first_features", "second_features", "neuron", "neuron"];
    let ctas = [[side1; 2], [side2; 2], [1; 2], [1; 2]];
    for layer in 0..kernels.len() {
        let layer_weights = run.upload("weights", &weights[layer])?;
        let out = run.alloc::<f32>("values", digits * outputs[layer])?;
        let mut args = vec![values[layer].into(), layer_weights.into(), out.into()];
        if kernels[layer] == "neuron" {
            args.push((inputs[layer] as i32).into());
        }
        run.launch(kernels[layer], [neurons[layer], digits], ctas[layer], &args)?;
        values.push(out);
    }

    // Each layer from what the device had of the one before: so errors do not add up.
    let mut before = image;
    for layer in 0..kernels.len() {
        let got = run.download::<f32>(values[layer + 1])?;
        let expected: Vec<F32> = before
            .chunks_exact(before.len() / digits)
            .flat_map(|digit| match layer {
                0 => features(digit, &weights[0], 1, side, side1),
                1 => features(digit, &weights[1], MAPS1, side1, side2),
                _ => weights[layer].chunks_exact(1 + inputs[layer]).map(|mine| neuron(mine, digit)).collect(),
            })
            .collect();
        run.check_bounds(["layer 1", "layer 2", "layer 3", "layer 4"][layer], &got, &expected);
        before = got;
    }
    Ok(())
}

/// The activation function of all neurons.
fn activation(sum: F32) -> F32 {
    F32::from(1.7159) * (F32::from(0.666_666_7) * sum).tanh(TANH_ULPS)
}

/// A neuron that sees all values. The first weight is the bias.
fn neuron(weights: &[f32], values: &[f32]) -> F32 {
    let products = weights[1..].iter().zip(values).map(|(&weight, &value)| F32::exact_product(weight, value));
    activation(products.fold(weights[0].into(), |sum, product| sum + product))
}

/// Maps of `to` x `to` neurons from `count` maps of `from` x `from` values, of which each neuron sees squares.
fn features(values: &[f32], weights: &[f32], count: usize, from: usize, to: usize) -> Vec<F32> {
    let mut out = Vec::new();
    for mine in weights.chunks_exact(1 + count * SEEN * SEEN) {
        for place in 0..to * to {
            let corner = place / to * 2 * from + place % to * 2;
            let rows = values.chunks_exact(from * from).flat_map(|map| map[corner..].chunks(from).take(SEEN));
            let seen: Vec<f32> = rows.flat_map(|row| &row[..SEEN]).copied().collect();
            out.push(neuron(mine, &seen));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounded::Values;

    #[test]
    fn neurons_see_their_squares() {
        // Weights of 1 for the middle of the square on the second of two maps.
        let mut weights = vec![0.0; 1 + 2 * SEEN * SEEN];
        weights[1 + SEEN * SEEN + 2 * SEEN + 2] = 1.0;
        let mut values = vec![0.0; 2 * 81];
        values[81 + 4 * 9 + 6] = 1.5;
        let out = features(&values, &weights, 2, 9, 3).map_values();
        let expected = 1.7159 * 1.0f64.tanh();
        assert!((out[3 + 2] - expected).abs() < 1e-6, "{out:?}");
        assert!(out.iter().enumerate().all(|(i, value)| i == 5 || *value == 0.0));
    }

    #[test]
    fn the_first_weight_is_the_bias() {
        assert!((neuron(&[0.5, 2.0], &[-0.25]).value()).abs() < 1e-12);
    }
}
