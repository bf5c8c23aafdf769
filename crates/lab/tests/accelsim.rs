//! Cycles of traces against Accel-Sim's own. Needs reference data beside the repository; without
//! them there is nothing to compare with, and the test says so.

use lab::accelsim::{Compared, Ours, Reference, Summary, Traces};
use lab::{Job, Setup, Unattended, run};
use std::path::Path;

/// Largest deviation of one run, and of all in the mean of their magnitudes, in percent.
const EACH: f64 = 10.0;
const MEAN: f64 = 2.0;

/// Traces that take little time.
const TRACES: [&str; 3] = ["simtune-ffmakernel-1-32-40", "simple-trace-example", "matmul_s"];

#[test]
fn traces_take_as_long_as_in_accelsim() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let Ok(reference) = Reference::open(&data.join("reference")) else {
        eprintln!("skipped: there are no reference data at {}", data.display());
        return;
    };
    let mut traces = Traces::new(&data.join("traces"));
    let mut compared = Vec::new();
    for row in reference.rows.iter().filter(|row| TRACES.contains(&row.trace.as_str())) {
        let gpu = reference.gpu(&row.config).unwrap().config;
        let setup = Setup { any_architecture: true, ..Setup::new(gpu) };
        let job = Job::Trace { path: traces.list(&row.trace).unwrap(), concurrent_streams: false };
        let report = run(&setup, &job, &mut Unattended).unwrap();
        let ours = Ours::of_report(&serde_json::to_value(&report).unwrap(), report.host.seconds).unwrap();
        let pair = Compared::new(row.clone(), ours);
        let what = format!("{} on {}", row.trace, row.config);
        assert!(pair.same_instructions, "{what}: {:?}", pair.ours);
        assert!(pair.deviation_percent.abs() < EACH, "{what}: {:+.1} %", pair.deviation_percent);
        assert!(report.remarks.iter().all(|r| r.contains("is machine code for")), "{what}: {:?}", report.remarks);
        compared.push(pair);
    }
    let summary = Summary::of(&compared).unwrap();
    assert!(summary.rows >= 15 && summary.mean_deviation_percent < MEAN, "{summary:?}");
}
