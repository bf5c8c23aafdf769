//! Launches that are short beside their latency.

use super::super::cause::{Cause, LEAST};
use super::super::found::with_gain;
use crate::report::Report;

/// Name of the rule.
pub const NAME: &str = "launch_latency";
/// Launches from which they could be fewer.
const SEVERAL: u64 = 4;

pub fn find(report: &Report) -> Option<Cause> {
    let launches: u64 = report.by_kernel.iter().map(|kernel| kernel.launches).sum();
    let (latency, total) = (report.total.number("launch_cycles"), report.total.number("total_cycles"));
    // The first launch remains.
    let saved_cycles = latency * (1.0 - 1.0 / launches.max(1) as f64);
    let times_faster = total / (total - saved_cycles).max(1.0);
    (launches >= SEVERAL && times_faster >= LEAST).then(|| Cause {
        rule: NAME.to_owned(),
        kernel: String::new(),
        sentence: with_gain(
            "",
            &format!("{launches} launches wait {:.0} % of the time for their launch latency", 100.0 * latency / total),
            "with one launch",
            (times_faster, false),
        ),
        remedy: "Do more in one kernel (loops, cooperative groups), or launch a graph.".to_owned(),
        instruction: None,
        pc: None,
        file: None,
        line: None,
        saved_cycles,
        times_faster,
        is_bound: false,
    })
}
