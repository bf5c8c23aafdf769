//! Estimate of the time of launches that were not timed: stratified sampling with the ratio estimator.
//!
//! A group of launches that are alike is a stratum. Cycles are taken to be in proportion to the amount of work, so that
//! an untimed launch takes its amount times the sum of the timed launches' cycles over the sum of their amounts
//! (Cochran, *Sampling Techniques*, chapter 6: the best linear unbiased estimator where the variance is in proportion
//! to the amount, too). With `n` timed of `N` launches, whose residuals have the variance `s²`, the sum over the
//! untimed ones has the variance `N (N - n) s² / n`: that of `N² s² / n` with the finite population correction.
//!
//! The first launch of a group often meets other caches than all later ones. If it and at least two others were timed, it
//! counts for itself only, as a stratum of its own (a certainty stratum).
//!
//! Groups of fewer than three timed launches, beside the first, take the larger of their own spread and the spread of
//! all groups together.
//!
//! Two errors are not of sampling, and widen the interval of the sum. Launches that change in the course of a run are
//! timed ever more rarely, so that the first ones count too much: the difference to the sum that follows from the launch
//! timed nearest to each untimed one is added ([`drift`]). Caches are as the last timed launch has left them, and the
//! launches of a group differ in what the group does not compare: [`BESIDE_SAMPLING`] is added.

/// Share of the inferred cycles by which intervals are widened for errors that are not of sampling. Those of the
/// validation in docs/sampling.md are smaller.
const BESIDE_SAMPLING: f64 = 0.01;

/// Fewest timed launches of a group whose spread counts without the spread of the others.
const ENOUGH: usize = 3;

/// A launch that was timed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Timed {
    /// Launches of the group before it.
    pub order: u64,
    pub amount: f64,
    pub cycles: f64,
}

/// A group of launches that are alike.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Stratum {
    /// The timed launches, in their order.
    pub timed: Vec<Timed>,
    /// Order and amount of the launches that were not timed.
    pub untimed: Vec<(u64, f64)>,
}

impl Stratum {
    /// The timed launches that stand for the others.
    fn sample(&self) -> &[Timed] {
        match &self.timed[..] {
            [first, rest @ ..] if first.order == 0 && rest.len() > 1 => rest,
            all => all,
        }
    }

    /// Amount of all launches that were not timed.
    fn rest(&self) -> f64 {
        self.untimed.iter().map(|(_, amount)| amount).sum()
    }
}

/// Knowledge about the cycles of a group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rate {
    /// Cycles for one unit of the amount.
    pub per_amount: f64,
    /// Timed launches that it is of.
    pub of: usize,
    /// Standard deviation of the cycles of a launch, as a share of the mean; `None` if it is not known.
    pub spread: Option<f64>,
    /// Degrees of freedom of the spread.
    freedom: f64,
    /// The spread is of all groups.
    pub is_borrowed: bool,
    /// Mean amount of the timed launches.
    mean_amount: f64,
}

impl Rate {
    /// Cycles of a launch of `amount`.
    pub fn cycles(&self, amount: f64) -> f64 {
        self.per_amount * amount
    }

    /// Half of the width of the interval that has the cycles of one launch of `amount` with a probability of 95 %.
    pub fn half_width(&self, amount: f64) -> Option<f64> {
        let deviation = self.spread? * self.cycles(amount) * (1.0 + 1.0 / self.of as f64).sqrt();
        Some(deviation * t95(self.freedom))
    }

    /// Variance of the sum over launches of `amount` together.
    fn variance(&self, amount: f64) -> Option<f64> {
        let (launches, n) = (amount / self.mean_amount, self.of as f64);
        let deviation = self.spread? * self.cycles(self.mean_amount);
        Some(launches * (launches + n) / n * deviation * deviation)
    }
}

/// Mean rate of a sample, and the sum of the squares of its residuals as shares of the mean.
fn fit(sample: &[Timed]) -> Option<(f64, f64, f64)> {
    let (amount, cycles) = sample.iter().fold((0.0, 0.0), |(a, c), one| (a + one.amount, c + one.cycles));
    if sample.is_empty() || amount <= 0.0 {
        return None;
    }
    let (per_amount, mean) = (cycles / amount, cycles / sample.len() as f64);
    let squares: f64 = sample.iter().map(|one| (one.cycles - per_amount * one.amount).powi(2)).sum();
    Some((per_amount, if mean > 0.0 { squares / (mean * mean) } else { 0.0 }, amount / sample.len() as f64))
}

/// The rate of each group; `None` where nothing was timed.
pub(crate) fn rates(strata: &[Stratum]) -> Vec<Option<Rate>> {
    let fits: Vec<_> = strata.iter().map(|stratum| fit(stratum.sample())).collect();
    let spreads = strata.iter().zip(&fits).filter_map(|(stratum, fit)| {
        let free = stratum.sample().len() as f64 - 1.0;
        fit.map(|(_, squares, _)| (free, squares)).filter(|_| free > 0.0)
    });
    let (all_free, all_squares) = spreads.fold((0.0, 0.0), |(f, s), one| (f + one.0, s + one.1));
    let pooled = (all_free > 0.0).then(|| (all_squares / all_free).sqrt());
    let of = |(stratum, fit): (&Stratum, Option<(f64, f64, f64)>)| {
        let (per_amount, squares, mean_amount) = fit?;
        let n = stratum.sample().len();
        let own = (n > 1).then(|| (squares / (n as f64 - 1.0)).sqrt());
        let is_borrowed = n < ENOUGH && pooled > own;
        let (spread, freedom) = if is_borrowed { (pooled, all_free) } else { (own, n as f64 - 1.0) };
        Some(Rate { per_amount, of: n, spread, freedom, is_borrowed, mean_amount })
    };
    strata.iter().zip(fits).map(of).collect()
}

/// A number of cycles with its interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Inferred {
    pub cycles: f64,
    /// Half of the width of the interval of 95 %; `None` if it is not known.
    pub half_width: Option<f64>,
}

/// Cycles by which the untimed launches of a group take longer or shorter, if each is as the launch timed nearest to it
/// and not as the mean.
fn drift(stratum: &Stratum, rate: &Rate) -> f64 {
    let sample = stratum.sample();
    let of = |&(order, amount): &(u64, f64)| {
        let after = sample.partition_point(|one| one.order < order);
        let near = sample[after.saturating_sub(1)..].iter().take(2).min_by_key(|one| one.order.abs_diff(order));
        near.filter(|one| one.amount > 0.0).map_or(0.0, |one| amount * one.cycles / one.amount - rate.cycles(amount))
    };
    stratum.untimed.iter().map(of).sum()
}

/// Time of the untimed launches of all groups together. Groups without a rate are not in it.
pub(crate) fn total(strata: &[Stratum], rates: &[Option<Rate>]) -> Inferred {
    let (mut cycles, mut variance, mut by_freedom, mut drifts) = (0.0, Some(0.0), 0.0, 0.0);
    for (stratum, rate) in strata.iter().zip(rates).filter(|(stratum, _)| !stratum.untimed.is_empty()) {
        let Some(rate) = rate else { continue };
        let amount = stratum.rest();
        cycles += rate.cycles(amount);
        drifts += drift(stratum, rate);
        let of_group = rate.variance(amount);
        variance = variance.zip(of_group).map(|(sum, one)| sum + one);
        by_freedom += of_group.unwrap_or(0.0).powi(2) / rate.freedom.max(1.0);
    }
    // Degrees of freedom of a sum of variances: Satterthwaite.
    let half_width = variance.map(|variance| {
        let freedom = if by_freedom > 0.0 { variance * variance / by_freedom } else { f64::INFINITY };
        t95(freedom) * variance.sqrt() + drifts.abs() + BESIDE_SAMPLING * cycles
    });
    Inferred { cycles, half_width }
}

/// The two-sided quantiles of 95 % of Student's t distribution for 1 to 30 degrees of freedom.
const T95: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/// The two-sided quantile of 95 % of Student's t distribution, for the next lower whole number of degrees of freedom.
pub(crate) fn t95(freedom: f64) -> f64 {
    let whole = freedom.max(1.0).floor();
    // Beyond the table, the first term of Cornish and Fisher's expansion: to 0.001.
    if whole <= 30.0 { T95[whole as usize - 1] } else { 1.960 + 2.372 / whole }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A group of launches that were timed, the first as launch `first` of the group, and then others.
    fn stratum(timed: &[(f64, f64)], first: u64, untimed: &[f64]) -> Stratum {
        let timed: Vec<Timed> =
            (first..).zip(timed).map(|(order, &(amount, cycles))| Timed { order, amount, cycles }).collect();
        Stratum { untimed: (first + timed.len() as u64..).zip(untimed.iter().copied()).collect(), timed }
    }

    #[test]
    fn cycles_are_in_proportion_to_amounts() {
        let strata = [stratum(&[(10.0, 100.0), (20.0, 200.0), (40.0, 400.0)], 1, &[30.0, 50.0])];
        let rates = rates(&strata);
        let rate = rates[0].unwrap();
        assert_eq!((rate.per_amount, rate.of, rate.spread, rate.cycles(30.0)), (10.0, 3, Some(0.0), 300.0));
        assert_eq!(total(&strata, &rates), Inferred { cycles: 800.0, half_width: Some(8.0) });
    }

    /// By hand: the mean is 100, the variance 100, N = 10, n = 4; N (N - n) s² / n = 1,500.
    #[test]
    fn the_variance_has_the_finite_population_correction() {
        let s = (100.0_f64 * 3.0 / 2.0 / 2.0).sqrt();
        let timed = [(1.0, 100.0 - s), (1.0, 100.0 + s), (1.0, 100.0 - s), (1.0, 100.0 + s)];
        // The nearest launch was longer than the mean, six times.
        let beside = 6.0 * s + 6.0;
        let strata = [stratum(&timed, 1, &[1.0; 6])];
        let rates = rates(&strata);
        let found = total(&strata, &rates);
        assert!((found.cycles - 600.0).abs() < 1e-9);
        assert!((found.half_width.unwrap() - beside - T95[2] * 1500.0_f64.sqrt()).abs() < 1e-9, "{found:?}");
        let one = rates[0].unwrap().half_width(1.0).unwrap();
        assert!((one - T95[2] * 10.0 * 1.25_f64.sqrt()).abs() < 1e-9, "{one}");
    }

    #[test]
    fn the_first_launch_stands_for_itself_if_two_others_were_timed() {
        let all = [(1.0, 500.0), (1.0, 100.0), (1.0, 100.0)];
        let rate = |strata: &[Stratum]| rates(strata)[0].unwrap();
        assert_eq!(rate(&[stratum(&all, 0, &[1.0])]).per_amount, 100.0);
        assert_eq!(rate(&[stratum(&all[..2], 0, &[1.0])]).per_amount, 300.0);
        assert_eq!(rate(&[stratum(&all, 1, &[1.0])]).of, 3);
    }

    #[test]
    fn small_groups_borrow_the_spread_of_all() {
        let known = stratum(&[(1.0, 90.0), (1.0, 110.0), (1.0, 90.0), (1.0, 110.0)], 1, &[]);
        let strata = [known, stratum(&[(2.0, 400.0)], 0, &[2.0]), stratum(&[], 1, &[7.0])];
        let rates = rates(&strata);
        let (own, small) = (rates[0].unwrap(), rates[1].unwrap());
        assert!(!own.is_borrowed && small.is_borrowed && rates[2].is_none());
        assert_eq!(small.spread, own.spread);
        let found = total(&strata, &rates);
        assert_eq!(found.cycles, 400.0);
        assert!(found.half_width.unwrap() > 0.0);
        // Nothing to borrow: no interval.
        let strata = [stratum(&[(2.0, 400.0)], 0, &[2.0])];
        assert_eq!(total(&strata, &super::rates(&strata)), Inferred { cycles: 400.0, half_width: None });
    }

    /// Groups drawn with known rates and spreads: the interval has the truth about as often as it says.
    #[test]
    fn the_interval_has_the_truth_as_often_as_it_says() {
        let mut state = 1_u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let (rounds, mut inside) = (2000, 0);
        for _ in 0..rounds {
            let (mut strata, mut truth) = (Vec::new(), 0.0);
            for group in 1..=4_u32 {
                let mut one = Stratum::default();
                for member in 0..60 {
                    let amount = 100.0 + 5.0 * uniform();
                    let normal: f64 = (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
                    let cycles = f64::from(group) * amount * (1.0 + 0.05 * normal);
                    if member % 10 == 0 {
                        one.timed.push(Timed { order: member, amount, cycles });
                    } else {
                        one.untimed.push((member, amount));
                        truth += cycles;
                    }
                }
                strata.push(one);
            }
            let found = total(&strata, &rates(&strata));
            inside += u32::from((found.cycles - truth).abs() <= found.half_width.unwrap());
        }
        let share = f64::from(inside) / f64::from(rounds);
        assert!((0.95..=1.0).contains(&share), "{share}");
    }

    /// Launches that become longer, timed ever more rarely: the interval has the truth nevertheless.
    #[test]
    fn launches_that_change_widen_the_interval() {
        let (mut one, mut truth) = (Stratum::default(), 0.0);
        for order in 0..300_u64 {
            let cycles = 1000.0 + 3.0 * order as f64;
            if order == 0 || order.is_power_of_two() {
                one.timed.push(Timed { order, amount: 10.0, cycles });
            } else {
                one.untimed.push((order, 10.0));
                truth += cycles;
            }
        }
        let strata = [one];
        let found = total(&strata, &rates(&strata));
        assert!((found.cycles - truth).abs() < found.half_width.unwrap(), "{found:?}, {truth}");
    }

    #[test]
    fn quantiles_fall_to_those_of_the_normal_distribution() {
        assert_eq!([t95(0.0), t95(1.0), t95(1.9), t95(30.0)], [12.706, 12.706, 12.706, 2.042]);
        assert!((t95(40.0) - 2.021).abs() < 0.002 && (t95(f64::INFINITY) - 1.960).abs() < 1e-9);
    }
}
