//! Contexts.

use crate::api;
use crate::call::{devices, with};
use crate::process::Process;
use crate::unlocked;
use crate::values::{put, put_if, put_new};
use crate::wait::finish;
use cuda::platform::{current, pop_current};
use cuda::{Driver, Error, Result, Wait};

api! {
    fn cuDevicePrimaryCtxRetain(context: u64, device: i32) |driver| {
        let handle = driver.platform.primary_retain(device)?;
        put(driver, context, handle)
    }

    fn cuDevicePrimaryCtxSetFlags_v2(device: i32, flags: u32) = cuDevicePrimaryCtxSetFlags |driver| {
        driver.platform.primary_set_flags(device, flags)
    }

    fn cuDevicePrimaryCtxGetState(device: i32, flags: u64, active: u64) |driver| {
        let (set, is_active) = driver.platform.primary_state(device)?;
        put_if(driver, flags, set)?;
        put_if(driver, active, i32::from(is_active))
    }

    fn cuCtxCreate_v2(context: u64, flags: u32, device: i32) = cuCtxCreate |driver| {
        put_new(driver, context, |driver| driver.platform.context_create(device, flags))
    }

    fn cuCtxCreate_v3(context: u64, _affinities: u64, count: i32, flags: u32, device: i32) |driver| {
        put_new(driver, context, |driver| match count {
            0 => driver.platform.context_create(device, flags),
            _ => Err(Error::UNSUPPORTED_EXEC_AFFINITY),
        })
    }

    fn cuCtxCreate_v4(context: u64, parameters: u64, flags: u32, device: i32) |driver| {
        put_new(driver, context, |driver| match parameters {
            0 => driver.platform.context_create(device, flags),
            _ => Err(Error::NOT_SUPPORTED),
        })
    }

    // A context counts its uses beside its creation.
    fn cuCtxAttach(context: u64, flags: u32) |driver| {
        if flags != 0 || context == 0 {
            return Err(Error::INVALID_VALUE);
        }
        let (handle, here) = driver.platform.context_here_mut()?;
        here.attached += 1;
        put(driver, context, handle)
    }

    fn cuCtxSetCurrent(context: u64) |driver| { driver.platform.set_current(context) }

    fn cuCtxPushCurrent_v2(context: u64) = cuCtxPushCurrent |driver| { driver.platform.push_current(context) }

    fn cuCtxGetDevice(device: u64) |driver| {
        let index = driver.platform.device_here()?;
        put(driver, device, index as i32)
    }

    fn cuCtxGetFlags(flags: u64) |driver| {
        let set = driver.platform.context_here()?.1.flags;
        put(driver, flags, set)
    }

    fn cuCtxSetFlags(flags: u32) |driver| {
        driver.platform.context_here_mut()?.1.flags = flags;
        Ok(())
    }

    fn cuCtxGetId(context: u64, id: u64) |driver| {
        let handle = if context == 0 { driver.platform.context_here()?.0 } else { context };
        driver.platform.context(handle)?;
        put(driver, id, handle & 0xff_ffff_ffff)
    }

    fn cuCtxGetApiVersion(context: u64, version: u64) |driver| {
        if context != 0 {
            driver.platform.context(context)?;
        }
        put(driver, version, 3020)
    }

    fn cuCtxSynchronize() |driver| {
        let device = driver.platform.device_here()?;
        driver.streams.refuse_captures_on(device)?;
        Ok(Wait::Device(device))
    }

    fn cuCtxGetCacheConfig(config: u64) |driver| {
        let set = driver.platform.context_here()?.1.cache_config;
        put(driver, config, set)
    }

    fn cuCtxSetCacheConfig(config: u32) |driver| {
        driver.platform.context_here_mut()?.1.cache_config = config;
        Ok(())
    }

    fn cuCtxGetSharedMemConfig(config: u64) |driver| {
        let set = driver.platform.context_here()?.1.shared_config;
        put(driver, config, set)
    }

    fn cuCtxSetSharedMemConfig(config: u32) |driver| {
        driver.platform.context_here_mut()?.1.shared_config = config;
        Ok(())
    }

    fn cuCtxGetStreamPriorityRange(least: u64, greatest: u64) |driver| {
        driver.platform.context_here()?;
        let (high, low) = cuda::stream::PRIORITIES;
        put_if(driver, least, low)?;
        put_if(driver, greatest, high)
    }

    fn cuCtxGetLimit(value: u64, limit: u32) |driver| {
        let set = driver.platform.limit(limit)?;
        put(driver, value, set)
    }

    fn cuCtxSetLimit(limit: u32, value: u64) |driver| { driver.platform.set_limit(limit, value) }

    fn cuCtxResetPersistingL2Cache() |driver| { driver.platform.context_here().map(|_| ()) }
}

/// Ends a context after the work of its device has ended, which uses what the context has.
fn end(device: impl FnOnce(&Driver) -> Result<usize>, end: impl FnOnce(&mut Driver) -> Result<()>) -> Result<()> {
    let device = with(|driver| device(driver))?;
    // A fault does not keep the context from being destroyed.
    let _ = finish(Wait::Device(device));
    with(end)
}

fn destroy(context: u64) -> Result<()> {
    end(
        |driver| driver.platform.context(context).map(|context| context.device),
        |driver| driver.context_destroy(context),
    )
}

unlocked! {
    fn cuCtxGetCurrent(context: u64) {
        devices()?;
        put(&Process, context, current().unwrap_or(0))
    }
    fn cuCtxPopCurrent_v2(context: u64) = cuCtxPopCurrent {
        devices()?;
        put_if(&Process, context, pop_current()?)
    }
    fn cuCtxDestroy_v2(context: u64) = cuCtxDestroy {
        destroy(context)
    }
    fn cuCtxDetach(context: u64) {
        let is_last = with(|driver| {
            let (handle, here) = driver.platform.context_here_mut()?;
            if handle != context {
                return Err(Error::INVALID_CONTEXT);
            }
            let is_last = here.attached == 0;
            here.attached -= u32::from(!is_last);
            Ok(is_last)
        })?;
        if is_last { destroy(context) } else { Ok(()) }
    }
    fn cuDevicePrimaryCtxReset_v2(device: i32) = cuDevicePrimaryCtxReset {
        end(|driver| driver.platform.index_of(device), |driver| driver.primary_reset(device))
    }
    fn cuDevicePrimaryCtxRelease_v2(device: i32) = cuDevicePrimaryCtxRelease {
        end(|driver| driver.platform.index_of(device), |driver| driver.primary_release(device))
    }
}
