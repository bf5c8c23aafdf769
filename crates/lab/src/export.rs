//! Records a job as a trace that can be run later, here or by Accel-Sim.

use crate::device::SimulatedDevice;
use crate::error::RunError;
use crate::monitor::{Monitor, Progress};
use crate::report::Report;
use crate::run::{Job, run_on};
use crate::setup::Setup;
use crate::traces::{LIST_FILE, NATIVE_FILE, file_in};
use kit::output::{MadeFolders, NewFolder};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use trace::{Compression, NativeTrace, Recorder, Written};

/// The core design on which traces are recorded.
pub const CORE_OF_TRACES: &str = "inorder";

/// How a trace is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceFormat {
    /// Our own format, in a [`NATIVE_FILE`].
    Native {
        /// Whether operand values are recorded, for designs that depend on values.
        values: bool,
    },
    /// Accel-Sim's: [`LIST_FILE`] and a file for each launch.
    AccelSim(Compression),
}

/// A trace that has been written.
#[derive(Clone, Debug)]
pub struct Export {
    /// The path to give to `run`.
    pub path: PathBuf,
    /// Its size and contents.
    pub written: Written,
    /// The report of the recorded run.
    pub report: Report,
}

/// Runs `job` on the in-order core and records it in `directory`, which is made if
/// it does not exist. Files of an earlier trace there are overwritten only if `overwrite` is set.
///
/// # Errors
/// As [`run`](crate::run), and if the trace cannot be written. An interrupted run leaves no trace.
pub fn export(
    setup: &Setup,
    job: &Job,
    directory: &Path,
    format: TraceFormat,
    overwrite: bool,
    monitor: &mut dyn Monitor,
) -> Result<Export, RunError> {
    if setup.core != CORE_OF_TRACES {
        let core = &setup.core;
        return Err(RunError::input(format!(
            "traces are recorded on the core design `{CORE_OF_TRACES}`, not on `{core}`"
        )));
    }
    let path = place(directory, format, overwrite)?;
    match format {
        TraceFormat::Native { values } => {
            let folder = MadeFolders::make(directory).map_err(|e| unusable(directory, &e))?;
            kit::output::check(std::slice::from_ref(&path), &job.inputs())
                .map_err(|e| RunError::input(e.to_string()))?;
            let (report, written) = record(setup, job, &path, values, monitor)?;
            folder.keep();
            Ok(Export { path, written, report })
        }
        TraceFormat::AccelSim(compression) => {
            // It is converted from one of our own, which is deleted afterwards.
            let folder = accelsim_folder(directory)?;
            let native = folder.path().join(NATIVE_FILE);
            let (report, written) = record(setup, job, &native, false, monitor)?;
            let bytes = write_accelsim(&native, folder.path(), compression, monitor).map_err(failed)?;
            std::fs::remove_file(&native).map_err(failed)?;
            complete(folder, directory)?;
            Ok(Export { path, written: Written { bytes, ..written }, report })
        }
    }
}

/// Where the trace will be; an error if there is one that is not to be overwritten.
fn place(directory: &Path, format: TraceFormat, overwrite: bool) -> Result<PathBuf, RunError> {
    let name = match format {
        TraceFormat::Native { .. } => NATIVE_FILE,
        TraceFormat::AccelSim(_) => LIST_FILE,
    };
    let path = directory.join(name);
    if path.exists() && !overwrite {
        return Err(RunError::input(format!("`{}` is there already; overwrite it with --force", path.display())));
    }
    Ok(path)
}

/// Begins an Accel-Sim trace: its files appear in `directory` all at once.
fn accelsim_folder(directory: &Path) -> Result<NewFolder, RunError> {
    NewFolder::create(directory, is_of_accelsim).map_err(|e| unusable(directory, &e))
}

/// Whether a file in a folder is part of an Accel-Sim trace.
fn is_of_accelsim(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name == LIST_FILE || name.starts_with("kernel-") && name.contains(".traceg")
}

fn complete(folder: NewFolder, directory: &Path) -> Result<(), RunError> {
    folder.finish(LIST_FILE).map_err(|e| failed(format!("the trace cannot be put into `{}`: {e}", directory.display())))
}

fn unusable(directory: &Path, error: &std::io::Error) -> RunError {
    RunError::input(format!("cannot write a trace into `{}`: {error}", directory.display()))
}

/// Writes the trace of our own format at `native` as one of Accel-Sim into `directory`; returns its
/// list and the bytes written.
///
/// # Errors
/// If `native` is not a trace of our own format or is damaged, or the new one cannot be written.
pub fn convert(
    native: &Path,
    directory: &Path,
    format: TraceFormat,
    overwrite: bool,
    monitor: &mut dyn Monitor,
) -> Result<(PathBuf, u64), RunError> {
    let native = &if native.is_dir() { file_in(native) } else { native.to_owned() };
    let (true, TraceFormat::AccelSim(compression)) = (trace::is_native(native), format) else {
        let shown = native.display();
        let message = format!("`{shown}` is a trace already; only one of our own format is written in Accel-Sim's");
        return Err(RunError::input(message));
    };
    let list = place(directory, format, overwrite)?;
    let folder = accelsim_folder(directory)?;
    let bytes = write_accelsim(native, folder.path(), compression, monitor).map_err(|error| {
        let bad_input = error.file == *native;
        RunError { bad_input, ..failed(error) }
    })?;
    complete(folder, directory)?;
    Ok((list, bytes))
}

/// Writes the trace at `native` as one of Accel-Sim; returns the bytes written.
fn write_accelsim(
    native: &Path,
    directory: &Path,
    compression: Compression,
    monitor: &mut dyn Monitor,
) -> Result<u64, trace::TraceError> {
    let trace = Arc::new(NativeTrace::open(native)?);
    let mut keep_on = |ctas_done, ctas_total| {
        monitor.progress(&Progress { kernel: "writing".into(), ctas_done, ctas_total, ..Progress::default() })
    };
    trace::export_accelsim(&trace, directory, compression, &mut keep_on)
}

fn failed(error: impl std::fmt::Display) -> RunError {
    RunError { message: error.to_string(), bad_input: false, partial: None }
}

/// Runs `job` and records it into a file of our own format, with `values` of operands or without.
fn record(
    setup: &Setup,
    job: &Job,
    path: &Path,
    values: bool,
    monitor: &mut dyn Monitor,
) -> Result<(Report, Written), RunError> {
    let producer = concat!("warpwright ", env!("CARGO_PKG_VERSION"));
    let recorder = Recorder::create(path, producer, &setup.gpu.name, values);
    let recorder = recorder.map_err(|e| RunError::input(e.to_string()))?;
    let device = SimulatedDevice::recorded(setup, Box::new(monitor), recorder);
    let mut device = device.map_err(|e| RunError::input(e.to_string()))?;
    let report = match run_on(&mut device, setup, job) {
        Ok(report) => report,
        Err(error) => {
            let trouble = device.into_recorder().and_then(Recorder::trouble);
            return Err(trouble.map_or(error, failed));
        }
    };
    let recorder = device.into_recorder().expect("the device had one");
    if report.interrupted {
        let message = "the run was broken off: no trace was written".into();
        return Err(RunError { message, bad_input: false, partial: Some(Box::new(report)) });
    }
    Ok((report, recorder.finish().map_err(failed)?))
}
