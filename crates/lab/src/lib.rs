//! Experiments: a workload on a GPU with a core design, and what came of it.
//!
//! The layer between the simulator and its front ends (command line, later Python): everything
//! here returns typed values; nothing prints.

#![warn(missing_docs)]

pub mod accelsim;
mod core_name;
mod cores;
pub mod design_cost;
mod designs;
mod device;
pub mod energy;
mod engine;
mod erased;
mod export;
pub mod microbench;
pub mod published;
mod registers;
mod replay;
mod report;
mod run;
mod session;
mod statistics;
mod trace;
pub mod validate;

pub use ::trace::Compression;
pub use core_name::{SCALAR_CHOICES, ScalarChoice, core_parameters, scalar_parameters, with_parameter};
pub use designs::{CORES, DESIGNS, Design, ForCore, check_core, for_core, lacks_hazard_guard, stands_for};
pub use device::SimulatedDevice;
pub use export::{Export, LIST_FILE, NATIVE_FILE, TraceFormat, convert, export};
pub use gpu::{StatInfo, Stats, Value};
pub use registers::{RegisterChoice, RegisterMode};
pub use report::{CheckResult, EnergyModelInUse, HostFigures, KernelReport, OccupancyReport, RegisterSource, Report};
pub use run::{
    Job, Monitor, Progress, RunError, Setup, Unattended, audit, cores, run, run_design, schedulers, structures,
};
pub use sm::{Example, Findings, Party, Structure, Violation};
pub use statistics::schema;
pub use trace::is_trace;
