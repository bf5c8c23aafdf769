//! The memory hierarchy as a flow: bytes at each edge, hit rates at each level.

use super::html::{Cell, Section, Table, details, figure, note};
use super::input::Run;
use super::kernels::{self, Row};
use super::traffic::{Traffic, levels};
use crate::number::{self, ABSENT};
use crate::summary;
use crate::table::Align;
use config::GpuConfig;
use lab::{Stats, Value};
use std::fmt::Write as _;

const HEIGHT: f64 = 190.0;
/// Width of a box and of the gap after it.
const BOX: (f64, f64) = (138.0, 136.0);

/// An amount of bytes in three digits.
fn amount(bytes: f64) -> String {
    let short = number::short(bytes);
    // `1.23 M` has its blank, `812` none.
    if short.contains(' ') { format!("{short}B") } else { format!("{short} B") }
}

fn percent(stats: &Stats, name: &str) -> String {
    let value = stats.get(name).and_then(Value::number);
    value.map_or_else(|| ABSENT.to_owned(), |share| format!("{share:.1} %"))
}

/// The section; `None` where nothing went to memory.
pub fn section(run: &Run<'_>) -> Option<Section> {
    let (report, gpu) = (run.report, run.gpu);
    let (rows, left_out) = kernels::rows_with_total(report);
    let flows = levels(&report.total, gpu);
    if flows.iter().all(|level| level.bytes == 0.0) {
        return None;
    }
    let about = format!(
        "Bytes of global and local accesses between the SMs and L1, of all requests that reached L2 (also of the instruction, constant and texture caches), and of DRAM, both directions together. The rate is per core cycle of kernels, the share is of the peak in the GPU description. Hit rates are of requests that found their data.{}",
        kernels::left_out(left_out)
    );
    let mut body =
        note(&about) + &figure("Flow through the memory hierarchy, whole run", &flow(&report.total, gpu, &flows));
    body += &details("Figures: traffic by kernel", &traffic(&rows, &flows, gpu));
    body += &details("Figures: caches and shared memory by kernel", &caches(&rows, &flows));
    Some(Section { id: "memory".into(), title: "Memory hierarchy".into(), body })
}

/// Contents of a box of the flow: name, a line, a rate from 0 to 100 with its label.
struct Place<'a> {
    name: &'static str,
    line: &'a str,
    rate: Option<f64>,
    rate_label: &'static str,
}

fn flow(stats: &Stats, gpu: &GpuConfig, levels: &[Traffic]) -> String {
    let of = |name: &str| stats.get(name).and_then(Value::number);
    let sms = format!("{} of {:.0} MHz", gpu.sm_count, gpu.clocks.core_mhz);
    let sms = Place { name: "SMs", line: &sms, rate: of("occupancy.sm_activity"), rate_label: "active" };
    let of_levels = levels.iter().map(|level| Place {
        name: level.name(),
        line: &level.line,
        rate: of(level.hits.0),
        rate_label: level.hits.1,
    });
    let places: Vec<Place<'_>> = std::iter::once(sms).chain(of_levels).collect();
    let (width, height) = (BOX.0 + levels.len() as f64 * (BOX.0 + BOX.1), HEIGHT);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"Memory flow\" class=\"chart\">"
    );
    let (top, bottom) = (34.0, 128.0);
    let middle = (top + bottom) / 2.0;
    let most = levels.iter().map(|level| level.bytes).fold(1.0, f64::max);
    for (i, place) in places.iter().enumerate() {
        let left = i as f64 * (BOX.0 + BOX.1);
        let center = left + BOX.0 / 2.0;
        let _ = write!(
            out,
            "<rect x=\"{:.1}\" y=\"{top}\" width=\"{}\" height=\"{}\" rx=\"6\" class=\"box\"/><text x=\"{center:.1}\" y=\"{:.1}\" class=\"mid strong\">{}</text><text x=\"{center:.1}\" y=\"{:.1}\" class=\"mid soft\">{}</text>",
            left + 1.0,
            BOX.0 - 2.0,
            bottom - top,
            top + 24.0,
            place.name,
            top + 44.0,
            super::html::escaped(place.line)
        );
        let (bar, y) = (BOX.0 - 28.0, top + 56.0);
        let rate = place.rate.unwrap_or(0.0).clamp(0.0, 100.0);
        let text =
            place.rate.map_or_else(|| format!("no {}", place.rate_label), |r| format!("{r:.1} % {}", place.rate_label));
        let _ = write!(
            out,
            "<rect x=\"{:.1}\" y=\"{y}\" width=\"{bar}\" height=\"8\" rx=\"2\" class=\"track\"/><rect x=\"{:.1}\" y=\"{y}\" width=\"{:.1}\" height=\"8\" rx=\"2\" class=\"level\"/><text x=\"{center:.1}\" y=\"{:.1}\" class=\"mid\">{text}</text>",
            left + 14.0,
            left + 14.0,
            bar * rate / 100.0,
            y + 24.0,
        );
        let Some(level) = levels.get(i) else { continue };
        let (x1, x2) = (left + BOX.0 + 4.0, left + BOX.0 + BOX.1 - 4.0);
        let stroke = if level.bytes > 0.0 { 2.0 + 16.0 * level.bytes / most } else { 1.0 };
        let cycles = stats.number(summary::CYCLES);
        let rate = if cycles > 0.0 { level.bytes / cycles } else { 0.0 };
        let _ = write!(
            out,
            "<g class=\"mark\"><line x1=\"{x1:.1}\" x2=\"{x2:.1}\" y1=\"{middle:.1}\" y2=\"{middle:.1}\" stroke=\"{}\" stroke-width=\"{stroke:.1}\"/><title>{}: {} bytes</title></g>",
            level.colour,
            level.name(),
            number::count(level.bytes as u64)
        );
        let center = (x1 + x2) / 2.0;
        let _ = write!(
            out,
            "<text x=\"{center:.1}\" y=\"{:.1}\" class=\"mid strong\">{}{}</text><text x=\"{center:.1}\" y=\"{:.1}\" class=\"mid soft\">{} B/cycle</text><text x=\"{center:.1}\" y=\"{:.1}\" class=\"mid soft\">{:.1} % of peak</text>",
            middle - 17.0,
            level.sign(),
            amount(level.bytes),
            middle + 26.0,
            number::real(rate),
            middle + 42.0,
            rate / level.peak * 100.0
        );
    }
    let shared = stats.number("sm.shared_accesses");
    if shared > 0.0 {
        let conflicts = stats.number("sm.shared_conflict_cycles");
        let _ = write!(
            out,
            "<text x=\"1\" y=\"{:.1}\" class=\"soft\">Shared memory: {} warp accesses, {} cycles added by bank conflicts</text>",
            bottom + 32.0,
            number::count(shared as u64),
            number::count(conflicts as u64)
        );
    }
    let latency = stats.get("memory.mean_read_latency").and_then(Value::number);
    if let Some(latency) = latency {
        let _ = write!(
            out,
            "<text x=\"1\" y=\"{:.1}\" class=\"soft\">Mean latency of reads beyond L1: {} core cycles</text>",
            bottom + 52.0,
            number::real(latency)
        );
    }
    out.push_str("</svg>\n");
    out
}

fn traffic(rows: &[Row<'_>], all: &[Traffic], gpu: &GpuConfig) -> String {
    let mut columns = vec![("kernel".to_owned(), Align::Name)];
    for name in all.iter().map(|traffic| traffic.name()) {
        columns.push((format!("{name} bytes"), Align::Right));
        columns.push((format!("{name} bytes/cycle"), Align::Right));
        columns.push((format!("of {name} peak"), Align::Right));
    }
    let mut table = Table::new(columns);
    for row in rows {
        let cycles = row.stats.number(summary::CYCLES);
        let mut cells = vec![Cell::from(row.label.clone())];
        for level in levels(&row.stats, gpu) {
            let rate = if cycles > 0.0 { level.bytes / cycles } else { 0.0 };
            let share = rate / level.peak * 100.0;
            cells.push(Cell::number(
                format!("{}{}", level.sign(), number::count(level.bytes as u64)),
                Some(level.bytes),
            ));
            cells.push(Cell::number(number::real(rate), Some(rate)));
            cells.push(Cell::number(format!("{share:.1} %"), Some(share)));
        }
        table.row(cells);
    }
    table.render()
}

fn caches(rows: &[Row<'_>], levels: &[Traffic]) -> String {
    /// Heading and statistic of what is counted of shared memory.
    const SHARED: [(&str, &str); 2] =
        [("shared accesses", "sm.shared_accesses"), ("bank conflict cycles", "sm.shared_conflict_cycles")];
    const USE: (&str, &str) = ("DRAM buses in use", "dram.utilisation");
    let owned = |(heading, name): (&str, &'static str)| (heading.to_owned(), name);
    let requests = |of: &Traffic| Some((format!("{} accesses", of.name()), of.requests?));
    let hits = |of: &Traffic| (format!("{} {}", of.name(), of.hits.1), of.hits.0);
    let counts: Vec<_> = levels.iter().filter_map(requests).chain(SHARED.map(owned)).collect();
    let rates: Vec<_> = levels.iter().map(hits).chain([owned(USE)]).collect();
    let headings = counts.iter().chain(&rates).map(|(heading, _)| (heading.clone(), Align::Right));
    let mut table = Table::new(std::iter::once(("kernel".to_owned(), Align::Name)).chain(headings));
    for row in rows {
        let count = |(_, name): &(String, &str)| {
            let n = row.stats.get(name).and_then(Value::number);
            Cell::number(n.map_or_else(|| ABSENT.to_owned(), |n| number::count(n as u64)), n)
        };
        let rate = |(_, name): &(String, &str)| {
            Cell::number(percent(&row.stats, name), row.stats.get(name).and_then(Value::number))
        };
        let cells = std::iter::once(Cell::from(row.label.clone()));
        table.row(cells.chain(counts.iter().map(count)).chain(rates.iter().map(rate)));
    }
    table.render()
}
