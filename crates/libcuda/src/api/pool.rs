//! Pools of memory, and memory in the order of streams.

use crate::api;
use crate::call::with;
use crate::unlocked;
use crate::values::{get_u32, get_u64, put, put_new};
use crate::wait::finish;
use cuda::{Driver, Error, Result, Wait};

/// The device of a place (`CUmemLocation`: kind, number), which must be one.
fn device_of(driver: &Driver, place: u64) -> Result<i32> {
    match get_u32(driver, place)? {
        1 => Ok(get_u32(driver, place + 4)?.cast_signed()),
        _ => Err(Error::NOT_SUPPORTED),
    }
}

/// The device of a place, for memory of a kind: pinned (1), or managed (2), of which there are no pools.
fn device_of_pinned(driver: &Driver, place: u64, kind: u32) -> Result<i32> {
    match kind {
        1 => device_of(driver, place),
        2 => Err(Error::NOT_SUPPORTED),
        _ => Err(Error::INVALID_VALUE),
    }
}

/// Allocates. Memory that streams have yet to free is waited for if it is needed.
fn allocate(pointer: u64, bytes: u64, pool: Option<u64>, stream: u64) -> Result<()> {
    if pointer == 0 {
        return Err(Error::INVALID_VALUE);
    }
    let attempt = || with(|driver| driver.mem_alloc_async(bytes, pool, stream));
    let address = match attempt() {
        Err(Error::OUT_OF_MEMORY) => {
            let device = with(|driver| driver.streams.device_of(&driver.platform, stream))?;
            finish(Wait::Device(device))?;
            attempt()?
        }
        result => result?,
    };
    with(|driver| put(driver, pointer, address))
}

unlocked! {
    fn cuMemAllocAsync(pointer: u64, bytes: u64, stream: u64) per_thread { allocate(pointer, bytes, None, stream) }
    fn cuMemAllocFromPoolAsync(pointer: u64, bytes: u64, pool: u64, stream: u64) per_thread {
        allocate(pointer, bytes, Some(pool), stream)
    }
}

api! {
    fn cuMemFreeAsync(address: u64, stream: u64) per_thread |driver| { driver.mem_free_async(address, stream) }

    fn cuMemPoolCreate(pool: u64, properties: u64) |driver| {
        // Kind of memory (pinned), handles for other processes, place.
        if get_u32(driver, properties)? != 1 {
            return Err(Error::INVALID_VALUE);
        }
        if get_u32(driver, properties + 4)? != 0 {
            return Err(Error::NOT_SUPPORTED);
        }
        let device = device_of(driver, properties + 8)?;
        put_new(driver, pool, |driver| driver.memory.pool_create(&driver.platform, device))
    }
    fn cuMemPoolDestroy(pool: u64) |driver| { driver.memory.pool_destroy(pool) }
    fn cuDeviceGetDefaultMemPool(pool: u64, device: i32) |driver| {
        put_new(driver, pool, |driver| driver.memory.default_pool(&driver.platform, device))
    }
    fn cuDeviceGetMemPool(pool: u64, device: i32) |driver| {
        put_new(driver, pool, |driver| driver.memory.present_pool(&driver.platform, device))
    }
    fn cuDeviceSetMemPool(device: i32, pool: u64) |driver| {
        driver.memory.set_present_pool(&driver.platform, device, pool)
    }
    // Pools of pinned memory of a device (kind 1) by its place.
    fn cuMemGetDefaultMemPool(pool: u64, place: u64, kind: u32) |driver| {
        let device = device_of_pinned(driver, place, kind)?;
        put_new(driver, pool, |driver| driver.memory.default_pool(&driver.platform, device))
    }
    fn cuMemGetMemPool(pool: u64, place: u64, kind: u32) |driver| {
        let device = device_of_pinned(driver, place, kind)?;
        put_new(driver, pool, |driver| driver.memory.present_pool(&driver.platform, device))
    }
    fn cuMemSetMemPool(place: u64, kind: u32, pool: u64) |driver| {
        let device = device_of_pinned(driver, place, kind)?;
        driver.memory.set_present_pool(&driver.platform, device, pool)
    }
    fn cuMemPoolGetAttribute(pool: u64, attribute: u32, value: u64) |driver| {
        match driver.memory.pool_attribute(pool, attribute)? {
            (number, true) => put(driver, value, number),
            (number, false) => put(driver, value, number as u32),
        }
    }
    fn cuMemPoolSetAttribute(pool: u64, attribute: u32, value: u64) |driver| {
        let number = if cuda::memory::Pool::is_wide(attribute) {
            get_u64(driver, value)?
        } else {
            get_u32(driver, value)?.into()
        };
        driver.memory.set_pool_attribute(pool, attribute, number)
    }
    fn cuMemPoolTrimTo(pool: u64, _bytes: u64) |driver| { driver.memory.pool(pool).map(|_| ()) }
    fn cuMemPoolSetAccess(pool: u64, list: u64, count: u64) |driver| {
        let of = driver.memory.pool(pool)?.device;
        for at in (0..count.min(MOST_PLACES)).map(|i| list + 12 * i) {
            // The pool's own device always has access; no other one can.
            let (device, flags) = (device_of(driver, at)?, get_u32(driver, at + 8)?);
            driver.platform.device(device)?;
            match (device as usize == of, flags) {
                (true, 3) | (false, 0) => {}
                (false, 1 | 3) => return Err(Error::NOT_SUPPORTED),
                _ => return Err(Error::INVALID_VALUE),
            }
        }
        Ok(())
    }
    fn cuMemPoolGetAccess(flags: u64, pool: u64, place: u64) |driver| {
        let device = device_of(driver, place)?;
        driver.platform.device(device)?;
        let own = driver.memory.pool(pool)?.device == device as usize;
        put(driver, flags, if own { 3_u32 } else { 0 })
    }
}

/// Maximum number of places in a list.
const MOST_PLACES: u64 = 1 << 10;
