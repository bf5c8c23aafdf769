//! The shared library exports what the public headers of its version declare, and answers without a device.
#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "the library under test is called as a C program calls it")]

use std::ffi::{CStr, CString, c_char, c_int, c_void};

const SYMBOLS: &str = include_str!("../symbols.txt");

/// `cublas` or `cublaslt`, with its version.
const NAME: &str = env!("CARGO_PKG_NAME").split_at("warpwright-".len()).1;

fn split() -> (&'static str, &'static str) {
    NAME.split_at(NAME.find(|c: char| c.is_ascii_digit()).expect("the name ends with a version"))
}

/// The handle of the shared library, which is beside this test program.
fn library() -> *mut c_void {
    let mut path = std::env::current_exe().expect("the test has a path");
    path.set_file_name(format!("lib{NAME}.so"));
    let name = CString::new(path.to_string_lossy().as_bytes()).expect("a path has no zero byte");
    // SAFETY: all that runs when the library is loaded is its own.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    assert!(!handle.is_null(), "{} cannot be loaded", path.display());
    handle
}

fn find(name: &str) -> *mut c_void {
    let name = CString::new(name).expect("names have no zero byte");
    // SAFETY: the handle is of `dlopen`.
    unsafe { libc::dlsym(library(), name.as_ptr()) }
}

#[test]
fn every_public_function_is_exported() {
    let (_, version) = split();
    let names = SYMBOLS.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let mut words = line.split_whitespace();
        let name = words.next()?;
        words.any(|of| of == version).then_some(name)
    });
    let names: Vec<&str> = names.collect();
    assert!(names.len() > 450, "the list has the version's functions: {}", names.len());
    let missing: Vec<_> = names.into_iter().filter(|name| find(name).is_null()).collect();
    assert_eq!(missing, [""; 0]);
}

#[test]
fn symbols_have_the_version_that_programs_ask_for() {
    let (library_name, version) = split();
    let (file, symbol) = match library_name {
        "cublas" => ("libcublas", c"cublasSgemm_v2"),
        _ => ("libcublasLt", c"cublasLtMatmul"),
    };
    let version = CString::new(format!("{file}.so.{version}")).expect("no zero byte");
    // SAFETY: the handle is of `dlopen`, and the texts end with a zero byte.
    let found = unsafe { libc::dlvsym(library(), symbol.as_ptr(), version.as_ptr()) };
    let linker = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())
        .any(|folder| folder.join("ld.bfd").exists());
    // The version comes from GNU's linker: without it the build warns.
    assert_eq!(!found.is_null(), linker);
}

#[test]
fn the_version_is_reported() {
    let (_, version) = split();
    // SAFETY: the functions have these types.
    let get: extern "C" fn(usize, *mut c_int) -> c_int = unsafe { std::mem::transmute(find("cublasGetVersion_v2")) };
    // SAFETY: as above.
    let light: extern "C" fn() -> usize = unsafe { std::mem::transmute(find("cublasLtGetVersion")) };
    let mut number = 0;
    assert_eq!(get(0, &mut number), 0);
    assert_eq!((number / 10_000).to_string(), version);
    assert_eq!(light(), usize::try_from(number).expect("a version is positive"));
}

#[test]
fn wrong_handles_and_functions_that_do_not_exist_are_errors() {
    let function = |name| -> extern "C" fn(usize, usize, usize, usize, usize, usize) -> c_int {
        // SAFETY: a C function that takes fewer arguments ignores the rest.
        unsafe { std::mem::transmute(find(name)) }
    };
    for handle in [0, 16, 0x1234_5678] {
        assert_eq!(function("cublasDestroy_v2")(handle, 0, 0, 0, 0, 0), 1);
        assert_eq!(function("cublasSetStream_v2")(handle, 0, 0, 0, 0, 0), 1);
        assert_eq!(function("cublasSscal_v2")(handle, 1, 16, 16, 1, 0), 1);
    }
    assert_eq!(function("cublasCreate_v2")(0, 0, 0, 0, 0, 0), 7);
    assert_eq!(function("cublasLtMatmulDescDestroy")(48, 0, 0, 0, 0, 0), 7);
    assert_eq!(function("cublasUint8gemmBias")(0, 0, 0, 0, 0, 0), 15);
    assert_eq!(function("cublasSgemm")(0, 0, 0, 0, 0, 0), 15);
}

#[test]
fn statuses_have_names_and_texts() {
    let text = |name: &str, code: c_int| {
        // SAFETY: these functions have this type, and return texts that are never freed.
        unsafe {
            let get: extern "C" fn(c_int) -> *const c_char = std::mem::transmute(find(name));
            CStr::from_ptr(get(code)).to_str().expect("texts are ASCII")
        }
    };
    assert_eq!(text("cublasGetStatusName", 15), "CUBLAS_STATUS_NOT_SUPPORTED");
    assert_eq!(text("cublasLtGetStatusString", 0), "success");
    assert_eq!(text("cublasGetStatusName", 12_345), "CUBLAS_STATUS_UNKNOWN");
}

/// A descriptor keeps what it is given, and an attribute of another size is refused.
#[test]
fn descriptors_keep_their_attributes() {
    type Create = extern "C" fn(*mut usize, c_int, c_int) -> c_int;
    type Set = extern "C" fn(usize, c_int, *const u64, usize) -> c_int;
    type Get = extern "C" fn(usize, c_int, *mut u64, usize, *mut usize) -> c_int;
    // SAFETY: the function has this type, as those below have theirs.
    let create: Create = unsafe { std::mem::transmute(find("cublasLtMatmulDescCreate")) };
    // SAFETY: as above.
    let set: Set = unsafe { std::mem::transmute(find("cublasLtMatmulDescSetAttribute")) };
    // SAFETY: as above.
    let get: Get = unsafe { std::mem::transmute(find("cublasLtMatmulDescGetAttribute")) };
    // SAFETY: as above.
    let destroy: extern "C" fn(usize) -> c_int = unsafe { std::mem::transmute(find("cublasLtMatmulDescDestroy")) };
    const BIAS: c_int = 8;
    let (mut descriptor, mut value, mut bytes) = (0, 0, 0);
    assert_eq!(create(&mut descriptor, 68, 0), 0);
    assert_eq!(set(descriptor, BIAS, &0x1234_5678_9abc, 8), 0);
    assert_eq!(get(descriptor, BIAS, &mut value, 8, &mut bytes), 0);
    assert_eq!((value, bytes), (0x1234_5678_9abc, 8));
    assert_eq!(set(descriptor, BIAS, &1, 4), 7);
    assert_eq!(set(descriptor, 99, &0, 8), 0, "an attribute that asks for nothing");
    assert_eq!(set(descriptor, 99, &1, 8), 15);
    assert_eq!(destroy(descriptor), 0);
    assert_eq!(destroy(descriptor), 7);
}
