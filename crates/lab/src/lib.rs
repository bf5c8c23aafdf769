//! Experiments: a workload on a GPU with a core design, and what came of it.
//!
//! The layer between the simulator and its front ends (command line, later Python): everything
//! here returns typed values; nothing prints.

#![warn(missing_docs)]

mod cores;
mod device;
mod engine;
pub mod microbench;
mod report;
mod run;
mod statistics;
mod trace;
pub mod validate;

pub use cores::CORES;
pub use device::SimulatedDevice;
pub use report::{
    CheckResult, HostFigures, KernelReport, OccupancyReport, RegisterSource, Report, StatInfo, Stats, Value,
};
pub use run::{Job, Monitor, Progress, RunError, Setup, Unattended, audit, cores, run, schedulers};
pub use sm::{Findings, Violation};
pub use statistics::schema;
pub use trace::{TraceKernel, TraceRun, TraceRunError, TraceSetup, run_trace};
