//! Calls of the family `gemm`.

use crate::case::{Argument, Array, Case, Choice, Leading, Number, Size};
use crate::level2::{members, op};
use crate::matrix::{Matrix, Store};
use crate::number::{B, C, D, E4M3, E5M2, H, I8, I32, Kind, S, Z};
use crate::rows::Rows;

/// Types of a product: A and B, C, of the scalars, and the unit of rounding of terms and sums.
#[derive(Clone, Copy, Debug)]
pub struct Types {
    pub a: Kind,
    pub b: Kind,
    pub c: Kind,
    pub of: Kind,
    pub compute: i64,
    pub unit: f64,
}

impl Types {
    fn same(kind: Kind) -> Self {
        Self { a: kind, b: kind, c: kind, of: kind, compute: -1, unit: kind.unit() }
    }

    /// Types of products with a `cublasComputeType_t`.
    pub fn any(case: &mut Case) -> Self {
        // Where a compute type allows it, terms may be rounded to half precision, bfloat16 or tf32.
        const FAST: [(i64, i32); 4] = [(68, -24), (74, -11), (75, -8), (77, -11)];
        let of = |a, c, of, compute, unit| Self { a, b: a, c, of, compute, unit };
        let single = S.unit();
        match case.random.below(12) {
            0 => {
                let (compute, bits) = case.random.one_of(&FAST);
                of(S, S, S, compute, 2_f64.powi(bits))
            }
            1 => of(D, D, D, 70, D.unit()),
            2 => {
                let (compute, bits) = case.random.one_of(&FAST);
                of(C, C, C, compute, 2_f64.powi(bits))
            }
            3 => of(Z, Z, Z, 70, Z.unit()),
            4 => of(H, H, H, 64, H.unit()),
            5 => of(H, H, S, 68, single),
            6 => of(H, S, S, 68, single),
            7 => of(B, B, S, 68, single),
            8 => of(B, S, S, 68, single),
            9 => of(I8, I32, I32, 72, 0.0),
            10 => of(I8, S, S, 68, single),
            _ => {
                let (a, b) = case.random.one_of(&[(E4M3, E4M3), (E4M3, E5M2), (E5M2, E4M3)]);
                let c = case.random.one_of(&[H, B, S]);
                Self { a, b, c, of: S, compute: 68, unit: single }
            }
        }
    }
}

/// How many products, and how their matrices are given.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Batch {
    One,
    Pointers,
    Strides,
}

/// The matrices of a product with its result: op(A) * op(B) as they are stored, C, and sizes.
pub struct Product {
    pub ops: [i64; 2],
    pub sizes: [usize; 3],
    pub leading: [usize; 3],
    pub rows: [usize; 3],
}

impl Product {
    pub fn draw(case: &mut Case) -> Self {
        let ops = [op(case), op(case)];
        let [m, n, k] = [0; 3].map(|_| case.size());
        let rows = [if ops[0] == 0 { m } else { k }, if ops[1] == 0 { k } else { n }, m];
        Self { ops, sizes: [m, n, k], leading: rows.map(|rows| case.leading(rows)), rows }
    }

    /// A, B and C.
    pub fn matrices(&self, case: &mut Case, types: &Types) -> [Matrix; 3] {
        let [m, n, k] = self.sizes;
        let shape = |op: i64, rows, columns| if op == 0 { [rows, columns] } else { [columns, rows] };
        [(types.a, shape(self.ops[0], m, k)), (types.b, shape(self.ops[1], k, n)), (types.c, [m, n])]
            .map(|(kind, [rows, columns])| Matrix::random(case, kind, rows, columns))
    }
}

/// Forms of functions: whether types are arguments, and the last arguments.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Plain,
    /// Types of the matrices.
    Typed,
    /// Those, a compute type and an algorithm.
    Computed,
}

fn gemm(case: &mut Case, types: Types, batch: Batch, form: Form) {
    case.unit = types.unit;
    let product = Product::draw(case);
    let ([m, n, k], [lda, ldb, ldc], rows) = (product.sizes, product.leading, product.rows);
    case.terms = k;
    let count = if batch == Batch::One { 1 } else { case.random.below(4) };
    let (alpha, beta) = (case.random.factor(types.of), case.random.factor(types.of));
    let many: Vec<[Matrix; 3]> = (0..count).map(|_| product.matrices(case, &types)).collect();
    let result = |[a, b, c]: &[Matrix; 3]| a.used(product.ops[0]).times(&b.used(product.ops[1])).scaled(alpha, beta, c);
    let results: Vec<Matrix> = many.iter().map(result).collect();
    let (alpha_at, beta_at) = (case.scalar(types.of, alpha), case.scalar(types.of, beta));
    let mut places: Vec<Vec<Argument>> = Vec::new();
    for (which, kind) in [types.a, types.b, types.c].into_iter().enumerate() {
        let matrices: Vec<&Matrix> = many.iter().map(|each| &each[which]).collect();
        let expected: Vec<&Matrix> = if which == 2 { results.iter().collect() } else { Vec::new() };
        let unused = which == 2 && beta.is_zero();
        let store = Store::full(product.leading[which]);
        let (address, stride) = members(case, kind, store, &matrices, &expected, unused, batch != Batch::Pointers);
        let typed = (form != Form::Plain).then(|| Number(kind.number()));
        let strided = (batch == Batch::Strides).then_some(Number(stride));
        let leading = Leading([lda, ldb, ldc][which], rows[which]);
        places.push([address].into_iter().chain(typed).chain([leading]).chain(strided).collect());
    }
    let [a, b, c]: [Vec<Argument>; 3] = places.try_into().expect("three matrices");
    let mut arguments = vec![Choice(product.ops[0]), Choice(product.ops[1]), Size(m), Size(n), Size(k), alpha_at];
    arguments.extend(a);
    arguments.extend(b);
    arguments.push(beta_at);
    arguments.extend(c);
    if batch != Batch::One {
        arguments.push(Size(count));
    }
    if form == Form::Computed {
        arguments.extend([Number(types.compute), Number(case.random.one_of(&[-1, 99, 103]))]);
    }
    case.arguments = arguments;
}

/// Groups of batches, each with sizes of its own.
fn grouped(case: &mut Case, types: Types, form: Form) {
    case.unit = types.unit;
    case.on_host();
    let groups = case.random.below(4);
    let word = |case: &Case, x: i64| if case.wide { x.to_le_bytes().to_vec() } else { x.to_le_bytes()[..4].to_vec() };
    let short = |x: i64| x.to_le_bytes()[..4].to_vec();
    let mut arrays: [Vec<u8>; 11] = Default::default();
    let mut members: [Vec<usize>; 3] = Default::default();
    for _ in 0..groups {
        let product = Product::draw(case);
        let count = case.random.below(3);
        case.terms = case.terms.max(product.sizes[2]);
        let (alpha, beta) = (case.random.factor(types.of), case.random.factor(types.of));
        for _ in 0..count {
            let all = product.matrices(case, &types);
            let result = all[0].used(product.ops[0]).times(&all[1].used(product.ops[1])).scaled(alpha, beta, &all[2]);
            for (which, kind) in [types.a, types.b, types.c].into_iter().enumerate() {
                let store = Store::full(product.leading[which]);
                let buffer = case.matrix_unless(which == 2 && beta.is_zero(), kind, store, &all[which]);
                if which == 2 {
                    case.expect_matrix(buffer, store, &result);
                }
                members[which].push(buffer);
            }
        }
        let ([m, n, k], [lda, ldb, ldc]) = (product.sizes, product.leading);
        let numbers = [m, n, k, lda, ldb, ldc, count].map(|x| word(case, x as i64));
        let [op_a, op_b] = product.ops.map(short);
        let [m, n, k, lda, ldb, ldc, count] = numbers;
        let (alpha, beta) = (types.of.encode(alpha), types.of.encode(beta));
        for (array, bytes) in arrays.iter_mut().zip([op_a, op_b, m, n, k, alpha, lda, ldb, beta, ldc, count]) {
            array.extend(bytes);
        }
    }
    let [a, b, c] = members.map(Argument::Each);
    let [op_a, op_b, m, n, k, alpha, lda, ldb, beta, ldc, counts] = arrays.map(Array);
    let typed = |kind: Kind| (form == Form::Computed).then(|| Number(kind.number()));
    case.arguments = [op_a, op_b, m, n, k, alpha, a]
        .into_iter()
        .chain(typed(types.a))
        .chain([lda, b])
        .chain(typed(types.b))
        .chain([ldb, beta, c])
        .chain(typed(types.c))
        .chain([ldc, Size(groups), counts])
        .chain((form == Form::Computed).then_some(Number(types.compute)))
        .collect();
}

pub fn rows(rows: &mut Rows) {
    for (letter, kind) in [("H", H), ("S", S), ("D", D), ("C", C), ("Z", Z)] {
        let types = Types::same(kind);
        let version = if kind == H { "" } else { "_v2" };
        rows.add(format!("cublas{letter}gemm{version}"), move |case| gemm(case, types, Batch::One, Form::Plain));
        rows.add(format!("cublas{letter}gemmBatched"), move |case| gemm(case, types, Batch::Pointers, Form::Plain));
        rows.add(format!("cublas{letter}gemmStridedBatched"), move |case| {
            gemm(case, types, Batch::Strides, Form::Plain)
        });
    }
    rows.add("cublasCgemm3m", |case| gemm(case, Types::same(C), Batch::One, Form::Plain));
    rows.add("cublasZgemm3m", |case| gemm(case, Types::same(Z), Batch::One, Form::Plain));
    rows.add("cublasCgemm3mBatched", |case| gemm(case, Types::same(C), Batch::Pointers, Form::Plain));
    rows.add("cublasCgemm3mStridedBatched", |case| gemm(case, Types::same(C), Batch::Strides, Form::Plain));
    for (name, batch) in
        [("GemmEx", Batch::One), ("GemmBatchedEx", Batch::Pointers), ("GemmStridedBatchedEx", Batch::Strides)]
    {
        rows.add(format!("cublas{name}"), move |case| {
            let types = Types::any(case);
            gemm(case, types, batch, Form::Computed);
        });
    }
    rows.add("cublasSgemmEx", |case| {
        let (a, c) = case.random.one_of(&[(S, S), (H, H), (H, S), (B, B), (B, S), (I8, S)]);
        gemm(case, Types { a, b: a, c, of: S, compute: 0, unit: S.unit() }, Batch::One, Form::Typed);
    });
    for name in ["cublasCgemmEx", "cublasCgemm3mEx"] {
        rows.add(name, |case| gemm(case, Types::same(C), Batch::One, Form::Typed));
    }
    rows.add("cublasSgemmGroupedBatched", |case| grouped(case, Types::same(S), Form::Plain));
    rows.add("cublasDgemmGroupedBatched", |case| grouped(case, Types::same(D), Form::Plain));
    rows.add("cublasGemmGroupedBatchedEx", |case| {
        let types = Types::any(case);
        grouped(case, types, Form::Computed);
    });
}
