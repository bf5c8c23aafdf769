//! Runs the kernels of a folder in every way and lists what is not as the host computed it:
//! `cargo run -p warpwright-lab --example differential -- FOLDER [--cores N] [--only TEXT]`.
//!
//! `tools/fuzz-kernels` makes such folders. `--cores N` also runs each file on N core designs, which
//! change from file to file. `--only` takes groups whose name contains a text.

#[path = "../tests/differential/mod.rs"]
mod differential;

use differential::{Failure, Folder, Kind, check_functional, check_on_core, place, record_panics, variant};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

/// Counts of a variant: runs, kernels, and failures by kind.
#[derive(Default)]
struct Tally {
    kernels: usize,
    runs: usize,
    failed: BTreeMap<&'static str, usize>,
}

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let (mut folder, mut cores, mut only) = (None, 0_usize, String::new());
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--cores" => cores = args.next().and_then(|n| n.parse().ok()).unwrap_or(1),
            "--only" => only = args.next().unwrap_or_default(),
            _ => folder = Some(arg),
        }
    }
    let Some(folder) = folder else {
        eprintln!("error: which folder? differential FOLDER [--cores N] [--only TEXT]");
        return ExitCode::from(2);
    };
    record_panics();
    let folder = Folder::read(Path::new(&folder), &only);
    let mut tallies: BTreeMap<String, Tally> = BTreeMap::new();
    let mut turn = 0;
    for group in &folder.groups {
        for file in &group.files {
            let tally = tallies.entry(variant(file)).or_default();
            tally.kernels += group.cases.len();
            let mut failures = Vec::new();
            let mut fail = |failure: Failure| failures.push(failure);
            tally.runs += check_functional(group, file, &folder.input, &mut fail);
            for _ in 0..cores {
                let place = place(turn, &variant(file));
                turn += 1;
                tally.runs += check_on_core(group, file, &folder.input, place, &mut fail);
            }
            for Failure { at, kind, detail } in failures {
                *tally.failed.entry(name(kind)).or_default() += 1;
                println!("{}\t{at}\t{}", name(kind), detail.replace('\n', " | "));
            }
        }
    }
    println!("\nvariant                   kernels    runs  failures");
    for (variant, tally) in &tallies {
        let failed: Vec<String> = tally.failed.iter().map(|(kind, n)| format!("{n} {kind}")).collect();
        println!("{variant:24} {:8} {:7}  {}", tally.kernels, tally.runs, failed.join(", "));
    }
    ExitCode::from(u8::from(tallies.values().any(|t| !t.failed.is_empty())))
}

const fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Refused => "refused",
        Kind::Different => "different",
        Kind::Fault => "fault",
        Kind::Panic => "panic",
        Kind::Early => "early",
    }
}
