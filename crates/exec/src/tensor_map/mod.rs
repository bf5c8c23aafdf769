//! Descriptions of tensors for the copy engine: 128 bytes, which programs make by `cuTensorMapEncodeTiled` and others
//! and patch by `tensormap.replace`.
//!
//! NVIDIA documents the meaning but not the bytes. This layout is what ptxas assumes where it turns
//! `tensormap.replace` into stores, and for the rest what others have found by encoding maps with NVIDIA's driver. By
//! words of 32 bits:
//!
//! | word | content |
//! | --- | --- |
//! | 0, 1 | global address |
//! | 2 | bit 0 im2col; 4 to 6 rank - 1; 7 to 10 element type; 11, 12 interleave; 13, 14 swizzle; 15 NaN fill; 16 tf32; 17, 18 L2 promotion; 19, 20 newer swizzles; 21 the tensor has 65,536 elements or more, or the box of an interleaved one as many bytes |
//! | 3 to 6 | stride of dimension 1, 2 …, divided by 16 |
//! | 7 | bits 32 to 35 of these, four bits each |
//! | 8 to 12 | sizes - 1 |
//! | 13 | element strides - 1, three bits each; bits 24 to 31 box of dimension 0, or channels of a pixel, - 1 |
//! | 14 | boxes of dimensions 1 to 4 - 1, a byte each; of im2col, the corners of the bounding box (their order is a choice) |
//! | 15 | of im2col, pixels - 1 |
//! | 16 | bytes of the box |
//! | 18 | 0x10, 0x100, 0x200 or 0x400 by swizzle |
//!
//! An interleaved tensor has its channels (dimension 0) in slices of 16 or 32 bytes. The slices are a dimension between
//! the last two: NC/8HWC8 and NC/16HWC16 for types of 2 bytes. The distance of two is the stride of the dimension
//! before the last but one, times the size of that one.
//!
//! NaN fill is 0x7ff7 in each 16 bits, whatever the type, as the Ventus project's tests of tensor copies found on an H100.
//!
//! Guesses, neither published nor measured:
//! 1. With a swizzle, rows in shared memory are as far apart as the swizzle is wide, also if they are shorter.
//! 2. The type tf32 rounds to nearest, ties away from zero; types with flush make subnormal numbers zero.
//! 3. An element stride `s` of a box of `n` takes `n / s` elements, rounded up; for dimension 0 it has no effect.
//! 4. A box of an interleaved tensor has whole slices, without gaps in shared memory, in the order of the tensor; of
//!    im2col, all pixels of a slice before the next slice. Its first channel is the first of a slice.

mod walk;

pub(crate) use walk::{Place, Row};

/// Bytes of a map, and of the alignment of its address.
pub const BYTES: usize = 128;
/// Alignment of its address.
pub const ALIGNMENT: u64 = 64;
/// Words of a map.
pub const WORDS: usize = BYTES / 4;
/// The maximum number of dimensions.
pub const MOST_DIMENSIONS: usize = 5;

/// Type of the elements, in the order of CUDA's `CUtensorMapDataType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
#[repr(u8)]
pub enum Element {
    U8,
    U16,
    U32,
    S32,
    U64,
    S64,
    F16,
    F32,
    F64,
    Bf16,
    F32Ftz,
    Tf32,
    Tf32Ftz,
}

impl Element {
    /// All, in the order of CUDA's numbers.
    pub const ALL: [Self; 13] = [
        Self::U8,
        Self::U16,
        Self::U32,
        Self::S32,
        Self::U64,
        Self::S64,
        Self::F16,
        Self::F32,
        Self::F64,
        Self::Bf16,
        Self::F32Ftz,
        Self::Tf32,
        Self::Tf32Ftz,
    ];

    /// Size in bytes.
    pub const fn bytes(self) -> u32 {
        match self {
            Self::U8 => 1,
            Self::U16 | Self::F16 | Self::Bf16 => 2,
            Self::U64 | Self::S64 | Self::F64 => 8,
            _ => 4,
        }
    }

    /// Whether it is a floating-point type.
    pub const fn is_float(self) -> bool {
        !matches!(self, Self::U8 | Self::U16 | Self::U32 | Self::S32 | Self::U64 | Self::S64)
    }

    /// The number in a map, and whether it is a variant for tf32.
    const fn code(self) -> (u32, bool) {
        match self {
            Self::U8 => (0, false),
            Self::U16 => (1, false),
            Self::U32 => (2, false),
            Self::S32 => (3, false),
            Self::U64 => (4, false),
            Self::S64 => (5, false),
            Self::F16 => (6, false),
            Self::F32 => (7, false),
            Self::F32Ftz => (8, false),
            Self::F64 => (9, false),
            Self::Bf16 => (10, false),
            Self::Tf32 => (7, true),
            Self::Tf32Ftz => (8, true),
        }
    }
}

/// Slices of channels that are adjacent in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Interleave {
    #[default]
    None,
    Bytes16,
    Bytes32,
}

impl Interleave {
    /// All, in the order of CUDA's numbers.
    pub const ALL: [Self; 3] = [Self::None, Self::Bytes16, Self::Bytes32];

    /// Bytes of a slice; `None` if there are none.
    pub const fn slice(self) -> Option<u32> {
        match self {
            Self::None => None,
            Self::Bytes16 => Some(16),
            Self::Bytes32 => Some(32),
        }
    }

    /// Bytes of which the tensor's address and strides are multiples.
    pub const fn alignment(self) -> u64 {
        match self.slice() {
            Some(slice) => slice as u64,
            None => 16,
        }
    }
}

/// Order of units of 16 bytes in shared memory: the width within which it exchanges them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Swizzle {
    #[default]
    None,
    Bytes32,
    Bytes64,
    Bytes128,
}

impl Swizzle {
    /// All, in the order of CUDA's numbers.
    pub const ALL: [Self; 4] = [Self::None, Self::Bytes32, Self::Bytes64, Self::Bytes128];

    /// Its width in bytes; `None` if there is none.
    pub const fn span(self) -> Option<u32> {
        match self {
            Self::None => None,
            Self::Bytes32 => Some(32),
            Self::Bytes64 => Some(64),
            Self::Bytes128 => Some(128),
        }
    }

    /// The place in shared memory of the unit of 16 bytes that belongs at `address`.
    pub const fn place(self, address: u64) -> u64 {
        let bits = match self {
            Self::None => 0,
            Self::Bytes32 => 1,
            Self::Bytes64 => 3,
            Self::Bytes128 => 7,
        };
        address ^ (address >> 7 & bits) << 4
    }
}

/// The part of the tensor that a copy moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Shape {
    /// A box; of dimensions beyond the rank, 1.
    Tiled { size: [u32; MOST_DIMENSIONS] },
    /// Channels of a number of pixels, along the dimensions between the first and the last, within a bounding box: its
    /// corners relative to the first and the last pixel.
    Im2col { channels: u32, pixels: u32, lower: [i32; 3], upper: [i32; 3] },
}

/// A description of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub struct TensorMap {
    pub address: u64,
    pub element: Element,
    /// Dimensions: 1 to 5.
    pub rank: usize,
    /// Size of each dimension, up to 2^32; beyond the rank, 1.
    pub sizes: [u64; MOST_DIMENSIONS],
    /// Bytes from an element to the next along dimensions 1 to 4: multiples of 16 below 2^40.
    pub strides: [u64; MOST_DIMENSIONS - 1],
    pub element_strides: [u32; MOST_DIMENSIONS],
    pub shape: Shape,
    pub interleave: Interleave,
    pub swizzle: Swizzle,
    /// Bytes to which L2 reads are widened: none, 64, 128, 256 for 0 to 3. No effect here.
    pub promotion: u32,
    /// Elements outside the tensor are NaN instead of zero.
    pub fills_nan: bool,
}

/// Bits of a corner of the bounding box of im2col, by rank.
const fn corner_bits(rank: usize) -> u32 {
    match rank {
        3 => 16,
        4 => 8,
        _ => 5,
    }
}

impl TensorMap {
    /// Bytes of the elements of a copy along dimension 0.
    fn channel_bytes(&self) -> u32 {
        let count = match self.shape {
            Shape::Tiled { size } => size[0],
            Shape::Im2col { channels, .. } => channels,
        };
        count * self.element.bytes()
    }

    /// Bytes of a row: of what a copy takes along dimension 0, or of one of its slices.
    pub fn row_bytes(&self) -> u32 {
        self.interleave.slice().unwrap_or_else(|| self.channel_bytes())
    }

    /// Rows along dimension 0.
    fn slices(&self) -> u32 {
        self.channel_bytes().div_ceil(self.row_bytes())
    }

    /// Elements of a row.
    pub fn row_elements(&self) -> u32 {
        self.row_bytes() / self.element.bytes()
    }

    /// Rows that a copy takes.
    pub fn rows(&self) -> u64 {
        let along_others: u64 = match self.shape {
            Shape::Tiled { size } => {
                (1..self.rank).map(|i| u64::from(size[i].div_ceil(self.element_strides[i]))).product()
            }
            Shape::Im2col { pixels, .. } => pixels.into(),
        };
        along_others * u64::from(self.slices())
    }

    /// Bytes of a copy, elements outside the tensor included: those that come to a barrier.
    pub fn copied_bytes(&self) -> u64 {
        self.rows() * u64::from(self.row_bytes())
    }

    /// Distance of rows in shared memory.
    pub fn pitch(&self) -> u32 {
        self.interleave.slice().or(self.swizzle.span()).unwrap_or_else(|| self.row_bytes())
    }

    /// Finds what makes a copy impossible.
    ///
    /// # Errors
    /// The field and its value.
    pub fn check(&self) -> Result<(), String> {
        let (row, unit) = (self.row_bytes(), self.interleave.alignment());
        if !self.address.is_multiple_of(unit) {
            return Err(format!("global address {:#x} is not a multiple of {unit}", self.address));
        }
        if let Some(stride) = self.strides[..self.rank - 1].iter().find(|stride| !stride.is_multiple_of(unit)) {
            return Err(format!("stride of {stride} bytes: not a multiple of {unit}"));
        }
        if self.interleave != Interleave::None && self.rank < 3 {
            return Err(format!("rank {}: an interleaved tensor has 3 to 5 dimensions", self.rank));
        }
        if self.interleave == Interleave::Bytes32 && self.swizzle != Swizzle::Bytes32 {
            return Err("interleave of 32 bytes: it needs the swizzle of 32 bytes".into());
        }
        if !row.is_multiple_of(16) {
            return Err(format!("box size of dimension 0: {row} bytes are not a multiple of 16"));
        }
        match self.swizzle.span() {
            Some(span) if row > span => {
                Err(format!("swizzle of {span} bytes: the box has {row} bytes along dimension 0"))
            }
            _ => Ok(()),
        }
    }

    /// The map in memory.
    pub fn encode(&self) -> [u32; WORDS] {
        let mut w = [0; WORDS];
        (w[0], w[1]) = (self.address as u32, (self.address >> 32) as u32);
        let (code, tf32) = self.element.code();
        let is_im2col = matches!(self.shape, Shape::Im2col { .. });
        let elements = match self.interleave {
            Interleave::None => self.sizes.iter().try_fold(1_u64, |product, &size| product.checked_mul(size)),
            _ => Some(self.copied_bytes()),
        };
        w[2] = u32::from(is_im2col)
            | (self.rank as u32 - 1) << 4
            | code << 7
            | (self.interleave as u32) << 11
            | (self.swizzle as u32) << 13
            | u32::from(self.fills_nan) << 15
            | u32::from(tf32) << 16
            | self.promotion << 17
            | u32::from(elements.is_none_or(|elements| elements >= 1 << 16)) << 21;
        for i in 1..self.rank {
            let units = self.strides[i - 1] / 16;
            w[2 + i] = units as u32;
            w[7] |= ((units >> 32) as u32 & 15) << (4 * (i - 1));
        }
        for i in 0..self.rank {
            w[8 + i] = (self.sizes[i] - 1) as u32;
            w[13] |= (self.element_strides[i] - 1) << (3 * i);
        }
        match self.shape {
            Shape::Tiled { size } => {
                w[13] |= (size[0] - 1) << 24;
                (1..self.rank).for_each(|i| w[14] |= (size[i] - 1) << (8 * (i - 1)));
                let taken = (1..self.rank).map(|i| size[i] / self.element_strides[i]).product::<u32>();
                w[16] = taken.wrapping_mul(self.slices() * self.row_bytes());
            }
            Shape::Im2col { channels, pixels, lower, upper } => {
                w[13] |= (channels - 1) << 24;
                let bits = corner_bits(self.rank);
                let corners = lower[..self.rank - 2].iter().chain(&upper[..self.rank - 2]);
                for (k, &corner) in corners.enumerate() {
                    w[14] |= (corner as u32 & ((1 << bits) - 1)) << (bits * k as u32);
                }
                w[15] = pixels - 1;
                w[16] = pixels.wrapping_mul(self.slices() * self.row_bytes());
            }
        }
        w[18] = [0x10, 0x100, 0x200, 0x400][self.swizzle as usize];
        w
    }

    /// The map in memory, as bytes.
    pub fn to_bytes(&self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes.as_chunks_mut().0.iter_mut().zip(self.encode()).for_each(|(bytes, word)| *bytes = word.to_le_bytes());
        bytes
    }

    /// The map with these bytes.
    ///
    /// # Errors
    /// The field that makes no sense.
    pub fn of_bytes(bytes: &[u8; BYTES]) -> Result<Self, String> {
        let mut words = [0; WORDS];
        words.iter_mut().zip(bytes.as_chunks().0).for_each(|(word, bytes)| *word = u32::from_le_bytes(*bytes));
        Self::decode(&words)
    }

    /// The map with these words.
    ///
    /// # Errors
    /// The field that makes no sense.
    pub fn decode(w: &[u32; WORDS]) -> Result<Self, String> {
        let field = |from: u32, bits: u32| w[2] >> from & ((1 << bits) - 1);
        let rank = field(4, 3) as usize + 1;
        if rank > MOST_DIMENSIONS {
            return Err(format!("rank {rank}: a tensor has 1 to 5 dimensions"));
        }
        // Compilers leave the bit for tf32 as it is where they replace the type by one that is not of f32.
        let code = (field(7, 4), field(16, 1) == 1 && matches!(field(7, 4), 7 | 8));
        let element = Element::ALL.into_iter().find(|element| element.code() == code);
        let element = element.ok_or_else(|| format!("element type {} does not exist", code.0))?;
        let interleave = Interleave::ALL.get(field(11, 2) as usize).copied();
        let interleave = interleave.ok_or_else(|| format!("interleave {} does not exist", field(11, 2)))?;
        if field(19, 2) != 0 {
            return Err("swizzle: sm_90 has none of the newer ones".into());
        }
        let is_im2col = field(0, 1) == 1;
        if is_im2col && rank < 3 {
            return Err(format!("rank {rank}: im2col needs 3 to 5 dimensions"));
        }
        let (mut sizes, mut strides) = ([1; MOST_DIMENSIONS], [0; MOST_DIMENSIONS - 1]);
        let mut element_strides = [1; MOST_DIMENSIONS];
        for i in 0..rank {
            sizes[i] = u64::from(w[8 + i]) + 1;
            element_strides[i] = (w[13] >> (3 * i) & 7) + 1;
        }
        for i in 1..rank {
            strides[i - 1] = (u64::from(w[2 + i]) | u64::from(w[7] >> (4 * (i - 1)) & 15) << 32) * 16;
        }
        let first = (w[13] >> 24) + 1;
        let shape = if is_im2col {
            let bits = corner_bits(rank);
            let corner = |k: u32| (w[14] << (32 - bits * (k + 1))) as i32 >> (32 - bits);
            let spatial = rank as u32 - 2;
            let corners =
                |from: u32| std::array::from_fn(|k| if (k as u32) < spatial { corner(from + k as u32) } else { 0 });
            let pixels = w[15].checked_add(1).filter(|&n| n <= 1024);
            let pixels = pixels.ok_or_else(|| format!("pixels {}: from 1 to 1024", u64::from(w[15]) + 1))?;
            Shape::Im2col { channels: first, pixels, lower: corners(0), upper: corners(spatial) }
        } else {
            let size = std::array::from_fn(|i| match i {
                0 => first,
                i if i < rank => (w[14] >> (8 * (i - 1)) & 0xff) + 1,
                _ => 1,
            });
            Shape::Tiled { size }
        };
        let map = Self {
            address: u64::from(w[0]) | u64::from(w[1]) << 32,
            element,
            rank,
            sizes,
            strides,
            element_strides,
            shape,
            interleave,
            swizzle: Swizzle::ALL[field(13, 2) as usize],
            promotion: field(17, 2),
            fills_nan: field(15, 1) == 1,
        };
        map.check().map(|()| map)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAP: TensorMap = TensorMap {
        address: 0x7f12_3456_7000,
        element: Element::F16,
        rank: 2,
        sizes: [16, 16, 1, 1, 1],
        strides: [32, 0, 0, 0],
        element_strides: [1; 5],
        shape: Shape::Tiled { size: [16, 8, 1, 1, 1] },
        interleave: Interleave::None,
        swizzle: Swizzle::None,
        promotion: 0,
        fills_nan: false,
    };

    #[test]
    fn words_are_those_of_a_known_map() {
        let w = MAP.encode();
        assert_eq!((w[0], w[1], w[2], w[3], w[8], w[9]), (0x3456_7000, 0x7f12, 0x310, 2, 15, 15));
        assert_eq!((w[13], w[14], w[16], w[18]), (0x0f00_0000, 7, 0x100, 0x10));
        assert_eq!(TensorMap::decode(&w), Ok(MAP));
    }

    #[test]
    fn maps_of_every_kind_are_read_as_written() {
        let tiled = Shape::Tiled { size: [8, 1, 256, 3, 5] };
        let sizes = [1 << 32, 7, 1, 1 << 31, 2];
        let strides = [(1 << 40) - 16, 48, 1 << 36, 16];
        for element in Element::ALL.into_iter().filter(|element| element.bytes() >= 2) {
            for swizzle in [Swizzle::None, Swizzle::Bytes64, Swizzle::Bytes128] {
                let map = TensorMap {
                    element,
                    rank: 5,
                    sizes,
                    strides,
                    element_strides: [1, 2, 8, 1, 3],
                    shape: tiled,
                    swizzle,
                    promotion: 3,
                    fills_nan: element.is_float(),
                    ..MAP
                };
                assert_eq!(TensorMap::decode(&map.encode()), Ok(map));
            }
        }
        for (interleave, swizzle) in [(Interleave::Bytes16, Swizzle::Bytes128), (Interleave::Bytes32, Swizzle::Bytes32)]
        {
            let strides = [(1 << 40) - 32, 96, 1 << 36, 32];
            let map = TensorMap { address: 32, rank: 5, sizes, strides, shape: tiled, interleave, swizzle, ..MAP };
            assert_eq!(TensorMap::decode(&map.encode()), Ok(map));
        }
        for (rank, lower, upper) in
            [(3, [-128, 0, 0], [127, 0, 0]), (4, [-128, 3, 0], [-1, 127, 0]), (5, [-16, 2, 0], [-1, 15, -3])]
        {
            let shape = Shape::Im2col { channels: 64, pixels: 1024, lower, upper };
            let sizes = std::array::from_fn(|i| if i < rank { 9 } else { 1 });
            let strides = std::array::from_fn(|i| if i + 1 < rank { 128 } else { 0 });
            let map = TensorMap { rank, sizes, strides, shape, ..MAP };
            assert_eq!(TensorMap::decode(&map.encode()), Ok(map), "{rank}");
        }
    }

    #[test]
    fn a_field_without_sense_is_named() {
        let words = |change: &dyn Fn(&mut [u32; WORDS])| {
            let mut w = MAP.encode();
            change(&mut w);
            TensorMap::decode(&w).unwrap_err()
        };
        assert_eq!(words(&|w| w[2] |= 7 << 4), "rank 8: a tensor has 1 to 5 dimensions");
        assert_eq!(words(&|w| w[2] |= 15 << 7), "element type 15 does not exist");
        assert_eq!(words(&|w| w[2] |= 3 << 11), "interleave 3 does not exist");
        assert_eq!(words(&|w| w[2] |= 1), "rank 2: im2col needs 3 to 5 dimensions");
        assert_eq!(words(&|w| w[0] |= 8), "global address 0x7f1234567008 is not a multiple of 16");
        assert_eq!(words(&|w| w[13] = 6 << 24), "box size of dimension 0: 14 bytes are not a multiple of 16");
        assert_eq!(
            words(&|w| (w[2], w[13]) = (w[2] | 1 << 13, 31 << 24)),
            "swizzle of 32 bytes: the box has 64 bytes along dimension 0"
        );
        let interleaved = |w: &mut [u32; WORDS], layout: u32| w[2] = (w[2] | layout << 11) + (1 << 4);
        assert_eq!(words(&|w| w[2] |= 1 << 11), "rank 2: an interleaved tensor has 3 to 5 dimensions");
        assert_eq!(words(&|w| interleaved(w, 2)), "interleave of 32 bytes: it needs the swizzle of 32 bytes");
        assert_eq!(
            words(&|w| (interleaved(w, 2), w[0] |= 16).0),
            "global address 0x7f1234567010 is not a multiple of 32"
        );
        assert_eq!(words(&|w| (interleaved(w, 2), w[3] = 3).0), "stride of 48 bytes: not a multiple of 32");
        let all = TensorMap::decode(&[0; WORDS]).unwrap_err();
        assert_eq!(all, "box size of dimension 0: 1 bytes are not a multiple of 16");
    }

    #[test]
    fn units_change_places_within_the_width() {
        let row = |swizzle: Swizzle, row: u64| {
            (0..8).map(|unit| swizzle.place(128 * row + 16 * unit) % 128 / 16).collect::<Vec<_>>()
        };
        assert_eq!(row(Swizzle::Bytes128, 3), [3, 2, 1, 0, 7, 6, 5, 4]);
        assert_eq!(row(Swizzle::Bytes64, 6), [2, 3, 0, 1, 6, 7, 4, 5]);
        assert_eq!(row(Swizzle::Bytes32, 1), [1, 0, 3, 2, 5, 4, 7, 6]);
        assert_eq!(row(Swizzle::None, 1), [0, 1, 2, 3, 4, 5, 6, 7]);
    }
}
