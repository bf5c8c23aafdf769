//! Kernels: their attributes and occupancy.

use std::ffi::{c_int, c_uint};

use crate::api::api;
use crate::argument::{Argument, In, Out};
use crate::context::current;
use crate::driver::{Driver, at, into, out};
use crate::error::{Error, Result};
use crate::launch::{Config, Kernel};
use crate::library;
use cabi::address::{Address, Handle, write_bytes};

/// Bytes of the fields of `cudaFuncAttributes` in version 11.
pub const ATTRIBUTES_11: usize = 52;
/// Bytes of the fields from version 12 on, which has fields for clusters and a reserve.
pub const ATTRIBUTES_12: usize = 140;

/// The driver's numbers of the attributes in the order of the fields: sizes of shared, constant and local memory
/// (8 bytes each), then fields of 4 bytes.
const SIZES: [c_int; 3] = [1, 2, 3];
const NUMBERS: [c_int; 4] = [0, 4, 5, 6];
/// Attributes that came later than the call: a driver may lack them.
const LATER: [c_int; 9] = [7, 8, 9, 10, 11, 12, 13, 15, 14];

/// Writes the first `bytes` of a kernel's attributes.
pub fn write_attributes(place: Address, kernel: Kernel, bytes: usize) -> Result<()> {
    let (driver, function) = (current()?, kernel.raw()?);
    let get = |number| out::<c_int>(|place| driver.cuFuncGetAttribute(place, number, function));
    let mut fields = Vec::with_capacity(ATTRIBUTES_12);
    for number in SIZES {
        fields.extend(usize::try_from(get(number)?).unwrap_or(0).to_ne_bytes());
    }
    for number in NUMBERS {
        fields.extend(get(number)?.to_ne_bytes());
    }
    for number in LATER {
        fields.extend(get(number).unwrap_or(0).to_ne_bytes());
    }
    fields.resize(bytes, 0);
    Ok(write_bytes(place, &fields)?)
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
