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

fn is_refused(ran: &Ran) {
    assert_eq!((ran.status, &*ran.stdout), (2, ""), "{}", ran.stderr);
    assert!(ran.stderr.starts_with("error: this processor lacks instructions"), "{}", ran.stderr);
    assert!(ran.stderr.contains(" avx2 ") && ran.stderr.contains("RUSTFLAGS=\"\" cargo build"), "{}", ran.stderr);
}

#[test]
fn an_old_processor_is_refused_with_a_hint() {
    let Some(old) = on("Nehalem", &COMMAND) else {
        eprintln!("skipped: qemu-x86_64 is not installed");
        return;
    };
    is_refused(&old);
    // The first processor with AVX2. QEMU warns of features that it does not emulate.
    let new = on("Haswell", &COMMAND).expect("QEMU ran before");
    assert!(new.status == 0 && new.stdout.contains("ghost"), "{}{}", new.stdout, new.stderr);
}

/// Programs load the driver by their environment only, too.
#[test]
fn the_driver_refuses_an_old_processor_when_it_is_loaded() {
    // Cargo builds it beside the tests.
    let path = std::env::current_exe().unwrap().with_file_name("libcuda.so");
    assert!(path.exists(), "{path:?}");
    let preloaded = format!("LD_PRELOAD={}", path.display());
    let loads = |processor| on(processor, &["-E", &preloaded, "/bin/true"]);
    let Some(old) = loads("Nehalem") else {
        eprintln!("skipped: qemu-x86_64 is not installed");
        return;
    };
    is_refused(&old);
    let new = loads("Haswell").expect("QEMU ran before");
    assert_eq!((new.status, &*new.stdout), (0, ""), "{}", new.stderr);
}
