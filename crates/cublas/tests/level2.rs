//! Calls of level 2.

use crate::case::{Argument, At, Buffer, Case, Choice, Each, Increment, Leading, Number, Place, Size};
use crate::matrix::{Form, Matrix, Part, Shape, Store, triangle};
use crate::number::{B, C, D, H, Kind, Num, S, Z};
use crate::rows::Rows;

use Shape::{Hermitian, Symmetric};

/// Types of a product: of the matrix and x, of y, of the scalars.
type Types = [Kind; 3];

/// How the matrix of a function is stored.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stored {
    Full,
    Band,
    Packed,
}

use Stored::{Band, Full, Packed};

/// op for a matrix of a type: real ones have no conjugates.
pub fn op(case: &mut Case) -> i64 {
    case.random.below(3) as i64
}

/// y = alpha * op(A) * x + beta * y: arguments and buffers for a matrix with its arguments.
fn product(case: &mut Case, kind: Kind, a: &Matrix, at_a: impl FnOnce(&mut Case, bool), before: Vec<Argument>) {
    case.unit = kind.unit();
    case.terms = a.columns;
    let (incx, incy) = (case.increment(), case.increment());
    let (alpha, beta) = (case.random.factor(kind), case.random.factor(kind));
    let (x, y) = (case.numbers(kind, a.columns), case.numbers(kind, a.rows));
    case.arguments = before;
    let alpha_at = case.scalar(kind, alpha);
    case.arguments.push(alpha_at);
    // Without a factor neither the matrix nor x is read.
    let unused = alpha.is_zero();
    at_a(case, unused);
    let at_x =
        if unused { case.vector(kind, &vec![Num::real(f64::NAN); x.len()], incx) } else { case.vector(kind, &x, incx) };
    let beta_at = case.scalar(kind, beta);
    let nothing = vec![Num::real(f64::NAN); y.len()];
    let at_y = case.vector(kind, if beta.is_zero() { &nothing } else { &y }, incy);
    case.arguments.extend([At(at_x), Increment(incx), beta_at, At(at_y), Increment(incy)]);
    // A matrix without rows or columns changes nothing.
    if a.rows > 0 && a.columns > 0 {
        let y = a.times(&Matrix::column(&x)).scaled(alpha, beta, &Matrix::column(&y));
        case.expect(at_y, y.elements(), incy);
    }
}

fn gemv(case: &mut Case, kind: Kind) {
    let (m, n, op) = (case.size(), case.size(), op(case));
    let leading = case.leading(m);
    let a = Matrix::random(case, kind, m, n);
    let before = vec![Choice(op), Size(m), Size(n)];
    product(
        case,
        kind,
        &a.used(op),
        |case, unused| {
            let at_a = case.matrix_unless(unused, kind, Store::full(leading), &a);
            case.arguments.extend([At(at_a), Leading(leading, m)]);
        },
        before,
    );
}

fn gbmv(case: &mut Case, kind: Kind) {
    let (m, n, op) = (case.size(), case.size(), op(case));
    let (below, above) = (case.random.below(8), case.random.below(8));
    let leading = case.leading(below + above + 1);
    let a = Matrix::random(case, kind, m, n).banded(below, above);
    let store = Store { form: Form::Band { leading, below, above }, part: Part::All };
    let before = vec![Choice(op), Size(m), Size(n), Size(below), Size(above)];
    product(
        case,
        kind,
        &a.used(op),
        |case, unused| {
            let at_a = case.matrix_unless(unused, kind, store, &a);
            case.arguments.extend([At(at_a), Leading(leading, below + above + 1)]);
        },
        before,
    );
}

/// A triangle with how it is stored: the matrix as it is used, as it is in memory, its arguments.
struct Triangle {
    upper: bool,
    k: usize,
    leading: usize,
    store: Store,
    used: Matrix,
    /// As it is in memory: the diagonal of a Hermitian one has any imaginary parts.
    kept: Matrix,
}

impl Triangle {
    fn new(case: &mut Case, kind: Kind, shape: Shape, stored: Stored, dominant: bool) -> Self {
        let n = case.size();
        let upper = case.random.once_in(2);
        let k = case.random.below(9);
        let leading = case.leading(if stored == Band { k + 1 } else { n });
        let (below, above) = if upper { (0, k) } else { (k, 0) };
        let mut kept = Matrix::random(case, kind, n, n);
        if dominant {
            kept = kept.dominant();
            // The numbers of the type that are in memory are what the reference computes with.
            kept = kept.map(|x| rounded(kind, x));
        }
        if stored == Band {
            kept = kept.banded(below, above);
        }
        let used = kept.shaped(shape, upper);
        let diagonal = shape != Shape::Triangular { unit: true };
        if shape == Hermitian {
            kept = kept.with_any_diagonal();
        }
        let form = match stored {
            Full => Form::Full { leading },
            Band => Form::Band { leading, below, above },
            Packed => Form::Packed { upper },
        };
        Self { upper, k, leading, store: Store { form, part: triangle(upper, diagonal) }, used, kept }
    }

    /// Its order, and the number of its diagonals if it is a band.
    fn sizes(&self) -> Vec<Argument> {
        let band = matches!(self.store.form, Form::Band { .. });
        [Size(self.used.rows)].into_iter().chain(band.then_some(Size(self.k))).collect()
    }

    /// Its buffer and leading dimension.
    fn push(&self, case: &mut Case, kind: Kind, unused: bool) -> usize {
        let at_a = case.matrix_unless(unused, kind, self.store, &self.kept);
        case.arguments.push(At(at_a));
        match self.store.form {
            Form::Band { .. } => case.arguments.push(Leading(self.leading, self.k + 1)),
            Form::Full { .. } => case.arguments.push(Leading(self.leading, self.used.rows)),
            _ => (),
        }
        at_a
    }
}

/// A number as a type has it.
pub fn rounded(kind: Kind, x: Num) -> Num {
    let (re, im) = kind.decode(&kind.encode(x));
    Num::new(re, im)
}

fn symv(case: &mut Case, kind: Kind, shape: Shape, stored: Stored) {
    let a = Triangle::new(case, kind, shape, stored, false);
    let before = [vec![Choice(a.upper.into())], a.sizes()].concat();
    product(
        case,
        kind,
        &a.used,
        |case, unused| {
            a.push(case, kind, unused);
        },
        before,
    );
}

/// x = op(A) * x, or the solution of op(A) * x = b.
fn trmv(case: &mut Case, kind: Kind, stored: Stored, solves: bool) {
    case.unit = kind.unit();
    let (op, unit) = (op(case), case.random.once_in(2));
    let a = Triangle::new(case, kind, Shape::Triangular { unit }, stored, solves);
    let n = a.used.rows;
    case.terms = n;
    case.arguments = [vec![Choice(a.upper.into()), Choice(op), Choice(unit.into())], a.sizes()].concat();
    a.push(case, kind, false);
    let (x, increment) = (case.numbers(kind, n), case.increment());
    let at_x = case.vector(kind, &x, increment);
    case.arguments.extend([At(at_x), Increment(increment)]);
    let (used, x) = (a.used.used(op), Matrix::column(&x));
    let result = if solves { used.solve(a.upper == (op == 0), &x) } else { used.times(&x) };
    case.expect(at_x, result.elements(), increment);
}

fn ger(case: &mut Case, kind: Kind, conj: bool) {
    case.unit = kind.unit();
    let (m, n, incx, incy) = (case.size(), case.size(), case.increment(), case.increment());
    let (leading, alpha) = (case.leading(m), case.random.factor(kind));
    let (x, y, a) = (case.numbers(kind, m), case.numbers(kind, n), Matrix::random(case, kind, m, n));
    let alpha_at = case.scalar(kind, alpha);
    let (at_x, at_y) = (case.vector(kind, &x, incx), case.vector(kind, &y, incy));
    let at_a = case.matrix(kind, Store::full(leading), &a);
    case.arguments = vec![
        Size(m),
        Size(n),
        alpha_at,
        At(at_x),
        Increment(incx),
        At(at_y),
        Increment(incy),
        At(at_a),
        Leading(leading, m),
    ];
    let new = Matrix::new(m, n, |i, j| a.at(i, j) + alpha * x[i] * y[j].conj_if(conj));
    case.expect_matrix(at_a, Store::full(leading), &new);
}

/// Updates of a triangle by one vector or two.
fn update(case: &mut Case, kind: Kind, shape: Shape, stored: Stored, two: bool) {
    case.unit = kind.unit();
    let hermitian = shape == Hermitian;
    let a = Triangle::new(case, kind, shape, stored, false);
    let n = a.used.rows;
    let (incx, incy) = (case.increment(), case.increment());
    let of = if hermitian && !two { kind.of_reals() } else { kind };
    let alpha = case.random.factor(of);
    let (x, y) = (case.numbers(kind, n), case.numbers(kind, n));
    let alpha_at = case.scalar(of, alpha);
    let at_x = case.vector(kind, &x, incx);
    case.arguments = vec![Choice(a.upper.into()), Size(n), alpha_at, At(at_x), Increment(incx)];
    if two {
        let at_y = case.vector(kind, &y, incy);
        case.arguments.extend([At(at_y), Increment(incy)]);
    }
    let at_a = a.push(case, kind, false);
    if alpha.is_zero() {
        return;
    }
    let new = Matrix::new(n, n, |i, j| {
        let added = if two {
            alpha * x[i] * y[j].conj_if(hermitian) + alpha.conj_if(hermitian) * y[i] * x[j].conj_if(hermitian)
        } else {
            alpha * x[i] * x[j].conj_if(hermitian)
        };
        let sum = a.used.at(i, j) + added;
        if hermitian && i == j { sum.only_real() } else { sum }
    });
    case.expect_matrix(at_a, a.store, &new);
}

/// Batches of products, by pointers or by strides.
fn batch(case: &mut Case, [kind, to, of]: Types, strided: bool) {
    case.unit = of.unit();
    let (m, n, count, op) = (case.size().min(70), case.size().min(70), case.random.below(4), op(case));
    let (leading, incx, incy) = (case.leading(m), case.random.one_of(&[1, 2]), case.random.one_of(&[1, 3]));
    let (alpha, beta) = (case.random.factor(of), case.random.factor(of));
    case.terms = m.max(n);
    let [length_x, length_y] = if op == 0 { [n, m] } else { [m, n] };
    let many: Vec<[Matrix; 3]> = (0..count)
        .map(|_| {
            [(kind, m, n), (kind, length_x, 1), (to, length_y, 1)]
                .map(|(kind, rows, columns)| Matrix::random(case, kind, rows, columns))
        })
        .collect();
    let results: Vec<Matrix> = many.iter().map(|[a, x, y]| a.used(op).times(x).scaled(alpha, beta, y)).collect();
    let (alpha_at, beta_at) = (case.scalar(of, alpha), case.scalar(of, beta));
    let changes = m > 0 && n > 0;
    let forms = [Form::Full { leading }, Form::Rows { leading: incx as usize }, Form::Rows { leading: incy as usize }];
    let mut addresses = Vec::new();
    let mut strides = Vec::new();
    for (which, form) in forms.into_iter().enumerate() {
        let kind = if which == 2 { to } else { kind };
        let store = Store { form, part: Part::All };
        let matrices: Vec<&Matrix> = many.iter().map(|each| &each[which]).collect();
        let expected: Vec<&Matrix> = if which == 2 && changes { results.iter().collect() } else { Vec::new() };
        let (address, stride) = members(case, kind, store, &matrices, &expected, which == 2 && beta.is_zero(), strided);
        addresses.push(address);
        strides.push(stride);
    }
    let [at_a, at_x, at_y] = addresses.try_into().expect("three");
    let stride = |number: usize| strided.then(|| Number(strides[number])).into_iter();
    case.arguments = [Choice(op), Size(m), Size(n), alpha_at, at_a, Leading(leading, m)]
        .into_iter()
        .chain(stride(0))
        .chain([at_x, Increment(incx)])
        .chain(stride(1))
        .chain([beta_at, at_y, Increment(incy)])
        .chain(stride(2))
        .chain([Size(count)])
        .collect();
}

/// The matrices of a batch: an array of their addresses, or a buffer and the distance between them.
pub fn members(
    case: &mut Case,
    kind: Kind,
    store: Store,
    matrices: &[&Matrix],
    expected: &[&Matrix],
    unused: bool,
    strided: bool,
) -> (Argument, i64) {
    if !strided {
        let numbers: Vec<usize> =
            matrices.iter().map(|matrix| case.matrix_unless(unused, kind, store, matrix)).collect();
        for (number, matrix) in numbers.iter().zip(expected) {
            case.expect_matrix(*number, store, matrix);
        }
        return (Each(numbers), 0);
    }
    let length = matrices.iter().map(|matrix| store.length(matrix)).max().unwrap_or(0);
    let stride = length + case.random.below(4);
    let mut buffer = Buffer::new(kind, Place::Device, (stride * matrices.len()).max(1));
    for (number, matrix) in matrices.iter().enumerate() {
        if !unused {
            store.each(matrix, |index, x| buffer.put(number * stride + index, x));
        }
    }
    for (number, matrix) in expected.iter().enumerate() {
        store.each(matrix, |index, x| buffer.expect(number * stride + index, x));
    }
    (At(case.buffer(buffer)), stride as i64)
}

pub fn rows(rows: &mut Rows) {
    for (letter, kind) in [("S", S), ("D", D), ("C", C), ("Z", Z)] {
        let complex = kind.is_complex();
        rows.add(format!("cublas{letter}gemv_v2"), move |case| gemv(case, kind));
        rows.add(format!("cublas{letter}gbmv_v2"), move |case| gbmv(case, kind));
        rows.add(format!("cublas{letter}symv_v2"), move |case| symv(case, kind, Symmetric, Full));
        rows.add(format!("cublas{letter}syr_v2"), move |case| update(case, kind, Symmetric, Full, false));
        rows.add(format!("cublas{letter}syr2_v2"), move |case| update(case, kind, Symmetric, Full, true));
        let (prefix, shape) = if complex { ("h", Hermitian) } else { ("s", Symmetric) };
        if complex {
            rows.add(format!("cublas{letter}hemv_v2"), move |case| symv(case, kind, shape, Full));
            rows.add(format!("cublas{letter}her_v2"), move |case| update(case, kind, shape, Full, false));
            rows.add(format!("cublas{letter}her2_v2"), move |case| update(case, kind, shape, Full, true));
            rows.add(format!("cublas{letter}geru_v2"), move |case| ger(case, kind, false));
            rows.add(format!("cublas{letter}gerc_v2"), move |case| ger(case, kind, true));
        } else {
            rows.add(format!("cublas{letter}ger_v2"), move |case| ger(case, kind, false));
        }
        rows.add(format!("cublas{letter}{prefix}bmv_v2"), move |case| symv(case, kind, shape, Band));
        rows.add(format!("cublas{letter}{prefix}pmv_v2"), move |case| symv(case, kind, shape, Packed));
        rows.add(format!("cublas{letter}{prefix}pr_v2"), move |case| update(case, kind, shape, Packed, false));
        rows.add(format!("cublas{letter}{prefix}pr2_v2"), move |case| update(case, kind, shape, Packed, true));
        for (name, stored) in [("tr", Full), ("tb", Band), ("tp", Packed)] {
            rows.add(format!("cublas{letter}{name}mv_v2"), move |case| trmv(case, kind, stored, false));
            rows.add(format!("cublas{letter}{name}sv_v2"), move |case| trmv(case, kind, stored, true));
        }
    }
    let types: [(&str, Types); 8] = [
        ("S", [S; 3]),
        ("D", [D; 3]),
        ("C", [C; 3]),
        ("Z", [Z; 3]),
        ("HSH", [H, H, S]),
        ("HSS", [H, S, S]),
        ("TST", [B, B, S]),
        ("TSS", [B, S, S]),
    ];
    for (prefix, types) in types {
        rows.add(format!("cublas{prefix}gemvBatched"), move |case| batch(case, types, false));
        rows.add(format!("cublas{prefix}gemvStridedBatched"), move |case| batch(case, types, true));
    }
}
