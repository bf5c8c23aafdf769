//! The driver: found by `dlopen`, called through a typed table.
//!
//! Addresses and handles of the program are numbers, which the driver checks as it checks the numbers of
//! any C program.

mod table;

use std::collections::BTreeSet;
use std::ffi::{CStr, c_int};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, OnceLock};

use crate::address::{Address, Plain};
use crate::error::{Error, Result};
pub use table::{Driver, Location, Shared};

/// Names this library in messages; `warpwright exec` finds it in programs that have the library
/// linked in.
static MARK: &str = "warpwright CUDA runtime";

/// How functions of the driver are found: 0 for one that does not exist.
type Finder = fn(&CStr) -> Address;

static FINDER: OnceLock<Finder> = OnceLock::new();
static DRIVER: OnceLock<Result<Driver>> = OnceLock::new();
/// The process that has initialised the driver; 0: none.
static OWNER: AtomicI32 = AtomicI32::new(0);

/// Uses the functions that `find` returns in place of `libcuda.so.1`'s. False if a driver
/// is in use. For tests.
#[doc(hidden)]
pub fn use_driver(find: Finder) -> bool {
    DRIVER.get().is_none() && FINDER.set(find).is_ok()
}

/// The driver, loaded and initialised by the first call.
pub fn driver() -> Result<&'static Driver> {
    if is_forked() {
        return Err(Error::INITIALIZATION);
    }
    DRIVER.get_or_init(start).as_ref().map_err(|error| *error)
}

/// The driver if it was loaded before: used when objects go away.
pub fn loaded_driver() -> Option<&'static Driver> {
    if is_forked() {
        return None;
    }
    DRIVER.get()?.as_ref().ok()
}

fn start() -> Result<Driver> {
    let find = match FINDER.get() {
        Some(find) => *find,
        None => library()?,
    };
    let driver = Driver::bind(find);
    driver.cuInit(0)?;
    OWNER.store(process(), Ordering::Relaxed);
    Ok(driver)
}

/// This process, by number. A child has another one, whatever call has made it.
fn process() -> i32 {
    // SAFETY: it has no conditions.
    unsafe { libc::getpid() }
}

/// Whether this process is a child that may use nothing of its parent's: a lock may be held here by
/// a thread that the child does not have.
pub fn is_forked() -> bool {
    let owner = OWNER.load(Ordering::Relaxed);
    owner != 0 && owner != process()
}

/// The handle of `libcuda.so.1`, which stays loaded.
static LIBRARY: OnceLock<Address> = OnceLock::new();

fn library() -> Result<Finder> {
    // SAFETY: plain calls of the dynamic loader with texts that end with a zero byte.
    let handle = unsafe { libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
    if handle.is_null() {
        // SAFETY: `dlerror` returns null or a text that is valid until the next call.
        let reason = unsafe {
            let text = libc::dlerror();
            if text.is_null() { c"no reason given" } else { CStr::from_ptr(text) }
        };
        eprintln!(
            "{MARK}: the CUDA driver cannot be loaded: {}. Start the program by `warpwright exec`, \
             or put the folder of libcuda.so.1 into LD_LIBRARY_PATH",
            reason.to_string_lossy()
        );
        return Err(Error::INSUFFICIENT_DRIVER);
    }
    LIBRARY.get_or_init(|| handle.expose_provenance());
    Ok(|name| {
        let handle = LIBRARY.get().copied().unwrap_or_default();
        // SAFETY: the handle is of `dlopen` and never closed.
        let found = unsafe { libc::dlsym(std::ptr::with_exposed_provenance_mut(handle), name.as_ptr()) };
        found.expose_provenance()
    })
}

/// Prints a message on standard error, once.
pub fn name_once(message: String) {
    static NAMED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut named = NAMED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if !named.contains(&message) {
        eprintln!("warpwright: {message}");
        named.insert(message);
    }
}

fn missing(name: &str) -> Error {
    name_once(format!("{name} is not supported by the driver"));
    Error::NOT_SUPPORTED
}

fn check(code: c_int) -> Result<()> {
    if code == 0 { Ok(()) } else { Err(Error(code)) }
}

/// Calls a function of the driver that leaves its result at an address.
pub fn out<T: Plain + Default>(call: impl FnOnce(Address) -> Result<()>) -> Result<T> {
    let mut value = T::default();
    call(into(&mut value))?;
    Ok(value)
}

/// The address of a place that a function of the driver writes during the call.
pub fn into<T: ?Sized>(place: &mut T) -> Address {
    std::ptr::from_mut(place).cast::<u8>().expose_provenance()
}

/// The address of a value that a function of the driver reads during the call.
pub fn at<T: ?Sized>(value: &T) -> Address {
    std::ptr::from_ref(value).cast::<u8>().expose_provenance()
}
