//! Virtual memory: addresses, memory, mappings.

use crate::api;
use crate::call::with;
use crate::unlocked;
use crate::values::{get_u32, put, put_new};
use crate::wait::finish;
use cuda::memory::GRANULARITY_BYTES;
use cuda::{Driver, Error, Result, Wait};

/// Checks the properties of memory (`CUmemAllocationProp`: kind, handles for other processes, place); returns the
/// device.
fn device_of(driver: &Driver, properties: u64) -> Result<i32> {
    match (get_u32(driver, properties)?, get_u32(driver, properties + 4)?, get_u32(driver, properties + 8)?) {
        (1, 0, 1) => Ok(get_u32(driver, properties + 12)?.cast_signed()),
        (1, _, _) => Err(Error::NOT_SUPPORTED),
        _ => Err(Error::INVALID_VALUE),
    }
}

/// Bytes of an access description: kind and number of the place, access.
const ACCESS_BYTES: u64 = 12;
/// Maximum number of them.
const MOST_PLACES: u64 = 1 << 10;

api! {
    fn cuMemGetAllocationGranularity(bytes: u64, properties: u64, option: u32) |driver| {
        let device = device_of(driver, properties)?;
        driver.platform.device(device)?;
        if option > 1 {
            return Err(Error::INVALID_VALUE);
        }
        put(driver, bytes, GRANULARITY_BYTES)
    }
    fn cuMemAddressReserve(pointer: u64, bytes: u64, alignment: u64, _wanted: u64, flags: u64) |driver| {
        if flags != 0 {
            return Err(Error::INVALID_VALUE);
        }
        put_new(driver, pointer, |driver| driver.memory.reserve(&driver.platform, bytes, alignment))
    }
    fn cuMemAddressFree(address: u64, bytes: u64) |driver| { driver.memory.unreserve(address, bytes) }
    fn cuMemCreate(handle: u64, bytes: u64, properties: u64, flags: u64) |driver| {
        if flags != 0 {
            return Err(Error::INVALID_VALUE);
        }
        let device = device_of(driver, properties)?;
        put_new(driver, handle, |driver| driver.memory.physical_create(&driver.platform, device, bytes))
    }
    fn cuMemRelease(handle: u64) |driver| { driver.memory.physical_release(handle) }
    fn cuMemMap(address: u64, bytes: u64, offset: u64, handle: u64, flags: u64) |driver| {
        if flags != 0 {
            return Err(Error::INVALID_VALUE);
        }
        driver.memory.map(&mut driver.platform, address, bytes, offset, handle)
    }
    fn cuMemSetAccess(address: u64, bytes: u64, list: u64, count: u64) |driver| {
        driver.memory.mapped(address, bytes)?;
        let of = driver.memory.mapping_at(address)?.1.device;
        // The memory's own device has access from the mapping on; no other one can.
        for at in (0..count.min(MOST_PLACES)).map(|i| list + ACCESS_BYTES * i) {
            if get_u32(driver, at)? != 1 || get_u32(driver, at + 4)? as usize != of {
                return Err(Error::NOT_SUPPORTED);
            }
        }
        Ok(())
    }
    fn cuMemGetAccess(flags: u64, place: u64, address: u64) |driver| {
        let of = driver.memory.mapping_at(address)?.1.device;
        let own = get_u32(driver, place)? == 1 && get_u32(driver, place + 4)? as usize == of;
        put(driver, flags, if own { 3_u64 } else { 0 })
    }
    fn cuMemRetainAllocationHandle(handle: u64, address: u64) |driver| {
        let (of, _) = driver.memory.mapping_at(address)?;
        driver.memory.physical(of)?;
        put(driver, handle, of)
    }
    fn cuMemGetAllocationPropertiesFromHandle(properties: u64, handle: u64) |driver| {
        let device = driver.memory.physical(handle)?.device;
        for at in [0, 8, 16, 24] {
            put(driver, properties + at, 0_u64)?;
        }
        for (at, value) in [(0, 1), (8, 1), (12, device as u32)] {
            put(driver, properties + at, value)?;
        }
        Ok(())
    }
}

unlocked! {
    fn cuMemUnmap(address: u64, bytes: u64) {
        let device = with(|driver| {
            driver.memory.mapped(address, bytes)?;
            Ok(driver.memory.mapping_at(address)?.1.device)
        })?;
        finish(Wait::Device(device))?;
        with(|driver| driver.memory.unmap(&mut driver.platform, address, bytes))
    }
}
