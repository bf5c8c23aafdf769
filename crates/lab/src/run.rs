//! Runs a job on a set-up GPU.

use crate::checkpoint::{Checkpoints, JobIdentity, Keeper};
use crate::designs::CORES;
use crate::device::SimulatedDevice;
use crate::error::RunError;
use crate::listing::SourcePlace;
use crate::monitor::Monitor;
use crate::report::{CheckResult, Report};
use crate::setup::Setup;
use crate::traces;
use kit::parameters::{self, Parameter};
use kit::text::counted;
use launchfile::{LaunchFile, LaunchFileRunError, Overrides};
use sm::{ConfigOf, CoreDesign, Findings, MaskOf, WarpMask};
use std::collections::BTreeMap;
use std::path::PathBuf;
use workloads::{Check, DeviceError, Form, Size, WorkloadError, suite};

/// The workload and its inputs.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub enum Job {
    Workload {
        /// Name of one of [`workloads::suite::ALL`].
        name: String,
        /// Which of the sizes of its inputs.
        size: Size,
        /// Parameters that differ from the size's.
        params: BTreeMap<String, u64>,
        /// Seed of the inputs.
        seed: u64,
    },
    LaunchFile {
        path: PathBuf,
        /// Replacements for parts of it.
        overrides: Overrides,
    },
    Trace {
        /// A `kernelslist.g` or a folder that holds one; a file of our own format.
        path: PathBuf,
        /// Whether kernels of different streams run at the same time where the GPU lets them.
        /// Accel-Sim runs one after the other.
        concurrent_streams: bool,
    },
}

impl Job {
    /// Every file that it reads, if known before it runs.
    pub fn inputs(&self) -> Vec<PathBuf> {
        match self {
            Job::Workload { .. } => Vec::new(),
            Job::LaunchFile { path, overrides } => {
                LaunchFile::load(path, overrides).map_or_else(|_| vec![path.clone()], |file| file.inputs())
            }
            Job::Trace { path, .. } => traces::inputs(path),
        }
    }

    /// With all that chooses its inputs, in words.
    pub fn named(&self) -> String {
        match self {
            Job::Workload { name, size, params, seed } => {
                let params: String = params.iter().map(|(name, value)| format!(", {name}={value}")).collect();
                format!("{name}, {}{params}, seed {seed}", size.name())
            }
            Job::LaunchFile { path, overrides } => format!("{}, {overrides:?}", path.display()),
            Job::Trace { path, concurrent_streams } => {
                let streams = if *concurrent_streams { ", concurrent streams" } else { "" };
                format!("{}{streams}", path.display())
            }
        }
    }

    /// Its part of a run's identity. Reads its inputs.
    pub fn identity(&self) -> JobIdentity {
        JobIdentity::new(self.named(), &self.inputs(), matches!(self, Job::Trace { .. }))
    }

    /// Where the sources of its kernels are found.
    fn sources(&self) -> SourcePlace {
        match self {
            Job::Workload { name, .. } => {
                suite::find(name).map_or(SourcePlace::AsRecorded, |workload| SourcePlace::Bundled(&workload.module))
            }
            Job::LaunchFile { path, .. } => {
                path.parent().map(|folder| SourcePlace::Folder(folder.into())).unwrap_or_default()
            }
            Job::Trace { .. } => SourcePlace::AsRecorded,
        }
    }

    /// Every file that it writes.
    pub fn outputs(&self) -> Vec<PathBuf> {
        match self {
            Job::LaunchFile { path, overrides } => {
                LaunchFile::load(path, overrides).map_or_else(|_| Vec::new(), |file| file.outputs())
            }
            Job::Workload { .. } | Job::Trace { .. } => Vec::new(),
        }
    }
}

/// Name and description of each core design.
pub fn cores() -> &'static [(&'static str, &'static str)] {
    CORES
}

/// Name and description of each warp scheduler.
pub fn schedulers() -> &'static [(&'static str, &'static str)] {
    sm::schedulers::NAMES
}

/// Checks the name of a warp scheduler with its parameters.
///
/// # Errors
/// There is no such scheduler or parameter: what there is.
pub fn check_scheduler(scheduler: &str) -> Result<(), String> {
    scheduler_parameters(scheduler).map(|_| ())
}

/// The parameters of a warp scheduler, with what `scheduler` sets them to as their defaults.
///
/// # Errors
/// As [`check_scheduler`].
pub fn scheduler_parameters(scheduler: &str) -> Result<Vec<Parameter>, String> {
    sm::schedulers::parameters(scheduler)
}

/// The warp scheduler `scheduler` with one more parameter set; `None` if it has no such parameter.
///
/// # Errors
/// As [`check_scheduler`], of `scheduler`.
pub fn scheduler_with(scheduler: &str, name: &str, value: &str) -> Result<Option<String>, String> {
    let has_it = scheduler_parameters(scheduler)?.iter().any(|parameter| parameter.name == name);
    Ok(has_it.then(|| parameters::with(scheduler, name, value)))
}

/// Runs `job` on a GPU set up like `setup`, reporting its progress to `monitor`.
///
/// An interruption is not an error: the report marks it and has what was simulated.
///
/// # Errors
/// See [`RunError`].
pub fn run(setup: &Setup, job: &Job, monitor: &mut dyn Monitor) -> Result<Report, RunError> {
    run_kept(setup, job, Checkpoints::default(), monitor)
}

/// As [`run`], leaving checkpoints or continuing from one, as `checkpoints` say. The report of a run that continues
/// another is the report of one run, except for measurements of the host.
///
/// # Errors
/// See [`RunError`].
pub fn run_kept(
    setup: &Setup,
    job: &Job,
    checkpoints: Checkpoints,
    monitor: &mut dyn Monitor,
) -> Result<Report, RunError> {
    setup.energy.as_ref().map_err(|problem| RunError::input(problem.clone()))?;
    let keeper = keeper(setup, job, checkpoints).map_err(RunError::input)?;
    if let Job::Trace { path, concurrent_streams } = job {
        return traces::run(setup, path, *concurrent_streams, keeper, monitor);
    }
    let mut device = SimulatedDevice::watched(setup, Box::new(monitor)).map_err(|e| RunError::input(e.to_string()))?;
    keeper.map_or(Ok(()), |keeper| device.keep_checkpoints(keeper)).map_err(RunError::input)?;
    run_on(&mut device, setup, job)
}

/// Keeps the checkpoints of a run of `job`; `None` if there are to be none.
fn keeper(setup: &Setup, job: &Job, checkpoints: Checkpoints) -> Result<Option<Keeper>, String> {
    if checkpoints.are_none() {
        return Ok(None);
    }
    Keeper::of(checkpoints, setup, &job.identity()).map(Some)
}

/// As [`run`], with each instruction checked against the program order of its warp.
///
/// # Errors
/// See [`RunError`]. A violation is not an error.
pub fn audit(setup: &Setup, job: &Job, monitor: &mut dyn Monitor) -> Result<(Report, Findings), RunError> {
    let report = run(&Setup { audit: true, ..setup.clone() }, job, monitor)?;
    let findings = report.audit.clone().unwrap_or_default();
    Ok((report, findings))
}

/// As [`run`], on a core design that need not be registered: `setup.core` is only its name in the
/// report. Runs workloads and launch files.
///
/// # Errors
/// See [`RunError`].
pub fn run_design<P: CoreDesign + 'static>(
    policy: &ConfigOf<P>,
    setup: &Setup,
    job: &Job,
    monitor: &mut dyn Monitor,
) -> Result<Report, RunError> {
    let (slots, of) = (setup.gpu.sm.max_warps, MaskOf::<P>::SLOTS);
    if slots as usize > of {
        let message =
            format!("SMs of {slots} warp slots, and the design's sets of warps are of {of}: see IssuePolicy::Mask");
        return Err(RunError::input(message));
    }
    let device = SimulatedDevice::of_design::<P>(policy, setup, Box::new(monitor));
    run_on(&mut device.map_err(|e| RunError::input(e.to_string()))?, setup, job)
}

/// Runs `job` on `device`, which is set up like `setup`.
pub(crate) fn run_on(device: &mut SimulatedDevice<'_>, setup: &Setup, job: &Job) -> Result<Report, RunError> {
    device.take_sources_from(job.sources());
    let (workload, done) = match job {
        Job::Workload { name, size, params, seed } => run_workload(device, setup.code, name, *size, params, *seed)?,
        Job::LaunchFile { path, overrides } => {
            let file = LaunchFile::load(path, overrides).map_err(|e| RunError::input(e.to_string()))?;
            let outcome = file.run(device);
            let done = outcome.map_err(Failure::from).map(|o| {
                let written = o.written.iter().map(|p| format!("wrote {}", p.display()));
                Done {
                    checks: o.checks,
                    output: o.prints.into_iter().chain(written).collect(),
                    failed: o.error.map(Failure::from),
                }
            });
            (path.display().to_string(), done)
        }
        Job::Trace { path, .. } => {
            let message = format!("`{}` is a trace: what its warps did is known already", path.display());
            return Err(RunError::input(message));
        }
    };
    let mut report = report_of(device, workload);
    let failed = match done {
        Ok(Done { checks, output, failed }) => {
            report.output.extend(output);
            report.check = check_result(&checks);
            if report.check.as_ref().is_some_and(|check| !check.passed) && device.is_sampled() {
                report.remarks.push(WRONG_WITHOUT_TIME.to_owned());
            }
            failed
        }
        Err(_) if report.interrupted || kit::stop::requested() => return Ok(Report { interrupted: true, ..report }),
        Err(failure) => Some(failure),
    };
    match failed {
        Some(Failure { message, bad_input }) => Err(RunError::after(report, message, bad_input)),
        None => Ok(report),
    }
}

/// Advice after a wrong result of a run of which not all was simulated in time.
const WRONG_WITHOUT_TIME: &str = "the result is wrong, and launches were executed without time, warps in long turns and CTAs one after another: a race of the program is a possible cause. Option check_memory lists races; option time, as all, executes every launch in the order of the GPU's timing";

/// Why a job failed.
struct Failure {
    message: String,
    bad_input: bool,
}

impl From<DeviceError> for Failure {
    fn from(error: DeviceError) -> Self {
        let ran = matches!(error, DeviceError::Fault(_) | DeviceError::Deadlock(_) | DeviceError::Interrupted);
        Self { message: error.to_string(), bad_input: !ran }
    }
}

impl From<LaunchFileRunError> for Failure {
    fn from(error: LaunchFileRunError) -> Self {
        match error {
            LaunchFileRunError::Device(error) => error.into(),
            error @ (LaunchFileRunError::Unwritten { .. } | LaunchFileRunError::Endless(_)) => {
                Self { message: error.to_string(), bad_input: false }
            }
            error => Self { message: error.to_string(), bad_input: true },
        }
    }
}

impl From<WorkloadError> for Failure {
    fn from(error: WorkloadError) -> Self {
        match error {
            WorkloadError::Device(error) => error.into(),
            error => Self { message: error.to_string(), bad_input: true },
        }
    }
}

/// Checks and lines that a job makes of its results.
struct Done {
    checks: Vec<Check>,
    /// Lines to print.
    output: Vec<String>,
    /// Why something else could not be made.
    failed: Option<Failure>,
}

fn run_workload(
    device: &mut SimulatedDevice<'_>,
    form: Form,
    name: &str,
    size: Size,
    params: &BTreeMap<String, u64>,
    seed: u64,
) -> Result<(String, Result<Done, Failure>), RunError> {
    let input = |e: WorkloadError| RunError::input(e.to_string());
    let workload = suite::find(name).map_err(input)?;
    let given: Vec<_> = params.iter().map(|(name, value)| (name.clone(), *value)).collect();
    let params = workload.params(size, &given).map_err(input)?;
    let title = workload.title(size, &params, seed);
    let outcome = workload.run(device, form, &params, seed);
    let done = |checks| Done { checks, output: Vec::new(), failed: None };
    Ok((title, outcome.map(|o| done(o.checks)).map_err(Failure::from)))
}

/// The report of the device, whether or not the job succeeded.
fn report_of(device: &mut SimulatedDevice<'_>, workload: String) -> Report {
    let printed = device.take_output();
    Report { output: printed.lines().map(str::to_owned).collect(), ..device.summary(workload) }
}

fn check_result(checks: &[Check]) -> Option<CheckResult> {
    let passed = checks.iter().all(Check::passed);
    let lines = checks.iter().filter(|c| passed || !c.passed()).map(|c| match &c.first {
        None => format!("{}: {} {}", c.what, counted(c.compared, "value"), c.rule),
        Some(m) => format!(
            "{}: {} of {} {} ({}); the first at {}: expected {}, got {}",
            c.what,
            c.mismatches,
            counted(c.compared, "value"),
            if c.mismatches == 1 { "differs" } else { "differ" },
            c.rule,
            m.index,
            m.expected,
            m.got
        ),
    });
    let details = lines.collect::<Vec<_>>().join("; ");
    (!checks.is_empty()).then_some(CheckResult { passed, details })
}
