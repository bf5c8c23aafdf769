//! Level 2: a matrix and vectors.

use cabi::address::Address;

use crate::api::{Enum, Stride, blas};
use crate::element::{Batch, Op, Operand, Scalar, Shape, Type, first, is_unit, is_upper, leading, size};
use crate::handle::Call;
use crate::kernel::tiles;
use crate::status::{Result, valid};

use Shape::{Hermitian, Symmetric, Triangular};
use Type as T;

/// `Gemv` of blas.cu.
#[repr(C)]
#[derive(Clone, Copy)]
struct Gemv {
    a: Address,
    x: Address,
    y: Address,
    lda: i64,
    incx: i64,
    incy: i64,
    strides: [i64; 3],
    alpha: Scalar,
    beta: Scalar,
    m: i32,
    n: i32,
    y_type: i32,
    conj: i32,
    pointers: i32,
    padding: i32,
}
cabi::plain!(Gemv);

/// Types of a product: of the matrix and x, of y, of the scalars.
#[derive(Clone, Copy)]
struct Types(Type, Type, Type);

fn general(
    call: &Call,
    types: Types,
    op: i64,
    m: i64,
    n: i64,
    alpha: Address,
    a: Address,
    lda: i64,
    x: Address,
    incx: i64,
    beta: Address,
    y: Address,
    incy: i64,
    batch: &Batch,
) -> Result<()> {
    let Types(kind, y_type, of) = types;
    let (op, m, n) = (Op::of(op)?, size(m)?, size(n)?);
    let lda = leading(lda, m)?;
    valid(incx != 0 && incy != 0 && batch.count >= 0)?;
    if m == 0 || n == 0 || batch.count == 0 {
        return Ok(());
    }
    // Vectors of a batch by pointers cannot be moved to their first elements here.
    let (length_x, length_y) = if op.transposed { (m, n) } else { (n, m) };
    let (x, y) = if batch.pointers {
        valid(incx > 0 && incy > 0)?;
        (x, y)
    } else {
        (first(x, length_x.into(), incx, kind)?, first(y, length_y.into(), incy, y_type)?)
    };
    let gemv = Gemv {
        a,
        x,
        y,
        lda,
        incx,
        incy,
        strides: batch.strides,
        alpha: call.scalar(alpha, of)?,
        beta: call.scalar(beta, of)?,
        m,
        n,
        y_type: y_type.0,
        conj: op.conjugated.into(),
        pointers: batch.pointers.into(),
        padding: 0,
    };
    let (form, grid) = if op.transposed { ("t", tiles(n, 8)) } else { ("n", tiles(m, 32)) };
    let name = format!("gemv_{form}_{}", kind.letter()?);
    call.launch(&name, [grid, 1, size(batch.count)?.unsigned_abs()], [32, 8, 1], 0, &[&gemv])
}

fn gemv(
    call: &Call,
    kind: Type,
    op: i64,
    m: i64,
    n: i64,
    alpha: Address,
    a: Address,
    lda: i64,
    x: Address,
    incx: i64,
    beta: Address,
    y: Address,
    incy: i64,
) -> Result<()> {
    general(call, Types(kind, kind, kind), op, m, n, alpha, a, lda, x, incx, beta, y, incy, &Batch::ONE)
}

fn gemv_batched(
    call: &Call,
    types: Types,
    op: i64,
    m: i64,
    n: i64,
    alpha: Address,
    a: Address,
    lda: i64,
    x: Address,
    incx: i64,
    beta: Address,
    y: Address,
    incy: i64,
    count: i64,
) -> Result<()> {
    let batch = Batch::of_pointers(count);
    general(call, types, op, m, n, alpha, a, lda, x, incx, beta, y, incy, &batch)
}

fn gemv_strided(
    call: &Call,
    types: Types,
    op: i64,
    m: i64,
    n: i64,
    alpha: Address,
    a: Address,
    lda: i64,
    stride_a: i64,
    x: Address,
    incx: i64,
    stride_x: i64,
    beta: Address,
    y: Address,
    incy: i64,
    stride_y: i64,
    count: i64,
) -> Result<()> {
    let batch = Batch { count, strides: [stride_a, stride_x, stride_y], pointers: false };
    general(call, types, op, m, n, alpha, a, lda, x, incx, beta, y, incy, &batch)
}

/// y = alpha * op(A) * x + beta * y for a matrix that is stored or used in another way: `rows` x `columns` after op.
fn product(
    call: &Call,
    kind: Type,
    [rows, columns]: [i32; 2],
    alpha: Scalar,
    a: Address,
    lda: i64,
    how: Operand,
    x: Address,
    incx: i64,
    beta: Scalar,
    y: Address,
    incy: i64,
) -> Result<()> {
    if rows == 0 {
        return Ok(());
    }
    let (x, y) = (first(x, columns.into(), incx, kind)?, first(y, rows.into(), incy, kind)?);
    let name = format!("matvec_{}", kind.letter()?);
    call.launch_over(
        &name,
        i64::from(rows) * 32,
        &[&rows, &columns, &alpha, &a, &lda, &how, &x, &incx, &beta, &y, &incy],
    )
}

fn gbmv(
    call: &Call,
    kind: Type,
    op: i64,
    m: i64,
    n: i64,
    below: i64,
    above: i64,
    alpha: Address,
    a: Address,
    lda: i64,
    x: Address,
    incx: i64,
    beta: Address,
    y: Address,
    incy: i64,
) -> Result<()> {
    let (op, m, n, below, above) = (Op::of(op)?, size(m)?, size(n)?, size(below)?, size(above)?);
    valid(incx != 0 && incy != 0 && lda > i64::from(below) + i64::from(above))?;
    if m == 0 || n == 0 {
        return Ok(());
    }
    let how = Operand::general(op).band(below, above);
    let shape = if op.transposed { [n, m] } else { [m, n] };
    let (alpha, beta) = (call.scalar(alpha, kind)?, call.scalar(beta, kind)?);
    product(call, kind, shape, alpha, a, lda, how, x, incx, beta, y, incy)
}

fn symv(
    call: &Call,
    kind: Type,
    shape: Shape,
    fill: i64,
    n: i64,
    alpha: Address,
    a: Address,
    lda: i64,
    x: Address,
    incx: i64,
    beta: Address,
    y: Address,
    incy: i64,
) -> Result<()> {
    let n = size(n)?;
    let how = Operand::triangle(shape, is_upper(fill)?, false, Op::NONE);
    symmetric(call, kind, n, how, alpha, a, leading(lda, n)?, x, incx, beta, y, incy)
}

fn sbmv(
    call: &Call,
    kind: Type,
    shape: Shape,
    fill: i64,
    n: i64,
    k: i64,
    alpha: Address,
    a: Address,
    lda: i64,
    x: Address,
    incx: i64,
    beta: Address,
    y: Address,
    incy: i64,
) -> Result<()> {
    let (n, k) = (size(n)?, size(k)?);
    valid(lda > i64::from(k))?;
    let how = banded(shape, is_upper(fill)?, false, Op::NONE, k);
    symmetric(call, kind, n, how, alpha, a, lda, x, incx, beta, y, incy)
}

fn spmv(
    call: &Call,
    kind: Type,
    shape: Shape,
    fill: i64,
    n: i64,
    alpha: Address,
    a: Address,
    x: Address,
    incx: i64,
    beta: Address,
    y: Address,
    incy: i64,
) -> Result<()> {
    let n = size(n)?;
    let how = Operand::triangle(shape, is_upper(fill)?, false, Op::NONE).packed(n);
    symmetric(call, kind, n, how, alpha, a, 0, x, incx, beta, y, incy)
}

fn symmetric(
    call: &Call,
    kind: Type,
    n: i32,
    how: Operand,
    alpha: Address,
    a: Address,
    lda: i64,
    x: Address,
    incx: i64,
    beta: Address,
    y: Address,
    incy: i64,
) -> Result<()> {
    valid(incx != 0 && incy != 0)?;
    let (alpha, beta) = (call.scalar(alpha, kind)?, call.scalar(beta, kind)?);
    product(call, kind, [n, n], alpha, a, lda, how, x, incx, beta, y, incy)
}

/// The band of a triangle with `k` diagonals beside the main one.
fn banded(shape: Shape, upper: bool, unit: bool, op: Op, k: i32) -> Operand {
    let (below, above) = if upper { (0, k) } else { (k, 0) };
    Operand::triangle(shape, upper, unit, op).band(below, above)
}

/// x = op(A) * x by way of a copy of x, or the solution of op(A) * x = b.
fn triangular(
    call: &Call,
    kind: Type,
    solves: bool,
    n: i32,
    a: Address,
    lda: i64,
    how: Operand,
    x: Address,
    incx: i64,
) -> Result<()> {
    valid(incx != 0)?;
    if n == 0 {
        return Ok(());
    }
    let letter = kind.letter()?;
    let start = first(x, n.into(), incx, kind)?;
    if solves {
        let parameters: [&dyn crate::kernel::Parameter; 6] = [&n, &a, &lda, &how, &start, &incx];
        return call.launch(&format!("solve_{letter}"), [1; 3], [256, 1, 1], 0, &parameters);
    }
    let bytes = kind.bytes()?;
    call.with_memory(n.unsigned_abs() as usize * bytes, |copy| {
        call.launch_over(&format!("copy_{bytes}"), n.into(), &[&i64::from(n), &start, &incx, &copy, &1_i64])?;
        product(call, kind, [n, n], Scalar::value(1.0), a, lda, how, copy, 1, Scalar::value(0.0), x, incx)
    })
}

fn trmv(
    call: &Call,
    kind: Type,
    solves: bool,
    fill: i64,
    op: i64,
    diagonal: i64,
    n: i64,
    a: Address,
    lda: i64,
    x: Address,
    incx: i64,
) -> Result<()> {
    let n = size(n)?;
    let how = Operand::triangle(Triangular, is_upper(fill)?, is_unit(diagonal)?, Op::of(op)?);
    triangular(call, kind, solves, n, a, leading(lda, n)?, how, x, incx)
}

fn tbmv(
    call: &Call,
    kind: Type,
    solves: bool,
    fill: i64,
    op: i64,
    diagonal: i64,
    n: i64,
    k: i64,
    a: Address,
    lda: i64,
    x: Address,
    incx: i64,
) -> Result<()> {
    let (n, k) = (size(n)?, size(k)?);
    valid(lda > i64::from(k))?;
    let how = banded(Triangular, is_upper(fill)?, is_unit(diagonal)?, Op::of(op)?, k);
    triangular(call, kind, solves, n, a, lda, how, x, incx)
}

fn tpmv(
    call: &Call,
    kind: Type,
    solves: bool,
    fill: i64,
    op: i64,
    diagonal: i64,
    n: i64,
    a: Address,
    x: Address,
    incx: i64,
) -> Result<()> {
    let n = size(n)?;
    let how = Operand::triangle(Triangular, is_upper(fill)?, is_unit(diagonal)?, Op::of(op)?).packed(n);
    triangular(call, kind, solves, n, a, 0, how, x, incx)
}

/// A += alpha * x * y^T, and `two` the mirror image.
fn rank(
    call: &Call,
    kind: Type,
    m: i32,
    n: i32,
    alpha: Scalar,
    x: Address,
    incx: i64,
    y: Address,
    incy: i64,
    two: bool,
    a: Address,
    lda: i64,
    how: Operand,
) -> Result<()> {
    valid(incx != 0 && incy != 0)?;
    if m == 0 || n == 0 || alpha.is(0.0) {
        return Ok(());
    }
    let (x, y) = (first(x, m.into(), incx, kind)?, first(y, n.into(), incy, kind)?);
    let items = i64::from(m) * i64::from(n);
    let name = format!("rank_{}", kind.letter()?);
    let two = i32::from(two);
    call.launch_over(&name, items, &[&m, &n, &alpha, &x, &incx, &y, &incy, &two, &a, &lda, &how])
}

fn ger(
    call: &Call,
    kind: Type,
    conjugated: bool,
    m: i64,
    n: i64,
    alpha: Address,
    x: Address,
    incx: i64,
    y: Address,
    incy: i64,
    a: Address,
    lda: i64,
) -> Result<()> {
    let (m, n) = (size(m)?, size(n)?);
    let how = Operand::general(Op { transposed: false, conjugated });
    let lda = leading(lda, m)?;
    rank(call, kind, m, n, call.scalar(alpha, kind)?, x, incx, y, incy, false, a, lda, how)
}

/// How a rank-1 or rank-2 update uses a triangle.
fn updated(shape: Shape, fill: i64) -> Result<Operand> {
    let op = Op { transposed: false, conjugated: shape == Hermitian };
    Ok(Operand::triangle(shape, is_upper(fill)?, false, op))
}

/// The type of alpha in a rank-1 update.
fn real_if(shape: Shape, kind: Type) -> Type {
    if shape == Hermitian { kind.real() } else { kind }
}

fn syr(
    call: &Call,
    kind: Type,
    shape: Shape,
    fill: i64,
    n: i64,
    alpha: Address,
    x: Address,
    incx: i64,
    a: Address,
    lda: i64,
) -> Result<()> {
    let n = size(n)?;
    let (alpha, lda) = (call.scalar(alpha, real_if(shape, kind))?, leading(lda, n)?);
    rank(call, kind, n, n, alpha, x, incx, x, incx, false, a, lda, updated(shape, fill)?)
}

fn spr(
    call: &Call,
    kind: Type,
    shape: Shape,
    fill: i64,
    n: i64,
    alpha: Address,
    x: Address,
    incx: i64,
    a: Address,
) -> Result<()> {
    let n = size(n)?;
    let alpha = call.scalar(alpha, real_if(shape, kind))?;
    rank(call, kind, n, n, alpha, x, incx, x, incx, false, a, 0, updated(shape, fill)?.packed(n))
}

fn syr2(
    call: &Call,
    kind: Type,
    shape: Shape,
    fill: i64,
    n: i64,
    alpha: Address,
    x: Address,
    incx: i64,
    y: Address,
    incy: i64,
    a: Address,
    lda: i64,
) -> Result<()> {
    let n = size(n)?;
    let (alpha, lda) = (call.scalar(alpha, kind)?, leading(lda, n)?);
    rank(call, kind, n, n, alpha, x, incx, y, incy, true, a, lda, updated(shape, fill)?)
}

fn spr2(
    call: &Call,
    kind: Type,
    shape: Shape,
    fill: i64,
    n: i64,
    alpha: Address,
    x: Address,
    incx: i64,
    y: Address,
    incy: i64,
    a: Address,
) -> Result<()> {
    let n = size(n)?;
    rank(call, kind, n, n, call.scalar(alpha, kind)?, x, incx, y, incy, true, a, 0, updated(shape, fill)?.packed(n))
}

blas! {
    fn(op: Enum, m: Int, n: Int, alpha: Address, a: Address, lda: Int, x: Address, incx: Int, beta: Address,
       y: Address, incy: Int) = gemv,
        for Sgemv_v2(T::F32), Dgemv_v2(T::F64), Cgemv_v2(T::C32), Zgemv_v2(T::C64);
    fn(op: Enum, m: Int, n: Int, alpha: Address, a: Address, lda: Int, x: Address, incx: Int, beta: Address,
       y: Address, incy: Int, count: Int) = gemv_batched,
        for SgemvBatched(Types(T::F32, T::F32, T::F32)), DgemvBatched(Types(T::F64, T::F64, T::F64)),
            CgemvBatched(Types(T::C32, T::C32, T::C32)), ZgemvBatched(Types(T::C64, T::C64, T::C64)),
            HSHgemvBatched(Types(T::F16, T::F16, T::F32)), HSSgemvBatched(Types(T::F16, T::F32, T::F32)),
            TSTgemvBatched(Types(T::BF16, T::BF16, T::F32)), TSSgemvBatched(Types(T::BF16, T::F32, T::F32));
    fn(op: Enum, m: Int, n: Int, alpha: Address, a: Address, lda: Int, stride_a: Stride, x: Address, incx: Int,
       stride_x: Stride, beta: Address, y: Address, incy: Int, stride_y: Stride, count: Int) = gemv_strided,
        for SgemvStridedBatched(Types(T::F32, T::F32, T::F32)), DgemvStridedBatched(Types(T::F64, T::F64, T::F64)),
            CgemvStridedBatched(Types(T::C32, T::C32, T::C32)), ZgemvStridedBatched(Types(T::C64, T::C64, T::C64)),
            HSHgemvStridedBatched(Types(T::F16, T::F16, T::F32)),
            HSSgemvStridedBatched(Types(T::F16, T::F32, T::F32)),
            TSTgemvStridedBatched(Types(T::BF16, T::BF16, T::F32)),
            TSSgemvStridedBatched(Types(T::BF16, T::F32, T::F32));
    fn(op: Enum, m: Int, n: Int, below: Int, above: Int, alpha: Address, a: Address, lda: Int, x: Address, incx: Int,
       beta: Address, y: Address, incy: Int) = gbmv,
        for Sgbmv_v2(T::F32), Dgbmv_v2(T::F64), Cgbmv_v2(T::C32), Zgbmv_v2(T::C64);
    fn(fill: Enum, n: Int, alpha: Address, a: Address, lda: Int, x: Address, incx: Int, beta: Address, y: Address,
       incy: Int) = symv,
        for Ssymv_v2(T::F32, Symmetric), Dsymv_v2(T::F64, Symmetric), Csymv_v2(T::C32, Symmetric),
            Zsymv_v2(T::C64, Symmetric), Chemv_v2(T::C32, Hermitian), Zhemv_v2(T::C64, Hermitian);
    fn(fill: Enum, n: Int, k: Int, alpha: Address, a: Address, lda: Int, x: Address, incx: Int, beta: Address,
       y: Address, incy: Int) = sbmv,
        for Ssbmv_v2(T::F32, Symmetric), Dsbmv_v2(T::F64, Symmetric), Chbmv_v2(T::C32, Hermitian),
            Zhbmv_v2(T::C64, Hermitian);
    fn(fill: Enum, n: Int, alpha: Address, a: Address, x: Address, incx: Int, beta: Address, y: Address, incy: Int)
        = spmv,
        for Sspmv_v2(T::F32, Symmetric), Dspmv_v2(T::F64, Symmetric), Chpmv_v2(T::C32, Hermitian),
            Zhpmv_v2(T::C64, Hermitian);
    fn(fill: Enum, op: Enum, diagonal: Enum, n: Int, a: Address, lda: Int, x: Address, incx: Int) = trmv,
        for Strmv_v2(T::F32, false), Dtrmv_v2(T::F64, false), Ctrmv_v2(T::C32, false), Ztrmv_v2(T::C64, false),
            Strsv_v2(T::F32, true), Dtrsv_v2(T::F64, true), Ctrsv_v2(T::C32, true), Ztrsv_v2(T::C64, true);
    fn(fill: Enum, op: Enum, diagonal: Enum, n: Int, k: Int, a: Address, lda: Int, x: Address, incx: Int) = tbmv,
        for Stbmv_v2(T::F32, false), Dtbmv_v2(T::F64, false), Ctbmv_v2(T::C32, false), Ztbmv_v2(T::C64, false),
            Stbsv_v2(T::F32, true), Dtbsv_v2(T::F64, true), Ctbsv_v2(T::C32, true), Ztbsv_v2(T::C64, true);
    fn(fill: Enum, op: Enum, diagonal: Enum, n: Int, a: Address, x: Address, incx: Int) = tpmv,
        for Stpmv_v2(T::F32, false), Dtpmv_v2(T::F64, false), Ctpmv_v2(T::C32, false), Ztpmv_v2(T::C64, false),
            Stpsv_v2(T::F32, true), Dtpsv_v2(T::F64, true), Ctpsv_v2(T::C32, true), Ztpsv_v2(T::C64, true);
    fn(m: Int, n: Int, alpha: Address, x: Address, incx: Int, y: Address, incy: Int, a: Address, lda: Int) = ger,
        for Sger_v2(T::F32, false), Dger_v2(T::F64, false), Cgeru_v2(T::C32, false), Cgerc_v2(T::C32, true),
            Zgeru_v2(T::C64, false), Zgerc_v2(T::C64, true);
    fn(fill: Enum, n: Int, alpha: Address, x: Address, incx: Int, a: Address, lda: Int) = syr,
        for Ssyr_v2(T::F32, Symmetric), Dsyr_v2(T::F64, Symmetric), Csyr_v2(T::C32, Symmetric),
            Zsyr_v2(T::C64, Symmetric), Cher_v2(T::C32, Hermitian), Zher_v2(T::C64, Hermitian);
    fn(fill: Enum, n: Int, alpha: Address, x: Address, incx: Int, a: Address) = spr,
        for Sspr_v2(T::F32, Symmetric), Dspr_v2(T::F64, Symmetric), Chpr_v2(T::C32, Hermitian),
            Zhpr_v2(T::C64, Hermitian);
    fn(fill: Enum, n: Int, alpha: Address, x: Address, incx: Int, y: Address, incy: Int, a: Address, lda: Int) = syr2,
        for Ssyr2_v2(T::F32, Symmetric), Dsyr2_v2(T::F64, Symmetric), Csyr2_v2(T::C32, Symmetric),
            Zsyr2_v2(T::C64, Symmetric), Cher2_v2(T::C32, Hermitian), Zher2_v2(T::C64, Hermitian);
    fn(fill: Enum, n: Int, alpha: Address, x: Address, incx: Int, y: Address, incy: Int, a: Address) = spr2,
        for Sspr2_v2(T::F32, Symmetric), Dspr2_v2(T::F64, Symmetric), Chpr2_v2(T::C32, Hermitian),
            Zhpr2_v2(T::C64, Hermitian);
}
