//! D = A * B + C.

use super::fragment::{Element, Fragment, MatrixOperand, Order, Shape};
use super::placed::{Column, Placed};
use super::sums::{self, Sums};
use isa::{MatrixType, MatrixWork};
use kit::WARP_LANES;
use num::half::{Bf16, F16, Half};
use num::{Rounding, float32, float64, half, small};

/// Combination of single-bit factors before the ones are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum BitOp {
    /// `.xor.popc`.
    #[default]
    Xor,
    /// `.and.popc`.
    And,
}

/// Types and modifiers of a matrix multiplication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Multiply {
    pub a: Element,
    pub b: Element,
    pub c: Element,
    pub d: Element,
    /// Order of A in `mma.m8n8k4` with f16 factors; elsewhere it does not change the registers.
    pub a_order: Order,
    /// Order of B, in the same way.
    pub b_order: Order,
    /// `.satfinite`: integer results are clamped instead of wrapped.
    pub satfinite: bool,
    /// Rounding of f64 results.
    pub round: Rounding,
    /// Combination of single-bit factors.
    pub bit_op: BitOp,
}

impl Multiply {
    /// One type for both factors, one for both accumulators, no modifiers.
    pub const fn plain(factor: Element, accumulator: Element) -> Self {
        Multiply {
            a: factor,
            b: factor,
            c: accumulator,
            d: accumulator,
            a_order: Order::Row,
            b_order: Order::Col,
            satfinite: false,
            round: Rounding::NearestEven,
            bit_op: BitOp::Xor,
        }
    }

    /// The types, as far as hardware has rates for them.
    pub(super) fn rate_type(&self) -> MatrixType {
        let single = self.c == Element::F32 || self.d == Element::F32;
        match self.a {
            Element::F16 if single => MatrixType::F16F32,
            Element::F16 => MatrixType::F16,
            Element::Bf16 => MatrixType::Bf16,
            Element::E4m3 | Element::E5m2 if single => MatrixType::Fp8F32,
            Element::E4m3 | Element::E5m2 => MatrixType::Fp8,
            Element::F64 => MatrixType::F64,
            Element::U8 | Element::S8 => MatrixType::Int8,
            Element::U4 | Element::S4 => MatrixType::Int4,
            Element::B1 => MatrixType::B1,
            // No factor is f32 or s32.
            Element::Tf32 | Element::F32 | Element::S32 => MatrixType::Tf32,
        }
    }

    /// Whether this combination of types exists.
    fn is_valid(&self) -> bool {
        use Element::{B1, Bf16, E4m3, E5m2, F16, F32, F64, S4, S8, S32, Tf32, U4, U8};
        match (self.a, self.b) {
            (F16, F16) | (E4m3 | E5m2, E4m3 | E5m2) => matches!(self.c, F16 | F32) && matches!(self.d, F16 | F32),
            (Bf16, Bf16) | (Tf32, Tf32) => (self.c, self.d) == (F32, F32),
            (F64, F64) => (self.c, self.d) == (F64, F64),
            (U8 | S8, U8 | S8) | (U4 | S4, U4 | S4) | (B1, B1) => (self.c, self.d) == (S32, S32),
            _ => false,
        }
    }
}

/// A factor with its exponent.
#[derive(Clone, Copy, Default)]
struct Factor(f64, i32);

impl Factor {
    fn half(bits: u32) -> Self {
        let value = f64::from(F16::to_f32(bits as u16));
        Self(value, sums::exponent(Element::F16, value))
    }

    fn times(self, other: Self) -> (f64, i32) {
        (self.0 * other.0, self.1 + other.1)
    }
}

/// A matrix multiply-accumulate instruction, ready to execute.
#[derive(Clone, Debug)]
pub struct Mma {
    shape: Shape,
    types: Multiply,
    sums: Sums,
    a: Placed,
    b: Placed,
    c: Placed,
    d: Placed,
}

impl Mma {
    /// `mma.sync` on architecture `sm`, such as 75, which decides how sums are rounded. `None` if the instruction does not
    /// exist or is not supported; whether the architecture has it is not looked at.
    #[expect(clippy::self_named_constructors, reason = "the manual's name of the instruction")]
    pub fn mma(shape: Shape, types: Multiply, sm: u32) -> Option<Self> {
        if shape == (Shape { m: 8, n: 8, k: 4 }) && types.a == Element::F16 {
            let fragments = [
                Fragment::quad(MatrixOperand::A, types.a, types.a_order),
                Fragment::quad(MatrixOperand::B, types.b, types.b_order),
                Fragment::quad(MatrixOperand::C, types.c, Order::Row),
                Fragment::quad(MatrixOperand::C, types.d, Order::Row),
            ];
            return Self::new(shape, types, sm, fragments);
        }
        let of = |operand, element| Fragment::mma(operand, element, shape);
        let fragments = [
            of(MatrixOperand::A, types.a)?,
            of(MatrixOperand::B, types.b)?,
            of(MatrixOperand::C, types.c)?,
            of(MatrixOperand::C, types.d)?,
        ];
        let in_columns = (types.a_order, types.b_order) == (Order::Row, Order::Col);
        in_columns.then(|| Self::new(shape, types, sm, fragments))?
    }

    /// `wmma.mma`, as [`Mma::mma`].
    pub fn wmma(shape: Shape, types: Multiply, sm: u32) -> Option<Self> {
        let of = |operand, element| Fragment::wmma(operand, element, shape);
        let fragments = [
            of(MatrixOperand::A, types.a)?,
            of(MatrixOperand::B, types.b)?,
            of(MatrixOperand::C, types.c)?,
            of(MatrixOperand::C, types.d)?,
        ];
        Self::new(shape, types, sm, fragments)
    }

    fn new(shape: Shape, types: Multiply, sm: u32, fragments: [Fragment; 4]) -> Option<Self> {
        let [a, b, c, d] = fragments.map(Placed::new);
        let sums = Sums::of(sm, types.a, shape.k, types.d);
        types.is_valid().then_some(Mma { shape, types, sums, a, b, c, d })
    }

    /// 32-bit registers per lane of A, B, C and D.
    pub const fn registers(&self) -> [usize; 4] {
        [
            self.a.fragment.registers(),
            self.b.fragment.registers(),
            self.c.fragment.registers(),
            self.d.fragment.registers(),
        ]
    }

    /// Multiply-accumulate steps on single elements in the warp.
    pub const fn operations(&self) -> u32 {
        let Shape { m, n, k } = self.shape;
        m as u32 * n as u32 * k as u32 * self.a.fragment.tiles() as u32
    }

    /// Its work for a matrix unit.
    pub fn work(&self) -> MatrixWork {
        MatrixWork { ty: self.types.rate_type(), multiply_adds: self.operations(), group: None }
    }

    /// Computes D from A, B and C.
    ///
    /// # Panics
    /// If a slice has fewer columns than [`Mma::registers`] reports.
    pub fn execute(&self, a: &[Column], b: &[Column], c: &[Column], d: &mut [Column]) {
        let [ra, rb, rc, rd] = self.registers();
        let (a, b, c, d) = (&a[..ra], &b[..rb], &c[..rc], &mut d[..rd]);
        match self.types.a {
            Element::F64 => self.execute_f64(a, b, c, d),
            Element::B1 => self.execute_bits(a, b, c, d),
            // Small products use small arrays: clearing large ones would take longer than the product.
            Element::U8 | Element::S8 | Element::U4 | Element::S4 => match self.largest_factor() {
                ..=256 => self.execute_integers::<256>(a, b, c, d),
                257..=512 => self.execute_integers::<512>(a, b, c, d),
                _ => self.execute_integers::<1024>(a, b, c, d),
            },
            _ => match self.largest_factor() {
                ..=256 => self.execute_floats::<256>(a, b, c, d),
                _ => self.execute_floats::<512>(a, b, c, d),
            },
        }
    }

    /// For `mma.m8n8k4` with f16 factors: computes the accumulator's registers from number `first` on from
    /// the factors and the same registers of C.
    ///
    /// # Panics
    /// If the accumulator has no such registers.
    pub fn execute_part<const N: usize>(&self, first: usize, [a, b]: [&[Column]; 2], c: [Column; N]) -> [Column; N] {
        const FACTOR: usize = 4 * 8 * 4;
        let mut factors = ([Factor::default(); FACTOR], [Factor::default(); FACTOR]);
        self.a.gather(a, &mut factors.0, Factor::half);
        self.b.gather(b, &mut factors.1, Factor::half);
        let (n, k) = (usize::from(self.shape.n), usize::from(self.shape.k));
        // Rows of A and of its result are numbered across all tiles.
        let add = |places: &[u16; WARP_LANES], start: [f32; WARP_LANES]| {
            self.sums.add(start, k, |i| {
                let pairs: [_; WARP_LANES] = std::array::from_fn(|lane| {
                    let (row, col) = (usize::from(places[lane]) / n, usize::from(places[lane]) % n);
                    let tile = row / usize::from(self.shape.m);
                    factors.0[row * k + i].times(factors.1[(tile * k + i) * n + col])
                });
                (pairs.map(|product| product.0), pairs.map(|product| product.1))
            })
        };
        let single = self.d.fragment.element() == Element::F32;
        let parts = if single { 1 } else { 2 };
        let mut d = c;
        for (register, column) in d.iter_mut().enumerate() {
            let places = |part: usize| self.d.places((first + register) * parts + part);
            *column = if single {
                add(places(0), column.map(f32::from_bits)).map(|x| float32::canonical(x).to_bits())
            } else {
                let half = |part: usize| {
                    let start = column.map(|x| F16::to_f32((x >> (16 * part)) as u16));
                    add(places(part), start).map(|x| half::from_f32::<F16>(x, Rounding::NearestEven))
                };
                let (low, high) = (half(0), half(1));
                std::array::from_fn(|lane| half::pack2(low[lane], high[lane]))
            };
        }
        d
    }

    /// Number of elements of the larger factor.
    fn largest_factor(&self) -> u32 {
        let Shape { m, n, k } = self.shape;
        u32::from(m.max(n)) * u32::from(k) * self.a.fragment.tiles() as u32
    }

    /// f16, bf16, tf32 and 8-bit float factors of at most `LARGEST` elements, as tensor cores add them.
    fn execute_floats<const LARGEST: usize>(&self, a: &[Column], b: &[Column], c: &[Column], d: &mut [Column]) {
        let mut values = ([0f64; LARGEST], [0f64; LARGEST]);
        let read = |p: &Placed, from: &[Column], to: &mut [f64]| match p.fragment.element() {
            Element::F16 => p.gather(from, to, |x| f64::from(F16::to_f32(x as u16))),
            Element::Bf16 => p.gather(from, to, |x| f64::from(Bf16::to_f32(x as u16))),
            Element::E4m3 => p.gather(from, to, |x| f64::from(small::e4m3_to_f32(x as u8))),
            Element::E5m2 => p.gather(from, to, |x| f64::from(small::e5m2_to_f32(x as u8))),
            _ => p.gather(from, to, |x| f64::from(small::tf32_operand(x))),
        };
        read(&self.a, a, &mut values.0);
        read(&self.b, b, &mut values.1);
        let exponents = (
            values.0.map(|value| sums::exponent(self.types.a, value)),
            values.1.map(|value| sums::exponent(self.types.b, value)),
        );
        let mut sums = [0f32; 256];
        match self.types.c {
            Element::F16 => self.c.gather(c, &mut sums, |x| F16::to_f32(x as u16)),
            _ => self.c.gather(c, &mut sums, f32::from_bits),
        }
        let (m, n, k) = (usize::from(self.shape.m), usize::from(self.shape.n), usize::from(self.shape.k));
        let blocks = n / 8;
        let (b_values, b_exponents) = (values.1.as_chunks::<8>().0, exponents.1.as_chunks::<8>().0);
        for (place, block_sums) in
            sums.as_chunks_mut::<8>().0[..m * blocks * self.a.fragment.tiles()].iter_mut().enumerate()
        {
            let (row, block) = (place / blocks, place % blocks);
            let (a_values, a_exponents) = (&values.0[row * k..][..k], &exponents.0[row * k..][..k]);
            for first in (0..k).step_by(self.sums.together) {
                *block_sums = self.sums.add(*block_sums, self.sums.together, |i| {
                    let i = first + i;
                    let of_b = (row / m * k + i) * blocks + block;
                    let (x, e) = (a_values[i], a_exponents[i]);
                    (b_values[of_b].map(|y| x * y), b_exponents[of_b].map(|f| e + f))
                });
            }
        }
        match self.types.d {
            Element::F16 => {
                let round = |x| u32::from(half::from_f32::<F16>(x, Rounding::NearestEven));
                self.d.scatter(&sums, d, round);
            }
            _ => self.d.scatter(&sums, d, |x: f32| float32::canonical(x).to_bits()),
        }
    }

    fn execute_f64(&self, a: &[Column], b: &[Column], c: &[Column], d: &mut [Column]) {
        let mut factors = ([0f64; 256], [0f64; 128]);
        let mut sums = [0f64; 128];
        self.a.gather_f64(a, &mut factors.0);
        self.b.gather_f64(b, &mut factors.1);
        self.c.gather_f64(c, &mut sums);
        let round = self.types.round;
        self.accumulate(&factors.0, &factors.1, &mut sums, |sum, x, y| float64::fma(x, y, sum, round));
        self.d.scatter_f64(&sums, d);
    }

    /// Bytes and nibbles, at most `LARGEST` in a factor. Computed in f32, which hosts multiply faster. 32
    /// products of bytes are below 2^21, so every sum is exact; only the addition of C can overflow.
    fn execute_integers<const LARGEST: usize>(&self, a: &[Column], b: &[Column], c: &[Column], d: &mut [Column]) {
        let mut factors = ([0f32; LARGEST], [0f32; LARGEST]);
        let mut sums = [0f32; 256];
        let read = |p: &Placed, from: &[Column], to: &mut [f32]| match p.fragment.element() {
            Element::U8 => p.gather(from, to, |x| (x & 0xff) as i32 as f32),
            Element::S8 => p.gather(from, to, |x| f32::from(x as i8)),
            Element::U4 => p.gather(from, to, |x| (x & 0xf) as i32 as f32),
            _ => p.gather(from, to, |x| (((x << 28) as i32) >> 28) as f32),
        };
        read(&self.a, a, &mut factors.0);
        read(&self.b, b, &mut factors.1);
        self.accumulate(&factors.0, &factors.1, &mut sums, |sum, x, y| sum + x * y);
        self.add_c(&sums.map(|x| x as i32), c, d);
    }

    /// Single bits: whole registers at a time, since both factors have the same elements there.
    fn execute_bits(&self, a: &[Column], b: &[Column], c: &[Column], d: &mut [Column]) {
        let Shape { m, n, k } = self.shape;
        let words = usize::from(k / 32);
        let mut rows = [[0u32; 8]; 16];
        let mut cols = [[0u32; 8]; 8];
        // Positions of the first bit of each register: k bits in a row of A, n columns of B.
        for (register, column) in a.iter().enumerate() {
            for (word, place) in column.iter().zip(self.a.places(register * 32)) {
                rows[usize::from(place / k)][usize::from(place % k / 32)] = *word;
            }
        }
        for (register, column) in b.iter().enumerate() {
            for (word, place) in column.iter().zip(self.b.places(register * 32)) {
                cols[usize::from(place % n)][usize::from(place / n / 32)] = *word;
            }
        }
        let mut sums = [0i32; 256];
        for (row, sums) in rows[..usize::from(m)].iter().zip(sums.chunks_exact_mut(usize::from(n))) {
            for (col, sum) in cols.iter().zip(sums) {
                let pairs = row.iter().zip(col).take(words);
                *sum = match self.types.bit_op {
                    BitOp::Xor => pairs.map(|(x, y)| (x ^ y).count_ones() as i32).sum(),
                    BitOp::And => pairs.map(|(x, y)| (x & y).count_ones() as i32).sum(),
                };
            }
        }
        self.add_c(&sums, c, d);
    }

    /// Adds C to the sums of products and writes D.
    fn add_c(&self, products: &[i32; 256], c: &[Column], d: &mut [Column]) {
        let mut sums = [0i32; 256];
        self.c.gather(c, &mut sums, |x| x as i32);
        for (sum, product) in sums.iter_mut().zip(products) {
            *sum = if self.types.satfinite { sum.saturating_add(*product) } else { sum.wrapping_add(*product) };
        }
        self.d.scatter(&sums, d, |x| x as u32);
    }

    /// Runs `step` on each sum in ascending order of k.
    #[inline(always)]
    fn accumulate<T: Copy>(&self, a: &[T], b: &[T], sums: &mut [T], step: impl Fn(T, T, T) -> T) {
        let (m, n, k) = (usize::from(self.shape.m), usize::from(self.shape.n), usize::from(self.shape.k));
        for tile in 0..self.a.fragment.tiles() {
            let a = &a[tile * m * k..(tile + 1) * m * k];
            let b = &b[tile * k * n..(tile + 1) * k * n];
            let sums = &mut sums[tile * m * n..(tile + 1) * m * n];
            let (b, blocks) = (b.as_chunks::<8>().0, n / 8);
            // Blocks of 2 rows by 8 columns stay in host registers over k. m is even, n a multiple of 8.
            for (a_rows, sum_rows) in a.chunks_exact(2 * k).zip(sums.chunks_exact_mut(2 * n)) {
                let (a_upper, a_lower) = a_rows.split_at(k);
                let (sum_upper, sum_lower) = sum_rows.as_chunks_mut::<8>().0.split_at_mut(blocks);
                for (block, (sum_upper, sum_lower)) in sum_upper.iter_mut().zip(sum_lower).enumerate() {
                    let (mut upper, mut lower) = (*sum_upper, *sum_lower);
                    for ((&x, &y), b_row) in a_upper.iter().zip(a_lower).zip(b.chunks_exact(blocks)) {
                        let z = &b_row[block];
                        for i in 0..8 {
                            upper[i] = step(upper[i], x, z[i]);
                            lower[i] = step(lower[i], y, z[i]);
                        }
                    }
                    (*sum_upper, *sum_lower) = (upper, lower);
                }
            }
        }
    }
}
