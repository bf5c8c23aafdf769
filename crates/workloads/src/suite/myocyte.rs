//! A heart muscle cell.

use crate::bounded::F32;
use crate::bundled;
use crate::device::ArgBytes;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};

const THREADS: usize = 32;
/// Variables of the membrane, and of the proteins in each part of the cell.
const MEMBRANE: usize = 8;
const PROTEINS: usize = 5;
const PARTS: usize = 3;
const VARIABLES: usize = MEMBRANE + PARTS * PROTEINS;
/// How long the cell is stimulated.
const STIMULUS_MS: f64 = 1.0;
/// CUDA's exponential and logarithm are accurate to 2 and 1 ulp (CUDA C++ Programming Guide, table of single-precision
/// functions).
const EXP_ULPS: f64 = 2.0;
const LN_ULPS: f64 = 1.0;

pub(super) const WORKLOAD: Workload = Workload {
    name: "myocyte",
    summary: "a heart muscle cell's action potential: a launch of two threads per evaluation of the derivatives",
    character: "one thread of each of two warps: many independent exponentials and divisions; short launches",
    suite: Suite::Rodinia,
    papers: &[("ghost", "MYO")],
    module: bundled!("myocyte"),
    parameters: &[
        Parameter::new("steps", "steps of the integration, thirteen launches each", [4, 80, 800], 1, 10_000),
        Parameter::new("step_us", "length of a step, in microseconds", [20; 3], 1, 25),
    ],
    body,
};

/// The kernel's struct.
struct Parameters {
    stimulus: f32,
    potassium: f32,
    calmodulin: [f32; PARTS],
    kinase: [f32; PARTS],
    phosphatase: [f32; PARTS],
    calcium_factor: [f32; PARTS],
}

impl Parameters {
    fn bytes(&self) -> ArgBytes {
        let parts = [self.calmodulin, self.kinase, self.phosphatase, self.calcium_factor];
        let all = [self.stimulus, self.potassium].into_iter().chain(parts.into_iter().flatten());
        ArgBytes::from_bytes(all.flat_map(f32::to_le_bytes).collect())
    }
}

/// Weights of the earlier evaluations in the state of the next one (E. Fehlberg, NASA TR R-287, 1968, table X).
const STAGES: [&[f64]; 13] = [
    &[],
    &[2.0 / 27.0],
    &[1.0 / 36.0, 1.0 / 12.0],
    &[1.0 / 24.0, 0.0, 1.0 / 8.0],
    &[5.0 / 12.0, 0.0, -25.0 / 16.0, 25.0 / 16.0],
    &[1.0 / 20.0, 0.0, 0.0, 1.0 / 4.0, 1.0 / 5.0],
    &[-25.0 / 108.0, 0.0, 0.0, 125.0 / 108.0, -65.0 / 27.0, 125.0 / 54.0],
    &[31.0 / 300.0, 0.0, 0.0, 0.0, 61.0 / 225.0, -2.0 / 9.0, 13.0 / 900.0],
    &[2.0, 0.0, 0.0, -53.0 / 6.0, 704.0 / 45.0, -107.0 / 9.0, 67.0 / 90.0, 3.0],
    &[-91.0 / 108.0, 0.0, 0.0, 23.0 / 108.0, -976.0 / 135.0, 311.0 / 54.0, -19.0 / 60.0, 17.0 / 6.0, -1.0 / 12.0],
    &[
        2383.0 / 4100.0,
        0.0,
        0.0,
        -341.0 / 164.0,
        4496.0 / 1025.0,
        -301.0 / 82.0,
        2133.0 / 4100.0,
        45.0 / 82.0,
        45.0 / 164.0,
        18.0 / 41.0,
    ],
    &[3.0 / 205.0, 0.0, 0.0, 0.0, 0.0, -6.0 / 41.0, -3.0 / 205.0, -3.0 / 41.0, 3.0 / 41.0, 6.0 / 41.0, 0.0],
    &[
        -1777.0 / 4100.0,
        0.0,
        0.0,
        -341.0 / 164.0,
        4496.0 / 1025.0,
        -289.0 / 82.0,
        2193.0 / 4100.0,
        51.0 / 82.0,
        33.0 / 164.0,
        12.0 / 41.0,
        0.0,
        1.0,
    ],
];
/// Weights of the evaluations in the step, of eighth order.
const STEP: [f64; 13] = [
    0.0,
    0.0,
    0.0,
    0.0,
    0.0,
    34.0 / 105.0,
    9.0 / 35.0,
    9.0 / 35.0,
    9.0 / 280.0,
    9.0 / 280.0,
    0.0,
    41.0 / 840.0,
    41.0 / 840.0,
];

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let (steps, length) = (run.param("steps"), run.param("step_us") as f64 / 1000.0);
    let mut around = |value: f32| value * run.float(0.95, 1.05);
    let mut state = [-84.0, 0.0017, 0.98, 0.99, 0.003, 0.99, 0.0057, 1.8e-4].map(&mut around).to_vec();
    for _ in 0..PARTS {
        state.extend([0.02, 0.001, 0.05, 0.01, 0.001].map(&mut around));
    }
    let stimulus = around(40.0);
    let mut parameters = Parameters {
        stimulus,
        potassium: around(5.4),
        calmodulin: [410.0, 6.0, 6.0].map(&mut around),
        kinase: [120.0, 1.0, 1.0].map(&mut around),
        phosphatase: [3.6, 0.003, 0.003].map(&mut around),
        calcium_factor: [10.0, 2.0, 1.0].map(&mut around),
    };
    let (input, output) = (run.alloc::<f32>("state", VARIABLES)?, run.alloc::<f32>("change", VARIABLES)?);
    let after = |state: &[f32], changes: &[Vec<f32>], weights: &[f64]| -> Vec<f32> {
        let moved = |i: usize| {
            let sum: f64 = weights.iter().zip(changes).map(|(weight, change)| weight * f64::from(change[i])).sum();
            (f64::from(state[i]) + length * sum) as f32
        };
        (0..VARIABLES).map(moved).collect()
    };
    for step in 0..steps {
        parameters.stimulus = if step as f64 * length < STIMULUS_MS { stimulus } else { 0.0 };
        let mut changes: Vec<Vec<f32>> = Vec::new();
        for weights in STAGES {
            let within = after(&state, &changes, weights);
            run.write(input, &within)?;
            let args = [input.into(), output.into(), parameters.bytes()];
            run.launch("myocyte_derivatives", 2, THREADS, &args)?;
            let change = run.download::<f32>(output)?;
            run.check_bounds("derivatives", &change, &derivatives(&within, &parameters));
            changes.push(change);
            if run.check_failed() {
                return Ok(());
            }
        }
        state = after(&state, &changes, &STEP);
    }
    Ok(())
}

fn derivatives(state: &[f32], parameters: &Parameters) -> Vec<F32> {
    let mut changes = membrane(state, parameters).to_vec();
    for part in 0..PARTS {
        let calcium = n(1000.0) * n(state[7]) * n(parameters.calcium_factor[part]);
        let own = &state[MEMBRANE + part * PROTEINS..][..PROTEINS];
        let totals = [parameters.calmodulin[part], parameters.kinase[part], parameters.phosphatase[part]];
        changes.extend(proteins(own, calcium, totals));
    }
    changes
}

fn n(value: f32) -> F32 {
    value.into()
}

/// `scale` exp(`slope` (v + `shift`)).
fn exponential(scale: f32, slope: f32, v: F32, shift: f32) -> F32 {
    n(scale) * (n(slope) * (v + n(shift))).exp(EXP_ULPS)
}

/// The rate of a gate: `scale` exp(...) / (1 + exp(...)), each with slope and shift.
fn rate(scale: f32, above: [f32; 2], below: [f32; 2], v: F32) -> F32 {
    exponential(scale, above[0], v, above[1]) / (n(1.0) + exponential(1.0, below[0], v, below[1]))
}

/// Of the potential, the gates and calcium.
fn membrane(state: &[f32], parameters: &Parameters) -> [F32; MEMBRANE] {
    let one = n(1.0);
    let [v, m, h, j, d, f, x, calcium] = std::array::from_fn(|i| n(state[i]));
    let am = n(0.32) * (v + n(47.13)) / (one - exponential(1.0, -0.1, v, 47.13));
    let bm = n(0.08) * (-v / n(11.0)).exp(EXP_ULPS);
    let (ah, bh, aj, bj);
    if state[0] >= -40.0 {
        (ah, aj) = (n(0.0), n(0.0));
        bh = one / (n(0.13) * (one + (-(v + n(10.66)) / n(11.1)).exp(EXP_ULPS)));
        bj = rate(0.3, [-2.535e-7, 0.0], [-0.1, 32.0], v);
    } else {
        ah = n(0.135) * (-(v + n(80.0)) / n(6.8)).exp(EXP_ULPS);
        bh = exponential(3.56, 0.079, v, 0.0) + exponential(3.1e5, 0.35, v, 0.0);
        aj = -(exponential(1.2714e5, 0.2444, v, 0.0) + exponential(3.474e-5, -0.04391, v, 0.0)) * (v + n(37.78))
            / (one + exponential(1.0, 0.311, v, 79.23));
        bj = rate(0.1212, [-0.01052, 0.0], [-0.1378, 40.14], v);
    }
    let sodium = n(23.0) * m * m * m * h * j * (v - n(54.4));

    let ad = rate(0.095, [-0.01, -5.0], [-0.072, -5.0], v);
    let bd = rate(0.07, [-0.017, 44.0], [0.05, 44.0], v);
    let af = rate(0.012, [-0.008, 28.0], [0.15, 28.0], v);
    let bf = rate(0.0065, [-0.02, 30.0], [-0.2, 30.0], v);
    let reversal = n(7.7) - n(13.0287) * calcium.ln(LN_ULPS);
    let slow = n(0.09) * d * f * (v - reversal);

    let outside = (n(parameters.potassium) / n(5.4)).sqrt();
    let ax = rate(0.0005, [0.083, 50.0], [0.057, 50.0], v);
    let bx = rate(0.0013, [-0.06, 20.0], [-0.04, 20.0], v);
    let rectified = if state[0] > -100.0 {
        n(2.837) * (exponential(1.0, 0.04, v, 77.0) - one) / ((v + n(77.0)) * exponential(1.0, 0.04, v, 35.0))
    } else {
        one
    };
    let delayed = n(0.282) * outside * x * rectified * (v + n(77.0));
    let away = v + n(87.26);
    let ak = n(1.02) / (one + exponential(1.0, 0.2385, away, -59.215));
    let bk = (exponential(0.49124, 0.08032, away, 5.476) + exponential(1.0, 0.06175, away, -594.31))
        / (one + exponential(1.0, -0.5143, away, 4.753));
    let steady = n(0.6047) * outside * (ak / (ak + bk)) * away;
    let plateau = n(0.0183) / (one + ((n(7.488) - v) / n(5.98)).exp(EXP_ULPS)) * away;
    let background = n(0.03921) * (v + n(59.87));

    let gate = |a: F32, b: F32, open: F32| a * (one - open) - b * open;
    [
        n(parameters.stimulus) - (sodium + slow + delayed + steady + plateau + background),
        gate(am, bm, m),
        gate(ah, bh, h),
        gate(aj, bj, j),
        gate(ad, bd, d),
        gate(af, bf, f),
        gate(ax, bx, x),
        n(0.07) * (n(1.0e-4) - calcium) - n(1.0e-4) * slow,
    ]
}

/// Of calmodulin, kinase and phosphatase in a part of the cell that has these totals.
fn proteins(state: &[f32], calcium: F32, totals: [f32; 3]) -> [F32; PROTEINS] {
    let [two, four, held, active, off] = std::array::from_fn(|i| n(state[i]));
    let [calmodulin, kinase, phosphatase] = totals.map(n);
    let square = calcium * calcium;
    let unbound = calmodulin - two - four - held - active - off;
    let first = n(0.0025) * square * unbound - n(0.05) * two;
    let second = n(0.01) * square * two - n(0.2) * four;
    let to_kinase = n(0.05) * four * (kinase - held - active) - n(0.0022) * held;
    let activated = n(0.003) * held * (held + active) / kinase - n(0.001) * active / (n(0.5) + active);
    let to_phosphatase = n(0.046) * four * (phosphatase - off) - n(0.0013) * off;
    [first - second, second - to_kinase - to_phosphatase, to_kinase - activated, activated, to_phosphatase]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_of_eighth_order() {
        let times = STAGES.map(|weights| weights.iter().sum::<f64>());
        for power in 0..8 {
            let sum: f64 = STEP.iter().zip(times).map(|(weight, time)| weight * time.powi(power)).sum();
            assert!((sum - 1.0 / f64::from(power + 1)).abs() < 1e-12, "{power}: {sum}");
        }
        // The stages are of second order, but for the first two.
        for (stage, weights) in STAGES.iter().enumerate().skip(2) {
            let sum: f64 = weights.iter().zip(times).map(|(weight, time)| weight * time).sum();
            assert!((sum - times[stage] * times[stage] / 2.0).abs() < 1e-12, "{stage}: {sum}");
        }
    }

    /// A cell at rest stays there, and one above its threshold fires.
    #[test]
    fn a_stimulus_is_needed() {
        let parameters = Parameters {
            stimulus: 0.0,
            potassium: 5.4,
            calmodulin: [1.0; PARTS],
            kinase: [1.0; PARTS],
            phosphatase: [1.0; PARTS],
            calcium_factor: [1.0; PARTS],
        };
        let mut state = [-84.5, 0.0017, 0.983, 0.989, 0.003, 0.999, 0.0057, 1.8e-4];
        assert!(membrane(&state, &parameters)[0].value().abs() < 0.5);
        state[0] = -45.0;
        state[1] = 0.5;
        assert!(membrane(&state, &parameters)[0].value() > 50.0);
    }
}
