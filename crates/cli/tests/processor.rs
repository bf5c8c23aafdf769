//! Processors without the instruction sets that the program is compiled for. Skipped where QEMU's user mode is missing.
#![cfg(all(target_arch = "x86_64", target_feature = "avx2"))]

use crate::common::{Ran, from};
use std::process::Command;

/// The command on an emulated processor; `None` without QEMU.
fn on(processor: &str) -> Option<Ran> {
    let mut command = Command::new("qemu-x86_64");
    command.args(["-cpu", processor, env!("CARGO_BIN_EXE_warpwright"), "list", "cores"]);
    command.output().ok().map(from)
}

#[test]
fn an_old_processor_is_refused_with_a_hint() {
    let Some(old) = on("Nehalem") else {
        eprintln!("skipped: qemu-x86_64 is not installed");
        return;
    };
    assert_eq!((old.status, &*old.stdout), (2, ""), "{}", old.stderr);
    assert!(old.stderr.starts_with("error: this processor lacks instructions"), "{}", old.stderr);
    assert!(old.stderr.contains(" avx2 ") && old.stderr.contains("RUSTFLAGS=\"\" cargo build"), "{}", old.stderr);
    // The first processor with AVX2. QEMU warns of features that it does not emulate.
    let new = on("Haswell").expect("QEMU ran before");
    assert!(new.status == 0 && new.stdout.contains("ghost"), "{}{}", new.stdout, new.stderr);
}
