//! Sorting of entries, with the permutation that sorts them.

use std::ffi::c_int;

use cabi::address::{Address, Handle};

use crate::descriptor::legacy_base;
use crate::handle::{Call, call, check};
use crate::problem::sum_bytes;
use crate::product::no_buffer;
use crate::status::{Result, Status, valid};

/// Arrays of entries: their lines where these are sorted too, indices within lines, and what is permuted with them.
struct Entries {
    count: i64,
    lines: Address,
    indices: Address,
    order: Address,
}

impl Entries {
    fn new(count: c_int, lines: Address, indices: Address, order: Address) -> Result<Self> {
        valid(count >= 0)?;
        Ok(Self { count: count.into(), lines, indices, order })
    }

    fn bytes(&self) -> Result<usize> {
        usize::try_from(self.count).map(|count| 4 * count).map_err(|_| Status::INVALID_VALUE)
    }

    /// Sorts within lines, whose ends, and whose entries' indices and numbers, `fill` leaves at three addresses.
    fn sort(&self, call: &Call, lines: i64, fill: impl FnOnce([Address; 3]) -> Result<()>) -> Result<()> {
        let bytes = self.bytes()?;
        let ends_bytes = sum_bytes(lines)?;
        call.gpu.with_memory(ends_bytes + 3 * bytes, |ends| {
            let [keys, numbers, old] = [0, 1, 2].map(|which| ends + ends_bytes + which * bytes);
            let (driver, stream) = (call.gpu.driver, call.gpu.stream);
            driver.cuMemsetD8Async(ends, 0, ends_bytes, stream)?;
            fill([ends, keys, numbers])?;
            if self.order != 0 && bytes > 0 {
                driver.cuMemcpyDtoDAsync_v2(old, self.order, bytes, stream)?;
            }
            call.launch("sort_pairs", lines, 1, &[&lines, &ends, &keys, &numbers])?;
            let Self { lines: to_lines, indices, order, .. } = self;
            call.launch("gather", lines, 1, &[&lines, &ends, &keys, &numbers, &old, to_lines, indices, order])
        })
    }
}

/// Sorts coordinates by line, then by index. Numbers of lines are below `lines`, or equal to it where they begin at 1.
fn coordinates(call: &Call, lines: c_int, entries: &Entries) -> Result<()> {
    valid(lines >= 0)?;
    let lines = i64::from(lines) + 1;
    entries.sort(call, lines, |[ends, keys, numbers]| {
        let (of, count, zero) = (entries.lines, entries.count, 0_i32);
        call.launch("histogram", count, 1, &[&of, &count, &zero, &ends])?;
        call.sums(ends, lines)?;
        call.launch("scatter", count, 1, &[&of, &entries.indices, &count, &ends, &keys, &numbers])
    })
}

/// Sorts the entries of each line by index.
fn lines(call: &Call, lines: c_int, offsets: Address, base: c_int, entries: &Entries) -> Result<()> {
    valid(lines >= 0)?;
    let lines = i64::from(lines);
    entries.sort(call, lines, |[ends, keys, numbers]| {
        let count = c_int::try_from(entries.count).map_err(|_| Status::INVALID_VALUE)?;
        call.launch("ends", lines, 1, &[&offsets, &lines, &base, &ends])?;
        call.launch("identity", entries.count, 1, &[&count, &numbers])?;
        let bytes = entries.bytes()?;
        if bytes > 0 {
            call.gpu.driver.cuMemcpyDtoDAsync_v2(keys, entries.indices, bytes, call.gpu.stream)?;
        }
        Ok(())
    })
}

cabi::functions! {
    Status;
    fn cusparseXcoosort_bufferSizeExt(
        handle: Handle, _m: c_int, _n: c_int, _entries: c_int, _rows: Address, _columns: Address, place: Address,
    ) {
        check(handle)?;
        no_buffer(place)
    }
    fn cusparseXcoosortByRow(
        handle: Handle, m: c_int, _n: c_int, count: c_int, rows: Address, columns: Address, order: Address,
        _buffer: Address,
    ) {
        coordinates(&call(handle)?, m, &Entries::new(count, rows, columns, order)?)
    }
    fn cusparseXcoosortByColumn(
        handle: Handle, _m: c_int, n: c_int, count: c_int, rows: Address, columns: Address, order: Address,
        _buffer: Address,
    ) {
        coordinates(&call(handle)?, n, &Entries::new(count, columns, rows, order)?)
    }
    fn cusparseXcsrsort_bufferSizeExt(
        handle: Handle, _m: c_int, _n: c_int, _entries: c_int, _offsets: Address, _columns: Address, place: Address,
    ) {
        check(handle)?;
        no_buffer(place)
    }
    fn cusparseXcsrsort(
        handle: Handle, m: c_int, _n: c_int, count: c_int, descriptor: Handle, offsets: Address, columns: Address,
        order: Address, _buffer: Address,
    ) {
        let base = legacy_base(descriptor)?;
        lines(&call(handle)?, m, offsets, base, &Entries::new(count, 0, columns, order)?)
    }
    fn cusparseXcscsort_bufferSizeExt(
        handle: Handle, _m: c_int, _n: c_int, _entries: c_int, _offsets: Address, _rows: Address, place: Address,
    ) {
        check(handle)?;
        no_buffer(place)
    }
    fn cusparseXcscsort(
        handle: Handle, _m: c_int, n: c_int, count: c_int, descriptor: Handle, offsets: Address, rows: Address,
        order: Address, _buffer: Address,
    ) {
        let base = legacy_base(descriptor)?;
        lines(&call(handle)?, n, offsets, base, &Entries::new(count, 0, rows, order)?)
    }
}
