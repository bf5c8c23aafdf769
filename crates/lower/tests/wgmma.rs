//! `wgmma`: PTX and machine code against products in plain loops. `data/sm_90/README.md` describes the files.

use super::tensor_sums::{Number, Random, format, number, product, sum};
use exec::matrix::Element;
use exec::{Arg, DeviceState, Launch, run};
use isa::Dim3;
use lower::{Loaded, LowerOptions, load, load_cubin};

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
    /// Places `rows` rows of `row_bytes` from address `base` on, which has room for this many bytes. Returns the first
    /// byte behind it, too.
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
    for row in 0..ROWS {
        for nibble in 0..case.length() / per_nibble {
            let pairs = [(0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3)];
            let (chosen, bits): (Vec<usize>, u32) = if per_nibble == 2 {
                let which = random.below(2);
                (vec![which as usize], [0b0100, 0b1110][which as usize])
            } else {
                let (first, second) = pairs[random.below(6) as usize];
                (vec![first as usize, second as usize], first | second << 2)
            };
            positions[row].extend(chosen.iter().map(|at| nibble * per_nibble + at));
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
            for row in 0..ROWS {
                for col in 0..case.columns {
                    let (thread, register, shift) = holder(&case, row, col);
                    let at = thread * case.registers() + register;
                    let keep = if case.d == Element::F16 { 0xffff } else { u32::MAX };
                    let c = if adds { sums[at] >> shift & keep } else { 0 };
                    let b: Vec<u32> = positions[row].iter().map(|&k| b.rows[col][k]).collect();
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
