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
