//! State of each `cublasHandle_t`.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::{Mutex, MutexGuard};

use cabi::address::{Address, Handle};

use crate::driver::{Driver, driver, out};
use crate::element::{Scalar, Type};
use crate::status::{Result, Status};

/// Bytes of device memory that reductions of a stream use: a counter, results, a part for each CTA.
pub const SCRATCH_BYTES: usize = 16 << 10;

/// Settings of a handle, and what was allocated for it.
#[derive(Clone, Debug)]
pub struct State {
    pub stream: Handle,
    /// Whether scalars are on the device.
    pub on_device: bool,
    pub atomics: c_int,
    pub math: c_int,
    pub sm_target: c_int,
    /// Streaming multiprocessors of the device.
    pub sms: u32,
    /// Its architecture, as 80.
    pub sm: u32,
    /// For reductions, by stream.
    scratch: BTreeMap<Handle, Address>,
}

static HANDLES: Mutex<BTreeMap<Address, State>> = Mutex::new(BTreeMap::new());

fn handles() -> MutexGuard<'static, BTreeMap<Address, State>> {
    HANDLES.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// The current context, or the first device's primary one, which becomes current.
fn context(driver: &Driver) -> Result<Handle> {
    let current: Handle = out(|place| driver.cuCtxGetCurrent(place))?;
    if current != 0 {
        return Ok(current);
    }
    let primary = out(|place| driver.cuDevicePrimaryCtxRetain(place, 0))?;
    driver.cuCtxSetCurrent(primary)?;
    Ok(primary)
}

/// Streaming multiprocessors of the current device, and its architecture.
pub fn device(driver: &Driver) -> Result<(u32, u32)> {
    const MULTIPROCESSORS: c_int = 16;
    const MAJOR: c_int = 75;
    const MINOR: c_int = 76;
    context(driver)?;
    let device = out(|place| driver.cuCtxGetDevice(place))?;
    let attribute = |number| -> Result<u32> {
        let value: c_int = out(|place| driver.cuDeviceGetAttribute(place, number, device))?;
        u32::try_from(value).map_err(|_| Status::INTERNAL_ERROR)
    };
    Ok((attribute(MULTIPROCESSORS)?, attribute(MAJOR)? * 10 + attribute(MINOR)?))
}

/// Makes a handle for the current device.
pub fn create() -> Result<Address> {
    let driver = driver()?;
    let (sms, sm) = device(driver)?;
    let mut handles = handles();
    // A number that no object of a program has as its address.
    let handle = handles.last_key_value().map_or(16, |(last, _)| last + 16);
    let state =
        State { stream: 0, on_device: false, atomics: 0, math: 0, sm_target: 0, sms, sm, scratch: BTreeMap::new() };
    handles.insert(handle, state);
    Ok(handle)
}

/// Ends a handle.
pub fn destroy(handle: Address) -> Result<()> {
    let state = handles().remove(&handle).ok_or(Status::NOT_INITIALIZED)?;
    let driver = driver()?;
    for address in state.scratch.into_values() {
        // The context may be gone, and its memory with it.
        let _ = driver.cuMemFree_v2(address);
    }
    Ok(())
}

/// Changes or reads a handle's settings.
pub fn with<T>(handle: Address, change: impl FnOnce(&mut State) -> Result<T>) -> Result<T> {
    change(handles().get_mut(&handle).ok_or(Status::NOT_INITIALIZED)?)
}

/// Context of a call of the API: a copy of the handle's settings.
pub struct Call {
    pub handle: Address,
    pub driver: &'static Driver,
    pub stream: Handle,
    pub on_device: bool,
    pub math: c_int,
    pub sms: u32,
    pub sm: u32,
    /// Whether sizes and indices have 64 bits.
    pub wide: bool,
}

impl Call {
    /// A call with a handle.
    pub fn new(handle: Address, wide: bool) -> Result<Self> {
        let driver = driver()?;
        let call = with(handle, |state| {
            let State { stream, on_device, math, sms, sm, .. } = *state;
            Ok(Self { handle, driver, stream, on_device, math, sms, sm, wide })
        })?;
        context(driver)?;
        Ok(call)
    }

    /// A call of cuBLASLt, whose handle is of either library and has no settings.
    pub fn light(handle: Address, stream: Handle, on_device: bool) -> Result<Self> {
        let driver = driver()?;
        let (sms, sm) = device(driver)?;
        Ok(Self { handle, driver, stream, on_device, math: 0, sms, sm, wide: false })
    }

    /// A scalar of `kind`.
    pub fn scalar(&self, address: Address, kind: Type) -> Result<Scalar> {
        Scalar::at(address, kind, self.on_device)
    }

    /// Device memory for reductions of the stream: its first bytes are zero before and after each.
    pub fn scratch(&self) -> Result<Address> {
        let known = with(self.handle, |state| Ok(state.scratch.get(&self.stream).copied()))?;
        if let Some(address) = known {
            return Ok(address);
        }
        let address: Address = out(|place| self.driver.cuMemAlloc_v2(place, SCRATCH_BYTES))?;
        self.driver.cuMemsetD32_v2(address, 0, SCRATCH_BYTES / 4)?;
        with(self.handle, |state| {
            state.scratch.insert(self.stream, address);
            Ok(address)
        })
    }

    /// Runs `body` with device memory of its own, in the order of the stream.
    pub fn with_memory(&self, bytes: usize, body: impl FnOnce(Address) -> Result<()>) -> Result<()> {
        let address: Address = out(|place| self.driver.cuMemAllocAsync(place, bytes.max(1), self.stream))?;
        let done = body(address);
        let freed = self.driver.cuMemFreeAsync(address, self.stream);
        done.and(freed)
    }
}
