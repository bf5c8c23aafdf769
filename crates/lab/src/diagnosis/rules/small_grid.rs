//! Grids that do not fill the GPU once.

use super::super::facts::Facts;
use super::super::found::Found;
use kit::text::counted;

pub fn find<'a>(facts: &Facts<'a>) -> Option<Found<'a>> {
    let (ctas, waves, sms) = (facts.ctas(), facts.waves(), f64::from(facts.gpu.sm_count));
    if waves >= 1.0 {
        return None;
    }
    let room = facts.launch.occupancy.ctas_per_sm;
    let sentence = if ctas < sms {
        format!("The grid has {} and the GPU {sms:.0} SMs: {:.0} have no CTA", counted(ctas as u64, "CTA"), sms - ctas)
    } else {
        format!("The grid has {ctas:.0} CTAs, and the {sms:.0} SMs hold {:.0} at once", sms * f64::from(room))
    };
    // With few warps on an SM more of them hide latency, too.
    Some(Found {
        sentence,
        without: "empty places",
        remedy: "Divide the work into more CTAs, or run independent kernels in other streams beside it.",
        at: None,
        cycles: facts.shape_cycles * (1.0 - waves),
        relieved: &[],
        kept: 0.0,
    })
}
