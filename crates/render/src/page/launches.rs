//! When each kernel ran: a line for each kernel over the cycles of the run.

use super::html::{Section, escaped, figure, note};
use super::kernels::{self, MOST};
use super::number_axis::ticks;
use crate::number;
use crate::summary;
use lab::{KernelReport, Report};
use std::fmt::Write as _;

/// Columns in which the time of a run is cut; launches that follow each other within one are drawn as one.
const COLUMNS: u64 = 200;
const LINE: f64 = 22.0;
const WIDTH: f64 = 960.0;
const LEFT: f64 = 200.0;

/// Start, begin of the kernel after the launch latency, and end of a launch, in core cycles.
fn span(kernel: &KernelReport) -> (u64, u64) {
    (kernel.start_cycle, kernel.start_cycle + kernel.statistics.number(summary::TOTAL_CYCLES) as u64)
}

/// The section; `None` for a single launch.
pub fn section(report: &Report) -> Option<Section> {
    if report.kernels.len() < 2 {
        return None;
    }
    let end = report.kernels.iter().map(|kernel| span(kernel).1).max()?.max(1);
    let mut names: Vec<(&str, u64)> = Vec::new();
    for kernel in &report.kernels {
        let cycles = kernel.statistics.number(summary::CYCLES) as u64;
        match names.iter_mut().find(|(name, _)| *name == kernel.name) {
            Some((_, sum)) => *sum += cycles,
            None => names.push((&kernel.name, cycles)),
        }
    }
    let left_out = names.len().saturating_sub(MOST);
    if left_out > 0 {
        names.sort_by_key(|(_, cycles)| std::cmp::Reverse(*cycles));
        names.truncate(MOST);
    }
    let about = format!(
        "Launches over the core cycles of the run, from the launch to the end of the last CTA; the pale part is launch latency. Neighbours closer than {} are drawn as one.{}",
        number::counted(end.div_ceil(COLUMNS), "cycle"),
        kernels::left_out(left_out)
    );
    let body = note(&about) + &figure("Launches over time", &chart(report, &names, end));
    Some(Section { id: "timeline".into(), title: "Launches over time".into(), body })
}

fn chart(report: &Report, names: &[(&str, u64)], end: u64) -> String {
    let height = names.len() as f64 * LINE + 44.0;
    let scale = (WIDTH - LEFT - 16.0) / end as f64;
    let x = |cycle: u64| LEFT + cycle as f64 * scale;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"Launches over time\" class=\"chart\">"
    );
    let foot = names.len() as f64 * LINE + 4.0;
    for tick in ticks(end as f64).into_iter().filter(|t| *t <= end as f64) {
        let at = x(tick as u64);
        let _ = write!(
            out,
            "<line x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"0\" y2=\"{foot:.1}\" class=\"grid\"/><text x=\"{at:.1}\" y=\"{:.1}\" class=\"mid\">{}</text>",
            foot + 16.0,
            number::count(tick as u64)
        );
    }
    let _ = write!(
        out,
        "<text x=\"{:.1}\" y=\"{:.1}\" class=\"mid soft\">core cycle</text>",
        (LEFT + WIDTH) / 2.0,
        foot + 34.0
    );
    for (i, (name, _)) in names.iter().enumerate() {
        let top = i as f64 * LINE + 3.0;
        let text = escaped(&kit::text::middle_cut(name, 28));
        let _ = write!(out, "<text x=\"{:.1}\" y=\"{:.1}\" class=\"end\">{text}</text>", LEFT - 8.0, top + 13.0);
        for Drawn { start, ready, end, launches } in drawn(report, name, end) {
            let (latency, work) = ((ready - start) as f64 * scale, ((end - ready) as f64 * scale).max(0.6));
            let (from, at) = (x(start), x(ready));
            let _ = write!(
                out,
                "<g class=\"mark\"><rect x=\"{from:.1}\" y=\"{top}\" width=\"{latency:.1}\" height=\"16\" class=\"latency\"/><rect x=\"{at:.1}\" y=\"{top}\" width=\"{work:.1}\" height=\"16\" class=\"level\"/><title>{}: {}, cycles {} to {}</title></g>",
                escaped(name),
                number::counted(launches, "launch"),
                number::count(start),
                number::count(end)
            );
        }
    }
    out.push_str("</svg>\n");
    out
}

/// Launches that are drawn as one.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Drawn {
    start: u64,
    /// End of the launch latency; of several launches, none is shown.
    ready: u64,
    end: u64,
    launches: u64,
}

fn drawn(report: &Report, name: &str, end_of_run: u64) -> Vec<Drawn> {
    let near = end_of_run.div_ceil(COLUMNS);
    let of = |kernel: &KernelReport| {
        let (start, end) = span(kernel);
        let ready = (start + kernel.statistics.number(summary::LAUNCH_CYCLES) as u64).min(end);
        Drawn { start, ready, end, launches: 1 }
    };
    let mut all: Vec<Drawn> = report.kernels.iter().filter(|kernel| kernel.name == name).map(of).collect();
    all.sort_by_key(|launch| launch.start);
    let mut out: Vec<Drawn> = Vec::new();
    for launch in all {
        match out.last_mut() {
            Some(last) if launch.end - last.start <= near || launch.start < last.end => {
                last.end = last.end.max(launch.end);
                last.ready = last.start;
                last.launches += 1;
            }
            _ => out.push(launch),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn near_launches_are_drawn_as_one() {
        let mut report = sample::report();
        let kernel = report.kernels[0].clone();
        // 17,345 cycles each, 5,000 of them latency.
        report.kernels = (0..4000).map(|i| KernelReport { start_cycle: i * 20_000, ..kernel.clone() }).collect();
        let together = drawn(&report, &kernel.name, 80_000_000);
        assert!(together.len() <= COLUMNS as usize, "{}", together.len());
        assert_eq!(together.iter().map(|d| d.launches).sum::<u64>(), 4000);
        report.kernels.truncate(2);
        let apart = drawn(&report, &kernel.name, 40_000);
        assert_eq!(apart[1], Drawn { start: 20_000, ready: 25_000, end: 37_345, launches: 1 });
    }
}
