//! Share of chance in a figure: repeats of a run with irrelevant changes, and the confidence interval of their mean.
//!
//! These changes move the cycles of memory-bound kernels by 1 to 5 %, but should not favour a design: the cluster of SMs
//! that gets the first CTA, the addresses of the data (distribution over L2 slices and DRAM banks), and up to two cycles of
//! L2 latency in either direction.

use lab::Setup;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use serde::Serialize;

/// Addresses move by multiples of this many bytes, what an allocation is aligned to.
const ALIGNMENT: u64 = 256;
/// By fewer than this many of them: 1 MiB.
const MOST_PLACES: u32 = 4096;
/// L2 cycles by which L2 is slower or faster.
const LATENCY: i64 = 2;

/// `setup` for repeat `repeat`, which seeds the changes; repeat 0 is `setup` itself.
pub fn repeated(setup: &Setup, repeat: u64) -> Setup {
    let mut setup = setup.clone();
    if repeat == 0 {
        return setup;
    }
    let mut chance = ChaCha8Rng::seed_from_u64(repeat);
    let mut below = |most: u32| chance.next_u32() % most;
    let clusters = setup.gpu.sm_count / setup.gpu.sms_per_cluster;
    setup.gpu.launch.first_cluster = Some(below(clusters));
    setup.shift_addresses += u64::from(below(MOST_PLACES)) * ALIGNMENT;
    let latency = &mut setup.gpu.l2.latency_cycles;
    let changed = i64::from(*latency) - LATENCY + i64::from(below(2 * LATENCY as u32 + 1));
    *latency = u32::try_from(changed).unwrap_or(0).max(1).max(latency.saturating_sub(LATENCY as u32));
    setup
}

/// A figure over several runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// Number of runs.
    pub runs: usize,
    /// Mean over them.
    pub mean: f64,
    /// Half of the width of the 95 % confidence interval around the mean (Student's t).
    pub half: f64,
}

impl Spread {
    /// That of `values`; `None` of fewer than two.
    pub fn of(values: &[f64]) -> Option<Self> {
        let runs = values.len();
        let freedom = runs.checked_sub(1).filter(|&freedom| freedom > 0)?;
        let mean = values.iter().sum::<f64>() / runs as f64;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / freedom as f64;
        Some(Self { runs, mean, half: quantile(freedom) * (variance / runs as f64).sqrt() })
    }

    /// Whether `value` is within the interval.
    pub fn contains(&self, value: f64) -> bool {
        (self.mean - value).abs() <= self.half
    }
}

/// The 97.5 % quantile of Student's t distribution with `freedom` degrees of freedom; above 30 within 0.001.
fn quantile(freedom: usize) -> f64 {
    const T: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
        2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
    ];
    T.get(freedom - 1).copied().unwrap_or(1.96 + 2.5 / freedom as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeat_changes_what_should_not_matter_and_nothing_else() {
        let setup = Setup::new(config::load("v100").unwrap());
        let same = |one: &Setup, other: &Setup| format!("{one:?}") == format!("{other:?}");
        assert!(same(&repeated(&setup, 0), &setup));
        assert!(same(&repeated(&setup, 7), &repeated(&setup, 7)));
        let usual = setup.gpu.l2.latency_cycles;
        let (mut latencies, mut places) = (Vec::new(), Vec::new());
        for repeat in 1..40 {
            let mut changed = repeated(&setup, repeat);
            assert!(changed.gpu.launch.first_cluster.take().unwrap() < 80);
            assert_eq!(changed.shift_addresses % ALIGNMENT, 0);
            places.push(std::mem::take(&mut changed.shift_addresses));
            latencies.push(std::mem::replace(&mut changed.gpu.l2.latency_cycles, usual));
            assert!(same(&changed, &setup));
        }
        latencies.sort_unstable();
        latencies.dedup();
        assert_eq!(latencies, (usual - 2..=usual + 2).collect::<Vec<_>>());
        places.sort_unstable();
        places.dedup();
        assert!(places.len() > 30, "{places:?}");
    }

    #[test]
    fn intervals_are_students() {
        assert_eq!([Spread::of(&[]), Spread::of(&[1.0])], [None, None]);
        let three = Spread::of(&[1.0, 2.0, 3.0]).unwrap();
        // Standard deviation 1, so 4.303 / sqrt(3).
        assert!((three.half - 2.4843).abs() < 1e-3 && three.mean == 2.0 && three.runs == 3, "{three:?}");
        assert!(three.contains(4.4) && !three.contains(4.5));
        assert!((quantile(30) - quantile(31)).abs() < 0.003 && (quantile(1000) - 1.9623).abs() < 0.001);
    }
}
