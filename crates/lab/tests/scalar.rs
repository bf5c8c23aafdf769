//! The scalar path on the bundled workloads: results stay right, no operand is read wrongly where
//! divergence is guarded, and what has no values or renames registers is refused.

use lab::{Compression, Job, Report, SCALAR_CHOICES, Setup, TraceFormat, Unattended, check_core, export, run};
use std::collections::BTreeMap;
use std::path::Path;
use workloads::{Form, suite};

fn job(name: &str) -> Job {
    Job::Workload { name: name.into(), size: workloads::Size::Small, params: BTreeMap::new(), seed: 3 }
}

fn setup(gpu: &str, core: &str, code: Form) -> Setup {
    Setup { core: core.into(), code, max_cycles: Some(20_000_000), ..Setup::new(config::load(gpu).unwrap()) }
}

fn done(gpu: &str, core: &str, code: Form, name: &str) -> Report {
    let report = run(&setup(gpu, core, code), &job(name), &mut Unattended);
    let report = report.unwrap_or_else(|e| panic!("{name} on {gpu} with {core}: {e}"));
    assert!(!report.interrupted, "{name} on {gpu} with {core} does not end");
    if let Some(check) = &report.check {
        assert!(check.passed, "{name} on {gpu} with {core}: {}", check.details);
    }
    report
}

fn figure(report: &Report, name: &str) -> f64 {
    report.total.number(&format!("design.{name}"))
}

/// Every workload with guarded scalar registers: what each operand would be read as is what it is.
fn guarded(gpu: &str, code: Form, cores: &[&str]) {
    let mut share = Vec::new();
    let sm_version = config::load(gpu).unwrap().sm_version;
    for workload in suite::on(code, sm_version) {
        for core in cores {
            let report = done(gpu, core, code, workload.name);
            assert_eq!(figure(&report, "scalar_misreads"), 0.0, "{} on {gpu} with {core}", workload.name);
            if core.contains("compiler") {
                assert_eq!(figure(&report, "scalar_copies"), 0.0, "{} on {gpu} with {core}", workload.name);
            }
            share.push(figure(&report, "scalar_share"));
        }
    }
    let mean = share.iter().sum::<f64>() / share.len() as f64;
    assert!((5.0..80.0).contains(&mean), "scalar instructions are {mean} % in the mean");
}

#[test]
fn ptx_is_right_with_scalar_registers() {
    guarded("gtx480", Form::Ptx, &["inorder+scalar", "inorder+scalar+memory+half"]);
}

#[test]
fn ptx_is_right_with_the_compilers_marks() {
    guarded("gtx480", Form::Ptx, &["inorder+scalar+compiler"]);
}

#[test]
fn machine_code_is_right_with_scalar_registers() {
    guarded("v100", Form::Sass, &["inorder+scalar+memory", "ghost+scalar+half+compiler"]);
}

/// As in the paper's own simulator (section 6.3.1), divergent kernels read wrong values.
#[test]
fn without_a_guard_divergent_workloads_read_wrong_values() {
    let wrong = |name| figure(&done("gtx480", "inorder+scalar+unguarded", Form::Ptx, name), "scalar_misreads");
    assert!(["bfs", "pathfinder", "hotspot"].into_iter().any(|name| wrong(name) > 0.0));
    assert_eq!(wrong("vectoradd"), 0.0, "its lanes never part");
}

#[test]
fn a_trace_with_values_runs_as_the_live_run_did() {
    for (name, code) in [("hotspot", Form::Ptx), ("bfs", Form::Sass)] {
        let core = "inorder+scalar+memory+half";
        let live = done("rtx3070", core, code, name);
        let folder = tempfile::tempdir().unwrap();
        let format = TraceFormat::Native { values: true };
        let plain = setup("rtx3070", "inorder", code);
        // Recorded on a core without a scalar path: what warps do does not depend on it.
        let recorded = export(&plain, &job(name), folder.path(), format, false, &mut Unattended).unwrap();
        let again = replay(core, &recorded.path).unwrap();
        for one in ["scalar_instructions", "half_scalar_instructions", "scalar_copies", "scalar_eligible"] {
            let close = (figure(&again, one) - figure(&live, one)).abs() <= 0.02 * figure(&live, one);
            assert!(close, "{name}: {one}: {} and {}", figure(&again, one), figure(&live, one));
        }
        assert_eq!(figure(&again, "scalar_misreads"), 0.0, "{name}");
    }
}

fn replay(core: &str, path: &Path) -> Result<Report, lab::RunError> {
    let job = Job::Trace { path: path.to_owned(), concurrent_streams: false };
    run(&setup("rtx3070", core, Form::Ptx), &job, &mut Unattended)
}

#[test]
fn a_trace_without_values_is_refused() {
    for format in [TraceFormat::Native { values: false }, TraceFormat::AccelSim(Compression::None)] {
        let folder = tempfile::tempdir().unwrap();
        let plain = setup("rtx3070", "inorder", Form::Sass);
        let recorded = export(&plain, &job("vectoradd"), folder.path(), format, false, &mut Unattended).unwrap();
        let error = replay("inorder+scalar", &recorded.path).unwrap_err();
        assert!(error.bad_input && error.message.contains("`inorder+scalar` looks at the values"), "{error}");
        assert!(error.message.contains("warpwright trace --values"), "{error}");
    }
}

#[test]
fn designs_that_rename_are_refused_with_the_reason() {
    for core in ["loog", "loog-lsq", "ideal", "ideal-r"] {
        let error = check_core(&format!("{core}+scalar")).unwrap_err();
        assert!(error.contains("renames registers") && error.contains("inorder+scalar"), "{error}");
    }
    for core in ["inorder", "warpboard-read", "socgpu", "ghost-precise", "ideal-ab"] {
        for choice in SCALAR_CHOICES[1..].iter().map(|choice| choice.name) {
            assert_eq!(check_core(&format!("{core}+scalar+{choice}")), Ok(()));
        }
    }
}
