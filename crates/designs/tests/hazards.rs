//! Hazard handling of the in-order core: each board lets an instruction issue in the cycle in which
//! its rule first allows it, and not before.

use crate::support;

use designs::boards::{BloomConfig, Bloomboard, Release, StoreBoard, WarScoreboard, Warpboard};
use isa::{OpClass, Space};
use sm::{Board, InOrder, IssuePolicy, Scoreboard, Timeline, Violation};
use support::*;

/// One register read per bank and cycle, four banks to a sub-core: an instruction that reads registers
/// of one bank collects for as many cycles; collectors enough.
fn bench(lines: &[Line]) -> Bench {
    let bench = Bench::new(lines).gpu(|g| {
        g.sm.operands.reads_per_bank = 1;
        g.sm.operands.collectors = 32;
    });
    bench.timing(OpClass::IntMad, config::Unit::Sp, 4, 2).timing(OpClass::Sfu, config::Unit::Sfu, 20, 2)
}

fn run<B: Board>(config: &B::Config, lines: &[Line]) -> Timeline {
    bench(lines).draw::<InOrder<B>>(config)
}

fn bloom(bits: u32) -> BloomConfig {
    BloomConfig { counter_bits: bits }
}

/// The first reads ten registers of bank 0; the second writes one of them.
fn hazard() -> Vec<Line> {
    vec![op(OpClass::IntMad, 1, &[4, 8, 12, 16, 20, 24, 28, 32, 36, 40]), add(40, &[3])]
}

#[test]
fn without_protection_the_writer_overtakes_the_reader() {
    let drawn = run::<Scoreboard>(&(), &hazard());
    assert!(at(&drawn, 1, 'W') < at(&drawn, 0, 'C'));
}

#[test]
fn an_exact_board_holds_the_writer_until_release() {
    let ideal = run::<WarScoreboard>(&Release::Read, &hazard());
    assert_eq!(at(&ideal, 1, 'I'), at(&ideal, 0, 'C'));
    let socgpu = run::<WarScoreboard>(&Release::Commit, &hazard());
    assert_eq!(at(&socgpu, 1, 'I'), at(&socgpu, 0, 'W'));
    insta::assert_snapshot!(socgpu.draw(), @r"
    from 0                                                          |         |         |
    w0  int_mad r1, r4, r8, r12, r16, r20, r24, r28, r32, r36, r40  DI...........CE.....W
    w0  int_add r40, r3                                             D...................I...CE...W
    w0  exit                                                                            DI.CE..W
    ");
}

#[test]
fn an_exact_board_lets_others_pass() {
    let mut lines = hazard();
    lines[1] = add(44, &[4]);
    let unprotected = run::<Scoreboard>(&(), &lines).draw();
    for release in [Release::Read, Release::Commit] {
        assert_eq!(run::<WarScoreboard>(&release, &lines).draw(), unprotected);
    }
}

#[test]
fn an_exact_board_counts_the_readers_of_a_register() {
    // Both read r40; the second, which reads it alone, has it first.
    let mut lines = hazard();
    lines.insert(1, add(3, &[40]));
    for release in [Release::Read, Release::Commit] {
        let drawn = run::<WarScoreboard>(&release, &lines);
        let end = if release == Release::Read { 'C' } else { 'W' };
        assert!(at(&drawn, 1, end) > at(&drawn, 1, 'I'));
        assert_eq!(at(&drawn, 2, 'I'), at(&drawn, 0, end).max(at(&drawn, 1, 'W')), "behind both, and the producer");
    }
}

#[test]
fn a_warpboard_released_on_commit_has_one_instruction_outstanding() {
    let lines = [op(OpClass::Sfu, 1, &[2]), add(3, &[4]), add(5, &[6])];
    let drawn = run::<Warpboard>(&Release::Commit, &lines);
    for order in 1..4 {
        assert_eq!(at(&drawn, order, 'I'), at(&drawn, order - 1, 'W'));
    }
    insta::assert_snapshot!(drawn.draw(), @r"
    from 0              |         |         |         |         |
    w0  sfu r1, r2      DI..CE.....................W
    w0  int_add r3, r4  D..........................I..CE...W
    w0  int_add r5, r6                             D.......I..CE...W
    w0  exit                                       D...............I.CE..W
    ");
}

#[test]
fn a_warpboard_released_on_read_has_one_instruction_collecting() {
    let lines = [op(OpClass::IntMad, 1, &[4, 8, 12, 16]), add(3, &[5]), add(6, &[7])];
    let drawn = run::<Warpboard>(&Release::Read, &lines);
    for order in 1..4 {
        assert_eq!(at(&drawn, order, 'I'), at(&drawn, order - 1, 'C'));
    }
    insta::assert_snapshot!(drawn.draw(), @r"
    from 0                            |         |
    w0  int_mad r1, r4, r8, r12, r16  DI.....CE.....W
    w0  int_add r3, r5                D......I..CE...W
    w0  int_add r6, r7                       D..I..CE...W
    w0  exit                                 D.....I.CE..W
    ");
}

#[test]
fn a_store_board_holds_writers_behind_stores_only() {
    // A store that reads four registers of one bank, and one that follows it.
    let first = Line { srcs: vec![4, 8, 12, 16], ..store(Space::Global, 4, 0, 4) };
    let lines = [first.clone(), first, add(4, &[3])];
    let drawn = run::<StoreBoard>(&(), &lines);
    assert!(at(&drawn, 1, 'I') < at(&drawn, 0, 'C'), "stores do not wait for each other");
    assert_eq!(at(&drawn, 2, 'I'), at(&drawn, 1, 'C'));
    // Instructions with a result are left to register allocation.
    assert_eq!(run::<StoreBoard>(&(), &hazard()).draw(), run::<Scoreboard>(&(), &hazard()).draw());
}

#[test]
fn a_bloomboard_holds_writers_of_reserved_bins_only() {
    let reader = op(OpClass::IntMad, 1, &[4, 8, 12, 16]);
    for bits in [1, 2, 16] {
        let same = run::<Bloomboard>(&bloom(bits), &[reader.clone(), add(20, &[5])]);
        assert_eq!(at(&same, 1, 'I'), at(&same, 0, 'C'), "r20 lies in the bank that is being read");
        let other = run::<Bloomboard>(&bloom(bits), &[reader.clone(), add(21, &[5])]);
        assert_eq!(at(&other, 1, 'I'), at(&other, 0, 'I') + 1, "r21 lies in another");
    }
}

#[test]
fn bins_count_as_many_readers_as_they_have_bits_for() {
    // All but the first, which takes long, read one register of bank 0.
    let slow = op(OpClass::IntMad, 1, &[4, 8, 12, 16, 20, 24, 28, 32]);
    let fast = |dst| op(OpClass::FpMul, dst, &[4]);
    let lines = [slow, fast(2), fast(3), fast(5), fast(6)];
    let [one, two, unbounded] = [1, 2, 0].map(|counter_bits| {
        let drawn = run::<Bloomboard>(&BloomConfig { counter_bits }, &lines);
        [1, 2, 3, 4].map(|order| at(&drawn, order, 'I'))
    });
    let two_drawn = at(&run::<Bloomboard>(&bloom(2), &lines), 0, 'C');
    let plain = run::<Scoreboard>(&(), &lines);
    assert_eq!(unbounded, [1, 2, 3, 4].map(|order| at(&plain, order, 'I')));
    assert_eq!(two[..2], unbounded[..2], "three readers fit");
    assert_eq!(two[2], two_drawn, "the fourth does not");
    assert!(one[0] > two[0] && two[2] > unbounded[2]);
    let drawn = run::<Bloomboard>(&bloom(1), &lines);
    for order in 1..5 {
        assert_eq!(at(&drawn, order, 'I'), at(&drawn, order - 1, 'C'), "one reader at a time");
    }
}

/// A program with each kind of hazard, for every board.
fn mixed() -> Vec<Line> {
    let mut lines = vec![load(Space::Global, 1, 0, 4)];
    lines.extend(hazard());
    lines.extend([
        store(Space::Global, 1, 256, 4),
        add(1, &[40]),
        op(OpClass::Sfu, 9, &[1]),
        add(9, &[2]),
        store(Space::Shared, 9, 0, 8),
        load(Space::Shared, 100, 0, 8),
        branch(-3, 2),
        sync(0, 0),
        add(100, &[100]),
        op(OpClass::IntMad, 4, &[8, 12, 16, 20]),
        add(8, &[12]),
        fence(),
        atomic(3, 0, 4),
    ]);
    lines
}

fn check<B: Board>(config: &B::Config, name: &str) {
    let mut bench = bench(&mixed()).warps(8);
    bench.ctas = 3;
    let findings = bench.audit::<InOrder<B>>(config);
    assert_eq!(findings.total(), 0, "{name}: {findings}");
    bench.sleeping_changes_nothing::<InOrder<B>>(config);
}

#[test]
fn every_board_but_the_plain_one_keeps_the_order() {
    check::<WarScoreboard>(&Release::Read, "exact, read");
    check::<WarScoreboard>(&Release::Commit, "exact, commit");
    check::<Warpboard>(&Release::Read, "warpboard, read");
    check::<Warpboard>(&Release::Commit, "warpboard, commit");
    check::<Bloomboard>(&bloom(1), "bloomboard 1");
    check::<Bloomboard>(&bloom(2), "bloomboard 2");
    check::<Bloomboard>(&BloomConfig { counter_bits: 0 }, "bloomboard unbounded");
    let plain = bench(&mixed()).run_with(sm::Auditor::new(sm::Allowances::default()));
    let findings = plain.sm.observer.findings();
    assert!(findings.count(Violation::War) > 0 && findings.count(Violation::War) == findings.total(), "{findings}");
}

#[test]
fn registers_beyond_the_masks_are_seen() {
    let lines = [op(OpClass::IntMad, 1, &[300, 304, 308, 312, 316, 320, 324, 328, 332, 336]), add(336, &[3])];
    let mut bench = bench(&lines);
    bench.vector_registers = 400;
    let plain = bench.run().sm.observer;
    assert!(at(&plain, 1, 'W') < at(&plain, 0, 'C'), "there is a hazard");
    for (release, end) in [(Release::Read, 'C'), (Release::Commit, 'W')] {
        let drawn = bench.draw::<InOrder<WarScoreboard>>(&release);
        assert_eq!(at(&drawn, 1, 'I'), at(&drawn, 0, end));
    }
    let drawn = bench.draw::<InOrder<Bloomboard>>(&bloom(1));
    assert_eq!(at(&drawn, 1, 'I'), at(&drawn, 0, 'C'));
}

/// Bits per SM beside the instruction buffers.
fn storage<B: Board>(config: &B::Config) -> usize {
    let run = bench(&[]).run_design::<InOrder<B>, _>(config, sm::Silent);
    let structures = run.sm.policy().structures();
    structures.iter().filter(|s| s.name != "instruction buffer").map(sm::Structure::total_bits).sum()
}

#[test]
fn storage_is_as_the_papers_have_it() {
    let warps = gpu().sm.max_warps as usize;
    assert_eq!(storage::<Scoreboard>(&()), 263 * warps);
    assert_eq!(storage::<WarScoreboard>(&Release::Commit), 2 * 263 * warps);
    assert_eq!(storage::<Warpboard>(&Release::Commit), warps, "a bit per warp, and no scoreboard");
    assert_eq!(storage::<Warpboard>(&Release::Read), (263 + 1) * warps);
    // Four banks hold a warp's registers.
    assert_eq!(storage::<Bloomboard>(&bloom(1)), (263 + 4) * warps);
    assert_eq!(storage::<Bloomboard>(&bloom(2)), (263 + 8) * warps);
}

#[test]
fn the_scoreboard_sees_registers_beyond_the_masks() {
    for second in [add(2, &[300]), add(300, &[51])] {
        let mut bench = bench(&[op(OpClass::Sfu, 300, &[50]), second]);
        bench.vector_registers = 400;
        let drawn = bench.run().sm.observer;
        assert_eq!(at(&drawn, 1, 'I'), at(&drawn, 0, 'W'));
    }
}

#[test]
fn the_last_reader_releases_a_bin() {
    // Two readers of bank 0; the third writes a register of it.
    let lines = [op(OpClass::IntMad, 1, &[4, 8, 12, 16]), op(OpClass::FpMul, 2, &[4]), add(20, &[5])];
    for bits in [2, 16] {
        let drawn = run::<Bloomboard>(&bloom(bits), &lines);
        assert_ne!(at(&drawn, 0, 'C'), at(&drawn, 1, 'C'));
        assert_eq!(at(&drawn, 2, 'I'), at(&drawn, 0, 'C').max(at(&drawn, 1, 'C')));
    }
}

#[test]
fn a_warpboard_released_on_commit_holds_what_is_fetched_later() {
    // Decoded when the branch has left its collector.
    let drawn = run::<Warpboard>(&Release::Commit, &[add(1, &[3]), branch(2, 1), add(9, &[3]), add(2, &[3])]);
    assert!(at(&drawn, 2, 'D') >= at(&drawn, 1, 'C') && at(&drawn, 2, 'D') < at(&drawn, 1, 'W'));
    assert_eq!(at(&drawn, 2, 'I'), at(&drawn, 1, 'W'));
}
