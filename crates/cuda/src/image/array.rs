//! Arrays: memory for textures and surfaces, stored row by row.

use crate::error::{Error, Result};
use crate::image::Images;
use crate::image::objects::{Array, ArrayDescriptor, bytes_of};
use crate::memory::Memory;
use crate::platform::Platform;
use isa::Image;

/// Rows begin at multiples of these bytes.
const ROW_ALIGNMENT: u64 = 64;

impl Images {
    /// Creates an array.
    ///
    /// # Errors
    /// The description is impossible or not supported, there is no context, or not enough memory.
    pub fn array_create(
        &mut self,
        platform: &mut Platform,
        memory: &mut Memory,
        descriptor: ArrayDescriptor,
    ) -> Result<u64> {
        let array = array_new(platform, memory, descriptor)?;
        Ok(self.arrays.add(array))
    }

    /// An array.
    ///
    /// # Errors
    /// The handle is invalid.
    pub fn array(&self, array: u64) -> Result<&Array> {
        self.arrays.get(array)
    }

    /// Destroys an array that nothing uses any more.
    ///
    /// # Errors
    /// The handle is invalid, or the array belongs to a mipmapped array.
    pub fn array_destroy(&mut self, platform: &mut Platform, memory: &mut Memory, array: u64) -> Result<()> {
        if self.arrays.get(array)?.is_level {
            return Err(Error::INVALID_HANDLE);
        }
        let array = self.arrays.remove(array)?;
        array_free(platform, memory, &array);
        Ok(())
    }

    /// Creates a mipmapped array. Only those with one level are supported.
    ///
    /// # Errors
    /// As [`Images::array_create`].
    pub fn mipmapped_create(
        &mut self,
        platform: &mut Platform,
        memory: &mut Memory,
        descriptor: ArrayDescriptor,
        levels: u32,
    ) -> Result<u64> {
        let largest = descriptor.width.max(descriptor.height);
        match levels {
            0 => return Err(Error::INVALID_VALUE),
            // More levels than there can be are those that there can be.
            1 => {}
            _ if largest <= 1 => {}
            _ => return Err(Error::NOT_SUPPORTED),
        }
        let mut array = array_new(platform, memory, descriptor)?;
        array.is_level = true;
        let array = self.arrays.add(array);
        Ok(self.mipmapped.add(array))
    }

    /// The array of a level of a mipmapped array.
    ///
    /// # Errors
    /// There is no such mipmapped array or level.
    pub fn mipmapped_level(&self, mipmapped: u64, level: u32) -> Result<u64> {
        let array = *self.mipmapped.get(mipmapped)?;
        if level == 0 { Ok(array) } else { Err(Error::INVALID_VALUE) }
    }

    /// Destroys a mipmapped array with its level.
    ///
    /// # Errors
    /// The handle is invalid.
    pub fn mipmapped_destroy(&mut self, platform: &mut Platform, memory: &mut Memory, mipmapped: u64) -> Result<()> {
        let array = self.mipmapped.remove(mipmapped)?;
        let array = self.arrays.remove(array)?;
        array_free(platform, memory, &array);
        Ok(())
    }

    /// Removes the arrays, textures, surfaces and references of a context.
    pub(crate) fn release_context(&mut self, platform: &mut Platform, memory: &mut Memory, context: u64) {
        let of_context: Vec<Array> = self.arrays.iter().map(|(_, a)| *a).filter(|a| a.context == context).collect();
        for array in of_context {
            array_free(platform, memory, &array);
        }
        self.arrays.retain(|array| array.context != context);
        let gone: Vec<u64> =
            self.mipmapped.iter().filter(|(_, array)| self.arrays.get(**array).is_err()).map(|(m, _)| m).collect();
        for mipmapped in gone {
            let _ = self.mipmapped.remove(mipmapped);
        }
        let Self { textures, devices, .. } = self;
        textures.retain(|&(device, object), texture| {
            let stays = texture.context != context;
            if !stays {
                devices[device].destroyed.push(object);
            }
            stays
        });
        self.references.retain(|reference| reference.context != context);
    }
}

fn array_free(platform: &mut Platform, memory: &mut Memory, array: &Array) {
    memory.give_room(platform, array.device, array.image.base, array.bytes());
}

fn array_new(platform: &mut Platform, memory: &mut Memory, descriptor: ArrayDescriptor) -> Result<Array> {
    let (context, device) = platform.place_here()?;
    let (shape, size, channel) = descriptor.image()?;
    let channels = descriptor.channels as u8;
    let mut image = Image { base: 0, shape, size, pitch: 0, channel, channels, sampler: None };
    image.pitch = image.row_bytes().next_multiple_of(ROW_ALIGNMENT);
    let bytes = bytes_of(&image);
    image.base = memory.take_room(platform, device, "array", bytes)?;
    Ok(Array { context, device, descriptor, image, is_level: false })
}
