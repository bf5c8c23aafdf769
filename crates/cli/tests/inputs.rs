//! Inputs that say what cannot be, are too large or are damaged: each is refused with status 2, and the
//! message repeats only a little of it.

use crate::common;

use common::{Ran, root, run, succeed};
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

struct Folder(TempDir);

const KERNEL: &str = ".version 7.0
.target sm_70
.address_size 64
.visible .entry put(.param .u64 x, .param .f32 f, .param .u32 n)
{
    .reg .f32 %f1;
    .reg .b64 %rd1;
    ld.param.u64 %rd1, [x];
    ld.param.f32 %f1, [f];
    st.global.f32 [%rd1], %f1;
    ret;
}
";

const LAUNCH: &str = r#"module = "put.ptx"
[buffers.x]
type = "f32"
length = 4
fill = 1.0
[[launch]]
kernel = "put"
grid = 1
block = 1
args = ["x", 2.5, 7]
[[output]]
buffer = "x"
count = 1
compare = { formula = "2.5", relative = 0.1 }
"#;

impl Folder {
    fn new() -> Self {
        let folder = Self(TempDir::new().unwrap());
        folder.write("put.ptx", KERNEL);
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// The launch file with one thing replaced.
    fn launch(&self, from: &str, to: &str) -> String {
        assert!(LAUNCH.contains(from));
        self.write("launch.toml", LAUNCH.replace(from, to))
    }
}

#[track_caller]
fn refused(args: &[&str], mentions: &[&str]) -> Ran {
    let ran = run(args);
    assert_eq!(ran.status, 2, "{args:.100?}\n{:.2000}\n{:.2000}", ran.stdout, ran.stderr);
    for mention in mentions {
        assert!(ran.stderr.contains(mention), "no `{mention}` in\n{:.4000}", ran.stderr);
    }
    ran
}

#[test]
fn numbers_of_launch_files() {
    let folder = Folder::new();
    succeed(&["run", &folder.launch("fill", "fill")]);
    let refused = |from: &str, to: &str, mentions: &[&str]| _ = refused(&["run", &folder.launch(from, to)], mentions);
    refused("\"x\", 2.5", "\"x\", true", &["launch.toml:10:14", "must be a number", "boolean"]);
    refused("fill = 1.0", "fill = false", &["must be a number"]);
    refused("relative = 0.1", "relative = -1", &["this tolerance is -1", "from 0 on"]);
    refused("relative = 0.1", "relative = \"inf\"", &["this tolerance is inf"]);
    refused("relative = 0.1", "absolute = \"nan\"", &["this tolerance is NaN"]);
    refused("fill = 1.0", "fill = 1e300", &["does not fit an f32"]);
    refused("fill = 1.0", "random = { low = -1e308, high = 1e308 }", &["further than double precision reaches"]);
    refused("fill = 1.0", "random = { low = 0, high = 1e39 }", &["does not fit an f32"]);
    refused("fill = 1.0", "random = { mean = 0, deviation = -1 }", &["must not be negative"]);
    refused("fill = 1.0", "random = { mean = 0, deviation = 1e38 }", &["does not fit an f32"]);
    refused("\"x\", 2.5", "\"x\", 1e39", &["does not fit an f32"]);
}

#[test]
fn arrays_that_are_cut_short() {
    let folder = Folder::new();
    let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }";
    let size = u16::try_from(header.len()).unwrap().to_le_bytes();
    let whole = [b"\x93NUMPY\x01\x00", &size[..], header.as_bytes(), &[0; 16]].concat();
    folder.write("x.npy", &whole);
    succeed(&["run", &folder.launch("fill = 1.0", "file = \"x.npy\"")]);
    folder.write("x.npy", &whole[..whole.len() - 4]);
    let launch = folder.launch("fill = 1.0", "file = \"x.npy\"");
    refused(&["run", &launch], &["x.npy", "says 16 bytes", "there are 12", "cut short"]);
}

#[test]
fn numbers_of_energy_files() {
    let folder = Folder::new();
    let good = fs::read_to_string(root().join("energies/v100.toml")).unwrap();
    let with = |from: &str, to: &str| {
        assert!(good.contains(from), "{from}");
        let path = folder.write("energy.toml", good.replacen(from, to, 1));
        run(&["run", "vectoradd", "--param", "n=256", "--energy-model", &path])
    };
    assert_eq!(with("volts", "volts").status, 0);
    for (from, to, mention) in [
        ("volts = 1.0", "volts = 1e308", "`volts` is"),
        ("volts = 1.0", "volts = 1e-300", "must be from 0.1 to 5"),
        ("volts = 1.0", "volts = nan", "`volts` is NaN"),
        ("core_mhz = 1447.0", "core_mhz = 1e-300", "`core_mhz`"),
        ("sms = 80.0", "sms = inf", "`sms` is inf"),
        ("node_nm = 12.0", "node_nm = -12.0", "`node_nm` is -12"),
        ("die_mm2 = 815.0", "die_mm2 = 0.0", "`die_mm2` is 0"),
        ("idle_sm_watts = 0.282792", "idle_sm_watts = -1.0", "`idle_sm_watts` is -1"),
        ("first_watts = 19.7047", "first_watts = -19.7", "`static_power.int_add.first_watts`"),
        ("added_watts = 0.388579", "added_watts = nan", "`static_power.int_add.added_watts`"),
        ("decode = 5.8784", "decode = -5.0", "`events_pj.decode` is -5"),
        ("decode = 5.8784", "decode = 1e300", "`events_pj.decode`"),
        ("name = \"v100\"", "name = \"\"", "`name` is empty"),
        ("volts = 1.0", "volts = ", "line 8, column"),
    ] {
        let ran = with(from, to);
        assert!(ran.status == 2 && ran.stderr.contains(mention), "{to}: {}: {}", ran.status, ran.stderr);
    }
}

#[test]
fn numbers_of_gpu_descriptions() {
    let folder = Folder::new();
    for (line, mention) in [
        ("clocks.core_mhz = 1e-300", "from 1 to 100000"),
        ("clocks.dram_mhz = inf", "from 1 to 100000"),
        ("clocks.l2_mhz = nan", "from 1 to 100000"),
        ("energy.volts = 1e308", "from 0.1 to 5"),
        ("name = \"\"", "text in quotes"),
    ] {
        let gpu = folder.write("gpu.toml", format!("extends = \"v100\"\n{line}\n"));
        refused(&["run", "vectoradd", "--gpu", &gpu], &["gpu.toml:2:", mention]);
    }
    refused(&["run", "vectoradd", "--set", "clocks.core_mhz=1e-300"], &["from 1 to 100000"]);
}

#[test]
fn configurations_that_are_exchanged_and_names_that_are_none() {
    let fixture = |name: &str| root().join("crates/config/tests/fixtures").join(name).to_str().unwrap().to_owned();
    let (chip, trace) = (fixture("small.gpgpusim.config"), fixture("small.trace.config"));
    succeed(&["import-config", &chip, &trace]);
    refused(&["import-config", &trace, &chip], &["exchanged", "gpgpusim.config first"]);
    refused(&["import-config", &trace], &["no option -gpgpu_"]);
    refused(&["import-config", &chip, "--name", ""], &["--name", "empty"]);
    refused(&["import-config", &chip, "--name", "  "], &["--name", "empty"]);
}

#[test]
fn lists_stay_in_their_folder() {
    let folder = Folder::new();
    let kernel = fs::read(root().join("crates/cli/tests/traces/kernel-1.traceg")).unwrap();
    folder.write("kernel-1.traceg", &kernel);
    for outside in ["../kernel-1.traceg".to_owned(), folder.path("kernel-1.traceg").display().to_string()] {
        let list = folder.write("trace/kernelslist.g", &outside);
        refused(&["run", &list], &["kernelslist.g:1", "in the folder of the list"]);
    }
}

#[test]
fn damage_is_bad_input_wherever_it_is() {
    let folder = Folder::new();
    let at = folder.0.path().to_str().unwrap();
    succeed(&["trace", "vectoradd", "--param", "n=1024", "-q", "-o", at]);
    let good = fs::read(folder.path("trace.wwt")).unwrap();
    // In a block, in the table of contents, in the tail.
    for place in [24, good.len() - 40, good.len() - 20] {
        let mut bad = good.clone();
        bad[place] ^= 0x55;
        let path = folder.write("trace.wwt", &bad);
        let other = folder.path("accelsim");
        refused(&["run", &path], &["trace.wwt, byte"]);
        refused(&["run", &path, "--core", "modern"], &["trace.wwt, byte"]);
        refused(&["trace", &path, "-o", other.to_str().unwrap(), "--format", "accelsim"], &["trace.wwt, byte"]);
        assert!(!other.exists());
    }
}

/// Compressed contents that are no such: the message is ours, not a library's.
#[test]
fn damaged_compression_is_named() {
    let folder = Folder::new();
    let list = folder.write("trace/kernelslist.g", "kernel-1.traceg\n");
    let magics: [(&str, &[u8]); 3] =
        [("gzip", &[0x1f, 0x8b]), ("xz", b"\xfd7zXZ\0"), ("zstd", &[0x28, 0xb5, 0x2f, 0xfd])];
    for (format, magic) in magics {
        folder.write("trace/kernel-1.traceg", [magic, &[0xee; 100]].concat());
        let ran = refused(&["run", &list], &["kernel-1.traceg", &format!("not valid {format} data")]);
        assert!(!ran.stderr.contains("Error") && ran.stderr.len() < 1000, "{}", ran.stderr);
    }
}

/// A line of a megabyte in each kind of input, and as an argument as long as the system allows.
#[test]
fn messages_repeat_little() {
    let folder = Folder::new();
    let long = "x".repeat(1 << 20);
    let files = [
        ("gpu.toml", format!("extends = \"v100\"\n{long} = 1\n")),
        ("gpu.toml", format!("extends = \"v100\"\nsm_count = \"{long}\"\n")),
        ("gpu.toml", format!("extends = \"{long}\"\n")),
        ("gpu.toml", format!("extends = \"v100\"\nsm_count = [{}]\n", "7,".repeat(1 << 19))),
        ("launch.toml", format!("module = \"put.ptx\"\n{long} = 1\n")),
        ("launch.toml", LAUNCH.replace("fill = 1.0", &format!("fill = \"{long}\""))),
        ("launch.toml", LAUNCH.replace("\"put\"", &format!("\"{long}\""))),
        ("launch.toml", format!("{}\n{LAUNCH}", format!("{long} = 1\n").repeat(2))),
        ("launch.toml", (0..10_000).map(|i| format!("key{i} = 1\n")).collect::<String>() + LAUNCH),
        ("kernelslist.g", long.clone()),
        ("long.ptx", format!("{KERNEL}\n.visible .entry {long}\n")),
        ("gpgpusim.config", format!("-gpgpu_n_clusters {long}\n")),
    ];
    for (name, text) in files {
        let path = folder.write(name, text);
        let args = match name {
            "gpu.toml" => vec!["run", "vectoradd", "--gpu", &path],
            "long.ptx" => vec!["inspect", &path],
            "gpgpusim.config" => vec!["import-config", &path],
            _ => vec!["run", &path],
        };
        let ran = run(&args);
        assert!(ran.status == 2, "{name}: {}: {:.500}", ran.status, ran.stderr);
        assert!(ran.stderr.len() < 16 << 10, "{name}: {} bytes: {:.3000}", ran.stderr.len(), ran.stderr);
    }
    let word = &long[..100_000];
    let (set, param) = (format!("sm_count={word}"), format!("{word}=1"));
    for args in [
        vec!["run", word],
        vec!["run", "vectoradd", "--core", word],
        vec!["run", "vectoradd", "--set", &set],
        vec!["run", "vectoradd", "--set", word],
        vec!["run", "vectoradd", "--param", &param],
        vec!["run", "vectoradd", "--gpu", word],
        vec!["run", "vectoradd", "--size", word],
        vec!["list", "cores", word],
        vec!["list", "settings", word],
        vec!["reproduce", word],
        vec![word],
    ] {
        let ran = refused(&args, &[]);
        assert!(ran.stderr.len() < 16 << 10, "{args:.60?}: {} bytes: {:.3000}", ran.stderr.len(), ran.stderr);
    }
}

/// Files say how long they are: what is too long is refused before it is read.
#[test]
fn inputs_have_a_greatest_size() {
    let folder = Folder::new();
    let sparse = |name: &str, bytes: u64| {
        fs::File::create(folder.path(name)).unwrap().set_len(bytes).unwrap();
        folder.path(name).to_str().unwrap().to_owned()
    };
    let (text, code) = (sparse("text.toml", (16 << 20) + 1), sparse("code.ptx", (1 << 30) + 1));
    sparse("data.bin", (16 << 30) + 1);
    refused(&["run", &text], &["16 MiB"]);
    refused(&["run", "vectoradd", "--gpu", &text], &["16 MiB"]);
    refused(&["run", "vectoradd", "--energy-model", &text], &["16 MiB"]);
    refused(&["import-config", &text], &["16 MiB"]);
    refused(&["inspect", &code], &["1 GiB"]);
    refused(&["run", &folder.launch("put.ptx", "code.ptx")], &["code.ptx", "1 GiB"]);
    refused(&["run", &folder.launch("fill = 1.0", "file = \"data.bin\"")], &["data.bin", "16 GiB"]);
}

#[test]
fn comparisons_have_a_greatest_size() {
    let many = |n: u32| (1..=n).map(|i| i.to_string()).collect::<Vec<_>>().join(",");
    let vary = format!("launch.kernel_latency_cycles={}", many(1025));
    refused(&["compare", "vectoradd", "--vary", &vary], &["1025 columns", "1024 at most"]);
    let (one, two) = (format!("sm_count={}", many(1000)), format!("l2.latency_cycles={}", many(1000)));
    refused(&["compare", "vectoradd", "--vary", &one, "--vary", &two], &["1000000 columns", "1024 at most"]);
    let thousand = format!("launch.kernel_latency_cycles={}", many(1000));
    // One file by many names.
    let saxpy = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/launch/");
    let workloads: Vec<String> = (0..70).map(|i| format!("{saxpy}{}saxpy.toml", "./".repeat(i))).collect();
    let workloads: Vec<&str> = workloads.iter().map(String::as_str).collect();
    refused(&[&["compare"], &workloads[..], &["--vary", &thousand]].concat(), &["70 workloads", "65536 runs at most"]);
}

#[test]
fn settings_are_listed_as_they_are_set() {
    for name in ["sm.l1d.cache.ways", "sm.sass_timing.int_add.unit", "sm.units.sp.count", "clocks.core_mhz"] {
        let text = succeed(&["list", "settings", name]);
        assert!(text.contains(name), "{text}");
    }
    let table = succeed(&["list", "settings", "sm.l1d.cache"]);
    assert!(table.contains("sm.l1d.cache.sets") && table.contains("sm.l1d.cache.ways"), "{table}");
    assert_eq!(succeed(&["list", "settings", "l1d"]), succeed(&["list", "settings", "sm.l1d"]), "a part of keys");
    assert_eq!(succeed(&["list", "settings", "<cache>.ways", "sm_count", "--json"]).matches("\"key\"").count(), 2);
    refused(&["list", "settings", "sm.l1d.cache.wayz"], &["did you mean `sm.l1d.cache.ways`"]);
}

#[test]
fn spellings_that_mean_the_same() {
    for branches in ["flush", "sequential_flush"] {
        succeed(&["run", "vectoradd", "--param", "n=256", "--branches", branches, "-q"]);
        succeed(&["run", "vectoradd", "--param", "n=256", "--set", &format!("sm.frontend.branches={branches}"), "-q"]);
    }
    for option in ["--gpu", "--gpus"] {
        refused(&["compare", "vectoradd", option, "v10"], &["did you mean `v100`"]);
    }
}

#[test]
fn the_commit_is_named() {
    let version = succeed(&["--version"]);
    let report = succeed(&["run", "vectoradd", "--param", "n=256"]);
    let program = report.lines().last().unwrap();
    assert_eq!(version.trim(), program);
    let commit = version.trim().strip_suffix(')').and_then(|text| text.rsplit_once('(')).map(|(_, commit)| commit);
    for args in [
        vec!["run", "vectoradd", "--param", "n=256", "--json"],
        vec!["compare", "vectoradd", "--param", "n=256", "--json", "-q"],
        vec!["list", "gpus", "--json"],
        vec!["inspect", "vectoradd", "--json"],
    ] {
        let json: serde_json::Value = serde_json::from_str(&succeed(&args)).unwrap();
        assert_eq!(json["commit"].as_str(), commit, "{args:?}");
    }
}

/// No line of what most people see is wider than a terminal.
#[test]
fn lines_fit_a_terminal() {
    let compared = ["compare", "all", "--param", "n=256", "--schedulers", "lrr,gto", "--max-cycles", "1"];
    for args in [&["run", "vectoradd", "--param", "n=256"][..], &["run", "matmul", "--gpu", "gtx480"], &compared] {
        let text = run(args).stdout;
        for line in text.lines().filter(|line| !line.starts_with("failed:")) {
            assert!(line.chars().count() <= 80, "{args:?}: {} columns: {line}", line.chars().count());
        }
    }
}
