//! Timelines as text: a row for each instruction, a column for each cycle, or for several.

use super::stages;
use crate::style::{FAINT, HEADING, styled};
use lab::timeline::{Passage, SmTimeline};
use std::fmt::Write as _;
use std::ops::Range;

/// The letters of the drawing.
pub const LEGEND: &str = "F fetch  B in the instruction buffer  I issued  C in an operand collector  R operands read  E executes  W write-back";
/// Maximum width of an instruction's text.
const TEXT: usize = 40;

/// How timelines are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drawing {
    /// Maximum number of instructions of an SM.
    pub most: usize,
    /// Maximum number of columns of cycles.
    pub width: usize,
    /// Whether all cycles are drawn: where they are more than `width`, a column is several of them. Else the first ones are.
    pub is_whole: bool,
}

/// The timelines of SMs.
pub fn render(timelines: &[SmTimeline], drawing: Drawing) -> String {
    timelines.iter().map(|timeline| one(timeline, drawing)).collect()
}

fn one(timeline: &SmTimeline, drawing: Drawing) -> String {
    let Drawing { most, width, is_whole } = drawing;
    let (range, width) = (&timeline.cycles, width.max(1) as u64);
    let from = timeline.instructions.iter().map(first).min().unwrap_or(range.start).max(range.start);
    let scale = if is_whole { (range.end - from.min(range.end)).div_ceil(width).max(1) } else { 1 };
    let until = range.end.min(from + width * scale);
    let is_shown = |p: &&Passage| first(p) < until && p.written_back.is_none_or(|end| end >= from);
    let mut shown: Vec<&Passage> = timeline.instructions.iter().filter(is_shown).collect();
    shown.sort_by_key(|p| (p.warp, p.order));
    let left = shown.len().saturating_sub(most);
    shown.truncate(most);
    if shown.is_empty() {
        let what = format!("SM {}, cycles {} to {}", timeline.sm, range.start, range.end.saturating_sub(1));
        return format!(
            "{}  {}\n",
            styled(HEADING, what),
            styled(FAINT, "no instruction; other SMs or cycles may have some")
        );
    }
    let title = format!("SM {}, cycles {from} to {}", timeline.sm, until.saturating_sub(1));
    let column = if scale > 1 { format!("a column is {scale} cycles  ") } else { String::new() };
    let mut out = format!("{}  {}\n", styled(HEADING, title), styled(FAINT, format!("{column}{LEGEND}")));
    let text = shown.iter().map(|p| p.text().chars().count().min(TEXT)).max().unwrap_or(0);
    let columns = (until - from).div_ceil(scale);
    // Cycles that ten divides; of wider columns every tenth.
    let is_marked = |at: u64| if scale == 1 { (from + at).is_multiple_of(10) } else { at.is_multiple_of(10) };
    let ruler: String = (0..columns).map(|at| if is_marked(at) { '|' } else { ' ' }).collect();
    let _ = writeln!(out, "  {:width$}  {}", "", ruler.trim_end(), width = text + 4);
    for passage in shown {
        let label: String = passage.text().chars().take(TEXT).collect();
        let _ = writeln!(out, "  w{:<3}{label:text$}  {}", passage.warp.0, row(passage, from..until, scale).trim_end());
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
fn row(passage: &Passage, cycles: Range<u64>, scale: u64) -> String {
    let Range { start: from, end: until } = cycles;
    let column = |cycle: u64| ((cycle - from) / scale) as usize;
    let mut line = vec![' '; (until - from).div_ceil(scale) as usize];
    let end = passage.written_back.map_or(until, |end| end + 1).min(until);
    let begin = first(passage).max(from);
    if begin < end {
        line[column(begin)..=column(end - 1)].fill('.');
    }
    let letters = stages(passage).into_iter().map(|(letter, _, at)| (at, letter));
    for (at, letter) in letters.chain(passage.written_back.map(|at| (at, 'W'))) {
        if (from..until).contains(&at) {
            line[column(at)] = letter;
        }
    }
    line.into_iter().collect()
}
