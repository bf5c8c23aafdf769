//! The run over time: where issue slots went, instructions per cycle, occupancy.

use super::area::{self, Chart, Layer};
use super::html::{Section, Table, details, figure, note, spaced};
use super::stalls;
use crate::number;
use crate::slots;
use crate::summary;
use crate::table::Align;
use lab::{PowerSeries, Report, Sample, SampleSeries};

/// Columns of a chart; intervals of longer series are combined.
const MOST_COLUMNS: usize = 240;
const HEIGHT: f64 = 300.0;
const LOW: f64 = 170.0;

/// The series of statistics that the report has: the intervals asked for, or the overview.
fn samples(report: &Report) -> Option<&SampleSeries> {
    let overview = report.overview.as_ref().map(|overview| &overview.samples);
    report.samples.as_ref().or(overview).filter(|series| series.rows.len() > 1)
}

/// The same of power.
pub fn power(report: &Report) -> Option<&PowerSeries> {
    let overview = report.overview.as_ref().and_then(|overview| overview.power.as_ref());
    report.power.as_ref().or(overview).filter(|series| !series.intervals.is_empty())
}

/// Sums over groups of intervals.
struct Columns<'a> {
    series: &'a SampleSeries,
    groups: Vec<&'a [Sample]>,
}

impl<'a> Columns<'a> {
    fn of(series: &'a SampleSeries) -> Self {
        let each = series.rows.len().div_ceil(MOST_COLUMNS).max(1);
        Self { series, groups: series.rows.chunks(each).collect() }
    }

    /// First cycle, and the one after the last, of each.
    fn spans(&self) -> Vec<(f64, f64)> {
        let span = |group: &&[Sample]| {
            let end = group.last().map_or(0, |last| last.end_cycle);
            (group[0].start_cycle as f64, end as f64)
        };
        self.groups.iter().map(span).collect()
    }

    /// Count of a statistic in each; `None` if there is none of this name.
    fn sums(&self, name: &str) -> Option<Vec<f64>> {
        let at = self.series.columns.iter().position(|info| info.name == name)?;
        let sum = |group: &&[Sample]| group.iter().filter_map(|row| row.values.at(at).number()).sum();
        Some(self.groups.iter().map(sum).collect())
    }

    /// The mean of a ratio in each, by cycles.
    fn means(&self, name: &str) -> Option<Vec<f64>> {
        let at = self.series.columns.iter().position(|info| info.name == name)?;
        let cycles = |row: &Sample| (row.end_cycle - row.start_cycle) as f64;
        let mean = |group: &&[Sample]| {
            let weighted: f64 = group.iter().filter_map(|row| Some(row.values.at(at).number()? * cycles(row))).sum();
            weighted / group.iter().map(cycles).sum::<f64>().max(1.0)
        };
        Some(self.groups.iter().map(mean).collect())
    }
}

/// The section; `None` where nothing was sampled.
pub fn section(report: &Report) -> Option<Section> {
    let columns = Columns::of(samples(report)?);
    let spans = columns.spans();
    let end = spans.last()?.1;
    let about = format!(
        "The {} core cycles of the run in {}, launch latency included.",
        number::count(end as u64),
        number::counted(columns.groups.len() as u64, "interval")
    );
    let mut body = note(&about);
    let mut table = Table::new([("from", Align::Right), ("to", Align::Right)].into_iter().chain(FIGURES.map(heading)));
    if let Some(chart) = slots_chart(&columns, &spans) {
        body += &figure("Issue slots over time", &area::render(&chart));
    }
    let per_cycle = |name: &str| {
        let sums = columns.sums(name)?;
        Some(sums.iter().zip(&spans).map(|(n, (from, to))| n / (to - from).max(1.0)).collect::<Vec<f64>>())
    };
    let ipc = per_cycle(summary::THREAD_INSTRUCTIONS);
    let occupancy = columns.means(summary::OCCUPANCY);
    let lines = [
        ("Instructions of threads per cycle", "per cycle", "#5b9bd5", &ipc, None),
        ("Occupancy of SMs with warps", "% of warp slots", "#e08a2e", &occupancy, Some(100.0)),
    ];
    for (label, unit, colour, values, highest) in lines {
        let Some(values) = values.clone().filter(|values| values.iter().any(|value| *value > 0.0)) else { continue };
        let most = values.iter().copied().fold(0.0, f64::max);
        let tip = format!("at most {} {unit}", number::real(most));
        let layer = Layer { name: label.into(), colour: colour.into(), values, tip };
        let chart = Chart {
            label,
            axes: ("core cycle", unit),
            height: LOW,
            columns: spans.clone(),
            layers: vec![layer],
            highest,
        };
        body += &format!("<h3>{label}</h3>\n{}", figure(label, &area::render(&chart)));
    }
    let issued = per_cycle(slots::ISSUED);
    for (at, (from, to)) in spans.iter().enumerate() {
        let value = |of: &Option<Vec<f64>>| of.as_ref().map_or_else(String::new, |values| number::real(values[at]));
        let cells =
            [number::count(*from as u64), number::count(*to as u64), value(&issued), value(&ipc), value(&occupancy)];
        table.row(cells.map(Into::into));
    }
    body += &details("Figures: over time", &table.render());
    Some(Section { id: "over-time".into(), title: "Over time".into(), body })
}

/// Headings of the table, in its order.
const FIGURES: [&str; 3] = ["warp instructions per cycle", "instructions of threads per cycle", "occupancy (%)"];

fn heading(name: &'static str) -> (&'static str, Align) {
    (name, Align::Right)
}

/// Shares of the issue slots by what became of them. Where most are of schedulers without a warp, those are left out: they would
/// hide all others.
fn slots_chart<'a>(columns: &Columns<'_>, spans: &[(f64, f64)]) -> Option<Chart<'a>> {
    let mut all = columns.sums(slots::ALL)?;
    let idle = columns.sums(slots::IDLE).unwrap_or_else(|| vec![0.0; all.len()]);
    let is_busy = 2.0 * idle.iter().sum::<f64>() <= all.iter().sum();
    if !is_busy {
        all.iter_mut().zip(&idle).for_each(|(all, idle)| *all -= idle);
    }
    let total: f64 = Some(all.iter().sum()).filter(|total| *total > 0.0)?;
    let (unit, of) = if is_busy {
        ("% of issue slots", "all slots")
    } else {
        ("% of slots of schedulers with warps", "the slots of schedulers with warps")
    };
    let layer = |name: &str, colour: &str| {
        let sums = columns.sums(&format!("{}{name}", slots::PREFIX))?;
        let share = sums.iter().sum::<f64>() / total * 100.0;
        let values = sums.iter().zip(&all).map(|(n, all)| if *all > 0.0 { n / all * 100.0 } else { 0.0 }).collect();
        Some(Layer { name: spaced(name), colour: colour.into(), values, tip: format!("{share:.1} % of {of}") })
    };
    let shown = stalls::colours().filter(|(name, _)| is_busy || slots::IDLE.strip_prefix(slots::PREFIX) != Some(*name));
    let layers: Vec<Layer> = shown.filter_map(|(name, colour)| layer(name, colour)).collect();
    Some(Chart {
        label: "Issue slots over time",
        axes: ("core cycle", unit),
        height: HEIGHT,
        columns: spans.to_vec(),
        layers,
        highest: Some(100.0),
    })
}
