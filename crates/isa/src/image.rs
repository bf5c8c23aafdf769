//! Images: memory that kernels see as a grid of texels, through textures and surfaces.

/// What one channel of a texel holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Channel {
    U8,
    S8,
    U16,
    S16,
    U32,
    S32,
    F16,
    F32,
}

impl Channel {
    /// Size.
    pub const fn bytes(self) -> u32 {
        match self {
            Channel::U8 | Channel::S8 => 1,
            Channel::U16 | Channel::S16 | Channel::F16 => 2,
            Channel::U32 | Channel::S32 | Channel::F32 => 4,
        }
    }

    /// It is a floating-point number.
    pub const fn is_float(self) -> bool {
        matches!(self, Channel::F16 | Channel::F32)
    }
}

/// Which coordinates an image has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// x.
    D1,
    /// x, y.
    D2,
    /// x, y, z.
    D3,
    /// Layers of x.
    Layered1,
    /// Layers of x, y.
    Layered2,
}

impl Shape {
    /// Coordinates within a layer.
    pub const fn dimensions(self) -> usize {
        match self {
            Shape::D1 | Shape::Layered1 => 1,
            Shape::D2 | Shape::Layered2 => 2,
            Shape::D3 => 3,
        }
    }

    /// It has layers.
    pub const fn is_layered(self) -> bool {
        matches!(self, Shape::Layered1 | Shape::Layered2)
    }

    /// Coordinates, the layer among them.
    pub const fn coordinates(self) -> usize {
        self.dimensions() + self.is_layered() as usize
    }

    /// As CUDA calls it.
    pub const fn name(self) -> &'static str {
        match self {
            Shape::D1 => "1D",
            Shape::D2 => "2D",
            Shape::D3 => "3D",
            Shape::Layered1 => "1D layered",
            Shape::Layered2 => "2D layered",
        }
    }
}

/// What is read outside the image, along one axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AddressMode {
    /// The image again; only with normalised coordinates, else as `Clamp`.
    Wrap,
    /// The texel at the edge.
    #[default]
    Clamp,
    /// The image mirrored; only with normalised coordinates, else as `Clamp`.
    Mirror,
    /// Zero.
    Border,
}

/// How a texture is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sampler {
    /// For x, y and z.
    pub address: [AddressMode; 3],
    /// Blends the texels around a place, instead of taking the one it lies in.
    pub linear: bool,
    /// Coordinates go from 0 to 1 instead of to the image's size.
    pub normalised: bool,
    /// Integers of 8 and 16 bits are read as numbers from 0 or -1 to 1.
    pub as_float: bool,
}

/// Memory as a grid of texels. Rows lie `pitch` bytes apart, slices and layers one behind the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Image {
    /// Device address of the first texel.
    pub base: u64,
    /// Which coordinates it has.
    pub shape: Shape,
    /// Width, height, and depth or layers; 1 where there are none.
    pub size: [u32; 3],
    /// Bytes from a row to the next.
    pub pitch: u64,
    /// What a channel holds.
    pub channel: Channel,
    /// 1, 2 or 4.
    pub channels: u8,
    /// How it is read, of a texture; none of a surface.
    pub sampler: Option<Sampler>,
}

impl Image {
    /// Bytes of a texel.
    pub const fn texel_bytes(&self) -> u32 {
        self.channel.bytes() * self.channels as u32
    }

    /// Bytes of a row without what lies between rows.
    pub const fn row_bytes(&self) -> u64 {
        self.size[0] as u64 * self.texel_bytes() as u64
    }

    /// Bytes from the first texel to the end of the last; `None` if that is no address.
    pub fn bytes(&self) -> Option<u64> {
        let rows = u64::from(self.size[1]) * u64::from(self.size[2]);
        rows.checked_sub(1)?.checked_mul(self.pitch)?.checked_add(self.row_bytes())
    }

    /// Address of what lies `x` bytes into a row of a slice or layer.
    pub const fn address(&self, x: u64, row: u32, slice: u32) -> u64 {
        self.base + (slice as u64 * self.size[1] as u64 + row as u64) * self.pitch + x
    }
}
