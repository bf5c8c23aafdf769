//! Arrays: memory for textures and surfaces, stored row by row.

use crate::copy::{Place3d, Said};
use crate::driver::Driver;
use crate::error::{Error, Result};
use isa::{Channel, Image, Shape};

/// What a program asks for (`CUDA_ARRAY3D_DESCRIPTOR`): sizes in elements, 0 for dimensions that are missing.
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

/// Rows begin at multiples of these bytes.
const ROW_ALIGNMENT: u64 = 64;
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
/// It is no format, or not supported.
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
    fn image(&self) -> Result<(Shape, [u32; 3], Channel)> {
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

fn bytes_of(image: &Image) -> u64 {
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
        let (context, device) = self.context_here().map(|(handle, c)| (handle, c.device))?;
        let (shape, size, channel) = descriptor.image()?;
        let channels = descriptor.channels as u8;
        let mut image = Image { base: 0, shape, size, pitch: 0, channel, channels, sampler: None };
        image.pitch = image.row_bytes().next_multiple_of(ROW_ALIGNMENT);
        let bytes = bytes_of(&image);
        self.check_room(device, bytes)?;
        let memory = self.timeline(device)?.device.memory();
        image.base = memory.allocate("array", bytes).map_err(|_| Error::OUT_OF_MEMORY)?;
        self.devices[device].allocated += bytes;
        Ok(Array { context, device, descriptor, image, is_level: false })
    }

    /// An array.
    ///
    /// # Errors
    /// It is none.
    pub fn array(&self, array: u64) -> Result<&Array> {
        self.arrays.get(array)
    }

    /// Destroys an array that nothing uses any more.
    ///
    /// # Errors
    /// It is none, or belongs to a mipmapped array.
    pub fn array_destroy(&mut self, array: u64) -> Result<()> {
        if self.arrays.get(array)?.is_level {
            return Err(Error::INVALID_HANDLE);
        }
        let array = self.arrays.remove(array)?;
        self.array_free(&array);
        Ok(())
    }

    fn array_free(&mut self, array: &Array) {
        self.devices[array.device].allocated -= array.bytes();
        if let Some(timeline) = &mut self.devices[array.device].timeline {
            let _ = timeline.device.memory().free(array.image.base);
        }
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
    /// It is none.
    pub fn mipmapped_destroy(&mut self, mipmapped: u64) -> Result<()> {
        let array = self.mipmapped.remove(mipmapped)?;
        let array = self.arrays.remove(array)?;
        self.array_free(&array);
        Ok(())
    }

    /// The arrays, textures and surfaces of a context are gone.
    pub(crate) fn release_arrays(&mut self, context: u64) {
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
        self.textures.retain(|_, texture| texture.context != context);
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

    #[test]
    fn boxes_are_within_the_array() {
        let image = Image {
            base: 0x1000,
            shape: Shape::D3,
            size: [10, 4, 2],
            pitch: 64,
            channel: Channel::F32,
            channels: 1,
            sampler: None,
        };
        let array = Array { context: 0, device: 0, descriptor: ArrayDescriptor::default(), image, is_level: false };
        let place = array.place([8, 1, 1], [32, 3, 1]).unwrap();
        assert_eq!((place.address, place.pitch, place.slice), (0x1000 + (4 + 1) * 64 + 8, 64, 256));
        for (at, size) in
            [([12, 0, 0], [32, 1, 1]), ([0, 4, 0], [4, 1, 1]), ([0, 0, 1], [4, 1, 2]), ([u64::MAX, 0, 0], [4, 1, 1])]
        {
            assert_eq!(array.place(at, size), Err(Error::INVALID_VALUE));
        }
    }
}
