//! Contexts.

use crate::api;
use crate::call::{finish, guarded, put, put_if, with};
use driver::{Driver, Error, Result, Wait};

api! {
    fn cuDevicePrimaryCtxRetain(context: u64, device: i32) |driver| {
        let handle = driver.primary_retain(device)?;
        put(driver, context, handle)
    }

    fn cuDevicePrimaryCtxSetFlags_v2(device: i32, flags: u32) = cuDevicePrimaryCtxSetFlags |driver| {
        driver.primary_set_flags(device, flags)
    }

    fn cuDevicePrimaryCtxGetState(device: i32, flags: u64, active: u64) |driver| {
        let (set, is_active) = driver.primary_state(device)?;
        put_if(driver, flags, set)?;
        put_if(driver, active, i32::from(is_active))
    }

    fn cuCtxCreate_v2(context: u64, flags: u32, device: i32) = cuCtxCreate |driver| {
        if context == 0 {
            return Err(Error::INVALID_VALUE);
        }
        let handle = driver.context_create(device, flags)?;
        put(driver, context, handle)
    }

    fn cuCtxCreate_v3(context: u64, _affinities: u64, count: i32, flags: u32, device: i32) |driver| {
        if context == 0 || count != 0 {
            return Err(if context == 0 { Error::INVALID_VALUE } else { Error::UNSUPPORTED_EXEC_AFFINITY });
        }
        let handle = driver.context_create(device, flags)?;
        put(driver, context, handle)
    }

    fn cuCtxCreate_v4(context: u64, parameters: u64, flags: u32, device: i32) |driver| {
        if context == 0 || parameters != 0 {
            return Err(if context == 0 { Error::INVALID_VALUE } else { Error::NOT_SUPPORTED });
        }
        let handle = driver.context_create(device, flags)?;
        put(driver, context, handle)
    }

    fn cuCtxGetCurrent(context: u64) |driver| {
        driver.check_initialised()?;
        put(driver, context, driver.current())
    }

    fn cuCtxSetCurrent(context: u64) |driver| { driver.set_current(context) }

    fn cuCtxPushCurrent_v2(context: u64) = cuCtxPushCurrent |driver| { driver.push_current(context) }

    fn cuCtxPopCurrent_v2(context: u64) = cuCtxPopCurrent |driver| {
        let handle = driver.pop_current()?;
        put_if(driver, context, handle)
    }

    fn cuCtxGetDevice(device: u64) |driver| {
        let index = driver.device_here()?;
        put(driver, device, index as i32)
    }

    fn cuCtxGetFlags(flags: u64) |driver| {
        let set = driver.context_here()?.1.flags;
        put(driver, flags, set)
    }

    fn cuCtxSetFlags(flags: u32) |driver| {
        driver.context_here()?.1.flags = flags;
        Ok(())
    }

    fn cuCtxGetId(context: u64, id: u64) |driver| {
        let handle = if context == 0 { driver.context_here()?.0 } else { context };
        driver.context(handle)?;
        put(driver, id, handle & 0xff_ffff_ffff)
    }

    fn cuCtxGetApiVersion(context: u64, version: u64) |driver| {
        if context != 0 {
            driver.context(context)?;
        }
        put(driver, version, 3020)
    }

    fn cuCtxSynchronize() |driver| {
        let device = driver.device_here()?;
        driver.refuse_captures_on(device)?;
        Ok(Wait::Device(device))
    }

    fn cuCtxGetCacheConfig(config: u64) |driver| {
        let set = driver.context_here()?.1.cache_config;
        put(driver, config, set)
    }

    fn cuCtxSetCacheConfig(config: u32) |driver| {
        driver.context_here()?.1.cache_config = config;
        Ok(())
    }

    fn cuCtxGetSharedMemConfig(config: u64) |driver| {
        let set = driver.context_here()?.1.shared_config;
        put(driver, config, set)
    }

    fn cuCtxSetSharedMemConfig(config: u32) |driver| {
        driver.context_here()?.1.shared_config = config;
        Ok(())
    }

    fn cuCtxGetStreamPriorityRange(least: u64, greatest: u64) |driver| {
        driver.context_here()?;
        let (high, low) = driver::stream::PRIORITIES;
        put_if(driver, least, low)?;
        put_if(driver, greatest, high)
    }

    fn cuCtxGetLimit(value: u64, limit: u32) |driver| {
        let set = driver.limit(limit)?;
        put(driver, value, set)
    }

    fn cuCtxSetLimit(limit: u32, value: u64) |driver| { driver.set_limit(limit, value) }

    fn cuCtxResetPersistingL2Cache() |driver| { driver.context_here().map(|_| ()) }
}

/// Ends a context after the work of its device has ended, which uses what the context has.
fn end(
    name: &'static str,
    device: impl FnOnce(&Driver) -> Result<usize>,
    end: fn(&mut Driver, u64) -> Result<()>,
    what: u64,
) -> u32 {
    guarded(name, || {
        let device = with(|driver| device(driver))?;
        // A fault does not keep the context from being destroyed.
        let _ = finish(Wait::Device(device));
        with(|driver| end(driver, what))
    })
}

/// Functions that end contexts, each with a second name.
macro_rules! ends {
    ($($name:ident $alias:ident ($what:ident: $ty:ty) $device:expr, $end:expr;)*) => {$(
        #[allow(unsafe_code, reason = "the name is part of CUDA's API")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($what: $ty) -> u32 {
            end(stringify!($name), |driver| ($device)(driver, $what), $end, $what as u64)
        }
        #[allow(unsafe_code, reason = "the name is part of CUDA's API")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $alias($what: $ty) -> u32 {
            $name($what)
        }
    )*};
}

ends! {
    cuCtxDestroy_v2 cuCtxDestroy (context: u64)
        |driver: &Driver, context| driver.context(context).map(|context| context.device),
        |driver, context| driver.context_destroy(context);
    cuDevicePrimaryCtxReset_v2 cuDevicePrimaryCtxReset (device: i32)
        |driver: &Driver, device: i32| driver.device(device).map(|_| device as usize),
        |driver, device| driver.primary_reset(device as i32);
    cuDevicePrimaryCtxRelease_v2 cuDevicePrimaryCtxRelease (device: i32)
        |driver: &Driver, device: i32| driver.device(device).map(|_| device as usize),
        |driver, device| driver.primary_release(device as i32);
}
