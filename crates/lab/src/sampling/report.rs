//! The section of a report on what was timed and what was inferred.

use serde::{Deserialize, Serialize};

/// How a launch was carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// Simulated in time.
    Timed,
    /// Some of its CTAs simulated in time, the others executed without (in a trace: left out).
    Partly,
    /// Executed without time.
    Functional,
    /// Left out, as traces allow.
    Skipped,
}

impl How {
    /// The word of reports.
    pub const fn name(self) -> &'static str {
        match self {
            How::Timed => "timed",
            How::Partly => "partly",
            How::Functional => "functional",
            How::Skipped => "skipped",
        }
    }
}

/// A launch of a sampled run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LaunchSample {
    /// Number of the launch, from 0.
    pub launch: u32,
    /// Name of the kernel.
    pub name: String,
    /// How it was carried out.
    pub how: How,
    /// Its group, an index of the groups.
    pub group: Option<usize>,
    /// First and last CTA that were simulated in time, if not all were.
    pub ctas: Option<[u64; 2]>,
    /// Its warp instructions, all CTAs together, if they are known.
    pub warp_instructions: Option<u64>,
    /// Cycles that were simulated.
    pub timed_cycles: Option<u64>,
    /// Cycles of the whole launch that were inferred, if they were not all simulated and can be.
    pub inferred_cycles: Option<f64>,
    /// Half of the width of the interval around them.
    pub error_cycles: Option<f64>,
}

/// Launches that are alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupSample {
    /// Name of the kernel.
    pub name: String,
    /// CTAs in each dimension.
    pub grid: [u32; 3],
    /// Threads of a CTA in each dimension.
    pub block: [u32; 3],
    /// Number of launches.
    pub launches: u64,
    /// Launches that were simulated in time, all CTAs of them.
    pub timed: u64,
    /// Mean cycles for one warp instruction, of those that others are inferred from.
    pub cycles_per_warp_instruction: Option<f64>,
    /// Standard deviation of the cycles of those launches, in percent of the mean.
    pub spread_percent: Option<f64>,
    /// The deviation is that of all groups together: the group has too few.
    pub spread_is_borrowed: bool,
    /// The cycles are inferred from other launches of the same kernel: none of the group was timed.
    pub from_other_groups: bool,
}

/// The part of a run that was simulated in time, and inferences about the rest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sampling {
    /// The choice, as `--time` takes it.
    pub choice: String,
    /// Number of launches.
    pub launches: u64,
    /// Launches that were simulated in time.
    pub timed: u64,
    /// Launches some CTAs of which were.
    pub partly: u64,
    /// Launches that were executed without time or, of a trace, left out.
    pub untimed: u64,
    /// Of those, launches of kernels of which none was timed: nothing is inferred of them.
    pub unknown: u64,
    /// Warp instructions that were simulated in time.
    pub timed_warp_instructions: u64,
    /// Warp instructions of the rest, if they are known.
    pub untimed_warp_instructions: Option<u64>,
    /// Cycles of launches, launch latencies left aside, that were simulated.
    pub timed_cycles: u64,
    /// Cycles that were inferred.
    pub inferred_cycles: f64,
    /// Both together.
    pub total_cycles: f64,
    /// Half of the width of the interval around the total that has the true one with a probability of 95 %, as far as the
    /// launches timed are typical; absent if nothing is known of the spread.
    pub error_cycles: Option<f64>,
    /// The same in percent of the total.
    pub error_percent: Option<f64>,
    /// The total in seconds.
    pub seconds: f64,
    /// Groups of launches that are alike, in the order of their first launches.
    pub groups: Vec<GroupSample>,
    /// Every launch.
    pub kernels: Vec<LaunchSample>,
    /// Parts of the choice that name no launch.
    #[serde(skip)]
    pub unmatched: Vec<String>,
}

impl Sampling {
    /// That a part of the choice names no launch, and what there is.
    pub fn names_nothing(&self, part: &str) -> String {
        let mut names: Vec<&str> = self.kernels.iter().map(|launch| &launch.name[..]).collect();
        let last = names.len().saturating_sub(1);
        names.sort_unstable();
        names.dedup();
        if names.is_empty() {
            return format!("`{part}` names nothing: the run has no launch");
        }
        let launches = if last == 0 { "launch 0".to_owned() } else { format!("launches 0 to {last}") };
        let kernels = if names.len() == 1 { "kernel" } else { "kernels" };
        let which = kit::suggest::among(part, &names);
        format!("`{part}` names nothing: the run has {launches}, of {} {kernels}{which}", names.len())
    }
}
