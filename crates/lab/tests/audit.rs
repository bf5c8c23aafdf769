//! The whole suite under the eyes of the auditor: under each design right results, the same
//! instructions as on the functional core, and no order broken but what the design says it leaves open.

use lab::{CORES, Findings, Job, Report, Setup, Unattended, Value, Violation, audit, run};
use std::collections::BTreeMap;
use std::sync::Mutex;
use workloads::{Form, suite};

/// In order without protection: no write-after-read hazards are seen and a warp's memory accesses pass
/// each other in operand collectors, as in historical simulators; the one that counts on hazard-free
/// registers; GhOST by its paper alone, where that hazard ends at issue (its D8); and the first of these with
/// one stage that has no limits.
const UNPROTECTED: [&str; 8] = [
    "inorder",
    "war-none",
    "warpboard-stores",
    "ghost-unguarded",
    "perfect-frontend",
    "perfect-execution",
    "perfect-memory",
    "no-dependences",
];

/// Spin loops, and merges of what atomics ordered, run longer or shorter as the order of warps has it; a node that another
/// warp reached first is not reached again.
const ORDERED: [&str; 5] = ["hashtable", "hybridsort", "bfslevels", "wgmma", "flashattention3"];

fn setup(gpu: &str, code: Form, core: &str) -> Setup {
    // Accel-Sim's atomics hold their warp, which keeps the order that is to be seen broken.
    let gpu = config::load_with(gpu, &["sm.issue.atomics_hold_warp=none"]).unwrap();
    Setup { core: core.into(), code, max_cycles: Some(50_000_000), ..Setup::new(gpu) }
}

fn job(workload: &str) -> Job {
    Job::Workload { name: workload.into(), size: workloads::Size::Small, params: BTreeMap::new(), seed: 7 }
}

/// Workloads that have such code for `gpu`.
fn workloads_on(gpu: &str, code: Form) -> impl Iterator<Item = &'static str> {
    let sm_version = config::load(gpu).unwrap().sm_version;
    suite::on(code, sm_version).map(|w| w.name)
}

fn audited(gpu: &str, code: Form, core: &str, workload: &str) -> (Report, Findings) {
    let name = format!("{workload} on {gpu}, {code:?}, {core}");
    let (report, findings) =
        audit(&setup(gpu, code, core), &job(workload), &mut Unattended).unwrap_or_else(|e| panic!("{name}: {e}"));
    assert_eq!(findings.instructions as f64, report.total.number("warp_instructions"), "{name}");
    assert!(findings.dependences > 0 || core == "no-dependences", "{name}");
    let check = report.check.as_ref().expect("every workload has a reference");
    assert!(check.passed, "{name}: {}", check.details);
    (report, findings)
}

/// Warp instructions of each workload on the functional core, by GPU and code.
fn instructions(gpu: &'static str, code: Form, workload: &'static str) -> f64 {
    type Key = (&'static str, bool, &'static str);
    static KNOWN: Mutex<BTreeMap<Key, f64>> = Mutex::new(BTreeMap::new());
    let key = (gpu, code == Form::Sass, workload);
    let known = || KNOWN.lock().expect("no thread panics with it");
    let found = known().get(&key).copied();
    found.unwrap_or_else(|| {
        let report = run(&setup(gpu, code, "functional"), &job(workload), &mut Unattended).unwrap();
        *known().entry(key).or_insert_with(|| report.total.number("warp_instructions"))
    })
}

/// The share of reordered instructions is there if the design counts it, and that of its kernels.
fn check_reordered(report: &Report, core: &str, name: &str) {
    const SHARE: &str = "design.reordered_share";
    let total = report.total.get(SHARE).and_then(Value::number);
    let reorders = ["ghost", "ideal", "load-slice", "loog", "socgpu"]
        .iter()
        .any(|design| core.trim_start_matches("modern-").starts_with(design));
    assert_eq!(total.is_some(), reorders, "{name}");
    let Some(total) = total else { return };
    assert!((0.0..100.0).contains(&total), "{name}: {total} %");
    let (mut issued, mut reordered) = (0.0, 0.0);
    for kernel in &report.kernels {
        let instructions = kernel.statistics.number("warp_instructions");
        issued += instructions;
        reordered += kernel.statistics.number(SHARE) * instructions;
    }
    assert!((reordered / issued - total).abs() < 1e-6, "{name}: {total} %");
}

/// Audits the suite on `gpu` under protected designs. The designs take turns: a workload has every `of`th of them, the
/// next one has the following ones.
fn check(gpu: &'static str, code: Form, cores: &[&str], of: usize) {
    for (turn, workload) in workloads_on(gpu, code).enumerate() {
        for core in cores.iter().skip(turn % of).step_by(of) {
            let (report, findings) = audited(gpu, code, core, workload);
            let name = format!("{workload} on {gpu}, {code:?}, {core}");
            assert_eq!(findings.total(), 0, "{name}: {findings}");
            if !ORDERED.contains(&workload) {
                assert_eq!(report.total.number("warp_instructions"), instructions(gpu, code, workload), "{name}");
            }
            check_reordered(&report, core, &name);
        }
    }
}

/// A test for each row: GPU, code, designs, every other one for a workload. All of them on every workload, and sizes and
/// variants that differ only in a number, are left to [`every_design_everywhere`].
macro_rules! audits {
    ($($name:ident: $gpu:literal $code:ident $($core:literal)+;)+) => {
        $(#[test]
        fn $name() {
            let cores = [$($core),+];
            check($gpu, Form::$code, &cores, cores.len().min(2));
        })+
    };
}

audits! {
    boards_on_gtx480: "gtx480" Ptx "inorder-war-exact" "warpboard-read" "bloomboard-1";
    boards_on_rtx2060s: "rtx2060s" Sass "inorder-war-ideal" "warpboard-commit" "bloomboard-2";
    ghost_on_gtx480: "gtx480" Ptx "ghost" "ghost-precise";
    ghost_on_rtx2060s: "rtx2060s" Sass "ghost-precise" "ghost-32";
    ghost_on_v100: "v100" Sass "ghost";
    socgpu_on_gtx480: "gtx480" Ptx "socgpu" "socgpu-issue-memory";
    socgpu_on_rtx2060s: "rtx2060s" Sass "socgpu-4" "socgpu-32";
    socgpu_on_v100: "v100" Sass "socgpu" "socgpu-issue-memory";
    load_slice_on_gtx480: "gtx480" Ptx "load-slice:branches=true";
    load_slice_on_v100: "v100" Sass "load-slice" "load-slice:queue_a=32,queue_b=32,branches=true";
    loog_on_gtx480: "gtx480" Ptx "loog" "loog-lsq";
    loog_on_rtx2060s: "rtx2060s" Sass "loog-8" "loog-lsq";
    loog_on_v100: "v100" Sass "loog";
    ideal_on_gtx480: "gtx480" Ptx "ideal" "ideal-ab";
    ideal_on_rtx2060s: "rtx2060s" Sass "ideal" "ideal-r" "ideal-b";
    ideal_on_v100: "v100" Sass "ideal" "ideal-none";
    modern_on_a6000: "a6000" Sass "modern" "modern:dependences=scoreboard";
    modern_on_h100: "h100" Sass "modern";
    modern_on_rtx2060s: "rtx2060s" Ptx "modern";
    modern_on_v100: "v100" Sass "modern" "modern:instruction_caches=false,memory_queues=false";
    boards_on_modern_v100: "v100" Sass "modern:dependences=scoreboard_commit" "modern:dependences=warpboard_read"
        "modern:dependences=warpboard_commit" "modern:dependences=bloomboard_1" "modern:stall_counts=false";
    designs_on_modern_a6000: "a6000" Sass "modern-ghost" "modern-loog" "modern-ideal" "modern-socgpu:buffer=32";
    designs_on_modern_v100: "v100" Sass "modern-ghost:precise=true,issue_buffer=32" "modern-socgpu" "modern-ideal:renaming=false";
    designs_on_modern_rtx2060s: "rtx2060s" Ptx "modern-ghost" "modern-socgpu";
    limits_on_gtx480: "gtx480" Ptx "perfect-operands";
    limits_on_rtx2060s: "rtx2060s" Sass "perfect-operands";
}

/// Code of the H100 that no other GPU of these tests runs.
#[test]
fn warp_groups_on_h100() {
    for (turn, core) in
        ["inorder-war-ideal", "warpboard-commit", "ghost", "socgpu", "load-slice", "loog", "ideal", "modern-ghost"]
            .into_iter()
            .enumerate()
    {
        let (_, findings) = audited("h100", Form::Sass, core, ["wgmma", "flashattention3"][turn % 2]);
        assert_eq!(findings.total(), 0, "{core}: {findings}");
    }
}

#[test]
#[ignore = "every variant: some minutes"]
fn every_design_everywhere() {
    let audited = |core: &&str| lab::is_sm(core) && !UNPROTECTED.contains(core);
    let cores: Vec<&str> = CORES.iter().map(|(core, _)| *core).filter(audited).collect();
    for (gpu, code) in [
        ("gtx480", Form::Ptx),
        ("rtx2060s", Form::Ptx),
        ("rtx2060s", Form::Sass),
        ("v100", Form::Ptx),
        ("v100", Form::Sass),
    ] {
        check(gpu, code, &cores, 1);
    }
}

/// The paper's rules leave one violation: a write passes an older read that waits in an operand collector.
/// It does not occur under `ghost` ([`ghost_on_gtx480`]).
#[test]
fn ghost_by_its_paper_alone_lets_writes_pass_reads() {
    let (_, findings) = audited("accel-sim/gtx480", Form::Ptx, "ghost-unguarded", "spmv");
    assert!(findings.count(Violation::War) > 0, "{findings}");
    assert_eq!(findings.total(), findings.count(Violation::War), "{findings}");
}

/// Instructions sped up by a scalar register or ALU must not write before an older one has read: the
/// designs that leave that to latency have no such write without a scalar path, and none with it. Without
/// the rule (D-SV7) each of these workloads had some.
#[test]
fn scalar_instructions_write_after_older_ones_have_read() {
    for workload in ["bfs", "histogram", "kmeans", "matmul", "nbody", "wmma"] {
        for core in ["inorder+scalar", "ghost+scalar", "ghost+scalar+half+memory"] {
            let (_, findings) = audited("accel-sim/rtx3070", Form::Sass, core, workload);
            assert_eq!(findings.count(Violation::War), 0, "{workload}, {core}: {findings}");
        }
    }
}

/// Audits the whole suite without protection. Gives the violations of memory order of each workload.
fn unprotected(gpu: &str, code: Form) -> BTreeMap<&'static str, u64> {
    let mut memory = BTreeMap::new();
    for workload in workloads_on(gpu, code) {
        let (_, findings) = audited(gpu, code, "war-none", workload);
        let found = findings.count(Violation::Memory);
        // PTX hardly ever writes a register again, so that there is no register to write too early.
        assert_eq!(findings.total(), found, "{workload} on {gpu}: {findings}");
        memory.insert(workload, found);
    }
    memory
}

#[test]
fn shared_collectors_without_protection_let_atomics_pass_each_other() {
    let memory = unprotected("accel-sim/gtx480", Form::Ptx);
    assert!(memory["histogram"] > 0, "{memory:?}");
}

#[test]
fn sub_cores_without_protection_let_atomics_pass_each_other_too() {
    let memory = unprotected("accel-sim/rtx2060s", Form::Sass);
    assert!(memory["histogram"] > 0, "{memory:?}");
}

/// The in-order core with one stage that has no limits breaks the orders that it breaks itself, and no other. The
/// stages take turns: a workload has two of them.
#[test]
fn limits_without_protection_break_no_further_order() {
    let cores = ["perfect-frontend", "perfect-execution", "perfect-memory", "no-dependences"];
    for (turn, workload) in workloads_on("rtx2060s", Form::Sass).enumerate() {
        for core in cores.iter().skip(turn % 2).step_by(2) {
            let (_, findings) = audited("rtx2060s", Form::Sass, core, workload);
            let open = findings.count(Violation::War) + findings.count(Violation::Memory);
            assert_eq!(findings.total(), open, "{workload}, {core}: {findings}");
        }
    }
}
