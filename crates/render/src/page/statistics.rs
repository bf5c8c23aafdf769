//! Launches and every statistic, as tables.

use super::html::{Cell, Section, Table, details, note};
use super::input::Run;
use super::kernels::{self, MOST};
use crate::number;
use crate::report::figure;
use crate::summary;
use crate::table::Align;
use lab::Report;

/// Maximum number of launches that are listed one by one.
const MOST_LAUNCHES: usize = 200;

/// The section.
pub fn section(run: &Run<'_>) -> Section {
    let report = run.report;
    let mut body = String::new();
    if summary::launches_overlap(report) {
        body += &note("Launches overlap: the statistics of one are of the whole GPU while it ran.");
    }
    if !report.kernels.is_empty() {
        body +=
            &details(&format!("Kernels ({})", number::count(report.by_kernel.len().max(1) as u64)), &by_kernel(report));
        let all = report.kernels.len();
        let listed = all.min(MOST_LAUNCHES);
        let of = if listed < all { format!(", the first {listed} of them") } else { String::new() };
        body += &details(&format!("Launches ({}{of})", number::count(all as u64)), &launches(report));
    }
    body += &details("Every statistic of the whole run", &all(report));
    Section { id: "tables".into(), title: "Tables".into(), body }
}

const FIGURES: [(&str, &str); 7] = [
    ("cycles", summary::CYCLES),
    ("time (us)", summary::TIME),
    ("warp insts", summary::WARP_INSTRUCTIONS),
    ("IPC", summary::IPC),
    ("occupancy (%)", summary::OCCUPANCY),
    ("L1 hits (%)", "l1d.hit_rate"),
    ("L2 hits (%)", "l2.hit_rate"),
];

fn figures(stats: &lab::Stats) -> impl Iterator<Item = Cell> {
    FIGURES.iter().map(|(_, name)| Cell::number(figure(stats, name), stats.get(name).and_then(lab::Value::number)))
}

fn by_kernel(report: &Report) -> String {
    let headings = FIGURES.iter().map(|(heading, _)| (*heading, Align::Right));
    let mut table = Table::new(std::iter::once(("kernel", Align::Name)).chain(headings));
    let (rows, left_out) = kernels::rows(report);
    for row in &rows {
        table.row(std::iter::once(row.label.clone().into()).chain(figures(&row.stats)));
    }
    let more = if left_out > 0 {
        note(&format!("The {MOST} of most cycles.{}", kernels::left_out(left_out)))
    } else {
        String::new()
    };
    table.render() + &more
}

fn launches(report: &Report) -> String {
    let headings = FIGURES.iter().map(|(heading, _)| (*heading, Align::Right));
    let first = [
        ("#", Align::Right),
        ("kernel", Align::Name),
        ("grid", Align::Left),
        ("block", Align::Left),
        ("from cycle", Align::Right),
    ];
    let mut table = Table::new(first.into_iter().chain(headings));
    for kernel in report.kernels.iter().take(MOST_LAUNCHES) {
        let cells = [
            kernel.launch.to_string().into(),
            kernel.name.clone().into(),
            kernel.grid.to_string().into(),
            kernel.block.to_string().into(),
            number::count(kernel.start_cycle).into(),
        ];
        table.row(cells.into_iter().chain(figures(&kernel.statistics.unpacked())));
    }
    table.render()
}

fn all(report: &Report) -> String {
    let columns =
        [("statistic", Align::Left), ("value", Align::Right), ("unit", Align::Left), ("meaning", Align::Left)];
    let mut table = Table::new(columns);
    for (info, value) in &report.total.0 {
        let text = number::value(*value, info.unit);
        let cells = [Cell::from(info.name.clone()), Cell::number(text, value.number())];
        table.row(cells.into_iter().chain([info.unit.into(), info.description.clone().into()]));
    }
    table.render()
}
