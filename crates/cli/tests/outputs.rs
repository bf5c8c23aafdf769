//! Every output of every command under faults: a full disk, no permission, the process killed or
//! interrupted, an output that is also an input, a folder that is not there. Never is an old file lost
//! or a new one half there.

#![cfg(unix)]

use crate::common;

use common::{Ran, command, from, root, succeed};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Names of files, relative to a folder, with their contents.
type Files = BTreeMap<PathBuf, Vec<u8>>;

fn files(folder: &Path) -> Files {
    fn add(folder: &Path, top: &Path, all: &mut Files) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(top).unwrap().to_owned();
            if path.is_dir() {
                // A folder counts: an empty one is something that is left.
                all.insert(name, Vec::new());
                add(&path, top, all);
            } else {
                all.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    let mut all = Files::new();
    add(folder, folder, &mut all);
    all
}

/// The files without the marked, unfinished ones that a killed process may leave.
fn without_unfinished(mut files: Files) -> Files {
    let is_marked = |path: &Path| path.iter().any(|part| part.to_string_lossy().ends_with(".partial"));
    files.retain(|path, _| !is_marked(path));
    files
}

/// A command that writes; paths are relative to the folder that it runs in.
struct Writer {
    args: &'static str,
}

const WRITERS: &[Writer] = &[
    Writer { args: "run vectoradd --param n=256 -q --json=out.json" },
    Writer { args: "run vectoradd --param n=256 -q --power out.csv" },
    Writer { args: "run vectoradd --param n=256 -q --power-plot out.svg" },
    Writer { args: "run vectoradd --param n=256 -q --html out.html" },
    Writer { args: "run launch.toml -q" },
    Writer { args: "compare vectoradd --param n=256 --schedulers lrr,gto -q --json=out.json" },
    Writer { args: "compare vectoradd --param n=256 --schedulers lrr,gto -q --html out.html" },
    Writer { args: "reproduce scalar-table1 --size small -q --json=out.json" },
    Writer { args: "reproduce scalar-table1 --size small -q --html out.html" },
    Writer { args: "import-config gpgpusim.config -o out.toml" },
    Writer { args: "trace vectoradd --param n=1024 -o out --force -q" },
    Writer { args: "trace vectoradd --param n=1024 -o out --force -q --format accelsim" },
    Writer { args: "trace in/trace.wwt -o out --force -q --format accelsim --compress none" },
    Writer { args: "trace in/trace.wwt -o out --force -q --format accelsim --compress zst" },
    Writer { args: "validate accelsim reference traces --page out.md --json" },
];

const LAUNCH: &str = r#"module = "scale.ptx"
[buffers.x]
type = "f32"
length = 4096
iota = true
[[launch]]
kernel = "scale"
grid = 16
block = 256
args = ["x"]
[[output]]
buffer = "x"
write = "out.npy"
"#;

const REFERENCE: &str = "trace,accelsim_config,total_cycles,kernels,warp_instructions,thread_instructions,\
    host_wall_seconds_best_quiet,host_rss_mib,cycles_per_kernel\ntiny,small,1000,1,4,128,1.0,100,1000\n";

const SCALE: &str = ".version 7.0
.target sm_70
.address_size 64
.visible .entry scale(.param .u64 x)
{
    .reg .f32 %f<3>;
    .reg .b32 %r<5>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [x];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r1, %r2, %r3;
    mul.wide.u32 %rd2, %r4, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.f32 %f1, [%rd3];
    add.f32 %f2, %f1, %f1;
    st.global.f32 [%rd3], %f2;
    ret;
}
";

/// A folder with all inputs, and an old file or trace wherever a command writes.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Self(TempDir::new().unwrap());
        folder.write("launch.toml", LAUNCH);
        folder.write("scale.ptx", SCALE);
        let fixture = |name: &str| root().join("crates/config/tests/fixtures").join(name);
        fs::copy(fixture("small.gpgpusim.config"), folder.path("gpgpusim.config")).unwrap();
        let config = folder.path("reference/accelsim_configs/small");
        fs::create_dir_all(&config).unwrap();
        for name in ["gpgpusim.config", "trace.config"] {
            fs::copy(fixture(&format!("small.{name}")), config.join(name)).unwrap();
        }
        folder.write("reference/accelsim_cycles.csv", REFERENCE);
        fs::create_dir_all(folder.path("traces/tiny")).unwrap();
        for name in ["kernelslist.g", "kernel-1.traceg"] {
            fs::copy(root().join("crates/cli/tests/traces").join(name), folder.path("traces/tiny").join(name)).unwrap();
        }
        succeed(&["trace", "vectoradd", "--param", "n=512", "-q", "-o", folder.path("in").to_str().unwrap()]);
        for (name, text) in [
            ("out.json", "{\"old\":1}"),
            ("out.csv", "old"),
            ("out.svg", "old"),
            ("out.html", "old"),
            ("out.npy", "old"),
            ("out.toml", "old"),
        ] {
            folder.write(name, text);
        }
        folder.write("out.md", "<!-- table -->\nold\n<!-- end of table -->\n");
        fs::create_dir(folder.path("out")).unwrap();
        for (name, text) in
            [("trace.wwt", "old"), ("kernelslist.g", "old"), ("kernel-9.traceg", "old"), ("notes.txt", "mine")]
        {
            fs::write(folder.path("out").join(name), text).unwrap();
        }
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        fs::write(self.path(name), text).unwrap();
        self.path(name)
    }

    fn files(&self) -> Files {
        files(self.0.path())
    }

    /// The command, in the folder.
    fn command(&self, args: &str) -> Command {
        let mut command = command(&args.split_whitespace().collect::<Vec<_>>());
        command.current_dir(self.0.path());
        command
    }

    /// The command as a shell runs it after `before`.
    fn in_shell(&self, before: &str, args: &str) -> Ran {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("{before}; exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_warpwright")]);
        shell.args(args.split_whitespace()).current_dir(self.0.path()).env("NO_COLOR", "1");
        from(shell.output().unwrap())
    }
}

#[track_caller]
fn told(ran: &Ran, args: &str, status: i32) {
    assert!(!ran.stderr.contains("panicked"), "{args}: {}", ran.stderr);
    assert_eq!(ran.status, status, "{args}\n{}\n{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("error: "), "{args}: {}", ran.stderr);
}

#[test]
fn without_a_fault_each_replaces_its_old_file_and_no_other() {
    for writer in WRITERS {
        let folder = Folder::new();
        let before = folder.files();
        let ran = from(folder.command(writer.args).output().unwrap());
        assert_eq!(ran.status, 0, "{}: {}", writer.args, ran.stderr);
        let after = folder.files();
        let changed: Vec<_> = after.iter().filter(|(name, bytes)| before.get(*name) != Some(bytes)).collect();
        assert!(
            !changed.is_empty()
                && changed
                    .iter()
                    .all(|(name, _)| name.starts_with("out") || name.to_string_lossy().starts_with("out.")),
            "{}: {changed:?}",
            writer.args
        );
        assert_eq!(after.get(Path::new("out/notes.txt")), before.get(Path::new("out/notes.txt")), "{}", writer.args);
    }
}

/// No file may grow: each write of a file fails, as it does on a full disk.
#[test]
fn a_full_disk_loses_nothing() {
    for writer in WRITERS {
        let folder = Folder::new();
        let before = folder.files();
        let ran = folder.in_shell("trap '' XFSZ; ulimit -f 0", writer.args);
        told(&ran, writer.args, 1);
        assert!(ran.stderr.contains("File too large"), "{}: {}", writer.args, ran.stderr);
        assert!(folder.files() == before, "{}", writer.args);
    }
}

/// A direct write fails at once and reports the error.
#[test]
fn a_full_device_is_told() {
    if !Path::new("/dev/full").exists() {
        return;
    }
    let folder = Folder::new();
    for args in ["run vectoradd --param n=256 -q --json=/dev/full", "run vectoradd --param n=256 -q --power /dev/full"]
    {
        let ran = from(folder.command(args).output().unwrap());
        told(&ran, args, 1);
        assert!(ran.stderr.contains("No space left"), "{}", ran.stderr);
    }
    for args in ["--help", "--version", "run --help", "list", "list --json", "run vectoradd --param n=256"] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let ran = from(folder.command(args).stdout(full).output().unwrap());
        told(&ran, args, 1);
    }
    // A reader that stops early is not an error.
    let ran = folder.in_shell("exec 1>&-", "--help");
    assert!(ran.status == 0 || ran.status == 1, "{}", ran.status);
}

/// A user without permission to write there.
#[test]
fn a_folder_that_cannot_be_written_is_found_first() {
    let folder = Folder::new();
    let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    set(&folder.path("out"), 0o555);
    set(folder.0.path(), 0o555);
    let is_root = fs::metadata("/proc/self").is_ok_and(|meta| std::os::unix::fs::MetadataExt::uid(&meta) == 0);
    let before = folder.files();
    for writer in WRITERS {
        let mut command = folder.command(writer.args);
        if is_root {
            command.uid(65_534).gid(65_534);
        }
        let ran = from(command.output().unwrap());
        told(&ran, writer.args, 2);
        assert!(ran.stdout.is_empty() && ran.stderr.contains("ermission denied"), "{}: {}", writer.args, ran.stderr);
    }
    assert!(folder.files() == before);
    set(folder.0.path(), 0o755);
}

#[test]
fn a_folder_that_is_not_there_is_found_before_the_run() {
    let folder = Folder::new();
    folder.write("far.toml", &LAUNCH.replace("out.npy", "absent/out.npy"));
    let before = folder.files();
    for args in [
        "run matmul --size large --json=absent/out.json",
        "run matmul --size large --power absent/out.csv",
        "run matmul --size large --power-plot absent/out.svg",
        "compare matmul --size large --json=absent/out.json",
        "reproduce war-fig5 --size large --json=absent/out.json",
        "run far.toml",
        "import-config gpgpusim.config -o absent/out.toml",
        "trace matmul --size large -o scale.ptx",
        "trace matmul --size large -o scale.ptx --format accelsim",
        "exec --json absent/out.json -- /bin/true",
        "exec --out scale.ptx -- /bin/true",
        "exec --out new/deep -- ./absent",
        "exec --out new/deep -- ./scale.ptx",
    ] {
        let started = Instant::now();
        let ran = from(folder.command(args).output().unwrap());
        told(&ran, args, 2);
        assert!(ran.stdout.is_empty() && started.elapsed() < Duration::from_secs(5), "{args}: {}", ran.stdout);
    }
    assert!(folder.files() == before);
}

#[test]
fn no_output_is_an_input() {
    let folder = Folder::new();
    folder.write("base.toml", "extends = \"v100\"\n");
    folder.write("gpu.toml", "extends = \"base.toml\"\n");
    fs::copy(root().join("energies/v100.toml"), folder.path("energy.toml")).unwrap();
    symlink("scale.ptx", folder.path("link.ptx")).unwrap();
    fs::hard_link(folder.path("gpu.toml"), folder.path("hard.toml")).unwrap();
    folder.write("itself.toml", &LAUNCH.replace("out.npy", "itself.toml"));
    folder.write("module.toml", &LAUNCH.replace("out.npy", "./in/../scale.ptx"));
    for (name, file) in [("kernelslist.g", "kernelslist.g"), ("kernel-1.traceg", "kernel-1.traceg")] {
        fs::copy(root().join("crates/cli/tests/traces").join(file), folder.path("in").join(name)).unwrap();
    }
    fs::write(folder.path("in/report.json"), "extends = \"v100\"\n").unwrap();
    fs::copy("/bin/true", folder.path("program")).unwrap();
    let saved = "run vectoradd --param n=256 -q --checkpoint=every=0s,file=saved.checkpoint";
    assert_eq!(from(folder.command(saved).output().unwrap()).status, 0);
    fs::hard_link(folder.path("saved.checkpoint"), folder.path("hard.checkpoint")).unwrap();
    let before = folder.files();
    for args in [
        "run launch.toml --json=launch.toml",
        "run launch.toml --json=./in/../launch.toml",
        "run launch.toml --json=scale.ptx",
        "run launch.toml --power link.ptx",
        "run itself.toml",
        "run module.toml",
        "run vectoradd --gpu gpu.toml --json=gpu.toml",
        "run vectoradd --gpu gpu.toml --power-plot base.toml",
        "run vectoradd --gpu gpu.toml --json=hard.toml",
        "run vectoradd --energy-model energy.toml --json=energy.toml",
        "run in --json=in/kernelslist.g",
        "run in --json=in/kernel-1.traceg",
        "run in/trace.wwt --power in/trace.wwt",
        "compare launch.toml --json=scale.ptx",
        "compare vectoradd --gpus v100,gpu.toml --json=base.toml",
        "import-config gpgpusim.config -o gpgpusim.config",
        "import-config gpgpusim.config -o in/../gpgpusim.config",
        "list cores ghost --gpu gpu.toml --json=base.toml",
        "inspect scale.ptx --csv=link.ptx",
        "inspect scale.ptx --fabric --gpu gpu.toml --json=gpu.toml",
        "microbench gpu.toml --only l1_latency --json=hard.toml",
        "validate gpu.toml --only l1_latency --csv=gpu.toml",
        "validate accelsim reference traces --json=reference/accelsim_cycles.csv",
        "validate accelsim reference traces --csv=traces/tiny/kernelslist.g",
        "trace itself.toml -o out --force",
        "profile launch.toml --json=scale.ptx",
        "timeline launch.toml --timeline link.ptx",
        "run --resume saved.checkpoint --json=saved.checkpoint --checkpoint=file=new.checkpoint",
        "run --resume saved.checkpoint --json=hard.checkpoint --checkpoint=file=new.checkpoint",
        "run vectoradd --param n=256 --resume saved.checkpoint --json=saved.checkpoint",
        "exec --gpu gpu.toml --json base.toml -- ./program",
        "exec --gpu gpu.toml --json hard.toml -- ./program",
        "exec --set energy.model=energy.toml --json energy.toml -- ./program",
        "exec --json in/../program -- ./program",
        "exec --gpu in/report.json --out in -- ./program",
    ] {
        let ran = from(folder.command(args).output().unwrap());
        told(&ran, args, 2);
        assert!(ran.stderr.contains("both an output and an input"), "{args}: {}", ran.stderr);
    }
    for args in [
        "run vectoradd --json=x --power ./x",
        "run launch.toml --json=out.npy",
        "exec --json out/report.json --out out -- ./program",
        "inspect scale.ptx --svg x.svg --json=x.svg",
        "run --resume saved.checkpoint --json=saved.checkpoint",
    ] {
        let ran = from(folder.command(args).output().unwrap());
        told(&ran, args, 2);
        assert!(ran.stderr.contains("named for two outputs"), "{args}: {}", ran.stderr);
    }
    assert!(folder.files() == before);
}

/// Whether a file is complete, of those whose contents differ from run to run.
fn is_complete(name: &Path, bytes: &[u8]) -> bool {
    match name.extension().and_then(std::ffi::OsStr::to_str) {
        Some("json") => serde_json::from_slice::<Value>(bytes).is_ok(),
        Some("html") => bytes.starts_with(b"<!DOCTYPE html>") && bytes.ends_with(b"</html>\n"),
        Some("md") => bytes.ends_with(b"<!-- end of table -->\n"),
        _ => false,
    }
}

#[test]
fn a_process_killed_at_any_moment_leaves_the_old_or_the_new() {
    // Where it is killed must not matter, so any numbers will do; the message says which they were.
    let mut random = std::time::UNIX_EPOCH.elapsed().map_or(1, |d| d.subsec_nanos()) | 1;
    for writer in WRITERS {
        let folder = Folder::new();
        let old = folder.files();
        let started = Instant::now();
        assert_eq!(from(folder.command(writer.args).output().unwrap()).status, 0, "{}", writer.args);
        let (took, new) = (started.elapsed(), folder.files());
        // The longest is killed once: it writes as the others do.
        let rounds = if took > Duration::from_secs(3) { 1 } else { 3 };
        for _ in 0..rounds {
            let folder = Folder::new();
            random ^= random << 13;
            random ^= random >> 17;
            random ^= random << 5;
            let after = took.mul_f64(f64::from(random % 1100) / 1000.0);
            let mut child = folder.command(writer.args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            std::thread::sleep(after);
            let _ = child.kill();
            child.wait().unwrap();
            let left = without_unfinished(folder.files());
            let names = |files: &Files| files.keys().cloned().collect::<Vec<_>>();
            let place = || format!("{} killed after {after:?}: {:?}", writer.args, names(&left));
            assert!(names(&left) == names(&old) || names(&left) == names(&new), "{}", place());
            let different = |other: &Files| {
                let is_same = |name, bytes| other.get(name) == Some(bytes) || is_complete(name, bytes);
                left.iter().find(|(name, bytes)| !is_same(*name, *bytes)).map(|(name, _)| name.clone())
            };
            let (before, after) = (different(&old), different(&new));
            assert!(before.is_none() || after.is_none(), "{}: {before:?}, {after:?} differ", place());
        }
    }
}

fn interrupt(child: &Child) {
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// Starts, waits and interrupts; returns what came of it and how long the answer took.
fn interrupted(command: &Command, after: Duration) -> (Ran, Duration) {
    // Scripts run background jobs with the signal ignored, and what ignores it passes that on.
    let mut with_signal = Command::new("env");
    with_signal.arg("--default-signal=INT").arg(command.get_program()).args(command.get_args());
    with_signal.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if let Some(folder) = command.get_current_dir() {
        with_signal.current_dir(folder);
    }
    let child = with_signal.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(after);
    interrupt(&child);
    let sent = Instant::now();
    let ran = from(child.wait_with_output().unwrap());
    (ran, sent.elapsed())
}

/// Within a second of a processor of one's own; tests share one with many others.
const AT_ONCE: Duration = Duration::from_secs(5);

#[test]
fn an_interrupted_trace_leaves_nothing() {
    let folder = Folder::new();
    let before = folder.files();
    for args in [
        "trace matmul --size large -o new/deep -q",
        "trace matmul --size large -o new/deep -q --format accelsim",
        "trace matmul --size large -o out -q --force",
        "trace matmul --size large -o out -q --force --format accelsim",
    ] {
        let (ran, took) = interrupted(&folder.command(args), Duration::from_millis(700));
        assert_eq!(ran.status, 130, "{args}: {}", ran.stderr);
        assert!(took < AT_ONCE, "{args}: {took:?}");
        assert!(folder.files() == before, "{args}: {:?}", folder.files().keys());
    }
}

#[test]
fn compression_is_interrupted() {
    let folder = Folder::new();
    assert_eq!(from(folder.command("trace matmul --size medium -o large -q").output().unwrap()).status, 0);
    let before = folder.files();
    for compress in ["xz", "zst", "gz"] {
        let args = format!("trace large -o out -q --force --format accelsim --compress {compress}");
        let (ran, took) = interrupted(&folder.command(&args), Duration::from_millis(200));
        // A fast machine may have been done.
        if ran.status == 130 {
            assert!(took < AT_ONCE, "{args}: {took:?}");
            assert!(folder.files() == before, "{args}: {:?}", folder.files().keys());
        }
    }
}

/// A pipe that nobody writes to is an input that never comes.
#[test]
fn reading_is_interrupted() {
    let folder = Folder::new();
    assert!(Command::new("mkfifo").arg(folder.path("pipe.bin")).status().unwrap().success());
    folder.write("pipe.toml", &LAUNCH.replace("iota = true", "file = \"pipe.bin\""));
    folder.write("large.toml", &LAUNCH.replace("length = 4096\niota = true", "file = \"large.bin\""));
    fs::File::create(folder.path("large.bin")).unwrap().set_len(1 << 30).unwrap();
    let random = "type = \"u8\"\nlength = 1000000000\nrandom = { low = 0, high = 255 }";
    folder.write("random.toml", &LAUNCH.replace("type = \"f32\"\nlength = 4096\niota = true", random));
    for args in
        ["run pipe.toml", "run large.toml", "run random.toml", "inspect pipe.bin", "run vectoradd --gpu pipe.bin"]
    {
        let (ran, took) = interrupted(&folder.command(args), Duration::from_millis(500));
        // Before a run there is nothing to report: the signal ends the process as it ends any.
        assert!(ran.status == 130 || ran.status == -1, "{args}: {}: {}", ran.status, ran.stderr);
        assert!(took < AT_ONCE, "{args}: {took:?}");
    }
}

#[test]
fn links_and_permissions_of_old_files_stay() {
    let folder = Folder::new();
    symlink("out.json", folder.path("link.json")).unwrap();
    fs::set_permissions(folder.path("out.json"), fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(from(folder.command("run vectoradd --param n=256 -q --json=link.json").output().unwrap()).status, 0);
    assert!(folder.path("link.json").is_symlink());
    assert_eq!(fs::metadata(folder.path("out.json")).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(fs::read_to_string(folder.path("out.json")).unwrap().contains("\"schema\""));
    let ran = folder.in_shell("true", "run vectoradd --param n=256 -q --json=/dev/stdout");
    assert!(ran.status == 0 && ran.stdout.contains("\"schema\""), "{}", ran.stderr);
}

#[test]
fn file_names_need_not_be_text() {
    let folder = Folder::new();
    let name = |bytes: &[u8]| folder.0.path().join(std::ffi::OsStr::from_bytes(bytes));
    fs::copy(folder.path("launch.toml"), name(b"launch-\xff.toml")).unwrap();
    fs::write(name(b"gpu-\xff.toml"), "extends = \"v100\"\n").unwrap();
    fs::copy(root().join("energies/v100.toml"), name(b"energy-\xff.toml")).unwrap();
    fs::copy(folder.path("scale.ptx"), name(b"scale-\xff.ptx")).unwrap();
    fs::rename(folder.path("in"), name(b"in-\xff")).unwrap();
    let ran = |words: &[&[u8]]| {
        let mut command = command(&[]);
        command.args(words.iter().map(|word| std::ffi::OsStr::from_bytes(word))).current_dir(folder.0.path());
        from(command.output().unwrap())
    };
    let cases: &[&[&[u8]]] = &[
        &[b"run", b"launch-\xff.toml", b"--gpu", b"gpu-\xff.toml", b"--json=report-\xff.json", b"-q"],
        &[b"run", b"vectoradd", b"--energy-model", b"energy-\xff.toml", b"--power", b"power-\xff.csv", b"-q"],
        &[b"run", b"in-\xff", b"-q"],
        &[b"compare", b"vectoradd", b"--gpus", b"v100,gpu-\xff.toml", b"-q"],
        &[b"trace", b"in-\xff", b"-o", b"accelsim-\xff", b"--format", b"accelsim"],
        &[b"run", b"accelsim-\xff"],
        &[b"inspect", b"scale-\xff.ptx"],
        &[b"import-config", b"gpgpusim.config", b"-o", b"imported-\xff.toml"],
        &[b"list", b"cores", b"ghost", b"--gpu", b"gpu-\xff.toml"],
    ];
    for words in cases {
        let shown: Vec<_> = words.iter().map(|word| String::from_utf8_lossy(word)).collect();
        let ran = ran(words);
        assert_eq!(ran.status, 0, "{shown:?}: {}", ran.stderr);
    }
    for made in [&b"report-\xff.json"[..], b"power-\xff.csv", b"accelsim-\xff", b"imported-\xff.toml"] {
        assert!(name(made).exists(), "{}", String::from_utf8_lossy(made));
    }
    let absent = ran(&[b"run", b"absent-\xff.toml"]);
    assert!(absent.status == 2 && absent.stderr.contains("absent-\u{fffd}.toml"), "{}", absent.stderr);
}

/// Each line of CSV without quotes, as its cells.
fn cells(csv: &str) -> Vec<Vec<&str>> {
    csv.lines().map(|line| line.split(',').collect()).collect()
}

#[test]
fn every_command_with_json_gives_a_table_too() {
    let quick = ["--param", "n=1000"];
    let run = |more: &[&str]| succeed(&[&["run", "vectoradd"], &quick[..], more].concat());
    let csv = run(&["--csv"]);
    let json: Value = serde_json::from_str(&run(&["--json"])).unwrap();
    assert!(
        csv.starts_with("workload,size,seed,gpu,core,scheduler,settings,code,version,commit,scope,launch,kernel,grid,block,statistic,unit,value\n")
    );
    let total = csv.lines().find(|line| line.contains(",total,") && line.contains(",cycles,core cycles,")).unwrap();
    assert!(total.ends_with(&format!(",{}", json["total"]["cycles"])), "{total}");
    assert!(csv.lines().any(|line| line.contains(",launch,0,")), "{csv}");

    let compared = succeed(&[&["compare", "vectoradd", "--cores", "inorder,ghost"], &quick[..], &["--csv"]].concat());
    let rows = cells(&compared);
    assert_eq!(rows[0][..6], ["workload", "size", "seed", "column", "gpu", "core"]);
    let speedups: Vec<&Vec<&str>> = rows.iter().filter(|row| row.contains(&"speedup")).collect();
    assert_eq!((speedups.len(), speedups[0].last(), speedups[1][3]), (2, Some(&"1.0"), "ghost"));

    let swept = ["compare", "vectoradd", "--cores", "inorder,ghost", "--vary", "core.issue_buffer=4,8"];
    let swept = succeed(&[&swept[..], &["--vary", "sm.issue.schedulers=1,2"], &quick[..], &["--csv"]].concat());
    let rows = cells(&swept);
    let axes = |row: &Vec<&str>| row[row.len() - 2..].join(" ");
    assert_eq!(axes(&rows[0]), "sm.issue.schedulers core.issue_buffer");
    let mut values: Vec<String> = rows[1..].iter().map(axes).collect();
    values.dedup();
    assert_eq!(values, ["1 ", "2 ", "1 4", "2 4", "1 8", "2 8"]);

    for (args, header) in [
        (&["list"][..], "topic,name,description"),
        (&["list", "gpus"], "name,kind,description"),
        (&["list", "stats"], "name,unit,description"),
        (&["list", "cores"], "name,stands_for,description,parameter,"),
        (&["list", "cores", "ghost"], "core,part,component,instances,entries,"),
        (&["list", "schedulers"], "name,stands_for,description,parameter,"),
        (&["list", "workloads"], "workload,suite,papers,description,parameter,small,"),
        (&["list", "figures"], "name,description"),
        (&["list", "settings"], "key,unit,values,description"),
        (&["microbench", "--list"], "name,unit,description"),
        (&["validate", "hardware"], "suite,name,input,hardware,ours,accelsim,"),
        (&["validate", "accelwattch"], "kernel,part,published_watts,ours_watts,measured_watts"),
        (&["validate", "titanv", "--only", "fp32_fma_latency"], "gpu,group,quantity,unit,code,value,"),
        (&["reproduce", "sgmf-area"], "core,part,component,"),
    ] {
        let table = succeed(&[args, &["--csv"]].concat());
        assert!(table.starts_with(header), "{args:?}: {table}");
        assert!(table.lines().count() > 1, "{args:?}: {table}");
    }
}

#[test]
fn one_form_goes_to_standard_output_and_the_other_to_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gpus.csv");
    let option = format!("--csv={}", file.display());
    let text = succeed(&["list", "gpus", &option]);
    assert!(text.contains("GPUs"), "text where no form is printed: {text}");
    let table = fs::read_to_string(&file).unwrap();
    let json: Value = serde_json::from_str(&succeed(&["list", "gpus", "--json", &option])).unwrap();
    assert_eq!(table.lines().count() - 1, json["gpus"].as_array().unwrap().len());
    let both = command(&["run", "vectoradd", "--json", "--csv"]).output().unwrap();
    assert_eq!(both.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&both.stderr).contains("both print to standard output"));
    let same = command(&["run", "vectoradd", &option, &option.replace("csv=", "json=")]).output().unwrap();
    assert_eq!(same.status.code(), Some(2), "two outputs of one name");
}
