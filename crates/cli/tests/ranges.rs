//! `exec --by`: kernels by NVTX range and by line of Python.

use crate::common::{command, from, root, run};
use crate::schema::check_value;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/ranges");

/// Runs `program` in `folder` under `exec` with `options`; returns its output and the report of its device.
fn under_exec(folder: &Path, options: &[&str], program: &[&str]) -> (String, Value) {
    let words = [&["exec", "-q", "--gpu", "v100", "--json=r.json"], options, &["--"], program].concat();
    let ran = from(command(&words).current_dir(folder).output().unwrap());
    assert_eq!(ran.status, 0, "{words:?}: {}", ran.stderr);
    let report: Value = serde_json::from_str(&std::fs::read_to_string(folder.join("r.json")).unwrap()).unwrap();
    check_value("exec", &words, &report);
    (ran.stdout, report["devices"][0].clone())
}

/// The groups of a device: names with slashes between them, and launches.
fn groups(device: &Value) -> Vec<(String, u64)> {
    let of = |group: &Value| {
        let names = group["path"].as_array().unwrap().iter().map(|name| name.as_str().unwrap());
        (names.collect::<Vec<_>>().join("/"), group["launches"].as_u64().unwrap())
    };
    device["grouping"]["groups"].as_array().unwrap().iter().map(of).collect()
}

fn sorted(mut groups: Vec<(String, u64)>) -> Vec<(String, u64)> {
    groups.sort();
    groups
}

fn expected(groups: &[(&str, u64)]) -> Vec<(String, u64)> {
    sorted(groups.iter().map(|(path, launches)| ((*path).to_owned(), *launches)).collect())
}

/// Builds `ranges.c` in `folder`; false where there is no compiler.
fn build(folder: &Path, more: &[&str]) -> bool {
    let mut compiler = Command::new(std::env::var_os("CC").unwrap_or("cc".into()));
    let source = format!("{SOURCES}/ranges.c");
    compiler.current_dir(folder).args(["-w", "-o", "ranges", &source, "-ldl", "-lpthread"]).args(more);
    let Ok(output) = compiler.output() else {
        eprintln!("skipped: there is no C compiler");
        return false;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    true
}

#[test]
fn kernels_are_grouped_by_the_ranges_of_their_thread() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    if !build(folder, &[]) {
        return;
    }
    let (printed, device) = under_exec(folder, &["--by", "nvtx", "--csv=r.csv", "--html", "r.html"], &["./ranges"]);
    // Levels of what is pushed and popped, as NVTX defines them; nothing is left to pop.
    assert_eq!(printed, "watched 0 1 2 0 0 0 -1\n");
    let found = groups(&device);
    let all = [
        ("", 1),
        ("step", 6),
        ("step/forward", 4),
        ("step/forward/größe", 4),
        ("step/own:backward", 2),
        // One of them is of a thread without ranges.
        ("started", 2),
        ("started/within", 2),
        ("within", 1),
        ("of the worker", 1),
        ("replay", 1),
        ("replay/within", 1),
        ("replay/within/captured", 1),
    ];
    assert_eq!(sorted(found.clone()), expected(&all));
    assert_eq!(found.iter().position(|(path, _)| path == "step/forward"), Some(2), "a group before those within it");

    let cycles = |group: &Value| group["cycles"].as_f64().unwrap();
    let list = device["grouping"]["groups"].as_array().unwrap();
    let outermost = list.iter().filter(|group| group["path"].as_array().unwrap().len() <= 1);
    assert_eq!(outermost.map(cycles).sum::<f64>(), device["total"]["cycles"].as_f64().unwrap());
    let launches = device["grouping"]["launches"].as_array().unwrap();
    let of_steps: Vec<u64> = launches
        .iter()
        .filter(|one| one["ranges"].as_array().unwrap().len() == 3)
        .map(|one| one["ranges"][0].as_u64().unwrap())
        .collect();
    assert!(of_steps[0] == of_steps[1] && of_steps[1] != of_steps[2], "two steps are two ranges: {launches:?}");

    let table = std::fs::read_to_string(folder.join("r.csv")).unwrap();
    assert!(
        table.lines().any(|line| line.contains(",group,") && line.ends_with(",cycles,core cycles,1743.0")),
        "{table}"
    );
    assert!(table.contains(",one,step/forward/größe,"), "a launch has its group");
    assert!(std::fs::read_to_string(folder.join("r.html")).unwrap().contains("<section id=\"ranges\""));

    let shown = from(
        command(&["exec", "--gpu", "v100", "--by", "nvtx", "--", "./ranges"]).current_dir(folder).output().unwrap(),
    );
    let table = shown.stderr.split("\n\n").find(|part| part.starts_with("Kernels by")).unwrap();
    let page = std::fs::read_to_string(root().join("docs/ranges.md")).unwrap();
    assert!(page.contains(table), "docs/ranges.md has another table than\n{table}");

    let sampled = under_exec(folder, &["--by", "nvtx", "--time", "none"], &["./ranges"]).1;
    assert_eq!(sorted(groups(&sampled)), expected(&all), "launches without time are grouped too");
    assert_eq!(sampled["grouping"]["groups"][0]["untimed"], sampled["grouping"]["groups"][0]["launches"]);
}

/// A program that is linked to NVTX, and asks for functions that mean nothing here.
const LINKED: &str = r#"
#include <stdio.h>
int nvtxRangePushA(const char *); int nvtxRangePop(void); void nvtxMarkA(const char *);
void nvtxNameOsThreadA(unsigned, const char *); void *nvtxDomainCreateA(const char *); void nvtxDomainDestroy(void *);
int main(void) {
    void *own = nvtxDomainCreateA("own");
    nvtxNameOsThreadA(1, "main");
    int outer = nvtxRangePushA("outer"), inner = nvtxRangePushA("inner");
    nvtxMarkA("here");
    nvtxDomainDestroy(own);
    printf("%d %d %d\n", outer, inner, nvtxRangePop());
    return 0;
}"#;

#[test]
fn programs_may_be_linked_to_the_functions_of_nvtx() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let environment = from(command(&["exec", "--print-environment", "--by", "nvtx"]).output().unwrap()).stdout;
    let named = environment.lines().find_map(|line| line.strip_prefix("export NVTX_INJECTION64_PATH=")).unwrap();
    let driver = named.trim_matches('\'');
    std::fs::write(folder.join("linked.c"), LINKED).unwrap();
    let mut compiler = Command::new(std::env::var_os("CC").unwrap_or("cc".into()));
    let built = compiler.current_dir(folder).args(["-w", "-o", "linked", "linked.c", driver, "-Wl,-z,now"]).output();
    let Ok(output) = built else {
        eprintln!("skipped: there is no C compiler");
        return;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for (options, printed) in [(&["--by", "nvtx"][..], "0 1 1\n"), (&[], "-2 -2 -2\n")] {
        let words = [&["exec", "-q"], options, &["--", "./linked"]].concat();
        let mut exec = command(&words);
        let ran = from(exec.current_dir(folder).output().unwrap());
        assert_eq!((ran.status, ran.stdout.as_str()), (0, printed), "{words:?}: {}", ran.stderr);
    }
}

#[test]
fn without_the_option_nothing_watches() {
    let folder = tempfile::tempdir().unwrap();
    if !build(folder.path(), &[]) {
        return;
    }
    let (printed, device) = under_exec(folder.path(), &["--csv=r.csv"], &["./ranges"]);
    assert!(printed.starts_with("alone") && device.get("grouping").is_none(), "{printed}");
    assert!(!std::fs::read_to_string(folder.path().join("r.csv")).unwrap().contains(",group,"));
    let refused = run(&["run", "vectoradd", "--by", "nvtx"]);
    assert!(refused.status == 2 && refused.stderr.contains("--by"), "{}", refused.stderr);
}

/// Interpreters to try: the usual one, and each version in PATH.
fn interpreters() -> Vec<&'static str> {
    let names = ["python3", "python3.10", "python3.11", "python3.12", "python3.13", "python3.14"];
    let has_ctypes = |name: &&str| {
        let mut python = Command::new(name);
        python.args(["-c", "import sys, ctypes; sys.exit(sys.version_info < (3, 10))"]);
        python.output().is_ok_and(|output| output.status.success())
    };
    names.into_iter().filter(has_ctypes).collect()
}

#[test]
fn kernels_are_grouped_by_the_line_that_launched_them() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let found = interpreters();
    if found.is_empty() {
        eprintln!("skipped: there is no Python 3.10 or later with ctypes");
    }
    std::fs::copy(format!("{SOURCES}/lines.py"), folder.join("lines.py")).unwrap();
    let source = std::fs::read_to_string(folder.join("lines.py")).unwrap();
    let at = |text: &str| source.lines().position(|line| line.contains(text)).unwrap() + 1;
    let close = at("later.close()");
    let lines: Vec<usize> =
        source.lines().zip(1..).filter(|(line, _)| line.contains("driver.cuLaunchKernel(")).map(|(_, at)| at).collect();
    for python in found {
        for held in [&["lines.py"][..], &["lines.py", "held"]] {
            let (printed, device) = under_exec(folder, &["--by", "python"], &[&[python], held].concat());
            assert_eq!(printed, "done\n");
            let names: Vec<(String, u64)> = groups(&device)
                .into_iter()
                // Names of functions have their class since 3.11.
                .map(|(path, launches)| (path.replace("Layer.", ""), launches))
                .collect();
            let at = |line: usize, function: &str| format!("lines.py:{line} {function}");
            let all = [
                (at(lines[0], "forward"), 3),
                (at(lines[1], "<module>"), 1),
                (at(close, "<module>"), 1),
                (at(lines[2], "worker"), 1),
            ];
            assert_eq!(sorted(names), sorted(all.to_vec()), "{python} {held:?}");
        }
    }
}

#[test]
fn a_thread_without_python_has_its_name() {
    let folder = tempfile::tempdir().unwrap();
    if !build(folder.path(), &[]) {
        return;
    }
    let (_, device) = under_exec(folder.path(), &["--by", "python"], &["./ranges"]);
    assert_eq!(groups(&device), [("no Python frame (thread ranges)".to_owned(), 12)]);
}
