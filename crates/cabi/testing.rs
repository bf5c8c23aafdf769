//! Libraries under test, called as a C program calls them: shared by the tests of the libraries in place of NVIDIA's.
//!
//! A test declares `const LIBRARY: &str`, the file of its library, beside this module.

use std::ffi::{CString, c_int, c_void};
use std::sync::{Mutex, MutexGuard, OnceLock};

/// Address of an object of the host or the device.
pub type Address = usize;

fn open(file: &str) -> usize {
    let mut path = std::env::current_exe().expect("the test has a path");
    path.set_file_name(file);
    let name = CString::new(path.to_string_lossy().as_bytes()).expect("a path has no zero byte");
    // SAFETY: all that runs when the library is loaded is its own.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
    assert!(!handle.is_null(), "{} cannot be loaded", path.display());
    handle.expose_provenance()
}

/// Address of a function of the driver or the library, which must exist.
pub fn find(name: &str) -> Address {
    static LOADED: OnceLock<[usize; 2]> = OnceLock::new();
    let loaded = LOADED.get_or_init(|| {
        let environment =
            [("WARPWRIGHT_TIME", "none"), ("WARPWRIGHT_QUIET", "1"), ("WARPWRIGHT_GPU", "v100,rtx2060s,a100,h100")];
        for (name, value) in environment {
            if std::env::var_os(name).is_none() {
                // SAFETY: no other thread has called into a library that reads the environment.
                unsafe { std::env::set_var(name, value) };
            }
        }
        // The driver is found by its name in later calls, as it is loaded.
        [open("libcuda.so"), open(super::LIBRARY)]
    });
    let text = CString::new(name).expect("names have no zero byte");
    let find = |library: usize| {
        // SAFETY: the handle is of `dlopen`.
        unsafe { libc::dlsym(std::ptr::with_exposed_provenance_mut::<c_void>(library), text.as_ptr()) }
            .expose_provenance()
    };
    let found = loaded.iter().map(|library| find(*library)).find(|found| *found != 0);
    found.unwrap_or_else(|| panic!("{name} is exported"))
}

/// Calls a function by its name: `c!("cuInit", 0_u32)`. Arguments have the types of the declaration.
#[macro_export]
macro_rules! c {
    (@type $argument:expr) => { _ };
    ($name:expr $(, $argument:expr)* $(,)?) => {{
        let found = std::ptr::with_exposed_provenance::<()>($crate::library::find($name));
        // SAFETY: the arguments have the types of the public declaration, in the order of it.
        let function: extern "C" fn($($crate::c!(@type $argument)),*) -> std::ffi::c_int =
            unsafe { std::mem::transmute(found) };
        function($($argument),*)
    }};
}

/// Address of a place that a call writes.
pub fn into<T: ?Sized>(place: &mut T) -> Address {
    std::ptr::from_mut(place).cast::<u8>().expose_provenance()
}

/// Address of a value that a call reads.
pub fn at<T: ?Sized>(value: &T) -> Address {
    std::ptr::from_ref(value).cast::<u8>().expose_provenance()
}

/// The contexts of the devices, for one test at a time. The first one is current.
pub fn devices() -> MutexGuard<'static, Vec<Address>> {
    static DEVICES: Mutex<Vec<Address>> = Mutex::new(Vec::new());
    let mut devices = DEVICES.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if devices.is_empty() {
        assert_eq!(c!("cuInit", 0_u32), 0);
        let mut count: c_int = 0;
        assert_eq!(c!("cuDeviceGetCount", into(&mut count)), 0);
        for device in 0..count {
            let mut context = 0_usize;
            assert_eq!(c!("cuDevicePrimaryCtxRetain", into(&mut context), device), 0);
            devices.push(context);
        }
    }
    select(devices[0]);
    devices
}

/// Makes a context the current one of the thread.
pub fn select(context: Address) {
    assert_eq!(c!("cuCtxSetCurrent", context), 0);
}

/// Memory of the current device: values of a type whose bytes are a C value's.
#[derive(Debug)]
pub struct Memory<T> {
    pub address: Address,
    initial: Vec<T>,
}

impl<T: Copy> Memory<T> {
    /// Memory with these values.
    pub fn with(values: &[T]) -> Self {
        let mut address = 0_usize;
        assert_eq!(c!("cuMemAlloc_v2", into(&mut address), size_of_val(values).max(1)), 0);
        if !values.is_empty() {
            assert_eq!(c!("cuMemcpyHtoD_v2", address, at(values), size_of_val(values)), 0);
        }
        Self { address, initial: values.to_vec() }
    }

    /// Its values.
    pub fn get(&self) -> Vec<T> {
        let mut values = self.initial.clone();
        if !values.is_empty() {
            let bytes = size_of_val(values.as_slice());
            assert_eq!(c!("cuMemcpyDtoH_v2", into(values.as_mut_slice()), self.address, bytes), 0);
        }
        values
    }
}

impl<T> Drop for Memory<T> {
    fn drop(&mut self) {
        // A failed launch has taken the context with it.
        c!("cuMemFree_v2", self.address);
    }
}
