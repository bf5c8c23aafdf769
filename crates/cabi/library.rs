//! Build script of the libraries of a version: gives the shared library the name and the symbol version that programs
//! ask for. It stays loaded when a program closes it, as the driver does: what a thread keeps in it is removed when the
//! thread ends.

use std::{env, path::Path};

fn main() {
    println!("cargo::rerun-if-changed=../../../cabi/library.rs");
    if env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") {
        return;
    }
    let package = env::var("CARGO_PKG_NAME").unwrap_or_default();
    let library = package.trim_start_matches("warpwright-").trim_end_matches(|c: char| c.is_ascii_digit());
    let version = package.trim_start_matches(|c: char| !c.is_ascii_digit());
    let name = match (library, version) {
        ("cudart", "11") => "libcudart.so.11.0".to_owned(),
        ("cublaslt", version) => format!("libcublasLt.so.{version}"),
        (library, version) => format!("lib{library}.so.{version}"),
    };
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,{name}");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    // Calls within the library stay within, also where another version's library is loaded first.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-Bsymbolic-functions");
    if env::var("PROFILE").is_ok_and(|profile| profile == "release") {
        // The command has the library within it, which line tables would make six times as large.
        println!("cargo::rustc-cdylib-link-arg=-Wl,--strip-debug");
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&path).any(|folder| Path::new(&folder).join("ld.bfd").exists());
    if found {
        // Every symbol has a version with the name of the library: programs link against
        // `cudaMalloc@libcudart.so.12`. Rust's own linker lacks the option.
        println!("cargo::rustc-cdylib-link-arg=-fuse-ld=bfd");
        println!("cargo::rustc-cdylib-link-arg=-Wl,--default-symver");
    } else {
        println!(
            "cargo::warning=no ld.bfd in PATH: {name} is built without symbol versions, and \
             programs print \"no version information available\" when they start"
        );
    }
}
