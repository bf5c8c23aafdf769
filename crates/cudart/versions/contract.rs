//! The shared library exports what the public headers of its version declare.
//!
//! `symbols.txt` lists the names with the versions that have them, with their variants
//! (`_ptsz`, `_ptds`, `_v2` …). The library is loaded and asked for each, as the dynamic loader
//! does for a program.
#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "the library under test is called as a C program calls it")]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::PathBuf;

const SYMBOLS: &str = include_str!("../symbols.txt");

/// The version in this package's name.
const VERSION: &str = {
    let name = env!("CARGO_PKG_NAME");
    name.split_at("warpwright-cudart".len()).1
};

/// A library beside this test program.
fn beside(extension: &str) -> PathBuf {
    let mut path = std::env::current_exe().expect("the test has a path");
    path.set_file_name(format!("libcudart{VERSION}.{extension}"));
    path
}

/// The handle of the shared library.
fn library() -> *mut c_void {
    let path = beside("so");
    let name = CString::new(path.to_string_lossy().as_bytes()).expect("a path has no zero byte");
    // SAFETY: the library has no code that runs when it is loaded.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    assert!(!handle.is_null(), "{} cannot be loaded", path.display());
    handle
}

fn find(library: *mut c_void, name: &str) -> *mut c_void {
    let name = CString::new(name).expect("names have no zero byte");
    // SAFETY: the handle is of `dlopen`.
    unsafe { libc::dlsym(library, name.as_ptr()) }
}

/// Names of this version.
fn names() -> impl Iterator<Item = &'static str> {
    SYMBOLS.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let mut words = line.split_whitespace();
        let name = words.next()?;
        words.any(|version| version == VERSION).then_some(name)
    })
}

#[test]
fn every_public_function_is_exported() {
    let library = library();
    assert!(names().count() > 380, "the list has the version's functions");
    let missing: Vec<_> = names().filter(|name| find(library, name).is_null()).collect();
    assert_eq!(missing, [""; 0]);
}

/// Programs ask for `cudaMalloc` of the version that has the library's name, `libcudart.so.12`.
#[test]
fn symbols_have_the_version_that_programs_ask_for() {
    let library = library();
    let version = if VERSION == "11" { "11.0" } else { VERSION };
    let version = CString::new(format!("libcudart.so.{version}")).expect("no zero byte");
    // SAFETY: the handle is of `dlopen`, and the texts end with a zero byte.
    let found = unsafe { libc::dlvsym(library, c"cudaMalloc".as_ptr(), version.as_ptr()) };
    let linker = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())
        .any(|folder| folder.join("ld.bfd").exists());
    // The version comes from GNU's linker: without it the build warns.
    assert_eq!(!found.is_null(), linker);
}

#[test]
fn the_version_is_reported() {
    let found = find(library(), "cudaRuntimeGetVersion");
    // SAFETY: the function has this type.
    let get: extern "C" fn(*mut c_int) -> c_int = unsafe { std::mem::transmute(found) };
    let mut version = 0;
    assert_eq!(get(&mut version), 0);
    assert_eq!((version / 1000).to_string(), VERSION);
}

/// Without a driver every call that needs one says so, and nothing crashes.
#[test]
fn without_a_driver_calls_fail_with_the_documented_error() {
    let library = library();
    let function = |name| -> extern "C" fn(usize, usize, usize, usize) -> c_int {
        // SAFETY: a C function that takes fewer arguments ignores the rest.
        unsafe { std::mem::transmute(find(library, name)) }
    };
    let mut place = 0_usize;
    let address = (&raw mut place).expose_provenance();
    // SAFETY: plain calls of the dynamic loader.
    let driver = unsafe { libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW) };
    if !driver.is_null() {
        return; // A driver is installed on this machine.
    }
    assert_eq!(function("cudaMalloc")(address, 16, 0, 0), 35);
    assert_eq!(function("cudaGetDeviceCount")(address, 0, 0, 0), 35);
    assert_eq!(function("cudaPeekAtLastError")(0, 0, 0, 0), 35);
    assert_eq!(function("cudaGetLastError")(0, 0, 0, 0), 35);
    assert_eq!(function("cudaGetLastError")(0, 0, 0, 0), 0);
    assert_eq!(function("cudaRuntimeGetVersion")(0, 0, 0, 0), 1);
    assert_eq!(function("cudaDriverGetVersion")(address, 0, 0, 0), 0);
    assert_eq!(function("cudaGetExportTable")(address, address, 0, 0), 801);
    assert_eq!(function("cudaImportExternalMemory")(address, address, 0, 0), 801);
}

#[test]
fn errors_have_names_and_texts() {
    let library = library();
    let text = |name: &str, code: c_int| {
        // SAFETY: both functions have this type, and return texts that are never freed.
        unsafe {
            let get: extern "C" fn(c_int) -> *const c_char = std::mem::transmute(find(library, name));
            CStr::from_ptr(get(code)).to_str().expect("texts are ASCII")
        }
    };
    assert_eq!(text("cudaGetErrorName", 0), "cudaSuccess");
    assert_eq!(text("cudaGetErrorString", 0), "no error");
    assert_eq!(text("cudaGetErrorName", 700), "cudaErrorIllegalAddress");
    assert_eq!(text("cudaGetErrorString", 700), "an illegal memory access was encountered");
    assert_eq!(text("cudaGetErrorString", 2), "out of memory");
    for code in [-1, 11, 12_345] {
        assert_eq!(text("cudaGetErrorName", code), "unrecognized error code");
        assert_eq!(text("cudaGetErrorString", code), "unrecognized error code");
    }
}

/// `warpwright exec` refuses programs that have another runtime linked in, and knows this one by
/// a text.
#[test]
fn both_libraries_say_whose_they_are() {
    for extension in ["so", "a"] {
        let path = beside(extension);
        let bytes = std::fs::read(&path).expect("the library is built");
        let text = b"warpwright CUDA runtime";
        let found = bytes.windows(text.len()).any(|window| window == text);
        assert!(found, "{}", path.display());
    }
}
