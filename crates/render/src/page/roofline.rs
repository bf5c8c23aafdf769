//! The roofline of thread instructions: each kernel against the peaks of issue and of each level of memory
//! (Williams et al., CACM 2009; of instructions as Ding and Williams, PMBS 2019, have it).

use super::html::{Cell, Section, Table, details, escaped, figure, note};
use super::input::Run;
use super::kernels::{self, Row};
use super::number_axis::{decades, power_of_ten};
use super::stack;
use super::traffic::{Traffic, levels};
use crate::number::{self, ABSENT};
use crate::summary;
use crate::table::Align;
use config::{GpuConfig, Unit};
use isa::OpClass;
use lab::{Report, Stats};
use std::fmt::Write as _;
use workloads::Form;

/// Kernels in the chart, by cycles.
const MOST_POINTS: usize = 20;
const SIZE: (f64, f64) = (960.0, 460.0);
/// Margins of the axes: left, right, top, bottom.
const MARGINS: (f64, f64, f64, f64) = (78.0, 24.0, 20.0, 48.0);

/// A kernel against one level.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Against {
    /// Thread instructions per byte; `None` without bytes.
    intensity: Option<f64>,
    /// Rate as a share of what issue and this level allow together.
    share: Option<f64>,
}

fn against(rate: f64, instructions: f64, level: &Traffic, peak: f64) -> Against {
    let intensity = (level.bytes > 0.0 && instructions > 0.0).then(|| instructions / level.bytes);
    Against { intensity, share: intensity.map(|x| rate / peak.min(level.peak * x)) }
}

/// Thread instructions per core cycle that all warp schedulers can issue.
pub fn issue_peak(gpu: &GpuConfig) -> f64 {
    let issue = &gpu.sm.issue;
    f64::from(gpu.sm_count) * f64::from(issue.schedulers * issue.width) * kit::WARP_LANES as f64
}

/// Single-precision multiply-adds per core cycle that the execution units take, of threads.
fn multiply_add_peak(gpu: &GpuConfig, code: Form) -> Option<f64> {
    let timing = if code == Form::Ptx { &gpu.sm.ptx_timing } else { &gpu.sm.sass_timing };
    let timing = timing.get(OpClass::FpFma.name())?;
    let units = gpu.sm.units.get(&timing.unit).filter(|_| timing.unit != Unit::Mem)?.count;
    let per_sm = f64::from(units) * kit::WARP_LANES as f64 / f64::from(timing.initiation_cycles.max(1));
    Some(per_sm * f64::from(gpu.sm_count))
}

/// The section; `None` for cores that are not SMs or have no model of time, or where nothing ran.
pub fn section(run: &Run<'_>) -> Option<Section> {
    let (report, gpu) = (run.report, run.gpu);
    if !lab::is_sm(&report.core) || !lab::is_timed(&report.core) {
        return None;
    }
    let (rows, _) = kernels::rows(report);
    let rows: Vec<Row<'_>> = rows.into_iter().filter(|row| row.stats.number(summary::IPC) > 0.0).collect();
    if rows.is_empty() {
        return None;
    }
    let peak = issue_peak(gpu);
    let shown = rows.len().min(MOST_POINTS);
    let fma = report.code().and_then(|code| multiply_add_peak(gpu, code));
    let about = "Each kernel has one point per level of memory: thread instructions per core cycle over thread instructions per byte that moved at that level. Slanted roofs are the bandwidths of the GPU description, the horizontal roof is what its warp schedulers can issue. A point on a roof is bound by it; a point far below all roofs waits for latencies or has too few warps.";
    let mut body = note(about);
    let all = levels(&report.total, gpu);
    let legend = stack::keys(all.iter().map(|traffic| (traffic.name(), traffic.colour)));
    body += &figure("Roofline of thread instructions", &(legend + &chart(&rows[..shown], gpu, peak, fma)));
    body += &details("Figures: kernels against the roofs", &table(&rows, &all, gpu, peak));
    body += &details("Figures: shares of the roofs in use", &shares(&rows, report, gpu));
    body += &details("Figures: the roofs", &roofs(gpu, &all, peak, fma));
    Some(Section { id: "roofline".into(), title: "Roofline".into(), body })
}

/// Each kernel and the share of each resource that it used: issue slots, units, shared memory, levels of memory.
fn shares(rows: &[Row<'_>], report: &Report, gpu: &GpuConfig) -> String {
    let form = report.code().unwrap_or(Form::Sass);
    let of_rows: Vec<_> = rows.iter().map(|row| lab::diagnosis::roofs(&row.stats, gpu, form)).collect();
    let names = of_rows.first().map_or(&[][..], |first| first);
    let mut columns = vec![("#".to_owned(), Align::Right), ("kernel".to_owned(), Align::Name)];
    columns.extend(names.iter().map(|roof| (roof.name.to_owned(), Align::Right)));
    columns.extend(FLOPS.map(|(name, _)| (format!("{name} FLOP/cycle"), Align::Right)));
    let mut table = Table::new(columns);
    for (i, (row, roofs)) in rows.iter().zip(&of_rows).enumerate() {
        let mut cells: Vec<Cell> = vec![(i + 1).to_string().into(), row.label.clone().into()];
        let percent = |share: f64| Cell::number(format!("{:.1} %", share * 100.0), Some(share));
        cells.extend(roofs.iter().map(|roof| percent(roof.share)));
        cells.extend(FLOPS.iter().map(|(_, operations)| {
            let cycles = row.stats.number(summary::CYCLES);
            let rate = if cycles > 0.0 { operations(&row.stats) / cycles } else { 0.0 };
            Cell::number(number::real(rate), Some(rate))
        }));
        table.row(cells);
    }
    table.render()
}

/// Floating-point operations of a kernel, by its statistics.
type Operations = fn(&Stats) -> f64;

/// Precisions and their operations.
const FLOPS: [(&str, Operations); 4] = [
    ("FP32", |stats| by_class(stats, &[(OpClass::FpAdd, 1.0), (OpClass::FpMul, 1.0), (OpClass::FpFma, 2.0)])),
    ("FP64", |stats| by_class(stats, &[(OpClass::DpAdd, 1.0), (OpClass::DpMul, 1.0), (OpClass::DpFma, 2.0)])),
    ("FP16 and BF16", |stats| stats.number("sm.half_operations")),
    ("tensor", |stats| 2.0 * stats.number("sm.matrix_multiply_adds")),
];

/// Floating-point operations of `classes` with the operations of a lane, as if each class had the kernel's mean of active
/// lanes.
fn by_class(stats: &Stats, classes: &[(OpClass, f64)]) -> f64 {
    let operations = |(class, each): &(OpClass, f64)| stats.number(&format!("mix.{}", class.name())) * each;
    let lanes = kit::WARP_LANES as f64 * stats.number("lane_use") / 100.0;
    classes.iter().map(operations).sum::<f64>() * lanes
}

fn roofs(gpu: &GpuConfig, levels: &[Traffic], peak: f64, fma: Option<f64>) -> String {
    let columns = [("roof", Align::Left), ("per core cycle", Align::Right), ("from", Align::Left)];
    let mut table = Table::new(columns);
    let issue = &gpu.sm.issue;
    let from = format!(
        "{}, {}, {} per cycle each, {} lanes",
        number::counted(gpu.sm_count.into(), "SM"),
        number::counted(issue.schedulers.into(), "warp scheduler"),
        number::counted(issue.width.into(), "instruction"),
        kit::WARP_LANES
    );
    table.row(["issue".into(), format!("{} thread instructions", number::real(peak)).into(), from.into()]);
    if let Some(fma) = fma {
        let from = "units and initiation interval of single-precision multiply-adds";
        let amount = format!("{} thread instructions", number::real(fma));
        table.row(["multiply-adds (FP32)".into(), amount.into(), from.into()]);
    }
    for traffic in levels {
        let amount = format!("{} bytes", number::real(traffic.peak));
        table.row([traffic.name().into(), amount.into(), traffic.source.clone().into()]);
    }
    table.render()
}

fn table(rows: &[Row<'_>], all: &[Traffic], gpu: &GpuConfig, peak: f64) -> String {
    let mut columns = vec![
        ("#".to_owned(), Align::Right),
        ("kernel".to_owned(), Align::Name),
        ("thread insts/cycle".to_owned(), Align::Right),
        ("of issue".to_owned(), Align::Right),
    ];
    for name in all.iter().map(|traffic| traffic.name()) {
        columns.push((format!("insts/byte {name}"), Align::Right));
        columns.push((format!("of {name} roof"), Align::Right));
    }
    let mut table = Table::new(columns);
    for (i, row) in rows.iter().enumerate() {
        let (rate, n) = (row.stats.number(summary::IPC), row.stats.number(summary::THREAD_INSTRUCTIONS));
        let percent = |share: Option<f64>| {
            Cell::number(share.map_or_else(|| ABSENT.to_owned(), |s| format!("{:.1} %", s * 100.0)), share)
        };
        let real = |x: Option<f64>| Cell::number(x.map_or_else(|| ABSENT.to_owned(), number::real), x);
        let mut cells =
            vec![(i + 1).to_string().into(), row.label.clone().into(), real(Some(rate)), percent(Some(rate / peak))];
        for level in levels(&row.stats, gpu) {
            let Against { intensity, share } = against(rate, n, &level, peak);
            cells.extend([real(intensity), percent(share)]);
        }
        table.row(cells);
    }
    table.render()
}

/// Places on a picture with logarithmic axes.
struct Axes {
    x: (i32, i32),
    y: (i32, i32),
}

impl Axes {
    fn x(&self, value: f64) -> f64 {
        let (left, right, ..) = MARGINS;
        let share = (value.log10() - f64::from(self.x.0)) / f64::from(self.x.1 - self.x.0);
        left + share * (SIZE.0 - left - right)
    }

    fn y(&self, value: f64) -> f64 {
        let (.., top, bottom) = MARGINS;
        let share = (value.log10() - f64::from(self.y.0)) / f64::from(self.y.1 - self.y.0);
        SIZE.1 - bottom - share * (SIZE.1 - top - bottom)
    }

    /// Lines and numbers.
    fn draw(&self, out: &mut String) {
        let (left, right, top, bottom) = MARGINS;
        let (width, height) = SIZE;
        for exponent in self.x.0..=self.x.1 {
            let x = self.x(10f64.powi(exponent));
            let _ = write!(
                out,
                "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{top}\" y2=\"{:.1}\" class=\"grid\"/><text x=\"{x:.1}\" y=\"{:.1}\" class=\"mid\">{}</text>",
                height - bottom,
                height - bottom + 21.0,
                power_of_ten(exponent)
            );
        }
        for exponent in self.y.0..=self.y.1 {
            let y = self.y(10f64.powi(exponent));
            let _ = write!(
                out,
                "<line x1=\"{left}\" x2=\"{:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\" class=\"grid\"/><text x=\"{:.1}\" y=\"{:.1}\" class=\"end\">{}</text>",
                width - right,
                left - 8.0,
                y + 4.0,
                power_of_ten(exponent)
            );
        }
        let (middle, foot) = (left + (width - left - right) / 2.0, height - 8.0);
        let _ = write!(
            out,
            "<text x=\"{middle:.1}\" y=\"{foot:.1}\" class=\"mid soft\">thread instructions per byte</text>"
        );
        let side = top + (height - top - bottom) / 2.0;
        let _ = write!(
            out,
            "<text transform=\"translate(16 {side:.1}) rotate(-90)\" class=\"mid soft\">thread instructions per core cycle</text>"
        );
    }
}

fn chart(rows: &[Row<'_>], gpu: &GpuConfig, peak: f64, fma: Option<f64>) -> String {
    let levels_of: Vec<Vec<Traffic>> = rows.iter().map(|row| levels(&row.stats, gpu)).collect();
    let of = |row: &Row<'_>| (row.stats.number(summary::IPC), row.stats.number(summary::THREAD_INSTRUCTIONS));
    let points = rows.iter().zip(&levels_of).flat_map(|(row, levels)| {
        let (rate, n) = of(row);
        levels.iter().filter_map(move |level| against(rate, n, level, peak).intensity)
    });
    // From the points to beyond where the last roof meets the peak.
    let bends = levels_of[0].iter().map(|level| peak / level.peak);
    let Some(x) = decades(points.chain(bends.flat_map(|x| [x * 0.2, x * 1.5]))) else { return String::new() };
    let bottom = levels_of[0].iter().map(|level| level.peak * 10f64.powi(x.0)).fold(peak, f64::min);
    let lowest = rows.iter().map(|row| of(row).0).fold(peak, f64::min);
    // Roofs far below all points are of no use.
    let Some(y) = decades([lowest.min((bottom * 10.0).max(lowest / 10.0)), peak * 1.02]) else { return String::new() };
    let axes = Axes { x, y };
    let (width, height) = SIZE;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"Roofline\" class=\"chart\">"
    );
    axes.draw(&mut out);
    let (first, last, floor) = (10f64.powi(x.0), 10f64.powi(x.1), 10f64.powi(y.0));
    for level in &levels_of[0] {
        let start = first.max(floor / level.peak);
        let bend = peak / level.peak;
        let (x1, y1, x2, y2) = (axes.x(start), axes.y(start * level.peak), axes.x(bend), axes.y(peak));
        let _ = write!(
            out,
            "<g class=\"mark\"><line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{}\" stroke-width=\"2\"/><title>{} roof: {} bytes per core cycle</title></g>",
            level.colour,
            level.name(),
            number::real(level.peak)
        );
        let (tx, ty) = (x1 + (x2 - x1) * 0.12, y1 + (y2 - y1) * 0.12);
        let slope = (y2 - y1).atan2(x2 - x1).to_degrees();
        let _ = write!(
            out,
            "<text transform=\"translate({tx:.1} {ty:.1}) rotate({slope:.1})\" dy=\"-6\" class=\"roof\">{} {} B/cycle</text>",
            level.name(),
            number::real(level.peak)
        );
    }
    let mut horizontal = |value: f64, class: &str, name: &str| {
        let (x1, x2, y) = (axes.x((peak / levels_of[0][0].peak).clamp(first, last)), axes.x(last), axes.y(value));
        let _ = write!(
            out,
            "<g class=\"mark\"><line x1=\"{x1:.1}\" x2=\"{x2:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\" class=\"{class}\"/><title>{name}: {} thread instructions per core cycle</title></g><text x=\"{:.1}\" y=\"{:.1}\" class=\"end roof\">{name} {}</text>",
            number::real(value),
            x2 - 4.0,
            y - 5.0,
            number::real(value)
        );
    };
    horizontal(peak, "peak", "issue");
    if let Some(fma) = fma.filter(|fma| *fma < peak * 0.99) {
        horizontal(fma, "peak dashed", "FP32 multiply-adds");
    }
    for (i, (row, levels)) in rows.iter().zip(&levels_of).enumerate() {
        let (rate, n) = of(row);
        point(
            &mut out,
            &axes,
            Point { number: i + 1, several: rows.len() > 1, label: &row.label, rate, n, peak },
            levels,
        );
    }
    out.push_str("</svg>\n");
    out
}

/// A kernel in the chart.
#[derive(Clone, Copy)]
struct Point<'a> {
    number: usize,
    several: bool,
    label: &'a str,
    /// Thread instructions per core cycle.
    rate: f64,
    /// Thread instructions.
    n: f64,
    peak: f64,
}

fn point(out: &mut String, axes: &Axes, of: Point<'_>, levels: &[Traffic]) {
    let y = axes.y(of.rate);
    let places: Vec<(f64, &Traffic, Against)> = levels
        .iter()
        .map(|level| (level, against(of.rate, of.n, level, of.peak)))
        .filter_map(|(level, against)| Some((axes.x(against.intensity?), level, against)))
        .collect();
    let (left, right) = places.iter().fold((f64::INFINITY, 0.0_f64), |(l, r), (x, ..)| (l.min(*x), r.max(*x)));
    if places.len() > 1 {
        let _ = write!(out, "<line x1=\"{left:.1}\" x2=\"{right:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\" class=\"thread\"/>");
    }
    // Levels that moved the same bytes have the same place: rings.
    let radii = (1..=levels.len()).rev().map(|ring| 2 + 2 * ring);
    for ((x, level, Against { intensity, share }), radius) in places.iter().zip(radii) {
        let _ = write!(
            out,
            "<g class=\"mark\"><circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"{}\" class=\"dot\"/><title>{}, {}: {} thread instructions per cycle, {} per byte, {:.1} % of the roof</title></g>",
            level.colour,
            escaped(of.label),
            level.name(),
            number::real(of.rate),
            number::real(intensity.unwrap_or(0.0)),
            share.unwrap_or(0.0) * 100.0
        );
    }
    if of.several && !places.is_empty() {
        let _ = write!(out, "<text x=\"{:.1}\" y=\"{:.1}\" class=\"id\">{}</text>", right + 10.0, y + 4.0, of.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mem::Level;

    #[test]
    fn peaks_of_a_turing_gpu() {
        let gpu = config::load("rtx2060s").unwrap();
        // 34 SMs of four schedulers; 16 lanes of single precision each.
        assert_eq!(issue_peak(&gpu), 34.0 * 128.0);
        assert_eq!(multiply_add_peak(&gpu, Form::Sass), Some(34.0 * 64.0));
    }

    #[test]
    fn a_share_is_of_the_lower_roof() {
        let level = Traffic {
            level: Level::L2,
            colour: "",
            requests: None,
            hits: ("l2.hit_rate", "hits"),
            line: String::new(),
            bytes: 100.0,
            at_most: false,
            peak: 8.0,
            source: String::new(),
        };
        // 50 instructions on 100 bytes: at most 4 a cycle from 8 bytes a cycle.
        assert_eq!(against(1.0, 50.0, &level, 10.0), Against { intensity: Some(0.5), share: Some(0.25) });
        assert_eq!(against(1.0, 5000.0, &level, 10.0).share, Some(0.1));
        let none = Traffic { bytes: 0.0, ..level };
        assert_eq!(against(1.0, 50.0, &none, 10.0), Against { intensity: None, share: None });
    }
}
