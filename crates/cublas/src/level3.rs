//! Level 3 beside `gemm`: symmetric, Hermitian and triangular matrices, sums and diagonals.

use cabi::address::Address;
use cabi::stand_in::not_supported;

use crate::api::{Enum, blas};
use crate::element::{Op, Operand, Scalar, Shape, Type, is_right, is_unit, is_upper, leading, size};
use crate::handle::Call;
use crate::kernel::{Parameter, tiles};
use crate::product::{Epilogue, Matrix, Product, Written};
use crate::status::Result;

use Shape::{Hermitian, Symmetric};
use Type as T;

/// Rows that one kernel solves; what is below is a product.
const BLOCK: i32 = 64;

fn matrix(address: Address, kind: Type, leading: i64) -> Matrix {
    Matrix { address, kind, leading, stride: 0 }
}

/// D = alpha * A * B + beta * D.
fn product(
    kind: Type,
    size: [i32; 3],
    alpha: Scalar,
    a: (Matrix, Operand),
    b: (Matrix, Operand),
    beta: Scalar,
    d: Matrix,
    written: Written,
    hermitian: bool,
) -> Product {
    Product {
        a: a.0,
        b: b.0,
        c: d,
        d,
        how_a: a.1.of_kind(kind),
        how_b: b.1.of_kind(kind),
        size,
        alpha,
        beta,
        scale: kind,
        tf32: false,
        count: 1,
        pointers: false,
        written,
        hermitian,
        mirrored: false,
        factors: [0; 2],
        epilogue: Epilogue::default(),
    }
}

fn symm(
    call: &Call,
    kind: Type,
    shape: Shape,
    side: i64,
    fill: i64,
    m: i64,
    n: i64,
    alpha: Address,
    a: Address,
    lda: i64,
    b: Address,
    ldb: i64,
    beta: Address,
    c: Address,
    ldc: i64,
) -> Result<()> {
    let (right, m, n) = (is_right(side)?, size(m)?, size(n)?);
    let k = if right { n } else { m };
    let a = matrix(a, kind, leading(lda, k)?);
    let b = matrix(b, kind, leading(ldb, m)?);
    let how = Operand::triangle(shape, is_upper(fill)?, false, Op::NONE);
    let mut factors = [(a, how), (b, Operand::general(Op::NONE))];
    if right {
        factors.swap(0, 1);
    }
    let [left, right] = factors;
    let (alpha, beta) = (call.scalar(alpha, kind)?, call.scalar(beta, kind)?);
    // A Hermitian matrix keeps its mirrored half conjugated: its kind decides, not its flag.
    let c = matrix(c, kind, leading(ldc, m)?);
    product(kind, [m, n, k], alpha, left, right, beta, c, Written::All, false).launch(call)
}

/// How an update of rank k is made: its matrices transposed or not, by the kind of the result.
fn factors(shape: Shape, op: i64) -> Result<[Op; 2]> {
    let transposed = Op::of(op)?.transposed;
    let conjugated = shape == Hermitian;
    let plain = Op { transposed, conjugated: transposed && conjugated };
    let mirrored = Op { transposed: !transposed, conjugated: !transposed && conjugated };
    Ok([plain, mirrored])
}

fn written(fill: i64) -> Result<Written> {
    Ok(if is_upper(fill)? { Written::Upper } else { Written::Lower })
}

/// Types of scalars of an update: alpha and beta.
type Scalars = [Type; 2];

fn syrkx(
    call: &Call,
    kind: Type,
    shape: Shape,
    of: Scalars,
    fill: i64,
    op: i64,
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
    let (n, k, [op_a, op_b]) = (size(n)?, size(k)?, factors(shape, op)?);
    let rows = if op_a.transposed { k } else { n };
    let a = matrix(a, kind, leading(lda, rows)?);
    let b = matrix(b, kind, leading(ldb, rows)?);
    let (alpha, beta) = (call.scalar(alpha, of[0])?, call.scalar(beta, of[1])?);
    let c = matrix(c, kind, leading(ldc, n)?);
    let (left, right) = ((a, Operand::general(op_a)), (b, Operand::general(op_b)));
    product(kind, [n, n, k], alpha, left, right, beta, c, written(fill)?, shape == Hermitian).launch(call)
}

fn syrk(
    call: &Call,
    kind: Type,
    shape: Shape,
    of: Scalars,
    fill: i64,
    op: i64,
    n: i64,
    k: i64,
    alpha: Address,
    a: Address,
    lda: i64,
    beta: Address,
    c: Address,
    ldc: i64,
) -> Result<()> {
    syrkx(call, kind, shape, of, fill, op, n, k, alpha, a, lda, a, lda, beta, c, ldc)
}

fn syr2k(
    call: &Call,
    kind: Type,
    shape: Shape,
    of: Scalars,
    fill: i64,
    op: i64,
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
    syrkx(call, kind, shape, of, fill, op, n, k, alpha, a, lda, b, ldb, beta, c, ldc)?;
    // The mirror image, with alpha conjugated, is added.
    let (n, k, [op_b, op_a]) = (size(n)?, size(k)?, factors(shape, op)?);
    let alpha = call.scalar(alpha, of[0])?;
    let (b, a) = (matrix(b, kind, ldb), matrix(a, kind, lda));
    let (left, right) = ((b, Operand::general(op_b)), (a, Operand::general(op_a)));
    let c = matrix(c, kind, ldc);
    let (one, mirrored) = (Scalar::value(1.0), shape == Hermitian);
    let sum = product(kind, [n, n, k], alpha, left, right, one, c, written(fill)?, mirrored);
    Product { mirrored, ..sum }.launch(call)
}

/// An update whose types are arguments: complex numbers of single precision only.
fn syrk_ex(
    call: &Call,
    shape: Shape,
    of: Scalars,
    fill: i64,
    op: i64,
    n: i64,
    k: i64,
    alpha: Address,
    a: Address,
    ka: i64,
    lda: i64,
    beta: Address,
    c: Address,
    kc: i64,
    ldc: i64,
) -> Result<()> {
    if Type::of(ka)? != T::C32 || Type::of(kc)? != T::C32 {
        return Err(not_supported("a product with its transpose of another type than complex single precision"));
    }
    syrk(call, T::C32, shape, of, fill, op, n, k, alpha, a, lda, beta, c, ldc)
}

fn trmm(
    call: &Call,
    kind: Type,
    side: i64,
    fill: i64,
    op: i64,
    diagonal: i64,
    m: i64,
    n: i64,
    alpha: Address,
    a: Address,
    lda: i64,
    b: Address,
    ldb: i64,
    c: Address,
    ldc: i64,
) -> Result<()> {
    let (right, m, n) = (is_right(side)?, size(m)?, size(n)?);
    let how = Operand::triangle(Shape::Triangular, is_upper(fill)?, is_unit(diagonal)?, Op::of(op)?);
    let k = if right { n } else { m };
    let a = (matrix(a, kind, leading(lda, k)?), how);
    let (ldb, c) = (leading(ldb, m)?, matrix(c, kind, leading(ldc, m)?));
    let alpha = call.scalar(alpha, kind)?;
    let multiply = |b: Matrix| {
        let b = (b, Operand::general(Op::NONE));
        let (left, right) = if right { (b, a) } else { (a, b) };
        product(kind, [m, n, k], alpha, left, right, Scalar::value(0.0), c, Written::All, false).launch(call)
    };
    if b != c.address || m == 0 || n == 0 {
        return multiply(matrix(b, kind, ldb));
    }
    // In place: by way of a copy.
    let bytes = m.unsigned_abs() as usize * n.unsigned_abs() as usize * kind.bytes()?;
    call.with_memory(bytes, |copy| {
        let ld = i64::from(m);
        let how = Operand::general(Op::NONE);
        let (one, none) = (Scalar::value(1.0), Scalar::value(0.0));
        add(call, kind, m, n, one, (b, ldb, how), none, (b, ldb, how), copy, ld)?;
        multiply(matrix(copy, kind, ld))
    })
}

/// `Sides` of blas.cu.
#[repr(C)]
#[derive(Clone, Copy)]
struct Sides {
    x: Address,
    row: i64,
    column: i64,
    count: i32,
    padding: i32,
}
cabi::plain!(Sides);

/// Solves op(A) * X = alpha * B, `count` matrices of each kind if `pointers`.
pub fn solve(
    call: &Call,
    kind: Type,
    n: i32,
    alpha: Scalar,
    a: Address,
    lda: i64,
    how: Operand,
    x: Address,
    [row, column]: [i64; 2],
    sides: i32,
    count: i32,
    pointers: bool,
) -> Result<()> {
    if n == 0 || sides == 0 || count == 0 {
        return Ok(());
    }
    let sides_of = Sides { x, row, column, count: sides, padding: 0 };
    let grid = [tiles(sides, 64), count.unsigned_abs(), 1];
    let pointers = i32::from(pointers);
    let parameters: [&dyn Parameter; 7] = [&n, &alpha, &a, &lda, &how, &sides_of, &pointers];
    call.launch(&format!("trsm_{}", kind.letter()?), grid, [64, 1, 1], 0, &parameters)
}

fn trsm(
    call: &Call,
    kind: Type,
    side: i64,
    fill: i64,
    op: i64,
    diagonal: i64,
    m: i64,
    n: i64,
    alpha: Address,
    a: Address,
    lda: i64,
    b: Address,
    ldb: i64,
) -> Result<()> {
    let (right, upper, unit, m, n) = (is_right(side)?, is_upper(fill)?, is_unit(diagonal)?, size(m)?, size(n)?);
    let op = Op::of(op)?;
    let order = if right { n } else { m };
    let (lda, ldb) = (leading(lda, order)?, leading(ldb, m)?);
    let mut alpha = call.scalar(alpha, kind)?;
    if m == 0 || n == 0 {
        return Ok(());
    }
    if alpha.is(0.0) {
        // Neither matrix is read.
        let none = (b, ldb, Operand::general(Op::NONE));
        return add(call, kind, m, n, alpha, none, alpha, none, b, ldb);
    }
    // X * op(A) = B is op(A)^T * X^T = B^T.
    let (op_used, sides, [row, column]) =
        if right { (Op { transposed: !op.transposed, ..op }, m, [ldb, 1]) } else { (op, n, [1, ldb]) };
    let how = Operand::triangle(Shape::Triangular, upper, unit, op_used).of_kind(kind);
    let downwards = upper == op_used.transposed;
    let bytes = kind.bytes()?;
    let place = |base: Address, index: i64| -> Address {
        base.wrapping_add_signed(isize::try_from(index).unwrap_or(isize::MAX).wrapping_mul(bytes.cast_signed()))
    };
    let mut done = 0;
    while done < order {
        let rows = BLOCK.min(order - done);
        let start = if downwards { done } else { order - done - rows };
        let diagonal = place(a, i64::from(start) * (lda + 1));
        let x = place(b, i64::from(start) * row);
        solve(call, kind, rows, alpha, diagonal, lda, how, x, [row, column], sides, 1, false)?;
        let left = order - done - rows;
        if left > 0 {
            // The rows that are left: B -= op(A) * X, where alpha has its part in the first pass only.
            let to = if downwards { start + rows } else { 0 };
            let (i, j) = (i64::from(to), i64::from(start));
            let part = place(a, if op_used.transposed { j + i * lda } else { i + j * lda });
            let part = (matrix(part, kind, lda), Operand::general(op_used));
            let (x, rest) = (matrix(x, kind, ldb), matrix(place(b, i64::from(to) * row), kind, ldb));
            let minus = Scalar::value(-1.0);
            let none = Operand::general(Op::NONE);
            let update = if right {
                let part = (part.0, Operand::general(op));
                product(kind, [m, left, rows], minus, (x, none), part, alpha, rest, Written::All, false)
            } else {
                product(kind, [left, n, rows], minus, part, (x, none), alpha, rest, Written::All, false)
            };
            update.launch(call)?;
        }
        alpha = Scalar::value(1.0);
        done += rows;
    }
    Ok(())
}

fn trsm_batched(
    call: &Call,
    kind: Type,
    side: i64,
    fill: i64,
    op: i64,
    diagonal: i64,
    m: i64,
    n: i64,
    alpha: Address,
    a: Address,
    lda: i64,
    b: Address,
    ldb: i64,
    count: i64,
) -> Result<()> {
    let (right, m, n) = (is_right(side)?, size(m)?, size(n)?);
    let op = Op::of(op)?;
    let order = if right { n } else { m };
    let (lda, ldb) = (leading(lda, order)?, leading(ldb, m)?);
    let op_used = if right { Op { transposed: !op.transposed, ..op } } else { op };
    let how = Operand::triangle(Shape::Triangular, is_upper(fill)?, is_unit(diagonal)?, op_used).of_kind(kind);
    let (sides, distances) = if right { (m, [ldb, 1]) } else { (n, [1, ldb]) };
    solve(call, kind, order, call.scalar(alpha, kind)?, a, lda, how, b, distances, sides, size(count)?, true)
}

/// C = alpha * A + beta * B.
pub fn add(
    call: &Call,
    kind: Type,
    m: i32,
    n: i32,
    alpha: Scalar,
    a: (Address, i64, Operand),
    beta: Scalar,
    b: (Address, i64, Operand),
    c: Address,
    ldc: i64,
) -> Result<()> {
    if m == 0 || n == 0 {
        return Ok(());
    }
    let name = format!("geam_{}", kind.letter()?);
    let items = i64::from(m) * i64::from(n);
    call.launch_over(&name, items, &[&m, &n, &alpha, &a.0, &a.1, &a.2, &beta, &b.0, &b.1, &b.2, &c, &ldc])
}

fn geam(
    call: &Call,
    kind: Type,
    op_a: i64,
    op_b: i64,
    m: i64,
    n: i64,
    alpha: Address,
    a: Address,
    lda: i64,
    beta: Address,
    b: Address,
    ldb: i64,
    c: Address,
    ldc: i64,
) -> Result<()> {
    let (op_a, op_b, m, n) = (Op::of(op_a)?, Op::of(op_b)?, size(m)?, size(n)?);
    let (alpha, beta) = (call.scalar(alpha, kind)?, call.scalar(beta, kind)?);
    let rows = |op: Op| if op.transposed { n } else { m };
    // A matrix that is not read may have any leading dimension.
    let lda = if alpha.is(0.0) { lda } else { leading(lda, rows(op_a))? };
    let ldb = if beta.is(0.0) { ldb } else { leading(ldb, rows(op_b))? };
    let a = (a, lda, Operand::general(op_a));
    let b = (b, ldb, Operand::general(op_b));
    add(call, kind, m, n, alpha, a, beta, b, c, leading(ldc, m)?)
}

fn dgmm(
    call: &Call,
    kind: Type,
    side: i64,
    m: i64,
    n: i64,
    a: Address,
    lda: i64,
    x: Address,
    incx: i64,
    c: Address,
    ldc: i64,
) -> Result<()> {
    let (right, m, n) = (is_right(side)?, size(m)?, size(n)?);
    let (lda, ldc) = (leading(lda, m)?, leading(ldc, m)?);
    if m == 0 || n == 0 {
        return Ok(());
    }
    let length = if right { n } else { m };
    let x = crate::element::first(x, length.into(), incx, kind)?;
    let name = format!("dgmm_{}", kind.letter()?);
    let items = i64::from(m) * i64::from(n);
    call.launch_over(&name, items, &[&m, &n, &i32::from(right), &a, &lda, &x, &incx, &c, &ldc])
}

blas! {
    fn(side: Enum, fill: Enum, m: Int, n: Int, alpha: Address, a: Address, lda: Int, b: Address, ldb: Int,
       beta: Address, c: Address, ldc: Int) = symm,
        for Ssymm_v2(T::F32, Symmetric), Dsymm_v2(T::F64, Symmetric), Csymm_v2(T::C32, Symmetric),
            Zsymm_v2(T::C64, Symmetric), Chemm_v2(T::C32, Hermitian), Zhemm_v2(T::C64, Hermitian);
    fn(fill: Enum, op: Enum, n: Int, k: Int, alpha: Address, a: Address, lda: Int, beta: Address, c: Address,
       ldc: Int) = syrk,
        for Ssyrk_v2(T::F32, Symmetric, [T::F32; 2]), Dsyrk_v2(T::F64, Symmetric, [T::F64; 2]),
            Csyrk_v2(T::C32, Symmetric, [T::C32; 2]), Zsyrk_v2(T::C64, Symmetric, [T::C64; 2]),
            Cherk_v2(T::C32, Hermitian, [T::F32; 2]), Zherk_v2(T::C64, Hermitian, [T::F64; 2]);
    fn(fill: Enum, op: Enum, n: Int, k: Int, alpha: Address, a: Address, ka: Enum, lda: Int, beta: Address, c: Address,
       kc: Enum, ldc: Int) = syrk_ex,
        for CsyrkEx(Symmetric, [T::C32; 2]), Csyrk3mEx(Symmetric, [T::C32; 2]), CherkEx(Hermitian, [T::F32; 2]),
            Cherk3mEx(Hermitian, [T::F32; 2]);
    fn(fill: Enum, op: Enum, n: Int, k: Int, alpha: Address, a: Address, lda: Int, b: Address, ldb: Int,
       beta: Address, c: Address, ldc: Int) = syr2k,
        for Ssyr2k_v2(T::F32, Symmetric, [T::F32; 2]), Dsyr2k_v2(T::F64, Symmetric, [T::F64; 2]),
            Csyr2k_v2(T::C32, Symmetric, [T::C32; 2]), Zsyr2k_v2(T::C64, Symmetric, [T::C64; 2]),
            Cher2k_v2(T::C32, Hermitian, [T::C32, T::F32]), Zher2k_v2(T::C64, Hermitian, [T::C64, T::F64]);
    fn(fill: Enum, op: Enum, n: Int, k: Int, alpha: Address, a: Address, lda: Int, b: Address, ldb: Int,
       beta: Address, c: Address, ldc: Int) = syrkx,
        for Ssyrkx(T::F32, Symmetric, [T::F32; 2]), Dsyrkx(T::F64, Symmetric, [T::F64; 2]),
            Csyrkx(T::C32, Symmetric, [T::C32; 2]), Zsyrkx(T::C64, Symmetric, [T::C64; 2]),
            Cherkx(T::C32, Hermitian, [T::C32, T::F32]), Zherkx(T::C64, Hermitian, [T::C64, T::F64]);
    fn(side: Enum, fill: Enum, op: Enum, diagonal: Enum, m: Int, n: Int, alpha: Address, a: Address, lda: Int,
       b: Address, ldb: Int, c: Address, ldc: Int) = trmm,
        for Strmm_v2(T::F32), Dtrmm_v2(T::F64), Ctrmm_v2(T::C32), Ztrmm_v2(T::C64);
    fn(side: Enum, fill: Enum, op: Enum, diagonal: Enum, m: Int, n: Int, alpha: Address, a: Address, lda: Int,
       b: Address, ldb: Int) = trsm,
        for Strsm_v2(T::F32), Dtrsm_v2(T::F64), Ctrsm_v2(T::C32), Ztrsm_v2(T::C64);
    fn(side: Enum, fill: Enum, op: Enum, diagonal: Enum, m: Int, n: Int, alpha: Address, a: Address, lda: Int,
       b: Address, ldb: Int, count: Int) = trsm_batched,
        for StrsmBatched(T::F32), DtrsmBatched(T::F64), CtrsmBatched(T::C32), ZtrsmBatched(T::C64);
    fn(op_a: Enum, op_b: Enum, m: Int, n: Int, alpha: Address, a: Address, lda: Int, beta: Address, b: Address,
       ldb: Int, c: Address, ldc: Int) = geam,
        for Sgeam(T::F32), Dgeam(T::F64), Cgeam(T::C32), Zgeam(T::C64);
    fn(side: Enum, m: Int, n: Int, a: Address, lda: Int, x: Address, incx: Int, c: Address, ldc: Int) = dgmm,
        for Sdgmm(T::F32), Ddgmm(T::F64), Cdgmm(T::C32), Zdgmm(T::C64);
}
