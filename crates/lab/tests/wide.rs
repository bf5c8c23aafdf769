//! SMs of more than 64 warps, as in figure 1 of the SOCGPU paper: right results under all kinds of
//! designs, no order broken, and more than 64 warps there at once.

use config::GpuConfig;
use lab::{Compression, Job, Report, Setup, TraceFormat, Unattended, audit, export, run};
use workloads::Form;

/// A V100 of two SMs, each with twice the warps and registers: small workloads fill them.
fn gpu() -> GpuConfig {
    let mut gpu = config::load("v100").unwrap();
    gpu.sm_count = 2;
    (gpu.sm.max_warps, gpu.sm.registers) = (2 * gpu.sm.max_warps, 2 * gpu.sm.registers);
    gpu
}

fn setup(core: &str) -> Setup {
    Setup { core: core.into(), code: Form::Sass, max_cycles: Some(50_000_000), ..Setup::new(gpu()) }
}

fn job(workload: &str, params: &[(&str, u64)]) -> Job {
    let params = params.iter().map(|&(name, value)| (name.to_owned(), value));
    Job::Workload { name: workload.into(), size: workloads::Size::Small, params: params.collect(), seed: 7 }
}

/// Runs a workload whose result must be right.
fn ran(setup: &Setup, job: &Job) -> Report {
    let report = run(setup, job, &mut Unattended).unwrap_or_else(|e| panic!("{} {job:?}: {e}", setup.core));
    let check = report.check.as_ref().expect("every workload has a reference");
    assert!(check.passed, "{} {job:?}: {}", setup.core, check.details);
    report
}

/// Warps resident on an SM, mean over the cycles in which it had any.
fn warps(report: &Report) -> f64 {
    report.total.number("occupancy.achieved") / 100.0 * 128.0
}

const VECTORS: (&str, &[(&str, u64)]) = ("vectoradd", &[("n", 65536), ("block", 256)]);

#[test]
fn every_design_keeps_order_among_128_warps() {
    let cores = [
        "inorder-war-exact",
        "warpboard-commit",
        "warpboard-read",
        "bloomboard-1",
        "ghost-precise",
        "socgpu",
        "loog-lsq",
        "ideal",
    ];
    for core in cores {
        for (workload, params) in [VECTORS, ("reduction", &[]), ("hotspot", &[]), ("histogram", &[]), ("bfs", &[])] {
            let name = format!("{workload}, {core}");
            let (report, findings) =
                audit(&setup(core), &job(workload, params), &mut Unattended).unwrap_or_else(|e| panic!("{name}: {e}"));
            let check = report.check.as_ref().expect("every workload has a reference");
            assert!(check.passed, "{name}: {}", check.details);
            assert_eq!(findings.total(), 0, "{name}: {findings}");
            if workload == VECTORS.0 {
                assert!(warps(&report) > 100.0, "{name}: {} warps", warps(&report));
            }
        }
    }
}

#[test]
fn every_scheduler_serves_128_warps() {
    for (scheduler, _) in lab::schedulers() {
        let setup = Setup { scheduler: Some((*scheduler).into()), ..setup("inorder") };
        let report = ran(&setup, &job(VECTORS.0, VECTORS.1));
        assert!(warps(&report) > 64.0, "{scheduler}: {} warps", warps(&report));
        // Watching changes nothing.
        let (audited, _) = audit(&setup, &job(VECTORS.0, VECTORS.1), &mut Unattended).unwrap();
        assert_eq!(audited.total.number("cycles"), report.total.number("cycles"), "{scheduler}");
    }
}

#[test]
fn a_scalar_path_sees_the_values_of_128_warps() {
    let (wide, vectors) = (setup("inorder-war-exact+scalar"), job(VECTORS.0, VECTORS.1));
    let mut narrow = wide.clone();
    narrow.gpu.sm.max_warps = 64;
    let shares = [&wide, &narrow].map(|setup| ran(setup, &vectors).total.number("design.scalar_share"));
    let (audited, _) = audit(&wide, &vectors, &mut Unattended).unwrap();
    assert!(shares[0] > 0.0, "{shares:?}");
    assert_eq!([shares[0]; 2], [shares[1], audited.total.number("design.scalar_share")]);
}

#[test]
fn what_does_not_fill_64_warps_takes_as_long_in_128() {
    // One CTA of one warp: the slots beside it make no difference.
    let (few, many) = (job("vectoradd", &[("n", 32), ("block", 32)]), setup("inorder-war-exact"));
    let mut narrow = many.clone();
    narrow.gpu.sm.max_warps = 64;
    assert_eq!(ran(&narrow, &few).total.number("cycles"), ran(&many, &few).total.number("cycles"));
}

#[test]
fn traces_are_recorded_from_and_run_on_128_warps() {
    let setup = setup("inorder");
    let live = ran(&setup, &job(VECTORS.0, VECTORS.1));
    for format in [TraceFormat::Native { values: false }, TraceFormat::AccelSim(Compression::None)] {
        let folder = tempfile::tempdir().unwrap();
        let recorded = export(&setup, &job(VECTORS.0, VECTORS.1), folder.path(), format, false, &mut Unattended);
        let path = recorded.unwrap_or_else(|e| panic!("{format:?}: {e}")).path;
        let again = run(&setup, &Job::Trace { path, concurrent_streams: false }, &mut Unattended).unwrap();
        assert!(warps(&again) > 100.0, "{format:?}: {} warps", warps(&again));
        assert_eq!(again.total.number("warp_instructions"), live.total.number("warp_instructions"), "{format:?}");
    }
}

#[test]
fn more_than_128_are_an_error() {
    let mut setup = setup("inorder");
    setup.gpu.sm.max_warps = 129;
    let error = run(&setup, &job("vectoradd", &[]), &mut Unattended).unwrap_err().to_string();
    assert!(error.contains("the number of warp slots is 129, not in 1..=128"), "{error}");
}
