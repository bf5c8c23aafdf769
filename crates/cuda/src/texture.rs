//! Texture and surface objects.

use crate::array::channel_of;
use crate::driver::{Device, Driver};
use crate::error::{Error, Result};
use isa::{AddressMode, Channel, Image, Sampler, Shape};

/// What a texture or surface reads (`CUDA_RESOURCE_DESC`).
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

/// A texture or surface object.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Texture {
    pub context: u64,
    pub is_surface: bool,
    /// What the program has given: resource, texture, view. Queries return it.
    pub said: [Vec<u8>; 3],
}

/// `CU_TRSF_*`.
pub const READ_AS_INTEGER: u32 = 1;
/// `CU_TRSF_*`.
pub const NORMALISED: u32 = 2;
const SRGB: u32 = 0x10;
const SEAMLESS_CUBEMAP: u32 = 0x40;
/// Alignment of textures in linear memory.
pub const ALIGNMENT: u64 = 256;
/// Alignment of rows of textures in pitched memory.
pub const PITCH_ALIGNMENT: u64 = 32;
/// Maximum elements of a texture in linear memory.
pub const MOST_LINEAR: u64 = 1 << 28;
/// Maximum width and height of a texture in pitched memory.
pub const MOST_PITCHED: [u64; 2] = [131_072, 65_000];

impl Driver {
    /// Notes that something is not supported; says so once.
    pub fn unsupported(&mut self, what: &'static str) -> Error {
        let count = self.notes.unsupported.entry(what).or_insert(0);
        *count += 1;
        if *count == 1 {
            self.host.message(&format!("{what} is not supported"));
        }
        Error::NOT_SUPPORTED
    }

    /// The image of a resource without sampling, and the device that has it.
    pub(crate) fn image_of(&mut self, resource: &Resource) -> Result<Image> {
        match *resource {
            Resource::Array(array) => self.arrays.get(array).map(|array| array.image),
            Resource::Mipmapped(mipmapped) => {
                let array = *self.mipmapped.get(mipmapped)?;
                self.arrays.get(array).map(|array| array.image)
            }
            Resource::Linear { address, format, channels, bytes } => {
                let image = image(Shape::D1, address, format, channels)?;
                let width = bytes / u64::from(image.texel_bytes());
                if width == 0 || width > MOST_LINEAR || !address.is_multiple_of(ALIGNMENT) {
                    return Err(Error::INVALID_VALUE);
                }
                Ok(Image { size: [width as u32, 1, 1], pitch: width * u64::from(image.texel_bytes()), ..image })
            }
            Resource::Pitched { address, format, channels, width, height, pitch } => {
                let image = image(Shape::D2, address, format, channels)?;
                let fits = (1..=MOST_PITCHED[0]).contains(&width) && (1..=MOST_PITCHED[1]).contains(&height);
                let aligned = address.is_multiple_of(ALIGNMENT) && pitch.is_multiple_of(PITCH_ALIGNMENT);
                if !fits || !aligned || pitch < width * u64::from(image.texel_bytes()) {
                    return Err(Error::INVALID_VALUE);
                }
                Ok(Image { size: [width as u32, height as u32, 1], pitch, ..image })
            }
        }
    }

    /// How the texels of `image` are read.
    ///
    /// # Errors
    /// A number has no meaning.
    pub(crate) fn sampler(sampling: &Sampling, image: &Image) -> Result<Sampler> {
        let mut address = [AddressMode::Clamp; 3];
        for (mode, number) in address.iter_mut().zip(sampling.address) {
            *mode = match number {
                0 => AddressMode::Wrap,
                1 => AddressMode::Clamp,
                2 => AddressMode::Mirror,
                3 => AddressMode::Border,
                _ => return Err(Error::INVALID_VALUE),
            };
        }
        if sampling.filter > 1 {
            return Err(Error::INVALID_VALUE);
        }
        let converts = !image.channel.is_float() && image.channel.bytes() < 4;
        Ok(Sampler {
            address,
            linear: sampling.filter == 1,
            normalised: sampling.flags & NORMALISED != 0,
            as_float: converts && sampling.flags & READ_AS_INTEGER == 0,
            srgb: sampling.flags & SRGB != 0,
            seamless: sampling.flags & SEAMLESS_CUBEMAP != 0,
            // Programs give those of integers by their bits.
            border: sampling.border.map(f32::to_bits),
        })
    }

    /// Creates a texture object, or with no `sampling` a surface object. `said` is returned by queries.
    ///
    /// # Errors
    /// The description is impossible or not supported, or there is no context.
    pub fn texture_create(
        &mut self,
        resource: &Resource,
        sampling: Option<&Sampling>,
        view: Option<&View>,
        said: [Vec<u8>; 3],
    ) -> Result<u64> {
        let (context, device) = self.context_here().map(|(handle, c)| (handle, c.device))?;
        let mut image = self.image_of(resource)?;
        if let Some(view) = view {
            let seen = view.of(&image)?;
            image = seen.ok_or_else(|| self.unsupported("a view of levels, or in a compressed format"))?;
        }
        match sampling {
            Some(sampling) => image.sampler = Some(Self::sampler(sampling, &image)?),
            None if !matches!(resource, Resource::Array(_)) => return Err(Error::INVALID_VALUE),
            None => {}
        }
        self.remove_destroyed_images(device);
        let object = self.add_image(device, image)?;
        self.textures.insert((device, object), Texture { context, is_surface: sampling.is_none(), said });
        Ok(object)
    }

    pub(crate) fn add_image(&mut self, device: usize, image: Image) -> Result<u64> {
        let added = self.timeline(device)?.device.shared_state().add_image(image);
        added.map_err(|problem| {
            self.host.message(&format!("a texture or surface cannot be made: {problem}"));
            Error::INVALID_VALUE
        })
    }

    /// The images of objects that are gone can be removed when nothing runs that may read them.
    fn remove_destroyed_images(&mut self, device: usize) {
        let Device { destroyed_images, timeline, .. } = &mut self.devices[device];
        if let Some(timeline) = timeline
            && timeline.pending() == 0
        {
            for object in std::mem::take(destroyed_images) {
                timeline.device.shared_state().remove_image(object);
            }
        }
    }

    /// A texture or surface object of the current context's device.
    ///
    /// # Errors
    /// It is none of this kind, or there is no context.
    pub fn texture(&mut self, object: u64, is_surface: bool) -> Result<&Texture> {
        let device = self.device_here()?;
        let found = self.textures.get(&(device, object)).filter(|texture| texture.is_surface == is_surface);
        found.ok_or(Error::INVALID_VALUE)
    }

    /// Destroys a texture or surface object.
    ///
    /// # Errors
    /// As [`Driver::texture`].
    pub fn texture_destroy(&mut self, object: u64, is_surface: bool) -> Result<()> {
        let device = self.device_here()?;
        self.texture(object, is_surface)?;
        self.textures.remove(&(device, object));
        self.devices[device].destroyed_images.push(object);
        Ok(())
    }
}

fn image(shape: Shape, base: u64, format: u32, channels: u32) -> Result<Image> {
    if !matches!(channels, 1 | 2 | 4) {
        return Err(Error::INVALID_VALUE);
    }
    let channel = channel_of(format)?;
    Ok(Image { base, shape, size: [1; 3], pitch: 0, channel, channels: channels as u8, sampler: None })
}

impl View {
    /// The part of an image that it shows, in its format; `None` if that is not supported.
    ///
    /// # Errors
    /// It is no part of the image, or its format has texels of another size.
    fn of(&self, image: &Image) -> Result<Option<Image>> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_has_layers_and_a_format() {
        let image = image(Shape::Layered2, 0x1000, 0x20, 4).unwrap();
        let image = Image { size: [8, 4, 5], pitch: 256, ..image };
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
