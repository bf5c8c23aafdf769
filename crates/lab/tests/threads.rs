//! Whatever the number of host threads and the order of their work: the same results, statistics and outputs, byte for
//! byte.

use lab::{CORES, HostThreads, Job, Setup, Unattended, run};
use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::path::Path;
use workloads::{Form, Size, suite};

fn workload(name: &str) -> Job {
    Job::Workload { name: name.into(), size: Size::Small, params: BTreeMap::new(), seed: 3 }
}

/// Machine code where the workload has some for the GPU.
fn setup(gpu: &str, core: &str, name: &str) -> Setup {
    let gpu = config::load(gpu).expect("a built-in GPU");
    let has_code = suite::find(name).is_ok_and(|workload| workload.module.cubin(gpu.sm_version).is_some());
    let code = if has_code && !lab::needs_ptx(core) { Form::Sass } else { Form::Ptx };
    Setup { core: core.into(), code, ..Setup::new(gpu) }
}

/// The report without what the host measured.
fn report(setup: &Setup, job: &Job) -> String {
    let report = run(setup, job, &mut Unattended).unwrap_or_else(|e| panic!("{job:?} on {}: {e}", setup.core));
    assert!(report.check.as_ref().is_none_or(|check| check.passed), "{job:?} on {}: {:?}", setup.core, report.check);
    let mut report = serde_json::to_value(&report).expect("reports are JSON");
    report.as_object_mut().expect("an object").remove("host").expect("host figures");
    serde_json::to_string_pretty(&report).expect("it was JSON")
}

fn check(setup: &Setup, job: &Job, threads: &[usize]) {
    let alone = report(setup, job);
    for &threads in threads {
        let host = HostThreads::new(threads).shuffled(threads as u64);
        let found = report(&Setup { threads: host, ..setup.clone() }, job);
        let first = found.lines().zip(alone.lines()).find(|(found, alone)| found != alone);
        assert_eq!(first, None, "{job:?} on {} with {threads} threads", setup.core);
    }
}

#[test]
fn workloads_are_the_same_on_any_number_of_threads() {
    for (index, workload_of) in suite::ALL.iter().enumerate() {
        let name = workload_of.name;
        let gpu = if workload_of.module.only_on().is_some() { "h100" } else { "rtx2060s" };
        check(&setup(gpu, "inorder", name), &workload(name), &[[2, 3, 8][index % 3]]);
    }
}

/// Atomics, fences, spin loops, reductions of several CTAs.
#[test]
fn synchronisation_between_ctas_is_the_same_on_any_number_of_threads() {
    for name in ["hashtable", "lastblock", "histogram", "reduction"] {
        for gpu in ["rtx2060s", "accel-sim/titanv"] {
            check(&setup(gpu, "inorder", name), &workload(name), &[1, 2, 3, 8]);
        }
    }
}

/// Textures with a cache of their own, and in L1.
#[test]
fn textures_are_the_same_on_any_number_of_threads() {
    for gpu in ["gtx480", "accel-sim/gtx480", "v100"] {
        check(&setup(gpu, "inorder", "imagefilter"), &workload("imagefilter"), &[2, 8]);
    }
}

#[test]
fn designs_are_the_same_on_any_number_of_threads() {
    for (core, _) in CORES.iter().filter(|(core, _)| lab::is_sm(core)) {
        check(&setup("rtx2060s", core, "lastblock"), &workload("lastblock"), &[3]);
    }
}

#[test]
fn what_is_observed_is_the_same_on_any_number_of_threads() {
    let every = NonZeroU64::new(300);
    let observed = Setup { profile: true, audit: true, sample_interval: every, ..setup("rtx2060s", "ghost", "bfs") };
    check(&observed, &workload("bfs"), &[2, 8]);
    let checked = Setup { check_memory: true, power_interval: every, ..setup("v100", "inorder", "hashtable") };
    check(&checked, &workload("hashtable"), &[3]);
}

#[test]
fn traces_are_the_same_on_any_number_of_threads() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/traces/vectoradd");
    for concurrent_streams in [false, true] {
        check(
            &Setup { any_architecture: true, ..setup("accel-sim/rtx2060s", "inorder", "") },
            &Job::Trace { path: path.clone(), concurrent_streams },
            &[2, 3, 8],
        );
    }
}

/// Another thread reads the trace of the next kernel meanwhile.
#[test]
fn lists_of_traces_are_the_same_on_any_number_of_threads() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/traces/vectoradd/kernel-1.traceg.xz");
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::copy(example, folder.path().join("kernel-1.traceg.xz")).expect("the example's kernel");
    std::fs::write(folder.path().join("damaged.traceg"), "-kernel name = k\noops\n").expect("a file");
    let list = |name: &str, kernels: &[&str]| {
        let path = folder.path().join(name);
        std::fs::write(&path, kernels.join("\n")).expect("a list");
        Job::Trace { path, concurrent_streams: false }
    };
    let setup = Setup { any_architecture: true, ..setup("accel-sim/rtx2060s", "inorder", "") };
    check(&setup, &list("four", &["kernel-1.traceg.xz"; 4]), &[2, 3]);
    let damaged = list("two", &["kernel-1.traceg.xz", "damaged.traceg"]);
    let error = |threads| {
        let setup = Setup { threads: HostThreads::new(threads), ..setup.clone() };
        run(&setup, &damaged, &mut Unattended).expect_err("a kernel is damaged").to_string()
    };
    assert_eq!(error(2), error(1));
}

/// Some minutes: `cargo test --release -p warpwright-lab threads -- --ignored`.
#[test]
#[ignore = "minutes"]
fn every_workload_and_design_on_any_number_of_threads() {
    for (core, _) in CORES.iter().filter(|(core, _)| lab::is_sm(core)) {
        for workload_of in suite::on(Form::Ptx, 70) {
            check(&setup("v100", core, workload_of.name), &workload(workload_of.name), &[1, 2, 3, 8]);
        }
    }
}
