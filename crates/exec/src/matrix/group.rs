//! `wgmma`: the product of a warp group, as one of its four warps computes it.
//!
//! The group multiplies 64 rows of A by B. Warp w of the group has rows 16w to 16w + 15 of A and of the result: the
//! product of a warp is one of 16 rows, which needs all of B and no result of another warp.
//!
//! A row of A has 32 bytes, whatever the type of its elements. So has a column of B or, if A is sparse, 64 bytes.
//!
//! **Sparse.** Of four adjacent elements of a row two are stored (of tf32, of two one). Four bits of metadata say which:
//! the positions of the two, lower bits first; for tf32 `0b0100` is the first element and `0b1110` the second. Other
//! values have no defined meaning: here each stored element meets the element of B at its position.
//!
//! | elements | lanes of each four | bits of the row `lane / 4`, and of the row 8 below it |
//! | --- | --- | --- |
//! | 16 and 32 bits | selector 0: lane 0 the first half of a row, lane 1 the second; selector 1: lanes 2 and 3 | low 16, high 16 |
//! | 8 bits | lanes 0 and 1 the first half of a row, lanes 2 and 3 the second | even lanes, odd lanes |
//!
//! Source: the layouts of metadata in CUTLASS's `cute/atom/mma_traits_sm90_gmma_sparse.hpp`.

use super::fragment::Element;
use super::multiply::Multiply;
use super::sums::{self, Sums};
use isa::{GroupWork, MatrixWork};
use kit::WARP_LANES;
use num::half::{self, Bf16, F16, Half};
use num::{Rounding, float32, small};

/// One 32-bit register of each lane.
type Column = [u32; WARP_LANES];

/// Rows of a warp.
pub const ROWS: usize = 16;
/// Columns that are computed together.
pub const BLOCK: usize = 8;
/// Words of a row of A.
pub const WORDS: usize = 8;
/// Words of a column of B, at most.
pub const MOST_WORDS: usize = 2 * WORDS;
/// Registers of A in each lane.
pub const A_REGISTERS: usize = 4;
/// Columns of B, at most.
const MOST_COLUMNS: u16 = 256;
/// Elements of a row of A that are stored, at most, other than single bits.
const MOST_STORED: usize = 32;

/// Types and modifiers of a warp group's multiplication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct GroupTypes {
    pub a: Element,
    pub b: Element,
    /// Type of the accumulator.
    pub d: Element,
    pub columns: u16,
    /// A, B: negated.
    pub negated: [bool; 2],
    /// A, B: adjacent along M or N, not along K.
    pub transposed: [bool; 2],
    pub satfinite: bool,
    /// A is sparse; the value selects the lanes with the metadata.
    pub sparse: Option<u8>,
}

impl GroupTypes {
    /// Without modifiers.
    pub const fn plain(a: Element, b: Element, d: Element, columns: u16) -> Self {
        Self { a, b, d, columns, negated: [false; 2], transposed: [false; 2], satfinite: false, sparse: None }
    }

    /// Length of the sums.
    pub const fn length(&self) -> u16 {
        let stored = WORDS as u16 * 32 / self.a.bits() as u16;
        if self.sparse.is_some() { 2 * stored } else { stored }
    }

    /// Whether the instruction exists.
    fn is_valid(&self) -> bool {
        use Element::{B1, Bf16, E4m3, E5m2, F16, F32, S8, S32, Tf32, U8};
        let types = match (self.a, self.b) {
            (F16, F16) | (E4m3 | E5m2, E4m3 | E5m2) => matches!(self.d, F16 | F32),
            (Bf16, Bf16) | (Tf32, Tf32) => self.d == F32,
            (U8 | S8, U8 | S8) | (B1, B1) => self.d == S32,
            _ => false,
        };
        // Products of integers have fewer shapes.
        let step = if self.d == S32 && self.columns > 24 { 16 } else { 8 };
        let columns = (8..=MOST_COLUMNS).contains(&self.columns) && self.columns.is_multiple_of(step);
        let is_float = self.d != S32;
        let selectors = if self.a.bits() == 8 { 1 } else { 2 };
        types
            && columns
            && (is_float || self.negated == [false; 2])
            && (self.a.bits() == 16 || self.transposed == [false; 2])
            && (!self.satfinite || matches!(self.a, U8 | S8))
            && self.sparse.is_none_or(|selector| self.a != B1 && selector < selectors)
    }
}

/// A multiplication of a warp group, ready to execute.
#[derive(Clone, Debug)]
pub struct GroupMma {
    types: GroupTypes,
    sums: Sums,
}

/// Which elements of a column of B the stored elements of a row of A meet.
type Positions = [u8; MOST_STORED];

impl GroupMma {
    /// `None` if the instruction does not exist.
    pub fn new(types: GroupTypes) -> Option<Self> {
        types.is_valid().then(|| Self { types, sums: Sums::of_group(types.a, types.d) })
    }

    /// Types and modifiers.
    pub const fn types(&self) -> &GroupTypes {
        &self.types
    }

    /// Registers of the accumulator in each lane.
    pub const fn registers(&self) -> usize {
        self.block_registers() * self.types.columns as usize / BLOCK
    }

    /// Registers of a block of the accumulator.
    pub(crate) const fn block_registers(&self) -> usize {
        if matches!(self.types.d, Element::F16) { 2 } else { 4 }
    }

    /// Words of a column of B.
    pub const fn column_words(&self) -> usize {
        if self.types.sparse.is_some() { MOST_WORDS } else { WORDS }
    }

    /// Its work for a matrix unit: the warp's part.
    pub fn work(&self, a_in_registers: bool) -> MatrixWork {
        let GroupTypes { a, d, columns, .. } = self.types;
        let ty = Multiply { b: self.types.b, ..Multiply::plain(a, d) }.rate_type();
        MatrixWork {
            ty,
            multiply_adds: ROWS as u32 * u32::from(columns) * (WORDS as u32 * 32 / a.bits()),
            group: Some(GroupWork { columns, a_in_registers }),
        }
    }

    /// The rows of A that registers hold.
    pub fn rows(registers: [&Column; A_REGISTERS]) -> [[u32; WORDS]; ROWS] {
        let mut rows = [[0; WORDS]; ROWS];
        for (number, column) in registers.into_iter().enumerate() {
            for (lane, &word) in column.iter().enumerate() {
                rows[lane / 4 + number % 2 * 8][lane % 4 + number / 2 * 4] = word;
            }
        }
        rows
    }

    /// Prepares the factor A.
    pub(crate) fn factor(&self, rows: &[[u32; WORDS]; ROWS], metadata: &Column) -> RowFactor {
        let mut factor = RowFactor { words: *rows, values: [[0.0; MOST_STORED]; ROWS], ..RowFactor::default() };
        let element = self.types.a;
        for row in 0..ROWS {
            factor.positions[row] = self.positions(row, metadata);
            if element == Element::B1 {
                continue;
            }
            let stored = elements(&rows[row], element.bits());
            for (i, bits) in stored.enumerate() {
                let value = value(element, bits);
                factor.values[row][i] = if self.types.negated[0] { -value } else { value };
                factor.exponents[row][i] = sums::exponent(element, value);
            }
        }
        factor
    }

    /// For each stored element of a row, its position in the row.
    fn positions(&self, row: usize, metadata: &Column) -> Positions {
        let mut positions = std::array::from_fn(|i| i as u8);
        let Some(selector) = self.types.sparse else { return positions };
        let (group, below) = (row % 8, row / 8);
        let stored = WORDS * 32 / self.types.a.bits() as usize;
        for (i, position) in positions.iter_mut().enumerate().take(stored) {
            // Four bits describe four elements or, of tf32, two.
            let (number, part) = if self.types.a == Element::Tf32 { (i, 0) } else { (i / 2, i % 2) };
            let (lane, shift) = match self.types.a.bits() {
                8 => (4 * group + below + number / 8 * 2, number % 8 * 4),
                _ => (4 * group + usize::from(selector) * 2 + number / 4, below * 16 + number % 4 * 4),
            };
            let index = (metadata[lane % WARP_LANES] >> (shift + 2 * part) & 3) as u8;
            *position = match self.types.a {
                Element::Tf32 => number as u8 * 2 + index / 2,
                _ => number as u8 * 4 + index,
            };
        }
        positions
    }

    /// Computes a block of eight columns. `b` are the words of the columns, `c` and `d` registers of the accumulator.
    pub(crate) fn execute(
        &self,
        a: &RowFactor,
        b: &[[u32; MOST_WORDS]; BLOCK],
        c: Option<[&Column; 4]>,
        d: &mut [Column; 4],
    ) {
        match self.types.d {
            Element::S32 => {
                let mut sums = [[0; BLOCK]; ROWS];
                gather(c, &mut sums, |[x, y]| [x, y].map(|bits| bits as i32));
                self.add_integers(a, b, &mut sums);
                scatter(&sums, d, |x| x as u32);
            }
            Element::F16 => {
                let mut sums = [[0.0; BLOCK]; ROWS];
                gather_packed(c, &mut sums);
                self.add_floats(a, b, &mut sums);
                scatter_packed(&sums, d);
            }
            _ => {
                let mut sums = [[0.0; BLOCK]; ROWS];
                gather(c, &mut sums, |pair| pair.map(f32::from_bits));
                self.add_floats(a, b, &mut sums);
                scatter(&sums, d, |x: f32| float32::canonical(x).to_bits());
            }
        }
    }

    fn add_floats(&self, a: &RowFactor, b: &[[u32; MOST_WORDS]; BLOCK], sums: &mut [[f32; BLOCK]; ROWS]) {
        let (element, negated) = (self.types.b, self.types.negated[1]);
        let mut values = [[0.0; BLOCK]; 2 * MOST_STORED];
        let mut exponents = [[0; BLOCK]; 2 * MOST_STORED];
        for (col, words) in b.iter().enumerate() {
            for (k, bits) in elements(&words[..self.column_words()], element.bits()).enumerate() {
                let value = value(element, bits);
                values[k][col] = if negated { -value } else { value };
                exponents[k][col] = sums::exponent(element, value);
            }
        }
        let stored = WORDS * 32 / self.types.a.bits() as usize;
        for (row, sums) in sums.iter_mut().enumerate() {
            *sums = self.sums.add(*sums, stored, |i| {
                let at = usize::from(a.positions[row][i]);
                let (x, e) = (a.values[row][i], a.exponents[row][i]);
                (values[at].map(|y| x * y), exponents[at].map(|f| e + f))
            });
        }
    }

    fn add_integers(&self, a: &RowFactor, b: &[[u32; MOST_WORDS]; BLOCK], sums: &mut [[i32; BLOCK]; ROWS]) {
        let mut values = [[0; BLOCK]; 2 * MOST_STORED];
        if self.types.b != Element::B1 {
            for (col, words) in b.iter().enumerate() {
                for (k, bits) in elements(&words[..self.column_words()], self.types.b.bits()).enumerate() {
                    values[k][col] = integer(self.types.b, bits);
                }
            }
        }
        for (row, sums) in sums.iter_mut().enumerate() {
            let words = &a.words[row];
            let products: [i32; BLOCK] = if self.types.a == Element::B1 {
                b.map(|column| words.iter().zip(column).map(|(x, y)| (x & y).count_ones() as i32).sum())
            } else {
                let stored = elements(words, 8).map(|bits| integer(self.types.a, bits));
                stored.zip(a.positions[row]).fold([0; BLOCK], |sum, (x, at)| {
                    let y = &values[usize::from(at)];
                    std::array::from_fn(|col| sum[col] + x * y[col])
                })
            };
            for (sum, product) in sums.iter_mut().zip(products) {
                let saturates = self.types.satfinite;
                *sum = if saturates { sum.saturating_add(product) } else { sum.wrapping_add(product) };
            }
        }
    }
}

/// The warp's rows of A: words, values and exponents of floating-point numbers, positions.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RowFactor {
    words: [[u32; WORDS]; ROWS],
    values: [[f64; MOST_STORED]; ROWS],
    exponents: [[i32; MOST_STORED]; ROWS],
    positions: [Positions; ROWS],
}

/// The elements of some words, of `bits` bits each.
fn elements(words: &[u32], bits: u32) -> impl Iterator<Item = u32> + '_ {
    let keep = u32::MAX >> (32 - bits);
    words.iter().flat_map(move |&word| (0..32 / bits).map(move |i| word >> (i * bits) & keep))
}

fn value(element: Element, bits: u32) -> f64 {
    f64::from(match element {
        Element::F16 => F16::to_f32(bits as u16),
        Element::Bf16 => Bf16::to_f32(bits as u16),
        Element::E4m3 => small::e4m3_to_f32(bits as u8),
        Element::E5m2 => small::e5m2_to_f32(bits as u8),
        _ => small::tf32_operand(bits),
    })
}

fn integer(element: Element, bits: u32) -> i32 {
    if element == Element::S8 { i32::from(bits as i8) } else { bits as i32 }
}

/// Row and first of two columns of `lane` in register pair `half` of a block.
const fn place(lane: usize, half: usize) -> (usize, usize) {
    (lane / 4 + 8 * half, lane % 4 * 2)
}

/// Reads a block of the accumulator whose elements have a register each.
fn gather<T: Copy>(c: Option<[&Column; 4]>, sums: &mut [[T; BLOCK]; ROWS], read: impl Fn([u32; 2]) -> [T; 2]) {
    let Some(c) = c else { return };
    for lane in 0..WARP_LANES {
        for half in 0..2 {
            let (row, col) = place(lane, half);
            let pair = read([c[2 * half][lane], c[2 * half + 1][lane]]);
            sums[row][col..col + 2].copy_from_slice(&pair);
        }
    }
}

/// Writes it.
fn scatter<T: Copy>(sums: &[[T; BLOCK]; ROWS], d: &mut [Column; 4], write: impl Fn(T) -> u32) {
    for lane in 0..WARP_LANES {
        for half in 0..2 {
            let (row, col) = place(lane, half);
            (d[2 * half][lane], d[2 * half + 1][lane]) = (write(sums[row][col]), write(sums[row][col + 1]));
        }
    }
}

/// Reads a block of halves, two in a register.
fn gather_packed(c: Option<[&Column; 4]>, sums: &mut [[f32; BLOCK]; ROWS]) {
    let Some(c) = c else { return };
    for lane in 0..WARP_LANES {
        for half in 0..2 {
            let (row, col) = place(lane, half);
            let (low, high) = half::unpack2(c[half][lane]);
            sums[row][col..col + 2].copy_from_slice(&[F16::to_f32(low), F16::to_f32(high)]);
        }
    }
}

/// Writes it.
fn scatter_packed(sums: &[[f32; BLOCK]; ROWS], d: &mut [Column; 4]) {
    let round = |x| half::from_f32::<F16>(x, Rounding::NearestEven);
    for lane in 0..WARP_LANES {
        for half in 0..2 {
            let (row, col) = place(lane, half);
            d[half][lane] = half::pack2(round(sums[row][col]), round(sums[row][col + 1]));
        }
    }
}
