//! Each option and argument that selects something refuses what names nothing, nothing, and a thing twice, and says what
//! there is.

use crate::common;
use std::collections::BTreeSet;

/// A run of a moment: one launch of `vectoradd` on 4 CTAs.
const RUN: [&str; 3] = ["vectoradd", "--param", "n=1000"];

/// A command line, and what the message has.
const REFUSED: &[(&[&str], &[&str])] = &[
    // The timed part of a run.
    (&["run", "RUN", "--time", "kernels=nosuch"], &["--time: `nosuch` names nothing", "there is vectoradd"]),
    (&["run", "RUN", "--time", "kernels=vectorad"], &["did you mean `vectoradd`?"]),
    (&["run", "RUN", "--time", "kernels=99"], &["`99` names nothing: the run has launch 0"]),
    (&["run", "RUN", "--time", "kernels=0,7..9"], &["`7..9` names nothing"]),
    (&["run", "RUN", "--time", "kernels=9..7"], &["the last is before the first"]),
    (&["run", "RUN", "--time", "kernels="], &["names no launch"]),
    (&["run", "RUN", "--time", "ctas=500..600"], &["`ctas=500..600` names nothing"]),
    (&["run", "RUN", "--time", "ctas=5..3"], &["the last is before the first"]),
    (&["run", "RUN", "--time", "some"], &["chooses nothing", "representative"]),
    (&["compare", "RUN", "--time", "kernels=nosuch"], &["--time: `nosuch` names nothing"]),
    // Contents of a timeline or a profile.
    (&["timeline", "RUN", "--kernel", "zz"], &["--kernel zz: no such kernel ran; there is vectoradd"]),
    (&["profile", "RUN", "--kernel", "zz"], &["--kernel zz: no such kernel ran; there is vectoradd"]),
    (&["run", "RUN", "--profile", "--kernel", "zz"], &["--kernel zz: no such kernel ran; there is vectoradd"]),
    (&["run", "RUN", "--kernel", "vector"], &["--kernel has no effect without --timeline or --profile: give it too"]),
    (&["run", "RUN", "--sm", "1"], &["--sm has no effect without --timeline"]),
    (&["run", "RUN", "--warps", "0..1"], &["--warps has no effect without --timeline"]),
    (&["run", "RUN", "--cycles", "5..7"], &["--cycles has no effect without --timeline"]),
    (&["timeline", "RUN", "--kernel", ""], &["'--kernel <NAME>': a text is needed"]),
    (&["timeline", "RUN", "--warps", "90..95"], &["--warps from 90 on", "warp slots 0 to 31"]),
    (&["run", "RUN", "--warps", "90..95"], &["--warps from 90 on", "warp slots 0 to 31"]),
    (&["timeline", "RUN", "--warps", "7..3"], &["the first before the last"]),
    (&["timeline", "RUN", "--sm", "99"], &["--sm 99: rtx2060s has SMs 0 to 33"]),
    (&["run", "RUN", "--sm", "99"], &["--sm 99: rtx2060s has SMs 0 to 33"]),
    (&["timeline", "RUN", "--sm", "0,0"], &["--sm: `0` is given twice"]),
    (&["timeline", "RUN", "--sm", ""], &["'--sm <A,B>': no name is given"]),
    (&["timeline", "RUN", "--cycles", "900000..900001"], &["--cycles 900000..900001: the run took"]),
    (&["timeline", "RUN", "--cycles", "9..7"], &["before the last"]),
    (&["profile", "RUN", "--show", "zz"], &["possible values: instructions, lines"]),
    (&["profile", "RUN", "--order", "zz"], &["possible values: slots, awaited"]),
    // Machines.
    (&["run", "RUN", "--gpu", "zz"], &["`zz`", "rtx2060s"]),
    (&["run", "RUN", "--gpus", "v100,a100"], &["compare --gpus A,B"]),
    (&["run", "RUN", "--core", "zz"], &["there is no core design `zz`", "inorder"]),
    (&["run", "RUN", "--scheduler", "zz"], &["there is no warp scheduler `zz`", "gto"]),
    (&["run", "RUN", "--set", "zz=1"], &["`zz` is not a key", "list settings"]),
    (&["run", "RUN", "--set", "sm.l1d.size=64KiB"], &["did you mean `sm.l1d.bytes`?"]),
    (&["run", "RUN", "--set", "l1d.size=64KiB"], &["did you mean `sm.l1d.bytes`?"]),
    (&["list", "settings", "l1d.size"], &["did you mean `sm.l1d.bytes`?"]),
    (&["run", "RUN", "--set", "sm.l1d.zzzzzzzzz=1"], &["`warpwright list settings sm.l1d`"]),
    (&["run", "RUN", "--energy-model", "zz", "--energy"], &["zz", "v100"]),
    (&["run", "RUN", "--param", "zz=1"], &["zz", "n"]),
    // Columns and rows of a comparison.
    (&["compare", "vectoradd", "vectoradd"], &["workload: `vectoradd` is given twice"]),
    (&["compare", "zz"], &["there is no workload `zz`"]),
    (&["compare", "RUN", "--gpus", "v100,v100"], &["--gpus: `v100` is given twice"]),
    (&["compare", "RUN", "--gpus", "v100,zz"], &["`zz`"]),
    (&["compare", "RUN", "--cores", "ghost,ghost"], &["--cores: `ghost` is given twice"]),
    (&["compare", "RUN", "--cores", "inorder,"], &["--cores <A,B>': a name is missing at a comma"]),
    (&["compare", "RUN", "--cores", ""], &["--cores <A,B>': no name is given"]),
    (&["compare", "RUN", "--cores", "zz"], &["there is no core design `zz`"]),
    (&["compare", "RUN", "--over", "zz"], &["there is no core design or warp scheduler `zz`"]),
    (&["compare", "RUN", "--schedulers", "gto,gto"], &["--schedulers: `gto` is given twice"]),
    (&["compare", "RUN", "--schedulers", ""], &["--schedulers <A,B>': no name is given"]),
    (&["compare", "RUN", "--schedulers", "zz"], &["there is no warp scheduler `zz`"]),
    (&["compare", "RUN", "--kernels", ""], &["--kernels <A,B>': no name is given"]),
    (&["compare", "RUN", "--kernels", "a,a"], &["--kernels: `a` is given twice"]),
    (&["compare", "RUN", "--show", "cycles,cycles"], &["--show: `cycles` is given twice"]),
    (&["compare", "RUN", "--show", "zz"], &["possible values: cycles"]),
    (&["compare", "RUN", "--vary", "sm_count=1,1"], &["--vary sm_count: `1` is given twice"]),
    (&["compare", "RUN", "--vary", "sm_count=1,"], &["--vary sm_count: a name is missing at a comma"]),
    (&["compare", "RUN", "--vary", "sm_count="], &["expected KEY=A,B"]),
    (&["compare", "RUN", "--vary", "sm_count=1,2", "--vary", "sm_count=2,3"], &["`sm_count` is set twice"]),
    (&["compare", "RUN", "--vary", "core.zz=1,2"], &["none of the cores has this parameter"]),
    (&["compare", "vectoradd", "ghost", "--cores", "inorder"], &["`ghost` is a core design", "--cores A,ghost"]),
    (&["compare", "vectoradd", "lrr", "--schedulers", "gto"], &["`lrr` is a warp scheduler", "--schedulers A,lrr"]),
    (&["compare", "vectoradd", "v100", "--gpus", "a100"], &["`v100` is a GPU", "--gpus A,v100"]),
    // Lists and the rest.
    (&["list", "zz"], &["possible values: gpus, cores"]),
    (&["list", "gpus", "zz"], &["there is no `zz`"]),
    (&["list", "gpus", "v100", "v100"], &["`v100` is given twice"]),
    (&["list", "gpus", ""], &["no name is given"]),
    (&["list", "cores", "zz"], &["there is no `zz`"]),
    (&["list", "schedulers", "zz"], &["there is no `zz`"]),
    (&["list", "workloads", "zz"], &["there is no `zz`"]),
    (&["list", "figures", "zz"], &["there is no `zz`"]),
    (&["list", "stats", "zz"], &["there is no statistic `zz`"]),
    (&["list", "settings", "zz"], &["`zz` is not a key of a GPU description"]),
    (&["reproduce", "zz"], &["there is no experiment `zz`"]),
    (&["microbench", "v100", "--only", "zz"], &["there is no quantity `zz`"]),
    (&["microbench", "v100", "--only", "l1*,l1*"], &["--only: `l1*` is given twice"]),
    (&["validate", "zz"], &["zz"]),
    (&["schema", "zz"], &["zz"]),
    // Numbers.
    (&["run", "RUN", "--seed", "1,2,3"], &["'--seed <NUMBER>': expected one whole number"]),
    (&["run", "RUN", "--threads", "many"], &["'--threads <NUMBER>': expected one whole number"]),
    (&["run", "RUN", "--threads", "0"], &["'--threads <NUMBER>': expected a whole number of at least 1"]),
    (&["run", "RUN", "--max-cycles", "99999999999999999999999"], &["the number is too large"]),
    (&["run", "RUN", "--seed", "1,2,3"], &["a run has one seed", "compare --repeat"]),
    (&["run", "RUN", "--threads", "2,4"], &["`--threads` takes one value a run"]),
    (&["run", "RUN", "--max-cycles", "1,000"], &["without separators: `--max-cycles 1000`"]),
    (&["run", "RUN", "--threads", "-1"], &["invalid value '-1' for '--threads <NUMBER>'"]),
    (&["run", "RUN", "--size", "128"], &["possible values: small", "`--param NAME=VALUE`"]),
    (&["run", "RUN", "--json", "out.json"], &["`--json=out.json`"]),
    (&["list", "stats", "--json", "out.json"], &["`--json=out.json`"]),
    // Words in the wrong place.
    (&["vectoradd"], &["`warpwright run vectoradd`"]),
    (&["resume", "x.checkpoint"], &["`warpwright run --resume x.checkpoint`"]),
    (&["run", "vectoradd", "nn"], &["`warpwright compare` takes several"]),
    (&["run", "vectoradd", "ghost"], &["`ghost` is a core design: `--core ghost`"]),
    (&["profile", "vectoradd", "v100"], &["`v100` is a GPU: `--gpu v100`"]),
    (&["compare", "vectoradd", "--vary", "sm.issue.schedulers=2", "4"], &["`4` is a number", "KEY=A,4"]),
    (&["run", "vectoradd", "-gpu", "v100"], &["two hyphens: `--gpu`"]),
    (&["validate", "--gpu", "v100"], &["`warpwright validate NAME`"]),
    (&["exec", "--gpu", "v100", "./a.out"], &["`warpwright exec -- ./a.out`"]),
    (&["exec", "--", "vectoradd"], &["`warpwright run vectoradd`"]),
    (&["run", "RUN", "--csv", "out.csv"], &["`--csv=out.csv`"]),
    (&["run", "--json", "out.json"], &["`--json=out.json`"]),
    (&["run", "RUN", "--page", "out.html"], &["`--html FILE`"]),
    (&["compare", "vectoradd", "--json", "out.json"], &["`--json=out.json`"]),
];

#[test]
fn what_names_nothing_is_refused_with_what_there_is() {
    let mut problems = Vec::new();
    for (words, mentions) in REFUSED {
        let words: Vec<&str> =
            words.iter().flat_map(|&word| if word == "RUN" { RUN.to_vec() } else { vec![word] }).collect();
        let ran = common::run(&words);
        let is_named = mentions.iter().all(|part| ran.stderr.contains(part));
        if ran.status != 2 || !is_named || ran.stderr.contains("panicked") {
            problems.push(format!("{words:?}, status {}: {}", ran.status, ran.stderr));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// The value of `--json` follows an equals sign. Without it the file is the next argument, which some commands take for a
/// name.
#[test]
fn a_file_for_results_is_not_taken_for_a_name() {
    for words in [
        "run vectoradd --json out.json",
        "compare vectoradd --json out.json",
        "list cores --json out.json",
        "validate hardware --json out.json",
        "validate accelwattch --json out.json",
        "validate accelwattch --rerun . --json out.json",
        "validate accelsim cycles traces --json out.json",
    ] {
        let ran = common::run(&words.split(' ').collect::<Vec<_>>());
        assert!(ran.status == 2 && ran.stderr.contains("`--json=out.json`"), "{words}: {}", ran.stderr);
        assert!(!ran.stderr.contains("tip:\n"), "{words}: {}", ran.stderr);
    }
}

/// Clap proposes to write an unknown option as a value; no command takes it.
#[test]
fn an_unknown_option_is_not_proposed_as_a_value() {
    for words in [["run", "--workload", "vectoradd"], ["run", "vectoradd", "-n"], ["reproduce", "all", "--only"]] {
        let ran = common::run(&words);
        assert!(ran.status == 2 && !ran.stderr.contains("tip:") && !ran.stderr.contains("\n\n\n"), "{}", ran.stderr);
    }
    let elsewhere = common::run(&["--gpu", "v100", "run", "vectoradd"]).stderr;
    assert!(elsewhere.contains("'run --gpu' exists"), "{elsewhere}");
}

#[test]
fn what_names_something_is_taken() {
    for words in [
        &["run", "RUN", "--time", "kernels=0,vectoradd", "--gpus", "v100", "--cores", "ghost", "--schedulers", "lrr"][..],
        &["run", "RUN", "--time", "ctas=0..9999"],
        &["timeline", "RUN", "--kernel", "vector", "--warps", "0..99"],
        &["compare", "RUN", "--gpu", "v100", "--core", "inorder,ghost", "--scheduler", "lrr"],
        // A kernel of one of the workloads.
        &["compare", "vectoradd", "nn", "--time", "kernels=vectoradd"],
        // Both words for a folder of results and for an architecture.
        &["inspect", "vectoradd", "--sm", "75"],
        &["inspect", "vectoradd", "--arch", "75"],
        // One of a topic.
        &["list", "gpu", "v100"],
        &["list", "design", "ghost"],
    ] {
        let words = words.iter().flat_map(|&word| if word == "RUN" { RUN.to_vec() } else { vec![word] });
        common::succeed(&words.collect::<Vec<_>>());
    }
}

#[test]
fn every_statistic_that_a_report_prints_is_listed() {
    let report = common::succeed(&["run", "RUN", "--stats", "all"].map(|w| if w == "RUN" { "vectoradd" } else { w }));
    let is_name = |word: &&str| word.contains('_') && word.chars().all(|c| c.is_ascii_lowercase() || "_.".contains(c));
    let names: BTreeSet<&str> = report.split_whitespace().filter(is_name).collect();
    assert!(names.len() > 50 && names.contains("memory_pipe_full"), "{names:?}");
    let words: Vec<&str> = ["list", "stats"].into_iter().chain(names.iter().copied()).collect();
    common::succeed(&words);
    let one = common::succeed(&["list", "stats", "memory_pipe_full"]);
    assert!(one.contains("slots.memory_pipe_full") || one.contains("memory_pipe_full"), "{one}");
    assert_eq!(common::succeed(&["list", "stats", "memory pipe full"]), one);
}

/// The cells of a row: columns are at least two blanks apart.
fn cells(row: &str) -> impl Iterator<Item = &str> {
    row.split("  ").map(str::trim).filter(|cell| !cell.is_empty())
}

/// The rows of a section of a report, without its heading.
fn rows<'a>(report: &'a str, section: &str) -> Vec<&'a str> {
    let text = report.split("\n\n").find(|text| text.trim_start().starts_with(section)).unwrap();
    text.trim_start().lines().skip(1).filter(|row| row.starts_with("  ")).collect()
}

/// Each row of the short report is found by the words that it has there.
#[test]
fn every_label_of_the_short_report_is_listed() {
    let report = common::succeed(&["run", "vectoradd"]);
    let sections = ["Total", "Issue slots", "Caches and memory"].map(|section| rows(&report, section));
    let labels: Vec<&str> = sections.iter().flatten().filter_map(|row| cells(row).next()).collect();
    assert!(
        labels.len() > 15 && labels.contains(&"launch latency (cycles)") && labels.contains(&"L1 data"),
        "{labels:?}"
    );
    let listed = labels.iter().filter(|label| !["accesses", "others"].contains(label));
    for label in listed {
        common::succeed(&["list", "stats", label]);
    }
    let text = common::succeed(&["list", "stats", "Mean latency beyond L1"]);
    assert!(text.contains("memory.mean_read_latency") && text.lines().count() == 2, "{text}");
    let unknown = common::run(&["list", "stats", "zz"]).stderr;
    assert!(unknown.contains("hint: `warpwright list stats`"), "{unknown}");
}

#[test]
fn several_gpus_are_counted_with_the_time_that_is_left() {
    let ran = common::run(&["validate", "--only", "fp32_add_latency", "--code", "ptx"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(ran.stderr.starts_with("15 GPUs are measured one after the other; for one: name it"), "{}", ran.stderr);
    let second = ran.stderr.lines().find(|line| line.starts_with("2 of 15: ")).unwrap();
    assert!(second.contains(", about ") && second.ends_with(" left"), "{second}");
}

/// Tables of comparisons are divided into parts that fit.
#[test]
fn tables_take_the_columns_that_there_are() {
    let widest = |columns: &str| {
        let words =
            ["compare", "vectoradd", "--gpus", "v100,a100,rtx2060s", "--show", "cycles,time,ipc,occupancy,stalls,lost"];
        let mut command = common::command(&words);
        let text = common::from(command.env("COLUMNS", columns).output().unwrap()).stdout;
        text.lines().map(|line| line.chars().count()).max().unwrap()
    };
    assert!(widest("50") <= 50 && widest("200") > 50, "{} and {}", widest("50"), widest("200"));
}

#[test]
fn tables_are_one_piece_in_pipes() {
    let text = common::succeed(
        &[
            "compare",
            "RUN",
            "--cores",
            "inorder,ghost,socgpu,loog,war-none",
            "--show",
            "cycles,time,speedup,ipc,occupancy,lost,energy,power",
        ]
        .map(|word| if word == "RUN" { "vectoradd:n=1000" } else { word }),
    );
    let rows = text.lines().filter(|line| line.trim_start().starts_with("socgpu")).count();
    assert!(rows == 1 && text.lines().any(|line| line.chars().count() > 80), "{text}");
}

#[test]
fn an_error_has_no_figures_if_nothing_was_timed() {
    let ran = common::run(&["run", "vectoradd", "--param", "n=1000", "--time", "kernels=99"]);
    assert_eq!((ran.status, &*ran.stdout), (2, ""), "{}", ran.stderr);
    let ran = common::run(&["run", "vectoradd", "--param", "n=1000", "--time", "kernels=0,99"]);
    assert!(ran.status == 2 && ran.stdout.contains("cycles"), "{}", ran.stdout);
}

#[test]
fn lists_have_a_line_for_a_row_in_pipes() {
    let lines = |columns: Option<&str>| {
        let mut command = common::command(&["list", "stats"]);
        columns.map(|columns| command.env("COLUMNS", columns));
        common::from(command.output().unwrap()).stdout
    };
    let text = lines(None);
    let row = text.lines().find(|line| line.starts_with("  cycles ")).unwrap();
    assert!(row.contains("counts once. [core cycles]"), "{row}");
    let most = lines(Some("100")).lines().map(|line| line.chars().count()).max();
    assert!(most.is_some_and(|most| (81..=100).contains(&most)), "{most:?}");
}

/// The headings of tables and the labels of rows are explained, by statistics or the glossary.
#[test]
fn every_word_of_a_report_is_explained() {
    let report = common::succeed(&["run", "vectoradd"]);
    let profile = common::succeed(&["profile", "vectoradd"]);
    let lines = common::succeed(&["profile", "vectoradd", "--show", "lines"]);
    let mut words: BTreeSet<&str> =
        ["Kernels", "Occupancy"].iter().flat_map(|of| cells(rows(&report, of)[0])).collect();
    words.extend(
        ["Total", "Issue slots", "Caches and memory"]
            .iter()
            .flat_map(|of| rows(&report, of))
            .filter_map(|row| cells(row).next()),
    );
    for heading in profile.lines().chain(lines.lines()).filter(|line| line.trim_start().starts_with("slots  ")) {
        words.extend(cells(heading));
    }
    assert!(["CTAs/SM", "awaited", "95 %", "idle", "accesses"].iter().all(|word| words.contains(word)), "{words:?}");
    // The number of a launch.
    words.remove("#");
    let scratch = tempfile::tempdir().unwrap();
    let page = scratch.path().join("page.html");
    let json = common::succeed(&["run", "vectoradd", "--json", "--html", page.to_str().unwrap()]);
    let page = std::fs::read_to_string(page).unwrap();
    let tiles = page.split("<div class=\"tile\"><span>").skip(1).filter_map(|tile| Some(tile.split_once("</span>")?.0));
    words.extend(tiles);
    assert!(["SMs active", "Mean power", "Issue slots used"].iter().all(|tile| words.contains(tile)), "{words:?}");
    let json = common::json(&json);
    words.extend(common::strings(&json["diagnosis"]["kernels"][0]["roofs"], "name"));
    words.extend(lab::diagnosis::RULES.iter().map(|rule| rule.name));
    words.insert("L2 far");
    let words: Vec<&str> = ["explain"].into_iter().chain(words).collect();
    let text = common::succeed(&words);
    assert!(text.starts_with("Glossary\n") && text.contains("slots.idle"), "{text}");
    // The cause is about shared memory, the statistic of this name about registers.
    let conflicts = common::succeed(&["explain", "bank_conflicts"]);
    assert!(conflicts.contains("bank of shared memory") && conflicts.contains("sm.bank_conflicts"), "{conflicts}");
}

#[test]
fn a_label_is_explained_without_quotes_and_a_slip_is_named() {
    let label = common::succeed(&["explain", "cycles", "of", "kernels"]);
    assert_eq!(label, common::succeed(&["explain", "cycles of kernels"]));
    assert!(label.contains("  cycles  "), "{label}");
    for (slip, meant) in
        [("raw_memry", "raw_memory"), ("awaitd", "awaited"), ("achieved ocupancy", "achieved occupancy")]
    {
        let ran = common::run(&["explain", slip]);
        assert!(ran.status == 2 && ran.stderr.contains(&format!("did you mean `{meant}`?")), "{}", ran.stderr);
    }
}
