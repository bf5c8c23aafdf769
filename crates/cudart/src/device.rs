//! Devices: which there are, what they are, which one a thread uses, their limits.

use std::ffi::{c_int, c_uint};

use crate::address::{Address, In, Out, read, read_text};
use crate::api::api;
use crate::array::Channel;
use crate::context::{self, current};
use crate::driver::{at, driver, into, name_once, out};
use crate::error::{Error, Result};

/// `cudaDeviceMapHost`: always in force, so always reported.
const MAP_HOST: c_uint = 8;
/// Flags of `cudaSetDeviceFlags` that exist.
const DEVICE_FLAGS: c_uint = 0x1f;
/// `cudaInitDeviceFlagsAreValid`.
const FLAGS_ARE_VALID: c_uint = 1;

api! {
    fn cudaGetDeviceCount(count: Out<c_int>) {
        let found = driver().and_then(|driver| out(|place| driver.cuDeviceGetCount(place)));
        count.set(found.unwrap_or(0))?;
        match found {
            Ok(0) => Err(Error::NO_DEVICE),
            found => found.map(drop),
        }
    }

    fn cudaGetDevice(device: Out<c_int>) {
        device.ready()?.set(context::device()?)
    }

    fn cudaSetDevice(device: c_int) {
        context::choose(device)
    }

    fn cudaInitDevice(device: c_int, device_flags: c_uint, flags: c_uint) {
        let driver = driver()?;
        context::check(driver, device)?;
        if flags & FLAGS_ARE_VALID != 0 {
            driver.cuDevicePrimaryCtxSetFlags_v2(device, device_flags)?;
        }
        context::primary_context(driver, device).map(drop)
    }

    fn cudaSetValidDevices(devices: In<c_int>, count: c_int) {
        let driver = driver()?;
        let count = usize::try_from(count).map_err(|_| Error::INVALID_VALUE)?;
        let mut first = 0;
        for index in (0..count).rev() {
            first = read(devices.0.wrapping_add(index * size_of::<c_int>()))?;
            context::check(driver, first)?;
        }
        context::set_default(first);
        Ok(())
    }

    fn cudaChooseDevice(device: Out<c_int>, wanted: In<[u8; 368]>) {
        let driver = driver()?;
        device.ready()?;
        let wanted = wanted.get()?;
        let count: c_int = out(|place| driver.cuDeviceGetCount(place))?;
        let attribute = |device, number| {
            out::<c_int>(|place| driver.cuDeviceGetAttribute(place, number, device))
        };
        let mut best = (0, 0);
        for candidate in 0..count {
            let memory: usize = out(|place| driver.cuDeviceTotalMem_v2(place, candidate))?;
            let has = (attribute(candidate, 75)?, attribute(candidate, 76)?);
            let fits = memory >= Wanted::memory(&wanted) && has >= Wanted::capability(&wanted);
            if i32::from(fits) > best.1 {
                best = (candidate, 1);
            }
        }
        device.set(best.0)
    }

    fn cudaDeviceGetAttribute(value: Out<c_int>, attribute: c_int, device: c_int) {
        let driver = driver()?;
        context::check(driver, device)?;
        value.ready()?;
        value.set(out(|place| driver.cuDeviceGetAttribute(place, attribute, device))?)
    }

    fn cudaDeviceGetPCIBusId(name: Out<u8>, bytes: c_int, device: c_int) {
        let driver = driver()?;
        context::check(driver, device)?;
        name.ready()?;
        driver.cuDeviceGetPCIBusId(name.0, bytes, device)
    }

    fn cudaDeviceGetByPCIBusId(device: Out<c_int>, name: In<u8>) {
        let name = read_text(name.0, 64)?;
        device.ready()?;
        let driver = driver()?;
        device.set(out(|place| {
            driver.cuDeviceGetByPCIBusId(place, at(name.as_bytes_with_nul()))
        })?)
    }

    fn cudaDeviceGetTexture1DLinearMaxWidth(
        width: Out<usize>,
        channel: In<Channel>,
        device: c_int,
    ) {
        let (format, channels) = channel.get()?.format()?;
        let driver = driver()?;
        width.ready()?;
        driver.cuDeviceGetTexture1DLinearMaxWidth(width.0, format, channels, device)
    }

    fn cudaGetDeviceFlags(flags: Out<c_uint>) {
        flags.ready()?;
        let device = context::device()?;
        let mut active: c_int = 0;
        let set: c_uint = out(|place| {
            let active = into(&mut active);
            driver()?.cuDevicePrimaryCtxGetState(device, place, active)
        })?;
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
        driver.cuCtxGetStreamPriorityRange(
            into(&mut low),
            into(&mut high),
        )?;
        least.set_unless_null(low)?;
        greatest.set_unless_null(high)
    }

    fn cudaDriverGetVersion(version: Out<c_int>) {
        // Without a driver the version is 0, and that is no error.
        let found = driver().and_then(|driver| out(|place| driver.cuDriverGetVersion(place)));
        version.set(found.unwrap_or(0))
    }

    fn cudaProfilerStart() = cuProfilerStart;
    fn cudaProfilerStop() = cuProfilerStop;

    fn cudaGetExportTable(_table: Address, _id: Address) {
        // Tables of functions without a public description: none is known here.
        Err(Error::NOT_SUPPORTED)
    }
}

/// Fields that all layouts of `cudaDeviceProp` have at the same place.
struct Wanted;

impl Wanted {
    fn memory(bytes: &[u8; 368]) -> usize {
        let mut value = [0; size_of::<usize>()];
        value.copy_from_slice(&bytes[288..296]);
        usize::from_ne_bytes(value)
    }

    fn capability(bytes: &[u8; 368]) -> (c_int, c_int) {
        let number = |at: usize| {
            let mut value = [0; size_of::<c_int>()];
            value.copy_from_slice(&bytes[at..at + 4]);
            c_int::from_ne_bytes(value)
        };
        (number(360), number(364))
    }
}

/// Finds a function of the driver for a program: `cudaGetDriverEntryPoint` and its variants.
/// `version` is that of the interface which the program was built for.
pub fn driver_function(
    name: Address,
    function: Out<Address>,
    version: c_int,
    flags: u64,
    status: Out<c_int>,
) -> Result<()> {
    let name = read_text(name, 256)?;
    function.ready()?;
    let driver = driver()?;
    let mut found_status: c_int = 0;
    let outcome = out(|place| {
        let status = into(&mut found_status);
        driver.cuGetProcAddress_v2(at(name.as_bytes_with_nul()), place, version, flags, status)
    });
    match outcome {
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

/// `cudaEnablePerThreadDefaultStream` in place of the default.
pub fn per_thread_flags(flags: u64) -> u64 {
    if flags == 0 { 2 } else { flags }
}

api! {
    fn cudaGetDriverEntryPointByVersion(
        name: In<u8>,
        function: Out<Address>,
        version: c_uint,
        flags: u64,
        status: Out<c_int>,
    ) {
        driver_function(name.0, function, version.cast_signed(), flags, status)
    }

    fn cudaGetDriverEntryPointByVersion_ptsz(
        name: In<u8>,
        function: Out<Address>,
        version: c_uint,
        flags: u64,
        status: Out<c_int>,
    ) {
        let flags = per_thread_flags(flags);
        driver_function(name.0, function, version.cast_signed(), flags, status)
    }
}
