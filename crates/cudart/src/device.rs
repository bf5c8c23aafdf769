//! Devices: how many there are, their properties, the one that a thread uses, their limits.

use std::ffi::{c_int, c_uint};

use crate::api::api;
use crate::argument::{Argument, Device, In, Out};
use crate::array::Channel;
use crate::context::{self, current, with_device};
use crate::driver::{at, driver, into, name_once, out};
use crate::error::{Error, Result};
use cabi::address::{Address, plain, read, read_text};

/// `cudaDeviceMapHost`: always in force, so always reported.
const MAP_HOST: c_uint = 8;
/// Flags of `cudaSetDeviceFlags` that exist: scheduling, `cudaDeviceMapHost`, `cudaDeviceLmemResizeToMax`,
/// `cudaDeviceSyncMemops`.
const DEVICE_FLAGS: c_uint = 0x9f;
/// `cudaInitDeviceFlagsAreValid`.
const FLAGS_ARE_VALID: c_uint = 1;
/// Attributes: compute capability.
const MAJOR: c_int = 75;
const MINOR: c_int = 76;

/// The fields of `cudaDeviceProp` that a device is chosen by. All versions have them at the same place.
#[repr(C)]
#[derive(Clone, Copy)]
struct Wanted {
    before: [u8; 288],
    memory_bytes: usize,
    between: [u8; 64],
    capability: [c_int; 2],
}

plain!(Wanted);

api! {
    fn cudaGetDeviceCount(count: Out<c_int>) {
        let found = driver().and_then(|driver| out(|place| driver.cuDeviceGetCount(place)));
        count.set(found.unwrap_or(0))?;
        match found {
            Ok(0) => Err(Error::NO_DEVICE),
            found => found.map(drop),
        }
    }

    fn cudaGetDevice(device: Out<c_int>) { device.set(context::device()?) }
    fn cudaSetDevice(device: c_int) { context::choose(device) }

    fn cudaInitDevice(device: c_int, device_flags: c_uint, flags: c_uint) {
        let driver = with_device(device)?;
        if flags & FLAGS_ARE_VALID != 0 {
            driver.cuDevicePrimaryCtxSetFlags_v2(device, device_flags)?;
        }
        context::primary_context(device).map(drop)
    }

    fn cudaSetValidDevices(devices: In<c_int>, count: c_int) {
        let count = usize::try_from(count).map_err(|_| Error::INVALID_VALUE)?;
        let mut first = 0;
        for index in (0..count).rev() {
            first = read(devices.0.wrapping_add(index * size_of::<c_int>()))?;
            with_device(first)?;
        }
        driver()?;
        context::set_default(first);
        Ok(())
    }

    fn cudaChooseDevice(device: Out<c_int>, wanted: In<Wanted>) {
        let driver = driver()?;
        let (chosen, wanted) = (device.ready()?, wanted.get()?);
        let count: c_int = out(|place| driver.cuDeviceGetCount(place))?;
        for device in 0..count {
            let attribute = |number| out::<c_int>(|place| driver.cuDeviceGetAttribute(place, number, device));
            let memory: usize = out(|place| driver.cuDeviceTotalMem_v2(place, device))?;
            if memory >= wanted.memory_bytes && [attribute(MAJOR)?, attribute(MINOR)?] >= wanted.capability {
                return chosen.set(device);
            }
        }
        chosen.set(0)
    }

    fn cudaDeviceGetAttribute(value: Out<c_int>, attribute: c_int, device: Device)
        = cuDeviceGetAttribute, no context;
    fn cudaDeviceGetPCIBusId(name: Out<u8>, bytes: c_int, device: Device) = cuDeviceGetPCIBusId, no context;

    fn cudaDeviceGetByPCIBusId(device: Out<c_int>, name: In<u8>) {
        let name = read_text(name.0, 64)?;
        device.receive(|place| driver()?.cuDeviceGetByPCIBusId(place, at(name.as_bytes_with_nul())))
    }

    fn cudaDeviceGetTexture1DLinearMaxWidth(width: Out<usize>, channel: In<Channel>, device: c_int) {
        let (format, channels) = channel.get()?.format()?;
        width.receive(|place| driver()?.cuDeviceGetTexture1DLinearMaxWidth(place, format, channels, device))
    }

    fn cudaGetDeviceFlags(flags: Out<c_uint>) {
        let device = context::device()?;
        let mut active: c_int = 0;
        let active = into(&mut active);
        let set: c_uint = out(|place| driver()?.cuDevicePrimaryCtxGetState(device, place, active))?;
        flags.set(set | MAP_HOST)
    }

    fn cudaSetDeviceFlags(flags: c_uint) {
        if flags & !DEVICE_FLAGS != 0 {
            return Err(Error::INVALID_VALUE);
        }
        let device = context::device()?;
        driver()?.cuDevicePrimaryCtxSetFlags_v2(device, flags)
    }

    fn cudaDeviceReset() { context::reset() }
    fn cudaThreadExit() { context::reset() }
    fn cudaDeviceSynchronize() = cuCtxSynchronize;
    fn cudaThreadSynchronize() = cuCtxSynchronize;
    fn cudaDeviceSetLimit(limit: c_int, value: usize) = cuCtxSetLimit;
    fn cudaThreadSetLimit(limit: c_int, value: usize) = cuCtxSetLimit;
    fn cudaDeviceGetLimit(value: Out<usize>, limit: c_int) = cuCtxGetLimit;
    fn cudaThreadGetLimit(value: Out<usize>, limit: c_int) = cuCtxGetLimit;
    fn cudaDeviceSetCacheConfig(config: c_int) = cuCtxSetCacheConfig;
    fn cudaThreadSetCacheConfig(config: c_int) = cuCtxSetCacheConfig;
    fn cudaDeviceGetCacheConfig(config: Out<c_int>) = cuCtxGetCacheConfig;
    fn cudaThreadGetCacheConfig(config: Out<c_int>) = cuCtxGetCacheConfig;
    fn cudaDeviceSetSharedMemConfig(config: c_int) = cuCtxSetSharedMemConfig;
    fn cudaDeviceGetSharedMemConfig(config: Out<c_int>) = cuCtxGetSharedMemConfig;
    fn cudaCtxResetPersistingL2Cache() = cuCtxResetPersistingL2Cache;
    fn cudaDeviceFlushGPUDirectRDMAWrites(target: c_int, scope: c_int) = cuFlushGPUDirectRDMAWrites;

    fn cudaDeviceGetStreamPriorityRange(least: Out<c_int>, greatest: Out<c_int>) {
        let driver = current()?;
        let (mut low, mut high): (c_int, c_int) = (0, 0);
        driver.cuCtxGetStreamPriorityRange(into(&mut low), into(&mut high))?;
        least.set_unless_null(low)?;
        greatest.set_unless_null(high)
    }

    fn cudaDriverGetVersion(version: Out<c_int>) {
        // Without a driver the version is 0, which is not an error.
        let found = driver().and_then(|driver| out(|place| driver.cuDriverGetVersion(place)));
        version.set(found.unwrap_or(0))
    }

    fn cudaProfilerStart() = cuProfilerStart;
    fn cudaProfilerStop() = cuProfilerStop;

    fn cudaGetExportTable(_table: Address, _id: Address) {
        // Tables of functions without a public description: none is known here.
        Err(Error::NOT_SUPPORTED)
    }

    fn cudaGetDriverEntryPointByVersion | cudaGetDriverEntryPointByVersion_ptsz(
        name: In<u8>, function: Out<Address>, version: c_uint, flags: EntryPointFlags, status: Out<c_int>,
    ) {
        driver_function(name, function, version.cast_signed(), flags, status)
    }
}

/// Flags of `cudaGetDriverEntryPoint`: which default stream the function has.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct EntryPointFlags(u64);

impl Argument for EntryPointFlags {
    type Raw = u64;

    fn raw(self) -> Result<u64> {
        Ok(self.0)
    }

    fn per_thread(self) -> Self {
        /// `cudaEnableDefault` and `cudaEnablePerThreadDefaultStream`.
        const DEFAULT: u64 = 0;
        const PER_THREAD: u64 = 2;
        Self(if self.0 == DEFAULT { PER_THREAD } else { self.0 })
    }
}

/// Finds a function of the driver for a program: `cudaGetDriverEntryPoint` and its variants.
/// `version` is the version of the interface that the program was built for; `status` may be null.
pub fn driver_function(
    name: In<u8>,
    function: Out<Address>,
    version: c_int,
    flags: EntryPointFlags,
    status: Out<c_int>,
) -> Result<()> {
    let (name, flags) = (read_text(name.0, 256)?, flags.raw()?);
    let function = function.ready()?;
    let driver = driver()?;
    let mut found_status: c_int = 0;
    let place_of_status = into(&mut found_status);
    let found: Result<Address> =
        out(|place| driver.cuGetProcAddress_v2(at(name.as_bytes_with_nul()), place, version, flags, place_of_status));
    match found {
        Ok(found) => {
            function.set(found)?;
            status.set_unless_null(found_status)
        }
        Err(Error::NOT_FOUND) => {
            name_once(format!("the driver has no {}", name.to_string_lossy()));
            function.set(0)?;
            // With a place for the status, a missing function is not an error.
            status.set_unless_null(found_status.max(1))?;
            if status.0 == 0 { Err(Error::NOT_FOUND) } else { Ok(()) }
        }
        Err(error) => Err(error),
    }
}
