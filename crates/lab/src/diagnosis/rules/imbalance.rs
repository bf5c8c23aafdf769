//! CTAs that take different times, so that SMs wait for the longest.

use super::super::facts::Facts;
use super::super::found::Found;
use kit::WARP_LANES;

/// Share of the places that equal CTAs fill, below which they are the cause: the begin and the end of a launch cost some.
const UNEQUAL: f64 = 0.7;
/// Spread of the work of warps below which it is equal: a few that are idle at the edge of the data make less.
const SPREAD: f64 = 0.1;

/// Resident warps as a share of those that fit on the GPU, on average over the kernel's time.
pub fn filled(facts: &Facts<'_>) -> f64 {
    let fits = facts.launch.occupancy.theoretical_percent.max(1.0);
    (facts.longest.number("occupancy.achieved") * facts.longest.number("occupancy.sm_activity") / 100.0 / fits).min(1.0)
}

/// Spread of the warps' numbers of instructions, as a share of their mean (the coefficient of variation).
fn spread(facts: &Facts<'_>) -> f64 {
    let of_cta = (facts.launch.block.volume() as f64 / WARP_LANES as f64).ceil();
    let warps = facts.longest.number("sm.ctas_finished") * of_cta;
    let mean = facts.longest.number("sm.warp_instructions") / warps;
    let mean_square = facts.longest.number("sm.squared_instructions") / warps;
    (mean_square / (mean * mean) - 1.0).max(0.0).sqrt()
}

pub fn find<'a>(facts: &Facts<'a>) -> Option<Found<'a>> {
    let (waves, filled) = (facts.waves(), filled(facts));
    // As many places as CTAs of equal length fill.
    let equal = if waves < 1.0 { waves } else { waves / waves.ceil() };
    if filled >= UNEQUAL * equal || facts.ctas() < 2.0 || facts.launch.occupancy.ctas_per_sm == 0 {
        return None;
    }
    // Equal CTAs end one after another, too, where a greedy scheduler serves the oldest first.
    if spread(facts) < SPREAD {
        return None;
    }
    Some(Found {
        sentence: format!(
            "CTAs or their warps end at different times: {:.0} % of the places for warps are filled on average, and with equal ones {:.0} % would be",
            100.0 * filled,
            100.0 * equal
        ),
        without: "that wait",
        remedy: "Divide the longest work further, start the longest CTAs first, or take work from a common counter.",
        at: None,
        cycles: facts.shape_cycles * (1.0 - filled / equal),
        relieved: Vec::new(),
    })
}
