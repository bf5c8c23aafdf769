//! Accesses that crowd on few L2 slices or DRAM channels ("partition camping"), which serve them one after another while
//! the others are idle.

use super::super::cause::BOUND;
use super::super::facts::Facts;
use super::super::found::{Found, name_or};

/// Traffic of the busiest part over the mean of all parts at which they count as unequal.
const UNEQUAL: f64 = 2.0;
/// Share of atomics among the accesses above which `atomics_at_one_address` applies instead.
const ATOMICS: f64 = 0.5;

/// The busiest of equal parts.
struct Busiest {
    /// Words for the parts: "32 L2 slices".
    parts: String,
    /// Its share of the traffic.
    share: f64,
    /// Its traffic over the mean.
    over_mean: f64,
    /// Share of the cycles in which it was in use.
    in_use: f64,
}

impl Busiest {
    /// The busiest of `count` parts that move `all` bytes in total and up to `peak` bytes per cycle.
    fn of(facts: &Facts<'_>, count: u32, what: &str, (bytes, all): (f64, f64), peak: f64) -> Option<Self> {
        let parts = f64::from(count);
        let in_use = (bytes / (facts.cycles * peak / parts)).min(1.0);
        let over_mean = bytes / all * parts;
        let is_crowded = over_mean >= UNEQUAL && in_use > BOUND;
        is_crowded.then(|| Self { parts: format!("{count} {what}"), share: bytes / all, over_mean, in_use })
    }

    /// Share of the cycles that equal parts would save.
    fn excess(&self) -> f64 {
        self.in_use * (1.0 - 1.0 / self.over_mean)
    }
}

pub fn find<'a>(facts: &Facts<'a>) -> Option<Found<'a>> {
    let gpu = facts.gpu;
    let accesses = facts.number("l2.accesses");
    if accesses <= 0.0 || facts.number("partition.atomics") > ATOMICS * accesses {
        return None;
    }
    let bytes = |name: &str| facts.number(name) * f64::from(gpu.l2.cache.fetch_bytes());
    let of_slices = (bytes("l2.busiest_slice"), bytes("l2.accesses"));
    let of_channels = (facts.number("dram.busiest_channel"), facts.number("dram.bytes"));
    let busiest = [
        Busiest::of(facts, gpu.l2.slices(), "L2 slices", of_slices, gpu.l2_peak_bytes_per_core_cycle()),
        Busiest::of(facts, gpu.l2.partitions, "DRAM channels", of_channels, gpu.dram_peak_bytes_per_core_cycle()),
    ];
    let busiest = busiest.into_iter().flatten().max_by(|a, b| a.excess().total_cmp(&b.excess()))?;
    let at = facts.most(|row| row.memory.map_or(0, |memory| memory.sectors));
    let Busiest { parts, share, over_mean, in_use } = &busiest;
    Some(Found {
        sentence: format!(
            "One of {parts} has {:.0} % of the traffic, {over_mean:.1} times its share, and is in use {:.0} % of the time; most sectors are of {}",
            100.0 * share,
            100.0 * in_use,
            name_or(at, "loads and stores")
        ),
        without: "crowding",
        remedy: "Change the distance between addresses that are accessed at the same time: pad the rows, or give CTAs another order.",
        at,
        cycles: facts.cycles * busiest.excess(),
        relieved: Vec::new(),
    })
}
