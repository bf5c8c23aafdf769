//! Swaptions on simulated interest rates.

use crate::bounded::F32;
use crate::bundled;
use crate::device::ArgBytes;
use crate::workload::{Parameter, Run, Suite, Workload, WorkloadError};

const BLOCK: usize = 64;
/// Years of a period.
const PERIOD: f32 = 0.25;
/// CUDA's fast division, and its fast exponential of numbers below 0.8, are accurate to 2 ulp (CUDA C++ Programming
/// Guide, table of intrinsic functions).
const ULPS: f64 = 2.0;

pub(super) const WORKLOAD: Workload = Workload {
    name: "libor",
    summary: "swaptions on simulated interest rates (LIBOR market model), and their sensitivity by the adjoint method",
    character: "special functions and divisions in a chain; arrays in local memory, up to 14 KiB a thread",
    suite: Suite::Ispass,
    papers: &[("ghost", "LIB")],
    module: bundled!("libor"),
    parameters: &[
        Parameter::new("paths", "simulated paths", [128, 512, 4096], 1, 1 << 20),
        Parameter::new("maturities", "steps of a path", [8, 20, 40], 1, 40),
        Parameter::new("periods", "periods after the last step", [8, 20, 40], 1, 40),
        Parameter::new("options", "swaptions", [15; 3], 1, 64),
    ],
    body,
};

/// Options, volatility and initial rates.
struct Market {
    first_rates: Vec<f32>,
    volatility: Vec<f32>,
    /// When options end, in periods from 1 on, and their rates.
    options: Vec<(i32, f32)>,
    maturities: usize,
}

fn body(run: &mut Run<'_>) -> Result<(), WorkloadError> {
    let (paths, maturities, periods) = (run.param("paths"), run.param("maturities"), run.param("periods"));
    let rates = maturities + periods;
    let option = |run: &mut Run<'_>| (run.integer(1, periods as i64) as i32, run.float(0.03, 0.07));
    let market = Market {
        first_rates: run.floats(rates, 0.045, 0.055),
        volatility: run.floats(rates, 0.15, 0.25),
        options: (0..run.param("options")).map(|_| option(run)).collect(),
        maturities,
    };
    // The sum of twelve even draws is near enough to a normal one.
    let normal = |run: &mut Run<'_>| run.floats(12, -0.5, 0.5).iter().sum::<f32>();
    let normals: Vec<f32> = (0..maturities * paths).map(|_| normal(run)).collect();

    let (ends, option_rates): (Vec<i32>, Vec<f32>) = market.options.iter().copied().unzip();
    run.write_symbol("period", &[PERIOD])?;
    run.write_symbol("volatility", &market.volatility)?;
    run.write_symbol("first_rates", &market.first_rates)?;
    run.write_symbol("option_ends", &ends)?;
    run.write_symbol("option_rates", &option_rates)?;
    let input = run.upload("normals", &normals)?;
    let [values, again, greeks] = ["values", "values again", "greeks"].map(|name| run.alloc::<f32>(name, paths));
    let (values, again, greeks) = (values?, again?, greeks?);
    let sizes = [rates, maturities, ends.len(), paths].map(|n| (n as i32).to_le_bytes());
    let sizes = ArgBytes::from_bytes(sizes.concat());
    let grid = paths.div_ceil(BLOCK);
    run.launch("portfolio_greek", grid, BLOCK, &[input.into(), values.into(), greeks.into(), sizes.clone()])?;
    run.launch("portfolio_value", grid, BLOCK, &[input.into(), again.into(), sizes])?;

    let of_path = |path: usize| normals[path..].iter().step_by(paths).copied();
    let (expected, by_last): (Vec<F32>, Vec<F32>) = (0..paths).map(|path| market.value(of_path(path))).unzip();
    for (name, buffer, expected) in
        [("value", values, &expected), ("value alone", again, &expected), ("greek", greeks, &by_last)]
    {
        let got = run.download::<f32>(buffer)?;
        run.check_bounds(name, &got, expected);
    }
    Ok(())
}

impl Market {
    /// Value of the portfolio on a path, and its derivative by the last of the first rates.
    #[expect(clippy::needless_range_loop, reason = "rates and volatilities are indexed apart from each other")]
    fn value(&self, normals: impl Iterator<Item = f32>) -> (F32, F32) {
        let period = F32::from(PERIOD);
        let count = self.first_rates.len();
        let mut history = vec![self.first_rates.iter().map(|&rate| F32::from(rate)).collect::<Vec<_>>()];
        for (n, normal) in normals.enumerate() {
            let mut rates = history[n].clone();
            let shock = period.sqrt() * normal.into();
            let mut drift = F32::exact(0.0);
            for i in n + 1..count {
                let sigma = F32::from(self.volatility[i - n - 1]);
                let scaled = period * sigma;
                drift = drift + (scaled * rates[i]).over(grown(rates[i]), ULPS);
                let exponent = scaled * drift + sigma * (shock - F32::exact(0.5) * scaled);
                rates[i] = rates[i] * exponent.exp(ULPS);
            }
            history.push(rates);
        }
        let (value, mut adjoint) = self.portfolio(&history[self.maturities]);
        for n in (0..self.maturities).rev() {
            let (from, to) = (&history[n], &history[n + 1]);
            let mut by_drift = F32::exact(0.0);
            for i in (n + 1..count).rev() {
                let sigma = F32::from(self.volatility[i - n - 1]);
                let (scaled, growth) = (period * sigma, grown(from[i]));
                by_drift = by_drift + scaled * to[i] * adjoint[i];
                let through_drift = (scaled * by_drift).over(growth * growth, ULPS);
                adjoint[i] = (to[i] * adjoint[i]).over(from[i], ULPS) + through_drift;
            }
        }
        (value, adjoint[count - 1])
    }

    /// Value of the portfolio at the end of a path, and its derivatives by the rates there.
    fn portfolio(&self, rates: &[F32]) -> (F32, Vec<F32>) {
        let (zero, one, period) = (F32::exact(0.0), F32::exact(1.0), F32::from(PERIOD));
        let later = self.maturities..rates.len();
        let (mut bonds, mut annuities) = (Vec::new(), Vec::new());
        let (mut bond, mut annuity) = (one, zero);
        for n in later.clone() {
            bond = bond.over(grown(rates[n]), ULPS);
            annuity = annuity + period * bond;
            bonds.push(bond);
            annuities.push(annuity);
        }
        let mut value = zero;
        let mut by_bonds = vec![zero; bonds.len()];
        let mut by_annuities = by_bonds.clone();
        for &(end, rate) in &self.options {
            let end = end as usize - 1;
            let swap = bonds[end] + F32::from(rate) * annuities[end] - one;
            let (slope, gain) = loss(swap);
            value = value + gain;
            by_bonds[end] = by_bonds[end] - slope;
            by_annuities[end] = by_annuities[end] - slope * rate.into();
        }
        let discount = (0..self.maturities).fold(one, |discount, n| discount.over(grown(rates[n]), ULPS));
        let value = value * discount;
        let mut adjoint: Vec<F32> =
            rates[..self.maturities].iter().map(|&rate| -period * value.over(grown(rate), ULPS)).collect();
        adjoint.resize(rates.len(), zero);
        let (mut by_bond, mut by_annuity) = (zero, zero);
        for n in later.rev() {
            let at = n - self.maturities;
            by_annuity = by_annuity + by_annuities[at];
            by_bond = by_bond + (by_bonds[at] + period * by_annuity);
            adjoint[n] = -period * discount * (by_bond * bonds[at]).over(grown(rates[n]), ULPS);
            by_bond = by_bond.over(grown(rates[n]), ULPS);
        }
        (value, adjoint)
    }
}

/// Growth factor of a period.
fn grown(rate: F32) -> F32 {
    F32::exact(1.0) + F32::from(PERIOD) * rate
}

/// A hundred times what a swap of a negative value loses, and its slope without the sign. Where the device may see
/// either sign, both are allowed.
fn loss(swap: F32) -> (F32, F32) {
    let hundred = F32::exact(100.0);
    let least = swap.value() - swap.error();
    if swap.value() + swap.error() < 0.0 {
        (hundred, -(hundred * swap))
    } else if least >= 0.0 {
        (F32::exact(0.0), F32::exact(0.0))
    } else {
        (F32::with_error(50.0, 50.0), F32::with_error(0.0, -100.0 * least))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn market(first_rates: Vec<f32>, maturities: usize) -> Market {
        let volatility = vec![0.2; first_rates.len()];
        Market { first_rates, volatility, options: vec![(2, 0.03), (3, 0.045)], maturities }
    }

    #[test]
    fn one_option_by_hand() {
        // No steps: two periods at 5 %, exchanged for 3 %.
        let still = Market { options: vec![(2, 0.03)], ..market(vec![0.05; 2], 0) };
        let growth = 1.0 + 0.25 * 0.05f64;
        let (first, second) = (1.0 / growth, 1.0 / (growth * growth));
        let expected = 100.0 * (1.0 - second - 0.03 * 0.25 * (first + second));
        let (value, _) = still.value(std::iter::empty());
        assert!((value.value() - expected).abs() < 1e-5 && value.error() < 1e-3, "{value:?} {expected}");
    }

    #[test]
    fn the_adjoint_is_the_derivative() {
        let normals = [0.7, -0.3, 1.1];
        let value = |last: f32| {
            let mut rates = vec![0.05f32; 6];
            rates[5] = last;
            market(rates, 3).value(normals.into_iter())
        };
        let (low, high, (_, slope)) = (0.0498f32, 0.0502f32, value(0.05));
        let difference = (value(high).0.value() - value(low).0.value()) / f64::from(high - low);
        assert!((slope.value() / difference - 1.0).abs() < 1e-3, "{slope:?} {difference}");
        assert!(slope.error() < 1e-2 * slope.value().abs(), "{slope:?}");
    }
}
