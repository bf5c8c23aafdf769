//! Options of a run, and the run of a workload, a launch file or a trace.

use crate::failure::{self, bad_input};
use crate::monitor::Watch;
use crate::outcome::{self, Outcome};
use config::GpuConfig;
use lab::energy::EnergyModel;
use lab::timeline::{Cycles, TimelineWindow};
use lab::{HostThreads, Job, RegisterChoice, RegisterMode, Setup};
use pyo3::prelude::*;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::sync::LazyLock;
use workloads::launchfile::{LaunchFile, ModuleOverride, Overrides};
use workloads::{Form, Size, suite};

/// The GPU that a run takes by default.
const USUAL_GPU: &str = "rtx2060s";

/// SMs of a timeline, and its first cycle and the one after the last.
type Window = (Vec<u16>, Option<(u64, u64)>);

/// The machine of a run, and what is observed: the entries of a dict.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Options {
    gpu: Option<PathBuf>,
    core: String,
    scheduler: Option<String>,
    /// `key=value` of the GPU description.
    settings: Vec<String>,
    code: String,
    registers: Option<String>,
    max_registers: Option<u32>,
    any_architecture: bool,
    stack_bytes: Option<u32>,
    out_of_bounds: String,
    energy_model: Option<PathBuf>,
    sample: Option<NonZeroU64>,
    max_cycles: Option<u64>,
    livelock_cycles: u64,
    audit: bool,
    check_memory: bool,
    profile: bool,
    timeline: Option<Window>,
    /// What is simulated in time.
    time: String,
    threads: Option<usize>,
}

/// The host threads of runs that name none: runs at the same time share them.
static HOST: LazyLock<HostThreads> = LazyLock::new(HostThreads::all);

impl Options {
    /// The machine; `code` is what "auto" means, `named` the GPU where none is given.
    pub fn setup(self, code: impl FnOnce(&GpuConfig) -> Form, named: Option<PathBuf>) -> PyResult<Setup> {
        lab::check_core(&self.core).map_err(bad_input)?;
        self.scheduler.as_deref().map_or(Ok(()), lab::check_scheduler).map_err(bad_input)?;
        let named = self.gpu.or(named).unwrap_or_else(|| USUAL_GPU.into());
        let gpu = config::load_with(&named, &self.settings).map_err(bad_input)?;
        let energy =
            self.energy_model.map_or_else(|| EnergyModel::of(&gpu), |model| EnergyModel::named(&model, &gpu).map(Some));
        let mode = self.registers.as_deref().map(|name| {
            let known = RegisterMode::ALL.map(RegisterMode::name);
            let found = RegisterMode::ALL.into_iter().find(|mode| mode.name() == name);
            found.ok_or_else(|| failure::unknown("registers", name, &known))
        });
        let mode = mode.transpose()?;
        let code = match &*self.code {
            "ptx" => Form::Ptx,
            "sass" => Form::Sass,
            "auto" if mode.is_some() || lab::needs_ptx(&self.core) => Form::Ptx,
            "auto" => code(&gpu),
            other => return Err(failure::unknown("code", other, &["auto", "ptx", "sass"])),
        };
        let window = |(sms, cycles): Window| TimelineWindow {
            cycles: cycles.map_or(Cycles::First(2000), |(from, to)| Cycles::Range(from..to)),
            sms,
            warps: u128::MAX,
            kernel: None,
        };
        let has_power = energy.as_ref().is_ok_and(Option::is_some) && lab::has_energy(&self.core);
        Ok(Setup {
            energy,
            core: self.core,
            scheduler: self.scheduler,
            settings: self.settings,
            code,
            registers: RegisterChoice { mode: mode.unwrap_or_default(), most: self.max_registers },
            any_architecture: self.any_architecture,
            stack_bytes: self.stack_bytes,
            out_of_bounds: self.out_of_bounds.parse().map_err(bad_input)?,
            power_interval: self.sample.filter(|_| has_power),
            sample_interval: self.sample,
            max_cycles: self.max_cycles,
            livelock_cycles: NonZeroU64::new(self.livelock_cycles),
            audit: self.audit,
            check_memory: self.check_memory,
            profile: self.profile,
            timeline: self.timeline.map(window),
            time: self.time.parse().map_err(bad_input)?,
            threads: self.threads.map_or_else(|| HOST.clone(), HostThreads::new),
            // Whether a page or a file for Perfetto will be asked for is not known yet.
            overview: true,
            ..Setup::new(gpu)
        })
    }
}

/// What runs: the entries of a dict.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct What {
    /// A bundled workload, or the path of a launch file or a trace.
    name: PathBuf,
    size: Option<String>,
    params: Vec<(String, String)>,
    seed: Option<u64>,
    /// Files in place of the modules of a launch file.
    modules: Vec<(Option<String>, PathBuf)>,
    concurrent_streams: bool,
}

impl What {
    fn job(self) -> PyResult<Job> {
        let text = self.name.to_string_lossy().into_owned();
        let size = self.size.as_deref().map(|name| {
            let known = Size::ALL.map(Size::name);
            Size::ALL.into_iter().find(|size| size.name() == name).ok_or_else(|| failure::unknown("size", name, &known))
        });
        let size = size.transpose()?;
        if let Ok(workload) = suite::find(&text) {
            let number = |(name, value): (String, String)| match value.parse::<u64>() {
                Ok(number) => Ok((name, number)),
                Err(_) => Err(bad_input(format!("{name}={value}: parameters of `{text}` are whole numbers"))),
            };
            let params = self.params.into_iter().map(number).collect::<PyResult<Vec<_>>>()?;
            workload.params(size.unwrap_or_default(), &params).map_err(bad_input)?;
            let params = params.into_iter().collect();
            let (size, seed) = (size.unwrap_or_default(), self.seed.unwrap_or(1));
            return Ok(Job::Workload { name: workload.name.to_owned(), size, params, seed });
        }
        if size.is_some() || self.seed.is_some() {
            return Err(bad_input(format!("`{text}`: size and seed are for bundled workloads")));
        }
        if lab::is_trace(&self.name) {
            return Ok(Job::Trace { path: self.name, concurrent_streams: self.concurrent_streams });
        }
        if !self.name.exists() {
            let known: Vec<&str> = suite::ALL.iter().map(|workload| workload.name).collect();
            let problem = workloads::suggest::unknown("workload", &text, &known);
            return Err(bad_input(format!("{problem}; and there is no such file")));
        }
        let modules = self.modules.into_iter().map(|(name, path)| ModuleOverride { name, path }).collect();
        let overrides = Overrides { values: self.params, modules };
        LaunchFile::load(&self.name, &overrides).map_err(bad_input)?;
        Ok(Job::LaunchFile { path: self.name, overrides })
    }
}

/// The GPU that a job names itself.
fn gpu_of(job: &Job) -> Option<PathBuf> {
    match job {
        Job::LaunchFile { path, overrides } => LaunchFile::load(path, overrides).ok()?.gpu(),
        Job::Workload { .. } | Job::Trace { .. } => None,
    }
}

/// Which code of a bundled workload runs on all of `gpus` and `cores`: "sass" or "ptx".
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "what Python gives is copied")]
pub fn usual_code(name: &str, gpus: Vec<PathBuf>, cores: Vec<String>) -> PyResult<&'static str> {
    let Ok(workload) = suite::find(name) else { return Ok("ptx") };
    let gpus = gpus.iter().map(|gpu| config::load(gpu).map_err(bad_input)).collect::<PyResult<Vec<_>>>()?;
    let is_sass = !cores.iter().any(|core| lab::needs_ptx(core))
        && workload.usual_form(gpus.iter().map(|gpu| gpu.sm_version)) == Form::Sass;
    Ok(if is_sass { "sass" } else { "ptx" })
}

/// Runs a workload, a launch file or a trace. Other Python threads run meanwhile.
#[pyfunction]
pub fn run(py: Python<'_>, what: What, options: Options, progress: Option<Py<PyAny>>) -> PyResult<Outcome> {
    let job = what.job()?;
    let usual = |gpu: &GpuConfig| match &job {
        Job::Workload { name, .. } => {
            suite::find(name).map_or(Form::Ptx, |workload| workload.usual_form([gpu.sm_version]))
        }
        Job::LaunchFile { .. } | Job::Trace { .. } => Form::Ptx,
    };
    let setup = options.setup(usual, gpu_of(&job))?;
    check_observed(&setup)?;
    let (mut watch, stopped) = Watch::new(progress);
    let ran = py.detach(|| lab::run(&setup, &job, &mut watch));
    stopped.check()?;
    match ran {
        Ok(report) => Ok(Outcome::new(report, setup.gpu)),
        Err(error) => Err(outcome::raised(py, error, &setup.gpu)),
    }
}

/// Checks that the SMs of the timeline are there.
pub fn check_observed(setup: &Setup) -> PyResult<()> {
    let shown = setup.timeline.iter().flat_map(|window| &window.sms);
    match shown.copied().find(|sm| u32::from(*sm) >= setup.gpu.sm_count) {
        Some(sm) => Err(bad_input(format!("SM {sm}: {} has SMs 0 to {}", setup.gpu.name, setup.gpu.sm_count - 1))),
        None => Ok(()),
    }
}
