//! A run that is ended between kernels and resumed has the report of one that was not, byte for byte, and leaves the same
//! last checkpoint: the same memory, caches, queues, counters and positions.

use lab::timeline::{Cycles, TimelineWindow};
use lab::{
    CORES, CheckpointPlan, Checkpoints, Compression, HostThreads, Job, OutOfBounds, SavedRun, Setup, TraceFormat,
    Unattended, export, run_kept,
};
use launchfile::Overrides;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::time::Duration;
use workloads::{Form, Size, suite};

fn workload(name: &str, params: &[(&str, u64)]) -> Job {
    let params = params.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    Job::Workload { name: name.into(), size: Size::Small, params, seed: 3 }
}

/// Machine code where the workload has some for the GPU.
fn setup(gpu: &str, core: &str, name: &str) -> Setup {
    let gpu = config::load(gpu).expect("a built-in GPU");
    let has_code = suite::find(name).is_ok_and(|workload| workload.module.cubin(gpu.sm_version).is_some());
    let code = if has_code && !lab::needs_ptx(core) { Form::Sass } else { Form::Ptx };
    Setup { core: core.into(), code, livelock_cycles: NonZeroU64::new(1_000_000), ..Setup::new(gpu) }
}

fn plan(file: &Path, every: Duration) -> Option<CheckpointPlan> {
    Some(CheckpointPlan { file: file.to_owned(), every, command: vec!["run".to_owned()] })
}

/// The report without what the host measured, and the cycles and kernels of the run.
fn run(setup: &Setup, job: &Job, checkpoints: Checkpoints) -> (String, u64, usize) {
    let report = run_kept(setup, job, checkpoints, &mut Unattended).unwrap_or_else(|e| panic!("{}: {e}", setup.core));
    let (cycles, kernels) = (report.total.number("total_cycles") as u64, report.kernels.len());
    // Parts that JSON omits.
    let rest = format!("{:?}{:?}{:?}", report.samples, report.overview, report.by_kernel);
    let mut report = serde_json::to_value(&report).expect("reports are JSON");
    report.as_object_mut().expect("an object").remove("host").expect("host figures");
    (serde_json::to_string_pretty(&report).expect("it was JSON") + &rest, cycles, kernels)
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

/// Ends runs of `job` after parts of its cycles, and resumes them. Returns after how many kernels.
fn check(setup: &Setup, job: &Job, parts: &[u64]) -> Vec<usize> {
    let folder = Folder::new();
    let file = folder.file("a.checkpoint");
    let of_whole = folder.file("whole.checkpoint");
    let (whole, cycles, kernels) = run(setup, job, Checkpoints::default());
    let (kept, ..) = run(setup, job, Checkpoints { plan: plan(&of_whole, Duration::ZERO), resume: None });
    assert!(kept == whole, "{}: checkpoints change the report", setup.core);
    let last = SavedRun::open(&of_whole).unwrap();
    assert!(last.kernels() <= kernels);
    let (again, ..) = run(setup, job, Checkpoints { plan: None, resume: Some(last) });
    assert!(again == whole, "{}: the report from the last checkpoint differs", setup.core);
    let mut ended = Vec::new();
    for (number, part) in parts.iter().enumerate() {
        let limited = Setup { max_cycles: Some(cycles * part / 100), ..setup.clone() };
        run(&limited, job, Checkpoints { plan: plan(&file, Duration::ZERO), resume: None });
        let Ok(saved) = SavedRun::open(&file) else {
            // It was ended within its first kernel.
            ended.push(0);
            continue;
        };
        ended.push(saved.kernels());
        assert!(saved.kernels() > 0);
        let again = Setup { threads: HostThreads::new([3, 1, 2][number % 3]), ..setup.clone() };
        let resumed = Checkpoints { plan: plan(&file, Duration::ZERO), resume: Some(saved) };
        let (resumed, ..) = run(&again, job, resumed);
        let first = resumed.lines().zip(whole.lines()).find(|(resumed, whole)| resumed != whole);
        assert_eq!(first, None, "{} on {}, resumed after {:?} kernels", setup.core, setup.gpu.name, ended.last());
        assert!(resumed == whole);
        let [a, b] = [&file, &of_whole].map(|path| std::fs::read(path).unwrap());
        assert!(a == b, "{} on {}: the last checkpoints differ", setup.core, setup.gpu.name);
        let [a, b] = [&file, &of_whole]
            .map(|path| std::fs::read_to_string(format!("{}.kernels.jsonl", path.display())).unwrap());
        assert!(a == b && a.lines().count() == kernels, "{}: the reports of kernels differ", setup.core);
    }
    ended
}

#[test]
fn every_design_is_resumed_as_if_it_had_not_been_ended() {
    let mut between = 0;
    for (core, _) in CORES.iter().filter(|(core, _)| lab::is_sm(core)) {
        let ended = check(&setup("rtx2060s", core, "bfs"), &workload("bfs", &[("nodes", 256), ("block", 32)]), &[60]);
        between += usize::from(ended[0] > 0);
    }
    assert!(between > 10, "{between} runs were ended between kernels");
}

#[test]
fn any_kernel_of_a_run_can_be_the_last() {
    let ended = check(&setup("rtx2060s", "inorder", "bfs"), &workload("bfs", &[]), &[15, 30, 50, 70, 85, 98]);
    assert!(ended.is_sorted() && ended[0] < ended[3], "{ended:?}");
}

/// Sectored L2 with two halves, carve-outs of L1, a historical core, other replacement and DRAM scheduling.
#[test]
fn gpus_of_all_kinds_are_resumed() {
    for gpu in ["a100", "gtx480", "v100", "rtx3070", "accel-sim/titanv"] {
        let ended = check(&setup(gpu, "inorder", "bfs"), &workload("bfs", &[("nodes", 1024), ("block", 64)]), &[50]);
        assert!(ended[0] > 0, "{gpu}");
    }
    let mut other = setup("rtx2060s", "loog", "bfs");
    let settings = [
        "l2.cache.replacement=srrip",
        "sm.l1d.cache.replacement=plru",
        "dram.scheduler=fr_fcfs_cap",
        "interconnect.arbiter=oldest_first",
    ];
    other.gpu = config::load_with(Path::new("rtx2060s"), &settings.map(str::to_owned)).expect("settings");
    other.scheduler = Some("two_level".into());
    check(&other, &workload("bfs", &[("nodes", 1024), ("block", 64)]), &[50]);
}

#[test]
fn every_warp_scheduler_is_resumed() {
    for (scheduler, _) in lab::schedulers() {
        let setup = Setup { scheduler: Some((*scheduler).to_owned()), ..setup("v100", "inorder", "bfs") };
        check(&setup, &workload("bfs", &[("nodes", 1024), ("block", 64)]), &[50]);
    }
}

#[test]
fn what_is_sampled_is_kept() {
    let every = NonZeroU64::new(700);
    let job = workload("bfs", &[("nodes", 1024), ("block", 64)]);
    let plain = setup("v100", "ghost", "bfs");
    check(&Setup { sample_interval: every, power_interval: every, ..plain.clone() }, &job, &[50]);
    check(&Setup { overview: true, ..plain }, &job, &[50]);
}

/// By auditors and profiles.
#[test]
fn what_is_observed_is_kept() {
    let job = workload("bfs", &[("nodes", 1024), ("block", 64)]);
    // Without its guard GhOST has hazards, which are counted.
    for core in ["ghost", "ghost-unguarded", "inorder+scalar"] {
        let plain = setup("rtx2060s", core, "bfs");
        check(&Setup { audit: true, ..plain.clone() }, &job, &[40]);
        check(&Setup { profile: true, ..plain }, &job, &[40]);
    }
}

fn window() -> TimelineWindow {
    TimelineWindow { cycles: Cycles::First(100), sms: vec![0], warps: u128::MAX, kernel: None }
}

/// Also where launches wait for others when the checkpoint is taken.
#[test]
fn traces_of_both_kinds_are_resumed() {
    let folder = Folder::new();
    let recording = Setup { code: Form::Sass, ..setup("rtx2060s", "inorder", "bfs") };
    let job = workload("bfs", &[("nodes", 1024), ("block", 64)]);
    for (name, format) in
        [("native", TraceFormat::Native { values: false }), ("accelsim", TraceFormat::AccelSim(Compression::None))]
    {
        let path = folder.file(name);
        let path = export(&recording, &job, &path, format, false, &mut Unattended).unwrap().path;
        for concurrent_streams in [false, true] {
            let job = Job::Trace { path: path.clone(), concurrent_streams };
            let ended = check(&setup("rtx2060s", "inorder", ""), &job, &[20, 60]);
            assert!(ended[1] > 0, "{name}: {ended:?}");
        }
    }
}

fn launch_file(name: &str) -> Job {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/launch").join(name);
    Job::LaunchFile { path, overrides: Overrides::default() }
}

/// Streams at the same time, launches in loops, textures.
#[test]
fn launch_files_are_resumed() {
    for name in ["streams.toml", "jacobi.toml", "resample.toml", "convolution.toml"] {
        check(&setup("rtx2060s", "inorder", ""), &launch_file(name), &[50, 90]);
    }
}

/// Cores without a pipeline; reductions, textures, copies and atomics of other workloads.
#[test]
fn other_state_of_the_device_is_kept() {
    check(&setup("rtx2060s", "functional", "bfs"), &workload("bfs", &[]), &[50]);
    for name in ["gaussian", "particlefilter", "lud", "kmeans"] {
        let ended = check(&setup("a100", "inorder", name), &workload(name, &[]), &[60]);
        assert!(ended[0] > 0, "{name}");
    }
    check(&setup("rtx2060s", "inorder", "imagefilter"), &workload("imagefilter", &[]), &[]);
}

/// Minutes: `cargo test --release -p warpwright-lab checkpoints -- --ignored`.
#[test]
#[ignore = "minutes"]
fn every_workload_and_design_is_resumed() {
    for (core, _) in CORES.iter().filter(|(core, _)| lab::is_sm(core)) {
        for workload_of in suite::on(Form::Ptx, 70) {
            let setup = setup(["v100", "rtx3070"][core.len() % 2], core, workload_of.name);
            check(&setup, &workload(workload_of.name, &[]), &[30, 80]);
        }
    }
}

fn refused(setup: &Setup, job: &Job, checkpoints: Checkpoints) -> String {
    run_kept(setup, job, checkpoints, &mut Unattended).expect_err("it is refused").message
}

#[test]
fn another_run_is_not_resumed() {
    let folder = Folder::new();
    let file = folder.file("a.checkpoint");
    let (job, first) = (workload("bfs", &[("nodes", 1024), ("block", 64)]), setup("rtx2060s", "inorder", "bfs"));
    run(&first, &job, Checkpoints { plan: plan(&file, Duration::ZERO), resume: None });
    let resume = || Checkpoints { plan: None, resume: Some(SavedRun::open(&file).unwrap()) };
    let error = refused(&setup("rtx2060s", "ghost", "bfs"), &job, resume());
    assert!(error.contains("core design: `inorder` there, `ghost` here"), "{error}");
    let error = refused(&setup("v100", "inorder", "bfs"), &job, resume());
    assert!(error.contains("GPU: `"), "{error}");
    let error = refused(&first, &workload("bfs", &[]), resume());
    assert!(error.contains("job: `bfs"), "{error}");
    let mut other = first;
    other.gpu = config::load_with(Path::new("rtx2060s"), &["l2.latency_cycles=99".to_owned()]).unwrap();
    assert!(refused(&other, &job, resume()).contains("GPU description: `"));
}

/// The description is the same, but the host does something else.
#[test]
fn a_host_that_does_something_else_is_found() {
    let folder = Folder::new();
    let file = folder.file("a.checkpoint");
    let text = |kernel: &str| {
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/launch").join(kernel))
            .unwrap()
    };
    for name in ["jacobi.toml", "jacobi.ptx"] {
        std::fs::write(folder.file(name), text(name)).unwrap();
    }
    let job = Job::LaunchFile { path: folder.file("jacobi.toml"), overrides: Overrides::default() };
    let setup = setup("rtx2060s", "inorder", "");
    run(&setup, &job, Checkpoints { plan: plan(&file, Duration::ZERO), resume: None });
    std::fs::write(folder.file("jacobi.toml"), text("jacobi.toml") + "\n# another one\n").unwrap();
    let error = refused(&setup, &job, Checkpoints { plan: None, resume: Some(SavedRun::open(&file).unwrap()) });
    assert!(error.contains("inputs: `"), "{error}");
}

#[test]
fn what_cannot_be_kept_is_refused() {
    let folder = Folder::new();
    let file = folder.file("a.checkpoint");
    let (job, plain) = (workload("bfs", &[("nodes", 1024), ("block", 64)]), setup("rtx2060s", "inorder", "bfs"));
    let kept = || Checkpoints { plan: plan(&file, Duration::ZERO), resume: None };
    for (option, setup) in [
        ("--timeline", Setup { timeline: Some(window()), ..plain.clone() }),
        ("--check-memory", Setup { check_memory: true, ..plain.clone() }),
        ("--out-of-bounds warn", Setup { out_of_bounds: OutOfBounds::Warn, ..plain }),
    ] {
        let error = refused(&setup, &job, kept());
        assert!(error.contains(&format!("leave out {option}")), "{error}");
    }
    let error = refused(&setup("rtx2060s", "sgmf", "vectoradd"), &workload("vectoradd", &[]), kept());
    assert!(error.contains("no checkpoints of core `sgmf`"), "{error}");
    assert!(SavedRun::open(&file).is_err(), "nothing ran");
}
