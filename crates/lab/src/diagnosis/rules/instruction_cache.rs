//! Code that does not fit the instruction cache.

use super::super::facts::Facts;
use super::super::found::{Found, name_or};

/// Cycles below which the first fetch of the code counts too much.
const SHORT: f64 = 20_000.0;

pub fn find<'a>(facts: &Facts<'a>) -> Option<Found<'a>> {
    let waited = facts.lost(&["instruction_cache"]);
    if facts.cycles < SHORT || waited <= 0.0 {
        return None;
    }
    let wait = |stalls: &[(&str, u64)]| {
        stalls.iter().filter(|(reason, _)| *reason == "instruction_cache").map(|(_, slots)| slots).sum::<u64>()
    };
    let at = facts.most(|row| wait(&row.stalls));
    Some(Found {
        sentence: format!(
            "{:.0} % of the time is spent waiting for the instruction cache, most at {}",
            100.0 * waited / facts.cycles,
            name_or(at, "code that a profile names")
        ),
        without: "that wait",
        remedy: "Unroll less and inline less, so that loops fit the cache.",
        at,
        cycles: waited,
        relieved: Vec::new(),
    })
}
