//! A copy as the driver's `CUDA_MEMCPY3D` describes it: each side is a place in host or device memory
//! with a pitch, or in an array.

use std::ffi::c_int;

use crate::argument::Order;
use crate::array::element_bytes;
use crate::driver::{Driver, at};
use crate::error::{Error, Result};
use crate::geometry::{Extent, Pitched, Position};
use cabi::address::{Address, Handle, plain};

/// `cudaMemcpy3DParms`.
#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Copy3D {
    pub from_array: Handle,
    pub from_position: Position,
    pub from: Pitched,
    pub to_array: Handle,
    pub to_position: Position,
    pub to: Pitched,
    pub extent: Extent,
    pub kind: c_int,
}

/// One side of `CUDA_MEMCPY3D`. The ninth field is reserved there and the context in the
/// structure of copies between devices.
#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Side {
    pub x_bytes: usize,
    pub y: usize,
    pub z: usize,
    level: usize,
    kind: c_int,
    host: Address,
    device: Address,
    array: Handle,
    pub context: Handle,
    pitch: usize,
    height: usize,
}

/// `CUDA_MEMCPY3D`.
#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Transfer {
    pub from: Side,
    pub to: Side,
    pub width_bytes: usize,
    pub height: usize,
    pub depth: usize,
}

/// One side of `CUDA_MEMCPY2D`.
#[repr(C)]
#[derive(Clone, Copy)]
struct FlatSide {
    x_bytes: usize,
    y: usize,
    kind: c_int,
    host: Address,
    device: Address,
    array: Handle,
    pitch: usize,
}

/// `CUDA_MEMCPY2D`.
#[repr(C)]
#[derive(Clone, Copy)]
struct FlatTransfer {
    from: FlatSide,
    to: FlatSide,
    width_bytes: usize,
    height: usize,
}

plain!(Copy3D, Transfer);

/// `CUmemorytype`.
pub const HOST: c_int = 1;
pub const DEVICE: c_int = 2;
const ARRAY: c_int = 3;
const UNIFIED: c_int = 4;

/// `cudaMemcpyKind`.
pub const TO_DEVICE: c_int = 1;
pub const TO_HOST: c_int = 2;
pub const WITHIN_DEVICE: c_int = 3;
pub const BY_ADDRESS: c_int = 4;

/// The kinds of memory from and to which a kind of copy goes.
pub fn sides(kind: c_int) -> Result<(c_int, c_int)> {
    match kind {
        0 => Ok((HOST, HOST)),
        TO_DEVICE => Ok((HOST, DEVICE)),
        TO_HOST => Ok((DEVICE, HOST)),
        WITHIN_DEVICE => Ok((DEVICE, DEVICE)),
        BY_ADDRESS => Ok((UNIFIED, UNIFIED)),
        _ => Err(Error::INVALID_MEMCPY_DIRECTION),
    }
}

impl Side {
    /// A place in memory of a kind. Of the two fields for addresses the driver reads the field of the
    /// kind.
    pub fn memory(kind: c_int, address: Address, pitch: usize, height: usize) -> Self {
        let (host, device) = if kind == HOST { (address, 0) } else { (0, address) };
        Self { kind, host, device, pitch, height, ..Self::default() }
    }

    /// A place in an array.
    pub fn array(array: Handle, x_bytes: usize, y: usize) -> Self {
        Self { kind: ARRAY, array, x_bytes, y, ..Self::default() }
    }

    pub fn array_handle(self) -> Handle {
        self.array
    }

    fn flat(self) -> FlatSide {
        FlatSide {
            x_bytes: self.x_bytes,
            y: self.y,
            kind: self.kind,
            host: self.host,
            device: self.device,
            array: self.array,
            pitch: self.pitch,
        }
    }

    /// This side in the runtime's structure: array, position, memory.
    fn to_runtime(self, element: usize) -> (Handle, Position, Pitched) {
        let position = Position { x: self.x_bytes / element, y: self.y, z: self.z };
        if self.kind == ARRAY {
            return (self.array, position, Pitched::default());
        }
        let address = if self.kind == HOST { self.host } else { self.device };
        let memory = Pitched { address, pitch: self.pitch, width: self.pitch, height: self.height };
        (0, position, memory)
    }
}

impl Transfer {
    /// Bytes one after the other.
    pub fn line(to: Address, from: Address, bytes: usize, kind: c_int) -> Result<Self> {
        let (from_kind, to_kind) = sides(kind)?;
        Ok(Self {
            from: Side::memory(from_kind, from, bytes, 1),
            to: Side::memory(to_kind, to, bytes, 1),
            width_bytes: bytes,
            height: 1,
            depth: 1,
        })
    }

    /// Rows of bytes.
    pub fn rows(from: Side, to: Side, width_bytes: usize, height: usize) -> Self {
        Self { from, to, width_bytes, height, depth: 1 }
    }

    /// The driver's description of a copy in three dimensions. Widths and positions count elements
    /// where an array takes part, else bytes.
    pub fn of(copy: &Copy3D, driver: &Driver) -> Result<Self> {
        let (from_kind, to_kind) = sides(copy.kind)?;
        let side = |array, position: Position, memory: Pitched, kind| -> Result<(Side, usize)> {
            let has_memory = memory.address != 0;
            if (array != 0) == has_memory {
                // Exactly one of the two says where the side is.
                return Err(Error::INVALID_VALUE);
            }
            let element = if array == 0 { 1 } else { element_bytes(driver, array)? };
            let side = if array == 0 {
                Side::memory(kind, memory.address, memory.pitch, memory.height)
            } else {
                Side::array(array, 0, 0)
            };
            let x_bytes = position.x.checked_mul(element).ok_or(Error::INVALID_VALUE)?;
            Ok((Side { x_bytes, y: position.y, z: position.z, ..side }, element))
        };
        let (from, of_from) = side(copy.from_array, copy.from_position, copy.from, from_kind)?;
        let (to, of_to) = side(copy.to_array, copy.to_position, copy.to, to_kind)?;
        let element = of_from.max(of_to);
        let width_bytes = copy.extent.width.checked_mul(element).ok_or(Error::INVALID_VALUE)?;
        let (height, depth) = (copy.extent.height, copy.extent.depth);
        Ok(Self { from, to, width_bytes, height, depth })
    }

    /// The runtime's description of this copy: the reverse of [`Transfer::of`].
    pub fn to_runtime(self, driver: &Driver) -> Result<Copy3D> {
        let element = |side: Side| match side.kind {
            ARRAY => element_bytes(driver, side.array),
            _ => Ok(1),
        };
        let (of_from, of_to) = (element(self.from)?, element(self.to)?);
        let (from_array, from_position, from) = self.from.to_runtime(of_from);
        let (to_array, to_position, to) = self.to.to_runtime(of_to);
        let width = self.width_bytes / of_from.max(of_to);
        let extent = Extent { width, height: self.height, depth: self.depth };
        let host = |side: Side| side.kind == HOST;
        let kind = match (host(self.from), host(self.to)) {
            _ if self.from.kind == UNIFIED || self.to.kind == UNIFIED => BY_ADDRESS,
            (true, true) => 0,
            (true, false) => TO_DEVICE,
            (false, true) => TO_HOST,
            (false, false) => WITHIN_DEVICE,
        };
        Ok(Copy3D { from_array, from_position, from, to_array, to_position, to, extent, kind })
    }

    pub fn is_empty(&self) -> bool {
        self.width_bytes == 0 || self.height == 0 || self.depth == 0
    }

    /// Copies, in one plane where there is one: drivers have more kinds of copies for that.
    pub fn start(&self, driver: &Driver, order: Order) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        if self.depth == 1 && self.from.z == 0 && self.to.z == 0 {
            let flat = self.flat();
            let plane = at(&flat);
            order.start(|| driver.cuMemcpy2DUnaligned_v2(plane), |stream| driver.cuMemcpy2DAsync_v2(plane, stream))?;
        } else {
            order.start(|| driver.cuMemcpy3D_v2(at(self)), |stream| driver.cuMemcpy3DAsync_v2(at(self), stream))?;
        }
        order.finish(driver)
    }

    fn flat(&self) -> FlatTransfer {
        FlatTransfer { from: self.from.flat(), to: self.to.flat(), width_bytes: self.width_bytes, height: self.height }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes of the public headers, by gcc.
    #[test]
    fn structures_have_the_sizes_of_the_headers() {
        assert_eq!(size_of::<Copy3D>(), 160);
        assert_eq!(size_of::<Transfer>(), 200);
        assert_eq!(size_of::<FlatTransfer>(), 128);
    }
}
