//! What the commands print and how they end when nothing is wrong.

use crate::common;

use common::{command, from, root, run, run as run_command, succeed};
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::Stdio;
use std::time::Duration;

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("the output is JSON")
}

fn strings<'a>(list: &'a Value, key: &str) -> Vec<&'a str> {
    list.as_array().expect("a list").iter().map(|v| v[key].as_str().expect("text")).collect()
}

/// A run that takes no time.
const QUICK: [&str; 4] = ["run", "vectoradd", "--param", "n=1000"];

fn quick(more: &[&str]) -> String {
    succeed(&[&QUICK[..], more].concat())
}

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
    // The figures of some designs alone come last; the usual core has none.
    let (designs, usual): (Vec<&str>, Vec<&str>) =
        names.iter().copied().partition(|name: &&str| name.starts_with(OF_DESIGNS));
    assert_eq!(names, [usual.clone(), designs.clone()].concat());
    for core in ["socgpu", "loog", "ideal"] {
        let report = json(&quick(&["--json", "--core", core]));
        let theirs = report["total"].as_object().unwrap().keys().filter(|name| name.starts_with(OF_DESIGNS));
        let theirs: Vec<&str> = theirs.map(String::as_str).collect();
        assert!(!theirs.is_empty() && theirs.iter().all(|name| designs.contains(name)), "{core}: {theirs:?}");
    }
    let report = json(&quick(&["--json"]));
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

/// A comparison without what differs from run to run: the speed here.
fn comparison(args: &[&str]) -> Value {
    let mut comparison = json(&succeed(args));
    for run in comparison["runs"].as_array_mut().unwrap() {
        run["report"]["host"] = Value::Null;
    }
    comparison
}

#[test]
fn compare_is_the_same_for_any_number_of_threads() {
    let args = |jobs| {
        let [workloads, axes] = [
            ["compare", "vectoradd", "transpose", "--json", "--threads", jobs],
            ["--gpus", "gtx480,v100", "--schedulers", "lrr,gto", "--set", "sm_count=2"],
        ];
        [workloads, axes].concat()
    };
    let one = comparison(&args("1"));
    assert_eq!(one, comparison(&args("4")));
    assert_eq!(strings(&one["columns"], "label"), ["gtx480 lrr", "gtx480 gto", "v100 lrr", "v100 gto"]);
    let runs = one["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 8);
    for (i, run) in runs.iter().enumerate() {
        assert_eq!(
            [run["workload"].as_str(), run["status"].as_str()],
            [Some(["vectoradd", "transpose"][i / 4]), Some("complete")]
        );
        let time = |run: &Value| run["report"]["total"]["time"].as_f64().unwrap();
        assert_eq!(run["column"], i % 4);
        let expected = time(&runs[i / 4 * 4]) / time(run);
        assert!((run["speedup"].as_f64().unwrap() - expected).abs() < 1e-12, "{run}");
    }
}

#[test]
fn compare_keeps_what_works_when_a_cell_fails() {
    // 1024 threads do not fit on an SM of 16 warps.
    let args = ["compare", "vectoradd", "--param", "n=4096", "--param", "block=1024", "--vary", "sm.max_warps=32,16"];
    let ran = run(&args);
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    assert!(ran.stdout.contains("max_warps=32") && ran.stdout.contains("1.000"), "{}", ran.stdout);
    assert!(ran.stdout.contains("failed: vectoradd on max_warps=16: "), "{}", ran.stdout);
}

#[test]
fn inspect_shows_bundled_kernels() {
    let text = succeed(&["inspect", "matmul"]);
    assert!(text.contains("1 kernel, 1 executable"), "{text}");
    let facts = json(&succeed(&["inspect", "backprop", "--json"]));
    let kernels = facts["kernels"].as_array().unwrap();
    assert!(kernels.len() > 1);
    for kernel in kernels {
        assert!(kernel["executable"]["registers_per_thread"].as_u64().unwrap() > 0);
        let opcodes: u64 = kernel["opcodes"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum();
        assert_eq!(opcodes, kernel["instructions"].as_u64().unwrap());
    }
    let name = kernels[0]["name"].as_str().unwrap();
    let one = json(&succeed(&["inspect", "backprop", "--json", "--kernel", name]));
    assert_eq!(one["kernels"].as_array().unwrap().len(), 1);
}

#[test]
fn inspect_shows_kernels_on_a_fabric_and_draws_them() {
    let folder = tempfile::tempdir().unwrap();
    let drawings = folder.path().join("new").join("drawings");
    let facts = json(&succeed(&["inspect", "bfs", "--svg", drawings.to_str().unwrap(), "--json"]));
    let kernels = facts["kernels"].as_array().unwrap();
    assert!(kernels.len() > 1);
    for kernel in kernels {
        let drawing = std::fs::read_to_string(drawings.join(format!("{}.svg", kernel["name"].as_str().unwrap())));
        let (drawing, parts) = (drawing.unwrap(), kernel["mapped"]["parts"].as_array().unwrap());
        let nodes: u64 = parts.iter().map(|part| part["nodes"].as_u64().unwrap()).sum();
        // In the graph and on the fabric.
        assert_eq!(drawing.matches("class=\"node ").count() as u64, 2 * nodes);
        for part in parts {
            let units: u64 = part["units"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum();
            assert!((1..=108).contains(&units) && part["configuration_bits"].as_u64().unwrap() > 100, "{part}");
        }
    }
    // What cannot be mapped has no drawing.
    let file = folder.path().join("reduction.svg");
    let ran = run(&["inspect", "reduction", "--svg", file.to_str().unwrap()]);
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    assert!(
        ran.stdout.contains("reduce_sum  refused\n  line 70: `shfl.sync.down.b32") && !file.exists(),
        "{}",
        ran.stdout
    );
    let smaller = ["inspect", "nn", "--core", "sgmf:columns=8,rows=4,int_dividers=1,fp_dividers=1,roots=1", "--json"];
    assert_eq!(json(&succeed(&smaller))["units"]["load/store"], 17);
}

#[test]
fn what_runs_ptx_only_is_compared_with_ptx_and_what_it_refuses_is_said() {
    let args = ["compare", "saxpy", "reduction", "--cores", "inorder,sgmf", "--json"];
    let ran = run(&args);
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    let comparison = json(&ran.stdout);
    let runs = comparison["runs"].as_array().unwrap();
    assert_eq!(strings(&comparison["runs"], "status"), ["complete", "complete", "complete", "failed"]);
    for run in &runs[..3] {
        assert_eq!(run["report"]["kernels"][0]["code"], "ptx", "{run}");
        let remark = run["report"]["remarks"][0].as_str().unwrap();
        assert!(remark.starts_with("core sgmf executes PTX only: "), "{remark}");
    }
    let reason = runs[3]["reason"].as_str().unwrap();
    assert!(reason.contains("line 70: `shfl.sync.down.b32") && reason.matches("line ").count() > 5, "{reason}");
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
fn inspect_shows_machine_code() {
    let data = |name: &str| format!("{}/../sass/tests/data/{name}", env!("CARGO_MANIFEST_DIR"));
    let facts = json(&succeed(&["inspect", "matmul", "--sm", "75", "--code", "--json"]));
    assert_eq!(facts["architecture"], "sm_75");
    let kernel = &facts["kernels"][0];
    assert_eq!(kernel["code"].as_array().unwrap().len() as u64, kernel["instructions"].as_u64().unwrap());
    assert_eq!(kernel["parameters"][1]["bank_offset"], 0x168);
    let opcodes: u64 = kernel["opcodes"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum();
    assert_eq!(opcodes, kernel["instructions"].as_u64().unwrap());
    // Without --sm the newest cubin, with it the one that runs there, or else the text.
    let shown = |args: &[&str]| {
        let facts = json(&succeed(&[&["inspect", &data("vectoradd.fatbin"), "--json"], args].concat()));
        let entries = facts["entries"].as_array().unwrap().clone();
        assert_eq!(entries.len(), 4);
        entries.into_iter().find(|e| e["shown"] == true).unwrap()
    };
    assert_eq!(shown(&[])["architecture"], "sm_86");
    assert_eq!(shown(&["--sm", "sm_72"])["architecture"], "sm_70");
    assert_eq!(shown(&["--sm", "90"])["kind"], "ptx");
    // A host library of two source files: the kernels of both.
    let host = format!("{}/../lower/tests/data/host.elf", env!("CARGO_MANIFEST_DIR"));
    let facts = json(&succeed(&["inspect", &host, "--sm", "75", "--json"]));
    assert_eq!(strings(&facts["kernels"], "name"), ["first", "second"]);
    let entries = facts["entries"].as_array().unwrap();
    assert_eq!((entries.len(), entries.iter().filter(|e| e["shown"] == true).count()), (5, 2));
    let facts = json(&succeed(&["inspect", &host, "--sm", "80", "--json"]));
    assert_eq!((facts["version"].as_str(), strings(&facts["kernels"], "name")), (Some("7.8"), vec!["first"]));
    let text = succeed(&["inspect", &data("axpy.sm_90.cubin"), "--code"]);
    assert!(text.contains("c[0x0][0x210]") && text.contains("  EXIT\n") && text.contains(":S05"), "{text}");
}

/// A fat binary of one container: cubins (2) and text (1), each with the architecture that it is declared to be for.
fn fat_binary(entries: &[(u16, u8, Vec<u8>)]) -> Vec<u8> {
    let mut body = Vec::new();
    for (kind, sm, contents) in entries {
        let mut entry = [0; 64];
        entry[0..2].copy_from_slice(&kind.to_le_bytes());
        entry[4] = 64;
        entry[8..16].copy_from_slice(&(contents.len() as u64).to_le_bytes());
        entry[28] = *sm;
        body.extend(entry);
        body.extend(contents);
    }
    let mut file = vec![0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0];
    file.extend((body.len() as u64).to_le_bytes());
    file.extend(body);
    file
}

/// Newer code than can be read is named. What can be read is shown, which is the text if there is nothing else.
#[test]
fn inspect_names_code_that_is_too_new() {
    let folder = tempfile::tempdir().unwrap();
    let written = |name: &str, content: &[u8]| {
        let file = folder.path().join(name);
        std::fs::write(&file, content).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let data = |name: &str| std::fs::read(format!("{}/../sass/tests/data/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let old = data("axpy.sm_75.cubin");
    let text = b".version 7.8\n.target sm_75\n.address_size 64\n.visible .entry only_text() { ret; }\n".to_vec();
    for sm in [100, 120] {
        // Byte 48 of a cubin is its architecture.
        let mut new = old.clone();
        new[48] = sm;
        let refused = |args: &[&str], wanted: &str| {
            let ran = run(&[&["inspect"], args].concat());
            assert!(ran.status == 2 && ran.stderr.contains(wanted), "{args:?}: {}", ran.stderr);
        };
        let unsupported = format!("sm_{sm} is not supported: sm_70 to sm_90 are; compile for one of these, or to PTX");
        refused(&[&written("new.cubin", &new)], &unsupported);

        let both = written("both.fatbin", &fat_binary(&[(2, sm, new.clone()), (2, 75, old.clone())]));
        let shown = succeed(&["inspect", &both]);
        let is_so = |name: &str, how: &str| shown.lines().any(|line| line.contains(name) && line.ends_with(how));
        assert!(is_so(&format!("sm_{sm}"), "cannot be read") && is_so("sm_75", "shown here"), "{shown}");
        refused(&[&both, "--sm", &sm.to_string()], &unsupported);

        // The newest that can be read, wherever it is among newer ones and older ones.
        let mut middle = old.clone();
        middle[48] = 86;
        let mixed = fat_binary(&[(2, 75, old.clone()), (2, sm, new.clone()), (2, 86, middle), (2, 80, old.clone())]);
        let mixed = written("mixed.fatbin", &[mixed, fat_binary(&[(2, sm, new.clone())])].concat());
        let facts = json(&succeed(&["inspect", &mixed, "--json"]));
        let of = |entry: &Value| (entry["architecture"].as_str().unwrap().to_owned(), entry["shown"] == true);
        let entries: Vec<(String, bool)> = facts["entries"].as_array().unwrap().iter().map(of).collect();
        let shown: Vec<&str> = entries.iter().filter(|entry| entry.1).map(|entry| &entry.0[..]).collect();
        assert_eq!((entries.len(), shown), (5, vec!["sm_86"]));
        assert_eq!(facts["architecture"], "sm_86");

        let beside_text = written("text.fatbin", &fat_binary(&[(2, sm, new.clone()), (1, sm, text.clone())]));
        let shown = succeed(&["inspect", &beside_text]);
        assert!(shown.contains("cannot be read") && shown.contains("only_text"), "{shown}");

        let alone = written("alone.fatbin", &fat_binary(&[(2, sm, new.clone())]));
        refused(&[&alone], &format!("it holds cubin for sm_{sm}; of cubins those for sm_70 to sm_90 can be read"));
    }
}

/// A launch file may name a host program or library: its kernels are those of all source files.
#[test]
fn a_host_library_is_a_module() {
    let host = format!("{}/../lower/tests/data/host.elf", env!("CARGO_MANIFEST_DIR"));
    let launch = format!(
        r#"module = "{host}"
[buffers.sums]
type = "u32"
length = 32
[buffers.products]
type = "u32"
length = 32
[[launch]]
kernel = "first"
grid = 1
block = 32
args = ["sums"]
[[launch]]
kernel = "second"
grid = 1
block = 32
args = ["products"]
[[output]]
buffer = "sums"
compare = {{ formula = "i + 107" }}
[[output]]
buffer = "products"
compare = {{ formula = "i * (i % 2 == 0 ? 3 : 5) + 2000" }}
"#
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("host.toml");
    std::fs::write(&path, launch).unwrap();
    for gpu in ["rtx2060s", "rtx3070"] {
        succeed(&["run", path.to_str().unwrap(), "--gpu", gpu]);
    }
}

/// What GPGPU-Sim's defaults leave open or have in sizes that do not exist here.
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
fn the_readmes_commands_work_and_print_what_it_shows() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let mut lines = readme.lines().peekable();
    let (mut commands, mut shown) = (0, 0);
    while let Some(line) = lines.next() {
        let (prompt, command_line) = line.strip_prefix("$ ").map_or((false, line), |line| (true, line));
        let Some(args) = command_line.strip_prefix("warpwright ") else { continue };
        let args: Vec<&str> = args.split_whitespace().collect();
        let ran = from(command(&args).current_dir(root()).output().unwrap());
        assert_eq!(ran.status, 0, "{line}\n{}", ran.stderr);
        commands += 1;
        while let Some(output) = lines.next_if(|output| prompt && !output.starts_with("```")) {
            assert!(ran.stdout.lines().any(|line| line == output), "{line} does not print: {output}\n{}", ran.stdout);
            shown += 1;
        }
    }
    assert!(commands >= 3 && shown >= 3, "the README has {commands} commands and shows {shown} lines of output");
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

#[test]
fn flags_make_columns() {
    let args = ["compare", "vectoradd", "--warps-per-sm", "x0.5,x1", "--branches", "oracle,stall", "--json"];
    let document = json(&succeed(&args));
    let labels = strings(&document["columns"], "label");
    let both = ["warps x0.5 branches=oracle", "warps x0.5 branches=stall", "warps x1 branches=oracle"];
    assert_eq!(labels[..3], both);
    assert_eq!(
        document["columns"][3]["settings"],
        serde_json::json!(["sm.max_warps=32", "sm.frontend.branches=stall"])
    );
}

#[test]
fn what_papers_report_stands_beside() {
    let machines = ["--gpus", "rtx2060s", "--code", "sass", "--cores", "inorder,ghost", "--published"];
    let args = [&["compare", "lud", "gaussian"][..], &machines, &["--show", "speedup,stalls,occupancy"]].concat();
    let text = succeed(&args);
    for part in ["inorder  ghost  paper", "1.083", "of 2  1.056", "1.069 over all 28", "ghost: GhOST (", "figure 13"] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(!text.contains("Cycles"), "{text}");
    let document = json(&succeed(&[&args[..], &["--json"]].concat()));
    let lud = &document["runs"][1];
    assert_eq!(lud["published"]["speedup"], 1.0832);
    assert!(lud["stall_reduction_percent"].as_f64().unwrap() > 0.0, "{lud}");
    assert_eq!(document["published_means"][1]["speedup"], 1.0687);
    assert_eq!(document["published_means"][0], Value::Null);
    // Neither over another design than the paper's baseline, nor beside other code.
    let over = &["compare", "lud", "--code", "sass", "--cores", "socgpu,ghost", "--published", "--show", "speedup"];
    let text = succeed(over);
    assert!(text.contains("over `inorder`, which is not the baseline") && !text.contains("1.083"), "{text}");
    let ptx = ["--code", "ptx", "--cores", "inorder,ghost", "--published", "--show", "speedup"];
    let text = succeed(&[&["compare", "lud"][..], &ptx].concat());
    assert!(text.contains("No paper reports on PTX") && !text.contains("1.083"), "{text}");
}

#[test]
fn the_baseline_is_a_choice() {
    let args = ["compare", "lud", "nw", "--gpus", "rtx2060s,v100", "--cores", "ghost", "--over", "inorder-war-exact"];
    let document = json(&succeed(&[&args[..], &["--json"]].concat()));
    assert_eq!(document["schema"], 2);
    let columns = document["columns"].as_array().unwrap();
    let of = |column: &Value| (column["label"].as_str().unwrap().to_owned(), column["baseline"].as_u64().unwrap());
    let expected =
        [("rtx2060s inorder-war-exact", 0), ("rtx2060s ghost", 0), ("v100 inorder-war-exact", 2), ("v100 ghost", 2)];
    assert_eq!(columns.iter().map(of).collect::<Vec<_>>(), expected.map(|(label, over)| (label.to_owned(), over)));
    let run = |column: usize| &document["runs"][4 + column];
    let time = |column| run(column)["report"]["total"]["time"].as_f64().unwrap();
    assert!((run(3)["speedup"].as_f64().unwrap() - time(2) / time(3)).abs() < 1e-12);
    let text = succeed(&args);
    assert!(text.contains("Speedup over inorder-war-exact") && !text.contains("no protection"), "{text}");
    let bad = run_command(&["compare", "lud", "--over", "inordr"]);
    assert!(bad.status == 2 && bad.stderr.contains("did you mean `inorder`"), "{}", bad.stderr);
}

/// What the first kernel was executed from, and the remarks.
fn code(args: &[&str]) -> (String, usize) {
    let report = json(&succeed(&[args, &["--json"]].concat()));
    (report["kernels"][0]["code"].as_str().unwrap().to_owned(), report["remarks"].as_array().unwrap().len())
}

#[test]
fn machine_code_is_the_default_where_there_is_some() {
    let of = |more: &[&str]| code(&[&QUICK[..], more].concat());
    assert_eq!(of(&[]), ("sass".into(), 0));
    assert_eq!(of(&["--gpu", "gtx480"]), ("ptx".into(), 0));
    assert_eq!(of(&["--code", "ptx"]), ("ptx".into(), 0));
    assert_eq!(of(&["--registers", "allocated"]), ("ptx".into(), 0));
    assert_eq!(code(&["run", "asynccopy", "--gpu", "rtx3070"]), ("sass".into(), 0));
    assert_eq!(code(&["run", "asynccopy"]), ("ptx".into(), 1));
    assert!(succeed(&["run", "asynccopy"]).contains("asynccopy has no machine code for rtx2060s (sm_75)"));
    assert!(quick(&[]).contains("  code       machine code\n"));
    let document = json(&succeed(&["compare", "asynccopy", "--json"]));
    assert_eq!(document["runs"][0]["report"]["remarks"].as_array().unwrap().len(), 1);
    assert!(succeed(&["compare", "asynccopy", "vectoradd"]).contains("  asynccopy has no machine code for rtx2060s"));
    let cores = ["compare", "vectoradd", "transpose", "--cores", "inorder,ghost"];
    assert!(!succeed(&cores).contains("PTX"));
    assert!(
        succeed(&[&cores[..], &["--code", "ptx"]].concat()).contains("PTX: virtual registers and unscheduled code")
    );
}

#[test]
fn launch_latency_is_told_apart_and_in_accelsims_cycles() {
    let stock = ["--set", "clocks.core_mhz=1500", "--set", "launch.kernel_latency_ns=1000"];
    let report = json(&quick(&[&["--json"][..], &stock].concat()));
    let total = |name: &str| report["total"][name].as_u64().unwrap();
    assert_eq!((total("launch_cycles"), total("total_cycles")), (1500, total("cycles") + 1500));
    let ipc = report["total"]["ipc"].as_f64().unwrap();
    assert!((ipc * total("cycles") as f64 - total("thread_instructions") as f64).abs() < 1e-6, "{ipc}");
    let theirs = quick(&[&["--stats", "accelsim"][..], &stock].concat());
    assert!(theirs.contains(&format!("\ngpu_sim_cycle = {}\n", total("total_cycles"))), "{theirs}");
    assert!(theirs.contains("0 min, 0 sec (0 sec)"), "a run of a fraction of a second: {theirs}");
    // Without it, kernels take as long.
    let none = ["--json", "--set", "clocks.core_mhz=1500", "--set", "launch.kernel_latency_cycles=0"];
    let without = json(&quick(&none));
    assert_eq!(
        (&without["total"]["cycles"], &without["total"]["launch_cycles"]),
        (&report["total"]["cycles"], &0.into())
    );
}

#[test]
fn an_experiment_is_reproduced() {
    let document = json(&succeed(&["reproduce", "socgpu-fig6", "--stock", "--size", "small", "--json"]));
    assert_eq!([&document["figure"], &document["size"]], ["socgpu-fig6", "small"]);
    let (paper, stock) = (&document["parts"][0], &document["stock"][0]);
    for (part, gpu) in [(paper, "papers/socgpu"), (stock, "v100")] {
        assert_eq!(strings(&part["columns"], "core"), ["inorder-war-exact", "socgpu"]);
        assert_eq!(strings(&part["columns"], "gpu"), [gpu, gpu]);
        let runs = part["runs"].as_array().unwrap();
        assert!(runs.len() >= 2 * 20 && runs.iter().all(|run| run["status"] == "complete"), "{}", runs.len());
    }
    let [headline] = &document["headlines"].as_array().unwrap()[..] else { panic!("one design beside the baseline") };
    assert_eq!((&headline["label"], &headline["published"]), (&"socgpu".into(), &1.38.into()));
    for (part, mean) in [(paper, "on_papers"), (stock, "on_stock")] {
        assert_eq!(part["geometric_means"][1]["speedup"], headline[mean]);
    }
    let missing = run(&["reproduce", "war-fig7"]);
    assert!(missing.status == 2 && missing.stderr.contains("did you mean"), "{}", missing.stderr);
}

/// Rows of kernels add up their launches, and nothing else of the program.
#[test]
fn kernels_are_compared_by_themselves() {
    let what = ["compare", "gaussian:n=12,side=2", "nn:places=500", "--gpus", "gtx480", "--code", "ptx"];
    let words = [&what[..], &["--cores", "inorder,sgmf", "--set", "launch.kernel_latency_cycles=100"]].concat();
    let document = json(&succeed(&[&words[..], &["--kernels", "eliminate,distances", "--json"]].concat()));
    let runs = document["runs"].as_array().unwrap();
    assert_eq!(strings(&document["runs"], "workload"), ["eliminate", "eliminate", "distances", "distances"]);
    for (run, launches) in runs.iter().zip([11, 11, 1, 1]) {
        let (total, kernels) = (&run["report"]["total"], run["report"]["kernels"].as_array().unwrap());
        assert_eq!(kernels.len(), launches);
        assert!(kernels.iter().all(|kernel| kernel["name"] == run["workload"]));
        for name in ["cycles", "launch_cycles", "thread_instructions", "energy.total", "l2.accesses"] {
            let sum: f64 = kernels.iter().map(|kernel| kernel["statistics"][name].as_f64().unwrap()).sum();
            let total = total[name].as_f64().unwrap();
            assert!(total > 0.0 && (total - sum).abs() < 1e-9 * sum, "{name}: {total}, {sum} of launches");
        }
    }
    let time = |run: usize| runs[run]["report"]["total"]["time"].as_f64().unwrap();
    assert!((runs[1]["speedup"].as_f64().unwrap() - time(0) / time(1)).abs() < 1e-12);
    let absent = run(&[&words[..], &["--kernels", "eliminate,distance"]].concat());
    assert_eq!(absent.status, 1);
    assert!(
        absent.stdout.contains("did you mean `distances`") && absent.stdout.contains("eliminate"),
        "{}",
        absent.stdout
    );
}

#[test]
fn parameters_may_follow_a_workload() {
    let both = succeed(&["compare", "nn:places=64", "nn:places=96,block=32", "--show", "cycles"]);
    assert!(both.contains("nn:places=64") && both.contains("nn:places=96,block=32"), "{both}");
    let report = json(&succeed(&["run", "backprop:inputs=16,constant_words=1", "--code", "ptx", "--json"]));
    assert_eq!(report["workload"], "backprop (small, inputs=16, constant_words=1, seed=1)");
    assert_eq!(report["kernels"][1]["name"], "adjust_weights_single");
    for (word, why) in [
        ("nn:places", "expected NAME=VALUE"),
        ("nn:places=1,places=2", "given twice"),
        ("nn:places=x", "whole numbers"),
        ("nn:cells=1", "no parameter `cells`"),
        ("nm:places=1", "did you mean"),
    ] {
        let failed = run(&["run", word]);
        assert!(failed.status == 2 && failed.stderr.contains(why), "{word}: {}", failed.stderr);
    }
}

#[test]
fn a_scalar_path_is_chosen_behind_the_core() {
    let on = |core: &'static str| ["run", "hotspot", "--gpu", "gtx480", "--core", core];
    let text = succeed(&on("inorder+scalar+half"));
    assert!(text.contains("Scalar path") && text.contains("in one half of the warp"), "{text}");
    assert!(!text.contains("wrongly"), "{text}");
    let report = json(&succeed(&[on("ghost+scalar").as_slice(), &["--json"]].concat()));
    assert!(report["total"]["design.scalar_share"].as_f64().unwrap() > 5.0);
    // What the paper says of its own simulator.
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
fn quantities_have_units_and_two_settings_make_a_grid() {
    let compare = ["compare", "vectoradd", "--param", "n=1000", "--vary", "clocks.core_mhz=1GHz,2GHz"];
    let text = succeed(&[&compare[..], &["--vary", "l2.latency_cycles=100,200", "--show", "time"]].concat());
    let lines: Vec<&str> = text.lines().collect();
    let heading = lines.iter().position(|line| line.trim() == "latency_cycles=100  latency_cycles=200").expect(&text);
    assert!(lines[heading - 1].starts_with("Time of kernels (us)"), "{text}");
    assert!(
        lines[heading + 1].starts_with("  core_mhz=1GHz ") && lines[heading + 2].starts_with("  core_mhz=2GHz "),
        "{text}"
    );
    let wrong = run_command(&["run", "vectoradd", "--set", "sm.shared.bytes=64KB"]);
    assert_eq!(wrong.status, 2);
    assert!(wrong.stderr.contains("with a unit: B, kB, KiB, MB, MiB, GiB"), "{}", wrong.stderr);
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
