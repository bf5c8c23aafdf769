//! The argument of kernels, and their launches.

use std::ffi::c_int;

use cabi::address::{Address, read};
use cabi::driver::into;
use cabi::stand_in::{Parameter, THREADS, not_supported};

use crate::descriptor::{DnMat, Format, SpMat};
use crate::handle::Call;
use crate::status::{Result, Status, valid};

/// A number of the program's: on the device, or a value. `Scalar` of sparse.cu.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct Scalar {
    pointer: Address,
    re: f64,
    im: f64,
}

/// `Sparse` of sparse.cu.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct Sparse {
    pub offsets: Address,
    pub indices: Address,
    pub values: Address,
    pub lines: i64,
    pub entries: i64,
    pub wide_offsets: i32,
    pub wide_indices: i32,
    pub base: i32,
    pub coordinates: i32,
}

/// `Dense` of sparse.cu.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct Dense {
    pub values: Address,
    pub by_row: i64,
    pub by_column: i64,
}

/// `Product` of sparse.cu.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct Problem {
    pub a: Sparse,
    pub b: Dense,
    pub c: Dense,
    pub alpha: Scalar,
    pub beta: Scalar,
    pub m: i64,
    pub n: i64,
    pub conjugate_a: i32,
    pub conjugate_b: i32,
}
cabi::plain!(Problem, Sparse);

/// Bytes of `count` elements of an array.
pub fn bytes_of(count: i64, bytes: usize) -> Result<usize> {
    let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
    count.checked_mul(bytes).and_then(|bytes| usize::try_from(bytes).ok()).ok_or(Status::INVALID_VALUE)
}

/// Bytes of a number for each of `lines`, and of their sum.
pub fn sum_bytes(lines: i64) -> Result<usize> {
    bytes_of(lines.checked_add(1).ok_or(Status::INVALID_VALUE)?, 8)
}

impl Problem {
    /// The problems of the `count` members of a batch. `steps`: bytes from one member to the next of A's offsets, indices
    /// and values, and of the values of B and of C.
    pub fn members(self, count: c_int, steps: [usize; 5]) -> impl Iterator<Item = Self> {
        (0..usize::try_from(count).unwrap_or(1)).map(move |member| {
            let mut one = self;
            let Sparse { offsets, indices, values, .. } = &mut one.a;
            let places = [offsets, indices, values, &mut one.b.values, &mut one.c.values];
            places.into_iter().zip(steps).for_each(|(place, step)| *place += member * step);
            one
        })
    }
}

/// Kinds of values, by the numbers of `cudaDataType_t`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    pub letter: char,
    pub bytes: usize,
}

impl Kind {
    pub fn numbered(number: c_int) -> Result<Self> {
        let (letter, bytes) = match number {
            0 => ('s', 4),
            1 => ('d', 8),
            4 => ('c', 8),
            5 => ('z', 16),
            _ => return Err(not_supported(&format!("a sparse matrix of type {number}"))),
        };
        Ok(Self { letter, bytes })
    }
}

impl Sparse {
    /// A matrix, or its transpose, and whether its lines are rows.
    pub fn of(matrix: &SpMat, transposed: bool) -> (Self, bool) {
        let coordinates = matrix.format == Format::Coordinates;
        let mut sparse = Self {
            offsets: matrix.offsets,
            indices: matrix.indices,
            values: matrix.values,
            lines: if matrix.format == Format::Columns { matrix.columns } else { matrix.rows },
            entries: matrix.entries,
            wide_offsets: matrix.wide[0].into(),
            wide_indices: matrix.wide[1].into(),
            base: matrix.base,
            coordinates: coordinates.into(),
        };
        if coordinates && transposed {
            std::mem::swap(&mut sparse.offsets, &mut sparse.indices);
            std::mem::swap(&mut sparse.wide_offsets, &mut sparse.wide_indices);
        }
        (sparse, (matrix.format == Format::Rows) != transposed)
    }
}

impl SpMat {
    /// Bytes from one member of its batch to the next: of offsets, indices and values.
    pub fn steps(&self, kind: Kind) -> Result<[usize; 3]> {
        let index = |wide: bool| if wide { 8 } else { 4 };
        let steps = [
            // A transposition exchanges coordinates, but they have one stride.
            bytes_of(self.offsets_stride, index(self.wide[0]))?,
            bytes_of(self.entries_stride, index(self.wide[1]))?,
            bytes_of(self.entries_stride, kind.bytes)?,
        ];
        Ok(if self.batch == 1 { [0; 3] } else { steps })
    }
}

impl DnMat {
    /// Bytes from one member of its batch to the next.
    pub fn step(&self, kind: Kind) -> Result<usize> {
        let step = bytes_of(self.stride, kind.bytes)?;
        Ok(if self.batch == 1 { 0 } else { step })
    }
}

impl Dense {
    /// A matrix, or its transpose.
    pub fn of(matrix: &DnMat, transposed: bool) -> Self {
        let (by_row, by_column) = if matrix.by_rows != transposed { (matrix.leading, 1) } else { (1, matrix.leading) };
        Self { values: matrix.values, by_row, by_column }
    }
}

impl Call {
    /// A scalar of `kind`.
    pub fn scalar(&self, address: Address, kind: Kind) -> Result<Scalar> {
        valid(address != 0)?;
        if self.on_device {
            return Ok(Scalar { pointer: address, ..Scalar::default() });
        }
        let [re, im] = match kind.letter {
            's' => [read::<f32>(address)?.into(), 0.0],
            'd' => [read::<f64>(address)?, 0.0],
            'c' => read::<[f32; 2]>(address)?.map(f64::from),
            _ => read::<[f64; 2]>(address)?,
        };
        Ok(Scalar { pointer: 0, re, im })
    }

    /// Launches a kernel over `items`, for each of `columns`.
    pub fn launch(&self, name: &str, items: i64, columns: i64, parameters: &[&dyn Parameter]) -> Result<()> {
        /// The most CTAs in the second direction of a grid.
        const MOST: i64 = 65_535;
        let blocks = items.max(1).unsigned_abs().div_ceil(THREADS.into()).min(u64::from(8 * self.gpu.sms));
        let size = |count: u64| u32::try_from(count).map_err(|_| Status::INVALID_VALUE);
        let grid = [size(blocks)?, size(columns.clamp(1, MOST).unsigned_abs())?, 1];
        Ok(self.gpu.launch(&format!("standin_cusparse_{name}"), grid, THREADS, 0, parameters)?)
    }

    /// Launches the kernel for a kind of values.
    pub fn launch_of(&self, name: &str, kind: Kind, items: i64, columns: i64, with: &[&dyn Parameter]) -> Result<()> {
        self.launch(&format!("{name}_{}", kind.letter), items, columns, with)
    }

    /// Replaces `count` numbers of the device by the sums before them; the sum of all follows. One CTA.
    pub fn sums(&self, numbers: Address, count: i64) -> Result<()> {
        self.launch("sums", 1, 1, &[&numbers, &count])
    }

    /// The sum that [`Call::sums`] left after `count` numbers.
    pub fn sum_of(&self, numbers: Address, count: i64) -> Result<i64> {
        let (mut sum, place) = (0_i64, numbers + bytes_of(count, 8)?);
        self.gpu.driver.cuMemcpyDtoHAsync_v2(into(&mut sum), place, 8, self.gpu.stream)?;
        self.gpu.driver.cuStreamSynchronize(self.gpu.stream)?;
        Ok(sum)
    }
}
