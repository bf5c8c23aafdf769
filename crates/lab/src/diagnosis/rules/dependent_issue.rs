//! Chains of dependent arithmetic that too few warps cover.

use super::super::facts::{Facts, named};
use super::super::found::Found;

/// Warps of a scheduler from which others cover a latency.
const FEW: f64 = 4.0;

pub fn find<'a>(facts: &Facts<'a>) -> Option<Found<'a>> {
    let waited = facts.lost(&["raw", "stall_count"]);
    let warps = facts.number("occupancy.achieved") / 100.0 * f64::from(facts.gpu.sm.max_warps)
        / f64::from(facts.gpu.sm.issue.schedulers);
    if warps > FEW || waited <= 0.0 {
        return None;
    }
    let wait = |stalls: &[(&str, u64)]| {
        stalls
            .iter()
            .filter(|(reason, _)| matches!(*reason, "raw" | "stall_count"))
            .map(|(_, slots)| slots)
            .sum::<u64>()
    };
    let at = facts.most(|row| wait(&row.stalls));
    Some(Found {
        sentence: format!(
            "{:.0} % of the time is spent waiting for results of arithmetic, with {warps:.1} warps a scheduler{}",
            100.0 * waited / facts.cycles,
            at.map_or_else(String::new, |row| format!(", most at {}", named(row)))
        ),
        without: "that wait",
        remedy: "Give a thread independent work (unroll, several sums), or an SM more warps.",
        at,
        cycles: waited,
        relieved: Vec::new(),
    })
}
