//! Units of long short-term memory that predict a price.

use super::gru::{hard_sigmoid, sums};
use crate::bounded::F64;
use crate::bundled;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};

/// The kernel's units: as many threads in a CTA.
const UNITS: usize = 100;
const GATES: usize = 4;
/// CUDA's hyperbolic tangent is accurate to 1 ulp (CUDA C++ Programming Guide, table of double-precision functions).
const TANH_ULPS: f64 = 1.0;

pub(super) const WORKLOAD: Workload = Workload {
    name: "lstm",
    summary: "a recurrent network that predicts a price after each of a series, 100 units of long short-term memory: one CTA",
    character: "one CTA on the GPU, in double precision; the sum of its last layer is of one thread",
    suite: Suite::Tango,
    papers: &[("ghost", "LSTM")],
    module: bundled!("lstm"),
    parameters: &[Parameter::new("steps", "prices of the series", [5, 160, 1600], 1, 4096)],
    body,
};

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let steps = run.param("steps");
    let prices = doubles(run, steps, 0.5, 1.0);
    let layer = Layer {
        weights: doubles(run, GATES * UNITS, -1.0, 1.0),
        recurrent: doubles(run, GATES * UNITS * UNITS, -0.1, 0.1),
        bias: doubles(run, GATES * UNITS, -0.5, 0.5),
    };
    let out_weights = doubles(run, UNITS + 1, -0.1, 0.1);
    let inputs = [
        run.upload("prices", &prices)?,
        run.upload("weights", &layer.weights)?,
        run.upload("recurrent", &layer.recurrent)?,
        run.upload("bias", &layer.bias)?,
        run.upload("out_weights", &out_weights)?,
    ];
    let states = run.alloc::<f64>("states", steps * UNITS)?;
    let predictions = run.alloc::<f64>("predictions", steps)?;
    let outputs = [states, predictions].map(Into::into);
    let args = [&inputs.map(Into::into)[..], &outputs, &[(steps as i32).into()]].concat();
    run.launch("lstm_prices", 1, UNITS, &args)?;
    let (states, predictions) = (run.download::<f64>(states)?, run.download::<f64>(predictions)?);

    let layer = layer.exact();
    let out_weights = exact(&out_weights);
    let mut cells = vec![F64::exact(0.0); UNITS];
    let mut before = cells.clone();
    for (step, &price) in prices.iter().enumerate() {
        let expected = layer.next(F64::exact(price), &before, &mut cells);
        let got = &states[step * UNITS..][..UNITS];
        run.check_bounds("states", got, &expected);
        // From the states that the device had: only the errors of the cells add up.
        before = exact(got);
        let terms = out_weights.iter().zip(&before).map(|(&weight, &state)| weight * state);
        let sum = terms.fold(out_weights[UNITS], |sum, term| sum + term);
        run.check_bounds("predictions", &predictions[step..=step], &[sum]);
    }
    Ok(())
}

fn doubles(run: &mut Run<'_>, count: usize, low: f32, high: f32) -> Vec<f64> {
    run.floats(count, low, high).into_iter().map(f64::from).collect()
}

fn exact(values: &[f64]) -> Vec<F64> {
    values.iter().copied().map(F64::exact).collect()
}

/// Weights of the price, of the states, and biases; each by gate: input, forget, output, candidate.
struct Layer<T> {
    weights: Vec<T>,
    recurrent: Vec<T>,
    bias: Vec<T>,
}

impl Layer<f64> {
    fn exact(&self) -> Layer<F64> {
        let [weights, recurrent, bias] = [&self.weights, &self.recurrent, &self.bias].map(|values| exact(values));
        Layer { weights, recurrent, bias }
    }
}

impl Layer<F64> {
    /// The states after a price, and the cells.
    fn next(&self, price: F64, before: &[F64], cells: &mut [F64]) -> Vec<F64> {
        let units = before.len();
        let gate = |number: usize| -> Vec<F64> {
            let part = number * units..(number + 1) * units;
            let sums = sums(before, &self.recurrent[part.start * units..part.end * units]);
            let own = self.weights[part.clone()].iter().zip(&self.bias[part]);
            own.zip(sums).map(|((&weight, &bias), sum)| sum + (price * weight + bias)).collect()
        };
        let [inputs, forgets, outputs, candidates] = [0, 1, 2, 3].map(gate);
        let state = |unit: usize| {
            let kept = hard_sigmoid(forgets[unit]) * cells[unit];
            cells[unit] = kept + hard_sigmoid(inputs[unit]) * candidates[unit].tanh(TANH_ULPS);
            hard_sigmoid(outputs[unit]) * cells[unit].tanh(TANH_ULPS)
        };
        (0..units).map(state).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_that_forgets_leaves_the_candidate() {
        // One unit: input and output gates are open.
        let layer = |forget: f64| Layer {
            weights: exact(&[0.0, 0.0, 0.0, 2.0]),
            recurrent: exact(&[0.0, 0.0, 0.0, 4.0]),
            bias: exact(&[9.0, forget, 9.0, 0.0]),
        };
        let candidate = (0.25f64 * 2.0 + 0.125 * 4.0).tanh();
        for (forget, cell) in [(-9.0, candidate), (9.0, candidate + 3.0)] {
            let mut cells = [F64::exact(3.0)];
            let states = layer(forget).next(F64::exact(0.25), &[F64::exact(0.125)], &mut cells);
            assert!((cells[0].value() - cell).abs() < 1e-12);
            assert!((states[0].value() - cell.tanh()).abs() < 1e-12);
        }
    }
}
