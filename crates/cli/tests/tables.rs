//! Tables of `--csv`: they add up to the run, and have a row for each thing.

use crate::common;

use common::succeed;
use std::collections::{BTreeMap, BTreeSet};

/// The records of a table, each by the names of its columns.
fn records(args: &[&str]) -> Vec<BTreeMap<String, String>> {
    let text = succeed(args);
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let names: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    let record = |record: csv::StringRecord| names.iter().cloned().zip(record.iter().map(str::to_owned)).collect();
    reader.records().map(|found| record(found.unwrap())).collect()
}

#[test]
fn the_table_of_a_profile_adds_up_to_the_run() {
    let count = |text: &String| text.parse::<u64>().unwrap();
    let rows = records(&["profile", "bfs", "--gpu", "v100", "--csv"]);
    let issues: u64 = rows.iter().map(|row| count(&row["issues"])).sum();
    let run = records(&["run", "bfs", "--gpu", "v100", "--csv"]);
    let all = run.iter().find(|row| row["scope"] == "total" && row["statistic"] == "slots.issued").unwrap();
    assert_eq!(issues, count(&all["value"]));
    assert!(rows.iter().all(|row| row["file"] == "bfs.cu" && count(&row["line"]) > 0), "{:?}", rows[0]);
}

#[test]
fn the_instructions_of_a_comparison_are_those_of_its_runs() {
    let args = ["compare", "bfs", "reduction", "--gpus", "v100", "--cores", "inorder,ghost", "--profile", "--csv"];
    let rows = records(&args);
    let alone = records(&["profile", "bfs", "--gpu", "v100", "--core", "ghost", "--csv"]);
    let within: Vec<_> = rows.iter().filter(|row| row["workload"] == "bfs" && row["column"] == "ghost").collect();
    assert_eq!(within.len(), alone.len());
    for (one, other) in within.into_iter().zip(&alone) {
        assert!(other.iter().all(|(name, value)| name == "workload" || one[name] == *value), "{one:?} {other:?}");
    }
    let runs: BTreeSet<_> = rows.iter().map(|row| (&row["workload"], &row["column"])).collect();
    assert_eq!(runs.len(), 4);
}

/// The columns cover the levels of all machines, in the order of the levels.
#[test]
fn levels_that_some_machines_have_are_columns_of_all() {
    let args = ["compare", "matmul", "--gpu", "v100", "--profile", "--csv", "--vary", "l2.far_latency_cycles=0,90"];
    let text = succeed(&args);
    let heading = text.lines().next().unwrap();
    assert!(heading.ends_with("conflict_cycles,from_l1,from_l2,from_l2_far,from_dram,joules"), "{heading}");
    let rows = records(&args);
    let sum = |machine: &str, level: &str| {
        let of_machine = rows.iter().filter(|row| row["column"].contains(machine));
        of_machine.map(|row| row[level].parse::<u64>().unwrap()).sum::<u64>()
    };
    assert_eq!(sum("cycles=0", "from_l2_far"), 0);
    assert!(sum("cycles=90", "from_l2_far") > 0 && sum("cycles=90", "from_l2") > 0, "{heading}");
    assert!(!succeed(&["profile", "matmul", "--gpu", "v100", "--csv"]).contains("from_l2_far"));
}

/// Rows of several tables can be put together: each names its run, its figure and the program, once.
#[test]
fn each_row_identifies_its_run_and_the_program() {
    let version = succeed(&["--version"]);
    let run = ["workload", "size", "seed", "gpu", "core", "scheduler", "settings", "code"];
    let vary = ["--cores", "inorder,ghost", "--vary", "l2.latency_cycles=100,200", "--repeat", "2"];
    let compared = [&["compare", "vectoradd:n=512", "nn:places=64", "--seed", "3"][..], &vary, &["--csv"]].concat();
    for (args, others) in [
        (&["run", "vectoradd", "--size", "small", "--seed", "3", "--csv"][..], &["scope", "launch", "statistic"][..]),
        (&["profile", "vectoradd", "--seed", "3", "--csv"], &["kernel", "pc"]),
        (&compared, &["column", "repeat", "statistic"]),
        (&[&compared[..], &["--profile"]].concat(), &["column", "repeat", "kernel", "pc"]),
    ] {
        let rows = records(args);
        let all_of = |row: &BTreeMap<String, String>, names: &[&str]| names.iter().map(|n| row[*n].clone()).collect();
        let named: BTreeSet<Vec<String>> = rows.iter().map(|row| all_of(row, &[&run[..], others].concat())).collect();
        assert!(!rows.is_empty() && named.len() == rows.len(), "{args:?}");
        for row in &rows {
            assert_eq!((&*row["size"], &*row["seed"], &*row["code"]), ("small", "3", "sass"), "{args:?}: {row:?}");
            let program = match &*row["commit"] {
                "" => format!("warpwright {}\n", row["version"]),
                commit => format!("warpwright {} ({commit})\n", row["version"]),
            };
            assert_eq!(program, version);
        }
    }
    let rows = records(&compared);
    let speedup = |repeat: &str, statistic: &str| {
        let of = rows.iter().filter(|row| row["statistic"] == statistic && row["repeat"] == repeat);
        of.map(|row| row["value"].parse::<f64>().unwrap()).collect::<Vec<_>>()
    };
    let (first, second, mean) = (speedup("0", "speedup"), speedup("1", "speedup"), speedup("", "speedup.mean"));
    assert_eq!((first.len(), second.len(), mean.len()), (8, 8, 8));
    for ((first, second), mean) in first.iter().zip(second).zip(mean) {
        assert!(((first + second) / 2.0 - mean).abs() < 1e-12);
    }
}

#[test]
fn the_kernels_of_a_file_are_a_table() {
    let code = records(&["inspect", "bfs", "--sm", "75", "--csv"]);
    let ptx = records(&["inspect", "bfs", "--csv"]);
    assert_eq!((code.len(), ptx.len()), (2, 2));
    assert!(code.iter().all(|row| row["code"] == "sm_75" && row["executable"] == "true"), "{code:?}");
    let graphs = records(&["inspect", "bfs", "--fabric", "--csv"]);
    assert!(graphs.iter().all(|row| !row["nodes"].is_empty() || !row["reason"].is_empty()), "{graphs:?}");
}
