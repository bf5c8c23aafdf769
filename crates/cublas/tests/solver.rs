//! Calls of small linear systems, and packed triangles.

use crate::case::{Argument, At, Buffer, Case, Choice, Each, Leading, Null, Place, Size};
use crate::level2::rounded;
use crate::matrix::{Form, Matrix, Shape, Store, triangle};
use crate::number::{C, D, I32, Kind, Num, S, Z, ZERO};
use crate::rows::Rows;

/// A factorisation as LAPACK has it: both factors in one matrix, and the exchanges of rows from 1.
struct Factors {
    both: Matrix,
    pivots: Vec<usize>,
}

/// LU of matrices whose pivots are far from those that are not chosen.
fn factorised(a: &Matrix, pivoted: bool) -> Factors {
    let n = a.rows;
    let mut lines: Vec<Vec<Num>> = (0..n).map(|i| (0..n).map(|j| a.at(i, j)).collect()).collect();
    let mut pivots = Vec::new();
    for j in 0..n {
        let mut chosen = j;
        for i in j..n {
            if pivoted && lines[i][j].magnitude() > lines[chosen][j].magnitude() {
                chosen = i;
            }
        }
        lines.swap(j, chosen);
        pivots.push(chosen + 1);
        // A step whose pivot is zero is left out.
        for i in if lines[j][j].is_zero() { n..n } else { j + 1..n } {
            let by = lines[i][j] / lines[j][j];
            lines[i][j] = by;
            let (above, below) = lines.split_at_mut(i);
            for (x, pivot) in below[0].iter_mut().zip(&above[j]).skip(j + 1) {
                *x = *x - by * *pivot;
            }
        }
    }
    Factors { both: Matrix::new(n, n, |i, j| lines[i][j]), pivots }
}

/// A matrix with rows in any order, by which LU must exchange them, but for that order well conditioned.
fn system(case: &mut Case, kind: Kind, n: usize, shuffled: bool) -> Matrix {
    let a = Matrix::random(case, kind, n, n).dominant().map(|x| rounded(kind, x));
    let mut order: Vec<usize> = (0..n).collect();
    for i in (1..n).rev() {
        if shuffled {
            order.swap(i, case.random.below(i + 1));
        }
    }
    Matrix::new(n, n, |i, j| a.at(order[i], j))
}

/// The members of a batch by pointers.
fn list(case: &mut Case, kind: Kind, leading: usize, matrices: &[Matrix], expected: Option<&[Matrix]>) -> Argument {
    let numbers: Vec<usize> = matrices.iter().map(|x| case.matrix(kind, Store::full(leading), x)).collect();
    for (number, matrix) in numbers.iter().zip(expected.into_iter().flatten()) {
        case.expect_matrix(*number, Store::full(leading), matrix);
    }
    Each(numbers)
}

/// Places for results of a batch.
fn places(case: &mut Case, kind: Kind, leading: usize, n: usize, expected: &[Matrix]) -> Argument {
    let nothing = Matrix::new(n, n, |_, _| ZERO);
    let mut numbers = Vec::new();
    for matrix in expected {
        let number = case.matrix_unless(true, kind, Store::full(leading), &nothing);
        case.expect_matrix(number, Store::full(leading), matrix);
        numbers.push(number);
    }
    Each(numbers)
}

/// Integers on the device: given, or expected.
fn integers(case: &mut Case, place: Place, values: &[usize], expected: bool) -> Argument {
    let mut buffer = Buffer::new(I32, place, values.len().max(1));
    for (index, value) in values.iter().enumerate() {
        let x = Num { size: 0.0, ..Num::real(*value as f64) };
        if expected { buffer.expect(index, x) } else { buffer.put(index, x) }
    }
    At(case.buffer(buffer))
}

/// A batch of systems with its factors.
struct Batch {
    n: usize,
    count: usize,
    pivoted: bool,
    matrices: Vec<Matrix>,
    factors: Vec<Factors>,
}

impl Batch {
    fn new(case: &mut Case, kind: Kind, most: usize) -> Self {
        case.unit = kind.unit();
        let (n, count, pivoted) = (case.size().min(most), case.random.below(4), case.random.once_in(2));
        case.terms = 4 * n;
        let matrices: Vec<Matrix> = (0..count).map(|_| system(case, kind, n, pivoted)).collect();
        let factors = matrices.iter().map(|a| factorised(a, pivoted)).collect();
        Self { n, count, pivoted, matrices, factors }
    }

    fn pivots(&self) -> Vec<usize> {
        self.factors.iter().flat_map(|factors| factors.pivots.clone()).collect()
    }

    /// The factors as numbers of the type, with the sizes that bound errors of what follows.
    fn both(&self, kind: Kind) -> Vec<Matrix> {
        self.factors.iter().map(|factors| factors.both.map(|x| rounded(kind, x))).collect()
    }

    /// The solution for right-hand sides, from the exact matrix.
    fn solve(&self, number: usize, op: i64, b: &Matrix) -> Matrix {
        let used = self.matrices[number].used(op);
        let factors = factorised(&used, true);
        let mut order: Vec<usize> = (0..self.n).collect();
        for (i, other) in factors.pivots.iter().enumerate() {
            order.swap(i, other - 1);
        }
        let exchanged = Matrix::new(b.rows, b.columns, |i, j| b.at(order[i], j));
        let lower = factors.both.shaped(Shape::Triangular { unit: true }, false);
        let upper = factors.both.shaped(Shape::Triangular { unit: false }, true);
        // Rounding of the factors counts as much as that of the solution.
        upper.solve(true, &lower.solve(false, &exchanged)).map(|x| Num { size: 4.0 * x.size, ..x })
    }
}

fn getrf(case: &mut Case, kind: Kind) {
    let mut batch = Batch::new(case, kind, 70);
    let mut info = vec![0; batch.count];
    if batch.n > 2 && batch.count > 0 && !batch.pivoted && case.random.once_in(4) {
        // A pivot that is zero ends nothing, and is named.
        let a = &batch.matrices[0];
        let singular = Matrix::new(batch.n, batch.n, |i, j| if j == 1 { ZERO } else { a.at(i, j) });
        batch.factors[0] = factorised(&singular, false);
        batch.matrices[0] = singular;
        info[0] = 2;
    }
    let leading = case.leading(batch.n);
    let expected: Vec<Matrix> = batch.factors.iter().map(|factors| factors.both.clone()).collect();
    let at_a = list(case, kind, leading, &batch.matrices, Some(&expected));
    let pivots = if batch.pivoted { integers(case, Place::Device, &batch.pivots(), true) } else { Null };
    let info = integers(case, Place::Device, &info, true);
    case.arguments = vec![Size(batch.n), at_a, Leading(leading, batch.n), pivots, info, Size(batch.count)];
}

fn getrs(case: &mut Case, kind: Kind) {
    let batch = Batch::new(case, kind, 70);
    let (op, sides) = (crate::level2::op(case), case.size().min(40));
    let (lda, ldb) = (case.leading(batch.n), case.leading(batch.n));
    let given: Vec<Matrix> = (0..batch.count).map(|_| Matrix::random(case, kind, batch.n, sides)).collect();
    let solved: Vec<Matrix> = given.iter().enumerate().map(|(number, b)| batch.solve(number, op, b)).collect();
    let at_a = list(case, kind, lda, &batch.both(kind), None);
    let at_b = list(case, kind, ldb, &given, Some(&solved));
    let pivots = if batch.pivoted { integers(case, Place::Device, &batch.pivots(), false) } else { Null };
    let info = integers(case, Place::Host, &[0], true);
    case.arguments = vec![Choice(op), Size(batch.n), Size(sides), at_a, Leading(lda, batch.n), pivots, at_b];
    case.arguments.extend([Leading(ldb, batch.n), info, Size(batch.count)]);
}

fn identity(n: usize) -> Matrix {
    Matrix::new(n, n, |i, j| if i == j { Num::real(1.0) } else { ZERO })
}

fn getri(case: &mut Case, kind: Kind) {
    let batch = Batch::new(case, kind, 70);
    let (lda, ldc) = (case.leading(batch.n), case.leading(batch.n));
    let inverses: Vec<Matrix> = (0..batch.count).map(|number| batch.solve(number, 0, &identity(batch.n))).collect();
    let at_a = list(case, kind, lda, &batch.both(kind), None);
    let pivots = if batch.pivoted { integers(case, Place::Device, &batch.pivots(), false) } else { Null };
    let at_c = places(case, kind, ldc, batch.n, &inverses);
    let info = integers(case, Place::Device, &vec![0; batch.count], batch.n > 0);
    case.arguments =
        vec![Size(batch.n), at_a, Leading(lda, batch.n), pivots, at_c, Leading(ldc, batch.n), info, Size(batch.count)];
}

fn matinv(case: &mut Case, kind: Kind) {
    let batch = Batch::new(case, kind, 32);
    let (lda, ldc) = (case.leading(batch.n), case.leading(batch.n));
    let inverses: Vec<Matrix> = (0..batch.count).map(|number| batch.solve(number, 0, &identity(batch.n))).collect();
    let at_a = list(case, kind, lda, &batch.matrices, None);
    let at_c = places(case, kind, ldc, batch.n, &inverses);
    let info = integers(case, Place::Device, &vec![0; batch.count], batch.n > 0);
    case.arguments =
        vec![Size(batch.n), at_a, Leading(lda, batch.n), at_c, Leading(ldc, batch.n), info, Size(batch.count)];
}

/// A triangle from a full matrix to a packed one, or back.
fn pack(case: &mut Case, kind: Kind, unpacks: bool) {
    let (n, upper) = (case.size(), case.random.once_in(2));
    let leading = case.leading(n);
    let a = Matrix::random(case, kind, n, n);
    let full = Store { form: Form::Full { leading }, part: triangle(upper, true) };
    let packed = Store { form: Form::Packed { upper }, part: triangle(upper, true) };
    let (at_full, at_packed) =
        (case.matrix_unless(unpacks, kind, full, &a), case.matrix_unless(!unpacks, kind, packed, &a));
    let (to, store) = if unpacks { (at_full, full) } else { (at_packed, packed) };
    case.expect_matrix(to, store, &a);
    let full = vec![At(at_full), Leading(leading, n)];
    let sides = if unpacks { [vec![At(at_packed)], full] } else { [full, vec![At(at_packed)]] };
    case.arguments = [vec![Choice(upper.into()), Size(n)], sides.concat()].concat();
}

pub fn rows(rows: &mut Rows) {
    for (letter, kind) in [("S", S), ("D", D), ("C", C), ("Z", Z)] {
        rows.single(format!("cublas{letter}getrfBatched"), move |case| getrf(case, kind));
        rows.single(format!("cublas{letter}getrsBatched"), move |case| getrs(case, kind));
        rows.single(format!("cublas{letter}getriBatched"), move |case| getri(case, kind));
        rows.single(format!("cublas{letter}matinvBatched"), move |case| matinv(case, kind));
        rows.single(format!("cublas{letter}trttp"), move |case| pack(case, kind, false));
        rows.single(format!("cublas{letter}tpttr"), move |case| pack(case, kind, true));
    }
}
