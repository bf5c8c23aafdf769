//! Every workload's result equals its reference on every GPU under every warp scheduler, twice
//! with the same figures.

use lab::{CORES, Job, Report, Setup, Unattended, run, schedulers};
use std::collections::BTreeMap;
use workloads::{Form, suite};

const GPUS: [&str; 4] = ["gtx480", "v100", "rtx2060s", "rtx3070"];

fn simulate(code: Form, gpu: &str, core: &str, scheduler: &str, workload: &str) -> Report {
    let setup = Setup {
        code,
        core: core.into(),
        scheduler: Some(scheduler.into()),
        max_cycles: Some(50_000_000),
        ..Setup::new(config::load(gpu).unwrap())
    };
    let job = Job::Workload { name: workload.into(), size: workloads::Size::Small, params: BTreeMap::new(), seed: 7 };
    run(&setup, &job, &mut Unattended).unwrap_or_else(|e| panic!("{workload} on {gpu}, {core}, {scheduler}: {e}"))
}

/// Runs the whole suite on one GPU; of machine code, the workloads that are compiled for it. The
/// other designs run it in `audit.rs`.
fn check_all(code: Form, gpu: &str) {
    for (core, _) in &CORES[..1] {
        for workload in suite::ALL {
            let sm_version = config::load(gpu).unwrap().sm_version;
            if code == Form::Sass && workload.module.cubin(sm_version).is_none() {
                continue;
            }
            let mut instructions = None;
            for (scheduler, _) in schedulers() {
                let report = simulate(code, gpu, core, scheduler, workload.name);
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
    check_all(Form::Ptx, GPUS[0]);
}

#[test]
fn suite_on_v100() {
    check_all(Form::Ptx, GPUS[1]);
}

#[test]
fn suite_on_rtx2060s() {
    check_all(Form::Ptx, GPUS[2]);
}

#[test]
fn suite_on_rtx3070() {
    check_all(Form::Ptx, GPUS[3]);
}

#[test]
fn machine_code_on_v100() {
    check_all(Form::Sass, GPUS[1]);
}

#[test]
fn machine_code_on_rtx2060s() {
    check_all(Form::Sass, GPUS[2]);
}

#[test]
fn machine_code_on_rtx3070() {
    check_all(Form::Sass, GPUS[3]);
}

#[test]
fn two_runs_have_the_same_figures() {
    for code in [Form::Ptx, Form::Sass] {
        for workload in ["bfs", "histogram", "reduction"] {
            let [a, b] = [(); 2].map(|()| simulate(code, "rtx2060s", "inorder", "gto", workload));
            assert_eq!(a.total, b.total, "{workload}");
            assert_eq!(a.kernels, b.kernels, "{workload}");
        }
    }
}
