//! The machine that a job runs on.

use crate::core_name;
use crate::energy::EnergyModel;
use crate::for_core::scheduler_of;
use crate::registers::RegisterChoice;
use crate::sampling::Time;
use crate::timeline::TimelineWindow;
use config::GpuConfig;
use exec::OutOfBounds;
use gpu::HostThreads;
use sm::CoreOptions;
use std::num::NonZeroU64;
use workloads::Form;

/// The machine a job runs on.
#[derive(Clone, Debug)]
pub struct Setup {
    /// GPU description, overrides applied.
    pub gpu: GpuConfig,
    /// Core design, one of [`cores`](crate::cores()); with a scalar path if
    /// [`SCALAR_CHOICES`](crate::SCALAR_CHOICES) follow it, as in `inorder+scalar`.
    pub core: String,
    /// Warp scheduler, one of [`schedulers`](crate::schedulers) with its parameters, as `two_level:active=4`;
    /// the GPU's own if absent.
    pub scheduler: Option<String>,
    /// Overrides as the user wrote them, for the report.
    pub settings: Vec<String>,
    /// Core cycles after which the run ends as if interrupted.
    pub max_cycles: Option<u64>,
    /// Ends the run as failed when all warps have repeated themselves and changed nothing for this number of
    /// core cycles ([`gpu::Livelock`]). `None`: such a run continues until it is interrupted.
    pub livelock_cycles: Option<NonZeroU64>,
    /// Which code of a bundled workload is run.
    pub code: Form,
    /// Which registers PTX runs with.
    pub registers: RegisterChoice,
    /// Whether machine code of another architecture than the GPU's may run on it.
    pub any_architecture: bool,
    /// Bytes of device memory before the first allocation, a multiple of 256.
    pub shift_addresses: u64,
    /// Stack of a thread where machine code does not bound its own, if not what CUDA gives by default or
    /// what a launch file sets.
    pub stack_bytes: Option<u32>,
    /// Whether each instruction is checked against the program order of its warp: the report has the
    /// findings. Takes about twice as long.
    pub audit: bool,
    /// Whether issue slots, latencies and accesses are counted by instruction: the report has the profile.
    pub profile: bool,
    /// SMs and cycles to record: the report has the timelines.
    pub timeline: Option<TimelineWindow>,
    /// Effect of accesses of kernels to global memory outside all allocations.
    pub out_of_bounds: OutOfBounds,
    /// Whether memory accesses are checked for reads of unwritten memory and for races: the report has the
    /// findings.
    pub check_memory: bool,
    /// Energy model: by the GPU description's choice; a mistake there is reported
    /// when a job is run.
    pub energy: Result<Option<EnergyModel>, String>,
    /// Interval in core cycles of power over time, if that is requested.
    pub power_interval: Option<NonZeroU64>,
    /// Interval in core cycles of statistics over time, if they are requested; the interval of power, if both are.
    pub sample_interval: Option<NonZeroU64>,
    /// Whether the report has an overview of statistics and power over time, in some hundreds of intervals, if no interval
    /// is given.
    pub overview: bool,
    /// The part of the run that is simulated in time.
    pub time: Time,
    /// Host threads, which runs at the same time share. Results do not depend on them.
    pub threads: HostThreads,
}

impl Setup {
    /// `gpu` as it is described, with the core design that it names, running PTX.
    pub fn new(gpu: GpuConfig) -> Self {
        Self {
            energy: EnergyModel::of(&gpu),
            power_interval: None,
            sample_interval: None,
            overview: false,
            time: Time::All,
            threads: HostThreads::default(),
            core: gpu.usual_core().to_owned(),
            gpu,
            scheduler: None,
            settings: Vec::new(),
            max_cycles: None,
            livelock_cycles: None,
            code: Form::Ptx,
            registers: RegisterChoice::default(),
            any_architecture: false,
            shift_addresses: 0,
            stack_bytes: None,
            audit: false,
            profile: false,
            timeline: None,
            out_of_bounds: OutOfBounds::default(),
            check_memory: false,
        }
    }

    /// The warp scheduler of its SMs: the chosen one, else the core design's own, else the description's.
    pub(crate) fn scheduler_of_sms(&self) -> &str {
        let own = || scheduler_of(&self.core).unwrap_or(&self.gpu.sm.issue.scheduler);
        self.scheduler.as_deref().unwrap_or_else(own)
    }

    /// Choices of behaviour for its SMs.
    ///
    /// # Errors
    /// The name of the core design makes no sense.
    pub(crate) fn core_options(&self) -> Result<CoreOptions, String> {
        let scalar = core_name::scalar_path_of(&self.core)?;
        Ok(CoreOptions { scheduler: Some(self.scheduler_of_sms().to_owned()), scalar, ..CoreOptions::default() })
    }

    /// Whether SMs have observers.
    pub(crate) fn is_watched(&self) -> bool {
        self.audit || self.profile || self.timeline.is_some()
    }

    /// Whether the user has chosen the value of `key`.
    pub(crate) fn sets(&self, key: &str) -> bool {
        self.settings.iter().any(|setting| setting.split('=').next().is_some_and(|name| name.trim() == key))
    }
}
