//! Calls of cuBLASLt.

use crate::case::{At, Attribute, Buffer, Case, Null, Number, Object, Place, Stream};
use crate::level2::op;
use crate::library::{at, call, check, devices, into, made};
use crate::matrix::{Form, Matrix, Part, Store};
use crate::number::{B, Bits, C, D, H, Kind, Num, S, Z, ZERO};
use crate::product::{Product, Types};
use crate::rows::Rows;

const BIAS: i64 = 4;
const RELU: i64 = 2;
const GELU: i64 = 32;
const AUX: i64 = 128;

fn word(attribute: i32, x: i64) -> (i32, Attribute) {
    (attribute, Attribute::Bytes(x.to_le_bytes()[..4].to_vec()))
}

fn long(attribute: i32, x: i64) -> (i32, Attribute) {
    (attribute, Attribute::Bytes(x.to_le_bytes().to_vec()))
}

/// Members of a batch with room between them.
struct Members {
    buffer: usize,
    layout: crate::case::Argument,
}

fn members(
    case: &mut Case,
    kind: Kind,
    leading: usize,
    all: &[Matrix],
    expected: &[Matrix],
    unused: bool,
    by_rows: bool,
) -> Members {
    let columns = all[0].columns;
    let leading = if by_rows { case.leading(columns) } else { leading };
    let form = if by_rows { Form::Rows { leading } } else { Form::Full { leading } };
    let store = Store { form, part: Part::All };
    let (address, stride) = crate::level2::members(
        case,
        kind,
        store,
        &all.iter().collect::<Vec<_>>(),
        &expected.iter().collect::<Vec<_>>(),
        unused,
        true,
    );
    let At(buffer) = address else { panic!("strided members are in one buffer") };
    let [rows, columns] = [all[0].rows, all[0].columns];
    let layout = Object {
        create: "cublasLtMatrixLayoutCreate",
        with: vec![kind.number() as usize, rows, columns, leading],
        attributes: vec![word(5, all.len() as i64), long(6, stride), word(1, by_rows.into())],
    };
    Members { buffer, layout }
}

/// max(x, 0), or the tanh form of GELU, whose slope is below 1.2.
fn activated(x: Num, epilogue: i64) -> Num {
    if epilogue & RELU != 0 {
        Num { re: x.re.max(0.0), ..x }
    } else if epilogue & GELU != 0 {
        let inner = (2.0 / std::f64::consts::PI).sqrt() * (x.re + 0.044715 * x.re.powi(3));
        // The exponential in tanh has errors of its own.
        Num { re: 0.5 * x.re * (1.0 + inner.tanh()), size: 1.2 * x.size + 4.0 * x.re.abs(), ..x }
    } else {
        x
    }
}

fn matmul(case: &mut Case) {
    let types = Types::any(case);
    case.unit = types.unit;
    let product = Product::draw(case);
    let ([m, n, k], [lda, ldb, ldc]) = (product.sizes, product.leading);
    case.terms = k + 8;
    let (count, in_place) = (1 + case.random.below(3), case.random.once_in(2));
    let (alpha, beta) = (case.random.factor(types.of), case.random.factor(types.of));
    let float = !types.c.is_complex() && matches!(types.c, S | H | B);
    let epilogue = if float {
        case.random.one_of(&[
            0,
            BIAS,
            RELU,
            RELU | BIAS,
            GELU,
            GELU | BIAS,
            GELU | AUX,
            GELU | BIAS | AUX,
            RELU | AUX | BIAS,
        ])
    } else {
        0
    };
    // Factors of A and B are on the device in any case.
    let factors = [0; 2].map(|_| (types.of == S && case.random.once_in(3)).then(|| case.random.number(S)));
    let all: Vec<[Matrix; 3]> = (0..count).map(|_| product.matrices(case, &types)).collect();
    let column = |which: usize| -> Vec<Matrix> { all.iter().map(|each| each[which].clone()).collect() };
    let bias = Matrix::random(case, types.c, m, count);
    let inputs: Vec<Matrix> = all
        .iter()
        .enumerate()
        .map(|(number, [a, b, c])| {
            let sum = a.used(product.ops[0]).times(&b.used(product.ops[1])).scaled(
                factors.into_iter().flatten().fold(alpha, |all, x| all * x),
                beta,
                c,
            );
            if epilogue & BIAS == 0 { sum } else { Matrix::new(m, n, |i, j| sum.at(i, j) + bias.at(i, number)) }
        })
        .collect();
    let results: Vec<Matrix> = inputs.iter().map(|x| x.map(|x| activated(x, epilogue))).collect();
    // By rows, and not by columns; nothing follows a product by rows.
    let [rows_a, rows_b, rows_c] = [0; 3].map(|_| case.random.once_in(4));
    let rows_d = rows_c && epilogue == 0;
    let a = members(case, types.a, lda, &column(0), &[], false, rows_a);
    let b = members(case, types.b, ldb, &column(1), &[], false, rows_b);
    let ldd = if in_place { ldc } else { case.leading(m) };
    let c = members(case, types.c, ldc, &column(2), if in_place { &results } else { &[] }, beta.is_zero(), rows_d);
    let (d, d_layout) = if in_place {
        (c.buffer, c.layout.clone())
    } else {
        let d = members(case, types.c, ldd, &column(2), &results, true, rows_d);
        (d.buffer, d.layout)
    };
    let mut attributes = vec![word(3, product.ops[0]), word(4, product.ops[1]), word(2, case.is_on_device().into())];
    if epilogue != 0 {
        attributes.push(word(7, epilogue));
    }
    for (attribute, factor) in [17, 18].into_iter().zip(factors) {
        if let Some(x) = factor {
            let buffer = case.vector(S, &[x], 1);
            attributes.push((attribute, Attribute::At(buffer)));
        }
    }
    if epilogue & BIAS != 0 {
        let store = Store { form: Form::Full { leading: m + 3 }, part: Part::All };
        let buffer = case.matrix(types.c, store, &bias);
        attributes.extend([(8, Attribute::At(buffer)), long(10, m as i64 + 3)]);
    }
    if epilogue & AUX != 0 && epilogue & GELU != 0 {
        let leading = case.leading(m);
        let aux = members(case, types.c, leading, &column(2), &inputs, true, false);
        let Object { attributes: layout, .. } = &aux.layout else { panic!("a layout") };
        let stride = layout[1].1.clone();
        attributes.extend([(11, Attribute::At(aux.buffer)), long(12, leading as i64), (13, stride)]);
    } else if epilogue & AUX != 0 {
        // A bit for each element, columns of multiples of 128 bits.
        let leading = m.max(1).next_multiple_of(128);
        let mut buffer = Buffer::new(Bits, Place::Device, leading * n.max(1) * count / 8);
        for (number, x) in inputs.iter().enumerate() {
            for j in 0..n {
                for byte in 0..m.div_ceil(8) {
                    let rows = 8 * byte..(8 * byte + 8).min(m);
                    // Rounding decides about the sign of such a number.
                    let near = |x: Num| x.re.abs() <= 4.0 * (k as f64 + 16.0) * types.unit * x.size;
                    let bits: u32 = rows.clone().map(|i| u32::from(x.at(i, j).re > 0.0) << (i % 8)).sum();
                    // Bits beyond the rows keep what they are.
                    let beyond: u32 = (rows.end..8 * byte + 8).map(|i| 1 << (i % 8)).sum();
                    let at = (number * n + j) * leading / 8 + byte;
                    let size = if rows.clone().any(|i| near(x.at(i, j))) { f64::INFINITY } else { 0.0 };
                    buffer.expect(at, Num { re: f64::from(bits + beyond), im: 0.0, size });
                }
            }
        }
        let stride = (leading * n) as i64;
        let buffer = case.aligned(buffer);
        attributes.extend([(11, Attribute::At(buffer)), long(12, leading as i64), long(13, stride)]);
    }
    let descriptor = Object {
        create: "cublasLtMatmulDescCreate",
        with: vec![types.compute as usize, types.of.number() as usize],
        attributes,
    };
    let (alpha_at, beta_at) = (case.scalar(types.of, alpha), case.scalar(types.of, beta));
    let (at_c, c_layout) = (c.buffer, c.layout);
    case.arguments = vec![descriptor, alpha_at, At(a.buffer), a.layout, At(b.buffer), b.layout, beta_at];
    case.arguments.extend([At(at_c), c_layout, At(d), d_layout, Null, Null, Number(0), Stream]);
}

/// C = alpha * op(A) + beta * op(B), with or without B.
fn transform(case: &mut Case) {
    let kind = case.random.one_of(&[S, D, C, Z]);
    case.unit = kind.unit();
    let (m, n, count, ops) = (case.size(), case.size(), 1 + case.random.below(2), [op(case), op(case)]);
    let (alpha, mut beta) = (case.random.factor(kind), case.random.factor(kind));
    let both = case.random.below(4) > 0;
    if !both {
        beta = ZERO;
    }
    let draw = |case: &mut Case, op: i64| -> Vec<Matrix> {
        let [rows, columns] = if op == 0 { [m, n] } else { [n, m] };
        (0..count).map(|_| Matrix::random(case, kind, rows, columns)).collect()
    };
    let (of_a, of_b) = (draw(case, ops[0]), draw(case, ops[1]));
    let sum = |(a, b): (&Matrix, &Matrix)| a.used(ops[0]).scaled(alpha, beta, &b.used(ops[1]));
    let results: Vec<Matrix> = of_a.iter().zip(&of_b).map(sum).collect();
    let [rows_a, rows_b, rows_c] = [0; 3].map(|_| case.random.once_in(2));
    let [lda, ldb, ldc] = [of_a[0].rows, of_b[0].rows, m].map(|rows| case.leading(rows));
    let a = members(case, kind, lda, &of_a, &[], alpha.is_zero(), rows_a);
    let b = members(case, kind, ldb, &of_b, &[], beta.is_zero(), rows_b);
    let c = members(case, kind, ldc, &results, &results, true, rows_c);
    let descriptor = Object {
        create: "cublasLtMatrixTransformDescCreate",
        with: vec![kind.number() as usize],
        attributes: vec![word(1, case.is_on_device().into()), word(2, ops[0]), word(3, ops[1])],
    };
    let (alpha_at, beta_at) = (case.scalar(kind, alpha), case.scalar(kind, beta));
    case.arguments = vec![descriptor, alpha_at, At(a.buffer), a.layout];
    case.arguments.extend(if both { [beta_at, At(b.buffer), b.layout] } else { [Null, Null, Null] });
    case.arguments.extend([At(c.buffer), c.layout, Stream]);
}

pub fn rows(rows: &mut Rows) {
    rows.single("cublasLtMatmul", matmul);
    rows.single("cublasLtMatrixTransform", transform);
}

/// A heuristic is asked for and gives an algorithm, as PyTorch does it.
#[test]
fn a_product_by_a_heuristic() {
    let _devices = devices();
    let handle = made("cublasLtCreate", &[]);
    let descriptor = made("cublasLtMatmulDescCreate", &[68, 0]);
    let layout = |rows, columns| made("cublasLtMatrixLayoutCreate", &[0, rows, columns, rows]);
    let (a, b, c) = (layout(4, 5), layout(5, 3), layout(4, 3));
    let preference = made("cublasLtMatmulPreferenceCreate", &[]);
    let workspace = 1_usize << 20;
    check("cublasLtMatmulPreferenceSetAttribute", &[preference, 1, at(&workspace), 8]);
    for attribute in 5..9 {
        check("cublasLtMatmulPreferenceSetAttribute", &[preference, attribute, at(&256_u32), 4]);
    }
    let mut kept = 0_usize;
    check("cublasLtMatmulPreferenceGetAttribute", &[preference, 1, into(&mut kept), 8, 0]);
    assert_eq!(kept, workspace);
    let (mut results, mut count) = ([0_u32; 4 * 24], 0_i32);
    let ask = "cublasLtMatmulAlgoGetHeuristic";
    let asked = |b: usize, results: &mut [u32], count: &mut i32| {
        call(ask, &[handle, descriptor, a, b, c, c, preference, 4, into(results), into(count)])
    };
    assert_eq!((asked(b, &mut results, &mut count), count), (0, 1));
    // The status follows the algorithm and the bytes of its workspace.
    assert_eq!(results[18], 0);
    let mut wrong = [0_u32; 24];
    assert_eq!(asked(a, &mut wrong, &mut count), 7, "A * A has no product");
    assert_eq!(count, 0);
    check("cublasLtMatmulAlgoCheck", &[handle, descriptor, a, b, c, c, at(&results), into(&mut wrong)]);
    let mut ids = [0_i32; 4];
    check("cublasLtMatmulAlgoGetIds", &[handle, 68, 0, 0, 0, 0, 0, 4, into(&mut ids), into(&mut count)]);
    check("cublasLtMatmulAlgoInit", &[handle, 68, 0, 0, 0, 0, 0, ids[0] as usize, into(&mut results)]);
    check("cublasLtMatmulAlgoConfigSetAttribute", &[into(&mut results), 1, at(&7_i32), 4]);
    let mut tile = 0_i32;
    check("cublasLtMatmulAlgoConfigGetAttribute", &[at(&results), 1, into(&mut tile), 4, 0]);
    assert_eq!(tile, 7);
    let mut written = 0_usize;
    check("cublasLtMatmulAlgoCapGetAttribute", &[at(&results), 0, into(&mut tile), 4, into(&mut written)]);
    assert_eq!((tile, written), (0, 4));
    let mut rows = 0_u64;
    check("cublasLtMatrixLayoutGetAttribute", &[b, 2, into(&mut rows), 8, 0]);
    assert_eq!(rows, 5);
    for (name, object) in [
        ("cublasLtMatmulPreferenceDestroy", preference),
        ("cublasLtMatrixLayoutDestroy", a),
        ("cublasLtMatrixLayoutDestroy", b),
        ("cublasLtMatrixLayoutDestroy", c),
        ("cublasLtMatmulDescDestroy", descriptor),
        ("cublasLtDestroy", handle),
    ] {
        assert_eq!([call(name, &[object]), call(name, &[object])], [0, 7], "{name}, twice");
    }
}

/// Descriptors in memory of the program.
#[test]
fn descriptors_without_memory_of_the_library() {
    for (name, set, get, attribute) in [
        ("cublasLtMatmulDescInit_internal", "cublasLtMatmulDescSetAttribute", "cublasLtMatmulDescGetAttribute", 7),
        (
            "cublasLtMatrixLayoutInit_internal",
            "cublasLtMatrixLayoutSetAttribute",
            "cublasLtMatrixLayoutGetAttribute",
            5,
        ),
        (
            "cublasLtMatmulPreferenceInit_internal",
            "cublasLtMatmulPreferenceSetAttribute",
            "cublasLtMatmulPreferenceGetAttribute",
            5,
        ),
        (
            "cublasLtMatrixTransformDescInit_internal",
            "cublasLtMatrixTransformDescSetAttribute",
            "cublasLtMatrixTransformDescGetAttribute",
            2,
        ),
    ] {
        let mut place = [0_u64; 32];
        let address = into(&mut place);
        assert_eq!(call(name, &[address, 8, 0, 0, 0, 0]), 7, "{name}: too small");
        check(name, &[address, 184, 0, 0, 0, 0]);
        check(set, &[address, attribute, at(&4_i32), 4]);
        let mut kept = 0_i32;
        check(get, &[address, attribute, into(&mut kept), 4, 0]);
        assert_eq!(kept, 4);
        assert_eq!(call(set, &[0, attribute, at(&4_i32), 4]), 7);
    }
    let transform = made("cublasLtMatrixTransformDescCreate", &[0]);
    check("cublasLtMatrixTransformDescDestroy", &[transform]);
}
