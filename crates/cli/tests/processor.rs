//! Processors without the instruction sets that the program is compiled for. Skipped where QEMU's user mode is missing.
#![cfg(all(target_arch = "x86_64", target_feature = "avx2"))]

use crate::common::{Ran, from};
use std::process::Command;

/// A program on an emulated processor; `None` without QEMU.
fn on(processor: &str, args: &[&str]) -> Option<Ran> {
    let mut command = Command::new("qemu-x86_64");
    command.args(["-cpu", processor]).args(args);
    command.output().ok().map(from)
}

const COMMAND: [&str; 3] = [env!("CARGO_BIN_EXE_warpwright"), "list", "cores"];

fn is_refused(what: &str, ran: &Ran) {
    assert_eq!((ran.status, &*ran.stdout), (2, ""), "{what}: {}", ran.stderr);
    assert!(ran.stderr.starts_with("error: this processor lacks instructions"), "{what}: {}", ran.stderr);
    let names_it = ran.stderr.contains(" avx2 ") && ran.stderr.contains("RUSTFLAGS=\"\" cargo build");
    assert!(names_it, "{what}: {}", ran.stderr);
}

#[test]
fn an_old_processor_is_refused_with_a_hint() {
    let Some(old) = on("Nehalem", &COMMAND) else {
        eprintln!("skipped: qemu-x86_64 is not installed");
        return;
    };
    is_refused("the command", &old);
    // The first processor with AVX2. QEMU warns of features that it does not emulate.
    let new = on("Haswell", &COMMAND).expect("QEMU ran before");
    assert!(new.status == 0 && new.stdout.contains("ghost"), "{}{}", new.stdout, new.stderr);
}

/// Programs find the libraries by their environment only, too, and may load any one of them.
#[test]
fn each_library_refuses_an_old_processor_when_it_is_loaded() {
    // Cargo builds them beside the tests.
    let beside = std::env::current_exe().unwrap();
    let files = beside.parent().unwrap().read_dir().unwrap().map(|entry| entry.unwrap().file_name());
    let files: Vec<String> = files.filter_map(|name| name.into_string().ok()).collect();
    let libraries = files.iter().filter(|name| name.starts_with("libcu") && name.ends_with(".so"));
    let libraries: Vec<&str> = libraries.map(String::as_str).chain(["libwarpwright_audit.so"]).collect();
    assert!(libraries.len() > 16, "{libraries:?}");
    for name in libraries {
        let variable = if name.contains("audit") { "LD_AUDIT" } else { "LD_PRELOAD" };
        let loaded = format!("{variable}={}", beside.with_file_name(name).display());
        let loads = |processor| on(processor, &["-E", &loaded, "/bin/true"]);
        let Some(old) = loads("Nehalem") else {
            eprintln!("skipped: qemu-x86_64 is not installed");
            return;
        };
        is_refused(name, &old);
        let new = loads("Haswell").expect("QEMU ran before");
        assert_eq!((new.status, &*new.stdout), (0, ""), "{name}: {}", new.stderr);
    }
}
