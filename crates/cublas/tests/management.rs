//! Handles and their settings, copies, versions, and what no function may be given.

use crate::library::{Memory, at, call, check, devices, find, into, made};
use crate::rows::Rows;

#[test]
fn settings_of_a_handle() {
    let _devices = devices();
    let handle = made("cublasCreate_v2", &[]);
    for (set, get, value) in [
        ("cublasSetStream_v2", "cublasGetStream_v2", 0),
        ("cublasSetPointerMode_v2", "cublasGetPointerMode_v2", 1),
        ("cublasSetAtomicsMode", "cublasGetAtomicsMode", 1),
        ("cublasSetMathMode", "cublasGetMathMode", 3),
        ("cublasSetSmCountTarget", "cublasGetSmCountTarget", 20),
    ] {
        let mut kept = 0_usize;
        check(set, &[handle, value]);
        check(get, &[handle, into(&mut kept)]);
        assert_eq!(kept, value, "{get}");
        assert_eq!(call(get, &[handle, 0]), 7);
    }
    assert_eq!(call("cublasSetPointerMode_v2", &[handle, 2]), 7);
    check("cublasSetWorkspace_v2", &[handle, 0, 0]);
    let mut compute = 0_i32;
    check("cublasMigrateComputeType", &[handle, 1, into(&mut compute)]);
    assert_eq!(compute, 70);
    for mode in [0, 1] {
        check("cublasSetPointerMode_v2", &[handle, mode]);
        let gemm = [handle, 0, 0, 1, 1, 1, 0, 16, 1, 16, 1, 0, 16, 1];
        assert_eq!(call("cublasSgemm_v2", &gemm), 7, "no scalars");
        assert_eq!(call("cublasSdot_v2", &[handle, 5, 16, 1, 16, 1, 0]), 7, "no place for the result");
    }
    check("cublasDestroy_v2", &[handle]);
    for name in ["cublasDestroy_v2", "cublasGetStream_v2", "cublasSgemm_v2", "cublasSnrm2_v2", "cublasStrsm_v2"] {
        assert_eq!(call(name, &[handle]), 1, "{name} of a handle that has ended");
    }
}

#[test]
fn versions_texts_and_logs() {
    let [mut version, mut major, mut light] = [0_i32; 3];
    check("cublasGetVersion_v2", &[0, into(&mut version)]);
    check("cublasGetProperty", &[0, into(&mut major)]);
    check("cublasLtGetProperty", &[0, into(&mut light)]);
    assert_eq!([major, light], [version / 10_000; 2]);
    assert_eq!(call("cublasGetProperty", &[3, into(&mut major)]), 7);
    assert_eq!(call("cublasLtGetVersion", &[]), version);
    assert_eq!([call("cublasGetCudartVersion", &[]), call("cublasLtGetCudartVersion", &[])], [12_000; 2]);
    for name in ["cublasGetStatusName", "cublasGetStatusString", "cublasLtGetStatusName", "cublasLtGetStatusString"] {
        assert_ne!(call(name, &[7]), call(name, &[0]), "{name}");
    }
    for name in [
        "cublasLoggerConfigure",
        "cublasSetLoggerCallback",
        "cublasLtLoggerSetCallback",
        "cublasLtLoggerSetFile",
        "cublasLtLoggerOpenFile",
        "cublasLtLoggerSetLevel",
        "cublasLtLoggerSetMask",
        "cublasLtLoggerForceDisable",
        "cublasLtHeuristicsCacheSetCapacity",
    ] {
        check(name, &[0, 0, 0, 0]);
    }
    for name in ["cublasGetLoggerCallback", "cublasLtHeuristicsCacheGetCapacity"] {
        let mut place = 1_usize;
        check(name, &[into(&mut place)]);
        assert_eq!(place, 0);
    }
    call("cublasXerbla", &[0, 0]);
}

/// There and back with other distances, both ways of waiting, both widths of sizes.
#[test]
fn copies_between_host_and_device() {
    let devices = devices();
    let stream = devices[0].stream;
    for is_async in [false, true] {
        for wide in ["", "_64"] {
            let name =
                |what: &str, shape: &str| format!("cublas{what}{shape}{}{wide}", if is_async { "Async" } else { "" });
            let from: Vec<u16> = (0..35).collect();
            let device = Memory::with(&[0xff; 2 * 40]);
            let mut back = [0_u16; 70];
            // Rows of a matrix of 5 x 7 with columns of 5, 5 and 10 elements.
            check(&name("Set", "Matrix"), &[5, 7, 2, at(from.as_slice()), 5, device.address, 5, stream]);
            check(&name("Get", "Matrix"), &[5, 7, 2, device.address, 5, into(&mut back), 10, stream]);
            check("cuStreamSynchronize", &[stream]);
            for (j, column) in back.chunks(10).enumerate() {
                assert_eq!((&column[..5], &column[5..]), (&from[5 * j..5 * j + 5], &[0; 5][..]));
            }
            let mut vector = [0_u16; 20];
            check(&name("Set", "Vector"), &[10, 2, at(from.as_slice()), 3, device.address, 4, stream]);
            check(&name("Get", "Vector"), &[10, 2, device.address, 4, into(&mut vector), 2, stream]);
            check("cuStreamSynchronize", &[stream]);
            for (i, pair) in vector.chunks(2).enumerate() {
                assert_eq!(pair, [from[3 * i], 0]);
            }
            assert_eq!(call(&name("Set", "Matrix"), &[5, 7, 2, at(from.as_slice()), 4, device.address, 5, stream]), 7);
            assert_eq!(
                call(&name("Get", "Vector"), &[usize::MAX, 2, device.address, 1, into(&mut vector), 1, stream]),
                7
            );
        }
    }
}

/// Each exported function that is supported has a case here, or a call in another test.
#[test]
fn every_function_is_tested() {
    let _devices = devices();
    let rows = Rows::all();
    let source = concat!(include_str!("management.rs"), include_str!("light.rs"), include_str!("library.rs"));
    let mut untested = Vec::new();
    for line in include_str!("../symbols.txt").lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        let name = words.next().expect("a name");
        if !words.any(|version| version == "12") {
            continue;
        }
        let narrow = name.strip_suffix("_64").unwrap_or(name);
        let random = rows.0.iter().any(|row| row.name == name || row.both && row.name == narrow);
        let copies = ["Vector", "Matrix"].iter().any(|shape| narrow.contains(&format!("et{shape}")));
        if random || copies || source.contains(&format!("\"{name}\"")) {
            continue;
        }
        // A call without arguments says whether there is anything to test.
        if call(name, &[]) != 15 {
            untested.push(name);
        }
    }
    assert_eq!(untested, [""; 0]);
    assert_eq!(find("cublasNothing"), 0);
}

/// A rotation without roots makes the second number zero, keeps weighted squares, and brings the weights into range.
#[test]
fn rotations_without_roots() {
    let devices = devices();
    let handle = devices[0].handle;
    check("cublasSetPointerMode_v2", &[handle, 0]);
    let mut random = crate::number::Random(5);
    for number in 0..200 {
        let mut draw = || random.number(crate::number::D).re * random.one_of(&[1.0, 1.0, 1e-9, 1e9]);
        let [d1, d2, x1, y1] = [draw().abs(), draw().abs(), draw(), draw()];
        let single = number % 3 == 0;
        let given = if single { [d1, d2, x1, y1].map(|x| f64::from(x as f32)) } else { [d1, d2, x1, y1] };
        let [d1, d2, x1, y1] = given;
        let mut after = given;
        let mut how = [f64::NAN; 5];
        if single {
            let (mut narrow, mut narrow_how) = (given.map(|x| x as f32), [f32::NAN; 5]);
            let places = [0, 1, 2, 3].map(|at| into(&mut narrow[at]));
            check("cublasSrotmg_v2", &[&[handle], &places[..], &[into(&mut narrow_how)]].concat());
            (after, how) = (narrow.map(f64::from), narrow_how.map(f64::from));
        } else {
            let places = [0, 1, 2, 3].map(|at| into(&mut after[at]));
            if number % 3 == 1 {
                check("cublasDrotmg_v2", &[&[handle], &places[..], &[into(&mut how)]].concat());
            } else {
                let [d1, d2, x1, y1] = places;
                check("cublasRotmgEx", &[handle, d1, 1, d2, 1, x1, 1, y1, 1, into(&mut how), 1, 1]);
            }
        }
        let [flag, h11, h21, h12, h22] = how;
        let [h11, h21, h12, h22] = match flag as i32 {
            -2 => [1.0, 0.0, 0.0, 1.0],
            -1 => [h11, h21, h12, h22],
            0 => [1.0, h21, h12, 1.0],
            _ => [h11, -1.0, 1.0, h22],
        };
        let unit = if single { 1e-6 } else { 1e-14 };
        let near = |x: f64, expected: f64, size: f64| (x - expected).abs() <= 16.0 * unit * size;
        let [w1, w2, new_x, _] = after;
        assert!(near(h11 * x1 + h12 * y1, new_x, (h11 * x1).abs() + (h12 * y1).abs()), "{given:?} {how:?} {after:?}");
        assert!(near(h21 * x1 + h22 * y1, 0.0, (h21 * x1).abs() + (h22 * y1).abs()), "{given:?} {how:?}");
        // H' * D * H is what the weights were.
        assert!(near(h11 * h11 * w1 + h21 * h21 * w2, d1, d1), "{given:?} {how:?} {after:?}");
        assert!(near(h12 * h12 * w1 + h22 * h22 * w2, d2, d2), "{given:?} {how:?} {after:?}");
        let cross = h11 * h12 * w1;
        assert!(near(cross + h21 * h22 * w2, 0.0, cross.abs()), "{given:?} {how:?} {after:?}");
        let range = 4096.0_f64.powi(-2)..4096.0_f64.powi(2);
        assert!(flag as i32 == -2 || [w1, w2].iter().all(|w| range.contains(w)), "{given:?} {after:?}");
    }
}
