//! The simulated GPU as a device that programs load modules into and launch kernels on.

use crate::cores;
use crate::engine::Engine;
use crate::report::{KernelReport, RegisterSource, Report};
use crate::run::{Monitor, Setup, Unattended};
use crate::session::{LaunchRecord, Session, check_fit};
use exec::{DeviceState, GpuFacts, LiveStream, MemoryError};
use gpu::{RunError, Stats, StreamId};
use isa::KernelId;
use lower::{KernelError, LowerOptions};
use sm::{Code, CoreSpec, TimingTable};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use workloads::Form;
use workloads::device::{
    Buffer, Code as ModuleCode, Device, DeviceError, Launch, ModuleId, ModuleSource, ParameterInfo, Registers,
};

/// Simulated device memory: as much as any GPU described here has.
const MEMORY_BYTES: u64 = 32 << 30;

/// Maximum local memory of all threads that are on the GPU at the same time. It is memory of this
/// computer too; 16 KiB for each thread of a V100 fit.
const MOST_LOCAL_BYTES: u64 = 4 << 30;

/// A GPU with a core design, simulated cycle by cycle.
pub struct SimulatedDevice<'m> {
    setup: Setup,
    session: Session<'m, LiveStream>,
    spec: Arc<CoreSpec>,
    /// The same with the latencies of machine code.
    sass_spec: CoreSpec,
    modules: Vec<lower::Loaded>,
    /// Static instructions resolved against the timing table, by module and kernel name.
    codes: HashMap<(u32, String), Arc<Code>>,
    /// Why nothing can be launched any more.
    broken: Option<String>,
    /// Stack of a thread, if the host program has set it.
    stack_bytes: Option<u32>,
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
    /// An idle device that tells `monitor` of its progress, with an auditor at each SM if `setup` says
    /// so.
    ///
    /// # Errors
    /// As [`SimulatedDevice::new`].
    pub fn watched(setup: &Setup, monitor: Box<dyn Monitor + 'm>) -> Result<Self, DeviceError> {
        Self::around(setup, monitor, |spec, state| {
            cores::build::<LiveStream>(setup, spec, state).map_err(DeviceError::Other)
        })
    }

    /// An idle device around the machine that `build` makes.
    pub(crate) fn around(
        setup: &Setup,
        monitor: Box<dyn Monitor + 'm>,
        build: impl FnOnce(Arc<CoreSpec>, DeviceState) -> Result<Box<dyn Engine>, DeviceError>,
    ) -> Result<Self, DeviceError> {
        let options = setup.core_options().map_err(DeviceError::Other)?;
        let sass_spec = CoreSpec::new(&setup.gpu, TimingTable::Sass, options.clone()).map_err(other)?;
        let spec = Arc::new(CoreSpec::new(&setup.gpu, TimingTable::Ptx, options).map_err(other)?);
        let facts = GpuFacts { sm_count: setup.gpu.sm_count, sm_warps: setup.gpu.sm.max_warps };
        let engine = build(spec.clone(), DeviceState::new(MEMORY_BYTES, facts))?;
        Ok(Self {
            setup: setup.clone(),
            session: Session::new(engine, spec.clone(), setup, monitor),
            spec,
            sass_spec,
            modules: Vec::new(),
            codes: HashMap::new(),
            broken: None,
            stack_bytes: None,
        })
    }

    /// Kernels that have ended, and after an interruption those that have not.
    pub fn kernel_reports(&self) -> &[KernelReport] {
        self.session.reports()
    }

    /// The whole run so far.
    pub fn total_statistics(&mut self) -> Stats {
        self.session.total()
    }

    /// Warp scheduler in use.
    pub fn scheduler(&self) -> &str {
        self.spec.scheduler_name()
    }

    /// Whether the run was broken off by the monitor or the limit on cycles.
    pub fn interrupted(&self) -> bool {
        self.session.interrupted()
    }

    /// Host time spent simulating.
    pub fn host_time(&self) -> Duration {
        self.session.host_time()
    }

    /// The report so far, of a run of `workload`.
    pub(crate) fn summary(&mut self, workload: String) -> Report {
        let seconds = self.host_time().as_secs_f64();
        self.session.summary(workload, self.spec.scheduler_name(), seconds)
    }

    /// What kernels have printed since this was last called.
    pub fn take_output(&mut self) -> String {
        std::mem::take(&mut self.session.engine.state().output)
    }

    fn module(&self, id: ModuleId) -> Result<&lower::Loaded, DeviceError> {
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
        let misfit = |problem| DeviceError::Shape { kernel: name.to_owned(), problem };
        check_fit(&self.setup.gpu, shape).map_err(misfit)
    }

    /// As a driver does, local memory is set aside for all threads that the GPU can hold.
    fn check_local_memory(&self, kernel: &exec::Kernel, shape: &isa::LaunchShape) -> Result<(), DeviceError> {
        let gpu = &self.setup.gpu;
        let ctas = shape.ctas().min(u64::from(sm::occupancy(&gpu.sm, shape).ctas_per_sm) * u64::from(gpu.sm_count));
        let threads = ctas * u64::from(shape.warps()) * kit::WARP_LANES as u64;
        let bytes = threads * u64::from(kernel.local_bytes);
        if bytes <= MOST_LOCAL_BYTES {
            return Ok(());
        }
        let problem = format!(
            "{threads} threads at a time with {} bytes of local memory each take {bytes} bytes, and {MOST_LOCAL_BYTES} are the maximum; launch fewer or smaller CTAs",
            kernel.local_bytes
        );
        Err(DeviceError::Shape { kernel: kernel.name().to_owned(), problem })
    }

    /// Runs what has been launched as far as `run` does; keeps what is known when that fails.
    fn run_launched(
        &mut self,
        run: impl FnOnce(&mut Session<'m, LiveStream>) -> Result<Vec<KernelId>, RunError>,
    ) -> Result<(), DeviceError> {
        if let Some(why) = &self.broken {
            return Err(DeviceError::Other(why.clone()));
        }
        let error = match run(&mut self.session) {
            Ok(ended) => {
                ended.into_iter().for_each(|kernel| self.session.engine.state().end_launch(kernel));
                return Ok(());
            }
            Err(RunError::Fault(fault)) => DeviceError::Fault(fault),
            Err(RunError::Deadlock(deadlock)) => DeviceError::Deadlock(deadlock.to_string()),
            Err(RunError::Livelock(livelock)) => DeviceError::Deadlock(livelock.to_string()),
            Err(RunError::Interrupted) => DeviceError::Interrupted,
        };
        self.broken = Some(format!("the device stopped earlier: {error}"));
        Err(error)
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

    fn set_stack_bytes(&mut self, bytes: u32) {
        self.stack_bytes = Some(bytes);
    }

    fn load_module(&mut self, source: &ModuleSource<'_>) -> Result<ModuleId, DeviceError> {
        let slot = u16::try_from(self.modules.len()).map_err(|_| other("too many modules are loaded"))?;
        let options = LowerOptions {
            slot,
            any_architecture: self.setup.any_architecture,
            registers: self.setup.registers.on(&self.setup.gpu),
            stack_bytes: self.setup.stack_bytes.or(self.stack_bytes),
            ..LowerOptions::default()
        };
        let loaded = match source.code {
            ModuleCode::Ptx(text) => lower::load(source.name, text, options),
            ModuleCode::Binary(file) => lower::load_binary(source.name, file, self.setup.gpu.sm_version, options),
        };
        let loaded = loaded.map_err(|e| DeviceError::Module(e.to_string()))?;
        self.session.engine.state().load(&loaded.module).map_err(other)?;
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
        let address = self.session.engine.state().memory.allocate(name, bytes).map_err(|e| match e {
            MemoryError::Full { .. } => {
                DeviceError::OutOfMemory { name: name.to_owned(), bytes, reason: e.to_string() }
            }
            e => other(e),
        })?;
        Ok(Buffer { address, bytes })
    }

    fn free(&mut self, buffer: Buffer) -> Result<(), DeviceError> {
        self.synchronize()?;
        self.session.engine.state().memory.free(buffer.address).map_err(other)
    }

    fn write(&mut self, buffer: Buffer, offset: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        self.synchronize()?;
        let address = span(buffer, offset, bytes.len() as u64)?;
        self.session.engine.state().memory.write(address, bytes).map_err(other)?;
        self.session.engine.host_wrote(address, bytes.len() as u64);
        if self.setup.gpu.launch.host_copies_fill_l2 {
            self.session.engine.copied_to_device(address, bytes.len() as u64);
        }
        Ok(())
    }

    fn read(&mut self, buffer: Buffer, offset: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        self.synchronize()?;
        let address = span(buffer, offset, bytes.len() as u64)?;
        self.session.engine.state().memory.read(address, bytes).map_err(other)
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
        self.session.engine.state().memory.write(address, bytes).map_err(other)
    }

    fn image(&mut self, image: &isa::Image) -> Result<u64, DeviceError> {
        self.session.engine.state().add_image(*image).map_err(|e| DeviceError::Image(e.to_string()))
    }

    fn launch(&mut self, launch: &Launch<'_>) -> Result<(), DeviceError> {
        self.run_launched(Session::make_room)?;
        let kernel = self.kernel(launch.module, launch.kernel)?.clone();
        let args: Vec<_> = launch.args.iter().map(|a| exec::Arg::Bytes(a.bytes().to_vec())).collect();
        let live = exec::Launch::new(kernel.clone(), launch.grid, launch.block, launch.dynamic_shared_bytes, &args);
        let live =
            live.map_err(|e| DeviceError::Arguments { kernel: launch.kernel.to_owned(), problem: e.to_string() })?;
        let mut shape = live.shape();
        let registers = match launch.registers {
            // What was compiled for hardware has other registers than these.
            Registers::Estimated | Registers::Compiled(_) if kernel.allocation.is_some() => RegisterSource::Allocated,
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
        self.check_local_memory(&kernel, &shape)?;
        let key = (launch.module.0, kernel.name().to_owned());
        let spec = if kernel.is_machine_code() { &self.sass_spec } else { &*self.spec };
        let code = self.codes.entry(key).or_insert_with(|| Arc::new(Code::new(kernel.program.clone(), spec)));
        let name = exec::plain_name(kernel.name()).unwrap_or(kernel.name()).to_owned();
        let form = if kernel.is_machine_code() { Form::Sass } else { Form::Ptx };
        let record = LaunchRecord { name, registers, code: form };
        let id = self.session.launch(code.clone(), shape, StreamId(launch.stream), record);
        let live_id = self.session.engine.state().add_launch(live);
        debug_assert_eq!(id, live_id);
        Ok(())
    }

    fn synchronize(&mut self) -> Result<(), DeviceError> {
        if self.session.pending() == 0 && self.broken.is_none() {
            return Ok(());
        }
        self.run_launched(Session::run)
    }
}
