//! Runs traces: Accel-Sim's and our own format's.

mod accelsim;
mod ahead;
mod checks;
mod native;
mod remarks;

use self::checks::Stop;
use self::remarks::Remarks;
use crate::checkpoint::Keeper;
use crate::error::RunError;
use crate::monitor::Monitor;
use crate::report::Report;
use crate::setup::Setup;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Name of a trace of our own format in its directory.
pub const NATIVE_FILE: &str = "trace.wwt";
/// Name of the list of an Accel-Sim trace in its directory.
pub const LIST_FILE: &str = "kernelslist.g";

/// Whether `path` is meant as a trace: a list (`.g`), a folder with one, a file of our own format.
pub fn is_trace(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "g") || path.is_dir() && file_in(path).is_file() || trace::is_native(path)
}

/// The trace in `folder`: Accel-Sim's if there is one, else one of our own format.
pub(crate) fn file_in(folder: &Path) -> PathBuf {
    let names = [LIST_FILE, NATIVE_FILE].map(|name| folder.join(name));
    names.iter().find(|path| path.is_file()).unwrap_or(&names[0]).clone()
}

/// Every file that a run of the trace at `path` reads.
pub(crate) fn inputs(path: &Path) -> Vec<PathBuf> {
    let path = if path.is_dir() { file_in(path) } else { path.to_owned() };
    let kernels = if trace::is_native(&path) { None } else { accelsim::kernel_files(&path).ok() };
    std::iter::once(path).chain(kernels.into_iter().flatten()).collect()
}

/// Runs the trace at `path` on a GPU set up like `setup`, reporting its progress to `monitor`.
pub(crate) fn run(
    setup: &Setup,
    path: &Path,
    concurrent_streams: bool,
    keeper: Option<Keeper>,
    monitor: &mut dyn Monitor,
) -> Result<Report, RunError> {
    let started = Instant::now();
    let path = &if path.is_dir() { file_in(path) } else { path.to_owned() };
    let mut remarks = Remarks::default();
    let (mut simulation, outcome) = if trace::is_native(path) {
        native::run(setup, path, keeper, monitor, &mut remarks)?
    } else {
        accelsim::run(setup, path, (concurrent_streams, keeper), monitor, &mut remarks)?
    };
    let mut report = simulation.summary(path.display().to_string(), started.elapsed());
    report.remarks.extend(remarks.lines());
    conclude(outcome, report)
}

/// The report, or the error with what is known of the run.
fn conclude(outcome: Result<(), Stop>, report: Report) -> Result<Report, RunError> {
    let (message, bad_input) = match outcome {
        Ok(()) | Err(Stop::Run(gpu::MachineError::Interrupted)) => return Ok(report),
        // Another failure does not count: the user has ended the run.
        Err(_) if kit::stop::requested() => return Ok(Report { interrupted: true, ..report }),
        Err(Stop::Trace(error)) => (error.to_string(), true),
        Err(Stop::Launch(problem)) => (problem, true),
        // The warps of a trace follow the file, so a fault means that the file is damaged.
        Err(Stop::Run(gpu::MachineError::Fault(fault))) => {
            (format!("{}\n  in kernel `{}`, CTA {}", fault.what, fault.spot.kernel, fault.cta), true)
        }
        Err(Stop::Run(gpu::MachineError::Deadlock(deadlock))) => (deadlock.to_string(), false),
        Err(Stop::Run(gpu::MachineError::Livelock(livelock))) => (livelock.to_string(), false),
    };
    Err(RunError::after(report, message, bad_input))
}
