//! A walk through what users get wrong: each ends with a clear message and the right status, and
//! nothing panics.

use crate::common;

use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// A folder with a kernel and things that are none.
struct Folder(TempDir);

const SAXPY: &str = "\
.version 7.0
.target sm_70
.address_size 64

.visible .entry saxpy(.param .f32 a, .param .u64 x, .param .u64 y, .param .u32 n)
{
    .reg .pred %p1;
    .reg .f32 %f<5>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<8>;

    ld.param.f32 %f1, [a];
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [y];
    ld.param.u32 %r5, [n];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r1, %r2, %r3;
    setp.ge.u32 %p1, %r4, %r5;
    @%p1 bra $done;
    mul.wide.u32 %rd3, %r4, 4;
    add.s64 %rd4, %rd1, %rd3;
    add.s64 %rd5, %rd2, %rd3;
    ld.global.f32 %f2, [%rd4];
    ld.global.f32 %f3, [%rd5];
    fma.rn.f32 %f4, %f1, %f2, %f3;
    st.global.f32 [%rd5], %f4;
$done:
    ret;
}
";

/// A launch file whose parts a test may replace.
struct Launch {
    module: &'static str,
    kernel: &'static str,
    grid: &'static str,
    block: &'static str,
    args: &'static str,
    length: &'static str,
    output: &'static str,
}

const GOOD: Launch = Launch {
    module: "saxpy.ptx",
    kernel: "saxpy",
    grid: "4",
    block: "64",
    args: r#"2.0, "x", "y", 256"#,
    length: "256",
    output: r#"compare = "3""#,
};

impl Folder {
    fn new() -> Self {
        let folder = Self(TempDir::new().unwrap());
        folder.write("saxpy.ptx", SAXPY);
        folder.write("empty", "");
        folder.write("truncated.ptx", &SAXPY[..SAXPY.len() / 2]);
        folder.write("syntax.ptx", &SAXPY.replace("mad.lo.s32 %r4, %r1, %r2, %r3;", "mad.lo.s32 %r4, %r1 %r2, %r3;"));
        folder.write(
            "texture.ptx",
            &SAXPY.replace("fma.rn.f32 %f4, %f1, %f2, %f3;", "sured.b.add.1d.u32.trap [%rd4, {7}], 1;"),
        );
        fs::write(folder.path("binary"), [0x7f, b'E', b'L', b'F', 0, 0xff, 0xfe, 0, 1, 2, 3]).unwrap();
        fs::create_dir(folder.path("directory")).unwrap();
        folder
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    fn write(&self, name: &str, text: &str) -> String {
        fs::write(self.path(name), text).unwrap();
        self.path(name)
    }

    fn launch(&self, l: &Launch) -> String {
        let Launch { module, kernel, grid, block, args, length, output } = l;
        let text = format!(
            r#"module = "{module}"
[buffers.x]
type = "f32"
length = {length}
fill = 1.0
[buffers.y]
type = "f32"
length = {length}
fill = 1.0
[[launch]]
kernel = "{kernel}"
grid = {grid}
block = {block}
args = [{args}]
[[output]]
buffer = "y"
{output}
"#
        );
        self.write("launch.toml", &text)
    }
}

/// Runs and expects a failure with `status` whose message holds each of `mentions`.
#[track_caller]
fn fails(status: i32, args: &[&str], mentions: &[&str]) {
    let ran = common::run(args);
    let told = &ran.stderr;
    assert!(!told.contains("panicked") && !told.contains("RUST_BACKTRACE"), "{args:?} panics:\n{told}");
    assert_eq!(ran.status, status, "{args:?}\n{}\n{told}", ran.stdout);
    for mention in mentions {
        assert!(told.contains(mention), "{args:?} does not mention `{mention}`:\n{told}");
    }
}

#[track_caller]
fn launch_fails(status: i32, launch: &Launch, mentions: &[&str]) {
    let folder = Folder::new();
    fails(status, &["run", &folder.launch(launch)], mentions);
}

#[test]
fn the_good_launch_file_is_good() {
    let folder = Folder::new();
    let text = common::succeed(&["run", &folder.launch(&GOOD)]);
    assert!(text.contains("correct"), "{text}");
}

#[test]
fn usage() {
    fails(2, &[], &["Usage"]);
    fails(2, &["rum", "matmul"], &["rum", "run"]);
    fails(2, &["run"], &["WORKLOAD"]);
    fails(2, &["run", "matmul", "--seed", "minus one"], &["--seed", "minus one"]);
    fails(2, &["run", "matmul", "--time", "some"], &["--time", "`some` chooses nothing", "kernels=3,7..9"]);
    fails(2, &["run", "matmul", "--time", "kernels=9..7"], &["the last is before the first"]);
    fails(2, &["exec", "--time", "ctas=x", "--", "true"], &["--time", "`x` is not a number"]);
    fails(2, &["run", "matmul", "--size", "huge"], &["--size", "huge", "small"]);
    fails(2, &["run", "matmul", "--max-cycles", "-1"], &["-1"]);
    fails(2, &["run", "matmul", "--max-registers", "32"], &["--registers"]);
    fails(2, &["run", "matmul", "--registers", "some"], &["hazard-free"]);
    fails(2, &["run", "matmul", "--registers", "allocated", "--code", "sass"], &["machine code has its registers"]);
    fails(2, &["run", "matmul", "--registers", "allocated", "--max-registers", "3"], &["fit into 3 registers"]);
    fails(2, &["compare", "matmul", "--jobs", "0"], &["--threads"]);
    fails(2, &["compare"], &["WORKLOAD"]);
    fails(2, &["list", "fruits"], &["fruits", "gpus"]);
    fails(2, &["list", "cores", "gost"], &["gost", "did you mean `ghost`?"]);
}

#[test]
fn names() {
    fails(2, &["run", "matmul", "--core", "loog+scalar"], &["renames registers", "inorder+scalar"]);
    fails(2, &["run", "matmul", "--core", "inorder+half"], &["`inorder+scalar+half`"]);
    fails(2, &["run", "matmul", "--core", "ghost+scaler"], &["`scaler`", "scalar"]);
    fails(2, &["run", "matmull"], &["matmull", "did you mean `matmul`"]);
    fails(2, &["run", "matmul", "--gpu", "v10"], &["v10", "did you mean `v100`"]);
    fails(2, &["run", "matmul", "--core", "inordr"], &["inordr", "did you mean `inorder`"]);
    fails(2, &["run", "matmul", "--scheduler", "gtoo"], &["gtoo", "did you mean `gto`"]);
    fails(2, &["run", "matmul", "--set", "sm.max_warp=8"], &["sm.max_warp", "did you mean `sm.max_warps`"]);
    fails(2, &["run", "vectoradd", "--param", "blok=8"], &["blok", "did you mean `block`"]);
    fails(2, &["compare", "matmul", "bfss"], &["bfss", "did you mean `bfs`"]);
    fails(2, &["compare", "matmul", "--gpus", "v100,rtx3080"], &["rtx3080", "did you mean `rtx3070`"]);
    fails(2, &["compare", "matmul", "--schedulers", "gto,lr"], &["lr", "did you mean `lrr`"]);
    fails(2, &["compare", "matmul", "--vary", "sm.issue.schedulers"], &["--vary", "KEY=A,B"]);
}

#[test]
fn changes_to_the_gpu() {
    let run = ["run", "vectoradd", "--gpu", "v100"];
    let with = |more: &[&'static str], mentions: &[&str]| fails(2, &[&run[..], more].concat(), mentions);
    with(&["--warps-per-sm", "x4"], &["256", "128 at most", "--warps-per-sm 128"]);
    with(&["--warps-per-sm", "129"], &["129", "128 at most"]);
    with(&["--warps-per-sm", "x0.3"], &["19.2", "not a whole number"]);
    with(&["--warps-per-sm", "lots"], &["--warps-per-sm", "x2 or x0.5"]);
    with(&["--register-file", "x0.001"], &["not a whole number"]);
    with(&["--register-file", "64"], &["sm.registers", "less than one warp"]);
    with(&["--instruction-buffer", "1"], &["instructions_per_fetch", "sm.frontend.buffer_entries"]);
    with(&["--branches", "guess"], &["guess", "oracle"]);
    with(&["--branches", "oracle,stall"], &["one machine at a time", "warpwright compare"]);
}

#[test]
fn values() {
    fails(2, &["run", "matmul", "--param", "n"], &["--param", "NAME=VALUE"]);
    fails(2, &["run", "matmul", "--param", "n=big"], &["n=big"]);
    fails(2, &["run", "matmul", "--param", "n=0"], &["`n`", "is 0", "from 1"]);
    fails(2, &["run", "matmul", "--param", "n=64", "--param", "n=65"], &["n", "twice"]);
    fails(2, &["run", "matmul", "--set", "sm.max_warps"], &["sm.max_warps"]);
    fails(2, &["run", "matmul", "--set", "sm.max_warps=0"], &["sm.max_warps", "0"]);
    fails(2, &["run", "matmul", "--set", "sm.max_warps=many"], &["sm.max_warps", "many"]);
    fails(2, &["compare", "matmul", "--vary", "sm.issue.schedulers=1,0"], &["sm.issue.schedulers", "0"]);
}

#[test]
fn files_of_other_kinds_are_named() {
    let folder = Folder::new();
    for (name, text, what) in [
        (
            "k.cu",
            "__global__ void k(float* a) { a[threadIdx.x] += 1; }",
            &["is CUDA C++", "nvcc", "warpwright docs launch-files"][..],
        ),
        ("r.json", "{\"a\": [1,\n2]}", &["is JSON"]),
        ("s.py", "import os\nprint(1)\n", &["is a script", "exec -- python"]),
        ("t.csv", "a,b\n1,2\n", &["is an output"]),
        ("h.cpp", "int main() {}\n", &["compile it"]),
        ("gpu.toml", "extends = \"v100\"\n", &["is a GPU description", "--gpu"]),
        ("figure.toml", "[[part]]\n", &["is an experiment", "sweep"]),
        ("gpgpusim.config", "-gpgpu_n_clusters 80\n", &["is a configuration of Accel-Sim", "import-config"]),
        // By the text only.
        ("cuda", "extern \"C\" __global__ void k() {}\n", &["is CUDA C++"]),
        ("report", "{\n  \"schema\": 2\n}\n", &["is JSON"]),
    ] {
        let path = folder.write(name, text);
        let program = format!("{}/./{name}", folder.path("."));
        let commands: [&[&str]; 5] = [
            &["run", &path],
            &["compare", &path],
            &["inspect", &path],
            &["exec", "--", &program],
            &["run", "vectoradd", "--gpu", &path],
        ];
        // A description is none of a GPU only if it is of something else.
        let wrong = if name == "gpu.toml" { 4 } else { 5 };
        for words in &commands[..wrong] {
            fails(2, words, what);
            assert_eq!(common::run(words).stderr.lines().count(), 1, "{words:?}");
        }
    }
    fails(2, &["run", &folder.write("README.md", "# Read me\n")], &["is text, but not a launch file"]);
    let launch = folder.launch(&GOOD);
    fails(2, &["inspect", &launch], &["is a launch file", "warpwright run"]);
    fails(2, &["run", "vectoradd", "--gpu", &launch], &["is not a GPU description. It is a launch file"]);
    // Executable or not: machine code of a GPU is never started.
    use std::os::unix::fs::PermissionsExt as _;
    let cubin = folder.path("k.cubin");
    let code = format!("{}/../workloads/kernels/cubin/sm_75/vectoradd.cubin", env!("CARGO_MANIFEST_DIR"));
    fs::copy(code, &cubin).unwrap();
    for mode in [0o644, 0o755] {
        fs::set_permissions(&cubin, fs::Permissions::from_mode(mode)).unwrap();
        fails(2, &["run", &cubin], &["machine code has no grids and arguments", "launch file"]);
        fails(2, &["exec", "--", &cubin], &["is machine code of a GPU, not a program"]);
    }
}

#[test]
fn messages_of_launches_say_it_once() {
    let folder = Folder::new();
    let said = |launch: &Launch, parts: &[&str]| {
        let path = folder.launch(launch);
        fails(2, &["run", &path], parts);
        let text = common::run(&["run", &path]).stderr;
        assert_eq!(text.matches("kernel `saxpy`").count(), 1, "{text}");
    };
    said(&Launch { block: "[64, 32]", ..GOOD }, &["(64,32,1)"]);
    said(&Launch { args: r#"2.0, "x", "y""#, ..GOOD }, &["takes 4"]);
    let path = folder.write(
        "shared.toml",
        &fs::read_to_string(folder.launch(&GOOD)).unwrap().replace("grid = 4", "grid = 4\nshared = 1024"),
    );
    fails(2, &["run", &path], &["did you mean `shared_bytes`?"]);
}

#[test]
fn files_that_are_no_launch_files() {
    let folder = Folder::new();
    fails(2, &["run", &folder.path("absent.toml")], &["absent.toml", "No such file"]);
    fails(2, &["run", &folder.path("directory")], &["directory", "launch file"]);
    fails(2, &["run", &folder.path("empty")], &["empty"]);
    fails(2, &["run", &folder.path("binary")], &["binary"]);
    fails(2, &["run", &folder.path("saxpy.ptx")], &["saxpy.ptx", "launch file", "inspect"]);
    let library = format!("{}/../lower/tests/data/host.elf", env!("CARGO_MANIFEST_DIR"));
    fails(2, &["run", &library], &["is a library", "launch file", "inspect"]);
    let misspelt = folder.write("misspelt.toml", "modul = \"saxpy.ptx\"\n");
    fails(2, &["run", &misspelt], &["misspelt.toml:1:1", "modul", "module"]);
    let torn = folder.write("torn.toml", "module = \"saxpy.ptx\n");
    fails(2, &["run", &torn], &["torn.toml:1:"]);
    fails(2, &["run", &folder.launch(&GOOD), "--size", "small"], &["--size", "bundled workloads"]);
    fails(2, &["run", &folder.launch(&GOOD), "--param", "m=1"], &["`m`"]);
}

#[test]
fn modules_of_launch_files() {
    launch_fails(2, &Launch { module: "absent.ptx", ..GOOD }, &["absent.ptx"]);
    launch_fails(2, &Launch { module: "directory", ..GOOD }, &["directory"]);
    launch_fails(2, &Launch { module: "empty", ..GOOD }, &["empty"]);
    launch_fails(2, &Launch { module: "binary", ..GOOD }, &["binary"]);
    launch_fails(2, &Launch { module: "truncated.ptx", ..GOOD }, &["truncated.ptx:"]);
    launch_fails(2, &Launch { module: "syntax.ptx", ..GOOD }, &["syntax.ptx:19:", "^"]);
    launch_fails(2, &Launch { module: "texture.ptx", ..GOOD }, &["texture.ptx:27:", "sured"]);
}

#[test]
fn launches() {
    launch_fails(2, &Launch { kernel: "saxpi", ..GOOD }, &["saxpi", "saxpy"]);
    launch_fails(2, &Launch { args: r#"2.0, "x", "y""#, ..GOOD }, &["saxpy", "4", "3"]);
    launch_fails(2, &Launch { args: r#"2.0, "x", "y", 256, 1"#, ..GOOD }, &["saxpy", "4", "5"]);
    launch_fails(2, &Launch { args: r#"2.0, "x", "z", 256"#, ..GOOD }, &["`z`"]);
    launch_fails(2, &Launch { grid: "0", ..GOOD }, &["grid", "0"]);
    launch_fails(2, &Launch { block: "0", ..GOOD }, &["block", "0"]);
    launch_fails(2, &Launch { block: "1025", ..GOOD }, &["1025", "1024"]);
    launch_fails(2, &Launch { block: "[32, 33]", ..GOOD }, &["(32,33,1)", "1024"]);
    launch_fails(2, &Launch { grid: "[1, 70000]", ..GOOD }, &["70000", "65535"]);
}

#[test]
fn runs_that_go_wrong_end_with_status_1() {
    launch_fails(1, &Launch { length: "128", ..GOOD }, &["saxpy", "out-of-bounds", "`x`"]);
    let folder = Folder::new();
    let wrong = common::run(&["run", &folder.launch(&Launch { output: r#"compare = "4""#, ..GOOD })]);
    assert_eq!(wrong.status, 1, "{}", wrong.stderr);
    assert!(wrong.stdout.contains("WRONG"), "{}", wrong.stdout);
}

#[test]
fn a_livelock_names_the_loop_and_what_it_polls() {
    let folder = Folder::new();
    folder.write(
        "spin.ptx",
        ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry spin(.param .u64 p)\n{\n\
         .reg .pred %q;\n.reg .b32 %r<3>;\n.reg .b64 %p;\nld.param.u64 %p, [p];\nmov.u32 %r2, 0;\n$wait:\n\
         ld.volatile.global.u32 %r1, [%p+4];\nsetp.eq.u32 %q, %r1, %r2;\n@%q bra $wait;\nret;\n}\n",
    );
    let text = "module = \"spin.ptx\"\n[buffers.flags]\ntype = \"u32\"\nlength = 4\nfill = 0\n\
                [[launch]]\nkernel = \"spin\"\ngrid = 1\nblock = 64\nargs = [\"flags\"]\n";
    let launch = folder.write("spin.toml", text);
    let parts = ["livelock", "`spin`", "ld.volatile.global.u32 %r1, [%p+4]", "spin.ptx:12", "= 0x0", "2 warps"];
    fails(1, &["run", &launch, "--livelock-cycles", "20000"], &parts);
    // Without the watchdog only the limit on cycles ends it, and that is no failure.
    common::succeed(&["run", &launch, "--livelock-cycles", "0", "--max-cycles", "200000"]);
}

#[test]
fn a_deadlock_names_who_waits_for_what() {
    let folder = Folder::new();
    let barriers = "\
.version 7.0
.target sm_70
.address_size 64
.visible .entry stuck()
{
    .reg .pred %p1;
    .reg .b32 %r1;
    mov.u32 %r1, %tid.x;
    setp.lt.u32 %p1, %r1, 32;
    @%p1 bra $low;
    bar.sync 2, 64;
$low:
    bar.sync 1, 64;
    ret;
}
";
    folder.write("stuck.ptx", barriers);
    let text = "module = \"stuck.ptx\"\n[[launch]]\nkernel = \"stuck\"\ngrid = 1\nblock = 64\nargs = []\n";
    let launch = folder.write("stuck.toml", text);
    fails(
        1,
        &["run", &launch],
        &["deadlock", "warp 0", "barrier 1", "stuck.ptx:13)", "warp 1", "barrier 2", "stuck.ptx:11)"],
    );
    let ran = common::run(&["run", &launch]);
    assert!(ran.stdout.contains("failed"), "{}", ran.stdout);
    fails(1, &["run", &launch, "--quiet"], &["deadlock"]);
    // An unknown kernel name does not hide the cause of the failure.
    fails(1, &["profile", &launch, "--kernel", "other"], &["deadlock", "--kernel other: no such kernel ran"]);
}

/// A folder of its own with a list and, maybe, the first kernel's file.
fn trace(folder: &Folder, name: &str, list: &[u8], kernel: Option<(&str, &[u8])>) -> String {
    fs::create_dir(folder.path(name)).unwrap();
    fs::write(Path::new(&folder.path(name)).join("kernelslist.g"), list).unwrap();
    if let Some((file, content)) = kernel {
        fs::write(Path::new(&folder.path(name)).join(file), content).unwrap();
    }
    folder.path(name)
}

const KERNEL: &str = include_str!("traces/kernel-1.traceg");
const KERNEL_XZ: &[u8] = include_bytes!("traces/kernel-1.traceg.xz");
const LIST: &[u8] = b"MemcpyHtoD,0x1000,64\nkernel-1.traceg\n";
const GARBAGE: &[u8] = &[0x7f, b'E', b'L', b'F', 0, 0xff, 0xfe, b'\n', 1, 2, 3];

#[test]
fn lists_of_traces() {
    let folder = Folder::new();
    let trace = |name: &str, list: &[u8], kernel| trace(&folder, name, list, kernel);
    let empty = trace("no-kernel", b"\nMemcpyHtoD,0x1000,64\n", None);
    fails(2, &["run", &empty], &["no-kernel/kernelslist.g", "names no kernel"]);
    let garbage = trace("garbage", GARBAGE, None);
    fails(2, &["run", &garbage], &["garbage/kernelslist.g:1:", "not a command", "MemcpyHtoD"]);
    let copy = trace("copy", b"kernel-1.traceg\nMemcpyHtoD,everything\n", None);
    fails(2, &["run", &copy], &["copy/kernelslist.g:2:", "MemcpyHtoD,everything"]);
    let missing = trace("missing", LIST, None);
    fails(2, &["run", &missing], &["missing/kernel-1.traceg", "cannot be opened", "named in", "kernelslist.g"]);
    let directory = trace("names-a-directory", LIST, None);
    fs::create_dir(Path::new(&directory).join("kernel-1.traceg")).unwrap();
    fails(2, &["run", &directory], &["names-a-directory/kernel-1.traceg", "directory"]);
    fails(2, &["run", &folder.path("absent.g")], &["absent.g", "No such file"]);
    fails(2, &["run", &folder.path("directory")], &["directory", "kernelslist.g"]);
    // Of a comparison, the runs that could not be made are shown as such.
    fails(1, &["compare", &missing, "--schedulers", "lrr"], &[]);
}

#[test]
fn kernel_files_of_traces() {
    let folder = Folder::new();
    let run = |name: &str, file: &str, content: &[u8], mentions: &[&str]| {
        fails(2, &["run", &trace(&folder, name, LIST, Some((file, content)))], mentions);
    };
    let plain = "kernel-1.traceg";
    run("empty-kernel", plain, b"", &["empty-kernel/kernel-1.traceg", "ends before"]);
    run("garbage-kernel", plain, GARBAGE, &["kernel-1.traceg:1:", "hint"]);
    let cut = &KERNEL[..KERNEL.find("0030").unwrap()];
    run("cut", plain, cut.as_bytes(), &["cut/kernel-1.traceg:26", "the warp lacks 1 instruction", "cut short"]);
    let cut = &KERNEL_XZ[..KERNEL_XZ.len() / 2];
    run("cut-xz", "kernel-1.traceg.xz", cut, &["kernel-1.traceg.xz:", "cannot be read on", "cut short"]);
    let change = |from: &str, to: &str| KERNEL.replace(from, to).into_bytes();
    let wide = change("block dim = (32,1,1)", "block dim = (32,64,1)");
    run("wide", plain, &wide, &["wide/kernel-1.traceg", "2048 threads"]);
    let large = change("shmem = 0", "shmem = 200000");
    run("large", plain, &large, &["tiny", "200000 bytes of shared memory", "rtx2060s"]);
    let torn = change("IADD3 1 R1 0 0", "IADD3 one R1 0 0");
    run("torn", plain, &torn, &["torn/kernel-1.traceg:24:", "a number of registers", "IADD3"]);
    let lanes = change("0020 ffffffff", "0020 fffffffff");
    run("lanes", plain, &lanes, &["lanes/kernel-1.traceg:25:", "active mask"]);
    let twice = change("grid dim = (1,1,1)", "grid dim = (2,1,1)");
    run("fewer-ctas", plain, &twice, &["has 1 CTA, its grid 2"]);
}

#[test]
fn architectures_of_traces() {
    let folder = Folder::new();
    let mixed =
        trace(&folder, "mixed", b"kernel-1.traceg\nkernel-2.traceg\n", Some(("kernel-1.traceg", KERNEL.as_bytes())));
    let ampere = KERNEL.replace("binary version = 75", "binary version = 80").replace("name = tiny", "name = other");
    fs::write(Path::new(&mixed).join("kernel-2.traceg"), ampere).unwrap();
    let both = ["other", "sm_80 (Ampere)", "rtx2060s is sm_75 (Turing)", "option any_architecture"];
    fails(2, &["run", &mixed], &both);
    fails(2, &["run", &mixed, "--gpu", "v100"], &["tiny is machine code for sm_75", "other is machine code for sm_80"]);
    let text = common::succeed(&["run", &mixed, "--any-architecture"]);
    assert!(text.contains("Remarks") && text.contains("other is machine code for sm_80"), "{text}");
}

#[test]
fn options_that_traces_do_not_have() {
    let folder = Folder::new();
    let good = trace(&folder, "good", LIST, Some(("kernel-1.traceg", KERNEL.as_bytes())));
    fails(2, &["run", &good, "--seed", "3"], &["--seed", "trace"]);
    fails(2, &["run", &good, "--param", "n=3"], &["--param", "trace"]);
    let kernel = Path::new(&good).join("kernel-1.traceg");
    fails(2, &["run", kernel.to_str().unwrap()], &["kernel-1.traceg", "one kernel", "kernelslist.g"]);
    let archive = folder.write("traces.tar.xz", "");
    fails(2, &["run", &archive], &["archive", "unpack"]);
}

#[test]
fn references_of_accelsim() {
    let folder = Folder::new();
    let validate =
        |reference: &str| ["validate".to_owned(), "accelsim".to_owned(), reference.to_owned(), folder.path("")];
    let fails = |reference: &str, mentions: &[&str]| {
        let args = validate(reference);
        fails(2, &args.each_ref().map(String::as_str), mentions);
    };
    fails(&folder.path("absent"), &["absent/accelsim_cycles.csv", "cannot be read"]);
    folder.write("accelsim_cycles.csv", "trace,config\n");
    fails(&folder.path(""), &["accelsim_cycles.csv:1:", "host_rss_mib"]);
}

#[test]
fn gpu_descriptions() {
    let folder = Folder::new();
    let gpu = |path: &str| ["run".to_owned(), "vectoradd".to_owned(), "--gpu".to_owned(), path.to_owned()];
    let fails = |path: &str, mentions: &[&str]| {
        let args = gpu(path);
        fails(2, &args.each_ref().map(String::as_str), mentions);
    };
    fails(&folder.path("absent.toml"), &["absent.toml"]);
    fails(&folder.path("directory"), &["directory"]);
    fails(&folder.path("empty"), &["empty"]);
    fails(&folder.path("binary"), &["binary", "not UTF-8"]);
    fails(&folder.path("saxpy.ptx"), &["saxpy.ptx", "is not a GPU description. It is PTX"]);
    let impossible = "extends = \"v100\"\nsm_count = 0\nsm.max_warps = 1000\nclocks.core_mhz = -5.0\n";
    fails(&folder.write("gpu.toml", impossible), &["gpu.toml:2:", "gpu.toml:3:", "gpu.toml:4:", "sm_count"]);
    let unknown = "extends = \"v100\"\nsm_cuont = 3\n";
    fails(&folder.write("gpu.toml", unknown), &["gpu.toml:2:", "did you mean `sm_count`"]);
}

#[test]
fn fabrics() {
    let grid = ["8 units on its perimeter", "12 special units", "int_dividers", "at most 7 fit"];
    for command in [&["run", "nn", "--core"][..], &["compare", "nn", "--cores"], &["inspect", "nn", "--core"]] {
        let with = |core| [command, &[core]].concat();
        fails(2, &with("sgmf:columns=3,rows=3"), &grid);
        fails(2, &with("sgmf:rows=0"), &["sgmf", "`rows` is 3 to 32, and `0` is not"]);
        fails(2, &with("sgmf:columns=10,control_columns=9"), &["`control_columns` is at most 8, not 9"]);
        fails(2, &with("sgmf:colums=3"), &["sgmf", "`colums`", "columns"]);
        fails(2, &with("sgmf:"), &["sgmf"]);
        fails(2, &with("sgmf+scalar"), &["sgmf", "not an SM"]);
    }
    fails(2, &["inspect", "nn", "--core", "inorder"], &["`inorder` has no fabric", "sgmf"]);
    let few = "sgmf:columns=3,rows=3,int_dividers=0,fp_dividers=1,roots=1";
    fails(2, &["run", "nn", "--core", few], &["distances", "compute units: 2 needed, 1 available", "control_columns"]);
    fails(2, &["run", "nn", "--core", "sgmf", "--code", "sass"], &["distances", "machine code", "choose the code ptx"]);
    let folder = Folder::new();
    let ptx = folder.path("saxpy.ptx");
    for (file, mentions) in [("empty", &["empty"][..]), ("binary", &["binary"]), ("directory", &["directory"])] {
        fails(2, &["inspect", &folder.path(file), "--fabric"], mentions);
    }
    fails(2, &["inspect", &ptx, "--fabric", "--kernel", "saxpi"], &["saxpi", "did you mean `saxpy`"]);
    fails(2, &["inspect", "nn", "--fabric", "--sm", "75"], &["machine code", "PTX"]);
    let cubin = format!("{}/../sass/tests/data/axpy.sm_75.cubin", env!("CARGO_MANIFEST_DIR"));
    fails(2, &["inspect", &cubin, "--fabric"], &["axpy.sm_75.cubin", "not from machine code"]);
    let trace = format!("{}/../../examples/traces/vectoradd", env!("CARGO_MANIFEST_DIR"));
    fails(2, &["inspect", &trace, "--fabric"], &["vectoradd", "is a trace", "PTX"]);
    fails(2, &["run", &trace, "--core", "sgmf", "--any-architecture"], &["a trace has none", "run the program itself"]);
    fails(2, &["inspect", "bfs", "--svg", &folder.path("both.svg")], &["both.svg", "2 kernels", "--kernel"]);
    fails(2, &["inspect", &ptx, "--svg", &folder.path("absent/one.svg")], &["one.svg"]);
    fails(2, &["inspect", &ptx, "--svg", &folder.path("empty")], &["--svg", "folder"]);
    assert!(!fs::exists(folder.path("both.svg")).unwrap());
}

#[test]
fn inspect() {
    let folder = Folder::new();
    fails(2, &["inspect", &folder.path("absent.ptx")], &["absent.ptx"]);
    fails(2, &["inspect", &folder.path("directory")], &["directory"]);
    fails(2, &["inspect", &folder.path("empty")], &["empty"]);
    fails(2, &["inspect", &folder.path("binary")], &["binary"]);
    fails(2, &["inspect", &folder.path("saxpy.ptx"), "--kernel", "saxpi"], &["saxpi", "did you mean `saxpy`"]);
    fails(2, &["inspect", &folder.path("directory"), "--kernel", ""], &["directory"]);
    fails(2, &["inspect", &folder.path("saxpy.ptx"), "--code"], &["saxpy.ptx", "not machine code"]);
    fails(2, &["inspect", "matmul", "--sm", "60"], &["matmul", "sm_60", "sm_70"]);
    fails(2, &["inspect", "matmul", "--sm", "turing"], &["turing", "sm_75"]);
    let cubin = include_bytes!("../../sass/tests/data/axpy.sm_75.cubin");
    for (name, file) in [("short.cubin", &cubin[..1000]), ("host", &fs::read("/proc/self/exe").unwrap()[..])] {
        let path = folder.path(name);
        fs::write(&path, file).unwrap();
        fails(2, &["inspect", &path], &[name]);
    }
    let path = folder.path("axpy.cubin");
    fs::write(&path, cubin).unwrap();
    fails(2, &["inspect", &path, "--sm", "86"], &["axpy.cubin", "sm_86", "cubin for sm_75"]);
    fails(2, &["inspect", &path, "--kernel", "apxy"], &["apxy", "axpy"]);
    // The valid parts are shown together with the errors.
    for (file, place) in [("truncated.ptx", "truncated.ptx:"), ("syntax.ptx", "syntax.ptx:19:")] {
        let ran = common::run(&["inspect", &folder.path(file)]);
        assert_eq!(ran.status, 2, "{file}: {}", ran.stderr);
        assert!((ran.stdout + &ran.stderr).contains(place), "{file}");
    }
    let ran = common::run(&["inspect", &folder.path("texture.ptx")]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("texture.ptx:27:") && ran.stdout.contains("sured"), "{}", ran.stdout);
}

#[test]
fn import_config() {
    let folder = Folder::new();
    fails(2, &["import-config", &folder.path("absent.config")], &["absent.config"]);
    fails(2, &["import-config", &folder.path("directory")], &["directory"]);
    fails(2, &["import-config", &folder.path("empty")], &["empty", "no options"]);
    fails(2, &["import-config", &folder.path("binary")], &["binary", "not UTF-8"]);
    let wrong = folder.write("wrong.config", "-gpgpu_n_clusters many\n");
    fails(2, &["import-config", &wrong], &["-gpgpu_n_clusters", "many"]);
}

#[test]
fn places_that_cannot_be_written() {
    let folder = Folder::new();
    let nowhere = Path::new(&folder.path("absent")).join("report.json");
    let json = format!("--json={}", nowhere.display());
    fails(2, &["run", "vectoradd", "--param", "n=256", &json], &["report.json"]);
}
