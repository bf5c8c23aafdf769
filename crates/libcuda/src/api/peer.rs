//! Buses, peers, old queries of devices, and what is accepted without effect.

use crate::api;
use crate::call::devices;
use crate::process::Process;
use crate::unlocked;
use crate::values::{get_text, get_u64, put, put_if, put_new, put_text};
use cuda::memory::{Place, Place3d, Said};
use cuda::{Driver, Error, Result, Wait};

/// The place of a device on its bus.
fn bus_id(device: i32) -> String {
    format!("0000:{:02x}:00.0", device + 1)
}

/// Both contexts of a copy; addresses say which device they are of.
fn check_contexts(driver: &Driver, a: u64, b: u64) -> Result<()> {
    driver.platform.context(a)?;
    driver.platform.context(b).map(|_| ())
}

fn copy(driver: &mut Driver, to: u64, from: u64, bytes: u64, stream: u64, wait: bool) -> Result<Wait> {
    let place = |address| Place3d::line(Said::Nothing, address, bytes);
    driver.copy(place(to), place(from), [bytes, 1, 1], stream, wait)
}

/// Copies that follow each other.
fn copy_batch(driver: &mut Driver, to: u64, from: u64, sizes: u64, count: u64, stream: u64) -> Result<Wait> {
    let mut wait = Wait::Nothing;
    for i in 0..count {
        let at = |list: u64| get_u64(driver, list.wrapping_add(8 * i));
        let (to, from, bytes) = (at(to)?, at(from)?, at(sizes)?);
        match copy(driver, to, from, bytes, stream, false)? {
            Wait::Nothing => {}
            last => wait = last,
        }
    }
    if count == 0 { Err(Error::INVALID_VALUE) } else { Ok(wait) }
}

/// The device of a context; 0 is the current one.
fn device_of(driver: &Driver, context: u64) -> Result<usize> {
    if context == 0 { driver.platform.device_here() } else { Ok(driver.platform.context(context)?.device) }
}

/// An amount of memory for programs that have 32 bits for it.
fn in_32_bits(bytes: u64) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// Attributes in the order of a `CUdevprop`.
const PROPERTIES: [i32; 14] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14];

unlocked! {
    fn cuDeviceGetPCIBusId(text: u64, room: i32, device: i32) {
        devices()?.gpu(device)?;
        put_text(&Process, text, usize::try_from(room).unwrap_or(0), &bus_id(device))
    }

    fn cuDeviceGetByPCIBusId(device: u64, text: u64) {
        let text = get_text(&Process, text)?.to_lowercase();
        // With or without domain and function.
        let is_it = |known: &str| [known, &known[5..], &known[..10], &known[5..10]].contains(&&*text);
        let found = (0..devices()?.count()).find(|&device| is_it(&bus_id(device))).ok_or(Error::INVALID_VALUE)?;
        put(&Process, device, found)
    }

    // Numbers of adapters of Windows.
    fn cuDeviceGetLuid(_luid: u64, _mask: u64, device: i32) {
        devices()?.gpu(device)?;
        Err(Error::NOT_SUPPORTED)
    }

    fn cuDeviceGetP2PAttribute(value: u64, attribute: i32, a: i32, b: i32) {
        let devices = devices()?;
        devices.gpu(a)?;
        devices.gpu(b)?;
        match attribute {
            _ if a == b => Err(Error::INVALID_DEVICE),
            1..=5 => put(&Process, value, 0),
            _ => Err(Error::INVALID_VALUE),
        }
    }

    fn cuDeviceCanAccessPeer(can: u64, device: i32, peer: i32) {
        let devices = devices()?;
        devices.gpu(device)?;
        devices.gpu(peer)?;
        put(&Process, can, 0)
    }

    fn cuDeviceGetProperties(properties: u64, device: i32) {
        let devices = devices()?;
        for (i, attribute) in (0..).zip(PROPERTIES) {
            put(&Process, properties.wrapping_add(4 * i), devices.attribute(device, attribute)?)?;
        }
        Ok(())
    }

    fn cuDeviceGetTexture1DLinearMaxWidth(width: u64, format: u32, channels: u32, device: i32) {
        devices()?.gpu(device)?;
        cuda::image::channel_of(format)?;
        if !matches!(channels, 1 | 2 | 4) {
            return Err(Error::INVALID_VALUE);
        }
        put(&Process, width, cuda::image::MOST_LINEAR)
    }

    fn cuDeviceGetExecAffinitySupport(supported: u64, kind: u32, device: i32) {
        devices()?.gpu(device)?;
        if kind == 0 { put(&Process, supported, 0) } else { Err(Error::INVALID_VALUE) }
    }

    fn cuDeviceTotalMem(bytes: u64, device: i32) {
        put(&Process, bytes, in_32_bits(devices()?.memory_bytes(device)?))
    }
}

api! {
    fn cuCtxEnablePeerAccess(context: u64, flags: u32) |driver| {
        let (here, _) = driver.platform.context_here()?;
        driver.platform.context(context)?;
        match (flags, context == here) {
            (0, false) => Err::<(), _>(Error::PEER_ACCESS_UNSUPPORTED),
            (0, true) => Err(Error::INVALID_CONTEXT),
            _ => Err(Error::INVALID_VALUE),
        }
    }

    fn cuCtxDisablePeerAccess(context: u64) |driver| {
        driver.platform.context_here()?;
        driver.platform.context(context)?;
        Err::<(), _>(Error::PEER_ACCESS_NOT_ENABLED)
    }

    fn cuMemcpyPeer(to: u64, to_context: u64, from: u64, from_context: u64, bytes: u64) per_thread_sync |driver| {
        check_contexts(driver, to_context, from_context)?;
        copy(driver, to, from, bytes, 0, true)
    }

    fn cuMemcpyPeerAsync(
        to: u64, to_context: u64, from: u64, from_context: u64, bytes: u64, stream: u64,
    ) per_thread |driver| {
        check_contexts(driver, to_context, from_context)?;
        copy(driver, to, from, bytes, stream, false)
    }

    // Attributes of copies say when sources may be read and where hints point to: the order of the stream serves all.
    fn cuMemcpyBatchAsync(
        to: u64, from: u64, sizes: u64, count: u64, _attributes: u64, _indices: u64, _number: u64, failed: u64,
        stream: u64,
    ) per_thread |driver| {
        put_if(driver, failed, u64::MAX)?;
        copy_batch(driver, to, from, sizes, count, stream)
    }

    fn cuMemcpyBatchAsync_v2(
        to: u64, from: u64, sizes: u64, count: u64, _attributes: u64, _indices: u64, _number: u64, stream: u64,
    ) per_thread |driver| {
        copy_batch(driver, to, from, sizes, count, stream)
    }

    fn cuMemcpyWithAttributesAsync(to: u64, from: u64, bytes: u64, _attributes: u64, stream: u64) per_thread |driver| {
        copy(driver, to, from, bytes, stream, false)
    }

    fn cuCtxGetExecAffinity(_affinity: u64, _kind: u32) |driver| {
        driver.platform.context_here()?;
        Err::<(), _>(Error::UNSUPPORTED_EXEC_AFFINITY)
    }

    fn cuMemGetInfo(free: u64, total: u64) |driver| {
        let (is_free, all) = driver.memory.info(&driver.platform)?;
        put_if(driver, free, in_32_bits(is_free))?;
        put_if(driver, total, in_32_bits(all))
    }

    fn cuMemAllocHost(pointer: u64, bytes: u32) |driver| {
        put_new(driver, pointer, |driver| driver.mem_alloc_shared(bytes.into(), Place::Host, 0))
    }

    fn cuCtxGetDevice_v2(device: u64, context: u64) |driver| {
        let index = device_of(driver, context)?;
        put(driver, device, index as i32)
    }

    fn cuCtxSynchronize_v2(context: u64) |driver| {
        let device = device_of(driver, context)?;
        driver.streams.refuse_captures_on(device)?;
        Ok(Wait::Device(device))
    }

    // Profiling is what the simulator does.
    fn cuProfilerInitialize(_configuration: u64, _output: u64, _mode: u32) |driver| {
        driver.platform.check_initialised()
    }
    fn cuProfilerStart() |driver| { driver.platform.context_here().map(|_| ()) }
    fn cuProfilerStop() |driver| { driver.platform.context_here().map(|_| ()) }

    // There are no messages but those on standard error.
    fn cuLogsRegisterCallback(function: u64, _argument: u64, handle: u64) |driver| {
        if function == 0 {
            return Err(Error::INVALID_VALUE);
        }
        put_if(driver, handle, 1_u64)
    }
    fn cuLogsUnregisterCallback(_handle: u64) |_driver| { Ok(()) }
    fn cuLogsCurrent(iterator: u64, flags: u32) |driver| {
        if flags == 0 { put(driver, iterator, 0_u32) } else { Err(Error::INVALID_VALUE) }
    }
    fn cuLogsDumpToMemory(_iterator: u64, text: u64, bytes: u64, flags: u32) |driver| {
        let room = get_u64(driver, bytes)?;
        if flags != 0 {
            return Err(Error::INVALID_VALUE);
        }
        put_text(driver, text, room as usize, "")?;
        put(driver, bytes, 0_u64)
    }
}
