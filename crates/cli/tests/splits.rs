//! `warpwright exec --split`: a program whose launches several processes time.

use crate::common::{Ran, command, from};
use crate::exec::build;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use tempfile::TempDir;

/// Nine launches of two kernels. With a file as its argument, the last grid grows from run to run; with two arguments, each
/// launch is one warp.
const PROGRAM: &str = r#"
#include <dlfcn.h>
#include <stdio.h>
static const char *kernels = ".version 7.0\n.target sm_70\n.address_size 64\n"
    /* Each thread adds the value of its neighbour to its own, some times. */
    ".visible .entry step(.param .u64 data, .param .u32 times)\n{\n.reg .pred %p<3>;\n.reg .b32 %r<12>;\n.reg .b64 %d<4>;\n"
    "ld.param.u64 %d1, [data];\nld.param.u32 %r1, [times];\n"
    "mov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\nmov.u32 %r4, %tid.x;\nmad.lo.s32 %r5, %r2, %r3, %r4;\n"
    "mul.wide.u32 %d2, %r5, 4;\nadd.s64 %d3, %d1, %d2;\n"
    "loop:\nld.global.u32 %r6, [%d3];\nld.global.u32 %r7, [%d3+65536];\nadd.s32 %r8, %r6, %r7;\nst.global.u32 [%d3], %r8;\n"
    "sub.s32 %r1, %r1, 1;\nsetp.ne.s32 %p1, %r1, 0;\n@%p1 bra loop;\nret;\n}\n"
    ".visible .entry fill(.param .u64 data, .param .u32 value)\n{\n.reg .b32 %r<8>;\n.reg .b64 %d<4>;\n"
    "ld.param.u64 %d1, [data];\nld.param.u32 %r1, [value];\n"
    "mov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\nmov.u32 %r4, %tid.x;\nmad.lo.s32 %r5, %r2, %r3, %r4;\n"
    "mul.wide.u32 %d2, %r5, 4;\nadd.s64 %d3, %d1, %d2;\nst.global.u32 [%d3], %r1;\nret;\n}\n";
int main(int argc, char **argv) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver) { puts(dlerror()); return 2; }
    #define CALL(name, ...) do { int (*call)() = (int (*)())dlsym(driver, #name); int code = call(__VA_ARGS__); \
        if (code) { printf("%s: %d\n", #name, code); return 1; } } while (0)
    void *context, *module, *step, *fill; unsigned long data; int value = 3, times, i, sum = 0;
    int last = 8, one = argc > 2, wide = one ? 32 : 256;
    if (argc == 2) {
        FILE *file = fopen(argv[1], "a");
        fputc('x', file);
        last += ftell(file);
        fclose(file);
    }
    CALL(cuInit, 0);
    CALL(cuCtxCreate_v2, &context, 0, 0);
    CALL(cuModuleLoadData, &module, kernels);
    CALL(cuModuleGetFunction, &step, module, "step");
    CALL(cuModuleGetFunction, &fill, module, "fill");
    CALL(cuMemAlloc_v2, &data, 131072ul);
    void *filled[] = { &data, &value }, *stepped[] = { &data, &times };
    CALL(cuLaunchKernel, fill, one ? 1 : 128, 1, 1, wide, 1, 1, 0, (void *)0, filled, (void *)0);
    for (i = 1; i <= 8; i++) {
        times = i;
        CALL(cuLaunchKernel, step, one ? 1 : i == 8 ? last : 4 * i, 1, 1, wide, 1, 1, 0, (void *)0, stepped, (void *)0);
        CALL(cuMemcpyDtoH_v2, &value, data, 4ul);
        sum += value;
    }
    printf("%d\n", sum);
    return 0;
}"#;

/// Nothing stays in caches, and clocks are in whole ratios.
const FLUSHED: [&str; 7] = [
    "launch.flush_l1_between_kernels=true",
    "launch.flush_l2_between_kernels=true",
    "launch.host_copies_fill_l2=false",
    "launch.keeps_code=false",
    "launch.prefetched_code_bytes=0",
    "clocks.interconnect_mhz=1650",
    "clocks.dram_mhz=3300",
];

fn place() -> Option<TempDir> {
    let folder = tempfile::tempdir().unwrap();
    build(folder.path(), PROGRAM).then_some(folder)
}

fn exec(folder: &Path, words: &[&str], program: &[&str]) -> Ran {
    let all = [&["exec"], words, &["--points", "points", "--", "./program"], program].concat();
    let split = words.contains(&"--split");
    let all: Vec<&str> =
        all.into_iter().filter(|word| split || !word.starts_with("--points") && *word != "points").collect();
    from(command(&all).current_dir(folder).output().unwrap())
}

/// The report of the one device, without the host's figures.
fn report(folder: &Path, words: &[&str], program: &[&str]) -> Value {
    let ran = exec(folder, &[words, &["-q", "--json=r.json"]].concat(), program);
    assert_eq!(ran.status, 0, "{words:?}: {}", ran.stderr);
    let mut report: Value = serde_json::from_slice(&fs::read(folder.join("r.json")).unwrap()).unwrap();
    let mut device = report["devices"][0].take();
    device.as_object_mut().unwrap().remove("host");
    device
}

/// The figures of a launch or of a run, by name.
fn figures(of: &Value) -> impl Iterator<Item = (&String, &Value)> {
    of.as_object().unwrap().iter()
}

fn is_near(one: &Value, other: &Value, share: f64) -> bool {
    match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => (one - other).abs() <= share * one.abs().max(other.abs()),
        _ => one == other,
    }
}

fn cycles(of: &Value) -> Vec<u64> {
    of["kernels"].as_array().unwrap().iter().map(|k| k["statistics"]["cycles"].as_u64().unwrap()).collect()
}

/// One share is the whole program: sums over launches are the statistics of the run.
#[test]
fn one_share_is_the_whole_program() {
    let Some(place) = place() else { return };
    let folder = place.path();
    for core in ["inorder", "ghost"] {
        let [whole, split] = [&["--core", core][..], &["--core", core, "--split", "1"]].map(|w| report(folder, w, &[]));
        assert_eq!(whole["kernels"], split["kernels"]);
        assert_eq!(figures(&whole["total"]).count(), figures(&split["total"]).count());
        for ((name, one), (other_name, other)) in figures(&whole["total"]).zip(figures(&split["total"])) {
            assert!(name == other_name && is_near(one, other, 1e-9), "{core}: {name}: {one} {other}");
        }
        assert!(is_near(&whole["seconds"], &split["seconds"], 1e-9), "{} {}", whole["seconds"], split["seconds"]);
        // Causes are found in the counts of one process.
        let keys =
            |of: &Value| of.as_object().unwrap().keys().filter(|key| *key != "diagnosis").cloned().collect::<Vec<_>>();
        assert_eq!(keys(&whole), keys(&split));
        assert_eq!(split["l2_slice_accesses"], Value::Array(Vec::new()), "not known of shares");
    }
}

#[test]
fn shares_together_are_the_program() {
    let Some(place) = place() else { return };
    let folder = place.path();
    let whole = report(folder, &[], &[]);
    let ran = exec(folder, &["--split", "3", "--out", "out", "--csv=s.csv"], &[]);
    assert!(
        ran.status == 0 && ran.stdout == "384\n",
        "the program's output is there once: {}{}",
        ran.stdout,
        ran.stderr
    );
    for text in ["9 launches in 3 shares, 0 of them kept", "split into 3 shares of launches (0..4, 5..7, 8)"] {
        assert!(ran.stderr.contains(text), "{text}: {}", ran.stderr);
    }
    let split = report(folder, &["--split", "3"], &[]);
    let launches = |of: &Value| {
        let kernels = of["kernels"].as_array().unwrap().iter();
        kernels
            .map(|k| {
                [&k["launch"], &k["name"], &k["grid"], &k["block"], &k["statistics"]["warp_instructions"]]
                    .map(Value::clone)
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(launches(&whole), launches(&split));
    // The first share has no launch before it; others begin with the caches of one launch.
    assert_eq!(cycles(&whole)[..5], cycles(&split)[..5]);
    assert_ne!(cycles(&whole), cycles(&split));
    let [one, three] =
        [&["--core", "inorder"][..], &["--core", "inorder", "--split", "3"]].map(|words| report(folder, words, &[]));
    assert!(is_near(&one["total"]["cycles"], &three["total"]["cycles"], 0.1));
    assert_eq!(split["total"]["cycles"].as_u64().unwrap(), cycles(&split).iter().sum::<u64>());
    let starts: Vec<u64> =
        split["kernels"].as_array().unwrap().iter().map(|k| k["start_cycle"].as_u64().unwrap()).collect();
    assert!(starts.is_sorted(), "{starts:?}");
    assert!(fs::read_to_string(folder.join("s.csv")).unwrap().starts_with("workload,size,seed,gpu,"));
    assert!(fs::read_to_string(folder.join("out/report.txt")).unwrap().contains("split into 3 shares"));
    let json: Value = serde_json::from_slice(&fs::read(folder.join("out/report.json")).unwrap()).unwrap();
    assert_eq!(json["devices"][0]["kernels"], split["kernels"]);
}

/// With flushed caches and clocks in whole ratios, a launch of one warp leaves nothing to the next but open rows, which the
/// launch before a share leaves too. Of wide launches, the place of the first CTA and the arbiters' turns remain, as of code
/// that a launch fetches for all GPCs at once.
#[test]
fn flushed_launches_are_exact() {
    let Some(place) = place() else { return };
    let set: Vec<&str> = FLUSHED.iter().flat_map(|value| ["--set", *value]).collect();
    let split = [&set[..], &["--split", "4"]].concat();
    let [whole, shares] = [&set, &split].map(|words| report(place.path(), words, &["one", "warp"]));
    assert_eq!(cycles(&whole), cycles(&shares));
    // Shares do not know which slice of L2 is the busiest of all.
    let known = |(name, _): &(&String, &Value)| *name != "l2.busiest_slice";
    for ((name, one), (_, other)) in
        figures(&whole["total"]).zip(figures(&shares["total"])).filter(|(one, _)| known(one))
    {
        assert!(is_near(one, other, 1e-9), "{name}: {one} {other}");
    }
    let [whole, shares] = [&set, &split].map(|words| report(place.path(), words, &[]));
    for (one, other) in cycles(&whole).into_iter().zip(cycles(&shares)) {
        assert!(is_near(&one.into(), &other.into(), 0.05), "{one} {other}");
    }
}

/// The table of docs/experiments.md.
#[test]
fn the_figures_of_the_document_are_those_of_the_program() {
    let Some(place) = place() else { return };
    let document = fs::read_to_string(crate::common::root().join("docs/experiments.md")).unwrap();
    let set = |values: &[&'static str]| values.iter().flat_map(|value| ["--set", *value]).collect::<Vec<_>>();
    let (flush, all) = (set(&FLUSHED[..4]), set(&FLUSHED));
    let mut missing = Vec::new();
    for (set, shares, program) in [(&[][..], "3", &[][..]), (&flush, "3", &[]), (&all, "4", &["one", "warp"])] {
        let [one, split] = [&set.to_vec(), &[set, &["--split", shares]].concat()].map(|words| {
            let report = report(place.path(), words, program);
            report["total"]["cycles"].as_u64().unwrap()
        });
        let more = (split as f64 / one as f64 - 1.0) * 100.0;
        let count = render::number::count;
        let row = format!("| {} | {} ({more:+.2} %) |", count(one), count(split));
        if !document.contains(&row) {
            missing.push(row);
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn a_killed_split_continues() {
    let (Some(whole), Some(killed)) = (place(), place()) else { return };
    let began = std::time::Instant::now();
    let expected = report(whole.path(), &["--split", "4"], &[]);
    let took = began.elapsed();
    for part in 1..8 {
        let mut child = command(&["exec", "-q", "--split", "4", "--points", "points", "--", "./program"]);
        let mut child = child.current_dir(killed.path()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(took.mul_f64(f64::from(part) / 10.0));
        let _ = child.kill();
        child.wait().unwrap();
    }
    let mut got = report(killed.path(), &["--split", "4"], &[]);
    assert_eq!(expected["kernels"], got["kernels"]);
    assert_eq!(expected["total"], got["total"]);
    let again = exec(killed.path(), &["--split", "4"], &[]);
    assert!(
        again.stderr.contains("9 launches in 4 shares, 4 of them kept") && again.stdout.is_empty(),
        "{}",
        again.stderr
    );
    // A damaged file is a missing one.
    let files = || {
        let points = killed.path().join("points");
        let folders = fs::read_dir(points).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
        let files = folders.flat_map(|path| fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        files.filter(|path| !path.file_name().unwrap().to_str().unwrap().starts_with('.'))
    };
    // A killed process leaves temporary files, whose names begin with a dot.
    assert_eq!(files().count(), 5);
    files().for_each(|file| fs::write(&file, &fs::read(&file).unwrap()[..40]).unwrap());
    got = report(killed.path(), &["--split", "4"], &[]);
    assert_eq!(expected["kernels"], got["kernels"]);
    // Another program has shares of its own.
    fs::write(killed.path().join("program"), [&fs::read(killed.path().join("program")).unwrap()[..], b"x"].concat())
        .unwrap();
    assert!(exec(killed.path(), &["--split", "4"], &[]).stderr.contains("4 shares, 0 of them kept"));
}

#[test]
fn shares_may_be_made_by_several_commands() {
    let Some(place) = place() else { return };
    for (share, kept) in [("2/2", 0), ("1/2", 2)] {
        let ran = exec(place.path(), &["--split", "4", "--share", share], &[]);
        assert!(ran.status == 0 && ran.stderr.ends_with(&format!("4 shares, {kept} of them kept\n")), "{}", ran.stderr);
    }
    let ran = exec(place.path(), &["--split", "4"], &[]);
    assert!(ran.stderr.contains("4 of them kept") && ran.stderr.contains("split into 4 shares"), "{}", ran.stderr);
}

#[test]
fn programs_whose_launches_differ_are_refused() {
    let Some(place) = place() else { return };
    let ran = exec(place.path(), &["--split", "3"], &["count"]);
    let why = "the program is not deterministic: launch 8 is `step`, 9x1x1 CTAs of 256x1x1 threads in its first run, `step`, 1";
    assert!(ran.status == 1 && ran.stderr.contains(why), "{}", ran.stderr);
    for (words, why) in [
        (&["--time", "none"][..], "--split chooses the launches"),
        (&["--gpu", "v100,rtx2060s"], "programs on one GPU"),
        (&["--profile"], "--profile is of one process"),
        (&["--power", "p.csv"], "--power is of one process"),
    ] {
        let ran = exec(place.path(), &[words, &["--split", "3"]].concat(), &[]);
        assert!(ran.status == 2 && ran.stderr.contains(why), "{words:?}: {}", ran.stderr);
    }
    let without = from(
        command(&["exec", "--split", "2", "--points", "p", "--", "true"]).current_dir(place.path()).output().unwrap(),
    );
    assert!(without.status == 1 && without.stderr.contains("uses no device"), "{}", without.stderr);
    let alone = from(command(&["exec", "--share", "1/2", "--", "true"]).output().unwrap());
    assert!(alone.status == 2 && alone.stderr.contains("--split"), "{}", alone.stderr);
}
