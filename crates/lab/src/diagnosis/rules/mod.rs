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
use super::found::{Found, bounded};
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
    (small_grid::NAME, small_grid::find),
    ("imbalance", imbalance::find),
    ("tail", tail::find),
    ("occupancy", occupancy::find),
    ("instruction_cache", instruction_cache::find),
    ("barriers", barriers::find),
    ("dependent_issue", dependent_issue::find),
];

/// The causes of a run whose `kernels` are looked at, of each kernel in the order of the table.
pub fn causes(report: &Report, kernels: &[Facts<'_>]) -> Vec<Cause> {
    let is_named = kernels.len() > 1;
    let of = |facts| RULES.iter().filter_map(move |&(rule, find)| cause(facts, is_named, rule, find(facts)?));
    let mut causes: Vec<Cause> = kernels.iter().flat_map(of).collect();
    if let Some(of_several) = small_grid::of_several(kernels, &causes) {
        causes.retain(|cause| cause.rule != of_several.rule);
        causes.push(of_several);
    }
    causes.extend(launch_latency::find(report));
    causes
}

fn cause(facts: &Facts<'_>, is_named: bool, rule: &str, found: Found<'_>) -> Option<Cause> {
    let Found { sentence, without, remedy, at, cycles, relieved } = found;
    let left = (facts.cycles - cycles).max(facts.floor(&relieved));
    let times_faster = facts.cycles / left.max(1.0);
    let source = at.and_then(line_of);
    let name = if is_named { &*facts.launch.name } else { "" };
    (times_faster >= LEAST).then(|| Cause {
        rule: rule.to_owned(),
        kernel: facts.launch.name.clone(),
        sentence: bounded(name, &sentence, without, times_faster),
        remedy: remedy.to_owned(),
        instruction: at.map(|row| row.text.clone()),
        pc: at.map(|row| row.pc),
        file: source.and_then(|line| line.file.clone()),
        line: source.map(|line| line.line),
        saved_cycles: facts.cycles - left,
        times_faster,
    })
}
