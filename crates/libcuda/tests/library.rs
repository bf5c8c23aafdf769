//! The built library, called as programs call it.
#![allow(unsafe_code, reason = "functions of a library that is loaded")]

use memchr::memmem::find;
use std::ffi::{CString, c_void};
use std::path::PathBuf;
use std::sync::OnceLock;
use workloads::suite::ALL;

/// The library is beside the test program.
fn path() -> PathBuf {
    std::env::current_exe().unwrap().with_file_name("libcuda.so")
}

/// The address of one of the library's functions; nothing if it exports none of this name.
pub fn address(name: &str) -> Option<usize> {
    static LIBRARY: OnceLock<usize> = OnceLock::new();
    let library = *LIBRARY.get_or_init(|| {
        let path = CString::new(path().to_str().unwrap()).unwrap();
        // SAFETY: the path is a text.
        let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        assert!(!library.is_null(), "{path:?} cannot be loaded");
        library as usize
    });
    let name = CString::new(name).unwrap();
    // SAFETY: the library is open, and the name is a text.
    let found = unsafe { libc::dlsym(library as *mut c_void, name.as_ptr()) };
    (!found.is_null()).then_some(found as usize)
}

/// They would be a fifth of it, and it is within the command.
#[test]
fn bundled_workloads_are_not_within_the_library() {
    let library = std::fs::read(path()).unwrap();
    let has = |text: &str| find(&library, text.as_bytes()).is_some();
    assert!(has("cuLaunchKernel"));
    assert!(!ALL.iter().any(|workload| has(workload.summary)));
}
