//! Moving a fragment's elements between the lanes' registers and an array of rows.

use super::fragment::{Element, Fragment, MatrixOperand};
use kit::WARP_LANES;

/// A register of all lanes.
pub(super) type Column = [u32; WARP_LANES];

/// Groups of four lanes in a warp.
const GROUPS: usize = 8;

/// How the positions of a fragment's elements depend on the lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pattern {
    /// A group of four lanes holds adjacent elements of a row; the next group holds the next row's.
    Rows,
    /// A group holds adjacent elements of a column; the next group holds the next column's.
    Columns,
    /// Irregular: the positions are in the table.
    Table,
}

/// A fragment and the position of each of its elements in an array of rows.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    pub fragment: Fragment,
    pattern: Pattern,
    table: Box<[[u16; WARP_LANES]]>,
}

impl Placed {
    pub fn new(fragment: Fragment) -> Self {
        let pattern = match fragment.operand() {
            _ if fragment.tiles() > 1 => Pattern::Table,
            MatrixOperand::A | MatrixOperand::C => Pattern::Rows,
            MatrixOperand::B => Pattern::Columns,
        };
        Placed { fragment, pattern, table: fragment.table() }
    }

    /// Position of element number `index` in each lane.
    pub fn places(&self, index: usize) -> &[u16; WARP_LANES] {
        &self.table[index]
    }

    /// Copies the elements from the registers to their positions. `read` receives the register, shifted so
    /// that the element is lowest.
    #[inline]
    pub fn gather<T: Copy + Default>(&self, columns: &[Column], out: &mut [T], read: impl Fn(u32) -> T) {
        let element = self.fragment.element();
        let per = element.per_register() as usize;
        let lanes = |index: usize| -> [T; WARP_LANES] {
            let column = &columns[index / per];
            let shift = (index % per) as u32 * element.bits();
            let mut values = [T::default(); WARP_LANES];
            for (value, &register) in values.iter_mut().zip(column) {
                *value = read(register >> shift);
            }
            values
        };
        match (self.pattern, per) {
            // Accumulators hold two adjacent elements even if each has a register of its own.
            (Pattern::Rows, 1) if self.fragment.operand() == MatrixOperand::C => self.gather_rows::<T, 2>(out, lanes),
            (Pattern::Rows, 1) => self.gather_rows::<T, 1>(out, lanes),
            (Pattern::Rows, 2) => self.gather_rows::<T, 2>(out, lanes),
            (Pattern::Rows, 4) => self.gather_rows::<T, 4>(out, lanes),
            (Pattern::Rows, 8) => self.gather_rows::<T, 8>(out, lanes),
            (Pattern::Columns, _) => self.gather_columns(out, lanes),
            _ => self.gather_by_table(out, lanes),
        }
    }

    /// Interleaves `PARTS` elements of each lane.
    #[inline(always)]
    fn gather_rows<T: Copy + Default, const PARTS: usize>(
        &self,
        out: &mut [T],
        lanes: impl Fn(usize) -> [T; WARP_LANES],
    ) {
        let stride = usize::from(self.fragment.size().1);
        for index in (0..self.table.len()).step_by(PARTS) {
            let start = usize::from(self.table[index][0]);
            let mut parts = [[T::default(); WARP_LANES]; PARTS];
            for (part, values) in parts.iter_mut().enumerate() {
                *values = lanes(index + part);
            }
            for group in 0..GROUPS {
                let at = start + group * stride;
                let places = out[at..at + 4 * PARTS].as_chunks_mut::<PARTS>().0;
                for (thread, place) in places.iter_mut().enumerate() {
                    for part in 0..PARTS {
                        place[part] = parts[part][(4 * group + thread) % WARP_LANES];
                    }
                }
            }
        }
    }

    /// Transposes: elements of lanes with the same number in their groups are adjacent in a row.
    #[inline(always)]
    fn gather_columns<T: Copy + Default>(&self, out: &mut [T], lanes: impl Fn(usize) -> [T; WARP_LANES]) {
        for (index, places) in self.table.iter().enumerate() {
            let values = lanes(index);
            let groups = values.as_chunks::<4>().0;
            for (thread, &start) in places[..4].iter().enumerate() {
                let row = &mut out[usize::from(start)..usize::from(start) + GROUPS];
                for (place, group) in row.iter_mut().zip(groups) {
                    *place = group[thread];
                }
            }
        }
    }

    #[inline(always)]
    fn gather_by_table<T: Copy + Default>(&self, out: &mut [T], lanes: impl Fn(usize) -> [T; WARP_LANES]) {
        for (index, places) in self.table.iter().enumerate() {
            for (value, &place) in lanes(index).into_iter().zip(places) {
                out[usize::from(place)] = value;
            }
        }
    }

    /// Copies the elements of an accumulator from their positions to the registers.
    #[inline]
    pub fn scatter<T: Copy + Default>(&self, from: &[T], columns: &mut [Column], write: impl Fn(T) -> u32) {
        let stride = usize::from(self.fragment.size().1);
        let packed = self.fragment.element() == Element::F16;
        for (pair, index) in (0..self.table.len()).step_by(2).enumerate() {
            let mut values = [[0; WARP_LANES]; 2];
            if self.pattern == Pattern::Rows {
                let start = usize::from(self.table[index][0]);
                for group in 0..GROUPS {
                    let row = from[start + group * stride..][..8].as_chunks::<2>().0;
                    for (thread, two) in row.iter().enumerate() {
                        values[0][(4 * group + thread) % WARP_LANES] = write(two[0]);
                        values[1][(4 * group + thread) % WARP_LANES] = write(two[1]);
                    }
                }
            } else {
                for (values, places) in values.iter_mut().zip(&self.table[index..]) {
                    *values = places.map(|place| write(from[usize::from(place)]));
                }
            }
            if packed {
                columns[pair] = std::array::from_fn(|lane| values[0][lane] | values[1][lane] << 16);
            } else {
                columns[index..index + 2].copy_from_slice(&values);
            }
        }
    }

    /// [`Placed::gather`] for f64, which takes two registers.
    pub fn gather_f64(&self, columns: &[Column], out: &mut [f64]) {
        for (pair, places) in columns.chunks_exact(2).zip(&self.table) {
            for lane in 0..WARP_LANES {
                let bits = u64::from(pair[1][lane]) << 32 | u64::from(pair[0][lane]);
                out[usize::from(places[lane])] = f64::from_bits(bits);
            }
        }
    }

    /// [`Placed::scatter`] for f64.
    pub fn scatter_f64(&self, from: &[f64], columns: &mut [Column]) {
        for (pair, places) in columns.chunks_exact_mut(2).zip(&self.table) {
            for lane in 0..WARP_LANES {
                let bits = from[usize::from(places[lane])].to_bits();
                pair[0][lane] = bits as u32;
                pair[1][lane] = (bits >> 32) as u32;
            }
        }
    }
}
