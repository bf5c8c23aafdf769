//! Timelines as text: a row for each instruction, a column for each cycle.

use super::stages;
use crate::style::{FAINT, HEADING, styled};
use lab::timeline::{Passage, SmTimeline};
use std::fmt::Write as _;

/// The letters of the drawing.
pub const LEGEND: &str = "F fetch  B in the instruction buffer  I issued  C in an operand collector  R operands read  E executes  W write-back";
/// Maximum width of an instruction's text.
const TEXT: usize = 40;

/// The timelines of SMs, of at most `most` instructions and `width` cycles each.
pub fn render(timelines: &[SmTimeline], most: usize, width: usize) -> String {
    let mut out = String::new();
    for timeline in timelines {
        out += &one(timeline, most, width);
    }
    out
}

fn one(timeline: &SmTimeline, most: usize, width: usize) -> String {
    let range = &timeline.cycles;
    let from = timeline.instructions.iter().map(first).min().unwrap_or(range.start).max(range.start);
    let until = range.end.min(from + width as u64);
    let is_shown = |p: &&Passage| first(p) < until && p.written_back.is_none_or(|end| end >= from);
    let mut shown: Vec<&Passage> = timeline.instructions.iter().filter(is_shown).collect();
    shown.sort_by_key(|p| (p.warp, p.order));
    let left = shown.len().saturating_sub(most);
    shown.truncate(most);
    if shown.is_empty() {
        let what = format!("SM {}, cycles {} to {}", timeline.sm, range.start, range.end.saturating_sub(1));
        return format!("{}  {}\n", styled(HEADING, what), styled(FAINT, "no instruction"));
    }
    let title = format!("SM {}, cycles {from} to {}", timeline.sm, until.saturating_sub(1));
    let mut out = format!("{}  {}\n", styled(HEADING, title), styled(FAINT, LEGEND));
    let text = shown.iter().map(|p| p.text().chars().count().min(TEXT)).max().unwrap_or(0);
    let ruler: String = (from..until).map(|cycle| if cycle % 10 == 0 { '|' } else { ' ' }).collect();
    let _ = writeln!(out, "  {:width$}  {}", "", ruler.trim_end(), width = text + 4);
    for passage in shown {
        let label: String = passage.text().chars().take(TEXT).collect();
        let _ = writeln!(out, "  w{:<3}{label:text$}  {}", passage.warp.0, row(passage, from, until).trim_end());
    }
    if left > 0 {
        let _ = writeln!(out, "  {}", styled(FAINT, format!("and {left} more instructions")));
    }
    out
}

fn first(passage: &Passage) -> u64 {
    passage.fetched.unwrap_or(passage.decoded)
}

/// The cycles of an instruction: its stages by letter, dots while a stage lasts.
fn row(passage: &Passage, from: u64, until: u64) -> String {
    let mut line = vec![' '; (until - from) as usize];
    let end = passage.written_back.unwrap_or(until);
    for cycle in first(passage).max(from)..(end + 1).min(until) {
        line[(cycle - from) as usize] = '.';
    }
    let letters = stages(passage).into_iter().map(|(letter, _, at)| (at, letter));
    for (at, letter) in letters.chain(passage.written_back.map(|at| (at, 'W'))) {
        if (from..until).contains(&at) {
            line[(at - from) as usize] = letter;
        }
    }
    line.into_iter().collect()
}
