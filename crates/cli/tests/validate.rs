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

/// A program of one launch as two of the table's, and a table of the program; none without a C compiler.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn programs() -> Option<tempfile::TempDir> {
    let folder = tempfile::tempdir().unwrap();
    if !crate::exec::build(folder.path(), crate::exec::LAUNCHES) {
        return None;
    }
    for name in ["vectorAdd", "bfs-rodinia-3.1"] {
        std::fs::copy(folder.path().join("program"), folder.path().join(name)).unwrap();
    }
    let table = "suite,program,arguments,kernel,cycles,counter\nown,program,,one(int *),8000,elapsed_cycles_sm\nown,program,4,,4000,sm__cycles_elapsed.max\nown,program,,two,5,ncu\nown,absent,,,5,ncu\n";
    std::fs::write(folder.path().join("measured.csv"), table).unwrap();
    Some(folder)
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn a_table_of_the_user_s_own_is_compared() {
    let Some(folder) = programs() else { return };
    let (folder, table) = (folder.path().to_str().unwrap(), folder.path().join("measured.csv"));
    let args = ["validate", "hardware", "--rerun", folder, "--measured", table.to_str().unwrap(), "--gpu"];
    let of = |gpu: &str| -> Value { serde_json::from_str(&succeed(&[&args[..], &[gpu, "--json"]].concat())).unwrap() };
    let volta = of("v100");
    let row = |document: &Value, at: usize, key: &str| document["rows"][at][key].as_f64().unwrap();
    for (at, hardware) in [(0, 8000.0), (1, 4000.0)] {
        let (ours, kernels) = (row(&volta, at, "ours"), row(&volta, at, "kernels"));
        assert_eq!(ours - kernels, 4363.0, "the profiler's count of a launch");
        assert!((row(&volta, at, "error_percent") - (ours / hardware - 1.0) * 100.0).abs() < 1e-9);
        assert_eq!(row(&volta, at, "launches"), 1.0);
    }
    let of_kernels = (row(&volta, 0, "kernels") / 3637.0 - 1.0) * 100.0;
    assert!((row(&volta, 0, "kernels_error_percent") - of_kernels).abs() < 1e-9);
    assert!(volta["rows"][1]["kernels_error_percent"].is_null(), "a launch is more than was measured");
    let absent = volta["not_compared"].as_array().unwrap();
    let reasons: Vec<&str> = absent.iter().map(|row| row["reason"].as_str().unwrap()).collect();
    assert!(reasons[0].contains("launches one") && reasons[1].contains("no such program"), "{reasons:?}");
    let ampere = of("a6000");
    assert_eq!(row(&ampere, 0, "ours") - row(&ampere, 0, "kernels"), 1500.0);
    let text = succeed(&[&args[..], &["v100"]].concat());
    assert!(text.contains("elapsed_cycles_sm          8,000") && text.contains("Not compared: absent:"), "{text}");
    std::fs::write(&table, "program,cycles,counter\nabsent,5,ncu\n").unwrap();
    let nothing = run(&[&args[..], &["v100"]].concat());
    assert!(nothing.stdout.starts_with("Not compared: absent: there is no such program"), "{}", nothing.stdout);
    assert!(nothing.status == 1 && nothing.stderr.contains("no row of the table was compared"), "{}", nothing.stderr);
    std::fs::write(&table, "program,cycles,counter\nprogram,5,clock64\n").unwrap();
    let ran = run(&[&args[..], &["v100"]].concat());
    assert!(ran.status == 2 && ran.stderr.contains("line 2"), "{}", ran.stderr);
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn figures_of_the_table_that_are_older_than_the_model_are_named() {
    let Some(folder) = programs() else { return };
    let args = ["validate", "hardware", "--rerun", folder.path().to_str().unwrap()];
    let only = |pattern| succeed(&[&args[..], &["--only", pattern]].concat());
    // The program is not the one that the table's figure is of.
    let text = only("vectorAdd 4*");
    assert!(text.contains("1 of 1 figures of the table are older than the model"), "{text}");
    let ran = run(&[&args[..], &["--only", "bfs*"]].concat());
    assert!(ran.status == 2 && ran.stderr.contains("graph"), "its input is not there: {}", ran.stderr);
    let ran = run(&[&args[..], &["--only", "nn*"]].concat());
    assert!(ran.status == 2 && ran.stderr.contains("no program of the table"), "{}", ran.stderr);
    assert_eq!(run(&["validate", "hardware", "--only", "nn*"]).status, 2, "nothing is repeated");
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

/// A program with the name and the kernel of one of AccelWattch's; none without a C compiler.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn measured_program() -> Option<tempfile::TempDir> {
    let folder = tempfile::tempdir().unwrap();
    if !crate::exec::build(folder.path(), &crate::exec::LAUNCHES.replace("one", "sobolGPU_kernel")) {
        return None;
    }
    std::fs::rename(folder.path().join("program"), folder.path().join("SobolQRNG")).unwrap();
    std::fs::create_dir(folder.path().join("data")).unwrap();
    Some(folder)
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn power_of_runs_is_put_beside_measured_power() {
    let Some(folder) = measured_program() else { return };
    let args = ["validate", "accelwattch", "--rerun", folder.path().to_str().unwrap()];
    let of =
        |more: &[&str]| -> Value { serde_json::from_str(&succeed(&[&args[..], more, &["--json"]].concat())).unwrap() };
    let document = of(&[]);
    let first = &document["runs"][0];
    assert_eq!((first["kernel"].as_str(), first["measured_watts"].as_f64()), (Some("sobolQRNG_k1"), Some(200.444)));
    // A thread on an idle GPU: the board's 32.3 W and 80 SMs without warps.
    let watts = first["ours_watts"].as_f64().unwrap();
    assert!((50.0..65.0).contains(&watts), "{first}");
    assert_eq!((document["runs"].as_array().unwrap().len(), document["left_out"].as_array().unwrap().len()), (1, 25));
    let other = of(&["sobol", "--energy-model", "v100"]);
    assert_ne!(other["runs"][0]["ours_watts"], first["ours_watts"]);
    assert!(succeed(&args).contains("there is no program `binomialOptions`"));
    let none = run(&[&args[..], &["btree"]].concat());
    assert!(none.status == 2 && none.stderr.contains("there is no program `b+tree-rodinia-3.1`"), "{}", none.stderr);
}
