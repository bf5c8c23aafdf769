//! The built library, called as programs call it.
#![allow(unsafe_code, reason = "functions of a library that is loaded")]

use std::ffi::{CString, c_void};
use std::sync::OnceLock;

/// The address of one of the library's functions; nothing if it exports none of this name.
pub fn address(name: &str) -> Option<usize> {
    static LIBRARY: OnceLock<usize> = OnceLock::new();
    let library = *LIBRARY.get_or_init(|| {
        // The library is beside the test program.
        let path = std::env::current_exe().unwrap().with_file_name("libcuda.so");
        let path = CString::new(path.to_str().unwrap()).unwrap();
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
