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

    /// Rows and columns of a matrix after it.
    pub fn shape(self, rows: i64, columns: i64) -> (i64, i64) {
        if self.transposed { (columns, rows) } else { (rows, columns) }
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
        let (m, k) = ops[0].shape(a.rows, a.columns);
        let (k_of_b, n) = ops[1].shape(b.rows, b.columns);
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
        let [offsets, indices, values] = a.steps(*kind)?;
        for one in problem.members(c.batch, [offsets, indices, values, b.step(*kind)?, c.step(*kind)?]) {
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
