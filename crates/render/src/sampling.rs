//! The timed part of a sampled run, and inferences about the rest.

use crate::number::{self, ABSENT};
use crate::style::{FAINT, HEADING, WARNING, styled};
use crate::table::{Align, Table};
use lab::{GroupSample, How, LaunchSample, Sampling};
use std::fmt::Write as _;

/// Maximum number of groups that are listed, by launches.
const MOST_GROUPS: usize = 24;

/// A number of cycles that need not be whole.
pub fn cycles(cycles: f64) -> String {
    number::count(cycles.max(0.0).round() as u64)
}

/// A share with a sign.
pub fn percent(share: f64) -> String {
    let digits = if share.abs() < 10.0 { 1 } else { 0 };
    format!("{share:.digits$} %")
}

/// The half width of an interval, after a number.
pub fn error(percent_of_total: Option<f64>) -> String {
    percent_of_total.map_or_else(|| "of unknown error".to_owned(), |error| format!("± {}", percent(error)))
}

/// The launches of a run in words: `3 of 40 launches timed, 37 without time`.
pub fn launches(sampling: &Sampling) -> String {
    let all = number::counted(sampling.launches, "launch");
    let skipped = sampling.kernels.iter().any(|one| one.how == How::Skipped);
    let rest = if skipped { "left out" } else { "executed without time" };
    let parts = [(sampling.timed, "timed"), (sampling.partly, "timed in part"), (sampling.untimed, rest)];
    let parts = parts.iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> = parts.map(|(count, what)| format!("{} {what}", number::count(*count))).collect();
    format!("{all}: {}", parts.join(", "))
}

/// The total with its error.
pub fn total(sampling: &Sampling) -> String {
    format!("{} cycles {}", cycles(sampling.total_cycles), error(sampling.error_percent))
}

/// The lines of the head of a report.
pub fn head(sampling: &Sampling) -> String {
    let of = launches(sampling);
    let only = styled(WARNING, "the figures below are of what was timed");
    let mut out = format!("  timed      {of}; {only}\n");
    if sampling.unknown < sampling.launches {
        let _ = writeln!(out, "  inferred   {} for all launches (Sampling)", total(sampling));
    }
    out
}

/// The section.
pub fn section(sampling: &Sampling) -> String {
    let columns = [("", Align::Left), ("timed", Align::Right), ("inferred", Align::Right), ("all", Align::Right)];
    let mut table = Table::new(columns);
    let untimed = sampling.launches - sampling.timed;
    table.row(&[
        "launches".into(),
        number::count(sampling.timed),
        number::count(untimed),
        number::count(sampling.launches),
    ]);
    let instructions = sampling.untimed_warp_instructions;
    let all = instructions.map(|rest| rest + sampling.timed_warp_instructions);
    let known = |count: Option<u64>| count.map_or_else(|| ABSENT.to_owned(), number::count);
    table.row(&[
        "warp instructions".into(),
        number::count(sampling.timed_warp_instructions),
        known(instructions),
        known(all),
    ]);
    table.row(&[
        "cycles".into(),
        number::count(sampling.timed_cycles),
        cycles(sampling.inferred_cycles),
        cycles(sampling.total_cycles),
    ]);
    let error = sampling.error_cycles.map_or_else(|| ABSENT.to_owned(), cycles);
    table.row(&["± at 95 %".into(), "0".into(), error.clone(), error]);
    let seconds = sampling.total_cycles.max(1.0);
    let part = |cycles: f64| number::with_prefix(sampling.seconds * cycles / seconds, "s");
    table.row(&[
        "time".into(),
        part(sampling.timed_cycles as f64),
        part(sampling.inferred_cycles),
        number::with_prefix(sampling.seconds, "s"),
    ]);
    let mut out = format!("{}  {}\n{}", styled(HEADING, "Sampling"), sampling.choice, table.render());
    out += &groups(sampling);
    if sampling.unknown > 0 {
        let launches = number::counted(sampling.unknown, "launch");
        let text = format!("  {launches} of kernels of which nothing was timed: not in these figures");
        let _ = writeln!(out, "{}", styled(WARNING, text));
    }
    out
}

/// The groups to list, by launches, and the number of those left out.
pub fn groups_listed(sampling: &Sampling) -> (Vec<&GroupSample>, usize) {
    let mut groups: Vec<&GroupSample> = sampling.groups.iter().collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.launches));
    let left_out = groups.len().saturating_sub(MOST_GROUPS);
    groups.truncate(MOST_GROUPS);
    (groups, left_out)
}

/// Cycles for one warp instruction, and the spread with a sign of where it is from.
pub fn figures(group: &GroupSample) -> [String; 2] {
    let rate = group.cycles_per_warp_instruction.map_or_else(|| ABSENT.to_owned(), |cycles| format!("{cycles:.4}"));
    let sign = if group.from_other_groups || group.spread_is_borrowed { "~" } else { "" };
    let spread = group.spread_percent.map_or_else(|| ABSENT.to_owned(), |spread| format!("{sign}{}", percent(spread)));
    [rate, spread]
}

/// Meaning of `~`.
pub const BORROWED: &str =
    "~ spread of all groups, or figures of other launches of the kernel: too few of the group were timed";

fn groups(sampling: &Sampling) -> String {
    let (listed, left_out) = groups_listed(sampling);
    if listed.is_empty() {
        return String::new();
    }
    let mut table = Table::new([
        ("launches alike", Align::Name),
        ("grid", Align::Left),
        ("block", Align::Left),
        ("launches", Align::Right),
        ("timed", Align::Right),
        ("cycles/inst", Align::Right),
        ("spread", Align::Right),
    ]);
    for group in &listed {
        let [rate, spread] = figures(group);
        let dims = |[x, y, z]: [u32; 3]| format!("({x},{y},{z})");
        table.row(&[
            group.name.clone(),
            dims(group.grid),
            dims(group.block),
            number::count(group.launches),
            number::count(group.timed),
            rate,
            spread,
        ]);
    }
    let mut out = table.render();
    if left_out > 0 {
        let _ = writeln!(out, "{}", styled(FAINT, format!("  and {}", number::counted(left_out as u64, "more group"))));
    }
    if listed.iter().any(|group| group.spread_is_borrowed || group.from_other_groups) {
        let _ = writeln!(out, "{}", styled(FAINT, format!("  {BORROWED}")));
    }
    out
}

/// How a launch was carried out, its cycles and their error.
pub fn launch(one: &LaunchSample) -> [String; 3] {
    let how = match one.ctas {
        Some([first, last]) => format!("CTAs {first}..{last}"),
        None => one.how.name().to_owned(),
    };
    let (found, error) = match (one.inferred_cycles, one.timed_cycles) {
        (Some(inferred), _) => {
            let error = one.error_cycles.filter(|_| inferred > 0.0);
            (format!("~{}", cycles(inferred)), error.map(|error| percent(error / inferred * 100.0)))
        }
        (None, Some(timed)) => (number::count(timed), Some(String::new())),
        (None, None) => (ABSENT.to_owned(), None),
    };
    [how, found, error.unwrap_or_else(|| ABSENT.to_owned())]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Detail, render};
    use crate::sample;

    #[test]
    fn golden() {
        let report = sample::sampled_report();
        insta::assert_snapshot!(sample::plain(&render(&report, Detail::default())));
    }

    #[test]
    fn many_launches_are_put_together_by_kernel() {
        let mut report = sample::sampled_report();
        let sampling = report.sampling.as_mut().unwrap();
        let last = sampling.kernels.last().unwrap().clone();
        sampling.kernels.extend((4..40).map(|launch| LaunchSample { launch, ..last.clone() }));
        let text = sample::plain(&render(&report, Detail::default()));
        assert!(text.contains("put together by kernel"), "{text}");
    }

    #[test]
    fn small_shares_have_a_digit_more() {
        assert_eq!([percent(2.34), percent(12.34), percent(0.0)], ["2.3 %", "12 %", "0.0 %"]);
    }
}
