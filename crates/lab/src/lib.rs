//! Experiments: a workload on a GPU with a core design, and what came of it.
//!
//! The layer between the simulator and its front ends (command line, later Python): everything
//! here returns typed values; nothing prints.

mod report;
mod run;

pub use run::{Job, Monitor, Progress, RunError, Setup, Unattended};
pub use report::{
    CheckResult, HostFigures, KernelReport, OccupancyReport, RegisterSource, Report, StatInfo, Stats, Value,
};
