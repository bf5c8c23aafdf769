//! Statistics under the names that GPGPU-Sim and Accel-Sim print, for scripts that parse those.
//!
//! One block per kernel launch, in the form `name = value`, as GPGPU-Sim prints after each kernel.
//! Where a name has no equivalent here it is left out; `docs/from-accel-sim.md` gives the meaning of each.

use crate::summary;
use lab::{KernelReport, Report, Stats};
use std::fmt::Write as _;

/// Accel-Sim's names, each with our statistics that add up to it. They are sums over the launches so far.
const NAMES: &[(&str, &[&str])] = &[
    ("gpgpu_n_tot_w_icount", &["warp_instructions"]),
    ("L1D_total_cache_accesses", &["l1d.accesses"]),
    ("L1D_total_cache_misses", &["l1d.read_misses", "l1d.read_sector_misses", "l1d.write_misses"]),
    ("L2_total_cache_accesses", &["l2.accesses"]),
    ("L2_total_cache_misses", &["l2.read_misses", "l2.read_sector_misses", "l2.write_misses"]),
    ("total dram reads", &["dram.read_commands"]),
    ("total dram writes", &["dram.write_commands"]),
];

/// Accel-Sim's names of what happens to a request in a cache, with our counters of reads and of writes. Its kinds of
/// access are put together: all reads and atomics are its global reads, all writes its global writes.
const OUTCOMES: &[(&str, &str, &str)] = &[
    ("HIT", "read_hits", "write_hits"),
    ("HIT_RESERVED", "read_merges", "write_merges"),
    ("MISS", "read_misses", "write_misses"),
    ("SECTOR_MISS", "read_sector_misses", ""),
];

/// Accel-Sim's names of the tables of caches, each with the prefix of our statistics.
const BREAKDOWNS: &[(&str, &str)] = &[("Total_core_cache_stats_breakdown", "l1d"), ("L2_cache_stats_breakdown", "l2")];

/// Accel-Sim's cycles include the launch latency.
const CYCLES: &str = summary::TOTAL_CYCLES;
const INSTRUCTIONS: &str = "thread_instructions";
const OCCUPANCY: &str = "occupancy.achieved";

/// The report as `name = value` lines.
pub fn render(report: &Report) -> String {
    let mut out = format!("Accel-Sim names, by Warpwright [build {}]\n", report.version);
    for end in 1..=report.kernels.len() {
        kernel(&mut out, &report.kernels[..end]);
    }
    simulation(&mut out, report);
    if !report.interrupted {
        // Accel-Sim's scripts treat a log without this line as the log of a crash.
        out.push_str("GPGPU-Sim: *** exit detected ***\n");
    }
    out
}

/// The last of the launches so far.
fn kernel(out: &mut String, so_far: &[KernelReport]) {
    let Some(last) = so_far.last() else { return };
    let stats = &last.statistics;
    let sum = |name: &str| so_far.iter().map(|k| k.statistics.number(name)).sum::<f64>();
    let (cycles, instructions) = (sum(CYCLES), sum(INSTRUCTIONS));
    let ctas: u64 = so_far.iter().map(|k| k.grid.volume()).sum();
    let _ = writeln!(out, "\nkernel_name = {}", last.name);
    let _ = writeln!(out, "kernel_launch_uid = {}", last.launch + 1);
    let _ = writeln!(out, "gpu_sim_cycle = {}", stats.number(CYCLES));
    let _ = writeln!(out, "gpu_sim_insn = {}", stats.number(INSTRUCTIONS));
    let _ = writeln!(out, "gpu_ipc = {:12.4}", ratio(stats.number(INSTRUCTIONS), stats.number(CYCLES)));
    let _ = writeln!(out, "gpu_tot_sim_cycle = {cycles}");
    let _ = writeln!(out, "gpu_tot_sim_insn = {instructions}");
    let _ = writeln!(out, "gpu_tot_ipc = {:12.4}", ratio(instructions, cycles));
    let _ = writeln!(out, "gpu_tot_issued_cta = {ctas}");
    let _ = writeln!(out, "gpu_occupancy = {:.4}% ", stats.number(OCCUPANCY));
    for (theirs, ours) in NAMES {
        if ours.iter().all(|name| stats.get(name).is_some()) {
            let _ = writeln!(out, "{theirs} = {}", ours.iter().map(|name| sum(name)).sum::<f64>());
        }
    }
    for &(table, cache) in BREAKDOWNS {
        breakdown(out, table, &|counter| {
            let name = format!("{cache}.{counter}");
            stats.get(&name).map(|_| sum(&name))
        });
    }
}

/// A table of Accel-Sim of what has become of a cache's requests; `count` has our counters, those that there are.
fn breakdown(out: &mut String, table: &str, count: &impl Fn(&str) -> Option<f64>) {
    type Pick = fn(&(&str, &'static str, &'static str)) -> &'static str;
    let kinds: [(&str, Pick); 2] = [("GLOBAL_ACC_R", |outcome| outcome.1), ("GLOBAL_ACC_W", |outcome| outcome.2)];
    for (kind, counter) in kinds {
        let found = OUTCOMES.iter().filter_map(|outcome| Some((outcome.0, count(counter(outcome))?)));
        let found: Vec<(&str, f64)> = found.collect();
        for (outcome, n) in &found {
            let _ = writeln!(out, "{table}[{kind}][{outcome}] = {n}");
        }
        if !found.is_empty() {
            let _ = writeln!(out, "{table}[{kind}][TOTAL_ACCESS] = {}", found.iter().map(|(_, n)| n).sum::<f64>());
        }
    }
}

fn ratio(a: f64, b: f64) -> f64 {
    if b == 0.0 { 0.0 } else { a / b }
}

fn simulation(out: &mut String, report: &Report) {
    let host = &report.host;
    // Accel-Sim's scripts read whole seconds.
    let whole = host.seconds as u64;
    let [days, hours, minutes, seconds] = [whole / 86_400, whole / 3600 % 24, whole / 60 % 60, whole % 60];
    let _ =
        writeln!(out, "\ngpgpu_simulation_time = {days} days, {hours} hrs, {minutes} min, {seconds} sec ({whole} sec)");
    let _ = writeln!(out, "warpwright_simulation_seconds = {:.3}", host.seconds);
    let rate = |stats: &Stats| ratio(stats.number(INSTRUCTIONS), host.seconds).round();
    let _ = writeln!(out, "gpgpu_simulation_rate = {} (inst/sec)", rate(&report.total));
    let _ = writeln!(out, "gpgpu_simulation_rate = {} (cycle/sec)", host.cycles_per_second.round());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn golden() {
        insta::assert_snapshot!(render(&sample::report()));
    }

    #[test]
    fn every_statistic_named_here_exists() {
        let known = lab::schema();
        let ours = NAMES.iter().flat_map(|(_, ours)| ours.iter().copied()).chain([CYCLES, INSTRUCTIONS, OCCUPANCY]);
        let counters = OUTCOMES.iter().flat_map(|(_, reads, writes)| [*reads, *writes]).filter(|name| !name.is_empty());
        let of_caches: Vec<String> = counters
            .flat_map(|counter| BREAKDOWNS.iter().map(move |(_, cache)| format!("{cache}.{counter}")))
            .collect();
        let ours = ours.chain(of_caches.iter().map(String::as_str));
        let missing: Vec<_> = ours.filter(|n| !known.iter().any(|s| s.name == *n)).collect();
        assert!(missing.is_empty(), "not in the schema: {missing:?}");
    }
}
