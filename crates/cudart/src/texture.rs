//! Texture and surface objects.

use std::collections::BTreeMap;
use std::ffi::{c_int, c_uint};
use std::sync::{Mutex, MutexGuard};

use crate::address::{Address, Handle, plain, read, write};
use crate::api::api;
use crate::argument::{In, Out};
use crate::array::Channel;
use crate::context::current;
use crate::driver::{at, out};
use crate::error::{Error, Result};
use crate::registry::Kind;

/// `cudaResourceDesc` as far as all versions have it. What follows the kind depends on it.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Resource {
    kind: c_int,
    /// The array, or the address of memory.
    what: Address,
    channel: Channel,
    /// Bytes of linear memory, or the width of memory with a pitch.
    extent: usize,
    height: usize,
    pitch: usize,
}

/// `cudaTextureDesc` as far as all versions have it.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Texture {
    address_modes: [c_int; 3],
    filter_mode: c_int,
    read_mode: c_int,
    srgb: c_int,
    border: [f32; 4],
    normalized: c_int,
    anisotropy: c_uint,
    mipmap_filter_mode: c_int,
    mipmap_bias: f32,
    mipmap_least: f32,
    mipmap_greatest: f32,
    no_trilinear_optimization: c_int,
}

/// `cudaResourceViewDesc` as far as all versions have it.
pub type View = [u64; 6];

/// `CUDA_RESOURCE_DESC`: its kind, 128 bytes that depend on it, flags.
#[repr(C)]
#[derive(Clone, Copy)]
struct DriverResource {
    kind: c_int,
    of_kind: OfKind,
    reserve: [u64; 11],
    flags: c_uint,
}

/// The fields of an array, of linear memory and of memory with a pitch.
#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct OfKind {
    what: Address,
    format: c_int,
    channels: c_uint,
    extent: usize,
    height: usize,
    pitch: usize,
}

/// `CUDA_TEXTURE_DESC`.
#[repr(C)]
#[derive(Clone, Copy)]
struct DriverTexture {
    address_modes: [c_int; 3],
    filter_mode: c_int,
    flags: c_uint,
    anisotropy: c_uint,
    mipmap_filter_mode: c_int,
    mipmap_bias: f32,
    mipmap_least: f32,
    mipmap_greatest: f32,
    border: [f32; 4],
    reserve: [c_int; 12],
}

plain!(Resource, Texture);

/// `cudaResourceType`.
const ARRAY: c_int = 0;
const MIPMAPPED: c_int = 1;
const LINEAR: c_int = 2;
const PITCHED: c_int = 3;

/// `cudaReadModeElementType`: integers are not read as normalized floats.
const ELEMENT_TYPE: c_int = 0;

/// Flags of textures in the driver.
pub const READ_AS_INTEGER: c_uint = 1;
pub const NORMALIZED_COORDINATES: c_uint = 2;
pub const SRGB: c_uint = 0x10;
pub const NO_TRILINEAR_OPTIMIZATION: c_uint = 0x20;
const SEAMLESS_CUBEMAP: c_uint = 0x40;

/// Bytes of `cudaTextureDesc` in version 11.
pub const TEXTURE_11: usize = 68;
/// Bytes of `cudaTextureDesc` from version 12 on: cube maps may be seamless.
pub const TEXTURE_12: usize = 72;

impl Resource {
    fn to_driver(self) -> Result<DriverResource> {
        let Self { kind, what, extent, height, pitch, .. } = self;
        let of_kind = match kind {
            ARRAY | MIPMAPPED => OfKind { what, ..OfKind::default() },
            LINEAR => {
                let (format, channels) = self.channel.format()?;
                OfKind { what, format, channels, extent, ..OfKind::default() }
            }
            PITCHED => {
                let (format, channels) = self.channel.format()?;
                OfKind { what, format, channels, extent, height, pitch }
            }
            _ => return Err(Error::INVALID_VALUE),
        };
        Ok(DriverResource { kind, of_kind, reserve: [0; 11], flags: 0 })
    }
}

impl Texture {
    fn to_driver(self, seamless: bool) -> DriverTexture {
        let flag = |set, flag| if set { flag } else { 0 };
        let flags = flag(self.read_mode == ELEMENT_TYPE, READ_AS_INTEGER)
            | flag(self.normalized != 0, NORMALIZED_COORDINATES)
            | flag(self.srgb != 0, SRGB)
            | flag(self.no_trilinear_optimization != 0, NO_TRILINEAR_OPTIMIZATION)
            | flag(seamless, SEAMLESS_CUBEMAP);
        DriverTexture {
            address_modes: self.address_modes,
            filter_mode: self.filter_mode,
            flags,
            anisotropy: self.anisotropy,
            mipmap_filter_mode: self.mipmap_filter_mode,
            mipmap_bias: self.mipmap_bias,
            mipmap_least: self.mipmap_least,
            mipmap_greatest: self.mipmap_greatest,
            border: self.border,
            reserve: [0; 12],
        }
    }
}

/// What an object was made of, for the calls that ask.
#[derive(Clone, Copy)]
struct Made {
    resource: Resource,
    texture: Option<(Texture, bool)>,
    view: Option<View>,
}

/// Textures and surfaces by handle.
static OBJECTS: Mutex<BTreeMap<(Kind, u64), Made>> = Mutex::new(BTreeMap::new());

fn objects() -> MutexGuard<'static, BTreeMap<(Kind, u64), Made>> {
    OBJECTS.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn made(kind: Kind, object: u64) -> Result<Made> {
    objects().get(&(kind, object)).copied().ok_or(Error::INVALID_VALUE)
}

/// Creates a texture object. `bytes` are those of the version's `cudaTextureDesc`.
pub fn create_texture(
    object: Out<u64>,
    resource: In<Resource>,
    texture: Address,
    view: In<View>,
    bytes: usize,
) -> Result<()> {
    let driver = current()?;
    let object = object.ready()?;
    let resource = resource.get()?;
    let described: Texture = read(texture)?;
    let seamless = bytes > TEXTURE_11 && read::<c_int>(texture.wrapping_add(TEXTURE_11))? != 0;
    let view = view.get_unless_null()?;
    // The driver's structure has a reserve after the fields.
    let driver_view = view.map(|view| {
        let mut all = [0_u64; 14];
        all[..view.len()].copy_from_slice(&view);
        all
    });
    let (of, how) = (resource.to_driver()?, described.to_driver(seamless));
    let view_address = driver_view.as_ref().map_or(0, at);
    let made = out(|place| driver.cuTexObjectCreate(place, at(&of), at(&how), view_address))?;
    let texture = Some((described, seamless));
    objects().insert((Kind::Texture, made), Made { resource, texture, view });
    object.set(made)
}

/// Writes the description that a texture object was made of. `bytes` are those of the version's structure.
pub fn write_texture(place: Address, object: u64, bytes: usize) -> Result<()> {
    let (texture, seamless) = made(Kind::Texture, object)?.texture.ok_or(Error::INVALID_VALUE)?;
    write(place, texture)?;
    if bytes > TEXTURE_11 {
        write(place.wrapping_add(TEXTURE_11), c_int::from(seamless))?;
    }
    Ok(())
}

api! {
    fn cudaDestroyTextureObject(object: u64) {
        let driver = current()?;
        objects().remove(&(Kind::Texture, object));
        driver.cuTexObjectDestroy(object)
    }

    fn cudaGetTextureObjectResourceDesc(resource: Out<Resource>, object: u64) {
        resource.set(made(Kind::Texture, object)?.resource)
    }

    fn cudaGetTextureObjectResourceViewDesc(view: Out<View>, object: u64) {
        view.set(made(Kind::Texture, object)?.view.ok_or(Error::INVALID_VALUE)?)
    }

    fn cudaCreateSurfaceObject(object: Out<u64>, resource: In<Resource>) {
        let driver = current()?;
        let object = object.ready()?;
        let resource = resource.get()?;
        if resource.kind != ARRAY {
            return Err(Error::INVALID_VALUE);
        }
        let of = resource.to_driver()?;
        let made = out(|place| driver.cuSurfObjectCreate(place, at(&of)))?;
        objects().insert((Kind::Surface, made), Made { resource, texture: None, view: None });
        object.set(made)
    }

    fn cudaDestroySurfaceObject(object: u64) {
        let driver = current()?;
        objects().remove(&(Kind::Surface, object));
        driver.cuSurfObjectDestroy(object)
    }

    fn cudaGetSurfaceObjectResourceDesc(resource: Out<Resource>, object: u64) {
        resource.set(made(Kind::Surface, object)?.resource)
    }
}

/// The handle types of C are numbers here: an array in a resource is one.
const _: () = assert!(size_of::<Handle>() == size_of::<u64>());

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    /// Sizes and offsets of the public headers, by gcc.
    #[test]
    fn structures_are_laid_out_as_in_the_headers() {
        assert_eq!(size_of::<Resource>(), 64);
        let offsets = [
            offset_of!(Resource, what),
            offset_of!(Resource, channel),
            offset_of!(Resource, extent),
            offset_of!(Resource, height),
            offset_of!(Resource, pitch),
        ];
        assert_eq!(offsets, [8, 16, 40, 48, 56]);
        assert_eq!(size_of::<Texture>(), TEXTURE_11);
        assert_eq!(offset_of!(Texture, no_trilinear_optimization), 64);
        assert_eq!(size_of::<View>(), 48);
        assert_eq!(size_of::<DriverResource>(), 144);
        assert_eq!(offset_of!(DriverResource, flags), 136);
        assert_eq!(size_of::<DriverTexture>(), 104);
        assert_eq!(offset_of!(DriverTexture, border), 40);
    }

    #[test]
    fn memory_with_a_pitch_goes_to_the_driver() {
        let channel = Channel { bits: [16, 16, 0, 0], kind: 1 };
        let resource = Resource { kind: PITCHED, what: 64, channel, extent: 10, height: 20, pitch: 512 };
        let expected = OfKind { what: 64, format: 2, channels: 2, extent: 10, height: 20, pitch: 512 };
        assert_eq!(resource.to_driver().map(|resource| resource.of_kind), Ok(expected));
        let unknown = Resource { kind: 4, ..resource };
        assert_eq!(unknown.to_driver().map(|resource| resource.kind), Err(Error::INVALID_VALUE));
    }
}
