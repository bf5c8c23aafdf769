//! C programs over the driver and the runtime, built with the system's compiler.

use lab::{Job, Setup};
use std::ffi::OsStr;
use std::ops::Range;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs");

/// The folder that cargo builds libraries into: that of this test, or the one above it.
fn built() -> PathBuf {
    let own = std::env::current_exe().expect("a test has a file");
    let folder = own.parent().expect("a file has a folder").to_owned();
    folder
        .ancestors()
        .find(|folder| folder.join("libcudart12.so").is_file())
        .expect("cargo builds the libraries")
        .into()
}

/// A folder with the libraries under the names by which programs ask for them, and test programs.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let built = built();
        for (file, name) in [
            ("libcuda.so", "libcuda.so.1"),
            ("libcudart11.so", "libcudart.so.11.0"),
            ("libcudart12.so", "libcudart.so.12"),
            ("libcudart13.so", "libcudart.so.13"),
        ] {
            std::os::unix::fs::symlink(built.join(file), folder.path().join(name)).expect("a link");
        }
        Self { folder }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Compiles `name`.c against a version of the runtime, or none (0). `None` where there is no compiler.
    fn compile(&self, name: &str, version: u32) -> Option<PathBuf> {
        self.compile_with(name, version, false)
    }

    /// As [`Place::compile`]; the runtime may be linked in.
    fn compile_with(&self, name: &str, version: u32, linked_in: bool) -> Option<PathBuf> {
        let program = self.path().join(format!("{name}{version}"));
        let mut compiler = Command::new(std::env::var_os("CC").unwrap_or("cc".into()));
        compiler
            .args(["-O1", "-w", "-Wl,--as-needed", "-o"])
            .arg(&program)
            .arg(Path::new(SOURCES).join(format!("{name}.c")));
        if version != 0 {
            compiler.arg(format!("-DKERNELS=\"{SOURCES}/kernels.fatbin\""));
            let runtime =
                if version == 11 { "libcudart.so.11.0".to_owned() } else { format!("libcudart.so.{version}") };
            let archive = built().join(format!("libcudart{version}.a"));
            compiler.arg(if linked_in { archive } else { self.path().join(runtime) });
        }
        compiler.arg(self.path().join("libcuda.so.1")).args(["-lpthread", "-ldl", "-lm"]);
        let Ok(output) = compiler.output() else {
            eprintln!("skipped: there is no C compiler");
            return None;
        };
        assert!(output.status.success(), "{name}.c: {}", String::from_utf8_lossy(&output.stderr));
        Some(program)
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env("LD_LIBRARY_PATH", self.path()).env("WARPWRIGHT_OUT", self.path().join("out"));
        command.env("WARPWRIGHT_QUIET", "1");
        command
    }

    fn report(&self) -> serde_json::Value {
        let text = std::fs::read(self.path().join("out/report.json")).expect("a report");
        serde_json::from_slice(&text).expect("JSON")
    }
}

fn run<I: AsRef<OsStr>>(place: &Place, program: &Path, args: impl IntoIterator<Item = I>) -> Output {
    place.command(program).args(args).output().expect("it runs")
}

/// Output of a program, which must end with `status`.
fn printed(output: &Output, status: i32) -> String {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(status), "{out}{err}");
    out.into_owned()
}

/// Builds and runs a program that prints `done` at its end. `None` where there is no compiler.
fn done(name: &str, version: u32, args: &[String]) -> Option<(Place, Output)> {
    let place = Place::new();
    let program = place.compile(name, version)?;
    let output = run(&place, &program, args);
    assert_eq!(printed(&output, 0), "done\n");
    Some((place, output))
}

/// A file of the programs.
fn source(name: &str) -> String {
    format!("{SOURCES}/{name}")
}

#[test]
fn the_driver_loads_modules_and_launches() {
    let place = Place::new();
    let Some(program) = place.compile("driver", 0) else { return };
    let modules = ["kernels.fatbin", "kernels.ptx"].map(source);
    assert_eq!(printed(&run(&place, &program, modules), 0), "kernels.fatbin\nkernels.ptx\ndone\n");
}

#[test]
fn each_runtime_runs_registered_kernels() {
    for version in [11, 12, 13] {
        let place = Place::new();
        let Some(program) = place.compile("runtime", version) else { return };
        assert_eq!(printed(&run(&place, &program, [""; 0]), 0), format!("runtime {version}\ndone\n"));
        let report = place.report();
        assert_eq!(report["devices"][0]["kernels"][0]["name"], "saxpy");
        assert_eq!(report["devices"][0]["transfers"][0]["direction"], "host to device");
    }
}

#[test]
fn streams_and_events_have_simulated_time() {
    done("streams", 12, &[]);
}

#[test]
fn faults_are_cuda_s_errors() {
    let place = Place::new();
    let Some(program) = place.compile("faults", 12) else { return };
    for which in ["0", "1", "2", "3"] {
        let output = run(&place, &program, [which]);
        assert_eq!(printed(&output, 0), "done\n");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("in kernel `"), "{which}: {said}");
        assert_eq!(place.report()["failures"].as_array().map(Vec::len), Some(1));
    }
}

#[test]
fn kernels_print_in_order_with_the_program() {
    let place = Place::new();
    let Some(program) = place.compile("output", 12) else { return };
    let hello = "thread 0 of 32 says hello 2.50\nthread 1 of 32 says hello 2.50\n";
    // Pending work is completed when the program ends.
    assert_eq!(printed(&run(&place, &program, [""; 0]), 7), format!("before\n{hello}after\n{hello}"));
}

#[test]
fn the_library_stays_when_a_program_closes_it() {
    done("unload", 0, &[]);
}

#[test]
fn threads_children_and_late_calls_get_answers() {
    let place = Place::new();
    let Some(program) = place.compile("threads", 12) else { return };
    assert_eq!(printed(&run(&place, &program, [""; 0]), 0), "child 3\ndone\nlate 1\n");
}

/// The other thread's kernel would run for hours: a question that waited for it would end the program by `SIGALRM`.
#[test]
fn questions_about_devices_do_not_wait_for_kernels_of_other_threads() {
    done("asks", 0, &[source("kernels.fatbin")]);
}

/// Kernels that are not timed leave the same memory.
#[test]
fn kernels_run_without_time_if_asked() {
    let place = Place::new();
    let Some(program) = place.compile("runtime", 12) else { return };
    for (time, timed) in [("none", 0), ("kernels=saxpy,reverse", 3)] {
        let output = place.command(&program).env("WARPWRIGHT_TIME", time).output().expect("it runs");
        assert_eq!(printed(&output, 0), "runtime 12\ndone\n");
        let report = place.report();
        assert_eq!(report["devices"][0]["kernels"].as_array().map(Vec::len), Some(timed), "{time}");
        assert!(report["devices"][0]["untimed"].as_array().is_some_and(|kernels| !kernels.is_empty()));
    }
}

/// Whatever is timed, each launch has its effects once, and events have nearly the time of a full run between them.
#[test]
fn launches_that_are_not_timed_take_the_time_of_others() {
    let place = Place::new();
    let Some(program) = place.compile("repeats", 12) else { return };
    let run = |time: &str| {
        let mut command = place.command(&program);
        command.envs([("WARPWRIGHT_TIME", time), ("WARPWRIGHT_CORE", "inorder")]);
        let text = printed(&command.output().expect("it runs"), 0);
        assert_eq!(text.matches("says hello 2.50\n").count(), 12, "{time}: {text}");
        let milliseconds: f64 = text.lines().last().and_then(|line| line.parse().ok()).expect("a number");
        (milliseconds, place.report()["devices"][0].clone())
    };
    let (full, report) = run("all");
    assert!(report["sampling"].is_null() && full > 0.0);
    for time in ["representative", "kernels=0..2,22,32", "ctas=0..5"] {
        let (milliseconds, report) = run(time);
        assert!((milliseconds / full - 1.0).abs() < 0.06, "{time}: {milliseconds} for {full}");
        let sampling = &report["sampling"];
        assert_eq!(sampling["launches"], 36, "{time}");
        let timed = report["kernels"].as_array().map(Vec::len).expect("kernels") as u64;
        assert_eq!(sampling["timed"].as_u64().zip(sampling["partly"].as_u64()).map(|(a, b)| a + b), Some(timed));
        assert!(timed < 36 || time.starts_with("ctas"), "{time}");
    }
}

/// Cooperative launches are timed whatever the choice is; graphs, copies and printing do not depend on it.
#[test]
fn programs_do_the_same_whatever_is_timed() {
    let place = Place::new();
    for (name, args) in [
        ("cooperative", vec![source("kernels.fatbin")]),
        ("graphs", vec![source("kernels.fatbin")]),
        ("copies", vec![]),
        ("images", vec![source("images.fatbin")]),
    ] {
        let Some(program) = place.compile(name, 0) else { return };
        for time in ["none", "representative", "ctas=0..0"] {
            let output = place.command(&program).args(&args).env("WARPWRIGHT_TIME", time).output().expect("it runs");
            assert_eq!(printed(&output, 0), "done\n", "{name}, {time}");
        }
    }
}

/// Starts a program with a kernel that runs for long, and sends it a signal; it ends with a report.
fn interrupt(place: &Place, mut command: Command, signal: &str) {
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().expect("it runs");
    let mut line = [0; 9];
    std::io::Read::read_exact(&mut child.stdout.as_mut().expect("piped"), &mut line).expect("it has launched");
    std::thread::sleep(Duration::from_millis(100));
    let status = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill");
    assert!(status.success());
    assert_eq!(child.wait().expect("it ends").code(), Some(130), "{signal}");
    let report = place.report();
    assert_eq!(report["devices"][0]["interrupted"], true, "{signal}");
    assert!(report["devices"][0]["kernels"][0]["statistics"]["cycles"].as_u64().is_some_and(|cycles| cycles > 0));
}

#[test]
fn ctrl_c_ends_a_program_with_a_report() {
    let place = Place::new();
    let Some(program) = place.compile("slow", 12) else { return };
    interrupt(&place, place.command(&program), "-INT");
}

/// `timeout` and batch systems signal the launcher.
#[test]
fn signals_to_the_launcher_reach_the_program() {
    let place = Place::new();
    let (Some(program), Some(launcher)) = (place.compile("slow", 12), launcher()) else { return };
    let mut command = Command::new(launcher);
    command.args(["exec", "--out"]).arg(place.path().join("out")).arg("--").arg(program);
    interrupt(&place, command, "-TERM");
}

#[test]
fn hostile_arguments_are_errors_and_children_have_no_driver() {
    done("hostile", 0, &[]);
}

/// A program that has not ended after this is taken to hang.
const MOST_SECONDS: u64 = 20;

/// Runs `ends.c`; returns how it ended, and what it printed to standard error.
fn end(place: &Place, program: &Path, args: &[&str]) -> (ExitStatus, String) {
    let stderr = std::fs::File::create(place.path().join("stderr")).expect("a file");
    let mut child = place.command(program).args(args).stderr(stderr).spawn().expect("it runs");
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("it is a child") {
            break status;
        }
        if start.elapsed() > Duration::from_secs(MOST_SECONDS) {
            child.kill().expect("it is killed");
            panic!("{args:?} does not end");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let said = std::fs::read_to_string(place.path().join("stderr")).expect("text");
    assert!(!said.contains("defect") && !said.contains("panicked"), "{args:?}: {said}");
    (status, said)
}

/// Ways of ending, with exit status or signal, and whether there is a report if another thread waits for a kernel.
const ENDS: [(&str, Result<i32, i32>, bool); 17] = [
    ("exit", Ok(11), true),
    ("_exit", Ok(12), false),
    ("quick_exit", Ok(13), false),
    ("return", Ok(14), true),
    ("cancel", Ok(15), true),
    ("fork", Ok(16), true),
    ("vfork", Ok(17), true),
    ("clone", Ok(18), true),
    ("posix_spawn", Ok(19), true),
    ("exec", Ok(20), false),
    ("handler", Ok(21), true),
    ("stream", Ok(22), true),
    ("abort", Err(libc::SIGABRT), false),
    ("kill", Err(libc::SIGKILL), false),
    ("TERM", Ok(130), true),
    ("INT", Ok(130), true),
    // The last thread of the program ends.
    ("none", Ok(0), true),
];

#[test]
fn programs_end_whatever_their_threads_wait_for() {
    let place = Place::new();
    let Some(program) = place.compile("ends", 12) else { return };
    for (way, wanted, has_report) in ENDS {
        let report = place.path().join("out/report.json");
        let _ = std::fs::remove_file(&report);
        let (status, said) = end(&place, &program, &[way]);
        assert_eq!(status.code().ok_or(status.signal().unwrap_or(0)), wanted, "{way}: {said}");
        assert_eq!(report.exists(), has_report, "{way}: {said}");
    }
}

/// Ends programs at moments and in ways that follow from seeds.
fn end_at_random(seeds: Range<u64>) {
    let place = Place::new();
    let Some(program) = place.compile("ends", 12) else { return };
    for seed in seeds {
        let (way, wanted, _) = ENDS[seed as usize % (ENDS.len() - 1)];
        let (status, said) = end(&place, &program, &[way, &seed.to_string()]);
        assert_eq!(status.code().ok_or(status.signal().unwrap_or(0)), wanted, "{way} {seed}: {said}");
    }
}

#[test]
fn programs_end_at_any_moment() {
    end_at_random(0..24);
}

/// As [`programs_end_at_any_moment`], for some minutes: `WARPWRIGHT_SEED` is the first seed.
#[test]
#[ignore = "takes some minutes"]
fn programs_end_at_many_moments() {
    let first = std::env::var("WARPWRIGHT_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1000);
    end_at_random(first..first + 600);
}

/// A kernel that the bound on cycles stops counts as one that faulted.
#[test]
fn a_kernel_that_a_bound_stops_has_failed() {
    let place = Place::new();
    let Some(program) = place.compile("runtime", 12) else { return };
    let mut command = place.command(&program);
    let output = command.env("WARPWRIGHT_MAX_CYCLES", "100").output().expect("it runs");
    assert_ne!(output.status.code(), Some(0));
    assert_eq!(place.report()["failed"]["faulted"], 1);
}

/// With `--strict` a fault that the program ignores makes its exit status 1; a status of its own stays.
#[test]
fn ignored_faults_are_counted_and_may_be_strict() {
    let place = Place::new();
    let (Some(faults), Some(output)) = (place.compile("faults", 12), place.compile("output", 12)) else { return };
    let run = |program, args: &[&str], strict| {
        let mut command = place.command(program);
        command.args(args).env("WARPWRIGHT_STRICT", strict).env("WARPWRIGHT_QUIET", "0");
        let output = command.output().expect("it runs");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (status, said) = run(&faults, &["0"], "0");
    assert_eq!(status, Some(0), "{said}");
    assert!(said.ends_with("0 kernels or modules were refused, 1 kernel faulted, 0 launches failed\n"), "{said}");
    assert_eq!(place.report()["failed"]["faulted"], 1);
    let (status, said) = run(&faults, &["0"], "1");
    assert_eq!(status, Some(1), "{said}");
    for (strict, expected) in [("0", Some(0)), ("1", Some(1))] {
        let Some(right) = place.compile("runtime", 12) else { return };
        let mut command = place.command(&right);
        let output =
            command.env("WARPWRIGHT_STRICT", strict).env("WARPWRIGHT_CSV", "/dev/full").output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == expected && said.contains("the report is not written"), "{strict}: {said}");
    }
    for strict in ["0", "1"] {
        let (status, said) = run(&output, &[], strict);
        assert_eq!(status, Some(7), "{said}");
        assert!(said.ends_with("No kernel was refused or faulted, and no launch failed\n"), "{said}");
    }
}

/// A kernel and cycles that the run does not have are named at the end, with what there was; those that it has are not.
#[test]
fn choices_that_match_nothing_are_reported() {
    let place = Place::new();
    let Some(program) = place.compile("runtime", 12) else { return };
    let said = |kernel: &str, cycles: &str| {
        let mut command = place.command(&program);
        command.env("WARPWRIGHT_TIMELINE", place.path().join("timeline.json"));
        command.env("WARPWRIGHT_KERNEL", kernel).env("WARPWRIGHT_CYCLES", cycles);
        String::from_utf8_lossy(&command.output().expect("it runs").stderr).into_owned()
    };
    let missing = said("saxpi", "900000000..900000001");
    assert!(missing.contains("warpwright: --kernel saxpi: no such kernel ran; did you mean `saxpy`?\n"), "{missing}");
    assert!(missing.contains("warpwright: --cycles 900000000..900000001: the run took "), "{missing}");
    let found = said("saxpy", "0..900000000");
    assert!(!found.contains("--kernel") && !found.contains("--cycles"), "{found}");
}

#[test]
fn boxes_and_arrays_are_copied() {
    done("copies", 0, &[]);
}

#[test]
fn textures_and_surfaces_are_read_and_written() {
    let Some((_, output)) = done("images", 0, &[source("images.fatbin")]) else { return };
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("texture reference `line` is not bound"), "{said}");
}

#[test]
fn questions_are_answered() {
    let Some((place, output)) = done("queries", 0, &[source("images.fatbin")]) else { return };
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said.matches("cuGreenCtxCreate is not supported").count(), 1, "{said}");
    assert_eq!(place.report()["unsupported"]["cuGreenCtxCreate"], 2);
    assert_eq!(said.matches("`queries0` has NVIDIA's CUDA runtime in it").count(), 1, "{said}");
    assert_eq!(place.report()["unsupported"]["cuGetExportTable"], 2);
}

#[test]
fn devices_have_addresses_of_their_own() {
    let place = Place::new();
    let Some(program) = place.compile("devices", 0) else { return };
    let mut command = place.command(&program);
    let output = command.env("WARPWRIGHT_GPU", "rtx2060s,rtx3070").arg(source("kernels.fatbin")).output();
    assert_eq!(printed(&output.expect("it runs"), 0), "done\n");
}

#[test]
fn cooperative_launches_synchronise_the_grid() {
    done("cooperative", 0, &[source("kernels.fatbin")]);
}

#[test]
fn graphs_pools_and_links_have_the_structures_of_the_api() {
    done("graphs", 0, &[source("kernels.fatbin")]);
}

/// The command, if it is built.
fn launcher() -> Option<PathBuf> {
    let found = built().ancestors().map(|folder| folder.join("warpwright")).find(|file| file.is_file());
    if found.is_none() {
        eprintln!("skipped: the command is not built");
    }
    found
}

/// The launcher checks, sets the environment, and gives the program's status.
#[test]
fn statuses_and_signals_of_programs_are_passed_on() {
    let place = Place::new();
    let (Some(program), Some(launcher)) = (place.compile("output", 13), launcher()) else { return };
    let output =
        Command::new(launcher).args(["exec", "--gpu", "rtx3070", "--core", "ghost", "--"]).arg(program).output();
    let output = output.expect("it runs");
    assert!(printed(&output, 7).ends_with("hello 2.50\n"));
    let report = String::from_utf8_lossy(&output.stderr);
    assert!(report.contains("rtx3070, core ghost"), "{report}");
}

/// Results and cycles of kernels are those of the same launches in a launch file.
#[test]
fn a_program_and_a_launch_file_are_the_same_run() {
    let place = Place::new();
    let Some(program) = place.compile("saxpy", 12) else { return };
    let file = place.path().join("y");
    printed(&run(&place, &program, [&file]), 0);
    let written = std::fs::read(file).expect("the program writes it");
    let (floats, _) = written.as_chunks::<4>();
    for (i, y) in floats.iter().enumerate() {
        assert_eq!(f32::from_le_bytes(*y), 2.0 * (7.5 * i as f32 + 1.0));
    }
    let setup = Setup::new(config::load("rtx2060s").expect("a built-in GPU"));
    let path = Path::new(SOURCES).join("saxpy.toml");
    let job = Job::LaunchFile { path, overrides: Default::default() };
    let launched = lab::run(&setup, &job, &mut lab::Unattended).expect("it runs");
    assert!(launched.check.as_ref().is_some_and(|check| check.passed));
    let report = place.report();
    let ours = report["devices"][0]["kernels"].as_array().expect("kernels");
    assert_eq!(ours.len(), launched.kernels.len());
    for (ours, theirs) in ours.iter().zip(&launched.kernels) {
        // Read from text, as those of the report.
        let statistics = serde_json::to_string(&theirs.statistics).expect("JSON");
        let statistics: serde_json::Value = serde_json::from_str(&statistics).expect("JSON");
        assert_eq!(ours["statistics"], statistics, "{}", theirs.name);
    }
}

/// The runtime may be linked in, in place of NVIDIA's static one.
#[test]
fn programs_may_have_the_runtime_linked_in() {
    let place = Place::new();
    let Some(program) = place.compile_with("runtime", 12, true) else { return };
    assert_eq!(printed(&run(&place, &program, [""; 0]), 0), "runtime 12\ndone\n");
}

/// Kernels that are executed on other cores leave the same memory.
#[test]
fn programs_run_on_any_core() {
    let place = Place::new();
    let Some(program) = place.compile("runtime", 13) else { return };
    for core in ["functional", "ghost", "socgpu", "sgmf"] {
        let mut command = place.command(&program);
        let output = command.env("WARPWRIGHT_CORE", core).env("WARPWRIGHT_SET", "sm_count=2").output();
        assert_eq!(printed(&output.expect("it runs"), 0), "runtime 13\ndone\n", "{core}");
    }
}
