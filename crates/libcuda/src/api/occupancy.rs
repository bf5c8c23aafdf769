//! The block size at which a kernel occupies the most of an SM.

use crate::call::with;
use crate::process::call_size;
use crate::unlocked;
use crate::values::put;
use cuda::{Error, Result};

const WARP: u32 = 32;

/// Tries block sizes from the largest, as CUDA's public occupancy calculator does. Gives CTAs and threads.
fn best(function: u64, limit: i32, shared: &dyn Fn(u32) -> u64) -> Result<(u32, u32)> {
    let (most, per_sm, sms) = with(|driver| {
        driver.platform.context_here()?;
        let most = driver.modules.function_attribute(&driver.platform, function, 0)? as u32;
        let gpu = &driver.platform.devices[driver.modules.function_of(function)?.device].setup.gpu;
        Ok((most, gpu.sm.max_threads(), gpu.sm_count))
    })?;
    let limit = if limit <= 0 { most } else { most.min(limit as u32) };
    let (mut ctas, mut threads, mut occupied) = (0, 0, 0);
    let mut next = limit.next_multiple_of(WARP);
    while next > 0 && occupied < per_sm {
        let tried = next.min(limit);
        // The program's function is called without the lock.
        let bytes = u32::try_from(shared(tried)).map_err(|_| Error::INVALID_VALUE)?;
        let fit = with(|driver| driver.modules.occupancy(&driver.platform, function, tried, bytes))?;
        if fit * tried > occupied {
            (ctas, threads, occupied) = (fit, tried, fit * tried);
        }
        next -= WARP;
    }
    Ok((ctas * sms, threads))
}

unlocked! {
    fn cuOccupancyMaxPotentialBlockSize(
        grid: u64, block: u64, function: u64, shared_of: u64, shared: u64, limit: i32,
    ) {
        potential((grid, block), function, (shared_of, shared), limit)
    }

    fn cuOccupancyMaxPotentialBlockSizeWithFlags(
        grid: u64, block: u64, function: u64, shared_of: u64, shared: u64, limit: i32, flags: u32,
    ) {
        if flags > 1 {
            return Err(Error::INVALID_VALUE);
        }
        potential((grid, block), function, (shared_of, shared), limit)
    }
}

fn potential((grid, block): (u64, u64), function: u64, (shared_of, shared): (u64, u64), limit: i32) -> Result<()> {
    let (ctas, threads) =
        best(function, limit, &|block| if shared_of == 0 { shared } else { call_size(shared_of, block as i32) })?;
    with(|driver| {
        put(driver, grid, ctas as i32)?;
        put(driver, block, threads as i32)
    })
}
