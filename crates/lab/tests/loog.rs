//! LOOG over the suite, as PTX and as machine code, with and without sub-cores: right results, the same
//! instructions as in order, and no order broken.

use lab::{Job, Report, Setup, Unattended, audit, run};
use std::collections::BTreeMap;
use workloads::{Form, suite};

fn check_all(gpu: &str, code: Form) {
    let config = config::load(gpu).unwrap();
    let setup =
        |core: &str| Setup { core: core.into(), code, max_cycles: Some(50_000_000), ..Setup::new(config.clone()) };
    for workload in suite::ALL {
        if code == Form::Sass && workload.module.cubin(config.sm_version).is_none() {
            continue;
        }
        let job = Job::Workload { name: workload.name.into(), size: "small".into(), params: BTreeMap::new(), seed: 7 };
        let in_order = run(&setup("inorder"), &job, &mut Unattended).unwrap();
        for core in ["loog", "loog-8", "loog-lsq"] {
            let name = format!("{} on {gpu}, {core}", workload.name);
            let (report, findings) =
                audit(&setup(core), &job, &mut Unattended).unwrap_or_else(|e| panic!("{name}: {e}"));
            let check = report.check.as_ref().expect("every workload has a reference");
            assert!(check.passed, "{name}: {}", check.details);
            assert!(findings.dependences > 0, "{name}");
            assert_eq!(findings.total(), 0, "{name}: {findings}");
            // Spin loops run longer or shorter as the order of warps has it.
            if !workload.name.contains("hashtable") {
                let instructions = |r: &Report| r.total.number("warp_instructions");
                assert_eq!(instructions(&report), instructions(&in_order), "{name}");
            }
        }
    }
}

#[test]
fn suite_as_ptx_on_rtx2060s() {
    check_all("rtx2060s", Form::Ptx);
}

#[test]
fn suite_as_ptx_on_gtx480() {
    check_all("gtx480", Form::Ptx);
}

#[test]
fn suite_as_machine_code_on_rtx2060s() {
    check_all("rtx2060s", Form::Sass);
}

#[test]
fn suite_as_machine_code_on_v100() {
    check_all("v100", Form::Sass);
}
