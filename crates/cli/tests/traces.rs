//! Traces, from the command line to the output.

use crate::common;

use common::{root, run, succeed};
use serde_json::Value;
use std::fs;
use std::path::Path;

fn folder() -> String {
    root().join("crates/cli/tests/traces").to_str().unwrap().to_owned()
}

fn report(args: &[&str]) -> Value {
    serde_json::from_str(&succeed(&[args, &["--json"]].concat())).unwrap()
}

#[test]
fn a_list_its_folder_and_compressed_kernels_are_the_same_trace() {
    let plain = report(&["run", &folder()]);
    assert_eq!(plain["total"]["warp_instructions"], 4);
    assert_eq!(plain["total"]["thread_instructions"], 128);
    assert_eq!(plain["kernels"][0]["name"], "tiny");
    assert_eq!(plain["remarks"].as_array().unwrap().len(), 1);
    assert!(plain["remarks"][0].as_str().unwrap().starts_with("code without control bits"));
    assert!(!cfg!(target_os = "linux") || plain["host"]["peak_memory_bytes"].as_u64().unwrap() > 1 << 20);
    let list = report(&["run", &format!("{}/kernelslist.g", folder())]);
    assert_eq!(list["total"], plain["total"]);
    let packed = tempfile::tempdir().unwrap();
    for file in ["kernelslist.g", "kernel-1.traceg.xz"] {
        fs::copy(Path::new(&folder()).join(file), packed.path().join(file)).unwrap();
    }
    let packed = report(&["run", packed.path().to_str().unwrap()]);
    assert_eq!(packed["total"], plain["total"]);
}

#[test]
fn every_core_and_scheduler_runs_traces() {
    let lists: Value = serde_json::from_str(&succeed(&["list", "--json"])).unwrap();
    for (option, key) in [("--core", "cores"), ("--scheduler", "schedulers")] {
        for entry in lists[key].as_array().unwrap() {
            let name = entry["name"].as_str().unwrap();
            if lab::needs_ptx(name) {
                continue;
            }
            let ran = report(&["run", &folder(), option, name]);
            assert_eq!(ran["total"]["warp_instructions"], 4, "{option} {name}");
        }
    }
    let text = succeed(&["compare", &folder(), "--schedulers", "lrr,gto"]);
    assert!(text.contains("lrr") && text.contains("gto"), "{text}");
}

/// A folder with two launches of the tiny kernel in streams of their own.
fn two_streams() -> tempfile::TempDir {
    let two = tempfile::tempdir().unwrap();
    let kernel = fs::read_to_string(Path::new(&folder()).join("kernel-1.traceg")).unwrap();
    fs::write(two.path().join("kernelslist.g"), "kernel-1.traceg\nkernel-2.traceg\n").unwrap();
    fs::write(two.path().join("kernel-1.traceg"), &kernel).unwrap();
    fs::write(two.path().join("kernel-2.traceg"), kernel.replace("stream id = 0", "stream id = 7")).unwrap();
    two
}

#[test]
fn streams_overlap_when_asked() {
    let two = two_streams();
    let path = two.path().to_str().unwrap();
    let cycles = |args: &[&str]| report(args)["total"]["total_cycles"].as_u64().unwrap();
    let one = cycles(&["run", &folder()]);
    assert!(cycles(&["run", path]) > 2 * one - 1000, "one after the other, the second finds its data in L2");
    let overlapped = cycles(&["run", path, "--concurrent-streams"]);
    assert!(overlapped < one + 100, "{overlapped} cycles for both, {one} for one");
    let single = "launch.max_concurrent_kernels=1";
    assert_eq!(cycles(&["run", path, "--concurrent-streams", "--set", single]), cycles(&["run", path]));
}

#[test]
fn a_limit_on_cycles_ends_a_trace_with_a_report() {
    let two = two_streams();
    let ran = report(&["run", two.path().to_str().unwrap(), "--set", "launch.kernel_latency_cycles=0"]);
    assert_eq!(ran["interrupted"], false);
    assert_eq!(ran["kernels"].as_array().unwrap().len(), 2);
}

#[test]
fn what_is_odd_is_told_with_counts() {
    let odd = tempfile::tempdir().unwrap();
    let kernel = fs::read_to_string(Path::new(&folder()).join("kernel-1.traceg")).unwrap();
    let kernel = kernel.replace("IADD3", "FROBNICATE.X").replace("0x7f1000000000", "0x10");
    fs::write(odd.path().join("kernelslist.g"), "kernel-1.traceg\nkernel-1.traceg\n").unwrap();
    fs::write(odd.path().join("kernel-1.traceg"), kernel).unwrap();
    let text = succeed(&["run", odd.path().to_str().unwrap()]);
    assert!(text.contains("tiny: the opcode FROBNICATE (2 warp instructions) is in no table"), "{text}");
    assert!(text.contains("tiny: 2 accesses"), "{text}");
}

/// Accel-Sim's figures as a reference file has them, with so many warp instructions.
fn reference(warp_instructions: u64) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let columns = "trace,accelsim_config,total_cycles,kernels,warp_instructions,thread_instructions,\
                   host_wall_seconds_best_quiet,host_rss_mib,cycles_per_kernel";
    let row = format!("traces,SMALL,5000,1,{warp_instructions},128,2.0,30000,5000");
    fs::write(folder.path().join("accelsim_cycles.csv"), format!("{columns}\n{row}\n")).unwrap();
    let config = folder.path().join("accelsim_configs/SMALL");
    fs::create_dir_all(&config).unwrap();
    let fixtures = root().join("crates/config/tests/fixtures");
    for file in ["gpgpusim.config", "trace.config"] {
        fs::copy(fixtures.join(format!("small.{file}")), config.join(file)).unwrap();
    }
    folder
}

#[test]
fn accelsims_figures_stand_beside_ours() {
    let (reference, traces) = (reference(4), root().join("crates/cli/tests"));
    let folders = [reference.path(), &traces].map(|p| p.to_str().unwrap());
    let args = ["validate", "accelsim", folders[0], folders[1]];
    let document: Value = serde_json::from_str(&succeed(&[&args[..], &["--json"]].concat())).unwrap();
    let row = &document["rows"][0];
    assert_eq!(row["same_instructions"], true, "{row}");
    let (ours, deviation) = (row["ours"]["cycles"].as_f64().unwrap(), row["deviation_percent"].as_f64().unwrap());
    assert!((deviation - (ours / 50.0 - 100.0)).abs() < 1e-9 && ours > 100.0, "{row}");
    assert_eq!(document["summary"]["less_memory"], true);
    let page = reference.path().join("page.md");
    fs::write(&page, "# Page\n<!-- table -->\n<!-- end of table -->\n").unwrap();
    let text = succeed(&[&args[..], &["SMALL", "--kernels", "--page", page.to_str().unwrap()]].concat());
    assert!(text.contains("1 row:") && text.contains("tiny"), "{text}");
    assert!(fs::read_to_string(&page).unwrap().contains("| traces | SMALL | 5000 |"));
    let none = run(&[&args[..], &["nosuchrow"]].concat());
    assert_eq!(none.status, 2, "{}", none.stderr);
}

#[test]
fn other_instruction_counts_are_a_failure() {
    let (reference, traces) = (reference(5), root().join("crates/cli/tests"));
    let ran = run(&["validate", "accelsim", reference.path().to_str().unwrap(), traces.to_str().unwrap()]);
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    assert!(ran.stdout.contains("DIFFER"), "{}", ran.stdout);
}
