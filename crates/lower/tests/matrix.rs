//! Warp matrix operations against a plain matrix product. The `mma` layouts are written out here
//! from the manual's tables, shape by shape, apart from the code's general rule.

use exec::matrix::{BitOp, Element, Fragment, MatrixOperand, Mma, Multiply, Order, Shape};
use exec::matrix::{ldmatrix, movmatrix_trans, stmatrix};
use num::Rounding;
use num::half::{self, F16, Half};

type Columns = Vec<[u32; 32]>;
/// (lane, element) to (row, column).
type Layout = fn(u32, u32) -> (u32, u32);

/// Small numbers, deterministic.
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33 ^ self.0 >> 17
    }

    fn between(&mut self, low: i64, high: i64) -> i64 {
        low + (self.bits() % (high - low + 1) as u64) as i64
    }

    fn matrix(&mut self, rows: u16, cols: u16, low: i64, high: i64) -> Matrix {
        Matrix { cols: cols.into(), values: (0..rows * cols).map(|_| self.between(low, high)).collect() }
    }
}

#[derive(Clone, Debug, PartialEq)]
struct Matrix {
    cols: usize,
    values: Vec<i64>,
}

impl Matrix {
    fn at(&self, row: u32, col: u32) -> i64 {
        self.values[row as usize * self.cols + col as usize]
    }

    fn multiply_add(&self, b: &Matrix, c: &Matrix) -> Matrix {
        let mut d = c.clone();
        for (i, value) in d.values.iter_mut().enumerate() {
            let (row, col) = (i / c.cols, i % c.cols);
            *value +=
                (0..self.cols).map(|k| self.values[row * self.cols + k] * b.values[k * b.cols + col]).sum::<i64>();
        }
        d
    }
}

/// The bits of a small integer as an element.
fn encode(element: Element, x: i64) -> u64 {
    match element {
        Element::F16 => half::from_f64::<F16>(x as f64, Rounding::NearestEven).into(),
        Element::Bf16 => u64::from((x as f32).to_bits() >> 16),
        Element::Tf32 | Element::F32 => (x as f32).to_bits().into(),
        Element::F64 => (x as f64).to_bits(),
        Element::E4m3 => num::small::e4m3_from_f32(x as f32, false).into(),
        Element::E5m2 => num::small::e5m2_from_f32(x as f32, false).into(),
        Element::U8 | Element::S8 | Element::U4 | Element::S4 | Element::B1 => x as u64 & ((1 << element.bits()) - 1),
        Element::S32 => u64::from(x as u32),
    }
}

fn decode(element: Element, bits: u64) -> i64 {
    match element {
        Element::F16 => F16::to_f32(bits as u16) as i64,
        Element::F32 => f32::from_bits(bits as u32) as i64,
        Element::F64 => f64::from_bits(bits) as i64,
        _ => i64::from(bits as u32 as i32),
    }
}

/// The registers of a fragment whose lanes hold `matrix` by `layout`.
fn distribute(matrix: &Matrix, element: Element, elements: u32, layout: impl Fn(u32, u32) -> (u32, u32)) -> Columns {
    let bits = element.bits();
    let mut columns = vec![[0u32; 32]; (elements * bits / 32) as usize];
    for lane in 0..32 {
        for i in 0..elements {
            let (row, col) = layout(lane, i);
            let value = encode(element, matrix.at(row, col));
            let at = (i * bits) as usize;
            columns[at / 32][lane as usize] |= (value as u32) << (at % 32);
            if bits == 64 {
                columns[at / 32 + 1][lane as usize] = (value >> 32) as u32;
            }
        }
    }
    columns
}

/// The matrix that the registers of a fragment hold.
fn collect(columns: &Columns, element: Element, size: (u16, u16), layout: impl Fn(u32, u32) -> (u32, u32)) -> Matrix {
    let bits = element.bits();
    let cols = usize::from(size.1);
    let mut values = vec![i64::MIN; usize::from(size.0) * cols];
    for lane in 0..32 {
        for i in 0..columns.len() as u32 * 32 / bits {
            let at = (i * bits) as usize;
            let low = u64::from(columns[at / 32][lane as usize] >> (at % 32));
            let value = match bits {
                64 => low | u64::from(columns[at / 32 + 1][lane as usize]) << 32,
                32 => low,
                _ => low & ((1 << bits) - 1),
            };
            let (row, col) = layout(lane, i);
            values[row as usize * cols + col as usize] = decode(element, value);
        }
    }
    Matrix { cols, values }
}

/// The range in which products and sums of the type are exact.
fn range(element: Element) -> (i64, i64) {
    match element {
        Element::U8 => (0, 255),
        Element::S8 => (-128, 127),
        Element::U4 => (0, 15),
        Element::S4 => (-8, 7),
        Element::B1 => (0, 1),
        Element::E4m3 | Element::E5m2 => (-4, 4),
        _ => (-8, 8),
    }
}

/// Checks an `mma` on random small integers, its fragments laid out by the tables given.
fn check_mma(shape: (u16, u16, u16), types: Multiply, a_layout: Layout, b_layout: Layout, c_layout: Layout) {
    // Small integers are exact on all architectures.
    for sm in [70, 75, 80, 89, 90] {
        check_mma_of(sm, shape, types, a_layout, b_layout, c_layout);
    }
}

fn check_mma_of(
    sm: u32,
    (m, n, k): (u16, u16, u16),
    types: Multiply,
    a_layout: Layout,
    b_layout: Layout,
    c_layout: Layout,
) {
    let plan = Mma::mma(Shape { m, n, k }, types, sm).unwrap_or_else(|| panic!("{m} {n} {k} {types:?}"));
    let mut random = Random(u64::from(m) + 100 * u64::from(k));
    for _ in 0..20 {
        let (low, high) = range(types.a);
        let a = random.matrix(m, k, low, high);
        let (low, high) = range(types.b);
        let b = random.matrix(k, n, low, high);
        let c = random.matrix(m, n, -50, 50);
        let elements = |rows: u16, cols: u16| u32::from(rows) * u32::from(cols) / 32;
        let ra = distribute(&a, types.a, elements(m, k), a_layout);
        let rb = distribute(&b, types.b, elements(k, n), b_layout);
        let rc = distribute(&c, types.c, elements(m, n), c_layout);
        let mut rd = vec![[0xdead_beef; 32]; (elements(m, n) * types.d.bits() / 32) as usize];
        assert_eq!(plan.registers(), [ra.len(), rb.len(), rc.len(), rd.len()], "{m} {n} {k}");
        plan.execute(&ra, &rb, &rc, &mut rd);
        assert_eq!(collect(&rd, types.d, (m, n), c_layout), a.multiply_add(&b, &c), "sm_{sm} {m} {n} {k} {types:?}");
    }
}

// Accumulators: two columns per lane and row, rows 8 apart (m16n8) or one row (m8n8).
fn c_m16n8(lane: u32, i: u32) -> (u32, u32) {
    (if i < 2 { lane >> 2 } else { (lane >> 2) + 8 }, lane % 4 * 2 + (i & 1))
}

fn c_m8n8(lane: u32, i: u32) -> (u32, u32) {
    (lane >> 2, lane % 4 * 2 + i)
}

#[test]
fn mma_f16_and_bf16() {
    let a_k8: Layout = |lane, i| (if i < 2 { lane >> 2 } else { (lane >> 2) + 8 }, lane % 4 * 2 + (i & 1));
    let b_k8: Layout = |lane, i| (lane % 4 * 2 + i, lane >> 2);
    let a_k16: Layout = |lane, i| {
        let row = if i < 2 || (4..6).contains(&i) { lane >> 2 } else { (lane >> 2) + 8 };
        (row, lane % 4 * 2 + (i & 1) + if i < 4 { 0 } else { 8 })
    };
    let b_k16: Layout = |lane, i| (lane % 4 * 2 + (i & 1) + if i < 2 { 0 } else { 8 }, lane >> 2);
    for accumulator in [Element::F16, Element::F32] {
        let types = Multiply::plain(Element::F16, accumulator);
        check_mma((16, 8, 8), types, a_k8, b_k8, c_m16n8);
        check_mma((16, 8, 16), types, a_k16, b_k16, c_m16n8);
    }
    let types = Multiply::plain(Element::Bf16, Element::F32);
    check_mma((16, 8, 8), types, a_k8, b_k8, c_m16n8);
    check_mma((16, 8, 16), types, a_k16, b_k16, c_m16n8);
}

#[test]
fn mma_tf32() {
    let types = Multiply::plain(Element::Tf32, Element::F32);
    let a_k4: Layout = |lane, i| ((lane >> 2) + 8 * i, lane % 4);
    let b_k4: Layout = |lane, _| (lane % 4, lane >> 2);
    check_mma((16, 8, 4), types, a_k4, b_k4, c_m16n8);
    let a_k8: Layout = |lane, i| {
        let row = if i == 0 || i == 2 { lane >> 2 } else { (lane >> 2) + 8 };
        (row, lane % 4 + if i < 2 { 0 } else { 4 })
    };
    let b_k8: Layout = |lane, i| (lane % 4 + if i == 0 { 0 } else { 4 }, lane >> 2);
    check_mma((16, 8, 8), types, a_k8, b_k8, c_m16n8);
}

#[test]
fn mma_f64() {
    let types = Multiply::plain(Element::F64, Element::F64);
    check_mma((8, 8, 4), types, |lane, _| (lane >> 2, lane % 4), |lane, _| (lane % 4, lane >> 2), c_m8n8);
    let a: Layout = |lane, i| ((lane >> 2) + i % 2 * 8, lane % 4 + i / 2 * 4);
    let b: Layout = |lane, i| (lane % 4 + i * 4, lane >> 2);
    for k in [4, 8, 16] {
        check_mma((16, 8, k), types, a, b, c_m16n8);
    }
}

#[test]
fn mma_bytes() {
    let a_m8: Layout = |lane, i| (lane >> 2, lane % 4 * 4 + i);
    let b_k16: Layout = |lane, i| (lane % 4 * 4 + i, lane >> 2);
    let a_k16: Layout = |lane, i| (if i < 4 { lane >> 2 } else { (lane >> 2) + 8 }, lane % 4 * 4 + (i & 3));
    let a_k32: Layout = |lane, i| {
        let row = if i < 4 || (8..12).contains(&i) { lane >> 2 } else { (lane >> 2) + 8 };
        (row, lane % 4 * 4 + (i & 3) + if i < 8 { 0 } else { 16 })
    };
    let b_k32: Layout = |lane, i| (lane % 4 * 4 + (i & 3) + if i < 4 { 0 } else { 16 }, lane >> 2);
    for (a, b) in [(Element::S8, Element::S8), (Element::U8, Element::U8), (Element::U8, Element::S8)] {
        let types = Multiply { a, b, ..Multiply::plain(a, Element::S32) };
        check_mma((8, 8, 16), types, a_m8, b_k16, c_m8n8);
        check_mma((16, 8, 16), types, a_k16, b_k16, c_m16n8);
        check_mma((16, 8, 32), types, a_k32, b_k32, c_m16n8);
    }
    for (a, b) in [(Element::E4m3, Element::E4m3), (Element::E5m2, Element::E4m3)] {
        for accumulator in [Element::F16, Element::F32] {
            let types = Multiply { a, b, ..Multiply::plain(a, accumulator) };
            check_mma((16, 8, 16), types, a_k16, b_k16, c_m16n8);
            check_mma((16, 8, 32), types, a_k32, b_k32, c_m16n8);
        }
    }
}

#[test]
fn mma_nibbles() {
    let a_m8: Layout = |lane, i| (lane >> 2, lane % 4 * 8 + i);
    let b_k32: Layout = |lane, i| (lane % 4 * 8 + i, lane >> 2);
    let a_k32: Layout = |lane, i| (if i < 8 { lane >> 2 } else { (lane >> 2) + 8 }, lane % 4 * 8 + (i & 7));
    let a_k64: Layout = |lane, i| {
        let row = if i < 8 || (16..24).contains(&i) { lane >> 2 } else { (lane >> 2) + 8 };
        (row, lane % 4 * 8 + (i & 7) + if i < 16 { 0 } else { 32 })
    };
    let b_k64: Layout = |lane, i| (lane % 4 * 8 + (i & 7) + if i < 8 { 0 } else { 32 }, lane >> 2);
    for element in [Element::S4, Element::U4] {
        let types = Multiply::plain(element, Element::S32);
        check_mma((8, 8, 32), types, a_m8, b_k32, c_m8n8);
        check_mma((16, 8, 32), types, a_k32, b_k32, c_m16n8);
        check_mma((16, 8, 64), types, a_k64, b_k64, c_m16n8);
    }
}

#[test]
fn mma_bits() {
    let a_m8: Layout = |lane, i| (lane >> 2, lane % 4 * 32 + i);
    let b_k128: Layout = |lane, i| (lane % 4 * 32 + i, lane >> 2);
    let a_k128: Layout = |lane, i| (if i < 32 { lane >> 2 } else { (lane >> 2) + 8 }, lane % 4 * 32 + (i & 31));
    let a_k256: Layout = |lane, i| {
        let row = if i < 32 || (64..96).contains(&i) { lane >> 2 } else { (lane >> 2) + 8 };
        (row, lane % 4 * 32 + (i & 31) + if i < 64 { 0 } else { 128 })
    };
    let b_k256: Layout = |lane, i| (lane % 4 * 32 + (i & 31) + if i < 32 { 0 } else { 128 }, lane >> 2);
    let types = Multiply { bit_op: BitOp::And, ..Multiply::plain(Element::B1, Element::S32) };
    check_mma((8, 8, 128), types, a_m8, b_k128, c_m8n8);
    check_mma((16, 8, 128), types, a_k128, b_k128, c_m16n8);
    check_mma((16, 8, 256), types, a_k256, b_k256, c_m16n8);
    // Exclusive or counts the bits that differ: ones(a) + ones(b) - 2 ones(a and b).
    let shape = Shape { m: 8, n: 8, k: 128 };
    let xor = Mma::mma(shape, Multiply { bit_op: BitOp::Xor, ..types }, 80).unwrap();
    let mut d = [[0; 32]; 2];
    xor.execute(&[[0xffff_0000; 32]], &[[0x00ff_0000; 32]], &[[5; 32]; 2], &mut d);
    assert_eq!(d, [[5 + 4 * 8; 32]; 2]);
}

/// Volta's m8n8k4: four products at once, each held by two groups of four lanes.
#[test]
fn mma_m8n8k4_f16() {
    let upper = |lane: u32| if lane < 16 { 0 } else { 4 };
    let mut random = Random(7);
    for a_order in [Order::Row, Order::Col] {
        for b_order in [Order::Row, Order::Col] {
            for (c, d) in [(Element::F16, Element::F16), (Element::F16, Element::F32), (Element::F32, Element::F32)] {
                let types = Multiply { a_order, b_order, c, d, ..Multiply::plain(Element::F16, c) };
                let plan = Mma::mma(Shape { m: 8, n: 8, k: 4 }, types, 70).unwrap();
                let a_place = |lane: u32, i: u32| match a_order {
                    Order::Row => (lane % 4 + upper(lane), i),
                    Order::Col => (i % 4 + upper(lane), lane % 4),
                };
                let b_place = |lane: u32, i: u32| match b_order {
                    Order::Row => (lane % 4, i + upper(lane)),
                    Order::Col => (i, lane % 4 + upper(lane)),
                };
                let c_place = |element: Element| {
                    move |lane: u32, i: u32| match element {
                        Element::F16 => (lane % 4 + upper(lane), i),
                        _ => ((lane & 1) + (i & 2) + upper(lane), (i & 4) + (lane & 2) + (i & 1)),
                    }
                };
                // Four different products, one above the other.
                let of_tile = |lane: u32| lane % 16 / 4 * 8;
                let a = random.matrix(32, 4, -8, 8);
                let b: Vec<Matrix> = (0..4).map(|_| random.matrix(4, 8, -8, 8)).collect();
                let c_matrix = random.matrix(32, 8, -50, 50);
                let ra = distribute(&a, Element::F16, 4, |lane, i| {
                    let (row, col) = a_place(lane, i);
                    (row + of_tile(lane), col)
                });
                let stacked = Matrix { cols: 8, values: b.iter().flat_map(|b| b.values.clone()).collect() };
                let rb = distribute(&stacked, Element::F16, 4, |lane, i| {
                    let (row, col) = b_place(lane, i);
                    (row + of_tile(lane) / 2, col)
                });
                let shifted = |element| {
                    move |lane: u32, i: u32| {
                        let (row, col) = c_place(element)(lane, i);
                        (row + of_tile(lane), col)
                    }
                };
                let rc = distribute(&c_matrix, c, 8, shifted(c));
                let mut rd = vec![[0; 32]; (8 * d.bits() / 32) as usize];
                assert_eq!(plan.registers(), [2, 2, rc.len(), rd.len()]);
                plan.execute(&ra, &rb, &rc, &mut rd);
                let got = collect(&rd, d, (32, 8), shifted(d));
                for (tile, b) in b.iter().enumerate() {
                    let rows = |m: &Matrix, n: usize| Matrix {
                        cols: m.cols,
                        values: m.values[tile * 8 * n..(tile + 1) * 8 * n].to_vec(),
                    };
                    assert_eq!(rows(&got, 8), rows(&a, 4).multiply_add(b, &rows(&c_matrix, 8)));
                }
            }
        }
    }
}

/// A matrix in memory, its rows or columns `stride` elements apart, as bytes.
fn to_memory(matrix: &Matrix, element: Element, order: Order, stride: u32) -> Vec<u8> {
    let rows = matrix.values.len() / matrix.cols;
    let majors = if order == Order::Row { rows } else { matrix.cols };
    let mut memory = vec![0xee; majors * stride as usize * element.bits() as usize / 8];
    for row in 0..rows {
        for col in 0..matrix.cols {
            let value = encode(element, matrix.at(row as u32, col as u32));
            let (major, minor) = if order == Order::Row { (row, col) } else { (col, row) };
            let bit = (major * stride as usize + minor) * element.bits() as usize;
            if element.bits() >= 8 {
                let bytes = element.bits() as usize / 8;
                memory[bit / 8..bit / 8 + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
            } else {
                let mask = ((1u32 << element.bits()) - 1) << (bit % 8);
                memory[bit / 8] = memory[bit / 8] & !(mask as u8) | (value << (bit % 8)) as u8;
            }
        }
    }
    memory
}

/// Executes `wmma.load` by the fragment's table.
fn load(fragment: &Fragment, memory: &[u8], order: Order, stride: u32) -> Columns {
    let mut columns = vec![[0u32; 32]; fragment.registers()];
    for element in fragment.memory(order).expect("an order that exists") {
        for (lane, offset) in element.offsets(stride).into_iter().enumerate() {
            let mut bytes = [0; 8];
            let n = usize::from(element.bytes);
            bytes[..n].copy_from_slice(&memory[offset as usize..offset as usize + n]);
            let value = u64::from_le_bytes(bytes);
            columns[usize::from(element.register)][lane] |= (value as u32) << element.shift;
            if n == 8 {
                columns[usize::from(element.register) + 1][lane] = (value >> 32) as u32;
            }
        }
    }
    columns
}

/// Executes `wmma.store` by the table.
fn store(fragment: &Fragment, columns: &Columns, memory: &mut [u8], order: Order, stride: u32) {
    for element in fragment.memory(order).expect("an order that exists") {
        for (lane, offset) in element.offsets(stride).into_iter().enumerate() {
            let low = columns[usize::from(element.register)][lane] >> element.shift;
            let high = if element.bytes == 8 { columns[usize::from(element.register) + 1][lane] } else { 0 };
            let n = usize::from(element.bytes);
            let bytes = (u64::from(high) << 32 | u64::from(low)).to_le_bytes();
            memory[offset as usize..offset as usize + n].copy_from_slice(&bytes[..n]);
        }
    }
}

/// Loads, multiplies and stores in all orders and compares memory.
fn check_wmma(sizes: (u16, u16, u16), types: Multiply, registers: [usize; 4]) {
    let (m, n, k) = sizes;
    let shape = Shape { m, n, k };
    let plan = Mma::wmma(shape, types, 80).unwrap_or_else(|| panic!("{sizes:?} {types:?}"));
    assert_eq!(plan.registers(), registers, "{sizes:?} {types:?}");
    assert_eq!(plan.operations(), u32::from(m) * u32::from(n) * u32::from(k));
    let mut random = Random(3 * u64::from(m) + u64::from(n));
    let fragment = |operand, element| Fragment::wmma(operand, element, shape).unwrap();
    let orders = [Order::Row, Order::Col];
    for a_order in orders {
        for b_order in orders {
            if types.a.bits() < 8 && (a_order, b_order) != (Order::Row, Order::Col) {
                continue;
            }
            for c_order in orders {
                let (low, high) = range(types.a);
                let (a, b) = (random.matrix(m, k, low, high), random.matrix(k, n, low, high));
                let c = random.matrix(m, n, -50, 50);
                let loaded = |operand, element, matrix: &Matrix, order| {
                    let fragment = fragment(operand, element);
                    let stride = fragment.default_stride(order) + 32;
                    load(&fragment, &to_memory(matrix, element, order, stride), order, stride)
                };
                let ra = loaded(MatrixOperand::A, types.a, &a, a_order);
                let rb = loaded(MatrixOperand::B, types.b, &b, b_order);
                let rc = loaded(MatrixOperand::C, types.c, &c, c_order);
                let mut rd = vec![[0; 32]; registers[3]];
                plan.execute(&ra, &rb, &rc, &mut rd);
                let d = fragment(MatrixOperand::C, types.d);
                let stride = d.default_stride(c_order) + 8;
                let want = to_memory(&a.multiply_add(&b, &c), types.d, c_order, stride);
                let mut got = vec![0xee; want.len()];
                store(&d, &rd, &mut got, c_order, stride);
                assert!(got == want, "{sizes:?} {types:?}");
            }
        }
    }
}

const WIDE: [(u16, u16, u16); 3] = [(16, 16, 16), (32, 8, 16), (8, 32, 16)];

#[test]
fn wmma_f16() {
    for sizes in WIDE {
        for (c, d) in [(Element::F16, Element::F32), (Element::F32, Element::F32), (Element::F16, Element::F16)] {
            let count = |e: Element| 8 * e.bits() as usize / 32;
            let types = Multiply { c, d, ..Multiply::plain(Element::F16, c) };
            check_wmma(sizes, types, [8, 8, count(c), count(d)]);
        }
    }
}

/// Register counts from the manual's tables of fragments.
#[test]
fn wmma_other_types() {
    let f32s = |e| Multiply::plain(e, Element::F32);
    let s32s = |e| Multiply::plain(e, Element::S32);
    check_wmma(WIDE[0], f32s(Element::Bf16), [4, 4, 8, 8]);
    check_wmma(WIDE[1], f32s(Element::Bf16), [8, 2, 8, 8]);
    check_wmma(WIDE[2], f32s(Element::Bf16), [2, 8, 8, 8]);
    check_wmma((16, 16, 8), f32s(Element::Tf32), [4, 4, 8, 8]);
    check_wmma((8, 8, 4), Multiply::plain(Element::F64, Element::F64), [2, 2, 4, 4]);
    for element in [Element::S8, Element::U8] {
        check_wmma(WIDE[0], s32s(element), [2, 2, 8, 8]);
        check_wmma(WIDE[1], s32s(element), [4, 1, 8, 8]);
        check_wmma(WIDE[2], s32s(element), [1, 4, 8, 8]);
    }
    for element in [Element::S4, Element::U4] {
        check_wmma((8, 8, 32), s32s(element), [1, 1, 2, 2]);
    }
    let bits = Multiply { bit_op: BitOp::And, ..s32s(Element::B1) };
    check_wmma((8, 8, 128), bits, [1, 1, 2, 2]);
}

/// Every element of a fragment is somewhere, and in one place unless the registers repeat.
#[test]
fn fragments_cover_their_matrices() {
    for sizes in WIDE {
        let shape = Shape { m: sizes.0, n: sizes.1, k: sizes.2 };
        for operand in [MatrixOperand::A, MatrixOperand::B, MatrixOperand::C] {
            let fragment = Fragment::wmma(operand, Element::F16, shape).unwrap();
            let (rows, cols) = fragment.size();
            let mut seen = vec![0u32; usize::from(rows * cols)];
            for lane in 0..32 {
                for i in 0..fragment.elements() {
                    let at = fragment.position(lane, i);
                    assert_eq!(at.tile, 0);
                    seen[usize::from(at.row * cols + at.col)] += 1;
                }
            }
            let copies = 32 * fragment.elements() / u32::from(rows * cols);
            assert!(seen.iter().all(|&n| n == copies), "{shape:?} {operand:?}");
        }
    }
}

#[test]
fn integer_accumulators_wrap_or_clamp() {
    let shape = Shape { m: 16, n: 8, k: 32 };
    let types = Multiply::plain(Element::S8, Element::S32);
    let (a, b) = ([[0x7f7f_7f7f; 32]; 4], [[0x7f7f_7f7f; 32]; 2]);
    let sum = 127 * 127 * 32u32;
    for (satfinite, c, want) in [
        (false, i32::MAX, (i32::MAX as u32).wrapping_add(sum)),
        (true, i32::MAX - 1, i32::MAX as u32),
        (true, i32::MIN, (i32::MIN as u32).wrapping_add(sum)),
    ] {
        let mut d = [[0; 32]; 4];
        let plan = Mma::mma(shape, Multiply { satfinite, ..types }, 80).unwrap();
        plan.execute(&a, &b, &[[c as u32; 32]; 4], &mut d);
        assert_eq!(d, [[want; 32]; 4]);
    }
}

#[test]
fn floating_accumulation_is_as_documented() {
    let shape = Shape { m: 16, n: 8, k: 8 };
    // f16: 2^-12 added eight times to 1 in f32 is exact there, and lost if C and D are rounded between.
    let small = 0x0c00_0c00; // 2^-12
    let one = 0x3c00_3c00;
    let plan = Mma::mma(shape, Multiply::plain(Element::F16, Element::F16), 80).unwrap();
    let mut d = [[0; 32]; 2];
    plan.execute(&[[small; 32]; 2], &[[one; 32]; 1], &[[one; 32]; 2], &mut d);
    assert_eq!(d, [[0x3c02_3c02; 32]; 2]);
    // tf32: the low 13 bits of the operands do not count.
    let plan = Mma::mma(shape, Multiply::plain(Element::Tf32, Element::F32), 80).unwrap();
    let mut d = [[0; 32]; 4];
    plan.execute(&[[0x3f80_1fff; 32]; 4], &[[0x3f80_1fff; 32]; 2], &[[0; 32]; 4], &mut d);
    assert_eq!(d, [[8f32.to_bits(); 32]; 4]);
    // NaN is canonical.
    plan.execute(&[[0xffc0_0000; 32]; 4], &[[0; 32]; 2], &[[0; 32]; 4], &mut d);
    assert_eq!(d, [[0x7fff_ffff; 32]; 4]);
    // f64: fused, in the rounding mode asked for.
    let tiny = 1e-30f64.to_bits();
    let split = |x: u64| [[x as u32; 32], [(x >> 32) as u32; 32]];
    let types = Multiply { round: Rounding::Up, ..Multiply::plain(Element::F64, Element::F64) };
    let plan = Mma::mma(Shape { m: 8, n: 8, k: 4 }, types, 70).unwrap();
    let one = split(1f64.to_bits());
    let mut d = [[0; 32]; 4];
    plan.execute(&split(tiny), &one, &[one[0], one[1], one[0], one[1]], &mut d);
    let want = split(1f64.to_bits() + 4);
    assert_eq!(d, [want[0], want[1], want[0], want[1]]);
}

#[test]
fn combinations_that_do_not_exist() {
    let f16 = Multiply::plain(Element::F16, Element::F32);
    let shape = |m, n, k| Shape { m, n, k };
    assert!(Mma::mma(shape(16, 8, 32), f16, 80).is_none());
    assert!(Mma::mma(shape(0, 0, 0), f16, 80).is_none());
    assert!(Mma::mma(shape(16, 8, 16), Multiply { a_order: Order::Col, ..f16 }, 80).is_none());
    assert!(Mma::mma(shape(16, 8, 16), Multiply { b: Element::Bf16, ..f16 }, 80).is_none());
    assert!(Mma::mma(shape(16, 8, 16), Multiply::plain(Element::Bf16, Element::F16), 80).is_none());
    assert!(Mma::mma(shape(16, 8, 16), Multiply::plain(Element::S8, Element::F32), 80).is_none());
    assert!(Mma::wmma(shape(16, 8, 16), f16, 80).is_none());
    assert!(Mma::wmma(shape(16, 16, 16), Multiply::plain(Element::F32, Element::F32), 80).is_none());
    let nibbles = Fragment::wmma(MatrixOperand::A, Element::S4, shape(8, 8, 32)).unwrap();
    assert!(nibbles.memory(Order::Col).is_none());
}

#[test]
fn matrix_rows_to_fragments_and_back() {
    // Element (r, c) of matrix m is the number m * 64 + r * 8 + c.
    let rows: Vec<[u32; 4]> = (0..32u32).map(|r| [0, 2, 4, 6].map(|c| (r * 8 + c) | (r * 8 + c + 1) << 16)).collect();
    for count in [1, 2, 4] {
        for trans in [false, true] {
            let mut columns = vec![[0; 32]; count];
            ldmatrix(&rows[..8 * count], trans, &mut columns);
            for (m, column) in columns.iter().enumerate() {
                for lane in 0..32u32 {
                    let (row, col) = (lane / 4, lane % 4 * 2);
                    let number = |r: u32, c: u32| m as u32 * 64 + if trans { c * 8 + r } else { r * 8 + c };
                    let want = number(row, col) | number(row, col + 1) << 16;
                    assert_eq!(column[lane as usize], want, "matrix {m} lane {lane} trans {trans}");
                }
            }
            let mut back = vec![[0; 4]; 8 * count];
            stmatrix(&columns, trans, &mut back);
            assert_eq!(back, rows[..8 * count]);
            assert_eq!(movmatrix_trans(&movmatrix_trans(&columns[0])), columns[0]);
        }
    }
    let mut plain = [[0; 32]];
    let mut transposed = [[0; 32]];
    ldmatrix(&rows[..8], false, &mut plain);
    ldmatrix(&rows[..8], true, &mut transposed);
    assert_eq!(movmatrix_trans(&plain[0]), transposed[0]);
}

/// The use of `ldmatrix` that it is made for: its fragments are those of `mma.m16n8k16`.
#[test]
fn ldmatrix_feeds_mma() {
    let mut random = Random(9);
    let (a, b, c) = (random.matrix(16, 16, -8, 8), random.matrix(16, 8, -8, 8), random.matrix(16, 8, -9, 9));
    let row_of = |m: &Matrix, row: u32, col: u32| -> [u32; 4] {
        [0, 2, 4, 6].map(|i| {
            let bits = |c: u32| encode(Element::F16, m.at(row, c)) as u32;
            bits(col + i) | bits(col + i + 1) << 16
        })
    };
    // A as four 8 x 8 matrices: upper left, lower left, upper right, lower right.
    let a_rows: Vec<[u32; 4]> = (0..32).map(|i| row_of(&a, i % 16, i / 16 * 8)).collect();
    let b_rows: Vec<[u32; 4]> = (0..16).map(|i| row_of(&b, i, 0)).collect();
    let (mut ra, mut rb) = ([[0; 32]; 4], [[0; 32]; 2]);
    ldmatrix(&a_rows, false, &mut ra);
    ldmatrix(&b_rows, true, &mut rb);
    let rc = distribute(&c, Element::F32, 4, c_m16n8);
    let mut rd = vec![[0; 32]; 4];
    let plan = Mma::mma(Shape { m: 16, n: 8, k: 16 }, Multiply::plain(Element::F16, Element::F32), 80).unwrap();
    plan.execute(&ra, &rb, &rc, &mut rd);
    assert_eq!(collect(&rd, Element::F32, (16, 8), c_m16n8), a.multiply_add(&b, &c));
}
