//! Memory of devices and of the host: allocation, registration, what a pointer is.

use std::ffi::{c_int, c_uint};

use crate::api::api;
use crate::argument::{Out, Stream};
use crate::context::current;
use crate::driver::{Driver, Location, into, out};
use crate::error::{Error, Result};
use crate::geometry::{Extent, Pitched};
use cabi::address::{Address, plain, readable};

/// `CU_MEMHOSTALLOC_PORTABLE`: memory of the host that every context may use.
const PORTABLE: c_uint = 1;
/// `cudaMemAttachGlobal` and `cudaMemAttachHost`.
const ATTACH_GLOBAL: c_uint = 1;
const ATTACH_HOST: c_uint = 2;
/// Bytes of the elements that pitched memory is made for: the widest that the hardware reads.
const WIDEST_ELEMENT: c_uint = 16;

/// `cudaPointerAttributes`.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct PointerAttributes {
    kind: c_int,
    device: c_int,
    on_device: Address,
    on_host: Address,
}
plain!(PointerAttributes);

/// `cudaMemoryType`.
const UNREGISTERED: c_int = 0;
const HOST: c_int = 1;
const DEVICE: c_int = 2;
const MANAGED: c_int = 3;
/// `cudaInvalidDeviceId`.
const NO_DEVICE: c_int = -2;

/// `CUpointer_attribute`.
const MEMORY_TYPE: c_int = 2;
const DEVICE_POINTER: c_int = 3;
const HOST_POINTER: c_int = 4;
const IS_MANAGED: c_int = 8;
const DEVICE_ORDINAL: c_int = 9;

api! {
    fn cudaMalloc(address: Out<Address>, bytes: usize) {
        allocate(address, bytes, |driver, place| driver.cuMemAlloc_v2(place, bytes))
    }

    fn cudaFree(address: Address) {
        // Also called with null to initialise the device.
        let driver = current()?;
        if address == 0 { Ok(()) } else { driver.cuMemFree_v2(address) }
    }

    fn cudaMallocPitch(address: Out<Address>, pitch: Out<usize>, width: usize, height: usize) {
        let (address, pitch) = (address.ready()?, pitch.ready()?);
        let (found, row) = pitched(width, height)?;
        address.set(found)?;
        pitch.set(row)
    }

    fn cudaMalloc3D(place: Out<Pitched>, extent: Extent) {
        let place = place.ready()?;
        let rows = extent.height.checked_mul(extent.depth).ok_or(Error::INVALID_VALUE)?;
        let (address, pitch) = pitched(extent.width, rows)?;
        place.set(Pitched { address, pitch, width: extent.width, height: extent.height })
    }

    fn cudaMallocHost(address: Out<Address>, bytes: usize) {
        allocate(address, bytes, |driver, place| driver.cuMemHostAlloc(place, bytes, PORTABLE))
    }

    fn cudaHostAlloc(address: Out<Address>, bytes: usize, flags: c_uint) {
        allocate(address, bytes, |driver, place| driver.cuMemHostAlloc(place, bytes, flags | PORTABLE))
    }

    fn cudaFreeHost(address: Address) {
        let driver = current()?;
        if address == 0 { Ok(()) } else { driver.cuMemFreeHost(address) }
    }

    fn cudaHostRegister(address: Address, bytes: usize, flags: c_uint) {
        if address == 0 || bytes == 0 {
            return Err(Error::INVALID_VALUE);
        }
        let driver = current()?;
        readable(address, bytes)?;
        driver.cuMemHostRegister_v2(address, bytes, flags | PORTABLE)
    }

    fn cudaHostUnregister(address: Address) = cuMemHostUnregister;
    fn cudaHostGetDevicePointer(device: Out<Address>, host: Address, flags: c_uint) = cuMemHostGetDevicePointer_v2;
    fn cudaHostGetFlags(flags: Out<c_uint>, host: Address) = cuMemHostGetFlags;

    fn cudaMallocManaged(address: Out<Address>, bytes: usize, flags: c_uint) {
        let driver = current()?;
        if bytes == 0 || !matches!(flags, ATTACH_GLOBAL | ATTACH_HOST) {
            return Err(Error::INVALID_VALUE);
        }
        address.receive(|place| driver.cuMemAllocManaged(place, bytes, flags))
    }

    fn cudaMemGetInfo(free: Out<usize>, total: Out<usize>) = cuMemGetInfo_v2;

    fn cudaMemRangeGetAttribute(
        data: Address, bytes: usize, attribute: c_int, address: Address, count: usize,
    ) = cuMemRangeGetAttribute;
    fn cudaMemRangeGetAttributes(
        data: Address, sizes: Address, attributes: Address, number: usize, address: Address, count: usize,
    ) = cuMemRangeGetAttributes;

    fn cudaPointerGetAttributes(place: Out<PointerAttributes>, address: Address) {
        let driver = current()?;
        place.set(pointer(driver, address)?)
    }

    fn cudaStreamAttachMemAsync | cudaStreamAttachMemAsync_ptsz(
        stream: Stream, address: Address, bytes: usize, flags: c_uint,
    ) = cuStreamAttachMemAsync;

    fn cudaMemAdvise_v2(address: Address, bytes: usize, advice: c_int, location: Location) = cuMemAdvise_v2;
    fn cudaMemPrefetchAsync_v2 | cudaMemPrefetchAsync_v2_ptsz(
        address: Address, bytes: usize, location: Location, flags: c_uint, stream: Stream,
    ) = cuMemPrefetchAsync_v2;
}

/// Allocates memory by a function of the driver. The address of no bytes is null.
pub fn allocate(address: Out<Address>, bytes: usize, get: impl FnOnce(&Driver, Address) -> Result<()>) -> Result<()> {
    let driver = current()?;
    if bytes == 0 { address.set(0) } else { address.receive(|place| get(driver, place)) }
}

/// Memory whose rows start at multiples of a pitch: its address and the pitch.
fn pitched(width: usize, rows: usize) -> Result<(Address, usize)> {
    let driver = current()?;
    if width == 0 || rows == 0 {
        return Ok((0, 0));
    }
    let mut pitch: usize = 0;
    let row = into(&mut pitch);
    let address = out(|place| driver.cuMemAllocPitch_v2(place, row, width, rows, WIDEST_ELEMENT))?;
    Ok((address, pitch))
}

/// Kind of a pointer. One outside all allocations is memory of the host.
fn pointer(driver: &Driver, address: Address) -> Result<PointerAttributes> {
    if address == 0 {
        return Err(Error::INVALID_VALUE);
    }
    let number = |attribute| out::<c_int>(|place| driver.cuPointerGetAttribute(place, attribute, address));
    let pointer =
        |attribute| out::<Address>(|place| driver.cuPointerGetAttribute(place, attribute, address)).unwrap_or(0);
    let kind = match number(MEMORY_TYPE) {
        Ok(kind @ (HOST | DEVICE)) => kind,
        Ok(_) | Err(Error::INVALID_VALUE) => {
            let (device, on_host) = (NO_DEVICE, address);
            return Ok(PointerAttributes { kind: UNREGISTERED, device, on_device: 0, on_host });
        }
        Err(error) => return Err(error),
    };
    // The driver's result is a byte, at the lowest address of the place.
    let managed = out::<u8>(|place| driver.cuPointerGetAttribute(place, IS_MANAGED, address));
    let kind = if managed.is_ok_and(|managed| managed != 0) { MANAGED } else { kind };
    Ok(PointerAttributes {
        kind,
        device: number(DEVICE_ORDINAL).unwrap_or(0),
        on_device: pointer(DEVICE_POINTER),
        on_host: if kind == DEVICE { 0 } else { pointer(HOST_POINTER) },
    })
}
