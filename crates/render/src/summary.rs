//! The curated statistics of the short report. Every name here is in [`lab`]'s schema: a test checks
//! so. Everything else is shown by prefix, without knowing names (`--stats all`).

use crate::{energy, slots};
use lab::{KernelReport, Report};

/// Cycles that kernels took on the simulated GPU.
pub const CYCLES: &str = "cycles";
/// Cycles of launch latency, before kernels start.
pub const LAUNCH_CYCLES: &str = "launch_cycles";
/// Both together: cycles as Accel-Sim counts them.
pub const TOTAL_CYCLES: &str = "total_cycles";
/// The cycles of kernels at the core clock, in microseconds: for comparing GPUs of different clocks.
pub const TIME: &str = "time";
/// Instructions of warps.
pub const WARP_INSTRUCTIONS: &str = "warp_instructions";
/// Thread instructions per cycle.
pub const IPC: &str = "ipc";
/// Instructions of threads.
pub const THREAD_INSTRUCTIONS: &str = "thread_instructions";
/// Of cores that are fabrics, the share of configuration in their time.
pub const CONFIGURATION: &str = "design.fabric.configuration_share";
/// Issue slots lost to data and structural hazards.
pub const STALLS: &str = "stalls.hazards";
/// Achieved occupancy, in percent.
pub const OCCUPANCY: &str = "occupancy.achieved";
/// Instructions that issued before an older one of their warp, in percent: designs that count them.
pub const REORDERED: &str = "design.reordered_share";
/// Instructions executed once for all of their lanes, in percent: cores with a scalar path.
pub const SCALAR: &str = "design.scalar_share";
/// Older instructions on which one depends that enters SOCGPU's buffer.
pub const DEPENDENCES: [&str; 3] = ["design.raw_dependences", "design.waw_war_dependences", "design.stop_dependences"];

/// Label and name of what the short report gives for the whole run.
pub const TOTALS: &[(&str, &str)] = &[
    ("cycles of kernels", CYCLES),
    ("launch latency (cycles)", LAUNCH_CYCLES),
    ("cycles in all", TOTAL_CYCLES),
    ("time of kernels", TIME),
    ("warp instructions", WARP_INSTRUCTIONS),
    ("thread instructions", "thread_instructions"),
    ("thread instructions per cycle", IPC),
    ("warp instructions per cycle", "warp_ipc"),
    ("achieved occupancy", OCCUPANCY),
];

/// Label, name and unit of the main figures of a page.
pub const TILES: [(&str, &str, &str); 9] = [
    ("Cycles of kernels", CYCLES, ""),
    ("Time of kernels", TIME, "us"),
    ("Thread insts/cycle", IPC, ""),
    ("Issue slots used", slots::ISSUED, "%"),
    ("Achieved occupancy", OCCUPANCY, "%"),
    ("SMs active", "occupancy.sm_activity", "%"),
    ("DRAM bandwidth", "dram.bandwidth", "GB/s"),
    ("Energy", energy::TOTAL, ""),
    ("Mean power", energy::POWER, "W"),
];

/// Label and prefix of each cache in the short report.
pub const CACHES: &[(&str, &str)] =
    &[("L1 data", "l1d"), ("L2", "l2"), ("instruction", "icache"), ("constant", "constant")];

/// Heading and last part of the name of each figure of a cache.
pub const CACHE_FIGURES: &[(&str, &str)] = &[("accesses", "accesses"), ("hit rate", "hit_rate")];

/// Label and name of the further figures of memory.
pub const MEMORY: &[(&str, &str)] = &[
    ("mean latency beyond L1 (core cycles)", "memory.mean_read_latency"),
    ("DRAM bytes read and written", "dram.bytes"),
    ("DRAM bandwidth", "dram.bandwidth"),
    ("DRAM data buses in use", "dram.utilisation"),
    ("DRAM requests that found their row open", "dram.row_hit_rate"),
];

/// Heading and name of columns that shorten it.
const COLUMNS: &[(&str, &str)] = &[("warp insts", WARP_INSTRUCTIONS)];

/// The labels of rows and columns that [`of_label`] knows.
pub fn labels() -> impl Iterator<Item = &'static str> {
    let rows = TOTALS.iter().chain(MEMORY).chain(CACHES).chain(COLUMNS).map(|(label, _)| *label);
    rows.chain(TILES.map(|(label, ..)| label)).map(|label| label.split(" (").next().unwrap_or(label))
}

/// The statistics that reports show under `label`, a row or a column: names, and prefixes that end with a dot.
pub fn of_label(label: &str) -> Vec<String> {
    let label = label.trim().to_lowercase().replace('_', " ");
    let is_meant = |shown: &str| {
        let shown = shown.to_lowercase();
        shown == label || shown.split(" (").next() == Some(&label)
    };
    let rows = TOTALS
        .iter()
        .chain(MEMORY)
        .chain(COLUMNS)
        .copied()
        .chain(TILES.map(|(label, name, _)| (label, name)))
        .filter(|(shown, _)| is_meant(shown))
        .map(|(_, name)| name.to_owned());
    let caches = CACHES.iter().filter(|(shown, _)| is_meant(shown)).map(|(_, part)| format!("{part}."));
    rows.chain(caches).collect()
}

/// Whether launches overlap: statistics of one are then of the whole GPU while it ran.
pub fn launches_overlap(report: &Report) -> bool {
    let end = |k: &KernelReport| k.start_cycle + k.statistics.number(TOTAL_CYCLES) as u64;
    let mut spans: Vec<(u64, u64)> = report.kernels.iter().map(|k| (k.start_cycle, end(k))).collect();
    spans.sort_unstable();
    let mut last = 0;
    spans.iter().any(|&(start, end)| {
        let over = start < last;
        last = last.max(end);
        over
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_in_the_schema() {
        let known = lab::schema();
        let caches =
            CACHES.iter().flat_map(|(_, part)| CACHE_FIGURES.iter().map(move |(_, last)| format!("{part}.{last}")));
        let names = TOTALS.iter().chain(MEMORY).map(|(_, name)| (*name).to_owned()).chain(caches);
        let names = names.chain(TILES.map(|(_, name, _)| name.to_owned()));
        let names = names.chain([slots::ALL, slots::ISSUED, slots::IDLE, STALLS].map(str::to_owned));
        let missing: Vec<_> = names.filter(|n| !known.iter().any(|s| s.name == *n)).collect();
        assert!(missing.is_empty(), "not in the schema: {missing:?}");
    }
}
