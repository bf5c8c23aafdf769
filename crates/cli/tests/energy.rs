//! Energy and power, from the command line to the output.

use crate::common;

use common::{run, succeed};
use serde_json::Value;

#[test]
fn power_over_time_goes_to_files_and_the_report() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (csv, svg) = (path("power.csv"), path("power.svg"));
    let files = ["--power", &csv, "--power-plot", &svg, "--power-interval", "500"];
    let args = [&["run", "bfs", "--gpu", "v100", "--json"], files.as_slice()].concat();
    let report: Value = serde_json::from_str(&succeed(&args)).unwrap();
    assert_eq!(report["energy_model"]["name"], "v100");
    let joules = report["total"]["energy.total"].as_f64().unwrap();
    let table = std::fs::read_to_string(&csv).unwrap();
    let number = |line: &str, i: usize| line.split(',').nth(i).unwrap().parse::<f64>().unwrap();
    let sum: f64 = table.lines().skip(1).map(|line| number(line, 2) * number(line, 3)).sum();
    assert!((sum / joules - 1.0).abs() < 1e-9, "{sum} J over time, {joules} J in all");
    assert_eq!(report["power"]["intervals"].as_array().unwrap().len(), table.lines().count() - 1);
    let picture = std::fs::read_to_string(&svg).unwrap();
    assert!(picture.starts_with("<svg") && picture.contains("crossbar, L2") && picture.trim_end().ends_with("</svg>"));
}

#[test]
fn another_model_or_none() {
    let text = succeed(&["run", "vectoradd", "--gpu", "v100", "--energy-model", "gtx480", "--energy"]);
    assert!(text.contains("model gtx480, 1 V") && text.contains("register file"), "{text}");
    let ran = run(&["run", "vectoradd", "--energy-model", "v10"]);
    assert!(ran.status == 2 && ran.stderr.contains("there is no energy model `v10`"), "{}", ran.stderr);
    // Refused once, before anything runs, not by each cell.
    let ran = run(&["compare", "vectoradd", "bfs", "--set", "energy.model=v10"]);
    assert!(ran.status == 2 && ran.stderr.matches("there is no energy model").count() == 1, "{}", ran.stderr);
    let ran = run(&["run", "vectoradd", "--set", "energy.volts=9"]);
    assert!(ran.status == 2 && ran.stderr.contains("a voltage from 0.1 to 5"), "{}", ran.stderr);
}

#[test]
fn compare_shows_energy() {
    let shown = "energy,power,relative-energy";
    let text = succeed(&["compare", "vectoradd", "--vary", "energy.volts=1,0.5", "--show", shown]);
    let relative = |volts: &str| {
        let row = text.lines().find(|line| line.contains(&format!(" volts={volts} "))).unwrap();
        row.split_whitespace().last().unwrap().parse::<f64>().unwrap()
    };
    assert_eq!(relative("1"), 1.0, "{text}");
    assert!(relative("0.5") < 0.9, "{text}");
}

#[test]
fn validate_accelwattch_needs_no_reference() {
    let document: Value = serde_json::from_str(&succeed(&["validate", "accelwattch", "--json"])).unwrap();
    assert_eq!(document["kernels"].as_array().unwrap().len(), 25);
    let summary = &document["summary"];
    let percent = |key: &str| summary[key].as_f64().unwrap();
    assert!(percent("ours_from_published_percent") < 2.0, "{summary}");
    assert!((percent("ours_from_measured_percent") - percent("published_from_measured_percent")).abs() < 1.0);
    let ran = run(&["validate", "accelwattch", "no-such-kernel"]);
    assert!(ran.status == 2 && ran.stderr.contains("no kernel has `no-such-kernel`"), "{}", ran.stderr);
}
