//! Estimate of the time of a launch of which some CTAs were timed.
//!
//! CTAs fill the GPU, then each that ends makes room for the next one, and at the end the GPU drains. Between fill and
//! drain the GPU is full, and the CTAs that were not timed would have been there: they take the mean time of a wave (as
//! many CTAs as the GPU holds) for each of their waves. Fill and drain are as measured. A wave's time is that between
//! the ends of CTAs whose numbers, in the order of ends, are a wave apart; its spread is that over the waves.
//!
//! With fewer than four waves there are too few to see a spread. The result is then the middle between two bounds: one
//! as if fill and drain took nothing, one as if all the time were fill and drain.
//!
//! The CTAs that are timed are not a random sample: they find other caches than later ones. Two terms widen the
//! interval for that: the trend over the waves, as if it went on, and half a wave's share of what is inferred
//! ([`BESIDE_WAVES`]). Neither is of statistics; docs/sampling.md has how often the interval held.

use super::estimate::{Inferred, t95};

/// Share of a wave by which what is inferred of a wave is uncertain beside its spread.
const BESIDE_WAVES: f64 = 0.5;

/// Measurements of the timed CTAs.
#[derive(Clone, Debug)]
pub(crate) struct Part<'a> {
    /// Cycles from the end of the launch latency to the last CTA's end.
    pub cycles: u64,
    /// When each CTA ended, ascending; of any cycle on.
    pub ends: &'a [u64],
    /// CTAs of the grid.
    pub ctas: u64,
    /// CTAs that the GPU holds at once.
    pub slots: u64,
    /// Average work of an untimed CTA, as a share of a timed CTA's.
    pub work_ratio: f64,
}

/// Infers the cycles of the whole launch.
pub(crate) fn whole(part: &Part<'_>) -> Inferred {
    let (timed, slots) = (part.ends.len() as u64, part.slots.max(1));
    let rest = (part.ctas - timed) as f64 * part.work_ratio;
    let measured = part.cycles as f64;
    let waves = (timed / slots).saturating_sub(2);
    if timed == 0 || rest <= 0.0 {
        return Inferred { cycles: measured, half_width: Some(0.0) };
    }
    let full = slots.min(part.ctas) as f64;
    let beside = |cycles: f64| BESIDE_WAVES * (cycles - measured) * full / timed as f64;
    if waves < 2 {
        let [low, high] = bounds(part, rest);
        let cycles = (low + high) / 2.0;
        return Inferred { cycles, half_width: Some((high - low) / 2.0 + beside(cycles)) };
    }
    let wave = slots as usize;
    // The GPU is full up to the end of this CTA, after which none is left to start.
    let last = part.ends.len() - wave;
    let first = last - waves as usize * wave;
    let times: Vec<f64> = (0..waves as usize)
        .map(|k| (part.ends[first + (k + 1) * wave - 1] - part.ends[first + k * wave - 1]) as f64)
        .collect();
    let mean = times.iter().sum::<f64>() / waves as f64;
    let variance = times.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / (waves as f64 - 1.0);
    let more = rest / slots as f64;
    let sampled = t95(waves as f64 - 1.0) * (variance * (more * more / waves as f64 + more)).sqrt();
    // CTAs that are all alike end together: a wave that is partly filled takes as long as a full one.
    let whole_waves = part.ctas.div_ceil(slots) as f64 - timed.div_ceil(slots) as f64;
    let rounding = (whole_waves * part.work_ratio - more).abs().min(1.0) * mean;
    let (early, late) = times.split_at(times.len() / 2);
    let mean_of = |times: &[f64]| times.iter().sum::<f64>() / times.len() as f64;
    let trend = (mean_of(late) - mean_of(early)).abs() * more;
    let cycles = measured + more * mean;
    Inferred { cycles, half_width: Some(sampled + rounding + trend + beside(cycles)) }
}

/// The bounds for few waves.
fn bounds(part: &Part<'_>, rest: f64) -> [f64; 2] {
    let (timed, slots, cycles) = (part.ends.len() as f64, part.slots.max(1) as f64, part.cycles as f64);
    let high = cycles * (1.0 + rest / timed);
    if timed < 2.0 * slots {
        // The CTAs that were timed may have had the GPU almost for themselves, and the others may run beside them.
        let waves = ((timed + rest) / slots) / (timed / slots).ceil();
        return [cycles * waves.max(1.0), high];
    }
    let at = part.ends.len() - part.slots as usize;
    let steady = (part.ends[at - 1] - part.ends[part.slots as usize - 1]) as f64 / (timed - 2.0 * slots).max(1.0);
    let low = cycles + rest * steady.min(cycles / timed);
    [low, high]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ends of CTAs that all take `cycles`, `slots` at a time, the first of them from cycle 0 on.
    fn waves(ctas: u64, slots: u64, cycles: u64) -> Vec<u64> {
        (0..ctas).map(|cta| (cta / slots + 1) * cycles).collect()
    }

    fn part(ends: &[u64], ctas: u64, slots: u64) -> Part<'_> {
        Part { cycles: *ends.last().unwrap(), ends, ctas, slots, work_ratio: 1.0 }
    }

    #[test]
    fn equal_waves_are_exact() {
        let ends = waves(40, 8, 100);
        // Half a wave of the five that were timed: a tenth of the 500 that are inferred.
        assert_eq!(whole(&part(&ends, 80, 8)), Inferred { cycles: 1000.0, half_width: Some(50.0) });
        // A wave that is partly filled: between five and six more.
        let found = whole(&part(&ends, 84, 8));
        assert_eq!((found.cycles, found.half_width), (1050.0, Some(55.0 + 50.0)));
    }

    #[test]
    fn a_trend_widens_the_interval() {
        let mut ends: Vec<u64> = waves(48, 8, 100);
        ends.iter_mut().enumerate().for_each(|(cta, end)| *end += 10 * (cta as u64 / 8).pow(2));
        let found = whole(&part(&ends, 96, 8));
        let beside = 0.5 * (found.cycles - *ends.last().unwrap() as f64) / 6.0;
        // The waves grow by 20 cycles each: the second half is 40 longer than the first, over six waves.
        assert!(found.half_width.unwrap() > beside + 240.0, "{found:?}");
    }

    #[test]
    fn more_work_takes_more_time() {
        let ends = waves(40, 8, 100);
        assert_eq!(whole(&Part { work_ratio: 2.0, ..part(&ends, 80, 8) }).cycles, 1500.0);
    }

    #[test]
    fn few_waves_give_bounds() {
        // Half of a wave: the others run beside them, or as long again; and as much for what half a wave does not show.
        let ends = waves(4, 8, 100);
        let found = whole(&part(&ends, 8, 8));
        assert_eq!((found.cycles, found.half_width), (150.0, Some(50.0 + 50.0)));
        let ends = waves(24, 8, 100);
        let found = whole(&part(&ends, 48, 8));
        assert_eq!((found.cycles, found.half_width), (600.0, Some(50.0)));
    }

    #[test]
    fn a_launch_that_was_timed_whole_is_known() {
        let ends = waves(8, 8, 100);
        assert_eq!(whole(&part(&ends, 8, 8)), Inferred { cycles: 100.0, half_width: Some(0.0) });
    }
}
