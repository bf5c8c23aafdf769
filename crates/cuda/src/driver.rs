//! The driver: devices, contexts, and waiting for operations.

use crate::array::Array;
use crate::capture::Captures;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::executable::Executable;
use crate::graph::{Graph, GraphMemory, Node};
use crate::handles::{Handles, Kind};
use crate::host::Host;
use crate::launch::Function;
use crate::link::Link;
use crate::linker::Linker;
use crate::mapping::{Physical, Reserved};
use crate::memory::{Allocation, HEAP_BYTES, MOST_DEVICES, Shared};
use crate::module::Module;
use crate::pointer::Advice;
use crate::pool::Pool;
use crate::reference::Reference;
use crate::report::Notes;
use crate::settings::Settings;
use crate::stream::{Stream, Streams};
use crate::texture::Texture;
use crate::timeline::{OpId, Ran, Timeline, Until};
use crate::user_object::UserObject;
use crate::work::Call;
use isa::{Fault, FaultKind};
use lab::{Monitor, Progress, Setup, SimulatedDevice};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::ControlFlow;
use workloads::DeviceError;
use workloads::device::ModuleId;

thread_local! {
    /// The current contexts of a thread, the last one on top.
    static CURRENT: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// A device of the program.
pub struct Device {
    /// GPU, core and choices.
    pub setup: Setup,
    /// The simulated GPU, from its first use.
    pub(crate) timeline: Option<Timeline>,
    /// The primary context while it is retained.
    primary: Option<u64>,
    retained: u32,
    primary_flags: u32,
    pub(crate) streams: Streams,
    /// The first operation of the next simulated GPU: streams and events may still have those of former ones.
    first_op: OpId,
    pub(crate) shared: Shared,
    /// Bytes of the board's memory that allocations and arrays take.
    pub(crate) allocated: u64,
    /// Images of texture and surface objects that the program has destroyed.
    pub(crate) destroyed_images: Vec<u64>,
    /// Images that references have been bound to, with their handles.
    pub(crate) bound_images: Vec<(isa::Image, u64)>,
    /// Address of the workspace of cooperative launches, once there was one.
    pub(crate) workspace: Option<u64>,
    /// Modules that the program has unloaded, by a hash of their contents.
    pub(crate) unloaded: HashMap<u64, ModuleId>,
    /// The pool that the device has by itself, from its first use, and the one that the program has chosen.
    pub(crate) default_pool: Option<u64>,
    pub(crate) pool: Option<u64>,
}

/// A context.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Context {
    pub device: usize,
    pub primary: bool,
    pub flags: u32,
    /// A fault of a kernel: every later call fails with it.
    pub broken: Option<Error>,
    /// Uses of it beside its creation (`cuCtxAttach`).
    pub attached: u32,
    /// Limits that the program has set, by number.
    pub limits: BTreeMap<u32, u64>,
    /// Preference of caches that the program has set.
    pub cache_config: u32,
    /// Preference of shared memory banks that the program has set.
    pub shared_config: u32,
}

/// What a call waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Nothing.
    Nothing,
    /// An operation of a device.
    Op(usize, OpId),
    /// All operations of a device.
    Device(usize),
    /// An operation, or a microsecond.
    Query(usize, OpId),
    /// The end of half of a device's operations, of which there are too many.
    Room(usize),
}

/// How a wait continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It is over.
    Done,
    /// A function of the host program has to be called, then [`Driver::called`].
    Call(usize, OpId, Call),
    /// Another thread has to return from a function of the host program, or the program has to store a value.
    Elsewhere,
}

/// Operations of a device that may be pending. Before it requests more the program waits, as with CUDA.
pub const MOST_PENDING: usize = 4096;

/// CUDA's driver.
pub struct Driver {
    pub(crate) host: Box<dyn Host>,
    /// What the user asks for.
    pub settings: Settings,
    initialised: bool,
    /// The devices, by ordinal.
    pub devices: Vec<Device>,
    pub(crate) contexts: Handles<Context>,
    pub(crate) modules: Handles<Module>,
    pub(crate) functions: Handles<Function>,
    pub(crate) streams: Handles<Stream>,
    pub(crate) events: Handles<Event>,
    pub(crate) graphs: Handles<Graph>,
    pub(crate) graph_nodes: Handles<Node>,
    pub(crate) executables: Handles<Executable>,
    pub(crate) captures: Captures,
    pub(crate) user_objects: Handles<UserObject>,
    pub(crate) arrays: Handles<Array>,
    /// The array of the level of each mipmapped array.
    pub(crate) mipmapped: Handles<u64>,
    /// Texture and surface objects by device and object.
    pub(crate) textures: BTreeMap<(usize, u64), Texture>,
    pub(crate) references: Handles<Reference>,
    pub(crate) linkers: Handles<Linker>,
    /// Why the last module was not loaded.
    pub(crate) last_problem: String,
    pub(crate) pools: Handles<Pool>,
    /// The pool of memory that comes from one, by address.
    pub(crate) pool_memory: BTreeMap<u64, u64>,
    /// Memory that is mapped to reserved addresses, or will be.
    pub(crate) physical: Handles<Physical>,
    pub(crate) reserved: Reserved,
    /// Its handles, by the addresses where it is mapped.
    pub(crate) mappings: BTreeMap<u64, u64>,
    /// Memory of nodes of graphs, by address.
    pub(crate) graph_memory: BTreeMap<u64, GraphMemory>,
    /// By address.
    pub(crate) allocations: BTreeMap<u64, Allocation>,
    /// Advice on managed memory, by address of allocations.
    pub(crate) advice: BTreeMap<u64, Advice>,
    /// Next number of an allocation.
    pub(crate) next_allocation: u64,
    /// Pages of host memory under managed variables of modules.
    pub(crate) variable_pages: BTreeSet<u64>,
    /// What the report has beside the figures of the devices.
    pub notes: Notes,
}

/// Ends a simulation when the user asks for it.
struct Stoppable;

impl Monitor for Stoppable {
    fn progress(&mut self, _: &Progress) -> ControlFlow<()> {
        if kit::stop::requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl Driver {
    /// A driver for the devices of `settings` in the process `host`.
    pub fn new(settings: Settings, host: Box<dyn Host>) -> Self {
        let count = settings.devices.len().min(MOST_DEVICES);
        let devices = settings.devices.iter().take(count).enumerate().map(|(ordinal, setup)| Device {
            setup: setup.clone(),
            timeline: None,
            primary: None,
            retained: 0,
            primary_flags: 0,
            streams: Streams::default(),
            first_op: 1,
            shared: Shared::of(ordinal, count),
            allocated: 0,
            destroyed_images: Vec::new(),
            bound_images: Vec::new(),
            workspace: None,
            unloaded: HashMap::new(),
            default_pool: None,
            pool: None,
        });
        Self {
            devices: devices.collect(),
            host,
            settings,
            initialised: false,
            contexts: Handles::new(Kind::Context),
            modules: Handles::new(Kind::Module),
            functions: Handles::new(Kind::Function),
            streams: Handles::new(Kind::Stream),
            events: Handles::new(Kind::Event),
            graphs: Handles::new(Kind::Graph),
            graph_nodes: Handles::new(Kind::GraphNode),
            executables: Handles::new(Kind::GraphExec),
            captures: Captures::default(),
            user_objects: Handles::new(Kind::UserObject),
            arrays: Handles::new(Kind::Array),
            mipmapped: Handles::new(Kind::Mipmapped),
            textures: BTreeMap::new(),
            references: Handles::new(Kind::TexRef),
            linkers: Handles::new(Kind::Link),
            last_problem: String::new(),
            pools: Handles::new(Kind::Pool),
            pool_memory: BTreeMap::new(),
            physical: Handles::new(Kind::Physical),
            reserved: Reserved::default(),
            mappings: BTreeMap::new(),
            graph_memory: BTreeMap::new(),
            allocations: BTreeMap::new(),
            advice: BTreeMap::new(),
            next_allocation: 1,
            variable_pages: BTreeSet::new(),
            notes: Notes::default(),
        }
    }

    /// The process.
    pub fn host(&self) -> &dyn Host {
        &*self.host
    }

    /// `cuInit`.
    ///
    /// # Errors
    /// There are no devices, or flags are set.
    pub fn init(&mut self, flags: u32) -> Result<()> {
        if flags != 0 {
            return Err(Error::INVALID_VALUE);
        }
        if self.devices.is_empty() {
            return Err(Error::NO_DEVICE);
        }
        self.initialised = true;
        Ok(())
    }

    /// Whether `cuInit` has been called.
    ///
    /// # Errors
    /// It has not.
    pub fn check_initialised(&self) -> Result<()> {
        if self.initialised { Ok(()) } else { Err(Error::NOT_INITIALIZED) }
    }

    /// The device of an ordinal.
    ///
    /// # Errors
    /// There is none.
    pub fn device(&self, ordinal: i32) -> Result<&Device> {
        self.check_initialised()?;
        usize::try_from(ordinal).ok().and_then(|i| self.devices.get(i)).ok_or(Error::INVALID_DEVICE)
    }

    fn index_of(&self, ordinal: i32) -> Result<usize> {
        self.device(ordinal).map(|_| ordinal as usize)
    }

    // Contexts.

    /// Creates a context and makes it current.
    ///
    /// # Errors
    /// There is no such device.
    pub fn context_create(&mut self, ordinal: i32, flags: u32) -> Result<u64> {
        let device = self.index_of(ordinal)?;
        let context = self.contexts.add(Context::of(device, false, flags));
        push(context);
        Ok(context)
    }

    /// Destroys a context and what belongs to it.
    ///
    /// # Errors
    /// It is no context, or a primary one.
    pub fn context_destroy(&mut self, context: u64) -> Result<()> {
        if self.contexts.get(context).map_err(|_| Error::INVALID_CONTEXT)?.primary {
            return Err(Error::INVALID_CONTEXT);
        }
        self.release_objects(context);
        let _ = self.contexts.remove(context);
        change_current(|stack| stack.retain(|&c| c != context));
        Ok(())
    }

    /// Everything that was made in a context is gone.
    fn release_objects(&mut self, context: u64) {
        let modules: Vec<u64> =
            self.modules.iter().filter(|(_, m)| m.context == context).map(|(handle, _)| handle).collect();
        modules.into_iter().for_each(|module| {
            let _ = self.unload(module);
        });
        self.references.retain(|reference| reference.context != context);
        self.release_arrays(context);
        self.executables.retain(|executable| executable.context != context);
        self.release_graphs(context);
        self.linkers.retain(|linker| !linker.is_of(context));
        self.graph_memory.retain(|address, _| self.allocations.get(address).is_some_and(|a| a.context != context));
        let is_of = |address: &u64| self.allocations.get(address).is_some_and(|a| a.context == context);
        let mapped: Vec<(u64, u64)> =
            self.mappings.iter().filter(|(address, _)| is_of(address)).map(|(&at, &handle)| (at, handle)).collect();
        for (address, handle) in mapped {
            self.mappings.remove(&address);
            let _ = self.physical.remove(handle);
        }
        let addresses: Vec<u64> =
            self.allocations.iter().filter(|(_, a)| a.context == context).map(|(&address, _)| address).collect();
        addresses.into_iter().for_each(|address| self.release(address));
        self.streams.retain(|stream| stream.context != context);
        self.events.retain(|event| event.context != context);
    }

    /// The primary context of a device, retained once more.
    ///
    /// # Errors
    /// There is no such device.
    pub fn primary_retain(&mut self, ordinal: i32) -> Result<u64> {
        let index = self.index_of(ordinal)?;
        let flags = self.devices[index].primary_flags;
        let context = match self.devices[index].primary {
            Some(context) => context,
            None => self.contexts.add(Context::of(index, true, flags)),
        };
        self.devices[index].primary = Some(context);
        self.devices[index].retained += 1;
        Ok(context)
    }

    /// Releases the primary context of a device; after the last release its objects are gone.
    ///
    /// # Errors
    /// It is not retained.
    pub fn primary_release(&mut self, ordinal: i32) -> Result<()> {
        let index = self.index_of(ordinal)?;
        if self.devices[index].retained == 0 {
            return Err(Error::INVALID_CONTEXT);
        }
        self.devices[index].retained -= 1;
        if self.devices[index].retained == 0 { self.primary_reset(ordinal) } else { Ok(()) }
    }

    /// Destroys what belongs to the primary context of a device. Its faults are forgotten.
    ///
    /// # Errors
    /// There is no such device.
    pub fn primary_reset(&mut self, ordinal: i32) -> Result<()> {
        let index = self.index_of(ordinal)?;
        if let Some(context) = self.devices[index].primary {
            self.release_objects(context);
            let broken = self.contexts.get(context).is_ok_and(|c| c.broken.is_some());
            if broken {
                self.retire(index);
            }
            if self.devices[index].retained == 0 {
                self.devices[index].primary = None;
                let _ = self.contexts.remove(context);
                change_current(|stack| stack.retain(|&c| c != context));
            } else if let Ok(context) = self.contexts.get_mut(context) {
                *context = Context::of(index, true, context.flags);
            }
        }
        Ok(())
    }

    /// Flags and whether the primary context of a device is retained.
    ///
    /// # Errors
    /// There is no such device.
    pub fn primary_state(&self, ordinal: i32) -> Result<(u32, bool)> {
        let device = self.device(ordinal)?;
        Ok((device.primary_flags, device.primary.is_some()))
    }

    /// Sets the flags of the primary context of a device.
    ///
    /// # Errors
    /// There is no such device.
    pub fn primary_set_flags(&mut self, ordinal: i32, flags: u32) -> Result<()> {
        let index = self.index_of(ordinal)?;
        self.devices[index].primary_flags = flags;
        Ok(())
    }

    /// The current context of the thread; 0 if there is none.
    pub fn current(&self) -> u64 {
        current().unwrap_or(0)
    }

    /// Makes a context current in place of the present one; 0 takes that away.
    ///
    /// # Errors
    /// It is no context.
    pub fn set_current(&self, context: u64) -> Result<()> {
        self.check_initialised()?;
        if context != 0 {
            self.contexts.get(context).map_err(|_| Error::INVALID_CONTEXT)?;
        }
        change_current(|stack| {
            stack.pop();
            stack.extend((context != 0).then_some(context));
        });
        Ok(())
    }

    /// Makes a context current above the present one.
    ///
    /// # Errors
    /// It is no context.
    pub fn push_current(&self, context: u64) -> Result<()> {
        self.check_initialised()?;
        self.contexts.get(context).map_err(|_| Error::INVALID_CONTEXT)?;
        push(context);
        Ok(())
    }

    /// Takes the current context away; returns it.
    ///
    /// # Errors
    /// There is none.
    pub fn pop_current(&self) -> Result<u64> {
        self.check_initialised()?;
        change_current(Vec::pop).flatten().ok_or(Error::INVALID_CONTEXT)
    }

    /// A context.
    ///
    /// # Errors
    /// It is none.
    pub fn context(&self, context: u64) -> Result<&Context> {
        self.contexts.get(context).map_err(|_| Error::INVALID_CONTEXT)
    }

    /// The current context.
    ///
    /// # Errors
    /// There is none, or a kernel failed in it.
    pub fn context_here(&mut self) -> Result<(u64, &mut Context)> {
        self.check_initialised()?;
        let handle = current().ok_or(Error::INVALID_CONTEXT)?;
        let context = self.contexts.get_mut(handle).map_err(|_| Error::CONTEXT_IS_DESTROYED)?;
        match context.broken {
            Some(error) => Err(error),
            None => Ok((handle, context)),
        }
    }

    /// The device of the current context.
    ///
    /// # Errors
    /// As [`Driver::context_here`].
    pub fn device_here(&mut self) -> Result<usize> {
        self.context_here().map(|(_, context)| context.device)
    }

    // The simulated GPU.

    /// The operations of a device; the simulated GPU is made at the first use.
    pub(crate) fn timeline(&mut self, device: usize) -> Result<&mut Timeline> {
        let Self { devices, host, .. } = self;
        let ordinal = device;
        let device = &mut devices[device];
        if device.timeline.is_none() {
            match SimulatedDevice::watched(&device.setup, Box::new(Stoppable)) {
                Ok(mut simulated) => {
                    simulated.memory().skip_addresses(HEAP_BYTES * ordinal as u64);
                    let (gpu, most) = (&device.setup.gpu, device.setup.gpu.launch.max_concurrent_kernels as usize);
                    device.timeline = Some(Timeline::new(simulated, Link::of(gpu), most, device.first_op));
                }
                Err(problem) => {
                    host.message(&problem.to_string());
                    return Err(Error::DEVICE_UNAVAILABLE);
                }
            }
        }
        device.timeline.as_mut().ok_or(Error::DEVICE_UNAVAILABLE)
    }

    /// Takes the simulated GPU of a device out of use: its figures go into the report, the next use makes a new one.
    pub(crate) fn retire(&mut self, device: usize) {
        if let Some(mut timeline) = self.devices[device].timeline.take() {
            self.devices[device].first_op = timeline.next_op();
            self.devices[device].unloaded.clear();
            self.devices[device].workspace = None;
            self.notes.retire(device, &mut timeline);
        }
    }

    /// What a program waits for that has requested too much.
    pub fn backlog(&self) -> Wait {
        let pending = |device: &Device| device.timeline.as_ref().map_or(0, Timeline::pending);
        self.devices.iter().position(|device| pending(device) > MOST_PENDING).map_or(Wait::Nothing, Wait::Room)
    }

    /// Lets the simulation run.
    ///
    /// # Errors
    /// A kernel failed: the contexts of the device are broken.
    pub fn wait(&mut self, wait: Wait) -> Result<Step> {
        let (device, until) = match wait {
            Wait::Nothing => return Ok(Step::Done),
            Wait::Room(device) => (device, Until::AtMost(MOST_PENDING / 2)),
            Wait::Op(device, op) => (device, Until::Done(op)),
            Wait::Device(device) => (device, Until::AllDone),
            Wait::Query(device, op) => {
                let microsecond = self.devices[device].setup.gpu.clocks.core_mhz.ceil() as u64;
                (device, Until::DoneOr(op, self.timeline(device)?.now() + microsecond))
            }
        };
        if self.devices[device].timeline.is_none() {
            return Ok(Step::Done);
        }
        let host = std::mem::replace(&mut self.host, Box::new(Nobody));
        let ran = self.timeline(device).map(|timeline| timeline.run(until, &*host));
        self.host = host;
        match ran? {
            Ok(Ran::Done) => Ok(Step::Done),
            Ok(Ran::Call(op, call)) => Ok(Step::Call(device, op, call)),
            Ok(Ran::Elsewhere) => Ok(Step::Elsewhere),
            Ok(Ran::Stuck) => Err(self.fail(device, &DeviceError::Deadlock("operations wait for each other".into()))),
            Err(problem) => Err(self.fail(device, &problem)),
        }
    }

    /// A call that [`Driver::wait`] has asked for was made.
    pub fn called(&mut self, device: usize, op: OpId) {
        if let Some(timeline) = &mut self.devices[device].timeline {
            timeline.called(op);
        }
    }

    /// A device on which functions of the host program wait to be called.
    pub fn device_with_calls(&self) -> Option<usize> {
        self.devices.iter().position(|device| device.timeline.as_ref().is_some_and(Timeline::has_calls))
    }

    /// Whether an operation has ended.
    pub(crate) fn is_done(&self, device: usize, op: OpId) -> bool {
        self.devices[device].timeline.as_ref().is_none_or(|timeline| timeline.is_done(op))
    }

    /// Notes a failure on a device: its contexts are broken. Returns the error code.
    pub(crate) fn fail(&mut self, device: usize, problem: &DeviceError) -> Error {
        let error = code_of(problem);
        self.host.message(&problem.to_string());
        self.notes.failures.push(problem.to_string());
        if let Some(timeline) = &mut self.devices[device].timeline {
            timeline.abandon();
        }
        let broken: Vec<u64> = self.contexts.iter().filter(|(_, c)| c.device == device).map(|(c, _)| c).collect();
        for context in broken {
            if let Ok(context) = self.contexts.get_mut(context) {
                context.broken = Some(error);
            }
        }
        error
    }
}

impl Context {
    fn of(device: usize, primary: bool, flags: u32) -> Self {
        let limits = BTreeMap::new();
        Self { device, primary, flags, broken: None, attached: 0, limits, cache_config: 0, shared_config: 0 }
    }
}

/// The process while the driver lets the simulation run, which has the real one.
struct Nobody;

impl Host for Nobody {
    fn read(&self, _: u64, _: &mut [u8]) -> bool {
        false
    }
    fn write(&self, _: u64, _: &[u8]) -> bool {
        false
    }
    fn map(&self, _: u64, _: u64) -> bool {
        false
    }
    fn unmap(&self, _: u64, _: u64) {}
    fn print(&self, _: &str) {}
    fn message(&self, _: &str) {}
}

/// Changes the current contexts of the thread, unless it is ending: then it has none.
fn change_current<T>(change: impl FnOnce(&mut Vec<u64>) -> T) -> Option<T> {
    CURRENT.try_with(|stack| change(&mut stack.borrow_mut())).ok()
}

fn current() -> Option<u64> {
    CURRENT.try_with(|stack| stack.borrow().last().copied()).ok().flatten()
}

fn push(context: u64) {
    change_current(|stack| stack.push(context));
}

/// The error code of a failure on the device.
fn code_of(problem: &DeviceError) -> Error {
    match problem {
        DeviceError::Fault(fault) => code_of_fault(fault),
        DeviceError::Deadlock(_) => Error::LAUNCH_TIMEOUT,
        DeviceError::Shape { .. } => Error::LAUNCH_OUT_OF_RESOURCES,
        DeviceError::OutOfMemory { .. } => Error::OUT_OF_MEMORY,
        _ => Error::LAUNCH_FAILED,
    }
}

fn code_of_fault(fault: &Fault) -> Error {
    match fault.kind {
        FaultKind::IllegalAddress => Error::ILLEGAL_ADDRESS,
        FaultKind::MisalignedAddress => Error::MISALIGNED_ADDRESS,
        FaultKind::Assert => Error::ASSERT,
        FaultKind::IllegalInstruction => Error::ILLEGAL_INSTRUCTION,
        FaultKind::InvalidPc => Error::INVALID_PC,
        FaultKind::StackOverflow => Error::HARDWARE_STACK_ERROR,
        FaultKind::Trap | FaultKind::Other => Error::LAUNCH_FAILED,
    }
}
