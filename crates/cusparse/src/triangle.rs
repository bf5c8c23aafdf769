//! Triangular systems with one right-hand side (SpSV) and with several (SpSM).
//!
//! Analyses do nothing: a solve finds its order as it goes, and reads the values that the matrix then has.

use std::ffi::c_int;

use cabi::address::{Address, Handle};
use cabi::stand_in::{Objects, not_supported};

use crate::convert::{Rows, by_columns, to_offsets};
use crate::descriptor::{DnMat, Format, SpMat, create, dense, remove, sparse, vector};
use crate::handle::{Call, call, check};
use crate::problem::{Dense, Kind, Problem, Sparse, bytes_of};
use crate::product::{Op, no_buffer};
use crate::status::{Result, Status, valid};

/// Systems have no state of their own.
static SYSTEMS: Objects<()> = Objects::none();

struct System {
    a: SpMat,
    b: DnMat,
    c: DnMat,
    ops: [Op; 2],
    kind: Kind,
}

impl System {
    fn new(descriptor: Handle, ops: [c_int; 2], a: Handle, [b, c]: [DnMat; 2], compute: c_int) -> Result<Self> {
        SYSTEMS.with(descriptor, |()| ()).ok_or(Status::INVALID_VALUE)?;
        let a = sparse(a)?;
        let ops = [Op::numbered(ops[0])?, Op::numbered(ops[1])?];
        let (m, n) = ops[1].shape(b.rows, b.columns);
        valid(a.rows == a.columns && m == a.rows && c.rows == m && c.columns == n)?;
        if [a.batch, b.batch, c.batch] != [1; 3] {
            return Err(not_supported("a batch of triangular systems"));
        }
        if [a.kind, b.kind, c.kind].iter().any(|kind| *kind != compute) {
            return Err(not_supported("a triangular system with mixed types"));
        }
        Ok(Self { a, b, c, ops, kind: Kind::numbered(compute)? })
    }

    fn solve(&self, call: &Call, alpha: Address) -> Result<()> {
        let Self { a, b, c, ops, kind } = self;
        let (m, n) = (c.rows, c.columns);
        let alpha = call.scalar(alpha, *kind)?;
        if m == 0 || n == 0 {
            return Ok(());
        }
        // The transpose of a lower triangle is an upper one.
        let is_upper = a.is_upper() != ops[0].transposed;
        let elements = m.checked_mul(n).ok_or(Status::INVALID_VALUE)?;
        let bytes = 8 + bytes_of(elements, 4)?;
        by_rows(call, a, ops[0].transposed, *kind, |a| {
            let problem = Problem {
                a,
                b: Dense::of(b, ops[1].transposed),
                c: Dense::of(c, false),
                alpha,
                m,
                n,
                conjugate_a: ops[0].conjugated.into(),
                conjugate_b: ops[1].conjugated.into(),
                ..Problem::default()
            };
            call.gpu.with_memory(bytes, |state| {
                call.gpu.driver.cuMemsetD8Async(state, 0, bytes, call.gpu.stream)?;
                let (upper, unit) = (i32::from(is_upper), i32::from(self.a.has_unit_diagonal()));
                call.launch_of("solve", *kind, elements.saturating_mul(32), 1, &[&problem, &upper, &unit, &state])
            })
        })
    }
}

/// Calls `body` with a matrix, or its transpose, whose lines are rows.
fn by_rows(
    call: &Call,
    matrix: &SpMat,
    transposed: bool,
    kind: Kind,
    body: impl FnOnce(Sparse) -> Result<()>,
) -> Result<()> {
    let (sparse, is_by_rows) = Sparse::of(matrix, transposed);
    if is_by_rows && matrix.format != Format::Coordinates {
        return body(sparse);
    }
    let size = |count: i64| c_int::try_from(count).map_err(|_| Status::INVALID_VALUE);
    if matrix.wide != [false; 2] {
        return Err(not_supported("a triangular system of coordinates or columns with indices of 64 bits"));
    }
    let [offsets_bytes, indices_bytes] = [bytes_of(matrix.rows + 1, 4)?, bytes_of(matrix.entries, 4)?];
    let values_bytes = bytes_of(matrix.entries, kind.bytes)?;
    call.gpu.with_memory(values_bytes + 2 * offsets_bytes + indices_bytes, |values| {
        let own_offsets = values + values_bytes;
        let offsets = own_offsets + offsets_bytes;
        let mut from = Rows {
            sizes: [size(matrix.rows)?, size(matrix.columns)?, size(matrix.entries)?],
            values: matrix.values,
            offsets: matrix.offsets,
            indices: matrix.indices,
            base: matrix.base,
        };
        let mut result = Sparse { lines: matrix.rows, coordinates: 0, wide_offsets: 0, wide_indices: 0, ..sparse };
        if matrix.format == Format::Coordinates {
            to_offsets(call, matrix.offsets, [matrix.entries, matrix.rows], matrix.base, own_offsets)?;
            from.offsets = own_offsets;
            if !transposed {
                return body(Sparse { offsets: own_offsets, ..result });
            }
        }
        let indices = offsets + offsets_bytes;
        by_columns(call, &from, [values, offsets, indices], matrix.kind, true)?;
        (result.offsets, result.indices, result.values) = (offsets, indices, values);
        body(result)
    })
}

fn with_vector(descriptor: Handle, op: c_int, a: Handle, b: Handle, c: Handle, compute: c_int) -> Result<System> {
    System::new(descriptor, [op, 0], a, [vector(b)?, vector(c)?], compute)
}

fn with_matrix(descriptor: Handle, ops: [c_int; 2], a: Handle, b: Handle, c: Handle, compute: c_int) -> Result<System> {
    System::new(descriptor, ops, a, [dense(b)?, dense(c)?], compute)
}

cabi::functions! {
    Status;
    fn cusparseSpSV_createDescr(place: Address) { create(&SYSTEMS, place, ()) }
    fn cusparseSpSV_destroyDescr(descriptor: Handle) { remove(&SYSTEMS, descriptor) }
    fn cusparseSpSV_bufferSize(
        handle: Handle, op: c_int, _alpha: Address, a: Handle, b: Handle, c: Handle, compute: c_int,
        _algorithm: c_int, descriptor: Handle, place: Address,
    ) {
        check(handle)?;
        with_vector(descriptor, op, a, b, c, compute)?;
        no_buffer(place)
    }
    fn cusparseSpSV_analysis(
        handle: Handle, op: c_int, _alpha: Address, a: Handle, b: Handle, c: Handle, compute: c_int,
        _algorithm: c_int, descriptor: Handle, _buffer: Address,
    ) {
        check(handle)?;
        with_vector(descriptor, op, a, b, c, compute).map(drop)
    }
    fn cusparseSpSV_solve(
        handle: Handle, op: c_int, alpha: Address, a: Handle, b: Handle, c: Handle, compute: c_int,
        _algorithm: c_int, descriptor: Handle,
    ) {
        with_vector(descriptor, op, a, b, c, compute)?.solve(&call(handle)?, alpha)
    }
    fn cusparseSpSM_createDescr(place: Address) { create(&SYSTEMS, place, ()) }
    fn cusparseSpSM_destroyDescr(descriptor: Handle) { remove(&SYSTEMS, descriptor) }
    fn cusparseSpSM_bufferSize(
        handle: Handle, op_a: c_int, op_b: c_int, _alpha: Address, a: Handle, b: Handle, c: Handle, compute: c_int,
        _algorithm: c_int, descriptor: Handle, place: Address,
    ) {
        check(handle)?;
        with_matrix(descriptor, [op_a, op_b], a, b, c, compute)?;
        no_buffer(place)
    }
    fn cusparseSpSM_analysis(
        handle: Handle, op_a: c_int, op_b: c_int, _alpha: Address, a: Handle, b: Handle, c: Handle, compute: c_int,
        _algorithm: c_int, descriptor: Handle, _buffer: Address,
    ) {
        check(handle)?;
        with_matrix(descriptor, [op_a, op_b], a, b, c, compute).map(drop)
    }
    fn cusparseSpSM_solve(
        handle: Handle, op_a: c_int, op_b: c_int, alpha: Address, a: Handle, b: Handle, c: Handle, compute: c_int,
        _algorithm: c_int, descriptor: Handle,
    ) {
        with_matrix(descriptor, [op_a, op_b], a, b, c, compute)?.solve(&call(handle)?, alpha)
    }
}
