//! Bytes that moved between the levels of memory, and what the GPU description allows.

use crate::number;
use config::GpuConfig;
use lab::Stats;
use lab::diagnosis::{LevelPeak, level_peak};
use mem::Level;

/// The traffic of a level of memory, seen from the SM.
#[derive(Clone, Debug, PartialEq)]
pub struct Traffic {
    /// The level.
    pub level: Level,
    /// Colour in charts.
    pub colour: &'static str,
    /// Name of the statistic that counts its requests.
    pub requests: Option<&'static str>,
    /// Name of the statistic that is its rate of hits, and what hits are called.
    pub hits: (&'static str, &'static str),
    /// A few words: its technology, or its number of requests.
    pub line: String,
    /// Bytes that went to or came from it.
    pub bytes: f64,
    /// Whether `bytes` is an upper bound: transactions had at most this size.
    pub at_most: bool,
    /// Bytes per core cycle that the description allows, of all SMs, slices or channels together.
    pub peak: f64,
    /// Factors of `peak`.
    pub source: String,
}

impl Traffic {
    /// Name of the level.
    pub fn name(&self) -> &'static str {
        self.level.name()
    }

    /// "At most", as a sign before the bytes, where they are an upper bound.
    pub fn sign(&self) -> &'static str {
        if self.at_most { "≤ " } else { "" }
    }
}

/// The levels of memory in `stats`, nearest first.
pub fn levels(stats: &Stats, gpu: &GpuConfig) -> Vec<Traffic> {
    Level::ALL.iter().filter_map(|&level| of(level, stats, gpu)).collect()
}

/// The traffic of `level`; `None` if another level's traffic includes it.
fn of(level: Level, stats: &Stats, gpu: &GpuConfig) -> Option<Traffic> {
    let requests = |name: &str| format!("{} requests", number::short(stats.number(name)));
    let LevelPeak { bytes, transaction, at_most, peak } = level_peak(level, stats, gpu)?;
    Some(match level {
        Level::L1 => {
            let (banks, sms) = (gpu.sm.l1d.banks, gpu.sm_count);
            Traffic {
                level,
                colour: "#2e8b57",
                requests: Some("l1d.accesses"),
                hits: ("l1d.hit_rate", "hits"),
                line: requests("l1d.accesses"),
                bytes,
                at_most,
                peak,
                source: format!(
                    "{}, {}, a transaction of {transaction} bytes each per core cycle",
                    number::counted(sms.into(), "SM"),
                    number::counted(banks.into(), "bank")
                ),
            }
        }
        Level::L2 => Traffic {
            level,
            colour: "#c9781f",
            requests: Some("l2.accesses"),
            hits: ("l2.hit_rate", "hits"),
            line: requests("l2.accesses"),
            bytes,
            at_most,
            peak,
            source: format!(
                "{} slices, {} bytes each per L2 cycle at {} MHz",
                gpu.l2.slices(),
                gpu.l2.cache.port_bytes,
                gpu.clocks.l2_mhz
            ),
        },
        Level::L2Far => return None,
        Level::Dram => Traffic {
            level,
            colour: "#7b5ea7",
            requests: None,
            hits: ("dram.row_hit_rate", "row hits"),
            line: gpu.dram.technology.clone(),
            bytes,
            at_most,
            peak,
            source: format!(
                "{} channels, {} bytes each per command cycle at {} MHz",
                gpu.l2.partitions,
                gpu.dram.peak_bytes_per_cycle(),
                gpu.clocks.dram_mhz
            ),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn peaks_are_the_descriptions() {
        let gpu = config::load("rtx2060s").unwrap();
        let stats = sample::report().total;
        let [l1, l2, dram] = [Level::L1, Level::L2, Level::Dram].map(|level| of(level, &stats, &gpu).unwrap());
        assert_eq!((l1.peak, l1.at_most), (34.0 * 4.0 * 32.0, false));
        assert!((dram.peak * gpu.clocks.core_mhz / 1000.0 - 448.0).abs() < 1.0, "{}", dram.peak);
        assert!(l2.peak > dram.peak && l2.peak < l1.peak);
        // Twice 4,096 accesses of L1: the sample has no coalescer's count.
        assert_eq!((l1.bytes, l2.bytes, dram.bytes), (8192.0 * 32.0, 0.0, 43_712.0));
        let fermi = of(Level::L1, &stats, &config::load("gtx480").unwrap()).unwrap();
        assert_eq!((fermi.bytes, fermi.at_most), (8192.0 * 128.0, true));
    }
}
