//! Lanes that do nothing because of branches and guards.

use super::super::facts::{Facts, lanes, named};
use super::super::found::{Found, keeping};
use super::super::roofs::Resource;
use crate::profile::InstructionProfile;
use config::Unit;
use kit::WARP_LANES;

/// Lane use in percent at which idle lanes are not reported.
const USED: f64 = 92.0;

pub fn find<'a>(facts: &Facts<'a>) -> Option<Found<'a>> {
    let used = facts.number("lane_use");
    // An instruction that no lane executes is skipped by all: no divergence.
    let executed = facts.number("sm.warp_instructions") - facts.number("sm.empty_instructions");
    if facts.number("sm.thread_instructions") >= USED / 100.0 * WARP_LANES as f64 * executed {
        return None;
    }
    // Slots of lanes that do nothing.
    let wasted = |row: &InstructionProfile| (row.slots() as f64 * (1.0 - lanes(row) / WARP_LANES as f64)) as u64;
    let branch = facts.most(|row| row.divergences);
    let at = branch.or_else(|| facts.most(|row| if row.lanes > 0 { wasted(row) } else { 0 }));
    let worst = match (branch, at) {
        (Some(row), _) => format!(": {} divides the lanes of warps", named(row)),
        (None, Some(row)) => format!(": {} runs with {:.1} of {WARP_LANES}", named(row), lanes(row)),
        (None, None) => String::new(),
    };
    Some(Found {
        sentence: format!("Branches and guards leave {used:.0} % of the lanes active{worst}"),
        without: "idle lanes",
        remedy: "Let whole warps take the same path: number the threads so that those with work are neighbours.",
        at,
        cycles: facts.cycles * (1.0 - used / 100.0),
        relieved: keeping(
            used / 100.0,
            &[
                Resource::Issue,
                Resource::Unit(Unit::Sp),
                Resource::Unit(Unit::Int),
                Resource::Unit(Unit::Sfu),
                Resource::Unit(Unit::Dp),
                Resource::MemoryPipe,
            ],
        ),
    })
}
