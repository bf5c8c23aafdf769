//! Texture and surface references: variables of modules that are bound to memory or an array.
//!
//! A program sets the fields of the host's structure before it binds; they are read at that time.

use std::collections::BTreeMap;
use std::ffi::{c_int, c_uint};
use std::sync::{Mutex, MutexGuard};

use crate::api::api;
use crate::argument::{In, Out};
use crate::array::Channel;
use crate::context::{current, current_context};
use crate::driver::{Driver, at, out};
use crate::error::{Error, Result};
use crate::registry::{self, Entry, Kind};
use crate::texture::{NO_TRILINEAR_OPTIMIZATION, NORMALIZED_COORDINATES, READ_AS_INTEGER, SRGB, flags};
use cabi::address::{Address, Handle, plain};

/// `textureReference`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Reference {
    normalized: c_int,
    filter_mode: c_int,
    address_modes: [c_int; 3],
    channel: Channel,
    srgb: c_int,
    anisotropy: c_uint,
    mipmap_filter_mode: c_int,
    mipmap_bias: f32,
    mipmap_least: f32,
    mipmap_greatest: f32,
    no_trilinear_optimization: c_int,
    reserve: [c_int; 14],
}

/// `CUDA_ARRAY_DESCRIPTOR`.
#[repr(C)]
struct Plane {
    width: usize,
    height: usize,
    format: c_int,
    channels: c_uint,
}

plain!(Reference);

/// `CU_TRSA_OVERRIDE_FORMAT`.
const OVERRIDE_FORMAT: c_uint = 1;
/// Attribute: texels of a texture in linear memory.
const MOST_TEXELS: c_int = 69;
/// The first format of floats in the driver; all below are integers.
const FIRST_FLOAT: c_int = 0x10;

/// Offsets of bound references, by the host's structure.
static BOUND: Mutex<BTreeMap<Address, usize>> = Mutex::new(BTreeMap::new());

fn bound() -> MutexGuard<'static, BTreeMap<Address, usize>> {
    BOUND.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// A reference of the program, with the driver's handle of it.
struct Target {
    driver: &'static Driver,
    handle: Handle,
    reference: Reference,
    format: c_int,
    channels: c_uint,
    texel_bytes: usize,
}

/// Finds a reference in the current context, and sets it as the host's structure says.
fn prepare(host: Address, channel: In<Channel>) -> Result<Target> {
    let (driver, context) = current_context()?;
    let of_module = |module, entry: &Entry| {
        Ok((out(|place| driver.cuModuleGetTexRef(place, module, entry.name()))?, entry.reads_normalized))
    };
    let (handle, reads_normalized) = registry::reference((driver, context), Kind::Texture, host, of_module)?;
    let reference = In::<Reference>::at(host).get()?;
    let channel = channel.get_unless_null()?.unwrap_or(reference.channel);
    let (format, channels) = channel.format()?;
    driver.cuTexRefSetFormat(handle, format, channels.cast_signed())?;
    let flags = flags([
        (!reads_normalized && format < FIRST_FLOAT, READ_AS_INTEGER),
        (reference.normalized != 0, NORMALIZED_COORDINATES),
        (reference.srgb != 0, SRGB),
        (reference.no_trilinear_optimization != 0, NO_TRILINEAR_OPTIMIZATION),
    ]);
    driver.cuTexRefSetFlags(handle, flags)?;
    driver.cuTexRefSetFilterMode(handle, reference.filter_mode)?;
    for (dimension, mode) in (0..).zip(reference.address_modes) {
        driver.cuTexRefSetAddressMode(handle, dimension, mode)?;
    }
    if reference.anisotropy > 1 {
        driver.cuTexRefSetMaxAnisotropy(handle, reference.anisotropy)?;
    }
    let texel_bytes = channel.bits.iter().sum::<c_int>().unsigned_abs() as usize / 8;
    Ok(Target { driver, handle, reference, format, channels, texel_bytes })
}

/// Keeps a binding and reports where in the texture the memory starts. A caller that does not ask
/// relies on 0.
fn keep(host: Address, place: Out<usize>, offset: usize) -> Result<()> {
    if place.0 == 0 && offset != 0 {
        return Err(Error::INVALID_VALUE);
    }
    place.set_unless_null(offset)?;
    bound().insert(host, offset);
    Ok(())
}

api! {
    fn cudaBindTexture(offset: Out<usize>, host: Address, memory: Address, channel: In<Channel>, bytes: usize) {
        let Target { driver, handle, texel_bytes, .. } = prepare(host, channel)?;
        // Programs pass the largest number for all of the memory.
        let device = out(|place| driver.cuCtxGetDevice(place))?;
        let most: c_int = out(|place| driver.cuDeviceGetAttribute(place, MOST_TEXELS, device))?;
        let bytes = bytes.min(most.unsigned_abs() as usize * texel_bytes);
        let start = out(|place| driver.cuTexRefSetAddress_v2(place, handle, memory, bytes))?;
        keep(host, offset, start)
    }

    fn cudaBindTexture2D(
        offset: Out<usize>, host: Address, memory: Address, channel: In<Channel>, width: usize, height: usize,
        pitch: usize,
    ) {
        let Target { driver, handle, format, channels, .. } = prepare(host, channel)?;
        let plane = Plane { width, height, format, channels };
        driver.cuTexRefSetAddress2D_v3(handle, at(&plane), memory, pitch)?;
        keep(host, offset, 0)
    }

    fn cudaBindTextureToArray(host: Address, array: Handle, channel: In<Channel>) {
        let Target { driver, handle, .. } = prepare(host, channel)?;
        driver.cuTexRefSetArray(handle, array, OVERRIDE_FORMAT)?;
        keep(host, Out::at(0), 0)
    }

    fn cudaBindTextureToMipmappedArray(host: Address, array: Handle, channel: In<Channel>) {
        let Target { driver, handle, reference, .. } = prepare(host, channel)?;
        driver.cuTexRefSetMipmapFilterMode(handle, reference.mipmap_filter_mode)?;
        driver.cuTexRefSetMipmapLevelBias(handle, reference.mipmap_bias)?;
        let (least, greatest) = (reference.mipmap_least, reference.mipmap_greatest);
        driver.cuTexRefSetMipmapLevelClamp(handle, least, greatest)?;
        driver.cuTexRefSetMipmappedArray(handle, array, OVERRIDE_FORMAT)?;
        keep(host, Out::at(0), 0)
    }

    fn cudaUnbindTexture(host: Address) {
        // The driver has no such call: a reference keeps its memory until it is bound again.
        current()?;
        registry::host(Kind::Texture, host)?;
        bound().remove(&host);
        Ok(())
    }

    fn cudaGetTextureAlignmentOffset(offset: Out<usize>, host: Address) {
        registry::host(Kind::Texture, host)?;
        offset.set(bound().get(&host).copied().ok_or(Error::INVALID_TEXTURE_BINDING)?)
    }

    fn cudaGetTextureReference(host: Out<Address>, symbol: Address) {
        host.set(registry::host(Kind::Texture, symbol)?)
    }

    fn cudaGetSurfaceReference(host: Out<Address>, symbol: Address) {
        host.set(registry::host(Kind::Surface, symbol)?)
    }

    fn cudaBindSurfaceToArray(host: Address, array: Handle, _channel: In<Channel>) {
        let (driver, context) = current_context()?;
        registry::reference((driver, context), Kind::Surface, host, |module, entry| {
            let handle = out(|place| driver.cuModuleGetSurfRef(place, module, entry.name()))?;
            driver.cuSurfRefSetArray(handle, array, 0)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    /// Sizes and offsets of the public headers, by gcc.
    #[test]
    fn the_structure_is_laid_out_as_in_the_headers() {
        assert_eq!(size_of::<Reference>(), 124);
        assert_eq!(offset_of!(Reference, channel), 20);
        assert_eq!(offset_of!(Reference, reserve), 68);
        assert_eq!(size_of::<Plane>(), 24);
    }
}
