//! A comparison, for people.

use super::number::{self, ABSENT};
use super::report::{check, figure};
use super::slots;
use super::style::{BAD, FAINT, HEADING, WARNING, styled};
use super::summary;
use super::table::{Align, Table};
use crate::comparison::{Cell, Comparison};
use lab::{Report, Violation};

/// Longest line of a table with a column per machine.
const WIDTH: usize = 110;

/// The comparison as text with colours.
pub fn render(comparison: &Comparison) -> String {
    let mut sections = vec![common(comparison)];
    if comparison.workloads.len() == 1 {
        sections.push(one_workload(comparison));
    } else {
        sections.extend(several_workloads(comparison));
    }
    sections.push(failures(comparison));
    if comparison.interrupted() {
        sections.push(format!("{}\n", styled(WARNING, "Stopped early: runs with > had come so far.")));
    }
    sections.retain(|s| !s.is_empty());
    sections.join("\n")
}

/// What all columns share, and what runs.
fn common(comparison: &Comparison) -> String {
    let first = &comparison.columns[0];
    let mut same = Vec::new();
    let all = |f: &dyn Fn(&crate::comparison::Column) -> bool| comparison.columns.iter().all(f);
    if all(&|c| c.gpu == first.gpu) {
        same.push(first.gpu.clone());
    }
    if all(&|c| c.core == first.core) {
        same.push(format!("core {}", first.core));
    }
    if all(&|c| c.scheduler == first.scheduler) {
        same.extend(first.scheduler.iter().map(|s| format!("scheduler {s}")));
    }
    if !first.settings.is_empty() && all(&|c| c.settings == first.settings) {
        same.push(first.settings.join(" "));
    }
    let on = if same.is_empty() { String::new() } else { format!("  {}\n", styled(FAINT, same.join(", "))) };
    format!("{}\n{on}", styled(HEADING, comparison.workloads.join(", ")))
}

/// One row per column: there is room for more figures.
fn one_workload(comparison: &Comparison) -> String {
    let audited = comparison.audited();
    let columns = [
        ("", Align::Left),
        ("cycles", Align::Right),
        ("time (us)", Align::Right),
        ("speedup", Align::Right),
        ("IPC", Align::Right),
        ("occupancy", Align::Right),
        ("busy SMs' slots lost most to", Align::Left),
    ];
    let mut table = Table::new(columns.into_iter().chain(audited.then_some(("violations", Align::Left))));
    for (i, column) in comparison.columns.iter().enumerate() {
        let cell = comparison.cell(0, i);
        let mut cells = vec![
            column.label.clone(),
            text(cell, |r| figure(&r.total, summary::CYCLES)),
            text_or(cell, ABSENT, |r| figure(&r.total, summary::TIME)),
            speedup(comparison.speedup(0, i)),
            text_or(cell, ABSENT, |r| figure(&r.total, summary::IPC)),
            text_or(cell, ABSENT, |r| match figure(&r.total, summary::OCCUPANCY) {
                absent if absent == ABSENT => absent,
                percent => format!("{percent} %"),
            }),
            text_or(cell, ABSENT, main_stall),
        ];
        cells.extend(audited.then(|| text_or(cell, ABSENT, violations)));
        table.row(&cells);
    }
    table.render()
}

/// The reason for which SMs that had warps lost most slots, as a share of those SMs' slots.
fn main_stall(report: &Report) -> String {
    let busy = report.total.number(slots::ALL) - report.total.number(slots::IDLE);
    let stalls = slots::stalls(&report.total);
    let first = stalls.iter().find(|(name, _)| slots::IDLE.strip_prefix(slots::PREFIX) != Some(*name));
    first.map_or_else(|| ABSENT.to_owned(), |(name, n)| format!("{name} ({:.0} %)", n / busy * 100.0))
}

/// What the hazard auditors have found, by kind.
fn violations(report: &Report) -> String {
    let Some(found) = &report.audit else { return ABSENT.to_owned() };
    let kinds = Violation::ALL.iter().filter(|&&kind| found.count(kind) > 0);
    let kinds: Vec<_> = kinds.map(|&kind| format!("{} {}", number::count(found.count(kind)), kind.name())).collect();
    if kinds.is_empty() { "none".into() } else { kinds.join(", ") }
}

/// One table per figure.
fn several_workloads(comparison: &Comparison) -> Vec<String> {
    let mut sections = vec![
        section("Cycles", comparison, |row, column| {
            text(comparison.cell(row, column), |r| figure(&r.total, summary::CYCLES))
        })
        .render(),
    ];
    if comparison.columns.iter().any(|c| c.gpu != comparison.columns[0].gpu) {
        let time = section("Time (us)", comparison, |row, column| {
            text_or(comparison.cell(row, column), ABSENT, |r| figure(&r.total, summary::TIME))
        });
        sections.push(time.render());
    }
    if comparison.columns.len() > 1 {
        let mut table = section("Speedup", comparison, |row, column| speedup(comparison.speedup(row, column)));
        let means: Vec<_> = (0..comparison.columns.len()).map(|c| comparison.mean(c)).collect();
        let all = comparison.workloads.len();
        let mean_row = means.iter().map(|m| match m.speedup {
            Some(_) if m.workloads < all => format!("{} of {}", speedup(m.speedup), m.workloads),
            _ => speedup(m.speedup),
        });
        table.table.row(&std::iter::once("geometric mean".to_owned()).chain(mean_row).collect::<Vec<_>>());
        sections.push(table.render());
    }
    sections.push(
        section("Thread instructions per cycle", comparison, |row, column| {
            text_or(comparison.cell(row, column), ABSENT, |r| figure(&r.total, summary::IPC))
        })
        .render(),
    );
    if comparison.audited() {
        let table = section("Violations (hazard audit)", comparison, |row, column| {
            text_or(comparison.cell(row, column), ABSENT, violations)
        });
        sections.push(table.render());
    }
    sections
}

struct Section {
    heading: &'static str,
    table: Table,
}

impl Section {
    fn render(&self) -> String {
        format!("{}\n{}", styled(HEADING, self.heading), self.table.render_within(WIDTH))
    }
}

fn section(heading: &'static str, comparison: &Comparison, cell: impl Fn(usize, usize) -> String) -> Section {
    let headings = comparison.columns.iter().map(|c| (c.label.clone(), Align::Right));
    let mut table = Table::new(std::iter::once((String::new(), Align::Left)).chain(headings));
    for (row, workload) in comparison.workloads.iter().enumerate() {
        let cells = (0..comparison.columns.len()).map(|column| cell(row, column));
        table.row(&std::iter::once(workload.clone()).chain(cells).collect::<Vec<_>>());
    }
    Section { heading, table }
}

fn speedup(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| ABSENT.to_owned(), |r| format!("{r:.3}"))
}

fn text(cell: &Cell, figure: impl Fn(&Report) -> String) -> String {
    match cell {
        Cell::Complete(report) => figure(report),
        Cell::Failed(..) => styled(BAD, "failed"),
        Cell::Interrupted(Some(report)) => styled(WARNING, format!("> {}", figure(report))),
        Cell::Interrupted(None) => styled(WARNING, "not run"),
    }
}

fn text_or(cell: &Cell, otherwise: &str, figure: impl Fn(&Report) -> String) -> String {
    cell.complete().map_or_else(|| otherwise.to_owned(), figure)
}

fn failures(comparison: &Comparison) -> String {
    let mut out = String::new();
    for (workload, column, why) in comparison.failures() {
        let why = why.trim_end().replace('\n', "\n    ");
        out += &format!("{} {workload} on {}: {why}\n", styled(BAD, "failed:"), column.label);
    }
    out
}

/// Why a complete run counts as failed: its result is wrong.
pub fn wrong_result(report: &Report) -> Option<String> {
    let wrong = report.check.as_ref().is_some_and(|c| !c.passed);
    wrong.then(|| anstream::adapter::strip_str(&check(report)).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::Column;
    use crate::render::sample;
    use lab::Value;

    fn column(scheduler: &str) -> Column {
        Column {
            label: scheduler.into(),
            gpu: "v100".into(),
            core: "inorder".into(),
            scheduler: Some(scheduler.into()),
            settings: vec!["sm.issue.width=1".into()],
        }
    }

    fn ran(cycles: u64) -> Cell {
        let mut report = sample::report();
        for (info, value) in &mut report.total.0 {
            match info.name.as_str() {
                summary::CYCLES => *value = Value::Count(cycles),
                summary::TIME => *value = Value::Real(Some(cycles as f64 / 500.0)),
                _ => {}
            }
        }
        Cell::Complete(Box::new(report))
    }

    fn comparison() -> Comparison {
        let why = "fault in kernel `k`\nthread (0,0,0)".to_owned();
        Comparison {
            workloads: vec!["matmul".into(), "bfs".into()],
            columns: vec![column("gto"), column("lrr"), column("srr")],
            cells: vec![ran(1000), ran(2000), ran(500), ran(900), Cell::Failed(why, None), Cell::Interrupted(None)],
        }
    }

    #[test]
    fn golden() {
        insta::assert_snapshot!(sample::plain(&render(&comparison())));
    }

    #[test]
    fn golden_of_one_workload() {
        let mut one = comparison();
        one.workloads.truncate(1);
        one.cells.truncate(3);
        insta::assert_snapshot!(sample::plain(&render(&one)));
    }

    #[test]
    fn speedups_and_means() {
        let mut two = comparison();
        two.cells[4] = ran(450);
        assert_eq!([two.speedup(0, 0), two.speedup(0, 1), two.speedup(1, 1)], [Some(1.0), Some(0.5), Some(2.0)]);
        let mean = two.mean(1);
        assert!((mean.speedup.unwrap() - 1.0).abs() < 1e-12 && mean.workloads == 2, "{mean:?}");
        assert_eq!(two.mean(2).workloads, 1);
    }
}
