//! Descriptions of tensors as kernels take them: `__grid_constant__` parameters of type `CUtensorMap`.

use crate::device::{ArgBytes, Buffer};
use exec::tensor_map::{Interleave, MOST_DIMENSIONS, Shape, Swizzle, TensorMap};

pub use exec::tensor_map::Element;

/// A matrix of rows that follow each other in memory, which is copied by boxes with a swizzle over 128 bytes.
///
/// `size` and `box_size` are columns and rows. Elements outside the matrix are zero.
pub fn row_major(buffer: Buffer, element: Element, size: [usize; 2], box_size: [usize; 2]) -> ArgBytes {
    let mut map = TensorMap {
        address: buffer.address,
        element,
        rank: size.len(),
        sizes: [1; MOST_DIMENSIONS],
        strides: [0; MOST_DIMENSIONS - 1],
        element_strides: [1; MOST_DIMENSIONS],
        shape: Shape::Tiled { size: [1; MOST_DIMENSIONS] },
        interleave: Interleave::None,
        swizzle: Swizzle::Bytes128,
        promotion: 0,
        fills_nan: false,
    };
    map.sizes[..2].copy_from_slice(&size.map(|n| n as u64));
    map.strides[0] = (size[0] * element.bytes() as usize) as u64;
    map.shape = Shape::Tiled { size: [box_size[0] as u32, box_size[1] as u32, 1, 1, 1] };
    ArgBytes::from_bytes(map.to_bytes().into())
}
