//! Conversions between formats, and between sparse and dense.

use std::ffi::c_int;

use cabi::address::{Address, Handle};
use cabi::stand_in::not_supported;

use crate::descriptor::{DnMat, Format, SpMat, dense, set_entries, sparse};
use crate::handle::{Call, call, check};
use crate::problem::{Dense, Kind, Problem, Sparse, sum_bytes};
use crate::product::no_buffer;
use crate::status::{Result, Status, valid};

/// A sparse matrix and a dense one of the same size, lines of the sparse one as rows.
fn pair(sparse: &SpMat, dense: &DnMat) -> Result<(Problem, Kind)> {
    valid(sparse.rows == dense.rows && sparse.columns == dense.columns)?;
    if sparse.kind != dense.kind || sparse.batch != 1 || dense.batch != 1 {
        return Err(not_supported("a conversion of mixed types or of batches"));
    }
    let by_columns = sparse.format == Format::Columns;
    let (m, n) = if by_columns { (sparse.columns, sparse.rows) } else { (sparse.rows, sparse.columns) };
    let (a, _) = Sparse::of(sparse, false);
    Ok((Problem { a, c: Dense::of(dense, by_columns), m, n, ..Problem::default() }, Kind::numbered(dense.kind)?))
}

/// The places of each line's first entry, where dense numbers become a sparse matrix.
fn with_places(call: &Call, problem: &Problem, kind: Kind, body: impl FnOnce(Address) -> Result<()>) -> Result<()> {
    call.gpu.with_memory(sum_bytes(problem.m)?, |places| {
        call.launch_of("count", kind, problem.m, 1, &[problem, &places])?;
        call.sums(places, problem.m)?;
        body(places)
    })
}

fn analyse(call: &Call, from: Handle, to: Handle) -> Result<()> {
    let (problem, kind) = pair(&sparse(to)?, &dense(from)?)?;
    with_places(call, &problem, kind, |places| set_entries(to, call.sum_of(places, problem.m)?))
}

/// A matrix of CSR with numbers of 32 bits.
pub struct Rows {
    pub sizes: [c_int; 3],
    pub values: Address,
    pub offsets: Address,
    pub indices: Address,
    pub base: c_int,
}

/// The same matrix by columns; `with_values` says whether values are copied.
pub fn by_columns(call: &Call, from: &Rows, to: [Address; 3], kind: c_int, with_values: bool) -> Result<()> {
    let [m, n, entries] = from.sizes.map(i64::from);
    let [values, offsets, indices] = to;
    valid(m >= 0 && n >= 0 && entries >= 0 && (from.base == 0 || from.base == 1))?;
    let kind = Kind::numbered(if with_values { kind } else { 0 })?;
    let values = if with_values { values } else { 0 };
    let a = Sparse {
        offsets: from.offsets,
        indices: from.indices,
        values: from.values,
        lines: m,
        entries,
        base: from.base,
        ..Sparse::default()
    };
    let problem = Problem { a, m: n, ..Problem::default() };
    let bytes = sum_bytes(n)?;
    call.gpu.with_memory(bytes, |places| {
        call.gpu.driver.cuMemsetD8Async(places, 0, bytes, call.gpu.stream)?;
        call.launch("histogram", entries, 1, &[&from.indices, &entries, &from.base, &places])?;
        call.sums(places, n)?;
        call.launch("narrow", n + 1, 1, &[&places, &(n + 1), &from.base, &offsets])?;
        call.launch_of("place", kind, m, 1, &[&problem, &places, &indices, &values])?;
        call.launch_of("sort", kind, n, 1, &[&problem, &places, &indices, &values])
    })
}

/// Offsets of `rows` rows from the sorted rows of `entries` entries, in numbers of 32 bits.
pub fn to_offsets(call: &Call, of: Address, [entries, rows]: [i64; 2], base: c_int, offsets: Address) -> Result<()> {
    call.launch("to_offsets", rows + 1, 1, &[&of, &entries, &rows, &base, &offsets])
}

cabi::functions! {
    Status;
    fn cusparseSparseToDense_bufferSize(handle: Handle, a: Handle, b: Handle, _algorithm: c_int, place: Address) {
        check(handle)?;
        pair(&sparse(a)?, &dense(b)?)?;
        no_buffer(place)
    }
    fn cusparseSparseToDense(handle: Handle, a: Handle, b: Handle, _algorithm: c_int, _buffer: Address) {
        let call = call(handle)?;
        let (problem, kind) = pair(&sparse(a)?, &dense(b)?)?;
        // Beta is zero.
        call.launch_of("scale", kind, problem.m, problem.n, &[&problem])?;
        let items = if problem.a.coordinates == 1 { problem.a.entries } else { problem.a.lines };
        call.launch_of("to_dense", kind, items, 1, &[&problem])
    }
    fn cusparseDenseToSparse_bufferSize(handle: Handle, a: Handle, b: Handle, _algorithm: c_int, place: Address) {
        check(handle)?;
        pair(&sparse(b)?, &dense(a)?)?;
        no_buffer(place)
    }
    fn cusparseDenseToSparse_analysis(handle: Handle, a: Handle, b: Handle, _algorithm: c_int, _buffer: Address) {
        analyse(&call(handle)?, a, b)
    }
    fn cusparseDenseToSparse_convert(handle: Handle, a: Handle, b: Handle, _algorithm: c_int, _buffer: Address) {
        let call = call(handle)?;
        let (problem, kind) = pair(&sparse(b)?, &dense(a)?)?;
        with_places(&call, &problem, kind, |places| {
            call.launch_of("to_sparse", kind, problem.m, 1, &[&problem, &places])
        })
    }
    fn cusparseCsr2cscEx2_bufferSize(
        handle: Handle, _m: c_int, _n: c_int, _entries: c_int, _values: Address, _offsets: Address, _indices: Address,
        _to_values: Address, _to_offsets: Address, _to_indices: Address, _kind: c_int, _copy: c_int, _base: c_int,
        _algorithm: c_int, place: Address,
    ) {
        check(handle)?;
        no_buffer(place)
    }
    fn cusparseCsr2cscEx2(
        handle: Handle, m: c_int, n: c_int, entries: c_int, values: Address, offsets: Address, indices: Address,
        to_values: Address, to_offsets: Address, to_indices: Address, kind: c_int, copy: c_int, base: c_int,
        _algorithm: c_int, _buffer: Address,
    ) {
        let from = Rows { sizes: [m, n, entries], values, offsets, indices, base };
        by_columns(&call(handle)?, &from, [to_values, to_offsets, to_indices], kind, copy == 1)
    }
    fn cusparseXcoo2csr(
        handle: Handle, rows: Address, entries: c_int, m: c_int, offsets: Address, base: c_int,
    ) {
        valid(entries >= 0 && m >= 0)?;
        to_offsets(&call(handle)?, rows, [entries.into(), m.into()], base, offsets)
    }
    fn cusparseXcsr2coo(
        handle: Handle, offsets: Address, entries: c_int, m: c_int, rows: Address, base: c_int,
    ) {
        valid(entries >= 0 && m >= 0)?;
        let m = i64::from(m);
        call(handle)?.launch("to_rows", m, 1, &[&offsets, &m, &base, &rows])
    }
    fn cusparseCreateIdentityPermutation(handle: Handle, n: c_int, to: Address) {
        valid(n >= 0)?;
        call(handle)?.launch("identity", n.into(), 1, &[&n, &to])
    }
}
