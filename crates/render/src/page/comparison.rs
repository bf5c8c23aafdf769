//! Designs side by side: speedups beside those published, stall stacks, figures of all runs.

use super::changes;
use super::gains;
use super::html::{Cell, Section, Table, details, escaped, figure, note};
use super::instructions;
use super::overview::list;
use super::stack::{self, Bar};
use super::stalls;
use crate::energy::TOTAL;
use crate::number::{self, ABSENT};
use crate::report;
use crate::slots;
use crate::summary;
use crate::table::Align;
use lab::changes::Changes;
use lab::{Report, Value};
use std::fmt::Write as _;

/// Maximum number of bars in a chart; further workloads are in the tables.
const MOST_BARS: usize = 600;
/// Maximum number of designs, and of bars in groups, up to which speedups are drawn as bars. Larger comparisons are a table
/// with colours.
const MOST_BARS_OF_A_WORKLOAD: usize = 4;
const MOST_BARS_IN_GROUPS: usize = 80;
/// Maximum number of rows of a table that is open.
const MOST_OPEN_ROWS: usize = 120;
/// Maximum number of pairs of a workload and a design whose difference is told in words.
const MOST_CHANGES: usize = 24;

/// A machine to compare.
#[derive(Clone, Debug, PartialEq)]
pub struct Design {
    /// Distinguishes it from the others.
    pub label: String,
    /// GPU, core design, warp scheduler and settings.
    pub machine: String,
    /// Index of the design that its speedups are over.
    pub baseline: usize,
    /// Geometric mean of its speedups, and over how many workloads.
    pub mean: Option<(f64, usize)>,
    /// Half of the width of the confidence interval around it, where runs were repeated.
    pub half: Option<f64>,
    /// A paper's figure for it.
    pub published: Option<PublishedMeans>,
}

/// A paper's means of a design.
#[derive(Clone, Debug, PartialEq)]
pub struct PublishedMeans {
    /// Geometric mean of the speedups of all its programs.
    pub mean: Option<f64>,
    /// Over the workloads that both have: their number, the geometric mean here, and the paper's.
    pub in_common: Option<(usize, f64, f64)>,
    /// Paper and figure.
    pub source: String,
}

/// Result of a workload on a design.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outcome<'a> {
    /// The simulated part, if any.
    pub report: Option<&'a Report>,
    /// Whether the run came to its end with a right or unchecked result.
    pub complete: bool,
    /// Why it did not.
    pub reason: Option<&'a str>,
    /// Speedup over the design's baseline.
    pub speedup: Option<f64>,
    /// Half of the width of the confidence interval around it, where runs were repeated.
    pub half: Option<f64>,
    /// The speedup that a paper reports.
    pub published: Option<f64>,
}

/// Workloads on designs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison<'a> {
    /// Command that runs it, if it is a part of an experiment.
    pub command: Option<String>,
    /// Rows.
    pub workloads: &'a [String],
    /// Columns.
    pub designs: Vec<Design>,
    /// The runs, row by row.
    pub outcomes: Vec<Outcome<'a>>,
}

/// Colours of designs, in turn.
const COLOURS: [&str; 8] = ["#4a90d9", "#e08a2e", "#2a8452", "#c75d87", "#533668", "#76c0d0", "#8c4a12", "#e6c330"];

impl Comparison<'_> {
    fn outcome(&self, row: usize, column: usize) -> &Outcome<'_> {
        &self.outcomes[row * self.designs.len() + column]
    }

    /// Columns that have a speedup over another one.
    fn faster(&self) -> Vec<usize> {
        let is_over_another = |&column: &usize| {
            self.designs[column].baseline != column
                && (0..self.workloads.len()).any(|row| self.outcome(row, column).speedup.is_some())
        };
        (0..self.designs.len()).filter(is_over_another).collect()
    }

    /// Number of rows whose bars a chart holds.
    fn rows_in_charts(&self, columns: usize) -> usize {
        self.workloads.len().min((MOST_BARS / columns.max(1)).max(1))
    }
}

/// The sections of a comparison; `prefix` distinguishes their anchors and `name` their titles from other comparisons'.
pub fn sections(of: &Comparison<'_>, prefix: &str, name: &str) -> Vec<Section> {
    let section = |id: &str, title: &str, body: String| Section {
        id: format!("{prefix}{id}"),
        title: if name.is_empty() { title.to_owned() } else { format!("{name}: {title}") },
        body,
    };
    let mut out = vec![section("designs", "Designs", designs(of))];
    out.extend(speedups(of).map(|body| section("speedup", "Speedup", body)));
    out.extend(what_changed(of).map(|body| section("changes", "What changed", body)));
    out.extend(stall_stacks(of).map(|body| section("stalls", "Issue slots and stall reasons", body)));
    out.extend(instructions(of).map(|body| section("instructions", "Instructions helped and hurt", body)));
    out.push(section("figures", "Figures of all runs", runs(of)));
    out
}

/// The compared designs, the failed runs.
fn designs(of: &Comparison<'_>) -> String {
    let has_published = of.designs.iter().any(|design| design.published.is_some());
    let published = [
        ("published", Align::Right),
        ("in common: workloads", Align::Right),
        ("here", Align::Right),
        ("published", Align::Right),
    ];
    let first = [
        ("design", Align::Name),
        ("machine", Align::Left),
        ("speedup over", Align::Left),
        ("geometric mean", Align::Right),
        ("workloads", Align::Right),
    ];
    let mut table = Table::new(first.into_iter().chain(published.into_iter().filter(|_| has_published)));
    let real = |x: Option<f64>| Cell::number(x.map_or_else(|| ABSENT.to_owned(), |x| format!("{x:.3}")), x);
    for (column, design) in of.designs.iter().enumerate() {
        let own = design.baseline != column;
        let over = if own { of.designs[design.baseline].label.clone() } else { ABSENT.to_owned() };
        let published = design.published.as_ref().filter(|_| own);
        let in_common = published.and_then(|p| p.in_common);
        let count = |n: Option<usize>| n.map_or_else(|| ABSENT.to_owned(), |n| n.to_string());
        let published = [
            real(published.and_then(|p| p.mean)),
            count(in_common.map(|(n, ..)| n)).into(),
            real(in_common.map(|(_, ours, _)| ours)),
            real(in_common.map(|(.., theirs)| theirs)),
        ];
        let first = [
            design.label.clone().into(),
            design.machine.clone().into(),
            over.into(),
            real(design.mean.filter(|_| own).map(|(mean, _)| mean)),
            count(design.mean.filter(|_| own).map(|(_, n)| n)).into(),
        ];
        table.row(first.into_iter().chain(published.into_iter().filter(|_| has_published)));
    }
    let mut out = of.command.as_ref().map(|c| format!("<pre>$ {}</pre>\n", escaped(c))).unwrap_or_default();
    out += &table.render();
    let mut sources: Vec<String> = Vec::new();
    for design in &of.designs {
        let source = design.published.as_ref().map(|p| format!("{}: {}", design.label, p.source));
        sources.extend(source.filter(|source| !sources.contains(source)));
    }
    out += &list("Published", &sources, "findings");
    if !sources.is_empty() {
        out += &note(
            "Workloads are programs of the papers' names: our kernels are our own, in the manner of theirs, and their inputs are larger.",
        );
    }
    out + &list("Did not end well", &failures(of), "warn")
}

/// Runs without a complete result.
fn failures(of: &Comparison<'_>) -> Vec<String> {
    let mut out = Vec::new();
    for (row, workload) in of.workloads.iter().enumerate() {
        for (column, design) in of.designs.iter().enumerate() {
            let Outcome { complete, reason, .. } = of.outcome(row, column);
            if !complete {
                out.push(format!("{workload} on {}: {}", design.label, reason.unwrap_or("ended early")));
            }
        }
    }
    out
}

/// A scale around 1 that holds all values.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let (low, high) = values.into_iter().fold((1.0_f64, 1.0_f64), |(l, h), v| (l.min(v), h.max(v)));
        let margin = ((high - low) * 0.06).max(0.01);
        Self { low: (low - margin).max(0.0), high: high + margin }
    }

    /// Place of a value in percent.
    fn at(self, value: f64) -> f64 {
        (value - self.low) / (self.high - self.low) * 100.0
    }
}

/// A speedup, and half of the width of the confidence interval around it.
type Ours = (Option<f64>, Option<f64>);

/// A bar from 1 to the speedup with its interval, and a mark at the published one.
fn speedup_bar(label: &str, colour: &str, (ours, half): Ours, published: Option<f64>, scale: Scale) -> String {
    let label = escaped(label);
    let one = scale.at(1.0);
    let mut out = format!(
        "<div class=\"bar thin\"><div class=\"label\" title=\"{label}\">{label}</div><svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-label=\"{label}\" width=\"100%\" height=\"18\"><rect width=\"100%\" height=\"18\" class=\"ground\"/>"
    );
    if let Some(ours) = ours {
        let (from, to) = (scale.at(ours.min(1.0)), scale.at(ours.max(1.0)));
        let _ = write!(
            out,
            "<g class=\"mark\"><rect x=\"{from:.2}%\" width=\"{:.2}%\" y=\"2\" height=\"14\" fill=\"{colour}\"/><title>{label}: {ours:.3}</title></g>",
            (to - from).max(0.15)
        );
        if let Some(half) = half {
            let (low, high) = (scale.at(ours - half), scale.at(ours + half));
            let _ = write!(out, "<line x1=\"{low:.2}%\" x2=\"{high:.2}%\" y1=\"9\" y2=\"9\" class=\"one\"/>");
        }
    }
    let _ = write!(out, "<line x1=\"{one:.2}%\" x2=\"{one:.2}%\" y1=\"0\" y2=\"18\" class=\"one\"/>");
    if let Some(published) = published {
        let x = scale.at(published);
        let _ = write!(
            out,
            "<g class=\"mark\"><line x1=\"{x:.2}%\" x2=\"{x:.2}%\" y1=\"0\" y2=\"18\" class=\"paper\"/><title>{label}, published: {published:.3}</title></g>"
        );
    }
    let interval = half.map_or_else(String::new, |half| format!(" ±{half:.3}"));
    let ours = ours.map_or_else(|| ABSENT.to_owned(), |x| format!("{x:.3}{interval}"));
    let paper = published.map(|x| format!(" <i>paper {x:.3}</i>")).unwrap_or_default();
    let _ = writeln!(out, "</svg><div class=\"figure\"><b>{ours}</b>{paper}</div></div>");
    out
}

fn speedups(of: &Comparison<'_>) -> Option<String> {
    let columns = of.faster();
    if columns.is_empty() {
        return None;
    }
    let bars = columns.len() * of.workloads.len();
    if columns.len() > MOST_BARS_OF_A_WORKLOAD || (columns.len() > 1 && bars > MOST_BARS_IN_GROUPS) {
        return Some(speedup_table(of, &columns));
    }
    let rows = of.rows_in_charts(columns.len());
    let of_run = |row: usize, column: usize| {
        let Outcome { speedup, published, .. } = *of.outcome(row, column);
        [speedup, published].into_iter().flatten()
    };
    let of_mean = |column: usize| {
        let design = &of.designs[column];
        let common = design.published.as_ref().and_then(|p| p.in_common).map(|(_, _, theirs)| theirs);
        [design.mean.map(|(mean, _)| mean), common].into_iter().flatten()
    };
    let runs = (0..rows).flat_map(|row| columns.iter().flat_map(move |&column| of_run(row, column)));
    let scale = Scale::of(runs.chain(columns.iter().flat_map(|&column| of_mean(column))));
    let colour = |i: usize| COLOURS[i % COLOURS.len()];
    let mut bars = String::new();
    // The label of a bar is the workload's if only one design has bars.
    let single = columns.len() == 1;
    let mut group = |title: &str, of_column: &dyn Fn(usize) -> (Ours, Option<f64>)| {
        if !single {
            let _ = writeln!(bars, "<h3>{}</h3>", escaped(title));
        }
        bars += "<div class=\"bars\">\n";
        for (i, &column) in columns.iter().enumerate() {
            let (ours, published) = of_column(column);
            let label = if single { title } else { &of.designs[column].label };
            bars += &speedup_bar(label, colour(i), ours, published, scale);
        }
        bars += "</div>\n";
    };
    for (row, workload) in of.workloads.iter().enumerate().take(rows) {
        group(workload, &|column| {
            let outcome = of.outcome(row, column);
            ((outcome.speedup, outcome.half), outcome.published)
        });
    }
    if of.workloads.len() > 1 {
        group("Geometric mean", &|column| {
            ((of.designs[column].mean.map(|(mean, _)| mean), of.designs[column].half), None)
        });
        let in_common = |column: usize| of.designs[column].published.as_ref().and_then(|p| p.in_common);
        if columns.iter().any(|&column| in_common(column).is_some()) {
            group("Geometric mean, workloads in common with the paper", &|column| {
                ((in_common(column).map(|(_, ours, _)| ours), None), in_common(column).map(|(.., theirs)| theirs))
            });
        }
    }
    let about = format!(
        "Time of kernels on {} over their time on the design. Bars start at 1.0, the line: to the right is faster. Scale from {:.2} to {:.2}; a dark mark is the published value.{}",
        baseline_of(of, &columns),
        scale.low,
        scale.high,
        not_drawn(of.workloads.len() - rows)
    );
    let keys = columns.iter().enumerate().map(|(i, &column)| (of.designs[column].label.as_str(), colour(i)));
    Some(note(&about) + &figure("Speedups", &(stack::keys(keys) + &bars)))
}

/// Name of what all of these columns' speedups are over.
fn baseline_of<'a>(of: &'a Comparison<'_>, columns: &[usize]) -> &'a str {
    let mut over = columns.iter().map(|&column| of.designs[of.designs[column].baseline].label.as_str());
    let first = over.next().unwrap_or_default();
    if over.all(|label| label == first) { first } else { "the design's baseline" }
}

/// The speedups of many designs: a row for each workload, a column for each design, colours by value.
fn speedup_table(of: &Comparison<'_>, columns: &[usize]) -> String {
    let ours = |row: usize| columns.iter().map(move |&column| of.outcome(row, column));
    let means = || columns.iter().map(|&column| of.designs[column].mean.map(|(mean, _)| mean));
    let logs = (0..of.workloads.len()).flat_map(ours).filter_map(|outcome| outcome.speedup).chain(means().flatten());
    // Differences below two percent stay pale.
    let most = logs.map(|speedup| speedup.ln().abs()).filter(|log| log.is_finite()).fold(0.02, f64::max);
    let cell = |speedup: Option<f64>, half: Option<f64>, published: Option<f64>| {
        let Some(value) = speedup else { return Cell::from(ABSENT) };
        let half = half.map(|half| format!(" ±{half:.3}")).unwrap_or_default();
        let paper = published.map(|paper| format!(" ({paper:.3})")).unwrap_or_default();
        Cell::number(format!("{value:.3}{half}{paper}"), speedup).shaded((value.ln() / most).clamp(-1.0, 1.0))
    };
    let labels = columns.iter().map(|&column| (of.designs[column].label.as_str(), Align::Right));
    let mut table = Table::new([("workload", Align::Name)].into_iter().chain(labels)).matrix();
    if of.workloads.len() > 1 {
        let of_mean = |(&column, mean): (&usize, Option<f64>)| cell(mean, of.designs[column].half, None);
        table.row([Cell::from("geometric mean")].into_iter().chain(columns.iter().zip(means()).map(of_mean)));
    }
    for (row, workload) in of.workloads.iter().enumerate() {
        let cells = ours(row).map(|outcome| cell(outcome.speedup, outcome.half, outcome.published));
        table.row([Cell::from(workload.as_str())].into_iter().chain(cells));
    }
    let about = format!(
        "Time of kernels on {} over their time on the design. Blue is faster, orange slower, the full colour {:.2} times; a value in brackets is the published one.",
        baseline_of(of, columns),
        most.exp()
    );
    note(&about) + &table.render()
}

/// A sentence on workloads without bars.
fn not_drawn(n: usize) -> String {
    let workloads = number::counted(n as u64, "workload");
    if n == 0 { String::new() } else { format!(" {workloads} more in the table of all runs.") }
}

/// The gain of each design on each workload, in words.
fn what_changed(of: &Comparison<'_>) -> Option<String> {
    let columns = of.faster();
    let pairs = (0..of.workloads.len()).flat_map(|row| columns.iter().map(move |&column| (row, column)));
    let about_pair = |(row, column): (usize, usize)| {
        let baseline = of.designs[column].baseline;
        let label = |column: usize| of.designs[column].label.as_str();
        let report = |column: usize| of.outcome(row, column).report.filter(|_| of.outcome(row, column).complete);
        let (before, after) = report(baseline).zip(report(column))?;
        let sentences = gains::sentences((before, label(baseline)), (after, label(column)));
        let title = format!("{}: {} against {}", of.workloads[row], label(column), label(baseline));
        Some(list(&title, &sentences, "findings"))
    };
    let described: String = pairs.take(MOST_CHANGES).filter_map(about_pair).collect();
    let about = "The difference in cycles, and the reasons for which fewer or more issue slots of schedulers with warps stay empty. A slot is a chance of a warp scheduler to issue in a cycle.";
    (!described.is_empty()).then(|| note(about) + &described)
}

/// Of workloads that were profiled, which instructions take more or fewer slots than in the first column.
fn instructions(of: &Comparison<'_>) -> Option<String> {
    let of_row = |row: usize| {
        let profile = |column: usize| {
            let profile =
                of.outcome(row, column).report.filter(|_| of.outcome(row, column).complete)?.profile.as_ref()?;
            Some((of.designs[column].label.as_str(), profile))
        };
        let profiles: Vec<_> = (0..of.designs.len()).filter_map(profile).collect();
        let mut body = instructions::changes(&profiles);
        if body.is_empty() {
            // Other code: the lines that match.
            body = of.faster().into_iter().filter_map(|column| lines_changed(of, row, column)).collect();
        }
        (!body.is_empty()).then(|| format!("<h3>{}</h3>\n{body}", escaped(&of.workloads[row])))
    };
    let body: String = (0..of.workloads.len()).filter_map(of_row).take(MOST_CHANGES).collect();
    let about = "Issue slots of each instruction in the first column, and how many more or fewer the others take, the greatest change first. Of different code, lines are matched.";
    (!body.is_empty()).then(|| note(about) + &body)
}

/// The lines that changed most from the baseline's version.
fn lines_changed(of: &Comparison<'_>, row: usize, column: usize) -> Option<String> {
    let baseline = of.designs[column].baseline;
    let report = |column: usize| of.outcome(row, column).report.filter(|_| of.outcome(row, column).complete);
    let changes = Changes::between(&of.designs[baseline].label, report(baseline)?, report(column)?)?;
    let lines = changes::lines(&changes);
    let title = format!("{} against {}", of.designs[column].label, changes.baseline);
    (!lines.is_empty()).then(|| format!("<h4>{}</h4>\n{lines}", escaped(&title)))
}

/// A bar for each run, as long as its kernels took compared with the longest of the workload.
fn stall_stacks(of: &Comparison<'_>) -> Option<String> {
    let rows = of.rows_in_charts(of.designs.len());
    let time = |row, column| {
        let complete = Some(of.outcome(row, column)).filter(|outcome| outcome.complete);
        complete.and_then(|o| Some(o.report?.total.number(summary::TIME))).filter(|time| *time > 0.0)
    };
    let columns = 0..of.designs.len();
    let group = |row: usize| {
        let longest = columns.clone().filter_map(|column| time(row, column)).fold(0.0, f64::max);
        let bar = |column: usize| {
            let (report, time) = (of.outcome(row, column).report?, time(row, column)?);
            let pieces = stalls::pieces_of_busy_sms(&report.total);
            let cycles = number::count(report.total.number(summary::CYCLES) as u64);
            let label = of.designs[column].label.clone();
            let bar = Bar { label, figure: format!("{cycles} cycles"), length: time / longest, pieces };
            Some(bar).filter(|bar| !bar.pieces.is_empty())
        };
        (of.workloads[row].clone(), columns.clone().filter_map(bar).collect::<Vec<_>>())
    };
    let groups: Vec<(String, Vec<Bar<'_>>)> = (0..rows).map(group).filter(|(_, bars)| !bars.is_empty()).collect();
    if groups.is_empty() {
        return None;
    }
    let about = format!(
        "A bar is as long as the kernels of the workload took, compared with the slowest design; its pieces are shares of the issue slots of schedulers with warps, idle slots left out. The reason that shrinks is the source of a design's gain.{}",
        not_drawn(of.workloads.len() - rows)
    );
    let figures = details("Figures: slots by reason", &slots_table(of));
    let bars = of.designs.len() * of.workloads.len();
    let open = of.designs.len() <= MOST_BARS_OF_A_WORKLOAD + 1 && bars <= MOST_BARS_IN_GROUPS;
    Some(note(&about) + &figure("Use of issue slots by design", &stack::groups(&groups, open)) + &figures)
}

fn slots_table(of: &Comparison<'_>) -> String {
    let columns = [
        ("workload", Align::Name),
        ("design", Align::Name),
        ("use of the slot", Align::Left),
        ("slots", Align::Right),
        ("share", Align::Right),
    ];
    let mut table = Table::new(columns);
    for (row, workload) in of.workloads.iter().enumerate().take(of.rows_in_charts(of.designs.len())) {
        for (column, design) in of.designs.iter().enumerate() {
            let Some(report) = of.outcome(row, column).report else { continue };
            let all = report.total.number(slots::ALL);
            let issued = [("issued", report.total.number(slots::ISSUED))];
            for (name, n) in issued.into_iter().chain(slots::stalls(&report.total)).filter(|_| all > 0.0) {
                let share = n / all * 100.0;
                table.row([
                    workload.clone().into(),
                    design.label.clone().into(),
                    super::html::spaced(name).into(),
                    Cell::number(number::count(n as u64), Some(n)),
                    Cell::number(format!("{share:.2} %"), Some(share)),
                ]);
            }
        }
    }
    table.render()
}

/// Heading and statistic of the figures of a run.
const FIGURES: [(&str, &str); 8] = [
    ("cycles", summary::CYCLES),
    ("time (us)", summary::TIME),
    ("IPC", summary::IPC),
    ("occupancy (%)", summary::OCCUPANCY),
    ("L1 hits (%)", "l1d.hit_rate"),
    ("L2 hits (%)", "l2.hit_rate"),
    ("DRAM bytes", "dram.bytes"),
    ("hazard stalls", summary::STALLS),
];

fn runs(of: &Comparison<'_>) -> String {
    let first =
        [("workload", Align::Name), ("design", Align::Name), ("speedup", Align::Right), ("paper", Align::Right)];
    let headings = FIGURES.iter().map(|(heading, _)| (*heading, Align::Right));
    let mut table = Table::new(first.into_iter().chain(headings).chain([("energy", Align::Right)]));
    for (row, workload) in of.workloads.iter().enumerate() {
        for (column, design) in of.designs.iter().enumerate() {
            let Outcome { report, complete, speedup, published, .. } = *of.outcome(row, column);
            let real = |x: Option<f64>| Cell::number(x.map_or_else(|| ABSENT.to_owned(), |x| format!("{x:.3}")), x);
            let label = if complete { design.label.clone() } else { format!("{} (incomplete)", design.label) };
            let mut cells = vec![workload.clone().into(), label.into(), real(speedup), real(published)];
            let of_report = |name: &str| report.and_then(|r| r.total.get(name)).and_then(Value::number);
            for (_, name) in FIGURES {
                let text = report.map_or_else(|| ABSENT.to_owned(), |r| report::figure(&r.total, name));
                cells.push(Cell::number(text, of_report(name)));
            }
            let energy = of_report(TOTAL);
            let text = energy.map_or_else(|| ABSENT.to_owned(), |joules| number::with_prefix(joules, "J"));
            cells.push(Cell::number(text, energy));
            table.row(cells);
        }
    }
    let rows = of.workloads.len() * of.designs.len();
    if rows > MOST_OPEN_ROWS { details(&number::counted(rows as u64, "run"), &table.render()) } else { table.render() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_holds_one_and_all_values() {
        let scale = Scale::of([0.8, 1.3]);
        assert!(scale.low < 0.8 && scale.high > 1.3);
        assert!((scale.at(scale.low), scale.at(scale.high)) == (0.0, 100.0));
        let alone = Scale::of([]);
        assert!((alone.at(1.0) - 50.0).abs() < 1e-9, "{alone:?}");
    }

    #[test]
    fn a_bar_goes_from_one_to_the_speedup() {
        let scale = Scale { low: 0.5, high: 1.5 };
        let bar = speedup_bar("a & b", "#000000", (Some(1.25), None), Some(1.4), scale);
        assert!(bar.contains("x=\"50.00%\" width=\"25.00%\"") && bar.contains("x1=\"90.00%\""), "{bar}");
        assert!(bar.contains("a &amp; b") && bar.contains("<b>1.250</b> <i>paper 1.400</i>"), "{bar}");
        let repeated = speedup_bar("a", "#000000", (Some(1.25), Some(0.1)), None, scale);
        assert!(
            repeated.contains("x1=\"65.00%\" x2=\"85.00%\"") && repeated.contains("<b>1.250 ±0.100</b>"),
            "{repeated}"
        );
        let slower = speedup_bar("a", "#000000", (Some(0.75), None), None, scale);
        assert!(slower.contains("x=\"25.00%\" width=\"25.00%\"") && !slower.contains("paper"), "{slower}");
    }
}
