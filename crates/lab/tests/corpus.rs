//! The corpus of small kernels with known results (`tools/fuzz-kernels --corpus`): every operation of the
//! generator, and random kernels, as PTX and machine code. Each is right under every front end and with
//! every kind of registers, and on core designs.

mod differential;

use differential::{Failure, Folder, check_functional, check_on_core, place, variant};
use std::path::Path;

/// What is known to fail, by a part of `group.variant kernel mode`, and why. A line here that nothing fails
/// on is an error, too.
const KNOWN: &[(&str, &str)] = &[
    ("random2.new_90_90.cubin k6 ", "I2F of a 64-bit immediate value"),
    ("random2.sm_70_75.cubin k6 ", "I2F of a 64-bit immediate value"),
    ("random2.sm_70_90.cubin k6 ", "I2F of a 64-bit immediate value"),
    ("random5.sm_70_70.cubin k3 ", "HFMA2 with a result of single precision"),
    ("random0.new_90_90.cubin k15 ", "CUDA 12.9 code that needs a stack says that it has none"),
    ("random2.new_90_90.cubin k9 ", "CUDA 12.9 code that needs a stack says that it has none"),
    ("random2.new_90_90.cubin k17 ", "CUDA 12.9 code that needs a stack says that it has none"),
    ("random6.new_90_90.cubin k9 ", "CUDA 12.9 code that needs a stack says that it has none"),
    ("random5.sm_70_70.cubin k8 ", "cause not found"),
    ("random5.sm_70_90.cubin k8 ", "cause not found"),
];

fn corpus() -> Folder {
    let folder = Folder::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus"), "");
    assert!(folder.groups.len() > 10, "only {} groups", folder.groups.len());
    folder
}

/// Compares what failed with what is known to.
fn check(failures: &[Failure], known: &[(&str, &str)]) {
    let of = |f: &Failure| known.iter().any(|(at, _)| f.at.contains(at));
    let new: Vec<String> =
        failures.iter().filter(|f| !of(f)).map(|f| format!("{:?}: {}: {}", f.kind, f.at, f.detail)).collect();
    assert!(new.is_empty(), "{} fail:\n{}", new.len(), new.join("\n"));
    for (at, why) in known {
        assert!(failures.iter().any(|f| f.at.contains(at)), "{at} passes now; it was known to fail: {why}");
    }
}

#[test]
fn every_kernel_is_right_under_every_front_end_and_kind_of_registers() {
    let folder = corpus();
    let (mut runs, mut failures) = (0, Vec::new());
    for group in &folder.groups {
        for file in &group.files {
            runs += check_functional(group, file, &folder.input, &mut |f| failures.push(f));
        }
    }
    println!("{runs} runs");
    assert!(runs > 1000);
    check(&failures, KNOWN);
}

#[test]
fn kernels_are_right_on_core_designs() {
    let folder = corpus();
    let (mut turn, mut failures) = (0, Vec::new());
    for group in &folder.groups {
        for file in &group.files {
            // The random kernels have more than one warp that does something different. Machine code runs
            // here once it is right functionally (see `KNOWN`).
            let ptx = variant(file).ends_with(".ptx");
            if ptx && (group.name.starts_with("random") || turn % 3 == 0) {
                let place = place(turn, &variant(file));
                check_on_core(group, file, &folder.input, place, &mut |f| failures.push(f));
            }
            turn += 1;
        }
    }
    check(&failures, &[]);
}
