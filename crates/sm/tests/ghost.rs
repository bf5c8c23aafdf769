//! GhOST: each rule of the design lets an instruction issue in the cycle in which it first may, and not
//! before.

mod support;

use isa::{CacheOp, OpClass, Space};
use sm::policy::ghost::{Ghost, GhostConfig, Precise};
use sm::{Auditor, InOrder, IssuePolicy, Timeline, Violation};
use support::*;

fn bench(lines: &[Line]) -> Bench {
    Bench::new(lines).timing(OpClass::Sfu, config::Unit::Sfu, 20, 2)
}

fn sized(issue_buffer: usize) -> GhostConfig {
    GhostConfig { issue_buffer, ..GhostConfig::default() }
}

fn precise() -> GhostConfig {
    GhostConfig { precise: Some(Precise::default()), ..GhostConfig::default() }
}

fn ghost(lines: &[Line]) -> Timeline {
    bench(lines).run_design::<Ghost, _>(&GhostConfig::default(), Timeline::default()).sm.observer
}

/// The cycle in which the instruction at `order` passes the stage with `letter`.
fn at(timeline: &Timeline, order: u32, letter: char) -> u64 {
    timeline.at(0, order, letter).expect("it passes")
}

/// Long arithmetic: `r1` comes late.
fn late() -> Line {
    op(OpClass::Sfu, 1, &[50])
}

#[test]
fn figure_12() {
    // 1 has issued, 2 waits for it; 3 and 4 are in the instruction table and issue out of order, one in
    // each cycle, while those behind enter the checker and the issue buffer.
    let lines = [late(), add(2, &[1]), add(3, &[51]), add(4, &[52]), add(5, &[2]), add(6, &[53]), add(7, &[54])];
    insta::assert_snapshot!(ghost(&lines).draw(), @r"
    from 0               |         |         |         |         |
    w0  sfu r1, r50      D.I.CE.....................W
    w0  int_add r2, r1   D..........................I.CE...W
    w0  int_add r3, r51  D..I.CE...W
    w0  int_add r4, r52  D...I.C.E...W
    w0  int_add r5, r2    D................................I.CE...W
    w0  int_add r6, r53   D...I....C.E...W
    w0  int_add r7, r54   D....I.C.E...W
    w0  exit              D.................................I.C.E..W
    ");
}

#[test]
fn figure_11() {
    // The multiplication behind the load may pass it; what overwrites its source waits for the TLB check.
    let mut lines = vec![late(), load(Space::Global, 48, 0, 4), op(OpClass::IntMad, 6, &[60, 17])];
    lines.push(op(OpClass::IntMad, 60, &[61, 17]));
    lines[1].srcs = vec![1];
    let imprecise = ghost(&lines);
    assert!(at(&imprecise, 3, 'I') < at(&imprecise, 1, 'I'));
    let mut bench = bench(&lines);
    bench.memory_latency = 20;
    let drawn = bench.run_design::<Ghost, _>(&precise(), Timeline::default()).sm.observer;
    assert!(at(&drawn, 2, 'I') < at(&drawn, 1, 'I'), "idempotent");
    assert_eq!(at(&drawn, 3, 'I'), at(&drawn, 1, 'C') + 2, "behind the check that ends a cycle after the operands");
    insta::assert_snapshot!(drawn.draw(), @r"
    from 0                     |         |         |         |         |         |         |         |
    w0  sfu r1, r50            D.I.CE.....................W
    w0  ld.global r48          D..........................I.CE..............................................W
    w0  int_mad r6, r60, r17   D..I.CE...W
    w0  int_mad r60, r61, r17  D..............................I..CE...W
    w0  exit                    D..............................ICE..W
    ");
}

#[test]
fn precise_loads_keep_their_order() {
    let mut lines = vec![late(), load(Space::Global, 2, 0, 4), load(Space::Global, 3, 256, 4)];
    lines[1].srcs = vec![1];
    let imprecise = ghost(&lines);
    assert!(at(&imprecise, 2, 'I') < at(&imprecise, 1, 'I'));
    let drawn = bench(&lines).run_design::<Ghost, _>(&precise(), Timeline::default()).sm.observer;
    assert_eq!(at(&drawn, 2, 'I'), at(&drawn, 1, 'I') + 1);
}

#[test]
fn a_dependent_chain_issues_as_in_order() {
    // One cycle later throughout: the dependence checker.
    let lines = [late(), add(2, &[1]), add(3, &[2]), add(4, &[3])];
    let in_order = bench(&lines).run().sm.observer;
    let drawn = ghost(&lines);
    (0..4).for_each(|i| assert_eq!(at(&drawn, i, 'I'), at(&in_order, i, 'I') + 1));
}

#[test]
fn the_oldest_issues_in_the_cycle_of_the_write_back_and_others_in_the_next() {
    // Both wait for r1 behind an older instruction that waits longer.
    let lines = [late(), op(OpClass::Sfu, 2, &[1]), add(3, &[2]), add(4, &[1])];
    let drawn = ghost(&lines);
    let written = at(&drawn, 0, 'W');
    assert_eq!(at(&drawn, 1, 'I'), written);
    assert_eq!(at(&drawn, 3, 'I'), written + 1, "the GhOST scheduler sees it in the cycle of the write-back");
}

#[test]
fn a_writer_waits_for_the_issue_of_a_reader() {
    // The second reads r5 late; the third writes it.
    let drawn = ghost(&[late(), add(2, &[1, 5]), add(5, &[51])]);
    assert_eq!(at(&drawn, 2, 'I'), at(&drawn, 1, 'I') + 1);
}

#[test]
fn a_second_write_waits_for_the_first() {
    let drawn = ghost(&[late(), add(1, &[51]), add(3, &[52])]);
    assert_eq!(at(&drawn, 1, 'I'), at(&drawn, 0, 'W'));
    assert!(at(&drawn, 2, 'I') < at(&drawn, 1, 'I'));
}

/// The issue cycles of two accesses of which the first waits for its address.
fn two_accesses(first: Line, second: Line) -> (u64, u64) {
    let mut lines = [late(), first, second];
    lines[1].srcs.push(1);
    let drawn = ghost(&lines);
    (at(&drawn, 1, 'I'), at(&drawn, 2, 'I'))
}

#[test]
fn only_loads_pass_loads() {
    let (load, store) = (|| load(Space::Global, 2, 0, 4), || store(Space::Global, 50, 512, 4));
    let other = || Line { dsts: vec![3], ..load() };
    let (first, second) = two_accesses(load(), other());
    assert!(second < first);
    let pairs = [
        (load(), store()),
        (store(), load()),
        (store(), store()),
        (load(), atomic(3, 1024, 0)),
        (atomic(3, 1024, 0), load()),
        (load(), other().cached(CacheOp::Volatile)),
    ];
    for (a, b) in pairs {
        let text = format!("{} {}", a.text, b.text);
        let (first, second) = two_accesses(a, b);
        assert_eq!(second, first + 1, "{text}");
    }
}

#[test]
fn a_branch_passes_older_instructions_and_nothing_passes_it() {
    let drawn = ghost(&[late(), add(2, &[1]), branch(1, 0), add(3, &[51])]);
    assert!(at(&drawn, 2, 'I') < at(&drawn, 1, 'I'));
    assert_eq!(at(&drawn, 3, 'I'), at(&drawn, 2, 'I') + 1, "it waits in the issue buffer");
    assert!(at(&drawn, 3, 'I') < at(&drawn, 1, 'I'));
}

#[test]
fn a_branch_that_falls_through_costs_no_cycle() {
    let lines = [add(1, &[50]), branch(1, 0), add(2, &[51]), branch(1, 0), branch(1, 0), add(3, &[2])];
    let in_order = bench(&lines).run().sm.observer;
    let drawn = ghost(&lines);
    (0..6).for_each(|i| assert_eq!(at(&drawn, i, 'I'), at(&in_order, i, 'I') + 1, "instruction {i}"));
}

#[test]
fn the_oldest_comes_before_the_instruction_table() {
    // Additions that are ready fill the table and wait for their unit.
    let mut lines = vec![late(), op(OpClass::FpFma, 2, &[1])];
    lines.extend((3..45).map(|r| add(r, &[51])));
    let drawn = ghost(&lines);
    let written = at(&drawn, 0, 'W');
    assert_eq!(at(&drawn, 1, 'I'), written);
    assert!(at(&drawn, 20, 'I') > written);
}

#[test]
fn synchronisation_passes_nothing_and_nothing_passes_it() {
    for line in [sync(0, 0), arrive(0, 0), fence()] {
        let drawn = ghost(&[late(), add(2, &[1]), line, add(3, &[51])]);
        assert_eq!(at(&drawn, 2, 'I'), at(&drawn, 1, 'I') + 1);
        assert!(at(&drawn, 3, 'I') > at(&drawn, 2, 'I') + 1);
    }
}

#[test]
fn the_issue_buffer_bounds_how_far_an_instruction_passes() {
    let mut lines = vec![late()];
    lines.extend((0..6).map(|i| add(10 + i, &[1])));
    lines.push(add(3, &[51]));
    for size in [2, 4, 6, 7, 8, 16, 32, 64] {
        let drawn = bench(&lines).run_design::<Ghost, _>(&sized(size), Timeline::default()).sm.observer;
        let passes = at(&drawn, 7, 'I') < at(&drawn, 1, 'I');
        assert_eq!(passes, size > 6, "issue buffer of {size}");
    }
}

#[test]
fn an_entry_has_111_bits() {
    let spec = sm::CoreSpec::new(&gpu(), sm::TimingTable::Sass, sm::CoreOptions::default()).unwrap();
    let all = <Ghost>::new(&GhostConfig::default(), &spec).structures();
    let of = |name: &str| all.iter().find(|s| s.name == name).expect("it is there").clone();
    let (checker, bank) = (of("dependence checker"), of("issue buffer bank"));
    assert_eq!((checker.bits, checker.instances), (111, 4 * spec.schedulers()));
    assert_eq!((bank.bits, bank.instances, bank.entries), (111, 8 * spec.schedulers(), 8));
}

/// A program of all kinds of instructions over few registers.
fn random_program(seed: u64) -> Vec<Line> {
    let dice = &mut Dice(seed);
    let line = |dice: &mut Dice| {
        let (dst, a, b) = (dice.below(8) as u16, dice.below(8) as u16, dice.below(8) as u16);
        let address = dice.below(8) * 4;
        let space = if dice.below(2) == 0 { Space::Global } else { Space::Shared };
        let mut line = match dice.below(16) {
            0..4 => add(dst, &[a, b]),
            4..6 => op(OpClass::Sfu, dst, &[a]),
            6..8 => op(OpClass::FpFma, dst, &[a, b, dst]),
            8..11 => load(space, dst, address, 4),
            11 | 12 => store(space, a, address, 4),
            13 => atomic(dst, address, 0),
            14 => branch(1, 0),
            _ => [sync(0, 0), fence()][dice.below(2) as usize].clone(),
        };
        if line.mem.is_some() {
            line.srcs[0] = b;
        }
        line
    };
    let mut lines: Vec<_> = (0..24).map(|_| line(dice)).collect();
    lines.push(branch(-20, 3));
    lines
}

#[test]
fn random_programs_keep_their_order() {
    for seed in 0..60 {
        let lines = random_program(seed);
        let mut bench = bench(&lines).warps(6).scheduler(["lrr", "gto", "srr", "two_level"][seed as usize % 4]);
        bench.ctas = 3;
        bench.shared_bytes = 1024;
        let in_order = bench.run_design::<InOrder, _>(&(), sm::Silent);
        for config in [sized(1), sized(4), GhostConfig::default(), sized(32), precise()] {
            let auditor = Auditor::new(<Ghost>::allowances(&config));
            let run = bench.run_design::<Ghost, _>(&config, auditor);
            assert!(!run.deadlocked, "seed {seed}, {config:?}");
            let findings = run.sm.observer.findings();
            // As in the in-order core, operands may be read after a younger write.
            assert_eq!(findings.total(), findings.count(Violation::War), "seed {seed}, {config:?}: {findings}");
            assert_eq!(findings.instructions, in_order.sm.counters().warp_instructions, "seed {seed}");
        }
    }
}

#[test]
fn sleeping_changes_nothing() {
    for config in [GhostConfig::default(), precise()] {
        for seed in 0..12 {
            let mut bench = bench(&random_program(seed)).warps(6);
            bench.ctas = 3;
            bench.shared_bytes = 1024;
            let asleep = bench.run_design::<Ghost, _>(&config, Timeline::default());
            bench.tick_every_cycle = true;
            let awake = bench.run_design::<Ghost, _>(&config, Timeline::default());
            assert_eq!(awake.sm.observer.draw(), asleep.sm.observer.draw());
            assert!(asleep.ticks <= awake.ticks);
        }
    }
}
