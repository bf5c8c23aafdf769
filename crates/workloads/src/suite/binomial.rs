//! European options by binomial trees.

use crate::bounded::F32;
use crate::bundled;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};

const THREADS: usize = 256;
/// Steps that a tile goes back at a time.
const DEPTH: u64 = 32;
const MOST_OPTIONS: u64 = 1024;
/// CUDA's exponential is accurate to 2 ulp (CUDA C++ Programming Guide, table of single-precision functions).
const EXP_ULPS: f64 = 2.0;

pub(super) const WORKLOAD: Workload = Workload {
    name: "binomial",
    summary: "prices of European call options by binomial trees",
    character: "two shared-memory reads, a multiply-add and a barrier a step; the tile's last threads idle more and more",
    suite: Suite::CudaSdk,
    papers: &[("war", "BIN")],
    module: bundled!("binomial"),
    parameters: &[
        Parameter::new("options", "options", [2, 16, 16], 1, MOST_OPTIONS),
        Parameter::new("steps", "steps of a tree", [256, 512, 2048], DEPTH, 8192).in_steps_of(DEPTH),
    ],
    body,
};

/// An option: price now, price of exercise, logarithm of a move, discounted probabilities of moves up and down.
type CallOption = [f32; 5];

/// A random option of `steps` steps (J. C. Cox, S. A. Ross, M. Rubinstein, 1979).
fn option(run: &mut Run<'_>, steps: usize) -> CallOption {
    let (price, strike) = (run.float(5.0, 30.0), run.float(1.0, 100.0));
    let years = f64::from(run.float(0.25, 10.0)) / steps as f64;
    let (interest, volatility) = (0.06 * years, 0.1 * years.sqrt());
    let (growth, up, down) = (interest.exp(), volatility.exp(), (-volatility).exp());
    let rises = (growth - down) / (up - down);
    [price, strike, volatility as f32, (rises / growth) as f32, ((1.0 - rises) / growth) as f32]
}

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let (count, steps) = (run.param("options"), run.param("steps"));
    let options: Vec<CallOption> = (0..count).map(|_| option(run, steps)).collect();
    run.write_symbol("options", options.as_flattened())?;
    let values = run.alloc::<f32>("values", count * (steps + 1))?;
    let results = run.alloc::<f32>("results", count)?;
    run.launch("binomial", count, THREADS, &[values.into(), results.into(), (steps as i32).into()])?;
    let got = run.download::<f32>(results)?;
    run.check_bounds("results", &got, &options.iter().map(|option| price(option, steps)).collect::<Vec<_>>());
    Ok(())
}

/// The value at the root.
fn price(option: &CallOption, steps: usize) -> F32 {
    let [price, strike, step, up, down] = option.map(F32::from);
    let leaf = |i: usize| {
        let moves = F32::from((2 * i as i32 - steps as i32) as f32);
        (price * (step * moves).exp(EXP_ULPS) - strike).or_zero()
    };
    let mut values: Vec<F32> = (0..=steps).map(leaf).collect();
    for end in (0..steps).rev() {
        for i in 0..=end {
            values[i] = up * values[i + 1] + down * values[i];
        }
    }
    values[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_steps_by_hand() {
        let leaves = [2.0f64, 0.0, -2.0].map(|moves| (10.0 * (0.5 * moves).exp() - 9.0).max(0.0));
        let expected = 0.36 * leaves[0] + 2.0 * 0.6 * 0.3 * leaves[1] + 0.09 * leaves[2];
        let got = price(&[10.0, 9.0, 0.5, 0.6, 0.3], 2);
        assert!((got.value() - expected).abs() < 1e-6 && got.error() < 1e-4, "{got:?} {expected}");
    }

    /// The formula of Black and Scholes for price 100, exercise at 100, a year, 6 % interest, 10 % volatility.
    #[test]
    fn many_steps_come_near_the_formula() {
        let years = 1.0 / 512.0f64;
        let (growth, up) = ((0.06 * years).exp(), (0.1 * years.sqrt()).exp());
        let rises = (growth - 1.0 / up) / (up - 1.0 / up);
        let shares = [rises / growth, (1.0 - rises) / growth].map(|share| share as f32);
        let option = [100.0, 100.0, (0.1 * years.sqrt()) as f32, shares[0], shares[1]];
        let got = price(&option, 512);
        assert!((got.value() - 7.458).abs() < 0.01 && got.error() < 0.1, "{got:?}");
    }
}
