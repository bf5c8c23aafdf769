//! Products of dense matrices where a sparse one has entries (SDDMM).

use std::ffi::c_int;

use cabi::address::{Address, Handle};
use cabi::stand_in::not_supported;

use crate::descriptor::{DnMat, Format, SpMat, dense, sparse};
use crate::handle::{Call, call, check};
use crate::problem::{Dense, Kind, Problem, Sparse};
use crate::product::{Op, no_buffer};
use crate::status::{Result, Status, valid};

/// The matrices of a product, how they are used, and the number of terms of an element.
struct Factors {
    a: DnMat,
    b: DnMat,
    c: SpMat,
    ops: [Op; 2],
    kind: Kind,
    terms: i64,
}

impl Factors {
    fn new(ops: [c_int; 2], a: Handle, b: Handle, c: Handle, compute: c_int) -> Result<Self> {
        let (a, b, c) = (dense(a)?, dense(b)?, sparse(c)?);
        let ops = [Op::numbered(ops[0])?, Op::numbered(ops[1])?];
        let (m, terms) = ops[0].shape(a.rows, a.columns);
        let (terms_of_b, n) = ops[1].shape(b.rows, b.columns);
        valid(terms == terms_of_b && m == c.rows && n == c.columns)?;
        valid([a.batch, b.batch].iter().all(|batch| *batch == 1 || *batch == c.batch))?;
        if c.format != Format::Rows {
            return Err(not_supported("SDDMM of another format than CSR"));
        }
        if [a.kind, b.kind, c.kind].iter().any(|kind| *kind != compute) {
            return Err(not_supported("SDDMM with mixed types"));
        }
        Ok(Self { a, b, c, ops, kind: Kind::numbered(compute)?, terms })
    }

    /// Computes all members of the batch.
    fn product(&self, call: &Call, alpha: Address, beta: Address) -> Result<()> {
        let Self { a, b, c, ops, kind, terms } = self;
        let (pattern, _) = Sparse::of(c, false);
        let problem = Problem {
            a: pattern,
            b: Dense::of(a, ops[0].transposed),
            c: Dense::of(b, ops[1].transposed),
            alpha: call.scalar(alpha, *kind)?,
            beta: call.scalar(beta, *kind)?,
            m: c.rows,
            n: *terms,
            conjugate_a: ops[1].conjugated.into(),
            conjugate_b: ops[0].conjugated.into(),
        };
        let [offsets, indices, values] = c.steps(*kind)?;
        for one in problem.members(c.batch, [offsets, indices, values, a.step(*kind)?, b.step(*kind)?]) {
            call.launch_of("sampled", *kind, c.rows.saturating_mul(32), 1, &[&one])?;
        }
        Ok(())
    }
}

cabi::functions! {
    Status;
    fn cusparseSDDMM_bufferSize(
        handle: Handle, op_a: c_int, op_b: c_int, _alpha: Address, a: Handle, b: Handle, _beta: Address, c: Handle,
        compute: c_int, _algorithm: c_int, place: Address,
    ) {
        check(handle)?;
        Factors::new([op_a, op_b], a, b, c, compute)?;
        no_buffer(place)
    }
    fn cusparseSDDMM_preprocess(
        handle: Handle, op_a: c_int, op_b: c_int, _alpha: Address, a: Handle, b: Handle, _beta: Address, c: Handle,
        compute: c_int, _algorithm: c_int, _buffer: Address,
    ) {
        check(handle)?;
        Factors::new([op_a, op_b], a, b, c, compute).map(drop)
    }
    fn cusparseSDDMM(
        handle: Handle, op_a: c_int, op_b: c_int, alpha: Address, a: Handle, b: Handle, beta: Address, c: Handle,
        compute: c_int, _algorithm: c_int, _buffer: Address,
    ) {
        Factors::new([op_a, op_b], a, b, c, compute)?.product(&call(handle)?, alpha, beta)
    }
}
