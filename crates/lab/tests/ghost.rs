//! GhOST over the whole suite: right results, the same instructions as in order, and no order broken
//! but what the in-order core without WAR protection breaks too. Machine code where there is some.

use lab::{Findings, Job, Report, Setup, Unattended, Violation, audit, run};
use std::collections::BTreeMap;
use workloads::{Form, suite};

fn setup(gpu: &str, core: &str) -> Setup {
    let gpu = config::load(gpu).unwrap();
    let code = if gpu.sm_version < 70 { Form::Ptx } else { Form::Sass };
    Setup { core: core.into(), code, max_cycles: Some(50_000_000), ..Setup::new(gpu) }
}

fn job(workload: &str) -> Job {
    Job::Workload { name: workload.into(), size: "small".into(), params: BTreeMap::new(), seed: 7 }
}

fn audited(gpu: &str, core: &str, workload: &str) -> (Report, Findings) {
    audit(&setup(gpu, core), &job(workload), &mut Unattended)
        .unwrap_or_else(|e| panic!("{workload} on {gpu}, {core}: {e}"))
}

fn check_all(gpu: &str) {
    let sm_version = config::load(gpu).unwrap().sm_version;
    for workload in suite::ALL {
        if sm_version >= 70 && workload.module.cubin(sm_version).is_none() {
            continue;
        }
        let in_order = run(&setup(gpu, "inorder"), &job(workload.name), &mut Unattended).unwrap();
        for core in ["ghost", "ghost-precise", "ghost-32"] {
            let (report, findings) = audited(gpu, core, workload.name);
            let name = format!("{} on {gpu}, {core}", workload.name);
            let check = report.check.as_ref().expect("every workload has a reference");
            assert!(check.passed, "{name}: {}", check.details);
            assert!(findings.dependences > 0, "{name}");
            assert_eq!(findings.total(), findings.count(Violation::War), "{name}: {findings}");
            // Spin loops run longer or shorter as the order of warps has it.
            if !workload.name.contains("hashtable") {
                let instructions = |r: &Report| r.total.number("warp_instructions");
                assert_eq!(instructions(&report), instructions(&in_order), "{name}");
            }
        }
    }
}

#[test]
fn suite_on_gtx480() {
    check_all("gtx480");
}

#[test]
fn suite_on_v100() {
    check_all("v100");
}

#[test]
fn suite_on_rtx2060s() {
    check_all("rtx2060s");
}
