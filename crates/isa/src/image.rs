//! Images: memory that kernels access as a grid of texels, through textures and surfaces.

/// Type of one channel of a texel.
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
    /// Size in memory.
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

/// Dimensions of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// Coordinate x.
    D1,
    /// Coordinates x, y.
    D2,
    /// Coordinates x, y, z.
    D3,
    /// Layers with coordinate x.
    Layered1,
    /// Layers with coordinates x, y.
    Layered2,
    /// Six square faces, chosen by the direction x, y, z.
    Cube,
    /// Layers of six square faces with a direction x, y, z.
    LayeredCube,
}

impl Shape {
    /// Number of coordinates within a layer.
    pub const fn dimensions(self) -> usize {
        match self {
            Shape::D1 | Shape::Layered1 => 1,
            Shape::D2 | Shape::Layered2 => 2,
            Shape::D3 | Shape::Cube | Shape::LayeredCube => 3,
        }
    }

    /// Number of axes along which texels are next to each other.
    pub const fn axes(self) -> usize {
        if self.is_cube() { 2 } else { self.dimensions() }
    }

    /// Whether it is of cube maps.
    pub const fn is_cube(self) -> bool {
        matches!(self, Shape::Cube | Shape::LayeredCube)
    }

    /// Whether it has slices that are not an axis: layers or faces.
    pub const fn is_sliced(self) -> bool {
        self.is_layered() || self.is_cube()
    }

    /// Whether it has a coordinate for the layer.
    pub const fn is_layered(self) -> bool {
        matches!(self, Shape::Layered1 | Shape::Layered2 | Shape::LayeredCube)
    }

    /// Number of coordinates, including the layer.
    pub const fn coordinates(self) -> usize {
        self.dimensions() + self.is_layered() as usize
    }

    /// The name in CUDA's terms.
    pub const fn name(self) -> &'static str {
        match self {
            Shape::D1 => "1D",
            Shape::D2 => "2D",
            Shape::D3 => "3D",
            Shape::Layered1 => "1D layered",
            Shape::Layered2 => "2D layered",
            Shape::Cube => "a cube map",
            Shape::LayeredCube => "layered cube maps",
        }
    }
}

/// Value of a read outside the image along one axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AddressMode {
    /// The image repeated; only with normalised coordinates, otherwise as `Clamp`.
    Wrap,
    /// The texel at the edge.
    #[default]
    Clamp,
    /// The image mirrored; only with normalised coordinates, otherwise as `Clamp`.
    Mirror,
    /// The border colour.
    Border,
}

/// How a texture is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sampler {
    /// Behaviour outside the image for x, y and z.
    pub address: [AddressMode; 3],
    /// Blends the texels around a position instead of reading the one that contains it.
    pub linear: bool,
    /// Coordinates are 0 to 1 instead of 0 to the image's size.
    pub normalised: bool,
    /// Integers of 8 and 16 bits are read as numbers from 0 or -1 to 1.
    pub as_float: bool,
    /// The first three channels, of 8 bits and read as numbers, are converted from sRGB.
    pub srgb: bool,
    /// Linear filtering blends texels of adjacent faces of a cube map.
    pub seamless: bool,
    /// The channels outside the image, as reads return them.
    pub border: [u32; 4],
}

/// Memory as a grid of texels. Rows are `pitch` bytes apart; slices and layers follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Image {
    /// Device address of the first texel.
    pub base: u64,
    pub shape: Shape,
    /// Width, height, and depth or number of layers or faces; 1 for missing dimensions.
    pub size: [u32; 3],
    /// Bytes from one row to the next.
    pub pitch: u64,
    pub channel: Channel,
    /// Number of channels: 1, 2 or 4.
    pub channels: u8,
    /// Sampling of a texture; `None` for a surface.
    pub sampler: Option<Sampler>,
}

impl Image {
    /// Bytes of a texel.
    pub const fn texel_bytes(&self) -> u32 {
        self.channel.bytes() * self.channels as u32
    }

    /// Bytes of a row without the gap after it.
    pub const fn row_bytes(&self) -> u64 {
        self.size[0] as u64 * self.texel_bytes() as u64
    }

    /// Bytes from the first texel to the end of the last; `None` if the end exceeds the address space.
    pub fn bytes(&self) -> Option<u64> {
        let rows = u64::from(self.size[1]) * u64::from(self.size[2]);
        rows.checked_sub(1)?.checked_mul(self.pitch)?.checked_add(self.row_bytes())
    }

    /// Address of byte `x` in a row of a slice or layer.
    pub const fn address(&self, x: u64, row: u32, slice: u32) -> u64 {
        self.base + (slice as u64 * self.size[1] as u64 + row as u64) * self.pitch + x
    }
}

kit::persist! {
    enum Channel { U8 = 0, S8 = 1, U16 = 2, S16 = 3, U32 = 4, S32 = 5, F16 = 6, F32 = 7 }
    enum Shape { D1 = 0, D2 = 1, D3 = 2, Layered1 = 3, Layered2 = 4, Cube = 5, LayeredCube = 6 }
    enum AddressMode { Wrap = 0, Clamp = 1, Mirror = 2, Border = 3 }
    new struct Sampler { address, linear, normalised, as_float, srgb, seamless, border }
    new struct Image { base, shape, size, pitch, channel, channels, sampler }
}
