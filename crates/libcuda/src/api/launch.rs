//! Launches and occupancy.

use crate::call::launching;
use crate::values::{Fields, get, get_u32, get_u64, put, put_if};
use crate::{api, unlocked};
use cuda::module::{Arguments, Request};
use cuda::{Driver, Error, Result};

/// Kinds of entries of a list of further arguments (`CU_LAUNCH_PARAM_*`).
const END: u64 = 0;
const POINTER: u64 = 1;
const SIZE: u64 = 2;

/// Where the arguments of a launch are.
pub fn arguments(driver: &Driver, each: u64, extra: u64) -> Result<Arguments> {
    match (each, extra) {
        (0, 0) => Ok(Arguments::None),
        (_, 0) => Ok(Arguments::Each(each)),
        (0, _) => {
            let (mut start, mut bytes) = (0, 0);
            // No list has more than a few entries.
            for entry in 0..16 {
                let value = |driver| get_u64(driver, extra + 16 * entry + 8);
                match get_u64(driver, extra + 16 * entry)? {
                    END => return Ok(Arguments::Packed(start, bytes)),
                    POINTER => start = value(driver)?,
                    SIZE => bytes = get_u64(driver, value(driver)?)?,
                    _ => break,
                }
            }
            Err(Error::INVALID_VALUE)
        }
        _ => Err(Error::INVALID_VALUE),
    }
}

/// Cooperative launches among the attributes of `CUlaunchConfig`.
const ATTRIBUTE_COOPERATIVE: u32 = 2;
/// The shape of clusters. Of the others, none has an effect: the launches of a stream always follow each other, as
/// programmatic serialisation permits, and there is one way to place clusters.
const ATTRIBUTE_CLUSTER: u32 = 4;
/// Bytes of a launch attribute: kind, padding, value of 64 bytes.
const ATTRIBUTE_BYTES: u64 = 72;

/// Grid, block and shared bytes of a launch: seven numbers of 32 bits.
pub fn shape(driver: &Driver, at: u64) -> Result<([u32; 3], [u32; 3], u32)> {
    let fields = Fields(get::<28>(driver, at)?);
    Ok(([0, 4, 8].map(|at| fields.u32(at)), [12, 16, 20].map(|at| fields.u32(at)), fields.u32(24)))
}

/// Launches as a `CUlaunchConfig` says: [`shape`], stream, attributes, their number.
pub fn launch_ex(driver: &mut Driver, config: u64, function: u64, each: u64, extra: u64) -> Result<()> {
    let (grid, block, shared_bytes) = shape(driver, config)?;
    let stream = get_u64(driver, config + 32)?;
    let (cooperative, cluster) = attributes(driver, config)?;
    let arguments = arguments(driver, each, extra)?;
    driver.launch(&Request { function, grid, block, shared_bytes, stream, arguments, cooperative, cluster })
}

/// The attributes of a `CUlaunchConfig`: whether the launch is cooperative, and the shape of its clusters.
fn attributes(driver: &Driver, config: u64) -> Result<(bool, Option<[u32; 3]>)> {
    let (list, count) = (get_u64(driver, config + 40)?, u64::from(get_u32(driver, config + 48)?));
    let (mut cooperative, mut cluster) = (false, None);
    for i in 0..count {
        let attribute = list.wrapping_add(i * ATTRIBUTE_BYTES);
        match get_u32(driver, attribute)? {
            ATTRIBUTE_COOPERATIVE => cooperative = get_u32(driver, attribute + 8)? != 0,
            ATTRIBUTE_CLUSTER => {
                let fields = Fields(get::<12>(driver, attribute + 8)?);
                cluster = Some([0, 4, 8].map(|at| fields.u32(at)));
            }
            _ => {}
        }
    }
    Ok((cooperative, cluster))
}

fn put_occupancy(driver: &Driver, to: u64, function: u64, threads: i32, shared: u64) -> Result<()> {
    let threads = u32::try_from(threads).map_err(|_| Error::INVALID_VALUE)?;
    // As much shared memory as no number of 32 bits has does not fit either.
    let ctas =
        driver.modules.occupancy(&driver.platform, function, threads, u32::try_from(shared).unwrap_or(u32::MAX))?;
    put(driver, to, ctas as i32)
}

unlocked! {
    fn cuLaunchKernel(
        function: u64, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32,
        shared_bytes: u32, stream: u64, each: u64, extra: u64,
    ) per_thread {
        launching(|driver| {
            driver.platform.context_here()?;
            let arguments = arguments(driver, each, extra)?;
            let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
            driver.launch(&Request { function, grid, block, shared_bytes, stream, arguments, cooperative: false, cluster: None })
        })
    }

    fn cuLaunchCooperativeKernel(
        function: u64, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32,
        shared_bytes: u32, stream: u64, each: u64,
    ) per_thread {
        launching(|driver| {
            driver.platform.context_here()?;
            let arguments = arguments(driver, each, 0)?;
            let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
            driver.launch(&Request { function, grid, block, shared_bytes, stream, arguments, cooperative: true, cluster: None })
        })
    }

    fn cuLaunchKernelEx(config: u64, function: u64, each: u64, extra: u64) per_thread {
        launching(|driver| {
            driver.platform.context_here()?;
            launch_ex(driver, config, function, each, extra)
        })
    }
}

api! {
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks: u64, function: u64, threads: i32, shared: u64) |driver| {
        put_occupancy(driver, blocks, function, threads, shared)
    }

    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks: u64, function: u64, threads: i32, shared: u64, flags: u32,
    ) |driver| {
        if flags > 1 {
            return Err(Error::INVALID_VALUE);
        }
        put_occupancy(driver, blocks, function, threads, shared)
    }

    fn cuOccupancyMaxActiveClusters(clusters: u64, function: u64, config: u64) |driver| {
        let (_, block, shared_bytes) = shape(driver, config)?;
        let (_, cluster) = attributes(driver, config)?;
        let most = driver.modules.active_clusters(&driver.platform, function, (cluster, block, shared_bytes))?;
        put(driver, clusters, most as i32)
    }

    fn cuOccupancyMaxPotentialClusterSize(ctas: u64, function: u64, config: u64) |driver| {
        let (_, block, shared_bytes) = shape(driver, config)?;
        let most = driver.modules.largest_cluster(&driver.platform, function, (block, shared_bytes))?;
        put(driver, ctas, most as i32)
    }

    fn cuOccupancyAvailableDynamicSMemPerBlock(bytes: u64, function: u64, blocks: i32, threads: i32) |driver| {
        let (blocks, threads) = (u32::try_from(blocks).unwrap_or(0), u32::try_from(threads).unwrap_or(0));
        let available = driver.modules.available_shared(&driver.platform, function, blocks, threads)?;
        put_if(driver, bytes, u64::from(available))
    }
}
