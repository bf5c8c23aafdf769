//! The libraries under test, called as a C program calls them.

use std::collections::BTreeMap;
use std::ffi::{CString, c_int, c_void};
use std::sync::{Mutex, MutexGuard, OnceLock};

/// Address of an object of the host or the device.
pub type Address = usize;

/// The most arguments of a function. All are integers or addresses, each in a register or a place of eight bytes, and
/// a function ignores those that it does not declare.
const MOST: usize = 26;

/// Libraries with their handles of the loader.
struct Loaded {
    cuda: usize,
    cublas: usize,
}

fn open(file: &str) -> usize {
    let mut path = std::env::current_exe().expect("the test has a path");
    path.set_file_name(file);
    let name = CString::new(path.to_string_lossy().as_bytes()).expect("a path has no zero byte");
    // SAFETY: all that runs when the library is loaded is its own.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
    assert!(!handle.is_null(), "{} cannot be loaded", path.display());
    handle.expose_provenance()
}

fn loaded() -> &'static Loaded {
    static LOADED: OnceLock<Loaded> = OnceLock::new();
    LOADED.get_or_init(|| {
        let environment =
            [("WARPWRIGHT_TIME", "none"), ("WARPWRIGHT_QUIET", "1"), ("WARPWRIGHT_GPU", "v100,rtx2060s,a100,h100")];
        for (name, value) in environment {
            if std::env::var_os(name).is_none() {
                // SAFETY: no other thread has called into a library that reads the environment.
                unsafe { std::env::set_var(name, value) };
            }
        }
        // The driver is found by its name in later calls, as it is loaded.
        Loaded { cuda: open("libcuda.so"), cublas: open("libcublas12.so") }
    })
}

/// Address of a function, 0 for one that does not exist.
pub fn find(name: &str) -> Address {
    let library = if name.starts_with("cublas") { loaded().cublas } else { loaded().cuda };
    let name = CString::new(name).expect("names have no zero byte");
    // SAFETY: the handle is of `dlopen`.
    unsafe { libc::dlsym(std::ptr::with_exposed_provenance_mut::<c_void>(library), name.as_ptr()) }.expose_provenance()
}

/// Calls a function of either library.
pub fn call(name: &str, arguments: &[usize]) -> c_int {
    static KNOWN: Mutex<BTreeMap<String, Address>> = Mutex::new(BTreeMap::new());
    let found = {
        let mut known = KNOWN.lock().expect("no test fails with it");
        *known.entry(name.to_owned()).or_insert_with(|| find(name))
    };
    assert_ne!(found, 0, "{name} is exported");
    let mut all = [0; MOST];
    all[..arguments.len()].copy_from_slice(arguments);
    // SAFETY: the function has integers and addresses as arguments, and no more than these.
    let function: Function = unsafe { std::mem::transmute(std::ptr::with_exposed_provenance::<()>(found)) };
    let a = all;
    #[rustfmt::skip]
    let code = function(
        a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13], a[14], a[15],
        a[16], a[17], a[18], a[19], a[20], a[21], a[22], a[23], a[24], a[25],
    );
    code
}

type A = usize;
#[rustfmt::skip]
type Function = extern "C" fn(
    A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A,
) -> c_int;

/// Calls a function that must succeed.
pub fn check(name: &str, arguments: &[usize]) {
    assert_eq!(call(name, arguments), 0, "{name}");
}

/// Calls a function that leaves a result at its first argument.
pub fn made(name: &str, arguments: &[usize]) -> usize {
    let mut place = 0_usize;
    check(name, &[&[into(&mut place)], arguments].concat());
    place
}

/// Address of a place that a call writes.
pub fn into<T: ?Sized>(place: &mut T) -> Address {
    std::ptr::from_mut(place).cast::<u8>().expose_provenance()
}

/// Address of a value that a call reads.
pub fn at<T: ?Sized>(value: &T) -> Address {
    std::ptr::from_ref(value).cast::<u8>().expose_provenance()
}

/// A device with what cases use of it.
#[derive(Clone, Copy, Debug)]
pub struct Device {
    context: usize,
    pub handle: usize,
    pub stream: usize,
}

/// The devices, for one test at a time, whose first one is current.
pub fn devices() -> MutexGuard<'static, Vec<Device>> {
    static DEVICES: Mutex<Vec<Device>> = Mutex::new(Vec::new());
    let mut devices = DEVICES.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if devices.is_empty() {
        check("cuInit", &[0]);
        let mut count: c_int = 0;
        check("cuDeviceGetCount", &[into(&mut count)]);
        for device in 0..usize::try_from(count).expect("a count") {
            let context = made("cuDevicePrimaryCtxRetain", &[device]);
            check("cuCtxSetCurrent", &[context]);
            devices.push(Device {
                context,
                handle: made("cublasCreate_v2", &[]),
                stream: made("cuStreamCreate", &[0]),
            });
        }
    }
    devices[0].select();
    devices
}

impl Device {
    /// Makes the device the current one of the thread.
    pub fn select(self) {
        check("cuCtxSetCurrent", &[self.context]);
    }
}

/// Memory of the current device.
#[derive(Debug)]
pub struct Memory {
    pub address: Address,
    bytes: usize,
}

impl Memory {
    /// Memory with these bytes.
    pub fn with(bytes: &[u8]) -> Self {
        let address = made("cuMemAlloc_v2", &[bytes.len().max(1)]);
        if !bytes.is_empty() {
            check("cuMemcpyHtoD_v2", &[address, at(bytes), bytes.len()]);
        }
        Self { address, bytes: bytes.len() }
    }

    /// Its bytes.
    pub fn get(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.bytes];
        if self.bytes > 0 {
            check("cuMemcpyDtoH_v2", &[into(bytes.as_mut_slice()), self.address, self.bytes]);
        }
        bytes
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // A failed launch has taken the context with it.
        call("cuMemFree_v2", &[self.address]);
    }
}
