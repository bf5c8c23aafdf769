//! Products of a sparse matrix with a vector (SpMV) and with a dense matrix (SpMM).

use std::ffi::c_int;

use cabi::address::{Address, Handle, write};
use cabi::stand_in::not_supported;

use crate::descriptor::{DnMat, SpMat, dense, sparse, vector};
use crate::handle::{Call, call, check};
use crate::problem::{Dense, Kind, Problem, Sparse};
use crate::status::{Result, Status, valid};

/// `cusparseOperation_t`: whether a matrix is transposed, and conjugated.
#[derive(Clone, Copy)]
pub struct Op {
    pub transposed: bool,
    pub conjugated: bool,
}

impl Op {
    pub fn numbered(number: c_int) -> Result<Self> {
        valid((0..=2).contains(&number))?;
        Ok(Self { transposed: number != 0, conjugated: number == 2 })
    }
}

/// The matrices of a product, and how they are used.
struct Factors {
    a: SpMat,
    b: DnMat,
    c: DnMat,
    ops: [Op; 2],
    kind: Kind,
}

impl Factors {
    fn new(ops: [c_int; 2], a: SpMat, b: DnMat, c: DnMat, compute: c_int) -> Result<Self> {
        let ops = [Op::numbered(ops[0])?, Op::numbered(ops[1])?];
        let sizes = |rows, columns, op: Op| if op.transposed { (columns, rows) } else { (rows, columns) };
        let (m, k) = sizes(a.rows, a.columns, ops[0]);
        let (k_of_b, n) = sizes(b.rows, b.columns, ops[1]);
        valid(k == k_of_b && m == c.rows && n == c.columns)?;
        valid([a.batch, b.batch].iter().all(|batch| *batch == 1 || *batch == c.batch))?;
        if [a.kind, b.kind, c.kind].iter().any(|kind| *kind != compute) {
            return Err(not_supported("a product of sparse matrices with mixed types"));
        }
        let kind = Kind::numbered(compute)?;
        Ok(Self { a, b, c, ops, kind })
    }

    /// Computes all members of the batch.
    fn product(&self, call: &Call, alpha: Address, beta: Address) -> Result<()> {
        let Self { a, b, c, ops, kind } = self;
        let (alpha, beta) = (call.scalar(alpha, *kind)?, call.scalar(beta, *kind)?);
        let (m, n) = (c.rows, c.columns);
        if m == 0 || n == 0 {
            return Ok(());
        }
        let (sparse, is_by_rows) = Sparse::of(a, ops[0].transposed);
        let problem = Problem {
            a: sparse,
            b: Dense::of(b, ops[1].transposed),
            c: Dense::of(c, false),
            alpha,
            beta,
            m,
            n,
            conjugate_a: ops[0].conjugated.into(),
            conjugate_b: ops[1].conjugated.into(),
        };
        let index = |wide: i32| if wide == 1 { 8 } else { 4 };
        let steps = [
            // Coordinates were exchanged by a transposition, but have one stride.
            bytes_of(a.offsets_stride, index(sparse.wide_offsets))?,
            bytes_of(a.entries_stride, index(sparse.wide_indices))?,
            bytes_of(a.entries_stride, kind.bytes)?,
            bytes_of(b.stride, kind.bytes)?,
            bytes_of(c.stride, kind.bytes)?,
        ];
        for member in 0..usize::try_from(c.batch).unwrap_or(1) {
            let mut one = problem;
            let places = [
                (&mut one.a.offsets, a.batch),
                (&mut one.a.indices, a.batch),
                (&mut one.a.values, a.batch),
                (&mut one.b.values, b.batch),
                (&mut one.c.values, c.batch),
            ];
            for ((place, batch), step) in places.into_iter().zip(steps) {
                *place += if batch == 1 { 0 } else { member * step };
            }
            if sparse.coordinates == 1 || !is_by_rows {
                call.launch_of("scale", *kind, m, n, &[&one])?;
                let items = if sparse.coordinates == 1 { sparse.entries } else { sparse.lines };
                call.launch_of("add_products", *kind, items, n, &[&one])?;
            } else if n == 1 {
                call.launch_of("warp_of_row", *kind, m.saturating_mul(32), 1, &[&one])?;
            } else {
                call.launch_of("thread_of_element", *kind, m, n, &[&one])?;
            }
        }
        Ok(())
    }
}

/// Bytes of `count` elements of an array.
pub fn bytes_of(count: i64, bytes: usize) -> Result<usize> {
    let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
    count.checked_mul(bytes).and_then(|bytes| usize::try_from(bytes).ok()).ok_or(Status::INVALID_VALUE)
}

/// No kernel needs memory of the program.
pub fn no_buffer(place: Address) -> Result<()> {
    Ok(write(place, 0_usize)?)
}

fn with_vector(op: c_int, a: Handle, x: Handle, y: Handle, compute: c_int) -> Result<Factors> {
    Factors::new([op, 0], sparse(a)?, vector(x)?, vector(y)?, compute)
}

fn with_matrix(ops: [c_int; 2], a: Handle, b: Handle, c: Handle, compute: c_int) -> Result<Factors> {
    Factors::new(ops, sparse(a)?, dense(b)?, dense(c)?, compute)
}

cabi::functions! {
    Status;
    fn cusparseSpMV_bufferSize(
        handle: Handle, op: c_int, _alpha: Address, a: Handle, x: Handle, _beta: Address, y: Handle, compute: c_int,
        _algorithm: c_int, place: Address,
    ) {
        check(handle)?;
        with_vector(op, a, x, y, compute)?;
        no_buffer(place)
    }
    fn cusparseSpMV_preprocess(
        handle: Handle, op: c_int, _alpha: Address, a: Handle, x: Handle, _beta: Address, y: Handle, compute: c_int,
        _algorithm: c_int, _buffer: Address,
    ) {
        check(handle)?;
        with_vector(op, a, x, y, compute).map(drop)
    }
    fn cusparseSpMV(
        handle: Handle, op: c_int, alpha: Address, a: Handle, x: Handle, beta: Address, y: Handle, compute: c_int,
        _algorithm: c_int, _buffer: Address,
    ) {
        let call = call(handle)?;
        with_vector(op, a, x, y, compute)?.product(&call, alpha, beta)
    }
    fn cusparseSpMM_bufferSize(
        handle: Handle, op_a: c_int, op_b: c_int, _alpha: Address, a: Handle, b: Handle, _beta: Address, c: Handle,
        compute: c_int, _algorithm: c_int, place: Address,
    ) {
        check(handle)?;
        with_matrix([op_a, op_b], a, b, c, compute)?;
        no_buffer(place)
    }
    fn cusparseSpMM_preprocess(
        handle: Handle, op_a: c_int, op_b: c_int, _alpha: Address, a: Handle, b: Handle, _beta: Address, c: Handle,
        compute: c_int, _algorithm: c_int, _buffer: Address,
    ) {
        check(handle)?;
        with_matrix([op_a, op_b], a, b, c, compute).map(drop)
    }
    fn cusparseSpMM(
        handle: Handle, op_a: c_int, op_b: c_int, alpha: Address, a: Handle, b: Handle, beta: Address, c: Handle,
        compute: c_int, _algorithm: c_int, _buffer: Address,
    ) {
        let call = call(handle)?;
        with_matrix([op_a, op_b], a, b, c, compute)?.product(&call, alpha, beta)
    }
}
