//! Timelines in the format that the viewer Konata reads: Kanata 0004.
//!
//! A file is a list of commands in the order of cycles: `C=` and `C` set and advance the cycle, `I` begins an instruction,
//! `L` gives it a label, `S` begins a stage, `R` ends the instruction and its last stage.

use super::stages;
use lab::timeline::{Passage, SmTimeline};
use std::fmt::{Error, Write};

/// An event of an instruction.
#[derive(Clone, Copy)]
enum Event {
    Begin,
    /// A stage, by its letter.
    Stage(char),
    Retire,
}

/// The timelines of SMs as one file. A thread of Konata is a warp slot.
pub fn render(timelines: &[SmTimeline]) -> String {
    let all = || {
        timelines.iter().flat_map(|timeline| timeline.instructions.iter().map(move |passage| (timeline.sm, passage)))
    };
    // The cycle, the instruction's number, and what happens to it.
    let mut events: Vec<(u64, u32, Event)> = Vec::new();
    for (id, (_, passage)) in (0..).zip(all()) {
        let stages = stages(passage);
        events.extend(stages.first().map(|&(_, _, begin)| (begin, id, Event::Begin)));
        events.extend(stages.iter().map(|&(letter, _, at)| (at, id, Event::Stage(letter))));
        events.extend(passage.written_back.map(|end| (end + 1, id, Event::Retire)));
    }
    // Stable: what happens to an instruction stays in order.
    events.sort_by_key(|&(cycle, ..)| cycle);
    let instructions: Vec<(u16, &Passage)> = all().collect();
    let (mut out, mut now) = ("Kanata\t0004\n".to_owned(), None);
    for (cycle, id, event) in events {
        let (sm, passage) = instructions[id as usize];
        let written = advance(&mut out, now.replace(cycle), cycle).and_then(|()| match event {
            Event::Begin => begin(&mut out, id, sm, passage),
            Event::Stage(letter) => writeln!(out, "S\t{id}\t0\t{letter}"),
            Event::Retire => writeln!(out, "R\t{id}\t{id}\t0"),
        });
        written.expect("a string takes all");
    }
    out
}

fn advance(out: &mut String, before: Option<u64>, now: u64) -> Result<(), Error> {
    match before {
        None => writeln!(out, "C=\t{now}"),
        Some(before) if before < now => writeln!(out, "C\t{}", now - before),
        Some(_) => Ok(()),
    }
}

fn begin(out: &mut String, id: u32, sm: u16, passage: &Passage) -> Result<(), Error> {
    let Passage { warp, order, pc, kernel, .. } = passage;
    let (warp, pc, lanes) = (warp.0, pc.0, passage.mask.count_ones());
    let thread = u64::from(sm) << 8 | u64::from(warp);
    writeln!(out, "I\t{id}\t{order}\t{thread}")?;
    writeln!(out, "L\t{id}\t0\tSM {sm} w{warp} {pc}: {}", plain(passage.text()))?;
    write!(out, "L\t{id}\t1\tlaunch {}, instruction {order} of the warp, {lanes} lanes", kernel.0)?;
    if let Some((last, level)) = passage.served {
        write!(out, ", data from {} by cycle {last}", level.name())?;
    }
    writeln!(out)
}

/// Text without what separates fields and commands, or is not seen.
fn plain(text: &str) -> String {
    text.replace(kit::text::is_invisible, " ")
}
