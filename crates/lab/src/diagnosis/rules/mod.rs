//! The rules: each in its file, with a line in [`RULES`].

mod atomics;
mod bank_conflicts;
mod barriers;
mod dependent_issue;
mod divergence;
mod imbalance;
mod instruction_cache;
mod integer_division;
mod launch_latency;
mod local_memory;
mod occupancy;
mod slice_camping;
mod small_grid;
mod tail;
mod unused_sectors;

use super::cause::{Cause, LEAST};
use super::facts::{Facts, line_of};
use super::found::Found;
use crate::report::Report;

/// Looks at a kernel.
type Rule = for<'a> fn(&Facts<'a>) -> Option<Found<'a>>;

/// Name and rule. Of equal bounds the first one is named first.
const RULES: [(&str, Rule); 15] = [
    ("bank_conflicts", bank_conflicts::find),
    ("unused_load_sectors", unused_sectors::of_loads),
    ("unused_store_sectors", unused_sectors::of_stores),
    ("atomics_at_one_address", atomics::find),
    ("slice_camping", slice_camping::find),
    ("local_memory", local_memory::find),
    ("integer_division", integer_division::find),
    ("divergence", divergence::find),
    ("small_grid", small_grid::find),
    ("imbalance", imbalance::find),
    ("tail", tail::find),
    ("occupancy", occupancy::find),
    ("instruction_cache", instruction_cache::find),
    ("barriers", barriers::find),
    ("dependent_issue", dependent_issue::find),
];

/// The causes in a kernel, one of several if `is_named`.
pub fn causes(facts: &Facts<'_>, is_named: bool) -> Vec<Cause> {
    let of = |&(rule, find): &(&str, Rule)| cause(facts, is_named, rule, find(facts)?);
    RULES.iter().filter_map(of).collect()
}

fn cause(facts: &Facts<'_>, is_named: bool, rule: &str, found: Found<'_>) -> Option<Cause> {
    let Found { sentence, without, remedy, at, cycles, relieved, kept } = found;
    let left = (facts.cycles - cycles).max(facts.floor(relieved, kept));
    let times_faster = facts.cycles / left.max(1.0);
    let source = at.and_then(line_of);
    // No bound is known to a percent of a large number.
    let times = if times_faster < 10.0 { format!("{times_faster:.2}") } else { format!("{times_faster:.0}") };
    let name = if is_named { format!("{}: ", facts.launch.name) } else { String::new() };
    (times_faster >= LEAST).then(|| Cause {
        rule: rule.to_owned(),
        kernel: facts.launch.name.clone(),
        sentence: format!("{name}{sentence}; without {without} at most {times} times as fast."),
        remedy: remedy.to_owned(),
        instruction: at.map(|row| row.text.clone()),
        pc: at.map(|row| row.pc),
        file: source.and_then(|line| line.file.clone()),
        line: source.map(|line| line.line),
        saved_cycles: facts.cycles - left,
        times_faster,
    })
}

/// Causes that no kernel has.
pub fn of_run(report: &Report) -> Option<Cause> {
    launch_latency::find(report)
}
