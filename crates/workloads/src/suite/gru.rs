//! Gated recurrent units that predict a price.

use crate::bounded::{Bounded, F32, F64};
use crate::bundled;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};

/// The kernel's units: as many threads in a CTA of 10 x 10.
const UNITS: usize = 100;
const GATES: usize = 3;
/// CUDA's hyperbolic tangent is accurate to 2 ulp (CUDA C++ Programming Guide, table of single-precision functions).
const TANH_ULPS: f64 = 2.0;

pub(super) const WORKLOAD: Workload = Workload {
    name: "gru",
    summary: "a recurrent network that predicts a price from a series, 100 gated units: a launch of one CTA per price",
    character: "one CTA on the GPU; loads of weights that all differ, and chains of multiply-adds",
    suite: Suite::Tango,
    papers: &[("ghost", "GRU")],
    module: bundled!("gru"),
    parameters: &[Parameter::new("steps", "prices of the series", [5, 160, 1600], 1, 4096)],
    body,
};

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let steps = run.param("steps");
    let prices = run.floats(steps, 0.5, 1.0);
    let weights = run.floats(GATES * UNITS, -1.0, 1.0);
    let recurrent = run.floats(GATES * UNITS * UNITS, -0.1, 0.1);
    let bias = run.floats(GATES * UNITS, -0.5, 0.5);
    let d_prices = run.upload("prices", &prices)?;
    let shared = [run.upload("weights", &weights)?, run.upload("recurrent", &recurrent)?, run.upload("bias", &bias)?];
    // The first state is zero.
    let states = run.zeroed::<f32>("states", (steps + 1) * UNITS)?;
    for step in 0..steps {
        let price = d_prices.address + (step * size_of::<f32>()) as u64;
        let [before, after] = [step, step + 1].map(|at| states.address + (at * UNITS * size_of::<f32>()) as u64);
        let args = [&[price.into()][..], &shared.map(Into::into), &[before.into(), after.into()]].concat();
        run.launch("gru_step", 1, [10, 10], &args)?;
    }
    let got = run.download::<f32>(states)?;
    let [weights, recurrent, bias] = [weights, recurrent, bias].map(exact);
    // Each state from the one that the device had: so errors do not add up.
    for (step, &price) in prices.iter().enumerate() {
        let before = exact(got[step * UNITS..][..UNITS].to_vec());
        let expected = next(price.into(), &before, &weights, &recurrent, &bias);
        run.check_bounds("states", &got[(step + 1) * UNITS..][..UNITS], &expected);
    }
    Ok(())
}

fn exact(values: Vec<f32>) -> Vec<F32> {
    values.into_iter().map(F32::from).collect()
}

/// The states after a price.
fn next(price: F32, before: &[F32], weights: &[F32], recurrent: &[F32], bias: &[F32]) -> Vec<F32> {
    let units = before.len();
    let gate = |number: usize, states: &[F32]| -> Vec<F32> {
        let part = number * units..(number + 1) * units;
        let sums = sums(states, &recurrent[part.start * units..part.end * units]);
        let own = weights[part.clone()].iter().zip(&bias[part]);
        own.zip(sums).map(|((&weight, &bias), sum)| price * weight + sum + bias).collect()
    };
    let narrow = |sum: &F32| hard_sigmoid(sum.convert()).convert();
    let updates: Vec<F32> = gate(0, before).iter().map(narrow).collect();
    let resets: Vec<F32> = gate(1, before).iter().map(narrow).collect();
    let kept: Vec<F32> = resets.iter().zip(before).map(|(&reset, &state)| reset * state).collect();
    let candidates = gate(2, &kept).into_iter().map(|sum| sum.tanh(TANH_ULPS));
    let new = updates.iter().zip(before).zip(candidates);
    new.map(|((&update, &state), candidate)| (F32::exact(1.0) - update) * state + update * candidate).collect()
}

/// For each unit the sum of states times their weights, which are by the state, then by the unit.
pub(super) fn sums<const P: u32>(states: &[Bounded<P>], weights: &[Bounded<P>]) -> Vec<Bounded<P>> {
    let mut sums = vec![Bounded::exact(0.0); states.len()];
    for (&state, weights) in states.iter().zip(weights.chunks_exact(states.len())) {
        sums.iter_mut().zip(weights).for_each(|(sum, &weight)| *sum = *sum + state * weight);
    }
    sums
}

/// The straight line that stands for the sigmoid, in double precision.
pub(super) fn hard_sigmoid(x: F64) -> F64 {
    let line = F64::exact(0.2) * x + F64::exact(0.5);
    F64::with_error(line.value().clamp(0.0, 1.0), line.error())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sigmoid_is_a_line_between_its_ends() {
        assert_eq!([-3.0, 0.0, 3.0].map(|x| hard_sigmoid(F64::exact(x)).value()), [0.0, 0.5, 1.0]);
        assert!((hard_sigmoid(F64::exact(1.0)).value() - 0.7).abs() < 1e-12);
    }

    #[test]
    fn an_update_of_nothing_keeps_the_state() {
        let before = exact(vec![0.25, -0.5]);
        let of = |value: f32, count: usize| exact(vec![value; count]);
        // The update's bias is at the line's low end, then at its high end, where the candidate replaces the state.
        let after = |update: f32, recurrent: &[F32]| {
            let bias = [of(update, 2), of(9.0, 2), of(0.0, 2)].concat();
            let next = next(F32::exact(0.5), &before, &of(0.0, 6), recurrent, &bias);
            next.iter().map(|state| state.value()).collect::<Vec<_>>()
        };
        assert_eq!(after(-9.0, &of(0.0, 12)), [0.25, -0.5]);
        // The candidate of the second unit is of the first state, by its weight of 2.
        let mut recurrent = of(0.0, 12);
        recurrent[2 * 4 + 1] = F32::exact(2.0);
        let new = after(9.0, &recurrent);
        assert_eq!(new[0], 0.0);
        assert!((new[1] - 0.5f64.tanh()).abs() < 1e-9);
    }
}
