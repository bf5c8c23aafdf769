//! Memory that is allocated and freed in stream order, and its pools.

use std::ffi::{c_int, c_uint};

use crate::api::api;
use crate::argument::{Argument, Device, In, Out, Stream};
use crate::context::current;
use crate::driver::{Location, driver};
use crate::error::{Error, Result};
use crate::memory::allocate;
use cabi::address::{Address, Handle, readable};

/// `cudaMemPoolProps`, which is the driver's structure too.
type Properties = [u64; 11];
/// `cudaMemPoolPtrExportData`.
type Exported = [u64; 8];

/// `cudaMemLocationTypeDevice` and `cudaMemAllocationTypePinned`.
const ON_DEVICE: c_int = 1;
const PINNED: c_int = 1;
/// Bytes of `cudaMemAccessDesc`: a location and flags.
const ACCESS_BYTES: usize = 12;

/// Bytes of an attribute: the three on the reuse of memory are 32-bit flags.
fn value_bytes(attribute: c_int) -> usize {
    if (1..=3).contains(&attribute) { 4 } else { 8 }
}

api! {
    fn cudaMallocAsync | cudaMallocAsync_ptsz(address: Out<Address>, bytes: usize, stream: Stream) {
        allocate(address, bytes, |driver, place| driver.cuMemAllocAsync(place, bytes, stream.0))
    }

    fn cudaMallocFromPoolAsync | cudaMallocFromPoolAsync_ptsz(
        address: Out<Address>, bytes: usize, pool: Handle, stream: Stream,
    ) {
        allocate(address, bytes, |driver, place| driver.cuMemAllocFromPoolAsync(place, bytes, pool, stream.0))
    }

    fn cudaFreeAsync | cudaFreeAsync_ptsz(address: Address, stream: Stream) {
        let driver = current()?;
        if address == 0 { Ok(()) } else { driver.cuMemFreeAsync(address, stream.0) }
    }

    fn cudaDeviceGetDefaultMemPool(pool: Out<Handle>, device: Device) = cuDeviceGetDefaultMemPool, no context;
    fn cudaDeviceGetMemPool(pool: Out<Handle>, device: Device) = cuDeviceGetMemPool, no context;
    fn cudaDeviceSetMemPool(device: Device, pool: Handle) = cuDeviceSetMemPool, no context;
    fn cudaMemPoolCreate(pool: Out<Handle>, properties: In<Properties>) = cuMemPoolCreate;
    fn cudaMemPoolDestroy(pool: Handle) = cuMemPoolDestroy;
    fn cudaMemPoolTrimTo(pool: Handle, keep: usize) = cuMemPoolTrimTo;

    fn cudaMemPoolSetAttribute(pool: Handle, attribute: c_int, value: Address) {
        readable(value, value_bytes(attribute))?;
        current()?.cuMemPoolSetAttribute(pool, attribute, value)
    }

    fn cudaMemPoolGetAttribute(pool: Handle, attribute: c_int, value: Address) {
        readable(value, value_bytes(attribute))?;
        current()?.cuMemPoolGetAttribute(pool, attribute, value)
    }

    fn cudaMemPoolSetAccess(pool: Handle, list: Address, count: usize) {
        readable(list, count.checked_mul(ACCESS_BYTES).ok_or(Error::INVALID_VALUE)?)?;
        current()?.cuMemPoolSetAccess(pool, list, count)
    }

    fn cudaMemPoolGetAccess(flags: Out<c_int>, pool: Handle, location: In<Location>) = cuMemPoolGetAccess;

    fn cudaMemPoolExportToShareableHandle(handle: Address, pool: Handle, kind: c_int, flags: c_uint) {
        current()?.cuMemPoolExportToShareableHandle(handle, pool, kind, u64::from(flags))
    }

    fn cudaMemPoolImportFromShareableHandle(pool: Out<Handle>, handle: Address, kind: c_int, flags: c_uint) {
        let driver = current()?;
        pool.receive(|pool| driver.cuMemPoolImportFromShareableHandle(pool, handle, kind, u64::from(flags)))
    }

    fn cudaMemPoolExportPointer(data: Out<Exported>, address: Address) = cuMemPoolExportPointer;
    fn cudaMemPoolImportPointer(address: Out<Address>, pool: Handle, data: In<Exported>) = cuMemPoolImportPointer;

    fn cudaMemGetDefaultMemPool(pool: Out<Handle>, location: In<Location>, kind: c_int) {
        let device = device_of(location, kind)?;
        pool.receive(|pool| driver()?.cuDeviceGetDefaultMemPool(pool, device))
    }

    fn cudaMemGetMemPool(pool: Out<Handle>, location: In<Location>, kind: c_int) {
        let device = device_of(location, kind)?;
        pool.receive(|pool| driver()?.cuDeviceGetMemPool(pool, device))
    }

    fn cudaMemSetMemPool(location: In<Location>, kind: c_int, pool: Handle) {
        driver()?.cuDeviceSetMemPool(device_of(location, kind)?, pool)
    }

    fn cudaDeviceGraphMemTrim(device: Device) = cuDeviceGraphMemTrim, no context;
    fn cudaDeviceGetGraphMemAttribute(device: Device, attribute: c_int, value: Out<u64>)
        = cuDeviceGetGraphMemAttribute, no context;
    fn cudaDeviceSetGraphMemAttribute(device: Device, attribute: c_int, value: In<u64>)
        = cuDeviceSetGraphMemAttribute, no context;
}

/// The device of a location. Only pools of pinned memory exist there.
fn device_of(location: In<Location>, kind: c_int) -> Result<c_int> {
    let Location { kind: place, id } = location.get()?;
    if (place, kind) == (ON_DEVICE, PINNED) { Device(id).raw() } else { Err(Error::NOT_SUPPORTED) }
}
