//! Drawn timelines: one row per instruction, one column per cycle.
//!
//! ```text
//! F fetch  D decode  I issue  C operands read, leaves its collector  E enters its unit  W write-back
//! ```

use crate::observe::observer::{Observer, Seen};
use isa::{Pc, WarpSlot};
use kit::Cycle;
use std::fmt::Write;

#[derive(Clone, Debug)]
struct Row {
    warp: u16,
    order: u32,
    text: String,
    events: Vec<(Cycle, char)>,
}

/// Records when each instruction passes each stage, and draws it.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    rows: Vec<Row>,
    fetched: Vec<Option<Cycle>>,
}

impl Timeline {
    fn mark(&mut self, now: Cycle, letter: char, seen: Seen<'_>) {
        let inst = seen.inst();
        let row = self.rows.iter_mut().rev().find(|r| r.warp == inst.warp.0 && r.order == inst.order);
        row.expect("it has been decoded").events.push((now, letter));
    }

    /// When the instruction of `warp` with place `order` in its program passed the stage with
    /// `letter`.
    pub fn at(&self, warp: u16, order: u32, letter: char) -> Option<Cycle> {
        let row = self.rows.iter().find(|r| r.warp == warp && r.order == order)?;
        row.events.iter().find(|e| e.1 == letter).map(|e| e.0)
    }

    /// All rows, by warp and program order. Two events in one cycle show as the later one.
    pub fn draw(&self) -> String {
        let mut rows: Vec<_> = self.rows.iter().collect();
        rows.sort_by_key(|r| (r.warp, r.order));
        let cycles = || rows.iter().flat_map(|r| r.events.iter().map(|e| e.0));
        let (Some(first), Some(last)) = (cycles().min(), cycles().max()) else { return String::new() };
        let width = rows.iter().map(|r| r.text.len()).max().unwrap_or(0);
        let mut out = String::new();
        let ruler: String = (first..=last).map(|c| if c % 10 == 0 { '|' } else { ' ' }).collect();
        writeln!(out, "{:width$}  {}", format!("from {first}"), ruler.trim_end(), width = width + 4).expect("a string");
        for row in rows {
            let (begin, end) = (row.events[0].0, row.events.last().expect("decoded").0);
            let mut line: Vec<char> =
                (first..=last).map(|c| if (begin..=end).contains(&c) { '.' } else { ' ' }).collect();
            row.events.iter().for_each(|&(c, letter)| line[(c - first) as usize] = letter);
            let line: String = line.into_iter().collect();
            writeln!(out, "w{:<2} {:width$}  {}", row.warp, row.text, line.trim_end()).expect("a string");
        }
        out
    }
}

impl Observer for Timeline {
    fn fetched(&mut self, now: Cycle, warp: WarpSlot, _pc: Pc) {
        let w = warp.index();
        if self.fetched.len() <= w {
            self.fetched.resize(w + 1, None);
        }
        self.fetched[w] = Some(now);
    }

    fn decoded(&mut self, now: Cycle, seen: Seen<'_>) {
        let inst = seen.inst();
        let mut events = Vec::new();
        events.extend(self.fetched.get(inst.warp.index()).copied().flatten().map(|c| (c, 'F')));
        events.push((now, 'D'));
        let text = seen.window.text(seen.id).to_owned();
        self.rows.push(Row { warp: inst.warp.0, order: inst.order, text, events });
    }

    fn issued(&mut self, now: Cycle, _slot: usize, seen: Seen<'_>) {
        self.mark(now, 'I', seen);
    }

    fn operands_read(&mut self, now: Cycle, seen: Seen<'_>) {
        self.mark(now, 'C', seen);
    }

    fn executing(&mut self, now: Cycle, seen: Seen<'_>) {
        self.mark(now, 'E', seen);
    }

    fn written_back(&mut self, now: Cycle, seen: Seen<'_>) {
        self.mark(now, 'W', seen);
    }
}
