//! The simulated GPU as a device that programs load modules into and launch kernels on.

use crate::checkpoint::{Answer, Keeper, Known};
use crate::cores::MachineBuilder;
use crate::engine::Engine;
use crate::listing::SourcePlace;
use crate::monitor::{Monitor, Unattended};
use crate::report::{KernelReport, RegisterSource, Report};
use crate::sampling::Began;
use crate::sampling::began::Rest;
use crate::sampling::fill::Known as KnownFill;
use crate::setup::Setup;
use crate::simulation::{Halt, Launched, MOST_PENDING, Simulation, check_fit};
use crate::source::Source;
use exec::{DeviceState, GpuFacts, MemoryError};
use gpu::{MachineError, Stats, StreamId};
use isa::KernelId;
use kit::persist::Persist;
use lower::{KernelError, LowerOptions};
use sm::{ConfigOf, CoreDesign};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use trace::{Action, LaunchInfo, Recorder};
use workloads::Form;
use workloads::device::{
    Buffer, Device, DeviceError, LaunchRequest, ModuleCode, ModuleId, ModuleSource, ParameterInfo, ThreadRegisters,
};

/// Simulated device memory: as much as any GPU described here has.
const MEMORY_BYTES: u64 = 32 << 30;

/// Maximum local memory of all threads that are on the GPU at the same time. It is memory of this
/// computer too; 16 KiB for each thread of a V100 fit.
const MOST_LOCAL_BYTES: u64 = 4 << 30;

/// A GPU with a core design, simulated cycle by cycle.
pub struct SimulatedDevice<'m> {
    pub(crate) simulation: Simulation<'m>,
    /// Records what the host and the warps do.
    recorder: Option<Recorder>,
    modules: Vec<lower::Loaded>,
    /// Place of the next module's variables.
    next_slot: u32,
    /// Why no launch is possible any more.
    broken: Option<String>,
    /// Stack of a thread, if the host program has set it.
    stack_bytes: Option<u32>,
    /// Number of the next launch.
    pub(crate) next_launch: u32,
    /// CTAs that are executed after the timed ones of their launch.
    pub(crate) rests: BTreeMap<KernelId, Rest>,
    /// Launches that may be fills, the last first.
    pub(crate) fills: Vec<KnownFill>,
}

fn other(error: impl std::fmt::Display) -> DeviceError {
    DeviceError::Other(error.to_string())
}

impl SimulatedDevice<'static> {
    /// An idle device without a monitor.
    ///
    /// # Errors
    /// If there is no such core design or scheduler, or the description cannot be built.
    pub fn new(setup: &Setup) -> Result<Self, DeviceError> {
        Self::watched(setup, Box::new(Unattended))
    }
}

impl<'m> SimulatedDevice<'m> {
    /// An idle device that reports its progress to `monitor`, with an auditor at each SM if `setup` asks
    /// so.
    ///
    /// # Errors
    /// As [`SimulatedDevice::new`].
    pub fn watched(setup: &Setup, monitor: Box<dyn Monitor + 'm>) -> Result<Self, DeviceError> {
        Self::built(setup, monitor, None, |build| build.build())
    }

    /// As [`SimulatedDevice::watched`]; `recorder` records what the host and the warps do.
    pub(crate) fn recorded(
        setup: &Setup,
        monitor: Box<dyn Monitor + 'm>,
        recorder: Recorder,
    ) -> Result<Self, DeviceError> {
        Self::built(setup, monitor, Some(recorder), |build| build.build())
    }

    /// As [`SimulatedDevice::watched`], on a core design that need not be registered.
    pub(crate) fn of_design<D: CoreDesign + 'static>(
        config: &ConfigOf<D>,
        setup: &Setup,
        monitor: Box<dyn Monitor + 'm>,
    ) -> Result<Self, DeviceError> {
        Self::built(setup, monitor, None, |build| Ok(build.of_design::<D>(config)))
    }

    /// A device on the machine that `build` makes.
    fn built(
        setup: &Setup,
        monitor: Box<dyn Monitor + 'm>,
        recorder: Option<Recorder>,
        build: impl FnOnce(MachineBuilder<'_>) -> Result<Box<dyn Engine>, String>,
    ) -> Result<Self, DeviceError> {
        let sm = &setup.gpu.sm;
        let facts = GpuFacts {
            sm_count: setup.gpu.sm_count,
            sm_warps: sm.max_warps,
            shared_unit: sm.shared_allocation_unit.unwrap_or(1),
            core_khz: (setup.gpu.clocks.core_mhz * 1000.0).round().max(1.0) as u32,
        };
        let mut state = DeviceState::new(MEMORY_BYTES, facts);
        state.check(setup.out_of_bounds, setup.check_memory);
        state.memory.skip_addresses(setup.shift_addresses);
        let source = Source::Live(Box::new(state));
        let machine = setup.core_options().and_then(|options| MachineBuilder::new(setup, &options, source));
        let machine = machine.and_then(|machine| build(machine.recorded(recorder.as_ref())));
        let simulation = Simulation::new(machine.map_err(DeviceError::Other)?, setup, monitor);
        Ok(Self {
            simulation,
            recorder,
            modules: Vec::new(),
            next_slot: 0,
            broken: None,
            stack_bytes: None,
            next_launch: 0,
            rests: BTreeMap::new(),
            fills: Vec::new(),
        })
    }

    /// The run leaves checkpoints, or continues from one, as `keeper` says.
    ///
    /// # Errors
    /// The machine has no state that can be kept.
    pub(crate) fn keep_checkpoints(&mut self, keeper: Keeper) -> Result<(), String> {
        self.simulation.keep_checkpoints(keeper)
    }

    /// Restores the data that the host read at this place, if the run has yet to come back to its checkpoint. True if
    /// it did.
    fn answer_again(&mut self, answer: Answer, value: &mut impl Persist) -> Result<bool, DeviceError> {
        let again = self.simulation.keeper().map_or(Ok(false), |keeper| keeper.answer_again(answer, value));
        again.map_err(DeviceError::Other)
    }

    /// Notes what the host gets, for checkpoints.
    fn note_answer(&mut self, answer: Answer, value: &mut impl Persist) {
        if let Some(keeper) = self.simulation.keeper() {
            keeper.note_answer(answer, value);
        }
    }

    /// Ends the device; gives what has recorded it.
    pub(crate) fn into_recorder(self) -> Option<Recorder> {
        self.recorder
    }

    /// Takes the text of sources, for profiles, from `place`.
    pub(crate) fn take_sources_from(&mut self, place: SourcePlace) {
        self.simulation.sources = place;
    }

    /// Kernels that have ended, and after an interruption those that have not.
    pub fn kernel_reports(&self) -> &[KernelReport] {
        self.simulation.reports()
    }

    /// The whole run so far.
    pub fn total_statistics(&mut self) -> Stats {
        self.simulation.total()
    }

    /// Warp scheduler in use.
    pub fn scheduler(&self) -> &str {
        self.simulation.scheduler()
    }

    /// Whether the monitor or the limit on cycles ended the run.
    pub fn interrupted(&self) -> bool {
        self.simulation.interrupted()
    }

    /// Host time spent simulating.
    pub fn host_time(&self) -> Duration {
        self.simulation.host_time()
    }

    /// The report so far, of a run of `workload`.
    pub fn summary(&mut self, workload: String) -> Report {
        let time = self.host_time();
        self.simulation.summary(workload, time)
    }

    /// Output of kernels since the last call.
    pub fn take_output(&mut self) -> String {
        std::mem::take(&mut self.state().output)
    }

    pub(crate) fn setup(&self) -> &Setup {
        self.simulation.setup()
    }

    pub(crate) fn state(&mut self) -> &mut DeviceState {
        self.simulation.source().live()
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

    /// Loads a module, whose kernels of machine code are lowered now or later.
    fn load(&mut self, source: &ModuleSource<'_>, deferred: bool) -> Result<ModuleId, DeviceError> {
        let slot = self.next_slot;
        let options = LowerOptions {
            slot,
            gpu_sm: Some(self.setup().gpu.sm_version),
            any_architecture: self.setup().any_architecture,
            registers: self.setup().registers.on(&self.setup().gpu),
            stack_bytes: self.setup().stack_bytes.or(self.stack_bytes),
            deferred,
            ..LowerOptions::default()
        };
        let loaded = match source.code {
            ModuleCode::Ptx(text) => lower::load(source.name, text, options),
            ModuleCode::BundledPtx(text) => {
                lower::load(source.name, text, LowerOptions { any_architecture: true, ..options })
            }
            ModuleCode::Binary(file) => lower::load_binary(source.name, file, self.setup().gpu.sm_version, options),
        };
        let loaded = loaded.map_err(|e| DeviceError::Module(format!("{e}{}", gpus_for(&e.only_for))))?;
        self.state().load(&loaded.module).map_err(other)?;
        self.next_slot = loaded.next_slot(slot);
        self.modules.push(loaded);
        Ok(ModuleId(self.modules.len() as u32 - 1))
    }

    /// The shape of a launch whose threads have `registers`, and where their number is from.
    fn shape_of(&self, live: &exec::Launch, registers: ThreadRegisters) -> (isa::LaunchShape, RegisterSource) {
        let (kernel, mut shape) = (&live.kernel, live.shape());
        let most = self.setup().gpu.sm.max_registers_per_thread;
        let registers = match registers {
            // Code that was compiled for hardware has other registers than these.
            ThreadRegisters::Estimated | ThreadRegisters::Compiled(_) if kernel.allocation.is_some() => {
                RegisterSource::Allocated
            }
            ThreadRegisters::Estimated if kernel.registers.estimated => RegisterSource::Estimated,
            ThreadRegisters::Estimated => RegisterSource::Compiled,
            // The count of a newer architecture: the compiler of this one would stay below its limit, by spilling.
            ThreadRegisters::Compiled(n) if n > most => {
                shape.registers_per_thread = most;
                RegisterSource::Estimated
            }
            ThreadRegisters::Compiled(n) => {
                shape.registers_per_thread = n;
                RegisterSource::Compiled
            }
            ThreadRegisters::Given(n) => {
                shape.registers_per_thread = n;
                RegisterSource::Given
            }
        };
        (shape, registers)
    }

    fn check_occupancy(&self, name: &str, shape: &isa::LaunchShape) -> Result<(), DeviceError> {
        let misfit = |problem| DeviceError::Shape { kernel: name.to_owned(), problem };
        check_fit(&self.setup().gpu, shape).map_err(misfit)
    }

    /// As a driver does, local memory is set aside for all threads that the GPU can hold.
    fn check_local_memory(&self, kernel: &exec::Kernel, shape: &isa::LaunchShape) -> Result<(), DeviceError> {
        let gpu = &self.setup().gpu;
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

    /// Runs until at most `pending` launches have not ended. A failure keeps what is known.
    fn run_to(&mut self, pending: usize) -> Result<(), DeviceError> {
        self.run_by(|simulation| simulation.run_to(pending)).map(|_| ())
    }

    /// The cycle that comes next: all before it have been simulated.
    pub fn now(&self) -> u64 {
        self.simulation.now()
    }

    /// Runs until some launch has ended, or until cycle `limit`, if there are launches. Returns those that have ended,
    /// by their numbers.
    ///
    /// # Errors
    /// A fault, a deadlock, an interruption: nothing runs on the device any more.
    pub fn run_to_next_end(&mut self, limit: u64) -> Result<Vec<u32>, DeviceError> {
        let ended = self.run_by(|simulation| simulation.run_to_next_end(limit))?;
        Ok(ended.into_iter().map(|kernel| kernel.0).collect())
    }

    fn run_by(
        &mut self,
        run: impl FnOnce(&mut Simulation<'m>) -> Result<Vec<KernelId>, Halt>,
    ) -> Result<Vec<KernelId>, DeviceError> {
        if let Some(why) = &self.broken {
            return Err(DeviceError::Other(why.clone()));
        }
        let error = match run(&mut self.simulation) {
            Ok(ended) => {
                ended.iter().for_each(|kernel| self.state().end_launch(*kernel));
                if !self.rests.is_empty() {
                    self.execute_rests(&ended)?;
                }
                return Ok(ended);
            }
            Err(Halt::Machine(MachineError::Fault(fault))) => DeviceError::Fault(fault),
            Err(Halt::Machine(MachineError::Deadlock(deadlock))) => DeviceError::Deadlock(deadlock.to_string()),
            Err(Halt::Machine(MachineError::Livelock(livelock))) => DeviceError::Deadlock(livelock.to_string()),
            Err(Halt::Machine(MachineError::Interrupted)) => DeviceError::Interrupted,
            Err(Halt::Checkpoint(why)) => DeviceError::Other(why),
        };
        self.broken = Some(format!("the device stopped earlier: {error}"));
        Err(error)
    }
}

/// The GPUs that run machine code of one of `architectures`, as the end of a message.
fn gpus_for(architectures: &[u32]) -> String {
    let runs = |name: &&str| {
        let gpu = config::load(name);
        gpu.is_ok_and(|gpu| architectures.iter().any(|&sm| isa::runs_on(sm, gpu.sm_version)))
    };
    let names: Vec<&str> = config::hardware().filter(|_| !architectures.is_empty()).filter(runs).collect();
    if names.is_empty() { String::new() } else { format!("\n  hint: it runs on {}", names.join(", ")) }
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
        self.setup().gpu.sm_version
    }

    fn set_stack_bytes(&mut self, bytes: u32) {
        self.stack_bytes = Some(bytes);
    }

    fn set_heap_bytes(&mut self, bytes: u64) {
        self.state().set_heap_bytes(bytes);
    }

    fn load_module(&mut self, source: &ModuleSource<'_>) -> Result<ModuleId, DeviceError> {
        self.load(source, false)
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
        let mut address = 0;
        if self.answer_again(Answer::Address, &mut address)? {
            return Ok(Buffer { address, bytes });
        }
        address = self.state().memory.allocate(name, bytes).map_err(|e| match e {
            MemoryError::Full { .. } => {
                DeviceError::OutOfMemory { name: name.to_owned(), bytes, reason: e.to_string() }
            }
            e => other(e),
        })?;
        self.note_answer(Answer::Address, &mut address);
        Ok(Buffer { address, bytes })
    }

    fn free(&mut self, buffer: Buffer) -> Result<(), DeviceError> {
        self.synchronize()?;
        if self.simulation.is_replaying() {
            return Ok(());
        }
        self.state().memory.free(buffer.address).map_err(other)
    }

    fn write(&mut self, buffer: Buffer, offset: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        self.synchronize()?;
        let address = span(buffer, offset, bytes.len() as u64)?;
        if self.simulation.is_replaying() {
            return Ok(());
        }
        self.state().memory.write(address, bytes).map_err(other)?;
        if let Some(recorder) = &mut self.recorder {
            recorder.note(Action::CopyToDevice { address, bytes: bytes.len() as u64 });
        }
        self.simulation.copied_to_device(address, bytes.len() as u64);
        Ok(())
    }

    fn read(&mut self, buffer: Buffer, offset: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        self.synchronize()?;
        let address = span(buffer, offset, bytes.len() as u64)?;
        if self.answer_again(Answer::Bytes, &mut Known(bytes))? {
            return Ok(());
        }
        self.state().memory.read(address, bytes).map_err(other)?;
        self.note_answer(Answer::Bytes, &mut Known(bytes));
        Ok(())
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

    fn symbol(&mut self, module: ModuleId, name: &str) -> Result<Buffer, DeviceError> {
        let loaded = &self.module(module)?.module;
        let variable = loaded.variable(name).ok_or_else(|| DeviceError::UnknownSymbol {
            name: name.to_owned(),
            known: loaded.variables.iter().map(|v| v.name.clone()).collect(),
        })?;
        Ok(Buffer { address: variable.address, bytes: variable.bytes })
    }

    fn write_symbol(&mut self, module: ModuleId, name: &str, offset: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        self.synchronize()?;
        let address = span(self.symbol(module, name)?, offset, bytes.len() as u64)?;
        self.state().memory.write(address, bytes).map_err(other)
    }

    fn image(&mut self, image: &isa::Image) -> Result<u64, DeviceError> {
        let mut handle = 0;
        if self.answer_again(Answer::Handle, &mut handle)? {
            return Ok(handle);
        }
        handle = self.state().add_image(*image).map_err(|e| DeviceError::Image(e.to_string()))?;
        self.note_answer(Answer::Handle, &mut handle);
        Ok(handle)
    }

    fn bind_image(&mut self, module: ModuleId, name: &str, object: u64) -> Result<(), DeviceError> {
        let loaded = &self.module(module)?.module;
        let reference = loaded.reference(name).cloned().ok_or_else(|| DeviceError::UnknownReference {
            name: name.to_owned(),
            known: loaded.references.iter().map(|r| r.name.clone()).collect(),
        })?;
        self.state().bind(&reference, Some(object)).map_err(other)
    }

    fn launch(&mut self, launch: &LaunchRequest<'_>) -> Result<(), DeviceError> {
        self.run_to(MOST_PENDING - 1)?;
        let kernel = self.kernel(launch.module, launch.kernel)?.clone();
        let args: Vec<_> = launch.args.iter().map(|a| exec::Arg::Bytes(a.bytes().to_vec())).collect();
        let live = exec::Launch::new(kernel, launch.grid, launch.block, launch.dynamic_shared_bytes, &args);
        let live =
            live.map_err(|e| DeviceError::Arguments { kernel: launch.kernel.to_owned(), problem: e.problem() })?;
        // Also of launches that are executed without time.
        let (shape, _) = self.shape_of(&live, launch.registers);
        self.check_occupancy(live.kernel.name(), &shape)?;
        let number = self.number_launch();
        if self.may_execute(number, live.kernel.name()) {
            self.run_to(0)?;
        }
        match self.begin(number, &live)? {
            Began::Executed(..) => Ok(()),
            Began::ToQueue => self.enqueue(number, live, launch.registers, launch.stream).map(|_| ()),
        }
    }

    fn synchronize(&mut self) -> Result<(), DeviceError> {
        if self.simulation.pending() == 0 && self.broken.is_none() {
            return Ok(());
        }
        // Where the host waits for room follows from the launches and is not recorded.
        if let Some(recorder) = &mut self.recorder {
            recorder.note(Action::Wait);
        }
        self.run_to(0)
    }
}

/// Calls that the driver of programs needs beside [`Device`].
impl SimulatedDevice<'_> {
    /// Device memory, as the host sees it between launches.
    pub fn memory(&mut self) -> &mut exec::DeviceMemory {
        &mut self.state().memory
    }

    /// State that all SMs share.
    pub fn shared_state(&mut self) -> &mut DeviceState {
        self.state()
    }

    /// Loads a module. Of its kernels of machine code, [`SimulatedDevice::loaded`] has those that
    /// [`SimulatedDevice::prepare`] was asked for.
    ///
    /// # Errors
    /// As [`Device::load_module`].
    pub fn load_deferred(&mut self, source: &ModuleSource<'_>) -> Result<ModuleId, DeviceError> {
        self.load(source, true)
    }

    /// Makes the kernel `name` of a module ready, or all its kernels.
    ///
    /// # Errors
    /// There is no such module.
    pub fn prepare(&mut self, module: ModuleId, name: Option<&str>) -> Result<&lower::Loaded, DeviceError> {
        let loaded = self.modules.get_mut(module.0 as usize).ok_or(DeviceError::UnknownModule(module))?;
        loaded.prepare(name);
        Ok(loaded)
    }

    /// The kernels and variables of a module, and the kernels that cannot run.
    ///
    /// # Errors
    /// There is no such module.
    pub fn loaded(&self, module: ModuleId) -> Result<&lower::Loaded, DeviceError> {
        self.module(module)
    }

    /// Takes the variables of a module out of device memory. [`SimulatedDevice::place`] puts them back.
    ///
    /// # Errors
    /// There is no such module, or it is not in memory.
    pub fn withdraw(&mut self, module: ModuleId) -> Result<(), DeviceError> {
        let places: Vec<u64> = self.module(module)?.module.variables.iter().map(|v| v.address).collect();
        places.into_iter().try_for_each(|place| self.state().memory.free(place).map_err(other))
    }

    /// Places the variables of a module that was withdrawn, with their initial contents.
    ///
    /// # Errors
    /// There is no such module, or it is in memory.
    pub fn place(&mut self, module: ModuleId) -> Result<(), DeviceError> {
        let module = self.module(module)?.module.clone();
        self.state().load(&module).map_err(other)
    }

    /// A copy from the host has changed device memory: the GPU keeps the data in L2 if its description asks for it.
    pub fn copied_to_device(&mut self, address: u64, bytes: u64) {
        self.simulation.copied_to_device(address, bytes);
    }

    /// Whether a CTA of `launch` fits on an SM, and its local memory on the GPU.
    ///
    /// # Errors
    /// The resource that does not fit.
    pub fn check_launch(&self, launch: &exec::Launch) -> Result<(), DeviceError> {
        self.check_occupancy(launch.kernel.name(), &launch.shape())?;
        self.check_local_memory(&launch.kernel, &launch.shape())
    }

    /// Queues `live`, which is launch `number` of the run ([`SimulatedDevice::number_launch`]); returns its number among
    /// those that are simulated.
    ///
    /// # Errors
    /// It does not fit on the GPU, or the core cannot execute it.
    pub fn enqueue(
        &mut self,
        number: u32,
        live: exec::Launch,
        registers: ThreadRegisters,
        stream: u32,
    ) -> Result<u32, DeviceError> {
        let kernel = live.kernel.clone();
        let (shape, registers) = self.shape_of(&live, registers);
        self.check_occupancy(kernel.name(), &shape)?;
        self.check_local_memory(&kernel, &shape)?;
        let name = exec::plain_name(kernel.name()).unwrap_or(kernel.name()).to_owned();
        let code = if kernel.is_machine_code() { Form::Sass } else { Form::Ptx };
        let launched = Launched { number, name, registers, code, shape, stream: StreamId(stream) };
        let part = self.simulation.sampler.as_ref().and_then(|sampler| sampler.part(number));
        let queued = self.simulation.launch(&kernel.program, Some(&live), launched);
        let id = queued.map_err(DeviceError::Other)?;
        self.note_rest(id, number, part.as_ref(), &live);
        let live_id = self.state().add_launch(live);
        debug_assert_eq!(id, live_id);
        let (timing, architecture) = (code, self.sm_version());
        if let Some(recorder) = &mut self.recorder {
            recorder.launch(&kernel.program, LaunchInfo { code: 0, shape, stream, architecture, timing });
        }
        Ok(id.0)
    }
}
