//! Cycles as a profiler counts them (`--profiled-as`).

use crate::common;

use common::{run, succeed};
use serde_json::Value;

fn report(options: &[&str]) -> Value {
    let args = [&["run", "bfs", "--gpu", "v100", "--json", "--quiet"], options].concat();
    serde_json::from_str(&succeed(&args)).unwrap()
}

fn total(report: &Value, name: &str) -> f64 {
    report["total"][name].as_f64().unwrap_or_else(|| panic!("no {name} in {}", report["total"]))
}

/// The launch counts as the profiler counts it; under ncu each kernel finds its data in DRAM.
#[test]
fn kernels_run_as_under_the_profiler() {
    let (plain, nvprof, ncu) = (report(&[]), report(&["--profiled-as", "nvprof"]), report(&["--profiled-as", "ncu"]));
    let launches = plain["kernels"].as_array().unwrap().len() as f64;
    for profiled in [&nvprof, &ncu] {
        assert_eq!(total(profiled, "launch_cycles"), 4363.0 * launches, "launches are in the profiler's count");
        let sum = total(profiled, "cycles") + total(profiled, "launch_cycles");
        assert_eq!(total(profiled, "total_cycles"), sum);
    }
    let read = |report: &Value| total(report, "dram.reads");
    assert_eq!(read(&nvprof), read(&plain));
    assert!(read(&ncu) > 2.0 * read(&plain), "{} reads of DRAM, {} with warm caches", read(&ncu), read(&plain));
    let settings = ncu["settings"].to_string();
    assert!(settings.contains("launch.flush_l2_between_kernels=true"), "{settings}");
}

#[test]
fn settings_that_are_given_stay() {
    let warm = report(&["--profiled-as", "ncu", "--set", "launch.flush_l2_between_kernels=false"]);
    let cold = report(&["--profiled-as", "ncu"]);
    assert!(total(&warm, "dram.reads") < total(&cold, "dram.reads"));
    let timed = report(&["--profiled-as", "ncu", "--set", "launch.kernel_latency_ns=1000"]);
    let launches = timed["kernels"].as_array().unwrap().len() as f64;
    assert_eq!(total(&timed, "launch_cycles"), 1530.0 * launches, "a microsecond at 1530 MHz");
    let ran = run(&["run", "bfs", "--profiled-as", "nsys"]);
    assert!(ran.status == 2 && ran.stderr.contains("ncu"), "{}", ran.stderr);
}
