//! Kernels: their attributes and occupancy.

use std::ffi::{c_int, c_uint};

use crate::address::{Address, In, Out};
use crate::address::{Handle, write_bytes};
use crate::api::api;
use crate::driver::{Driver, at, driver, into, out};
use crate::error::{Error, Result};
use crate::launch::{Config, function_of};

/// `cudaFuncAttributes` as far as all versions have it.
#[repr(C)]
struct Attributes {
    shared_bytes: usize,
    constant_bytes: usize,
    local_bytes: usize,
    threads: c_int,
    registers: c_int,
    ptx_version: c_int,
    binary_version: c_int,
    cache_mode: c_int,
    dynamic_shared_bytes: c_int,
    shared_carveout: c_int,
    /// Those of clusters, from version 12 on, with a reserve.
    cluster: [c_int; 6],
    reserved: [c_int; 16],
}

const _: () = assert!(size_of::<Attributes>() == 144);

/// Bytes of the fields in version 11.
pub const ATTRIBUTES_11: usize = 52;
/// Bytes of the fields from version 12 on.
pub const ATTRIBUTES_12: usize = 140;

/// Writes the first `bytes` of a kernel's attributes.
pub fn write_attributes(place: Address, kernel: Address, bytes: usize) -> Result<()> {
    let (driver, function) = function_of(kernel)?;
    let get = |number| attribute(driver, function, number);
    let size = |number| get(number).map(|value| usize::try_from(value).unwrap_or(0));
    // Those of clusters came later than the call: a driver may lack them.
    let late = |number| get(number).unwrap_or(0);
    let attributes = Attributes {
        shared_bytes: size(1)?,
        constant_bytes: size(2)?,
        local_bytes: size(3)?,
        threads: get(0)?,
        registers: get(4)?,
        ptx_version: get(5)?,
        binary_version: get(6)?,
        cache_mode: late(7),
        dynamic_shared_bytes: late(8),
        shared_carveout: late(9),
        cluster: [late(10), late(11), late(12), late(13), late(15), late(14)],
        reserved: [0; 16],
    };
    // SAFETY: the structure is numbers without gaps within its first bytes: 24, 28, 24 and 64.
    let all = unsafe { std::slice::from_raw_parts((&raw const attributes).cast::<u8>(), 140) };
    write_bytes(place, &all[..bytes.min(all.len())])
}

fn attribute(driver: &Driver, function: Handle, number: c_int) -> Result<c_int> {
    out(|place| driver.cuFuncGetAttribute(place, number, function))
}

api! {
    fn cudaFuncSetAttribute(kernel: Address, attribute: c_int, value: c_int) {
        let (driver, function) = function_of(kernel)?;
        driver.cuFuncSetAttribute(function, attribute, value)
    }

    fn cudaFuncSetCacheConfig(kernel: Address, config: c_int) {
        let (driver, function) = function_of(kernel)?;
        driver.cuFuncSetCacheConfig(function, config)
    }

    fn cudaFuncSetSharedMemConfig(kernel: Address, config: c_int) {
        let (driver, function) = function_of(kernel)?;
        driver.cuFuncSetSharedMemConfig(function, config)
    }

    fn cudaFuncGetName(name: Out<Address>, kernel: Address) {
        let (driver, function) = function_of(kernel)?;
        name.ready()?;
        name.set(out(|place| driver.cuFuncGetName(place, function))?)
    }

    fn cudaFuncGetParamInfo(
        kernel: Address,
        index: usize,
        offset: Out<usize>,
        bytes: Out<usize>,
    ) {
        let (driver, function) = function_of(kernel)?;
        let (at_byte, size) = parameter(driver, function, index)?;
        offset.set(at_byte)?;
        bytes.set_unless_null(size)
    }

    fn cudaFuncGetParamCount(kernel: Address, count: Out<usize>) {
        let (driver, function) = function_of(kernel)?;
        count.ready()?;
        let mut index = 0;
        loop {
            match parameter(driver, function, index) {
                Ok(_) => index += 1,
                Err(Error::INVALID_VALUE) => return count.set(index),
                Err(error) => return Err(error),
            }
        }
    }

    fn cudaKernelSetAttributeForDevice(
        kernel: Handle,
        attribute: c_int,
        value: c_int,
        device: c_int,
    ) {
        if crate::library::has_kernel(kernel) {
            return driver()?.cuKernelSetAttribute(attribute, value, kernel, device);
        }
        let (driver, function) = function_of(kernel)?;
        driver.cuFuncSetAttribute(function, attribute, value)
    }

    fn cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: Out<c_int>,
        kernel: Address,
        block: c_int,
        shared: usize,
    ) {
        let (driver, function) = function_of(kernel)?;
        blocks.ready()?;
        driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks.0, function, block, shared)
    }

    fn cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks: Out<c_int>,
        kernel: Address,
        block: c_int,
        shared: usize,
        flags: c_uint,
    ) {
        let (driver, function) = function_of(kernel)?;
        blocks.ready()?;
        driver.cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
            blocks.0, function, block, shared, flags,
        )
    }

    fn cudaOccupancyAvailableDynamicSMemPerBlock(
        bytes: Out<usize>,
        kernel: Address,
        blocks: c_int,
        block: c_int,
    ) {
        let (driver, function) = function_of(kernel)?;
        bytes.ready()?;
        driver.cuOccupancyAvailableDynamicSMemPerBlock(bytes.0, function, blocks, block)
    }

    fn cudaOccupancyMaxPotentialClusterSize(
        size: Out<c_int>,
        kernel: Address,
        config: In<Config>,
    ) {
        let (driver, function) = function_of(kernel)?;
        let config = config.get()?.to_driver()?;
        size.ready()?;
        driver.cuOccupancyMaxPotentialClusterSize(size.0, function, at(&config))
    }

    fn cudaOccupancyMaxActiveClusters(
        clusters: Out<c_int>,
        kernel: Address,
        config: In<Config>,
    ) {
        let (driver, function) = function_of(kernel)?;
        let config = config.get()?.to_driver()?;
        clusters.ready()?;
        driver.cuOccupancyMaxActiveClusters(clusters.0, function, at(&config))
    }
}

/// Offset and bytes of a kernel's parameter.
fn parameter(driver: &Driver, function: Handle, index: usize) -> Result<(usize, usize)> {
    let mut bytes: usize = 0;
    let size = into(&mut bytes);
    let offset = out(|place| driver.cuFuncGetParamInfo(function, index, place, size))?;
    Ok((offset, bytes))
}
