//! Grids that do not fill the GPU once.

use super::super::facts::Facts;
use super::super::found::Found;
use kit::text::counted;

pub fn find<'a>(facts: &Facts<'a>) -> Option<Found<'a>> {
    let (ctas, sms) = (facts.mean_ctas, f64::from(facts.gpu.sm_count));
    if facts.empty_cycles <= 0.0 {
        return None;
    }
    let room = sms * f64::from(facts.launch.occupancy.ctas_per_sm.max(1));
    let is_one = ctas == facts.ctas();
    let grid = match ctas.round() as u64 {
        n if is_one => format!("The grid has {}", counted(n, "CTA")),
        n => format!("Grids have {} on average", counted(n, "CTA")),
    };
    let sentence = if ctas.round() < sms {
        format!("{grid} and the GPU {sms:.0} SMs: {:.0} have no CTA", sms - ctas.round())
    } else {
        format!("{grid}, and the {sms:.0} SMs hold {room:.0} at once")
    };
    // With few warps on an SM more of them hide latency, too.
    Some(Found {
        sentence,
        without: "empty places",
        remedy: "Divide the work into more CTAs, or run independent kernels in other streams beside it.",
        at: None,
        cycles: facts.empty_cycles,
        relieved: &[],
        kept: 0.0,
    })
}
