//! The driver: the owners of all objects, and the calls that need several of them.

mod requests;

use crate::error::{Error, Result};
use crate::graph::{Executable, Graph, GraphMemory, Node, UserObject};
use crate::handles::{Handles, Kind};
use crate::host::Host;
use crate::image::{Array, Reference, Texture};
use crate::memory::{Advice, Allocation, Physical, Pool, Reserved};
use crate::module::{Function, Linker, Module};
use crate::platform::Platform;
use crate::settings::Settings;
use crate::stream::Streams;
use std::collections::{BTreeMap, BTreeSet};

/// CUDA's driver.
pub struct Driver {
    /// What the user asks for.
    pub settings: Settings,
    /// Devices and contexts.
    pub platform: Platform,
    pub(crate) modules: Handles<Module>,
    pub(crate) functions: Handles<Function>,
    /// Streams, events and captures.
    pub streams: Streams,
    pub(crate) graphs: Handles<Graph>,
    pub(crate) graph_nodes: Handles<Node>,
    pub(crate) executables: Handles<Executable>,
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
}

impl Driver {
    /// A driver for the devices of `settings` in the process `host`.
    pub fn new(settings: Settings, host: Box<dyn Host>) -> Self {
        let platform = Platform::new(&settings.devices, host);
        Self {
            streams: Streams::new(platform.devices.len()),
            platform,
            settings,
            modules: Handles::new(Kind::Module),
            functions: Handles::new(Kind::Function),
            graphs: Handles::new(Kind::Graph),
            graph_nodes: Handles::new(Kind::GraphNode),
            executables: Handles::new(Kind::GraphExec),
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
        }
    }

    /// Destroys a context and what belongs to it.
    ///
    /// # Errors
    /// It is not a context, or it is a primary one.
    pub fn context_destroy(&mut self, context: u64) -> Result<()> {
        if self.platform.context(context)?.primary {
            return Err(Error::INVALID_CONTEXT);
        }
        self.release_objects(context);
        self.platform.remove_context(context);
        Ok(())
    }

    /// Releases the primary context of a device; after the last release its objects are gone.
    ///
    /// # Errors
    /// It is not retained.
    pub fn primary_release(&mut self, ordinal: i32) -> Result<()> {
        if self.platform.release_primary(ordinal)? { self.primary_reset(ordinal) } else { Ok(()) }
    }

    /// Destroys what belongs to the primary context of a device. Its faults are forgotten.
    ///
    /// # Errors
    /// There is no such device.
    pub fn primary_reset(&mut self, ordinal: i32) -> Result<()> {
        let device = self.platform.index_of(ordinal)?;
        let Some(context) = self.platform.devices[device].primary else { return Ok(()) };
        self.release_objects(context);
        if self.platform.context(context).is_ok_and(|context| context.broken.is_some()) {
            self.platform.retire(device);
        }
        self.platform.renew_primary(device, context);
        Ok(())
    }

    /// Removes all objects of a context.
    fn release_objects(&mut self, context: u64) {
        self.release_modules(context);
        self.release_images(context);
        self.release_graphs(context);
        self.release_memory(context);
        self.streams.release(context);
    }
}
