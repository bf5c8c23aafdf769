//! Two versions of a kernel: a baseline of an earlier run, and versions as the columns of a comparison.

use crate::common;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// A kernel that adds up words of shared memory, 1 << `shift` bytes apart in a warp: a shift above 2 causes bank
/// conflicts.
fn kernel(name: &str, shift: u32, further: &str) -> String {
    format!(
        "
.version 6.3
.target sm_75
.address_size 64
.visible .entry {name}(.param .u64 out)
{{
    .reg .pred %p<2>;
    .reg .b32 %r<8>;
    .reg .f32 %f<8>;
    .reg .b64 %rd<4>;
    .shared .align 4 .b8 words[8192];
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    shl.b32 %r2, %r1, {shift};
    mov.u32 %r3, words;
    add.u32 %r4, %r3, %r2;
    mov.f32 %f1, 0f00000000;
    mov.u32 %r5, 0;
again:
    ld.shared.f32 %f2, [%r4];
    add.f32 %f1, %f1, %f2;
    {further}
    add.u32 %r5, %r5, 1;
    setp.lt.u32 %p1, %r5, 64;
    @%p1 bra again;
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd3, %rd1, %rd2;
    st.global.f32 [%rd3], %f1;
    ret;
}}
"
    )
}

/// A folder with launch files and three versions of a kernel: the second has no conflicts, the third also has one more
/// instruction.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        let launch = |name: &str, module: &str, kernel: &str| {
            let text = format!(
                "module = \"{module}\"\n[buffers]\nout = {{ type = \"f32\", length = 64 }}\n[[launch]]\nkernel = \"{kernel}\"\ngrid = 68\nblock = 64\nargs = [\"out\"]\n"
            );
            folder.write(name, &text);
        };
        folder.write("v1.ptx", &kernel("sum", 7, ""));
        folder.write("v2.ptx", &kernel("sum", 2, ""));
        folder.write("v3.ptx", &kernel("sum", 2, "sqrt.approx.f32 %f1, %f1;"));
        folder.write("other.ptx", &kernel("other", 2, ""));
        launch("v1.toml", "v1.ptx", "sum");
        launch("v2.toml", "v2.ptx", "sum");
        launch("other.toml", "other.ptx", "other");
        folder
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.path().join(name), text).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Words of a command, with file names replaced by their paths.
    fn words(&self, words: &str) -> Vec<String> {
        let named = |word: &str| -> String {
            let (option, files) = word
                .split_once('=')
                .filter(|(option, _)| option.starts_with("--"))
                .map_or(("", word), |(option, files)| (option, files));
            let is_file = files
                .split(',')
                .all(|file| [".toml", ".ptx", ".cubin", ".json", ".html"].iter().any(|end| file.ends_with(end)));
            if !is_file {
                return word.to_owned();
            }
            let files: Vec<String> = files.split(',').map(|file| self.path(file).display().to_string()).collect();
            if option.is_empty() { files.join(",") } else { format!("{option}={}", files.join(",")) }
        };
        words.split(' ').map(named).collect()
    }

    fn succeed(&self, words: &str) -> String {
        let words = self.words(words);
        common::succeed(&words.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn fails(&self, words: &str) -> common::Ran {
        let words = self.words(words);
        let ran = common::run(&words.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(ran.status, 2, "{words:?}: {}", ran.stderr);
        ran
    }

    fn json(&self, name: &str) -> Value {
        common::json(&read(&self.path(name)))
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

/// The parts of the change in cycles add up to it.
fn check_account(changes: &Value, before: f64, after: f64) {
    let slots = changes["issue_slots"].as_array().unwrap();
    let sum: f64 = slots.iter().map(|slots| slots["cycles"].as_f64().unwrap()).sum();
    assert!((sum - (after - before)).abs() < 1e-6 * before, "{sum}: {before} to {after}");
    let size = |slots: &Value| slots["cycles"].as_f64().unwrap().abs();
    assert!(slots.windows(2).all(|pair| size(&pair[0]) >= size(&pair[1])), "the greatest first: {slots:?}");
}

#[test]
fn a_run_is_compared_with_an_earlier_one() {
    let folder = Folder::new();
    folder.succeed("profile v1.toml --quiet --json=before.json");
    let text =
        folder.succeed("profile v1.toml --module v2.ptx --baseline before.json --json=after.json --html=after.html");
    let (before, after) = (folder.json("before.json"), folder.json("after.json"));
    let cycles = |report: &Value| report["total"]["cycles"].as_f64().unwrap();
    let changes = &after["changes"];
    check_account(changes, cycles(&before), cycles(&after));
    let times = changes["times_faster"].as_f64().unwrap();
    assert!((times - cycles(&before) / cycles(&after)).abs() < 1e-9 && times > 2.0, "{times}");
    let gone = &changes["causes_gone"][0];
    assert_eq!(gone["rule"], "bank_conflicts", "{changes}");
    assert_eq!(changes["causes_gone"][0], before["diagnosis"]["causes"][0]);
    // The line whose slots changed most, and the line that was replaced.
    let lines = changes["kernels"][0]["lines"].as_array().unwrap();
    let line = |text: &str| lines.iter().find(|line| line["text"].as_str().unwrap().starts_with(text)).unwrap();
    // It waits for the load with the conflicts.
    assert!(line("add.f32")["before"]["slots"].as_u64() > line("add.f32")["after"]["slots"].as_u64());
    let shifts: Vec<(bool, bool)> = lines
        .iter()
        .filter(|line| line["text"].as_str().unwrap().starts_with("shl"))
        .map(|line| (line["before"].is_null(), line["after"].is_null()))
        .collect();
    assert_eq!(shifts.len(), 2, "another distance: {lines:?}");
    assert!(shifts.contains(&(true, false)) && shifts.contains(&(false, true)));
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in
        ["Changes from", "times as fast", "Where the cycles went", "Gone: ", "cycles of the banks of shared memory:"]
    {
        assert!(words.contains(part), "{part}: {text}");
    }
    let page = read(&folder.path("after.html"));
    assert!(page.contains("What changed from") && page.contains("Gone: "), "the page has it too");
}

#[test]
fn equal_runs_have_no_difference() {
    let folder = Folder::new();
    folder.succeed("run v1.toml --quiet --json=before.json");
    for words in ["run v1.toml --baseline before.json", "profile v1.toml --baseline before.json"] {
        let text = folder.succeed(words);
        assert!(text.contains("No difference: every statistic is equal."), "{text}");
    }
    let after = common::json(&folder.succeed("run v1.toml --baseline before.json --json"));
    assert_eq!(
        (&after["changes"]["is_equal"], &after["changes"]["issue_slots"]),
        (&true.into(), &Value::Array(vec![]))
    );
    // The other core counts the same instructions.
    let text = folder.succeed("run v1.toml --baseline before.json --core ghost");
    assert!(text.contains("core: modern before, ghost now"), "{text}");
}

#[test]
fn a_wrong_baseline_is_refused() {
    let folder = Folder::new();
    folder.succeed("run v1.toml --quiet --json=before.json");
    folder.succeed("run v1.toml --quiet --max-cycles 10 --json=part.json");
    folder.succeed("compare v1.toml v2.toml --quiet --json=compared.json");
    let whole = read(&folder.path("before.json"));
    folder.write("damaged.json", &whole[..whole.len() / 2]);
    folder.write("changed.json", &whole.replacen("\"grid\": [", "\"grid\": [1.5,", 1));
    folder.write("newer.json", &whole.replacen("\"schema\": 2", "\"schema\": 99", 1));
    folder.write("list.json", "[1, 2]");
    folder.succeed("run v1.toml --quiet --time none --json=untimed.json");
    folder.succeed("profile v1.toml --quiet --json=profiled.json");
    let mut profiled = folder.json("profiled.json");
    profiled["profile"]["kernels"][0]["instructions"][0]["issues"] = u64::MAX.into();
    folder.write("many.json", &profiled.to_string());
    folder.write("object.json", "{}");
    for (words, said) in [
        ("run v1.toml --baseline missing.json", "No such file"),
        ("run v1.toml --baseline damaged.json", "not JSON of a report"),
        ("run v1.toml --baseline changed.json", "damaged"),
        ("run v1.toml --baseline newer.json", "of another version of warpwright: its schema is 99, here 2"),
        ("run v1.toml --baseline list.json", "not JSON of a report"),
        ("run v1.toml --baseline object.json", "not the report of a run"),
        ("run v1.toml --baseline compared.json", "the results of a comparison"),
        ("run v1.toml --baseline v1.ptx", "not JSON of a report"),
        ("run v1.toml --baseline untimed.json", "no kernel of it was simulated in time"),
        ("run v1.toml --baseline many.json", "damaged: its profile has too many issue slots"),
        ("run v1.toml --baseline part.json", "did not finish"),
        ("run v1.toml --baseline before.json --gpu v100 --any-architecture", "is of rtx2060s, and the run is on v100"),
        ("run v1.toml --baseline before.json --core functional", "core functional has no time"),
        ("run v1.toml --baseline before.json --json=before.json", "before.json"),
    ] {
        let ran = folder.fails(words);
        assert!(ran.stderr.contains(said) && ran.stdout.is_empty(), "{words}: {}", ran.stderr);
    }
    // Counts that nothing has are compared all the same.
    let mut huge = folder.json("before.json");
    huge["kernels"][0]["statistics"]["cycles"] = u64::MAX.into();
    let launch = huge["kernels"][0].clone();
    huge["kernels"].as_array_mut().unwrap().push(launch);
    folder.write("huge.json", &huge.to_string());
    folder.succeed("run v1.toml --baseline huge.json");
    let ran = folder.fails("run other.toml --baseline before.json");
    assert!(ran.stderr.contains("is of another kernel: it ran `sum`, this run `other`"), "{}", ran.stderr);
    let untimed = folder.fails("run v1.toml --baseline before.json --time none");
    assert!(untimed.stderr.contains("no kernel of the run was simulated in time"), "{}", untimed.stderr);
    assert!(ran.stdout.contains("cycles of kernels"), "the run is reported: {}", ran.stdout);
}

#[test]
fn modules_are_columns() {
    let folder = Folder::new();
    let text = folder
        .succeed("compare v1.toml --module v1.ptx,v2.ptx,v3.ptx --profile --json=compared.json --html=compared.html");
    let compared = folder.json("compared.json");
    assert_eq!(common::strings(&compared["columns"], "label"), ["v1.ptx", "v2.ptx", "v3.ptx"]);
    assert_eq!(common::strings(&compared["columns"], "version"), ["v1.ptx", "v2.ptx", "v3.ptx"]);
    let run = |at: usize| &compared["runs"][at];
    let cycles = |at: usize| run(at)["report"]["total"]["cycles"].as_f64().unwrap();
    assert!(run(0)["changes"].is_null() && run(0)["speedup"] == 1.0);
    for at in [1, 2] {
        assert!((run(at)["speedup"].as_f64().unwrap() - cycles(0) / cycles(at)).abs() < 1e-9);
        check_account(&run(at)["changes"], cycles(0), cycles(at));
    }
    let new: Vec<&Value> = run(2)["changes"]["kernels"][0]["lines"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|line| line["before"].is_null())
        .collect();
    assert!(new.iter().any(|line| line["text"].as_str().unwrap().starts_with("sqrt")), "{new:?}");
    assert!(text.contains("Changes from v1.ptx to v2.ptx") && text.contains("Changes from v1.ptx to v3.ptx"), "{text}");
    let page = read(&folder.path("compared.html"));
    assert!(page.contains("v2.ptx against v1.ptx") && page.contains("Gone: "), "the page has the changes");
    // With several machines each version is compared with the first on the same one.
    let compared = common::json(&folder.succeed("compare v1.toml --module v1.ptx,v2.ptx --cores inorder,ghost --json"));
    let columns = compared["columns"].as_array().unwrap();
    let baselines: Vec<u64> = columns.iter().map(|column| column["baseline"].as_u64().unwrap()).collect();
    assert_eq!(
        common::strings(&compared["columns"], "label"),
        ["inorder v1.ptx", "inorder v2.ptx", "ghost v1.ptx", "ghost v2.ptx"]
    );
    assert_eq!(baselines, [0, 0, 2, 2]);
    // One version at a time where machines are not compared.
    let ran = folder.fails("run v1.toml --module v1.ptx,v2.ptx");
    assert!(ran.stderr.contains("--module: one version at a time") && ran.stderr.contains("compare"), "{}", ran.stderr);
    let ran = folder.fails("compare v1.toml --module v1.ptx,v1.ptx");
    assert!(ran.stderr.contains("given twice"), "{}", ran.stderr);
}

/// Code without lines: instructions are pairs by their text without registers.
#[test]
fn cubins_without_lines_are_compared_by_instruction() {
    let folder = Folder::new();
    for version in ["v1", "v2"] {
        let file = common::root().join(format!("crates/cli/tests/versions/{version}.cubin"));
        fs::copy(file, folder.path(&format!("{version}.cubin"))).unwrap();
    }
    let text = folder
        .succeed("compare v1.toml --module v1.cubin,v2.cubin --profile --json=compared.json --html=compared.html");
    let compared = folder.json("compared.json");
    assert_eq!(common::strings(&compared["columns"], "label"), ["v1.cubin", "v2.cubin"]);
    let cycles = |at: usize| compared["runs"][at]["report"]["total"]["cycles"].as_f64().unwrap();
    let changes = &compared["runs"][1]["changes"];
    check_account(changes, cycles(0), cycles(1));
    assert!(cycles(0) > 2.0 * cycles(1), "{} and {}", cycles(0), cycles(1));
    assert_eq!(changes["causes_gone"][0]["rule"], "bank_conflicts", "{changes}");
    assert_eq!(changes["kernels"][0]["name"], "sum");
    let lines = changes["kernels"][0]["lines"].as_array().unwrap();
    let of = |text: &str| -> Vec<[Option<u64>; 2]> {
        let mine = lines.iter().filter(|line| line["text"].as_str().unwrap().starts_with(text));
        mine.map(|line| ["before", "after"].map(|side| line[side]["number"].as_u64())).collect()
    };
    // The addition has other registers, one place earlier; the shift became part of the addresses.
    assert_eq!(of("FADD "), [[Some(9), Some(8)]], "{lines:?}");
    assert_eq!(of("SHF.L.U32 "), [[Some(4), None]]);
    assert_eq!(of("LDS.U "), [[Some(6), None], [None, Some(5)]]);
    assert!(lines.iter().all(|line| line["before"]["file"].is_null() && line["after"]["file"].is_null()));
    let page = read(&folder.path("compared.html"));
    for (shown, what) in [(&text, "the text"), (&page, "the page")] {
        assert!(shown.contains("LDS.U R2, [R3.X4]") && shown.contains("FADD R5, R2, R5"), "{what}: {shown}");
    }
}

/// The sources of one of the versions are elsewhere: lines match by file and number.
#[test]
fn lines_without_text_match_by_number() {
    let folder = Folder::new();
    let causes = common::root().join("crates/cli/tests/causes");
    for name in ["occupancy.toml", "occupancy.cubin", "occupancy_repaired.cubin"] {
        fs::copy(causes.join(name), folder.path(name)).unwrap();
    }
    folder.succeed("profile occupancy.toml --gpu rtx2060s --quiet --json=before.json");
    fs::copy(causes.join("occupancy.cu"), folder.path("occupancy.cu")).unwrap();
    folder.succeed(
        "profile occupancy.toml --gpu rtx2060s --module occupancy_repaired.cubin --quiet --baseline before.json --json=after.json",
    );
    let after = folder.json("after.json");
    let lines = after["changes"]["kernels"][0]["lines"].as_array().unwrap();
    assert!(!lines.is_empty());
    for line in lines {
        assert!(!line["before"].is_null() && !line["after"].is_null(), "gone or new: {line}");
        assert_eq!(line["before"]["number"], line["after"]["number"], "{line}");
        assert!(!line["text"].as_str().unwrap().is_empty(), "{line}");
    }
}

#[test]
fn launch_files_are_columns() {
    let folder = Folder::new();
    let text = folder.succeed("compare v1.toml v2.toml other.toml --as-columns --json=compared.json");
    let compared = folder.json("compared.json");
    assert_eq!(common::strings(&compared["columns"], "label"), ["v1.toml", "v2.toml", "other.toml"]);
    assert_eq!(compared["runs"].as_array().unwrap().len(), 3);
    let speedup = |at: usize| compared["runs"][at]["speedup"].as_f64().unwrap();
    assert!(speedup(0) == 1.0 && speedup(1) > 2.0 && speedup(1) == speedup(2), "{} and {}", speedup(1), speedup(2));
    // A kernel of another name is a version, too.
    let kernel = &compared["runs"][2]["changes"]["kernels"][0];
    assert_eq!((&kernel["name"], &kernel["name_before"]), (&"other".into(), &"sum".into()));
    assert!(text.contains("other (was sum)"), "{text}");
    let ran = folder.fails("compare v1.toml --as-columns");
    assert!(ran.stderr.contains("two or more workloads"), "{}", ran.stderr);
    let ran = folder.fails("run v1.toml --as-columns");
    assert!(ran.stderr.contains("--as-columns"), "{}", ran.stderr);
}
