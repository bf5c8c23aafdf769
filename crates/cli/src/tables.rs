//! Results as tables for other programs: the rows that `--csv` writes.
//!
//! A command writes one table. Figures of several kinds are in long form: a row for each, with its unit beside it.
//! Rows are flat structs, whose fields are the columns.

use crate::comparison::{Column, Comparison};
use lab::{KernelReport, Report, Stats, Value};
use serde::Serialize;

/// A figure of a run, or of one of its launches.
#[derive(Debug, Serialize)]
pub struct RunRow<'a> {
    workload: &'a str,
    gpu: &'a str,
    core: &'a str,
    scheduler: &'a str,
    settings: String,
    /// `total` of the whole run, `launch` of a kernel launch.
    scope: &'static str,
    launch: Option<u32>,
    kernel: &'a str,
    grid: String,
    block: String,
    statistic: &'a str,
    unit: &'static str,
    value: Value,
}

/// The figures of a run: of the whole, then of each launch.
pub fn of_run(report: &Report) -> Vec<RunRow<'_>> {
    let of = |kernel: Option<&'_ KernelReport>, (statistic, unit, value)| RunRow {
        workload: &report.workload,
        gpu: &report.gpu,
        core: &report.core,
        scheduler: &report.scheduler,
        settings: report.settings.join(" "),
        scope: if kernel.is_some() { "launch" } else { "total" },
        launch: kernel.map(|k| k.launch),
        kernel: "",
        grid: kernel.map(|k| k.grid.to_string()).unwrap_or_default(),
        block: kernel.map(|k| k.block.to_string()).unwrap_or_default(),
        statistic,
        unit,
        value,
    };
    let total = statistics(&report.total).map(|figure| of(None, figure));
    let launches = report.kernels.iter().flat_map(|kernel| {
        let figures = launch(kernel).into_iter().chain(statistics(&kernel.statistics));
        figures.map(move |figure| RunRow { kernel: &kernel.name, ..of(Some(kernel), figure) })
    });
    total.chain(launches).collect()
}

/// Name, unit and value of a figure.
type Figure<'a> = (&'a str, &'static str, Value);

fn statistics(stats: &Stats) -> impl Iterator<Item = Figure<'_>> {
    stats.0.iter().map(|(info, value)| (info.name.as_str(), info.unit, *value))
}

/// What a launch has beside statistics.
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

/// Which comparison of an experiment a row is of.
#[derive(Clone, Copy, Debug)]
pub struct Part {
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
    column: &'a str,
    gpu: &'a str,
    core: &'a str,
    scheduler: &'a str,
    settings: String,
    /// Label of the column that relative figures are over.
    baseline: &'a str,
    status: &'static str,
    statistic: &'a str,
    unit: &'static str,
    value: Value,
}

/// The figures of each run of a comparison, relative ones first.
pub fn of_comparison(comparison: &Comparison, part: Option<Part>) -> Vec<ComparedRow<'_>> {
    let columns = comparison.columns.len();
    let run = |i: usize| {
        let (row, at) = (i / columns, i % columns);
        let (cell, column) = (comparison.cell(row, at), &comparison.columns[at]);
        let report = cell.any_report();
        let of_report = report.into_iter().flat_map(|report| statistics(&report.total));
        let figures = relative(comparison, row, at).into_iter().chain(published(comparison, row, at)).chain(of_report);
        figures.map(move |(statistic, unit, value)| {
            let Column { label, gpu, core, scheduler, settings, .. } = column;
            ComparedRow {
                machines: part.map(|part| part.machines),
                part: part.map(|part| part.number),
                workload: &comparison.workloads[row],
                column: label,
                gpu,
                core,
                scheduler: report.map_or(scheduler.as_deref().unwrap_or_default(), |report| &report.scheduler),
                settings: settings.join(" "),
                baseline: &comparison.baseline(at).label,
                status: cell.status(),
                statistic,
                unit,
                value,
            }
        })
    };
    (0..comparison.cells.len()).flat_map(run).collect()
}

/// Figures over those of the baseline's column; absent of a run that is not complete.
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
    use crate::output::csv;
    use crate::render::sample;

    #[test]
    fn a_run_has_a_row_for_each_figure_of_the_whole_and_of_each_launch() {
        let report = sample::report();
        let rows = of_run(&report);
        let of = |launch: Option<u32>| rows.iter().filter(move |row| row.launch == launch);
        assert_eq!(of(None).count(), report.total.0.len());
        let launched = &report.kernels[0];
        assert_eq!(of(Some(launched.launch)).count(), launched.statistics.0.len() + launch(launched).len());
        let cycles = rows.iter().find(|row| row.statistic == "cycles").unwrap();
        assert_eq!((cycles.unit, Some(cycles.value)), ("cycles", report.total.get("cycles")));
        let text = String::from_utf8(csv(rows).unwrap()).unwrap();
        assert!(text.lines().all(|line| line.matches(',').count() >= 12), "{text}");
    }
}
