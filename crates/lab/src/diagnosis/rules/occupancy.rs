//! Too few warps on an SM to hide latencies.

use super::super::facts::Facts;
use super::super::found::Found;

/// Share of the warp slots from which more warps are of little use.
const ENOUGH: f64 = 0.7;
/// Share of the time that is lost to latencies.
const WAITS: f64 = 0.3;

pub fn find<'a>(facts: &Facts<'a>) -> Option<Found<'a>> {
    let occupancy = &facts.launch.occupancy;
    let share = occupancy.theoretical_percent / 100.0;
    let waits =
        ["raw", "raw_memory", "memory_order", "stall_count", "async_copy", "barrier", "fence", "atomic", "drain"];
    let waited = facts.lost(&waits);
    if share >= ENOUGH || facts.waves() <= 1.0 || waited < WAITS * facts.cycles || occupancy.ctas_per_sm == 0 {
        return None;
    }
    let remedy = match &*occupancy.limiter {
        "registers" => "Fewer registers a thread (__launch_bounds__, -maxrregcount) let more warps in.",
        "shared memory" => "Less shared memory a CTA lets more CTAs in.",
        "CTA slots" => "Larger CTAs fill the warp slots.",
        _ => "Smaller CTAs fill the warp slots better.",
    };
    Some(Found {
        sentence: format!(
            "An SM has {} of {} warps, limited by {}, and loses {:.0} % of its time to latencies that more warps hide",
            occupancy.warps_per_sm,
            facts.gpu.sm.max_warps,
            occupancy.limiter,
            100.0 * waited / facts.cycles
        ),
        without: "this limit",
        remedy,
        at: None,
        cycles: waited.min(facts.cycles * (1.0 - share)),
        relieved: Vec::new(),
    })
}
