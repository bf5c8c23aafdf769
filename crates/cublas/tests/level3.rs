//! Calls of level 3 other than `gemm`.

use crate::case::{Argument, At, Case, Choice, Leading, Number, Size};
use crate::level2::{members, op, rounded};
use crate::matrix::{Form, Matrix, Shape, Store, triangle};
use crate::number::{C, D, Kind, Num, S, Z, ZERO};
use crate::rows::Rows;

use Shape::{Hermitian, Symmetric, Triangular};

fn full(leading: usize) -> Form {
    Form::Full { leading }
}

fn symm(case: &mut Case, kind: Kind, shape: Shape) {
    case.unit = kind.unit();
    let (m, n, right, upper) = (case.size(), case.size(), case.random.once_in(2), case.random.once_in(2));
    let k = if right { n } else { m };
    case.terms = k;
    let [lda, ldb, ldc] = [k, m, m].map(|rows| case.leading(rows));
    let (alpha, beta) = (case.random.factor(kind), case.random.factor(kind));
    let mut a = Matrix::random(case, kind, k, k);
    let (b, c) = (Matrix::random(case, kind, m, n), Matrix::random(case, kind, m, n));
    let used = a.shaped(shape, upper);
    if shape == Hermitian {
        a = a.with_any_diagonal();
    }
    let at_a = case.matrix(kind, Store { form: full(lda), part: triangle(upper, true) }, &a);
    let at_b = case.matrix(kind, Store::full(ldb), &b);
    let at_c = case.matrix_unless(beta.is_zero(), kind, Store::full(ldc), &c);
    let (alpha_at, beta_at) = (case.scalar(kind, alpha), case.scalar(kind, beta));
    case.arguments =
        vec![Choice(right.into()), Choice(upper.into()), Size(m), Size(n), alpha_at, At(at_a), Leading(lda, k)];
    case.arguments.extend([At(at_b), Leading(ldb, m), beta_at, At(at_c), Leading(ldc, m)]);
    let product = if right { b.times(&used) } else { used.times(&b) };
    case.expect_matrix(at_c, Store::full(ldc), &product.scaled(alpha, beta, &c));
}

/// Updates of a triangle of C of rank k (`syrk`), of A and another matrix (`syrkx`), or of these both ways (`syr2k`).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Update {
    One,
    Other,
    Both,
}

fn syrk(case: &mut Case, typed: bool, kind: Kind, shape: Shape, update: Update) {
    case.unit = kind.unit();
    let hermitian = shape == Hermitian;
    let (n, k, upper, transposed) = (case.size(), case.size(), case.random.once_in(2), case.random.once_in(2));
    case.terms = 2 * k;
    let op = match (transposed, hermitian) {
        (false, _) => 0,
        (true, true) => 2,
        (true, false) if kind.is_complex() => 1,
        (true, false) => case.random.one_of(&[1, 2]),
    };
    let rows = if transposed { k } else { n };
    let [lda, ldb, ldc] = [rows, rows, n].map(|rows| case.leading(rows));
    let of_beta = if hermitian { kind.of_reals() } else { kind };
    let of_alpha = if update == Update::One { of_beta } else { kind };
    let (alpha, beta) = (case.random.factor(of_alpha), case.random.factor(of_beta));
    let shape_a =
        |case: &mut Case| Matrix::random(case, kind, if transposed { k } else { n }, if transposed { n } else { k });
    let (a, b, mut c) = (shape_a(case), shape_a(case), Matrix::random(case, kind, n, n));
    let left = a.used(op);
    let other = |x: &Matrix| x.used(op).used(if hermitian { 2 } else { 1 });
    let sum = match update {
        Update::One => left.times(&other(&a)).map(|x| alpha * x),
        Update::Other => left.times(&other(&b)).map(|x| alpha * x),
        Update::Both => {
            let mirrored = b.used(op).times(&other(&a)).map(|x| alpha.conj_if(hermitian) * x);
            left.times(&other(&b)).map(|x| alpha * x).plus(&mirrored)
        }
    };
    let mut result = sum.scaled(Num::real(1.0), beta, &c);
    if hermitian {
        // The diagonal is real, whatever imaginary parts are in memory.
        result = Matrix::new(n, n, |i, j| if i == j { result.at(i, j).only_real() } else { result.at(i, j) });
        c = c.with_any_diagonal();
    }
    let store = Store { form: full(ldc), part: triangle(upper, true) };
    let at_a = case.matrix(kind, Store::full(lda), &a);
    let at_c = case.matrix_unless(beta.is_zero(), kind, store, &c);
    let (alpha_at, beta_at) = (case.scalar(of_alpha, alpha), case.scalar(of_beta, beta));
    case.arguments = vec![Choice(upper.into()), Choice(op), Size(n), Size(k), alpha_at, At(at_a), Leading(lda, rows)];
    if update != Update::One {
        let at_b = case.matrix(kind, Store::full(ldb), &b);
        case.arguments.extend([At(at_b), Leading(ldb, rows)]);
    }
    case.arguments.extend([beta_at, At(at_c), Leading(ldc, n)]);
    if typed {
        case.arguments.insert(9, Number(kind.number()));
        case.arguments.insert(6, Number(kind.number()));
    }
    case.expect_matrix(at_c, store, &result);
}

/// A triangle for a product or a solution: as it is used, as it is stored, and how.
struct Triangle {
    right: bool,
    upper: bool,
    unit: bool,
    op: i64,
    order: usize,
    leading: usize,
    used: Matrix,
    kept: Matrix,
    store: Store,
}

impl Triangle {
    fn new(case: &mut Case, kind: Kind, m: usize, n: usize, dominant: bool) -> Self {
        let [right, upper, unit] = [0; 3].map(|_| case.random.once_in(2));
        let (order, op) = (if right { n } else { m }, op(case));
        let leading = case.leading(order);
        let mut made = Self {
            right,
            upper,
            unit,
            op,
            order,
            leading,
            used: Matrix::new(0, 0, |_, _| ZERO),
            kept: Matrix::new(0, 0, |_, _| ZERO),
            store: Store { form: full(leading), part: triangle(upper, !unit) },
        };
        made.draw(case, kind, dominant);
        made
    }

    /// Draws its elements.
    fn draw(&mut self, case: &mut Case, kind: Kind, dominant: bool) {
        self.kept = Matrix::random(case, kind, self.order, self.order);
        if dominant {
            self.kept = self.kept.dominant().map(|x| rounded(kind, x));
        }
        self.used = self.kept.shaped(Triangular { unit: self.unit }, self.upper).used(self.op);
    }

    fn choices(&self) -> Vec<Argument> {
        vec![Choice(self.right.into()), Choice(self.upper.into()), Choice(self.op), Choice(self.unit.into())]
    }

    /// X of op(A) * X = B, or of X * op(A) = B.
    fn solve(&self, b: &Matrix) -> Matrix {
        let upper = self.upper == (self.op == 0);
        if self.right { self.used.used(1).solve(!upper, &b.used(1)).used(1) } else { self.used.solve(upper, b) }
    }
}

fn trmm(case: &mut Case, kind: Kind) {
    case.unit = kind.unit();
    let (m, n, alpha, in_place) = (case.size(), case.size(), case.random.factor(kind), case.random.once_in(2));
    let a = Triangle::new(case, kind, m, n, false);
    case.terms = a.order;
    let b = Matrix::random(case, kind, m, n);
    let ldb = case.leading(m);
    let ldc = if in_place { ldb } else { case.leading(m) };
    let at_a = case.matrix(kind, a.store, &a.kept);
    let at_b = case.matrix(kind, Store::full(ldb), &b);
    let at_c = if in_place { at_b } else { case.matrix_unless(true, kind, Store::full(ldc), &b) };
    let alpha_at = case.scalar(kind, alpha);
    case.arguments = a.choices();
    case.arguments.extend([Size(m), Size(n), alpha_at, At(at_a), Leading(a.leading, a.order)]);
    case.arguments.extend([At(at_b), Leading(ldb, m), At(at_c), Leading(ldc, m)]);
    let product = if a.right { b.times(&a.used) } else { a.used.times(&b) };
    case.expect_matrix(at_c, Store::full(ldc), &product.map(|x| alpha * x));
}

fn trsm(case: &mut Case, kind: Kind) {
    case.unit = kind.unit();
    let (m, n, alpha) = (case.size(), case.size(), case.random.factor(kind));
    let a = Triangle::new(case, kind, m, n, true);
    case.terms = a.order;
    let b = Matrix::random(case, kind, m, n);
    let ldb = case.leading(m);
    let at_a = case.matrix(kind, a.store, &a.kept);
    let at_b = case.matrix_unless(alpha.is_zero(), kind, Store::full(ldb), &b);
    let alpha_at = case.scalar(kind, alpha);
    case.arguments = a.choices();
    case.arguments.extend([
        Size(m),
        Size(n),
        alpha_at,
        At(at_a),
        Leading(a.leading, a.order),
        At(at_b),
        Leading(ldb, m),
    ]);
    case.expect_matrix(at_b, Store::full(ldb), &a.solve(&b.map(|x| alpha * x)));
}

fn trsm_batched(case: &mut Case, kind: Kind) {
    case.unit = kind.unit();
    let (m, n, alpha, count) =
        (case.size().min(70), case.size().min(70), case.random.factor(kind), case.random.below(4));
    let mut a = Triangle::new(case, kind, m, n, true);
    case.terms = a.order;
    let ldb = case.leading(m);
    let (mut kept, mut sides, mut solutions) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..count {
        a.draw(case, kind, true);
        let b = Matrix::random(case, kind, m, n);
        solutions.push(a.solve(&b.map(|x| alpha * x)));
        kept.push(a.kept.clone());
        sides.push(b);
    }
    let (at_a, _) = members(case, kind, a.store, &kept.iter().collect::<Vec<_>>(), &[], false, false);
    let solutions: Vec<&Matrix> = solutions.iter().collect();
    let (at_b, _) = members(case, kind, Store::full(ldb), &sides.iter().collect::<Vec<_>>(), &solutions, false, false);
    let alpha_at = case.scalar(kind, alpha);
    case.arguments = a.choices();
    case.arguments.extend([
        Size(m),
        Size(n),
        alpha_at,
        at_a,
        Leading(a.leading, a.order),
        at_b,
        Leading(ldb, m),
        Size(count),
    ]);
}

/// C = alpha * op(A) + beta * op(B), also in place of A or of B.
fn geam(case: &mut Case, kind: Kind) {
    case.unit = kind.unit();
    let (m, n, mut op_a, mut op_b) = (case.size(), case.size(), op(case), op(case));
    let (alpha, beta) = (case.random.factor(kind), case.random.factor(kind));
    let in_place = case.random.below(4);
    match in_place {
        1 => op_a = 0,
        2 => op_b = 0,
        _ => (),
    }
    let shape = |op: i64| if op == 0 { [m, n] } else { [n, m] };
    let ([rows_a, columns_a], [rows_b, columns_b]) = (shape(op_a), shape(op_b));
    let (a, b) = (Matrix::random(case, kind, rows_a, columns_a), Matrix::random(case, kind, rows_b, columns_b));
    let [lda, ldb, mut ldc] = [rows_a, rows_b, m].map(|rows| case.leading(rows));
    let at_a = case.matrix_unless(alpha.is_zero(), kind, Store::full(lda), &a);
    let at_b = case.matrix_unless(beta.is_zero(), kind, Store::full(ldb), &b);
    let at_c = match in_place {
        1 => {
            ldc = lda;
            at_a
        }
        2 => {
            ldc = ldb;
            at_b
        }
        _ => case.matrix_unless(true, kind, Store::full(ldc), &Matrix::new(m, n, |_, _| ZERO)),
    };
    let (alpha_at, beta_at) = (case.scalar(kind, alpha), case.scalar(kind, beta));
    case.arguments = vec![Choice(op_a), Choice(op_b), Size(m), Size(n), alpha_at, At(at_a), Leading(lda, 0), beta_at];
    case.arguments.extend([At(at_b), Leading(ldb, 0), At(at_c), Leading(ldc, m)]);
    case.expect_matrix(at_c, Store::full(ldc), &a.used(op_a).scaled(alpha, beta, &b.used(op_b)));
}

fn dgmm(case: &mut Case, kind: Kind) {
    case.unit = kind.unit();
    let (m, n, right, increment) = (case.size(), case.size(), case.random.once_in(2), case.increment());
    let (lda, ldc) = (case.leading(m), case.leading(m));
    let a = Matrix::random(case, kind, m, n);
    let x = case.numbers(kind, if right { n } else { m });
    let (at_a, at_x) = (case.matrix(kind, Store::full(lda), &a), case.vector(kind, &x, increment));
    let at_c = case.matrix_unless(true, kind, Store::full(ldc), &a);
    case.arguments =
        vec![Choice(right.into()), Size(m), Size(n), At(at_a), Leading(lda, m), At(at_x), Number(increment)];
    case.arguments.extend([At(at_c), Leading(ldc, m)]);
    let c = Matrix::new(m, n, |i, j| a.at(i, j) * x[if right { j } else { i }]);
    case.expect_matrix(at_c, Store::full(ldc), &c);
}

pub fn rows(rows: &mut Rows) {
    for (name, shape) in [("sy", Symmetric), ("he", Hermitian)] {
        for way in ["", "3m"] {
            rows.add(format!("cublasC{name}rk{way}Ex"), move |case| syrk(case, true, C, shape, Update::One));
        }
    }
    for (letter, kind) in [("S", S), ("D", D), ("C", C), ("Z", Z)] {
        let updates = [("rk", "_v2", Update::One), ("r2k", "_v2", Update::Both), ("rkx", "", Update::Other)];
        for (name, suffix, update) in updates {
            rows.add(format!("cublas{letter}sy{name}{suffix}"), move |case| syrk(case, false, kind, Symmetric, update));
            if kind.is_complex() {
                rows.add(format!("cublas{letter}he{name}{suffix}"), move |case| {
                    syrk(case, false, kind, Hermitian, update)
                });
            }
        }
        rows.add(format!("cublas{letter}symm_v2"), move |case| symm(case, kind, Symmetric));
        if kind.is_complex() {
            rows.add(format!("cublas{letter}hemm_v2"), move |case| symm(case, kind, Hermitian));
        }
        rows.add(format!("cublas{letter}trmm_v2"), move |case| trmm(case, kind));
        rows.add(format!("cublas{letter}trsm_v2"), move |case| trsm(case, kind));
        rows.add(format!("cublas{letter}trsmBatched"), move |case| trsm_batched(case, kind));
        rows.add(format!("cublas{letter}geam"), move |case| geam(case, kind));
        rows.add(format!("cublas{letter}dgmm"), move |case| dgmm(case, kind));
    }
}
