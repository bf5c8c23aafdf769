//! The shared library of a version exports what the public headers declare, with the version that programs ask for.
#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "the library under test is called as a C program calls it")]

use std::ffi::{CString, c_void};
use std::path::Path;

/// The library with its version, as `curand10`.
const NAME: &str = env!("CARGO_PKG_NAME").split_at("warpwright-".len()).1;

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

#[test]
fn every_public_function_is_exported_with_its_version() {
    let (library_name, version) = NAME.split_at(NAME.find(|c: char| c.is_ascii_digit()).expect("a version"));
    let symbols = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../symbols.txt");
    let symbols = std::fs::read_to_string(symbols).expect("the list of functions is there");
    let names: Vec<&str> = symbols
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let name = words.next()?;
            words.any(|of| of == version).then_some(name)
        })
        .collect();
    assert!(names.len() > 25, "the list has the version's functions: {}", names.len());
    let linker = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())
        .any(|folder| folder.join("ld.bfd").exists());
    let file = CString::new(format!("lib{library_name}.so.{version}")).expect("no zero byte");
    let missing = names.into_iter().filter(|name| {
        let name = CString::new(*name).expect("names have no zero byte");
        // SAFETY: the handle is of `dlopen`, and the texts end with a zero byte.
        unsafe {
            // The version comes from GNU's linker: without it the build warns.
            let found = if linker {
                libc::dlvsym(library(), name.as_ptr(), file.as_ptr())
            } else {
                libc::dlsym(library(), name.as_ptr())
            };
            found.is_null()
        }
    });
    assert_eq!(missing.collect::<Vec<_>>(), [""; 0]);
}
