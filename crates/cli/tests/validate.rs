//! `warpwright validate`, from its command line to its output.

use crate::common;

use common::{run, succeed};
use serde_json::Value;

#[test]
fn help() {
    insta::assert_snapshot!("help_validate", succeed(&["validate", "--help"]));
}

#[test]
fn json_and_text_tell_the_same() {
    let document: Value = serde_json::from_str(&succeed(&["validate", "--gpus", "gtx480", "--json"])).unwrap();
    let text = succeed(&["validate", "--gpus", "gtx480"]);
    let rows = document["rows"].as_array().unwrap();
    assert!(rows.len() >= 15, "{} rows", rows.len());
    for row in rows {
        let quantity = row["quantity"].as_str().unwrap();
        assert_eq!(row["gpu"], "gtx480");
        assert!(row["ours"].as_f64().unwrap() > 0.0, "{row}");
        assert_eq!(row["reason"], "unmeasured");
        assert!(text.lines().any(|line| line.trim_start().starts_with(&format!("gtx480  {quantity} "))), "{quantity}");
    }
    assert!(text.contains("Hardware figures:\n  none for these GPUs\n"), "{text}");
}

#[test]
fn a_changed_value_shows() {
    let l2 = |value: &str| {
        let setting = format!("l2.latency_cycles={value}");
        let args = ["validate", "--gpus", "gtx480", "--set", &setting, "--json"];
        let document: Value = serde_json::from_str(&succeed(&args)).unwrap();
        let rows = document["rows"].as_array().unwrap();
        rows.iter().find(|r| r["quantity"] == "l2_latency").unwrap()["ours"].as_f64().unwrap()
    };
    assert_eq!(l2("130") - l2("100"), 30.0);
}

#[test]
fn mistakes_are_bad_input() {
    for args in [&["validate", "--gpus", "gtx48"][..], &["validate", "--set", "l2.latency=1"]] {
        let ran = run(args);
        assert_eq!(ran.status, 2, "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("hint") || ran.stderr.contains("did you mean"), "{}", ran.stderr);
    }
}
