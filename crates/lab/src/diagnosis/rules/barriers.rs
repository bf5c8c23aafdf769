//! Warps that wait at CTA barriers for others.

use super::super::facts::{Facts, named};
use super::super::found::{Found, name_or};

fn barrier(slots: &[(&str, u64)]) -> u64 {
    slots.iter().filter(|(reason, _)| *reason == "barrier").map(|(_, slots)| slots).sum()
}

pub fn find<'a>(facts: &Facts<'a>) -> Option<Found<'a>> {
    let waited = facts.lost(&["barrier"]);
    if waited <= 0.0 {
        return None;
    }
    let at = facts.most(|row| barrier(&row.stalls));
    let awaited = facts.most(|row| barrier(&row.causes));
    let awaited = awaited.map_or_else(String::new, |row| format!("; its last warps waited for {}", named(row)));
    Some(Found {
        sentence: format!(
            "{:.0} % of the time warps wait at {}{awaited}",
            100.0 * waited / facts.cycles,
            name_or(at, "barriers of their CTAs")
        ),
        without: "that wait",
        remedy: "Give warps equal work between barriers, use smaller CTAs so that others run meanwhile, or __syncwarp where a warp suffices.",
        at,
        cycles: waited,
        relieved: Vec::new(),
    })
}
