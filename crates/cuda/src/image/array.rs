//! Arrays: memory for textures and surfaces, stored row by row.

use crate::driver::Driver;
use crate::error::{Error, Result};
use crate::image::objects::{Array, ArrayDescriptor, bytes_of};
use isa::Image;

/// Rows begin at multiples of these bytes.
const ROW_ALIGNMENT: u64 = 64;

impl Driver {
    /// Creates an array.
    ///
    /// # Errors
    /// The description is impossible or not supported, there is no context, or not enough memory.
    pub fn array_create(&mut self, descriptor: ArrayDescriptor) -> Result<u64> {
        let array = self.array_new(descriptor)?;
        Ok(self.arrays.add(array))
    }

    fn array_new(&mut self, descriptor: ArrayDescriptor) -> Result<Array> {
        let (context, device) = self.platform.place_here()?;
        let (shape, size, channel) = descriptor.image()?;
        let channels = descriptor.channels as u8;
        let mut image = Image { base: 0, shape, size, pitch: 0, channel, channels, sampler: None };
        image.pitch = image.row_bytes().next_multiple_of(ROW_ALIGNMENT);
        let bytes = bytes_of(&image);
        image.base = self.memory.take_room(&mut self.platform, device, "array", bytes)?;
        Ok(Array { context, device, descriptor, image, is_level: false })
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
    pub fn array_destroy(&mut self, array: u64) -> Result<()> {
        if self.arrays.get(array)?.is_level {
            return Err(Error::INVALID_HANDLE);
        }
        let array = self.arrays.remove(array)?;
        self.array_free(&array);
        Ok(())
    }

    fn array_free(&mut self, array: &Array) {
        self.memory.give_room(&mut self.platform, array.device, array.image.base, array.bytes());
    }

    /// Creates a mipmapped array. Only those with one level are supported.
    ///
    /// # Errors
    /// As [`Driver::array_create`].
    pub fn mipmapped_create(&mut self, descriptor: ArrayDescriptor, levels: u32) -> Result<u64> {
        let largest = descriptor.width.max(descriptor.height);
        match levels {
            0 => return Err(Error::INVALID_VALUE),
            // More levels than there can be are those that there can be.
            1 => {}
            _ if largest <= 1 => {}
            _ => return Err(Error::NOT_SUPPORTED),
        }
        let mut array = self.array_new(descriptor)?;
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
    pub fn mipmapped_destroy(&mut self, mipmapped: u64) -> Result<()> {
        let array = self.mipmapped.remove(mipmapped)?;
        let array = self.arrays.remove(array)?;
        self.array_free(&array);
        Ok(())
    }

    /// Removes the arrays, textures, surfaces and references of a context.
    pub(crate) fn release_images(&mut self, context: u64) {
        let of_context: Vec<Array> = self.arrays.iter().map(|(_, a)| *a).filter(|a| a.context == context).collect();
        for array in of_context {
            self.array_free(&array);
        }
        self.arrays.retain(|array| array.context != context);
        let gone: Vec<u64> =
            self.mipmapped.iter().filter(|(_, array)| self.arrays.get(**array).is_err()).map(|(m, _)| m).collect();
        for mipmapped in gone {
            let _ = self.mipmapped.remove(mipmapped);
        }
        let Self { textures, platform, .. } = self;
        textures.retain(|&(device, object), texture| {
            let stays = texture.context != context;
            if !stays {
                platform.devices[device].destroyed_images.push(object);
            }
            stays
        });
        self.references.retain(|reference| reference.context != context);
    }
}
