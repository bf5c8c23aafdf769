//! The design of the guide "write your own issue design": right, legal and of some use.

#[path = "../examples/sidestep/policy.rs"]
mod policy;
use crate::support;

use isa::{OpClass, Space};
use lab::{Job, Report, Setup, Unattended, run, run_design};
use policy::Sidestep;
use sm::Timeline;
use std::collections::BTreeMap;
use support::{Bench, add, load, op};

const GUIDE: &str = include_str!("../../../docs/designs/write-your-own.md");
const DESIGN: &str = include_str!("../examples/sidestep/policy.rs");

#[test]
fn the_guide_shows_the_design_as_it_is_tested() {
    let shown = GUIDE.split("```rust\n").nth(1).and_then(|rest| rest.split("```").next());
    assert!(
        shown.is_some_and(|shown| shown.contains("fn examine") && DESIGN.contains(shown)),
        "docs/designs/write-your-own.md must show a part of crates/lab/examples/sidestep/policy.rs"
    );
}

#[test]
fn one_arithmetic_instruction_steps_past_a_stalled_one() {
    let lines = [load(Space::Global, 1, 0, 4), add(2, &[1]), op(OpClass::FpMul, 3, &[4]), add(5, &[6])];
    let bench = Bench { memory_latency: 30, ..Bench::new(&lines) }.gpu(|g| g.sm.frontend.buffer_entries = 4);
    let run = bench.run_design::<Sidestep, _>(&(), Timeline::default());
    let issue = |order| run.sm.observer.at(0, order, 'I').expect("it issues");
    assert!(issue(2) < issue(1) && issue(3) < issue(1));
    insta::assert_snapshot!(run.sm.observer.draw());
}

fn check(gpu: &str) -> BTreeMap<&'static str, f64> {
    let setup = |core: &str| Setup { core: core.into(), audit: true, ..Setup::new(config::load(gpu).unwrap()) };
    let cycles = |report: &Report| report.total.number("cycles");
    let mut speedups = BTreeMap::new();
    for name in ["vectoradd", "matmul", "reduction", "histogram", "bfs", "kmeans", "lud"] {
        let job = Job::Workload { name: name.into(), size: workloads::Size::Small, params: BTreeMap::new(), seed: 7 };
        let in_order = run(&setup("inorder-war-ideal"), &job, &mut Unattended).unwrap();
        let report = run_design::<Sidestep>(&(), &setup("sidestep"), &job, &mut Unattended).unwrap();
        let findings = report.audit.as_ref().unwrap();
        assert_eq!(findings.total(), 0, "{name} on {gpu}: {findings}");
        assert!(report.check.as_ref().unwrap().passed, "{name} on {gpu}");
        let instructions = |report: &Report| report.total.number("warp_instructions");
        assert_eq!(instructions(&report), instructions(&in_order), "{name} on {gpu}");
        speedups.insert(name, cycles(&in_order) / cycles(&report));
    }
    speedups
}

#[test]
fn it_keeps_the_order_and_hides_some_latency() {
    let turing = check("rtx2060s");
    check("gtx480");
    let mean = turing.values().map(|s| s.ln()).sum::<f64>() / turing.len() as f64;
    assert!(mean > 0.0, "{turing:?}");
}
