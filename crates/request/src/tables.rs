//! Results as tables for other programs: the rows of CSV.
//!
//! A command writes one table. Figures of several kinds are in long form: a row for each, with its unit beside it.
//! Rows are flat structs, or tuples of such structs, whose fields are the columns. Each row identifies its run and the
//! program that wrote it: rows of several files can be put together.

use crate::comparison::{Cell, Column, Comparison, Input};
use lab::grouping::Group;
use lab::profile::{Accesses, KernelProfile, Levels, Profile, Served};
use lab::{KernelReport, Report, Stats, Value};
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use workloads::{Form, Size};

/// Version of the program that writes a table.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A figure of a run, or of one of its launches.
#[derive(Debug, Serialize)]
pub struct RunRow<'a> {
    workload: &'a str,
    size: Option<&'static str>,
    seed: Option<u64>,
    gpu: &'a str,
    core: &'a str,
    scheduler: &'a str,
    settings: String,
    code: Option<Form>,
    version: &'static str,
    commit: Option<&'a str>,
    /// `total` of the whole run, `launch` of a kernel launch, `group` of all launches of a group.
    scope: &'static str,
    launch: Option<u32>,
    kernel: &'a str,
    /// Ranges that launched it, the outermost first, if they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<String>,
    grid: String,
    block: String,
    statistic: &'a str,
    unit: &'static str,
    value: Value,
}

/// The figures of a run of `input`: of the whole, then of each launch. `commit` is the program's.
pub fn of_run<'a>(report: &'a Report, input: Input, commit: Option<&'a str>) -> impl Iterator<Item = RunRow<'a>> {
    let code = report.code();
    let of = move |kernel: Option<&KernelReport>, (statistic, unit, value)| RunRow {
        workload: &report.workload,
        size: input.size.map(Size::name),
        seed: input.seed,
        gpu: &report.gpu,
        core: &report.core,
        scheduler: &report.scheduler,
        settings: report.settings.join(" "),
        code: kernel.map_or(code, |kernel| Some(kernel.code)),
        version: VERSION,
        commit,
        scope: if kernel.is_some() { "launch" } else { "total" },
        launch: kernel.map(|k| k.launch),
        kernel: "",
        group: report
            .grouping
            .as_ref()
            .map(|groups| kernel.and_then(|kernel| groups.path(kernel.launch)).unwrap_or_default().join("/")),
        grid: kernel.map(|k| k.grid.to_string()).unwrap_or_default(),
        block: kernel.map(|k| k.block.to_string()).unwrap_or_default(),
        statistic,
        unit,
        value,
    };
    let total = statistics(&report.total).map(move |figure| of(None, figure));
    let launches = report.kernels.iter().flat_map(move |kernel| {
        let statistics = kernel.statistics.iter().map(|(info, value)| (&*info.name, info.unit, value));
        let figures = launch(kernel).into_iter().chain(statistics);
        figures.map(move |figure| RunRow { kernel: &kernel.name, ..of(Some(kernel), figure) })
    });
    let groups = report.grouping.iter().flat_map(move |grouping| {
        grouping.groups.iter().flat_map(move |group| {
            let figures = group_figures(group).into_iter();
            figures.map(move |figure| RunRow { scope: "group", group: Some(group.path.join("/")), ..of(None, figure) })
        })
    });
    total.chain(launches).chain(groups)
}

/// Figures of a group of launches.
fn group_figures(group: &Group) -> [Figure<'static>; 5] {
    [
        ("launches", "launches", Value::Count(group.launches)),
        ("untimed", "launches", Value::Count(group.untimed)),
        ("cycles", "core cycles", Value::Real(Some(group.cycles))),
        ("seconds", "s", Value::Real(Some(group.seconds))),
        ("share", "%", Value::Real(group.share_percent)),
    ]
}

/// Name, unit and value of a figure.
type Figure<'a> = (&'a str, &'static str, Value);

fn statistics(stats: &Stats) -> impl Iterator<Item = Figure<'_>> {
    stats.0.iter().map(|(info, value)| (&*info.name, info.unit, *value))
}

/// Columns of a launch beside statistics.
fn launch(kernel: &KernelReport) -> [Figure<'static>; 6] {
    let occupancy = &kernel.occupancy;
    [
        ("registers_per_thread", "registers", Value::Count(kernel.registers_per_thread.into())),
        ("shared_bytes", "bytes", Value::Count(kernel.shared_bytes.into())),
        ("occupancy.ctas_per_sm", "CTAs", Value::Count(occupancy.ctas_per_sm.into())),
        ("occupancy.warps_per_sm", "warps", Value::Count(occupancy.warps_per_sm.into())),
        ("occupancy.theoretical", "%", Value::Real(Some(occupancy.theoretical_percent))),
        ("start_cycle", "core cycles", Value::Count(kernel.start_cycle)),
    ]
}

/// An instruction of a profile, over all launches of its kernel.
#[derive(Debug, Serialize)]
pub struct InstructionRow<'a> {
    workload: &'a str,
    size: Option<&'static str>,
    seed: Option<u64>,
    /// Label of the machine, of a comparison.
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<&'a str>,
    gpu: &'a str,
    core: &'a str,
    scheduler: &'a str,
    settings: String,
    code: Option<Form>,
    /// Number of the repeat, from 0, of a comparison.
    #[serde(skip_serializing_if = "Option::is_none")]
    repeat: Option<usize>,
    version: &'static str,
    commit: Option<&'a str>,
    kernel: &'a str,
    pc: u32,
    instruction: &'a str,
    file: Option<&'a str>,
    line: Option<u32>,
    source: Option<&'a str>,
    issues: u64,
    lanes: u64,
    divergences: u64,
    stalled_slots: u64,
    /// Why it waited most.
    reason: Option<&'static str>,
    caused_slots: u64,
    latency_mean: Option<f64>,
    latency_p95: Option<u64>,
    accesses: u64,
    transactions: u64,
    sectors: u64,
    excess_sectors: u64,
    conflict_cycles: u64,
}

/// The last column of such a row.
#[derive(Debug, Serialize)]
pub struct EnergyColumn {
    joules: Option<f64>,
}

/// The row, in which the columns of the levels of memory precede the energy.
pub type ProfileRow<'a> = (InstructionRow<'a>, Served, EnergyColumn);

/// Run of a profile.
#[derive(Clone, Copy, Debug)]
struct Profiled<'a> {
    report: &'a Report,
    profile: &'a Profile,
    workload: &'a str,
    input: Input,
    /// Label of the machine and number of the repeat, of a comparison.
    place: Option<(&'a str, usize)>,
}

/// The instructions of a profile, by kernel, in the order of the code.
pub fn of_profile<'a>(
    report: &'a Report,
    profile: &'a Profile,
    input: Input,
    commit: Option<&'a str>,
) -> Vec<ProfileRow<'a>> {
    let of = Profiled { report, profile, workload: &report.workload, input, place: None };
    instructions(of, profile.levels, commit)
}

/// The instructions of each run of a comparison that has a profile.
pub fn of_profiles<'a>(comparison: &'a Comparison, commit: Option<&'a str>) -> Vec<ProfileRow<'a>> {
    let columns = comparison.columns.len();
    let of_run = |(repeat, one): (usize, &'a Comparison), i: usize| {
        let (row, at) = (i / columns, i % columns);
        let report = one.cell(row, at).complete()?;
        let place = Some((comparison.columns[at].label.as_str(), repeat));
        let (profile, workload) = (report.profile.as_ref()?, comparison.workloads[row].as_str());
        Some(Profiled { report, profile, workload, input: comparison.inputs[row], place })
    };
    let all = repeats(comparison).flat_map(|one| (0..one.1.cells.len()).filter_map(move |i| of_run(one, i)));
    let runs: Vec<_> = all.collect();
    // All rows have the same columns, whichever levels their GPUs have.
    let levels = runs.iter().fold(Levels::default(), |levels, run| levels.union(run.profile.levels));
    runs.into_iter().flat_map(|run| instructions(run, levels, commit)).collect()
}

/// The runs of a comparison, by the number of the repeat.
fn repeats(comparison: &Comparison) -> impl Iterator<Item = (usize, &Comparison)> {
    std::iter::once(comparison).chain(&comparison.again).enumerate()
}

fn instructions<'a>(run: Profiled<'a>, levels: Levels, commit: Option<&'a str>) -> Vec<ProfileRow<'a>> {
    let Profiled { report, profile, workload, input, place } = run;
    let code = report.code();
    let of_kernel = |kernel: &'a KernelProfile| {
        kernel.instructions.iter().map(move |i| {
            let (source, memory) = (i.source.as_ref(), i.memory);
            let count = |of: fn(&Accesses) -> u64| memory.as_ref().map_or(0, of);
            let row = InstructionRow {
                workload,
                size: input.size.map(Size::name),
                seed: input.seed,
                column: place.map(|(label, _)| label),
                gpu: &report.gpu,
                core: &report.core,
                scheduler: &report.scheduler,
                settings: report.settings.join(" "),
                code,
                repeat: place.map(|(_, repeat)| repeat),
                version: VERSION,
                commit,
                kernel: &kernel.name,
                pc: i.pc,
                instruction: &i.text,
                file: source.and_then(|line| line.file.as_deref()),
                line: source.map(|line| line.line),
                source: source.and_then(|line| line.text.as_deref()),
                issues: i.issues,
                lanes: i.lanes,
                divergences: i.divergences,
                stalled_slots: i.stalled(),
                reason: i.stalls.first().map(|(reason, _)| *reason),
                caused_slots: i.caused(),
                latency_mean: i.latency.as_ref().map(|latency| latency.mean),
                latency_p95: i.latency.as_ref().map(|latency| latency.p95),
                accesses: count(|m| m.accesses),
                transactions: count(|m| m.transactions),
                sectors: count(|m| m.sectors),
                excess_sectors: count(|m| m.excess_sectors),
                conflict_cycles: count(|m| m.conflict_cycles),
            };
            let served = memory.map(|m| m.served).unwrap_or_default().over(levels);
            (row, served, EnergyColumn { joules: i.energy.as_ref().map(|energy| energy.joules) })
        })
    };
    profile.kernels.iter().flat_map(of_kernel).collect()
}

/// Which comparison of an experiment a row is of.
#[derive(Clone, Copy, Debug)]
pub struct ExperimentPart {
    /// `paper` on the paper's machine, `stock` on the stock GPU.
    pub machines: &'static str,
    /// Number of the comparison among those, from 1.
    pub number: usize,
}

/// A figure of a run of a comparison.
#[derive(Debug, Serialize)]
pub struct ComparedRow<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    machines: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    part: Option<usize>,
    workload: &'a str,
    size: Option<&'static str>,
    seed: Option<u64>,
    column: &'a str,
    gpu: &'a str,
    core: &'a str,
    scheduler: &'a str,
    settings: String,
    code: Option<Form>,
    /// Number of the repeat, from 0, which seeds its changes; absent of a figure over all repeats or of a paper.
    repeat: Option<usize>,
    version: &'static str,
    commit: Option<&'a str>,
    /// Label of the column that relative figures are over.
    baseline: &'a str,
    status: &'static str,
    statistic: &'a str,
    unit: &'static str,
    value: Value,
}

/// The values of what varies beside GPU, core and scheduler, each in a column: settings by their keys, parameters as
/// `core.issue_buffer`.
#[derive(Clone, Debug)]
pub struct Varied(Vec<(&'static str, Option<String>)>);

impl Serialize for Varied {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut row = serializer.serialize_struct("Varied", self.0.len())?;
        self.0.iter().try_for_each(|(name, value)| row.serialize_field(name, value))?;
        row.end()
    }
}

/// The figures of each run of comparisons, relative ones first, followed by what varies in any of them. `commit` is the
/// program's.
pub fn of_comparisons<'a>(
    parts: &[(&'a Comparison, Option<ExperimentPart>)],
    commit: Option<&'a str>,
) -> Vec<(ComparedRow<'a>, Varied)> {
    let mut names: Vec<&'static str> = Vec::new();
    for (comparison, _) in parts {
        let of_columns: Vec<BTreeMap<String, &str>> =
            comparison.columns.iter().map(|column| column.keyed_values().collect()).collect();
        for (name, _) in comparison.columns.iter().flat_map(Column::keyed_values) {
            let varies = of_columns.iter().any(|of| of.get(&name) != of_columns[0].get(&name));
            if varies && !names.contains(&&*name) {
                // Columns have the names of a struct's fields, which are static. A program has few.
                names.push(Box::leak(name.into_boxed_str()));
            }
        }
    }
    let of_part = |&(comparison, part): &(&'a Comparison, Option<ExperimentPart>)| {
        let values = |column: &Column| {
            let of = |name: &&'static str| (*name, column.keyed_values().find(|(key, _)| key == *name));
            Varied(names.iter().map(of).map(|(name, found)| (name, found.map(|(_, value)| value.to_owned()))).collect())
        };
        let varied: Vec<Varied> = comparison.columns.iter().map(values).collect();
        let rows = of_comparison(comparison, part, commit).into_iter();
        rows.map(move |(at, row)| (row, varied[at].clone())).collect::<Vec<_>>()
    };
    parts.iter().flat_map(of_part).collect()
}

/// The figures of each run of a comparison, each with the place of its column.
fn of_comparison<'a>(
    comparison: &'a Comparison,
    part: Option<ExperimentPart>,
    commit: Option<&'a str>,
) -> Vec<(usize, ComparedRow<'a>)> {
    let columns = comparison.columns.len();
    let run = |i: usize| {
        let (row, at) = (i / columns, i % columns);
        let column = &comparison.columns[at];
        let figure = move |repeat: Option<usize>, cell: &'a Cell, (statistic, unit, value): Figure<'a>| {
            let (report, input) = (cell.any_report(), comparison.inputs[row]);
            let Column { label, gpu, core, scheduler, settings, .. } = column;
            ComparedRow {
                machines: part.map(|part| part.machines),
                part: part.map(|part| part.number),
                workload: &comparison.workloads[row],
                size: input.size.map(Size::name),
                seed: input.seed,
                column: label,
                gpu,
                core,
                scheduler: report.map_or(scheduler.as_deref().unwrap_or_default(), |report| &report.scheduler),
                settings: settings.join(" "),
                code: report.and_then(Report::code),
                repeat,
                version: VERSION,
                commit,
                baseline: &comparison.baseline(at).label,
                status: cell.status(),
                statistic,
                unit,
                value,
            }
        };
        let common = spread(comparison, row, at).into_iter().chain(published(comparison, row, at));
        let common = common.map(move |of| figure(None, comparison.cell(row, at), of));
        let of_one = repeats(comparison).flat_map(move |(repeat, one)| {
            let cell = one.cell(row, at);
            let of_report = cell.any_report().into_iter().flat_map(|report| statistics(&report.total));
            let own = comparison.derived.iter().map(move |of| (&*of.name, "", Value::Real(one.derived(of, row, at))));
            relative(one, row, at).into_iter().chain(own).chain(of_report).map(move |of| figure(Some(repeat), cell, of))
        });
        common.chain(of_one).map(move |row| (at, row))
    };
    (0..comparison.cells.len()).flat_map(run).collect()
}

/// Of repeats, the mean of the speedups and half of the width of its 95 % confidence interval.
fn spread(comparison: &Comparison, row: usize, column: usize) -> Vec<Figure<'static>> {
    let figures = comparison.spread(Comparison::speedup, row, column).map(|spread| {
        [
            ("repeats", "runs", Value::Count(spread.runs as u64)),
            ("speedup.mean", "ratio", Value::Real(Some(spread.mean))),
            ("speedup.half_width", "ratio", Value::Real(Some(spread.half))),
        ]
    });
    figures.into_iter().flatten().collect()
}

/// Figures relative to the baseline's column; absent of a run that is not complete.
fn relative(comparison: &Comparison, row: usize, column: usize) -> [Figure<'static>; 4] {
    [
        ("speedup", "ratio", Value::Real(comparison.speedup(row, column))),
        ("stall_reduction", "%", Value::Real(comparison.stall_reduction(row, column))),
        ("relative_energy", "ratio", Value::Real(comparison.relative_energy(row, column))),
        ("relative_management", "ratio", Value::Real(comparison.relative_management(row, column))),
    ]
}

/// A paper's figures for such a run, those that there are.
fn published(comparison: &Comparison, row: usize, column: usize) -> Vec<Figure<'static>> {
    let Some(of) = comparison.published(row, column) else { return Vec::new() };
    let figures = [
        ("published.speedup", "ratio", of.speedup),
        ("published.stall_reduction", "%", of.stall_reduction_percent),
        ("published.occupancy", "%", of.occupancy_percent),
        ("published.ipc", "thread instructions/cycle", of.ipc),
        ("published.power", "W", of.watts),
        ("published.relative_energy", "ratio", of.relative_energy),
        ("published.efficiency", "ratio", of.efficiency),
    ];
    figures.into_iter().filter(|(_, _, value)| value.is_some()).map(|(n, unit, v)| (n, unit, Value::Real(v))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::csv;
    use render::sample;

    #[test]
    fn a_run_has_a_row_for_each_figure_of_the_whole_and_of_each_launch() {
        let report = sample::report();
        let input = Input { size: Some(Size::Small), seed: Some(7) };
        let rows: Vec<RunRow<'_>> = of_run(&report, input, Some("abc")).collect();
        let of = |launch: Option<u32>| rows.iter().filter(move |row| row.launch == launch);
        assert_eq!(of(None).count(), report.total.0.len());
        let launched = &report.kernels[0];
        assert_eq!(of(Some(launched.launch)).count(), launched.statistics.iter().count() + launch(launched).len());
        let cycles = rows.iter().find(|row| row.statistic == "cycles").unwrap();
        assert_eq!((cycles.unit, Some(cycles.value)), ("cycles", report.total.get("cycles")));
        assert!(rows.iter().all(|row| (row.size, row.seed, row.commit) == (Some("small"), Some(7), Some("abc"))));
        let mut text = Vec::new();
        csv(rows, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(text.lines().all(|line| line.matches(',').count() >= 17), "{text}");
    }
}
