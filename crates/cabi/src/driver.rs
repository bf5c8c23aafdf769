//! The driver as libraries over it find it, and its functions as a typed table.

use std::collections::BTreeSet;
use std::ffi::CStr;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, OnceLock};

use crate::address::{Address, Plain};

/// How functions of the driver are found: 0 for one that does not exist.
pub type Finder = fn(&CStr) -> Address;

/// The process that uses the driver.
#[derive(Debug)]
pub struct Owner(AtomicI32);

impl Owner {
    /// No process.
    pub const fn none() -> Self {
        Self(AtomicI32::new(0))
    }

    /// This process.
    pub fn set(&self) {
        self.0.store(process(), Ordering::Relaxed);
    }

    /// Whether this process is a child of the one that uses the driver, whatever call has made it.
    pub fn is_other_process(&self) -> bool {
        let owner = self.0.load(Ordering::Relaxed);
        owner != 0 && owner != process()
    }
}

fn process() -> i32 {
    // SAFETY: it has no conditions.
    unsafe { libc::getpid() }
}

/// The handle of `libcuda.so.1`, which stays loaded.
static LIBRARY: OnceLock<Address> = OnceLock::new();

/// The functions that a library takes from the driver, which its first call loads and initialises.
#[derive(Debug)]
pub struct Once<D, E> {
    driver: OnceLock<Result<D, E>>,
    owner: Owner,
}

impl<D, E: Copy> Once<D, E> {
    /// Not loaded yet.
    #[allow(clippy::new_without_default, reason = "it is for statics")]
    pub const fn new() -> Self {
        Self { driver: OnceLock::new(), owner: Owner::none() }
    }

    /// The driver. `start` binds and initialises it. `absent` is the error where it cannot be loaded, which `who` says on
    /// standard error, and in a child of the process that uses it.
    pub fn get(&self, who: &str, absent: E, start: impl FnOnce(Finder) -> Result<D, E>) -> Result<&D, E> {
        if self.owner.is_other_process() {
            return Err(absent);
        }
        let first = || {
            let driver = start(library(who).ok_or(absent)?)?;
            self.owner.set();
            Ok(driver)
        };
        self.driver.get_or_init(first).as_ref().map_err(|error| *error)
    }
}

/// Loads `libcuda.so.1`. If there is none, says so on standard error in the name of `who`.
pub fn library(who: &str) -> Option<Finder> {
    // SAFETY: plain calls of the dynamic loader with texts that end with a zero byte.
    let handle = unsafe { libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
    if handle.is_null() {
        // SAFETY: `dlerror` returns null or a text that is valid until the next call.
        let reason = unsafe {
            let text = libc::dlerror();
            if text.is_null() { c"no reason given" } else { CStr::from_ptr(text) }
        };
        eprintln!(
            "{who}: the CUDA driver cannot be loaded: {}. Start the program by `warpwright exec`, \
             or put the folder of libcuda.so.1 into LD_LIBRARY_PATH",
            reason.to_string_lossy()
        );
        return None;
    }
    LIBRARY.get_or_init(|| handle.expose_provenance());
    Some(|name| {
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

/// Calls a function of the driver that leaves its result at an address.
pub fn out<T: Plain + Default, E>(call: impl FnOnce(Address) -> Result<(), E>) -> Result<T, E> {
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

/// Defines `Driver`, a table of functions of the driver with the types of their public declarations.
///
/// `missing(name) -> Error` makes the error of a function that does not exist, `check(code) -> Result` of a code.
#[macro_export]
macro_rules! driver {
    ($missing:path, $check:path, $result:ty; $($name:ident($($argument:ident: $kind:ty),* $(,)?);)*) => {
        /// The functions of a driver.
        pub struct Driver {
            $($name: Option<unsafe extern "C" fn($($kind),*) -> std::ffi::c_int>,)*
        }

        impl Driver {
            /// Binds the functions that `find` returns.
            pub fn bind(find: impl Fn(&std::ffi::CStr) -> $crate::address::Address) -> Self {
                Self {
                    $($name: {
                        let name = std::ffi::CStr::from_bytes_with_nul(
                            concat!(stringify!($name), "\0").as_bytes(),
                        );
                        let found = name.map_or(0, &find);
                        let found = std::ptr::with_exposed_provenance::<()>(found);
                        // SAFETY: null becomes `None`, and what the driver exports by this name
                        // has the type of its public declaration, which the table repeats.
                        unsafe {
                            std::mem::transmute::<
                                *const (),
                                Option<unsafe extern "C" fn($($kind),*) -> std::ffi::c_int>,
                            >(found)
                        }
                    },)*
                }
            }

            $(
                #[allow(missing_docs, reason = "functions have the documentation of CUDA's driver")]
                pub fn $name(&self, $($argument: $kind),*) -> $result {
                    let function = self.$name.ok_or_else(|| $missing(stringify!($name)))?;
                    // SAFETY: the arguments have the declared types; addresses of Rust values live
                    // through the call, and the program's are the driver's to check.
                    $check(unsafe { function($($argument),*) })
                }
            )*
        }
    };
}
