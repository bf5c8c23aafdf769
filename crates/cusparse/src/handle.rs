//! Handles and their settings, versions.

use std::ffi::c_int;
use std::sync::atomic::{AtomicI32, Ordering};

use cabi::address::{Address, Handle, write};
use cabi::stand_in::{Gpu, Objects};

use crate::status::{Result, Status, valid};

/// The version that the library is of, as `cusparseGetVersion` gives it.
static VERSION: AtomicI32 = AtomicI32::new(0);

/// Called when the library is loaded.
pub fn set_version(version: c_int) {
    VERSION.store(version, Ordering::Relaxed);
}

/// The settings of a `cusparseHandle_t`.
#[derive(Clone, Copy, Default)]
struct Settings {
    stream: Handle,
    on_device: bool,
}

static HANDLES: Objects<Settings> = Objects::none();

fn with<T>(handle: Handle, body: impl FnOnce(&mut Settings) -> Result<T>) -> Result<T> {
    HANDLES.with(handle, body).unwrap_or(Err(Status::NOT_INITIALIZED))
}

/// Context of a call.
#[derive(Clone, Copy)]
pub struct Call {
    pub gpu: Gpu,
    /// Whether scalars are on the device.
    pub on_device: bool,
}

/// A call with a handle.
pub fn call(handle: Handle) -> Result<Call> {
    let Settings { stream, on_device } = with(handle, |settings| Ok(*settings))?;
    Ok(Call { gpu: gpu(stream)?, on_device })
}

fn gpu(stream: Handle) -> Result<Gpu> {
    Ok(Gpu::current("warpwright cuSPARSE", c"sparse", stream)?)
}

/// Checks a handle where nothing is launched.
pub fn check(handle: Handle) -> Result<()> {
    with(handle, |_| Ok(()))
}

cabi::functions! {
    Status;
    fn cusparseCreate(place: Address) {
        valid(place != 0)?;
        gpu(0)?;
        Ok(write(place, HANDLES.add(Settings::default(), 16))?)
    }
    fn cusparseDestroy(handle: Handle) { HANDLES.remove(handle).map(drop).ok_or(Status::NOT_INITIALIZED) }
    fn cusparseGetVersion(handle: Handle, place: Address) {
        check(handle)?;
        Ok(write(place, VERSION.load(Ordering::Relaxed))?)
    }
    fn cusparseGetProperty(which: c_int, place: Address) {
        let version = VERSION.load(Ordering::Relaxed);
        let value = match which {
            0 => version / 1000,
            1 => version / 100 % 10,
            2 => version % 100,
            _ => return Err(Status::INVALID_VALUE),
        };
        Ok(write(place, value)?)
    }
    fn cusparseSetStream(handle: Handle, stream: Handle) {
        with(handle, |settings| {
            settings.stream = stream;
            Ok(())
        })
    }
    fn cusparseGetStream(handle: Handle, place: Address) {
        let stream = with(handle, |settings| Ok(settings.stream))?;
        Ok(write(place, stream)?)
    }
    fn cusparseSetPointerMode(handle: Handle, mode: c_int) {
        valid(mode == 0 || mode == 1)?;
        with(handle, |settings| {
            settings.on_device = mode == 1;
            Ok(())
        })
    }
    fn cusparseGetPointerMode(handle: Handle, place: Address) {
        let mode = with(handle, |settings| Ok(c_int::from(settings.on_device)))?;
        Ok(write(place, mode)?)
    }
    // Nothing is logged.
    fn cusparseLoggerSetCallback(_function: Address) { Ok(()) }
    fn cusparseLoggerSetFile(_file: Address) { Ok(()) }
    fn cusparseLoggerOpenFile(_file: Address) { Ok(()) }
    fn cusparseLoggerSetLevel(_level: c_int) { Ok(()) }
    fn cusparseLoggerSetMask(_mask: c_int) { Ok(()) }
    fn cusparseLoggerForceDisable() { Ok(()) }
}
