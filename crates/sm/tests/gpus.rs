//! Every GPU that comes with the program makes an SM that runs everything, under both tables and
//! all schedulers.

use crate::support;

use isa::Form;
use isa::{CacheOp, OpClass, Space};
use kit::CounterGroup;
use sm::{CoreOptions, CoreSpec, SpecError};
use support::*;

/// One instruction of every class, and accesses to every space.
fn everything() -> Vec<Line> {
    let special = |c: &OpClass| {
        use OpClass::*;
        matches!(c, Branch | Exit | Barrier | Fence | Load | Store | Atomic | AsyncCopy | MatrixLoad)
    };
    let mut lines: Vec<_> =
        OpClass::ALL.iter().filter(|c| !special(c)).enumerate().map(|(i, c)| op(*c, 10 + i as u16, &[1, 2])).collect();
    lines
        .extend([Space::Global, Space::Local, Space::Shared, Space::Constant, Space::Param].map(|s| load(s, 3, 64, 4)));
    lines.extend([load(Space::Global, 4, 0, 4).cached(CacheOp::L2), load(Space::Global, 4, 0, 16).bytes(16)]);
    lines.extend([store(Space::Global, 3, 0, 4), store(Space::Local, 3, 8, 0), store(Space::Shared, 3, 0, 8)]);
    lines.extend([atomic(5, 0, 4), copy_async(0), fence(), sync(0, 0), branch(-1, 2)]);
    lines
}

#[test]
fn every_gpu_runs_everything() {
    for builtin in config::builtin() {
        for (scheduler, _) in sm::schedulers::NAMES {
            let mut bench = Bench::new(&everything()).warps(7).scheduler(scheduler);
            bench.gpu = config::load(builtin.name).unwrap();
            bench.ctas = 5;
            let run = bench.run_with(sm::Silent);
            assert!(!run.deadlocked, "{} under {scheduler}", builtin.name);
            let lines = everything().len() as u64;
            let per_warp = lines + 1 + 2 * 2;
            assert_eq!(run.sm.counters().warp_instructions, 5 * 7 * per_warp, "{} under {scheduler}", builtin.name);
            assert_eq!(run.sm.account().issued(), run.sm.counters().warp_instructions);
        }
    }
}

#[test]
fn every_gpu_has_both_tables() {
    for builtin in config::builtin() {
        let gpu = config::load(builtin.name).unwrap();
        for table in [Form::Ptx, Form::Sass] {
            let spec = CoreSpec::new(&gpu, table, CoreOptions::default());
            assert!(spec.is_ok(), "{}: {}", builtin.name, spec.unwrap_err());
        }
    }
}

#[test]
fn an_impossible_sm_is_refused_with_the_reason() {
    let refusal = |change: fn(&mut config::GpuConfig), options: CoreOptions| {
        let mut gpu = gpu();
        change(&mut gpu);
        CoreSpec::new(&gpu, Form::Sass, options).unwrap_err()
    };
    let with = |change| refusal(change, CoreOptions::default());
    assert_eq!(with(|g| g.sm.max_warps = 129).to_string(), "the number of warp slots is 129, not in 1..=128");
    assert!(matches!(with(|g| g.sm.issue.schedulers = 0), SpecError::OutOfRange("the number of warp schedulers", ..)));
    assert!(
        matches!(with(|g| g.sm.sass_timing.retain(|class, _| class != "half")), SpecError::NoTiming(classes) if classes == ["half"])
    );
    let no_units = with(|g| g.sm.units.get_mut(&config::Unit::Sfu).unwrap().count = 0);
    assert!(matches!(no_units, SpecError::NoUnit(..)), "{no_units}");
    let options = CoreOptions { scheduler: Some("fifo".into()), ..CoreOptions::default() };
    assert_eq!(
        refusal(|_| {}, options).to_string(),
        "there is no warp scheduler `fifo`; there are lrr, gto, gty, srr, two_level, laggard"
    );
}

#[test]
fn every_counter_is_described() {
    for info in sm::SmCounters::SCHEMA {
        assert!(info.description.ends_with('.') && !info.unit.is_empty(), "{}", info.name);
    }
    for stall in sm::Stall::ALL {
        assert!(stall.description().ends_with('.'), "{}", stall.name());
    }
}
