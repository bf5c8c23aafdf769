//! The changes between two runs of the same work: cycles with the issue slots that account for them, kernels and their
//! lines, roofs, and causes of the diagnosis.
//!
//! The runs may differ in anything: another version of a kernel, another core design, other settings. A change of issue
//! slots is stated in cycles, the slots over the issue slots of a cycle. The changes of all reasons and of the slots that
//! issued add up to the change in cycles. Everything is ordered by the size of its change.

mod code;
mod lines;
mod model;
mod pairs;

pub use model::{Changes, Figure, KernelChange, LineChange, Named, Slots, Spot};

use crate::diagnosis::{Cause, Diagnosis, RoofInUse};
use crate::for_core::is_timed;
use crate::report::{KernelTotal, Report};
use gpu::Stats;
use lines::slots_of_a_cycle;
use pairs::pairs;

/// Statistics that are compared beside the issue slots.
const FIGURES: [&str; 12] = [
    "cycles",
    "launch_cycles",
    "warp_instructions",
    "thread_instructions",
    "occupancy.achieved",
    "sm.transactions",
    "l1d.accesses",
    "l1d.hit_rate",
    "l2.accesses",
    "l2.hit_rate",
    "dram.bytes",
    "energy.total",
];

impl Changes {
    /// The changes from `before`, called `baseline`, to `after`. `None` if either run has no model of time.
    pub fn between(baseline: &str, before: &Report, after: &Report) -> Option<Self> {
        if !is_timed(&before.core) || !is_timed(&after.core) {
            return None;
        }
        let values = |report: &Report| report.total.0.iter().map(|(info, value)| (info.name.clone(), *value)).collect();
        let (all_before, all_after): (Vec<_>, Vec<_>) = (values(before), values(after));
        let times = [before, after].map(|report| report.total.number("time"));
        let times_faster = times.iter().all(|&time| time > 0.0).then(|| times[0] / times[1]);
        let kernels = kernels(before, after);
        let is_code_equal = kernels.iter().all(|kernel| kernel.lines.is_empty());
        let (causes_gone, causes_new) = causes(before, after, &kernels);
        Some(Self {
            baseline: baseline.to_owned(),
            is_equal: all_before == all_after && is_code_equal,
            times_faster,
            machine: machine(before, after),
            figures: figures(&before.total, &after.total),
            issue_slots: issue_slots(&before.total, &after.total),
            roofs: roofs(before.diagnosis.as_ref(), after.diagnosis.as_ref()),
            causes_gone,
            causes_new,
            kernels,
        })
    }
}

/// Whether two runs have a kernel of the same name. Otherwise they are not of the same work.
pub fn share_a_kernel(before: &Report, after: &Report) -> bool {
    let ran = |name: &str| after.by_kernel.iter().any(|kernel| kernel.name == name);
    before.by_kernel.iter().any(|kernel| ran(&kernel.name))
}

fn machine(before: &Report, after: &Report) -> Vec<Named> {
    let of = |report: &Report| {
        let Report { gpu, core, scheduler, settings, .. } = report;
        [
            ("gpu", gpu.clone()),
            ("core", core.clone()),
            ("scheduler", scheduler.clone()),
            ("settings", settings.join(" ")),
        ]
    };
    let both = of(before).into_iter().zip(of(after));
    both.filter(|((_, before), (_, after))| before != after)
        .map(|((name, before), (_, after))| Named { name, before, after })
        .collect()
}

fn figures(before: &Stats, after: &Stats) -> Vec<Figure> {
    let figure = |&name: &&str| {
        let of = |stats: &Stats| stats.get(name).and_then(gpu::Value::number);
        let known = before.0.iter().chain(&after.0).find(|(info, _)| info.name == name)?;
        let (before, after) = (of(before), of(after));
        (before != after).then(|| Figure { name: name.to_owned(), unit: known.0.unit.to_owned(), before, after })
    };
    FIGURES.iter().filter_map(figure).collect()
}

fn issue_slots(before: &Stats, after: &Stats) -> Vec<Slots> {
    let (Some(of_cycle_before), Some(of_cycle_after)) = (slots_of_a_cycle(before), slots_of_a_cycle(after)) else {
        return Vec::new();
    };
    let mut names: Vec<&str> = Vec::new();
    for (info, _) in before.0.iter().chain(&after.0) {
        let reason = info.name.strip_prefix("slots.").filter(|reason| *reason != "all");
        names.extend(reason.filter(|reason| !names.contains(reason)));
    }
    let slots = |reason: &str| {
        let name = format!("slots.{reason}");
        let (before, after) = (before.number(&name), after.number(&name));
        let cycles = after / of_cycle_after - before / of_cycle_before;
        Slots { reason: reason.to_owned(), before: before as u64, after: after as u64, cycles }
    };
    let mut slots: Vec<Slots> = names.into_iter().map(slots).filter(|slots| slots.before != slots.after).collect();
    slots.sort_by(|a, b| b.cycles.abs().total_cmp(&a.cycles.abs()));
    slots
}

fn kernels(before: &Report, after: &Report) -> Vec<KernelChange> {
    let cycles = |kernel: &KernelTotal| kernel.statistics.number("cycles");
    let change = |(old, new): (Option<&KernelTotal>, Option<&KernelTotal>)| {
        let name = new.or(old)?.name.clone();
        let name_before = old.map(|old| old.name.clone()).filter(|old| *old != name);
        let lines = match (old, new) {
            (Some(old), Some(new)) => lines::between((before, &old.name), (after, &new.name)),
            _ => Vec::new(),
        };
        Some(KernelChange { name, name_before, cycles_before: old.map(cycles), cycles_after: new.map(cycles), lines })
    };
    let mut kernels: Vec<KernelChange> =
        pairs(&before.by_kernel, &after.by_kernel).into_iter().filter_map(change).collect();
    kernels.sort_by(|a, b| b.cycles().abs().total_cmp(&a.cycles().abs()));
    kernels
}

fn roofs(before: Option<&Diagnosis>, after: Option<&Diagnosis>) -> Vec<Figure> {
    let of =
        |diagnosis: Option<&Diagnosis>| diagnosis.and_then(|of| of.kernels.first()).map(|kernel| kernel.roofs.clone());
    let (before, after) = (of(before).unwrap_or_default(), of(after).unwrap_or_default());
    let figure = |roof: &RoofInUse| {
        let before = before.iter().find(|old| old.name == roof.name)?.percent;
        (before != roof.percent).then(|| Figure {
            name: roof.name.clone(),
            unit: "%".to_owned(),
            before: Some(before),
            after: Some(roof.percent),
        })
    };
    let mut roofs: Vec<Figure> = after.iter().filter_map(figure).collect();
    let change = |of: &Figure| of.after.zip(of.before).map_or(0.0, |(after, before)| (after - before).abs());
    roofs.sort_by(|a, b| change(b).total_cmp(&change(a)));
    roofs
}

/// Causes that only one of the runs has. A cause is the same if its rule and its kernel are.
fn causes(before: &Report, after: &Report, kernels: &[KernelChange]) -> (Vec<Cause>, Vec<Cause>) {
    let all = |report: &Report| report.diagnosis.as_ref().map_or_else(Vec::new, |diagnosis| diagnosis.causes.clone());
    let (old, new) = (all(before), all(after));
    // The earlier name of a kernel of the later run.
    let name_before = |name: &str| {
        let renamed = kernels.iter().find(|kernel| kernel.name == name).and_then(|kernel| kernel.name_before.clone());
        renamed.unwrap_or_else(|| name.to_owned())
    };
    let is_same = |old: &Cause, new: &Cause| old.rule == new.rule && old.kernel == name_before(&new.kernel);
    let gone = old.iter().filter(|old| !new.iter().any(|new| is_same(old, new))).cloned().collect();
    let came = new.iter().filter(|new| !old.iter().any(|old| is_same(old, new))).cloned().collect();
    (gone, came)
}
