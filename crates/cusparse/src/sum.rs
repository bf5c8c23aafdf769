//! Sums of two sparse matrices of CSR, whose lines are sorted.

use std::ffi::c_int;

use cabi::address::{Address, Handle, write};

use crate::descriptor::legacy_base;
use crate::handle::{call, check};
use crate::problem::{Kind, Problem, Sparse, sum_bytes};
use crate::product::no_buffer;
use crate::status::{Result, Status, valid};

/// A matrix of `m` lines: its descriptor, entries, values, offsets and indices.
fn matrix(m: c_int, descriptor: Handle, entries: c_int, [values, offsets, indices]: [Address; 3]) -> Result<Sparse> {
    valid(m >= 0 && entries >= 0)?;
    let base = legacy_base(descriptor)?;
    Ok(Sparse { offsets, indices, values, lines: m.into(), entries: entries.into(), base, ..Sparse::default() })
}

/// Offsets of the sum, and the number of its entries, which goes where scalars are.
fn count(handle: Handle, a: &Sparse, b: &Sparse, to: Handle, offsets: Address, total: Address) -> Result<()> {
    let call = call(handle)?;
    let (base, lines) = (legacy_base(to)?, a.lines);
    let bytes = sum_bytes(lines)?;
    let mut entries = 0_i64;
    call.gpu.with_memory(bytes, |counts| {
        call.launch("merge_count", lines, 1, &[a, b, &counts])?;
        call.sums(counts, lines)?;
        call.launch("narrow", lines + 1, 1, &[&counts, &(lines + 1), &base, &offsets])?;
        if call.on_device {
            return call.launch("narrow", 1, 1, &[&(counts + bytes - 8), &1_i64, &0_i32, &total]);
        }
        entries = call.sum_of(counts, lines)?;
        Ok(())
    })?;
    if call.on_device {
        return Ok(());
    }
    let entries = c_int::try_from(entries).map_err(|_| Status::INVALID_VALUE)?;
    Ok(write(total, entries)?)
}

fn sum(
    handle: Handle,
    kind: c_int,
    factors: [Address; 2],
    [a, b]: [Sparse; 2],
    to: Handle,
    [values, offsets, indices]: [Address; 3],
) -> Result<()> {
    let call = call(handle)?;
    let (kind, base) = (Kind::numbered(kind)?, legacy_base(to)?);
    let [alpha, beta] = [call.scalar(factors[0], kind)?, call.scalar(factors[1], kind)?];
    let problem = Problem { a, alpha, beta, ..Problem::default() };
    call.launch_of("merge", kind, a.lines, 1, &[&problem, &b, &offsets, &base, &indices, &values])
}

cabi::functions! {
    Status;
    fn cusparseXcsrgeam2Nnz(
        handle: Handle, m: c_int, _n: c_int, of_a: Handle, entries_a: c_int, offsets_a: Address, indices_a: Address,
        of_b: Handle, entries_b: c_int, offsets_b: Address, indices_b: Address, of_c: Handle, offsets_c: Address,
        total: Address, _buffer: Address,
    ) {
        let a = matrix(m, of_a, entries_a, [0, offsets_a, indices_a])?;
        let b = matrix(m, of_b, entries_b, [0, offsets_b, indices_b])?;
        count(handle, &a, &b, of_c, offsets_c, total)
    }
}

macro_rules! sums {
    ($($name:ident | $size:ident = $kind:literal),* $(,)?) => {
        cabi::functions! {
            Status;
            $(
                fn $size(
                    handle: Handle, _m: c_int, _n: c_int, _alpha: Address, _of_a: Handle, _entries_a: c_int,
                    _values_a: Address, _offsets_a: Address, _indices_a: Address, _beta: Address, _of_b: Handle,
                    _entries_b: c_int, _values_b: Address, _offsets_b: Address, _indices_b: Address, _of_c: Handle,
                    _values_c: Address, _offsets_c: Address, _indices_c: Address, place: Address,
                ) {
                    check(handle)?;
                    no_buffer(place)
                }
            )*
        }
        cabi::functions! {
            Status;
            $(
                fn $name(
                    handle: Handle, m: c_int, _n: c_int, alpha: Address, of_a: Handle, entries_a: c_int,
                    values_a: Address, offsets_a: Address, indices_a: Address, beta: Address, of_b: Handle,
                    entries_b: c_int, values_b: Address, offsets_b: Address, indices_b: Address, of_c: Handle,
                    values_c: Address, offsets_c: Address, indices_c: Address, _buffer: Address,
                ) {
                    let a = matrix(m, of_a, entries_a, [values_a, offsets_a, indices_a])?;
                    let b = matrix(m, of_b, entries_b, [values_b, offsets_b, indices_b])?;
                    sum(handle, $kind, [alpha, beta], [a, b], of_c, [values_c, offsets_c, indices_c])
                }
            )*
        }
    };
}
sums! {
    cusparseScsrgeam2 | cusparseScsrgeam2_bufferSizeExt = 0,
    cusparseDcsrgeam2 | cusparseDcsrgeam2_bufferSizeExt = 1,
    cusparseCcsrgeam2 | cusparseCcsrgeam2_bufferSizeExt = 4,
    cusparseZcsrgeam2 | cusparseZcsrgeam2_bufferSizeExt = 5,
}
