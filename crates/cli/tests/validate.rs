//! `warpwright microbench` and `warpwright validate`, from their command lines to their output.

use crate::common;

use common::{run, succeed};
use serde_json::Value;

#[test]
fn json_and_text_say_the_same() {
    let args = ["microbench", "titanv", "--only", "fp32_fma*,shared_latency"];
    let document: Value = serde_json::from_str(&succeed(&[&args[..], &["--json"]].concat())).unwrap();
    let text = succeed(&args);
    let rows = document["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 3);
    for row in rows {
        let quantity = row["quantity"].as_str().unwrap();
        for code in ["ptx", "machine_code"] {
            let found = &row[code];
            assert!(found["value"].as_f64().unwrap() > 0.0, "{row}");
            let deviation = found["deviation_percent"].as_f64().unwrap();
            let verdict = match deviation.abs() {
                ..=10.0 => "within 10 %",
                ..=30.0 => "within 30 %",
                _ => "beyond",
            };
            assert_eq!(found["verdict"], verdict);
        }
        assert!(text.lines().any(|line| line.trim_start().starts_with(&format!("{quantity} "))), "{quantity}");
    }
    for code in ["ptx", "machine_code"] {
        assert_eq!(document[code]["rows"], 3);
    }
    assert!(text.contains("TITAN V: Accel-Sim's GPU_Microbenchmark"), "{text}");
}

#[test]
fn validate_prints_the_same_table() {
    let of = |command: &str| succeed(&[command, "gtx480", "--only", "fp64_add_rate", "--code", "ptx"]);
    assert_eq!(of("validate"), of("microbench"));
}

#[test]
fn json_of_all_gpus() {
    let args = ["microbench", "all", "--only", "shared_latency", "--code", "ptx", "--json"];
    let document: Value = serde_json::from_str(&succeed(&args)).unwrap();
    let gpus = document["gpus"].as_array().unwrap();
    assert_eq!(gpus.len(), config::hardware().count());
    for gpu in gpus {
        assert!(gpu["rows"][0]["ptx"]["value"].as_f64().unwrap() > 0.0, "{gpu}");
    }
}

#[test]
fn a_changed_value_shows() {
    let l2 = |value: &str| {
        let setting = format!("l2.latency_cycles={value}");
        let args = ["microbench", "gtx480", "--only", "l2_latency", "--set", &setting, "--json"];
        let document: Value = serde_json::from_str(&succeed(&args)).unwrap();
        document["rows"][0]["ptx"]["value"].as_f64().unwrap()
    };
    assert_eq!(l2("130") - l2("100"), 30.0);
}

/// Where the model has moved since the table of applications was made, its figures are of an older model.
#[test]
fn the_table_of_applications_is_of_this_model() {
    let file = evidence::applications::applications();
    assert!(file.sample.workloads.len() > 5);
    for (gpu, measured) in &file.measured {
        for workload in &file.sample.workloads {
            let machine = ["--gpu", gpu, "--core", &measured.core, "--profiled-as", &measured.profiled_as];
            let ran = succeed(&[&["run", workload, "-q", "--json"], &machine[..]].concat());
            let report: Value = serde_json::from_str(&ran).unwrap();
            assert_eq!(
                report["total"]["cycles"].as_f64().unwrap() as u64,
                measured.sample[workload],
                "{workload} on {gpu}: docs/hardware-applications.toml is older than the model: `tools/hardware-applications run --again` renews it, and marks the figures that are not repeated"
            );
        }
    }
}

#[test]
fn mistakes_are_bad_input() {
    for args in [
        &["microbench", "gtx48"][..],
        &["validate", "v100", "--set", "l2.latency=1"],
        &["microbench", "v100", "--only", "l2_latenzy"],
        &["microbench"],
    ] {
        let ran = run(args);
        assert_eq!(ran.status, 2, "{args:?}: {}", ran.stderr);
    }
    assert!(run(&["microbench", "v100", "--only", "l2_latenzy"]).stderr.contains("did you mean `l2_latency`"));
}
