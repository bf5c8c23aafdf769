//! The rows of a box: where each is in the tensor, and which part of it is outside.

use super::{MOST_DIMENSIONS, Shape, TensorMap};

/// Where a copy begins: coordinates, and of im2col the offsets of the pixels.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place {
    pub coordinates: [i32; MOST_DIMENSIONS],
    pub offsets: [u32; 3],
}

/// A row along dimension 0, in the order of shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// Offset in shared memory before the swizzle.
    pub shared: u32,
    /// Bytes before the part within the tensor, and bytes of that part.
    pub before: u32,
    pub inside: u32,
    /// Address of the part within the tensor.
    pub address: u64,
}

impl TensorMap {
    /// Calls `f` for each row of the copy at `place`.
    pub(crate) fn walk<E>(&self, place: &Place, mut f: impl FnMut(Row) -> Result<(), E>) -> Result<(), E> {
        let start = place.coordinates.map(i64::from);
        let mut shared = 0;
        let mut row = |at: &[i64; MOST_DIMENSIONS]| {
            let row = self.row(shared, at);
            shared += self.pitch();
            f(row)
        };
        match self.shape {
            Shape::Tiled { size } => {
                let (mut at, mut index) = (start, [0_u32; MOST_DIMENSIONS]);
                for _ in 0..self.rows() {
                    row(&at)?;
                    for i in self.order() {
                        let (step, count) = match i {
                            0 => (self.row_elements(), self.slices()),
                            _ => (self.element_strides[i], size[i].div_ceil(self.element_strides[i])),
                        };
                        index[i] += 1;
                        at[i] += i64::from(step);
                        if index[i] < count {
                            break;
                        }
                        (index[i], at[i]) = (0, start[i]);
                    }
                }
            }
            Shape::Im2col { lower, upper, pixels, .. } => {
                let last = self.rank - 1;
                for slice in 0..self.slices() {
                    let mut at = start;
                    at[0] += i64::from(slice * self.row_elements());
                    for _ in 0..pixels {
                        let mut pixel = at;
                        for i in 1..last {
                            pixel[i] += i64::from(place.offsets[i - 1]);
                        }
                        row(&pixel)?;
                        for i in 1..=last {
                            at[i] += if i < last { i64::from(self.element_strides[i]) } else { 1 };
                            if i == last || at[i] < self.sizes[i] as i64 + i64::from(upper[i - 1]) {
                                break;
                            }
                            at[i] = lower[i - 1].into();
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Dimensions of the rows of a box, the fastest first. Dimension 0 is its slices.
    fn order(&self) -> impl Iterator<Item = usize> + use<> {
        let last = self.rank - 1;
        (1..last).chain([0, last]).take(self.rank)
    }

    /// The row that begins at the coordinates `at`.
    fn row(&self, shared: u32, at: &[i64; MOST_DIMENSIONS]) -> Row {
        let (bytes, element) = (self.row_bytes(), i64::from(self.element.bytes()));
        let is_inside = |i: usize| (0..self.sizes[i] as i64).contains(&at[i]);
        if !(1..self.rank).all(is_inside) {
            return Row { shared, before: bytes, inside: 0, address: 0 };
        }
        let count = i64::from(self.row_elements());
        let before = (-at[0]).clamp(0, count);
        let end = (self.sizes[0] as i64 - at[0]).clamp(before, count);
        let outer = (1..self.rank).map(|i| (at[i] as u64).wrapping_mul(self.strides[i - 1])).fold(0, u64::wrapping_add);
        let inner = match self.interleave.slice() {
            // A slice outside has no bytes inside.
            Some(_) => ((at[0] / count) as u64).wrapping_mul(self.slice_stride()),
            None => ((at[0] + before) * element) as u64,
        };
        Row {
            shared,
            before: (before * element) as u32,
            inside: ((end - before) * element) as u32,
            address: self.address.wrapping_add(outer).wrapping_add(inner),
        }
    }

    /// Bytes from a slice of an interleaved tensor to the next.
    const fn slice_stride(&self) -> u64 {
        self.strides[self.rank - 3].wrapping_mul(self.sizes[self.rank - 2])
    }
}
