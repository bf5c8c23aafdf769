//! European options by Monte Carlo.

use crate::bounded::F32;
use crate::bundled;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};

const THREADS: usize = 256;
const MOST_OPTIONS: u64 = 1024;
/// CTAs of the kernel that makes the samples, at most.
const MOST_CTAS: usize = 64;
/// CUDA's logarithm is accurate to 1 ulp, and its fast exponential of numbers below 1.7 to 3 (CUDA C++ Programming
/// Guide, tables of single-precision and of intrinsic functions).
const LN_ULPS: f64 = 1.0;
const EXP_ULPS: f64 = 3.0;

pub(super) const WORKLOAD: Workload = Workload {
    name: "montecarlo",
    summary: "prices of European call options by Monte Carlo, all with the same samples",
    character: "samples from the cache, a fast exponential and two sums each; sums of a CTA by a tree",
    suite: Suite::CudaSdk,
    papers: &[("war", "MC")],
    module: bundled!("montecarlo"),
    parameters: &[
        Parameter::new("options", "options", [8, 64, 256], 1, MOST_OPTIONS),
        Parameter::new("paths", "samples", [4096, 32_768, 65_536], 1, 1 << 22),
    ],
    body,
};

/// An option: price now, price of exercise, mean and standard deviation of the logarithm of its growth.
type CallOption = [f32; 4];

fn option(run: &mut Run<'_>) -> CallOption {
    let (years, volatility) = (run.float(0.25, 4.0), 0.1f32);
    let drift = (0.06 - 0.5 * volatility * volatility) * years;
    [run.float(5.0, 50.0), run.float(5.0, 50.0), drift, volatility * years.sqrt()]
}

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let (count, paths) = (run.param("options"), run.param("paths"));
    let options: Vec<CallOption> = (0..count).map(|_| option(run)).collect();
    run.write_symbol("options", options.as_flattened())?;
    let samples = run.alloc::<f32>("samples", paths)?;
    let results = run.alloc::<f32>("results", 2 * count)?;
    let ctas = paths.div_ceil(THREADS).min(MOST_CTAS);
    run.launch("normal_quantiles", ctas, THREADS, &[samples.into(), (paths as i32).into()])?;
    run.launch("price_options", count, THREADS, &[samples.into(), results.into(), (paths as i32).into()])?;
    let drawn = run.download::<f32>(samples)?;
    run.check_bounds("samples", &drawn, &(0..paths).map(|i| quantile(i, paths)).collect::<Vec<_>>());
    let got = run.download::<f32>(results)?;
    run.check_bounds("results", &got, &options.iter().flat_map(|option| sums(option, &drawn)).collect::<Vec<_>>());
    Ok(())
}

/// `first + x * (second + x * ...)`.
fn polynomial(x: F32, coefficients: &[f32]) -> F32 {
    coefficients.iter().rev().map(|&c| F32::from(c)).reduce(|sum, c| sum * x + c).unwrap_or(F32::exact(0.0))
}

/// Quantile of the normal distribution by the approximation of B. Moro.
fn quantile(i: usize, count: usize) -> F32 {
    let share = (i + 1) as f32 / (count + 1) as f32;
    let y = share - 0.5;
    if y.abs() < 0.42 {
        let square = F32::exact_product(y, y);
        let above = polynomial(square, &[2.506_628_3, -18.615, 41.391_197, -25.441_061]);
        let below = polynomial(square, &[1.0, -8.473_511, 23.083_367, -21.062_242, 3.130_829]);
        return F32::from(y) * above / below;
    }
    let tail = if y > 0.0 { F32::from(1.0) - share.into() } else { share.into() };
    let x = (-tail.ln(LN_ULPS)).ln(LN_ULPS);
    let coefficients = [
        0.337_475_48,
        0.976_169,
        0.160_797_97,
        0.027_643_88,
        0.003_840_573,
        0.000_395_189_65,
        0.000_032_176_788,
        0.000_000_288_816_74,
        0.000_000_396_031_5,
    ];
    let z = polynomial(x, &coefficients);
    if y > 0.0 { z } else { -z }
}

/// Sums of an option's gains and of their squares, by threads and then by the kernel's tree.
fn sums(option: &CallOption, samples: &[f32]) -> [F32; 2] {
    let [price, strike, drift, spread] = option.map(F32::from);
    let mut sums = [[F32::exact(0.0); 2]; THREADS];
    for (i, &sample) in samples.iter().enumerate() {
        let gain = (price * (drift + spread * sample.into()).exp(EXP_ULPS) - strike).or_zero();
        let [sum, square] = &mut sums[i % THREADS];
        *sum = *sum + gain;
        *square = *square + gain * gain;
    }
    let mut half = THREADS / 2;
    while half > 0 {
        for i in 0..half {
            sums[i] = [0, 1].map(|of| sums[i][of] + sums[i + half][of]);
        }
        half /= 2;
    }
    sums[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_the_normal_distribution() {
        // Of 199 places: the median, and the 2.5 % and 84.5 % quantiles.
        for (i, expected) in [(99, 0.0), (4, -1.959_964), (168, 1.015_222)] {
            let got = quantile(i, 199);
            assert!((got.value() - expected).abs() < 1e-5 && got.error() < 1e-4, "{i}: {got:?}");
        }
    }

    #[test]
    fn gains_of_two_samples() {
        let [sum, square] = sums(&[10.0, 9.0, 0.0, 1.0], &[1.0, -1.0]);
        let gain = 10.0 * 1.0f64.exp() - 9.0;
        assert!((sum.value() - gain).abs() < 1e-5 && (square.value() - gain * gain).abs() < 1e-3);
    }
}
