//! The use of issue slots as bars.

use crate::number;
use crate::style::{FAINT, HEADING, styled};
use lab::Stats;
use std::fmt::Write as _;

/// Prefix of the statistics' names.
pub const PREFIX: &str = "slots.";
/// Statistic of the slots that issued.
pub const ISSUED: &str = "slots.issued";
/// Statistic of all slots.
pub const ALL: &str = "slots.all";
/// Statistic of the slots of schedulers without a warp: not lost to anything that a core could do better.
pub const IDLE: &str = "slots.idle";
/// Length of a bar for all slots.
const FULL: f64 = 50.0;
/// Share of a reason that has no bar of its own.
const SMALL: f64 = 0.001;

/// The stall reasons that occurred and their slots, most slots first.
pub fn stalls(stats: &Stats) -> Vec<(&str, f64)> {
    let reasons = stats.0.iter().filter(|(info, _)| info.name != ALL && info.name != ISSUED);
    let mut lost: Vec<(&str, f64)> = reasons
        .filter_map(|(info, value)| Some((info.name.strip_prefix(PREFIX)?, value.number()?)))
        .filter(|&(_, n)| n > 0.0)
        .collect();
    // Stable: ties stay in the order of the schema.
    lost.sort_by(|a, b| b.1.total_cmp(&a.1));
    lost
}

/// A bar for the issues and one for each reason that occurred; those that round to nothing share one.
pub fn render(stats: &Stats) -> String {
    let all = stats.number(ALL);
    if all == 0.0 {
        return String::new();
    }
    let (shown, small): (Vec<_>, Vec<_>) = stalls(stats).into_iter().partition(|(_, n)| n / all >= SMALL);
    let mut bars = vec![("issued", stats.number(ISSUED))];
    bars.extend(shown);
    let others: f64 = small.iter().map(|(_, n)| n).sum();
    if others / all >= SMALL / 2.0 {
        bars.push(("others", others));
    }
    let title = styled(HEADING, "Issue slots");
    let mut out = format!("{title}  {}\n", styled(FAINT, format!("{} in all", number::count(all as u64))));
    let width = bars.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, n) in bars {
        let bar = "█".repeat((n / all * FULL).round() as usize);
        let _ = writeln!(out, "  {name:<width$}  {:>5.1} %  {bar}", n / all * 100.0);
    }
    trim_lines(&out)
}

/// Removes blanks at the ends of lines.
fn trim_lines(text: &str) -> String {
    text.lines().flat_map(|line| [line.trim_end(), "\n"]).collect()
}
