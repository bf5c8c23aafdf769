//! Memory in one dimension: allocation, copies, fills, what an address is.

use crate::api;
use crate::call::with;
use crate::unlocked;
use crate::values::{put, put_if, put_new};
use crate::wait::finish;
use cuda::memory::Place;
use cuda::memory::{Place3d, Said};
use cuda::{Driver, Error, Result, Wait};

fn copy(driver: &mut Driver, to: (Said, u64), from: (Said, u64), bytes: u64, stream: u64, wait: bool) -> Result<Wait> {
    let place = |(said, address)| Place3d::line(said, address, bytes);
    driver.copy(place(to), place(from), [bytes, 1, 1], stream, wait)
}

fn fill(driver: &mut Driver, address: u64, pattern: (u32, u64), count: u64, stream: u64, wait: bool) -> Result<Wait> {
    fill_rows(driver, (address, 0), pattern, [count, 1], stream, wait)
}

fn fill_rows(
    driver: &mut Driver,
    (address, pitch): (u64, u64),
    pattern: (u32, u64),
    size: [u64; 2],
    stream: u64,
    wait: bool,
) -> Result<Wait> {
    let op = driver.fill(address, pitch, pattern, size, stream)?;
    if wait {
        driver.memory.fill_wait(&driver.platform, &driver.streams, address, op, stream)
    } else {
        Ok(Wait::Nothing)
    }
}

/// All flags of `cuMemHostRegister`: portable, mapped, of a device, only read.
const REGISTER_FLAGS: u32 = 15;

use Said::{Device, Host, Nothing};

api! {
    fn cuMemGetInfo_v2(free: u64, total: u64) |driver| {
        let (is_free, all) = driver.memory.info(&driver.platform)?;
        put_if(driver, free, is_free)?;
        put_if(driver, total, all)
    }

    fn cuMemAlloc_v2(pointer: u64, bytes: u64) |driver| {
        put_new(driver, pointer, |driver| driver.mem_alloc(bytes))
    }

    fn cuMemAllocPitch_v2(pointer: u64, pitch: u64, width: u64, height: u64, _element: u32) |driver| {
        if pointer == 0 || pitch == 0 {
            return Err(Error::INVALID_VALUE);
        }
        let (address, bytes) = driver.mem_alloc_pitch(width, height)?;
        put(driver, pointer, address)?;
        put(driver, pitch, bytes)
    }

    fn cuMemAllocManaged(pointer: u64, bytes: u64, flags: u32) |driver| {
        if !matches!(flags, 1 | 2) {
            return Err(Error::INVALID_VALUE);
        }
        put_new(driver, pointer, |driver| driver.mem_alloc_shared(bytes, Place::Managed, flags))
    }

    fn cuMemAllocHost_v2(pointer: u64, bytes: u64) |driver| {
        put_new(driver, pointer, |driver| driver.mem_alloc_shared(bytes, Place::Host, 0))
    }

    fn cuMemHostAlloc(pointer: u64, bytes: u64, flags: u32) |driver| {
        if flags > 7 {
            return Err(Error::INVALID_VALUE);
        }
        put_new(driver, pointer, |driver| driver.mem_alloc_shared(bytes, Place::Host, flags))
    }

    fn cuMemHostRegister_v2(address: u64, bytes: u64, flags: u32) = cuMemHostRegister |driver| {
        if flags > REGISTER_FLAGS {
            return Err(Error::INVALID_VALUE);
        }
        driver.host_register(address, bytes, flags)
    }

    fn cuMemHostGetDevicePointer_v2(pointer: u64, address: u64, flags: u32) |driver| {
        if flags != 0 {
            return Err(Error::INVALID_VALUE);
        }
        let of_device = driver.memory.host_device_pointer(&driver.platform, address)?;
        put(driver, pointer, of_device)
    }

    fn cuMemHostGetFlags(flags: u64, address: u64) |driver| {
        let found = driver.memory.find(address).filter(|(_, allocation)| allocation.place == Place::Host);
        let (_, allocation) = found.ok_or(Error::INVALID_VALUE)?;
        // Portable and mapped, as with unified addresses.
        put(driver, flags, allocation.flags | 3)
    }

    fn cuMemGetAddressRange_v2(base: u64, bytes: u64, address: u64) |driver| {
        driver.platform.context_here()?;
        let (start, allocation) = driver.memory.find(address).ok_or(Error::NOT_FOUND)?;
        put_if(driver, base, start)?;
        put_if(driver, bytes, allocation.bytes)
    }

    fn cuMemcpyHtoD_v2(to: u64, from: u64, bytes: u64) per_thread_sync |driver| {
        copy(driver, (Device, to), (Host, from), bytes, 0, true)
    }
    fn cuMemcpyDtoH_v2(to: u64, from: u64, bytes: u64) per_thread_sync |driver| {
        copy(driver, (Host, to), (Device, from), bytes, 0, true)
    }
    fn cuMemcpyDtoD_v2(to: u64, from: u64, bytes: u64) per_thread_sync |driver| {
        copy(driver, (Device, to), (Device, from), bytes, 0, true)
    }
    fn cuMemcpy(to: u64, from: u64, bytes: u64) per_thread_sync |driver| {
        copy(driver, (Nothing, to), (Nothing, from), bytes, 0, true)
    }
    fn cuMemcpyHtoDAsync_v2(to: u64, from: u64, bytes: u64, stream: u64) per_thread |driver| {
        copy(driver, (Device, to), (Host, from), bytes, stream, false)
    }
    fn cuMemcpyDtoHAsync_v2(to: u64, from: u64, bytes: u64, stream: u64) per_thread |driver| {
        copy(driver, (Host, to), (Device, from), bytes, stream, false)
    }
    fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: u64, stream: u64) per_thread |driver| {
        copy(driver, (Device, to), (Device, from), bytes, stream, false)
    }
    fn cuMemcpyAsync(to: u64, from: u64, bytes: u64, stream: u64) per_thread |driver| {
        copy(driver, (Nothing, to), (Nothing, from), bytes, stream, false)
    }

    fn cuMemsetD8_v2(address: u64, value: u8, count: u64) per_thread_sync |driver| {
        fill(driver, address, (value.into(), 1), count, 0, true)
    }
    fn cuMemsetD16_v2(address: u64, value: u16, count: u64) per_thread_sync |driver| {
        fill(driver, address, (value.into(), 2), count, 0, true)
    }
    fn cuMemsetD32_v2(address: u64, value: u32, count: u64) per_thread_sync |driver| {
        fill(driver, address, (value, 4), count, 0, true)
    }
    fn cuMemsetD8Async(address: u64, value: u8, count: u64, stream: u64) per_thread |driver| {
        fill(driver, address, (value.into(), 1), count, stream, false)
    }
    fn cuMemsetD16Async(address: u64, value: u16, count: u64, stream: u64) per_thread |driver| {
        fill(driver, address, (value.into(), 2), count, stream, false)
    }
    fn cuMemsetD32Async(address: u64, value: u32, count: u64, stream: u64) per_thread |driver| {
        fill(driver, address, (value, 4), count, stream, false)
    }
    fn cuMemsetD2D8_v2(address: u64, pitch: u64, value: u8, width: u64, height: u64) per_thread_sync |driver| {
        fill_rows(driver, (address, pitch), (value.into(), 1), [width, height], 0, true)
    }
    fn cuMemsetD2D16_v2(address: u64, pitch: u64, value: u16, width: u64, height: u64) per_thread_sync |driver| {
        fill_rows(driver, (address, pitch), (value.into(), 2), [width, height], 0, true)
    }
    fn cuMemsetD2D32_v2(address: u64, pitch: u64, value: u32, width: u64, height: u64) per_thread_sync |driver| {
        fill_rows(driver, (address, pitch), (value, 4), [width, height], 0, true)
    }
    fn cuMemsetD2D8Async(address: u64, pitch: u64, value: u8, width: u64, height: u64, stream: u64) per_thread |driver| {
        fill_rows(driver, (address, pitch), (value.into(), 1), [width, height], stream, false)
    }
    fn cuMemsetD2D16Async(address: u64, pitch: u64, value: u16, width: u64, height: u64, stream: u64) per_thread |driver| {
        fill_rows(driver, (address, pitch), (value.into(), 2), [width, height], stream, false)
    }
    fn cuMemsetD2D32Async(address: u64, pitch: u64, value: u32, width: u64, height: u64, stream: u64) per_thread |driver| {
        fill_rows(driver, (address, pitch), (value, 4), [width, height], stream, false)
    }
}

/// Frees memory of a kind after the work of its device has ended, which may use it.
fn free(address: u64, is_kind: impl Fn(Place) -> bool) -> Result<()> {
    if address == 0 {
        return Ok(());
    }
    let device = with(|driver| {
        driver.platform.context_here()?;
        driver.streams.check_capture()?;
        driver.memory.owner_of(address, is_kind)
    })?;
    finish(Wait::Device(device))?;
    with(|driver| {
        driver.memory.release(&mut driver.platform, address);
        Ok(())
    })
}

unlocked! {
    fn cuMemFree_v2(address: u64) { free(address, |place| matches!(place, Place::Device | Place::Managed)) }

    fn cuMemFreeHost(address: u64) { free(address, |place| place == Place::Host) }

    fn cuMemHostUnregister(address: u64) {
        let device = with(|driver| {
            driver.platform.context_here()?;
            driver.streams.check_capture()?;
            driver.memory.registration(address).map(|(_, registration)| registration.device)
        })?;
        finish(Wait::Device(device))?;
        with(|driver| driver.memory.host_unregister(&mut driver.platform, address))
    }
}
