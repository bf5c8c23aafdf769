//! The whole suite under the eyes of the auditor: no core design but those without protection breaks
//! the program order of any warp.

use lab::{CORES, Findings, Job, Setup, Unattended, Violation, audit};
use std::collections::BTreeMap;
use workloads::{Form, Workload, suite};

/// Designs that see no write-after-read hazards and let a warp's memory accesses pass each other in
/// operand collectors, as historical simulators; and the one that counts on hazard-free registers.
const UNPROTECTED: [&str; 3] = ["inorder", "war-none", "warpboard-stores"];

/// Workloads that run on `gpu`: as machine code where it runs that.
fn workloads_on(gpu: &str) -> impl Iterator<Item = &'static Workload> {
    let sm_version = config::load(gpu).unwrap().sm_version;
    suite::ALL.iter().filter(move |w| sm_version < 70 || w.module.cubin(sm_version).is_some())
}

fn audited(gpu: &str, core: &str, workload: &str) -> Findings {
    let gpu_config = config::load(gpu).unwrap();
    let code = if gpu_config.sm_version < 70 { Form::Ptx } else { Form::Sass };
    let setup = Setup { core: core.into(), code, max_cycles: Some(50_000_000), ..Setup::new(gpu_config) };
    let job = Job::Workload { name: workload.into(), size: "small".into(), params: BTreeMap::new(), seed: 7 };
    let (report, findings) =
        audit(&setup, &job, &mut Unattended).unwrap_or_else(|e| panic!("{workload} on {gpu}, {core}: {e}"));
    assert_eq!(findings.instructions as f64, report.total.number("warp_instructions"), "{workload}, {core}");
    assert!(findings.dependences > 0, "{workload}, {core}");
    assert!(report.check.is_some_and(|check| check.passed), "{workload}, {core}");
    findings
}

/// Audits the whole suite on `gpu` under each protected design.
fn check_protected(gpu: &str) {
    // GhOST forgets reads at issue: `ghost.rs` audits it; `loog.rs` and `socgpu.rs` audit theirs.
    let elsewhere = |core: &str| ["ghost", "loog", "socgpu"].iter().any(|design| core.starts_with(design));
    let protected = |core: &str| !UNPROTECTED.contains(&core) && !elsewhere(core);
    for (core, _) in CORES.iter().filter(|(core, _)| protected(core)) {
        for workload in workloads_on(gpu) {
            let findings = audited(gpu, core, workload.name);
            assert_eq!(findings.total(), 0, "{} on {gpu}, {core}: {findings}", workload.name);
        }
    }
}

#[test]
fn protected_designs_keep_the_order_on_gtx480() {
    check_protected("gtx480");
}

#[test]
fn protected_designs_keep_the_order_on_rtx2060s() {
    check_protected("rtx2060s");
}

/// Audits the whole suite without protection. Gives the violations of memory order of each workload.
fn unprotected(gpu: &str) -> BTreeMap<&'static str, u64> {
    let mut memory = BTreeMap::new();
    for workload in workloads_on(gpu) {
        let findings = audited(gpu, "war-none", workload.name);
        let found = findings.count(Violation::Memory);
        // PTX hardly ever writes a register again, so that there is no register to write too early.
        assert_eq!(findings.total(), found, "{} on {gpu}: {findings}", workload.name);
        memory.insert(workload.name, found);
    }
    memory
}

#[test]
fn shared_collectors_without_protection_let_atomics_pass_each_other() {
    let memory = unprotected("gtx480");
    assert!(memory["histogram"] > 0, "{memory:?}");
}

#[test]
fn violations_without_protection_are_counted_on_rtx2060s() {
    unprotected("rtx2060s");
}
