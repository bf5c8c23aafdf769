//! Checks of memory accesses over the whole suite: its kernels have races only where their algorithms do.

use lab::{Job, MemoryChecks, Setup, Time, Unattended, run};
use std::collections::BTreeMap;
use workloads::{Form, Size, suite};

fn checks(code: Form, core: &str, name: &str) -> MemoryChecks {
    let gpu = config::load("rtx2060s").unwrap();
    let setup = Setup { code, core: core.into(), check_memory: true, ..Setup::new(gpu) };
    let job = Job::Workload { name: name.into(), size: Size::Small, params: BTreeMap::new(), seed: 1 };
    let report = run(&setup, &job, &mut Unattended).unwrap_or_else(|e| panic!("{name} on {core}: {e}"));
    assert!(report.check.is_some_and(|check| check.passed), "{name} on {core}");
    let checks = report.memory_checks.expect("the run is checked");
    assert_eq!(checks.instructions as f64, report.total.number("warp_instructions"), "{name} on {core}");
    checks
}

/// The only workloads with races: threads of several CTAs write the same place, all with the same value.
const RACY: [&str; 3] = ["bfs", "sssp", "bfslevels"];

#[test]
fn the_suite_is_clean() {
    for code in [Form::Ptx, Form::Sass] {
        for workload in suite::on(code, 75) {
            let found = checks(code, "functional", workload.name);
            let kinds: Vec<&str> = found.accesses.keys().copied().collect();
            let expected: &[&str] = if RACY.contains(&workload.name) { &["global_race"] } else { &[] };
            assert_eq!(kinds, expected, "{}: {:?}", workload.name, found.findings.first());
        }
    }
}

/// Also the races of [`RACY`] decide nothing.
#[test]
fn no_workload_has_a_race_that_decides_its_result() {
    for code in [Form::Ptx, Form::Sass] {
        for workload in suite::on(code, 75) {
            let setup = Setup { code, time: Time::None, ..Setup::new(config::load("rtx2060s").unwrap()) };
            let (name, params) = (workload.name.into(), BTreeMap::new());
            let job = Job::Workload { name, size: Size::Small, params, seed: 1 };
            let report = run(&setup, &job, &mut Unattended).unwrap_or_else(|e| panic!("{}: {e}", workload.name));
            let race = report.remarks.iter().find(|remark| remark.contains("race"));
            assert!(race.is_none() && report.check.is_some_and(|check| check.passed), "{}: {race:?}", workload.name);
        }
    }
}

#[test]
fn every_core_is_checked() {
    for core in ["inorder", "ghost", "loog", "socgpu", "inorder+scalar"] {
        for name in ["matmul", "reduction", "lastblock"] {
            assert_eq!(checks(Form::Sass, core, name).findings, [], "{name} on {core}");
        }
    }
}
