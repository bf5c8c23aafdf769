//! The statistics of several launches together, from their reports.

use crate::packed::PackedStats;
use gpu::{Stats, Value};

/// The statistics of one run that consists of `launches`, which do not overlap. Counts, times, energies and loads are sums; a
/// ratio is the mean by its denominator. Other ratios of core designs, whose denominators no report has, are means by
/// cycles.
pub fn summed<'a>(launches: impl Iterator<Item = &'a PackedStats>) -> Stats {
    let mut sum: Vec<Sum> = Vec::new();
    let mut of_first = None;
    for launch in launches {
        let launch = launch.unpacked();
        sum.resize(sum.len().max(launch.0.len()), Sum::default());
        for ((info, value), sum) in launch.0.iter().zip(&mut sum) {
            sum.add(*value, weight(&info.name, info.unit, &launch));
        }
        of_first.get_or_insert(launch);
    }
    let Stats(first) = of_first.unwrap_or_default();
    Stats(first.into_iter().zip(sum).map(|((info, _), sum)| (info, sum.value())).collect())
}

/// A statistic of several launches.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    count: u64,
    real: Option<f64>,
    /// Sum of the weights; 0 unless it is a ratio.
    weight: f64,
    is_real: bool,
}

impl Sum {
    fn add(&mut self, value: Value, weight: Option<f64>) {
        match value {
            Value::Count(count) => self.count = self.count.saturating_add(count),
            Value::Real(real) => {
                self.is_real = true;
                let Some(real) = real else { return };
                self.real = Some(self.real.unwrap_or(0.0) + real * weight.unwrap_or(1.0));
                self.weight += weight.unwrap_or(0.0);
            }
        }
    }

    fn value(self) -> Value {
        match self.real {
            _ if !self.is_real => Value::Count(self.count),
            Some(sum) if self.weight > 0.0 => Value::Real(Some(sum / self.weight)),
            real => Value::Real(real),
        }
    }
}

/// The denominator of the statistic called `name`, up to a constant factor; `None` of what is added up.
fn weight(name: &str, unit: &str, launch: &Stats) -> Option<f64> {
    let of = |name: &str| Some(launch.number(name));
    match name {
        _ if matches!(unit, "J" | "us") => None,
        // Launches may have different busiest parts: the sum is what the busiest one has at most.
        "l2.busiest_slice" | "dram.busiest_channel" => None,
        "lane_use" | "energy.per_warp_instruction" | "design.reordered_share" => of("warp_instructions"),
        "energy.per_thread_instruction" => of("thread_instructions"),
        // Cycles in which an SM had a warp.
        "occupancy.achieved" => Some(launch.number("cycles") * launch.number("occupancy.sm_activity")),
        "power.mean" => of("total_time"),
        "memory.mean_read_latency" => of("memory.reads"),
        "dram.mean_read_latency" => of("dram.reads"),
        "dram.row_hit_rate" => of("dram.scheduled"),
        _ => match name.strip_suffix(".hit_rate") {
            Some(part) => of(&format!("{part}.accesses")),
            None => of("cycles"),
        },
    }
}
