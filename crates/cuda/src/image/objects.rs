//! The data of arrays, texture and surface objects, texture and surface references.

use crate::error::{Error, Result};
use crate::memory::{Place3d, Said};
use isa::{Channel, Image, Shape};

/// Request of a program (`CUDA_ARRAY3D_DESCRIPTOR`): sizes in elements, 0 for dimensions that are missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct ArrayDescriptor {
    pub width: u64,
    pub height: u64,
    /// Slices, or layers.
    pub depth: u64,
    /// `CUarray_format`.
    pub format: u32,
    pub channels: u32,
    pub flags: u32,
}

/// `CUDA_ARRAY3D_*`.
const LAYERED: u32 = 1;

const CUBEMAP: u32 = 4;

/// Surface access, gather: arrays have both in any case.
const ANY: u32 = 2 | 8;

/// Maximum sizes by the number of dimensions, and of layers (CUDA C++ Programming Guide, compute capabilities).
const MOST: [[u64; 3]; 3] = [[131_072, 1, 1], [131_072, 65_536, 1], [16_384, 16_384, 16_384]];

const MOST_LAYERED: [u64; 3] = [32_768, 32_768, 2_048];

/// An array.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Array {
    pub context: u64,
    pub device: usize,
    pub descriptor: ArrayDescriptor,
    /// The image, as a surface has it.
    pub image: Image,
    /// It is the level of a mipmapped array, which owns it.
    pub is_level: bool,
}

/// The channel of a format (`CUarray_format`); those that are compressed or packed are not supported.
///
/// # Errors
/// It is not a format, or it is not supported.
pub fn channel_of(format: u32) -> Result<Channel> {
    Ok(match format {
        0x01 => Channel::U8,
        0x02 => Channel::U16,
        0x03 => Channel::U32,
        0x08 => Channel::S8,
        0x09 => Channel::S16,
        0x0a => Channel::S32,
        0x10 => Channel::F16,
        0x20 => Channel::F32,
        0 => return Err(Error::INVALID_VALUE),
        _ => return Err(Error::NOT_SUPPORTED),
    })
}

impl ArrayDescriptor {
    /// Shape and size of the image, with its channel.
    pub(super) fn image(&self) -> Result<(Shape, [u32; 3], Channel)> {
        let &Self { width, height, depth, channels, flags, .. } = self;
        if width == 0 || !matches!(channels, 1 | 2 | 4) {
            return Err(Error::INVALID_VALUE);
        }
        let channel = channel_of(self.format)?;
        if flags & CUBEMAP != 0 && (width != height || depth % 6 != 0 || (depth != 6 && flags & LAYERED == 0)) {
            return Err(Error::INVALID_VALUE);
        }
        if flags & !(LAYERED | CUBEMAP | ANY) != 0 {
            return Err(Error::NOT_SUPPORTED);
        }
        let is_cube = flags & CUBEMAP != 0;
        let (shape, most) = match (flags & (LAYERED | CUBEMAP) != 0, height, depth) {
            (_, _, 0) if flags & (LAYERED | CUBEMAP) != 0 => return Err(Error::INVALID_VALUE),
            (true, ..) if is_cube && flags & LAYERED == 0 => (Shape::Cube, MOST_LAYERED),
            (true, ..) if is_cube => (Shape::LayeredCube, MOST_LAYERED),
            (true, 0, _) => (Shape::Layered1, MOST_LAYERED),
            (true, _, _) => (Shape::Layered2, MOST_LAYERED),
            (false, 0, 0) => (Shape::D1, MOST[0]),
            (false, _, 0) => (Shape::D2, MOST[1]),
            (false, 0, _) => return Err(Error::INVALID_VALUE),
            (false, _, _) => (Shape::D3, MOST[2]),
        };
        let size = [width, height.max(1), depth.max(1)];
        if size.iter().zip(most).any(|(&size, most)| size > most) {
            return Err(Error::INVALID_VALUE);
        }
        Ok((shape, size.map(|size| size as u32), channel))
    }
}

pub(super) fn bytes_of(image: &Image) -> u64 {
    u64::from(image.size[1]) * u64::from(image.size[2]) * image.pitch
}

impl Array {
    /// The place of an offset in the array: bytes in a row, row, slice or layer.
    ///
    /// # Errors
    /// A box of `size` there is not within the array.
    pub fn place(&self, [x, y, z]: [u64; 3], [width, height, depth]: [u64; 3]) -> Result<Place3d> {
        let within = |at: u64, count: u64, all: u64| at.checked_add(count).is_some_and(|end| end <= all);
        let [_, rows, slices] = self.image.size.map(u64::from);
        if !within(x, width, self.image.row_bytes()) || !within(y, height, rows) || !within(z, depth, slices) {
            return Err(Error::INVALID_VALUE);
        }
        let pitch = self.image.pitch;
        Ok(Place3d {
            said: Said::Device,
            address: self.image.base + (z * rows + y) * pitch + x,
            pitch,
            slice: rows * pitch,
        })
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> u64 {
        bytes_of(&self.image)
    }
}

/// Source of a texture or surface (`CUDA_RESOURCE_DESC`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Resource {
    Array(u64),
    Mipmapped(u64),
    Linear { address: u64, format: u32, channels: u32, bytes: u64 },
    Pitched { address: u64, format: u32, channels: u32, width: u64, height: u64, pitch: u64 },
}

/// How it is read (`CUDA_TEXTURE_DESC`), in the numbers of the API.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Sampling {
    pub address: [u32; 3],
    pub filter: u32,
    /// `CU_TRSF_*`.
    pub flags: u32,
    pub anisotropy: u32,
    pub border: [f32; 4],
}

/// A part of a resource, or another format of it (`CUDA_RESOURCE_VIEW_DESC`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct View {
    pub format: u32,
    pub size: [u64; 3],
    pub levels: [u32; 2],
    pub layers: [u32; 2],
}

impl View {
    /// The part of an image that it shows, in its format; `None` if that is not supported.
    ///
    /// # Errors
    /// It is not part of the image, or its format has texels of another size.
    pub(super) fn of(&self, image: &Image) -> Result<Option<Image>> {
        if self.levels != [0, 0] || self.format > LAST_FORMAT {
            return Ok(None);
        }
        let mut seen = *image;
        if self.format != 0 {
            let number = self.format - 1;
            seen.channel = FORMATS[(number / 3) as usize];
            seen.channels = 1 << (number % 3);
        }
        let [width, height, depth] = image.size.map(u64::from);
        let is_size = |said: u64, size: u64| said == size || (said == 0 && size == 1);
        let layers = image.shape.is_layered();
        let whole = is_size(self.size[0], width) && is_size(self.size[1], height);
        if seen.texel_bytes() != image.texel_bytes() || !whole || !(layers || is_size(self.size[2], depth)) {
            return Err(Error::INVALID_VALUE);
        }
        if layers && self.layers != [0, 0] {
            let [first, last] = self.layers;
            let count = last.checked_sub(first).and_then(|count| count.checked_add(1));
            let count = count.filter(|_| last < image.size[2]).ok_or(Error::INVALID_VALUE)?;
            seen.base = image.address(0, 0, first);
            seen.size[2] = count;
        }
        Ok(Some(seen))
    }
}

/// The channels of views' formats (`CUresourceViewFormat`): from 1 on, three numbers of channels for each.
const FORMATS: [Channel; 8] = {
    use Channel::*;
    [U8, S8, U16, S16, U32, S32, F16, F32]
};
/// The formats that follow are compressed.
const LAST_FORMAT: u32 = 3 * FORMATS.len() as u32;

/// The images of a device.
#[derive(Clone, Debug, Default)]
pub(super) struct OfDevice {
    /// Images of texture and surface objects that the program has destroyed.
    pub(super) destroyed: Vec<u64>,
    /// Those that references have been bound to, with their handles.
    pub(super) bound: Vec<(Image, u64)>,
}

/// A texture or surface object.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Texture {
    pub context: u64,
    pub is_surface: bool,
    /// The program's descriptions of resource, texture and view. Queries return them.
    pub said: [Vec<u8>; 3],
}

/// `CU_TRSF_*`.
pub const READ_AS_INTEGER: u32 = 1;

/// `CU_TRSF_*`.
pub const NORMALISED: u32 = 2;

/// Alignment of textures in linear memory.
pub const ALIGNMENT: u64 = 256;

/// Alignment of rows of textures in pitched memory.
pub const PITCH_ALIGNMENT: u64 = 32;

/// Maximum elements of a texture in linear memory.
pub const MOST_LINEAR: u64 = 1 << 28;

/// Maximum width and height of a texture in pitched memory.
pub const MOST_PITCHED: [u64; 2] = [131_072, 65_000];

/// A texture or surface reference.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Reference {
    pub context: u64,
    pub device: usize,
    /// The module, its name in it, and the address of the handle on the device; `None` of a reference that belongs to
    /// no module.
    pub of: Option<(u64, String, u64)>,
    pub is_surface: bool,
    pub resource: Option<Resource>,
    /// `CUarray_format` and channels of memory.
    pub format: (u32, u32),
    pub sampling: Sampling,
}

impl Reference {
    pub(super) fn new(context: u64, device: usize, of: Option<(u64, String, u64)>, is_surface: bool) -> Self {
        // As the driver has them at first: one number of 32 bits, clamped addresses, the nearest texel.
        let sampling = Sampling { address: [1; 3], ..Sampling::default() };
        Self { context, device, of, is_surface, resource: None, format: (0x20, 1), sampling }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_give_shapes() {
        let shape = |width, height, depth, flags| {
            let descriptor = ArrayDescriptor { width, height, depth, format: 0x20, channels: 1, flags };
            descriptor.image().map(|(shape, size, _)| (shape, size))
        };
        assert_eq!(shape(64, 0, 0, 0), Ok((Shape::D1, [64, 1, 1])));
        assert_eq!(shape(64, 8, 0, 2), Ok((Shape::D2, [64, 8, 1])));
        assert_eq!(shape(64, 8, 4, 0), Ok((Shape::D3, [64, 8, 4])));
        assert_eq!(shape(64, 0, 4, LAYERED), Ok((Shape::Layered1, [64, 1, 4])));
        assert_eq!(shape(64, 8, 4, LAYERED), Ok((Shape::Layered2, [64, 8, 4])));
        assert_eq!(shape(64, 64, 6, CUBEMAP), Ok((Shape::Cube, [64, 64, 6])));
        assert_eq!(shape(64, 64, 12, LAYERED | CUBEMAP), Ok((Shape::LayeredCube, [64, 64, 12])));
        for (width, height, depth, flags) in [
            (0, 1, 1, 0),
            (64, 0, 4, 0),
            (64, 8, 0, LAYERED),
            (64, 32, 6, CUBEMAP),
            (64, 64, 5, CUBEMAP),
            (1 << 20, 0, 0, 0),
        ] {
            assert_eq!(shape(width, height, depth, flags), Err(Error::INVALID_VALUE));
        }
        assert_eq!(shape(64, 64, 0, 0x40), Err(Error::NOT_SUPPORTED));
    }

    /// An image of three dimensions of floats.
    const IMAGE: Image = Image {
        base: 0x1000,
        shape: Shape::D3,
        size: [10, 4, 2],
        pitch: 64,
        channel: Channel::F32,
        channels: 1,
        sampler: None,
    };

    #[test]
    fn boxes_are_within_the_array() {
        let array =
            Array { context: 0, device: 0, descriptor: ArrayDescriptor::default(), image: IMAGE, is_level: false };
        let place = array.place([8, 1, 1], [32, 3, 1]).unwrap();
        assert_eq!((place.address, place.pitch, place.slice), (0x1000 + (4 + 1) * 64 + 8, 64, 256));
        for (at, size) in
            [([12, 0, 0], [32, 1, 1]), ([0, 4, 0], [4, 1, 1]), ([0, 0, 1], [4, 1, 2]), ([u64::MAX, 0, 0], [4, 1, 1])]
        {
            assert_eq!(array.place(at, size), Err(Error::INVALID_VALUE));
        }
    }

    #[test]
    fn a_view_has_layers_and_a_format() {
        let image = Image { shape: Shape::Layered2, size: [8, 4, 5], pitch: 256, channels: 4, ..IMAGE };
        let view = View { format: 24, size: [8, 4, 5], levels: [0, 0], layers: [0, 4] };
        assert_eq!(view.of(&image), Ok(Some(image)));
        assert_eq!(View { format: 0, layers: [0, 0], ..view }.of(&image), Ok(Some(image)));
        let part = Image { base: 0x1000 + 2 * 4 * 256, size: [8, 4, 3], channel: Channel::U32, ..image };
        assert_eq!(View { format: 15, layers: [2, 4], ..view }.of(&image), Ok(Some(part)));
        assert_eq!(View { levels: [0, 1], ..view }.of(&image), Ok(None), "levels");
        assert_eq!(View { format: 25, ..view }.of(&image), Ok(None), "compressed");
        for other in [
            View { format: 23, ..view },
            View { size: [4, 4, 5], ..view },
            View { layers: [1, 5], ..view },
            View { layers: [3, 2], ..view },
        ] {
            assert_eq!(other.of(&image), Err(Error::INVALID_VALUE));
        }
    }
}
