//! Runs a job on a set-up GPU.

use crate::core_name::CoreName;
use crate::cores::Build;
use crate::designs::{ForCore, check_core_on};
use crate::energy::EnergyModel;
use crate::registers::RegisterChoice;
use crate::report::{CheckResult, Report};
use crate::{CORES, SimulatedDevice, for_core};
use config::GpuConfig;
use exec::LiveStream;
use kit::text::counted;
use sm::{
    ConfigOf, CoreDesign, CoreOptions, CoreSpec, Findings, IssuePolicy, MaskOf, Structure, TimingTable, WarpMask,
};
use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::ops::ControlFlow;
use std::path::PathBuf;
use workloads::launchfile::{LaunchError, LaunchFile};
use workloads::{Check, DeviceError, Form, Size, WorkloadError, suggest, suite};

/// The machine a job runs on.
#[derive(Clone, Debug)]
pub struct Setup {
    /// GPU description, overrides applied.
    pub gpu: GpuConfig,
    /// Core design, one of [`cores`](crate::cores); with a scalar path if [`SCALAR_CHOICES`](crate::SCALAR_CHOICES)
    /// stand behind it, as in `inorder+scalar`.
    pub core: String,
    /// Warp scheduler, one of [`schedulers`](crate::schedulers); the GPU's own if absent.
    pub scheduler: Option<String>,
    /// Overrides as the user wrote them, for the report.
    pub settings: Vec<String>,
    /// Ends the run, as if interrupted, after so many core cycles.
    pub max_cycles: Option<u64>,
    /// Ends the run as failed when all warps have repeated themselves and changed nothing for so many core
    /// cycles ([`gpu::Livelock`]). `None`: such a run continues until it is interrupted.
    pub livelock_cycles: Option<NonZeroU64>,
    /// Which code of a bundled workload is run.
    pub code: Form,
    /// Which registers PTX runs with.
    pub registers: RegisterChoice,
    /// Whether machine code of another architecture than the GPU's may run on it.
    pub any_architecture: bool,
    /// Stack of a thread where machine code does not bound its own, if not what CUDA gives by default or
    /// what a launch file says.
    pub stack_bytes: Option<u32>,
    /// Whether each instruction is checked against the program order of its warp: the report has the
    /// findings. Takes about twice as long.
    pub audit: bool,
    /// What energy and power are computed with: as the GPU description says; a mistake there is told
    /// when a job is run.
    pub energy: Result<Option<EnergyModel>, String>,
    /// Power over time is wanted, every so many core cycles.
    pub power_interval: Option<NonZeroU64>,
}

impl Setup {
    /// The in-order core on `gpu` as it is described, running PTX.
    pub fn new(gpu: GpuConfig) -> Self {
        Self {
            energy: EnergyModel::of(&gpu),
            power_interval: None,
            gpu,
            core: CORES[0].0.to_owned(),
            scheduler: None,
            settings: Vec::new(),
            max_cycles: None,
            livelock_cycles: None,
            code: Form::Ptx,
            registers: RegisterChoice::default(),
            any_architecture: false,
            stack_bytes: None,
            audit: false,
        }
    }

    /// Choices of behaviour for its SMs.
    ///
    /// # Errors
    /// The name of the core design makes no sense.
    pub(crate) fn core_options(&self) -> Result<CoreOptions, String> {
        let scalar = CoreName::parse(&self.core)?.scalar;
        Ok(CoreOptions { scheduler: self.scheduler.clone(), scalar, ..CoreOptions::default() })
    }

    /// Whether the user has chosen the value of `key`.
    pub(crate) fn sets(&self, key: &str) -> bool {
        self.settings.iter().any(|setting| setting.split('=').next().is_some_and(|name| name.trim() == key))
    }
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
    LaunchFile {
        /// The file.
        path: PathBuf,
        /// Replacements for entries of its `[values]`: name and expression.
        values: Vec<(String, String)>,
    },
    /// A trace.
    Trace {
        /// A `kernelslist.g` or a folder that holds one; a file of our own format.
        path: PathBuf,
        /// Whether kernels of different streams run at the same time where the GPU lets them.
        /// Accel-Sim runs one after the other.
        concurrent_streams: bool,
    },
}

/// How far a run has come.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    /// Kernel that runs (the oldest one, where several do).
    pub kernel: String,
    /// Kernel launches that have ended.
    pub kernels_done: u32,
    /// Kernel launches that there will be, where that is known beforehand.
    pub kernels_total: Option<u32>,
    /// Share of the run's CTAs that have ended, where their number is known beforehand.
    pub share_done: Option<f64>,
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

impl<M: Monitor + ?Sized> Monitor for &mut M {
    fn progress(&mut self, progress: &Progress) -> ControlFlow<()> {
        (**self).progress(progress)
    }
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

impl Job {
    /// Every file that it reads, as far as known before it runs.
    pub fn inputs(&self) -> Vec<PathBuf> {
        match self {
            Job::Workload { .. } => Vec::new(),
            Job::LaunchFile { path, values } => {
                LaunchFile::load(path, values).map_or_else(|_| vec![path.clone()], |file| file.inputs())
            }
            Job::Trace { path, .. } => crate::trace::inputs(path),
        }
    }

    /// Every file that it writes.
    pub fn outputs(&self) -> Vec<PathBuf> {
        match self {
            Job::LaunchFile { path, values } => {
                LaunchFile::load(path, values).map_or_else(|_| Vec::new(), |file| file.outputs())
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

/// The hardware structures of the core design that `setup` names, in an SM of its GPU.
///
/// # Errors
/// There is no such design or scheduler, or the description cannot be built.
pub fn structures(setup: &Setup) -> Result<Vec<Structure>, RunError> {
    struct Build(CoreSpec);
    impl ForCore for Build {
        type Output = Vec<Structure>;
        fn with<P: CoreDesign + 'static>(self, policy: &ConfigOf<P>) -> Vec<Structure> {
            P::Issue::new(policy, &self.0).structures()
        }
    }
    let options = setup.core_options().map_err(RunError::input)?;
    let spec = CoreSpec::new(&setup.gpu, TimingTable::Sass, options).map_err(|e| RunError::input(e.to_string()))?;
    let scalar = spec.options.scalar.map_or(Vec::new(), |scalar| scalar.structures(&spec));
    let build = if spec.sm.max_warps as usize <= u64::SLOTS { for_core::<u64, _> } else { for_core::<u128, _> };
    check_core_on(&setup.core, &spec).map_err(RunError::input)?;
    let mut all = build(&setup.core, Build(spec)).map_err(RunError::input)?;
    all.extend(scalar);
    Ok(all)
}

/// Runs `job` on a GPU set up like `setup`, telling `monitor` how far it is.
///
/// An interruption is no error: the report says so and holds what was simulated.
///
/// # Errors
/// See [`RunError`].
pub fn run(setup: &Setup, job: &Job, monitor: &mut dyn Monitor) -> Result<Report, RunError> {
    setup.energy.as_ref().map_err(|problem| RunError::input(problem.clone()))?;
    if let Job::Trace { path, concurrent_streams } = job {
        return crate::trace::run(setup, path, *concurrent_streams, monitor);
    }
    let mut device = SimulatedDevice::watched(setup, Box::new(monitor)).map_err(|e| RunError::input(e.to_string()))?;
    run_on(&mut device, setup, job)
}

/// As [`run`], with each instruction checked against the program order of its warp.
///
/// # Errors
/// See [`RunError`]. A violation is none.
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
    let build = |spec, state| Ok(Build::<LiveStream> { setup, spec, shared: state }.with::<P>(policy));
    let device = SimulatedDevice::around(setup, Box::new(monitor), build);
    run_on(&mut device.map_err(|e| RunError::input(e.to_string()))?, setup, job)
}

/// Runs `job` on `device`, which is set up like `setup`.
pub(crate) fn run_on(device: &mut SimulatedDevice<'_>, setup: &Setup, job: &Job) -> Result<Report, RunError> {
    let (workload, done) = match job {
        Job::Workload { name, size, params, seed } => run_workload(device, setup.code, name, size, params, *seed)?,
        Job::LaunchFile { path, values } => {
            let file = LaunchFile::load(path, values).map_err(|e| RunError::input(e.to_string()))?;
            let outcome = file.run(device);
            let done = outcome.map_err(Failure::from).map(|o| {
                let written = o.written.iter().map(|p| format!("wrote {}", p.display()));
                (o.checks, o.prints.into_iter().chain(written).collect())
            });
            (path.display().to_string(), done)
        }
        Job::Trace { path, .. } => {
            let message = format!("`{}` is a trace: what its warps did is known already", path.display());
            return Err(RunError::input(message));
        }
    };
    let mut report = report_of(device, workload);
    match done {
        Ok((checks, output)) => {
            report.output.extend(output);
            report.check = check_result(&checks);
            Ok(report)
        }
        Err(_) if report.interrupted || kit::stop::requested() => Ok(Report { interrupted: true, ..report }),
        Err(Failure { message, bad_input }) => Err(RunError::after(report, message, bad_input)),
    }
}

impl RunError {
    /// A run that failed, with what `report` knows of it if anything ran.
    pub(crate) fn after(report: Report, message: String, bad_input: bool) -> Self {
        let report = Report { error: Some(message.clone()), ..report };
        let partial = (!report.kernels.is_empty()).then(|| Box::new(report));
        Self { message, bad_input, partial }
    }

    pub(crate) fn input(message: String) -> Self {
        Self { message, bad_input: true, partial: None }
    }
}

/// Why a job did not end well.
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

impl From<LaunchError> for Failure {
    fn from(error: LaunchError) -> Self {
        match error {
            LaunchError::Device(error) => error.into(),
            error @ LaunchError::Unwritten { .. } => Self { message: error.to_string(), bad_input: false },
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

/// Comparisons made and lines to show, or why there are none.
type Done = Result<(Vec<Check>, Vec<String>), Failure>;

fn run_workload(
    device: &mut SimulatedDevice<'_>,
    form: Form,
    name: &str,
    size: &str,
    params: &BTreeMap<String, u64>,
    seed: u64,
) -> Result<(String, Done), RunError> {
    let input = |e: WorkloadError| RunError::input(e.to_string());
    let workload = suite::find(name).map_err(input)?;
    let known = Size::ALL.map(Size::name);
    let size = Size::ALL
        .into_iter()
        .find(|s| s.name() == size)
        .ok_or_else(|| RunError::input(format!("there is no size `{size}`{}", suggest::among(size, &known))))?;
    let given: Vec<_> = params.iter().map(|(name, value)| (name.clone(), *value)).collect();
    let params = workload.params(size, &given).map_err(input)?;
    let mut title = format!("{name} ({}", size.name());
    params.iter().for_each(|(name, value)| title += &format!(", {name}={value}"));
    title += &format!(", seed={seed})");
    let outcome = workload.run(device, form, &params, seed);
    Ok((title, outcome.map(|o| (o.checks, Vec::new())).map_err(Failure::from)))
}

/// What there is to report of the device, whatever came of the job.
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
