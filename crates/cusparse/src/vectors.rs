//! Sparse vectors with dense ones: copies, sums, rotations and products.

use std::ffi::c_int;

use cabi::address::{Address, Handle};

use crate::descriptor::{SpVec, sparse_vector, vector};
use crate::handle::{Call, call, check};
use crate::problem::{Dense, Kind, Problem, Sparse};
use crate::product::{Op, no_buffer};
use crate::status::{Result, Status, valid};

impl Sparse {
    fn of_vector(x: &SpVec) -> Self {
        Self {
            indices: x.indices,
            values: x.values,
            entries: x.entries,
            wide_indices: x.is_wide().into(),
            base: x.base,
            ..Self::default()
        }
    }
}

/// A sparse vector and a dense one of the same size and type.
fn pair(x: Handle, y: Handle) -> Result<(Problem, Kind)> {
    let (x, y) = (sparse_vector(x)?, vector(y)?);
    valid(x.size == y.rows && x.kind == y.kind)?;
    let problem = Problem { a: Sparse::of_vector(&x), c: Dense::of(&y, false), m: y.rows, n: 1, ..Problem::default() };
    Ok((problem, Kind::numbered(x.kind)?))
}

/// Copies the values of a sparse vector from a dense one, or `back`.
fn take(handle: Handle, x: Handle, y: Handle, back: bool) -> Result<()> {
    let call = call(handle)?;
    let (Problem { a, c, .. }, kind) = pair(x, y)?;
    call.launch(&format!("take_{}", kind.bytes), a.entries, 1, &[&a, &c.values, &i32::from(back)])
}

/// The arguments of a product.
fn factors(op: c_int, x: Handle, y: Handle, compute: c_int) -> Result<(Problem, Kind)> {
    let (problem, kind) = pair(x, y)?;
    valid(sparse_vector(x)?.kind == compute)?;
    Ok((Problem { conjugate_a: Op::numbered(op)?.conjugated.into(), ..problem }, kind))
}

/// The product, which goes where scalars are.
fn dot(call: &Call, (problem, kind): (Problem, Kind), result: Address) -> Result<()> {
    valid(result != 0)?;
    if call.on_device {
        return call.launch_of("dot", kind, 1, 1, &[&problem, &result]);
    }
    // A copy to the program's memory waits, and is captured where calls are.
    call.gpu.with_memory(kind.bytes, |place| {
        call.launch_of("dot", kind, 1, 1, &[&problem, &place])?;
        Ok(call.gpu.driver.cuMemcpyDtoHAsync_v2(result, place, kind.bytes, call.gpu.stream)?)
    })
}

cabi::functions! {
    Status;
    fn cusparseGather(handle: Handle, y: Handle, x: Handle) { take(handle, x, y, false) }
    fn cusparseScatter(handle: Handle, x: Handle, y: Handle) { take(handle, x, y, true) }
    fn cusparseAxpby(handle: Handle, alpha: Address, x: Handle, beta: Address, y: Handle) {
        let call = call(handle)?;
        let (problem, kind) = pair(x, y)?;
        let problem = Problem { alpha: call.scalar(alpha, kind)?, beta: call.scalar(beta, kind)?, ..problem };
        call.launch_of("scale", kind, problem.m, 1, &[&problem])?;
        call.launch_of("add_entries", kind, problem.a.entries, 1, &[&problem])
    }
    fn cusparseRot(handle: Handle, cosine: Address, sine: Address, x: Handle, y: Handle) {
        let call = call(handle)?;
        let (problem, kind) = pair(x, y)?;
        let problem = Problem { alpha: call.scalar(cosine, kind)?, beta: call.scalar(sine, kind)?, ..problem };
        call.launch_of("rotate", kind, problem.a.entries, 1, &[&problem])
    }
    fn cusparseSpVV_bufferSize(
        handle: Handle, op: c_int, x: Handle, y: Handle, _result: Address, compute: c_int, place: Address,
    ) {
        check(handle)?;
        factors(op, x, y, compute)?;
        no_buffer(place)
    }
    fn cusparseSpVV(
        handle: Handle, op: c_int, x: Handle, y: Handle, result: Address, compute: c_int, _buffer: Address,
    ) {
        dot(&call(handle)?, factors(op, x, y, compute)?, result)
    }
}
