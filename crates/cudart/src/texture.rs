//! Texture and surface objects.

use std::ffi::{c_int, c_uint};

use crate::api::api;
use crate::argument::{In, Out};
use crate::array::Channel;
use crate::context::current;
use crate::driver::{at, out};
use crate::error::{Error, Result};
use cabi::address::{Address, Handle, plain, read, write};

/// `cudaResourceDesc` as far as all versions have it. The rest depends on the kind.
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
#[derive(Clone, Copy, Default)]
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
#[derive(Clone, Copy, Default)]
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

/// `CUDA_RESOURCE_VIEW_DESC`: the fields of the runtime's structure and a reserve.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct DriverView {
    fields: View,
    reserve: [u64; 8],
}

plain!(Resource, Texture, DriverResource, DriverTexture, DriverView);

/// `cudaResourceType`.
const ARRAY: c_int = 0;
const MIPMAPPED: c_int = 1;
const LINEAR: c_int = 2;
const PITCHED: c_int = 3;

/// `cudaTextureReadMode`: whether integers are read as normalized floats.
const ELEMENT_TYPE: c_int = 0;
const NORMALIZED_FLOAT: c_int = 1;

/// Flags of textures in the driver.
pub const READ_AS_INTEGER: c_uint = 1;
pub const NORMALIZED_COORDINATES: c_uint = 2;
pub const SRGB: c_uint = 0x10;
pub const NO_TRILINEAR_OPTIMIZATION: c_uint = 0x20;
const SEAMLESS_CUBEMAP: c_uint = 0x40;

/// The flags whose condition holds.
pub fn flags<const N: usize>(rows: [(bool, c_uint); N]) -> c_uint {
    rows.iter().filter(|(is_set, _)| *is_set).fold(0, |flags, (_, flag)| flags | flag)
}

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

    fn of(resource: &DriverResource) -> Self {
        let DriverResource { kind, of_kind: OfKind { what, format, channels, extent, height, pitch }, .. } = *resource;
        let has_channel = matches!(kind, LINEAR | PITCHED);
        let channel = if has_channel { Channel::of(format, channels) } else { Channel::default() };
        Self { kind, what, channel, extent, height, pitch }
    }
}

impl Texture {
    fn to_driver(self, seamless: bool) -> DriverTexture {
        let flags = flags([
            (self.read_mode == ELEMENT_TYPE, READ_AS_INTEGER),
            (self.normalized != 0, NORMALIZED_COORDINATES),
            (self.srgb != 0, SRGB),
            (self.no_trilinear_optimization != 0, NO_TRILINEAR_OPTIMIZATION),
            (seamless, SEAMLESS_CUBEMAP),
        ]);
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

    /// The structure of version 11, and whether cube maps are seamless.
    fn of(texture: &DriverTexture) -> (Self, bool) {
        let has = |flag| texture.flags & flag != 0;
        let described = Self {
            address_modes: texture.address_modes,
            filter_mode: texture.filter_mode,
            read_mode: if has(READ_AS_INTEGER) { ELEMENT_TYPE } else { NORMALIZED_FLOAT },
            srgb: has(SRGB).into(),
            border: texture.border,
            normalized: has(NORMALIZED_COORDINATES).into(),
            anisotropy: texture.anisotropy,
            mipmap_filter_mode: texture.mipmap_filter_mode,
            mipmap_bias: texture.mipmap_bias,
            mipmap_least: texture.mipmap_least,
            mipmap_greatest: texture.mipmap_greatest,
            no_trilinear_optimization: has(NO_TRILINEAR_OPTIMIZATION).into(),
        };
        (described, has(SEAMLESS_CUBEMAP))
    }
}

/// Creates a texture object. `bytes` are the version's `cudaTextureDesc`.
pub fn create_texture(
    object: Out<u64>,
    resource: In<Resource>,
    texture: Address,
    view: In<View>,
    bytes: usize,
) -> Result<()> {
    let driver = current()?;
    let described: Texture = read(texture)?;
    let seamless = bytes > TEXTURE_11 && read::<c_int>(texture.wrapping_add(TEXTURE_11))? != 0;
    let (resource, texture) = (resource.get()?.to_driver()?, described.to_driver(seamless));
    let view = view.get_unless_null()?.map(|fields| DriverView { fields, reserve: [0; 8] });
    let view = view.as_ref().map_or(0, at);
    object.receive(|place| driver.cuTexObjectCreate(place, at(&resource), at(&texture), view))
}

/// Writes the description that a texture object was made of. `bytes` are the version's structure.
pub fn write_texture(place: Address, object: u64, bytes: usize) -> Result<()> {
    let driver = current()?;
    let texture: DriverTexture = out(|place| driver.cuTexObjectGetTextureDesc(place, object))?;
    let (texture, seamless) = Texture::of(&texture);
    write(place, texture)?;
    if bytes > TEXTURE_11 {
        write(place.wrapping_add(TEXTURE_11), c_int::from(seamless))?;
    }
    Ok(())
}

api! {
    fn cudaDestroyTextureObject(object: u64) = cuTexObjectDestroy;

    fn cudaGetTextureObjectResourceDesc(resource: Out<Resource>, object: u64) {
        let driver = current()?;
        let found: DriverResource = out(|place| driver.cuTexObjectGetResourceDesc(place, object))?;
        resource.set(Resource::of(&found))
    }

    fn cudaGetTextureObjectResourceViewDesc(view: Out<View>, object: u64) {
        let driver = current()?;
        let found: DriverView = out(|place| driver.cuTexObjectGetResourceViewDesc(place, object))?;
        view.set(found.fields)
    }

    fn cudaCreateSurfaceObject(object: Out<u64>, resource: In<Resource>) {
        let driver = current()?;
        let resource = resource.get()?.to_driver()?;
        if resource.kind != ARRAY {
            return Err(Error::INVALID_VALUE);
        }
        object.receive(|place| driver.cuSurfObjectCreate(place, at(&resource)))
    }

    fn cudaDestroySurfaceObject(object: u64) = cuSurfObjectDestroy;

    fn cudaGetSurfaceObjectResourceDesc(resource: Out<Resource>, object: u64) {
        let driver = current()?;
        let found: DriverResource = out(|place| driver.cuSurfObjectGetResourceDesc(place, object))?;
        resource.set(Resource::of(&found))
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
    fn textures_go_to_the_driver_and_back() {
        let texture = Texture {
            address_modes: [1, 2, 3],
            filter_mode: 1,
            read_mode: ELEMENT_TYPE,
            srgb: 0,
            border: [0.5, 1.0, 1.5, 2.0],
            normalized: 1,
            anisotropy: 4,
            mipmap_filter_mode: 1,
            mipmap_bias: 0.25,
            mipmap_least: 1.0,
            mipmap_greatest: 9.0,
            no_trilinear_optimization: 0,
        };
        let other =
            Texture { read_mode: NORMALIZED_FLOAT, srgb: 1, normalized: 0, no_trilinear_optimization: 1, ..texture };
        for texture in [(texture, true), (other, false)] {
            assert_eq!(Texture::of(&texture.0.to_driver(texture.1)), texture);
        }
    }

    #[test]
    fn memory_with_a_pitch_goes_to_the_driver() {
        let channel = Channel { bits: [16, 16, 0, 0], kind: 1 };
        let resource = Resource { kind: PITCHED, what: 64, channel, extent: 10, height: 20, pitch: 512 };
        let expected = OfKind { what: 64, format: 2, channels: 2, extent: 10, height: 20, pitch: 512 };
        assert_eq!(resource.to_driver().map(|resource| resource.of_kind), Ok(expected));
        assert_eq!(resource.to_driver().map(|resource| Resource::of(&resource)), Ok(resource));
        let unknown = Resource { kind: 4, ..resource };
        assert_eq!(unknown.to_driver().map(|resource| resource.kind), Err(Error::INVALID_VALUE));
    }
}
