//! The suite with allocated registers: the same results, and the hazards that the WAR paper expects.

use lab::{Findings, Job, RegisterChoice, RegisterMode, Setup, Unattended, Violation, audit};
use std::collections::BTreeMap;
use workloads::{Form, suite};

/// Audits a workload as PTX on a GPU with a core and registers. Its results must be right.
fn audited(gpu: &str, core: &str, mode: RegisterMode, most: Option<u32>, workload: &str) -> Findings {
    let registers = RegisterChoice { mode, most };
    let gpu = config::load(gpu).unwrap();
    let setup = Setup { core: core.into(), registers, max_cycles: Some(50_000_000), ..Setup::new(gpu) };
    let job = Job::Workload { name: workload.into(), size: workloads::Size::Small, params: BTreeMap::new(), seed: 7 };
    let who = format!("{workload} with {core}, {registers:?}");
    let (report, findings) = audit(&setup, &job, &mut Unattended).unwrap_or_else(|e| panic!("{who}: {e}"));
    assert!(report.check.is_some_and(|check| check.passed), "{who}");
    for kernel in &report.kernels {
        assert!(most.is_none_or(|most| kernel.registers_per_thread <= most), "{who}");
        assert_eq!(kernel.register_source, lab::RegisterSource::Allocated, "{who}");
    }
    findings
}

/// So few registers that most kernels spill.
fn few(workload: &str) -> Option<u32> {
    // Fragments of matrices alone take more.
    Some(match workload {
        "wmma" | "int8mma" => 48,
        "flashattention" | "transformer" => 63,
        _ => 18,
    })
}

#[test]
fn the_suite_runs_right_with_few_registers_and_keeps_the_order() {
    for workload in suite::on(Form::Ptx, 75) {
        for (mode, core) in
            [(RegisterMode::Allocated, "inorder-war-ideal"), (RegisterMode::HazardFree, "warpboard-stores")]
        {
            let findings = audited("rtx2060s", core, mode, few(workload.name), workload.name);
            assert_eq!(findings.total(), 0, "{}, {core}: {findings}", workload.name);
        }
    }
}

/// Workloads with writes before older reads on the GTX 480 with allocated registers.
const OVERTAKEN: [&str; 7] = ["transpose", "backprop", "wmma", "spmv", "particlefilter", "saxpy", "imagefilter"];

#[test]
fn hazard_free_registers_leave_hazards_to_stores_only() {
    let (mut overtaken, mut by_stores) = (0, 0);
    for name in OVERTAKEN {
        let findings = audited("gtx480", "war-none", RegisterMode::Allocated, None, name);
        overtaken += findings.count(Violation::War);
        let findings = audited("gtx480", "war-none", RegisterMode::HazardFree, None, name);
        by_stores += findings.count(Violation::War);
        if let Some(first) = findings.first(Violation::War) {
            let older = first.older.as_ref().unwrap();
            assert!(older.text.contains("st.") || older.text.contains("red."), "{name}: {older:?}");
        }
    }
    // With the board for stores nothing is overtaken: no workload has a hazard of another kind.
    for workload in suite::on(Form::Ptx, 20) {
        let findings = audited("gtx480", "warpboard-stores", RegisterMode::HazardFree, None, workload.name);
        assert_eq!(findings.total(), 0, "{}: {findings}", workload.name);
    }
    assert!(overtaken > 0 && by_stores > 0, "{overtaken} with allocated registers, {by_stores} hazard-free");
}
