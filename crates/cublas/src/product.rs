//! Matrix products: which kernel makes one, and the functions of the family `gemm`.

use cabi::address::{Address, read};
use cabi::stand_in::not_supported;
use standins::gemm as fast;

use crate::api::{Enum, Stride, blas};
use crate::element::{Batch, Op, Operand, Scalar, Type, leading, size};
use crate::handle::Call;
use crate::kernel::{THREADS, tiles};
use crate::status::{Result, Status, valid};

use Type as T;

/// The argument of the fast kernels.
#[repr(transparent)]
#[derive(Clone, Copy)]
struct Argument(fast::Gemm);

/// `Product` of blas.cu.
#[repr(C)]
#[derive(Clone, Copy)]
struct General {
    gemm: Argument,
    factors: [Address; 2],
    a: Operand,
    b: Operand,
    triangle: i32,
    hermitian: i32,
    mirrored: i32,
    alpha_type: i32,
    beta_type: i32,
    padding: i32,
}
cabi::plain!(Argument, General);

/// A matrix of a product, or the first one of a batch.
#[derive(Clone, Copy, Debug)]
pub struct Matrix {
    pub address: Address,
    pub kind: Type,
    pub leading: i64,
    pub stride: i64,
}

/// Which elements of the result are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Written {
    All = 0,
    Lower = 1,
    Upper = 2,
}

/// Epilogue of a product (`Epilogue` in gemm.h).
#[derive(Clone, Copy, Default, Debug)]
pub struct Epilogue {
    pub bits: i32,
    pub bias: Address,
    pub bias_type: i32,
    pub bias_stride: i64,
    pub aux: Address,
    pub aux_leading: i64,
    pub aux_stride: i64,
}

impl Epilogue {
    pub const BIAS: i32 = 1;
    pub const RELU: i32 = 2;
    pub const GELU: i32 = 4;
    pub const KEEP_INPUT: i32 = 8;
}

/// D = alpha * A * B + beta * C, A and B as their operands say.
#[derive(Clone, Copy, Debug)]
pub struct Product {
    pub a: Matrix,
    pub b: Matrix,
    pub c: Matrix,
    pub d: Matrix,
    pub how_a: Operand,
    pub how_b: Operand,
    pub size: [i32; 3],
    pub alpha: Scalar,
    pub beta: Scalar,
    /// Type of the scalars and of the sums.
    pub scale: Type,
    /// Whether products of single precision may be made of fewer bits.
    pub tf32: bool,
    pub count: i32,
    pub pointers: bool,
    pub written: Written,
    pub hermitian: bool,
    /// Whether alpha is conjugated.
    pub mirrored: bool,
    /// Factors of A and B, numbers of single precision on the device; 0: none.
    pub factors: [Address; 2],
    pub epilogue: Epilogue,
}

impl Product {
    fn argument(&self) -> Argument {
        let Self { a, b, c, d, epilogue, .. } = self;
        let [m, n, k] = self.size;
        let at = |address: Address| address as u64;
        Argument(fast::Gemm {
            a: at(a.address),
            b: at(b.address),
            c: at(c.address),
            d: at(d.address),
            lda: a.leading,
            ldb: b.leading,
            ldc: c.leading,
            ldd: d.leading,
            stride_a: a.stride,
            stride_b: b.stride,
            stride_c: c.stride,
            stride_d: d.stride,
            alpha: at(self.alpha.pointer),
            beta: at(self.beta.pointer),
            alpha_value: [self.alpha.re, self.alpha.im],
            beta_value: [self.beta.re, self.beta.im],
            bias: at(epilogue.bias),
            aux: at(epilogue.aux),
            ldaux: epilogue.aux_leading,
            stride_bias: epilogue.bias_stride,
            stride_aux: epilogue.aux_stride,
            m,
            n,
            k,
            pointers: self.pointers.into(),
            a_type: a.kind.0,
            b_type: b.kind.0,
            d_type: d.kind.0,
            scale: self.scale.0,
            bias_type: epilogue.bias_type,
            epilogue: epilogue.bits,
        })
    }

    /// The kernel of `gemm.cu` that makes it, if one does.
    fn fast(&self, call: &Call) -> Option<fast::Launch> {
        let (op_a, op_b) = (self.how_a.op_if_plain()?, self.how_b.op_if_plain()?);
        if self.written != Written::All || self.factors != [0; 2] {
            return None;
        }
        let [a, b, d] = [self.a.kind, self.b.kind, self.d.kind];
        let element = match (a, b, d, self.scale) {
            // Tensor cores have tf32 since sm_80.
            (T::F32, T::F32, T::F32, T::F32) if self.tf32 && call.sm >= 80 => fast::Element::Tf32,
            (T::F32, T::F32, T::F32, T::F32) => fast::Element::F32,
            (T::F64, T::F64, T::F64, T::F64) => fast::Element::F64,
            (T::F16, T::F16, T::F16 | T::F32, T::F16 | T::F32) => fast::Element::F16,
            (T::BF16, T::BF16, T::BF16 | T::F32, T::F32) => fast::Element::Bf16,
            (T::I8, T::I8, T::I32, T::I32) => fast::Element::I8,
            _ => return None,
        };
        let aligned = |matrix: &Matrix| {
            let is = |elements: i64| elements.wrapping_mul(element.bytes().into()) % 16 == 0;
            // Addresses in an array are the device's, which are not known here.
            !self.pointers && matrix.address.is_multiple_of(16) && is(matrix.leading) && is(matrix.stride)
        };
        let [m, n, k] = self.size.map(i32::unsigned_abs);
        let problem = fast::Problem {
            element,
            transpose_a: op_a.transposed,
            transpose_b: op_b.transposed,
            m,
            n,
            k,
            batch: self.count.unsigned_abs(),
            aligned: aligned(&self.a) && aligned(&self.b),
        };
        fast::choose(&problem, call.sm, call.sms)
    }

    /// The product of the transposes in the other order, which leaves the transpose of D.
    pub fn transposed(self) -> Self {
        let [m, n, k] = self.size;
        Self {
            a: self.b,
            b: self.a,
            how_a: self.how_b.transposed(),
            how_b: self.how_a.transposed(),
            factors: [self.factors[1], self.factors[0]],
            size: [n, m, k],
            ..self
        }
    }

    /// Launches the kernels that make it.
    pub fn launch(&self, call: &Call) -> Result<()> {
        /// CTAs in the y and z directions of a grid at most.
        const MOST: i32 = 65535;
        let [m, n, _] = self.size;
        if m == 0 || n == 0 || self.count == 0 {
            return Ok(());
        }
        if self.count > MOST || n > MOST * 64 {
            return Err(not_supported(&format!("a product in batches of more than {MOST}, or with {n} columns")));
        }
        if let Some(launch) = self.fast(call) {
            let fast::Launch { kernel, grid, block, dynamic_shared_bytes } = launch;
            return call.launch_of(c"gemm", kernel.name, grid, block, dynamic_shared_bytes, &[&self.argument()]);
        }
        let general = General {
            gemm: self.argument(),
            factors: self.factors,
            a: self.how_a,
            b: self.how_b,
            triangle: self.written as i32,
            hermitian: self.hermitian.into(),
            mirrored: self.mirrored.into(),
            alpha_type: self.alpha.type_,
            beta_type: self.beta.type_,
            padding: 0,
        };
        let grid = [tiles(m, 64), tiles(n, 64), self.count.unsigned_abs()];
        let letter = match self.scale {
            T::F16 | T::BF16 => 's',
            other => other.letter()?,
        };
        call.launch(&format!("product_{letter}"), grid, [THREADS, 1, 1], 0, &[&general])
    }
}

/// Types of a product: of A, B, C, of the scalars; and whether single precision may be rounded to tf32.
#[derive(Clone, Copy)]
struct Types {
    a: Type,
    b: Type,
    c: Type,
    scale: Type,
    tf32: bool,
}

/// `CUBLAS_TF32_TENSOR_OP_MATH`.
const TF32_MATH: i32 = 3;

/// The types of `cublasGemmEx`: its compute type is a `cublasComputeType_t` or, as until version 10, a type.
fn mixed(call: &Call, a: i64, b: i64, c: i64, compute: i64) -> Result<Types> {
    let (a, b, c) = (Type::of(a)?, Type::of(b)?, Type::of(c)?);
    let (scale, tf32) = computed(compute, a)?;
    Ok(Types { a, b, c, scale, tf32: tf32 || call.math == TF32_MATH })
}

/// The type of the scalars by compute type, and whether it allows tf32.
pub fn computed(compute: i64, a: Type) -> Result<(Type, bool)> {
    let complex = |single: Type, double: Type| if a.is_complex() { double } else { single };
    Ok(match compute {
        64 | 65 | 2 => (T::F16, false),
        68 | 69 | 78 | 0 => (complex(T::F32, T::C32), false),
        74 | 75 | 77 => (complex(T::F32, T::C32), true),
        70 | 71 | 1 => (complex(T::F64, T::C64), false),
        72 | 73 | 10 => (T::I32, false),
        4 => (T::C32, false),
        5 => (T::C64, false),
        _ => return Err(not_supported(&format!("compute type {compute} of cuBLAS"))),
    })
}

/// The status of a product that is not there for the types of A, B, C and D, and of scalars.
pub fn types_not_supported(of: [Type; 4], scale: Type) -> Status {
    let [a, b, c, d] = of.map(|kind| kind.0);
    not_supported(&format!(
        "a product of types {a} and {b} to {c} and {d} with scalars of type {} (cudaDataType_t)",
        scale.0
    ))
}

/// Whether there is a product of these types: by the tables of the documentation, as far as kernels go.
pub fn exists(a: Type, b: Type, c: Type, scale: Type) -> bool {
    let fp8 = |kind| matches!(kind, T::E4M3 | T::E5M2);
    match scale {
        T::F16 => [a, b, c] == [T::F16; 3],
        T::F32 if fp8(a) && fp8(b) => matches!(c, T::F16 | T::BF16 | T::F32),
        T::F32 => {
            a == b
                && match a {
                    T::F32 => c == T::F32,
                    T::F16 => matches!(c, T::F16 | T::F32),
                    T::BF16 => matches!(c, T::BF16 | T::F32),
                    T::I8 => c == T::F32,
                    _ => false,
                }
        }
        T::I32 => [a, b, c] == [T::I8, T::I8, T::I32],
        T::F64 | T::C32 | T::C64 => [a, b, c] == [scale; 3],
        _ => false,
    }
}

fn multiply(
    call: &Call,
    types: Types,
    op_a: i64,
    op_b: i64,
    m: i64,
    n: i64,
    k: i64,
    alpha: Address,
    a: Address,
    lda: i64,
    b: Address,
    ldb: i64,
    beta: Address,
    c: Address,
    ldc: i64,
    batch: &Batch,
) -> Result<()> {
    let Types { scale, tf32, .. } = types;
    let (op_a, op_b) = (Op::of(op_a)?, Op::of(op_b)?);
    let [m, n, k] = [size(m)?, size(n)?, size(k)?];
    let (rows_a, rows_b) = (if op_a.transposed { k } else { m }, if op_b.transposed { n } else { k });
    let (lda, ldb, ldc) = (leading(lda, rows_a)?, leading(ldb, rows_b)?, leading(ldc, m)?);
    valid(batch.count >= 0)?;
    if !exists(types.a, types.b, types.c, scale) {
        return Err(types_not_supported([types.a, types.b, types.c, types.c], scale));
    }
    let matrix = |address, kind, leading, stride| Matrix { address, kind, leading, stride };
    let [stride_a, stride_b, stride_c] = batch.strides;
    let c = matrix(c, types.c, ldc, stride_c);
    let product = Product {
        a: matrix(a, types.a, lda, stride_a),
        b: matrix(b, types.b, ldb, stride_b),
        c,
        d: c,
        how_a: Operand::general(op_a).of_kind(types.a),
        how_b: Operand::general(op_b).of_kind(types.b),
        size: [m, n, k],
        alpha: call.scalar(alpha, scale)?,
        beta: call.scalar(beta, scale)?,
        scale,
        tf32,
        count: size(batch.count)?,
        pointers: batch.pointers,
        written: Written::All,
        hermitian: false,
        mirrored: false,
        factors: [0; 2],
        epilogue: Epilogue::default(),
    };
    product.launch(call)
}

/// Types of a function whose matrices and scalars have one.
fn all(call: &Call, kind: Type) -> Types {
    Types { a: kind, b: kind, c: kind, scale: kind, tf32: call.math == TF32_MATH }
}

fn gemm(
    call: &Call,
    kind: Type,
    op_a: i64,
    op_b: i64,
    m: i64,
    n: i64,
    k: i64,
    alpha: Address,
    a: Address,
    lda: i64,
    b: Address,
    ldb: i64,
    beta: Address,
    c: Address,
    ldc: i64,
) -> Result<()> {
    multiply(call, all(call, kind), op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, &Batch::ONE)
}

fn batched(
    call: &Call,
    kind: Type,
    op_a: i64,
    op_b: i64,
    m: i64,
    n: i64,
    k: i64,
    alpha: Address,
    a: Address,
    lda: i64,
    b: Address,
    ldb: i64,
    beta: Address,
    c: Address,
    ldc: i64,
    count: i64,
) -> Result<()> {
    let batch = Batch::of_pointers(count);
    multiply(call, all(call, kind), op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, &batch)
}

fn strided(
    call: &Call,
    kind: Type,
    op_a: i64,
    op_b: i64,
    m: i64,
    n: i64,
    k: i64,
    alpha: Address,
    a: Address,
    lda: i64,
    stride_a: i64,
    b: Address,
    ldb: i64,
    stride_b: i64,
    beta: Address,
    c: Address,
    ldc: i64,
    stride_c: i64,
    count: i64,
) -> Result<()> {
    let batch = Batch { count, strides: [stride_a, stride_b, stride_c], pointers: false };
    multiply(call, all(call, kind), op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, &batch)
}

fn gemm_ex(
    call: &Call,
    op_a: i64,
    op_b: i64,
    m: i64,
    n: i64,
    k: i64,
    alpha: Address,
    a: Address,
    ka: i64,
    lda: i64,
    b: Address,
    kb: i64,
    ldb: i64,
    beta: Address,
    c: Address,
    kc: i64,
    ldc: i64,
    compute: i64,
    _algorithm: i64,
) -> Result<()> {
    let types = mixed(call, ka, kb, kc, compute)?;
    multiply(call, types, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, &Batch::ONE)
}

/// `cublasSgemmEx`, `cublasCgemmEx`: scalars of `kind`, by which the sums are.
fn typed_gemm(
    call: &Call,
    kind: Type,
    op_a: i64,
    op_b: i64,
    m: i64,
    n: i64,
    k: i64,
    alpha: Address,
    a: Address,
    ka: i64,
    lda: i64,
    b: Address,
    kb: i64,
    ldb: i64,
    beta: Address,
    c: Address,
    kc: i64,
    ldc: i64,
) -> Result<()> {
    let types = mixed(call, ka, kb, kc, kind.0.into())?;
    multiply(call, types, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, &Batch::ONE)
}

fn batched_ex(
    call: &Call,
    op_a: i64,
    op_b: i64,
    m: i64,
    n: i64,
    k: i64,
    alpha: Address,
    a: Address,
    ka: i64,
    lda: i64,
    b: Address,
    kb: i64,
    ldb: i64,
    beta: Address,
    c: Address,
    kc: i64,
    ldc: i64,
    count: i64,
    compute: i64,
    _algorithm: i64,
) -> Result<()> {
    let types = mixed(call, ka, kb, kc, compute)?;
    let batch = Batch::of_pointers(count);
    multiply(call, types, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, &batch)
}

fn strided_ex(
    call: &Call,
    op_a: i64,
    op_b: i64,
    m: i64,
    n: i64,
    k: i64,
    alpha: Address,
    a: Address,
    ka: i64,
    lda: i64,
    stride_a: i64,
    b: Address,
    kb: i64,
    ldb: i64,
    stride_b: i64,
    beta: Address,
    c: Address,
    kc: i64,
    ldc: i64,
    stride_c: i64,
    count: i64,
    compute: i64,
    _algorithm: i64,
) -> Result<()> {
    let types = mixed(call, ka, kb, kc, compute)?;
    let batch = Batch { count, strides: [stride_a, stride_b, stride_c], pointers: false };
    multiply(call, types, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, &batch)
}

/// Groups of batches: all sizes and scalars are arrays on the host, with an entry for each group.
fn grouped(
    call: &Call,
    kind: Type,
    op_a: Address,
    op_b: Address,
    m: Address,
    n: Address,
    k: Address,
    alpha: Address,
    a: Address,
    lda: Address,
    b: Address,
    ldb: Address,
    beta: Address,
    c: Address,
    ldc: Address,
    groups: i64,
    counts: Address,
) -> Result<()> {
    let types = all(call, kind);
    groups_of(call, types, [op_a, op_b], [m, n, k], alpha, [a, b, c], [lda, ldb, ldc], beta, groups, counts)
}

fn grouped_ex(
    call: &Call,
    op_a: Address,
    op_b: Address,
    m: Address,
    n: Address,
    k: Address,
    alpha: Address,
    a: Address,
    ka: i64,
    lda: Address,
    b: Address,
    kb: i64,
    ldb: Address,
    beta: Address,
    c: Address,
    kc: i64,
    ldc: Address,
    groups: i64,
    counts: Address,
    compute: i64,
) -> Result<()> {
    let types = mixed(call, ka, kb, kc, compute)?;
    groups_of(call, types, [op_a, op_b], [m, n, k], alpha, [a, b, c], [lda, ldb, ldc], beta, groups, counts)
}

fn groups_of(
    call: &Call,
    types: Types,
    ops: [Address; 2],
    sizes: [Address; 3],
    alpha: Address,
    matrices: [Address; 3],
    leading: [Address; 3],
    beta: Address,
    groups: i64,
    counts: Address,
) -> Result<()> {
    let groups = usize::try_from(groups).map_err(|_| Status::INVALID_VALUE)?;
    let number = |list: Address, group: usize, wide: bool| -> Result<i64> {
        let bytes = if wide { 8 } else { 4 };
        let place = list.wrapping_add(group.wrapping_mul(bytes));
        Ok(if wide { read::<i64>(place)? } else { read::<i32>(place)?.into() })
    };
    let mut before = 0_usize;
    for group in 0..groups {
        let get = |list: Address| number(list, group, call.wide);
        let ([op_a, op_b], [m, n, k]) = (ops, sizes);
        let count = get(counts)?;
        let at = |list: Address| list.wrapping_add(before.wrapping_mul(size_of::<Address>()));
        let scalar =
            |list: Address| -> Result<Address> { Ok(list.wrapping_add(group.wrapping_mul(types.scale.bytes()?))) };
        let [a, b, c] = matrices.map(at);
        let [lda, ldb, ldc] = leading;
        let batch = Batch::of_pointers(count);
        multiply(
            call,
            types,
            number(op_a, group, false)?,
            number(op_b, group, false)?,
            get(m)?,
            get(n)?,
            get(k)?,
            scalar(alpha)?,
            a,
            get(lda)?,
            b,
            get(ldb)?,
            scalar(beta)?,
            c,
            get(ldc)?,
            &batch,
        )?;
        before += usize::try_from(count).map_err(|_| Status::INVALID_VALUE)?;
    }
    Ok(())
}

blas! {
    fn(op_a: Enum, op_b: Enum, m: Int, n: Int, k: Int, alpha: Address, a: Address, lda: Int, b: Address, ldb: Int,
       beta: Address, c: Address, ldc: Int) = gemm,
        for Hgemm(T::F16), Sgemm_v2(T::F32), Dgemm_v2(T::F64), Cgemm_v2(T::C32), Zgemm_v2(T::C64), Cgemm3m(T::C32),
            Zgemm3m(T::C64);
    fn(op_a: Enum, op_b: Enum, m: Int, n: Int, k: Int, alpha: Address, a: Address, lda: Int, b: Address, ldb: Int,
       beta: Address, c: Address, ldc: Int, count: Int) = batched,
        for HgemmBatched(T::F16), SgemmBatched(T::F32), DgemmBatched(T::F64), CgemmBatched(T::C32),
            ZgemmBatched(T::C64), Cgemm3mBatched(T::C32);
    fn(op_a: Enum, op_b: Enum, m: Int, n: Int, k: Int, alpha: Address, a: Address, lda: Int, stride_a: Stride,
       b: Address, ldb: Int, stride_b: Stride, beta: Address, c: Address, ldc: Int, stride_c: Stride, count: Int)
        = strided,
        for HgemmStridedBatched(T::F16), SgemmStridedBatched(T::F32), DgemmStridedBatched(T::F64),
            CgemmStridedBatched(T::C32), ZgemmStridedBatched(T::C64), Cgemm3mStridedBatched(T::C32);
    fn(op_a: Enum, op_b: Enum, m: Int, n: Int, k: Int, alpha: Address, a: Address, ka: Enum, lda: Int, b: Address,
       kb: Enum, ldb: Int, beta: Address, c: Address, kc: Enum, ldc: Int, compute: Enum, algorithm: Enum) = gemm_ex,
        for GemmEx();
    fn(op_a: Enum, op_b: Enum, m: Int, n: Int, k: Int, alpha: Address, a: Address, ka: Enum, lda: Int, b: Address,
       kb: Enum, ldb: Int, beta: Address, c: Address, kc: Enum, ldc: Int) = typed_gemm,
        for SgemmEx(T::F32), CgemmEx(T::C32), Cgemm3mEx(T::C32);
    fn(op_a: Enum, op_b: Enum, m: Int, n: Int, k: Int, alpha: Address, a: Address, ka: Enum, lda: Int, b: Address,
       kb: Enum, ldb: Int, beta: Address, c: Address, kc: Enum, ldc: Int, count: Int, compute: Enum, algorithm: Enum)
        = batched_ex,
        for GemmBatchedEx();
    fn(op_a: Enum, op_b: Enum, m: Int, n: Int, k: Int, alpha: Address, a: Address, ka: Enum, lda: Int,
       stride_a: Stride, b: Address, kb: Enum, ldb: Int, stride_b: Stride, beta: Address, c: Address, kc: Enum,
       ldc: Int, stride_c: Stride, count: Int, compute: Enum, algorithm: Enum) = strided_ex,
        for GemmStridedBatchedEx();
    fn(op_a: Address, op_b: Address, m: Address, n: Address, k: Address, alpha: Address, a: Address, lda: Address,
       b: Address, ldb: Address, beta: Address, c: Address, ldc: Address, groups: Int, counts: Address) = grouped,
        for SgemmGroupedBatched(T::F32), DgemmGroupedBatched(T::F64);
    fn(op_a: Address, op_b: Address, m: Address, n: Address, k: Address, alpha: Address, a: Address, ka: Enum,
       lda: Address, b: Address, kb: Enum, ldb: Address, beta: Address, c: Address, kc: Enum, ldc: Address,
       groups: Int, counts: Address, compute: Enum) = grouped_ex,
        for GemmGroupedBatchedEx();
}
