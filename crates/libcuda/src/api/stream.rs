//! Streams and their attributes, events, calls of host functions.

use crate::api;
use crate::call::with;
use crate::unlocked;
use crate::values::{get_bytes, put, put_bytes, put_if, put_new};
use crate::wait::finish;
use cuda::work::Call;
use cuda::{Driver, Error, Result};

/// Writes the context of a stream; a default stream's is the current one.
fn put_context(driver: &mut Driver, to: u64, stream: u64) -> Result<()> {
    let here = driver.platform.context_here()?.0;
    let of = driver.streams.get(stream).map_or(here, |stream| stream.context);
    put(driver, to, of)
}

/// Whether flags ask for a node of its own in a capture (`CU_EVENT_RECORD_EXTERNAL`, `CU_EVENT_WAIT_EXTERNAL`).
fn external(flags: u32) -> Result<bool> {
    if flags <= 1 { Ok(flags == 1) } else { Err(Error::INVALID_VALUE) }
}

/// Size of an attribute of streams: access window, synchronisation, priority, domains of synchronisation.
fn attribute_bytes(attribute: u32) -> Result<usize> {
    match attribute {
        1 => Ok(32),
        3 | 8 | 10 => Ok(4),
        9 => Ok(2),
        _ => Err(Error::INVALID_VALUE),
    }
}

api! {
    fn cuStreamCreate(stream: u64, flags: u32) |driver| {
        put_new(driver, stream, |driver| driver.streams.create(&driver.platform, flags, 0))
    }

    fn cuStreamCreateWithPriority(stream: u64, flags: u32, priority: i32) |driver| {
        put_new(driver, stream, |driver| driver.streams.create(&driver.platform, flags, priority))
    }

    fn cuStreamDestroy_v2(stream: u64) = cuStreamDestroy |driver| { driver.streams.destroy(&driver.platform, stream) }

    fn cuStreamSynchronize(stream: u64) per_thread |driver| { driver.streams.wait(&mut driver.platform, stream, false) }

    fn cuStreamGetPriority(stream: u64, priority: u64) per_thread |driver| {
        let (_, value, _) = driver.streams.facts(stream)?;
        put(driver, priority, value)
    }

    fn cuStreamGetFlags(stream: u64, flags: u64) per_thread |driver| {
        let (value, _, _) = driver.streams.facts(stream)?;
        put(driver, flags, value)
    }

    fn cuStreamGetId(stream: u64, id: u64) per_thread |driver| {
        let (_, _, value) = driver.streams.facts(stream)?;
        put(driver, id, value)
    }

    fn cuStreamGetDevice(stream: u64, device: u64) per_thread |driver| {
        let index = driver.streams.device_of(&driver.platform, stream)?;
        put(driver, device, index as i32)
    }

    fn cuStreamGetCtx(stream: u64, context: u64) per_thread |driver| {
        put_context(driver, context, stream)
    }

    // No stream has a green context.
    fn cuStreamGetCtx_v2(stream: u64, context: u64, green: u64) per_thread |driver| {
        put_if(driver, green, 0_u64)?;
        put_context(driver, context, stream)
    }

    fn cuStreamWaitEvent(stream: u64, event: u64, flags: u32) per_thread |driver| {
        driver.stream_wait_event(stream, event, external(flags)?)
    }

    fn cuLaunchHostFunc(stream: u64, function: u64, argument: u64) per_thread |driver| {
        driver.call_host(stream, Call { function, argument, stream: None })
    }

    // The manner of the wait is the library's own.
    fn cuLaunchHostFunc_v2(stream: u64, function: u64, argument: u64, _manner: u32) per_thread |driver| {
        driver.call_host(stream, Call { function, argument, stream: None })
    }

    fn cuStreamAddCallback(stream: u64, function: u64, argument: u64, flags: u32) per_thread |driver| {
        if flags != 0 {
            return Err(Error::INVALID_VALUE);
        }
        driver.call_host(stream, Call { function, argument, stream: Some(stream) })
    }

    fn cuStreamAttachMemAsync(stream: u64, address: u64, _bytes: u64, flags: u32) per_thread |driver| {
        driver.streams.device_of(&driver.platform, stream)?;
        if !matches!(flags, 1 | 2 | 4) || driver.memory.find(address).is_none() {
            return Err(Error::INVALID_VALUE);
        }
        Ok(())
    }
    fn cuStreamCopyAttributes(to: u64, from: u64) per_thread |driver| { driver.streams.copy_attributes(to, from) }
    fn cuStreamSetAttribute(stream: u64, attribute: u32, value: u64) per_thread |driver| {
        let bytes = get_bytes(driver, value, attribute_bytes(attribute)?)?;
        driver.streams.set_attribute(stream, attribute, bytes)
    }
    fn cuStreamGetAttribute(stream: u64, attribute: u32, value: u64) per_thread |driver| {
        let set = driver.streams.attribute(stream, attribute, attribute_bytes(attribute)?)?;
        put_bytes(driver, value, &set)
    }

    fn cuEventCreate(event: u64, flags: u32) |driver| {
        put_new(driver, event, |driver| driver.streams.event_create(&driver.platform, flags))
    }

    fn cuEventDestroy_v2(event: u64) = cuEventDestroy |driver| { driver.streams.event_destroy(event) }

    fn cuEventRecord(event: u64, stream: u64) per_thread |driver| { driver.event_record(event, stream, false) }

    fn cuEventRecordWithFlags(event: u64, stream: u64, flags: u32) per_thread |driver| {
        driver.event_record(event, stream, external(flags)?)
    }

    fn cuEventSynchronize(event: u64) |driver| {
        driver.platform.context_here()?;
        driver.streams.event_wait(event, false)
    }

    fn cuEventElapsedTime(milliseconds: u64, start: u64, end: u64) = cuEventElapsedTime_v2 |driver| {
        driver.platform.context_here()?;
        let time = driver.streams.event_elapsed(&driver.platform, start, end)?;
        put_if(driver, milliseconds, time)
    }
}

unlocked! {
    fn cuStreamQuery(stream: u64) per_thread {
        finish(with(|driver| driver.streams.wait(&mut driver.platform, stream, true))?)?;
        let idle = with(|driver| driver.streams.is_idle(&driver.platform, stream))?;
        if idle { Ok(()) } else { Err(Error::NOT_READY) }
    }

    fn cuEventQuery(event: u64) {
        let wait = with(|driver| {
            driver.platform.context_here()?;
            driver.streams.event_wait(event, true)
        })?;
        finish(wait)?;
        let happened = with(|driver| driver.streams.event_happened(&driver.platform, event))?;
        if happened { Ok(()) } else { Err(Error::NOT_READY) }
    }
}
