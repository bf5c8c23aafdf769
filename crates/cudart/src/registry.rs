//! Kernels, variables, textures and surfaces by the host addresses that the compiler's start-up code registers.
//!
//! ```text
//! host address ──► fat binary + name ──► module in a context (loaded at first use) ──► handle
//! ```

use std::collections::BTreeMap;
use std::ffi::CString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

use crate::driver::{Driver, at, into, is_forked, loaded_driver, out};
use crate::error::{Error, Result};
use cabi::address::{Address, Handle, read, read_text, write};

/// Bytes of the longest name that is read.
pub const LONGEST_NAME: usize = 1 << 20;

/// The head of a fat binary's wrapper in the program.
#[repr(C)]
#[derive(Clone, Copy)]
struct Wrapper {
    magic: u32,
    version: u32,
    image: Address,
    file: Address,
}
cabi::plain!(Wrapper);

const WRAPPER_MAGIC: u32 = 0x4662_43b1;

/// A fat binary and its modules by context.
struct Binary {
    image: Address,
    modules: BTreeMap<Handle, Handle>,
    /// Host addresses of managed variables: the program reads the variable's address there.
    managed: Vec<Address>,
}

/// Entry that is registered for a host address.
pub struct Entry {
    binary: Address,
    name: CString,
    /// A texture whose integers are read as normalized floats.
    pub reads_normalized: bool,
}

impl Entry {
    /// The address of the name, for the driver.
    pub fn name(&self) -> Address {
        at(self.name.as_bytes_with_nul())
    }
}

/// Kind of object for which a host address is registered.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    Kernel,
    Variable,
    Texture,
    Surface,
}

impl Kind {
    /// The error for an address that is not registered as this, and for a name that the module lacks.
    fn absent(self) -> Error {
        match self {
            Self::Kernel => Error::INVALID_DEVICE_FUNCTION,
            Self::Variable => Error::INVALID_SYMBOL,
            Self::Texture => Error::INVALID_TEXTURE,
            Self::Surface => Error::INVALID_SURFACE,
        }
    }
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

/// Managed variables were registered whose addresses the program does not have yet.
static UNPLACED: AtomicBool = AtomicBool::new(false);

/// The registry, locked. The child of a fork has none: a thread that it lacks may hold the lock.
fn registry() -> Result<MutexGuard<'static, Registry>> {
    if is_forked() {
        return Err(Error::INITIALIZATION);
    }
    Ok(REGISTRY.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
}

/// Registers a fat binary by its wrapper. The handle is the address of memory that is never freed: code of the
/// program may still hold it when the process ends.
pub fn add_binary(wrapper: Address) -> Address {
    let image = match read::<Wrapper>(wrapper) {
        Ok(wrapper) if wrapper.magic == WRAPPER_MAGIC => wrapper.image,
        // Data without a wrapper: the driver checks it at the first use.
        _ => wrapper,
    };
    let handle = Box::leak(Box::new([image, 0])).as_ptr().expose_provenance();
    let binary = Binary { image, modules: BTreeMap::new(), managed: Vec::new() };
    if let Ok(mut registry) = registry() {
        registry.binaries.insert(handle, binary);
    }
    handle
}

/// Removes a fat binary, its entries and its modules.
pub fn remove_binary(handle: Address) {
    let Ok(mut registry) = registry() else {
        return;
    };
    let Some(binary) = registry.binaries.remove(&handle) else {
        return;
    };
    let Registry { entries, functions, .. } = &mut *registry;
    entries.retain(|_, entry| entry.binary != handle);
    functions.retain(|(kernel, _), _| entries.contains_key(&(Kind::Kernel, *kernel)));
    let Some(driver) = loaded_driver() else {
        return;
    };
    for module in binary.modules.into_values() {
        // At the end of the process the context may be gone, and the module with it.
        let _ = driver.cuModuleUnload(module);
    }
}

/// Registers a host address. Without a readable name nothing is registered, and the first use of the address fails.
pub fn add(kind: Kind, binary: Address, host: Address, name: Address, reads_normalized: bool) {
    let (Ok(name), Ok(mut registry)) = (read_text(name, LONGEST_NAME), registry()) else {
        return;
    };
    if !registry.binaries.contains_key(&binary) {
        return;
    }
    if registry.entries.insert((kind, host), Entry { binary, name, reads_normalized }).is_some() {
        registry.functions.retain(|(kernel, _), _| *kernel != host);
    }
}

/// Registers a managed variable, whose address the program reads at `host`.
pub fn add_managed(binary: Address, host: Address, name: Address) {
    add(Kind::Variable, binary, host, name, false);
    let Ok(mut registry) = registry() else {
        return;
    };
    if !registry.entries.contains_key(&(Kind::Variable, host)) {
        return;
    }
    if let Some(binary) = registry.binaries.get_mut(&binary) {
        binary.managed.push(host);
        UNPLACED.store(true, Ordering::Release);
    }
}

/// Loads the modules that have managed variables, and writes the addresses of these where the
/// program reads them.
pub fn place_managed(driver: &Driver, context: Handle) -> Result<()> {
    if !UNPLACED.load(Ordering::Acquire) {
        return Ok(());
    }
    let mut registry = registry()?;
    let Registry { binaries, entries, .. } = &mut *registry;
    for binary in binaries.values_mut().filter(|binary| !binary.managed.is_empty()) {
        let module = binary.module(driver, context)?;
        for &host in &binary.managed {
            let entry = entries.get(&(Kind::Variable, host)).ok_or(Error::INVALID_SYMBOL)?;
            write(host, global(driver, module, entry)?.0)?;
        }
    }
    UNPLACED.store(false, Ordering::Release);
    Ok(())
}

/// Forgets the modules of a context that is destroyed.
pub fn forget(context: Handle) -> Result<()> {
    let mut registry = registry()?;
    for binary in registry.binaries.values_mut() {
        if binary.modules.remove(&context).is_some() && !binary.managed.is_empty() {
            UNPLACED.store(true, Ordering::Release);
        }
    }
    registry.functions.retain(|(_, of), _| *of != context);
    Ok(())
}

/// The function of a kernel in a context.
pub fn function(driver: &Driver, context: Handle, kernel: Address) -> Result<Handle> {
    let mut registry = registry()?;
    if let Some(function) = registry.functions.get(&(kernel, context)) {
        return Ok(*function);
    }
    let function = registry.find(driver, context, (Kind::Kernel, kernel), |module, entry| {
        out(|place| driver.cuModuleGetFunction(place, module, entry.name()))
    })?;
    registry.functions.insert((kernel, context), function);
    Ok(function)
}

/// The kernel's host address of a function of the driver.
pub fn kernel_of(function: Handle) -> Option<Address> {
    let registry = registry().ok()?;
    let mut all = registry.functions.iter();
    all.find(|(_, found)| **found == function).map(|((kernel, _), _)| *kernel)
}

/// Address and bytes of a variable in `context`, which is current. The symbol is the host's variable or, in old programs,
/// the address of its name.
pub fn variable((driver, context): (&Driver, Handle), symbol: Address) -> Result<(Address, usize)> {
    let host = host(Kind::Variable, symbol)?;
    registry()?.find(driver, context, (Kind::Variable, host), |module, entry| global(driver, module, entry))
}

/// A texture or surface in `context`, which is current: `get` finds its handle in a module.
pub fn reference<T>(
    (driver, context): (&Driver, Handle),
    kind: Kind,
    host: Address,
    get: impl FnOnce(Handle, &Entry) -> Result<T>,
) -> Result<T> {
    registry()?.find(driver, context, (kind, host), get)
}

/// The host address of a symbol: the symbol itself if it is registered, else the address of the entry whose name is at
/// this address.
pub fn host(kind: Kind, symbol: Address) -> Result<Address> {
    let registry = registry()?;
    if registry.entries.contains_key(&(kind, symbol)) {
        return Ok(symbol);
    }
    let name = read_text(symbol, 256).map_err(|_| kind.absent())?;
    let mut entries = registry.entries.iter();
    let found = entries.find(|((of, _), entry)| *of == kind && entry.name == name && !name.is_empty());
    found.map(|((_, host), _)| *host).ok_or(kind.absent())
}

/// Address and bytes of a module's variable.
fn global(driver: &Driver, module: Handle, entry: &Entry) -> Result<(Address, usize)> {
    let mut bytes: usize = 0;
    let size = into(&mut bytes);
    let address = out(|place| driver.cuModuleGetGlobal_v2(place, size, module, entry.name()))?;
    Ok((address, bytes))
}

impl Registry {
    /// Finds what is registered by a call of `get` with the module in a context, which is current.
    fn find<T>(
        &mut self,
        driver: &Driver,
        context: Handle,
        key: (Kind, Address),
        get: impl FnOnce(Handle, &Entry) -> Result<T>,
    ) -> Result<T> {
        let absent = key.0.absent();
        let entry = self.entries.get(&key).ok_or(absent)?;
        let binary = self.binaries.get_mut(&entry.binary).ok_or(Error::UNKNOWN)?;
        let module = binary.module(driver, context)?;
        get(module, entry).map_err(|error| if error == Error::NOT_FOUND { absent } else { error })
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
