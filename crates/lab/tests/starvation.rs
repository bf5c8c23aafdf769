//! Warps that spin on a lock do not keep those that hold it from ever issuing.

use lab::{Job, Setup, Unattended, run};
use std::collections::BTreeMap;

#[test]
fn spinning_warps_leave_stations_to_those_that_hold_locks() {
    // A greedy scheduler and few stations: the oldest warps' loops would take them all.
    let setup = Setup {
        core: "loog-16".into(),
        scheduler: Some("gto".into()),
        max_cycles: Some(200_000),
        ..Setup::new(config::load("gtx480").unwrap())
    };
    let job =
        Job::Workload { name: "hashtable".into(), size: workloads::Size::Small, params: BTreeMap::new(), seed: 7 };
    let report = run(&setup, &job, &mut Unattended).unwrap();
    assert!(!report.interrupted, "no end in sight");
    assert!(report.check.is_some_and(|check| check.passed));
}
