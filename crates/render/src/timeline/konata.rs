//! Timelines in the format that the viewer Konata reads: Kanata 0004.
//!
//! A file is a list of commands in the order of cycles: `C=` and `C` set and advance the cycle, `I` begins an instruction,
//! `L` gives it a label, `S` begins a stage, `E` ends one, `R` ends the instruction.

use super::stages;
use lab::timeline::SmTimeline;
use std::fmt::Write as _;

/// The timelines of SMs as one file. A thread of Konata is a warp slot.
pub fn render(timelines: &[SmTimeline]) -> String {
    let mut commands: Vec<(u64, String)> = Vec::new();
    let mut id = 0;
    for timeline in timelines {
        for passage in &timeline.instructions {
            let stages = stages(passage);
            let Some(&(_, _, begin)) = stages.first() else { continue };
            let thread = u64::from(timeline.sm) << 8 | u64::from(passage.warp.0);
            let mut of = |cycle: u64, command: String| commands.push((cycle, command));
            of(begin, format!("I\t{id}\t{}\t{thread}", passage.order));
            let label = format!("SM {} w{} {}: {}", timeline.sm, passage.warp.0, passage.pc.0, plain(passage.text()));
            of(begin, format!("L\t{id}\t0\t{label}"));
            let lanes = passage.mask.count_ones();
            let mut details =
                format!("launch {}, instruction {} of the warp, {lanes} lanes", passage.kernel.0, passage.order);
            if let Some((_, last, level)) = passage.served {
                let _ = write!(details, ", data from {} by cycle {last}", level.name());
            }
            of(begin, format!("L\t{id}\t1\t{details}"));
            for (letter, _, at) in stages {
                of(at, format!("S\t{id}\t0\t{letter}"));
            }
            if let Some(end) = passage.written_back {
                of(end + 1, format!("R\t{id}\t{id}\t0"));
            }
            id += 1;
        }
    }
    // Stable: the commands of an instruction stay in order.
    commands.sort_by_key(|(cycle, _)| *cycle);
    let mut out = "Kanata\t0004\n".to_owned();
    let mut now = None;
    for (cycle, command) in commands {
        match now {
            None => {
                let _ = writeln!(out, "C=\t{cycle}");
            }
            Some(before) if before < cycle => {
                let _ = writeln!(out, "C\t{}", cycle - before);
            }
            Some(_) => {}
        }
        now = Some(cycle);
        let _ = writeln!(out, "{command}");
    }
    out
}

/// Text without what separates fields and commands.
fn plain(text: &str) -> String {
    text.replace(['\t', '\n', '\r'], " ")
}
