//! Gives the library the name by which programs ask for it. It stays loaded when a program closes it: a thread of it
//! runs, and its report is written when the program ends.
//!
//! Finds out which commit is built, for that report.

#[path = "../cli/build/commit.rs"]
mod commit;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=../cli/build/commit.rs");
    commit::set();
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    if std::env::var("PROFILE").is_ok_and(|profile| profile == "release") {
        // The command has the library within it, which line tables would make six times as large.
        println!("cargo::rustc-cdylib-link-arg=-Wl,--strip-debug");
    }
}
