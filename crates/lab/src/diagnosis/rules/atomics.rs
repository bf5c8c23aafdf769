//! Atomics of a warp's lanes on one address, which are performed one by one.

use super::super::facts::Facts;
use super::super::found::{Found, keeping, name_or};
use super::super::roofs::Resource;
use mem::Level;

/// Share of transactions that repeat an address from which it is the cause.
const REPEATS: f64 = 0.5;

/// Share of the transactions from which no other access limits the kernel.
const MOST: f64 = 0.5;

pub fn find<'a>(facts: &Facts<'a>) -> Option<Found<'a>> {
    let (atomics, transactions) = (facts.number("sm.global_atomics"), facts.number("sm.atomic_transactions"));
    let repeats = facts.number("sm.atomic_repeats");
    if transactions <= 0.0 || repeats < REPEATS * transactions {
        return None;
    }
    let is_atomic = |text: &str| ["ATOM", "RED", "atom.", "red."].iter().any(|word| text.contains(word));
    let at = facts.most(|row| row.memory.filter(|_| is_atomic(&row.text)).map_or(0, |memory| memory.transactions));
    let lanes = transactions / atomics;
    // Where they are most of the accesses, all that waits may wait for them. One of each instruction remains.
    let share = transactions / facts.number("sm.transactions").max(transactions);
    let waits = ["memory_pipe_full", "raw_memory", "memory_order", "atomic", "fence", "drain"];
    let cycles = if share > MOST { facts.cycles * repeats / transactions } else { facts.lost(&waits) * share };
    Some(Found {
        sentence: format!(
            "{} is performed {lanes:.1} times for a warp, one lane after another: {:.0} % of the lanes have the address of an earlier one",
            name_or(at, "An atomic on global memory"),
            100.0 * repeats / transactions
        ),
        without: "waiting for them",
        remedy: "Combine the values of a warp (shuffles, __reduce_add_sync) or of a CTA (shared memory) before one atomic.",
        at,
        cycles,
        relieved: keeping(
            1.0 - repeats / transactions,
            &[Resource::Level(Level::L1), Resource::Level(Level::L2), Resource::Level(Level::Dram)],
        ),
    })
}
