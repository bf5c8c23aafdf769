//! Conversions between formats, and between sparse and dense.

use crate::case::{Format, Sparse};
use crate::library::{Memory, at, into};
use crate::number::{Complex, Kind, Random, indices, plus, times};

pub fn handle() -> usize {
    let mut handle = 0_usize;
    assert_eq!(c!("cusparseCreate", into(&mut handle)), 0);
    handle
}

/// A sparse matrix to a dense one, and that to a sparse one.
pub fn dense(random: &mut Random) -> Result<(), String> {
    let (kind, format) = (Kind::any(random), random.one_of(&[Format::Rows, Format::Columns, Format::Coordinates]));
    let (rows, columns) = (1 + random.below(40), 1 + random.below(40));
    let matrix = Sparse::draw(random, kind, rows, columns);
    let (base, wide, by_rows) = (random.below(2), random.once_in(2), random.once_in(2));
    let leading = if by_rows { columns } else { rows } + random.below(3);
    let place = |i: usize, j: usize| if by_rows { i * leading + j } else { j * leading + i };
    let numbers = leading * if by_rows { rows } else { columns };
    let text = format!("{format:?} {rows} x {columns}, type {}, base {base}, wide {wide}, by rows {by_rows}", kind.0);
    let arrays = [matrix.first_array(format), matrix.second_array(format)].map(|all| indices(&all, wide, base));
    let [first, second] = arrays.each_ref().map(|bytes| Memory::with(bytes));
    let values: Vec<u8> = matrix.ordered(format).iter().flat_map(|entry| kind.encode(entry.2)).collect();
    let values_at = Memory::with(&values);
    let mark = kind.encode([77.25, 0.0]);
    let dense = Memory::with(&mark.repeat(numbers));
    let (mut sparse_at, mut dense_at, mut buffer) = (0_usize, 0_usize, 1_usize);
    let index = if wide { 3_i32 } else { 2 };
    let create = |at: usize, entries: usize, arrays: [usize; 3]| {
        let [rows, columns, entries] = [rows, columns, entries].map(|size| size as i64);
        let (base, [first, second, values]) = (base as i32, arrays);
        match format {
            Format::Coordinates => {
                c!("cusparseCreateConstCoo", at, rows, columns, entries, first, second, values, index, base, kind.0)
            }
            _ => {
                let name = if format == Format::Rows { "cusparseCreateConstCsr" } else { "cusparseCreateCsc" };
                c!(name, at, rows, columns, entries, first, second, values, index, index, base, kind.0)
            }
        }
    };
    let arrays_at = [first.address, second.address, values_at.address];
    assert_eq!(create(into(&mut sparse_at), matrix.entries.len(), arrays_at), 0);
    let order = if by_rows { 2_i32 } else { 1 };
    let made = c!(
        "cusparseCreateConstDnMat",
        into(&mut dense_at),
        rows as i64,
        columns as i64,
        leading as i64,
        dense.address,
        kind.0,
        order
    );
    assert_eq!(made, 0);
    let handle = handle();
    assert_eq!(c!("cusparseSparseToDense_bufferSize", handle, sparse_at, dense_at, 0_i32, into(&mut buffer)), 0);
    assert_eq!(c!("cusparseSparseToDense", handle, sparse_at, dense_at, 0_i32, 0_usize), 0);
    let mut expected: Vec<Complex> = vec![[77.25, 0.0]; numbers];
    for i in 0..rows {
        (0..columns).for_each(|j| expected[place(i, j)] = [0.0; 2]);
    }
    for (i, j, x) in &matrix.entries {
        expected[place(*i, *j)] = *x;
    }
    let expected: Vec<u8> = expected.into_iter().flat_map(|x| kind.encode(x)).collect();
    if dense.get() != expected {
        return Err(format!("to dense: {text}"));
    }
    // And back, to other memory.
    let new = [arrays[0].len(), arrays[1].len(), values.len()].map(|bytes| Memory::with(&vec![0_u8; bytes]));
    let new_at = new.each_ref().map(|memory| memory.address);
    let mut new_sparse = 0_usize;
    assert_eq!(create(into(&mut new_sparse), 0, [new_at[0], 0, 0]), 0);
    assert_eq!(c!("cusparseDenseToSparse_bufferSize", handle, dense_at, new_sparse, 0_i32, into(&mut buffer)), 0);
    assert_eq!(buffer, 0);
    assert_eq!(c!("cusparseDenseToSparse_analysis", handle, dense_at, new_sparse, 0_i32, 0_usize), 0);
    let [mut of_rows, mut of_columns, mut entries] = [0_i64; 3];
    let sizes = [into(&mut of_rows), into(&mut of_columns), into(&mut entries)];
    assert_eq!(c!("cusparseSpMatGetSize", new_sparse, sizes[0], sizes[1], sizes[2]), 0);
    if entries != matrix.entries.len() as i64 {
        return Err(format!("{entries} entries, not {}: {text}", matrix.entries.len()));
    }
    let set = match format {
        Format::Rows => "cusparseCsrSetPointers",
        Format::Columns => "cusparseCscSetPointers",
        Format::Coordinates => "cusparseCooSetPointers",
    };
    assert_eq!(c!(set, new_sparse, new_at[0], new_at[1], new_at[2]), 0);
    assert_eq!(c!("cusparseDenseToSparse_convert", handle, dense_at, new_sparse, 0_i32, 0_usize), 0);
    let found = new.each_ref().map(Memory::get);
    assert_eq!([c!("cusparseDestroySpMat", sparse_at), c!("cusparseDestroySpMat", new_sparse)], [0; 2]);
    assert_eq!([c!("cusparseDestroyDnMat", dense_at), c!("cusparseDestroy", handle)], [0; 2]);
    let [offsets, inner] = arrays;
    if found == [offsets, inner, values] { Ok(()) } else { Err(format!("to sparse: {text}")) }
}

/// Rows to columns, with values and without; offsets to rows and back.
pub fn by_columns(random: &mut Random) -> Result<(), String> {
    let kind = Kind::any(random);
    let (rows, columns, base) = (1 + random.below(60), 1 + random.below(60), random.below(2));
    let matrix = Sparse::draw(random, kind, rows, columns);
    let numbers = |format| {
        let values: Vec<u8> = matrix.ordered(format).iter().flat_map(|entry| kind.encode(entry.2)).collect();
        let arrays = [matrix.first_array(format), matrix.second_array(format)];
        let [offsets, inner] = arrays.map(|all| indices(&all, false, base));
        [values, offsets, inner]
    };
    let [from, to] = [numbers(Format::Rows), numbers(Format::Columns)];
    let [values, offsets, inner] = from.each_ref().map(|bytes| Memory::with(bytes));
    let handle = handle();
    let (m, n, entries, base) = (rows as i32, columns as i32, matrix.entries.len() as i32, base as i32);
    for with_values in [1_i32, 0] {
        let new = to.each_ref().map(|bytes| Memory::with(&vec![0_u8; bytes.len()]));
        let mut buffer = 1_usize;
        let call = |name: &str, last: usize| {
            c!(
                name,
                handle,
                m,
                n,
                entries,
                values.address,
                offsets.address,
                inner.address,
                new[0].address,
                new[1].address,
                new[2].address,
                kind.0,
                with_values,
                base,
                1_i32,
                last
            )
        };
        assert_eq!(call("cusparseCsr2cscEx2_bufferSize", into(&mut buffer)), 0);
        assert_eq!((call("cusparseCsr2cscEx2", 0), buffer), (0, 0));
        let found = new.each_ref().map(Memory::get);
        if found[1..] != to[1..] || with_values == 1 && found[0] != to[0] {
            return Err(format!("{rows} x {columns} by columns, type {}, base {base}, values {with_values}", kind.0));
        }
    }
    let of_rows = Memory::with(&indices(&matrix.first_array(Format::Coordinates), false, 0));
    assert_eq!(c!("cusparseXcsr2coo", handle, offsets.address, entries, m, of_rows.address, base), 0);
    let expected = indices(&matrix.first_array(Format::Coordinates), false, base as usize);
    if of_rows.get() != expected {
        return Err(format!("{rows} x {columns}: rows of offsets, base {base}"));
    }
    let again = Memory::with(&vec![0_u8; from[1].len()]);
    assert_eq!(c!("cusparseXcoo2csr", handle, of_rows.address, entries, m, again.address, base), 0);
    let order = Memory::with(&[9_i32; 7]);
    assert_eq!(c!("cusparseCreateIdentityPermutation", handle, 6_i32, order.address), 0);
    assert_eq!(c!("cusparseDestroy", handle), 0);
    if again.get() != from[1] || order.get() != [0, 1, 2, 3, 4, 5, 9] {
        return Err(format!("{rows} x {columns}: offsets of rows, base {base}"));
    }
    // Nothing keeps an address of the host.
    std::hint::black_box(at(&from));
    Ok(())
}

/// Entries in any order become sorted, with what is permuted like them.
pub fn sorted(random: &mut Random) -> Result<(), String> {
    let (rows, columns, base) = (1 + random.below(30), 1 + random.below(30), random.below(2));
    let matrix = Sparse::draw(random, Kind(0), rows, columns);
    let handle = handle();
    let (m, n, count) = (rows as i32, columns as i32, matrix.entries.len() as i32);
    let mut shuffled: Vec<(usize, usize)> = matrix.entries.iter().map(|(i, j, _)| (*i, *j)).collect();
    (1..shuffled.len()).rev().for_each(|i| shuffled.swap(i, random.below(i + 1)));
    let order: Vec<i32> = (0..count).map(|i| 1000 + i).collect();
    let name = |entry: (usize, usize), entries: &[(usize, usize)]| {
        1000 + entries.iter().position(|other| *other == entry).expect("it is there") as i32
    };
    let column = |entries: &[(usize, usize)], rows: bool| {
        entries.iter().map(|(i, j)| (base + if rows { *i } else { *j }) as i32).collect::<Vec<_>>()
    };
    for by_row in [true, false] {
        let mut expected = shuffled.clone();
        expected.sort_by_key(|(i, j)| if by_row { (*i, *j) } else { (*j, *i) });
        let [of_rows, of_columns] = [true, false].map(|rows| Memory::with(&column(&shuffled, rows)));
        let permuted = Memory::with(&order);
        let mut buffer = 1_usize;
        let arrays = [of_rows.address, of_columns.address, permuted.address];
        let name_of_size = "cusparseXcoosort_bufferSizeExt";
        assert_eq!(c!(name_of_size, handle, m, n, count, arrays[0], arrays[1], into(&mut buffer)), 0);
        assert_eq!(buffer, 0);
        let sort = if by_row { "cusparseXcoosortByRow" } else { "cusparseXcoosortByColumn" };
        assert_eq!(c!(sort, handle, m, n, count, arrays[0], arrays[1], arrays[2], 0_usize), 0);
        let names: Vec<i32> = expected.iter().map(|entry| name(*entry, &shuffled)).collect();
        if [of_rows.get(), of_columns.get(), permuted.get()]
            != [column(&expected, true), column(&expected, false), names]
        {
            return Err(format!("{rows} x {columns}, base {base}: coordinates, by row {by_row}"));
        }
        // Lines whose entries are shuffled.
        let line = |entry: &(usize, usize)| if by_row { entry.0 } else { entry.1 };
        let mut in_lines = shuffled.clone();
        in_lines.sort_by_key(line);
        let lines = if by_row { rows } else { columns };
        let offsets: Vec<i32> =
            (0..=lines).map(|end| (base + in_lines.iter().filter(|entry| line(entry) < end).count()) as i32).collect();
        let (offsets, inner, permuted) =
            (Memory::with(&offsets), Memory::with(&column(&in_lines, !by_row)), Memory::with(&order));
        let mut descriptor = 0_usize;
        assert_eq!(c!("cusparseCreateMatDescr", into(&mut descriptor)), 0);
        assert_eq!(c!("cusparseSetMatIndexBase", descriptor, base as i32), 0);
        let (size, sort) = if by_row {
            ("cusparseXcsrsort_bufferSizeExt", "cusparseXcsrsort")
        } else {
            ("cusparseXcscsort_bufferSizeExt", "cusparseXcscsort")
        };
        let arrays = [offsets.address, inner.address, permuted.address];
        assert_eq!(c!(size, handle, m, n, count, arrays[0], arrays[1], into(&mut buffer)), 0);
        let code = c!(sort, handle, m, n, count, descriptor, arrays[0], arrays[1], arrays[2], 0_usize);
        assert_eq!([code, c!("cusparseDestroyMatDescr", descriptor)], [0; 2]);
        let names: Vec<i32> = expected.iter().map(|entry| name(*entry, &in_lines)).collect();
        if [inner.get(), permuted.get()] != [column(&expected, !by_row), names] {
            return Err(format!("{rows} x {columns}, base {base}: lines, by row {by_row}"));
        }
    }
    assert_eq!(c!("cusparseDestroy", handle), 0);
    Ok(())
}

/// Values of a dense vector at indices, and back.
pub fn taken(random: &mut Random) -> Result<(), String> {
    let (kind, wide, base, size) = (Kind::any(random), random.once_in(2), random.below(2), 1 + random.below(50));
    let at: Vec<usize> = (0..size).filter(|_| random.once_in(3)).collect();
    let numbers: Vec<Complex> = (0..size).map(|_| kind.number(random)).collect();
    let bytes = |all: &[Complex]| all.iter().flat_map(|x| kind.encode(*x)).collect::<Vec<u8>>();
    let taken: Vec<Complex> = at.iter().map(|i| numbers[*i]).collect();
    let places = Memory::with(&indices(&at, wide, base));
    let (x, y) = (Memory::with(&bytes(&vec![[0.0; 2]; at.len()])), Memory::with(&bytes(&numbers)));
    let (mut sparse, mut dense) = (0_usize, 0_usize);
    let (count, index, base) = (at.len() as i64, if wide { 3_i32 } else { 2 }, base as i32);
    let made = c!(
        "cusparseCreateSpVec",
        into(&mut sparse),
        size as i64,
        count,
        places.address,
        x.address,
        index,
        base,
        kind.0
    );
    assert_eq!([made, c!("cusparseCreateDnVec", into(&mut dense), size as i64, y.address, kind.0)], [0; 2]);
    let handle = handle();
    assert_eq!(c!("cusparseGather", handle, dense, sparse), 0);
    let found = x.get();
    let new = Memory::with(&bytes(&vec![[9.0, 0.0]; size]));
    assert_eq!(c!("cusparseDnVecSetValues", dense, new.address), 0);
    assert_eq!(c!("cusparseScatter", handle, sparse, dense), 0);
    let spread: Vec<Complex> = (0..size).map(|i| if at.contains(&i) { numbers[i] } else { [9.0, 0.0] }).collect();
    assert_eq!([c!("cusparseDestroySpVec", sparse), c!("cusparseDestroyDnVec", dense)], [0; 2]);
    assert_eq!(c!("cusparseDestroy", handle), 0);
    if found == bytes(&taken) && new.get() == bytes(&spread) {
        return Ok(());
    }
    Err(format!("{count} of {size} values, type {}, wide {wide}, base {base}", kind.0))
}

/// The sum of two matrices with their factors.
pub fn summed(random: &mut Random) -> Result<(), String> {
    let (kind, rows, columns) = (Kind::any(random), 1 + random.below(40), 1 + random.below(40));
    let all = [0; 2].map(|_| Sparse::draw(random, kind, rows, columns));
    let bases = [0; 3].map(|_| random.below(2));
    let (factors, on_device) = ([kind.number(random), kind.number(random)], random.once_in(2));
    let mut expected: Vec<(usize, usize, Complex, f64)> = Vec::new();
    for (matrix, factor) in all.iter().zip(factors) {
        for (i, j, x) in &matrix.entries {
            let term = times(factor, *x);
            let size = term[0].abs() + term[1].abs() + 1.0;
            match expected.iter_mut().find(|entry| (entry.0, entry.1) == (*i, *j)) {
                Some(entry) => (entry.2, entry.3) = (plus(entry.2, term), entry.3 + size),
                None => expected.push((*i, *j, term, size)),
            }
        }
    }
    expected.sort_by_key(|entry| (entry.0, entry.1));
    let handle = handle();
    let descriptors = bases.map(|base| {
        let mut descriptor = 0_usize;
        assert_eq!(c!("cusparseCreateMatDescr", into(&mut descriptor)), 0);
        assert_eq!(c!("cusparseSetMatIndexBase", descriptor, base as i32), 0);
        descriptor
    });
    let stored = [0, 1].map(|which| {
        let matrix = &all[which];
        let values: Vec<u8> = matrix.entries.iter().flat_map(|entry| kind.encode(entry.2)).collect();
        [
            values,
            indices(&matrix.first_array(Format::Rows), false, bases[which]),
            indices(&matrix.second_array(Format::Rows), false, bases[which]),
        ]
        .map(|bytes| Memory::with(&bytes))
    });
    let [a, b] = stored.each_ref().map(|arrays| arrays.each_ref().map(|memory| memory.address));
    let encoded = factors.map(|x| kind.encode(x));
    let scalars = encoded.each_ref().map(|bytes| Memory::with(bytes));
    let [alpha, beta] = [0, 1].map(|i| if on_device { scalars[i].address } else { at(encoded[i].as_slice()) });
    assert_eq!(c!("cusparseSetPointerMode", handle, i32::from(on_device)), 0);
    let (m, n, [of_a, of_b, of_c]) = (rows as i32, columns as i32, descriptors);
    let [count_a, count_b] = all.each_ref().map(|matrix| matrix.entries.len() as i32);
    let new = [expected.len() * kind.bytes(), 4 * (rows + 1), 4 * expected.len()].map(|n| Memory::with(&vec![0_u8; n]));
    let c_at = new.each_ref().map(|memory| memory.address);
    let (mut total, total_on_device) = (0_i32, Memory::with(&[0_i32]));
    let total_at = if on_device { total_on_device.address } else { into(&mut total) };
    let counted = c!(
        "cusparseXcsrgeam2Nnz",
        handle,
        m,
        n,
        of_a,
        count_a,
        a[1],
        a[2],
        of_b,
        count_b,
        b[1],
        b[2],
        of_c,
        c_at[1],
        total_at,
        0_usize
    );
    let found = if on_device { total_on_device.get()[0] } else { std::hint::black_box(total) };
    if (counted, found) != (0, expected.len() as i32) {
        return Err(format!("sum: {found} entries, not {}, status {counted}", expected.len()));
    }
    let (size, sum) = match kind.0 {
        0 => ("cusparseScsrgeam2_bufferSizeExt", "cusparseScsrgeam2"),
        1 => ("cusparseDcsrgeam2_bufferSizeExt", "cusparseDcsrgeam2"),
        4 => ("cusparseCcsrgeam2_bufferSizeExt", "cusparseCcsrgeam2"),
        _ => ("cusparseZcsrgeam2_bufferSizeExt", "cusparseZcsrgeam2"),
    };
    let mut buffer = 1_usize;
    for (name, last) in [(size, into(&mut buffer)), (sum, 0)] {
        let code = c!(
            name, handle, m, n, alpha, of_a, count_a, a[0], a[1], a[2], beta, of_b, count_b, b[0], b[1], b[2], of_c,
            c_at[0], c_at[1], c_at[2], last
        );
        assert_eq!(code, 0, "{name}");
    }
    assert_eq!(std::hint::black_box(buffer), 0);
    for descriptor in descriptors {
        assert_eq!(c!("cusparseDestroyMatDescr", descriptor), 0);
    }
    assert_eq!(c!("cusparseDestroy", handle), 0);
    let result = Sparse { rows, columns, entries: expected.iter().map(|(i, j, x, _)| (*i, *j, *x)).collect() };
    let arrays = [result.first_array(Format::Rows), result.second_array(Format::Rows)];
    let [values, offsets, inner] = new.each_ref().map(Memory::get);
    let near = values.chunks(kind.bytes()).zip(&expected).all(|(bytes, (.., x, size))| {
        let found = kind.decode(bytes);
        (0..2).all(|part| (found[part] - x[part]).abs() <= 8.0 * kind.unit() * size)
    });
    if near && [offsets, inner] == arrays.map(|all| indices(&all, false, bases[2])) {
        return Ok(());
    }
    Err(format!("sum of {rows} x {columns}, type {}, bases {bases:?}, values are right: {near}", kind.0))
}
