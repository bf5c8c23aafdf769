//! The idealised out-of-order core over the whole suite: right results, the same instructions as in
//! order, no order broken.

use lab::{Job, Setup, Unattended, audit, run};
use std::collections::BTreeMap;
use workloads::{Form, suite};

/// The columns of table V.
const COLUMNS: [&str; 8] = ["ideal", "ideal-ra", "ideal-rb", "ideal-ab", "ideal-r", "ideal-a", "ideal-b", "ideal-none"];

fn check_all(gpu: &str, code: Form, cores: &[&str]) {
    let config = config::load(gpu).unwrap();
    let setup =
        |core: &str| Setup { core: core.into(), code, max_cycles: Some(50_000_000), ..Setup::new(config.clone()) };
    for workload in suite::ALL {
        if code == Form::Sass && workload.module.cubin(config.sm_version).is_none() {
            continue;
        }
        let job = Job::Workload { name: workload.name.into(), size: "small".into(), params: BTreeMap::new(), seed: 3 };
        let in_order = run(&setup("inorder"), &job, &mut Unattended).unwrap().total.number("warp_instructions");
        for core in cores {
            let name = format!("{} on {gpu}, {code:?}, {core}", workload.name);
            let (report, findings) =
                audit(&setup(core), &job, &mut Unattended).unwrap_or_else(|e| panic!("{name}: {e}"));
            let check = report.check.as_ref().expect("every workload has a reference");
            assert!(check.passed, "{name}: {}", check.details);
            assert!(findings.dependences > 0, "{name}");
            assert_eq!(findings.total(), 0, "{name}: {findings}");
            // Spin loops run longer or shorter as the order of warps has it.
            if !workload.name.contains("hashtable") {
                assert_eq!(report.total.number("warp_instructions"), in_order, "{name}");
            }
            let share = report.total.number("design.reordered_share");
            assert!(share > 0.0 && share < 100.0, "{name}: {share} %");
        }
    }
}

// Machine code on RTX 2060 Super and PTX on GTX 480: `audit.rs`, all columns.

#[test]
fn machine_code_on_v100() {
    check_all("v100", Form::Sass, &["ideal", "ideal-none"]);
}

#[test]
fn ptx_on_rtx2060s() {
    check_all("rtx2060s", Form::Ptx, &["ideal", "ideal-ab"]);
}

#[test]
#[ignore = "minutes"]
fn every_column() {
    for gpu in ["rtx2060s", "v100"] {
        [Form::Sass, Form::Ptx].into_iter().for_each(|code| check_all(gpu, code, &COLUMNS));
    }
}
