//! SOCGPU over the whole suite: right results, the same instructions as in order, and no order broken.

use lab::{Job, Setup, Unattended, audit, run};
use std::collections::BTreeMap;
use workloads::{Form, suite};

fn check_all(code: Form, gpu: &str) {
    let gpu = config::load(gpu).unwrap();
    for workload in suite::ALL {
        if code == Form::Sass && workload.module.cubin(gpu.sm_version).is_none() {
            continue;
        }
        let setup =
            |core: &str| Setup { core: core.into(), code, max_cycles: Some(50_000_000), ..Setup::new(gpu.clone()) };
        let (name, size) = (workload.name.into(), "small".into());
        let job = Job::Workload { name, size, params: BTreeMap::new(), seed: 7 };
        let in_order = run(&setup("inorder-war-exact"), &job, &mut Unattended).unwrap();
        for core in ["socgpu", "socgpu-4", "socgpu-32", "socgpu-issue-memory"] {
            let name = format!("{} on {}, {core}", workload.name, gpu.name);
            let (report, findings) =
                audit(&setup(core), &job, &mut Unattended).unwrap_or_else(|e| panic!("{name}: {e}"));
            let check = report.check.as_ref().expect("every workload has a reference");
            assert!(check.passed, "{name}: {}", check.details);
            assert!(findings.dependences > 0, "{name}");
            assert_eq!(findings.total(), 0, "{name}: {findings}");
            // Spin loops run longer or shorter as the order of warps has it.
            if !workload.name.contains("hashtable") {
                let of = |name: &str| (report.total.number(name), in_order.total.number(name));
                let (mine, theirs) = of("warp_instructions");
                assert_eq!(mine, theirs, "{name}");
            }
            // Each kernel has its own share of the design's statistics.
            let figure = |name: &str| report.total.get(name).and_then(lab::Value::number).expect(name);
            assert!(figure("design.raw_dependences") > 0.0, "{name}");
            assert!((0.0..100.0).contains(&figure("design.reordered")), "{name}");
            let issued: f64 = report.kernels.iter().map(|k| k.statistics.number("warp_instructions")).sum();
            let reordered = report
                .kernels
                .iter()
                .map(|k| k.statistics.number("design.reordered") / 100.0 * k.statistics.number("warp_instructions"));
            let share = reordered.sum::<f64>() / issued * 100.0;
            assert!((share - figure("design.reordered")).abs() < 1e-6, "{name}: {share}");
        }
    }
}

#[test]
fn ptx_on_gtx480() {
    check_all(Form::Ptx, "gtx480");
}

#[test]
fn ptx_on_v100() {
    check_all(Form::Ptx, "v100");
}

#[test]
fn ptx_on_rtx2060s() {
    check_all(Form::Ptx, "rtx2060s");
}

#[test]
fn machine_code_on_v100() {
    check_all(Form::Sass, "v100");
}

#[test]
fn machine_code_on_rtx2060s() {
    check_all(Form::Sass, "rtx2060s");
}
