//! The auditor finds what designs do wrong, each kind of it, and nothing else.

use crate::support;

use isa::{CtaSlot, Dim3, KernelId, OpClass, RegFile, Space, WarpSlot};
use kit::Cycle;
use sm::operands::{CollectorRules, Collectors};
use sm::{
    Allowances, Auditor, CachedFetch, Candidates, CoreDesign, CoreSpec, Findings, Flight, Head, InOrder, InstId,
    IssuePolicy, LoadStoreUnit, Observer, PipeSet, Seen, Structure, Units, Violation, WakeUp, Window,
};
use support::*;

fn audit(lines: &[Line]) -> Findings {
    Bench::new(lines).run_with(Auditor::new(Allowances::default())).sm.observer.findings().clone()
}

/// Asserts that `kind` alone was found, `times` times. Returns its example.
fn only(findings: &Findings, kind: Violation, times: u64) -> String {
    assert_eq!((findings.count(kind), findings.total()), (times, times), "{findings}");
    findings.first(kind).expect("it was found").to_string()
}

#[test]
fn in_order_issue_keeps_the_order() {
    let mut lines = vec![load(Space::Global, 1, 0, 4), add(2, &[1]), add(2, &[3]), store(Space::Global, 2, 0, 4)];
    lines.extend([load(Space::Global, 3, 0, 4), branch(-2, 3), sync(0, 0), fence(), atomic(4, 0, 4)]);
    let findings = audit(&lines);
    assert_eq!(findings.total(), 0, "{findings}");
    assert_eq!(findings.instructions, 10 + 3 * 3);
    assert!(findings.dependences > 5);
}

fn audit_unguarded(lines: &[Line]) -> Findings {
    let bench = Bench::new(lines).gpu(|g| g.sm.operands.reads_per_bank = 1);
    let auditor = Auditor::new(InOrder::<NoBoard>::allowances(&()));
    bench.run_design::<InOrder<NoBoard>, _>(&(), auditor).sm.observer.findings().clone()
}

#[test]
fn reads_before_their_producers_are_found() {
    let findings = audit_unguarded(&[op(OpClass::Sfu, 1, &[2]), add(3, &[1]), add(4, &[1])]);
    insta::assert_snapshot!(only(&findings, Violation::Raw, 2), @"in `scripted`, cycle 3, warp 0: `int_add r3, r1` (pc 1, issued in cycle 2) reads register 1 before `sfu r1, r2` (pc 0, issued in cycle 1)");
}

#[test]
fn writes_before_older_writes_are_found() {
    let findings = audit_unguarded(&[op(OpClass::Sfu, 1, &[2]), add(1, &[3])]);
    insta::assert_snapshot!(only(&findings, Violation::Waw, 1), @"in `scripted`, cycle 10, warp 0: `int_add r1, r3` (pc 1, issued in cycle 2) writes register 1 before `sfu r1, r2` (pc 0, issued in cycle 1)");
}

#[test]
fn writes_before_older_reads_are_found() {
    let lines = [op(OpClass::IntMad, 1, &[4, 8, 12, 16, 20, 24, 28, 32, 36, 40]), add(40, &[3])];
    insta::assert_snapshot!(only(&audit_unguarded(&lines), Violation::War, 1), @"in `scripted`, cycle 10, warp 0: `int_add r40, r3` (pc 1, issued in cycle 2) writes register 40 before `int_mad r1, r4, r8, r12, r16, r20, r24, r28, r32, r36, r40` (pc 0, issued in cycle 1)");
    let fewer = [op(OpClass::IntMad, 1, &[4, 8]), add(8, &[3])];
    assert_eq!(audit_unguarded(&fewer).total(), 0, "the reads are served in time");
}

#[test]
fn a_predicate_is_read_at_issue() {
    // Register 128 is the first predicate.
    let lines = [op(OpClass::IntAdd, 128, &[1]), add(2, &[128, 3])];
    let example = only(&audit_unguarded(&lines), Violation::Raw, 1);
    assert!(example.contains("reads register 128"), "{example}");
    let lines = [op(OpClass::IntMad, 1, &[128, 4, 8, 12, 16, 20, 24, 28, 32]), add(128, &[3])];
    assert_eq!(audit_unguarded(&lines).total(), 0, "others of its registers wait for their bank, not this one");
}

#[test]
fn renaming_designs_are_held_to_raw_alone() {
    let auditor = || Auditor::new(Allowances { renames: true, ..Allowances::default() });
    let run = |lines: &[Line]| {
        let run = Bench::new(lines).run_design::<InOrder<NoBoard>, _>(&(), auditor());
        run.sm.observer.findings().clone()
    };
    assert_eq!(run(&[op(OpClass::Sfu, 1, &[2]), add(1, &[3])]).total(), 0);
    only(&run(&[op(OpClass::Sfu, 1, &[2]), add(1, &[1])]), Violation::Raw, 1);
}

/// Issues the youngest instruction of a full buffer first.
struct Backwards {
    entries: Vec<Vec<InstId>>,
    candidates: Candidates,
    /// Warps whose program has come to its end.
    ended: u64,
}

impl Backwards {
    fn examine(&mut self, window: Window<'_>, warp: WarpSlot) {
        self.candidates.changed |= 1 << warp.0;
        PipeSet::ALL.iter().for_each(|p| self.candidates.remove(Head::ready(p), 1 << warp.0));
        if let Some(&id) = self.entries[warp.index()].last().filter(|_| self.ended >> warp.0 & 1 != 0) {
            self.candidates.insert(Head::ready(window.inst(id).pipe), 1 << warp.0);
        }
    }
}

impl CoreDesign for Backwards {
    type FrontEnd = CachedFetch;
    type Issue = Self;
    type Operands = Collectors;
    type Execution = Units;
    type Memory = LoadStoreUnit;
    fn operands(_: &(), spec: &CoreSpec) -> Collectors {
        Collectors::new(spec, CollectorRules::default())
    }
}

impl IssuePolicy for Backwards {
    type Config = ();
    type Mask = u64;
    fn new(_: &(), _: &CoreSpec) -> Self {
        Self { entries: vec![vec![]; 64], candidates: Candidates::default(), ended: 0 }
    }
    fn structures(&self) -> Vec<Structure> {
        vec![]
    }
    fn start_warp(&mut self, _: WarpSlot, _: &RegFile) {}
    fn room(&self) -> u64 {
        u64::MAX
    }
    fn insert(&mut self, flight: Flight<'_>) {
        let Flight { id, window, .. } = flight;
        // The exit stays the last to issue: nothing could issue behind it.
        let entries = &mut self.entries[flight.warp.index()];
        entries.insert(if flight.ends_warp { 0 } else { entries.len() }, id);
        self.ended |= u64::from(flight.ends_warp) << flight.warp.0;
        self.examine(window, flight.warp);
    }
    fn tick(&mut self, _: Cycle, _: Window<'_>, _: &mut WakeUp) -> u64 {
        self.candidates.take_changed()
    }
    fn candidates(&self) -> &Candidates {
        &self.candidates
    }
    fn select(&self, _: Window<'_>, warp: WarpSlot, _: PipeSet) -> InstId {
        *self.entries[warp.index()].last().expect("a candidate")
    }
    fn on_issue(&mut self, flight: Flight<'_>) {
        let warp = flight.warp;
        self.entries[warp.index()].pop();
        self.examine(flight.window, warp);
    }
    fn on_writeback(&mut self, _: Flight<'_>) {}
    fn oldest(&self, warp: WarpSlot) -> Option<InstId> {
        self.entries[warp.index()].first().copied()
    }
}

fn audit_backwards(lines: &[Line], allowed: Allowances) -> Findings {
    // With an oracle in fetch the whole program is in the buffer before anything issues.
    let bench = Bench::new(lines).gpu(|g| g.sm.frontend.branches = config::BranchFetch::Oracle);
    bench.run_design::<Backwards, _>(&(), Auditor::new(allowed)).sm.observer.findings().clone()
}

#[test]
fn accesses_to_one_address_out_of_order_are_found() {
    let two = |second: u64| [store(Space::Global, 1, 0, 4), load(Space::Global, 2, second, 4)];
    insta::assert_snapshot!(only(&audit_backwards(&two(124), Allowances::default()), Violation::Memory, 1), @"in `scripted`, cycle 4, warp 0: `ld.global r2` (pc 1, issued in cycle 1) accesses memory before `st.global r1` (pc 0, issued in cycle 2)");
    assert_eq!(audit_backwards(&two(128), Allowances::default()).total(), 0, "behind the last byte");
    let loads = [load(Space::Global, 1, 0, 4), load(Space::Global, 2, 0, 4)];
    assert_eq!(audit_backwards(&loads, Allowances::default()).total(), 0);
    let spaces = [store(Space::Global, 1, 0, 4), load(Space::Shared, 2, 0, 4)];
    assert_eq!(audit_backwards(&spaces, Allowances::default()).total(), 0);
    let lanes = [store(Space::Local, 1, 0, 4), load(Space::Local, 2, 4, 4)];
    assert_eq!(audit_backwards(&lanes, Allowances::default()).total(), 0, "each lane has its own local memory");
}

/// The store waits for its reads, the load behind it does not.
fn slow_store() -> Vec<Line> {
    let mut slow = store(Space::Shared, 4, 0, 4);
    slow.srcs.extend([8, 12, 16, 20, 24, 28, 32]);
    let mut quick = load(Space::Shared, 2, 0, 4);
    quick.srcs = vec![101];
    vec![slow, quick]
}

#[test]
fn collectors_let_accesses_pass_each_other_unless_asked_for_order() {
    for as_gpgpu_sim in [false, true] {
        let mut bench = Bench::new(&slow_store()).gpu(|g| g.sm.operands.reads_per_bank = 1);
        bench.options.collectors_as_gpgpu_sim = as_gpgpu_sim;
        let plain = bench.run_with(Auditor::new(Allowances::default()));
        only(plain.sm.observer.findings(), Violation::Memory, 1);
        let ordered = bench.run_design::<InOrder<NoBoard>, _>(&(), Auditor::new(Allowances::default()));
        assert_eq!(ordered.sm.observer.findings().total(), 0);
    }
}

#[test]
fn atomics_fences_and_barriers_overtaken_are_found() {
    let load = load(Space::Global, 2, 512, 4);
    for point in [atomic(1, 0, 4), fence(), arrive(0, 64)] {
        only(&audit_backwards(&[point.clone(), load.clone()], Allowances::default()), Violation::Memory, 1);
        only(&audit_backwards(&[load.clone(), point.clone()], Allowances::default()), Violation::Memory, 1);
        assert_eq!(audit_backwards(&[add(1, &[2]), point], Allowances::default()).total(), 0);
    }
}

#[test]
fn instructions_issued_before_a_branch_are_found() {
    let lines = [branch(2, 0), add(1, &[2]), add(3, &[4])];
    insta::assert_snapshot!(only(&audit_backwards(&lines, Allowances::default()), Violation::Control, 2), @"in `scripted`, cycle 1, warp 0: `int_add r3, r4` (pc 2, issued in cycle 1) issues before `bra` (pc 0, has not issued)");
    let predicted = Allowances { passes_branches: true, ..Allowances::default() };
    assert_eq!(audit_backwards(&lines, predicted).total(), 0);
}

/// Tells its auditor of some events twice, of others never.
struct Stutter {
    auditor: Auditor,
    twice: bool,
}

impl Observer for Stutter {
    fn cta_started(&mut self, now: Cycle, kernel: KernelId, cta: Dim3, slot: CtaSlot, warps: &[WarpSlot]) {
        self.auditor.cta_started(now, kernel, cta, slot, warps);
    }
    fn cta_finished(&mut self, now: Cycle, slot: CtaSlot) {
        self.auditor.cta_finished(now, slot);
    }
    fn decoded(&mut self, now: Cycle, seen: Seen<'_>) {
        self.auditor.decoded(now, seen);
    }
    fn issued(&mut self, now: Cycle, slot: usize, seen: Seen<'_>) {
        self.auditor.issued(now, slot, seen);
        if self.twice {
            self.auditor.issued(now, slot, seen);
        }
    }
    fn collecting(&mut self, now: Cycle, seen: Seen<'_>, awaited: u64) {
        self.auditor.collecting(now, seen, awaited);
    }
    fn collected(&mut self, now: Cycle, seen: Seen<'_>) {
        self.auditor.collected(now, seen);
    }
    fn operands_read(&mut self, now: Cycle, seen: Seen<'_>) {
        self.auditor.operands_read(now, seen);
    }
    fn executing(&mut self, now: Cycle, seen: Seen<'_>) {
        self.auditor.executing(now, seen);
    }
    fn written_back(&mut self, now: Cycle, seen: Seen<'_>) {
        if self.twice || !seen.inst().ends_warp {
            self.auditor.written_back(now, seen);
        }
    }
}

#[test]
fn instructions_issued_twice_or_never_completed_are_found() {
    let run = |twice| {
        let stutter = Stutter { auditor: Auditor::new(Allowances::default()), twice };
        Bench::new(&[add(1, &[2]), add(3, &[1])]).run_with(stutter).sm.observer.auditor.findings().clone()
    };
    let twice = only(&run(true), Violation::Duplicate, 3);
    assert!(twice.contains("issues twice or out of turn"), "{twice}");
    let never = only(&run(false), Violation::Duplicate, 1);
    assert!(never.contains("ends with 1 instruction in flight"), "{never}");
}
