//! One training step of a two-layer perceptron.

use crate::bounded::{Bounded, F32};
use crate::bundled;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};

const SIDE: usize = 16;
/// Hidden units: the kernels are written for one CTA across.
const HIDDEN: usize = SIDE;
const STRIDE: usize = HIDDEN + 1;
/// Learning rate and momentum, of which the constants of either precision are made.
const RATE: f64 = 0.3;
const MOMENTUM: f64 = 0.3;
const SINGLE: u32 = 24;
const DOUBLE: u32 = 53;

pub(super) const WORKLOAD: Workload = Workload {
    name: "backprop",
    summary: "one training step of a perceptron: forward sums, then weight adjustment",
    character: "a tree in shared memory that idles ever more threads; double precision in the update",
    suite: Suite::Rodinia,
    papers: &[("ghost", "BAK"), ("socgpu", "backprop"), ("scalar", "backprop"), ("sgmf", "BPNN")],
    module: bundled!("backprop"),
    parameters: &[
        Parameter::new("inputs", "input units", [1024, 16384, 163_840], 16, 65_535 * 16).in_steps_of(SIDE as u64),
        Parameter::new("constant_words", "precision of the update: 2 double, 1 single", [2; 3], 1, 2).variant(),
    ],
    body,
};

/// New weights and changes of delta, input, weights and changes.
type Adjust = fn(&[f32], &[f32], &[f32], &[f32]) -> (Vec<F32>, Vec<F32>);

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let inputs = run.param("inputs");
    let rows = inputs + 1;
    let mut input = run.floats(rows, 0.0, 1.0);
    input[0] = 1.0;
    let weights = run.floats(rows * STRIDE, -0.05, 0.05);
    let change = run.floats(rows * STRIDE, -0.01, 0.01);
    let output_weights = run.floats(STRIDE, -1.0, 1.0);
    let target = run.float(0.0, 1.0);

    let blocks = inputs / SIDE;
    let (d_input, d_weights) = (run.upload("input", &input)?, run.upload("weights", &weights)?);
    let d_change = run.upload("change", &change)?;
    let d_partial = run.alloc::<f32>("partial", blocks * HIDDEN)?;
    let hidden_arg = HIDDEN as i32;
    let args = [d_input.into(), d_weights.into(), d_partial.into(), hidden_arg.into()];
    run.launch("layer_forward", [1, blocks], [SIDE, SIDE], &args)?;
    let partial = run.download::<f32>(d_partial)?;
    run.check_bounds("partial", &partial, &partial_sums(&input, &weights, blocks));

    let delta = deltas(&partial, &weights, &output_weights, target);
    let d_delta = run.upload("delta", &delta)?;
    let args = [d_delta.into(), d_input.into(), d_weights.into(), d_change.into(), hidden_arg.into()];
    let (kernel, adjusted) = match run.param("constant_words") {
        1 => ("adjust_weights_single", adjusted::<SINGLE> as Adjust),
        _ => ("adjust_weights", adjusted::<DOUBLE> as Adjust),
    };
    run.launch(kernel, [1, blocks], [SIDE, SIDE], &args)?;
    let (got_weights, got_change) = (run.download::<f32>(d_weights)?, run.download::<f32>(d_change)?);
    let (expected_weights, expected_change) = adjusted(&delta, &input, &weights, &change);
    run.check_bounds("weights", &got_weights, &expected_weights);
    run.check_bounds("change", &got_change, &expected_change);
    Ok(())
}

/// Weighted inputs of each CTA's rows by hidden unit, added by the kernel's tree.
fn partial_sums(input: &[f32], weights: &[f32], blocks: usize) -> Vec<F32> {
    let mut sums = Vec::with_capacity(blocks * HIDDEN);
    for block in 0..blocks {
        for unit in 1..=HIDDEN {
            let mut terms: [F32; SIDE] = std::array::from_fn(|i| {
                let row = block * SIDE + i + 1;
                F32::from(weights[row * STRIDE + unit]) * F32::from(input[row])
            });
            for half in [1, 2, 4, 8] {
                for i in (0..SIDE).step_by(2 * half) {
                    terms[i] = terms[i] + terms[i + half];
                }
            }
            sums.push(terms[0]);
        }
    }
    sums
}

/// The host's part: hidden activations, one output unit, and the error of each hidden unit.
fn deltas(partial: &[f32], weights: &[f32], output_weights: &[f32], target: f32) -> Vec<f32> {
    let squash = |x: f32| 1.0 / (1.0 + (-x).exp());
    let mut hidden = [1.0; STRIDE];
    for unit in 1..=HIDDEN {
        let sum: f32 = partial.iter().skip(unit - 1).step_by(HIDDEN).sum();
        hidden[unit] = squash(sum + weights[unit]);
    }
    let output = squash(hidden.iter().zip(output_weights).map(|(h, w)| h * w).sum());
    let output_delta = output * (1.0 - output) * (target - output);
    hidden.iter().zip(output_weights).map(|(h, w)| h * (1.0 - h) * output_delta * w).collect()
}

/// New weights and changes, computed with `P` bits. Row 0 is the bias; column 0 stays.
#[expect(clippy::needless_range_loop, reason = "row and unit index four arrays alike")]
fn adjusted<const P: u32>(delta: &[f32], input: &[f32], weights: &[f32], change: &[f32]) -> (Vec<F32>, Vec<F32>) {
    let exact = |values: &[f32]| values.iter().map(|&v| F32::from(v)).collect::<Vec<_>>();
    let value = |v: f32| Bounded::<P>::from(v);
    let constant = |c: f64| if P == SINGLE { value(c as f32) } else { Bounded::exact(c) };
    let (mut new_weights, mut new_change) = (exact(weights), exact(change));
    for row in 0..input.len() {
        for unit in 1..=HIDDEN {
            let index = row * STRIDE + unit;
            let mut gain = constant(RATE) * value(delta[unit]);
            if row > 0 {
                gain = gain * value(input[row]);
            }
            let step = gain + constant(MOMENTUM) * value(change[index]);
            new_weights[index] = (value(weights[index]) + step).convert();
            new_change[index] = step.convert();
        }
    }
    (new_weights, new_change)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_ones() {
        let sums = partial_sums(&[1.0; 33], &[0.5; 33 * STRIDE], 2);
        assert_eq!(sums.len(), 2 * HIDDEN);
        assert!(sums.iter().all(|s| s.value() == 8.0));
    }

    #[test]
    fn adjustment() {
        let mut delta = vec![0.0; STRIDE];
        delta[3] = 2.0;
        let (weights, change) = adjusted::<DOUBLE>(&delta, &[1.0, 0.5], &[1.0; 2 * STRIDE], &[0.0; 2 * STRIDE]);
        assert!((weights[3].value() - 1.6).abs() < 1e-12, "bias");
        assert!((weights[STRIDE + 3].value() - 1.3).abs() < 1e-12);
        assert!((change[STRIDE + 3].value() - 0.3).abs() < 1e-12);
        assert_eq!((weights[0].value(), weights[STRIDE].value(), weights[4].value()), (1.0, 1.0, 1.0));
        let (single, _) = adjusted::<SINGLE>(&delta, &[1.0, 0.5], &[1.0; 2 * STRIDE], &[0.0; 2 * STRIDE]);
        assert!((single[3].value() - 1.6).abs() < 1e-7 && single[3].error() > weights[3].error());
    }

    #[test]
    fn no_error_no_delta() {
        // Output 0.5 is right: nothing to learn.
        let delta = deltas(&[0.0; HIDDEN], &[0.0; STRIDE], &[0.0; STRIDE], 0.5);
        assert!(delta.iter().all(|&d| d == 0.0));
    }
}
