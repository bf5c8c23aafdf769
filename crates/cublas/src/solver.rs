//! Batches of small linear systems by LU, and packed triangles.

use cabi::address::{Address, write};

use crate::api::{Enum, blas};
use crate::element::{Op, Operand, Scalar, Shape, Type, is_upper, leading, size};
use crate::handle::Call;
use crate::kernel::{Parameter, THREADS, tiles};
use crate::level3::solve;
use crate::status::{Result, valid};

use Type as T;

fn getrf(
    call: &Call,
    kind: Type,
    n: i64,
    a: Address,
    lda: i64,
    pivots: Address,
    info: Address,
    count: i64,
) -> Result<()> {
    let (n, count) = (size(n)?, size(count)?);
    let lda = leading(lda, n)?;
    if count == 0 {
        return Ok(());
    }
    let parameters: [&dyn Parameter; 5] = [&n, &a, &lda, &pivots, &info];
    let name = format!("getrf_{}", kind.letter()?);
    call.launch(&name, [count.unsigned_abs(), 1, 1], [THREADS, 1, 1], 0, &parameters)
}

/// Exchanges rows of right-hand sides.
fn exchange(
    call: &Call,
    kind: Type,
    n: i32,
    sides: i32,
    b: Address,
    ldb: i64,
    pivots: Address,
    backwards: bool,
    count: i32,
) -> Result<()> {
    if pivots == 0 {
        return Ok(());
    }
    let backwards = i32::from(backwards);
    let parameters: [&dyn Parameter; 6] = [&n, &sides, &b, &ldb, &pivots, &backwards];
    let grid = [tiles(sides, 64), count.unsigned_abs(), 1];
    call.launch(&format!("laswp_{}", kind.letter()?), grid, [64, 1, 1], 0, &parameters)
}

/// Solves op(A) * X = B where A is in factors.
fn by_factors(
    call: &Call,
    kind: Type,
    op: Op,
    n: i32,
    sides: i32,
    a: Address,
    lda: i64,
    pivots: Address,
    b: Address,
    ldb: i64,
    count: i32,
) -> Result<()> {
    if n == 0 || sides == 0 || count == 0 {
        return Ok(());
    }
    let factor = |upper: bool| Operand::triangle(Shape::Triangular, upper, !upper, op).of_kind(kind);
    let one = Scalar::value(1.0);
    let solve = |upper: bool| solve(call, kind, n, one, a, lda, factor(upper), b, [1, ldb], sides, count, true);
    if op.transposed {
        solve(true)?;
        solve(false)?;
        exchange(call, kind, n, sides, b, ldb, pivots, true, count)
    } else {
        exchange(call, kind, n, sides, b, ldb, pivots, false, count)?;
        solve(false)?;
        solve(true)
    }
}

fn getrs(
    call: &Call,
    kind: Type,
    op: i64,
    n: i64,
    sides: i64,
    a: Address,
    lda: i64,
    pivots: Address,
    b: Address,
    ldb: i64,
    info: Address,
    count: i64,
) -> Result<()> {
    let (op, n, sides, count) = (Op::of(op)?, size(n)?, size(sides)?, size(count)?);
    let (lda, ldb) = (leading(lda, n)?, leading(ldb, n)?);
    write(info, 0_i32)?;
    by_factors(call, kind, op, n, sides, a, lda, pivots, b, ldb, count)
}

/// Fills `to` with copies of `from`, or with identities.
fn fill(call: &Call, kind: Type, n: i32, to: Address, ld: i64, from: Address, ld_from: i64, count: i32) -> Result<()> {
    let parameters: [&dyn Parameter; 5] = [&n, &to, &ld, &from, &ld_from];
    let grid = [tiles(n.saturating_mul(n), THREADS).min(64), count.unsigned_abs(), 1];
    call.launch(&format!("fill_{}", kind.letter()?), grid, [THREADS, 1, 1], 0, &parameters)
}

fn getri(
    call: &Call,
    kind: Type,
    n: i64,
    a: Address,
    lda: i64,
    pivots: Address,
    c: Address,
    ldc: i64,
    info: Address,
    count: i64,
) -> Result<()> {
    let (n, count) = (size(n)?, size(count)?);
    let (lda, ldc) = (leading(lda, n)?, leading(ldc, n)?);
    if n == 0 || count == 0 {
        return Ok(());
    }
    // Whether a factor is singular was said by `getrf`.
    valid(info != 0)?;
    call.driver.cuMemcpyHtoDAsync_v2(
        info,
        cabi::driver::at(vec![0_i32; count.unsigned_abs() as usize].as_slice()),
        count.unsigned_abs() as usize * 4,
        call.stream,
    )?;
    fill(call, kind, n, c, ldc, 0, 0, count)?;
    by_factors(call, kind, Op::NONE, n, n, a, lda, pivots, c, ldc, count)
}

/// Largest matrix of `matinvBatched`, by its documentation.
const MOST_INVERTED: i64 = 32;

fn matinv(
    call: &Call,
    kind: Type,
    n: i64,
    a: Address,
    lda: i64,
    inverse: Address,
    ld_inverse: i64,
    info: Address,
    count: i64,
) -> Result<()> {
    valid(n <= MOST_INVERTED)?;
    let (order, batch) = (size(n)?, size(count)?);
    let (lda, ld_inverse) = (leading(lda, order)?, leading(ld_inverse, order)?);
    if order == 0 || batch == 0 {
        return Ok(());
    }
    // The factors are in memory of our own, with the array of its addresses after it.
    let (n_, count_) = (order.unsigned_abs() as usize, batch.unsigned_abs() as usize);
    let (each, pivots) = (n_ * n_ * kind.bytes()?, count_ * n_ * 4);
    let matrices = (each * count_).next_multiple_of(16);
    let list = matrices + pivots.next_multiple_of(16);
    call.with_memory(list + count_ * 8, |memory| {
        let addresses: Vec<Address> = (0..count_).map(|number| memory + number * each).collect();
        let (list, pivots) = (memory + list, memory + matrices);
        let from = cabi::driver::at(addresses.as_slice());
        call.driver.cuMemcpyHtoDAsync_v2(list, from, count_ * 8, call.stream)?;
        fill(call, kind, order, list, n, a, lda, batch)?;
        getrf(call, kind, n, list, n, pivots, info, count)?;
        fill(call, kind, order, inverse, ld_inverse, 0, 0, batch)?;
        by_factors(call, kind, Op::NONE, order, order, list, n, pivots, inverse, ld_inverse, batch)
    })
}

fn pack(
    call: &Call,
    kind: Type,
    unpacks: bool,
    fill: i64,
    n: i64,
    full: Address,
    ld: i64,
    packed: Address,
) -> Result<()> {
    let n = size(n)?;
    let (upper, unpacks, ld) = (i32::from(is_upper(fill)?), i32::from(unpacks), leading(ld, n)?);
    let name = format!("pack_{}", kind.letter()?);
    if n == 0 {
        return Ok(());
    }
    call.launch_over(&name, i64::from(n) * i64::from(n), &[&n, &upper, &unpacks, &full, &ld, &packed])
}

fn unpack(call: &Call, kind: Type, fill: i64, n: i64, packed: Address, full: Address, ld: i64) -> Result<()> {
    pack(call, kind, true, fill, n, full, ld, packed)
}

blas! {
    fn(n: Int, a: Address, lda: Int, pivots: Address, info: Address, count: Int) = getrf,
        for SgetrfBatched(T::F32), DgetrfBatched(T::F64), CgetrfBatched(T::C32), ZgetrfBatched(T::C64);
    fn(op: Enum, n: Int, sides: Int, a: Address, lda: Int, pivots: Address, b: Address, ldb: Int, info: Address,
       count: Int) = getrs,
        for SgetrsBatched(T::F32), DgetrsBatched(T::F64), CgetrsBatched(T::C32), ZgetrsBatched(T::C64);
    fn(n: Int, a: Address, lda: Int, pivots: Address, c: Address, ldc: Int, info: Address, count: Int) = getri,
        for SgetriBatched(T::F32), DgetriBatched(T::F64), CgetriBatched(T::C32), ZgetriBatched(T::C64);
    fn(n: Int, a: Address, lda: Int, inverse: Address, ld_inverse: Int, info: Address, count: Int) = matinv,
        for SmatinvBatched(T::F32), DmatinvBatched(T::F64), CmatinvBatched(T::C32), ZmatinvBatched(T::C64);
    fn(fill: Enum, n: Int, full: Address, ld: Int, packed: Address) = pack,
        for Strttp(T::F32, false), Dtrttp(T::F64, false), Ctrttp(T::C32, false), Ztrttp(T::C64, false);
    fn(fill: Enum, n: Int, packed: Address, full: Address, ld: Int) = unpack,
        for Stpttr(T::F32), Dtpttr(T::F64), Ctpttr(T::C32), Ztpttr(T::C64);
}
