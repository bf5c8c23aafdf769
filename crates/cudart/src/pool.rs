//! Memory that is allocated and freed in stream order, and its pools.

use std::ffi::{c_int, c_uint};

use crate::address::{Address, Handle, In, Out, Stream};
use crate::api::api;
use crate::context::{check, current};
use crate::driver::{Location, driver, out};
use crate::error::{Error, Result};

/// `cudaMemPoolProps` and the driver's structure are the same.
type Properties = [u64; 11];
/// `cudaMemPoolPtrExportData`.
type Exported = [u64; 8];

/// `cudaMemLocationTypeDevice` and `cudaMemAllocationTypePinned`.
const ON_DEVICE: c_int = 1;
const PINNED: c_int = 1;

/// Bytes of an attribute: the three that say what memory is reused for are 32-bit flags.
fn value_bytes(attribute: c_int) -> usize {
    if (1..=3).contains(&attribute) { 4 } else { 8 }
}

api! {
    fn cudaMallocAsync | cudaMallocAsync_ptsz(address: Out<Address>, bytes: usize, stream: Stream) {
        let driver = current()?;
        address.ready()?;
        if bytes == 0 {
            return address.set(0);
        }
        address.set(out(|place| driver.cuMemAllocAsync(place, bytes, stream.0))?)
    }

    fn cudaMallocFromPoolAsync | cudaMallocFromPoolAsync_ptsz(
        address: Out<Address>,
        bytes: usize,
        pool: Handle,
        stream: Stream,
    ) {
        let driver = current()?;
        address.ready()?;
        if bytes == 0 {
            return address.set(0);
        }
        address.set(out(|place| driver.cuMemAllocFromPoolAsync(place, bytes, pool, stream.0))?)
    }

    fn cudaFreeAsync | cudaFreeAsync_ptsz(address: Address, stream: Stream) {
        let driver = current()?;
        if address == 0 { Ok(()) } else { driver.cuMemFreeAsync(address, stream.0) }
    }

    fn cudaDeviceGetDefaultMemPool(pool: Out<Handle>, device: c_int) {
        let driver = device_driver(device)?;
        pool.ready()?;
        driver.cuDeviceGetDefaultMemPool(pool.0, device)
    }

    fn cudaDeviceGetMemPool(pool: Out<Handle>, device: c_int) {
        let driver = device_driver(device)?;
        pool.ready()?;
        driver.cuDeviceGetMemPool(pool.0, device)
    }

    fn cudaDeviceSetMemPool(device: c_int, pool: Handle) {
        device_driver(device)?.cuDeviceSetMemPool(device, pool)
    }

    fn cudaMemPoolCreate(pool: Out<Handle>, properties: In<Properties>) = cuMemPoolCreate;
    fn cudaMemPoolDestroy(pool: Handle) = cuMemPoolDestroy;
    fn cudaMemPoolTrimTo(pool: Handle, keep: usize) = cuMemPoolTrimTo;

    fn cudaMemPoolSetAttribute(pool: Handle, attribute: c_int, value: Address) {
        let driver = current()?;
        crate::address::readable(value, value_bytes(attribute))?;
        driver.cuMemPoolSetAttribute(pool, attribute, value)
    }

    fn cudaMemPoolGetAttribute(pool: Handle, attribute: c_int, value: Address) {
        let driver = current()?;
        crate::address::readable(value, value_bytes(attribute))?;
        driver.cuMemPoolGetAttribute(pool, attribute, value)
    }

    fn cudaMemPoolSetAccess(pool: Handle, list: Address, count: usize) {
        let driver = current()?;
        // Each description is a location and flags.
        let bytes = count.checked_mul(12).ok_or(Error::INVALID_VALUE)?;
        crate::address::readable(list, bytes)?;
        driver.cuMemPoolSetAccess(pool, list, count)
    }

    fn cudaMemPoolGetAccess(flags: Out<c_int>, pool: Handle, location: In<[c_int; 2]>)
        = cuMemPoolGetAccess;

    fn cudaMemPoolExportToShareableHandle(
        handle: Address,
        pool: Handle,
        kind: c_int,
        flags: c_uint,
    ) {
        current()?.cuMemPoolExportToShareableHandle(handle, pool, kind, u64::from(flags))
    }

    fn cudaMemPoolImportFromShareableHandle(
        pool: Out<Handle>,
        handle: Address,
        kind: c_int,
        flags: c_uint,
    ) {
        let driver = current()?;
        pool.ready()?;
        driver.cuMemPoolImportFromShareableHandle(pool.0, handle, kind, u64::from(flags))
    }

    fn cudaMemPoolExportPointer(data: Out<Exported>, address: Address) = cuMemPoolExportPointer;
    fn cudaMemPoolImportPointer(address: Out<Address>, pool: Handle, data: In<Exported>)
        = cuMemPoolImportPointer;

    fn cudaMemGetDefaultMemPool(pool: Out<Handle>, location: In<Location>, kind: c_int) {
        let device = device_of(location, kind)?;
        pool.ready()?;
        driver()?.cuDeviceGetDefaultMemPool(pool.0, device)
    }

    fn cudaMemGetMemPool(pool: Out<Handle>, location: In<Location>, kind: c_int) {
        let device = device_of(location, kind)?;
        pool.ready()?;
        driver()?.cuDeviceGetMemPool(pool.0, device)
    }

    fn cudaMemSetMemPool(location: In<Location>, kind: c_int, pool: Handle) {
        let device = device_of(location, kind)?;
        driver()?.cuDeviceSetMemPool(device, pool)
    }

    fn cudaDeviceGraphMemTrim(device: c_int) {
        device_driver(device)?.cuDeviceGraphMemTrim(device)
    }

    fn cudaDeviceGetGraphMemAttribute(device: c_int, attribute: c_int, value: Out<u64>) {
        let driver = device_driver(device)?;
        value.ready()?;
        driver.cuDeviceGetGraphMemAttribute(device, attribute, value.0)
    }

    fn cudaDeviceSetGraphMemAttribute(device: c_int, attribute: c_int, value: In<u64>) {
        let driver = device_driver(device)?;
        value.get()?;
        driver.cuDeviceSetGraphMemAttribute(device, attribute, value.0)
    }
}

/// The driver, for a call that names a device.
fn device_driver(device: c_int) -> Result<&'static crate::driver::Driver> {
    let driver = driver()?;
    check(driver, device)?;
    Ok(driver)
}

/// The device of a location, of which only pools of pinned memory exist.
fn device_of(location: In<Location>, kind: c_int) -> Result<c_int> {
    let Location { kind: place, id } = location.get()?;
    if (place, kind) != (ON_DEVICE, PINNED) {
        return Err(Error::NOT_SUPPORTED);
    }
    check(driver()?, id)?;
    Ok(id)
}
