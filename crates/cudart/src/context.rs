//! Which device and context a host thread uses.
//!
//! A thread that uses no context gets the primary context of its device at its first call that
//! needs one. A context that the program made current by the driver's API is used as it is.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

use crate::address::Handle;
use crate::driver::{Driver, driver, out};
use crate::error::{Error, Result};
use crate::registry;

// None has a destructor: all may be used from `atexit`.
thread_local! {
    /// The device that the thread chose, if it chose one.
    static CHOSEN: Cell<Option<c_int>> = const { Cell::new(None) };
    /// The primary context that was made current here, and the age of primary contexts then.
    static BOUND: Cell<(Handle, u64)> = const { Cell::new((0, 0)) };
}

/// The device of threads that chose none: the first of `cudaSetValidDevices`.
static DEFAULT: AtomicI32 = AtomicI32::new(0);
/// Counts resets of devices: contexts bound before one are gone.
static AGE: AtomicU64 = AtomicU64::new(0);
/// Primary contexts that the runtime holds, by device.
static PRIMARY: Mutex<BTreeMap<c_int, Handle>> = Mutex::new(BTreeMap::new());

fn primary() -> MutexGuard<'static, BTreeMap<c_int, Handle>> {
    PRIMARY.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// The driver, with a context current to this thread and managed variables in place.
pub fn current() -> Result<&'static Driver> {
    current_context().map(|(driver, _)| driver)
}

/// The driver and the current context.
pub fn current_context() -> Result<(&'static Driver, Handle)> {
    let driver = driver()?;
    let mut context: Handle = out(|place| driver.cuCtxGetCurrent(place))?;
    let (bound, age) = BOUND.get();
    let gone = context == bound && age != AGE.load(Ordering::Relaxed);
    if context == 0 || gone {
        context = bind(driver, chosen())?;
    }
    registry::place_managed(driver, context)?;
    Ok((driver, context))
}

fn chosen() -> c_int {
    CHOSEN.get().unwrap_or_else(|| DEFAULT.load(Ordering::Relaxed))
}

/// Makes the primary context of a device current to this thread.
fn bind(driver: &Driver, device: c_int) -> Result<Handle> {
    // A reset by another thread from here on makes the context one that is gone.
    let age = AGE.load(Ordering::Acquire);
    let context = primary_context(device)?;
    driver.cuCtxSetCurrent(context)?;
    BOUND.set((context, age));
    Ok(context)
}

/// The primary context of a device, which is made if it does not exist.
pub fn primary_context(device: c_int) -> Result<Handle> {
    let driver = with_device(device)?;
    let mut held = primary();
    if let Some(context) = held.get(&device) {
        return Ok(*context);
    }
    let context = out(|place| driver.cuDevicePrimaryCtxRetain(place, device))?;
    held.insert(device, context);
    Ok(context)
}

/// The device that calls of this thread use.
pub fn device() -> Result<c_int> {
    let driver = driver()?;
    let context: Handle = out(|place| driver.cuCtxGetCurrent(place))?;
    if context == 0 || context == BOUND.get().0 {
        let device = chosen();
        return with_device(device).map(|_| device);
    }
    out(|place| driver.cuCtxGetDevice(place))
}

/// Chooses the device of this thread and makes its primary context current.
pub fn choose(device: c_int) -> Result<()> {
    let driver = driver()?;
    bind(driver, device)?;
    CHOSEN.set(Some(device));
    Ok(())
}

/// The device of threads that choose none.
pub fn set_default(device: c_int) {
    DEFAULT.store(device, Ordering::Relaxed);
}

/// The driver, for a call that names a device. Fails if it does not exist.
pub fn with_device(device: c_int) -> Result<&'static Driver> {
    let driver = driver()?;
    let count: c_int = out(|place| driver.cuDeviceGetCount(place))?;
    if (0..count).contains(&device) { Ok(driver) } else { Err(Error::INVALID_DEVICE) }
}

/// Ends the primary context of this thread's device, with all that it holds.
pub fn reset() -> Result<()> {
    let device = device()?;
    let driver = driver()?;
    let mut held = primary();
    let context = held.remove(&device);
    if let Some(context) = context {
        registry::forget(context)?;
        driver.cuDevicePrimaryCtxRelease_v2(device)?;
    }
    AGE.fetch_add(1, Ordering::Relaxed);
    let reset = driver.cuDevicePrimaryCtxReset_v2(device);
    if context.is_some_and(|context| BOUND.get().0 == context) {
        BOUND.set((0, 0));
        driver.cuCtxSetCurrent(0)?;
    }
    reset
}
