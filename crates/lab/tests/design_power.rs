//! Mean power of the designs' own structures while workloads run. `--nocapture` prints the table.

use energy::Coefficients;
use gpu::{AnySnapshot, Snapshot};
use lab::design_cost::{DesignCost, DesignPower, Process};
use lab::in_order;
use lab::{Job, Report, Setup, Unattended, run, structures};
use sm::SmTotals;
use std::collections::BTreeMap;
use workloads::Form;

/// Counters of a report by which structures are used.
fn counts(report: &Report) -> AnySnapshot {
    let count = |name: &str| report.total.number(name) as u64;
    let mut counts = Snapshot::<SmTotals>::default();
    counts.core.sm.warp_instructions = count("warp_instructions");
    counts.core.sm.register_reads = count("sm.register_reads");
    counts.core.sm.register_writes = count("sm.register_writes");
    counts.erased()
}

#[test]
fn power_lies_between_leakage_and_full_issue() {
    for (core, gpu, code) in [
        ("ghost", "rtx2060s", Form::Sass),
        ("socgpu", "v100", Form::Sass),
        ("warpboard-read", "gtx480", Form::Ptx),
        ("bloomboard-2", "gtx480", Form::Ptx),
    ] {
        let coefficients = Coefficients::of(gpu).unwrap().unwrap();
        let setup = Setup { core: core.into(), code, ..Setup::new(config::load(gpu).unwrap()) };
        let (own, baseline) = (structures(&setup).unwrap(), in_order(&setup).unwrap());
        let sms = setup.gpu.sm_count;
        let cost = DesignCost::of(&own, Process::from(&coefficients));
        let leakage = cost.leakage_uw * 1e-6 * f64::from(sms);
        // Each scheduler issues in each cycle, an instruction of twice the usual operands.
        let issued = f64::from(setup.gpu.sm.issue.schedulers) * f64::from(sms) * setup.gpu.clocks.core_mhz * 1e6;
        let most = leakage + 2.0 * cost.instruction_pj * 1e-12 * issued;
        for name in ["matmul", "bfs", "lud"] {
            let job =
                Job::Workload { name: name.into(), size: workloads::Size::Small, params: BTreeMap::new(), seed: 1 };
            let report = run(&setup, &job, &mut Unattended).unwrap();
            let (counts, seconds) = (counts(&report), report.total.number("total_time") * 1e-6);
            let watts = |structures| {
                let power = DesignPower::of(structures, &counts, sms, &coefficients);
                power.dynamic_pj * 1e-12 / seconds + power.leakage_watts
            };
            let (all, before) = (watts(&own), watts(&baseline));
            println!("{core} on {gpu}, {name}: {all:.4} W, {:.4} W beyond in order", all - before);
            assert!(leakage < all && all < most, "{core}, {name}: {leakage} {all} {most}");
            assert!(all > before, "{core}, {name}: it has all that the in-order core has and more");
        }
    }
}
