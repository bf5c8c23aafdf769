//! Grids that do not fill the GPU once.

use super::super::cause::Cause;
use super::super::facts::Facts;
use super::super::found::{Found, with_gain};
use kit::text::counted;

/// Name of the rule.
pub const NAME: &str = "small_grid";
const WITHOUT: &str = "empty places";

/// Places for CTAs on the GPU.
fn places(facts: &Facts<'_>) -> f64 {
    f64::from(facts.gpu.sm_count) * f64::from(facts.launch.occupancy.ctas_per_sm.max(1))
}

/// The sentence for grids of `ctas` CTAs in `places`.
fn sentence(facts: &Facts<'_>, ctas: f64, places: f64) -> String {
    let sms = f64::from(facts.gpu.sm_count);
    let grid = match ctas.round() as u64 {
        n if ctas == facts.ctas() => format!("The grid has {}", counted(n, "CTA")),
        n => format!("Grids have {} on average", counted(n, "CTA")),
    };
    if ctas.round() < sms {
        format!("{grid} and the GPU {sms:.0} SMs: {:.0} have no CTA", sms - ctas.round())
    } else {
        format!("{grid}, and the {sms:.0} SMs hold {places:.0} at once")
    }
}

pub fn find<'a>(facts: &Facts<'a>) -> Option<Found<'a>> {
    // With few warps on an SM more of them hide latency, too.
    (facts.empty_cycles > 0.0).then(|| Found {
        sentence: sentence(facts, facts.mean_ctas, places(facts)),
        without: WITHOUT,
        remedy: "Divide the work into more CTAs, or run independent kernels in other streams beside it.",
        at: None,
        cycles: facts.empty_cycles,
        relieved: Vec::new(),
    })
}

/// One cause for several kernels with small grids, whose own are among `causes`: as the latency of launches, it is
/// about the run.
pub fn of_several(kernels: &[Facts<'_>], causes: &[Cause]) -> Option<Cause> {
    let small: Vec<&Cause> = causes.iter().filter(|cause| cause.rule == NAME).collect();
    let names: Vec<&str> = small.iter().map(|cause| &*cause.kernel).collect();
    let kernels: Vec<&Facts<'_>> = kernels.iter().filter(|facts| names.contains(&&*facts.launch.name)).collect();
    let sum = |count: fn(&Facts<'_>) -> f64| kernels.iter().map(|facts| count(facts)).sum::<f64>();
    let cycles = sum(|facts| facts.cycles);
    let mean = |of: f64| of / cycles;
    let saved_cycles: f64 = small.iter().map(|cause| cause.saved_cycles).sum();
    let times_faster = cycles / (cycles - saved_cycles).max(1.0);
    (names.len() > 1).then(|| {
        let ctas = mean(sum(|facts| facts.cycles * facts.mean_ctas));
        let sentence = sentence(kernels[0], ctas, mean(sum(|facts| facts.cycles * places(facts))));
        Cause {
            sentence: with_gain(&names.join(", "), &sentence, &format!("without {WITHOUT}"), (times_faster, true)),
            kernel: String::new(),
            saved_cycles,
            times_faster,
            ..small[0].clone()
        }
    })
}
