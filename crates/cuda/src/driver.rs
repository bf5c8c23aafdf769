//! The driver: its devices and the objects of all families. Each family has its calls as methods of [`Driver`].

use crate::error::{Error, Result};
use crate::graph::{Captures, Executable, Graph, GraphMemory, Node, UserObject};
use crate::handles::{Handles, Kind};
use crate::host::Host;
use crate::image::{Array, Reference, Texture};
use crate::memory::{Advice, Allocation, MOST_DEVICES, Physical, Pool, Reserved, Shared};
use crate::module::{Function, Linker, Module};
use crate::report::Notes;
use crate::settings::Settings;
use crate::stream::{Event, Stream, Streams};
use crate::timeline::{OpId, Timeline};
use lab::Setup;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use workloads::device::ModuleId;

/// A device of the program.
pub struct Device {
    /// GPU, core and choices.
    pub setup: Setup,
    /// The simulated GPU, from its first use.
    pub(crate) timeline: Option<Timeline>,
    /// The primary context while it is retained.
    pub(crate) primary: Option<u64>,
    pub(crate) retained: u32,
    pub(crate) primary_flags: u32,
    pub(crate) streams: Streams,
    /// The first operation of the next simulated GPU: streams and events may still have those of former ones.
    pub(crate) first_op: OpId,
    pub(crate) shared: Shared,
    /// Bytes of the board's memory that allocations and arrays take.
    pub(crate) allocated: u64,
    /// Images of texture and surface objects that the program has destroyed.
    pub(crate) destroyed_images: Vec<u64>,
    /// Images that references have been bound to, with their handles.
    pub(crate) bound_images: Vec<(isa::Image, u64)>,
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

    /// The place of the device of an ordinal in [`Driver::devices`].
    ///
    /// # Errors
    /// There is none.
    pub fn index_of(&self, ordinal: i32) -> Result<usize> {
        self.device(ordinal).map(|_| ordinal as usize)
    }

    /// Notes that something is not supported; says so once.
    pub fn unsupported(&mut self, what: &'static str) -> Error {
        let count = self.notes.unsupported.entry(what).or_insert(0);
        *count += 1;
        if *count == 1 {
            self.host.message(&format!("{what} is not supported"));
        }
        Error::NOT_SUPPORTED
    }
}

impl Context {
    pub(crate) fn of(device: usize, primary: bool, flags: u32) -> Self {
        let limits = BTreeMap::new();
        Self { device, primary, flags, broken: None, attached: 0, limits, cache_config: 0, shared_config: 0 }
    }
}
