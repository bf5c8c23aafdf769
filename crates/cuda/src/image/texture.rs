//! Texture and surface objects.

use crate::error::{Error, Result};
use crate::image::{
    ALIGNMENT, Images, MOST_LINEAR, MOST_PITCHED, NORMALISED, PITCH_ALIGNMENT, READ_AS_INTEGER, Resource, Sampling,
    Texture, View, channel_of,
};
use crate::platform::Platform;
use isa::{AddressMode, Image, Sampler, Shape};

const SRGB: u32 = 0x10;
const SEAMLESS_CUBEMAP: u32 = 0x40;

impl Images {
    /// The image of a resource without sampling, and the device that has it.
    pub(super) fn image_of(&self, resource: &Resource) -> Result<Image> {
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

    /// Creates a texture object, or with no `sampling` a surface object. `said` is returned by queries.
    ///
    /// # Errors
    /// The description is impossible or not supported, or there is no context.
    pub fn texture_create(
        &mut self,
        platform: &mut Platform,
        resource: &Resource,
        sampling: Option<&Sampling>,
        view: Option<&View>,
        said: [Vec<u8>; 3],
    ) -> Result<u64> {
        let (context, device) = platform.place_here()?;
        let mut image = self.image_of(resource)?;
        if let Some(view) = view {
            let seen = view.of(&image)?;
            image = seen.ok_or_else(|| platform.unsupported("a view of levels, or in a compressed format"))?;
        }
        match sampling {
            Some(sampling) => image.sampler = Some(sampler(sampling, &image)?),
            None if !matches!(resource, Resource::Array(_)) => return Err(Error::INVALID_VALUE),
            None => {}
        }
        self.remove_destroyed(platform, device);
        let object = add_image(platform, device, image)?;
        self.textures.insert((device, object), Texture { context, is_surface: sampling.is_none(), said });
        Ok(object)
    }

    /// The images of objects that are gone can be removed when nothing runs that may read them.
    fn remove_destroyed(&mut self, platform: &mut Platform, device: usize) {
        if let Some(timeline) = &mut platform.devices[device].timeline
            && timeline.pending() == 0
        {
            for object in std::mem::take(&mut self.devices[device].destroyed) {
                timeline.device.shared_state().remove_image(object);
            }
        }
    }

    /// A texture or surface object of the current context's device.
    ///
    /// # Errors
    /// The handle is not one of this kind, or there is no context.
    pub fn texture(&self, platform: &Platform, object: u64, is_surface: bool) -> Result<&Texture> {
        let device = platform.device_here()?;
        let found = self.textures.get(&(device, object)).filter(|texture| texture.is_surface == is_surface);
        found.ok_or(Error::INVALID_VALUE)
    }

    /// Destroys a texture or surface object.
    ///
    /// # Errors
    /// As [`Images::texture`].
    pub fn texture_destroy(&mut self, platform: &Platform, object: u64, is_surface: bool) -> Result<()> {
        let device = platform.device_here()?;
        self.texture(platform, object, is_surface)?;
        self.textures.remove(&(device, object));
        self.devices[device].destroyed.push(object);
        Ok(())
    }
}

/// How the texels of `image` are read.
///
/// # Errors
/// A number has no meaning.
pub(super) fn sampler(sampling: &Sampling, image: &Image) -> Result<Sampler> {
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
        // For integers, programs give the bits of the value.
        border: sampling.border.map(f32::to_bits),
    })
}

fn add_image(platform: &mut Platform, device: usize, image: Image) -> Result<u64> {
    let added = platform.timeline(device)?.device.shared_state().add_image(image);
    added.map_err(|problem| {
        platform.host.message(&format!("a texture or surface cannot be made: {problem}"));
        Error::INVALID_VALUE
    })
}

fn image(shape: Shape, base: u64, format: u32, channels: u32) -> Result<Image> {
    if !matches!(channels, 1 | 2 | 4) {
        return Err(Error::INVALID_VALUE);
    }
    let channel = channel_of(format)?;
    Ok(Image { base, shape, size: [1; 3], pitch: 0, channel, channels: channels as u8, sampler: None })
}
