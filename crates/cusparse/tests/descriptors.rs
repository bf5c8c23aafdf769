//! Descriptors keep what they are given; forms for memory that is only read do the same.

use crate::library::{devices, into};

/// Values of places, each of eight bytes.
fn got(count: usize, call: impl FnOnce(&[usize]) -> i32) -> Vec<u64> {
    let mut places = vec![0_u64; count];
    let at: Vec<usize> = (0..count).map(|i| into(&mut places[i])).collect();
    assert_eq!(call(&at), 0);
    std::hint::black_box(places)
}

#[test]
fn sparse_matrices() {
    let _devices = devices();
    for (name, constant) in [("cusparseCreateCsr", false), ("cusparseCreateConstCsr", true)] {
        let mut csr = 0_usize;
        assert_eq!(c!(name, into(&mut csr), 2_i64, 3_i64, 4_i64, 10_usize, 20_usize, 30_usize, 2, 3, 1, 5), 0);
        let get = if constant { "cusparseConstCsrGet" } else { "cusparseCsrGet" };
        let all = got(10, |p| c!(get, csr, p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9]));
        assert_eq!(all, [2, 3, 4, 10, 20, 30, 2, 3, 1, 5]);
        assert_eq!(got(1, |p| c!("cusparseSpMatGetFormat", csr, p[0])), [1]);
        assert_eq!(got(1, |p| c!("cusparseSpMatGetIndexBase", csr, p[0])), [1]);
        assert_eq!(c!("cusparseSpMatSetValues", csr, 99_usize), 0);
        let values = if constant { "cusparseConstSpMatGetValues" } else { "cusparseSpMatGetValues" };
        assert_eq!(got(1, |p| c!(values, csr, p[0])), [99]);
        assert_eq!(c!("cusparseCsrSetStridedBatch", csr, 3, 4_i64, 5_i64), 0);
        assert_eq!(got(1, |p| c!("cusparseSpMatGetStridedBatch", csr, p[0])), [3]);
        assert_eq!(c!("cusparseCooSetStridedBatch", csr, 3, 4_i64), 3, "it has no coordinates");
        let mode = 1_i32;
        assert_eq!(c!("cusparseSpMatSetAttribute", csr, 0, crate::library::at(&mode), 4_usize), 0);
        assert_eq!(got(1, |p| c!("cusparseSpMatGetAttribute", csr, 0, p[0], 4_usize)), [1]);
        assert_eq!(c!("cusparseSpMatGetAttribute", csr, 9, 0_usize, 4_usize), 3);
        assert_eq!([c!("cusparseDestroySpMat", csr), c!("cusparseDestroySpMat", csr)], [0, 3]);
    }
    for (create, get) in [("cusparseCreateCsc", "cusparseCscGet"), ("cusparseCreateConstCsc", "cusparseConstCscGet")] {
        let mut csc = 0_usize;
        assert_eq!(c!(create, into(&mut csc), 2_i64, 3_i64, 4_i64, 10_usize, 20_usize, 30_usize, 3, 2, 0, 0), 0);
        let all = got(10, |p| c!(get, csc, p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9]));
        assert_eq!(all, [2, 3, 4, 10, 20, 30, 3, 2, 0, 0]);
        assert_eq!(c!("cusparseDestroySpMat", csc), 0);
    }
    for (create, get) in [("cusparseCreateCoo", "cusparseCooGet"), ("cusparseCreateConstCoo", "cusparseConstCooGet")] {
        let mut coo = 0_usize;
        assert_eq!(c!(create, into(&mut coo), 2_i64, 3_i64, 4_i64, 10_usize, 20_usize, 30_usize, 2, 0, 1), 0);
        let all = got(9, |p| c!(get, coo, p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8]));
        assert_eq!(all, [2, 3, 4, 10, 20, 30, 2, 0, 1]);
        assert_eq!(c!("cusparseDestroySpMat", coo), 0);
    }
}

#[test]
fn dense_matrices_and_vectors() {
    let _devices = devices();
    for of in ["", "Const"] {
        let name = |before: &str, after: &str| format!("cusparse{before}{of}{after}");
        let get = |what: &str| format!("cusparse{of}{what}");
        let mut matrix = 0_usize;
        assert_eq!(c!(&name("Create", "DnMat"), into(&mut matrix), 2_i64, 3_i64, 4_i64, 10_usize, 1, 2), 0);
        let all = got(6, |p| c!(&get("DnMatGet"), matrix, p[0], p[1], p[2], p[3], p[4], p[5]));
        assert_eq!(all, [2, 3, 4, 10, 1, 2]);
        assert_eq!(c!("cusparseDnMatSetValues", matrix, 50_usize), 0);
        assert_eq!(got(1, |p| c!(&get("DnMatGetValues"), matrix, p[0])), [50]);
        assert_eq!(c!("cusparseDnMatSetStridedBatch", matrix, 3, 7_i64), 0);
        assert_eq!(got(2, |p| c!("cusparseDnMatGetStridedBatch", matrix, p[0], p[1])), [3, 7]);
        assert_eq!([c!("cusparseDestroyDnMat", matrix), c!("cusparseDestroyDnMat", matrix)], [0, 3]);
        let mut vector = 0_usize;
        assert_eq!(c!(&name("Create", "DnVec"), into(&mut vector), 5_i64, 10_usize, 4), 0);
        assert_eq!(got(3, |p| c!(&get("DnVecGet"), vector, p[0], p[1], p[2])), [5, 10, 4]);
        assert_eq!(c!("cusparseDnVecSetValues", vector, 50_usize), 0);
        assert_eq!(got(1, |p| c!(&get("DnVecGetValues"), vector, p[0])), [50]);
        assert_eq!([c!("cusparseDestroyDnVec", vector), c!("cusparseDestroyDnVec", vector)], [0, 3]);
        let mut sparse = 0_usize;
        assert_eq!(c!(&name("Create", "SpVec"), into(&mut sparse), 5_i64, 2_i64, 10_usize, 20_usize, 2, 1, 4), 0);
        let all = got(7, |p| c!(&get("SpVecGet"), sparse, p[0], p[1], p[2], p[3], p[4], p[5], p[6]));
        assert_eq!(all, [5, 2, 10, 20, 2, 1, 4]);
        assert_eq!(c!("cusparseSpVecSetValues", sparse, 50_usize), 0);
        assert_eq!(got(1, |p| c!(&get("SpVecGetValues"), sparse, p[0])), [50]);
        assert_eq!(got(1, |p| c!("cusparseSpVecGetIndexBase", sparse, p[0])), [1]);
        assert_eq!([c!("cusparseDestroySpVec", sparse), c!("cusparseDestroySpVec", sparse)], [0, 3]);
    }
}

#[test]
fn settings_of_matrices_and_handles() {
    let _devices = devices();
    let mut descriptor = 0_usize;
    assert_eq!(c!("cusparseCreateMatDescr", into(&mut descriptor)), 0);
    for (set, get, most) in [
        ("cusparseSetMatType", "cusparseGetMatType", 3),
        ("cusparseSetMatFillMode", "cusparseGetMatFillMode", 1),
        ("cusparseSetMatDiagType", "cusparseGetMatDiagType", 1),
        ("cusparseSetMatIndexBase", "cusparseGetMatIndexBase", 1),
    ] {
        assert_eq!(c!(get, descriptor), 0);
        assert_eq!([c!(set, descriptor, most), c!(set, descriptor, most + 1)], [0, 3], "{set}");
        assert_eq!(c!(get, descriptor), most);
    }
    assert_eq!([c!("cusparseDestroyMatDescr", descriptor), c!("cusparseDestroyMatDescr", descriptor)], [0, 3]);
    let mut handle = 0_usize;
    assert_eq!(c!("cusparseCreate", into(&mut handle)), 0);
    assert_eq!(c!("cusparseSetStream", handle, 0_usize), 0);
    assert_eq!(got(1, |p| c!("cusparseGetStream", handle, p[0])), [0]);
    assert_eq!([c!("cusparseSetPointerMode", handle, 1), c!("cusparseSetPointerMode", handle, 2)], [0, 3]);
    assert_eq!(got(1, |p| c!("cusparseGetPointerMode", handle, p[0])), [1]);
    let version = got(1, |p| c!("cusparseGetVersion", handle, p[0]))[0];
    let parts = [0, 1, 2].map(|which| got(1, |p| c!("cusparseGetProperty", which, p[0]))[0]);
    assert_eq!(parts[0] * 1000 + parts[1] * 100 + parts[2], version);
    assert_eq!(c!("cusparseGetProperty", 3, 0_usize), 3);
    assert_eq!([c!("cusparseDestroy", handle), c!("cusparseDestroy", handle)], [0, 1]);
    for name in [
        "cusparseLoggerSetCallback",
        "cusparseLoggerSetFile",
        "cusparseLoggerOpenFile",
        "cusparseLoggerSetLevel",
        "cusparseLoggerSetMask",
        "cusparseLoggerForceDisable",
    ] {
        assert_eq!(c!(name, 0_usize), 0);
    }
    for name in ["cusparseGetErrorName", "cusparseGetErrorString"] {
        assert_ne!(c!(name, 3), c!(name, 0), "{name}");
    }
}
