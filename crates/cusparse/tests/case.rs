//! A product with its matrices.

use crate::library::{Memory, at, into};
use crate::number::{Complex, Kind, Random, indices, plus, size, times};

/// A sparse matrix as its entries, in the order of lines.
#[derive(Clone, Debug)]
pub struct Sparse {
    pub rows: usize,
    pub columns: usize,
    pub entries: Vec<(usize, usize, Complex)>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Format {
    Rows,
    Columns,
    Coordinates,
}

impl Sparse {
    pub fn draw(random: &mut Random, kind: Kind, rows: usize, columns: usize) -> Self {
        let share = random.one_of(&[1, 2, 5, 20]);
        let mut entries = Vec::new();
        for row in 0..rows {
            // Rows without entries, and long ones.
            let share = random.one_of(&[share, share, 1, 1000]);
            for column in 0..columns {
                if random.once_in(share) {
                    entries.push((row, column, kind.number(random)));
                }
            }
        }
        Self { rows, columns, entries }
    }

    /// Entries in the order of a format.
    pub fn ordered(&self, format: Format) -> Vec<(usize, usize, Complex)> {
        let mut entries = self.entries.clone();
        if format == Format::Columns {
            entries.sort_by_key(|(row, column, _)| (*column, *row));
        }
        entries
    }

    /// The first array of a format: offsets, or rows.
    pub fn first_array(&self, format: Format) -> Vec<usize> {
        let lines = if format == Format::Columns { self.columns } else { self.rows };
        let line = |entry: &(usize, usize, Complex)| if format == Format::Columns { entry.1 } else { entry.0 };
        match format {
            Format::Coordinates => self.entries.iter().map(line).collect(),
            _ => (0..=lines).map(|end| self.entries.iter().filter(|entry| line(entry) < end).count()).collect(),
        }
    }

    pub fn second_array(&self, format: Format) -> Vec<usize> {
        self.ordered(format).iter().map(|entry| if format == Format::Columns { entry.0 } else { entry.1 }).collect()
    }
}

/// A dense matrix: its storage.
#[derive(Clone, Debug)]
pub struct Dense {
    pub rows: usize,
    pub columns: usize,
    pub leading: usize,
    pub by_rows: bool,
    pub numbers: Vec<Complex>,
}

impl Dense {
    pub fn draw(random: &mut Random, kind: Kind, rows: usize, columns: usize) -> Self {
        let by_rows = random.once_in(2);
        let (inner, outer) = if by_rows { (columns, rows) } else { (rows, columns) };
        let leading = inner.max(1) + random.below(3);
        let numbers = (0..leading * outer).map(|_| kind.number(random)).collect();
        Self { rows, columns, leading, by_rows, numbers }
    }

    /// A matrix of one column becomes a vector.
    pub fn make_vector(&mut self) {
        (self.by_rows, self.leading) = (false, self.rows);
        self.numbers.truncate(self.rows);
    }

    pub fn place(&self, row: usize, column: usize) -> usize {
        if self.by_rows { row * self.leading + column } else { column * self.leading + row }
    }
}

pub struct Case {
    kind: Kind,
    format: Format,
    wide: [bool; 2],
    base: usize,
    ops: [usize; 2],
    with_vector: bool,
    on_device: bool,
    scalars: [Complex; 2],
    /// A, B and C of each member of the batch, C as it was.
    members: Vec<(Sparse, Dense, Dense)>,
    shared: bool,
    text: String,
}

/// A number after an operation.
pub fn used(x: Complex, op: usize) -> Complex {
    if op == 2 { [x[0], -x[1]] } else { x }
}

impl Case {
    pub fn draw(random: &mut Random) -> Self {
        let kind = Kind::any(random);
        let format = random.one_of(&[Format::Rows, Format::Columns, Format::Coordinates]);
        let with_vector = random.once_in(2);
        let mut wide = [random.once_in(2), random.once_in(2)];
        if format == Format::Coordinates {
            wide[1] = wide[0];
        }
        let most = random.one_of(&[5, 40, 120]);
        let [m, k] = [0; 2].map(|_| 1 + random.below(most));
        let n = if with_vector { 1 } else { 1 + random.below(most.min(40)) };
        let ops = [random.below(3), if with_vector { 0 } else { random.below(3) }];
        let shape = |rows, columns, op| if op == 0 { [rows, columns] } else { [columns, rows] };
        let ([rows, columns], of_b) = (shape(m, k, ops[0]), shape(k, n, ops[1]));
        let mut scalar = || if random.once_in(4) { [0.0; 2] } else { kind.number(random) };
        let scalars = [scalar(), scalar()];
        let batch = if with_vector || !random.once_in(4) { 1 } else { 2 + random.below(2) };
        let shared = random.once_in(2);
        let mut members: Vec<(Sparse, Dense, Dense)> = Vec::new();
        for _ in 0..batch {
            let mut one = (
                Sparse::draw(random, kind, rows, columns),
                Dense::draw(random, kind, of_b[0], of_b[1]),
                Dense::draw(random, kind, m, n),
            );
            if let Some((a, b, c)) = members.first() {
                // Members are stored alike.
                one.0.entries = a.entries.iter().map(|(i, j, _)| (*i, *j, kind.number(random))).collect();
                if shared {
                    one.0 = a.clone();
                }
                one.1 = Dense { numbers: b.numbers.iter().map(|_| kind.number(random)).collect(), ..b.clone() };
                one.2 = Dense { numbers: c.numbers.iter().map(|_| kind.number(random)).collect(), ..c.clone() };
            } else if with_vector {
                one.1.make_vector();
                one.2.make_vector();
            }
            members.push(one);
        }
        let base = random.below(2);
        let text = format!(
            "{format:?} {rows} x {columns}, {} entries, {n} columns, type {}, operations {ops:?}, wide {wide:?}, base {base}, \
             {batch} members",
            members[0].0.entries.len(),
            kind.0
        );
        let on_device = random.once_in(2);
        Self { kind, format, wide, base, ops, with_vector, on_device, scalars, members, shared, text }
    }

    /// Runs the case. Returns what is wrong.
    pub fn run(&self) -> Result<(), String> {
        self.compare().map_err(|why| format!("{}: {why}", self.text))
    }

    fn compare(&self) -> Result<(), String> {
        let Self { kind, format, .. } = *self;
        let bytes = |numbers: &[Complex]| numbers.iter().flat_map(|x| kind.encode(*x)).collect::<Vec<u8>>();
        let first = &self.members[0];
        let batch = self.members.len();
        let of_a = if self.shared { 1 } else { batch };
        let (mut offsets, mut inner, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for (a, ..) in &self.members[..of_a] {
            offsets.extend(indices(&a.first_array(format), self.wide[0], self.base));
            inner.extend(indices(&a.second_array(format), self.wide[1], self.base));
            values.extend(bytes(&a.ordered(format).iter().map(|entry| entry.2).collect::<Vec<_>>()));
        }
        let [offsets, inner, values] = [offsets, inner, values].map(|all| Memory::with(&all));
        let b = Memory::with(&self.members.iter().flat_map(|(_, b, _)| bytes(&b.numbers)).collect::<Vec<_>>());
        let c = Memory::with(&self.members.iter().flat_map(|(_, _, c)| bytes(&c.numbers)).collect::<Vec<_>>());
        let (rows, columns, entries) = (first.0.rows as i64, first.0.columns as i64, first.0.entries.len() as i64);
        let (mut a_at, mut b_at, mut c_at) = (0_usize, 0_usize, 0_usize);
        let [offsets_kind, inner_kind] = self.wide.map(|wide| if wide { 3_i32 } else { 2 });
        let base = self.base as i32;
        let made = match format {
            Format::Coordinates => c!(
                "cusparseCreateCoo",
                into(&mut a_at),
                rows,
                columns,
                entries,
                offsets.address,
                inner.address,
                values.address,
                offsets_kind,
                base,
                kind.0
            ),
            _ => {
                let name = if format == Format::Rows { "cusparseCreateCsr" } else { "cusparseCreateConstCsc" };
                c!(
                    name,
                    into(&mut a_at),
                    rows,
                    columns,
                    entries,
                    offsets.address,
                    inner.address,
                    values.address,
                    offsets_kind,
                    inner_kind,
                    base,
                    kind.0
                )
            }
        };
        assert_eq!(made, 0);
        for (place, matrix, memory) in [(&mut b_at, &first.1, b.address), (&mut c_at, &first.2, c.address)] {
            let code = if self.with_vector {
                c!("cusparseCreateDnVec", into(place), matrix.rows as i64, memory, kind.0)
            } else {
                let order = if matrix.by_rows { 2_i32 } else { 1 };
                c!(
                    "cusparseCreateDnMat",
                    into(place),
                    matrix.rows as i64,
                    matrix.columns as i64,
                    matrix.leading as i64,
                    memory,
                    kind.0,
                    order
                )
            };
            assert_eq!(code, 0);
        }
        if batch > 1 {
            let count = of_a as i32;
            let code = if format == Format::Coordinates {
                c!("cusparseCooSetStridedBatch", a_at, count, entries)
            } else {
                let lines = first.0.first_array(format).len() as i64;
                c!("cusparseCsrSetStridedBatch", a_at, count, lines, entries)
            };
            assert_eq!(code, 0);
            for (matrix, descriptor) in [(&first.1, b_at), (&first.2, c_at)] {
                let stride = matrix.numbers.len() as i64;
                assert_eq!(c!("cusparseDnMatSetStridedBatch", descriptor, batch as i32, stride), 0);
            }
        }
        let mut handle = 0_usize;
        assert_eq!(c!("cusparseCreate", into(&mut handle)), 0);
        assert_eq!(c!("cusparseSetPointerMode", handle, i32::from(self.on_device)), 0);
        let encoded = self.scalars.map(|x| kind.encode(x));
        let on_device = encoded.each_ref().map(|bytes| Memory::with(bytes));
        let [alpha, beta] = if self.on_device {
            on_device.each_ref().map(|memory| memory.address)
        } else {
            encoded.each_ref().map(|bytes| at(bytes.as_slice()))
        };
        let (op_a, op_b) = (self.ops[0] as i32, self.ops[1] as i32);
        let mut buffer = 1_usize;
        if self.with_vector {
            let call = |name: &str, last: usize| {
                assert_eq!(c!(name, handle, op_a, alpha, a_at, b_at, beta, c_at, kind.0, 0_i32, last), 0, "{name}");
            };
            call("cusparseSpMV_bufferSize", into(&mut buffer));
            call("cusparseSpMV_preprocess", 0);
            call("cusparseSpMV", 0);
        } else {
            let call = |name: &str, last: usize| {
                let code = c!(name, handle, op_a, op_b, alpha, a_at, b_at, beta, c_at, kind.0, 0_i32, last);
                assert_eq!(code, 0, "{name}: {}", self.text);
            };
            call("cusparseSpMM_bufferSize", into(&mut buffer));
            call("cusparseSpMM_preprocess", 0);
            call("cusparseSpMM", 0);
        }
        assert_eq!(buffer, 0);
        let found = c.get();
        let destroy = if self.with_vector { "cusparseDestroyDnVec" } else { "cusparseDestroyDnMat" };
        assert_eq!([c!("cusparseDestroySpMat", a_at), c!(destroy, b_at), c!(destroy, c_at)], [0; 3]);
        assert_eq!(c!("cusparseDestroy", handle), 0);
        let found: Vec<Complex> = found.chunks(kind.bytes()).map(|bytes| kind.decode(bytes)).collect();
        let each = first.2.numbers.len();
        for (member, (a, b, c)) in self.members.iter().enumerate() {
            self.check(a, b, c, &found[member * each..(member + 1) * each])
                .map_err(|why| format!("member {member}, {why}"))?;
        }
        Ok(())
    }

    fn check(&self, a: &Sparse, b: &Dense, c: &Dense, found: &[Complex]) -> Result<(), String> {
        let [alpha, beta] = self.scalars;
        let mut expected: Vec<(Complex, f64, bool)> = c.numbers.iter().map(|x| (*x, 0.0, false)).collect();
        for row in 0..c.rows {
            for column in 0..c.columns {
                let place = &mut expected[c.place(row, column)];
                let before = if beta == [0.0; 2] { beta } else { times(beta, place.0) };
                *place = (before, size(before), true);
            }
        }
        for (row, column, x) in &a.entries {
            let (i, k) = if self.ops[0] == 0 { (*row, *column) } else { (*column, *row) };
            for j in 0..c.columns {
                let of_b = if self.ops[1] == 0 { b.place(k, j) } else { b.place(j, k) };
                let term = times(alpha, times(used(*x, self.ops[0]), used(b.numbers[of_b], self.ops[1])));
                let place = &mut expected[c.place(i, j)];
                place.0 = plus(place.0, term);
                place.1 += 4.0 * size(term);
            }
        }
        let terms = a.rows.max(a.columns) as f64;
        for (i, ((wanted, size, written), x)) in expected.iter().zip(found).enumerate() {
            let tolerance = if *written { 2.0 * (terms + 8.0) * self.kind.unit() * size } else { 0.0 };
            // Unwritten elements were rounded when stored.
            let rounded = self.kind.decode(&self.kind.encode(*wanted));
            let wanted = if *written { *wanted } else { rounded };
            if (0..2).any(|part| (x[part] - wanted[part]).abs() > tolerance) {
                return Err(format!("number {i} of C is {x:?}, not {wanted:?} within {tolerance:e}"));
            }
        }
        Ok(())
    }
}
