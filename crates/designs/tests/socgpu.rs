//! SOCGPU: each rule of the design lets an instruction issue in the cycle in which it first may, and
//! not before.

use crate::support;

use designs::socgpu::{Socgpu, SocgpuConfig, Until};
use isa::{Control, OpClass, Space};
use sm::{IssuePolicy, Stall, Timeline};
use support::*;

fn stops_at_issue() -> SocgpuConfig {
    SocgpuConfig { stops_end: Until::Issue, ..SocgpuConfig::default() }
}

fn drawn(lines: &[Line], config: &SocgpuConfig) -> Timeline {
    Bench::slow_sfu(lines).draw::<Socgpu>(config)
}

fn socgpu(lines: &[Line]) -> Timeline {
    drawn(lines, &SocgpuConfig::default())
}

#[test]
fn figure_3() {
    // Four entries. When the first two instructions have left, the sixth and seventh take places 0 and
    // 1: the buffer is in no order. The write-back of r1 makes the instructions at places 0 and 3
    // candidates; the one at place 1 is none before that at place 0 has written back. Of the two the
    // local policy takes place 0, the younger one.
    let lines = [add(2, &[50]), add(3, &[51]), late(), add(4, &[1]), add(5, &[1]), add(6, &[5])];
    let four = SocgpuConfig { buffer: 4, ..SocgpuConfig::default() };
    let drawn = drawn(&lines, &four);
    insta::assert_snapshot!(drawn.draw(), @r"
    from 0               |         |         |         |         |
    w0  int_add r2, r50  DI.CE...W
    w0  int_add r3, r51  D.I.C.E...W
    w0  sfu r1, r50      D..I.CE.....................W
    w0  int_add r4, r1   D............................I.C.E...W
    w0  int_add r5, r1             D.................I.CE...W
    w0  int_add r6, r5             D........................I.CE...W
    w0  exit                                                D......ICE..W
    ");
    assert_eq!(at(&drawn, 4, 'I'), at(&drawn, 2, 'W'));
    assert_eq!(at(&drawn, 3, 'I'), at(&drawn, 2, 'W') + 1);
    assert_eq!(at(&drawn, 5, 'I'), at(&drawn, 4, 'W'));
}

#[test]
fn independent_instructions_pass_one_that_waits() {
    let lines = [late(), add(2, &[1]), add(3, &[51]), add(4, &[52]), add(5, &[2]), add(6, &[53])];
    insta::assert_snapshot!(socgpu(&lines).draw(), @r"
    from 0               |         |         |         |         |
    w0  sfu r1, r50      DI.CE.....................W
    w0  int_add r2, r1   D.........................I.CE...W
    w0  int_add r3, r51  D.I.CE...W
    w0  int_add r4, r52  D..I.C.E...W
    w0  int_add r5, r2   D................................I.CE...W
    w0  int_add r6, r53  D...I..C.E...W
    w0  exit             FD......................................ICE..W
    ");
}

#[test]
fn registers_are_free_at_write_back() {
    let pairs = [
        ("RAW", late(), add(2, &[1])),
        ("RAW of a predicate", Line { dsts: vec![130], ..late() }, Line { srcs: vec![130, 51], ..add(2, &[]) }),
        ("WAW", late(), add(1, &[51])),
        ("WAR", late(), add(50, &[51])),
    ];
    for (rule, first, second) in pairs {
        let drawn = socgpu(&[first, second, add(3, &[52])]);
        assert_eq!(at(&drawn, 1, 'I'), at(&drawn, 0, 'W'), "{rule}");
        assert!(at(&drawn, 2, 'I') < at(&drawn, 1, 'I'), "{rule}: what depends on neither goes on");
    }
    // Registers beyond those that fit a set.
    for (rule, first, second) in [
        ("RAW", Line { dsts: vec![300], ..late() }, add(2, &[300])),
        ("WAW", Line { dsts: vec![300], ..late() }, add(300, &[51])),
        ("WAR", Line { srcs: vec![300], ..late() }, add(300, &[51])),
    ] {
        let mut bench = Bench::slow_sfu(&[first, second]);
        bench.vector_registers = 400;
        let drawn = bench.draw::<Socgpu>(&SocgpuConfig::default());
        assert_eq!(at(&drawn, 1, 'I'), at(&drawn, 0, 'W'), "{rule} of a register beyond the sets");
    }
}

#[test]
fn only_loads_pass_loads() {
    let (load, store) = (|dst| load(Space::Global, dst, 0, 4), || store(Space::Global, 52, 512, 4));
    for [first, second] in [[load(2), load(3)], [add(4, &[51]), store()]] {
        let drawn = socgpu(&[late(), waiting(first), second]);
        assert!(at(&drawn, 2, 'I') < at(&drawn, 1, 'I'));
    }
    let barriers = [[arrive(0, 64), load(2)], [arrive(0, 64), store()]];
    for [first, second] in accesses_in_order().into_iter().chain(barriers) {
        let text = format!("{} {}", first.text, second.text);
        let drawn = socgpu(&[late(), waiting(first), second]);
        assert_eq!(at(&drawn, 2, 'I'), at(&drawn, 1, 'W'), "{text}");
    }
}

#[test]
fn accesses_may_keep_behind_the_issue_alone() {
    let at_issue = SocgpuConfig { accesses_end: Until::Issue, ..SocgpuConfig::default() };
    let pair = [late(), waiting(store(Space::Global, 52, 512, 4)), load(Space::Global, 2, 0, 4)];
    let drawn = drawn(&pair, &at_issue);
    assert_eq!(at(&drawn, 2, 'I'), at(&drawn, 1, 'I') + 1);
    assert!(at(&drawn, 2, 'E') > at(&drawn, 1, 'E'), "the pipeline keeps the order");
}

#[test]
fn barriers_wait_until_older_accesses_have_issued() {
    let drawn = socgpu(&[late(), waiting(load(Space::Global, 2, 0, 4)), arrive(0, 64), add(3, &[51])]);
    assert_eq!(at(&drawn, 2, 'I'), at(&drawn, 1, 'I') + 1);
    assert!(at(&drawn, 3, 'I') < at(&drawn, 2, 'I'));
    let drawn = socgpu(&[late(), waiting(arrive(0, 64)), arrive(1, 64)]);
    assert_eq!(at(&drawn, 2, 'I'), at(&drawn, 1, 'I') + 1, "barriers keep their order");
    // They do not wait for arithmetic.
    let drawn = socgpu(&[late(), add(2, &[1]), arrive(0, 64)]);
    assert!(at(&drawn, 2, 'I') < at(&drawn, 1, 'I'));
}

#[test]
fn nothing_passes_a_branch() {
    let lines = [late(), branch(1, 0), add(2, &[51])];
    let drawn = socgpu(&lines);
    assert_eq!(at(&drawn, 1, 'I'), at(&drawn, 0, 'W'));
    assert_eq!(at(&drawn, 2, 'I'), at(&drawn, 1, 'W'));
    let drawn = self::drawn(&lines, &stops_at_issue());
    assert_eq!(at(&drawn, 1, 'I'), at(&drawn, 0, 'I') + 1);
    assert_eq!(at(&drawn, 2, 'I'), at(&drawn, 1, 'I') + 1);
    // One that waits for its operand.
    let drawn = self::drawn(&[late(), waiting(branch(1, 0)), add(2, &[51])], &stops_at_issue());
    assert_eq!(at(&drawn, 1, 'I'), at(&drawn, 0, 'W'));
    assert_eq!(at(&drawn, 2, 'I'), at(&drawn, 1, 'I') + 1);
}

#[test]
fn the_end_of_a_warp_comes_last() {
    let drawn = socgpu(&[late()]);
    assert_eq!(at(&drawn, 1, 'I'), at(&drawn, 0, 'W'));
    let drawn = self::drawn(&[late(), add(2, &[1])], &stops_at_issue());
    assert_eq!(at(&drawn, 2, 'I'), at(&drawn, 1, 'I') + 1);
}

#[test]
fn behind_a_taken_branch_the_right_path_is_fetched_when_it_has_issued() {
    let lines = [late(), branch(2, 1), add(9, &[51]), add(2, &[51])];
    let (drawn, in_order) = (drawn(&lines, &stops_at_issue()), Bench::slow_sfu(&lines).run().sm.observer);
    assert_eq!(at(&drawn, 2, 'D') - at(&drawn, 1, 'I'), at(&in_order, 2, 'D') - at(&in_order, 1, 'I'));
    assert_eq!(at(&drawn, 2, 'I'), at(&drawn, 2, 'D') + 1);
    // By then the branch has not written back.
    let drawn = socgpu(&lines);
    assert_eq!(at(&drawn, 2, 'I'), at(&drawn, 1, 'W'));
    assert!(at(&drawn, 2, 'D') < at(&drawn, 1, 'W'));
}

/// A way that ends at line 4.
fn way() -> Vec<Line> {
    let on = |line: Line| line.until(4);
    vec![on(late()), on(add(2, &[1])), on(add(3, &[51])), on(add(4, &[52])), add(5, &[53])]
}

#[test]
fn only_the_oldest_reaches_the_reconvergence_pc() {
    let drawn = socgpu(&way());
    assert!(at(&drawn, 2, 'I') < at(&drawn, 1, 'I'), "before the re-convergence PC");
    assert_eq!(at(&drawn, 3, 'I'), at(&drawn, 1, 'W'), "at it, once the oldest in the buffer");
    assert_eq!(at(&drawn, 4, 'I'), at(&drawn, 3, 'I') + 1, "behind it, once the SIMT unit has moved on");
    let drawn = self::drawn(&way(), &stops_at_issue());
    assert_eq!(at(&drawn, 3, 'I'), at(&drawn, 1, 'I') + 1, "at it, once the oldest that has not issued");
    assert_eq!(at(&drawn, 4, 'I'), at(&drawn, 3, 'I') + 1);
    // The warp goes on with another way: as behind a branch.
    let mut lines = way();
    (lines[3].jump, lines[3].times) = (2, 1);
    lines.push(add(6, &[54]));
    let drawn = socgpu(&lines);
    assert_eq!(at(&drawn, 3, 'I'), at(&drawn, 1, 'W'));
    assert!(at(&drawn, 4, 'D') > at(&drawn, 3, 'I'), "fetched when it has issued");
}

#[test]
fn entries_are_held_until_write_back() {
    let loads: Vec<Line> = (0..12).map(|i| load(Space::Global, 2 + i, 128 * u64::from(i), 4)).collect();
    for (entries, first_late) in [(4, 4), (8, 8), (16, 12)] {
        let drawn = drawn(&loads, &SocgpuConfig { buffer: entries, ..SocgpuConfig::default() });
        let written = (0..12).map(|i| at(&drawn, i, 'W')).min().expect("there are some");
        let before = (0..12).filter(|&i| at(&drawn, i, 'I') < written).count();
        assert_eq!(before, first_late, "{entries} entries");
    }
}

#[test]
fn the_candidate_of_a_warp_is_one() {
    // The first free unit is busy for long: the candidate at place 1 waits for its latch, and the one
    // behind it, for another unit, with it.
    let slow = |dst| op(OpClass::Sfu, dst, &[50]);
    let lines = [slow(2), slow(3), slow(4), slow(5), slow(6), add(7, &[51])];
    let bench = Bench::new(&lines).timing(OpClass::Sfu, config::Unit::Sfu, 20, 16);
    let bench = bench.gpu(|g| g.sm.operands.collectors = 4);
    let run = bench.run_design::<Socgpu, _>(&SocgpuConfig::default(), Timeline::default());
    let drawn = run.sm.observer;
    assert_eq!(at(&drawn, 5, 'I'), at(&drawn, 4, 'I') + 1);
}

#[test]
fn stalls_are_those_of_the_oldest() {
    let stalled = |lines: &[Line], config: &SocgpuConfig| {
        let run = Bench::slow_sfu(lines).run_design::<Socgpu, _>(config, Timeline::default());
        let account = run.sm.account().clone();
        move |stall| account.stalled(stall)
    };
    let config = SocgpuConfig::default();
    assert!(stalled(&[late(), add(2, &[1])], &config)(Stall::Raw) > 15);
    assert!(stalled(&[load(Space::Global, 1, 0, 4), add(2, &[1])], &config)(Stall::RawMemory) > 150);
    assert!(stalled(&[late(), add(1, &[2])], &config)(Stall::Waw) > 15);
    assert!(stalled(&[late(), add(50, &[2])], &config)(Stall::War) > 15);
    assert!(stalled(&[load(Space::Global, 1, 0, 4), store(Space::Global, 2, 4, 4)], &config)(Stall::MemoryOrder) > 150);
    assert!(stalled(&[late(), branch(1, 0)], &config)(Stall::Control) > 15);
    let loads: Vec<Line> = (0..12).map(|i| load(Space::Global, 2 + i, 128 * u64::from(i), 4)).collect();
    assert!(stalled(&loads, &config)(Stall::Design) > 150);
}

#[test]
fn statistics_of_figure_5() {
    // RAW of the second on the first; WAW and WAR of the third on the second; the branch stands behind
    // three, the exit behind three and the branch.
    let lines = [late(), add(2, &[1]), add(2, &[2]), branch(1, 0)];
    let run = Bench::slow_sfu(&lines).run_design::<Socgpu, _>(&SocgpuConfig::default(), Timeline::default());
    let found = run.sm.policy().statistics();
    let of = |name: &str| {
        let one = found.iter().find(|s| s.info.name == name).expect("it is counted");
        (one.count, one.per.expect("it is a ratio").count)
    };
    assert_eq!(of("raw_dependences"), (2, 5));
    assert_eq!(of("waw_war_dependences"), (1, 5));
    assert_eq!(of("stop_dependences"), (3 + 4, 5));
    assert_eq!(of("memory_dependences"), (0, 5));
    assert_eq!(of("reordered_share"), (0, 5));
}

#[test]
fn the_matrix_has_a_bit_for_each_two_entries() {
    let run = Bench::slow_sfu(&[]).run_design::<Socgpu, _>(&SocgpuConfig::default(), Timeline::default());
    let structures = run.sm.policy().structures();
    let of = |name: &str| structures.iter().find(|s| s.name == name).expect("it is there");
    let (matrix, buffer) = (of("dependence matrix"), of("instruction buffer"));
    // Section 3: 8 entries; a row and a column for each.
    assert_eq!((matrix.instances, matrix.storage.entries, matrix.storage.bits), (32, 8, 8));
    assert_eq!(matrix.total_bits(), 32 * 64);
    // Beside what the baseline holds of an instruction: PC, next PC, issued, seniority of 3 bits.
    assert_eq!((buffer.storage.entries, buffer.storage.bits), (8, 97 + 32 + 32 + 1 + 3));
    assert!(!structures.iter().any(|s| s.name == "scoreboard"), "the matrix replaces it");
}

#[test]
fn the_auditor_finds_nothing() {
    let mut lines = way();
    lines.extend([
        load(Space::Global, 10, 0, 4),
        store(Space::Global, 10, 0, 4),
        load(Space::Global, 11, 0, 4),
        sync(0, 0),
        add(10, &[11]),
        op(OpClass::Sfu, 11, &[10]),
        fence(),
        atomic(12, 0, 0),
        add(11, &[12]),
        branch(-14, 3),
    ]);
    lines.push(control(OpClass::Nop, Control::Sleep, "sleep"));
    let at_issue = SocgpuConfig { accesses_end: Until::Issue, ..stops_at_issue() };
    for config in [SocgpuConfig::default(), stops_at_issue(), SocgpuConfig { buffer: 2, ..at_issue }, at_issue] {
        let findings = Bench::slow_sfu(&lines).warps(4).audit::<Socgpu>(&config);
        assert!(findings.dependences > 0);
        assert_eq!(findings.total(), 0, "{config:?}: {findings}");
    }
}
