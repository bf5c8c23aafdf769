//! What the compiler's start-up code registers: fat binaries, and for each the host addresses that
//! stand for its kernels, variables, textures and surfaces.
//!
//! ```text
//! host address ──► fat binary + name ──► module in a context (loaded at first use) ──► handle
//! ```

use std::collections::BTreeMap;
use std::ffi::CString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

use crate::address::{Address, Handle, read, read_text, write};
use crate::driver::{Driver, at, into, is_forked, loaded_driver, out};
use crate::error::{Error, Result};

/// Longest name of a kernel or variable that is believed.
const LONGEST_NAME: usize = 1 << 20;

/// The head of a fat binary's wrapper in the program.
#[repr(C)]
#[derive(Clone, Copy)]
struct Wrapper {
    magic: u32,
    version: u32,
    image: Address,
    file: Address,
}
crate::address::plain!(Wrapper);

const WRAPPER_MAGIC: u32 = 0x4662_43b1;

/// A fat binary and its modules by context.
struct Binary {
    image: Address,
    modules: BTreeMap<Handle, Handle>,
    managed: Vec<Managed>,
}

/// A managed variable: the program reads its address at `host`.
struct Managed {
    host: Address,
    name: CString,
}

/// What a host address stands for.
#[derive(Clone)]
pub struct Entry {
    binary: Address,
    pub name: CString,
    /// Bytes of a variable; 1 for a texture that is read as normalized floats.
    pub size: usize,
}

/// The kinds of things that a host address stands for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    Kernel,
    Variable,
    Texture,
    Surface,
}

struct Registry {
    /// By the handle that the program holds.
    binaries: BTreeMap<Address, Binary>,
    entries: BTreeMap<(Kind, Address), Entry>,
    /// Functions by kernel and context, so that a launch looks up nothing in a module.
    functions: BTreeMap<(Address, Handle), Handle>,
}

static REGISTRY: Mutex<Registry> =
    Mutex::new(Registry { binaries: BTreeMap::new(), entries: BTreeMap::new(), functions: BTreeMap::new() });

/// Managed variables were registered that are not in place yet.
static UNPLACED: AtomicBool = AtomicBool::new(false);

fn registry() -> MutexGuard<'static, Registry> {
    REGISTRY.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Registers a fat binary by its wrapper. The handle is a place of its own, never freed: code of
/// the program may still hold it when the process ends.
pub fn add_binary(wrapper: Address) -> Address {
    let image = match read::<Wrapper>(wrapper) {
        Ok(wrapper) if wrapper.magic == WRAPPER_MAGIC => wrapper.image,
        // Data that is no wrapper: the driver judges it at the first use.
        _ => wrapper,
    };
    let handle = Box::leak(Box::new([image, 0])).as_ptr().expose_provenance();
    let binary = Binary { image, modules: BTreeMap::new(), managed: Vec::new() };
    registry().binaries.insert(handle, binary);
    handle
}

/// Removes a fat binary, its entries and its modules.
pub fn remove_binary(handle: Address) {
    if is_forked() {
        return;
    }
    let mut registry = registry();
    let Some(binary) = registry.binaries.remove(&handle) else {
        return;
    };
    let registry = &mut *registry;
    let (entries, functions) = (&mut registry.entries, &mut registry.functions);
    entries.retain(|(kind, host), entry| {
        let keep = entry.binary != handle;
        if !keep && *kind == Kind::Kernel {
            functions.retain(|(kernel, _), _| kernel != host);
        }
        keep
    });
    let Some(driver) = loaded_driver() else {
        return;
    };
    for module in binary.modules.into_values() {
        // The context may be gone at the end of the process, and the module with it.
        let _ = driver.cuModuleUnload(module);
    }
}

/// Registers what a host address stands for. Without a readable name nothing is registered, and
/// the first use of the address reports that.
pub fn add(kind: Kind, binary: Address, host: Address, name: Address, size: usize) {
    let Ok(name) = read_text(name, LONGEST_NAME) else {
        return;
    };
    let mut registry = registry();
    if registry.binaries.contains_key(&binary) {
        if kind == Kind::Kernel {
            registry.functions.retain(|(kernel, _), _| *kernel != host);
        }
        registry.entries.insert((kind, host), Entry { binary, name, size });
    }
}

/// Registers a managed variable, whose address the program reads at `host`.
pub fn add_managed(binary: Address, host: Address, name: Address, size: usize) {
    add(Kind::Variable, binary, host, name, size);
    let (Ok(name), mut registry) = (read_text(name, LONGEST_NAME), registry()) else {
        return;
    };
    if let Some(binary) = registry.binaries.get_mut(&binary) {
        binary.managed.push(Managed { host, name });
        UNPLACED.store(true, Ordering::Release);
    }
}

/// Loads the modules that have managed variables, and writes the addresses of these where the
/// program reads them.
pub fn place_managed(driver: &Driver, context: Handle) -> Result<()> {
    if !UNPLACED.load(Ordering::Acquire) {
        return Ok(());
    }
    let mut registry = registry();
    for binary in registry.binaries.values_mut().filter(|binary| !binary.managed.is_empty()) {
        let module = binary.module(driver, context)?;
        for managed in &binary.managed {
            let (address, _) = global(driver, module, &managed.name)?;
            write(managed.host, address)?;
        }
    }
    UNPLACED.store(false, Ordering::Release);
    Ok(())
}

/// Forgets the modules of a context that is going away.
pub fn forget(context: Handle) {
    let mut registry = registry();
    let mut unplaced = false;
    for binary in registry.binaries.values_mut() {
        let removed = binary.modules.remove(&context).is_some();
        unplaced |= removed && !binary.managed.is_empty();
    }
    registry.functions.retain(|(_, of), _| *of != context);
    if unplaced {
        UNPLACED.store(true, Ordering::Release);
    }
}

/// The function of a kernel in a context.
pub fn function(driver: &Driver, context: Handle, kernel: Address) -> Result<Handle> {
    let mut registry = registry();
    if let Some(function) = registry.functions.get(&(kernel, context)) {
        return Ok(*function);
    }
    let (module, entry) =
        registry.module_of(driver, context, (Kind::Kernel, kernel))?.ok_or(Error::INVALID_DEVICE_FUNCTION)?;
    let name = at(entry.name.as_bytes_with_nul());
    let function = out(|place| driver.cuModuleGetFunction(place, module, name))
        .map_err(|error| error.as_runtime(Error::NOT_FOUND, Error::INVALID_DEVICE_FUNCTION))?;
    registry.functions.insert((kernel, context), function);
    Ok(function)
}

/// The kernel's host address of a function of the driver.
pub fn kernel_of(function: Handle) -> Option<Address> {
    let registry = registry();
    let mut all = registry.functions.iter();
    all.find(|(_, found)| **found == function).map(|((kernel, _), _)| *kernel)
}

/// Address and size of a variable in a context. The symbol is the host's variable or, in old
/// programs, the address of its name.
pub fn variable(driver: &Driver, context: Handle, symbol: Address) -> Result<(Address, usize)> {
    let mut registry = registry();
    let host = registry.variable_host(symbol).ok_or(Error::INVALID_SYMBOL)?;
    let (module, entry) = registry.module_of(driver, context, (Kind::Variable, host))?.ok_or(Error::INVALID_SYMBOL)?;
    global(driver, module, &entry.name)
}

/// Module and entry of a texture or surface in a context.
pub fn reference(driver: &Driver, context: Handle, kind: Kind, host: Address) -> Result<Option<(Handle, Entry)>> {
    registry().module_of(driver, context, (kind, host))
}

/// The host's structure of a texture or surface: its address, or that of its name.
pub fn reference_host(kind: Kind, symbol: Address) -> Option<Address> {
    registry().host(kind, symbol)
}

/// Address and size of a module's variable.
fn global(driver: &Driver, module: Handle, name: &CString) -> Result<(Address, usize)> {
    let mut bytes: usize = 0;
    let size = into(&mut bytes);
    let name = at(name.as_bytes_with_nul());
    let address = out(|place| driver.cuModuleGetGlobal_v2(place, size, module, name))
        .map_err(|error| error.as_runtime(Error::NOT_FOUND, Error::INVALID_SYMBOL))?;
    Ok((address, bytes))
}

impl Registry {
    fn module_of(&mut self, driver: &Driver, context: Handle, key: (Kind, Address)) -> Result<Option<(Handle, Entry)>> {
        let Some(entry) = self.entries.get(&key) else {
            return Ok(None);
        };
        let binary = self.binaries.get_mut(&entry.binary).ok_or(Error::UNKNOWN)?;
        Ok(Some((binary.module(driver, context)?, entry.clone())))
    }

    fn variable_host(&self, symbol: Address) -> Option<Address> {
        self.host(Kind::Variable, symbol)
    }

    /// `symbol` itself if it is registered, else the entry that has the name at this address.
    fn host(&self, kind: Kind, symbol: Address) -> Option<Address> {
        if self.entries.contains_key(&(kind, symbol)) {
            return Some(symbol);
        }
        let name = read_text(symbol, 256).ok().filter(|name| !name.is_empty())?;
        let mut entries = self.entries.iter();
        entries.find(|((of, _), entry)| *of == kind && entry.name == name).map(|((_, host), _)| *host)
    }
}

impl Binary {
    /// The module in a context, which is current; loads it at the first use.
    fn module(&mut self, driver: &Driver, context: Handle) -> Result<Handle> {
        if let Some(module) = self.modules.get(&context) {
            return Ok(*module);
        }
        let image = self.image;
        let module = out(|place| driver.cuModuleLoadFatBinary(place, image))?;
        self.modules.insert(context, module);
        Ok(module)
    }
}
