//! Occupancy of each kernel, its limiter, and what would raise it.

use super::html::{Cell, Section, Table, details, figure, note};
use super::input::Run;
use super::stack::{self, Bar, Piece};
use crate::number::{self, ABSENT};
use crate::report::figure as statistic;
use crate::summary;
use crate::table::Align;
use config::GpuConfig;
use gpu::resident::occupancy::{Limiter, Occupancy, Resources, occupancy};
use isa::{Dim3, LaunchShape};
use lab::{KernelReport, RegisterSource, Report, Value};
use std::fmt::Write as _;

/// Maximum number of different launches that the section shows.
const MOST: usize = 40;

/// Launches of a kernel in one shape.
struct Shape<'a> {
    first: &'a KernelReport,
    /// Their number.
    launches: u64,
}

/// Shapes in the order of their first launches.
fn shapes(report: &Report) -> Vec<Shape<'_>> {
    let mut found: Vec<Shape<'_>> = Vec::new();
    let key = |k: &KernelReport| (k.grid, k.block, k.registers_per_thread, k.shared_bytes);
    for kernel in &report.kernels {
        let known = found.iter().position(|s| s.first.name == kernel.name && key(s.first) == key(kernel));
        match known {
            Some(at) => found[at].launches += 1,
            // Of thousands of shapes only those shown are kept: the search is through all of them.
            None if found.len() < MOST => found.push(Shape { first: kernel, launches: 1 }),
            None => {}
        }
    }
    found
}

fn launch(kernel: &KernelReport) -> LaunchShape {
    LaunchShape {
        grid: kernel.grid,
        block: kernel.block,
        registers_per_thread: kernel.registers_per_thread,
        shared_bytes: kernel.shared_bytes,
        cluster: None,
    }
}

/// The section; `None` where nothing has run on SMs.
pub fn section(run: &Run<'_>) -> Option<Section> {
    let (report, gpu) = (run.report, run.gpu);
    let shapes = shapes(report);
    if shapes.is_empty() || !lab::is_sm(&report.core) {
        return None;
    }
    let slots = f64::from(gpu.sm.max_warps);
    let about = format!(
        "By kernel, grid and block. Warps that fit on an SM of {} warp slots, by the resources that a CTA takes, and achieved: resident warps on average over the cycles in which an SM had any (of a kernel's first launch). More warps hide more latency, up to a point.",
        gpu.sm.max_warps
    );
    let mut body = note(&about);
    let mut bars = Vec::new();
    let mut sentences = String::new();
    for Shape { first, .. } in &shapes {
        let fits = first.occupancy.theoretical_percent / 100.0;
        let achieved = first.statistics.get(summary::OCCUPANCY).and_then(Value::number).map(|a| a / 100.0);
        let achieved = achieved.unwrap_or(0.0).min(fits);
        let piece = |name: &'static str, colour: &'static str, share: f64| Piece {
            name: name.into(),
            colour: colour.into(),
            share,
            amount: format!("{:.1} warps", share * slots),
        };
        bars.push(Bar {
            label: format!("{} {} x {}", first.name, first.grid, first.block),
            figure: format!("{} of {} warps", first.occupancy.warps_per_sm, gpu.sm.max_warps),
            length: 1.0,
            pieces: vec![
                piece("achieved", "#2a8452", achieved),
                piece("fits", "#9bd0b2", fits - achieved),
                piece("does not fit", "#d5d8dd", 1.0 - fits),
            ],
        });
        let advice = [Some(advice(gpu, &launch(first))), grid_advice(gpu, &launch(first))];
        let advice = advice.into_iter().flatten().collect::<Vec<_>>().join(" ");
        let _ = writeln!(
            sentences,
            "<dt>{} {} x {}</dt><dd>{}</dd>",
            super::html::escaped(&first.name),
            first.grid,
            first.block,
            super::html::escaped(&advice)
        );
    }
    body += &figure("Occupancy by kernel", &stack::render(&bars));
    body += &format!("<dl class=\"advice\">\n{sentences}</dl>\n");
    body += &details("Figures: what CTAs take of an SM", &table(gpu, &shapes));
    Some(Section { id: "occupancy".into(), title: "Occupancy".into(), body })
}

fn table(gpu: &GpuConfig, shapes: &[Shape<'_>]) -> String {
    let mut table = Table::new([
        ("kernel", Align::Name),
        ("launches", Align::Right),
        ("grid", Align::Left),
        ("block", Align::Left),
        ("registers a thread", Align::Right),
        ("registers a CTA", Align::Right),
        ("shared memory a CTA", Align::Right),
        ("CTAs/SM", Align::Right),
        ("warps/SM", Align::Right),
        ("of slots", Align::Right),
        ("achieved", Align::Right),
        ("limited by", Align::Left),
    ]);
    for Shape { first, launches } in shapes {
        let need = Resources::of_cta(&gpu.sm, &launch(first));
        let sign = if first.register_source == RegisterSource::Estimated { "~" } else { "" };
        let achieved = statistic(&first.statistics.unpacked(), summary::OCCUPANCY);
        table.row([
            first.name.clone().into(),
            number::count(*launches).into(),
            first.grid.to_string().into(),
            first.block.to_string().into(),
            format!("{sign}{}", first.registers_per_thread).into(),
            number::count(need.registers.into()).into(),
            Cell::number(number::bytes(first.shared_bytes.into()), Some(first.shared_bytes.into())),
            first.occupancy.ctas_per_sm.to_string().into(),
            first.occupancy.warps_per_sm.to_string().into(),
            format!("{:.0} %", first.occupancy.theoretical_percent).into(),
            if achieved == ABSENT { achieved } else { format!("{achieved} %") }.into(),
            first.occupancy.limiter.clone().into(),
        ]);
    }
    table.render()
}

/// A block of `warps` warps.
fn block_of(warps: u32) -> Dim3 {
    Dim3::new(warps * kit::WARP_LANES as u32, 1, 1)
}

/// The limit of the warps of `shape` on an SM, and the least change after which more fit.
pub fn advice(gpu: &GpuConfig, shape: &LaunchShape) -> String {
    let sm = &gpu.sm;
    let Occupancy { ctas_per_sm, warps_per_sm, limiter } = occupancy(sm, shape);
    if ctas_per_sm == 0 {
        return format!("A CTA does not fit on an SM: it lacks {}.", limiter.name());
    }
    if warps_per_sm == sm.max_warps {
        return format!("All {} warp slots of an SM can be filled.", sm.max_warps);
    }
    let warps = |shape: &LaunchShape| occupancy(sm, shape).warps_per_sm;
    let more = |shape: &LaunchShape| warps(shape) > warps_per_sm;
    let of_block = |warps: u32| LaunchShape { block: block_of(warps), ..*shape };
    let mine = shape.warps();
    match limiter {
        Limiter::Registers => {
            let with = |registers_per_thread| LaunchShape { registers_per_thread, ..*shape };
            let have = shape.registers_per_thread;
            let fewer = (1..have).rev().find(|&registers| more(&with(registers)));
            let rest = fewer.map_or_else(
                || "fewer registers only do not help".to_owned(),
                |n| format!("with {n} or fewer, {} warps fit", warps(&with(n))),
            );
            format!("Limited by registers: {have} a thread; {rest}.")
        }
        Limiter::SharedMemory => {
            let with = |shared_bytes| LaunchShape { shared_bytes, ..*shape };
            // A CTA's allocation is a multiple of the unit and includes the system's part.
            let share = sm.shared.bytes / (ctas_per_sm + 1);
            let share = share - share % sm.shared_allocation_unit.unwrap_or(1);
            let fewer = with(share.saturating_sub(sm.reserved_shared_bytes_per_cta.unwrap_or(0)));
            let have = number::bytes(shape.shared_bytes.into());
            let rest = if more(&fewer) {
                format!("with {} or less, {} warps fit", number::bytes(fewer.shared_bytes.into()), warps(&fewer))
            } else {
                "less shared memory only does not help".to_owned()
            };
            format!("Limited by shared memory: {have} a CTA; {rest}.")
        }
        Limiter::CtaSlots => {
            let larger = (mine + 1..=sm.max_warps).map(of_block).find(more);
            let rest = larger.map_or_else(
                || "larger CTAs only do not help".to_owned(),
                |s| format!("with {} threads, {} warps fit", s.threads(), warps(&s)),
            );
            format!("Limited by CTA slots: {} of {} threads each; {rest}.", sm.max_ctas, shape.threads())
        }
        Limiter::Warps | Limiter::Grid => {
            let smaller = (1..mine).rev().map(of_block).find(more);
            let left = sm.max_warps - warps_per_sm;
            let rest = smaller.map_or_else(
                || "smaller CTAs only do not help".to_owned(),
                |s| format!("with {} threads a CTA, {} warps fit", s.threads(), warps(&s)),
            );
            format!(
                "Limited by warp slots: CTAs of {} leave {left} of {} empty; {rest}.",
                number::counted(mine.into(), "warp"),
                sm.max_warps
            )
        }
    }
}

/// A sentence if the grid has fewer CTAs than fit on the GPU at once.
fn grid_advice(gpu: &GpuConfig, shape: &LaunchShape) -> Option<String> {
    let fit = u64::from(occupancy(&gpu.sm, shape).ctas_per_sm) * u64::from(gpu.sm_count);
    let (ctas, sms) = (shape.ctas(), u64::from(gpu.sm_count));
    (ctas < fit).then(|| {
        let idle = sms.saturating_sub(ctas);
        let of = |sms: u64, one: &str, several: &str| {
            format!("{} {}", number::counted(sms, "SM"), if sms == 1 { one } else { several })
        };
        let idle = if idle > 0 { format!(", at least {} none", of(idle, "has", "have")) } else { String::new() };
        let all = of(sms, "holds", "hold");
        format!("The grid has {}; {all} {} at once{idle}.", number::counted(ctas, "CTA"), number::count(fit))
    })
}

/// A sentence on the launch that took longest.
pub fn finding(run: &Run<'_>) -> Option<String> {
    if !lab::is_sm(&run.report.core) {
        return None;
    }
    let cycles = |k: &KernelReport| k.statistics.number(summary::CYCLES);
    let longest = run.report.kernels.iter().max_by(|a, b| cycles(a).total_cmp(&cycles(b)))?;
    let sentences = [Some(advice(run.gpu, &launch(longest))), grid_advice(run.gpu, &launch(longest))];
    Some(format!("{}: {}", longest.name, sentences.into_iter().flatten().collect::<Vec<_>>().join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(block: u32, registers_per_thread: u32, shared_bytes: u32) -> LaunchShape {
        LaunchShape {
            grid: Dim3::new(1000, 1, 1),
            block: Dim3::new(block, 1, 1),
            registers_per_thread,
            shared_bytes,
            cluster: None,
        }
    }

    #[test]
    fn advice_follows_from_the_description() {
        // 32 warp slots, 16 CTA slots, 65,536 registers, 64 KiB of shared memory.
        let gpu = config::load("rtx2060s").unwrap();
        let text = |block, registers, shared| advice(&gpu, &shape(block, registers, shared));
        assert_eq!(text(256, 32, 0), "All 32 warp slots of an SM can be filled.");
        assert_eq!(text(256, 80, 0), "Limited by registers: 80 a thread; with 64 or fewer, 32 warps fit.");
        assert_eq!(
            text(128, 32, 24 * 1024),
            "Limited by shared memory: 24 KiB a CTA; with 21,760 B or less, 12 warps fit."
        );
        assert_eq!(text(32, 32, 0), "Limited by CTA slots: 16 of 32 threads each; with 64 threads, 32 warps fit.");
        assert_eq!(
            text(672, 32, 0),
            "Limited by warp slots: CTAs of 21 warps leave 11 of 32 empty; with 512 threads a CTA, 32 warps fit."
        );
        assert!(text(64, 32, 128 * 1024).starts_with("A CTA does not fit on an SM: it lacks shared memory"));
        let few = LaunchShape { grid: Dim3::new(16, 1, 1), ..shape(256, 32, 0) };
        let sentence = "The grid has 16 CTAs; 34 SMs hold 136 at once, at least 18 SMs have none.";
        assert_eq!(grid_advice(&gpu, &few).as_deref(), Some(sentence));
        assert_eq!(grid_advice(&gpu, &shape(256, 32, 0)), None);
        let one = GpuConfig { sm_count: 1, ..gpu };
        let two = LaunchShape { grid: Dim3::new(2, 1, 1), ..few };
        assert_eq!(grid_advice(&one, &two).as_deref(), Some("The grid has 2 CTAs; 1 SM holds 4 at once."));
    }

    #[test]
    fn every_advice_holds() {
        let gpu = config::load("v100").unwrap();
        for (block, registers, shared) in [(96, 40, 0), (256, 40, 0), (512, 100, 0), (64, 20, 9000), (1024, 64, 50_000)]
        {
            let shape = shape(block, registers, shared);
            let text = advice(&gpu, &shape);
            let before = occupancy(&gpu.sm, &shape).warps_per_sm;
            let after = text.rsplit(", ").next().and_then(|end| end.split(' ').next()?.parse::<u32>().ok());
            let says_none = text.contains("do not help") || text.contains("does not help") || text.contains("can be");
            assert!(says_none || after.is_some_and(|after| after > before), "{before}: {text}");
        }
    }
}
