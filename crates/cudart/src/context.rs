//! Which device and context a host thread uses.
//!
//! A thread that uses no context gets the primary context of its device at its first call that
//! needs one. A context that the program made current by the driver's API is used as it is.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

use crate::driver::{Driver, driver, out};
use crate::error::{Error, Result};
use crate::registry;
use cabi::address::Handle;

// None has a destructor: all may be used from `atexit`.
thread_local! {
    /// The device that the thread chose, if it chose one.
    static CHOSEN: Cell<Option<c_int>> = const { Cell::new(None) };
    /// The primary context that was made current here.
    static BOUND: Cell<Bound> = const { Cell::new(Bound { context: 0, device: 0, age: 0 }) };
}

/// The primary context of a device, and the age of primary contexts when it was made current.
#[derive(Clone, Copy)]
struct Bound {
    context: Handle,
    device: c_int,
    age: u64,
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
    let context = match existing(driver)? {
        Some(context) => context,
        None => bind(driver, next_device())?,
    };
    registry::place_managed(driver, context)?;
    Ok((driver, context))
}

/// The current context, if the thread has one that was not destroyed by a reset.
fn existing(driver: &Driver) -> Result<Option<Handle>> {
    let context: Handle = out(|place| driver.cuCtxGetCurrent(place))?;
    let bound = BOUND.get();
    let is_gone = context == bound.context && bound.age != AGE.load(Ordering::Relaxed);
    Ok((context != 0 && !is_gone).then_some(context))
}

/// The device whose primary context the thread gets if it has none: the same as before, else that which it chose.
fn next_device() -> c_int {
    match BOUND.get() {
        Bound { context: 0, .. } => CHOSEN.get().unwrap_or_else(|| DEFAULT.load(Ordering::Relaxed)),
        Bound { device, .. } => device,
    }
}

/// Makes the primary context of a device current to this thread.
fn bind(driver: &Driver, device: c_int) -> Result<Handle> {
    // A reset by another thread from here on makes the context one that is gone.
    let age = AGE.load(Ordering::Acquire);
    let context = primary_context(device)?;
    driver.cuCtxSetCurrent(context)?;
    BOUND.set(Bound { context, device, age });
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
    match existing(driver)? {
        Some(context) => device_of(driver, context),
        None => with_device(next_device()).map(|_| next_device()),
    }
}

/// The device of the current context.
pub fn device_of(driver: &Driver, context: Handle) -> Result<c_int> {
    let bound = BOUND.get();
    if context == bound.context { Ok(bound.device) } else { out(|place| driver.cuCtxGetDevice(place)) }
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
    let bound = BOUND.get();
    if context == Some(bound.context) {
        BOUND.set(Bound { context: 0, ..bound });
        driver.cuCtxSetCurrent(0)?;
    }
    reset
}
