//! Every workload's result equals its reference on every GPU under every warp scheduler, twice
//! with the same figures.

use lab::{CORES, Job, Report, Setup, Unattended, run, schedulers};
use std::collections::BTreeMap;
use workloads::suite;

const GPUS: [&str; 4] = ["gtx480", "v100", "rtx2060s", "rtx3070"];

fn simulate(gpu: &str, core: &str, scheduler: &str, workload: &str) -> Report {
    let setup = Setup {
        core: core.into(),
        scheduler: Some(scheduler.into()),
        max_cycles: Some(50_000_000),
        ..Setup::new(config::load(gpu).unwrap())
    };
    let job = Job::Workload { name: workload.into(), size: "small".into(), params: BTreeMap::new(), seed: 7 };
    run(&setup, &job, &mut Unattended).unwrap_or_else(|e| panic!("{workload} on {gpu}, {core}, {scheduler}: {e}"))
}

/// Runs the whole suite on one GPU.
fn check_all(gpu: &str) {
    for (core, _) in CORES {
        for workload in suite::ALL {
            let mut instructions = None;
            for (scheduler, _) in schedulers() {
                let report = simulate(gpu, core, scheduler, workload.name);
                let check = report.check.expect("every workload has a reference");
                assert!(check.passed, "{} on {gpu}, {core}, {scheduler}: {}", workload.name, check.details);
                assert!(!report.interrupted);
                // Spin loops run longer or shorter as the order of warps has it.
                if !workload.name.contains("hashtable") {
                    let issued = report.total.number("warp_instructions");
                    assert_eq!(*instructions.get_or_insert(issued), issued, "{} under {scheduler}", workload.name);
                }
            }
        }
    }
}

#[test]
fn suite_on_gtx480() {
    check_all(GPUS[0]);
}

#[test]
fn suite_on_v100() {
    check_all(GPUS[1]);
}

#[test]
fn suite_on_rtx2060s() {
    check_all(GPUS[2]);
}

#[test]
fn suite_on_rtx3070() {
    check_all(GPUS[3]);
}

#[test]
fn two_runs_have_the_same_figures() {
    for workload in ["bfs", "histogram", "reduction"] {
        let [a, b] = [(); 2].map(|()| simulate("rtx2060s", "inorder", "gto", workload));
        assert_eq!(a.total, b.total, "{workload}");
        assert_eq!(a.kernels, b.kernels, "{workload}");
    }
}
