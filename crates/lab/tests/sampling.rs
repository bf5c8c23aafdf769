//! Sampled runs: memory is as after a full run whatever is timed, and reports say what was inferred.

use lab::{Compression, How, Job, Report, Sampling, Setup, Time, TraceFormat, Unattended, export, run};
use std::collections::BTreeMap;
use std::path::Path;
use workloads::{Form, Size, suite};

fn setup(code: Form, time: &str) -> Setup {
    let time = time.parse::<Time>().unwrap_or_else(|e| panic!("{e}"));
    Setup { code, time, max_cycles: Some(50_000_000), ..Setup::new(config::load("rtx2060s").unwrap()) }
}

fn job(name: &str) -> Job {
    Job::Workload { name: name.into(), size: Size::Small, params: BTreeMap::new(), seed: 7 }
}

fn launch_file(name: &str) -> Job {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/launch").join(name);
    Job::LaunchFile { path, overrides: launchfile::Overrides::default() }
}

fn simulate(setup: &Setup, job: &Job) -> Report {
    run(setup, job, &mut Unattended).unwrap_or_else(|e| panic!("{job:?}, {}: {e}", setup.time))
}

fn sampling(report: &Report) -> &Sampling {
    report.sampling.as_ref().expect("the run is sampled")
}

const CHOICES: [&str; 5] = ["none", "kernels=1..2", "ctas=1..3", "representative", "representative:tolerance=100"];

/// Invariants of every sampled report.
fn check(report: &Report, full: &Report, what: &str) {
    let check = report.check.as_ref().expect("there is a reference");
    assert!(check.passed, "{what}: {}", check.details);
    let found = sampling(report);
    assert_eq!(found.launches, found.timed + found.partly + found.untimed, "{what}");
    assert_eq!(report.kernels.len() as u64, found.timed + found.partly, "{what}");
    let numbers: Vec<u32> = found.kernels.iter().map(|one| one.launch).collect();
    assert_eq!(numbers, (0..full.kernels.len() as u32).collect::<Vec<_>>(), "{what}");
    for kernel in &report.kernels {
        let same = full.kernels.iter().find(|one| one.launch == kernel.launch).expect("the full run has it");
        assert_eq!((&kernel.name, kernel.grid, kernel.block), (&same.name, same.grid, same.block), "{what}");
    }
    assert!(found.total_cycles >= found.timed_cycles as f64, "{what}");
}

#[test]
fn every_workload_of_several_launches_has_the_same_result() {
    let mut several = 0;
    for workload in suite::on(Form::Ptx, 75) {
        // Warps of these spin until others have done something: how often depends on their order.
        let full = simulate(&setup(Form::Ptx, "all"), &job(workload.name));
        if full.kernels.len() < 2 {
            continue;
        }
        several += 1;
        for time in CHOICES {
            let report = simulate(&setup(Form::Ptx, time), &job(workload.name));
            check(&report, &full, &format!("{}, {time}", workload.name));
        }
    }
    assert!(several > 3, "{several}");
}

#[test]
fn loops_of_launches_in_files_have_the_same_result() {
    for name in ["jacobi.toml", "bitonic.toml", "bfs.toml", "lists.toml"] {
        let full = simulate(&setup(Form::Ptx, "all"), &launch_file(name));
        for time in CHOICES {
            let report = simulate(&setup(Form::Ptx, time), &launch_file(name));
            check(&report, &full, &format!("{name}, {time}"));
        }
    }
}

/// With a tolerance of nothing and launches that all differ, everything is timed: the figures are those of a full run.
#[test]
fn a_run_that_is_timed_as_a_whole_has_the_figures_of_a_full_run() {
    let full = simulate(&setup(Form::Sass, "all"), &job("lud"));
    assert!(full.sampling.is_none() && full.kernels.len() > 3);
    let last = full.kernels.len() - 1;
    for time in [format!("kernels=0..{last}"), "ctas=0..100000".to_owned()] {
        let report = simulate(&setup(Form::Sass, &time), &job("lud"));
        assert_eq!((&report.kernels, &report.total), (&full.kernels, &full.total), "{time}");
        let found = sampling(&report);
        assert_eq!((found.untimed, found.inferred_cycles, found.error_cycles), (0, 0.0, Some(0.0)), "{time}");
        assert_eq!(found.total_cycles, full.total.number("cycles"), "{time}");
    }
}

/// Launches of different streams still overlap if all of them are timed.
#[test]
fn timed_launches_of_streams_overlap() {
    let full = simulate(&setup(Form::Ptx, "all"), &launch_file("streams.toml"));
    let all = simulate(&setup(Form::Ptx, "kernels=0..1000"), &launch_file("streams.toml"));
    assert_eq!((&all.kernels, &all.total), (&full.kernels, &full.total));
    for time in CHOICES {
        let report = simulate(&setup(Form::Ptx, time), &launch_file("streams.toml"));
        check(&report, &full, time);
    }
}

/// The choice of representatives follows from what launches do, not from their time.
#[test]
fn designs_time_the_same_launches() {
    let how = |core: &str| {
        let setup = Setup { core: core.into(), ..setup(Form::Ptx, "representative") };
        let report = simulate(&setup, &launch_file("jacobi.toml"));
        sampling(&report).kernels.iter().map(|one| (one.launch, one.how, one.group)).collect::<Vec<_>>()
    };
    let in_order = how("inorder");
    assert!(in_order.iter().any(|one| one.1 == How::Functional));
    assert_eq!(in_order, how("ghost"));
}

#[test]
fn launches_of_representatives_are_counted_by_group() {
    let report = simulate(&setup(Form::Ptx, "representative"), &launch_file("jacobi.toml"));
    let found = sampling(&report);
    for (at, group) in found.groups.iter().enumerate() {
        let of_group = || found.kernels.iter().filter(|one| one.group == Some(at));
        assert_eq!(of_group().count() as u64, group.launches);
        assert_eq!(of_group().filter(|one| one.how == How::Timed).count() as u64, group.timed);
        let first: Vec<How> = of_group().take(2).map(|one| one.how).collect();
        assert!(first.iter().all(|how| *how == How::Timed));
        // One of each power of two that follows.
        assert!(group.timed >= group.launches.ilog2().into() && group.timed <= u64::from(group.launches.ilog2()) + 2);
        assert!(group.cycles_per_warp_instruction.is_some_and(|cycles| cycles > 0.0));
    }
    for one in found.kernels.iter().filter(|one| one.how == How::Functional) {
        assert!(one.inferred_cycles.is_some_and(|cycles| cycles > 0.0) && one.timed_cycles.is_none());
    }
    assert!(report.remarks.iter().any(|remark| remark.starts_with("sampled (representative")), "{:?}", report.remarks);
}

/// Cycles inferred of a part are near those of the whole launch.
#[test]
fn a_part_of_a_grid_gives_the_time_of_the_whole() {
    let gpu = || config::load_with(Path::new("rtx2060s"), &["sm_count=4".to_owned()]).unwrap();
    let job = Job::Workload { name: "vectoradd".into(), size: Size::Medium, params: BTreeMap::new(), seed: 7 };
    let full = simulate(&Setup { gpu: gpu(), ..setup(Form::Sass, "all") }, &job);
    let ctas = full.kernels[0].grid.volume();
    let part = format!("ctas=0..{}", ctas / 4);
    let report = simulate(&Setup { gpu: gpu(), ..setup(Form::Sass, &part) }, &job);
    assert!(report.check.as_ref().is_some_and(|check| check.passed));
    let found = sampling(&report);
    let (inferred, cycles) = (found.total_cycles, full.total.number("cycles"));
    assert!((inferred / cycles - 1.0).abs() < 0.1, "{inferred} for {cycles}");
    assert_eq!(found.kernels[0].warp_instructions, Some(full.total.number("warp_instructions") as u64));
    let kernel = &found.kernels[0];
    assert_eq!((kernel.how, kernel.ctas), (How::Partly, Some([0, ctas / 4])));
}

/// Traces of both kinds leave out what is not timed, and time the rest as a live run does.
#[test]
fn traces_leave_out_what_is_not_timed() {
    let folder = tempfile::tempdir().unwrap();
    let source = Setup { core: lab::CORE_OF_TRACES.into(), ..setup(Form::Sass, "all") };
    for (name, format) in
        [("native", TraceFormat::Native { values: false }), ("accelsim", TraceFormat::AccelSim(Compression::None))]
    {
        let path = folder.path().join(name);
        export(&source, &job("lud"), &path, format, false, &mut Unattended).unwrap();
        let trace = Job::Trace { path, concurrent_streams: false };
        let full = simulate(&setup(Form::Sass, "all"), &trace);
        for time in CHOICES {
            let report = simulate(&setup(Form::Sass, time), &trace);
            let found = sampling(&report);
            assert_eq!(found.launches as usize, full.kernels.len(), "{name}, {time}");
            assert!(found.kernels.iter().all(|one| one.how != How::Functional), "{name}, {time}");
            assert_eq!(found.timed + found.partly, report.kernels.len() as u64, "{name}, {time}");
        }
        let first = simulate(&setup(Form::Sass, "kernels=0"), &trace);
        assert_eq!(first.kernels[..], full.kernels[..1], "{name}");
        let second = simulate(&setup(Form::Sass, "kernels=1"), &trace);
        let figures = |report: &Report, at: usize| {
            (report.kernels[at].launch, report.kernels[at].statistics.number("warp_instructions"))
        };
        assert_eq!(figures(&second, 0), figures(&full, 1), "{name}");
        let all = simulate(&setup(Form::Sass, "ctas=0..100000"), &trace);
        assert_eq!(all.kernels, full.kernels, "{name}");
    }
}

#[test]
fn a_choice_that_names_nothing_is_known() {
    for (time, unmatched) in [
        ("kernels=nosuch", &["nosuch"][..]),
        ("kernels=99", &["99"]),
        ("kernels=0,7..9,vectorad,vectoradd", &["7..9", "vectorad"]),
        ("ctas=5000..6000", &["ctas=5000..6000"]),
        ("kernels=0", &[]),
        ("ctas=0..9999", &[]),
        ("none", &[]),
    ] {
        let report = simulate(&setup(Form::Ptx, time), &job("vectoradd"));
        let found = sampling(&report);
        assert_eq!(found.unmatched, unmatched, "{time}");
        let remarks = report.remarks.iter().filter(|remark| remark.contains("names no launch")).count();
        assert_eq!(remarks, unmatched.len(), "{time}: {:?}", report.remarks);
        for part in unmatched {
            let message = found.names_nothing(part);
            assert!(
                message.contains(part) && message.contains("launch 0") && message.contains("vectoradd"),
                "{message}"
            );
        }
    }
}
