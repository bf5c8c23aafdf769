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
    let png = path("power.PNG");
    succeed(&["run", "bfs", "--gpu", "v100", "--power-plot", &png, "-q"]);
    assert!(std::fs::read(&png).unwrap().starts_with(b"\x89PNG"));
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

/// Register file, pipeline, scheduler, and a fabric's replacements.
#[test]
fn a_fabric_has_its_management_beside_an_sm_s() {
    let text = succeed(&["run", "nn", "--gpu", "gtx480", "--core", "sgmf", "--energy"]);
    let line = text.lines().find(|line| line.starts_with("  management: ")).unwrap_or_else(|| panic!("{text}"));
    assert!(line.ends_with("(pipeline, interconnect, token buffers, unit control, configuration)"), "{line}");
    let cores = ["--gpus", "gtx480", "--code", "ptx", "--cores", "inorder,sgmf"];
    let args = [&["compare", "nn", "--show", "management"], cores.as_slice()].concat();
    let text = succeed(&args);
    for component in ["register file", "scheduler", "token buffers", "management"] {
        assert!(text.lines().any(|line| line.contains(component) && line.contains("uJ")), "{component}: {text}");
    }
    let document: Value = serde_json::from_str(&succeed(&[args.as_slice(), &["--json"]].concat())).unwrap();
    let runs = document["runs"].as_array().unwrap();
    assert_eq!(runs[0]["relative_management"].as_f64(), Some(1.0));
    let total = |run: usize| &runs[run]["report"]["total"];
    let of = |run: usize| total(run)["energy.management"].as_f64().unwrap();
    assert_eq!(runs[1]["relative_management"].as_f64(), Some(of(1) / of(0)));
    assert_eq!(total(1)["energy.register_file"].as_f64(), Some(0.0));

    let joules = |run: usize, name: &str| total(run)[format!("energy.{name}")].as_f64().unwrap();
    let without = |run| joules(run, "total") - joules(run, "constant");
    let caches = |run| joules(run, "l1") + joules(run, "l2");
    let expected = [without(0) / without(1), caches(1) / caches(0)].map(|ratio| format!("{ratio:.3}"));
    let shown = [&["compare", "nn", "--show", "core-efficiency,cache-energy"], cores.as_slice()].concat();
    let text = succeed(&shown);
    let line = text.lines().find(|line| line.trim_start().starts_with("sgmf ")).unwrap_or_else(|| panic!("{text}"));
    assert_eq!(line.split_whitespace().skip(1).collect::<Vec<_>>(), expected, "{text}");
}

/// The area by part, beside the published one.
#[test]
fn the_area_of_a_fabric_is_reproduced() {
    let text = succeed(&["reproduce", "sgmf-area"]);
    let parts = ["$ warpwright list cores sgmf --gpu gtx480", "token buffers", "crossbar to banks of L1", "21.2 mm2"];
    for part in parts.into_iter().chain(["54.3 mm2", "17.9 kB, 37.3 %", "534,528"]) {
        assert!(text.contains(part), "{part}: {text}");
    }
    let document: Value = serde_json::from_str(&succeed(&["reproduce", "sgmf-area", "--json"])).unwrap();
    let core = &document["parts"][0];
    let sum: f64 = core["parts"].as_array().unwrap().iter().map(|part| part["area_um2"].as_f64().unwrap()).sum();
    let area = core["area_mm2"].as_f64().unwrap();
    assert!((sum * 1e-6 / area - 1.0).abs() < 1e-9 && area > 1.0, "{core}");
    let list: Value = serde_json::from_str(&succeed(&["list", "cores", "sgmf", "--gpu", "gtx480", "--json"])).unwrap();
    assert_eq!(list["cores"][0]["area"], *core);
}

/// The cost of an SM's structures, beside the published one.
#[test]
fn the_areas_of_core_designs_are_reproduced() {
    let check = |core: &str, gpu: &str, parts: &[&str]| {
        let figure = format!("{core}-area");
        let text = succeed(&["reproduce", &figure]);
        for part in parts {
            assert!(text.contains(part), "{part}: {text}");
        }
        let document: Value = serde_json::from_str(&succeed(&["reproduce", &figure, "--json"])).unwrap();
        let list: Value = serde_json::from_str(&succeed(&["list", "cores", core, "--gpu", gpu, "--json"])).unwrap();
        assert_eq!(document["sms"][0], list["cores"][0]);
        assert_eq!(
            (document["sms"].as_array().map(Vec::len), document["parts"].as_array().map(Vec::len)),
            (Some(2), Some(0))
        );
        let claims = document["claims"].as_array().unwrap();
        claims.iter().map(|claim| claim["verdict"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let socgpu = ["$ warpwright list cores socgpu --gpu v100", "dependence matrix", "scoreboard", "2.40 %", "3.26 W"];
    assert_eq!(check("socgpu", "v100", &socgpu), ["not", "holds"]);
    // The paper's table II: an entry of a checker or of the issue buffer has 111 bits.
    let ghost =
        ["dependence checker                         16        1   111", "1276 um2", "0.00700 %", "1.17 mW", "loog"];
    assert_eq!(check("ghost", "rtx2060s", &ghost), ["not", "not", "holds", "holds"]);
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
