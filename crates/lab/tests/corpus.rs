//! The corpus of small kernels with known results (`tools/fuzz-kernels --corpus`): every operation of the
//! generator, and random kernels, as PTX and machine code. Each is right under every front end and with
//! every kind of registers, and on core designs.

use crate::differential;

use differential::{Failure, Folder, Kind, check_functional, check_on_core, place, variant};
use std::path::Path;

fn corpus() -> Folder {
    let folder = Folder::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus"), "");
    assert!(folder.groups.len() > 10, "only {} groups", folder.groups.len());
    folder
}

fn check(failures: &[Failure]) {
    let lines: Vec<String> = failures.iter().map(|f| format!("{:?}: {}: {}", f.kind, f.at, f.detail)).collect();
    assert!(lines.is_empty(), "{} fail:\n{}", lines.len(), lines.join("\n"));
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
    check(&failures);
}

#[test]
fn kernels_are_right_on_core_designs() {
    let folder = corpus();
    let (mut turn, mut runs, mut failures, mut unmapped) = (0, [0, 0], Vec::new(), 0);
    // A fabric has no calls, and barriers of whole CTAs only.
    let mut note = |failure: Failure| match failure.kind {
        Kind::Refused if failure.detail.contains("it cannot be mapped onto the fabric") => unmapped += 1,
        _ => failures.push(failure),
    };
    for group in &folder.groups {
        for file in &group.files {
            // The random kernels have more than one warp that does something different.
            if group.name.starts_with("random") || turn % 3 == 0 {
                let variant = variant(file);
                let place = place(turn, &variant);
                runs[usize::from(variant.ends_with(".ptx"))] +=
                    check_on_core(group, file, &folder.input, place, &mut note);
            }
            turn += 1;
        }
    }
    println!("{} runs of machine code, {} of PTX, {unmapped} kernels that a fabric cannot have", runs[0], runs[1]);
    assert!(unmapped < 60, "{unmapped} kernels are not mapped");
    assert!(runs.iter().all(|&n| n > 100), "{runs:?}");
    check(&failures);
}
