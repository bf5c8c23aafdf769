//! Modules: PTX, cubins and fat binaries.

mod function;
mod launch;
mod linker;
mod objects;

pub use launch::{Arguments, Request};
pub use linker::{IMAGE_HEADER_BYTES, IMAGE_MAGIC};
pub use objects::{Function, Linker, Log, Logs, Module, OldLaunch, USUAL_SHARED_BYTES};

use crate::driver::Driver;
use crate::error::{Error, Result};
use crate::host::{PAGE_BYTES, read_text};
use exec::LoadedModule;
use kit::{files, text::excerpt};
use linker::linked_contents;
use sass::fatbin::{self, Kind};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use workloads::device::{ModuleCode, ModuleId, ModuleSource};
use workloads::{DeviceError, Form};

/// First bytes of the wrapper in which compilers put fat binaries (public `fatbinary_section.h`).
const WRAPPER_MAGIC: u32 = 0x4662_43b1;
/// First bytes of a file of machine code.
const ELF_MAGIC: [u8; 4] = *b"\x7fELF";
/// Maximum size of an image.
const MOST_IMAGE_BYTES: u64 = 1 << 30;

impl Driver {
    fn host_u32(&self, address: u64) -> Result<u32> {
        let mut bytes = [0; 4];
        if self.platform.host.read(address, &mut bytes) {
            Ok(u32::from_le_bytes(bytes))
        } else {
            Err(Error::INVALID_VALUE)
        }
    }

    fn host_u64(&self, address: u64) -> Result<u64> {
        let mut bytes = [0; 8];
        if self.platform.host.read(address, &mut bytes) {
            Ok(u64::from_le_bytes(bytes))
        } else {
            Err(Error::INVALID_VALUE)
        }
    }

    /// The image at `address` of host memory: fat binary, wrapper of one, cubin, or PTX. Its size is in it.
    ///
    /// # Errors
    /// There is no memory, or it is not one of these.
    pub fn read_image(&self, address: u64) -> Result<Vec<u8>> {
        let magic = self.host_u32(address)?;
        let bytes = match magic {
            WRAPPER_MAGIC => {
                let wrapped = self.host_u64(address + 8)?;
                // A wrapper in a wrapper may be the same one.
                let is_wrapper = self.host_u32(wrapped)? == WRAPPER_MAGIC;
                return if is_wrapper { Err(Error::INVALID_IMAGE) } else { self.read_image(wrapped) };
            }
            fatbin::MAGIC => {
                let header = u64::from(self.host_u32(address + 4)? >> 16);
                header.checked_add(self.host_u64(address + 8)?).ok_or(Error::INVALID_IMAGE)?
            }
            _ if magic.to_le_bytes() == IMAGE_MAGIC[..4] && self.host_u64(address)?.to_le_bytes() == IMAGE_MAGIC => {
                (IMAGE_HEADER_BYTES as u64).checked_add(self.host_u64(address + 8)?).ok_or(Error::INVALID_IMAGE)?
            }
            _ if magic.to_le_bytes() == ELF_MAGIC => self.elf_bytes(address)?,
            _ => return read_text(&*self.platform.host, address).ok_or(Error::INVALID_VALUE),
        };
        if bytes > MOST_IMAGE_BYTES {
            return Err(Error::INVALID_IMAGE);
        }
        let mut image = vec![0; bytes as usize];
        if self.platform.host.read(address, &mut image) { Ok(image) } else { Err(Error::INVALID_VALUE) }
    }

    /// Size of an ELF file of 64 bits: to the end of its last part.
    fn elf_bytes(&self, address: u64) -> Result<u64> {
        let mut header = [0; 64];
        if !self.platform.host.read(address, &mut header) {
            return Err(Error::INVALID_VALUE);
        }
        let long = |at: usize| u64::from_le_bytes(header[at..at + 8].try_into().unwrap_or_default());
        let short = |at: usize| u64::from(u16::from_le_bytes([header[at], header[at + 1]]));
        let (segments, sections) = (long(32), long(40));
        let tables = [segments.saturating_add(short(54) * short(56)), sections.saturating_add(short(58) * short(60))];
        let mut end = tables[0].max(tables[1]);
        if end > MOST_IMAGE_BYTES {
            return Err(Error::INVALID_IMAGE);
        }
        for section in 0..short(60) {
            let at = address + sections + section * short(58);
            // Sections of kind 8 take no room in the file.
            if self.host_u32(at + 4)? != 8 {
                end = end.max(self.host_u64(at + 24)?.saturating_add(self.host_u64(at + 32)?));
            }
        }
        Ok(end)
    }

    /// The contents of a file of code that the program names. What is not a file, such as a device or a pipe, may not end.
    ///
    /// # Errors
    /// There is no such file, or it is too long.
    pub fn read_file(&self, path: &str) -> Result<Vec<u8>> {
        let about = std::fs::metadata(path).map_err(|_| Error::FILE_NOT_FOUND)?;
        let read =
            if about.is_file() { files::read_code(path).map_err(|e| e.to_string()) } else { Err("not a file".into()) };
        read.map_err(|problem| {
            self.platform.host.message(&format!("`{}` is not loaded: {problem}", excerpt(path)));
            Error::INVALID_IMAGE
        })
    }

    /// Loads a module from an image.
    ///
    /// # Errors
    /// The image is damaged, or has nothing for the device.
    pub fn load(&mut self, image: &[u8]) -> Result<u64> {
        let image = linked_contents(image).unwrap_or(image);
        let (context, device) = self.platform.place_here()?;
        let mut hasher = DefaultHasher::new();
        image.hash(&mut hasher);
        let contents = hasher.finish();
        let loaded = match self.platform.devices[device].unloaded.remove(&contents) {
            Some(kept) => {
                self.platform.timeline(device)?.device.place(kept).map_err(|_| Error::OUT_OF_MEMORY)?;
                kept
            }
            None => self.load_new(device, image, &format!("module {contents:016x}"))?,
        };
        self.share_managed(device, loaded)?;
        Ok(self.modules.add(Module { context, device, loaded, contents, functions: BTreeMap::new() }))
    }

    /// Makes the managed variables of a module known to the host.
    fn share_managed(&mut self, device: usize, loaded: ModuleId) -> Result<()> {
        let simulated = &self.platform.timeline(device)?.device;
        let variables = &simulated.loaded(loaded).map_err(|_| Error::INVALID_HANDLE)?.module.variables;
        let managed: Vec<_> = variables.iter().filter(|v| v.managed).cloned().collect();
        for variable in managed {
            let pages = variable.address / PAGE_BYTES..(variable.address + variable.bytes).div_ceil(PAGE_BYTES);
            for page in pages {
                if self.variable_pages.insert(page) && !self.platform.host.map(page * PAGE_BYTES, PAGE_BYTES) {
                    return Err(Error::OUT_OF_MEMORY);
                }
            }
            let mut init = variable.init;
            init.resize(variable.bytes as usize, 0);
            self.platform.host.write(variable.address, &init);
            self.platform.timeline(device)?.regions.add(variable.address, variable.address, variable.bytes);
        }
        Ok(())
    }

    /// The PTX of a fat binary, if the device's core runs nothing else or the user wants it.
    fn wanted_ptx<'a>(&self, device: usize, image: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        let setup = &self.platform.devices[device].setup;
        if setup.code != Form::Ptx && !lab::needs_ptx(&setup.core) {
            return None;
        }
        let entries = fatbin::entries(image).ok()?;
        let ptx = entries.iter().filter(|entry| entry.kind == Kind::Ptx && entry.sm <= setup.gpu.sm_version);
        ptx.max_by_key(|entry| entry.sm)?.extract().ok()
    }

    fn load_new(&mut self, device: usize, image: &[u8], name: &str) -> Result<ModuleId> {
        let sm = self.platform.devices[device].setup.gpu.sm_version;
        let ptx = self.wanted_ptx(device, image);
        let image = ptx.as_deref().unwrap_or(image);
        let text = std::str::from_utf8(image).ok().map(|text| text.trim_end_matches('\0'));
        let code = match text {
            Some(text) if !image.starts_with(&ELF_MAGIC) => ModuleCode::Ptx(text),
            _ => ModuleCode::Binary(image),
        };
        let loaded = self.platform.timeline(device)?.device.load_deferred(&ModuleSource { name, code });
        loaded.map_err(|problem| {
            self.last_problem = problem.to_string();
            self.platform.host.message(&self.last_problem);
            self.platform.notes.refused(self.last_problem.clone());
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
    pub fn module(&self, module: u64) -> Result<&Module> {
        self.modules.get(module)
    }

    /// Unloads a module. Its code is kept, for programs that load the same contents again.
    ///
    /// # Errors
    /// The handle is invalid.
    pub fn unload(&mut self, module: u64) -> Result<()> {
        self.references.retain(|reference| reference.of.as_ref().is_none_or(|of| of.0 != module));
        let module = self.modules.remove(module)?;
        for function in module.functions.values() {
            let _ = self.functions.remove(*function);
        }
        let device = &mut self.platform.devices[module.device];
        if let Some(timeline) = &mut device.timeline {
            if let Ok(loaded) = timeline.device.loaded(module.loaded) {
                loaded.module.variables.iter().filter(|v| v.managed).for_each(|v| timeline.regions.remove(v.address));
            }
            if timeline.device.withdraw(module.loaded).is_ok() {
                device.unloaded.insert(module.contents, module.loaded);
            }
        }
        Ok(())
    }

    /// Removes the modules and links of a context.
    pub(crate) fn release_modules(&mut self, context: u64) {
        let modules: Vec<u64> =
            self.modules.iter().filter(|(_, m)| m.context == context).map(|(handle, _)| handle).collect();
        for module in modules {
            let _ = self.unload(module);
        }
        self.linkers.retain(|linker| linker.context != context);
    }

    /// A module as the simulated device has it.
    pub(crate) fn loaded_of(&mut self, module: u64) -> Result<&lower::Loaded> {
        let &Module { device, loaded, .. } = self.modules.get(module)?;
        self.platform.timeline(device)?.device.loaded(loaded).map_err(|_| Error::INVALID_HANDLE)
    }

    /// As [`Driver::loaded_of`], with the kernel `name` ready, or all kernels.
    fn prepared(&mut self, module: u64, name: Option<&str>) -> Result<&lower::Loaded> {
        let &Module { device, loaded, .. } = self.modules.get(module)?;
        self.platform.timeline(device)?.device.prepare(loaded, name).map_err(|_| Error::INVALID_HANDLE)
    }

    /// The function `name` of a module.
    ///
    /// # Errors
    /// There is none, or it cannot run.
    pub fn function(&mut self, handle: u64, name: &str) -> Result<u64> {
        let module = self.modules.get(handle)?;
        if let Some(&function) = module.functions.get(name) {
            return Ok(function);
        }
        let device = module.device;
        let loaded = self.prepared(handle, Some(name))?;
        let kernel = loaded.module.kernels.iter().find(|kernel| kernel.name() == name).cloned();
        let constant_bytes = constant_bytes(&loaded.module);
        let refused = loaded.rejected.iter().find(|kernel| kernel.name == name).map(|kernel| kernel.error.to_string());
        let Some(kernel) = kernel else {
            let Some(why) = refused else { return Err(Error::NOT_FOUND) };
            self.platform.host.message(&format!("kernel `{name}` cannot run:\n{why}"));
            self.platform.notes.refused(format!("kernel `{name}` cannot run: {why}"));
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
    pub fn function_names(&mut self, handle: u64) -> Result<Vec<String>> {
        let loaded = self.prepared(handle, None)?;
        Ok(loaded.module.kernels.iter().map(|kernel| kernel.name().to_owned()).collect())
    }

    /// Address and size of the variable `name` of a module.
    ///
    /// # Errors
    /// There is none.
    pub fn variable(&mut self, handle: u64, name: &str) -> Result<(u64, u64)> {
        let variable = self.loaded_of(handle)?.module.variable(name).ok_or(Error::NOT_FOUND)?;
        Ok((variable.address, variable.bytes))
    }

    /// Address and size of the managed variable `name` of a module.
    ///
    /// # Errors
    /// There is none.
    pub fn managed_variable(&mut self, handle: u64, name: &str) -> Result<(u64, u64)> {
        let variable = self.loaded_of(handle)?.module.variable(name).filter(|v| v.managed).ok_or(Error::NOT_FOUND)?;
        Ok((variable.address, variable.bytes))
    }
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
