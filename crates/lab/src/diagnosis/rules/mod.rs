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
use super::found::{Found, with_gain};
use crate::report::Report;

/// A kind of cause.
#[derive(Clone, Copy)]
pub struct Rule {
    /// Name in reports.
    pub name: &'static str,
    /// The cause that it finds.
    pub description: &'static str,
    /// Whether its gain is a bound ([`Cause::is_bound`]).
    pub is_bound: bool,
    find: Find,
}

/// Its look at a kernel or at the run.
#[derive(Clone, Copy)]
enum Find {
    Kernel(for<'a> fn(&Facts<'a>) -> Option<Found<'a>>),
    Run(fn(&Report) -> Option<Cause>),
}

/// A rule whose gain is a bound.
const fn bound(
    name: &'static str,
    find: for<'a> fn(&Facts<'a>) -> Option<Found<'a>>,
    description: &'static str,
) -> Rule {
    Rule { name, description, is_bound: true, find: Find::Kernel(find) }
}

/// A rule that counts the slots lost to a latency.
const fn latency(
    name: &'static str,
    find: for<'a> fn(&Facts<'a>) -> Option<Found<'a>>,
    description: &'static str,
) -> Rule {
    Rule { is_bound: false, ..bound(name, find, description) }
}

/// All of them. Of equal gains the first one is named first.
pub const RULES: [Rule; 16] = [
    bound(
        "bank_conflicts",
        bank_conflicts::find,
        "Bank conflicts: lanes of a warp access different words of one bank of shared memory.",
    ),
    bound("unused_load_sectors", unused_sectors::of_loads, "Loads move sectors of which their lanes use a part."),
    bound("unused_store_sectors", unused_sectors::of_stores, "Stores move sectors of which their lanes use a part."),
    bound("atomics_at_one_address", atomics::find, "Atomics of a warp's lanes on one address, performed one by one."),
    bound(
        "slice_camping",
        slice_camping::find,
        "Accesses that crowd on few L2 slices or DRAM channels while the others are idle.",
    ),
    bound("local_memory", local_memory::find, "Registers that are spilled, and arrays in local memory."),
    bound(
        "integer_division",
        integer_division::find,
        "Integer divisions and remainders by values that the compiler does not know.",
    ),
    bound("divergence", divergence::find, "Lanes that are idle because of branches and guards."),
    bound(small_grid::NAME, small_grid::find, "A grid that does not fill the GPU once."),
    bound("imbalance", imbalance::find, "CTAs or warps of different work: SMs wait for the longest."),
    bound("tail", tail::find, "A last wave of CTAs that fills a part of the GPU."),
    bound("occupancy", occupancy::find, "Too few warps on an SM to hide latencies."),
    latency("instruction_cache", instruction_cache::find, "Waits for code that does not fit the instruction cache."),
    latency("barriers", barriers::find, "Warps that wait at CTA barriers for others."),
    latency("dependent_issue", dependent_issue::find, "Chains of dependent arithmetic that too few warps cover."),
    Rule {
        name: launch_latency::NAME,
        description: "Launches that are short beside their latency.",
        is_bound: false,
        find: Find::Run(launch_latency::find),
    },
];

/// The causes of a run whose `kernels` are looked at, of each kernel in the order of the table.
pub fn causes(report: &Report, kernels: &[Facts<'_>]) -> Vec<Cause> {
    let is_named = kernels.len() > 1;
    let of = |facts| RULES.iter().filter_map(move |rule| cause(facts, is_named, rule));
    let mut causes: Vec<Cause> = kernels.iter().flat_map(of).collect();
    if let Some(of_several) = small_grid::of_several(kernels, &causes) {
        causes.retain(|cause| cause.rule != of_several.rule);
        causes.push(of_several);
    }
    causes.extend(RULES.iter().filter_map(|rule| match rule.find {
        Find::Kernel(_) => None,
        Find::Run(find) => find(report),
    }));
    causes
}

fn cause(facts: &Facts<'_>, is_named: bool, rule: &Rule) -> Option<Cause> {
    let Find::Kernel(find) = rule.find else { return None };
    let Found { sentence, without, remedy, at, cycles, relieved } = find(facts)?;
    let left = (facts.cycles - cycles).max(facts.floor(&relieved));
    let times_faster = facts.cycles / left.max(1.0);
    let source = at.and_then(line_of);
    let name = if is_named { &*facts.launch.name } else { "" };
    (times_faster >= LEAST).then(|| Cause {
        rule: rule.name.to_owned(),
        kernel: facts.launch.name.clone(),
        sentence: with_gain(name, &sentence, &format!("without {without}"), (times_faster, rule.is_bound)),
        remedy: remedy.to_owned(),
        instruction: at.map(|row| row.text.clone()),
        pc: at.map(|row| row.pc),
        file: source.and_then(|line| line.file.clone()),
        line: source.map(|line| line.line),
        saved_cycles: facts.cycles - left,
        times_faster,
        is_bound: rule.is_bound,
    })
}
