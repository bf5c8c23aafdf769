//! `wgmma`: PTX and machine code against products in plain loops. `data/sm_90/README.md` describes the files.

use super::tensor_sums::{Number, Random, format, number, product, sum};
use exec::matrix::{Descriptor, Element, Major};
use exec::{Arg, DeviceState, Launch, run};
use isa::{Dim3, GroupWork, MatrixType, MatrixWork};
use lower::{Loaded, LowerOptions, load, load_cubin};
use proptest::prelude::*;

const THREADS: usize = 128;
const ROWS: usize = 64;
/// Bytes of the kernels' shared memory.
const SHARED: usize = 45_056;
const PTX: &str = include_str!("data/sm_90/wgmma.ptx");

/// The properties of a kernel, which its name gives.
#[derive(Clone, Copy, Debug)]
struct Case {
    d: Element,
    a: Element,
    b: Element,
    columns: usize,
    a_in_registers: bool,
    negated: [bool; 2],
    transposed: [bool; 2],
    saturates: bool,
    selector: Option<u32>,
}

impl Case {
    fn of(name: &str) -> Self {
        let parts: Vec<&str> = name.split('_').collect();
        let element = |text: &str| match text {
            "f16" => Element::F16,
            "bf16" => Element::Bf16,
            "tf32" => Element::Tf32,
            "f32" => Element::F32,
            "e4m3" => Element::E4m3,
            "e5m2" => Element::E5m2,
            "s8" => Element::S8,
            "u8" => Element::U8,
            "s32" => Element::S32,
            _ => Element::B1,
        };
        let has = |part: &str| parts.contains(&part);
        Self {
            d: element(parts[0]),
            a: element(parts[1]),
            b: element(parts[2]),
            columns: parts[3][1..].parse().unwrap(),
            a_in_registers: parts[4] == "rs",
            negated: [has("na"), has("nb")],
            transposed: [has("ta"), has("tb")],
            saturates: has("sat"),
            selector: parts.iter().find_map(|part| part.strip_prefix("sp")).map(|text| text.parse().unwrap()),
        }
    }

    /// Elements of a row of A that are stored.
    fn stored(&self) -> usize {
        256 / self.a.bits() as usize
    }

    /// Length of the sums.
    fn length(&self) -> usize {
        self.stored() * if self.selector.is_some() { 2 } else { 1 }
    }

    fn registers(&self) -> usize {
        self.columns / if self.d == Element::F16 { 4 } else { 2 }
    }
}

/// How a factor is in shared memory: the bytes that are swizzled together, 16 without swizzling.
#[derive(Clone, Copy, Debug)]
struct Place {
    span: usize,
    mn_major: bool,
    start: usize,
    leading: usize,
    stride: usize,
}

impl Place {
    /// Places `rows` rows of `row_bytes` from address `base` on, and returns the first byte after them, too.
    fn new(base: usize, span: usize, mn_major: bool, (rows, row_bytes): (usize, usize), gaps: bool) -> (Self, usize) {
        let eight = 8 * span;
        let base = base.next_multiple_of(eight);
        // Gaps between the parts; swizzled parts stay multiples of their pattern.
        let gap = if !gaps {
            0
        } else if span == 16 {
            48
        } else {
            eight
        };
        if mn_major {
            let [along, across] = [(2 * rows).div_ceil(span), row_bytes / 2 / 8];
            let inner = eight + gap;
            let outer = across * inner + gap;
            let (leading, stride) = if span == 16 { (inner, outer) } else { (outer, inner) };
            return (Self { span, mn_major, start: base, leading, stride }, base + along * outer);
        }
        let units = row_bytes / 16;
        let (leading, stride) = if span == 16 { (128 + gap, units * (128 + gap)) } else { (16, eight + gap) };
        // A later value of k within the span.
        let start = base + if span > row_bytes { row_bytes } else { 0 };
        (Self { span, mn_major, start, leading, stride }, base + rows / 8 * stride + units * (128 + gap))
    }

    /// Address of the byte of element (row, byte of the row), for elements of `bytes` bytes.
    fn address(&self, row: usize, at: usize, bytes: usize) -> usize {
        let Self { span, mn_major, start, leading, stride } = *self;
        let linear = match (mn_major, span) {
            (false, 16) => start + row / 8 * stride + at / 16 * leading + row % 8 * 16 + at % 16,
            (false, _) => start + row / 8 * stride + row % 8 * span + at,
            (true, _) => {
                let (k, within) = (at / bytes, at % bytes);
                let (group, along) = (row * bytes / span, row * bytes % span);
                let (of_group, of_k) = if span == 16 { (stride, leading) } else { (leading, stride) };
                start + group * of_group + k / 8 * of_k + k % 8 * span + along + within
            }
        };
        linear ^ ((linear >> 7) % (span / 16)) << 4
    }

    fn descriptor(&self) -> u64 {
        let layout = match self.span {
            16 => 0,
            128 => 1,
            64 => 2,
            _ => 3,
        };
        self.start as u64 >> 4 | (self.leading as u64 >> 4) << 16 | (self.stride as u64 >> 4) << 32 | layout << 62
    }
}

/// A matrix of rows of the same length, as bits of elements.
struct Matrix {
    rows: Vec<Vec<u32>>,
    element: Element,
}

impl Matrix {
    fn random(random: &mut Random, element: Element, rows: usize, length: usize) -> Self {
        let around = random.below(1 << format(element).exponent.min(8));
        let bits = element.bits();
        let mut one = || match element {
            Element::S8 | Element::U8 => random.below(256),
            Element::B1 => random.below(2),
            _ => random.number(element, around) & (u32::MAX >> (32 - bits)),
        };
        Self { rows: (0..rows).map(|_| (0..length).map(|_| one()).collect()).collect(), element }
    }

    /// The bytes of a row.
    fn bytes(&self, row: usize) -> Vec<u8> {
        let bits = self.element.bits() as usize;
        let mut bytes = vec![0; self.rows[row].len() * bits / 8];
        for (i, &element) in self.rows[row].iter().enumerate() {
            for (part, byte) in element.to_le_bytes().into_iter().enumerate().take(bits.div_ceil(8)) {
                bytes[i * bits / 8 + part] |= byte << (i * bits % 8);
            }
        }
        bytes
    }

    fn store(&self, image: &mut [u8], place: Place) {
        let bytes = (self.element.bits() as usize).div_ceil(8);
        for row in 0..self.rows.len() {
            for (at, byte) in self.bytes(row).into_iter().enumerate() {
                image[place.address(row, at, bytes)] = byte;
            }
        }
    }
}

/// For each stored element of a row of a sparse A, its position in the row; and the metadata of all threads.
fn positions(case: &Case, random: &mut Random) -> (Vec<Vec<usize>>, Vec<u32>) {
    let dense = || vec![(0..case.stored()).collect(); ROWS];
    let mut metadata: Vec<u32> = (0..THREADS).map(|_| random.below(u32::MAX)).collect();
    let Some(selector) = case.selector else { return (dense(), metadata) };
    let mut positions = vec![Vec::new(); ROWS];
    // Nibbles of a row in the order of k: two elements of four, or one of two.
    let per_nibble = if case.a == Element::Tf32 { 2 } else { 4 };
    for (row, positions) in positions.iter_mut().enumerate() {
        for nibble in 0..case.length() / per_nibble {
            let pairs = [(0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3)];
            let (chosen, bits): (Vec<usize>, u32) = if per_nibble == 2 {
                let which = random.below(2);
                (vec![which as usize], [0b0100, 0b1110][which as usize])
            } else {
                let (first, second) = pairs[random.below(6) as usize];
                (vec![first as usize, second as usize], first | second << 2)
            };
            positions.extend(chosen.iter().map(|at| nibble * per_nibble + at));
            // The row of the warp, and the threads of four with the metadata.
            let (warp, row) = (row / 16, row % 16);
            let (thread, shift) = if case.a.bits() == 8 {
                (row % 8 * 4 + row / 8 + nibble / 8 * 2, nibble % 8 * 4)
            } else {
                (row % 8 * 4 + selector as usize * 2 + nibble / 4, row / 8 * 16 + nibble % 4 * 4)
            };
            let word = &mut metadata[warp * 32 + thread];
            *word = *word & !(0xf << shift) | bits << shift;
        }
    }
    (positions, metadata)
}

fn negate(element: Element, bits: u32) -> u32 {
    bits ^ 1 << (element.bits() - 1)
}

/// One element of D.
fn reference(case: &Case, a: &[u32], b: &[u32], c: u32) -> u32 {
    if case.d == Element::S32 {
        let value = |element, x: u32| if element == Element::S8 { i64::from(x as u8 as i8) } else { i64::from(x) };
        let total: i64 = a.iter().zip(b).map(|(&x, &y)| value(case.a, x) * value(case.b, y)).sum();
        let total = total + i64::from(c as i32);
        return if case.saturates { total.clamp(i32::MIN.into(), i32::MAX.into()) as u32 } else { total as u32 };
    }
    let bytes = matches!(case.a, Element::E4m3 | Element::E5m2);
    let (fraction_bits, result_bits) = if bytes { (13, 13) } else { (25, 23) };
    let sign = |element, negated: bool, x| if negated { negate(element, x) } else { x };
    let terms = a.iter().zip(b).map(|(&x, &y)| {
        let (x, y) = (sign(case.a, case.negated[0], x), sign(case.b, case.negated[1], y));
        product(number(case.a, x), number(case.b, y))
    });
    let all: Vec<Number> = terms.chain([number(case.d, c)]).collect();
    sum(&all, fraction_bits, case.d, result_bits)
}

/// Thread, register and shift of element (row, col) of the sums.
fn holder(case: &Case, row: usize, col: usize) -> (usize, usize, usize) {
    let thread = row / 16 * 32 + row % 8 * 4 + col % 8 / 2;
    let half = row % 16 / 8;
    match case.d {
        Element::F16 => (thread, col / 8 * 2 + half, col % 2 * 16),
        _ => (thread, col / 8 * 4 + half * 2 + col % 2, 0),
    }
}

/// Runs `kernel` on the image with the sums and the registers of each thread; returns the sums.
fn launch(
    (name, loaded): (&str, &Loaded),
    kernel: &str,
    image: &[u8],
    descriptors: [u64; 2],
    (sums, own): (&[u32], &[u32]),
    adds: bool,
) -> Result<Vec<u32>, String> {
    let code = loaded.kernel(kernel).unwrap_or_else(|e| panic!("{name}: {e}")).clone();
    let mut state = DeviceState::default();
    state.load(&loaded.module).unwrap();
    let words = |words: &[u32]| -> Vec<u8> { words.iter().flat_map(|word| word.to_le_bytes()).collect() };
    let mut place = |bytes: &[u8]| {
        let at = state.memory.allocate("data", bytes.len() as u64).unwrap();
        state.memory.write(at, bytes).unwrap();
        at
    };
    let (at_image, at_sums, at_own) = (place(image), place(&words(sums)), place(&words(own)));
    let args = [
        Arg::Pointer(at_image),
        Arg::U32(image.len() as u32),
        Arg::U64(descriptors[0]),
        Arg::U64(descriptors[1]),
        Arg::Pointer(at_sums),
        Arg::Pointer(at_own),
        Arg::U32(adds.into()),
    ];
    let launch = Launch::new(code, Dim3::new(1, 1, 1), Dim3::new(THREADS as u32, 1, 1), 0, &args).unwrap();
    run(&mut state, &launch).map_err(|fault| fault.to_string())?;
    let mut bytes = vec![0; 4 * sums.len()];
    state.memory.read(at_sums, &mut bytes).unwrap();
    Ok(bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect())
}

/// Registers of A and metadata of each thread, eight words.
fn own_registers(case: &Case, a: &Matrix, metadata: &[u32]) -> Vec<u32> {
    let mut own = vec![0; 8 * THREADS];
    for (thread, own) in own.chunks_exact_mut(8).enumerate() {
        for (register, word) in own[..4].iter_mut().enumerate().filter(|_| case.a_in_registers) {
            let row = thread / 32 * 16 + thread % 32 / 4 + register % 2 * 8;
            let bytes = a.bytes(row);
            let at = 4 * (thread % 4 + register / 2 * 4);
            *word = u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        }
        own[4] = metadata[thread];
    }
    own
}

/// Compares a kernel with the reference in all layouts.
fn check(modules: &[(&str, Loaded)], kernel: &str, random: &mut Random) {
    let case = Case::of(kernel);
    let of_b_bytes = case.length() * case.b.bits() as usize / 8;
    for (of_a, of_b) in [(16, 16), (32, 64), (64, 128), (128, 32), (128, 128)] {
        // The order of a K-major factor that is wider than the pattern is not published.
        if !case.transposed[1] && of_b != 16 && of_b < of_b_bytes {
            continue;
        }
        let a = Matrix::random(random, case.a, ROWS, case.stored());
        let b = Matrix::random(random, case.b, case.columns, case.length());
        let (positions, metadata) = positions(&case, random);
        let mut image = vec![0xff; SHARED];
        // Without gaps the largest factors fit.
        let gaps = case.columns < 256;
        let (place_a, end) = Place::new(64, of_a, case.transposed[0], (ROWS, 32), gaps);
        let (place_b, end) = Place::new(end, of_b, case.transposed[1], (case.columns, of_b_bytes), gaps);
        assert!(end <= SHARED, "{kernel}: {end} bytes");
        if !case.a_in_registers {
            a.store(&mut image, place_a);
        }
        b.store(&mut image, place_b);
        let around = random.below(1 << format(case.d).exponent);
        let sums: Vec<u32> = (0..case.registers() * THREADS)
            .map(|_| match case.d {
                Element::S32 => random.below(u32::MAX),
                Element::F16 => random.number(case.d, around) | random.number(case.d, around) << 16,
                _ => random.number(case.d, around),
            })
            .collect();
        let own = own_registers(&case, &a, &metadata);
        for adds in [true, false] {
            let mut expected = vec![0; sums.len()];
            for (row, positions) in positions.iter().enumerate() {
                for col in 0..case.columns {
                    let (thread, register, shift) = holder(&case, row, col);
                    let at = thread * case.registers() + register;
                    let keep = if case.d == Element::F16 { 0xffff } else { u32::MAX };
                    let c = if adds { sums[at] >> shift & keep } else { 0 };
                    let b: Vec<u32> = positions.iter().map(|&k| b.rows[col][k]).collect();
                    expected[at] |= reference(&case, &a.rows[row], &b, c) << shift;
                }
            }
            for (name, loaded) in modules {
                let descriptors = [place_a, place_b].map(|place| place.descriptor());
                let found = launch((name, loaded), kernel, &image, descriptors, (&sums, &own), adds);
                let found = found.unwrap_or_else(|fault| panic!("{name} {kernel} {place_a:?} {place_b:?}: {fault}"));
                let wrong = found.iter().zip(&expected).position(|(x, y)| x != y);
                if let Some(at) = wrong {
                    let (thread, register) = (at / case.registers(), at % case.registers());
                    panic!(
                        "{name} {kernel}, A {of_a} bytes, B {of_b} bytes, adds {adds}: thread {thread}, register \
                         {register}: {:#x}, not {:#x}",
                        found[at], expected[at]
                    );
                }
            }
        }
    }
}

fn options() -> LowerOptions {
    LowerOptions::default()
}

fn modules(names: &[(&'static str, &[u8])], ptx: &str) -> Vec<(&'static str, Loaded)> {
    let ptx = ("PTX", load("wgmma", ptx, options()).unwrap_or_else(|e| panic!("{e}")));
    let cubins = names.iter().map(|&(name, data)| (name, load_cubin(name, data, options()).unwrap()));
    std::iter::once(ptx).chain(cubins).collect()
}

#[test]
fn products_are_those_of_the_reference() {
    let modules = modules(&[("cubin", include_bytes!("data/sm_90/wgmma.cuda124.sm_90.cubin"))], PTX);
    let names: Vec<&str> =
        PTX.lines().filter_map(|line| line.strip_prefix(".visible .entry ")?.split('(').next()).collect();
    assert_eq!(names.len(), 37);
    let mut random = Random(7);
    for kernel in names {
        check(&modules, kernel, &mut random);
    }
}

/// A launch of `kernel` of some modules on one image, and the reference's sums.
struct Sequence {
    case: Case,
    a: Matrix,
    b: Matrix,
    image: Vec<u8>,
    descriptors: [u64; 2],
}

impl Sequence {
    /// A product of halves in the layout without swizzling.
    fn new(random: &mut Random) -> Self {
        let case = Case::of("f32_f16_f16_n8_ss");
        let a = Matrix::random(random, case.a, ROWS, case.stored());
        let b = Matrix::random(random, case.b, case.columns, case.length());
        let mut image = vec![0; 8192];
        let (place_a, end) = Place::new(0, 16, false, (ROWS, 32), true);
        let (place_b, _) = Place::new(end, 16, false, (case.columns, 32), true);
        a.store(&mut image, place_a);
        b.store(&mut image, place_b);
        Self { case, a, b, image, descriptors: [place_a, place_b].map(|place| place.descriptor()) }
    }

    /// The product, negated or not, plus `c`.
    fn next(&self, negated: bool, c: &[u32]) -> Vec<u32> {
        let case = Case { negated: [negated, false], ..self.case };
        let mut sums = vec![0; c.len()];
        for row in 0..ROWS {
            for col in 0..case.columns {
                let (thread, register, _) = holder(&case, row, col);
                let at = thread * case.registers() + register;
                sums[at] = reference(&case, &self.a.rows[row], &self.b.rows[col], c[at]);
            }
        }
        sums
    }

    fn launch(&self, module: (&str, &Loaded), kernel: &str, sums: &[u32], adds: bool) -> Result<Vec<u32>, String> {
        launch(module, kernel, &self.image, self.descriptors, (sums, &vec![0; 8 * THREADS]), adds)
    }
}

#[test]
fn operations_on_the_same_sums_follow_one_another() {
    let modules = modules(
        &[
            ("12.4", include_bytes!("data/sm_90/wgmma_groups.cuda124.sm_90.cubin")),
            ("13.0", include_bytes!("data/sm_90/wgmma_groups.cuda130.sm_90.cubin")),
            ("12.4 without optimisation", include_bytes!("data/sm_90/wgmma_groups.debug.cuda124.sm_90.cubin")),
        ],
        include_str!("data/sm_90/wgmma_groups.ptx"),
    );
    let mut random = Random(3);
    let sequence = Sequence::new(&mut random);
    let zeros = vec![0; 4 * THREADS];
    let sums: Vec<u32> = zeros.iter().map(|_| random.number(Element::F32, 130)).collect();
    for adds in [false, true] {
        let or_zero = |sums: Vec<u32>, adds: bool| if adds { sums } else { zeros.clone() };
        let second = sequence.next(false, &sequence.next(false, &zeros));
        let group = sequence.next(false, &or_zero(second, adds));
        let first = sequence.next(false, &or_zero(sums.clone(), adds));
        let groups = sequence.next(false, &sequence.next(true, &or_zero(first, !adds)));
        for (name, loaded) in &modules {
            for (kernel, expected) in [("group", &group), ("groups", &groups)] {
                let found = sequence.launch((name, loaded), kernel, &sums, adds).unwrap();
                assert_eq!(&found, expected, "{name} {kernel}, adds {adds}");
            }
        }
    }
}

/// The published cases of Hopper's sums, through PTX and machine code: the terms of row 0 and column 0, c, and d.
#[test]
fn published_cases_of_wgmma() {
    let two = |exponent: i32| ((exponent + 15) as u32) << 10;
    const ONE: u32 = 0x3f80_0000;
    let modules = modules(&[("cubin", include_bytes!("data/sm_90/wgmma.cuda124.sm_90.cubin"))], PTX);
    let quarter = [0, 1, 2, 3].map(|k| (k, two(-12), two(-13)));
    let far = |large| [(0, large, large), (1, two(0), two(0)), (8, large | 0x8000, large)];
    for (name, terms, c, expected) in [
        ("3 * 2^-24 is cut off", &[(0, two(-14) | 0x200, two(-9))][..], ONE, ONE + 1),
        ("four of 2^-25 count", &quarter, ONE, ONE + 1),
        ("2^24 + 1 - 2^24 in one step", &far(two(12)), 0, ONE),
        ("2^26 + 1 - 2^26 in one step", &far(two(13)), 0, 0),
    ] {
        let mut sequence = Sequence::new(&mut Random(1));
        let zeros = |rows| Matrix { rows: vec![vec![0; 16]; rows], element: Element::F16 };
        (sequence.a, sequence.b) = (zeros(ROWS), zeros(8));
        terms.iter().for_each(|&(k, a, b)| (sequence.a.rows[0][k], sequence.b.rows[0][k]) = (a, b));
        let (place_a, end) = Place::new(0, 16, false, (ROWS, 32), true);
        let (place_b, _) = Place::new(end, 16, false, (8, 32), true);
        sequence.a.store(&mut sequence.image, place_a);
        sequence.b.store(&mut sequence.image, place_b);
        let mut sums = vec![0; 4 * THREADS];
        sums[0] = c;
        for (module, loaded) in &modules {
            let found = sequence.launch((module, loaded), "f32_f16_f16_n8_ss", &sums, true).unwrap();
            assert_eq!(found[0], expected, "{name}, {module}");
        }
    }
}

/// For timing: a quarter of the group's multiply-adds, and where A is.
#[test]
fn work_is_a_quarter_of_the_groups() {
    for (name, loaded) in modules(&[("cubin", include_bytes!("data/sm_90/wgmma.cuda124.sm_90.cubin"))], PTX) {
        for kernel in &loaded.module.kernels {
            let case = Case::of(kernel.name());
            let work: Vec<MatrixWork> = kernel.program.insts().iter().filter_map(|inst| inst.matrix).collect();
            let group = GroupWork { columns: case.columns as u16, a_in_registers: case.a_in_registers };
            assert_eq!(work.len(), 1, "{name} {}", kernel.name());
            assert_eq!(work[0].group, Some(group), "{name} {}", kernel.name());
            assert_eq!(work[0].multiply_adds as usize, 16 * case.columns * case.stored(), "{name} {}", kernel.name());
            let single = case.d == Element::F32;
            let ty = match case.a {
                Element::F16 if single => MatrixType::F16F32,
                Element::F16 => MatrixType::F16,
                Element::Bf16 => MatrixType::Bf16,
                Element::Tf32 => MatrixType::Tf32,
                Element::E4m3 | Element::E5m2 if single => MatrixType::Fp8F32,
                Element::E4m3 | Element::E5m2 => MatrixType::Fp8,
                Element::B1 => MatrixType::B1,
                _ => MatrixType::Int8,
            };
            assert_eq!(work[0].ty, ty, "{name} {}", kernel.name());
        }
    }
}

#[test]
fn wrong_descriptors_fault() {
    let modules = modules(&[("cubin", include_bytes!("data/sm_90/wgmma.cuda124.sm_90.cubin"))], PTX);
    let sequence = Sequence::new(&mut Random(1));
    let swizzled = |layout: u64, start: u64| layout << 62 | start >> 4 | 64 << 32;
    for (kernel, factor, descriptor, says) in [
        ("f32_f16_f16_n8_ss", 0, 1 << 15, "of A: bits 14 to 15, which are in no field, are 0x2, must be 0"),
        ("f32_f16_f16_n8_ss", 1, 1 << 30, "of B: bits 30 to 31"),
        ("f32_f16_f16_n8_ss", 1, 1 << 47, "of B: bits 46 to 48"),
        ("f32_f16_f16_n8_ss", 0, 1 << 61, "of A: bits 52 to 61"),
        ("f32_f16_f16_n8_ss", 1, 3 << 49, "of B: base offset is 3, must be 0 without swizzling"),
        ("f32_f16_f16_n8_ss", 1, 0x2b00, "of shared memory"),
        ("f32_f16_f16_n8_ss_sp0", 1, swizzled(3, 0), "of B: layout: swizzling of 32 bytes with rows of 64 bytes"),
    ] {
        let mut descriptors = sequence.descriptors;
        descriptors[factor] = descriptor;
        let wrong = Sequence { descriptors, a: empty(), b: empty(), image: sequence.image.clone(), ..sequence };
        for (name, loaded) in &modules {
            let fault = wrong.launch((name, loaded), kernel, &vec![0; 4 * THREADS], true).unwrap_err();
            assert!(fault.contains("matrix operation of a warp group: descriptor "), "{name}: {fault}");
            assert!(fault.contains(says), "{name}: {says}\nnot in\n{fault}");
        }
    }
}

fn empty() -> Matrix {
    Matrix { rows: Vec::new(), element: Element::F16 }
}

/// A base offset is where the pattern begins, in units of 128 bytes. The factor may start at any of its rows.
#[test]
fn the_pattern_begins_at_the_base_offset() {
    for (base, start) in [(0, 0x2000), (0, 0x2180), (1, 0x2080), (7, 0x2380), (7, 0x2080)] {
        let bits = 1 << 62 | base << 49 | 64 << 32 | start >> 4;
        let descriptor = Descriptor::of(bits).unwrap();
        for row in 0..8 {
            for unit in 0..2 {
                let address = start as u32 + row * 128;
                let expected = address + (unit ^ ((address / 128 + 8 - base as u32) % 8)) * 16;
                assert_eq!(descriptor.address(Major::K, unit, row), expected, "base offset {base}, row {row}");
            }
        }
    }
}

/// All warps of the group and all lanes of a warp must execute it, with the same operands.
#[test]
fn incomplete_warps_and_groups_fault() {
    let kernel = |body: &str| {
        format!(
            ".version 8.0\n.target sm_90a\n.address_size 64\n.shared .align 1024 .b8 data[4096];\n\
             .visible .entry k()\n{{\n.reg .pred p, q;\n.reg .b32 t;\n.reg .b64 a, l;\n.reg .f32 d<4>;\n\
             mov.u32 t, data;\nmov.u32 t, %laneid;\nsetp.lt.u32 p, t, 16;\nsetp.lt.u32 q, t, 32;\nmov.b64 a, 0;\n{body}\nret;\n}}\n"
        )
    };
    let multiply = |descriptor, scale| {
        format!(
            "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{d0, d1, d2, d3}}, a, {descriptor}, {scale}, 1, 1, 0, 0;"
        )
    };
    let half = format!("@p {}", multiply("a", "q"));
    let none = format!("not.pred q, q; @q {}", multiply("a", "q"));
    let by_lane = format!("cvt.u64.u32 l, t; {}", multiply("l", "q"));
    for (body, threads, says) in [
        (&multiply("a", "q"), 128, None),
        (&none, 128, None),
        (&half, 128, Some("16 of the 32 lanes of the warp execute it, all must")),
        (&multiply("a", "q"), 96, Some("its warp group is warps 0 to 3 of the CTA, which has 96 threads only")),
        (&multiply("a", "q"), 224, Some("its warp group is warps 4 to 7 of the CTA, which has 224 threads only")),
        (&multiply("a", "p"), 128, Some("its predicate `scale-d` differs between lanes of the warp")),
        (&by_lane, 128, Some("the descriptor of B differs between lanes of the warp")),
    ] {
        let loaded = load("k", kernel(body), options()).unwrap();
        let code = loaded.kernel("k").unwrap().clone();
        let mut state = DeviceState::default();
        state.load(&loaded.module).unwrap();
        let launch = Launch::new(code, Dim3::new(1, 1, 1), Dim3::new(threads, 1, 1), 0, &[]).unwrap();
        match (run(&mut state, &launch), says) {
            (Ok(_), None) => {}
            (Err(fault), Some(says)) => assert!(fault.to_string().contains(says), "{fault}"),
            (result, says) => panic!("{body}: {result:?}, not {says:?}"),
        }
    }
}

#[test]
fn wrong_operands_are_refused_by_name() {
    let instruction = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16";
    for (text, says) in [
        ("{d0, d1, d2}, a, a, p, 1, 1, 0, 0;", "4 registers expected here, not 3"),
        ("{d0, d1, d2, d3}, a, a, p, 1, 2, 0, 0;", "1 or -1 expected here"),
        ("{d0, d1, d2, d3}, a, a, p, 1, 1, 0, 3;", "0 or 1 expected here"),
        ("{d0, d1, d2, d3}, a, a, p, 1, 1, 0;", "the number of operands does not match the place of A"),
        ("{d0, d1, d2, d3}, {t, t}, a, p, 1, 1, 0;", "A has 4 registers, not 2"),
    ] {
        let ptx = format!(
            ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{{\n.reg .pred p;\n.reg .b32 t;\n\
             .reg .b64 a;\n.reg .f32 d<4>;\n{instruction} {text}\nret;\n}}\n"
        );
        let error = match load("k", &ptx, options()) {
            Ok(loaded) => loaded.kernel("k").map_or_else(|error| error.to_string(), |_| "accepted".to_owned()),
            Err(error) => error.to_string(),
        };
        assert!(error.contains(says), "{text}\n{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Random descriptors give a result or a fault.
    #[test]
    fn random_descriptors_never_panic(bits in any::<[u64; 2]>(), masks in any::<[u64; 2]>(), which in 0..4_usize) {
        // With fewer bits more of them are valid.
        const VALID: u64 = 0xc00e_3fff_3fff_3fff;
        let few = [bits[0] & masks[0] & VALID, bits[1] & masks[1] & 0xc00e_00ff_00ff_0fff];
        let kernels =
            ["f32_f16_f16_n8_ss_ta", "f32_f16_f16_n8_ss_tb", "f32_f16_f16_n8_ss_sp0", "s32_b1_b1_n8_ss"];
        static LOADED: std::sync::LazyLock<Loaded> = std::sync::LazyLock::new(|| load("wgmma", PTX, options()).unwrap());
        for descriptors in [bits, few, [0, few[1]]] {
            let (sums, own) = (vec![0; 4 * THREADS], vec![0; 8 * THREADS]);
            let result = launch(("PTX", &LOADED), kernels[which], &[0; 16], descriptors, (&sums, &own), true);
            if let Err(fault) = result {
                prop_assert!(fault.contains("descriptor"), "{}", fault);
            }
        }
    }
}
