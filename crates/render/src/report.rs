//! The report of a run as text.

use crate::changes;
use crate::diagnosis;
use crate::energy;
use crate::grouping;
use crate::number;
use crate::sampling;
use crate::scalar;
use crate::slots;
use crate::statistics;
use crate::style::{BAD, FAINT, GOOD, HEADING, WARNING, styled};
use crate::summary;
use crate::table::{Align, Table};
use crate::wrap::wrapped;
use lab::{HostScaling, KernelReport, RegisterSource, Report, Sampling, Stats, Value, Violation};
use std::fmt::Write as _;
use workloads::Form;

/// How much of a report to show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Detail {
    /// Every statistic, beyond the summary.
    pub all_statistics: bool,
    /// Every launch, however many there are.
    pub all_kernels: bool,
    /// Energy by component and kernel.
    pub energy: bool,
    /// The run failed; the reason is reported separately.
    pub failed: bool,
}

/// Launches that are listed one by one; more are grouped by kernel.
const MAX_LAUNCHES: usize = 16;

/// The report as text with colours.
pub fn render(report: &Report, detail: Detail) -> String {
    let mut sections = vec![
        header(report, detail.failed),
        remarks(report),
        output(report),
        kernels(report, detail),
        occupancy(report),
    ];
    if detail.all_statistics {
        sections.push(slots(report));
        sections.push(statistics::render(&report.total));
    } else {
        sections.push(totals(report));
        sections.push(slots(report));
        sections.push(memory(&report.total));
    }
    let is_whole = detail.all_kernels;
    sections.insert(4, report.grouping.as_ref().map(|groups| grouping::section(groups, is_whole)).unwrap_or_default());
    sections.insert(4, report.sampling.as_ref().map(sampling::section).unwrap_or_default());
    sections.push(diagnosis::first(report));
    sections.push(report.changes.as_ref().map(|of| changes::section(of, None)).unwrap_or_default());
    sections.push(scalar::render(&report.total));
    sections.push(if detail.energy { energy::table(report) } else { energy::line(report) });
    sections.push(audit(report));
    sections.push(memory_checks(report));
    sections.push(speed(report));
    sections.retain(|s| !s.is_empty());
    sections.join("\n")
}

/// The workload, its machine, and whether the result is right.
pub fn header(report: &Report, failed: bool) -> String {
    let mut out = format!("{}\n", styled(HEADING, &report.workload));
    let _ = writeln!(out, "  on         {}, core {}, scheduler {}", report.gpu, report.core, report.scheduler);
    if !report.kernels.is_empty() {
        let _ = writeln!(out, "  code       {}", report.code().map_or("PTX and machine code", Form::name));
    }
    if !report.settings.is_empty() {
        out += &wrapped(&report.settings.join(" "), "  settings   ", "             ");
    }
    let result = if failed { styled(BAD, "failed; the figures are of what was simulated") } else { check(report) };
    let _ = writeln!(out, "  result     {result}");
    if let Some(sampling) = &report.sampling {
        out += &sampling::head(sampling);
    }
    if report.interrupted {
        let _ = writeln!(out, "  {}", styled(WARNING, "ended early: the figures are of what was simulated so far"));
    }
    out
}

fn remarks(report: &Report) -> String {
    if report.remarks.is_empty() {
        return String::new();
    }
    let lines: String = report.remarks.iter().map(|remark| wrapped(remark, "  ", "    ")).collect();
    format!("{}\n{lines}", styled(WARNING, "Remarks"))
}

fn output(report: &Report) -> String {
    if report.output.is_empty() {
        return String::new();
    }
    let lines: String = report.output.iter().flat_map(|text| text.lines()).map(|line| format!("  {line}\n")).collect();
    format!("{}\n{lines}", styled(HEADING, "Output"))
}

/// The comparison with the host reference, a line for each part.
pub fn check(report: &Report) -> String {
    const INDENT: &str = "\n             ";
    match &report.check {
        Some(check) if check.passed => {
            format!("{}: {}", styled(GOOD, "correct"), check.details.trim_end().replace("; ", INDENT))
        }
        Some(check) => format!("{}: {}", styled(BAD, "WRONG"), check.details.trim_end().replace('\n', INDENT)),
        None => "not checked".into(),
    }
}

fn kernels(report: &Report, detail: Detail) -> String {
    if let Some(sampling) = &report.sampling {
        let is_short = sampling.kernels.len() <= MAX_LAUNCHES || detail.all_kernels;
        return if is_short { each_sample(sampling) } else { samples_by_kernel(sampling) };
    }
    if report.kernels.is_empty() {
        return String::new();
    }
    if report.kernels.len() > MAX_LAUNCHES && !detail.all_kernels { by_kernel(report) } else { by_launch(report) }
}

fn by_launch(report: &Report) -> String {
    let mut table = Table::new([
        ("#", Align::Right),
        ("kernel", Align::Name),
        ("grid", Align::Left),
        ("block", Align::Left),
        ("regs", Align::Right),
        ("shared", Align::Right),
        ("cycles", Align::Right),
        ("warp insts", Align::Right),
        ("IPC", Align::Right),
    ]);
    for kernel in &report.kernels {
        let statistics = kernel.statistics.unpacked();
        table.row(&[
            kernel.launch.to_string(),
            kernel.name.clone(),
            kernel.grid.to_string(),
            kernel.block.to_string(),
            registers(kernel),
            number::bytes(kernel.shared_bytes.into()),
            figure(&statistics, summary::CYCLES),
            figure(&statistics, summary::WARP_INSTRUCTIONS),
            figure(&statistics, summary::IPC),
        ]);
    }
    let note = styled(FAINT, "  launches overlap: the figures of one are of the whole GPU while it ran\n");
    let note = if summary::launches_overlap(report) { note } else { String::new() };
    format!("{}\n{}{note}", styled(HEADING, "Kernels"), table.render())
}

/// The launches of a sampled run, timed or not.
fn each_sample(sampling: &Sampling) -> String {
    let mut table = Table::new([
        ("#", Align::Right),
        ("kernel", Align::Name),
        ("how", Align::Left),
        ("cycles", Align::Right),
        ("± at 95 %", Align::Right),
        ("warp insts", Align::Right),
        ("group", Align::Right),
    ]);
    let number_or_dash = |count: Option<u64>| count.map_or_else(|| number::ABSENT.to_owned(), number::count);
    for one in &sampling.kernels {
        let [how, cycles, error] = sampling::launch(one);
        let instructions = number_or_dash(one.warp_instructions);
        let group = number_or_dash(one.group.map(|group| group as u64));
        table.row(&[one.launch.to_string(), one.name.clone(), how, cycles, error, instructions, group]);
    }
    format!("{}\n{}", styled(HEADING, "Kernels"), table.render())
}

/// The same, put together by kernel.
fn samples_by_kernel(sampling: &Sampling) -> String {
    let mut table = Table::new([
        ("kernel", Align::Name),
        ("launches", Align::Right),
        ("timed", Align::Right),
        ("timed cycles", Align::Right),
        ("all cycles", Align::Right),
        ("warp insts", Align::Right),
    ]);
    let mut sums: Vec<(&str, [u64; 4], f64)> = Vec::new();
    for one in &sampling.kernels {
        let timed = one.timed_cycles.unwrap_or(0);
        let counts = [1, u64::from(one.timed_cycles.is_some()), timed, one.warp_instructions.unwrap_or(0)];
        let cycles = one.inferred_cycles.unwrap_or(timed as f64);
        match sums.iter_mut().find(|(name, ..)| *name == one.name) {
            Some((_, sum, all)) => {
                sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
                *all += cycles;
            }
            None => sums.push((&one.name, counts, cycles)),
        }
    }
    for (name, [launches, timed, cycles, instructions], all) in sums {
        let [launches, timed, cycles, instructions] = [launches, timed, cycles, instructions].map(number::count);
        table.row(&[name.to_owned(), launches, timed, cycles, sampling::cycles(all), instructions]);
    }
    let note = styled(FAINT, "  put together by kernel; --all-kernels lists each launch\n");
    format!("{}\n{}{note}", styled(HEADING, "Kernels"), table.render())
}

/// Occupancy: a row for each kernel and shape of launch.
fn occupancy(report: &Report) -> String {
    let mut table = Table::new([
        ("kernel", Align::Name),
        ("block", Align::Left),
        ("regs", Align::Right),
        ("CTAs/SM", Align::Right),
        ("warps/SM", Align::Right),
        ("of slots", Align::Right),
        ("limited by", Align::Left),
    ]);
    let mut rows: Vec<[String; 7]> = Vec::new();
    for kernel in &report.kernels {
        let row = [
            kernel.name.clone(),
            kernel.block.to_string(),
            registers(kernel),
            kernel.occupancy.ctas_per_sm.to_string(),
            kernel.occupancy.warps_per_sm.to_string(),
            format!("{:.0} %", kernel.occupancy.theoretical_percent),
            kernel.occupancy.limiter.clone(),
        ];
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    rows.iter().for_each(|row| table.row(row));
    let estimated = report.kernels.iter().any(|k| k.register_source == RegisterSource::Estimated);
    let note = styled(FAINT, "  ~ registers per thread estimated from liveness, or the maximum of the GPU\n");
    format!("{}\n{}{}", styled(HEADING, "Occupancy"), table.render(), if estimated { note } else { String::new() })
}

fn registers(kernel: &KernelReport) -> String {
    let sign = if kernel.register_source == RegisterSource::Estimated { "~" } else { "" };
    format!("{sign}{}", kernel.registers_per_thread)
}

fn by_kernel(report: &Report) -> String {
    let mut names: Vec<&str> = Vec::new();
    for kernel in &report.kernels {
        if !names.contains(&kernel.name.as_str()) {
            names.push(&kernel.name);
        }
    }
    let columns =
        [("kernel", Align::Name), ("launches", Align::Right), ("cycles", Align::Right), ("warp insts", Align::Right)];
    let mut table = Table::new(columns);
    for name in names {
        let launches = report.kernels.iter().filter(|k| k.name == name);
        let sum = |stat: &str| launches.clone().map(|k| k.statistics.number(stat)).sum::<f64>() as u64;
        table.row(&[
            name.to_owned(),
            number::count(launches.clone().count() as u64),
            number::count(sum(summary::CYCLES)),
            number::count(sum(summary::WARP_INSTRUCTIONS)),
        ]);
    }
    let note = styled(FAINT, "  put together by kernel; --all-kernels lists each launch\n");
    format!("{}\n{}{note}", styled(HEADING, "Kernels"), table.render())
}

fn totals(report: &Report) -> String {
    let mut table = Table::new([("", Align::Left), ("", Align::Right), ("", Align::Left)]);
    for (label, name) in summary::TOTALS {
        table.row(&[(*label).into(), figure(&report.total, name), unit(&report.total, name)]);
    }
    format!("{}\n{}", styled(HEADING, "Total"), table.render())
}

/// A statistic as text.
pub fn figure(stats: &Stats, name: &str) -> String {
    let found = stats.0.iter().find(|(info, _)| info.name == name);
    found.map_or_else(|| number::ABSENT.to_owned(), |(info, value)| number::value(*value, info.unit))
}

/// The unit of a statistic where the label does not contain it: only signs such as `%`.
fn unit(stats: &Stats, name: &str) -> String {
    let unit = stats.0.iter().find(|(info, _)| info.name == name).map_or("", |(info, _)| info.unit);
    if matches!(unit, "%" | "GB/s" | "us") { unit.to_owned() } else { String::new() }
}

/// Issue slots, with a remark if most schedulers have nothing to do.
fn slots(report: &Report) -> String {
    let mut out = slots::render(&report.total);
    let (all, idle) = (report.total.number(slots::ALL), report.total.number(slots::IDLE));
    let largest = report.kernels.iter().map(|kernel| kernel.grid.volume()).max();
    if let Some(largest) = largest.filter(|_| idle > all / 2.0) {
        let (share, ctas) = (100.0 * (1.0 - idle / all), number::counted(largest, "CTA"));
        let _ = writeln!(out, "  Schedulers have warps for {share:.1} % of the time; the largest grid has {ctas}");
    }
    out
}

fn memory(stats: &Stats) -> String {
    let columns = [("", Align::Left)].into_iter().chain(summary::CACHE_FIGURES.iter().map(|(h, _)| (*h, Align::Right)));
    let mut caches = Table::new(columns);
    for (label, prefix) in summary::CACHES {
        let cells = summary::CACHE_FIGURES.iter().map(|(_, last)| with_unit(stats, &format!("{prefix}.{last}")));
        let cells: Vec<String> = std::iter::once((*label).to_owned()).chain(cells).collect();
        if cells[1..].iter().any(|c| c != number::ABSENT && c != "0") {
            caches.row(&cells);
        }
    }
    let mut other = Table::new([("", Align::Left), ("", Align::Right)]);
    for (label, name) in summary::MEMORY {
        // Without accesses there is no rate.
        if matches!(stats.get(name), Some(Value::Count(_))) || stats.number(name) > 0.0 {
            other.row(&[(*label).into(), with_unit(stats, name)]);
        }
    }
    if caches.is_empty() && summary::MEMORY.iter().all(|(_, name)| stats.number(name) == 0.0) {
        return String::new();
    }
    format!("{}\n{}{}", styled(HEADING, "Caches and memory"), caches.render(), other.render())
}

fn with_unit(stats: &Stats, name: &str) -> String {
    match (figure(stats, name), unit(stats, name)) {
        (figure, unit) if unit.is_empty() || figure == number::ABSENT => figure,
        (figure, unit) => format!("{figure} {unit}"),
    }
}

/// Findings of the hazard auditors.
fn audit(report: &Report) -> String {
    let Some(found) = &report.audit else { return String::new() };
    let instructions = number::counted(found.instructions, "instruction");
    let dependences = number::counted(found.dependences, "dependence");
    let mut out = format!("{}  {instructions}, {dependences} checked\n", styled(HEADING, "Hazard audit"));
    if found.total() == 0 {
        let _ = writeln!(out, "  {}", styled(GOOD, "no violation"));
    }
    for &kind in Violation::ALL {
        if let Some(first) = found.first(kind) {
            let count = styled(WARNING, format!("{} {}", number::count(found.count(kind)), kind.name()));
            let _ = writeln!(out, "  {count}, the first {first}");
        }
    }
    out
}

/// Findings about memory accesses.
fn memory_checks(report: &Report) -> String {
    let Some(found) = &report.memory_checks else { return String::new() };
    let instructions = number::counted(found.instructions, "instruction");
    let mut out = format!("{}  {instructions} checked\n", styled(HEADING, "Memory checks"));
    if found.accesses.is_empty() {
        let _ = writeln!(out, "  {}", styled(GOOD, "nothing found"));
    }
    for (kind, count) in &found.accesses {
        let _ = writeln!(out, "  {}", styled(WARNING, format!("{} {kind}", number::count(*count))));
        for finding in found.findings.iter().filter(|finding| finding.kind == *kind) {
            out += &wrapped(&finding.sentence, "    ", "      ");
        }
    }
    out
}

fn speed(report: &Report) -> String {
    let host = &report.host;
    let memory = host.peak_memory_bytes.map(|peak| format!(" with {} MiB", number::count(peak.div_ceil(1 << 20))));
    let memory = memory.unwrap_or_default();
    let line = format!(
        "Simulated in {}{memory}: {} cycles/s, {} warp instructions/s",
        number::seconds(host.seconds),
        number::short(host.cycles_per_second),
        number::short(host.warp_instructions_per_second),
    );
    format!("{}\n{}", styled(FAINT, line), host.scaling.as_ref().map_or_else(String::new, scaling))
}

/// How long it would take on several host threads.
fn scaling(measured: &HostScaling) -> String {
    let share = |seconds: f64| format!("{:.0} %", 100.0 * seconds / (measured.alone_seconds + measured.task_seconds));
    let mut out = format!("\n{}  predicted from the parts of this run's windows\n", styled(HEADING, "Host threads"));
    for on in &measured.threads {
        let times = format!("{:.2}", on.times_faster);
        let _ = writeln!(out, "  {:>3}  {:>9}  {times:>6} times faster", on.threads, number::seconds(on.seconds));
    }
    let (alone, memory) = (share(measured.alone_seconds), share(measured.memory_seconds));
    let _ = writeln!(out, "  {alone} of the time is between tasks, {memory} in the memory system");
    out
}

/// The program that made the report.
pub fn program(version: &str) -> String {
    format!("{}\n", styled(FAINT, format!("warpwright {version}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use lab::CheckResult;

    fn text(report: &Report, detail: Detail) -> String {
        sample::plain(&render(report, detail))
    }

    #[test]
    fn golden() {
        insta::assert_snapshot!(text(&sample::report(), Detail::default()));
    }

    #[test]
    fn golden_with_all_statistics() {
        insta::assert_snapshot!(text(&sample::report(), Detail { all_statistics: true, ..Detail::default() }));
    }

    #[test]
    fn golden_of_a_wrong_result_that_ended_early() {
        let mut report = sample::report();
        report.kernels.clear();
        report.output.clear();
        report.interrupted = true;
        report.check =
            Some(CheckResult { passed: false, details: "c: 1 of 4,096 values differs\nfirst at 7: 1 for 2".into() });
        insta::assert_snapshot!(text(&report, Detail::default()));
    }

    #[test]
    fn remarks_on_the_input_come_first() {
        let mut report = sample::report();
        report.remarks = vec!["vadd: the opcode FOO (3 warp instructions) is in no table".into()];
        let text = text(&report, Detail::default());
        assert!(text.find("Remarks\n  vadd: the opcode FOO").unwrap() < text.find("Output").unwrap(), "{text}");
    }

    #[test]
    fn a_run_that_leaves_most_sms_idle_says_so() {
        let said = |idle: u64| {
            let mut report = sample::report();
            for (info, value) in &mut report.total.0 {
                match &*info.name {
                    slots::ALL => *value = Value::Count(1000),
                    slots::IDLE => *value = Value::Count(idle),
                    _ => {}
                }
            }
            text(&report, Detail::default())
        };
        assert!(
            said(750).contains("Schedulers have warps for 25.0 % of the time; the largest grid has 16 CTAs"),
            "{}",
            said(750)
        );
        assert!(!said(250).contains("Schedulers have warps for"));
    }

    #[test]
    fn many_launches_are_put_together_by_kernel() {
        let mut report = sample::report();
        let kernel = report.kernels[0].clone();
        report.kernels = (0..20).map(|launch| KernelReport { launch, ..kernel.clone() }).collect();
        let together = text(&report, Detail::default());
        assert!(together.contains("20  246,900   1,003,520"), "{together}");
        let each = text(&report, Detail { all_kernels: true, ..Detail::default() });
        assert_eq!(each.matches("(4,4,1)").count(), 20, "{each}");
    }
}
