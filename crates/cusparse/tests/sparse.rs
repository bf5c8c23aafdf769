//! Sparse vectors, sampled products, triangular systems and products of sparse matrices.

use crate::case::{self, Format, Sparse, used};
use crate::conversions::handle;
use crate::library::{Memory, at, devices, into};
use crate::number::{Complex, Kind, Random, indices, minus, over, plus, size, times};

/// A handle, and scalars where it takes them from.
struct Setup {
    handle: usize,
    encoded: [Vec<u8>; 2],
    stored: [Memory<u8>; 2],
    on_device: bool,
}

impl Setup {
    fn new(random: &mut Random, kind: Kind, scalars: [Complex; 2]) -> Self {
        let handle = handle();
        let encoded = scalars.map(|x| kind.encode(x));
        let stored = encoded.each_ref().map(|bytes| Memory::with(bytes));
        let on_device = random.once_in(2);
        assert_eq!(c!("cusparseSetPointerMode", handle, i32::from(on_device)), 0);
        Self { handle, encoded, stored, on_device }
    }

    fn scalar(&self, which: usize) -> usize {
        if self.on_device { self.stored[which].address } else { at(self.encoded[which].as_slice()) }
    }
}

impl Drop for Setup {
    fn drop(&mut self) {
        assert_eq!(c!("cusparseDestroy", self.handle), 0);
    }
}

/// A sparse matrix on the device.
struct Stored {
    descriptor: usize,
    arrays: [Memory<u8>; 3],
}

impl Stored {
    fn new(matrix: &Sparse, kind: Kind, format: Format, base: usize, wide: bool) -> Self {
        let values: Vec<u8> = matrix.ordered(format).iter().flat_map(|entry| kind.encode(entry.2)).collect();
        let arrays = [
            indices(&matrix.first_array(format), wide, base),
            indices(&matrix.second_array(format), wide, base),
            values,
        ]
        .map(|bytes| Memory::with(&bytes));
        Self::of(matrix, arrays, kind, format, base, wide)
    }

    fn of(matrix: &Sparse, arrays: [Memory<u8>; 3], kind: Kind, format: Format, base: usize, wide: bool) -> Self {
        let mut descriptor = 0_usize;
        let [rows, columns, entries] = [matrix.rows, matrix.columns, matrix.entries.len()].map(|size| size as i64);
        let ([first, second, values], index) =
            (arrays.each_ref().map(|memory| memory.address), if wide { 3 } else { 2 });
        let (place, base) = (into(&mut descriptor), base as i32);
        let code = match format {
            Format::Coordinates => {
                c!("cusparseCreateCoo", place, rows, columns, entries, first, second, values, index, base, kind.0)
            }
            _ => {
                let name = if format == Format::Rows { "cusparseCreateCsr" } else { "cusparseCreateCsc" };
                c!(name, place, rows, columns, entries, first, second, values, index, index, base, kind.0)
            }
        };
        assert_eq!(code, 0);
        Self { descriptor: std::hint::black_box(descriptor), arrays }
    }

    fn values(&self, kind: Kind) -> Vec<Complex> {
        self.arrays[2].get().chunks(kind.bytes()).map(|bytes| kind.decode(bytes)).collect()
    }
}

impl Drop for Stored {
    fn drop(&mut self) {
        assert_eq!(c!("cusparseDestroySpMat", self.descriptor), 0);
    }
}

/// A dense matrix on the device.
struct Dense {
    matrix: case::Dense,
    memory: Memory<u8>,
    descriptor: usize,
    is_vector: bool,
}

impl Dense {
    fn draw(random: &mut Random, kind: Kind, rows: usize, columns: usize, is_vector: bool) -> Self {
        let mut matrix = case::Dense::draw(random, kind, rows, columns);
        if is_vector {
            matrix.make_vector();
        }
        let memory = Memory::with(&matrix.numbers.iter().flat_map(|x| kind.encode(*x)).collect::<Vec<u8>>());
        let mut descriptor = 0_usize;
        let (place, address) = (into(&mut descriptor), memory.address);
        let code = if is_vector {
            c!("cusparseCreateDnVec", place, rows as i64, address, kind.0)
        } else {
            let (leading, order) = (matrix.leading as i64, if matrix.by_rows { 2_i32 } else { 1 });
            c!("cusparseCreateDnMat", place, rows as i64, columns as i64, leading, address, kind.0, order)
        };
        assert_eq!(code, 0);
        Self { matrix, memory, descriptor: std::hint::black_box(descriptor), is_vector }
    }

    /// The element of the matrix after an operation.
    fn used(&self, [row, column]: [usize; 2], op: usize) -> Complex {
        let [row, column] = if op == 0 { [row, column] } else { [column, row] };
        used(self.matrix.numbers[self.matrix.place(row, column)], op)
    }

    fn found(&self, kind: Kind) -> Vec<Complex> {
        self.memory.get().chunks(kind.bytes()).map(|bytes| kind.decode(bytes)).collect()
    }
}

impl Drop for Dense {
    fn drop(&mut self) {
        let name = if self.is_vector { "cusparseDestroyDnVec" } else { "cusparseDestroyDnMat" };
        assert_eq!(c!(name, self.descriptor), 0);
    }
}

fn near(found: Complex, wanted: Complex, tolerance: f64) -> bool {
    (0..2).all(|part| (found[part] - wanted[part]).abs() <= tolerance)
}

/// `Axpby`, `Rot` or `SpVV`.
pub fn vectors(random: &mut Random) -> Result<(), String> {
    let kind = Kind::any(random);
    let length = 1 + random.below(300);
    let (base, wide, which, op) = (random.below(2), random.once_in(2), random.below(3), random.one_of(&[0, 2]));
    let matrix = Sparse::draw(random, kind, 1, length);
    let scalars = [kind.number(random), if random.once_in(3) { [0.0; 2] } else { kind.number(random) }];
    let setup = Setup::new(random, kind, scalars);
    let y = Dense::draw(random, kind, length, 1, true);
    let places: Vec<usize> = matrix.entries.iter().map(|entry| entry.1).collect();
    let x: Vec<Complex> = matrix.entries.iter().map(|entry| entry.2).collect();
    let at_x = Memory::with(&indices(&places, wide, base));
    let values = Memory::with(&x.iter().flat_map(|x| kind.encode(*x)).collect::<Vec<u8>>());
    let mut sparse = 0_usize;
    let index = if wide { 3_i32 } else { 2 };
    let (count, base) = (x.len() as i64, base as i32);
    let made = c!(
        "cusparseCreateSpVec",
        into(&mut sparse),
        length as i64,
        count,
        at_x.address,
        values.address,
        index,
        base,
        kind.0
    );
    assert_eq!(made, 0);
    let (handle, first, second) = (setup.handle, setup.scalar(0), setup.scalar(1));
    let [alpha, beta] = scalars;
    let mut wanted: Vec<(Complex, f64)> = Vec::new();
    let found: Vec<Complex> = match which {
        0 => {
            assert_eq!(c!("cusparseAxpby", handle, first, sparse, second, y.descriptor), 0);
            wanted.extend(y.matrix.numbers.iter().map(|y| (times(beta, *y), size(times(beta, *y)))));
            for (place, x) in places.iter().zip(&x) {
                let term = times(alpha, *x);
                wanted[*place] = (plus(wanted[*place].0, term), wanted[*place].1 + size(term));
            }
            y.found(kind)
        }
        1 => {
            assert_eq!(c!("cusparseRot", handle, first, second, sparse, y.descriptor), 0);
            let sizes = size(alpha) + size(beta);
            wanted.extend(y.matrix.numbers.iter().map(|y| (*y, 0.0)));
            let mut rotated = Vec::new();
            for (place, x) in places.iter().zip(&x) {
                let y = y.matrix.numbers[*place];
                let bound = sizes * (size(*x) + size(y));
                rotated.push((plus(times(alpha, *x), times(beta, y)), bound));
                wanted[*place] = (minus(times(alpha, y), times(beta, *x)), bound);
            }
            wanted.extend(rotated);
            let mut found = y.found(kind);
            found.extend(values.get().chunks(kind.bytes()).map(|bytes| kind.decode(bytes)).take(x.len()));
            found
        }
        _ => {
            let (mut on_host, mut buffer) = ([0_u8; 16], 1_usize);
            let on_device = Memory::with(&[0_u8; 16]);
            let result = if setup.on_device { on_device.address } else { into(&mut on_host) };
            let (op_of_x, dense) = (op as i32, y.descriptor);
            let call = |name: &str, last: usize| c!(name, handle, op_of_x, sparse, dense, result, kind.0, last);
            assert_eq!(call("cusparseSpVV_bufferSize", into(&mut buffer)), 0);
            assert_eq!((call("cusparseSpVV", 0), std::hint::black_box(buffer)), (0, 0));
            let terms = places.iter().zip(&x).map(|(place, x)| times(used(*x, op), y.matrix.numbers[*place]));
            wanted.push(terms.fold(([0.0; 2], 0.0), |(sum, bound), term| (plus(sum, term), bound + size(term))));
            let bytes = if setup.on_device { on_device.get() } else { std::hint::black_box(on_host).to_vec() };
            vec![kind.decode(&bytes)]
        }
    };
    assert_eq!(c!("cusparseDestroySpVec", sparse), 0);
    let terms = 8.0 + length as f64;
    let wrong = found.iter().zip(&wanted).position(|(x, (wanted, bound))| {
        let rounded = kind.decode(&kind.encode(*wanted));
        !near(*x, if *bound == 0.0 { rounded } else { *wanted }, 4.0 * terms * kind.unit() * bound)
    });
    match wrong {
        None => Ok(()),
        Some(i) => Err(format!(
            "vectors {which} of {length}, type {}: number {i} is {:?}, not {:?}",
            kind.0, found[i], wanted[i]
        )),
    }
}

/// `SDDMM`.
pub fn sampled(random: &mut Random) -> Result<(), String> {
    let kind = Kind::any(random);
    let [m, n, k] = [0; 3].map(|_| 1 + random.below(40));
    let ops = [random.below(3), random.below(3)];
    let shape = |rows, columns, op| if op == 0 { (rows, columns) } else { (columns, rows) };
    let scalars = [kind.number(random), if random.once_in(3) { [0.0; 2] } else { kind.number(random) }];
    let setup = Setup::new(random, kind, scalars);
    let pattern = Sparse::draw(random, kind, m, n);
    let (base, wide) = (random.below(2), random.once_in(2));
    let c = Stored::new(&pattern, kind, Format::Rows, base, wide);
    let ((rows, columns), (rows_of_b, columns_of_b)) = (shape(m, k, ops[0]), shape(k, n, ops[1]));
    let a = Dense::draw(random, kind, rows, columns, false);
    let b = Dense::draw(random, kind, rows_of_b, columns_of_b, false);
    let mut buffer = 1_usize;
    let ([op_a, op_b], handle) = (ops.map(|op| op as i32), setup.handle);
    let (alpha, beta) = (setup.scalar(0), setup.scalar(1));
    let call = |name: &str, last: usize| {
        let (a, b, c) = (a.descriptor, b.descriptor, c.descriptor);
        assert_eq!(c!(name, handle, op_a, op_b, alpha, a, b, beta, c, kind.0, 0_i32, last), 0, "{name}");
    };
    call("cusparseSDDMM_bufferSize", into(&mut buffer));
    call("cusparseSDDMM_preprocess", 0);
    call("cusparseSDDMM", 0);
    assert_eq!(std::hint::black_box(buffer), 0);
    for ((row, column, old), found) in pattern.entries.iter().zip(c.values(kind)) {
        let before = times(scalars[1], *old);
        let (mut wanted, mut bound) = (before, size(before));
        for i in 0..k {
            let term = times(scalars[0], times(a.used([*row, i], ops[0]), b.used([i, *column], ops[1])));
            (wanted, bound) = (plus(wanted, term), bound + 4.0 * size(term));
        }
        if !near(found, wanted, 2.0 * (k as f64 + 8.0) * kind.unit() * bound) {
            return Err(format!(
                "SDDMM {m} x {n}, {k} terms, operations {ops:?}: ({row}, {column}) is {found:?}, not {wanted:?}"
            ));
        }
    }
    Ok(())
}

/// `SpSV` or `SpSM`. A is so near its diagonal that errors do not grow.
pub fn triangle(random: &mut Random) -> Result<(), String> {
    let kind = Kind::any(random);
    let m = 1 + random.below(60);
    let is_vector = random.once_in(2);
    let n = if is_vector { 1 } else { 1 + random.below(6) };
    let (is_upper, is_unit) = (random.once_in(2), random.once_in(2));
    let format = random.one_of(&[Format::Rows, Format::Columns, Format::Coordinates]);
    let ops = [random.below(3), if is_vector { 0 } else { random.below(3) }];
    let wide = format == Format::Rows && ops[0] == 0 && random.once_in(2);
    let base = random.below(2);
    let mut a = Sparse::draw(random, kind, m, m);
    // Entries of the other triangle stay, and are not read.
    a.entries.retain(|(row, column, _)| row != column);
    a.entries.iter_mut().for_each(|entry| entry.2 = entry.2.map(|x| x / (8.0 * m as f64)));
    // A diagonal that is taken as 1 may be there or not.
    if !is_unit || random.once_in(2) {
        let diagonal = |random: &mut Random| plus(kind.number(random), [4.0, 0.0]);
        a.entries.extend((0..m).map(|i| (i, i, diagonal(random))));
        a.entries.sort_by_key(|(row, column, _)| (*row, *column));
    }
    let scalars = [kind.number(random), [0.0; 2]];
    let setup = Setup::new(random, kind, scalars);
    let stored = Stored::new(&a, kind, format, base, wide);
    for (which, value) in [(0_i32, is_upper), (1, is_unit)] {
        let value = i32::from(value);
        assert_eq!(c!("cusparseSpMatSetAttribute", stored.descriptor, which, at(&value), 4_usize), 0);
    }
    let (rows, columns) = if ops[1] == 0 { (m, n) } else { (n, m) };
    let b = Dense::draw(random, kind, rows, columns, is_vector);
    let x = Dense::draw(random, kind, m, n, is_vector);
    let (mut system, mut buffer) = (0_usize, 1_usize);
    let ([op_a, op_b], handle, alpha) = (ops.map(|op| op as i32), setup.handle, setup.scalar(0));
    let (of_a, of_b, of_x) = (stored.descriptor, b.descriptor, x.descriptor);
    if is_vector {
        assert_eq!(c!("cusparseSpSV_createDescr", into(&mut system)), 0);
        let call = |name: &str, last: usize| {
            assert_eq!(c!(name, handle, op_a, alpha, of_a, of_b, of_x, kind.0, 0_i32, system, last), 0, "{name}");
        };
        call("cusparseSpSV_bufferSize", into(&mut buffer));
        call("cusparseSpSV_analysis", 0);
        call("cusparseSpSV_solve", 0);
        assert_eq!(c!("cusparseSpSV_destroyDescr", system), 0);
    } else {
        assert_eq!(c!("cusparseSpSM_createDescr", into(&mut system)), 0);
        let call = |name: &str, last: usize| {
            assert_eq!(c!(name, handle, op_a, op_b, alpha, of_a, of_b, of_x, kind.0, 0_i32, system, last), 0, "{name}");
        };
        call("cusparseSpSM_bufferSize", into(&mut buffer));
        call("cusparseSpSM_analysis", 0);
        call("cusparseSpSM_solve", 0);
        assert_eq!(c!("cusparseSpSM_destroyDescr", system), 0);
    }
    assert_eq!(std::hint::black_box(buffer), 0);
    // op(A), its rows from the first one that needs no other.
    let entry = |(row, column, x): &(usize, usize, Complex)| {
        let (row, column) = if ops[0] == 0 { (*row, *column) } else { (*column, *row) };
        (row, column, used(*x, ops[0]))
    };
    let used: Vec<(usize, usize, Complex)> = a.entries.iter().map(entry).collect();
    let is_upper = is_upper != (ops[0] != 0);
    let found = x.found(kind);
    for column in 0..n {
        let mut solved = vec![[0.0; 2]; m];
        for step in 0..m {
            let row = if is_upper { m - 1 - step } else { step };
            let (mut sum, mut diagonal) = (times(scalars[0], b.used([row, column], ops[1])), [1.0, 0.0]);
            for (_, k, value) in used.iter().filter(|entry| entry.0 == row) {
                if *k == row {
                    diagonal = if is_unit { diagonal } else { *value };
                } else if (*k > row) == is_upper {
                    sum = minus(sum, times(*value, solved[*k]));
                }
            }
            solved[row] = over(sum, diagonal);
            let found = found[x.matrix.place(row, column)];
            if !near(found, solved[row], 64.0 * (m as f64 + 8.0) * kind.unit() * 40.0) {
                return Err(format!(
                    "triangle of {m}, {n} columns, {format:?}, upper {is_upper}, unit {is_unit}, operations {ops:?}, type {}: \
                     ({row}, {column}) is {found:?}, not {:?}",
                    kind.0, solved[row]
                ));
            }
        }
    }
    Ok(())
}

/// `SpGEMM`, or its form whose result is computed again.
pub fn product(random: &mut Random) -> Result<(), String> {
    let kind = Kind::any(random);
    let [m, k, n] = [0; 3].map(|_| 1 + random.below(40));
    let again = random.once_in(2);
    let scalars = [kind.number(random), if again { kind.number(random) } else { [0.0; 2] }];
    let setup = Setup::new(random, kind, scalars);
    let factors = [Sparse::draw(random, kind, m, k), Sparse::draw(random, kind, k, n)];
    let bases = [0; 3].map(|_| random.below(2));
    let wide = random.once_in(2);
    let [a, b] = [0, 1].map(|i| Stored::new(&factors[i], kind, Format::Rows, bases[i], wide));
    let mut terms = 0_i64;
    let mut wanted = std::collections::BTreeMap::<(usize, usize), (Complex, f64)>::new();
    for (row, middle, x) in &factors[0].entries {
        for (_, column, y) in factors[1].entries.iter().filter(|entry| entry.0 == *middle) {
            let term = times(*x, *y);
            let sum = wanted.entry((*row, *column)).or_default();
            *sum = (plus(sum.0, term), sum.1 + size(term));
            terms += 1;
        }
    }
    let empty = Sparse { rows: m, columns: n, entries: Vec::new() };
    let nothing = || Memory::with(&[0_u8; 16]);
    let c = Stored::of(&empty, [nothing(), nothing(), nothing()], kind, Format::Rows, bases[2], wide);
    let (mut descriptor, mut sizes) = (0_usize, [0_usize; 3]);
    assert_eq!(c!("cusparseSpGEMM_createDescr", into(&mut descriptor)), 0);
    let (handle, alpha, beta) = (setup.handle, setup.scalar(0), setup.scalar(1));
    let [of_a, of_b, of_c] = [&a, &b, &c].map(|matrix| matrix.descriptor);
    let buffer = Memory::with(&[0_u8; 64]);
    let with_scalars = |name: &str, size: usize, buffer: usize| {
        let code =
            c!(name, handle, 0_i32, 0_i32, alpha, of_a, of_b, beta, of_c, kind.0, 0_i32, descriptor, size, buffer);
        assert_eq!(code, 0, "{name}");
    };
    let without = |name: &str, more: [usize; 6]| {
        let [s, t, u, v, w, x] = more;
        let code = c!(name, handle, 0_i32, 0_i32, of_a, of_b, of_c, 0_i32, descriptor, s, t, u, v, w, x);
        assert_eq!(code, 0, "{name}");
    };
    let place = into(&mut sizes[0]);
    let [second, third] = [place + 8, place + 16];
    if again {
        for buffer in [0, buffer.address] {
            without("cusparseSpGEMMreuse_workEstimation", [place, buffer, 0, 0, 0, 0]);
        }
        for buffer in [0, buffer.address] {
            without("cusparseSpGEMMreuse_nnz", [place, buffer, second, buffer, third, buffer]);
        }
    } else {
        for buffer in [0, buffer.address] {
            with_scalars("cusparseSpGEMM_workEstimation", place, buffer);
        }
        for buffer in [0, buffer.address] {
            let code = c!(
                "cusparseSpGEMM_estimateMemory",
                handle,
                0_i32,
                0_i32,
                alpha,
                of_a,
                of_b,
                beta,
                of_c,
                kind.0,
                0_i32,
                descriptor,
                0.5_f32,
                place,
                buffer,
                second
            );
            assert_eq!(code, 0);
        }
        for buffer in [0, buffer.address] {
            with_scalars("cusparseSpGEMM_compute", place, buffer);
        }
    }
    let (mut found_terms, mut shape) = (0_i64, [0_i64; 3]);
    assert_eq!(c!("cusparseSpGEMM_getNumProducts", descriptor, into(&mut found_terms)), 0);
    let shape_at = into(&mut shape[0]);
    assert_eq!(c!("cusparseSpMatGetSize", of_c, shape_at, shape_at + 8, shape_at + 16), 0);
    let shape = std::hint::black_box(shape);
    if (std::hint::black_box(found_terms), shape) != (terms, [m as i64, n as i64, wanted.len() as i64]) {
        return Err(format!("{m} x {k} x {n}: {found_terms} terms, {shape:?}, not {terms}, {}", wanted.len()));
    }
    let index = if wide { 8 } else { 4 };
    let old: Vec<Complex> = (0..wanted.len()).map(|_| kind.number(random)).collect();
    let values = Memory::with(&old.iter().flat_map(|x| kind.encode(*x)).chain([0; 16]).collect::<Vec<u8>>());
    let [offsets, inner] = [(m + 1) * index, wanted.len() * index + 16].map(|bytes| Memory::with(&vec![0_u8; bytes]));
    assert_eq!(c!("cusparseCsrSetPointers", of_c, offsets.address, inner.address, values.address), 0);
    if again {
        for buffer in [0, buffer.address] {
            without("cusparseSpGEMMreuse_copy", [place, buffer, 0, 0, 0, 0]);
        }
        with_scalars("cusparseSpGEMMreuse_compute", 0, 0);
    } else {
        with_scalars("cusparseSpGEMM_copy", 0, 0);
    }
    assert_eq!(c!("cusparseSpGEMM_destroyDescr", descriptor), 0);
    let entries = wanted.iter().map(|((row, column), sum)| (*row, *column, sum.0)).collect();
    let result = Sparse { rows: m, columns: n, entries };
    let expected = [result.first_array(Format::Rows), result.second_array(Format::Rows)];
    let expected = expected.map(|all| indices(&all, wide, bases[2]));
    let inner = inner.get()[..wanted.len() * index].to_vec();
    if [offsets.get(), inner] != expected {
        return Err(format!("{m} x {k} x {n}, bases {bases:?}, wide {wide}: offsets or columns are wrong"));
    }
    let found = values.get();
    let found = found.chunks(kind.bytes()).map(|bytes| kind.decode(bytes));
    for ((at, (sum, bound)), (found, old)) in wanted.iter().zip(found.zip(old)) {
        let wanted = plus(times(scalars[0], *sum), times(scalars[1], old));
        let bound = size(scalars[0]) * bound + size(times(scalars[1], old));
        if !near(found, wanted, 8.0 * (k as f64 + 8.0) * kind.unit() * bound) {
            return Err(format!("{m} x {k} x {n}, type {}: {at:?} is {found:?}, not {wanted:?}", kind.0));
        }
    }
    Ok(())
}

/// A product of vectors whose result is the host's: a launch and a copy in a graph.
#[test]
fn a_product_of_vectors_is_captured() {
    let _devices = devices();
    let handle = handle();
    let (indices, x, y) =
        (Memory::with(&[1_i32, 3]), Memory::with(&[2_f32, 5.0]), Memory::with(&[7_f32, 11.0, 13.0, 17.0]));
    let (mut sparse, mut dense, mut stream) = (0_usize, 0_usize, 0_usize);
    let (mut graph, mut executable, mut result) = (0_usize, 0_usize, 0_f32);
    let place = into(&mut result);
    let made = c!("cusparseCreateSpVec", into(&mut sparse), 4_i64, 2_i64, indices.address, x.address, 2, 0, 0);
    assert_eq!((made, c!("cusparseCreateDnVec", into(&mut dense), 4_i64, y.address, 0)), (0, 0));
    assert_eq!(c!("cuStreamCreate", into(&mut stream), 0_u32), 0);
    let [sparse, dense, stream] = std::hint::black_box([sparse, dense, stream]);
    assert_eq!(c!("cusparseSetStream", handle, stream), 0);
    assert_eq!(c!("cuStreamBeginCapture_v2", stream, 0_i32), 0);
    assert_eq!(c!("cusparseSpVV", handle, 0, sparse, dense, place, 0, 0_usize), 0);
    assert_eq!(c!("cuStreamEndCapture", stream, into(&mut graph)), 0);
    assert_eq!(std::hint::black_box(result), 0.0, "a capture computes nothing");
    assert_eq!(c!("cuGraphInstantiateWithFlags", into(&mut executable), std::hint::black_box(graph), 0_u64), 0);
    assert_eq!(c!("cuGraphLaunch", std::hint::black_box(executable), stream), 0);
    assert_eq!(c!("cuStreamSynchronize", stream), 0);
    // A result that the compiler cannot know.
    assert_eq!(*std::hint::black_box(&result), 2.0 * 11.0 + 5.0 * 17.0);
    assert_eq!([c!("cusparseDestroySpVec", sparse), c!("cusparseDestroyDnVec", dense)], [0; 2]);
    assert_eq!([c!("cuStreamDestroy_v2", stream), c!("cusparseDestroy", handle)], [0; 2]);
}
