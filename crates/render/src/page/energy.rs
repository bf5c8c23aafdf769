//! Power over time if it was sampled, and energy by component.

use super::area::{self, Chart, Layer};
use super::html::{Cell, Section, Table, details, figure, note, spaced};
use super::input::Run;
use super::kernels::{self, Row};
use super::over_time;
use super::stack::{self, Bar, Piece};
use crate::energy::{POWER, TOTAL};
use crate::number::{self, ABSENT};
use crate::power;
use crate::table::Align;
use energy::Component;
use lab::{PowerSeries, Stats, Value};

/// Columns of the chart of power over time; intervals of longer series are combined.
const MOST_COLUMNS: usize = 240;
const HEIGHT: f64 = 320.0;

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
    if let Some(series) = over_time::power(report) {
        body += &figure("Power over time", &chart(series));
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
        let joules: f64 = components.iter().map(|&c| of(&row.stats, c)).sum();
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
            let used = of(&row.stats, component);
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

fn chart(series: &PowerSeries) -> String {
    let columns = power::columns(series, MOST_COLUMNS);
    let seconds = columns.last().map_or(0.0, |column| column.end) * 1e-6;
    let layer = |(g, (name, colour, _)): (usize, (&str, String, _))| {
        let joules: f64 = columns.iter().map(|c| c.watts[g] * (c.end - c.start) * 1e-6).sum();
        let mean = number::real(if seconds > 0.0 { joules / seconds } else { 0.0 });
        Layer {
            name: name.to_owned(),
            colour,
            values: columns.iter().map(|c| c.watts[g]).collect(),
            tip: format!("{}, {mean} W on average", number::with_prefix(joules, "J")),
        }
    };
    area::render(&Chart {
        label: "Power over time",
        axes: ("simulated time (us)", "power (W)"),
        height: HEIGHT,
        columns: columns.iter().map(|column| (column.start, column.end)).collect(),
        layers: power::groups().enumerate().map(layer).collect(),
        highest: None,
    })
}
