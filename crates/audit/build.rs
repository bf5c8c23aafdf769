//! The command has the library within it, which line tables would make several times as large.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("PROFILE").is_ok_and(|profile| profile == "release") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,--strip-debug");
    }
}
