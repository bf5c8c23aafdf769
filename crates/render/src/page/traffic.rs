//! Bytes that moved between the levels of memory, and what the GPU description allows.

use config::GpuConfig;
use lab::Stats;
use mem::coalesce::Granularity;

/// A level of memory, seen from the SM.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// Short name.
    pub name: &'static str,
    /// Colour in charts.
    pub colour: &'static str,
    /// Bytes that went to or came from it.
    pub bytes: f64,
    /// Whether `bytes` is an upper bound: transactions had at most this size.
    pub at_most: bool,
    /// Bytes per core cycle that the description allows, of all SMs, slices or channels together.
    pub peak: f64,
    /// What `peak` is made of.
    pub source: String,
}

/// The levels L1, L2 and DRAM in `stats`.
pub fn levels(stats: &Stats, gpu: &GpuConfig) -> [Level; 3] {
    let (l1d, sector) = (&gpu.sm.l1d, f64::from(mem::coalesce::SECTOR_BYTES));
    let granularity = Granularity::of(gpu.sm_version, l1d.skip_global, l1d.cache.fetch_bytes());
    let (transaction, at_most) = match granularity {
        Granularity::Sector => (sector, false),
        Granularity::Segment(most) => (f64::from(most), true),
    };
    // Cores without a coalescer count accesses to L1 only.
    let transactions = stats.get("sm.transactions").or_else(|| stats.get("l1d.accesses"));
    let transactions = transactions.and_then(lab::Value::number).unwrap_or(0.0);
    let fetch = f64::from(gpu.l2.cache.fetch_bytes());
    let (banks, sms) = (l1d.banks, gpu.sm_count);
    [
        Level {
            name: "L1",
            colour: "#2e8b57",
            bytes: transactions * transaction,
            at_most,
            peak: f64::from(sms) * f64::from(banks) * transaction,
            source: format!(
                "{}, {}, a transaction of {transaction} bytes each per core cycle",
                crate::number::counted(sms.into(), "SM"),
                crate::number::counted(banks.into(), "bank")
            ),
        },
        Level {
            name: "L2",
            colour: "#c9781f",
            bytes: stats.number("partition.parts") * fetch,
            at_most: false,
            peak: gpu.l2_peak_bytes_per_core_cycle(),
            source: format!(
                "{} slices, {} bytes each per L2 cycle at {} MHz",
                gpu.l2.slices(),
                gpu.l2.cache.port_bytes,
                gpu.clocks.l2_mhz
            ),
        },
        Level {
            name: "DRAM",
            colour: "#7b5ea7",
            bytes: stats.number("dram.bytes"),
            at_most: false,
            peak: gpu.dram_peak_bytes_per_core_cycle(),
            source: format!(
                "{} channels, {} bytes each per command cycle at {} MHz",
                gpu.l2.partitions,
                gpu.dram.peak_bytes_per_cycle(),
                gpu.clocks.dram_mhz
            ),
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn peaks_are_the_descriptions() {
        let gpu = config::load("rtx2060s").unwrap();
        let [l1, l2, dram] = levels(&sample::report().total, &gpu);
        assert_eq!((l1.peak, l1.at_most), (34.0 * 4.0 * 32.0, false));
        assert!((dram.peak * gpu.clocks.core_mhz / 1000.0 - 448.0).abs() < 1.0, "{}", dram.peak);
        assert!(l2.peak > dram.peak && l2.peak < l1.peak);
        // Twice 4,096 accesses of L1: the sample has no coalescer's count.
        assert_eq!((l1.bytes, l2.bytes, dram.bytes), (8192.0 * 32.0, 0.0, 43_712.0));
        let fermi = config::load("gtx480").unwrap();
        let [l1, ..] = levels(&sample::report().total, &fermi);
        assert_eq!((l1.bytes, l1.at_most), (8192.0 * 128.0, true));
    }
}
