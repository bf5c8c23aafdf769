//! Matrix products: the kernels of `kernels/gemm.cu`, their argument, and which of them computes a product.

use std::ops::RangeInclusive;

/// How a product is computed: the type of A and B, and of the sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Element {
    /// Single precision, by multiply-adds.
    F32,
    /// Double precision.
    F64,
    /// Half precision, sums of single precision.
    F16,
    /// bfloat16, sums of single precision.
    Bf16,
    /// Single precision in memory, rounded to TF32 before the product; sums of single precision.
    Tf32,
    /// Signed bytes, sums of 32 bits.
    I8,
}

impl Element {
    /// Bytes of an element in memory.
    #[must_use]
    pub const fn bytes(self) -> u32 {
        match self {
            Self::F64 => 8,
            Self::F32 | Self::Tf32 => 4,
            Self::F16 | Self::Bf16 => 2,
            Self::I8 => 1,
        }
    }
}

/// A kernel. Its only argument is a [`Gemm`].
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// Name in the fat binary.
    pub name: &'static str,
    /// Types.
    pub element: Element,
    /// Whether A is transposed.
    pub transpose_a: bool,
    /// Whether B is transposed.
    pub transpose_b: bool,
    /// Rows of D that a CTA computes.
    pub rows: u32,
    /// Columns of D that a CTA computes.
    pub columns: u32,
    /// Threads of a CTA.
    pub threads: u32,
    /// Whether A and B, their leading dimensions and strides must be aligned to 16 bytes.
    pub aligned: bool,
    /// The architectures that have the kernel in this form, as in sm_75: 75. It may have another in others.
    pub architectures: RangeInclusive<u32>,
    /// Dynamic shared memory of a CTA. The static shared memory is known to the driver.
    pub dynamic_shared_bytes: u32,
    /// CTAs that an SM holds.
    pub resident: u32,
    /// Multiply-adds per cycle of an SM that has one of its CTAs, as a percentage of an SM full of the large tile.
    pub lone_rate_percent: u32,
    /// The same of an SM that is full of its CTAs.
    pub rate_percent: u32,
}

macro_rules! kernels {
    ($($letter:literal $element:ident [$($layout:literal)*] {
        $($rows:literal x $columns:literal $first:literal to $last:literal: $threads:literal $aligned:literal $dynamic:literal
            $resident:literal $lone:literal $rate:literal,)*
    })*) => {
        &[$(kernels!(@layouts $letter $element [$($layout)*]
            [$([$rows $columns $first $last $threads $aligned $dynamic $resident $lone $rate])*])),*]
    };
    (@layouts $letter:literal $element:ident [$($layout:literal)*] $tiles:tt) => {
        &[$(kernels!(@tiles $letter $element $layout $tiles)),*]
    };
    (@tiles $letter:literal $element:ident $layout:literal [$([$rows:literal $columns:literal $first:literal $last:literal
        $threads:literal $aligned:literal $dynamic:literal $resident:literal $lone:literal $rate:literal])*]) => {
        &[$(Kernel {
            name: concat!("standin_cublas_gemm_", $letter, "_", $rows, "x", $columns, "_", $layout),
            element: Element::$element,
            transpose_a: $layout.as_bytes()[0] == b't',
            transpose_b: $layout.as_bytes()[1] == b't',
            rows: $rows,
            columns: $columns,
            threads: $threads,
            aligned: $aligned,
            architectures: $first..=$last,
            dynamic_shared_bytes: $dynamic,
            resident: $resident,
            lone_rate_percent: $lone,
            rate_percent: $rate,
        }),*]
    };
}

/// By element, layout and tile: architectures, threads, whether it needs alignment, dynamic shared memory, CTAs of
/// an SM, rates of one and of all of them (a100: 1,024 and 512 cubed).
const TABLE: &[&[&[Kernel]]] = kernels! {
    "s" F32 ["nn" "nt" "tn" "tt"] {
        128 x 128 70 to 999: 256 true 0 2 88 100, 64 x 64 70 to 999: 128 false 0 3 65 70,
    }
    "d" F64 ["nn" "nt" "tn" "tt"] { 64 x 64 70 to 999: 128 false 0 2 100 100, }
    "h" F16 ["nn" "nt" "tn" "tt"] {
        256 x 160 80 to 80: 256 true 159_744 1 106 106, 128 x 128 70 to 999: 128 true 0 2 59 100,
        64 x 64 70 to 999: 128 false 0 3 25 38,
    }
    "h" F16 ["nn" "tn"] { 128 x 96 80 to 80: 256 true 86_016 1 60 60, }
    "b" Bf16 ["nn" "nt" "tn" "tt"] {
        128 x 128 80 to 999: 128 true 0 2 59 100, 64 x 64 80 to 999: 128 false 0 3 25 38,
    }
    "t" Tf32 ["nn" "nt" "tn" "tt"] {
        128 x 128 80 to 999: 128 true 0 2 59 100, 64 x 64 80 to 999: 128 false 0 3 25 38,
    }
    "i" I8 ["tn"] { 128 x 128 75 to 999: 128 true 0 2 59 100, 64 x 64 75 to 999: 128 false 0 3 25 38, }
};

/// All kernels.
pub fn kernels() -> impl Iterator<Item = &'static Kernel> {
    TABLE.iter().copied().flatten().copied().flatten()
}

/// A product to compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Types.
    pub element: Element,
    /// Whether A is transposed.
    pub transpose_a: bool,
    /// Whether B is transposed.
    pub transpose_b: bool,
    /// Rows of D.
    pub m: u32,
    /// Columns of D.
    pub n: u32,
    /// Columns of op(A), rows of op(B).
    pub k: u32,
    /// Number of matrices of the batch.
    pub batch: u32,
    /// Whether A and B, their leading dimensions and strides are multiples of 16 bytes.
    pub aligned: bool,
}

/// How a kernel is launched.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Launch {
    /// The kernel.
    pub kernel: &'static Kernel,
    /// CTAs: tiles, 1, matrices of the batch.
    pub grid: [u32; 3],
    /// Threads of a CTA.
    pub block: [u32; 3],
    /// Dynamic shared memory of a CTA.
    pub dynamic_shared_bytes: u32,
}

/// The most matrices of a batch that one launch computes, a limit of grids.
pub const MOST_MATRICES: u32 = 65_535;

impl Problem {
    /// The tiles of D that a kernel computes, of all matrices.
    fn tiles(&self, kernel: &Kernel) -> u128 {
        u128::from(self.m.div_ceil(kernel.rows)) * u128::from(self.n.div_ceil(kernel.columns)) * u128::from(self.batch)
    }

    /// Relative time on `sms` SMs, set by the SM with the most tiles.
    fn time(&self, kernel: &Kernel, sms: u32) -> u128 {
        let most = self.tiles(kernel).div_ceil(u128::from(sms.max(1)));
        // Of several CTAs on an SM some multiply while others wait.
        let beside = most.clamp(1, kernel.resident.into()) as u32 - 1;
        let gain = (kernel.rate_percent - kernel.lone_rate_percent) * beside / (kernel.resident - 1).max(1);
        most * u128::from(kernel.rows * kernel.columns) * 100 / u128::from(kernel.lone_rate_percent + gain)
    }
}

/// The launch that computes a product on a GPU of architecture `sm` with `sms` SMs.
///
/// Of the kernels that can, it is the one with the shortest estimated time. Tiles are dealt to SMs in turn, so the time is
/// `ceil(tiles / sms)` times the time of a tile, which is its number of elements by the kernel's rate with that many CTAs
/// on an SM. Of equal times the larger tile is taken, which reads less memory.
///
/// `None` if no kernel can: there is none for this element, layout and architecture, nothing to compute (a size of 0), or
/// more than a grid holds ([`MOST_MATRICES`], 2^31 - 1 tiles).
#[must_use]
pub fn choose(problem: &Problem, sm: u32, sms: u32) -> Option<Launch> {
    let can = |kernel: &&Kernel| {
        kernel.element == problem.element
            && (kernel.transpose_a, kernel.transpose_b) == (problem.transpose_a, problem.transpose_b)
            && kernel.architectures.contains(&sm)
            && (problem.aligned || !kernel.aligned)
    };
    let kernel = kernels()
        .filter(can)
        .min_by_key(|kernel| (problem.time(kernel, sms), std::cmp::Reverse(kernel.rows * kernel.columns)))?;
    if problem.batch == 0 || problem.batch > MOST_MATRICES {
        return None;
    }
    let tiles = u32::try_from(problem.tiles(kernel) / u128::from(problem.batch)).ok()?;
    (1..1 << 31).contains(&tiles).then_some(Launch {
        kernel,
        grid: [tiles, 1, problem.batch],
        block: [kernel.threads, 1, 1],
        dynamic_shared_bytes: kernel.dynamic_shared_bytes,
    })
}

/// Adds `bias[row]` to each element.
pub const BIAS: i32 = 1;
/// Stores 0 for elements that are not positive.
pub const RELU: i32 = 2;
/// Applies the tanh form of GELU.
pub const GELU: i32 = 4;
/// Stores the input of the activation too: for GELU itself, for RELU a bit that says whether it is positive.
pub const KEEP_INPUT: i32 = 8;

macro_rules! argument {
    ($($(#[$doc:meta])* $name:ident: $kind:ty,)*) => {
        /// The argument of a kernel: `struct Gemm` of `kernels/gemm.h`. Addresses are of the device.
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        #[repr(C)]
        pub struct Gemm {
            $($(#[$doc])* pub $name: $kind,)*
        }

        impl Gemm {
            /// The bytes of the argument.
            #[must_use]
            pub fn bytes(&self) -> Vec<u8> {
                let mut out = Vec::new();
                $(self.$name.put(&mut out);)*
                out
            }
        }
    };
}

argument! {
    /// Address of A, or of the addresses of each A.
    a: u64,
    /// Address of B.
    b: u64,
    /// Address of C.
    c: u64,
    /// Address of D.
    d: u64,
    /// Leading dimension of A.
    lda: i64,
    /// Leading dimension of B.
    ldb: i64,
    /// Leading dimension of C.
    ldc: i64,
    /// Leading dimension of D.
    ldd: i64,
    /// Elements from one A to the next.
    stride_a: i64,
    /// Elements from one B to the next.
    stride_b: i64,
    /// Elements from one C to the next.
    stride_c: i64,
    /// Elements from one D to the next.
    stride_d: i64,
    /// Address of alpha, or 0.
    alpha: u64,
    /// Address of beta, or 0.
    beta: u64,
    /// Alpha, if it has no address.
    alpha_value: [f64; 2],
    /// Beta, if it has no address.
    beta_value: [f64; 2],
    /// Address of the bias.
    bias: u64,
    /// Address of what goes into the activation.
    aux: u64,
    /// Its leading dimension.
    ldaux: i64,
    /// Elements from one bias to the next.
    stride_bias: i64,
    /// Elements, or bits, from what goes into one activation to the next.
    stride_aux: i64,
    /// Rows of D.
    m: i32,
    /// Columns of D.
    n: i32,
    /// Depth of the product.
    k: i32,
    /// Whether A, B, C and D are arrays of addresses.
    pointers: i32,
    /// Type of A, as `cudaDataType_t`.
    a_type: i32,
    /// Type of B.
    b_type: i32,
    /// Type of C and D.
    d_type: i32,
    /// Type of alpha and beta.
    scale: i32,
    /// Type of the bias.
    bias_type: i32,
    /// [`BIAS`], [`RELU`], [`GELU`], [`KEEP_INPUT`].
    epilogue: i32,
}

/// A field of the argument.
trait Field {
    fn put(&self, out: &mut Vec<u8>);
}

macro_rules! fields {
    ($($kind:ty)*) => {$(
        impl Field for $kind {
            fn put(&self, out: &mut Vec<u8>) {
                out.extend(self.to_le_bytes());
            }
        }
    )*};
}
fields!(u64 i64 i32);

impl Field for [f64; 2] {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend(self.iter().flat_map(|x| x.to_le_bytes()));
    }
}
