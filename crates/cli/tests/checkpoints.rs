//! `run --checkpoint` and `run --resume`.

use crate::common::{command, from, run, succeed};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Ten kernels or more, each of a part of a second.
const RUN: [&str; 8] = ["run", "bfs", "--param", "nodes=8192", "--param", "block=128", "--quiet", "--seed=5"];

fn words<'a>(given: &[&'a str]) -> Vec<&'a str> {
    RUN.into_iter().chain(given.iter().copied()).collect()
}

/// The report without what the host measured.
fn report(path: &Path) -> serde_json::Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut report: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    report.as_object_mut().expect("an object").remove("host").expect("host figures");
    report
}

fn lines(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let end = text.rfind('\n').map_or(0, |at| at + 1);
    text[..end].lines().map(str::to_owned).collect()
}

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn option(&self, option: &str, name: &str) -> String {
        format!("{option}{}", self.path(name).display())
    }

    /// Starts the run with a checkpoint after each kernel, and kills it when `kernels` have ended.
    fn kill_after(&self, kernels: usize) {
        let checkpoint = self.option("--checkpoint=every=0s,file=", "a.checkpoint");
        let json = self.option("--json=", "killed.json");
        let mut child = command(&words(&[&checkpoint, &json])).stdout(Stdio::null()).spawn().expect("it starts");
        let begin = Instant::now();
        let journal = self.path("a.checkpoint.kernels.jsonl");
        while lines(&journal).len() < kernels && begin.elapsed() < Duration::from_secs(120) {
            std::thread::sleep(Duration::from_millis(2));
            assert!(child.try_wait().unwrap().is_none(), "it ended before it was killed");
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!self.path("killed.json").exists());
    }
}

#[test]
fn a_killed_run_is_resumed() {
    let place = Place::new();
    succeed(&words(&[&place.option("--json=", "whole.json")]));
    let whole = report(&place.path("whole.json"));
    let kernels = whole["kernels"].as_array().unwrap().clone();
    for (kernels, threads) in [(2, "-j1"), (5, "-j3")] {
        place.kill_after(kernels);
        let file = place.path("a.checkpoint");
        // All options are those of the run, but for the ones given.
        let json = place.option("--json=", "resumed.json");
        succeed(&["run", "--resume", file.to_str().unwrap(), &json, threads]);
        assert_eq!(report(&place.path("resumed.json")), whole);
    }
    let kept = lines(&place.path("a.checkpoint.kernels.jsonl"));
    let kept: Vec<serde_json::Value> = kept.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(kept, kernels, "each report is there once");
    // The last checkpoint is of the end, from which the report comes again at once.
    let file = place.path("a.checkpoint");
    succeed(&["run", "--resume", file.to_str().unwrap(), &place.option("--json=", "again.json")]);
    assert_eq!(report(&place.path("again.json")), whole);
}

#[test]
fn another_command_is_refused() {
    let place = Place::new();
    let checkpoint = place.option("--checkpoint=every=0s,file=", "a.checkpoint");
    succeed(&["run", "vectoradd", "--quiet", "--core", "inorder", &checkpoint]);
    let file = place.path("a.checkpoint");
    let file = file.to_str().unwrap();
    let ran = run(&["run", "vectoradd", "--core", "ghost", "--resume", file]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("core design: `inorder` there, `ghost` here"), "{}", ran.stderr);
    assert!(ran.stderr.contains("hint: `warpwright run --resume"), "{}", ran.stderr);
    let ran = run(&["run", "--resume", file, "--profile"]);
    assert!(ran.status == 2 && ran.stderr.contains("observation: `"), "{}", ran.stderr);
    let ran = run(&["run", "vectoradd", "--check-memory", "--checkpoint=every=1s"]);
    assert!(ran.status == 2 && ran.stderr.contains("leave out --check-memory"), "{}", ran.stderr);
    let damaged = place.path("damaged");
    let bytes = std::fs::read(file).unwrap();
    std::fs::write(&damaged, &bytes[..bytes.len() / 2]).unwrap();
    let ran = run(&["run", "--resume", damaged.to_str().unwrap()]);
    assert!(ran.status == 2 && ran.stderr.contains("not a usable checkpoint: it is damaged"), "{}", ran.stderr);
    let ran = run(&["run", "--resume", "nowhere"]);
    assert!(ran.status == 2 && ran.stderr.contains("cannot read the checkpoint `nowhere`"), "{}", ran.stderr);
    let ran = run(&["run", "vectoradd", "--checkpoint=every=0s,file=/nowhere/a"]);
    assert!(ran.status == 2 && ran.stderr.contains("cannot write `/nowhere/a"), "{}", ran.stderr);
    let ran = run(&["run", "vectoradd", "--checkpoint", "60s"]);
    assert!(ran.status == 2 && ran.stderr.contains("expected every=TIME"), "{}", ran.stderr);
}

/// A checkpoint may come from another user.
#[test]
fn outputs_are_not_taken_from_a_checkpoint() {
    let place = Place::new();
    let here = |words: &[&str]| from(command(words).current_dir(place.folder.path()).output().unwrap());
    let former = ["run", "vectoradd", "-q", "--json=a.json", "--checkpoint=every=0s,file=a.checkpoint"];
    assert_eq!(here(&former).status, 0);
    for name in ["a.json", "a.checkpoint.kernels.jsonl"] {
        std::fs::write(place.path(name), "mine").unwrap();
    }
    std::fs::rename(place.path("a.checkpoint"), place.path("copy")).unwrap();
    let ran = here(&["run", "--resume", "copy"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("not taken from a checkpoint; the run had: --json=a.json"), "{}", ran.stderr);
    let text = |name: &str| std::fs::read_to_string(place.path(name)).unwrap();
    assert_eq!((text("a.json"), text("a.checkpoint.kernels.jsonl")), ("mine".to_owned(), "mine".to_owned()));
    assert!(!place.path("a.checkpoint").exists());
    assert_eq!(lines(&place.path("copy.kernels.jsonl")).len(), 1, "checkpoints continue in the file that was named");

    let launch = "module = \"k.ptx\"\n[buffers.x]\ntype = \"f32\"\nlength = 32\n[[launch]]\nkernel = \"k\"\ngrid = 1\nblock = 32\nargs = []\n[[output]]\nbuffer = \"x\"\nwrite = \"x.npy\"\n";
    std::fs::write(place.path("k.toml"), launch).unwrap();
    let ptx = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k()\n{\n ret;\n}\n";
    std::fs::write(place.path("k.ptx"), ptx).unwrap();
    let ran = here(&["run", "k.toml", "-q", "--checkpoint=every=0s,file=k.checkpoint"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    std::fs::remove_file(place.path("x.npy")).unwrap();
    let ran = here(&["run", "--resume", "k.checkpoint"]);
    assert!(ran.status == 2 && ran.stderr.contains("writes `x.npy`"), "{}", ran.stderr);
    assert!(ran.stderr.contains("warpwright 'run' 'k.toml'"), "{}", ran.stderr);
    assert!(!place.path("x.npy").exists());
    assert_eq!(here(&["run", "k.toml", "-q", "--resume", "k.checkpoint"]).status, 0);
    assert!(place.path("x.npy").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn a_checkpoint_has_one_run_that_writes_it() {
    let place = Place::new();
    let checkpoint = place.option("--checkpoint=every=0s,file=", "a.checkpoint");
    let mut first = command(&words(&[&checkpoint])).stdout(Stdio::null()).spawn().expect("it starts");
    let begin = Instant::now();
    while lines(&place.path("a.checkpoint.kernels.jsonl")).is_empty() && begin.elapsed() < Duration::from_secs(120) {
        std::thread::sleep(Duration::from_millis(2));
    }
    let file = place.path("a.checkpoint");
    for second in [vec!["run", "vectoradd", "-q", &checkpoint], vec!["run", "--resume", file.to_str().unwrap()]] {
        let ran = run(&second);
        // The checkpoint itself may not be there yet.
        let is_absent = ran.stderr.contains("cannot read the checkpoint");
        assert!(ran.stderr.contains("another run writes the checkpoint") || is_absent, "{second:?}: {}", ran.stderr);
        assert_eq!(ran.status, 2, "{second:?}");
    }
    first.kill().unwrap();
    first.wait().unwrap();
    succeed(&["run", "vectoradd", "-q", &checkpoint]);
    assert!(!place.path(".a.checkpoint.lock").exists());
}

#[test]
fn programs_have_no_checkpoints_yet() {
    for words in [&["exec", "--checkpoint=every=1s", "--", "true"][..], &["run", "/bin/true", "--checkpoint=every=1s"]]
    {
        let ran = run(words);
        assert!(
            ran.status == 2 && ran.stderr.contains("a program keeps state of its own between its kernels"),
            "{}",
            ran.stderr
        );
    }
}

/// The first Ctrl-C ends the run with a checkpoint of a kernel's end, although none was due.
#[cfg(unix)]
#[test]
fn an_interrupted_run_leaves_a_checkpoint() {
    let place = Place::new();
    let checkpoint = place.option("--checkpoint=every=1h,file=", "a.checkpoint");
    let json = place.option("--json=", "interrupted.json");
    let long = ["run", "bfs", "--param=nodes=32768", "--param=block=128", "--quiet", "-j1"];
    let mut child = command(&long);
    let mut child = child.args([&checkpoint, &json]).stdout(Stdio::null()).spawn().expect("it starts");
    let journal = place.path("a.checkpoint.kernels.jsonl");
    let begin = Instant::now();
    // It reacts as soon as it shows progress.
    while lines(&journal).len() < 4 && begin.elapsed() < Duration::from_secs(120)
        || begin.elapsed() < Duration::from_millis(300)
    {
        std::thread::sleep(Duration::from_millis(2));
    }
    let interrupt = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(interrupt.success());
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(130), "it ended before it was interrupted");
    succeed(&[&long[..], &[&place.option("--json=", "whole.json")]].concat());
    let file = place.path("a.checkpoint");
    succeed(&["run", "--resume", file.to_str().unwrap(), &place.option("--json=", "resumed.json")]);
    assert_eq!(report(&place.path("resumed.json")), report(&place.path("whole.json")));
}
