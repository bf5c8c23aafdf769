//! Timelines as trace events in JSON, which Perfetto and Chrome's viewer read.
//!
//! A core cycle is shown as a microsecond. The GPU is a process with a thread for each stream, whose slices are the
//! launches, and counters of the whole run over time. An SM is a process too. Its threads are its issue slots, with
//! each reason for which the slot stays empty, its CTA slots, and its warp slots with the CTAs that they belong to.
//! The instructions of a warp overlap, but slices of a thread must nest: a warp slot has as many threads of instructions
//! as overlap at most. Accesses to memory, transfers of the copy engine and matrix operations of warp groups are
//! asynchronous events of the SM, which viewers put in a track for each level, direction and kind.
//!
//! Perfetto takes a thread 0 for the one that has the number of the process: threads are numbered from 1.

use super::stages;
use crate::slots::{ALL, PREFIX};
use crate::summary;
use config::GpuConfig;
use isa::{TransferKind, WarpSlot};
use lab::timeline::{Passage, SmTimeline, Stall, Transferred};
use lab::{Report, SampleSeries};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::ops::Range;

/// Cycles per point of the counters.
const STEP: u64 = 64;
/// Numbers of threads: of issue slots, of CTA slots, of warp slots. A warp slot has a thread for its CTAs, and the next ones
/// are rows of instructions.
const SLOTS: u64 = 1;
const CTAS: u64 = 500;
const WARPS: u64 = 1000;
const ROWS: u64 = 1000;
/// Numbers of processes: the GPU, and SMs. A thread with the number of its process would be taken for its main thread.
const GPU: u64 = 1_000_000;
const SMS: u64 = 1_000_001;

/// Events as text, one after the other: a run has millions.
#[derive(Default)]
struct Events(String);

impl Events {
    fn push(&mut self, event: &Value) {
        let separator = if self.0.is_empty() { "" } else { ",\n" };
        let _ = write!(self.0, "{separator}{event}");
    }
}

/// A run on `gpu` as one file: its launches and counters, and the timelines of SMs.
pub fn render(report: &Report, gpu: &GpuConfig) -> String {
    let mut events = Events::default();
    process(&mut events, GPU, &report.gpu);
    launches(&mut events, report);
    over_time(&mut events, report, gpu);
    for timeline in &report.timelines {
        let pid = SMS + u64::from(timeline.sm);
        process(&mut events, pid, &format!("SM {}", timeline.sm));
        slots(&mut events, timeline, pid);
        ctas(&mut events, timeline, pid);
        warps(&mut events, timeline, pid);
        instructions(&mut events, timeline, pid);
        accesses(&mut events, timeline, pid);
        transfers(&mut events, timeline, pid);
        matrix_groups(&mut events, timeline, pid);
        counters(&mut events, timeline, pid);
    }
    let Events(events) = events;
    format!(
        "{{\"traceEvents\": [\n{events}\n], \"displayTimeUnit\": \"ms\", \"otherData\": {{\"clock\": \"a microsecond is a core cycle\"}}}}\n"
    )
}

/// A process and its place among the others.
fn process(events: &mut Events, pid: u64, name: &str) {
    events.push(&json!({"ph": "M", "pid": pid, "name": "process_name", "args": {"name": name}}));
    events.push(&json!({"ph": "M", "pid": pid, "name": "process_sort_index", "args": {"sort_index": pid}}));
}

/// A thread and its place among the others of its process.
fn thread(events: &mut Events, pid: u64, tid: u64, name: &str) {
    events.push(&json!({"ph": "M", "pid": pid, "tid": tid, "name": "thread_name", "args": {"name": name}}));
    events.push(&json!({"ph": "M", "pid": pid, "tid": tid, "name": "thread_sort_index", "args": {"sort_index": tid}}));
}

/// The launches of each stream, with their launch latency inside.
fn launches(events: &mut Events, report: &Report) {
    let streams: BTreeSet<u32> = report.kernels.iter().map(|kernel| kernel.stream).collect();
    let tid = |stream: u32| 1 + u64::from(stream);
    streams.iter().for_each(|&stream| thread(events, GPU, tid(stream), &format!("stream {stream}")));
    for kernel in &report.kernels {
        let cycles = |name| kernel.statistics.number(name) as u64;
        let slice = |name: &str, duration: u64, args: Value| json!({"ph": "X", "cat": "launch", "pid": GPU, "tid": tid(kernel.stream), "ts": kernel.start_cycle, "dur": duration, "name": name, "args": args});
        let args = json!({"launch": kernel.launch, "grid": kernel.grid.to_string(), "block": kernel.block.to_string()});
        events.push(&slice(&kernel.name, cycles(summary::TOTAL_CYCLES), args));
        let latency = cycles(summary::LAUNCH_CYCLES);
        if latency > 0 {
            events.push(&slice("launch latency", latency, json!({})));
        }
    }
}

/// A point of a counter: its value until the next one. Perfetto's name of the counter is the two names together.
fn point(pid: u64, ts: u64, (name, unit): (&str, &str), value: impl Into<Value>) -> Value {
    let mut series = serde_json::Map::new();
    series.insert(unit.to_owned(), value.into());
    json!({"ph": "C", "pid": pid, "ts": ts, "name": name, "args": series})
}

/// Unit of counters of what happens.
const PER_CYCLE: &str = "per cycle";

/// Counters of the whole GPU, of the intervals that the run was sampled in.
fn over_time(events: &mut Events, report: &Report, gpu: &GpuConfig) {
    let overview = report.overview.as_ref();
    let Some(series) = report.samples.as_ref().or(overview.map(|overview| &overview.samples)) else {
        return;
    };
    let l2_fetch = f64::from(gpu.l2.cache.fetch_bytes());
    // Rate of a statistic per cycle, times a factor.
    let mut per_cycle = |name: &str, statistic: &str, factor: f64| {
        let Some(at) = column(series, statistic) else { return };
        for row in &series.rows {
            let cycles = (row.end_cycle - row.start_cycle).max(1) as f64;
            let value = row.values.at(at).number().unwrap_or(0.0) * factor / cycles;
            events.push(&point(GPU, row.start_cycle, (name, PER_CYCLE), value));
        }
        series.rows.last().into_iter().for_each(|row| events.push(&point(GPU, row.end_cycle, (name, PER_CYCLE), 0.0)));
    };
    per_cycle("instructions of threads", summary::THREAD_INSTRUCTIONS, 1.0);
    per_cycle("L2 bytes", "partition.parts", l2_fetch);
    per_cycle("DRAM bytes", "dram.bytes", 1.0);
    for info in &series.columns {
        let reason = info.name.strip_prefix(PREFIX).filter(|_| info.name != ALL);
        if let Some(reason) = reason.filter(|_| report.total.number(&info.name) > 0.0) {
            per_cycle(&format!("issue slots: {}", reason.replace('_', " ")), &info.name, 1.0);
        }
    }
    if let Some(at) = column(series, summary::OCCUPANCY) {
        let value = |row: &lab::Sample| row.values.at(at).number().unwrap_or(0.0);
        series.rows.iter().for_each(|row| events.push(&point(GPU, row.start_cycle, ("occupancy", "%"), value(row))));
    }
    let power = report.power.as_ref().or(overview.and_then(|overview| overview.power.as_ref()));
    for interval in power.into_iter().flat_map(|power| &power.intervals) {
        let watts: f64 = energy::Component::ALL.iter().map(|&component| interval.energy.watts(component)).sum();
        events.push(&point(GPU, interval.start_cycle, ("power", "W"), watts));
    }
}

fn column(series: &SampleSeries, statistic: &str) -> Option<usize> {
    series.columns.iter().position(|info| info.name == statistic)
}

/// State of each issue slot.
fn slots(events: &mut Events, timeline: &SmTimeline, pid: u64) {
    let count = timeline.gaps.iter().map(|gap| gap.slot + 1).max().unwrap_or(0);
    for slot in 0..count {
        let name = if timeline.width == 1 {
            format!("scheduler {slot}")
        } else {
            format!("scheduler {}, slot {}", slot / timeline.width, slot % timeline.width)
        };
        thread(events, pid, SLOTS + slot as u64, &name);
    }
    for gap in &timeline.gaps {
        let duration = gap.until - gap.from;
        events.push(&json!({"ph": "X", "cat": "stall", "pid": pid, "tid": SLOTS + gap.slot as u64, "ts": gap.from, "dur": duration, "name": gap.stall.name()}));
    }
}

/// The CTAs of each CTA slot.
fn ctas(events: &mut Events, timeline: &SmTimeline, pid: u64) {
    let used: BTreeSet<u64> = timeline.residences.iter().map(|residence| u64::from(residence.slot.0)).collect();
    used.into_iter().for_each(|slot| thread(events, pid, CTAS + slot, &format!("CTA slot {slot}")));
    for residence in &timeline.residences {
        let end = residence.finished.unwrap_or(timeline.cycles.end).max(residence.started + 1);
        let name = format!("launch {}, CTA {}", residence.kernel.0, residence.cta);
        let tid = CTAS + u64::from(residence.slot.0);
        let args = json!({"warps": residence.warps.len()});
        events.push(&json!({"ph": "X", "cat": "cta", "pid": pid, "tid": tid, "ts": residence.started, "dur": end - residence.started, "name": name, "args": args}));
    }
}

/// Which CTA each warp slot belongs to.
fn warps(events: &mut Events, timeline: &SmTimeline, pid: u64) {
    let mut named = BTreeSet::new();
    for residence in &timeline.residences {
        let end = residence.finished.unwrap_or(timeline.cycles.end).max(residence.started + 1);
        for warp in &residence.warps {
            let tid = warp_thread(*warp);
            if named.insert(tid) {
                thread(events, pid, tid, &format!("warp slot {}", warp.0));
            }
            let name = format!("launch {}, CTA {}", residence.kernel.0, residence.cta);
            events.push(&json!({"ph": "X", "cat": "cta", "pid": pid, "tid": tid, "ts": residence.started, "dur": end - residence.started, "name": name}));
        }
    }
}

/// The thread of a warp slot; the threads of its rows of instructions follow.
fn warp_thread(warp: WarpSlot) -> u64 {
    WARPS + u64::from(warp.0) * ROWS
}

/// The instructions of each warp slot, each in the first row that is free, with their stages inside.
fn instructions(events: &mut Events, timeline: &SmTimeline, pid: u64) {
    let mut in_order: Vec<(u64, u64, &Passage)> = Vec::new();
    for passage in &timeline.instructions {
        let Some(&(_, _, begin)) = stages(passage).first() else { continue };
        let end = passage.written_back.unwrap_or(timeline.cycles.end).max(begin) + 1;
        in_order.push((begin, end, passage));
    }
    in_order.sort_by_key(|&(begin, ..)| begin);
    // When each row of a warp slot is free again.
    let mut rows: BTreeMap<WarpSlot, Vec<u64>> = BTreeMap::new();
    for (begin, end, passage) in in_order {
        let ends = rows.entry(passage.warp).or_default();
        let row = ends.iter().position(|&end| end <= begin).unwrap_or(ends.len());
        let tid = warp_thread(passage.warp) + 1 + row as u64;
        if row == ends.len() {
            ends.push(end);
            thread(events, pid, tid, &format!("warp slot {} instructions {}", passage.warp.0, row + 1));
        }
        ends[row] = end;
        let slice = |name: &str, from: u64, until: u64| json!({"ph": "X", "cat": "instruction", "pid": pid, "tid": tid, "ts": from, "dur": until - from, "name": name});
        let mut whole = slice(passage.text(), begin, end);
        let level = passage.served.map(|(_, level)| level.name());
        whole["args"] =
            json!({"pc": passage.pc.0, "order": passage.order, "lanes": passage.mask.count_ones(), "data from": level});
        events.push(&whole);
        let stages = stages(passage);
        let ends = stages.iter().skip(1).map(|stage| stage.2).chain([end]);
        for ((_, stage, at), until) in stages.iter().zip(ends).filter(|((_, _, at), until)| at < until) {
            let mut part = slice(stage, *at, until);
            part["cat"] = "stage".into();
            events.push(&part);
        }
    }
}

/// Accesses to memory that bring data, by level.
fn accesses(events: &mut Events, timeline: &SmTimeline, pid: u64) {
    for (id, passage) in timeline.instructions.iter().enumerate() {
        let entered = passage.executing.or(passage.issued);
        let Some(((served, level), from)) = passage.served.zip(entered).filter(|((served, _), from)| served >= from)
        else {
            continue;
        };
        let args = json!({"instruction": passage.text(), "pc": passage.pc.0, "warp slot": passage.warp.0});
        span(events, (pid, passage.warp), ("memory", level.name(), id), from..served + 1, args);
    }
}

/// An asynchronous event of a warp: number `id` of its category, in a track with its name.
fn span(
    events: &mut Events,
    (pid, warp): (u64, WarpSlot),
    (category, name, id): (&str, &str, usize),
    cycles: Range<u64>,
    args: Value,
) {
    // Of the process: other numbers are events of no process.
    let event = |ph: &str, ts: u64| json!({"ph": ph, "cat": category, "id2": {"local": format!("{id:#x}")}, "pid": pid, "tid": warp_thread(warp), "ts": ts, "name": name});
    let mut opening = event("b", cycles.start);
    opening["args"] = args;
    events.push(&opening);
    events.push(&event("e", cycles.end));
}

/// Transfers of the copy engine, by direction: from the first cycle in which it works at one.
fn transfers(events: &mut Events, timeline: &SmTimeline, pid: u64) {
    for (id, transfer) in timeline.transfers.iter().enumerate() {
        let name = match transfer.transferred.kind {
            TransferKind::GlobalToShared => "copy engine: loads",
            TransferKind::SharedToGlobal => "copy engine: stores",
            TransferKind::SharedReduction => "copy engine: reductions",
            TransferKind::SharedToShared => "copy engine: to other CTAs",
            TransferKind::Prefetch => "copy engine: prefetches",
        };
        let Transferred { bytes, issued, begun, .. } = transfer.transferred;
        let args = json!({"bytes": bytes, "issued": issued, "pc": transfer.pc.0, "warp slot": transfer.warp.0});
        span(events, (pid, transfer.warp), ("copy", name, id), begun..transfer.ended + 1, args);
    }
}

/// Matrix operations of warp groups, from when their tensor core takes them to their end.
fn matrix_groups(events: &mut Events, timeline: &SmTimeline, pid: u64) {
    let all = timeline.instructions.iter().enumerate().filter(|(_, passage)| passage.is_of_matrix_group());
    for (id, passage) in all {
        let Some(from) = passage.executing else { continue };
        let end = passage.written_back.unwrap_or(timeline.cycles.end).max(from) + 1;
        let args = json!({"instruction": passage.text(), "pc": passage.pc.0, "warp slot": passage.warp.0});
        span(events, (pid, passage.warp), ("matrix", "tensor cores", id), from..end, args);
    }
}

/// Issues and empty issue slots per cycle, by reason, and resident warps at the start, of each [`STEP`] cycles.
fn counters(events: &mut Events, timeline: &SmTimeline, pid: u64) {
    let range = timeline.cycles.clone();
    // Without the time in which nothing is there.
    let written_back = timeline.instructions.iter().filter_map(|i| i.written_back.map(|at| at + 1));
    let lost = timeline.gaps.iter().filter(|gap| gap.stall != Stall::Idle).map(|gap| gap.until);
    let end = written_back.chain(lost).max().unwrap_or(range.start).clamp(range.start, range.end);
    let steps = (end - range.start).div_ceil(STEP) as usize;
    let mut issues = vec![0u64; steps];
    let issued = timeline.instructions.iter().filter_map(|i| i.issued).filter(|at| (range.start..end).contains(at));
    issued.for_each(|at| issues[((at - range.start) / STEP) as usize] += 1);
    let mut slots = BTreeMap::from([("warp instructions".to_owned(), issues)]);
    for gap in &timeline.gaps {
        let name = format!("issue slots: {}", gap.stall.name().replace('_', " "));
        let lost = slots.entry(name).or_insert_with(|| vec![0; steps]);
        let mut from = gap.from.max(range.start);
        while from < gap.until.min(end) {
            let step = (from - range.start) / STEP;
            let until = gap.until.min(end).min(range.start + (step + 1) * STEP);
            lost[step as usize] += until - from;
            from = until;
        }
    }
    // By how many the resident warps change by the start of a step.
    let mut changes = vec![0i64; steps + 1];
    let step = |at: u64| (at.saturating_sub(range.start).div_ceil(STEP) as usize).min(steps);
    for residence in &timeline.residences {
        let warps = residence.warps.len() as i64;
        changes[step(residence.started)] += warps;
        changes[residence.finished.map_or(steps, step)] -= warps;
    }
    let start = |i: usize| range.start + i as u64 * STEP;
    let mut warps = 0;
    for (i, change) in changes[..steps].iter().enumerate() {
        warps += change;
        events.push(&point(pid, start(i), ("resident", "warps"), warps));
    }
    for (name, counts) in slots {
        let per_cycle = |(i, &count): (usize, &u64)| {
            point(pid, start(i), (&name, PER_CYCLE), count as f64 / (end - start(i)).min(STEP) as f64)
        };
        counts.iter().enumerate().map(per_cycle).for_each(|point| events.push(&point));
        events.push(&point(pid, end, (&name, PER_CYCLE), 0.0));
    }
}
