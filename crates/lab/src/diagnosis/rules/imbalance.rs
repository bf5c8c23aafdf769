//! CTAs that take different times, so that SMs wait for the longest.

use super::super::facts::Facts;
use super::super::found::Found;

/// Share of the places that equal CTAs fill, below which they are the cause: the begin and the end of a launch cost some.
const UNEQUAL: f64 = 0.7;

/// Resident warps as a share of those that fit on the GPU, on average over the kernel's time.
pub fn filled(facts: &Facts<'_>) -> f64 {
    let fits = facts.launch.occupancy.theoretical_percent.max(1.0);
    (facts.longest.number("occupancy.achieved") * facts.longest.number("occupancy.sm_activity") / 100.0 / fits).min(1.0)
}

pub fn find<'a>(facts: &Facts<'a>) -> Option<Found<'a>> {
    let (waves, filled) = (facts.waves(), filled(facts));
    // As many places as CTAs of equal length fill.
    let equal = if waves < 1.0 { waves } else { waves / waves.ceil() };
    if filled >= UNEQUAL * equal || facts.ctas() < 2.0 || facts.launch.occupancy.ctas_per_sm == 0 {
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
        relieved: &[],
        kept: 0.0,
    })
}
