//! Modules: PTX, cubins and fat binaries.

mod cluster;
mod function;
mod launch;
mod linker;
mod objects;
mod read;

pub use launch::{Arguments, Request};
pub(crate) use launch::{arguments, make_cooperative};
pub use objects::{Function, Linker, Log, Logs, Module, OldLaunch, USUAL_SHARED_BYTES};
pub use read::{IMAGE_HEADER_BYTES, IMAGE_MAGIC, read_file, read_image};

use crate::error::{Error, Result};
use crate::handles::{Handles, Kind};
use crate::host::PAGE_BYTES;
use crate::platform::Platform;
use exec::LoadedModule;
use lab::Setup;
use read::{ELF_MAGIC, linked_contents};
use sass::fatbin;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use workloads::device::{ModuleCode, ModuleId, ModuleSource};
use workloads::{DeviceError, Form};

/// Owner of modules, functions and links.
pub struct Modules {
    modules: Handles<Module>,
    functions: Handles<Function>,
    linkers: Handles<Linker>,
    /// By device: the modules that the program has unloaded, by a hash of their contents.
    unloaded: Vec<HashMap<u64, ModuleId>>,
    /// Why the last module was not loaded.
    last_problem: String,
    /// Pages of host memory under managed variables.
    variable_pages: BTreeSet<u64>,
    /// Modules with our kernels in place of a library's, by context and library.
    stand_ins: BTreeMap<(u64, String), u64>,
}

impl Modules {
    /// None, for as many devices.
    pub(crate) fn new(devices: usize) -> Self {
        Self {
            modules: Handles::new(Kind::Module),
            functions: Handles::new(Kind::Function),
            linkers: Handles::new(Kind::Link),
            unloaded: vec![HashMap::new(); devices],
            last_problem: String::new(),
            variable_pages: BTreeSet::new(),
            stand_ins: BTreeMap::new(),
        }
    }

    /// Loads a module from an image.
    ///
    /// # Errors
    /// The image is damaged, or has nothing for the device.
    pub fn load(&mut self, platform: &mut Platform, image: &[u8]) -> Result<u64> {
        let image = linked_contents(image).unwrap_or(image);
        let (context, device) = platform.place_here()?;
        let mut hasher = DefaultHasher::new();
        image.hash(&mut hasher);
        let contents = hasher.finish();
        let loaded = match self.unloaded[device].remove(&contents) {
            Some(kept) => {
                platform.timeline(device)?.device.place(kept).map_err(|_| Error::OUT_OF_MEMORY)?;
                kept
            }
            None => self.load_new(platform, device, image, &format!("module {contents:016x}"))?,
        };
        self.share_managed(platform, device, loaded)?;
        Ok(self.modules.add(Module { context, device, loaded, contents, functions: BTreeMap::new() }))
    }

    /// The module with our kernels in place of `library`'s in the current context.
    ///
    /// # Errors
    /// There are none for the library.
    pub fn stand_in(&mut self, platform: &mut Platform, library: &str) -> Result<u64> {
        let (context, _) = platform.place_here()?;
        let key = (context, library.to_owned());
        if let Some(module) = self.stand_ins.get(&key)
            && self.modules.get(*module).is_ok_and(|module| module.context == context)
        {
            return Ok(*module);
        }
        let module = self.load(platform, standins::image(library).ok_or(Error::NOT_FOUND)?)?;
        self.stand_ins.insert(key, module);
        Ok(module)
    }

    /// Makes the managed variables of a module known to the host.
    fn share_managed(&mut self, platform: &mut Platform, device: usize, loaded: ModuleId) -> Result<()> {
        let simulated = &platform.timeline(device)?.device;
        let variables = &simulated.loaded(loaded).map_err(|_| Error::INVALID_HANDLE)?.module.variables;
        let managed: Vec<_> = variables.iter().filter(|v| v.managed).cloned().collect();
        for variable in managed {
            let pages = variable.address / PAGE_BYTES..(variable.address + variable.bytes).div_ceil(PAGE_BYTES);
            for page in pages {
                if self.variable_pages.insert(page) && !platform.host.map(page * PAGE_BYTES, PAGE_BYTES) {
                    return Err(Error::OUT_OF_MEMORY);
                }
            }
            let mut init = variable.init;
            init.resize(variable.bytes as usize, 0);
            platform.host.write(variable.address, &init);
            platform.timeline(device)?.regions.add(variable.address, variable.address, variable.bytes);
        }
        Ok(())
    }

    fn load_new(&mut self, platform: &mut Platform, device: usize, image: &[u8], name: &str) -> Result<ModuleId> {
        let sm = platform.devices[device].setup.gpu.sm_version;
        let ptx = wanted_ptx(&platform.devices[device].setup, image);
        let image = ptx.as_deref().unwrap_or(image);
        let text = std::str::from_utf8(image).ok().map(|text| text.trim_end_matches('\0'));
        let code = match text {
            Some(text) if !image.starts_with(&ELF_MAGIC) => ModuleCode::Ptx(text),
            _ => ModuleCode::Binary(image),
        };
        let loaded = platform.timeline(device)?.device.load_deferred(&ModuleSource { name, code });
        loaded.map_err(|problem| {
            self.last_problem = problem.to_string();
            platform.host.message(&self.last_problem);
            platform.notes.refused(self.last_problem.clone());
            match (problem, code) {
                (DeviceError::Module(_), ModuleCode::Ptx(_) | ModuleCode::BundledPtx(_)) => Error::INVALID_PTX,
                (DeviceError::Module(_), ModuleCode::Binary(_)) if !has_code(image, sm) => Error::NO_BINARY_FOR_GPU,
                (DeviceError::Module(_), ModuleCode::Binary(_)) => Error::INVALID_IMAGE,
                _ => Error::OUT_OF_MEMORY,
            }
        })
    }

    /// A module.
    ///
    /// # Errors
    /// The handle is invalid.
    pub fn get(&self, module: u64) -> Result<&Module> {
        self.modules.get(module)
    }

    /// Unloads a module. Its code is kept, for programs that load the same contents again.
    ///
    /// # Errors
    /// The handle is invalid.
    pub(crate) fn unload(&mut self, platform: &mut Platform, module: u64) -> Result<()> {
        let module = self.modules.remove(module)?;
        for function in module.functions.values() {
            let _ = self.functions.remove(*function);
        }
        if let Some(timeline) = &mut platform.devices[module.device].timeline {
            if let Ok(loaded) = timeline.device.loaded(module.loaded) {
                loaded.module.variables.iter().filter(|v| v.managed).for_each(|v| timeline.regions.remove(v.address));
            }
            if timeline.device.withdraw(module.loaded).is_ok() {
                self.unloaded[module.device].insert(module.contents, module.loaded);
            }
        }
        Ok(())
    }

    /// Removes the modules and links of a context.
    pub(crate) fn release_context(&mut self, platform: &mut Platform, context: u64) {
        let modules: Vec<u64> =
            self.modules.iter().filter(|(_, m)| m.context == context).map(|(handle, _)| handle).collect();
        for module in modules {
            let _ = self.unload(platform, module);
        }
        self.linkers.retain(|linker| linker.context != context);
    }

    /// Forgets the modules of a device whose simulated GPU is gone.
    pub(crate) fn retire(&mut self, device: usize) {
        self.unloaded[device].clear();
    }

    /// Beginning and size of the variable of a device's modules at an address.
    pub(crate) fn variable_at(&self, platform: &mut Platform, device: usize, address: u64) -> Option<(u64, u64)> {
        let loaded = self.modules.iter().filter(|(_, module)| module.device == device).map(|(_, m)| m.loaded);
        let simulated = &platform.timeline(device).ok()?.device;
        let variables = loaded.filter_map(|id| simulated.loaded(id).ok()).flat_map(|l| &l.module.variables);
        variables.map(|v| (v.address, v.bytes)).find(|(start, bytes)| address.wrapping_sub(*start) < *bytes)
    }

    /// A module as the simulated device has it.
    pub(crate) fn loaded_of<'a>(&self, platform: &'a mut Platform, module: u64) -> Result<&'a lower::Loaded> {
        let &Module { device, loaded, .. } = self.modules.get(module)?;
        platform.timeline(device)?.device.loaded(loaded).map_err(|_| Error::INVALID_HANDLE)
    }

    /// As [`Modules::loaded_of`], with the kernel `name` ready, or all kernels.
    fn prepared<'a>(&self, platform: &'a mut Platform, module: u64, name: Option<&str>) -> Result<&'a lower::Loaded> {
        let &Module { device, loaded, .. } = self.modules.get(module)?;
        platform.timeline(device)?.device.prepare(loaded, name).map_err(|_| Error::INVALID_HANDLE)
    }

    /// The function `name` of a module.
    ///
    /// # Errors
    /// There is none, or it cannot run.
    pub fn function(&mut self, platform: &mut Platform, handle: u64, name: &str) -> Result<u64> {
        let module = self.modules.get(handle)?;
        if let Some(&function) = module.functions.get(name) {
            return Ok(function);
        }
        let device = module.device;
        let loaded = self.prepared(platform, handle, Some(name))?;
        let kernel = loaded.module.kernels.iter().find(|kernel| kernel.name() == name).cloned();
        let constant_bytes = constant_bytes(&loaded.module);
        let refused = loaded.rejected.iter().find(|kernel| kernel.name == name).map(|kernel| kernel.error.to_string());
        let Some(kernel) = kernel else {
            let Some(why) = refused else { return Err(Error::NOT_FOUND) };
            platform.host.message(&format!("kernel `{name}` cannot run:\n{why}"));
            platform.notes.refused(format!("kernel `{name}` cannot run: {why}"));
            return Err(Error::NOT_SUPPORTED);
        };
        let function = self.functions.add(Function { constant_bytes, ..Function::new(handle, device, kernel) });
        self.modules.get_mut(handle)?.functions.insert(name.to_owned(), function);
        Ok(function)
    }

    /// Names of the functions of a module that can run.
    ///
    /// # Errors
    /// The handle is invalid.
    pub fn function_names(&self, platform: &mut Platform, handle: u64) -> Result<Vec<String>> {
        let loaded = self.prepared(platform, handle, None)?;
        Ok(loaded.module.kernels.iter().map(|kernel| kernel.name().to_owned()).collect())
    }

    /// Address and size of the variable `name` of a module.
    ///
    /// # Errors
    /// There is none.
    pub fn variable(&self, platform: &mut Platform, handle: u64, name: &str) -> Result<(u64, u64)> {
        let variable = self.loaded_of(platform, handle)?.module.variable(name).ok_or(Error::NOT_FOUND)?;
        Ok((variable.address, variable.bytes))
    }

    /// Address and size of the managed variable `name` of a module.
    ///
    /// # Errors
    /// There is none.
    pub fn managed_variable(&self, platform: &mut Platform, handle: u64, name: &str) -> Result<(u64, u64)> {
        let variable =
            self.loaded_of(platform, handle)?.module.variable(name).filter(|v| v.managed).ok_or(Error::NOT_FOUND)?;
        Ok((variable.address, variable.bytes))
    }
}

/// The PTX of a fat binary, if the device's core runs nothing else or the user wants it.
fn wanted_ptx<'a>(setup: &Setup, image: &'a [u8]) -> Option<Cow<'a, [u8]>> {
    if setup.code != Form::Ptx && !lab::needs_ptx(&setup.core) {
        return None;
    }
    let entries = fatbin::entries(image).ok()?;
    let ptx = entries.iter().filter(|entry| entry.kind == fatbin::Kind::Ptx && entry.sm <= setup.gpu.sm_version);
    ptx.max_by_key(|entry| entry.sm)?.extract().ok()
}

/// Size of the constant memory that the program has declared in a module.
fn constant_bytes(module: &LoadedModule) -> u64 {
    let handles: Vec<u64> = module.references.iter().map(|reference| reference.address).collect();
    let declared = module.variables.iter().filter(|v| v.constant && !handles.contains(&v.address));
    declared.map(|v| v.bytes).sum()
}

/// Whether an image has code for a GPU; a damaged one counts as one that has.
fn has_code(image: &[u8], sm: u32) -> bool {
    fatbin::entries(image).map_or(true, |entries| fatbin::select_code(&entries, sm).is_some())
}
