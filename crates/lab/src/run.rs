//! Runs a job on a set-up GPU.

use crate::Report;
use config::GpuConfig;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::PathBuf;

/// The machine a job runs on.
#[derive(Clone, Debug)]
pub struct Setup {
    /// GPU description, overrides applied.
    pub gpu: GpuConfig,
    /// Core design, one of [`cores`](crate::cores).
    pub core: String,
    /// Warp scheduler, one of [`schedulers`](crate::schedulers); the GPU's own if absent.
    pub scheduler: Option<String>,
    /// Overrides as the user wrote them, for the report.
    pub settings: Vec<String>,
    /// Ends the run, as if interrupted, after so many core cycles.
    pub max_cycles: Option<u64>,
}

/// What to run.
#[derive(Clone, Debug)]
pub enum Job {
    /// A bundled workload.
    Workload {
        /// One of [`workloads::suite::ALL`].
        name: String,
        /// `small`, `medium` or `large`.
        size: String,
        /// Parameters that differ from the size's.
        params: BTreeMap<String, u64>,
        /// Seed of the inputs.
        seed: u64,
    },
    /// A launch file.
    LaunchFile(PathBuf),
}

/// How far a run has come.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    /// Kernel that runs (the oldest one, where several do).
    pub kernel: String,
    /// Kernel launches that have ended.
    pub kernels_done: u32,
    /// CTAs of the running kernels that have ended.
    pub ctas_done: u64,
    /// CTAs of the running kernels.
    pub ctas_total: u64,
    /// Core cycles simulated so far in the run.
    pub cycles: u64,
    /// Warp instructions issued so far in the run.
    pub warp_instructions: u64,
}

/// Hears of a run's progress a few times per second; `Break` ends the run early.
pub trait Monitor {
    /// Called every so often.
    fn progress(&mut self, progress: &Progress) -> ControlFlow<()>;
}

/// A monitor that lets everything run to its end.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unattended;

impl Monitor for Unattended {
    fn progress(&mut self, _: &Progress) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Why a run has no complete report.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct RunError {
    /// What, where, why, what to do; may have several lines.
    pub message: String,
    /// Whether the user's input is at fault (exit status 2) or the run failed (exit status 1).
    pub bad_input: bool,
    /// What was computed before the failure.
    pub partial: Option<Box<Report>>,
}
