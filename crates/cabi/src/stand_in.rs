//! Shared by libraries in place of NVIDIA's: the driver, the current device, launches, objects and exported functions.
//!
//! A library defines its codes as a [`Status`] and exports functions by [`functions!`](crate::functions) and
//! [`not_supported!`](crate::not_supported).

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_int, c_uint};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard};

use crate::address::{Address, BadAddress, Handle, Plain};
use crate::driver::{Once, at, name_once};

/// A code of the driver (`CUresult`) other than success.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fault(pub c_int);

impl Fault {
    /// The driver is not there, or was not initialised in this process.
    pub const NOT_INITIALIZED: Self = Self(3);
    /// A function that the driver does not have.
    pub const NOT_SUPPORTED: Self = Self(801);

    /// Whether there was not enough memory.
    #[must_use]
    pub const fn is_memory(self) -> bool {
        self.0 == 2
    }

    /// Whether a driver, device or context is missing.
    #[must_use]
    pub const fn is_start(self) -> bool {
        matches!(self.0, 3 | 4 | 100 | 101 | 201)
    }
}

/// Codes of a library other than success.
pub trait Status: Copy + From<Fault> + From<BadAddress> {
    /// The code of a defect of the library.
    const INTERNAL: Self;
    /// The code of functions that do nothing.
    const NOT_SUPPORTED: Self;
    /// The number in C.
    fn code(self) -> c_int;
}

/// Runs the body of a function. A panic ends here.
pub fn enter<S: Status>(body: impl FnOnce() -> Result<(), S>) -> c_int {
    match catch_unwind(AssertUnwindSafe(body)).unwrap_or(Err(S::INTERNAL)) {
        Ok(()) => 0,
        Err(status) => status.code(),
    }
}

/// The code of something that does not exist here, which is named once on standard error.
pub fn not_supported<S: Status>(what: &str) -> S {
    name_once(format!("{what} is not supported"));
    S::NOT_SUPPORTED
}

/// Defines `Status`, the codes of a library other than success, and its `Result`: the codes of a defect and of functions
/// that are not supported, the names of the codes for what the driver and addresses have wrong, and all names.
#[macro_export]
macro_rules! status {
    (
        $(#[$about:meta])*
        internal = $internal:literal, not_supported = $absent:literal, no_memory = $memory:ident,
        no_driver = $start:ident, failed = $other:ident, bad_address = $address:ident;
        $($name:ident = $code:literal),* $(,)?
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub struct Status(std::ffi::c_int);

        pub type Result<T> = std::result::Result<T, Status>;

        impl Status {
            $(pub const $name: Self = Self($code);)*
        }

        impl $crate::stand_in::Status for Status {
            const INTERNAL: Self = Self($internal);
            const NOT_SUPPORTED: Self = Self($absent);
            fn code(self) -> std::ffi::c_int {
                self.0
            }
        }

        impl From<$crate::stand_in::Fault> for Status {
            fn from(fault: $crate::stand_in::Fault) -> Self {
                if fault.is_memory() {
                    Self::$memory
                } else if fault.is_start() {
                    Self::$start
                } else {
                    Self::$other
                }
            }
        }

        impl From<$crate::address::BadAddress> for Status {
            fn from(_: $crate::address::BadAddress) -> Self {
                Self::$address
            }
        }
    };
}

/// Exports functions: `functions! { Status; fn name(argument: Kind) { body } … }`.
#[macro_export]
macro_rules! functions {
    ($status:ty; $(fn $name:ident($($argument:ident: $kind:ty),* $(,)?) $body:block)*) => {
        $(
            // SAFETY: the name belongs to this API, which defines it once.
            #[unsafe(no_mangle)]
            extern "C" fn $name($($argument: $kind),*) -> std::ffi::c_int {
                $crate::stand_in::enter::<$status>(|| $body)
            }
        )*
    };
}

/// Exports functions that are not supported: `not_supported! { Status; name, … }`.
#[macro_export]
macro_rules! not_supported {
    ($status:ty; $($name:ident),* $(,)?) => {
        $(
            // SAFETY: the name belongs to this API, which defines it once. The arguments of the
            // declaration are the caller's to pass and to remove: none is read.
            #[unsafe(no_mangle)]
            extern "C" fn $name() -> std::ffi::c_int {
                $crate::stand_in::enter::<$status>(|| Err($crate::stand_in::not_supported(stringify!($name))))
            }
        )*
    };
}

/// Exports functions that return the text of a code: `texts! { name = table, … }`, with `fn table(c_int) -> &CStr`.
#[macro_export]
macro_rules! texts {
    ($($exported:ident = $function:path),* $(,)?) => {
        $(
            // SAFETY: the name belongs to this API, which defines it once.
            #[unsafe(no_mangle)]
            extern "C" fn $exported(code: std::ffi::c_int) -> *const std::ffi::c_char {
                let text: &'static std::ffi::CStr = $function(code);
                text.as_ptr()
            }
        )*
    };
}

/// The objects of a kind, by their handles: numbers that are looked up.
#[derive(Debug)]
pub struct Objects<T>(Mutex<BTreeMap<Handle, T>>);

impl<T> Objects<T> {
    /// No objects.
    pub const fn none() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<Handle, T>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Adds an object, whose handle is a multiple of `step`: no object of a program is at such a low address.
    pub fn add(&self, object: T, step: Handle) -> Handle {
        let mut all = self.all();
        let handle = all.last_key_value().map_or(step, |(last, _)| last + step);
        all.insert(handle, object);
        handle
    }

    /// Ends an object.
    pub fn remove(&self, handle: Handle) -> Option<T> {
        self.all().remove(&handle)
    }

    /// Uses an object.
    pub fn with<R>(&self, handle: Handle, body: impl FnOnce(&mut T) -> R) -> Option<R> {
        self.all().get_mut(&handle).map(body)
    }
}

fn missing(name: &str) -> Fault {
    name_once(format!("{name} is not supported by the driver"));
    Fault::NOT_SUPPORTED
}

fn check(code: c_int) -> Result<(), Fault> {
    if code == 0 { Ok(()) } else { Err(Fault(code)) }
}

crate::driver! {
    missing, check, Result<(), Fault>;
    cuInit(flags: c_uint);
    cuCtxGetCurrent(context: Address);
    cuCtxSetCurrent(context: Handle);
    cuCtxGetDevice(device: Address);
    cuDevicePrimaryCtxRetain(context: Address, device: c_int);
    cuDeviceGetAttribute(value: Address, attribute: c_int, device: c_int);
    cuModuleGetFunction(function: Address, module: Handle, name: Address);
    cuLaunchKernel(
        function: Handle, x: c_uint, y: c_uint, z: c_uint, threads_x: c_uint, threads_y: c_uint, threads_z: c_uint,
        shared_bytes: c_uint, stream: Handle, parameters: Address, extra: Address,
    );
    cuMemAlloc_v2(address: Address, bytes: usize);
    cuMemFree_v2(address: Address);
    cuMemAllocAsync(address: Address, bytes: usize, stream: Handle);
    cuMemFreeAsync(address: Address, stream: Handle);
    cuMemcpyHtoDAsync_v2(device: Address, host: Address, bytes: usize, stream: Handle);
    cuMemcpyDtoHAsync_v2(host: Address, device: Address, bytes: usize, stream: Handle);
    cuMemcpyDtoDAsync_v2(to: Address, from: Address, bytes: usize, stream: Handle);
    cuMemsetD8Async(address: Address, value: u8, bytes: usize, stream: Handle);
    cuStreamSynchronize(stream: Handle);
    // Of our driver only: the module with our kernels in place of a library's, in the current context.
    warpwrightStandIn(library: Address, module: Address);
}

static DRIVER: Once<Driver, Fault> = Once::new();

/// The driver, loaded and initialised by the first call. `who` names the library if it cannot be loaded.
pub fn driver(who: &str) -> Result<&'static Driver, Fault> {
    DRIVER.get(who, Fault::NOT_INITIALIZED, |find| {
        let driver = Driver::bind(find);
        driver.cuInit(0)?;
        Ok(driver)
    })
}

fn out<T: Plain + Default>(call: impl FnOnce(Address) -> Result<(), Fault>) -> Result<T, Fault> {
    crate::driver::out(call)
}

/// A parameter of a kernel: any value whose bytes are a C value's.
pub trait Parameter {
    /// Its address, for as long as it lives.
    fn address(&self) -> Address;
}

impl<T: Plain> Parameter for T {
    fn address(&self) -> Address {
        at(self)
    }
}

/// Device memory that is kept until it is dropped.
#[derive(Debug)]
pub struct Memory {
    driver: &'static Driver,
    /// Where it is.
    pub address: Address,
}

impl std::fmt::Debug for Driver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Driver")
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // The context may be gone, and its memory with it.
        let _ = self.driver.cuMemFree_v2(self.address);
    }
}

/// The current context with a stream, in which a library works.
#[derive(Clone, Copy, Debug)]
pub struct Gpu {
    /// The driver.
    pub driver: &'static Driver,
    /// The stream of all work.
    pub stream: Handle,
    /// Streaming multiprocessors of the device.
    pub sms: u32,
    library: &'static CStr,
}

/// Threads of a CTA where a kernel leaves the number open.
pub const THREADS: u32 = 256;

impl Gpu {
    /// The current context, or the first device's primary one, which becomes current. `library` is the name of a file
    /// of kernels, `who` names the library of the caller.
    pub fn current(who: &str, library: &'static CStr, stream: Handle) -> Result<Self, Fault> {
        const MULTIPROCESSORS: c_int = 16;
        let driver = driver(who)?;
        let current: Handle = out(|place| driver.cuCtxGetCurrent(place))?;
        if current == 0 {
            let primary = out(|place| driver.cuDevicePrimaryCtxRetain(place, 0))?;
            driver.cuCtxSetCurrent(primary)?;
        }
        let device = out(|place| driver.cuCtxGetDevice(place))?;
        let sms: c_int = out(|place| driver.cuDeviceGetAttribute(place, MULTIPROCESSORS, device))?;
        Ok(Self { driver, stream, sms: sms.unsigned_abs().max(1), library })
    }

    /// Allocates memory that outlives the call.
    pub fn memory(&self, bytes: usize) -> Result<Memory, Fault> {
        let address = out(|place| self.driver.cuMemAlloc_v2(place, bytes.max(1)))?;
        Ok(Memory { driver: self.driver, address })
    }

    /// Runs `body` with memory of its own, in the order of the stream.
    pub fn with_memory<S: Status>(&self, bytes: usize, body: impl FnOnce(Address) -> Result<(), S>) -> Result<(), S> {
        let address: Address = out(|place| self.driver.cuMemAllocAsync(place, bytes.max(1), self.stream))?;
        let done = body(address);
        let freed = self.driver.cuMemFreeAsync(address, self.stream);
        done.and(freed.map_err(S::from))
    }

    /// Copies values to the device.
    pub fn upload<T: Plain>(&self, to: Address, values: &[T]) -> Result<(), Fault> {
        if values.is_empty() {
            return Ok(());
        }
        self.driver.cuMemcpyHtoDAsync_v2(to, at(values), size_of_val(values), self.stream)
    }

    /// Launches a kernel by its name.
    pub fn launch(
        &self,
        name: &str,
        [x, y, z]: [u32; 3],
        threads: u32,
        shared_bytes: u32,
        parameters: &[&dyn Parameter],
    ) -> Result<(), Fault> {
        let library = self.library.as_ptr().expose_provenance();
        let module: Handle = out(|place| self.driver.warpwrightStandIn(library, place))?;
        let name = CString::new(name).map_err(|_| Fault::NOT_SUPPORTED)?;
        let name = name.as_ptr().expose_provenance();
        let function: Handle = out(|place| self.driver.cuModuleGetFunction(place, module, name))?;
        let places: Vec<Address> = parameters.iter().map(|parameter| parameter.address()).collect();
        let places = at(places.as_slice());
        self.driver.cuLaunchKernel(function, x, y, z, threads, 1, 1, shared_bytes, self.stream, places, 0)
    }

    /// Launches a kernel whose threads share `items`: thread t of n takes t, t + n, and so on.
    pub fn launch_over(&self, name: &str, items: u64, parameters: &[&dyn Parameter]) -> Result<(), Fault> {
        let blocks = items.max(1).div_ceil(THREADS.into()).min(u64::from(8 * self.sms));
        self.launch(name, [u32::try_from(blocks).unwrap_or(1), 1, 1], THREADS, 0, parameters)
    }
}
