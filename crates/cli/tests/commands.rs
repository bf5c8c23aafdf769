//! Output and exit status of the commands when nothing is wrong.

use crate::common;

use common::{QUICK, command, from, json, quick, root, run, strings, succeed};
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::Stdio;
use std::time::Duration;

#[test]
fn help() {
    for name in [
        "",
        "run",
        "profile",
        "timeline",
        "trace",
        "compare",
        "reproduce",
        "list",
        "inspect",
        "import-config",
        "new-design",
        "exec",
        "validate",
        "microbench",
        "completions",
        "man",
    ] {
        let args: Vec<&str> = [name, "--help"].into_iter().filter(|a| !a.is_empty()).collect();
        let text = succeed(&args);
        assert!(text.contains("Examples:"), "{name} has no examples");
    }
    insta::assert_snapshot!("help", succeed(&["--help"]));
}

/// Help begins with the options that most commands are given.
#[test]
fn the_usual_options_come_first() {
    let options = |command: &str| {
        let text = succeed(&[command, "--help"]);
        let names =
            text.lines().filter_map(|line| line.trim_start().split_once("--").filter(|_| line.starts_with("  ")));
        let names = names.filter(|(before, _)| before.is_empty() || before.ends_with(", "));
        let word = |rest: &str| rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').next().unwrap().to_owned();
        names.map(|(_, rest)| word(rest)).collect::<Vec<_>>()
    };
    let usual = ["gpu", "core", "scheduler", "size", "param", "set", "stats", "json", "html", "threads"];
    assert_eq!(options("run")[..10], usual);
    assert_eq!(options("compare")[..8], ["gpus", "cores", "schedulers", "vary", "size", "param", "set", "show"]);
    assert_eq!(options("exec")[..4], ["gpu", "core", "scheduler", "set"]);
}

#[test]
fn list_has_everything_that_can_be_run() {
    let text = succeed(&["list"]);
    let lists = json(&succeed(&["list", "--json"]));
    for (topic, one) in [("gpus", "rtx2060s"), ("cores", "inorder"), ("schedulers", "two_level"), ("workloads", "bfs")]
    {
        let names = strings(&lists[topic], "name");
        assert!(names.contains(&one), "{topic}: {names:?}");
        for name in names {
            assert!(text.contains(&format!("  {name} ")), "{name} is not in the list for people");
        }
    }
    assert!(lists.get("stats").is_none() && lists.get("settings").is_none());
    for topic in ["gpus", "cores", "schedulers", "workloads", "figures", "stats", "settings"] {
        assert!(succeed(&["list", topic]).lines().count() > 1, "{topic}");
    }
}

#[test]
fn cores_are_listed_with_their_structures() {
    let ghost = json(&succeed(&["list", "cores", "ghost", "--json"]));
    let structures = ghost["cores"][0]["structures"].as_array().unwrap();
    let issue_buffer = structures.iter().find(|s| s["name"] == "issue buffer bank").unwrap();
    // Table II of the paper; 4 schedulers with 8 banks each, an entry for each of 8 warps.
    assert_eq!([&issue_buffer["bits"], &issue_buffer["instances"], &issue_buffer["entries"]], [111, 32, 8]);
    assert_eq!(issue_buffer["total_bits"], 111 * 32 * 8);
    let cost = &ghost["cores"][0]["cost"];
    let area = |part: &Value| part["area_um2"].as_f64().unwrap();
    assert!(area(&cost["all"]) > area(&cost["beyond_in_order"]) && area(&cost["beyond_in_order"]) > 0.0);
    assert!(area(issue_buffer) > 0.0 && cost["published"][0]["published"] == 0.007, "{cost}");
    let text = succeed(&["list", "cores", "ghost"]);
    assert!(text.contains("issue buffer bank") && text.contains(" bits in all ("), "{text}");
    assert!(text.contains("beyond the in-order core: ") && text.contains("section VI-E"), "{text}");
    assert!(!text.contains("warpboard"), "{text}");
    let all = json(&succeed(&["list", "cores", "--structures", "--gpu", "v100", "--json"]));
    for core in all["cores"].as_array().unwrap() {
        assert!(!core["structures"].as_array().unwrap().is_empty(), "{core}");
    }
}

#[test]
fn a_core_that_is_no_sm_is_listed_compared_and_reported_without_what_it_lacks() {
    let text = succeed(&["list", "cores", "functional:width=2"]);
    assert!(text.contains("(functional:width=2,width=…)") && text.contains("no SM"), "{text}");
    assert!(!succeed(&["list", "cores", "--structures"]).contains("functional"));
    let text = quick(&["--core", "functional"]);
    for part in ["Remarks", "no model of time", "Energy  not computed: this core has no model of energy", "correct"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("Issue slots") && !text.contains("Caches and memory"), "{text}");
    let compare = ["compare", "vectoradd", "--cores", "inorder,functional", "--vary", "core.width=1,8", "--json"];
    let table = json(&succeed(&compare));
    let columns = strings(&table["columns"], "core");
    assert_eq!(columns, ["inorder", "functional:width=1", "functional:width=8"]);
    let text = succeed(&compare[..6]);
    assert!(text.contains("Without a model of time") && text.contains("functional:width=8."), "{text}");
}

/// Statistics that some core designs have.
const OF_DESIGNS: &str = "design.";

#[test]
fn the_example_of_a_parameter_follows_what_the_name_has() {
    for (topic, name, example) in [
        ("schedulers", "two_level:active=4", "(two_level:active=4,active=…)"),
        ("cores", "ghost:precise=true", "(ghost:precise=true,issue_buffer=…)"),
        ("cores", "ghost+scalar", "(ghost:issue_buffer=…+scalar)"),
    ] {
        let text = succeed(&["list", topic, name]);
        assert!(text.contains(example), "{example}: {text}");
    }
}

#[test]
fn a_report_has_exactly_the_listed_statistics() {
    let lists = json(&succeed(&["list", "stats", "--json"]));
    let stats = lists["stats"].as_array().unwrap();
    for info in stats {
        for key in ["name", "unit", "description"] {
            assert!(!info[key].as_str().unwrap().is_empty(), "{info} has no {key}");
        }
    }
    let names = strings(&lists["stats"], "name");
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "each once: {names:?}");
    // The figures of some designs alone come last; the core in order has none.
    let (designs, usual): (Vec<&str>, Vec<&str>) =
        names.iter().copied().partition(|name: &&str| name.starts_with(OF_DESIGNS));
    assert_eq!(names, [usual.clone(), designs.clone()].concat());
    for core in ["socgpu", "loog", "ideal", "modern"] {
        let report = json(&quick(&["--json", "--core", core]));
        let theirs = report["total"].as_object().unwrap().keys().filter(|name| name.starts_with(OF_DESIGNS));
        let theirs: Vec<&str> = theirs.map(String::as_str).collect();
        assert!(!theirs.is_empty() && theirs.iter().all(|name| designs.contains(name)), "{core}: {theirs:?}");
    }
    let report = json(&quick(&["--json", "--core", "inorder"]));
    assert_eq!(report["schema"], 2);
    assert_eq!(report["check"]["passed"], true);
    let kernels = report["kernels"].as_array().unwrap();
    assert!(!kernels.is_empty());
    for statistics in kernels.iter().map(|k| &k["statistics"]).chain([&report["total"]]) {
        let found: Vec<&str> = statistics.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(found, usual);
        assert!(statistics.as_object().unwrap().values().all(|v| v.is_number() || v.is_null()));
    }
}

#[test]
fn json_goes_to_a_file_beside_the_text() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.json");
    let text = quick(&[&format!("--json={}", file.display())]);
    assert!(text.contains("correct"), "{text}");
    assert_eq!(json(&std::fs::read_to_string(file).unwrap())["gpu"], "rtx2060s");
    assert_eq!(quick(&["--quiet"]), "");
    assert!(json(&quick(&["--quiet", "--json"])).is_object());
}

#[test]
fn other_views_of_the_statistics() {
    let all = quick(&["--stats", "all"]);
    let names = json(&succeed(&["list", "stats", "--json"]));
    for name in strings(&names["stats"], "name").iter().filter(|name| !name.starts_with(OF_DESIGNS)) {
        assert!(all.contains(&format!("  {name} ")), "{name} is missing");
    }
    let theirs = quick(&["--stats", "accelsim"]);
    for line in ["kernel_name = vectoradd", "gpu_sim_cycle = ", "gpu_tot_sim_insn = ", "L2_total_cache_accesses = "] {
        assert!(theirs.lines().any(|l| l.starts_with(line)), "{line}\n{theirs}");
    }
}

#[test]
fn options_reach_the_machine() {
    let report = json(&quick(&[
        "--gpu",
        "gtx480",
        "--scheduler",
        "srr",
        "--set",
        "sm.max_warps=16",
        "--set",
        "sm_count=2",
        "--json",
    ]));
    assert_eq!([&report["gpu"], &report["scheduler"], &report["core"]], ["gtx480", "srr", "inorder"]);
    assert_eq!(report["settings"], serde_json::json!(["sm.max_warps=16", "sm_count=2"]));
    let occupancy = &report["kernels"][0]["occupancy"];
    assert_eq!([&occupancy["warps_per_sm"], &occupancy["ctas_per_sm"]], [16, 2]);
}

#[test]
fn a_limit_of_cycles_ends_the_run_early() {
    let report = json(&succeed(&["run", "matmul", "--size", "medium", "--max-cycles", "2000", "--json"]));
    assert_eq!(report["interrupted"], true);
    assert_eq!(report["check"], Value::Null);
    let cycles = report["total"]["total_cycles"].as_u64().unwrap();
    // The run is looked at every few thousand cycles; to its end it takes several times as many.
    assert!((2000..20_000).contains(&cycles), "{cycles}");
}

#[test]
fn workloads_are_listed_with_what_they_are_on_a_fabric() {
    let text = succeed(&["list", "workloads"]);
    assert!(
        text.contains("on sgmf: saxpy whole") && text.contains("on sgmf: rotate refused, sharpen refused\n"),
        "{text}"
    );
    let text = succeed(&["list", "workloads", "imagefilter"]);
    assert!(text.contains("on sgmf: rotate refused: the fabric has no texture units\n"), "{text}");
}

#[test]
fn workloads_are_listed_by_suite_and_by_paper() {
    let suite = succeed(&["list", "workloads", "rodinia"]);
    assert!(
        suite.contains("    Rodinia: ") && suite.contains("    Rodinia\n") && !suite.contains("Rodinia: \n"),
        "{suite}"
    );
    let table = succeed(&["list", "workloads", "scalar", "--csv"]);
    let papers: Vec<&str> = table.lines().skip(1).filter_map(|line| line.split(',').nth(2)).collect();
    assert!(!papers.is_empty() && papers.iter().all(|papers| papers.split(' ').any(|one| one == "scalar")), "{table}");
    let both = json(&succeed(&["list", "workloads", "ISPASS", "nw", "--json"]));
    let suites = both["workloads"].as_array().unwrap().iter().map(|w| w["suite"].as_str().unwrap());
    assert!(suites.clone().any(|suite| suite == "ISPASS") && suites.clone().filter(|s| *s != "ISPASS").count() == 1);
}

/// Options that GPGPU-Sim leaves unset or sets to sizes that do not exist here.
const TINY_GPU: &str = "\
-gpgpu_n_clusters 2
-gpgpu_n_cores_per_cluster 1
-gpgpu_cache:il1 N:64:128:16,L:R:f:N:L,S:2:48,4
-gpgpu_mem_addr_mapping dramid@8;00000000.00000000.00000000.00000000.0000RRRR.RRRRRRRR.RRRBCCCC.CCBSSSSS
-visualizer_enabled 0
";

#[test]
fn an_imported_configuration_can_be_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("gpgpusim.config"), TINY_GPU).unwrap();
    let account = succeed(&["import-config", &path("gpgpusim.config"), "-o", &path("tiny.toml")]);
    assert!(account.contains("-gpgpu_n_clusters") && account.contains("understood"), "{account}");
    let report = json(&quick(&["--gpu", &path("tiny.toml"), "--json"]));
    assert_eq!(report["gpu"], "tiny");
    // To standard output: the description alone.
    let description = succeed(&["import-config", &path("gpgpusim.config")]);
    assert!(description.contains("sm_count = 2"), "{description}");
}

#[test]
fn the_examples_run() {
    for file in ["saxpy.toml", "bitonic.toml", "jacobi.toml", "bfs.toml", "convolution.toml", "lists.toml"] {
        let path = root().join("examples/launch").join(file);
        let text = succeed(&["run", path.to_str().unwrap()]);
        assert!(text.contains("correct"), "{file}: {text}");
    }
    let path = root().join("examples/launch/saxpy.toml");
    let report = json(&succeed(&["run", path.to_str().unwrap(), "--param", "n=100", "--json"]));
    assert_eq!(report["kernels"][0]["grid"][0], 1);
    let path = root().join("examples/experiments/modern-designs.toml");
    let points = tempfile::tempdir().unwrap();
    let runs = succeed(&["sweep", path.to_str().unwrap(), "--dry-run", "--points", points.path().to_str().unwrap()]);
    let designs =
        ["modern", "modern:dependences=bloomboard_1", "modern-ghost", "modern-socgpu", "modern-loog", "ideal"];
    for core in designs {
        let run = format!("bfs, small, seed 1, machine code on a6000, core {core}");
        assert!(runs.lines().any(|line| line == run), "{run}: {runs}");
    }
}

#[test]
fn a_launch_files_gpu_and_module_are_replaced() {
    let folder = root().join("examples/launch");
    let launch = folder.join("convolution.toml");
    let launch = launch.to_str().unwrap();
    let cubin = folder.join("cubin/sm_75/convolution.cubin");
    let cubin = cubin.to_str().unwrap();
    let machine_code = json(&succeed(&["run", launch, "--module", cubin, "--json"]));
    let on = |report: &Value| (report["gpu"].as_str().unwrap().to_owned(), report["kernels"][0]["code"].clone());
    assert_eq!(on(&machine_code), ("rtx2060s".into(), "sass".into()));
    assert_eq!(machine_code["check"]["passed"], true);
    let named = format!("convolution.ptx={cubin}");
    assert_eq!(json(&succeed(&["run", launch, "--module", &named, "--json"]))["total"], machine_code["total"]);
    let given = json(&succeed(&["run", launch, "--gpu", "v100", "--json"]));
    assert_eq!(on(&given), ("v100".into(), "ptx".into()));
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(launch).unwrap().replace("rtx2060s", "rtx3070");
    let ptx = std::fs::read(launch.replace(".toml", ".ptx")).unwrap();
    std::fs::write(folder.path().join("convolution.ptx"), ptx).unwrap();
    let other = folder.path().join("other.toml");
    std::fs::write(&other, &text).unwrap();
    let other = other.to_str().unwrap();
    assert_eq!(json(&succeed(&["run", other, "--json"]))["gpu"], "rtx3070");
    assert_eq!(json(&succeed(&["compare", other, "--json"]))["columns"][0]["gpu"], "rtx3070");
    let both = run(&["compare", other, launch]);
    assert!(both.status == 2 && both.stderr.contains("name different GPUs"), "{}", both.stderr);
    std::fs::write(other, text.replace("rtx3070", "rtx3071")).unwrap();
    let unknown = run(&["run", other]);
    assert_eq!(unknown.status, 2);
    assert!(unknown.stderr.contains("other.toml:3:7: ") && unknown.stderr.contains("`rtx3070`"), "{}", unknown.stderr);
    for (args, says) in [
        (["run", "vectoradd", "--module", "x.ptx"], "--module is for launch files"),
        (["run", launch, "--module", "y.ptx=x.ptx"], "there is no module `y.ptx` to replace"),
        (["run", launch, "--module", "=x.ptx"], "expected FILE or NAME=FILE"),
    ] {
        let refused = run(&args);
        assert!(refused.status == 2 && refused.stderr.contains(says), "{args:?}: {}", refused.stderr);
    }
}

#[test]
fn colours_only_where_they_are_wanted() {
    assert!(!succeed(&["list"]).contains('\x1b'));
    let mut forced = command(&["list"]);
    forced.env_remove("NO_COLOR").env("CLICOLOR_FORCE", "1");
    assert!(from(forced.output().unwrap()).stdout.contains('\x1b'));
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let mut child = command(&["list", "settings"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let ran = from(child.wait_with_output().unwrap());
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
}

#[cfg(unix)]
#[test]
fn ctrl_c_shows_what_is_known() {
    let size = ["run", "matmul", "--param", "m=8192", "--param", "n=448", "--param", "k=448", "--json"];
    // A run is looked at every few thousand cycles, which take long of many fabrics.
    for core in [&["--core", "inorder"][..], &["--core", "sgmf", "--set", "sm_count=1"]] {
        interrupted(&[&size[..], core].concat());
    }
}

/// Interrupts a command that would run for long: it reports what it knows.
#[cfg(unix)]
fn interrupted(args: &[&str]) {
    let child = command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Long enough to have begun, far too short to have ended.
    common::let_work(&child, Duration::from_secs(3));
    let kill = format!("kill -INT {}", child.id());
    assert!(std::process::Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    let ran = from(child.wait_with_output().unwrap());
    assert_eq!(ran.status, 130, "{}", ran.stderr);
    let report = json(&ran.stdout);
    assert_eq!(report["interrupted"], true);
    assert!(report["total"]["cycles"].as_u64().unwrap() > 0);
}

/// The kinds of violation that an audit found.
fn violations(report: &Value) -> Vec<&str> {
    strings(&report["audit"]["violations"], "kind")
}

#[test]
fn an_audit_is_in_the_report() {
    assert_eq!(json(&quick(&["--json"]))["audit"], Value::Null);
    let audited = json(&quick(&["--audit", "--json"]));
    assert_eq!(audited["audit"]["instructions"], audited["total"]["warp_instructions"]);
    assert!(audited["audit"]["dependences"].as_u64().unwrap() > 0);
    assert!(violations(&audited).is_empty(), "{}", audited["audit"]);
    assert!(quick(&["--audit"]).contains("no violation"));
}

#[test]
fn violations_are_told_with_both_instructions() {
    // Fermi's shared collectors let atomics of a warp pass each other.
    let args = ["run", "histogram", "--gpu", "accel-sim/gtx480", "--set", "sm.issue.atomics_hold_warp=none", "--audit"];
    let report = json(&succeed(&[&args[..], &["--json"]].concat()));
    assert_eq!(violations(&report), ["memory"]);
    let first = &report["audit"]["violations"][0]["first"];
    assert!(first["cycle"].is_u64() && first["warp"].is_u64(), "{first}");
    for party in ["younger", "older"] {
        assert!(first[party]["text"].as_str().unwrap().contains("atom"), "{first}");
    }
    let text = succeed(&args);
    assert!(text.contains(" memory, the first in `"), "{text}");
    let free = "sm.issue.atomics_hold_warp=none";
    let both = succeed(&["compare", "histogram", "vectoradd", "--gpus", "accel-sim/gtx480", "--set", free, "--audit"]);
    assert!(both.contains(" memory") && both.contains("none"), "{both}");
}

#[test]
fn traces_are_audited_too() {
    let trace = root().join("examples/traces/vectoradd");
    let report =
        json(&succeed(&["run", trace.to_str().unwrap(), "--gpu", "rtx3070", "--core", "ghost", "--audit", "--json"]));
    assert_eq!(report["audit"]["instructions"], report["total"]["warp_instructions"]);
    assert!(violations(&report).is_empty(), "{}", report["audit"]);
}

#[test]
fn flags_change_the_gpu() {
    let occupancy = |report: &Value| report["kernels"][0]["occupancy"]["warps_per_sm"].as_u64().unwrap();
    let flags = ["--warps-per-sm", "x2", "--register-file", "131072", "--instruction-buffer", "4", "--json"];
    let report = json(&quick(&[&flags[..], &["--branches", "flush"]].concat()));
    let set = ["sm.max_warps=64", "sm.registers=131072", "sm.frontend.branches=sequential_flush"];
    assert_eq!(report["settings"], serde_json::json!([set[0], set[1], set[2], "sm.frontend.buffer_entries=4"]));
    let text = |report: &Value| report["kernels"][0]["statistics"]["cycles"].clone();
    let by_hand: Vec<&str> =
        set.iter().flat_map(|s| ["--set", s]).chain(["--set", "sm.frontend.buffer_entries=4"]).collect();
    assert_eq!(text(&report), text(&json(&quick(&[&by_hand[..], &["--json"]].concat()))));
    assert_eq!(occupancy(&report), 2 * occupancy(&json(&quick(&["--json"]))));
}

/// Code of the first kernel, and the number of remarks.
fn code(args: &[&str]) -> (String, usize) {
    let report = json(&succeed(&[args, &["--json"]].concat()));
    (report["kernels"][0]["code"].as_str().unwrap().to_owned(), report["remarks"].as_array().unwrap().len())
}

#[test]
fn machine_code_is_the_default_where_there_is_some() {
    let of = |more: &[&str]| code(&[&QUICK[..], more].concat());
    assert_eq!(of(&[]), ("sass".into(), 0));
    assert_eq!(of(&["--gpu", "gtx480"]), ("ptx".into(), 0));
    // On the core that would go by control bits.
    assert_eq!(of(&["--code", "ptx"]), ("ptx".into(), 1));
    assert_eq!(of(&["--code", "ptx", "--core", "modern:dependences=scoreboard"]), ("ptx".into(), 0));
    assert_eq!(of(&["--registers", "allocated", "--core", "inorder"]), ("ptx".into(), 0));
    assert_eq!(code(&["run", "asynccopy", "--gpu", "rtx3070"]), ("sass".into(), 0));
    assert_eq!(code(&["run", "asynccopy"]), ("ptx".into(), 2));
    assert!(succeed(&["run", "asynccopy"]).contains("asynccopy has no machine code for rtx2060s (sm_75)"));
    assert!(quick(&[]).contains("  code       machine code\n"));
    let document = json(&succeed(&["compare", "asynccopy", "--json"]));
    assert_eq!(document["runs"][0]["report"]["remarks"].as_array().unwrap().len(), 2);
    assert!(succeed(&["compare", "asynccopy", "vectoradd"]).contains("  asynccopy has no machine code for rtx2060s"));
    let cores = ["compare", "vectoradd", "transpose", "--cores", "inorder,ghost"];
    assert!(!succeed(&cores).contains("PTX"));
    assert!(
        succeed(&[&cores[..], &["--code", "ptx"]].concat()).contains("PTX: virtual registers and unscheduled code")
    );
}

#[test]
fn launch_latency_is_told_apart_and_in_accelsims_cycles() {
    let stock = ["--core", "inorder", "--set", "clocks.core_mhz=1500", "--set", "launch.kernel_latency_ns=1000"];
    let report = json(&quick(&[&["--json"][..], &stock].concat()));
    let total = |name: &str| report["total"][name].as_u64().unwrap();
    assert_eq!((total("launch_cycles"), total("total_cycles")), (1500, total("cycles") + 1500));
    let ipc = report["total"]["ipc"].as_f64().unwrap();
    assert!((ipc * total("cycles") as f64 - total("thread_instructions") as f64).abs() < 1e-6, "{ipc}");
    let theirs = quick(&[&["--stats", "accelsim"][..], &stock].concat());
    assert!(theirs.contains(&format!("\ngpu_sim_cycle = {}\n", total("total_cycles"))), "{theirs}");
    assert!(theirs.contains("0 min, 0 sec (0 sec)"), "a run of a fraction of a second: {theirs}");
    // Without it, kernels take as long.
    let none = [&["--json"], &stock[..4], &["--set", "launch.kernel_latency_cycles=0"]].concat();
    let without = json(&quick(&none));
    assert_eq!(
        (&without["total"]["cycles"], &without["total"]["launch_cycles"]),
        (&report["total"]["cycles"], &0.into())
    );
}

#[test]
fn a_scalar_path_is_chosen_behind_the_core() {
    let on = |core: &'static str| ["run", "hotspot", "--gpu", "gtx480", "--core", core];
    let text = succeed(&on("inorder+scalar+half"));
    assert!(text.contains("Scalar path") && text.contains("in one half of the warp"), "{text}");
    assert!(!text.contains("wrongly"), "{text}");
    let report = json(&succeed(&[on("ghost+scalar").as_slice(), &["--json"]].concat()));
    assert!(report["total"]["design.scalar_share"].as_f64().unwrap() > 5.0);
    // The paper reports this of its simulator.
    let text = succeed(&["run", "bfs", "--gpu", "gtx480", "--core", "inorder+scalar+unguarded"]);
    assert!(text.contains("would be read wrongly"), "{text}");
    let listed = json(&succeed(&["list", "cores", "inorder+scalar", "--json"]));
    assert!(strings(&listed["cores"][0]["structures"], "name").contains(&"relocation table"));
}

#[test]
fn a_new_design_is_begun_in_a_checkout_only() {
    let folder = tempfile::tempdir().unwrap();
    let begin =
        |name: &str, at: &std::path::Path| from(command(&["new-design", name]).current_dir(at).output().unwrap());
    let outside = begin("my-core", folder.path());
    assert_eq!(outside.status, 2);
    assert!(outside.stderr.contains("is in no checkout of Warpwright"), "{}", outside.stderr);
    for file in ["crates/designs/src/lib.rs", "crates/lab/src/designs.rs"] {
        let copy = folder.path().join(file);
        std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
        std::fs::copy(root().join(file), copy).unwrap();
    }
    let written = begin("my-core", &folder.path().join("crates/lab"));
    assert_eq!(written.status, 0, "{}", written.stderr);
    let read = |file: &str| std::fs::read_to_string(folder.path().join(file)).unwrap();
    let design = read("crates/designs/src/my_core.rs");
    assert!(
        design.contains("impl<M: WarpMask> IssuePolicy for MyCore<M>") && !design.contains("NewDesign"),
        "{design}"
    );
    assert!(read("crates/designs/src/lib.rs").contains("\npub mod my_core;\n"));
    assert!(read("crates/lab/src/designs.rs").contains("\"my-core\": designs::my_core::MyCore<M>, "));
    for (taken, why) in
        [("my-core", "already"), ("ghost", "already"), ("inorder", "already"), ("My", "cannot be the name")]
    {
        let refused = begin(taken, folder.path());
        assert_eq!(refused.status, 2, "{taken}");
        assert!(refused.stderr.contains(why), "{taken}: {}", refused.stderr);
    }
}

#[test]
fn manual_pages_are_written_for_each_command() {
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("man1");
    succeed(&["man", "--dir", pages.to_str().unwrap()]);
    let page = |name: &str| std::fs::read_to_string(pages.join(name)).unwrap();
    assert!(page("warpwright.1").contains("warpwright\\-compare(1)"));
    assert!(page("warpwright-validate-hardware.1").contains("Quadro"));
    assert_eq!(succeed(&["man", "validate", "hardware"]), page("warpwright-validate-hardware.1"));
}

#[test]
fn accel_sims_tables_of_caches_add_up() {
    let text = quick(&["--stats", "accelsim"]);
    let report = json(&quick(&["--json"]));
    let value = |name: &str| -> u64 {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = "));
        line.unwrap_or_else(|| panic!("{name}: {text}")).parse().unwrap()
    };
    for (table, cache) in [("Total_core_cache_stats_breakdown", "l1d"), ("L2_cache_stats_breakdown", "l2")] {
        let total = |kind: &str| value(&format!("{table}[{kind}][TOTAL_ACCESS]"));
        let ours = |name: &str| report["total"][format!("{cache}.{name}")].as_u64().unwrap();
        assert_eq!(total("GLOBAL_ACC_R") + total("GLOBAL_ACC_W"), ours("accesses"), "{cache}");
        assert_eq!(value(&format!("{table}[GLOBAL_ACC_R][HIT]")), ours("read_hits"), "{cache}");
        assert!(total("GLOBAL_ACC_R") > 0 && total("GLOBAL_ACC_W") > 0, "{cache}");
    }
}

/// Where memory begins changes no instruction and no result, and the cycles a little.
#[test]
fn addresses_may_be_shifted() {
    let report = |shift: &str| json(&succeed(&["run", "bfs", "--gpu", "v100", "--shift-addresses", shift, "--json"]));
    let (plain, shifted) = (report("0"), report("8448"));
    assert_eq!(shifted["check"]["passed"], true);
    let of = |report: &Value, name: &str| report["total"][name].as_u64().unwrap();
    assert_eq!(of(&plain, "warp_instructions"), of(&shifted, "warp_instructions"));
    assert_eq!(plain["total"], json(&succeed(&["run", "bfs", "--gpu", "v100", "--json"]))["total"]);
    assert_ne!(of(&plain, "cycles"), of(&shifted, "cycles"));
    let far = run(&["run", "bfs", "--shift-addresses", "18446744073709551615"]);
    assert!(far.status != 0 && !far.stderr.contains("panicked"), "{}", far.stderr);
}
