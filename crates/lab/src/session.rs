//! Launches on a machine of any core design: run, watched, reported.

use crate::energy::Meter;
use crate::engine::Engine;
use crate::report::{HostFigures, KernelReport, OccupancyReport, RegisterSource, Report};
use crate::run::{Monitor, Progress, Setup};
use crate::statistics::statistics;
use config::GpuConfig;
use gpu::{CoreReport, KernelRun, RunError, Stats, StreamId};
use isa::{KernelId, LaunchShape, WarpStream};
use kit::text::counted;
use sm::{Code, CoreSpec, Kernel, Occupancy};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};
use workloads::Form;
use workloads::device::MOST_LAUNCHES;

/// Time between two reports of progress.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// Launches that may wait for their end. Before one more the host waits, as with CUDA: what a program
/// launches in a loop takes no memory in advance.
const MOST_PENDING: usize = 1024;

/// What is remembered of a launch for its report.
pub(crate) struct LaunchRecord {
    pub name: String,
    pub registers: RegisterSource,
    pub code: Form,
}

/// How much a run will be, known beforehand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expected {
    /// Launches.
    pub kernels: u32,
    /// Their CTAs.
    pub ctas: u64,
}

/// A launch with what its report says of it.
struct Launched {
    record: LaunchRecord,
    shape: LaunchShape,
    occupancy: Occupancy,
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 1.0 } else { part as f64 / whole as f64 }
}

/// A machine, what was launched on it, and what came of it.
pub(crate) struct Session<'m, S: WarpStream> {
    pub engine: Box<dyn Engine<S>>,
    setup: Setup,
    monitor: Box<dyn Monitor + 'm>,
    /// The SMs.
    spec: Arc<CoreSpec>,
    launches: Vec<Launched>,
    reports: Vec<KernelReport>,
    /// Launches that have been reported.
    ended: usize,
    /// What there will be in all, if that is known.
    pub expected: Option<Expected>,
    /// CTAs of the launches that have ended.
    ctas_ended: u64,
    /// When the last of them ended.
    cycles_ended: u64,
    interrupted: bool,
    host_time: Duration,
    /// When the monitor last heard of the run: many short kernels take long, too.
    last_asked: Instant,
    meter: Meter,
}

impl<'m, S: WarpStream> Session<'m, S> {
    pub fn new(
        mut engine: Box<dyn Engine<S>>,
        spec: Arc<CoreSpec>,
        setup: &Setup,
        monitor: Box<dyn Monitor + 'm>,
    ) -> Self {
        let meter = Meter::new(setup);
        if let Some(interval) = meter.interval() {
            engine.sample_every(interval);
        }
        if let Some(cycles) = setup.livelock_cycles {
            engine.watch_for_livelock(cycles);
        }
        Self {
            meter,
            engine,
            setup: setup.clone(),
            monitor,
            spec,
            launches: Vec::new(),
            reports: Vec::new(),
            ended: 0,
            expected: None,
            ctas_ended: 0,
            cycles_ended: 0,
            interrupted: false,
            host_time: Duration::ZERO,
            last_asked: Instant::now(),
        }
    }

    /// Whether to go on with work that takes its time before a launch, such as reading its trace.
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

    /// Queues a launch, which must fit on an SM ([`check_fit`]).
    pub fn launch(&mut self, code: Arc<Code>, shape: LaunchShape, stream: StreamId, record: LaunchRecord) -> KernelId {
        let kernel = Kernel::new(code, shape, &self.spec);
        self.launches.push(Launched { record, shape, occupancy: kernel.occupancy });
        self.engine.launch(kernel, stream)
    }

    /// Launches that have not ended.
    pub fn pending(&self) -> usize {
        self.launches.len() - self.ended
    }

    /// Runs until all launches have ended.
    ///
    /// # Errors
    /// As [`gpu::Machine::run`]; what has not ended is reported as far as it has come.
    pub fn run(&mut self) -> Result<Vec<KernelId>, RunError> {
        self.run_with(|engine, watch| engine.run(watch))
    }

    /// Runs until some launch has ended; gives those that have.
    ///
    /// # Errors
    /// As [`Session::run`].
    pub fn run_to_next_end(&mut self) -> Result<Vec<KernelId>, RunError> {
        self.run_with(|engine, watch| engine.run_to_next_end(watch))
    }

    /// Runs until one more launch may wait; gives those that have ended.
    ///
    /// # Errors
    /// As [`Session::run`].
    pub fn make_room(&mut self) -> Result<Vec<KernelId>, RunError> {
        let mut ended = Vec::new();
        while self.pending() >= MOST_PENDING {
            ended.extend(self.run_to_next_end()?);
        }
        Ok(ended)
    }

    fn run_with(
        &mut self,
        run: impl FnOnce(&mut dyn Engine<S>, &mut dyn FnMut(gpu::Progress) -> ControlFlow<()>) -> Result<(), RunError>,
    ) -> Result<Vec<KernelId>, RunError> {
        let started = Instant::now();
        let mut watcher = Watcher {
            monitor: self.monitor.as_mut(),
            launches: &self.launches,
            kernels_done: self.ended as u32,
            expected: self.expected,
            ctas_ended: self.ctas_ended,
            last: &mut self.last_asked,
            max_cycles: self.setup.max_cycles,
        };
        let result = run(self.engine.as_mut(), &mut |progress| watcher.hear(progress));
        self.host_time += started.elapsed();
        self.engine.take_samples().iter().for_each(|interval| self.meter.add_interval(interval));
        let ended = self.engine.take_ended();
        ended.iter().for_each(|run| self.report(run));
        if let Err(error) = result {
            self.interrupted |= matches!(error, RunError::Interrupted);
            self.engine.unfinished().iter().for_each(|run| self.report(run));
            return Err(error);
        }
        Ok(ended.iter().map(|run| run.kernel).collect())
    }

    fn report(&mut self, run: &KernelRun<Box<dyn CoreReport>>) {
        let Launched { record, shape, occupancy } = &self.launches[run.kernel.index()];
        let slots = f64::from(self.setup.gpu.sm.max_warps);
        let mut report = KernelReport {
            launch: run.kernel.0,
            name: record.name.clone(),
            code: record.code,
            grid: shape.grid,
            block: shape.block,
            registers_per_thread: shape.registers_per_thread,
            register_source: record.registers,
            shared_bytes: shape.shared_bytes,
            occupancy: OccupancyReport {
                ctas_per_sm: occupancy.ctas_per_sm,
                warps_per_sm: occupancy.warps_per_sm,
                theoretical_percent: f64::from(occupancy.warps_per_sm) / slots * 100.0,
                limiter: occupancy.limiter.name().to_owned(),
            },
            start_cycle: run.start,
            statistics: statistics(
                &run.counters,
                run.ready - run.start,
                &self.setup.gpu,
                self.meter.of_kernel(&run.counters).as_ref(),
            ),
        };
        if let Some(first) = self.reports.first() {
            report.statistics.share_descriptions(&first.statistics);
        }
        self.ctas_ended += shape.ctas();
        self.cycles_ended = self.cycles_ended.max(run.end);
        self.ended += 1;
        self.reports.push(report);
    }

    /// Launches that have ended, and after a failure or an interruption those that have not.
    pub fn reports(&self) -> &[KernelReport] {
        &self.reports
    }

    /// Whether the monitor or the limit on cycles broke a run off.
    pub fn interrupted(&self) -> bool {
        self.interrupted
    }

    /// Host time spent simulating.
    pub fn host_time(&self) -> Duration {
        self.host_time
    }

    /// The whole session so far.
    pub fn total(&mut self) -> Stats {
        let counted = self.engine.counters();
        statistics(&counted, counted.launch.cycles, &self.setup.gpu, self.meter.of_run(&counted).as_ref())
    }

    /// The report so far, of a run of `workload` under `scheduler` that took `seconds`. It takes the
    /// reports of kernels with it: a million of them are not copied.
    pub fn summary(&mut self, workload: String, scheduler: &str, seconds: f64) -> Report {
        let total = self.total();
        let power = self.meter.series(&self.engine.since_sample());
        let per_second = |name: &str| if seconds > 0.0 { total.number(name) / seconds } else { 0.0 };
        Report {
            schema: 2,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            workload,
            gpu: self.setup.gpu.name.clone(),
            core: self.setup.core.clone(),
            scheduler: scheduler.to_owned(),
            settings: self.setup.settings.clone(),
            interrupted: self.interrupted,
            error: None,
            kernels: std::mem::take(&mut self.reports),
            host: HostFigures {
                seconds,
                cycles_per_second: per_second("total_cycles"),
                warp_instructions_per_second: per_second("warp_instructions"),
                peak_memory_bytes: crate::report::peak_memory_bytes(),
            },
            total,
            energy_model: self.meter.model_in_use(),
            power,
            remarks: Vec::new(),
            output: Vec::new(),
            check: None,
            audit: self.engine.findings(),
        }
    }
}

/// Whether a trace has no more launches than a run may have.
pub(crate) fn check_launches(launches: usize) -> Result<(), String> {
    let few = launches as u64 <= MOST_LAUNCHES;
    few.then_some(()).ok_or_else(|| format!("{launches} launches; {MOST_LAUNCHES} are the maximum of a run"))
}

/// Whether a CTA of `shape` fits on an SM; if not, what there is too little of.
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
    Ok(())
}

/// Tells the monitor, not too often, and watches the limit on cycles.
struct Watcher<'a> {
    monitor: &'a mut dyn Monitor,
    launches: &'a [Launched],
    kernels_done: u32,
    expected: Option<Expected>,
    ctas_ended: u64,
    last: &'a mut Instant,
    max_cycles: Option<u64>,
}

impl Watcher<'_> {
    fn hear(&mut self, now: gpu::Progress) -> ControlFlow<()> {
        if self.max_cycles.is_some_and(|most| now.cycles >= most) {
            return ControlFlow::Break(());
        }
        if self.last.elapsed() < PROGRESS_EVERY {
            return ControlFlow::Continue(());
        }
        *self.last = Instant::now();
        let name = |id: KernelId| self.launches[id.index()].record.name.clone();
        self.monitor.progress(&Progress {
            kernel: now.kernel.map(name).unwrap_or_default(),
            kernels_done: self.kernels_done,
            kernels_total: self.expected.map(|all| all.kernels),
            share_done: self.expected.map(|all| share(self.ctas_ended + now.ctas_done, all.ctas)),
            ctas_done: now.ctas_done,
            ctas_total: now.ctas_total,
            cycles: now.cycles,
            warp_instructions: now.warp_instructions,
        })
    }
}
