//! Every workload's result equals its reference on every GPU and under every warp scheduler; two runs have the same
//! figures.

use lab::{CORES, Job, Report, Setup, Unattended, run, schedulers};
use std::collections::BTreeMap;
use workloads::{Form, Workload, suite};

/// Board power of the cards by NVIDIA, in watts. Mean power is at most one and a half times that.
const BOARD_WATTS: [(&str, f64); 5] =
    [("gtx480", 250.0), ("v100", 300.0), ("rtx2060s", 175.0), ("rtx3070", 220.0), ("h100", 700.0)];

/// GPUs and the code that runs on them.
const CELLS: [(&str, Form); 9] = [
    ("gtx480", Form::Ptx),
    ("v100", Form::Ptx),
    ("rtx2060s", Form::Ptx),
    ("rtx3070", Form::Ptx),
    ("v100", Form::Sass),
    ("rtx2060s", Form::Sass),
    ("rtx3070", Form::Sass),
    ("h100", Form::Ptx),
    ("h100", Form::Sass),
];

fn simulate(code: Form, gpu: &str, core: &str, scheduler: Option<&str>, workload: &str) -> Report {
    let setup = Setup {
        code,
        core: core.into(),
        scheduler: scheduler.map(str::to_owned),
        max_cycles: Some(50_000_000),
        ..Setup::new(config::load(gpu).unwrap())
    };
    let job = Job::Workload { name: workload.into(), size: workloads::Size::Small, params: BTreeMap::new(), seed: 7 };
    run(&setup, &job, &mut Unattended).unwrap_or_else(|e| panic!("{workload} on {gpu}, {core}, {scheduler:?}: {e}"))
}

/// The cells that run `workload`. The H100 has those that no other GPU runs.
fn cells_of(workload: &Workload) -> Vec<usize> {
    let is_run = |(gpu, code): (&str, Form)| {
        workload.runs_on(code, config::load(gpu).unwrap().sm_version)
            && (gpu != "h100" || workload.module.only_on().is_some())
    };
    (0..CELLS.len()).filter(|&cell| is_run(CELLS[cell])).collect()
}

/// The runs of the suite: cell, index of the workload, scheduler. Each workload runs in each of its cells, and the
/// scheduler moves on by one from run to run and from workload to workload. So each scheduler meets each workload
/// and each cell; a workload with fewer cells than there are schedulers runs twice in some.
fn runs() -> Vec<(usize, usize, &'static str)> {
    let schedulers = schedulers();
    let mut runs = Vec::new();
    for (index, workload) in suite::ALL.iter().enumerate() {
        let cells = cells_of(workload);
        for turn in 0..cells.len().max(schedulers.len()) {
            runs.push((cells[turn % cells.len()], index, schedulers[(index + turn) % schedulers.len()].0));
        }
    }
    runs
}

/// Does the runs of one cell. The functional core has the same instructions and the same occupancy; power is plausible.
/// The other designs run the suite in `audit.rs`.
fn check_all(gpu: &str, code: Form) {
    let core = CORES[0].0;
    let (_, board_watts) = BOARD_WATTS.into_iter().find(|(name, _)| *name == gpu).expect("each GPU has its power");
    let model = Setup::new(config::load(gpu).unwrap()).energy.expect("each GPU has coefficients").unwrap();
    let constant_watts = model.coefficients().constant_watts;
    for (_, index, scheduler) in runs().into_iter().filter(|&(cell, ..)| CELLS[cell] == (gpu, code)) {
        let workload = &suite::ALL[index];
        let name = format!("{} on {gpu}, {code:?}, {core}, {scheduler}", workload.name);
        let report = simulate(code, gpu, core, Some(scheduler), workload.name);
        let check = report.check.as_ref().expect("every workload has a reference");
        assert!(check.passed && !report.interrupted, "{name}: {}", check.details);
        let without_time = simulate(code, gpu, "functional", None, workload.name);
        let figures = |r: &Report| ["warp_instructions", "thread_instructions"].map(|name| r.total.number(name));
        // Spin loops, and merges of what atomics ordered, run longer or shorter as the order of warps has it; a node that
        // another warp reached first is not reached again.
        if !["hashtable", "hybridsort", "bfslevels", "wgmma", "flashattention3"].contains(&workload.name) {
            assert_eq!(figures(&report), figures(&without_time), "{name}");
        }
        let occupancy = |r: &Report| r.kernels.iter().map(|k| k.occupancy.clone()).collect::<Vec<_>>();
        assert_eq!(occupancy(&report), occupancy(&without_time), "{name}");
        let watts = report.total.number("power.mean");
        assert!((constant_watts..1.5 * board_watts).contains(&watts), "{name}: {watts} W");
    }
}

#[test]
fn every_scheduler_meets_every_workload_and_every_cell() {
    let runs = runs();
    for (scheduler, _) in schedulers() {
        let mine = || runs.iter().filter(|(.., by)| by == scheduler);
        assert!((0..CELLS.len()).all(|cell| mine().any(|run| run.0 == cell)), "{scheduler}");
        assert!((0..suite::ALL.len()).all(|index| mine().any(|run| run.1 == index)), "{scheduler}");
    }
    for (index, workload) in suite::ALL.iter().enumerate() {
        let met = |cell: &usize| runs.iter().any(|run| (run.0, run.1) == (*cell, index));
        assert!(cells_of(workload).iter().all(met), "{}", workload.name);
    }
}

#[test]
fn suite_on_gtx480() {
    check_all("gtx480", Form::Ptx);
}

#[test]
fn suite_on_v100() {
    check_all("v100", Form::Ptx);
}

#[test]
fn suite_on_rtx2060s() {
    check_all("rtx2060s", Form::Ptx);
}

#[test]
fn suite_on_rtx3070() {
    check_all("rtx3070", Form::Ptx);
}

#[test]
fn machine_code_on_v100() {
    check_all("v100", Form::Sass);
}

#[test]
fn machine_code_on_rtx2060s() {
    check_all("rtx2060s", Form::Sass);
}

#[test]
fn machine_code_on_rtx3070() {
    check_all("rtx3070", Form::Sass);
}

#[test]
fn two_runs_have_the_same_figures() {
    for (core, scheduler) in [("inorder", Some("gto")), ("functional", None)] {
        for code in [Form::Ptx, Form::Sass] {
            for workload in ["bfs", "hashtable", "histogram", "reduction"] {
                let [a, b] = [(); 2].map(|()| simulate(code, "rtx2060s", core, scheduler, workload));
                assert_eq!(a.total, b.total, "{workload}, {core}");
                assert_eq!(a.kernels, b.kernels, "{workload}, {core}");
            }
        }
    }
}

#[test]
fn ptx_on_h100() {
    check_all("h100", Form::Ptx);
}

#[test]
fn machine_code_on_h100() {
    check_all("h100", Form::Sass);
}
