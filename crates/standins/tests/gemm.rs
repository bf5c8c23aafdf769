//! Matrix products of each kernel beside the host's: layouts, edges, batches, types, epilogues.

use lab::{Setup, SimulatedDevice};
use num::Rounding;
use num::half::{self, Bf16, F16};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use standins::gemm::{BIAS, Element, GELU, Gemm, KEEP_INPUT, Kernel, RELU, kernels};
use workloads::{ArgBytes, Buffer, Device, LaunchRequest, ModuleCode, ModuleId, ModuleSource, ThreadRegisters};

/// A GPU for each architecture that the fat binary has code for.
const GPUS: [(&str, u32); 4] = [("v100", 70), ("rtx2060s", 75), ("a100", 80), ("h100", 90)];

/// Numbers of `cudaDataType_t`.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Type {
    F32 = 0,
    F64 = 1,
    F16 = 2,
    I8 = 3,
    I32 = 10,
    Bf16 = 14,
}

impl Type {
    fn bytes(self) -> usize {
        match self {
            Self::F64 => 8,
            Self::F32 | Self::I32 => 4,
            Self::F16 | Self::Bf16 => 2,
            Self::I8 => 1,
        }
    }

    /// Half a unit in the last place of 1.
    fn unit(self) -> f64 {
        match self {
            Self::F64 => 2f64.powi(-53),
            Self::F32 => 2f64.powi(-24),
            Self::F16 => 2f64.powi(-11),
            Self::Bf16 => 2f64.powi(-8),
            Self::I8 | Self::I32 => 0.0,
        }
    }

    fn put(self, value: f64) -> Vec<u8> {
        match self {
            Self::F64 => value.to_le_bytes().into(),
            Self::F32 => (value as f32).to_le_bytes().into(),
            Self::F16 => half::from_f64::<F16>(value, Rounding::NearestEven).to_le_bytes().into(),
            Self::Bf16 => half::from_f64::<Bf16>(value, Rounding::NearestEven).to_le_bytes().into(),
            Self::I8 => (value as i8).to_le_bytes().into(),
            Self::I32 => (value as i32).to_le_bytes().into(),
        }
    }

    fn get(self, bytes: &[u8]) -> f64 {
        match self {
            Self::F64 => f64::from_le_bytes(bytes.try_into().unwrap()),
            Self::F32 => f32::from_le_bytes(bytes.try_into().unwrap()).into(),
            Self::F16 => half::to_f64::<F16>(u16::from_le_bytes(bytes.try_into().unwrap())),
            Self::Bf16 => half::to_f64::<Bf16>(u16::from_le_bytes(bytes.try_into().unwrap())),
            Self::I8 => i8::from_le_bytes(bytes.try_into().unwrap()).into(),
            Self::I32 => i32::from_le_bytes(bytes.try_into().unwrap()).into(),
        }
    }
}

fn stored(element: Element) -> Type {
    match element {
        Element::F32 | Element::Tf32 => Type::F32,
        Element::F64 => Type::F64,
        Element::F16 => Type::F16,
        Element::Bf16 => Type::Bf16,
        Element::I8 => Type::I8,
    }
}

/// Matrices of a batch in a buffer: each column is followed by `pad` elements, each matrix by `gap`, except the last.
struct Matrices {
    kind: Type,
    batch: usize,
    /// Elements before the first matrix.
    shift: usize,
    ld: usize,
    stride: usize,
    bytes: Vec<u8>,
    buffer: Buffer,
    /// Addresses of the matrices.
    pointers: Buffer,
}

impl Matrices {
    fn new(kind: Type, [rows, cols, batch]: [usize; 3], [shift, pad, gap]: [usize; 3]) -> Self {
        let ld = rows + pad;
        let stride = ld * cols + gap;
        let none = Buffer { address: 0, bytes: 0 };
        let mut made = Self { kind, batch, shift, ld, stride, bytes: Vec::new(), buffer: none, pointers: none };
        let count = if rows * cols == 0 { 1 } else { made.index(batch - 1, rows - 1, cols - 1) + 1 };
        made.bytes = vec![0; count * kind.bytes()];
        made
    }

    fn index(&self, matrix: usize, row: usize, col: usize) -> usize {
        self.shift + matrix * self.stride + col * self.ld + row
    }

    fn at(&self, matrix: usize, row: usize, col: usize) -> f64 {
        let size = self.kind.bytes();
        self.kind.get(&self.bytes[self.index(matrix, row, col) * size..][..size])
    }

    /// Fills everything with numbers of `next`.
    fn fill(&mut self, mut next: impl FnMut() -> f64) {
        self.bytes = (0..self.bytes.len() / self.kind.bytes()).flat_map(|_| self.kind.put(next())).collect();
    }

    fn upload(&mut self, device: &mut impl Device) {
        self.buffer = device.alloc("matrices", self.bytes.len() as u64).unwrap();
        device.write(self.buffer, 0, &self.bytes).unwrap();
        let size = self.kind.bytes();
        let addresses: Vec<u8> = (0..self.batch)
            .flat_map(|z| (self.buffer.address + (size * (self.shift + z * self.stride)) as u64).to_le_bytes())
            .collect();
        self.pointers = device.alloc("pointers", addresses.len() as u64).unwrap();
        device.write(self.pointers, 0, &addresses).unwrap();
    }

    fn address(&self, pointers: bool) -> u64 {
        if pointers { self.pointers.address } else { self.buffer.address + (self.shift * self.kind.bytes()) as u64 }
    }
}

#[derive(Clone, Debug)]
struct Case {
    size: [usize; 3],
    batch: usize,
    /// Elements before the matrices, between columns, and between matrices.
    place: [usize; 3],
    d_type: Type,
    scale: Type,
    /// Whether alpha and beta are on the device.
    factors_on_device: bool,
    alpha: f64,
    beta: f64,
    pointers: bool,
    /// Whether D is C.
    in_place: bool,
    epilogue: i32,
    bias_type: Type,
    seed: u64,
}

struct Rig {
    device: SimulatedDevice<'static>,
    module: ModuleId,
}

impl Rig {
    fn new(gpu: &str) -> Self {
        let setup = Setup { core: "functional".into(), ..Setup::new(config::load(gpu).unwrap()) };
        let mut device = SimulatedDevice::new(&setup).unwrap();
        let code = ModuleCode::Binary(standins::image("gemm").unwrap());
        let module = device.load_module(&ModuleSource { name: "gemm", code }).unwrap();
        Self { device, module }
    }

    fn on_device(&mut self, bytes: &[u8]) -> Buffer {
        let buffer = self.device.alloc("data", bytes.len() as u64).unwrap();
        self.device.write(buffer, 0, bytes).unwrap();
        buffer
    }

    /// Runs a kernel and compares all that it leaves.
    fn check(&mut self, kernel: &Kernel, case: &Case) {
        let kind = stored(kernel.element);
        let [m, n, k] = case.size;
        let turned = |turned: bool, rows: usize, cols: usize| if turned { [cols, rows] } else { [rows, cols] };
        let shape = |[rows, cols]: [usize; 2]| [rows, cols, case.batch];
        let mut rng = ChaCha8Rng::seed_from_u64(case.seed);
        let mut number =
            || if kind == Type::I8 { rng.random_range(-128..128).into() } else { rng.random_range(-1.0..1.0) };
        let mut a = Matrices::new(kind, shape(turned(kernel.transpose_a, m, k)), case.place);
        let mut b = Matrices::new(kind, shape(turned(kernel.transpose_b, k, n)), case.place);
        let mut c = Matrices::new(case.d_type, shape([m, n]), case.place);
        let mut d = Matrices::new(case.d_type, shape([m, n]), case.place);
        let mut aux = Matrices::new(case.d_type, shape([m, n]), [0, 1, 3]);
        let mut bias = Matrices::new(case.bias_type, shape([m, 1]), [0, 0, 2]);
        for matrices in [&mut a, &mut b, &mut c, &mut d, &mut aux, &mut bias] {
            matrices.fill(&mut number);
        }
        if case.beta == 0.0 && case.d_type != Type::I32 {
            c.fill(|| f64::NAN);
        }
        if case.in_place {
            d.bytes.clone_from(&c.bytes);
        }
        // A bit for each row, in words of 128 bits.
        let bits_ld = m.div_ceil(128) * 128;
        let bits_stride = bits_ld * n;
        let bits = self.on_device(&vec![0xa5; bits_stride * case.batch / 8 + 1]);
        for matrices in [&mut a, &mut b, &mut c, &mut d, &mut aux, &mut bias] {
            matrices.upload(&mut self.device);
        }
        let [alpha, beta] = [case.alpha, case.beta].map(|factor| self.on_device(&case.scale.put(factor)));
        let keeps_bits = case.epilogue & RELU != 0;
        let long = |x: usize| x as i64;
        let c_source = if case.in_place { &d } else { &c };
        let argument = Gemm {
            a: a.address(case.pointers),
            b: b.address(case.pointers),
            c: if case.beta == 0.0 { 0 } else { c_source.address(case.pointers) },
            d: d.address(case.pointers),
            lda: long(a.ld),
            ldb: long(b.ld),
            ldc: long(c.ld),
            ldd: long(d.ld),
            stride_a: long(a.stride),
            stride_b: long(b.stride),
            stride_c: long(c.stride),
            stride_d: long(d.stride),
            alpha: if case.factors_on_device { alpha.address } else { 0 },
            beta: if case.factors_on_device { beta.address } else { 0 },
            alpha_value: [case.alpha, 0.0],
            beta_value: [case.beta, 0.0],
            bias: bias.address(false),
            aux: if keeps_bits { bits.address } else { aux.address(false) },
            ldaux: long(if keeps_bits { bits_ld } else { aux.ld }),
            stride_bias: long(bias.stride),
            stride_aux: long(if keeps_bits { bits_stride } else { aux.stride }),
            m: m as i32,
            n: n as i32,
            k: k as i32,
            pointers: case.pointers.into(),
            a_type: kind as i32,
            b_type: kind as i32,
            d_type: case.d_type as i32,
            scale: case.scale as i32,
            bias_type: case.bias_type as i32,
            epilogue: case.epilogue,
        };
        let tiles = m.div_ceil(kernel.rows as usize) * n.div_ceil(kernel.columns as usize);
        let request = LaunchRequest {
            module: self.module,
            kernel: kernel.name,
            grid: isa::Dim3::new(tiles as u32, 1, case.batch as u32),
            block: isa::Dim3::new(kernel.threads, 1, 1),
            dynamic_shared_bytes: kernel.dynamic_shared_bytes,
            args: &[ArgBytes::from_bytes(argument.bytes())],
            registers: ThreadRegisters::Estimated,
            stream: 0,
        };
        self.device
            .launch(&request)
            .and_then(|()| self.device.synchronize())
            .unwrap_or_else(|error| panic!("{}, {case:?}: {error}", kernel.name));
        let mut left = d.bytes.clone();
        self.device.read(d.buffer, 0, &mut left).unwrap();
        let mut kept = aux.bytes.clone();
        self.device.read(aux.buffer, 0, &mut kept).unwrap();
        let mut kept_bits = vec![0; bits.bytes as usize];
        self.device.read(bits, 0, &mut kept_bits).unwrap();

        let unit = match kernel.element {
            Element::F64 => Type::F64.unit(),
            Element::I8 => 0.0,
            _ => Type::F32.unit(),
        };
        let (size, mut expected, mut expected_aux) = (case.d_type.bytes(), d.bytes.clone(), aux.bytes.clone());
        for z in 0..case.batch {
            for col in 0..n {
                for row in 0..m {
                    let terms = (0..k).map(|i| {
                        let x = if kernel.transpose_a { a.at(z, i, row) } else { a.at(z, row, i) };
                        x * if kernel.transpose_b { b.at(z, col, i) } else { b.at(z, i, col) }
                    });
                    let (sum, size_of_sum) =
                        terms.fold((0.0, 0.0), |(sum, all), term| (sum + term, all + f64::abs(term)));
                    let mut value = case.alpha * sum;
                    let mut scale = (case.alpha * size_of_sum).abs();
                    if case.beta != 0.0 {
                        value += case.beta * c.at(z, row, col);
                        scale += (case.beta * c.at(z, row, col)).abs();
                    }
                    if case.epilogue & BIAS != 0 {
                        value += bias.at(z, row, 0);
                        scale += 1.0;
                    }
                    let mut bound = scale * unit * (k + 8) as f64;
                    if kernel.element == Element::Tf32 {
                        bound += scale * 2f64.powi(-10);
                    }
                    let input = value;
                    if case.epilogue & RELU != 0 {
                        value = value.max(0.0);
                    }
                    if case.epilogue & GELU != 0 {
                        value *= 0.5 * (1.0 + (0.797_884_560_8 * (value + 0.044_715 * value * value * value)).tanh());
                        bound += 1e-5;
                    }
                    let at = d.index(z, row, col);
                    let near = |found: &[u8], value: f64, expected: &mut [u8], at: usize| {
                        let found = &found[at * size..][..size];
                        let number = case.d_type.get(found);
                        let room = 1.2 * bound
                            + case.d_type.unit() * (value.abs() + bound) * 1.01
                            + 1e-7 * f64::from(u8::from(size == 2));
                        assert!(
                            (number - value).abs() <= room,
                            "{} {case:?}: ({row}, {col}) of matrix {z} is {number}, not {value} ± {room:e}",
                            kernel.name
                        );
                        expected[at * size..][..size].copy_from_slice(found);
                    };
                    near(&left, value, &mut expected, at);
                    if case.epilogue & KEEP_INPUT != 0 && case.epilogue & GELU != 0 {
                        near(&kept, input, &mut expected_aux, aux.index(z, row, col));
                    }
                    if case.epilogue & KEEP_INPUT != 0 && keeps_bits && input.abs() > 1.2 * bound {
                        let bit = z * bits_stride + col * bits_ld + row;
                        assert_eq!(
                            kept_bits[bit / 8] >> (bit % 8) & 1 == 1,
                            input > 0.0,
                            "{} {case:?}: bit {row} {col}",
                            kernel.name
                        );
                    }
                }
            }
        }
        // Nothing but the elements has changed.
        assert!(left == expected && kept == expected_aux, "{} {case:?}: stores elsewhere", kernel.name);
        for buffer in [a.buffer, b.buffer, c.buffer, d.buffer, aux.buffer, bias.buffer, bits] {
            self.device.free(buffer).unwrap();
        }
    }
}

/// A drawn case that a kernel can compute.
fn draw(rng: &mut ChaCha8Rng, kernel: &Kernel, most: usize) -> Case {
    let kind = stored(kernel.element);
    let each = 16 / kind.bytes();
    let size: [usize; 3] = std::array::from_fn(|i| match rng.random_range(0..10) {
        0 => 1,
        1 if i == 2 => 0,
        2 => [16, 32, 64, 128][rng.random_range(0..4)],
        _ => rng.random_range(1..=most),
    });
    let batch = if rng.random_bool(0.3) { rng.random_range(2..4) } else { 1 };
    let d_type = match kernel.element {
        Element::F64 => Type::F64,
        Element::I8 => Type::I32,
        Element::F32 | Element::Tf32 => Type::F32,
        Element::F16 | Element::Bf16 => [Type::F32, stored(kernel.element)][rng.random_range(0..2)],
    };
    let scale = match d_type {
        Type::F64 => Type::F64,
        Type::I32 => Type::I32,
        Type::F16 if rng.random_bool(0.3) => Type::F16,
        _ => Type::F32,
    };
    let float = !matches!(d_type, Type::I32 | Type::F64);
    let epilogue = if float && rng.random_bool(0.4) {
        [BIAS, RELU, GELU, BIAS | RELU, BIAS | GELU, RELU | KEEP_INPUT, BIAS | GELU | KEEP_INPUT]
            [rng.random_range(0..7)]
    } else {
        0
    };
    let in_place = rng.random_bool(0.5);
    Case {
        size,
        batch,
        place: if kernel.aligned {
            [each, each, each]
        } else {
            [rng.random_range(0..4), rng.random_range(0..4), rng.random_range(0..9)]
        },
        d_type,
        scale,
        factors_on_device: rng.random(),
        alpha: [1.0, -2.0, 0.5, 0.0][rng.random_range(0..4)],
        beta: [0.0, 1.0, -1.0, 3.0][rng.random_range(0..4)],
        pointers: rng.random_bool(0.3),
        in_place,
        epilogue,
        bias_type: if float { [Type::F32, Type::F16, Type::Bf16][rng.random_range(0..3)] } else { d_type },
        seed: rng.random(),
    }
}

fn draw_all(cases: usize, most: usize, seed: u64) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    for (gpu, sm) in GPUS {
        let mut rig = Rig::new(gpu);
        for kernel in kernels().filter(|kernel| kernel.architectures.contains(&sm)) {
            for _ in 0..cases {
                let mut case = draw(&mut rng, kernel, most);
                fit(&mut case, kernel);
                rig.check(kernel, &case);
            }
        }
    }
}

/// Makes leading dimensions multiples of 16 bytes where the kernel needs it.
fn fit(case: &mut Case, kernel: &Kernel) {
    if kernel.aligned {
        // Matrices::new adds the pad to the rows: sizes that are rows of A or B are made multiples.
        let each = 16 / stored(kernel.element).bytes();
        let [m, n, k] = &mut case.size;
        for (is_rows, size) in
            [(!kernel.transpose_a, m), (kernel.transpose_b, n), (kernel.transpose_a || !kernel.transpose_b, k)]
        {
            if is_rows {
                *size = size.next_multiple_of(each);
            }
        }
    }
}

#[test]
fn every_kernel_on_sizes_with_edges() {
    draw_all(1, 150, 1);
}

/// Minutes of drawn cases: `cargo test -p warpwright-standins -- --ignored`.
#[test]
#[ignore = "takes minutes"]
fn many_drawn_cases() {
    let seed = std::env::var("STANDINS_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(2);
    draw_all(20, 300, seed);
}
