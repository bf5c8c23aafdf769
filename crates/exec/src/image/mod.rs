//! Textures and surfaces: images that kernels address by handles.
//!
//! A handle is the 64-bit value that CUDA calls a texture or surface object. Machine code uses its low
//! 32 bits only.
//!
//! 1. All images are stored row by row, also CUDA arrays. Hardware tiles those in a layout that is not
//!    published.
//! 2. Images have one level of detail; instructions that ask for another one read it.
//! 3. Linear filtering adds in double precision and rounds once. NVIDIA publishes the precision of the
//!    weights only.
//! 4. A layer number beyond the last layer means the last layer.
//! 5. The direction of a read of a cube map chooses the face and the place on it as the CUDA C++ Programming
//!    Guide's table says. Of equal components z is chosen before y, and y before x. Linear filtering stays
//!    within a face unless the sampler is seamless; then the corner of the cube, which has three texels, has
//!    their mean as the fourth one.
//! 6. A texel at integer coordinates outside the image is zero, as CUDA documents for `tex1Dfetch`.
//! 7. A two-dimensional instruction may read a one-dimensional texture and ignores y: the assembler turns
//!    `tex.1d` into that.
//! 8. For timing each lane touches two texels: the one that it reads and, with linear filtering, the one
//!    diagonally opposite, which represents both rows, or slices, and both sectors of a row. A lane that reads
//!    outside the image touches the nearest texel.
//! 9. Reads through textures see memory as it was when the window began ([`isa::WarpStream`]), without stores of
//!    the same SM since: what a kernel reads through a texture that it writes itself is undefined in CUDA.

mod cube;
mod fetch;
mod sample;
mod surface;

pub use fetch::{Fetch, FetchKind, Query, QueryKind};
pub use surface::{Outside, SurfaceAccess};

use crate::memory::DeviceMemory;
use isa::{AddressMode, Channel, Image, Shape};
use kit::persist::{Archive, Fresh, Mismatch, Persist};

/// The reason why an image cannot be created.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ImageError(String);

/// A texture or surface reference: a name at file scope that the host binds to an image
/// ([`crate::DeviceState::bind`]).
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct ImageReference {
    pub name: String,
    /// It is for textures; otherwise for surfaces.
    pub texture: bool,
    /// Device address of the 64-bit handle of the image. Launches read it when they are made.
    pub address: u64,
}

impl ImageReference {
    /// Size of a handle in device memory.
    pub const BYTES: u64 = 8;
}

/// The images of a device, by handle.
#[derive(Clone, Debug, Default)]
pub struct Images(Vec<Slot>);

/// Object that a handle names.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Slot {
    Image(Image),
    /// No image: kind and name of a reference that is not bound.
    Unbound(&'static str, String),
    /// Nothing: the image is gone.
    Free,
}

const fn kind(texture: bool) -> &'static str {
    if texture { "texture" } else { "surface" }
}

impl Images {
    /// Registers `image` and returns its handle. Handles are small and never 0.
    ///
    /// # Errors
    /// If the description is impossible, or the memory is not allocated.
    pub fn add(&mut self, image: Image, memory: &DeviceMemory) -> Result<u64, ImageError> {
        check(&image, memory).map_err(ImageError)?;
        Ok(self.push(Slot::Image(image)))
    }

    /// The handle of a reference that is not bound.
    pub(crate) fn unbound(&mut self, reference: &ImageReference) -> u64 {
        let slot = Slot::Unbound(kind(reference.texture), reference.name.clone());
        let known = self.0.iter().position(|known| *known == slot);
        known.map_or_else(|| self.push(slot), |index| index as u64 + 1)
    }

    fn push(&mut self, slot: Slot) -> u64 {
        if let Some(free) = self.0.iter().position(|known| *known == Slot::Free) {
            self.0[free] = slot;
            return free as u64 + 1;
        }
        self.0.push(slot);
        self.0.len() as u64
    }

    /// Removes the image of `handle`; a later image may get the handle. Returns false if there is no such image.
    pub fn remove(&mut self, handle: u64) -> bool {
        let index = usize::try_from(handle).ok().and_then(|n| n.checked_sub(1));
        match index.and_then(|index| self.0.get_mut(index)) {
            Some(slot @ Slot::Image(_)) => {
                *slot = Slot::Free;
                true
            }
            _ => false,
        }
    }

    /// The image of `handle`; messages call it `wanted`.
    fn get(&self, handle: u64, wanted: &str) -> Result<&Image, String> {
        let index = usize::try_from(handle).ok().and_then(|n| n.checked_sub(1));
        match index.and_then(|index| self.0.get(index)) {
            Some(Slot::Image(image)) => Ok(image),
            Some(Slot::Unbound(kind, name)) => {
                Err(format!("{kind} reference `{name}` is not bound: the host must bind it before the launch"))
            }
            Some(Slot::Free) | None => Err(format!("{handle:#x} names no {wanted}")),
        }
    }

    /// The image of `handle`, a texture or a surface, for an instruction with coordinates of `shape`;
    /// otherwise a description of the problem.
    pub(crate) fn find(&self, handle: u64, texture: bool, shape: Shape) -> Result<&Image, String> {
        let wanted = kind(texture);
        let image = self.get(handle, wanted)?;
        let found = image.sampler.is_some();
        if found != texture {
            return Err(format!("{handle:#x} names a {}, not a {wanted}", kind(found)));
        }
        // Surfaces have the faces of cube maps as layers.
        let alike = match (image.shape, shape) {
            (Shape::D1, Shape::D2) => true,
            (Shape::Cube | Shape::LayeredCube, Shape::Layered2) => !texture,
            (found, asked) => found == asked,
        };
        if !alike {
            let (found, asked) = (image.shape.name(), shape.name());
            return Err(format!("{wanted} {handle:#x} is {found}; the instruction is for {asked}"));
        }
        Ok(image)
    }

    /// The image of `handle`, of any kind.
    pub(crate) fn any(&self, handle: u64) -> Result<&Image, String> {
        self.get(handle, "texture or surface")
    }
}

/// Maximum width, height and depth of an image in CUDA, in any shape (a linear buffer has the largest width).
const MOST: [u32; 3] = [1 << 28, 1 << 17, 1 << 15];

fn check(image: &Image, memory: &DeviceMemory) -> Result<(), String> {
    let &Image { base, shape, size, pitch, channel, channels, sampler } = image;
    if !matches!(channels, 1 | 2 | 4) {
        return Err(format!("a texel has 1, 2 or 4 channels, not {channels}"));
    }
    for ((name, n), most) in ["width", "height", "depth"].into_iter().zip(size).zip(MOST) {
        if n == 0 || n > most {
            return Err(format!("an image's {name} is from 1 to {most}, not {n}"));
        }
    }
    let [w, h, d] = size;
    let is_cube = w == h && d.is_multiple_of(6) && (d == 6 || shape.is_layered());
    let misses_faces = shape.is_cube() && !is_cube;
    if shape.axes() < 2 && h != 1 || shape.axes() < 3 && !shape.is_sliced() && d != 1 || misses_faces {
        return Err(format!("an image of {w} x {h} x {d} texels is not {}", shape.name()));
    }
    let texel = u64::from(image.texel_bytes());
    if !base.is_multiple_of(texel) || !pitch.is_multiple_of(texel) {
        return Err(format!("base {base:#x} and pitch {pitch} must be multiples of the texel's {texel} bytes"));
    }
    if pitch < image.row_bytes() {
        return Err(format!(
            "a pitch of {} is less than a row's {}",
            kit::text::counted(pitch, "byte"),
            image.row_bytes()
        ));
    }
    let bytes = image.bytes().ok_or("an image larger than memory")?;
    if memory.allocation_of(base).is_none_or(|a| bytes > a.end() - base) {
        let bytes = kit::text::counted(bytes, "byte");
        return Err(format!("an image of {bytes} at {base:#x} is not within a buffer"));
    }
    let Some(sampler) = sampler else { return Ok(()) };
    if sampler.as_float && (channel.is_float() || channel.bytes() == 4) {
        return Err("only integers of 8 or 16 bits can be read as numbers from 0 or -1 to 1".into());
    }
    if sampler.linear && !channel.is_float() && !sampler.as_float {
        return Err("linear filtering needs floating point, or integers read as such".into());
    }
    Ok(())
}

/// Behaviour of an axis outside the image.
pub(crate) fn mode_of(image: &Image, axis: usize) -> AddressMode {
    let sampler = image.sampler.unwrap_or_default();
    if image.shape.is_cube() {
        return AddressMode::Clamp;
    }
    match sampler.address[axis] {
        AddressMode::Wrap | AddressMode::Mirror if !sampler.normalised => AddressMode::Clamp,
        mode => mode,
    }
}

/// The 32-bit value of a channel in `bytes`: extended, or as a single-precision number.
fn value(channel: Channel, bytes: &[u8], as_float: bool) -> u32 {
    let half = || u16::from_le_bytes([bytes[0], bytes[1]]);
    let part = |x: i32, most: i32| ((f64::from(x) / f64::from(most)).max(-1.0) as f32).to_bits();
    match (channel, as_float) {
        (Channel::U8, false) => bytes[0].into(),
        (Channel::U8, true) => part(bytes[0].into(), 255),
        (Channel::S8, false) => bytes[0] as i8 as u32,
        (Channel::S8, true) => part((bytes[0] as i8).into(), 127),
        (Channel::U16, false) => half().into(),
        (Channel::U16, true) => part(half().into(), 65_535),
        (Channel::S16, false) => half() as i16 as u32,
        (Channel::S16, true) => part((half() as i16).into(), 32_767),
        (Channel::F16, _) => (num::half::to_f64::<num::half::F16>(half()) as f32).to_bits(),
        (Channel::U32 | Channel::S32 | Channel::F32, _) => u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]),
    }
}

impl Persist for Slot {
    fn persist(&mut self, archive: &mut Archive) -> Result<(), Mismatch> {
        let mut kept = match std::mem::replace(self, Self::Free) {
            Self::Image(image) => Kept::Image(image),
            Self::Unbound(of, name) => Kept::Unbound(of == kind(true), name),
            Self::Free => Kept::Free,
        };
        kept.persist(archive)?;
        *self = match kept {
            Kept::Image(image) => Self::Image(image),
            Kept::Unbound(texture, name) => Self::Unbound(kind(texture), name),
            Kept::Free => Self::Free,
        };
        Ok(())
    }
}

impl Fresh for Slot {
    fn fresh() -> Self {
        Self::Free
    }
}

/// A [`Slot`] as archives have it.
enum Kept {
    Image(Image),
    Unbound(bool, String),
    Free,
}

kit::persist! {
    new id Images;
    enum Kept { Image(image) = 0, Unbound(texture, name) = 1, Free = 2 }
}
