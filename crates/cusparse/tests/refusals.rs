//! Wrong arguments, and functions that are not supported.

use crate::library::{devices, find, into};

#[test]
fn wrong_arguments() {
    let _devices = devices();
    let mut handle = 0_usize;
    assert_eq!(c!("cusparseCreate", 0_usize), 3);
    assert_eq!(c!("cusparseCreate", into(&mut handle)), 0);
    let mut place = 0_usize;
    let csr = |place: usize, rows: i64, kind: i32, base: i32| {
        c!("cusparseCreateCsr", place, rows, 3_i64, 0_i64, 0_usize, 0_usize, 0_usize, kind, kind, base, 0)
    };
    let at = into(&mut place);
    assert_eq!([csr(at, -1, 2, 0), csr(at, 2, 1, 0), csr(at, 2, 2, 2), csr(0, 2, 2, 0)], [3; 4]);
    assert_eq!(csr(at, 2, 2, 0), 0);
    let matrix = std::hint::black_box(place);
    let dense = |rows: i64, columns: i64, leading: i64, kind: i32, order: i32| {
        let mut place = 0_usize;
        let code = c!("cusparseCreateDnMat", into(&mut place), rows, columns, leading, 0_usize, kind, order);
        (code, std::hint::black_box(place))
    };
    assert_eq!([dense(3, 2, 2, 0, 1).0, dense(3, 2, 1, 0, 2).0, dense(3, 2, 3, 0, 3).0], [3; 3]);
    let (_, b) = dense(3, 2, 3, 0, 1);
    let (_, c) = dense(2, 2, 2, 0, 1);
    let (_, half) = dense(2, 2, 2, 2, 1);
    let one = 1_f32;
    let scalar = crate::library::at(&one);
    let product = |handle: usize, op: i32, a: usize, b: usize, c: usize, scalar: usize| {
        c!("cusparseSpMM", handle, op, 0, scalar, a, b, scalar, c, 0, 0, 0_usize)
    };
    assert_eq!(product(handle, 1, matrix, b, c, scalar), 3, "sizes do not fit");
    assert_eq!(product(handle, 3, matrix, b, c, scalar), 3, "no such operation");
    assert_eq!(product(handle, 0, matrix, b, half, scalar), 10, "types are mixed");
    assert_eq!(product(handle, 0, matrix, matrix + 1, c, scalar), 3, "no such matrix");
    assert_eq!(product(handle, 0, matrix, b, c, 0), 3, "no scalars");
    assert_eq!(product(handle + 1, 0, matrix, b, c, scalar), 1, "no such handle");
    let vector = |op: i32| c!("cusparseSpMV", handle, op, scalar, matrix, b, scalar, c, 0, 0, 0_usize);
    assert_eq!(vector(0), 3, "matrices are not vectors");
    assert_eq!(c!("cusparseSparseToDense", handle, matrix, c, 0, 0_usize), 3, "sizes do not fit");
    assert_eq!(c!("cusparseXcoo2csr", handle, 0_usize, -1, 2, 0_usize, 0), 3);
    assert_eq!(c!("cusparseXcsr2coo", handle, 0_usize, 1, -2, 0_usize, 0), 3);
    assert_eq!(c!("cusparseCreateIdentityPermutation", handle, -2, 0_usize), 3);
    for handle in [b, c, half] {
        assert_eq!(c!("cusparseDestroyDnMat", handle), 0);
    }
    assert_eq!([c!("cusparseDestroySpMat", matrix), c!("cusparseDestroy", handle)], [0; 2]);
}

/// A CSR matrix of two rows without entries.
fn csr(columns: i64, kind: i32) -> usize {
    let mut place = 0_usize;
    let code =
        c!("cusparseCreateCsr", into(&mut place), 2_i64, columns, 0_i64, 0_usize, 0_usize, 0_usize, 2, 2, 0, kind);
    assert_eq!(code, 0);
    std::hint::black_box(place)
}

#[test]
fn wrong_arguments_of_products_and_systems() {
    let _devices = devices();
    let handle = crate::conversions::handle();
    let [square, wide, double] = [csr(2, 0), csr(3, 0), csr(2, 1)];
    let (mut descriptor, mut system, mut dense, mut vector) = (0_usize, 0_usize, 0_usize, 0_usize);
    let (mut longer, mut few, mut size) = (0_usize, 0_usize, 0_usize);
    assert_eq!(c!("cusparseSpGEMM_createDescr", into(&mut descriptor)), 0);
    assert_eq!(c!("cusparseSpSV_createDescr", into(&mut system)), 0);
    assert_eq!(c!("cusparseCreateDnMat", into(&mut dense), 2_i64, 2_i64, 2_i64, 0_usize, 0, 1), 0);
    assert_eq!(c!("cusparseCreateDnVec", into(&mut vector), 2_i64, 0_usize, 0), 0);
    assert_eq!(c!("cusparseCreateDnVec", into(&mut longer), 3_i64, 0_usize, 0), 0);
    assert_eq!(c!("cusparseCreateSpVec", into(&mut few), 2_i64, 0_i64, 0_usize, 0_usize, 2, 0, 0), 0);
    let [descriptor, system, dense] = std::hint::black_box([descriptor, system, dense]);
    let [vector, longer, few] = std::hint::black_box([vector, longer, few]);
    let one = 1_f32;
    let scalar = crate::library::at(&one);
    let place = into(&mut size);
    let product = |op: i32, [a, b, c]: [usize; 3], compute: i32, descriptor: usize| {
        let name = "cusparseSpGEMM_workEstimation";
        c!(name, handle, op, 0, scalar, a, b, scalar, c, compute, 0, descriptor, place, 0_usize)
    };
    assert_eq!(product(0, [square; 3], 0, descriptor), 0);
    assert_eq!(product(0, [wide, square, square], 0, descriptor), 3, "sizes do not fit");
    assert_eq!(product(1, [square; 3], 0, descriptor), 10, "transposed");
    assert_eq!(product(0, [square, square, double], 0, descriptor), 10, "types are mixed");
    assert_eq!(product(0, [square; 3], 1, descriptor), 10, "scalars of another type");
    assert_eq!(product(0, [square; 3], 0, descriptor + 8), 3, "no such product");
    let solve = |op: i32, a: usize, y: usize, compute: i32, system: usize| {
        c!("cusparseSpSV_solve", handle, op, scalar, a, vector, y, compute, 0, system)
    };
    assert_eq!(solve(0, wide, vector, 0, system), 3, "not square");
    assert_eq!(solve(0, square, longer, 0, system), 3, "sizes do not fit");
    assert_eq!(solve(3, square, vector, 0, system), 3, "no such operation");
    assert_eq!(solve(0, double, vector, 0, system), 10, "types are mixed");
    assert_eq!(solve(0, square, vector, 0, system + 8), 3, "no such system");
    let sampled = |c: usize, compute: i32| {
        c!("cusparseSDDMM_bufferSize", handle, 0, 0, scalar, dense, dense, scalar, c, compute, 0, place)
    };
    assert_eq!([sampled(square, 0), sampled(wide, 0), sampled(double, 0), sampled(square, 1)], [0, 3, 10, 10]);
    assert_eq!(c!("cusparseAxpby", handle, scalar, few, scalar, longer), 3, "sizes do not fit");
    assert_eq!(c!("cusparseRot", handle, 0_usize, scalar, few, vector), 3, "no scalar");
    assert_eq!(c!("cusparseSpVV", handle, 0, few, vector, 0_usize, 0, 0_usize), 3, "no place for the result");
    for matrix in [square, wide, double] {
        assert_eq!(c!("cusparseDestroySpMat", matrix), 0);
    }
    for vector in [vector, longer] {
        assert_eq!(c!("cusparseDestroyDnVec", vector), 0);
    }
    assert_eq!(
        [c!("cusparseDestroySpVec", few), c!("cusparseDestroyDnMat", dense), c!("cusparseDestroy", handle)],
        [0; 3]
    );
    assert_eq!([c!("cusparseSpGEMM_destroyDescr", descriptor), c!("cusparseSpSV_destroyDescr", system)], [0; 2]);
}

/// Each function of the headers is called in these tests, or says that it is not supported.
#[test]
fn every_function_is_tested() {
    let tests = concat!(
        include_str!("case.rs"),
        include_str!("conversions.rs"),
        include_str!("descriptors.rs"),
        include_str!("refusals.rs"),
        include_str!("sparse.rs")
    );
    for name in include_str!("../symbols.txt").lines().filter(|line| !line.starts_with('#')) {
        let name = name.split(' ').next().expect("a name");
        // Names that the tests put together.
        let parts = [name.replacen("Const", "", 1), name.to_owned()];
        let composed = ["DnMat", "DnVec", "SpVec"].iter().any(|what| {
            ["Create", "Get", "GetValues"].iter().any(|how| {
                let plain =
                    if *how == "Create" { format!("cusparseCreate{what}") } else { format!("cusparse{what}{how}") };
                parts.contains(&plain)
            })
        });
        find(name);
        assert!(composed || tests.contains(&format!("\"{name}\"")) || c!(name) == 10, "{name}");
    }
}
