//! Arrays and the descriptions of their elements.

use std::ffi::{c_int, c_uint};

use crate::api::api;
use crate::argument::{In, Out};
use crate::context::current;
use crate::driver::{Driver, at, out};
use crate::error::{Error, Result};
use crate::geometry::Extent;
use cabi::address::{Handle, plain};

/// `cudaChannelFormatDesc`: bits of up to four components, and their kind.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Channel {
    pub bits: [c_int; 4],
    pub kind: c_int,
}

/// `CUDA_ARRAY3D_DESCRIPTOR`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Descriptor {
    width: usize,
    height: usize,
    depth: usize,
    format: c_int,
    channels: c_uint,
    flags: c_uint,
}

plain!(Channel, Descriptor);

/// `cudaChannelFormatKind`.
const SIGNED: c_int = 0;
const UNSIGNED: c_int = 1;
const FLOAT: c_int = 2;
const NONE: c_int = 3;

/// `CUarray_format` of a kind and a number of bits.
const FORMATS: [(c_int, c_int, c_int); 8] = [
    (UNSIGNED, 8, 0x01),
    (UNSIGNED, 16, 0x02),
    (UNSIGNED, 32, 0x03),
    (SIGNED, 8, 0x08),
    (SIGNED, 16, 0x09),
    (SIGNED, 32, 0x0a),
    (FLOAT, 16, 0x10),
    (FLOAT, 32, 0x20),
];

impl Channel {
    /// The driver's format and number of components.
    pub fn format(self) -> Result<(c_int, c_uint)> {
        let components = self.bits.iter().take_while(|bits| **bits != 0).count();
        let same = self.bits[..components].iter().all(|bits| *bits == self.bits[0]);
        let rest = self.bits[components..].iter().all(|bits| *bits == 0);
        if !matches!(components, 1 | 2 | 4) || !same || !rest {
            return Err(Error::INVALID_CHANNEL_DESCRIPTOR);
        }
        let row = FORMATS.iter().find(|row| (row.0, row.1) == (self.kind, self.bits[0]));
        let format = row.ok_or(Error::INVALID_CHANNEL_DESCRIPTOR)?.2;
        Ok((format, components as c_uint))
    }

    /// The description of a driver's format.
    pub fn of(format: c_int, channels: c_uint) -> Self {
        let Some((kind, bits, _)) = FORMATS.iter().find(|row| row.2 == format) else {
            return Self { bits: [0; 4], kind: NONE };
        };
        let component = |index| if index < channels { *bits } else { 0 };
        Self { bits: [0, 1, 2, 3].map(component), kind: *kind }
    }
}

impl Descriptor {
    fn of(channel: Channel, extent: Extent, flags: c_uint) -> Result<Self> {
        let (format, channels) = channel.format()?;
        let Extent { width, height, depth } = extent;
        Ok(Self { width, height, depth, format, channels, flags })
    }

    fn element_bytes(&self) -> Result<usize> {
        let row = FORMATS.iter().find(|row| row.2 == self.format);
        let bits = row.ok_or(Error::INVALID_CHANNEL_DESCRIPTOR)?.1;
        Ok(bits.unsigned_abs() as usize / 8 * self.channels as usize)
    }
}

fn descriptor(driver: &Driver, array: Handle) -> Result<Descriptor> {
    if array == 0 {
        return Err(Error::INVALID_HANDLE);
    }
    out(|place| driver.cuArray3DGetDescriptor_v2(place, array))
}

/// Bytes of an array's element.
pub fn element_bytes(driver: &Driver, array: Handle) -> Result<usize> {
    descriptor(driver, array)?.element_bytes()
}

/// Bytes of a row of an array.
pub fn row_bytes(driver: &Driver, array: Handle) -> Result<usize> {
    let descriptor = descriptor(driver, array)?;
    Ok(descriptor.width * descriptor.element_bytes()?)
}

/// `cudaCreateChannelDesc` returns its structure by value.
// SAFETY: the name belongs to this API, which defines it once.
#[unsafe(no_mangle)]
extern "C" fn cudaCreateChannelDesc(x: c_int, y: c_int, z: c_int, w: c_int, kind: c_int) -> Channel {
    Channel { bits: [x, y, z, w], kind }
}

api! {
    fn cudaMallocArray(array: Out<Handle>, channel: In<Channel>, width: usize, height: usize, flags: c_uint) {
        create(array, channel, Extent { width, height, depth: 0 }, flags)
    }

    fn cudaMalloc3DArray(array: Out<Handle>, channel: In<Channel>, extent: Extent, flags: c_uint) {
        create(array, channel, extent, flags)
    }

    fn cudaFreeArray(array: Handle) {
        let driver = current()?;
        if array == 0 { Ok(()) } else { driver.cuArrayDestroy(array) }
    }

    fn cudaMallocMipmappedArray(
        array: Out<Handle>, channel: In<Channel>, extent: Extent, levels: c_uint, flags: c_uint,
    ) {
        let driver = current()?;
        let descriptor = Descriptor::of(channel.get()?, extent, flags)?;
        array.receive(|place| driver.cuMipmappedArrayCreate(place, at(&descriptor), levels))
    }

    fn cudaFreeMipmappedArray(array: Handle) {
        let driver = current()?;
        if array == 0 { Ok(()) } else { driver.cuMipmappedArrayDestroy(array) }
    }

    fn cudaGetMipmappedArrayLevel(level: Out<Handle>, array: Handle, index: c_uint) = cuMipmappedArrayGetLevel;
    fn cudaArrayGetPlane(plane: Out<Handle>, array: Handle, index: c_uint) = cuArrayGetPlane;
    fn cudaArrayGetMemoryRequirements(place: Out<[u64; 4]>, array: Handle, device: c_int)
        = cuArrayGetMemoryRequirements;
    fn cudaMipmappedArrayGetMemoryRequirements(place: Out<[u64; 4]>, array: Handle, device: c_int)
        = cuMipmappedArrayGetMemoryRequirements;
    fn cudaArrayGetSparseProperties(place: Out<[u64; 6]>, array: Handle) = cuArrayGetSparseProperties;
    fn cudaMipmappedArrayGetSparseProperties(place: Out<[u64; 6]>, array: Handle) = cuMipmappedArrayGetSparseProperties;

    fn cudaArrayGetInfo(channel: Out<Channel>, extent: Out<Extent>, flags: Out<c_uint>, array: Handle) {
        let Descriptor { width, height, depth, format, channels, flags: set } = descriptor(current()?, array)?;
        channel.set_unless_null(Channel::of(format, channels))?;
        extent.set_unless_null(Extent { width, height, depth })?;
        flags.set_unless_null(set)
    }

    fn cudaGetChannelDesc(channel: Out<Channel>, array: Handle) {
        let found = descriptor(current()?, array)?;
        channel.set(Channel::of(found.format, found.channels))
    }
}

fn create(array: Out<Handle>, channel: In<Channel>, extent: Extent, flags: c_uint) -> Result<()> {
    let driver = current()?;
    let descriptor = Descriptor::of(channel.get()?, extent, flags)?;
    array.receive(|place| driver.cuArray3DCreate_v2(place, at(&descriptor)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_go_to_the_driver_and_back() {
        for (kind, bits, format) in FORMATS {
            for channels in [1_u32, 2, 4] {
                let channel = Channel::of(format, channels);
                assert_eq!(channel.format(), Ok((format, channels)));
                assert_eq!((channel.kind, channel.bits[0]), (kind, bits));
            }
        }
    }

    #[test]
    fn what_the_hardware_lacks_is_refused() {
        let refused = |bits, kind| {
            let channel = Channel { bits, kind };
            assert_eq!(channel.format(), Err(Error::INVALID_CHANNEL_DESCRIPTOR), "{channel:?}");
        };
        refused([0, 0, 0, 0], SIGNED);
        refused([8, 8, 8, 0], UNSIGNED);
        refused([8, 16, 0, 0], UNSIGNED);
        refused([32, 0, 32, 0], FLOAT);
        refused([64, 0, 0, 0], SIGNED);
        refused([8, 0, 0, 0], FLOAT);
        refused([8, 0, 0, 0], 3);
    }

    #[test]
    fn the_driver_gets_its_structure() {
        assert_eq!(size_of::<Descriptor>(), 40);
        assert_eq!(size_of::<Channel>(), 20);
    }
}
