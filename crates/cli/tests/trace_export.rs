//! Traces that are written, from the command line to the files and back.

use crate::common;

use common::{run, succeed};
use serde_json::Value;

fn total(args: &[&str]) -> Value {
    let report: Value = serde_json::from_str(&succeed(&[args, &["--json"]].concat())).unwrap();
    report["total"].clone()
}

const VECTORADD: [&str; 3] = ["vectoradd", "--param", "n=4096"];

#[test]
fn a_trace_is_written_run_and_converted() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (own, other) = (path("own"), path("accelsim"));
    let text = succeed(&[&["trace"], &VECTORADD[..], &["-o", &own]].concat());
    assert!(text.contains("trace.wwt: ") && text.contains("1 launch, 16 CTAs, "), "{text}");
    let live = total(&[&["run"], &VECTORADD[..]].concat());
    assert_eq!(total(&["run", &own]), live);
    let in_order = total(&[&["run"], &VECTORADD[..], &["--core", "inorder"]].concat());
    assert_eq!(total(&["run", &format!("{own}/trace.wwt"), "--core", "inorder"]), in_order);

    let text = succeed(&["trace", &own, "-o", &other, "--format", "accelsim", "--compress", "gz"]);
    assert!(text.contains("kernelslist.g: "), "{text}");
    let again = total(&["run", &other]);
    for figure in ["warp_instructions", "thread_instructions"] {
        assert_eq!(again[figure], live[figure], "{figure}");
    }
    assert_eq!(succeed(&[&["trace", "-q", "--force"], &VECTORADD[..], &["-o", &own]].concat()), "");
}

#[test]
fn mistakes_are_named_and_nothing_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().to_str().unwrap();
    let traced = [&["trace"], &VECTORADD[..], &["-o", at]].concat();
    succeed(&traced);
    let before = std::fs::read(folder.path().join("trace.wwt")).unwrap();
    for (args, message) in [
        (traced.clone(), "is there already; overwrite it with --force"),
        ([&traced[..], &["--compress", "xz"]].concat(), "--compress is for Accel-Sim's format"),
        (vec!["trace", at, "-o", at], "is both an output and an input"),
        (vec!["trace", "vectorad", "-o", at], "vectoradd"),
    ] {
        let ran = run(&args);
        assert!(ran.status == 2 && ran.stderr.contains(message), "{args:?}: {}: {}", ran.status, ran.stderr);
    }
    assert_eq!(std::fs::read(folder.path().join("trace.wwt")).unwrap(), before);
    std::fs::write(folder.path().join("trace.wwt"), &before[..before.len() - 9]).unwrap();
    let ran = run(&["run", at]);
    assert!(ran.status == 2 && ran.stderr.contains("cut short"), "{}", ran.stderr);
}

/// The reason why a trace cannot be written is the disk's, not an instruction's.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let trace = format!(
        "trap '' XFSZ; ulimit -f 20; exec '{}' trace bfs -o '{}' --set sm_count=2",
        env!("CARGO_BIN_EXE_warpwright"),
        folder.path().join("trace").display()
    );
    let ran = common::from(std::process::Command::new("bash").args(["-c", &trace]).output().unwrap());
    assert!(ran.status == 1 && ran.stderr.contains("trace.wwt"), "{}", ran.stderr);
    assert!(ran.stderr.contains("cannot be written: File too large") && !ran.stderr.contains("CTA"), "{}", ran.stderr);
}
