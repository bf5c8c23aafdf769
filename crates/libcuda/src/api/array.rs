//! Arrays, and copies of boxes.

use crate::api;
use crate::call::with;
use crate::unlocked;
use crate::values::{Fields, get, put, put_new};
use crate::wait::finish;
use cuda::image::ArrayDescriptor;
use cuda::memory::{Place3d, Said};
use cuda::platform::attributes::MOST_PITCH;
use cuda::{Driver, Error, Result, Wait};

/// Reads a `CUDA_ARRAY_DESCRIPTOR`.
pub fn descriptor_2d(driver: &Driver, address: u64) -> Result<ArrayDescriptor> {
    let fields = Fields(get::<24>(driver, address)?);
    let (width, height) = (fields.u64(0), fields.u64(8));
    Ok(ArrayDescriptor { width, height, depth: 0, format: fields.u32(16), channels: fields.u32(20), flags: 0 })
}

/// Reads a `CUDA_ARRAY3D_DESCRIPTOR`.
fn descriptor_3d(driver: &Driver, address: u64) -> Result<ArrayDescriptor> {
    let fields = Fields(get::<40>(driver, address)?);
    let (width, height, depth) = (fields.u64(0), fields.u64(8), fields.u64(16));
    Ok(ArrayDescriptor {
        width,
        height,
        depth,
        format: fields.u32(24),
        channels: fields.u32(28),
        flags: fields.u32(32),
    })
}

/// Writes a description: sizes first, then format, channels, and for three dimensions flags.
fn put_descriptor(driver: &Driver, to: u64, array: u64, dimensions: u64) -> Result<()> {
    let ArrayDescriptor { width, height, depth, format, channels, flags } = driver.images.array(array)?.descriptor;
    for (i, size) in (0..dimensions).zip([width, height, depth]) {
        put(driver, to + 8 * i, size)?;
    }
    let rest = to + 8 * dimensions;
    put(driver, rest, format)?;
    put(driver, rest + 4, channels)?;
    if dimensions == 3 { put(driver, rest + 8, flags) } else { Ok(()) }
}

/// Writes size and alignment of an array; the rest of the structure is reserved.
fn put_requirements(driver: &Driver, to: u64, array: u64) -> Result<()> {
    put(driver, to, driver.images.array(array)?.bytes())?;
    put(driver, to + 8, 256_u64)
}

/// `CUmemorytype`.
const HOST: u32 = 1;
const DEVICE: u32 = 2;
const ARRAY: u32 = 3;
const UNIFIED: u32 = 4;

/// A side of a requested copy as structures of the API have it.
struct Side {
    /// x in bytes, y, z.
    at: [u64; 3],
    kind: u32,
    host: u64,
    device: u64,
    array: u64,
    pitch: u64,
    /// Rows from a slice to the next.
    height: u64,
}

impl Side {
    /// The side at `offset` of a `CUDA_MEMCPY2D`.
    fn of_2d(fields: &Fields<128>, offset: usize) -> Self {
        let field = |at| fields.u64(offset + at);
        let (kind, pitch) = (fields.u32(offset + 16), field(48));
        let at = [field(0), field(8), 0];
        Self { at, kind, host: field(24), device: field(32), array: field(40), pitch, height: 0 }
    }

    /// The side at `offset` of a `CUDA_MEMCPY3D`.
    fn of_3d(fields: &Fields<200>, offset: usize) -> Self {
        let field = |at| fields.u64(offset + at);
        let (kind, pitch, height) = (fields.u32(offset + 32), field(72), field(80));
        let at = [field(0), field(8), field(16)];
        Self { at, kind, host: field(40), device: field(48), array: field(56), pitch, height }
    }

    fn place(&self, driver: &Driver, size: [u64; 3]) -> Result<Place3d> {
        let (said, base) = match self.kind {
            HOST => (Said::Host, self.host),
            DEVICE => (Said::Device, self.device),
            UNIFIED => (Said::Nothing, self.device),
            ARRAY => return driver.images.array(self.array)?.place(self.at, size),
            _ => return Err(Error::INVALID_VALUE),
        };
        let ([x, y, z], [width, height, depth]) = (self.at, size);
        let row = x.checked_add(width).ok_or(Error::INVALID_VALUE)?;
        // One row needs no pitch, one slice no height.
        let pitch = if self.pitch == 0 && height <= 1 && depth <= 1 { row } else { self.pitch };
        let rows = if depth <= 1 { self.height.max(height) } else { self.height };
        if pitch < row || pitch > MOST_PITCH || (depth > 1 && rows < y.saturating_add(height)) {
            return Err(Error::INVALID_VALUE);
        }
        let slice = pitch.checked_mul(rows).ok_or(Error::INVALID_VALUE)?;
        let offset = slice.checked_mul(z).zip(pitch.checked_mul(y)).and_then(|(z, y)| z.checked_add(y)?.checked_add(x));
        let address = offset.and_then(|offset| base.checked_add(offset)).ok_or(Error::INVALID_VALUE)?;
        Ok(Place3d { said, address, pitch, slice })
    }
}

/// The sides and the size of a `CUDA_MEMCPY2D`.
pub fn box_2d(driver: &Driver, request: u64) -> Result<(Place3d, Place3d, [u64; 3])> {
    let fields = Fields(get::<128>(driver, request)?);
    let size = [fields.u64(112), fields.u64(120), 1];
    let (from, to) = (Side::of_2d(&fields, 0), Side::of_2d(&fields, 56));
    Ok((to.place(driver, size)?, from.place(driver, size)?, size))
}

/// The sides and the size of a `CUDA_MEMCPY3D`.
pub fn box_3d(driver: &Driver, request: u64) -> Result<(Place3d, Place3d, [u64; 3])> {
    let fields = Fields(get::<200>(driver, request)?);
    // Levels of detail: arrays have one.
    if fields.u64(24) != 0 || fields.u64(112) != 0 {
        return Err(Error::INVALID_VALUE);
    }
    let size = [fields.u64(176), fields.u64(184), fields.u64(192)];
    let (from, to) = (Side::of_3d(&fields, 0), Side::of_3d(&fields, 88));
    Ok((to.place(driver, size)?, from.place(driver, size)?, size))
}

fn copy_2d(driver: &mut Driver, request: u64, stream: u64, wait: bool) -> Result<Wait> {
    let (to, from, size) = box_2d(driver, request)?;
    driver.copy(to, from, size, stream, wait)
}

fn copy_3d(driver: &mut Driver, request: u64, stream: u64, wait: bool) -> Result<Wait> {
    let (to, from, size) = box_3d(driver, request)?;
    driver.copy(to, from, size, stream, wait)
}

/// `bytes` at `offset` of an array: a part of a row, or whole rows that follow each other. Gives the place and the size
/// of the box.
fn part(driver: &Driver, array: u64, offset: u64, bytes: u64) -> Result<(Place3d, [u64; 3])> {
    let array = driver.images.array(array)?;
    let row = array.image.row_bytes();
    let rows = u64::from(array.image.size[1]) * u64::from(array.image.size[2]);
    if rows == 1 {
        let size = [bytes, 1, 1];
        return Ok((array.place([offset, 0, 0], size)?, size));
    }
    let (first, count) = (offset / row, bytes / row);
    if !offset.is_multiple_of(row)
        || !bytes.is_multiple_of(row)
        || first.checked_add(count).is_none_or(|end| end > rows)
    {
        return Err(Error::INVALID_VALUE);
    }
    let address = array.image.base + first * array.image.pitch;
    Ok((Place3d { said: Said::Device, address, pitch: array.image.pitch, slice: 0 }, [row, count, 1]))
}

/// Copies between an array and memory.
fn copy_part(
    driver: &mut Driver,
    (array, offset): (u64, u64),
    (said, address): (Said, u64),
    bytes: u64,
    to_array: bool,
    stream: Option<u64>,
) -> Result<Wait> {
    let (place, size) = part(driver, array, offset, bytes)?;
    let other = Place3d { said, address, pitch: size[0], slice: bytes };
    let (to, from) = if to_array { (place, other) } else { (other, place) };
    driver.copy(to, from, size, stream.unwrap_or(0), stream.is_none())
}

api! {
    fn cuArrayCreate_v2(array: u64, descriptor: u64) |driver| {
        let descriptor = descriptor_2d(driver, descriptor)?;
        put_new(driver, array, |Driver { images, platform, memory, .. }| {
            images.array_create(platform, memory, descriptor)
        })
    }

    fn cuArray3DCreate_v2(array: u64, descriptor: u64) |driver| {
        let descriptor = descriptor_3d(driver, descriptor)?;
        put_new(driver, array, |Driver { images, platform, memory, .. }| {
            images.array_create(platform, memory, descriptor)
        })
    }

    fn cuArrayGetDescriptor_v2(descriptor: u64, array: u64) |driver| { put_descriptor(driver, descriptor, array, 2) }

    fn cuArray3DGetDescriptor_v2(descriptor: u64, array: u64) |driver| { put_descriptor(driver, descriptor, array, 3) }

    fn cuArrayGetMemoryRequirements(requirements: u64, array: u64, _device: i32) |driver| {
        put_requirements(driver, requirements, array)
    }

    fn cuMipmappedArrayGetMemoryRequirements(requirements: u64, mipmapped: u64, _device: i32) |driver| {
        let array = driver.images.mipmapped_level(mipmapped, 0)?;
        put_requirements(driver, requirements, array)
    }

    // No array is sparse or has planes.
    fn cuArrayGetSparseProperties(_properties: u64, array: u64) |driver| {
        driver.images.array(array)?;
        Err::<(), _>(Error::INVALID_VALUE)
    }
    fn cuMipmappedArrayGetSparseProperties(_properties: u64, mipmapped: u64) |driver| {
        driver.images.mipmapped_level(mipmapped, 0)?;
        Err::<(), _>(Error::INVALID_VALUE)
    }
    fn cuArrayGetPlane(_plane: u64, array: u64, _index: u32) |driver| {
        driver.images.array(array)?;
        Err::<(), _>(Error::INVALID_VALUE)
    }

    fn cuMipmappedArrayCreate(mipmapped: u64, descriptor: u64, levels: u32) |driver| {
        let descriptor = descriptor_3d(driver, descriptor)?;
        put_new(driver, mipmapped, |Driver { images, platform, memory, .. }| {
            match images.mipmapped_create(platform, memory, descriptor, levels) {
                Err(Error::NOT_SUPPORTED) => Err(platform.unsupported("a mipmapped array with several levels")),
                made => made,
            }
        })
    }

    fn cuMipmappedArrayGetLevel(array: u64, mipmapped: u64, level: u32) |driver| {
        let handle = driver.images.mipmapped_level(mipmapped, level)?;
        put(driver, array, handle)
    }

    fn cuMemcpy2D_v2(request: u64) per_thread_sync |driver| { copy_2d(driver, request, 0, true) }
    fn cuMemcpy2DUnaligned_v2(request: u64) per_thread_sync |driver| { copy_2d(driver, request, 0, true) }
    fn cuMemcpy2DAsync_v2(request: u64, stream: u64) per_thread |driver| { copy_2d(driver, request, stream, false) }
    fn cuMemcpy3D_v2(request: u64) per_thread_sync |driver| { copy_3d(driver, request, 0, true) }
    fn cuMemcpy3DAsync_v2(request: u64, stream: u64) per_thread |driver| { copy_3d(driver, request, stream, false) }
    // Addresses say which device they are of.
    fn cuMemcpy3DPeer(request: u64) per_thread_sync |driver| { copy_3d(driver, request, 0, true) }
    fn cuMemcpy3DPeerAsync(request: u64, stream: u64) per_thread |driver| {
        copy_3d(driver, request, stream, false)
    }

    fn cuMemcpyDtoA_v2(array: u64, offset: u64, from: u64, bytes: u64) per_thread_sync |driver| {
        copy_part(driver, (array, offset), (Said::Device, from), bytes, true, None)
    }
    fn cuMemcpyAtoD_v2(to: u64, array: u64, offset: u64, bytes: u64) per_thread_sync |driver| {
        copy_part(driver, (array, offset), (Said::Device, to), bytes, false, None)
    }
    fn cuMemcpyHtoA_v2(array: u64, offset: u64, from: u64, bytes: u64) per_thread_sync |driver| {
        copy_part(driver, (array, offset), (Said::Host, from), bytes, true, None)
    }
    fn cuMemcpyAtoH_v2(to: u64, array: u64, offset: u64, bytes: u64) per_thread_sync |driver| {
        copy_part(driver, (array, offset), (Said::Host, to), bytes, false, None)
    }
    fn cuMemcpyHtoAAsync_v2(array: u64, offset: u64, from: u64, bytes: u64, stream: u64) per_thread |driver| {
        copy_part(driver, (array, offset), (Said::Host, from), bytes, true, Some(stream))
    }
    fn cuMemcpyAtoHAsync_v2(to: u64, array: u64, offset: u64, bytes: u64, stream: u64) per_thread |driver| {
        copy_part(driver, (array, offset), (Said::Host, to), bytes, false, Some(stream))
    }
    fn cuMemcpyAtoA_v2(to: u64, to_offset: u64, from: u64, from_offset: u64, bytes: u64) per_thread_sync |driver| {
        let ((to, size), (from, other)) = (part(driver, to, to_offset, bytes)?, part(driver, from, from_offset, bytes)?);
        if size != other {
            return Err(Error::INVALID_VALUE);
        }
        driver.copy(to, from, size, 0, true)
    }
}

/// Destroys an array after the work of its device has ended: it may use it.
fn destroy(destroy: impl FnOnce(&mut Driver) -> Result<()>) -> Result<()> {
    let device = with(|driver| driver.platform.device_here())?;
    finish(Wait::Device(device))?;
    with(destroy)
}

unlocked! {
    fn cuArrayDestroy(array: u64) {
        destroy(|Driver { images, platform, memory, .. }| images.array_destroy(platform, memory, array))
    }
    fn cuMipmappedArrayDestroy(mipmapped: u64) {
        destroy(|Driver { images, platform, memory, .. }| images.mipmapped_destroy(platform, memory, mipmapped))
    }
}
