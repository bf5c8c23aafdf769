//! Bounds on what one run may take of this computer: memory of threads, kernels of a module.

use crate::common;

use std::fmt::Write;
use std::fs;
use tempfile::TempDir;

const HEADER: &str = ".version 7.0\n.target sm_70\n.address_size 64\n";

/// A kernel whose threads each have `bytes` of local memory.
fn with_local_memory(bytes: u64) -> String {
    format!(
        "{HEADER}.visible .entry k(.param .u64 p)\n{{\n.local .align 4 .b8 place[{bytes}];\n.reg .b32 %r<3>;\n\
         .reg .b64 %rd<2>;\nld.param.u64 %rd1, [p];\nmov.u32 %r1, 7;\nst.local.u32 [place], %r1;\n\
         ld.local.u32 %r2, [place];\nst.global.u32 [%rd1], %r2;\nret;\n}}\n"
    )
}

fn run(folder: &TempDir, kernel: &str, grid: u32, block: u32, length: &str) -> common::Ran {
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(path("k.ptx"), kernel).unwrap();
    let launch = format!(
        "module = \"k.ptx\"\n[buffers.out]\ntype = \"u32\"\n{length}\n[[launch]]\nkernel = \"k\"\n\
         grid = {grid}\nblock = {block}\nargs = [\"out\"]\n[[output]]\nbuffer = \"out\"\nprint = 1\n"
    );
    fs::write(path("k.toml"), launch).unwrap();
    common::run(&["run", &path("k.toml")])
}

#[test]
fn local_memory_of_a_thread_and_of_all() {
    let folder = TempDir::new().unwrap();
    let few = run(&folder, &with_local_memory(100 << 10), 1, 32, "length = 1");
    assert_eq!(few.status, 0, "{}", few.stderr);
    // Legal for one thread, too much for all on the GPU.
    let many = run(&folder, &with_local_memory(200 << 10), 100, 1024, "length = 1");
    assert_eq!(many.status, 2, "{}", many.stderr);
    assert!(many.stderr.contains("204800 bytes of local memory each"), "{}", many.stderr);
    let one = run(&folder, &with_local_memory(1 << 20), 1, 32, "length = 1");
    assert_eq!(one.status, 2, "{}", one.stderr);
    assert!(one.stderr.contains("local memory") && one.stderr.contains("524288"), "{}", one.stderr);
}

/// The path of a new file in `folder`.
fn written(folder: &TempDir, name: &str, text: &str) -> String {
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// A launch of a recursive kernel of machine code, whose file says what the stack of a thread is.
fn recursive(folder: &TempDir, says: &str) -> String {
    let cubin = common::root().join("crates/lower/tests/data/cases.sm_86.cubin");
    fs::copy(cubin, folder.path().join("cases.cubin")).unwrap();
    let launch = format!(
        "module = \"cases.cubin\"\n{says}\n[buffers.out]\ntype = \"u32\"\nlength = 32\n[[launch]]\nkernel = \"recursion\"\n\
         grid = 1\nblock = 32\nargs = [\"out\", \"out\"]\n[[output]]\nbuffer = \"out\"\nprint = 1\n"
    );
    written(folder, "cases.toml", &launch)
}

#[test]
fn the_stack_of_recursion_is_that_of_the_launch_file_or_the_command_line() {
    let folder = TempDir::new().unwrap();
    let run = |says: &str, options: &[&str]| {
        let ran = common::run(&[&["run", &recursive(&folder, says), "--gpu", "rtx3070"], options].concat());
        (ran.status, ran.stderr)
    };
    let faults = |says, options: &[&str]| {
        let (status, error) = run(says, options);
        assert_eq!(status, 1, "{says} {options:?}: {error}");
        assert!(error.contains("outside the thread's 16 bytes of local memory"), "{error}");
    };
    let ends = |says, options: &[&str]| assert_eq!(run(says, options), (0, String::new()), "{says} {options:?}");
    ends("", &[]);
    faults("stack_bytes = 16", &[]);
    faults("", &["--stack-bytes", "16"]);
    // The command line takes precedence.
    faults("stack_bytes = 4096", &["--stack-bytes", "16"]);
    ends("stack_bytes = 16", &["--stack-bytes", "4096"]);
    let (status, error) = run("stack_bytes = 524289", &[]);
    assert_eq!(status, 2, "{error}");
    assert!(error.contains("cases.toml:2:15") && error.contains("at most 524288 bytes, not 524289"), "{error}");
    let (status, error) = run("", &["--stack-bytes", "524289"]);
    assert_eq!(status, 2, "{error}");
    assert!(error.contains("--stack-bytes") && error.contains("at most 524288, not 524289"), "{error}");
}

/// A run that a fault, a deadlock or the user ends has counted each issue slot of its cycles, and none beyond.
#[test]
fn slots_of_a_run_that_fails_are_those_of_its_cycles() {
    let folder = TempDir::new().unwrap();
    let body = ".reg .u32 %r<4>;\n.reg .pred %p;\nmov.u32 %r1, %ctaid.x;\nmov.u32 %r2, 0;\nmore: add.u32 %r2, %r2, 1;\n\
                setp.lt.u32 %p, %r2, %r1;\n@%p bra more;\n";
    // CTAs come to their ends at different times.
    let faulty = format!("{body}mov.u32 %r3, 6;\nld.shared.u32 %r3, [%r3];\nret;\n");
    let stuck = format!("{body}setp.lt.u32 %p, %r1, 60;\n@%p bra last;\nbar.sync 1, 96;\nlast: ret;\n");
    for (name, body) in [("outside the CTA", faulty), ("deadlock", stuck)] {
        let kernel = format!("{HEADER}.visible .entry k() {{\n{body}}}\n");
        fs::write(folder.path().join("k.ptx"), kernel).unwrap();
        let launch = "module = \"k.ptx\"\n[[launch]]\nkernel = \"k\"\ngrid = 64\nblock = 64\nargs = []\n";
        for core in ["modern", "inorder", "ghost"] {
            let args = ["run", &written(&folder, "k.toml", launch), "--gpu", "rtx2060s", "--core", core, "--json"];
            let ran = common::run(&args);
            assert!(ran.status == 1 && ran.stderr.contains(name), "{core}: {}", ran.stderr);
            let total = &common::json(&ran.stdout)["total"];
            let count = |key: &str| total[key].as_u64().unwrap();
            assert_eq!(count("slots.all"), count("cycles") * 34 * 4, "{name}, {core}");
        }
    }
}

/// A body without an instruction is one that returns at once, under every kind of design.
#[test]
fn a_kernel_without_instructions_ends() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(path("k.ptx"), format!("{HEADER}.visible .entry k() {{}}\n")).unwrap();
    let launch = "module = \"k.ptx\"\n[[launch]]\nkernel = \"k\"\ngrid = 5\nblock = 96\nargs = []\n";
    fs::write(path("k.toml"), launch).unwrap();
    let cores = [
        "inorder",
        "inorder-war-exact",
        "warpboard-stores",
        "ghost",
        "socgpu",
        "loog",
        "ideal",
        "inorder+scalar",
        "ghost+scalar",
    ];
    for core in cores {
        let modes: &[&[&str]] = &[&[], &["--registers", "allocated"], &["--registers", "hazard-free"]];
        for mode in modes {
            let json =
                common::succeed(&[&["run", &path("k.toml"), "--core", core, "--audit", "--json"], *mode].concat());
            let report: serde_json::Value = serde_json::from_str(&json).unwrap();
            assert_eq!(report["total"]["warp_instructions"], 15, "{core} {mode:?}: one exit for each warp");
        }
    }
}

#[test]
fn contents_of_buffers() {
    let folder = TempDir::new().unwrap();
    let kernel = with_local_memory(4);
    let random = run(&folder, &kernel, 1, 32, "length = 1073741825\nrandom = { low = 0, high = 9 }");
    assert_eq!(random.status, 2, "{}", random.stderr);
    assert!(random.stderr.contains("1073741824 (4294967296 bytes) are the maximum"), "{}", random.stderr);
}

/// A launch file that launches a kernel as often as each of `repeats` says.
fn repeated(folder: &TempDir, repeats: &[&str]) -> String {
    fs::write(folder.path().join("k.ptx"), with_local_memory(4)).unwrap();
    let mut launches = "module = \"k.ptx\"\n[buffers.out]\ntype = \"u32\"\nlength = 1\n".to_owned();
    for (stream, repeat) in repeats.iter().enumerate() {
        let launch = "[[launch]]\nkernel = \"k\"\ngrid = 1\nblock = 32\nargs = [\"out\"]";
        writeln!(launches, "{launch}\nstream = {stream}\nrepeat = {repeat}").unwrap();
    }
    launches += "[[output]]\nbuffer = \"out\"\nprint = 1\n";
    written(folder, "k.toml", &launches)
}

#[test]
fn launches_of_a_run() {
    let folder = TempDir::new().unwrap();
    let ran = common::run(&["run", &repeated(&folder, &["4294967295"])]);
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("k.toml:11:10") && ran.stderr.contains("from 0 to 1048576"), "{}", ran.stderr);
    let ran = common::run(&["run", &repeated(&folder, &["1000000", "48576", "3"])]);
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("1048579 launches; 1048576 are the maximum of a run"), "{}", ran.stderr);
}

/// Launches that are still to come take no memory.
#[cfg(target_os = "linux")]
#[test]
fn a_million_launches() {
    let folder = TempDir::new().unwrap();
    let launch = repeated(&folder, &["1000000"]);
    let run = format!(
        "ulimit -v 600000 && exec '{}' run '{launch}' --max-cycles 20000 --json",
        env!("CARGO_BIN_EXE_warpwright")
    );
    let ran = common::from(std::process::Command::new("sh").args(["-c", &run]).output().unwrap());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let report: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(report["interrupted"], true);
    // The limit is looked at now and then.
    assert!(report["total"]["total_cycles"].as_u64().unwrap() < 1_000_000, "{}", report["total"]["total_cycles"]);
}

/// A launch permanently allocates only its row of the report.
#[cfg(target_os = "linux")]
#[test]
fn reports_of_many_launches() {
    let folder = TempDir::new().unwrap();
    let launch = repeated(&folder, &["10000", "5000"]);
    let json = common::succeed(&["run", &launch, "--set", "launch.kernel_latency_cycles=1", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(report["kernels"].as_array().unwrap().len(), 15_000);
    let peak = report["host"]["peak_memory_bytes"].as_u64().unwrap();
    assert!(peak < 250 << 20, "{} MiB", peak >> 20);
}

fn kernels(count: usize) -> String {
    let mut text = HEADER.to_owned();
    for k in 0..count {
        writeln!(text, ".visible .entry k{k}()\n{{\nret;\n}}").unwrap();
    }
    text
}

/// Memory must grow with the kernels of a file, not with their square.
#[cfg(target_os = "linux")]
#[test]
fn a_file_of_many_kernels() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("many.ptx");
    fs::write(&path, kernels(10_000)).unwrap();
    let inspect =
        format!("ulimit -v 1000000 && exec '{}' inspect '{}'", env!("CARGO_BIN_EXE_warpwright"), path.display());
    let ran = common::from(std::process::Command::new("sh").args(["-c", &inspect]).output().unwrap());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("10000 kernels, 10000 executable"), "{}", &ran.stdout[..200]);
}

#[test]
fn a_file_of_too_many_kernels() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("many.ptx");
    fs::write(&path, kernels(65_537)).unwrap();
    let ran = common::run(&["inspect", path.to_str().unwrap()]);
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    let said = "65536 kernels and functions are the maximum";
    assert!(ran.stdout.contains(said) || ran.stderr.contains(said), "{}", ran.stderr);
}

/// A launch of a kernel with so many live registers that their allocation takes minutes.
fn slow_to_prepare(folder: &TempDir) -> String {
    const COUNT: usize = 30_000;
    let mut text = format!("{HEADER}.visible .entry k(.param .u64 p)\n{{\n.reg .b32 %r<{}>;\n", COUNT + 1);
    text += ".reg .b64 %rd<2>;\nld.param.u64 %rd1, [p];\n";
    (0..COUNT).for_each(|i| writeln!(text, "ld.global.u32 %r{i}, [%rd1 + {}];", 4 * i).unwrap());
    writeln!(text, "mov.u32 %r{COUNT}, 0;").unwrap();
    (0..COUNT).for_each(|i| writeln!(text, "xor.b32 %r{COUNT}, %r{COUNT}, %r{i};").unwrap());
    writeln!(text, "st.global.u32 [%rd1], %r{COUNT};\nret;\n}}").unwrap();
    fs::write(folder.path().join("slow.ptx"), text).unwrap();
    let launch = "module = \"slow.ptx\"\n[buffers.out]\ntype = \"u32\"\nlength = 30000\n[[launch]]\n\
                  kernel = \"k\"\ngrid = 1\nblock = 32\nargs = [\"out\"]\n[[output]]\nbuffer = \"out\"\nprint = 1\n";
    written(folder, "slow.toml", launch)
}

#[test]
fn preparation_that_takes_too_long() {
    let folder = TempDir::new().unwrap();
    let launch = slow_to_prepare(&folder);
    let mut command = common::command(&["run", &launch, "--registers", "allocated"]);
    let ran = common::from(command.env("WARPWRIGHT_PREPARATION_SECONDS", "1").output().unwrap());
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("nothing was simulated after 1 second"), "{}", ran.stderr);
    let ran = common::from(command.env("WARPWRIGHT_PREPARATION_SECONDS", "-1").output().unwrap());
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("must be a number of seconds"), "{}", ran.stderr);
}

/// A comparison on the host that takes a minute: the report comes without it.
#[cfg(unix)]
#[test]
fn ctrl_c_while_results_are_compared() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("k.ptx"), with_local_memory(4)).unwrap();
    let launch = "module = \"k.ptx\"\n[buffers.out]\ntype = \"u32\"\nlength = 134217728\n[[launch]]\nkernel = \"k\"\n\
                  grid = 1\nblock = 32\nargs = [\"out\"]\n[[output]]\nbuffer = \"out\"\ncompare = { formula = \"(i * 7 + 3) / 2\" }\n";
    let path = folder.path().join("k.toml");
    fs::write(&path, launch).unwrap();
    let mut command = common::command(&["run", path.to_str().unwrap()]);
    let child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    common::let_work(&child, std::time::Duration::from_secs(4));
    let signal = ["-INT", &child.id().to_string()];
    assert!(std::process::Command::new("kill").args(signal).status().unwrap().success());
    let ran = common::from(child.wait_with_output().unwrap());
    assert_eq!(ran.status, 130, "{}", ran.stderr);
    for part in ["not checked", "ended early", "Kernels"] {
        assert!(ran.stdout.contains(part), "no {part} in:\n{}", ran.stdout);
    }
}

/// After Ctrl-C, known results are still written, which may take long: a message names the file, and a second Ctrl-C
/// stops that. The file is a pipe that is read slowly.
#[cfg(unix)]
#[test]
fn ctrl_c_while_a_large_file_is_written() {
    use std::io::{BufRead as _, BufReader, Read as _};
    use std::time::{Duration, Instant};
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("samples.csv");
    assert!(std::process::Command::new("mkfifo").arg(&file).status().unwrap().success());
    let shown = file.to_str().unwrap();
    let mut command = common::command(&["run", "bfs", "--quiet", "-j1", "--sample", "1", shown]);
    let mut child = command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let (told, hears) = std::sync::mpsc::channel();
    let stderr = BufReader::new(child.stderr.take().unwrap());
    std::thread::spawn(move || stderr.lines().map_while(Result::ok).for_each(|line| _ = told.send(line)));
    let mut pipe = fs::File::open(&file).unwrap();
    let mut piece = vec![0; 64 << 10];
    let mut read_slowly = || {
        std::thread::sleep(Duration::from_millis(10));
        pipe.read(&mut piece).unwrap()
    };
    let interrupt = |id: u32| {
        let signal = ["-INT", &id.to_string()];
        assert!(std::process::Command::new("kill").args(signal).status().unwrap().success());
    };
    assert!(read_slowly() > 0);
    interrupt(child.id());
    let begin = Instant::now();
    let wanted = format!("Writing `{shown}` to its end. Ctrl-C again leaves without it.");
    let mut said = Vec::new();
    while !said.contains(&wanted) {
        // All of it would take some eight seconds.
        assert!(read_slowly() > 0 && begin.elapsed() < Duration::from_secs(10), "{said:?}");
        said.extend(hears.try_iter());
    }
    interrupt(child.id());
    let begin = Instant::now();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{said:?}");
    assert!(begin.elapsed() < Duration::from_secs(5), "{said:?}");
}

/// Without an answer to Ctrl-C this would end with status 2 after a minute.
#[cfg(unix)]
#[test]
fn ctrl_c_while_registers_are_allocated() {
    let folder = TempDir::new().unwrap();
    let launch = slow_to_prepare(&folder);
    let mut command = common::command(&["run", &launch, "--registers", "allocated"]);
    command.env("WARPWRIGHT_PREPARATION_SECONDS", "60");
    let child = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
    common::let_work(&child, std::time::Duration::from_millis(1500));
    let signal = ["-INT", &child.id().to_string()];
    assert!(std::process::Command::new("kill").args(signal).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
}
