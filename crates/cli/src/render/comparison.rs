//! A comparison as text.

mod cells;
mod grid;
mod shown;

use super::changes;
use super::management;
use super::names;
use super::number::{self, ABSENT};
use super::profile;
use super::style::{BAD, FAINT, HEADING, WARNING, styled};
use super::table::{Align, Table};
use super::wrap::{table_limit, wrapped};
use cells::{real, speedup, spread_of_ratio, text_or, with_interval};
use grid::Grid;
use kit::text::bounded;
use lab::changes::Changes;
use lab::profile::Profile;
use lab::{Report, Violation};
use request::comparison::{self, Comparison};
use request::derived::Derived;
pub use shown::Shown;
use workloads::Form;

/// The comparison as text with colours: the figures `shown`, or a default choice if there are none;
/// beside them the `published` ones, if these are asked for.
pub fn render(comparison: &Comparison, shown: &[Shown], published: bool) -> String {
    let mut sections = vec![common(comparison)];
    let grid = Grid::of(comparison).filter(|_| !published && !comparison.audited());
    if let Some(grid) = &grid {
        sections.extend(grids(comparison, grid, shown));
    } else if comparison.workloads.len() == 1 {
        sections.push(one_workload(comparison, shown, published));
    } else {
        sections.extend(several_workloads(comparison, shown, published));
    }
    if shown.contains(&Shown::Management) {
        sections.push(management::table(comparison));
    }
    sections.push(about_repeats(comparison));
    sections.push(notes(comparison));
    if published {
        sections.push(sources(comparison));
    }
    sections.push(failures(comparison));
    if comparison.interrupted() {
        sections.push(format!("{}\n", styled(WARNING, "Stopped early: runs with > had come so far.")));
    }
    sections.retain(|s| !s.is_empty());
    sections.join("\n")
}

/// Of each row, the instructions that its machines help or hurt most, up to `most` for each kernel.
pub fn profiles(comparison: &Comparison, most: usize) -> String {
    let row = |row: usize| {
        let of = |column: usize| {
            let counted = comparison.cell(row, column).complete()?.profile.as_ref()?;
            Some((comparison.columns[column].label.as_str(), counted))
        };
        let profiles: Vec<(&str, &Profile)> = (0..comparison.columns.len()).filter_map(of).collect();
        let mut text = profile::compare(&profiles, most);
        if text.is_empty() && !comparison.has_versions() {
            // Other code: the lines that match.
            text = changes_of(comparison, row, |changes, _| changes::line_tables(changes));
        }
        if text.is_empty() || comparison.workloads.len() == 1 {
            return text;
        }
        format!("{}\n{text}", styled(HEADING, &comparison.workloads[row]))
    };
    let rows = (0..comparison.workloads.len()).map(row).filter(|text| !text.is_empty());
    rows.collect::<Vec<_>>().join("\n")
}

/// The changes from the first version to each of the others.
pub fn versions(comparison: &Comparison) -> String {
    let row = |row: usize| changes_of(comparison, row, |changes, label| changes::section(changes, Some(label)));
    let rows = (0..comparison.workloads.len()).map(row).filter(|text| !text.is_empty());
    rows.collect::<Vec<_>>().join("\n")
}

/// The texts of the changes in a row: `text` gets the changes of each column but the baseline, and its label.
fn changes_of(comparison: &Comparison, row: usize, text: impl Fn(&Changes, &str) -> String) -> String {
    let of = |column: usize| Some(text(&comparison.changes(row, column)?, &comparison.columns[column].label));
    let texts = (0..comparison.columns.len()).filter_map(of).filter(|text| !text.is_empty());
    texts.collect::<Vec<_>>().join("\n")
}

/// Heading of published figures.
const PAPER: &str = "paper";

/// The workloads, and what all columns share.
fn common(comparison: &Comparison) -> String {
    let first = &comparison.columns[0];
    let mut same = Vec::new();
    let all = |f: &dyn Fn(&comparison::Column) -> bool| comparison.columns.iter().all(f);
    if all(&|c| c.gpu == first.gpu) {
        same.push(first.gpu.clone());
    }
    if all(&|c| c.core == first.core) {
        same.push(format!("core {}", first.core));
    }
    if all(&|c| c.scheduler == first.scheduler) {
        same.extend(first.scheduler.iter().map(|s| format!("scheduler {s}")));
    }
    let codes: Vec<Form> = (0..comparison.workloads.len()).map(|row| comparison.code(row)).collect();
    if codes.iter().all(|code| *code == codes[0]) {
        same.push(codes[0].name().to_owned());
    }
    if !first.settings.is_empty() && all(&|c| c.settings == first.settings) {
        same.push(first.settings.join(" "));
    }
    let coloured =
        |style, text: &str| -> String { text.lines().map(|line| format!("{}\n", styled(style, line))).collect() };
    let on = if same.is_empty() { String::new() } else { wrapped(&same.join(", "), "  ", "  ") };
    coloured(HEADING, &wrapped(&comparison.workloads.join(", "), "", "")) + &coloured(FAINT, &on)
}

/// One row per column: there is room for more figures.
fn one_workload(comparison: &Comparison, shown: &[Shown], published: bool) -> String {
    const USUAL: &[Shown] = &[Shown::Cycles, Shown::Time, Shown::Speedup, Shown::Ipc, Shown::Occupancy, Shown::Lost];
    let shown = if shown.is_empty() { USUAL } else { shown };
    let beside = |what: Shown| published && what.published(comparison, 0, 0).is_some();
    let mut headings = vec![("", Align::Name)];
    for what in shown {
        headings.push(what.short());
        headings.extend(beside(*what).then_some((PAPER, Align::Right)));
    }
    headings.extend(comparison.derived.iter().map(|of| (of.name.as_str(), Align::Right)));
    headings.extend(comparison.audited().then_some(("violations", Align::Left)));
    let mut table = Table::new(headings);
    for (i, column) in comparison.columns.iter().enumerate() {
        let mut cells = vec![column.label.clone()];
        for what in shown {
            let unit = if matches!(what, Shown::Occupancy | Shown::Stalls | Shown::Reordered | Shown::Scalar) {
                " %"
            } else {
                ""
            };
            let with_unit = |text: String| if text == ABSENT { text } else { format!("{text}{unit}") };
            cells.push(with_unit(what.text(comparison, 0, i)));
            cells.extend(what.published(comparison, 0, i).filter(|_| beside(*what)).map(with_unit));
        }
        cells.extend(comparison.derived.iter().map(|of| derived(comparison, of, 0, i)));
        cells.extend(comparison.audited().then(|| text_or(comparison.cell(0, i), ABSENT, violations)));
        table.row(&cells);
    }
    table.render_within(table_limit())
}

/// Findings of the hazard auditors, by kind.
fn violations(report: &Report) -> String {
    let Some(found) = &report.audit else { return ABSENT.to_owned() };
    let kinds = Violation::ALL.iter().filter(|&&kind| found.count(kind) > 0);
    let kinds: Vec<_> = kinds.map(|&kind| format!("{} {}", number::count(found.count(kind)), kind.name())).collect();
    if kinds.is_empty() { "none".into() } else { kinds.join(", ") }
}

/// A grid of each figure of each workload; of ratios over several workloads, a grid of their geometric means too.
fn grids(comparison: &Comparison, grid: &Grid<'_>, shown: &[Shown]) -> Vec<String> {
    let usual = usual(comparison);
    let shown = if shown.is_empty() { &usual } else { shown };
    let several = comparison.workloads.len() > 1;
    let mut sections = Vec::new();
    for &what in shown {
        let heading = heading(comparison, what);
        for (row, workload) in comparison.workloads.iter().enumerate() {
            let of = if several { format!(": {workload}") } else { String::new() };
            sections.push(grid.table(&format!("{heading}{of}"), |column| what.text(comparison, row, column)));
        }
        if let Some(ratio) = what.ratio().filter(|_| several) {
            let mean = |column| mean_of(comparison, column, ratio, comparison::geometric_mean);
            sections.push(grid.table(&format!("{heading}: geometric mean"), mean));
        }
    }
    for figure in &comparison.derived {
        for (row, workload) in comparison.workloads.iter().enumerate() {
            let of = if several { format!(": {workload}") } else { String::new() };
            let cell = |column| derived(comparison, figure, row, column);
            sections.push(grid.table(&format!("{}{of}", figure.name), cell));
        }
    }
    sections
}

/// A derived figure of a run as text.
fn derived(comparison: &Comparison, figure: &Derived, row: usize, column: usize) -> String {
    let spread = comparison.over_repeats(|one| one.derived(figure, row, column));
    match spread.filter(|spread| spread.mean > 0.0) {
        Some(spread) => with_interval(&number::real(spread.mean), spread),
        None => real(comparison.derived(figure, row, column)),
    }
}

/// The figures that are shown, each in a table of its own, where none are chosen.
fn usual(comparison: &Comparison) -> Vec<Shown> {
    let mut usual = vec![Shown::Cycles];
    usual.extend(comparison.columns.iter().any(|c| c.gpu != comparison.columns[0].gpu).then_some(Shown::Time));
    usual.extend((comparison.columns.len() > 1).then_some(Shown::Speedup));
    usual.push(Shown::Ipc);
    usual
}

/// One table per figure.
fn several_workloads(comparison: &Comparison, shown: &[Shown], published: bool) -> Vec<String> {
    let usual = usual(comparison);
    let shown = if shown.is_empty() { &usual } else { shown };
    let table = |&what: &Shown| match what {
        Shown::Variation => variation(comparison),
        _ => table(comparison, what, published),
    };
    let mut sections: Vec<String> = shown.iter().map(table).collect();
    let headings = |column: usize| vec![comparison.columns[column].label.clone()];
    for figure in &comparison.derived {
        let cell = |row, column| vec![derived(comparison, figure, row, column)];
        sections.push(section(&figure.name, comparison, headings, cell, &[]));
    }
    if comparison.audited() {
        let cell = |row, column| vec![text_or(comparison.cell(row, column), ABSENT, violations)];
        sections.push(section("Violations (hazard audit)", comparison, headings, cell, &[]));
    }
    sections
}

/// The variation of each row's speedups, a column for each pair of values that are compared.
fn variation(comparison: &Comparison) -> String {
    let groups = comparison.by_difference();
    let headings = groups.iter().map(|(name, _)| (name.as_str(), Align::Right));
    let mut table = Table::new(std::iter::once(("", Align::Name)).chain(headings));
    for (row, workload) in comparison.workloads.iter().enumerate() {
        let cells = groups.iter().map(|(_, columns)| speedup(comparison.variation(row, columns)));
        table.row(&std::iter::once(workload.clone()).chain(cells).collect::<Vec<_>>());
    }
    format!("{}\n{}", styled(HEADING, Shown::Variation.heading()), table.render_within(table_limit()))
}

/// One figure of all runs, with a column of published figures beside each column that has some.
fn table(comparison: &Comparison, what: Shown, published: bool) -> String {
    let printed = |row, column| what.published(comparison, row, column).is_some_and(|text| text != ABSENT);
    let mean_of_paper = |column| {
        let figure =
            comparison.published_figure(column).filter(|f| published && comparison.is_over_the_same(f, column));
        figure.and_then(|figure| what.published_mean(figure))
    };
    let beside = |column| {
        published && (0..comparison.workloads.len()).any(|row| printed(row, column)) || mean_of_paper(column).is_some()
    };
    let with_paper = |column, ours: String, paper: Option<String>| {
        let paper = paper.filter(|_| beside(column));
        std::iter::once(ours).chain(paper).collect::<Vec<_>>()
    };
    let headings = |column: usize| with_paper(column, comparison.columns[column].label.clone(), Some(PAPER.to_owned()));
    let cell =
        |row, column| with_paper(column, what.text(comparison, row, column), what.published(comparison, row, column));
    let row = |label: &str, of: &dyn Fn(usize) -> (String, String)| {
        let cells = (0..comparison.columns.len()).map(|column| (column, of(column)));
        let cells = cells.flat_map(|(column, (ours, theirs))| with_paper(column, ours, Some(theirs)));
        std::iter::once(label.to_owned()).chain(cells).collect::<Vec<_>>()
    };
    let mut means = Vec::new();
    if let Some(ratio) = what.ratio() {
        let mut add = |name, mean| {
            let of = |column| (mean_of(comparison, column, ratio, mean), speedup(mean_of_paper(column)));
            means.push(row(name, &of));
        };
        add("geometric mean", comparison::geometric_mean);
        if (0..comparison.columns.len()).any(|column| mean_of_paper(column).is_some()) {
            add("arithmetic mean", comparison::arithmetic_mean);
        }
        if what == Shown::Speedup
            && published
            && (0..comparison.columns.len()).any(|column| comparison.in_common(column).is_some())
        {
            means.push(row("in common with paper", &|column| in_common(comparison, column)));
        }
    }
    section(&heading(comparison, what), comparison, headings, cell, &means)
}

/// Heading of a table of one figure; a relative one names its baseline.
pub fn heading(comparison: &Comparison, what: Shown) -> String {
    let several = comparison.columns.len() > 1;
    if !what.is_relative() || !several {
        return what.heading().to_owned();
    }
    let joint = if what == Shown::Stalls { "than" } else { "over" };
    format!("{} {joint} {}", what.heading(), comparison.baseline_name())
}

/// Our mean over the programs that a column and a paper share, and the paper's.
fn in_common(comparison: &Comparison, column: usize) -> (String, String) {
    comparison.in_common(column).map_or((ABSENT.to_owned(), ABSENT.to_owned()), |both| {
        (format!("{} of {}", speedup(Some(both.ours)), both.workloads), speedup(Some(both.published)))
    })
}

/// Remarks needed to judge the tables: rows that run as other code, and conditions that favour a core design.
fn notes(comparison: &Comparison) -> String {
    let columns = &comparison.columns;
    let note = |text: &str| wrapped(text, "  ", "    ");
    let mut out: String = comparison.remarks.iter().flatten().map(|remark| note(remark)).collect();
    let mut untimed: Vec<&str> = columns.iter().map(|c| c.core.as_str()).filter(|core| !lab::is_timed(core)).collect();
    untimed.dedup();
    if !untimed.is_empty() {
        let cores = untimed.join(", ");
        out += &note(&format!("Without a model of time, so that nothing has a speedup over its cycles: {cores}."));
    }
    if columns.iter().all(|column| column.core == columns[0].core) {
        return styled_lines(&out);
    }
    let mut baselines: Vec<&str> = columns.iter().map(|c| columns[c.baseline].core.as_str()).collect();
    baselines.dedup();
    for core in baselines.into_iter().filter(|core| lab::lacks_hazard_guard(core)) {
        out += &note(&format!(
            "{core} has no protection against write-after-read hazards, as in Accel-Sim; --over inorder-war-exact has."
        ));
    }
    let on_ptx: Vec<&str> = (0..comparison.workloads.len())
        .filter(|&row| comparison.code(row) == Form::Ptx)
        .map(|row| comparison.workloads[row].as_str())
        .collect();
    if !on_ptx.is_empty() {
        let all = on_ptx.len() == comparison.workloads.len();
        let which = if all { String::new() } else { format!(" ({})", on_ptx.join(", ")) };
        out += &note(&format!(
            "PTX{which}: virtual registers and unscheduled code flatter out-of-order cores, which gain less on machine code."
        ));
    }
    styled_lines(&out)
}

fn styled_lines(text: &str) -> String {
    text.lines().map(|line| format!("{}\n", styled(FAINT, line))).collect()
}

/// The mean of a column's ratios, and the number of workloads if some are missing.
fn mean_of(comparison: &Comparison, column: usize, ratio: comparison::Figure, mean: comparison::MeanOf) -> String {
    let all = comparison.all(ratio, column);
    let spread = comparison.spread_of_mean(ratio, column, mean);
    let is_baseline = comparison.columns[column].baseline == column;
    let mean = spread.map_or_else(|| speedup(mean(&all)), |spread| spread_of_ratio(spread, is_baseline));
    if all.is_empty() || all.len() == comparison.workloads.len() { mean } else { format!("{mean} of {}", all.len()) }
}

/// Sources of the published figures.
fn sources(comparison: &Comparison) -> String {
    if comparison.own.is_some() {
        return format!("{}\n  by the experiment's file\n", styled(HEADING, "Published"));
    }
    let mut out = String::new();
    for (column, of) in comparison.columns.iter().enumerate() {
        if let Some(figure) = comparison.published_figure(column) {
            out += &format!("  {}: {}", of.label, figure.source);
            if !comparison.is_over_the_same(figure, column) {
                out += &format!("; speedups over `{}`, which is not the baseline here (--over)", figure.against);
            } else if let Some(mean) = figure.geometric_mean {
                let programs = figure.programs.map_or_else(|| "all".to_owned(), |n| format!("all {n}"));
                out += &format!("; {mean:.3} over {programs} of its programs");
            }
            out.push('\n');
        }
    }
    if out.is_empty() {
        let mut codes: Vec<&str> = (0..comparison.workloads.len()).map(|row| comparison.code(row).name()).collect();
        codes.sort_unstable();
        codes.dedup();
        let code = codes.join(" or ");
        let none = format!("No paper reports on {code} on these core designs and GPUs.");
        return format!("{}\n", styled(FAINT, &none));
    }
    let note = "  Rows are programs of the same name: our kernels are our own, in the manner of theirs, and their inputs are larger.";
    format!("{}\n{out}{}\n", styled(HEADING, "Published"), styled(FAINT, note))
}

/// A table with a row for each workload; each column of the comparison may have several cells.
fn section(
    heading: &str,
    comparison: &Comparison,
    headings: impl Fn(usize) -> Vec<String>,
    cells: impl Fn(usize, usize) -> Vec<String>,
    last: &[Vec<String>],
) -> String {
    let columns = || 0..comparison.columns.len();
    let headings = columns().flat_map(headings).map(|label| (label, Align::Right));
    let mut table = Table::new(std::iter::once((String::new(), Align::Name)).chain(headings));
    for (row, workload) in comparison.workloads.iter().enumerate() {
        let cells = columns().flat_map(|column| cells(row, column));
        table.row(&std::iter::once(workload.clone()).chain(cells).collect::<Vec<_>>());
    }
    last.iter().for_each(|row| table.row(row));
    format!("{}\n{}", styled(HEADING, heading), table.render_within(table_limit()))
}

/// Legend of repeats.
fn about_repeats(comparison: &Comparison) -> String {
    if comparison.again.is_empty() {
        return String::new();
    }
    let runs = comparison.again.len() + 1;
    let text = format!(
        "Means of {runs} runs in which what should not matter was changed by chance, ± half of the 95 % confidence interval; ~: within chance of no difference. Other figures are of the first run."
    );
    styled_lines(&wrapped(&text, "  ", "  "))
}

fn failures(comparison: &Comparison) -> String {
    let mut out = String::new();
    let all = std::iter::once(comparison).chain(&comparison.again);
    for (workload, column, why) in all.flat_map(Comparison::failures) {
        let why = bounded(&names::in_text(why.trim_end())).replace('\n', "\n    ");
        out += &format!("{} {workload} on {}: {why}\n", styled(BAD, "failed:"), column.label);
    }
    out
}

#[cfg(test)]
mod tests;
