//! Kernels: their attributes and occupancy.

use std::ffi::{c_int, c_uint};

use crate::address::{Address, Handle, write_bytes};
use crate::api::api;
use crate::argument::{Argument, In, Out};
use crate::context::current;
use crate::driver::{Driver, at, into, out};
use crate::error::{Error, Result};
use crate::launch::{Config, Kernel};
use crate::library;

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
    /// Attributes of clusters, from version 12 on.
    cluster: [c_int; 6],
    reserved: [c_int; 16],
}

const _: () = assert!(size_of::<Attributes>() == 144);

/// Bytes of the fields in version 11.
pub const ATTRIBUTES_11: usize = 52;
/// Bytes of the fields from version 12 on.
pub const ATTRIBUTES_12: usize = 140;

/// Writes the first `bytes` of a kernel's attributes.
pub fn write_attributes(place: Address, kernel: Kernel, bytes: usize) -> Result<()> {
    let (driver, function) = (current()?, kernel.raw()?);
    let get = |number| out::<c_int>(|place| driver.cuFuncGetAttribute(place, number, function));
    let size = |number| get(number).map(|value| usize::try_from(value).unwrap_or(0));
    // Attributes that came later than the call: a driver may lack them.
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
    let all = unsafe { std::slice::from_raw_parts((&raw const attributes).cast::<u8>(), ATTRIBUTES_12) };
    write_bytes(place, &all[..bytes.min(all.len())])
}

api! {
    fn cudaFuncSetAttribute(kernel: Kernel, attribute: c_int, value: c_int) = cuFuncSetAttribute;
    fn cudaFuncSetCacheConfig(kernel: Kernel, config: c_int) = cuFuncSetCacheConfig;
    fn cudaFuncSetSharedMemConfig(kernel: Kernel, config: c_int) = cuFuncSetSharedMemConfig;
    fn cudaFuncGetName(name: Out<Address>, kernel: Kernel) = cuFuncGetName;

    fn cudaFuncGetParamInfo(kernel: Kernel, index: usize, offset: Out<usize>, bytes: Out<usize>) {
        let (at_byte, size) = parameter(current()?, kernel.raw()?, index)?;
        offset.set(at_byte)?;
        bytes.set_unless_null(size)
    }

    fn cudaFuncGetParamCount(kernel: Kernel, count: Out<usize>) {
        let (driver, function) = (current()?, kernel.raw()?);
        for index in 0.. {
            match parameter(driver, function, index) {
                Ok(_) => {}
                Err(Error::INVALID_VALUE) => return count.set(index),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn cudaKernelSetAttributeForDevice(kernel: Handle, attribute: c_int, value: c_int, device: c_int) {
        let driver = current()?;
        if library::has_kernel(kernel) {
            return driver.cuKernelSetAttribute(attribute, value, kernel, device);
        }
        driver.cuFuncSetAttribute(Kernel(kernel).raw()?, attribute, value)
    }

    fn cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: Out<c_int>, kernel: Kernel, block: c_int, shared: usize,
    ) = cuOccupancyMaxActiveBlocksPerMultiprocessor;
    fn cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks: Out<c_int>, kernel: Kernel, block: c_int, shared: usize, flags: c_uint,
    ) = cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags;
    fn cudaOccupancyAvailableDynamicSMemPerBlock(
        bytes: Out<usize>, kernel: Kernel, blocks: c_int, block: c_int,
    ) = cuOccupancyAvailableDynamicSMemPerBlock;

    fn cudaOccupancyMaxPotentialClusterSize(size: Out<c_int>, kernel: Kernel, config: In<Config>) {
        let (driver, function, config) = (current()?, kernel.raw()?, config.get()?.to_driver()?);
        size.receive(|place| driver.cuOccupancyMaxPotentialClusterSize(place, function, at(&config)))
    }

    fn cudaOccupancyMaxActiveClusters(clusters: Out<c_int>, kernel: Kernel, config: In<Config>) {
        let (driver, function, config) = (current()?, kernel.raw()?, config.get()?.to_driver()?);
        clusters.receive(|place| driver.cuOccupancyMaxActiveClusters(place, function, at(&config)))
    }
}

/// Offset and bytes of a kernel's parameter.
fn parameter(driver: &Driver, function: Handle, index: usize) -> Result<(usize, usize)> {
    let mut bytes: usize = 0;
    let size = into(&mut bytes);
    let offset = out(|place| driver.cuFuncGetParamInfo(function, index, place, size))?;
    Ok((offset, bytes))
}
