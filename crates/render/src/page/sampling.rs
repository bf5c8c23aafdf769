//! The timed part of a sampled run, and inferences about the rest.

use super::html::{Cell, Section, Table, details, note, pairs};
use crate::number::{self, ABSENT};
use crate::sampling::{BORROWED, cycles, figures, groups_listed, launch, launches, percent, total};
use crate::table::Align;
use lab::{Report, Sampling};

/// Launches that a page lists.
const MOST_LAUNCHES: usize = 500;

/// The section; `None` if all was timed.
pub fn section(report: &Report) -> Option<Section> {
    let sampling = report.sampling.as_ref()?;
    let about = format!(
        "Only a part of the run was simulated in time ({}): every other figure of this page is of that part. The rest is inferred from launches that are alike.",
        sampling.choice
    );
    let known = |count: Option<u64>| count.map_or_else(|| ABSENT.to_owned(), number::count);
    let interval = sampling.error_cycles.zip(sampling.error_percent);
    let interval = interval.map_or_else(|| "unknown".to_owned(), |(c, p)| format!("± {} ({})", cycles(c), percent(p)));
    let body = note(&about)
        + &pairs(&[
            ("Launches", launches(sampling)),
            ("Cycles of all launches", total(sampling)),
            ("Timed cycles", number::count(sampling.timed_cycles)),
            ("Inferred cycles", cycles(sampling.inferred_cycles)),
            ("Interval at 95 %", interval),
            ("Time of all launches", number::with_prefix(sampling.seconds, "s")),
            ("Timed warp instructions", number::count(sampling.timed_warp_instructions)),
            ("Other warp instructions", known(sampling.untimed_warp_instructions)),
        ])
        + &groups(sampling)
        + &details("Launches", &listed(sampling));
    Some(Section { id: "sampling".into(), title: "Sampling".into(), body })
}

fn groups(sampling: &Sampling) -> String {
    let (groups, left_out) = groups_listed(sampling);
    let mut table = Table::new([
        ("Launches alike", Align::Name),
        ("Launches", Align::Right),
        ("Timed", Align::Right),
        ("Cycles per warp instruction", Align::Right),
        ("Spread", Align::Right),
    ]);
    for group in groups {
        let [rate, spread] = figures(group);
        table.row([
            group.name.clone().into(),
            Cell::number(number::count(group.launches), Some(group.launches as f64)),
            Cell::number(number::count(group.timed), Some(group.timed as f64)),
            Cell::number(rate, group.cycles_per_warp_instruction),
            Cell::number(spread, group.spread_percent),
        ]);
    }
    if table.is_empty() {
        return String::new();
    }
    let more =
        if left_out > 0 { format!(" {} not shown.", number::counted(left_out as u64, "group")) } else { String::new() };
    table.render() + &note(&format!("{BORROWED}.{more}"))
}

fn listed(sampling: &Sampling) -> String {
    let mut table = Table::new([
        ("#", Align::Right),
        ("Kernel", Align::Name),
        ("How", Align::Left),
        ("Cycles", Align::Right),
        ("± at 95 %", Align::Right),
    ]);
    for one in sampling.kernels.iter().take(MOST_LAUNCHES) {
        let [how, cycles, error] = launch(one);
        table.row([
            Cell::number(one.launch.to_string(), Some(one.launch.into())),
            one.name.clone().into(),
            how.into(),
            Cell::number(cycles, one.inferred_cycles.or(one.timed_cycles.map(|cycles| cycles as f64))),
            error.into(),
        ]);
    }
    let left_out = sampling.kernels.len().saturating_sub(MOST_LAUNCHES);
    let more = format!("{} not shown; the JSON has all.", number::counted(left_out as u64, "launch"));
    table.render() + &if left_out > 0 { note(&more) } else { String::new() }
}
