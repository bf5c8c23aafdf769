//! A last wave of CTAs that fills a part of the GPU.

use super::super::facts::Facts;
use super::super::found::Found;
use super::imbalance::filled;

pub fn find<'a>(facts: &Facts<'a>) -> Option<Found<'a>> {
    let waves = facts.waves();
    let full = waves / waves.ceil();
    let filled = filled(facts);
    // CTAs that differ are another cause.
    if waves <= 1.0 || full > 0.9 || filled < 0.7 * full {
        return None;
    }
    let room = f64::from(facts.gpu.sm_count) * f64::from(facts.launch.occupancy.ctas_per_sm);
    let last = facts.ctas() - (waves.ceil() - 1.0) * room;
    Some(Found {
        sentence: format!(
            "The GPU holds {room:.0} CTAs at once, and the last {last:.0} of {:.0} run while the rest of it is empty: {:.0} % of the places are filled on average",
            facts.ctas(),
            100.0 * filled
        ),
        without: "the tail",
        remedy: "Make the number of CTAs a multiple of the places, or CTAs smaller, or let a fixed number of CTAs loop over the work.",
        at: None,
        cycles: facts.shape_cycles * (1.0 - filled),
        relieved: Vec::new(),
    })
}
