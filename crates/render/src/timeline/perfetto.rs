//! Timelines as trace events in JSON, which Perfetto and Chrome's viewer read.
//!
//! A core cycle is shown as a microsecond. An SM is a process. Its threads are its issue slots, with each issue and each
//! reason for which the slot stays empty, and its warp slots, with the CTAs that they belong to; the instructions of a warp
//! overlap, and are events of their own beside it.

use super::stages;
use lab::timeline::SmTimeline;
use serde_json::{Value, json};

/// Cycles per point of the counters.
const STEP: u64 = 64;
/// Numbers of warp slots' threads follow those of issue slots.
const WARPS: u64 = 1000;

/// The timelines of SMs as one file.
pub fn render(timelines: &[SmTimeline]) -> String {
    let mut events: Vec<Value> = Vec::new();
    let mut id = 0u64;
    for timeline in timelines {
        let pid = u64::from(timeline.sm);
        events.push(json!({"ph": "M", "pid": pid, "name": "process_name", "args": {"name": format!("SM {pid}")}}));
        events.extend(slots(timeline, pid));
        events.extend(warps(timeline, pid));
        for passage in &timeline.instructions {
            let stages = stages(passage);
            let Some(&(_, _, begin)) = stages.first() else { continue };
            let (tid, name) = (WARPS + u64::from(passage.warp.0), passage.text());
            let level = passage.served.map(|(_, level)| level.name());
            let args = json!({"pc": passage.pc.0, "order": passage.order, "lanes": passage.mask.count_ones(), "data from": level});
            let common = |ph: &str, name: &str, ts: u64| json!({"ph": ph, "cat": "instruction", "id": id, "pid": pid, "tid": tid, "ts": ts, "name": name});
            let mut opening = common("b", name, begin);
            opening["args"] = args;
            events.push(opening);
            let end = passage.written_back.unwrap_or(timeline.cycles.end).max(begin) + 1;
            let ends = stages.iter().skip(1).map(|stage| stage.2).chain([end]);
            for ((_, stage, at), until) in stages.iter().zip(ends) {
                events.push(common("b", stage, *at));
                events.push(common("e", stage, until));
            }
            events.push(common("e", name, end));
            id += 1;
        }
        events.extend(counters(timeline, pid));
    }
    let about = json!({"clock": "a microsecond is a core cycle"});
    json!({"traceEvents": events, "displayTimeUnit": "ms", "otherData": about}).to_string()
}

/// What each issue slot does.
fn slots(timeline: &SmTimeline, pid: u64) -> Vec<Value> {
    let mut events = Vec::new();
    let count = timeline.gaps.iter().map(|gap| gap.slot + 1).max().unwrap_or(0);
    for slot in 0..count {
        let name = if timeline.width == 1 {
            format!("scheduler {slot}")
        } else {
            format!("scheduler {}, slot {}", slot / timeline.width, slot % timeline.width)
        };
        events.push(json!({"ph": "M", "pid": pid, "tid": slot, "name": "thread_name", "args": {"name": name}}));
    }
    for gap in &timeline.gaps {
        let duration = gap.until - gap.from;
        events.push(json!({"ph": "X", "cat": "stall", "pid": pid, "tid": gap.slot, "ts": gap.from, "dur": duration, "name": gap.stall.name()}));
    }
    events
}

/// Which CTA each warp slot belongs to.
fn warps(timeline: &SmTimeline, pid: u64) -> Vec<Value> {
    let mut events = Vec::new();
    let mut named = std::collections::BTreeSet::new();
    for residence in &timeline.residences {
        let end = residence.finished.unwrap_or(timeline.cycles.end).max(residence.started + 1);
        for warp in &residence.warps {
            let tid = WARPS + u64::from(warp.0);
            if named.insert(tid) {
                let name = format!("warp slot {}", warp.0);
                events.push(json!({"ph": "M", "pid": pid, "tid": tid, "name": "thread_name", "args": {"name": name}}));
            }
            let name = format!("launch {}, CTA {}", residence.kernel.0, residence.cta);
            events.push(json!({"ph": "X", "cat": "cta", "pid": pid, "tid": tid, "ts": residence.started, "dur": end - residence.started, "name": name}));
        }
    }
    events
}

/// Issues per cycle, and resident warps at the start, of each [`STEP`] cycles.
fn counters(timeline: &SmTimeline, pid: u64) -> Vec<Value> {
    let range = timeline.cycles.clone();
    let last = timeline.instructions.iter().filter_map(|i| i.written_back).max().unwrap_or(range.start);
    let steps = (range.end.min(last + 1) - range.start).div_ceil(STEP) as usize;
    let mut issues = vec![0u64; steps];
    let issued = timeline.instructions.iter().filter_map(|i| i.issued).filter(|at| range.contains(at));
    issued.for_each(|at| issues[((at - range.start) / STEP) as usize] += 1);
    // By how many the resident warps change by the start of a step.
    let mut changes = vec![0i64; steps + 1];
    let step = |at: u64| (at.saturating_sub(range.start).div_ceil(STEP) as usize).min(steps);
    for residence in &timeline.residences {
        let warps = residence.warps.len() as i64;
        changes[step(residence.started)] += warps;
        changes[residence.finished.map_or(steps, step)] -= warps;
    }
    let mut warps = 0;
    let points = issues.into_iter().zip(changes).enumerate().flat_map(|(i, (issues, change))| {
        warps += change;
        let from = range.start + i as u64 * STEP;
        let per_cycle = issues as f64 / (range.end - from).min(STEP) as f64;
        [("warp instructions per cycle", json!(per_cycle)), ("resident warps", json!(warps))]
            .map(|(name, value)| json!({"ph": "C", "pid": pid, "ts": from, "name": name, "args": {"value": value}}))
    });
    points.collect()
}
