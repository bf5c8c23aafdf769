//! Lanes of an access to shared memory that ask one bank for different words.

use super::super::facts::{Facts, lanes, named};
use super::super::found::{Found, keeping};
use super::super::roofs::Resource;

pub fn find<'a>(facts: &Facts<'a>) -> Option<Found<'a>> {
    let (excess, total) = (facts.number("sm.shared_excess_cycles"), facts.number("sm.shared_cycles"));
    if excess <= 0.0 || total <= 0.0 {
        return None;
    }
    let at = facts.most(|row| row.memory.map_or(0, |memory| memory.excess_passes));
    let (accesses, passes, excess_each, who) = match at.and_then(|row| Some((row, row.memory?))) {
        Some((row, memory)) => {
            let who = format!("{:.0} lanes of {}", lanes(row), named(row));
            (memory.accesses as f64, memory.transactions as f64, memory.excess_passes as f64, who)
        }
        None => {
            let accesses = facts.number("sm.shared_accesses");
            (accesses, total, excess, "Accesses to shared memory".into())
        }
    };
    let (passes, conflicts) = (passes / accesses, excess_each / accesses);
    let is_atomic = at.is_some_and(|row| row.text.contains("ATOMS") || row.text.contains("atom.shared"));
    let remedy = if is_atomic {
        "Combine the values of a warp first, or give warps copies of the counters."
    } else {
        "Pad the rows of the array by a word, or let neighbouring lanes access neighbouring words."
    };
    Some(Found {
        sentence: format!(
            "{who} take {passes:.1} passes through the banks of shared memory, of which {conflicts:.1} are bank conflicts"
        ),
        without: "conflicts",
        remedy,
        at,
        cycles: excess / facts.active_sms(),
        relieved: keeping((total - excess) / total, &[Resource::Shared]),
    })
}
