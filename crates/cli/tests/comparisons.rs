//! Output of comparisons and experiments.

use crate::common::{json, run, run as run_command, strings, succeed};
use serde_json::Value;

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
        let expected = time(&runs[i / 2 * 2]) / time(run);
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
    let of_each = ["compare", "lud:n=64", "nn:places=512", "--gpus", "rtx2060s,v100", "--register-file", "x1,x2"];
    let text = succeed(&of_each);
    assert!(text.contains("Speedup over registers x1\n"), "{text}");
    let text = succeed(&[&of_each[..], &["--over", "gpu=v100"]].concat());
    assert!(text.contains("Speedup over v100\n"), "{text}");
    let bad = run_command(&["compare", "lud", "--over", "inordr"]);
    assert!(bad.status == 2 && bad.stderr.contains("did you mean `inorder`"), "{}", bad.stderr);
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

/// `docs/designs/ghost.md`: the loads that GhOST brings forward fill what L1 keeps for a miss.
#[test]
fn ghost_gains_in_matrixmul_where_l1_takes_its_loads() {
    let machine =
        ["compare", "matrixmul", "--gpus", "papers/ghost", "--code", "sass", "--json", "--cores", "inorder,ghost"];
    let comparison = json(&succeed(&[&machine[..], &["--vary", "sm.l1d.cache.mshr_merges=8,16"]].concat()));
    let labels = strings(&comparison["columns"], "label");
    let cycles = |core: &str, merges: &str| {
        let column = labels.iter().position(|l| l.starts_with(core) && l.ends_with(merges)).unwrap();
        comparison["runs"][column]["report"]["total"]["cycles"].as_f64().unwrap()
    };
    assert!(cycles("ghost", "=8") > 1.2 * cycles("ghost", "=16"), "{labels:?}");
    assert!(cycles("inorder", "=16") > 1.05 * cycles("ghost", "=16"), "{labels:?}");
}

/// A run that the limit of cycles has ended took as long as the limit says, so its time is not compared.
#[test]
fn runs_that_the_limit_of_cycles_ends_have_no_speedup() {
    let args = ["compare", "bfs", "--set", "sm_count=2", "--cores", "inorder,ghost", "--max-cycles", "20000"];
    let text = succeed(&args);
    assert!(text.contains("> ") && text.contains("runs with > had come so far"), "{text}");
    let compared = json(&succeed(&[&args[..], &["--json"]].concat()));
    assert_eq!(strings(&compared["runs"], "status"), ["interrupted"; 2]);
    assert!(compared["runs"].as_array().unwrap().iter().all(|run| run["speedup"].is_null()), "{text}");
}

/// A core design with a scheduler of its own takes another one that is asked for as a setting; what it cannot take is said.
#[test]
fn settings_have_an_effect_on_the_modern_core_or_a_remark() {
    let cycles = |more: &[&str]| {
        let args = ["run", "matmul", "--gpu", "v100", "--code", "sass", "--set", "sm_count=2", "--json"];
        let report = json(&succeed(&[&args[..], more].concat()));
        (report["total"]["cycles"].clone(), report["scheduler"].clone(), report["remarks"].clone())
    };
    let own = cycles(&[]);
    assert_eq!(own.1, "gty");
    let set = cycles(&["--set", "sm.issue.scheduler=lrr"]);
    assert_eq!(set, cycles(&["--scheduler", "lrr"]));
    assert!(set.0 != own.0 && set.1 == "lrr", "{set:?}");
    let keys = [
        ("sm.frontend.fetches_per_cycle", 3),
        ("sm.frontend.instructions_per_fetch", 1),
        ("sm.frontend.buffer_entries", 5),
        ("sm.frontend.icache.ways", 2),
        ("sm.operands.collectors", 4),
        ("sm.operands.in_ports", 4),
        ("sm.operands.out_ports", 4),
        ("sm.operands.reads_per_bank", 1),
    ];
    let settings: Vec<String> =
        keys.iter().flat_map(|(key, value)| ["--set".into(), format!("{key}={value}")]).collect();
    let unread = cycles(&settings.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(unread.0, own.0);
    for (key, _) in keys {
        let remark = format!("`{key}` has no effect on core `modern`");
        assert!(unread.2.as_array().unwrap().iter().any(|said| said == remark.as_str()), "{:?}", unread.2);
    }
    let read = cycles(&["--core", "inorder", "--set", "sm.operands.collectors=8"]);
    assert!(!read.2.to_string().contains("no effect"), "{:?}", read.2);
}
