//! The driver: the owners of all objects, and the calls that need several of them.

mod allocations;
mod copies;
mod launches;
mod requests;

use crate::error::{Error, Result};
use crate::graph::Graphs;
use crate::host::Host;
use crate::image::Images;
use crate::memory::Memory;
use crate::module::Modules;
use crate::platform::Platform;
use crate::settings::Settings;
use crate::stream::Streams;

/// CUDA's driver.
pub struct Driver {
    /// The user's settings.
    pub settings: Settings,
    /// Devices and contexts.
    pub platform: Platform,
    /// Allocations, pools, virtual memory.
    pub memory: Memory,
    /// Modules, functions, links.
    pub modules: Modules,
    /// Arrays, texture and surface objects, references.
    pub images: Images,
    /// Streams, events and captures.
    pub streams: Streams,
    /// Graphs, executable graphs, objects of the program.
    pub graphs: Graphs,
}

impl Driver {
    /// A driver for the devices of `settings` in the process `host`.
    pub fn new(settings: Settings, host: Box<dyn Host>) -> Self {
        let platform = Platform::new(&settings, host);
        let devices = platform.devices.len();
        Self {
            memory: Memory::new(devices),
            modules: Modules::new(devices),
            images: Images::new(devices),
            streams: Streams::new(devices),
            platform,
            settings,
            graphs: Graphs::new(),
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
            self.modules.retire(device);
            self.images.retire(device);
        }
        self.platform.renew_primary(device, context);
        Ok(())
    }

    /// Unloads a module. Its code is kept, for programs that load the same contents again.
    ///
    /// # Errors
    /// The handle is invalid.
    pub fn unload(&mut self, module: u64) -> Result<()> {
        self.images.release_module(module);
        self.modules.unload(&mut self.platform, module)
    }

    /// Removes all objects of a context.
    fn release_objects(&mut self, context: u64) {
        self.modules.release_context(&mut self.platform, context);
        self.images.release_context(&mut self.platform, &mut self.memory, context);
        self.graphs.release_context(&mut self.platform, &mut self.memory, context);
        self.memory.release_context(&mut self.platform, context);
        self.streams.release_context(context);
    }
}
