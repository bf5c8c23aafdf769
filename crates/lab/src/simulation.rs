//! A simulation: a machine with its launches, meter and monitor, and the report.

use crate::checkpoint::Keeper;
use crate::diagnosis;
use crate::engine::{Engine, LaunchCode, Step};
use crate::for_core::{trusts_control_bits, unread_keys};
use crate::listing::SourcePlace;
use crate::memory_checks::{self, MemoryChecks};
use crate::meter::Meter;
use crate::monitor::{Details, Monitor, Progress};
use crate::packed::PackedStats;
use crate::profile::{Levels, Profile};
use crate::report::{
    HostFigures, HostScaling, KernelReport, KernelTotal, OccupancyReport, RegisterSource, Report, SCHEMA,
};
use crate::samples::{Overview, SampleSeries};
use crate::sampling::Sampler;
use crate::setup::Setup;
use crate::source::Source;
use crate::timeline::SmTimeline;
use config::GpuConfig;
use energy::Energy;
use gpu::{AnySnapshot, CoreReport, KernelRun, MachineError, Period, StatInfo, Stats, StreamId, Table, Value, View};
use isa::{KernelId, LaunchShape, Program};
use kit::persist::Archive;
use kit::text::counted;
use kit::{Cycle, NEVER};
use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use std::time::{Duration, Instant};
use workloads::Form;
use workloads::device::MOST_LAUNCHES;

/// Time between two reports of progress.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// Launches that may wait for their end. Before one more the host waits, as with CUDA, so
/// that launches in a loop need no memory in advance.
pub(crate) const MOST_PENDING: usize = 1024;

/// A launch as its report describes it.
pub(crate) struct Launched {
    /// Number of the launch, from 0; those that are not simulated have numbers, too.
    pub number: u32,
    pub name: String,
    pub registers: RegisterSource,
    pub code: Form,
    pub shape: LaunchShape,
    pub stream: StreamId,
}

/// The size of a run, known beforehand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected {
    pub kernels: u32,
    pub ctas: u64,
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 1.0 } else { part as f64 / whole as f64 }
}

/// Figures of the ended launches of a kernel that no counter has.
#[derive(Clone, Debug, Default)]
struct KernelSum {
    launches: u64,
    /// Cycles of launch latency.
    wait_cycles: u64,
    energy: Option<Energy>,
}

/// A machine with its launches and its figures so far.
pub(crate) struct Simulation<'m> {
    machine: Box<dyn Engine>,
    setup: Setup,
    monitor: Box<dyn Monitor + 'm>,
    launches: Vec<Launched>,
    /// A launch has had code without control bits.
    has_unscheduled_code: bool,
    reports: Vec<KernelReport>,
    /// By name of the kernel.
    sums: BTreeMap<String, KernelSum>,
    /// Launches that have been reported.
    ended: usize,
    /// The size of the whole run, if it is known.
    pub expected: Option<Expected>,
    /// CTAs of the launches that have ended.
    ctas_ended: u64,
    /// Cycle in which the last of them ended.
    cycles_ended: u64,
    interrupted: bool,
    host_time: Duration,
    /// Where the text of the sources of what runs is found.
    pub sources: SourcePlace,
    /// When the monitor was last called: many short kernels take long together.
    last_asked: Instant,
    meter: Meter,
    /// Statistics over time, if they are requested.
    samples: Option<SampleSeries>,
    /// Interval of the samples that the machine gives.
    interval: Option<NonZeroU64>,
    /// Whether the machine keeps samples for an overview.
    overview: bool,
    /// Keeps the checkpoints of the run, if there are any.
    keeper: Option<Keeper>,
    /// Choice of timed launches, unless all are.
    pub sampler: Option<Box<Sampler>>,
}

/// Why a simulation does not continue.
#[derive(Debug)]
pub(crate) enum Halt {
    Machine(MachineError),
    /// It does not come back to its checkpoint: why.
    Checkpoint(String),
}

impl From<MachineError> for Halt {
    fn from(error: MachineError) -> Self {
        Self::Machine(error)
    }
}

/// Samples that the machine holds before they become rows of a table, which take a tenth of the memory; more if there
/// are more between two calls of the monitor.
const MOST_HELD_SAMPLES: u64 = 256;

/// Intervals of an overview: the shortest, in core cycles, and their maximum number.
const OVERVIEW: (NonZeroU64, usize) = (NonZeroU64::new(512).unwrap(), 480);

impl<'m> Simulation<'m> {
    /// A simulation on `machine`, which is set up like `setup`.
    pub fn new(mut machine: Box<dyn Engine>, setup: &Setup, monitor: Box<dyn Monitor + 'm>) -> Self {
        machine.set_threads(setup.threads.clone());
        let meter = Meter::new(setup, &*machine.counters().core);
        let interval = meter.interval().or(setup.sample_interval);
        let overview = setup.overview && interval.is_none();
        if let Some(interval) = interval {
            machine.sample_every(interval);
        } else if overview {
            let (shortest, most) = OVERVIEW;
            machine.sample_at_most(shortest, most);
        }
        if let Some(cycles) = setup.livelock_cycles {
            machine.watch_for_livelock(cycles);
        }
        Self {
            meter,
            machine,
            setup: setup.clone(),
            monitor,
            launches: Vec::new(),
            has_unscheduled_code: false,
            reports: Vec::new(),
            sums: BTreeMap::new(),
            ended: 0,
            expected: None,
            ctas_ended: 0,
            cycles_ended: 0,
            interrupted: false,
            host_time: Duration::ZERO,
            sources: SourcePlace::default(),
            last_asked: Instant::now(),
            samples: setup.sample_interval.map(|_| SampleSeries::default()),
            interval,
            overview,
            keeper: None,
            sampler: Sampler::new(&setup.time, setup.gpu.clocks.core_mhz * 1e6),
        }
    }

    /// The run leaves checkpoints, or continues from one, as `keeper` says. Nothing has been launched.
    ///
    /// # Errors
    /// The machine has no state that can be kept.
    pub fn keep_checkpoints(&mut self, keeper: Keeper) -> Result<(), String> {
        let kept = self.machine.persist(&mut Archive::writer());
        kept.map_err(|why| format!("no checkpoints of core `{}`: {why}", self.setup.core))?;
        if keeper.leaves_checkpoints() {
            self.machine.record_steps();
        }
        self.keeper = Some(keeper);
        Ok(())
    }

    /// Keeper of the run's checkpoints, if there is one.
    pub fn keeper(&mut self) -> Option<&mut Keeper> {
        self.keeper.as_mut()
    }

    /// Whether the run has yet to come back to its checkpoint: what the host does has been done.
    pub fn is_replaying(&self) -> bool {
        self.keeper.as_ref().is_some_and(Keeper::is_replaying)
    }

    /// Whether the next launch had ended before the checkpoint that the run has yet to come back to: nothing of it is
    /// looked at but its name and shape. A profile has its code.
    pub fn is_next_launch_over(&self) -> bool {
        !self.setup.profile && self.keeper.as_ref().is_some_and(|keeper| keeper.has_ended_before(self.launches.len()))
    }

    /// The instruction streams of the warps.
    pub fn source(&mut self) -> &mut Source {
        self.machine.source()
    }

    /// The machine's description and options.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Warp scheduler in use.
    pub fn scheduler(&self) -> &str {
        self.machine.scheduler()
    }

    /// Calls the monitor during long work before a launch, such as reading its trace.
    pub fn keep_on(&mut self) -> ControlFlow<()> {
        if self.last_asked.elapsed() < PROGRESS_EVERY {
            return ControlFlow::Continue(());
        }
        self.last_asked = Instant::now();
        let flow = self.monitor.progress(&Progress {
            kernels_done: self.ended as u32,
            kernels_total: self.expected.map(|all| all.kernels),
            share_done: self.expected.map(|all| share(self.ctas_ended, all.ctas)),
            cycles: self.cycles_ended,
            ..Progress::default()
        });
        self.interrupted |= flow.is_break();
        flow
    }

    /// Queues a launch of `program`, which must fit on an SM ([`check_fit`]); `live` are its operations and
    /// arguments, which traces do not have.
    ///
    /// # Errors
    /// The core cannot execute the program; all reasons.
    pub fn launch(
        &mut self,
        program: &Arc<Program>,
        live: Option<&exec::Launch>,
        launched: Launched,
    ) -> Result<KernelId, String> {
        if let Some(keeper) = &self.keeper {
            keeper.check_launch(self.launches.len(), &launched.name)?;
        }
        let loading = LaunchCode { name: &launched.name, program, form: launched.code, shape: launched.shape, live };
        let part = self.sampler.as_ref().and_then(|sampler| sampler.part(launched.number));
        let id = match part {
            Some(ctas) => self.machine.launch_ctas(&loading, launched.stream, ctas)?,
            None => self.machine.launch(&loading, launched.stream)?,
        };
        if let Some((address, bytes)) = self.machine.take_copied_code() {
            self.copied_to_device(address, bytes);
        }
        self.has_unscheduled_code |= program.insts().iter().all(|inst| inst.control_bits.is_none());
        self.launches.push(launched);
        Ok(id)
    }

    /// Bytes of the L2.
    pub fn l2_bytes(&self) -> u64 {
        self.machine.l2_bytes()
    }

    /// Something that was not simulated has replaced what was in L2.
    pub fn empty_l2(&mut self) {
        self.machine.empty_l2();
    }

    /// The host has copied data to the device, where the GPU keeps them in L2 if its description asks for it.
    pub fn copied_to_device(&mut self, address: u64, bytes: u64) {
        if self.setup.gpu.launch.host_copies_fill_l2 && !self.is_replaying() {
            self.machine.copied_to_device(address, bytes);
        }
    }

    /// Launches that have not ended.
    pub fn pending(&self) -> usize {
        self.launches.len() - self.ended
    }

    /// Runs until at most `pending` launches have not ended; gives those that have.
    ///
    /// # Errors
    /// As [`gpu::Machine::run`]; what has not ended is reported as far as it has come. The run does not come back to
    /// its checkpoint.
    pub fn run_to(&mut self, pending: usize) -> Result<Vec<KernelId>, Halt> {
        let mut ended = Vec::new();
        while self.pending() > pending {
            ended.extend(self.run_to_next_end(NEVER)?);
        }
        Ok(ended)
    }

    /// The cycle that comes next: all before it have been simulated.
    pub fn now(&self) -> Cycle {
        self.machine.now()
    }

    /// Runs until some launch has ended or until cycle `limit`; gives those that have ended.
    ///
    /// # Errors
    /// As [`Simulation::run_to`].
    pub fn run_to_next_end(&mut self, limit: Cycle) -> Result<Vec<KernelId>, Halt> {
        if self.is_replaying() {
            return self.step_again().map_err(Halt::Checkpoint);
        }
        let started = Instant::now();
        let (result, step) = loop {
            let (result, intervals) = self.run_to_pause(limit);
            match result {
                Some(result) => break (result, Step { intervals, ended: self.machine.take_ended() }),
                None => self.add_intervals(&intervals),
            }
        };
        self.host_time += started.elapsed();
        let ended = self.add_step(&step);
        if let Err(error) = result {
            self.interrupted |= matches!(error, MachineError::Interrupted);
            for run in self.machine.unfinished() {
                self.report(&run);
            }
            return Err(error.into());
        }
        self.keep();
        Ok(ended)
    }

    /// Runs the machine until there is something to tell, or until there may be many samples: `None`. Also returns the
    /// samples, except in an overview.
    fn run_to_pause(&mut self, limit: Cycle) -> (Option<Result<(), MachineError>>, Vec<AnySnapshot>) {
        let held = self.interval.map(|interval| interval.get().saturating_mul(MOST_HELD_SAMPLES));
        let mut watcher = Watcher {
            pause_at: held.map_or(NEVER, |cycles| self.machine.now().saturating_add(cycles)),
            paused: false,
            monitor: self.monitor.as_mut(),
            launches: &self.launches,
            kernels_done: self.ended as u32,
            expected: self.expected,
            ctas_ended: self.ctas_ended,
            last: &mut self.last_asked,
            max_cycles: self.setup.max_cycles,
            gpu: &self.setup.gpu,
        };
        let result = self.machine.run_to_next_end(limit, &mut |view| watcher.hear(view));
        let result = if watcher.paused { None } else { Some(result) };
        (result, if self.overview { Vec::new() } else { self.machine.take_samples() })
    }

    /// Adds what a run to a kernel's end has brought to the figures; gives the kernels that have ended.
    fn add_step(&mut self, step: &Step<Box<dyn CoreReport>>) -> Vec<KernelId> {
        self.add_intervals(&step.intervals);
        step.ended.iter().for_each(|run| self.add_up(run));
        step.ended.iter().map(|run| run.kernel).collect()
    }

    fn add_intervals(&mut self, intervals: &[AnySnapshot]) {
        for interval in intervals {
            self.meter.add_interval(interval);
            if let Some(samples) = &mut self.samples {
                samples.add(interval, &self.setup.gpu);
            }
        }
    }

    /// Takes a checkpoint, if the run leaves any and it is time to.
    fn keep(&mut self) {
        let Self { keeper, machine, reports, launches, .. } = self;
        let Some(keeper) = keeper.as_mut().filter(|keeper| keeper.leaves_checkpoints()) else { return };
        keeper.add_step(&machine.take_step(), reports);
        if machine.is_between_kernels() {
            let names = launches.iter().map(|launch| &launch.name[..]);
            keeper.keep(names, reports, |archive| machine.persist(archive));
        }
    }

    /// Repeats a run to a kernel's end from before the checkpoint. With the last one the machine is as it was there.
    fn step_again(&mut self) -> Result<Vec<KernelId>, String> {
        let Some(mut keeper) = self.keeper.take() else { return Ok(Vec::new()) };
        let step = keeper.step_again(|archive| self.machine.step_again(archive));
        let ended = step.map(|step| self.add_step(&step));
        let back = ended.and_then(|ended| {
            let Self { machine, launches, reports, .. } = self;
            keeper.come_back(launches.len(), reports, |archive| machine.persist(archive)).map(|()| ended)
        });
        self.keeper = Some(keeper);
        back
    }

    /// Reports a launch that has ended, and adds it to the others of its kernel.
    fn add_up(&mut self, run: &KernelRun<Box<dyn CoreReport>>) {
        let energy = self.report(run);
        if let (Some(sampler), Some(report)) = (&mut self.sampler, self.reports.last()) {
            let [cycles, instructions] =
                ["cycles", "warp_instructions"].map(|name| report.statistics.number(name) as u64);
            let ends = self.machine.take_cta_ends(run.kernel);
            sampler.ended(report.launch, cycles, instructions, &ends);
        }
        let sum = self.sums.entry(self.launches[run.kernel.index()].name.clone()).or_default();
        sum.launches += 1;
        sum.wait_cycles += run.ready - run.start;
        sum.energy = match (sum.energy.take(), energy) {
            (Some(sum), Some(next)) => Some(sum.and(&next)),
            (sum, next) => sum.or(next),
        };
    }

    /// Reports a launch; returns its energy.
    fn report(&mut self, run: &KernelRun<Box<dyn CoreReport>>) -> Option<Energy> {
        let Launched { number, name, registers, code, shape, stream } = &self.launches[run.kernel.index()];
        let gpu = &self.setup.gpu;
        let occupancy = sm::occupancy(&gpu.sm, shape);
        let energy = self.meter.of_kernel(&run.counters);
        let statistics = run.counters.statistics(run.ready - run.start, gpu, energy.as_ref());
        let report = KernelReport {
            launch: *number,
            name: name.clone(),
            stream: stream.0,
            code: *code,
            grid: shape.grid,
            block: shape.block,
            registers_per_thread: shape.registers_per_thread,
            register_source: *registers,
            shared_bytes: shape.shared_bytes,
            occupancy: OccupancyReport {
                ctas_per_sm: occupancy.ctas_per_sm,
                warps_per_sm: occupancy.warps_per_sm,
                theoretical_percent: f64::from(occupancy.warps_per_sm) / f64::from(gpu.sm.max_warps) * 100.0,
                limiter: occupancy.limiter.name().to_owned(),
            },
            start_cycle: run.start,
            statistics: PackedStats::sharing(&statistics, self.reports.first().map(|first| &first.statistics)),
        };
        self.ctas_ended += shape.ctas();
        self.cycles_ended = self.cycles_ended.max(run.end);
        self.ended += 1;
        self.reports.push(report);
        energy
    }

    /// Statistics of each kernel over its launches that have ended.
    fn by_kernel(&self) -> Vec<KernelTotal> {
        let mut totals: Vec<KernelTotal> = Vec::new();
        for (name, counted) in self.machine.by_kernel() {
            let sum = self.sums.get(&name).cloned().unwrap_or_default();
            let statistics = counted.statistics(sum.wait_cycles, &self.setup.gpu, sum.energy.as_ref());
            let statistics = PackedStats::sharing(&statistics, totals.first().map(|first| &first.statistics));
            totals.push(KernelTotal { name, launches: sum.launches, statistics });
        }
        totals
    }

    /// Launches that have ended, and after a failure or an interruption those that have not.
    pub fn reports(&self) -> &[KernelReport] {
        &self.reports
    }

    /// The run ends early: what is known is its report.
    pub fn interrupt(&mut self) {
        self.interrupted = true;
    }

    /// Whether the monitor or a limit ended the run.
    pub fn interrupted(&self) -> bool {
        self.interrupted
    }

    /// Adds time of the host that was spent beside the machine.
    pub fn add_host_time(&mut self, time: Duration) {
        self.host_time += time;
    }

    /// Host time spent simulating.
    pub fn host_time(&self) -> Duration {
        self.host_time
    }

    /// Statistics of the whole simulation so far.
    pub fn total(&mut self) -> Stats {
        let counted = self.machine.counters();
        self.statistics(&counted)
    }

    /// The statistics of the `counted` events.
    fn statistics(&self, counted: &AnySnapshot) -> Stats {
        counted.statistics(counted.launch.cycles, &self.setup.gpu, self.meter.of_run(counted).as_ref())
    }

    /// Remarks for the report.
    fn remarks(&mut self, timelines: &[SmTimeline]) -> Vec<String> {
        let mut remarks: Vec<String> = self.machine.remarks().iter().map(|&remark| remark.to_owned()).collect();
        let Setup { core, settings, .. } = &self.setup;
        let unread = unread_keys(core);
        let is_unread = |key: &str| unread.iter().any(|of| *of == key || of.ends_with('.') && key.starts_with(of));
        let set = settings.iter().filter_map(|setting| setting.split_once('=')).map(|(key, _)| key.trim());
        remarks.extend(set.filter(|key| is_unread(key)).map(|key| format!("`{key}` has no effect on core `{core}`")));
        if self.has_unscheduled_code && trusts_control_bits(core) {
            remarks.push(format!(
                "code without control bits, as PTX is: core `{core}` keeps its dependences by scoreboards"
            ));
        }
        if self.setup.audit && self.machine.findings().is_none() {
            remarks.push(format!("nothing to audit: core `{}` is not an SM and has no hazards", self.setup.core));
        }
        remarks.extend(self.keeper.as_ref().and_then(|keeper| keeper.trouble().map(str::to_owned)));
        remarks.extend(self.sampler.iter().flat_map(|sampler| sampler.remarks()));
        remarks.extend(memory_checks::remarks(&self.setup, self.machine.source()));
        remarks.extend(self.setup.timeline.iter().flat_map(|window| window.remarks(timelines)));
        remarks
    }

    /// The run over time; `rest` was counted after the last sample.
    fn over_time(&self, rest: AnySnapshot) -> Overview {
        let rest = Some(rest).filter(|rest| rest.cycles > 0);
        let intervals: Vec<AnySnapshot> = self.machine.samples().into_iter().chain(rest).collect();
        let mut samples = SampleSeries::default();
        intervals.iter().for_each(|interval| samples.add(interval, &self.setup.gpu));
        Overview { samples, power: self.meter.power_in(&intervals) }
    }

    fn profile(&mut self) -> Option<Profile> {
        let energy = self.meter.by_event(&self.machine.counters());
        let levels = Levels::of(&self.setup.gpu);
        self.machine.profile().map(|counted| Profile::of(&counted, levels, &self.sources, energy.as_ref()))
    }

    /// The report so far, of a run of `workload` that took `time`. It takes the reports of kernels and the
    /// samples with it: millions of them are not copied.
    pub fn summary(&mut self, workload: String, time: Duration) -> Report {
        let seconds = time.as_secs_f64();
        if let Some(keeper) = self.keeper.as_mut().filter(|_| self.interrupted || kit::stop::requested()) {
            keeper.write();
        }
        // Settles all cores, for what follows.
        let counted = self.machine.counters();
        let total = self.statistics(&counted);
        let timelines = self.machine.timelines(self.setup.gpu.sm.issue.width as usize);
        let rest = self.machine.since_sample();
        let power = self.meter.series(&rest);
        let mut samples = self.samples.as_mut().map(std::mem::take);
        if let Some(samples) = samples.as_mut().filter(|_| rest.cycles > 0) {
            samples.add(&rest, &self.setup.gpu);
        }
        let overview = self.overview.then(|| self.over_time(rest));
        let per_second = |name: &str| if seconds > 0.0 { total.number(name) / seconds } else { 0.0 };
        let report = Report {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            workload,
            gpu: self.setup.gpu.name.clone(),
            core: self.setup.core.clone(),
            scheduler: self.scheduler().to_owned(),
            settings: self.setup.settings.clone(),
            interrupted: self.interrupted,
            error: None,
            kernels: std::mem::take(&mut self.reports),
            host: HostFigures {
                seconds,
                cycles_per_second: per_second("total_cycles"),
                warp_instructions_per_second: per_second("warp_instructions"),
                peak_memory_bytes: crate::report::peak_memory_bytes(),
                scaling: self.setup.threads.scaling().map(|measured| HostScaling::of(&measured)),
            },
            total,
            l2_slice_accesses: counted.memory.l2_slices.0,
            by_kernel: self.by_kernel(),
            energy_model: self.meter.model_in_use(),
            power,
            samples,
            overview,
            remarks: self.remarks(&timelines),
            memory_checks: MemoryChecks::of(&self.setup, self.machine.source()),
            output: Vec::new(),
            check: None,
            grouping: None,
            audit: self.machine.findings().filter(|_| self.setup.audit),
            profile: self.profile(),
            sampling: self.sampler.as_ref().map(|sampler| sampler.report()),
            timelines,
            diagnosis: None,
            changes: None,
        };
        Report { diagnosis: diagnosis::of(&report, &self.setup.gpu), ..report }
    }
}

/// Whether a trace has no more launches than a run may have.
pub(crate) fn check_launches(launches: usize) -> Result<(), String> {
    let few = launches as u64 <= MOST_LAUNCHES;
    few.then_some(()).ok_or_else(|| format!("{launches} launches; {MOST_LAUNCHES} are the maximum of a run"))
}

/// Whether a CTA of `shape` fits on an SM; if not, which resource is too small.
pub(crate) fn check_fit(gpu: &GpuConfig, shape: &LaunchShape) -> Result<(), String> {
    let (sm, name) = (&gpu.sm, &gpu.name);
    if shape.shared_bytes > sm.max_shared_bytes_per_cta {
        let most = sm.max_shared_bytes_per_cta;
        return Err(format!(
            "a CTA needs {} of shared memory, of which {name} gives it {most} at most",
            counted(shape.shared_bytes.into(), "byte")
        ));
    }
    if shape.registers_per_thread > sm.max_registers_per_thread {
        let most = sm.max_registers_per_thread;
        return Err(format!(
            "a thread needs {}, of which {name} gives it {most} at most",
            counted(shape.registers_per_thread.into(), "register")
        ));
    }
    let occupancy = sm::occupancy(sm, shape);
    if occupancy.ctas_per_sm == 0 {
        return Err(format!(
            "a CTA of {} with {} each and {} of shared memory does not fit on an SM of {name}: too many {}",
            counted(shape.threads().into(), "thread"),
            counted(shape.registers_per_thread.into(), "register"),
            counted(shape.shared_bytes.into(), "byte"),
            occupancy.limiter.name()
        ));
    }
    if shape.cluster.is_some() && gpu.sm_version < 90 {
        return Err(format!("{name} (sm_{}) has no clusters: they need sm_90", gpu.sm_version));
    }
    if clusters_at_once(gpu, shape) == 0 {
        let most = gpu.gpcs().iter().map(Range::len).max().unwrap_or(0);
        return Err(format!(
            "a cluster of {} such CTAs does not fit on a GPC of {} of {name}",
            shape.cluster_ctas(),
            counted(most as u64, "SM")
        ));
    }
    Ok(())
}

/// Clusters of `shape` that a GPU can hold at a time; without clusters, CTAs.
pub fn clusters_at_once(gpu: &GpuConfig, shape: &LaunchShape) -> u64 {
    let (per_sm, size) = (u64::from(sm::occupancy(&gpu.sm, shape).ctas_per_sm), shape.cluster_ctas().max(1));
    gpu.gpcs().iter().map(|sms| sms.len() as u64 * per_sm / size).sum()
}

/// Calls the monitor at intervals and checks the limit on cycles.
struct Watcher<'a> {
    /// When the machine pauses, so that its samples are taken from it.
    pause_at: Cycle,
    paused: bool,
    monitor: &'a mut dyn Monitor,
    launches: &'a [Launched],
    kernels_done: u32,
    expected: Option<Expected>,
    ctas_ended: u64,
    last: &'a mut Instant,
    max_cycles: Option<u64>,
    gpu: &'a GpuConfig,
}

impl Watcher<'_> {
    fn hear(&mut self, view: &dyn View) -> ControlFlow<()> {
        let now = view.progress();
        if self.max_cycles.is_some_and(|most| now.cycles >= most) {
            return ControlFlow::Break(());
        }
        if self.last.elapsed() >= PROGRESS_EVERY {
            self.tell(view, &now)?;
        }
        self.paused = now.cycles >= self.pause_at;
        if self.paused { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Calls the monitor.
    fn tell(&mut self, view: &dyn View, now: &gpu::Progress) -> ControlFlow<()> {
        *self.last = Instant::now();
        let name = |id: KernelId| self.launches[id.index()].name.clone();
        self.monitor.progress(&Progress {
            kernel: now.kernel.map(name).unwrap_or_default(),
            kernels_done: self.kernels_done,
            kernels_total: self.expected.map(|all| all.kernels),
            share_done: self.expected.map(|all| share(self.ctas_ended + now.ctas_done, all.ctas)),
            ctas_done: now.ctas_done,
            ctas_total: now.ctas_total,
            cycles: now.cycles,
            warp_instructions: now.warp_instructions,
            details: self.monitor.wants_details().then(|| details(view, self.gpu)),
        })
    }
}

fn details(view: &dyn View, gpu: &GpuConfig) -> Details {
    let mut table = Table::default();
    view.counted().parts(Period { kernel_cycles: view.progress().cycles, gpu }, &mut table);
    let slot = |(info, value): &(Arc<StatInfo>, Value)| {
        let name = info.name.strip_prefix("slots.").filter(|name| *name != "all")?;
        let Value::Count(slots) = value else { return None };
        Some((name.to_owned(), *slots))
    };
    Details { issued: view.issued(), slots: table.0.0.iter().filter_map(slot).collect() }
}
