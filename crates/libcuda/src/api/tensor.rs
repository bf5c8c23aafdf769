//! Tensor maps, which kernels give to the copy engine.
//!
//! Deviations from the reference of CUDA's driver API:
//!
//! - D1 Strides may be 0, less than a row, or in any order. The reference computes the strides of a dense tensor, and
//!   its loop asserts `globalStrides[i] >= globalDim[i]`; its list of requirements, which is checked here, has nothing
//!   about it. NVIDIA's drivers take tensors that are "not dense non-overlapping" (release notes of driver 595.71.05,
//!   known issues), and the packed strides of CUTLASS have 0 for a batch of one.
//! - D2 Maps are made for every GPU. The reference says that they are supported from compute capability 9.0 on, and
//!   names no error; nothing but kernels of such GPUs can use one.

use crate::process::Process;
use crate::unlocked;
use crate::values::{get, get_u32, get_u64, put_bytes};
use cuda::tensor_map::{ALIGNMENT, BYTES, Element, Interleave, MOST_DIMENSIONS, Shape, Swizzle, TensorMap};
use cuda::{Error, Result};

/// Limits by CUDA's documentation.
const MOST_SIZE: u64 = 1 << 32;
const MOST_STRIDE: u64 = 1 << 40;
const MOST_BOX: u32 = 256;
const MOST_ELEMENT_STRIDE: u32 = 8;
const MOST_PIXELS: u32 = 1024;

fn need(holds: bool) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::INVALID_VALUE) }
}

/// The item of an enumeration of the API.
fn item<T: Copy>(all: &[T], number: u32) -> Result<T> {
    all.get(number as usize).copied().ok_or(Error::INVALID_VALUE)
}

/// The first `count` numbers of an array of the program.
fn words(address: u64, count: usize) -> Result<[u32; MOST_DIMENSIONS]> {
    let mut all = [0; MOST_DIMENSIONS];
    need(address != 0)?;
    for (k, word) in all[..count].iter_mut().enumerate() {
        *word = get_u32(&Process, address + 4 * k as u64)?;
    }
    Ok(all)
}

/// The tensor that a program describes.
struct Tensor {
    element: u32,
    rank: u32,
    address: u64,
    sizes: u64,
    strides: u64,
    element_strides: u64,
    interleave: u32,
    swizzle: u32,
    promotion: u32,
    fill: u32,
}

impl Tensor {
    /// The map with `shape`, whose own numbers are checked already.
    fn map(&self, shape: Shape) -> Result<TensorMap> {
        let rank = self.rank as usize;
        let element = item(&Element::ALL, self.element)?;
        let interleave = item(&Interleave::ALL, self.interleave)?;
        let swizzle = item(&Swizzle::ALL, self.swizzle)?;
        need((1..=MOST_DIMENSIONS).contains(&rank) && self.promotion <= 3)?;
        need(self.fill == 0 || self.fill == 1 && element.is_float())?;
        let (mut sizes, mut strides) = ([1; MOST_DIMENSIONS], [0; MOST_DIMENSIONS - 1]);
        need(self.sizes != 0 && (self.strides != 0 || rank == 1))?;
        for (i, size) in sizes[..rank].iter_mut().enumerate() {
            *size = get_u64(&Process, self.sizes + 8 * i as u64)?;
            need((1..=MOST_SIZE).contains(size))?;
        }
        for (i, stride) in strides[..rank - 1].iter_mut().enumerate() {
            *stride = get_u64(&Process, self.strides + 8 * i as u64)?;
            need(*stride < MOST_STRIDE)?;
        }
        let mut element_strides = words(self.element_strides, rank)?;
        need(element_strides[..rank].iter().all(|stride| (1..=MOST_ELEMENT_STRIDE).contains(stride)))?;
        element_strides[rank..].fill(1);
        let (address, promotion, fills_nan) = (self.address, self.promotion, self.fill == 1);
        let map = TensorMap {
            address,
            element,
            rank,
            sizes,
            strides,
            element_strides,
            shape,
            interleave,
            swizzle,
            promotion,
            fills_nan,
        };
        map.check().map_err(|_| Error::INVALID_VALUE)?;
        Ok(map)
    }
}

/// Writes a map to the program's memory.
fn put_map(to: u64, map: &TensorMap) -> Result<()> {
    need(to != 0 && to.is_multiple_of(ALIGNMENT))?;
    put_bytes(&Process, to, &map.to_bytes())
}

unlocked! {
    fn cuTensorMapEncodeTiled(
        map: u64, element: u32, rank: u32, address: u64, sizes: u64, strides: u64, boxes: u64, element_strides: u64,
        interleave: u32, swizzle: u32, promotion: u32, fill: u32,
    ) {
        need((1..=MOST_DIMENSIONS as u32).contains(&rank))?;
        let mut size = words(boxes, rank as usize)?;
        need(size[..rank as usize].iter().all(|size| (1..=MOST_BOX).contains(size)))?;
        size[rank as usize..].fill(1);
        let tensor = Tensor {
            element, rank, address, sizes, strides, element_strides, interleave, swizzle, promotion, fill,
        };
        put_map(map, &tensor.map(Shape::Tiled { size })?)
    }

    fn cuTensorMapEncodeIm2col(
        map: u64, element: u32, rank: u32, address: u64, sizes: u64, strides: u64, lower: u64, upper: u64,
        channels: u32, pixels: u32, element_strides: u64, interleave: u32, swizzle: u32, promotion: u32, fill: u32,
    ) {
        need((3..=MOST_DIMENSIONS as u32).contains(&rank))?;
        need((1..=MOST_BOX).contains(&channels) && (1..=MOST_PIXELS).contains(&pixels))?;
        let spatial = rank as usize - 2;
        let most = [1 << 15, 1 << 7, 1 << 4][spatial - 1];
        let corner = |at: u64| -> Result<[i32; 3]> {
            let all = words(at, spatial)?.map(|word| word as i32);
            need(all.iter().all(|corner| (-most..most).contains(corner)))?;
            Ok([all[0], all[1], all[2]])
        };
        let (lower, upper) = (corner(lower)?, corner(upper)?);
        let tensor = Tensor {
            element, rank, address, sizes, strides, element_strides, interleave, swizzle, promotion, fill,
        };
        let described = tensor.map(Shape::Im2col { channels, pixels, lower, upper })?;
        // The bounding box is not empty.
        let length = |i: usize| described.sizes[i + 1] as i64 + i64::from(upper[i]) - i64::from(lower[i]);
        need((0..spatial).all(|i| length(i) > 0))?;
        put_map(map, &described)
    }

    fn cuTensorMapReplaceAddress(map: u64, address: u64) {
        need(map != 0 && map.is_multiple_of(ALIGNMENT))?;
        let bytes: [u8; BYTES] = get(&Process, map)?;
        let old = TensorMap::of_bytes(&bytes).map_err(|_| Error::INVALID_VALUE)?;
        let new = TensorMap { address, ..old };
        new.check().map_err(|_| Error::INVALID_VALUE)?;
        put_map(map, &new)
    }
}
