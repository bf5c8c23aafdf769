//! The simulated GPU as a device that programs load modules into and launch kernels on.

use crate::cores;
use crate::engine::Engine;
use crate::report::{KernelReport, OccupancyReport, RegisterSource, Stats};
use crate::run::{Monitor, Progress, Setup, Unattended};
use crate::statistics::statistics;
use exec::{DeviceState, GpuFacts, KernelError, LowerOptions, MemoryError};
use gpu::{KernelRun, RunError, Standing, StreamId};
use isa::KernelId;
use sm::{Code, CoreOptions, CoreSpec, Findings, TimingTable};
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};
use workloads::device::{
    Buffer, Code as ModuleCode, Device, DeviceError, Launch, ModuleId, ModuleSource, ParameterInfo, Registers,
};

/// Simulated device memory: as much as any GPU described here has.
const MEMORY_BYTES: u64 = 32 << 30;

/// Time between two reports of progress.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// What is remembered of a launch for its report.
struct LaunchRecord {
    name: String,
    registers: RegisterSource,
}

/// A GPU with a core design, simulated cycle by cycle.
pub struct SimulatedDevice<'m> {
    setup: Setup,
    engine: Box<dyn Engine>,
    spec: Arc<CoreSpec>,
    modules: Vec<exec::Loaded>,
    /// Static instructions resolved against the timing table, by module and kernel name.
    codes: HashMap<(u32, String), Arc<Code>>,
    launches: Vec<LaunchRecord>,
    reports: Vec<KernelReport>,
    monitor: Box<dyn Monitor + 'm>,
    /// Why nothing can be launched any more.
    broken: Option<String>,
    interrupted: bool,
    host_time: Duration,
}

fn other(error: impl std::fmt::Display) -> DeviceError {
    DeviceError::Other(error.to_string())
}

impl SimulatedDevice<'static> {
    /// An idle device that nobody watches.
    ///
    /// # Errors
    /// If there is no such core design or scheduler, or the description cannot be built.
    pub fn new(setup: &Setup) -> Result<Self, DeviceError> {
        Self::watched(setup, Box::new(Unattended))
    }
}

impl<'m> SimulatedDevice<'m> {
    /// An idle device that tells `monitor` of its progress.
    ///
    /// # Errors
    /// As [`SimulatedDevice::new`].
    pub fn watched(setup: &Setup, monitor: Box<dyn Monitor + 'm>) -> Result<Self, DeviceError> {
        Self::build(setup, monitor, false)
    }

    /// As [`SimulatedDevice::watched`], with an auditor at each SM.
    ///
    /// # Errors
    /// As [`SimulatedDevice::new`].
    pub fn audited(setup: &Setup, monitor: Box<dyn Monitor + 'm>) -> Result<Self, DeviceError> {
        Self::build(setup, monitor, true)
    }

    fn build(setup: &Setup, monitor: Box<dyn Monitor + 'm>, audited: bool) -> Result<Self, DeviceError> {
        let options = CoreOptions { scheduler: setup.scheduler.clone(), ..CoreOptions::default() };
        let spec = Arc::new(CoreSpec::new(&setup.gpu, TimingTable::Ptx, options).map_err(other)?);
        let facts = GpuFacts { sm_count: setup.gpu.sm_count, sm_warps: setup.gpu.sm.max_warps };
        let state = DeviceState::new(MEMORY_BYTES, facts);
        let engine = cores::build(&setup.core, audited, &setup.gpu, spec.clone(), state).ok_or_else(|| {
            let known = cores::CORES.iter().map(|(name, _)| (*name).to_owned()).collect::<Vec<_>>();
            DeviceError::Other(format!(
                "there is no core design `{}`{}",
                setup.core,
                workloads::suggest::among(&setup.core, &known)
            ))
        })?;
        Ok(Self {
            setup: setup.clone(),
            engine,
            spec,
            modules: Vec::new(),
            codes: HashMap::new(),
            launches: Vec::new(),
            reports: Vec::new(),
            monitor,
            broken: None,
            interrupted: false,
            host_time: Duration::ZERO,
        })
    }

    /// Kernels that have ended, and after an interruption those that have not.
    pub fn kernel_reports(&self) -> &[KernelReport] {
        &self.reports
    }

    /// The whole run so far.
    pub fn total_statistics(&mut self) -> Stats {
        statistics(&self.engine.counters(), &self.setup.gpu)
    }

    /// What the auditors have found so far; `None` if the device is not audited.
    pub fn findings(&self) -> Option<Findings> {
        self.engine.findings()
    }

    /// Warp scheduler in use.
    pub fn scheduler(&self) -> &str {
        self.spec.scheduler_name()
    }

    /// Whether the run was broken off by the monitor or the limit on cycles.
    pub fn interrupted(&self) -> bool {
        self.interrupted
    }

    /// Host time spent simulating.
    pub fn host_time(&self) -> Duration {
        self.host_time
    }

    /// What kernels have printed since this was last called.
    pub fn take_output(&mut self) -> String {
        std::mem::take(&mut self.engine.state().output)
    }

    fn module(&self, id: ModuleId) -> Result<&exec::Loaded, DeviceError> {
        self.modules.get(id.0 as usize).ok_or(DeviceError::UnknownModule(id))
    }

    fn kernel(&self, id: ModuleId, name: &str) -> Result<&Arc<exec::Kernel>, DeviceError> {
        let loaded = self.module(id)?;
        loaded.kernel(name).map_err(|error| match error {
            KernelError::Unknown { name, .. } => DeviceError::UnknownKernel {
                name,
                known: loaded.module.kernels.iter().map(|k| k.name().to_owned()).collect(),
            },
            error => DeviceError::Module(error.to_string()),
        })
    }

    fn check_occupancy(&self, name: &str, shape: &isa::LaunchShape) -> Result<(), DeviceError> {
        let fail = |problem: String| Err(DeviceError::Shape { kernel: name.to_owned(), problem });
        let (sm, gpu) = (&self.setup.gpu.sm, &self.setup.gpu.name);
        if shape.shared_bytes > sm.max_shared_bytes_per_cta {
            let most = sm.max_shared_bytes_per_cta;
            return fail(format!(
                "a CTA needs {} bytes of shared memory, of which {gpu} gives it {most} at most",
                shape.shared_bytes
            ));
        }
        if shape.registers_per_thread > sm.max_registers_per_thread {
            let most = sm.max_registers_per_thread;
            return fail(format!(
                "a thread needs {} registers, of which {gpu} gives it {most} at most",
                shape.registers_per_thread
            ));
        }
        let occupancy = sm::occupancy(sm, shape);
        if occupancy.ctas_per_sm == 0 {
            return fail(format!(
                "a CTA of {} threads with {} registers each and {} bytes of shared memory does not fit on an SM of {gpu}: too many {}",
                shape.threads(),
                shape.registers_per_thread,
                shape.shared_bytes,
                occupancy.limiter.name()
            ));
        }
        Ok(())
    }

    fn report(&self, run: &KernelRun) -> KernelReport {
        let kernel = self.engine.kernel(run.kernel);
        let (shape, occupancy) = (&kernel.shape, &kernel.occupancy);
        let record = &self.launches[run.kernel.index()];
        let slots = f64::from(self.setup.gpu.sm.max_warps);
        KernelReport {
            launch: run.kernel.0,
            name: record.name.clone(),
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
            statistics: statistics(&run.counters, &self.setup.gpu),
        }
    }

    /// Runs what has been launched; keeps what is known when that fails.
    fn run_launched(&mut self) -> Result<(), DeviceError> {
        if let Some(why) = &self.broken {
            return Err(DeviceError::Other(why.clone()));
        }
        let started = Instant::now();
        let result = {
            let Self { engine, monitor, launches, setup, .. } = self;
            let mut watcher = Watcher {
                monitor: monitor.as_mut(),
                launches,
                kernels_done: self.reports.len() as u32,
                last: started,
                max_cycles: setup.max_cycles,
            };
            engine.run(&mut |standing| watcher.hear(standing))
        };
        self.host_time += started.elapsed();
        for run in self.engine.take_ended() {
            self.engine.state().end_launch(run.kernel);
            let report = self.report(&run);
            self.reports.push(report);
        }
        let Err(error) = result else { return Ok(()) };
        let unfinished = self.engine.unfinished();
        self.reports.extend(unfinished.iter().map(|run| self.report(run)).collect::<Vec<_>>());
        let error = match error {
            RunError::Fault(fault) => DeviceError::Fault(fault),
            RunError::Deadlock(deadlock) => DeviceError::Deadlock(deadlock.to_string()),
            RunError::Interrupted => {
                self.interrupted = true;
                DeviceError::Interrupted
            }
        };
        self.broken = Some(format!("the device stopped earlier: {error}"));
        Err(error)
    }
}

/// Tells the monitor, not too often, and watches the limit on cycles.
struct Watcher<'a> {
    monitor: &'a mut dyn Monitor,
    launches: &'a [LaunchRecord],
    kernels_done: u32,
    last: Instant,
    max_cycles: Option<u64>,
}

impl Watcher<'_> {
    fn hear(&mut self, standing: Standing) -> ControlFlow<()> {
        if self.max_cycles.is_some_and(|most| standing.cycles >= most) {
            return ControlFlow::Break(());
        }
        if self.last.elapsed() < PROGRESS_EVERY {
            return ControlFlow::Continue(());
        }
        self.last = Instant::now();
        let name = |id: KernelId| self.launches[id.index()].name.clone();
        self.monitor.progress(&Progress {
            kernel: standing.kernel.map(name).unwrap_or_default(),
            kernels_done: self.kernels_done,
            ctas_done: standing.ctas_done,
            ctas_total: standing.ctas_total,
            cycles: standing.cycles,
            warp_instructions: standing.warp_instructions,
        })
    }
}

/// The span `offset..offset + bytes` of a buffer, as a device address.
fn span(buffer: Buffer, offset: u64, bytes: u64) -> Result<u64, DeviceError> {
    if offset.checked_add(bytes).is_none_or(|end| end > buffer.bytes) {
        return Err(DeviceError::OutOfRange { offset, bytes, size: buffer.bytes });
    }
    Ok(buffer.address + offset)
}

impl Device for SimulatedDevice<'_> {
    fn sm_version(&self) -> u32 {
        self.setup.gpu.sm_version
    }

    fn load_module(&mut self, source: &ModuleSource<'_>) -> Result<ModuleId, DeviceError> {
        let ModuleCode::Ptx(text) = source.code else {
            return Err(DeviceError::Module(format!("{}: only PTX modules can be run so far", source.name)));
        };
        let slot = u16::try_from(self.modules.len()).map_err(|_| other("too many modules are loaded"))?;
        let options = LowerOptions { slot, ..LowerOptions::default() };
        let loaded = exec::load(source.name, text, options).map_err(|e| DeviceError::Module(e.to_string()))?;
        self.engine.state().load(&loaded.module).map_err(other)?;
        self.modules.push(loaded);
        Ok(ModuleId(self.modules.len() as u32 - 1))
    }

    fn kernels(&self, module: ModuleId) -> Result<Vec<String>, DeviceError> {
        Ok(self.module(module)?.module.kernels.iter().map(|k| k.name().to_owned()).collect())
    }

    fn parameters(&self, module: ModuleId, kernel: &str) -> Result<Vec<ParameterInfo>, DeviceError> {
        let params = &self.kernel(module, kernel)?.params;
        let info = |p: &exec::Param| ParameterInfo {
            name: p.name.clone(),
            bytes: p.bytes,
            type_name: p.ty.trim_start_matches('.').split('[').next().unwrap_or_default().to_owned(),
        };
        Ok(params.iter().map(info).collect())
    }

    fn alloc(&mut self, name: &str, bytes: u64) -> Result<Buffer, DeviceError> {
        let address = self.engine.state().memory.allocate(name, bytes).map_err(|e| match e {
            MemoryError::Full { .. } => {
                DeviceError::OutOfMemory { name: name.to_owned(), bytes, reason: e.to_string() }
            }
            e => other(e),
        })?;
        Ok(Buffer { address, bytes })
    }

    fn free(&mut self, buffer: Buffer) -> Result<(), DeviceError> {
        self.synchronize()?;
        self.engine.state().memory.free(buffer.address).map_err(other)
    }

    fn write(&mut self, buffer: Buffer, offset: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        self.synchronize()?;
        let address = span(buffer, offset, bytes.len() as u64)?;
        self.engine.state().memory.write(address, bytes).map_err(other)?;
        if self.setup.gpu.launch.host_copies_fill_l2 {
            self.engine.copied_to_device(address, bytes.len() as u64);
        }
        Ok(())
    }

    fn read(&mut self, buffer: Buffer, offset: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        self.synchronize()?;
        let address = span(buffer, offset, bytes.len() as u64)?;
        self.engine.state().memory.read(address, bytes).map_err(other)
    }

    fn memset(&mut self, buffer: Buffer, byte: u8) -> Result<(), DeviceError> {
        let chunk = vec![byte; buffer.bytes.min(1 << 20) as usize];
        let mut offset = 0;
        while offset < buffer.bytes {
            let length = (buffer.bytes - offset).min(chunk.len() as u64);
            self.write(buffer, offset, &chunk[..length as usize])?;
            offset += length;
        }
        Ok(())
    }

    fn write_symbol(&mut self, module: ModuleId, name: &str, offset: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        self.synchronize()?;
        let loaded = &self.module(module)?.module;
        let variable = loaded.variable(name).ok_or_else(|| DeviceError::UnknownSymbol {
            name: name.to_owned(),
            known: loaded.variables.iter().map(|v| v.name.clone()).collect(),
        })?;
        let place = Buffer { address: variable.address, bytes: variable.bytes };
        let address = span(place, offset, bytes.len() as u64)?;
        self.engine.state().memory.write(address, bytes).map_err(other)
    }

    fn launch(&mut self, launch: &Launch<'_>) -> Result<(), DeviceError> {
        let kernel = self.kernel(launch.module, launch.kernel)?.clone();
        let args: Vec<_> = launch.args.iter().map(|a| exec::Arg::Bytes(a.bytes().to_vec())).collect();
        let live = exec::Launch::new(kernel.clone(), launch.grid, launch.block, launch.dynamic_shared_bytes, &args);
        let live =
            live.map_err(|e| DeviceError::Arguments { kernel: launch.kernel.to_owned(), problem: e.to_string() })?;
        let mut shape = live.shape();
        let registers = match launch.registers {
            Registers::Estimated if kernel.registers.estimated => RegisterSource::Estimated,
            Registers::Estimated => RegisterSource::Compiled,
            Registers::Compiled(n) => {
                shape.registers_per_thread = n;
                RegisterSource::Compiled
            }
            Registers::Given(n) => {
                shape.registers_per_thread = n;
                RegisterSource::Given
            }
        };
        self.check_occupancy(kernel.name(), &shape)?;
        let key = (launch.module.0, kernel.name().to_owned());
        let code = self.codes.entry(key).or_insert_with(|| Arc::new(Code::new(kernel.program.clone(), &self.spec)));
        let id = self.engine.launch(code.clone(), shape, StreamId(launch.stream));
        let live_id = self.engine.state().add_launch(live);
        debug_assert_eq!(id, live_id);
        let name = exec::plain_name(kernel.name()).unwrap_or(kernel.name()).to_owned();
        self.launches.push(LaunchRecord { name, registers });
        Ok(())
    }

    fn synchronize(&mut self) -> Result<(), DeviceError> {
        if self.launches.len() == self.reports.len() && self.broken.is_none() {
            return Ok(());
        }
        self.run_launched()
    }
}
