//! Power over time if it was sampled, and energy by component.

use super::html::{Cell, Section, Table, details, figure, note, spaced};
use super::input::Run;
use super::kernels::{self, Row};
use super::number_axis::ticks;
use super::stack::{self, Bar, Piece};
use crate::energy::{POWER, TOTAL};
use crate::number::{self, ABSENT};
use crate::power;
use crate::table::Align;
use energy::Component;
use lab::{PowerSeries, Stats, Value};
use std::fmt::Write as _;

/// Columns of the chart of power over time; intervals of longer series are combined.
const MOST_COLUMNS: usize = 240;
const SIZE: (f64, f64) = (960.0, 320.0);
/// Margins of the axes: left, right, top, bottom.
const MARGINS: (f64, f64, f64, f64) = (60.0, 16.0, 14.0, 44.0);

/// The section; `None` without a model of energy.
pub fn section(run: &Run<'_>) -> Option<Section> {
    let report = run.report;
    let model = report.energy_model.as_ref()?;
    let (rows, left_out) = kernels::rows_with_total(report);
    let bars: Vec<Bar<'_>> = rows.iter().filter_map(bar).collect();
    if bars.is_empty() {
        return None;
    }
    let about = format!(
        "Model {} at {} V and {} MHz. Energy is of the GPU and its board, launch latency included.{}",
        model.name,
        model.volts,
        model.core_mhz,
        kernels::left_out(left_out)
    );
    let mut body = note(&about);
    if let Some(series) = report.power.as_ref().filter(|series| !series.intervals.is_empty()) {
        body += &figure("Power over time", &over_time(series));
        body += &details("Figures: power over time", &intervals(series));
    }
    body += &figure("Energy by group of components", &stack::render(&bars));
    body += &details("Figures: energy by component", &components(&rows));
    Some(Section { id: "energy".into(), title: "Energy and power".into(), body })
}

fn of(stats: &Stats, component: Component) -> f64 {
    stats.number(&format!("energy.{}", component.name()))
}

fn joules(joules: f64) -> Cell {
    Cell::number(number::with_prefix(joules, "J"), Some(joules))
}

fn bar<'a>(row: &Row<'_>) -> Option<Bar<'a>> {
    let total = row.stats.get(TOTAL).and_then(Value::number).filter(|total| *total > 0.0)?;
    let watts = row.stats.get(POWER).and_then(Value::number).map_or_else(|| ABSENT.to_owned(), number::real);
    let piece = |(name, colour, components): (&'static str, String, &[Component])| {
        let joules: f64 = components.iter().map(|&c| of(row.stats, c)).sum();
        Piece {
            name: name.into(),
            colour: colour.into(),
            share: joules / total,
            amount: number::with_prefix(joules, "J"),
        }
    };
    Some(Bar {
        label: row.label.clone(),
        figure: format!("{}, {watts} W", number::with_prefix(total, "J")),
        length: 1.0,
        pieces: power::groups().map(piece).collect(),
    })
}

/// A row for each component that used energy, a column for each kernel's energy and share.
fn components(rows: &[Row<'_>]) -> String {
    let columns =
        [("kernel", Align::Name), ("component", Align::Left), ("energy", Align::Right), ("share", Align::Right)];
    let mut table = Table::new(columns);
    for row in rows {
        let total = row.stats.number(TOTAL);
        for &component in Component::ALL {
            let used = of(row.stats, component);
            if used > 0.0 && total > 0.0 {
                let share = used / total * 100.0;
                let share = Cell::number(format!("{share:.2} %"), Some(share));
                table.row([row.label.clone().into(), spaced(component.name()).into(), joules(used), share]);
            }
        }
    }
    table.render()
}

fn intervals(series: &PowerSeries) -> String {
    let groups: Vec<_> = power::groups().collect();
    let columns = power::columns(series, MOST_COLUMNS);
    let used: Vec<usize> = (0..groups.len()).filter(|&g| columns.iter().any(|c| c.watts[g] > 0.0)).collect();
    let headings = ["from (us)", "to (us)", "W"].into_iter().chain(used.iter().map(|&g| groups[g].0));
    let mut table = Table::new(headings.map(|heading| (heading, Align::Right)));
    for column in &columns {
        let watts: f64 = column.watts.iter().sum();
        let cells = [column.start, column.end, watts].into_iter().chain(used.iter().map(|&g| column.watts[g]));
        table.row(cells.map(|x| number::real(x).into()));
    }
    table.render()
}

fn over_time(series: &PowerSeries) -> String {
    let columns = power::columns(series, MOST_COLUMNS);
    let end = columns.last().map_or(1.0, |c| c.end).max(f64::MIN_POSITIVE);
    let most = columns.iter().map(|c| c.watts.iter().sum::<f64>()).fold(0.0, f64::max);
    let (left, right, top, bottom) = MARGINS;
    let (width, height) = SIZE;
    let watts = ticks(most);
    let highest = watts.last().copied().unwrap_or(1.0);
    let x = |time: f64| left + time / end * (width - left - right);
    let y = |watts: f64| height - bottom - watts / highest * (height - top - bottom);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"Power over time\" class=\"chart\">"
    );
    for tick in watts {
        let (at, name) = (y(tick), axis_number(tick));
        let _ = write!(
            out,
            "<line x1=\"{left}\" x2=\"{:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\" class=\"grid\"/><text x=\"{:.1}\" y=\"{:.1}\" class=\"end\">{name}</text>",
            width - right,
            left - 8.0,
            at + 4.0
        );
    }
    for tick in ticks(end).into_iter().filter(|t| *t <= end) {
        let _ = write!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" class=\"mid\">{}</text>",
            x(tick),
            height - bottom + 18.0,
            axis_number(tick)
        );
    }
    let mut below = vec![0.0; columns.len()];
    let mut keys = Vec::new();
    for (g, (name, colour, _)) in power::groups().enumerate() {
        let above: Vec<f64> = columns.iter().zip(&below).map(|(c, y)| y + c.watts[g]).collect();
        if above == below {
            continue;
        }
        let mut path = String::new();
        for (i, (column, &w)) in columns.iter().zip(&above).enumerate() {
            let go = if i == 0 { 'M' } else { 'L' };
            let _ = write!(path, "{go}{:.1} {:.1}H{:.1}", x(column.start), y(w), x(column.end));
        }
        for (column, &w) in columns.iter().zip(&below).rev() {
            let _ = write!(path, "L{:.1} {:.1}H{:.1}", x(column.end), y(w), x(column.start));
        }
        let joules: f64 = columns.iter().map(|c| c.watts[g] * (c.end - c.start) * 1e-6).sum();
        let _ = write!(
            out,
            "<g class=\"mark\"><path d=\"{path}Z\" fill=\"{colour}\"/><title>{name}: {}, {} W on average</title></g>",
            number::with_prefix(joules, "J"),
            number::real(joules / (end * 1e-6))
        );
        keys.push((name, colour));
        below = above;
    }
    let (middle, foot) = (left + (width - left - right) / 2.0, height - 6.0);
    let side = top + (height - top - bottom) / 2.0;
    let _ = writeln!(
        out,
        "<text x=\"{middle:.1}\" y=\"{foot:.1}\" class=\"mid soft\">simulated time (us)</text><text transform=\"translate(14 {side:.1}) rotate(-90)\" class=\"mid soft\">power (W)</text></svg>"
    );
    stack::keys(keys.iter().map(|(name, colour)| (*name, colour.as_str()))) + &out
}

/// A number of an axis without needless zeros.
fn axis_number(x: f64) -> String {
    if x >= 1000.0 { number::count(x.round() as u64) } else { format!("{}", (x * 1e6).round() / 1e6) }
}
