//! GhOST: each rule of the design lets an instruction issue in the cycle in which it first may, and not
//! before.

use crate::support;

use designs::ghost::{Ghost, GhostConfig};
use isa::{CtaSlot, Dim3, KernelId, OpClass, Space, WarpSlot};
use kit::Cycle;
use sm::{Auditor, CoreDesign, IssuePolicy, Observer, Seen, Timeline, Violation};
use support::*;

fn sized(issue_buffer: u32) -> GhostConfig {
    GhostConfig { issue_buffer, ..GhostConfig::default() }
}

fn precise() -> GhostConfig {
    GhostConfig { precise: true, ..GhostConfig::default() }
}

fn ghost(lines: &[Line]) -> Timeline {
    Bench::slow_sfu(lines).draw::<Ghost>(&GhostConfig::default())
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
    let mut bench = Bench::slow_sfu(&lines);
    bench.memory_latency = 20;
    let drawn = bench.draw::<Ghost>(&precise());
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
    let drawn = Bench::slow_sfu(&lines).draw::<Ghost>(&precise());
    assert_eq!(at(&drawn, 2, 'I'), at(&drawn, 1, 'I') + 1);
}

/// A program of GhOST-Precise; its lines that begin with a load wait for the address of the first.
fn precisely(lines: &[Line]) -> Timeline {
    Bench { memory_latency: 20, ..Bench::slow_sfu(lines) }.draw::<Ghost>(&precise())
}

/// A load that waits for its address.
fn slow_load(dst: u16) -> Line {
    waiting(load(Space::Global, dst, 0, 4))
}

#[test]
fn stores_and_synchronisation_wait_for_tlb_checks() {
    for line in [store(Space::Global, 52, 512, 4), atomic(3, 1024, 0)] {
        let drawn = precisely(&[late(), slow_load(48), line]);
        assert_eq!(at(&drawn, 2, 'I'), at(&drawn, 1, 'C') + 2);
    }
}

#[test]
fn what_was_written_since_the_load_may_be_overwritten() {
    let mad = |dst, src| op(OpClass::IntMad, dst, &[src]);
    let drawn = precisely(&[late(), slow_load(48), mad(60, 61), mad(62, 60), add(60, &[63])]);
    assert!(at(&drawn, 4, 'I') < at(&drawn, 1, 'I'));
    // A second load: what was written before it was not written since.
    let drawn = precisely(&[late(), slow_load(48), mad(60, 61), slow_load(49), mad(62, 60), add(60, &[63])]);
    assert!(at(&drawn, 5, 'I') > at(&drawn, 3, 'C'));
}

#[test]
fn what_was_read_before_the_load_may_be_overwritten() {
    let drawn = precisely(&[add(2, &[60]), late(), slow_load(48), add(60, &[51])]);
    assert!(at(&drawn, 3, 'I') < at(&drawn, 2, 'I'));
}

#[test]
fn a_dependent_chain_issues_as_in_order() {
    // One cycle later throughout: the dependence checker.
    let lines = [late(), add(2, &[1]), add(3, &[2]), add(4, &[3])];
    let in_order = Bench::slow_sfu(&lines).run().sm.observer;
    let drawn = ghost(&lines);
    (0..4).for_each(|i| assert_eq!(at(&drawn, i, 'I'), at(&in_order, i, 'I') + 1));
}

#[test]
fn without_the_cycle_of_the_checker_a_dependent_chain_issues_when_it_does_in_order() {
    let lines = [late(), add(2, &[1]), add(3, &[2]), add(4, &[3])];
    let bench = Bench::slow_sfu(&lines);
    let in_order = bench.run().sm.observer;
    let drawn = bench.draw::<Ghost>(&GhostConfig { checker_cycles: 0, ..GhostConfig::default() });
    (0..4).for_each(|i| assert_eq!(at(&drawn, i, 'I'), at(&in_order, i, 'I')));
}

#[test]
fn without_reordering_only_the_oldest_issues() {
    let lines = [late(), add(2, &[1]), add(3, &[51]), add(4, &[52]), add(5, &[2]), add(6, &[53])];
    let drawn = Bench::slow_sfu(&lines).draw::<Ghost>(&GhostConfig { reorder: false, ..GhostConfig::default() });
    (1..6).for_each(|i| assert!(at(&drawn, i, 'I') > at(&drawn, i - 1, 'I'), "{}", drawn.draw()));
    let reordering = ghost(&lines);
    assert!(at(&reordering, 2, 'I') < at(&reordering, 1, 'I'));
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

/// Audits, and remembers when each instruction has read and when it leaves its collector.
struct Reads {
    auditor: Auditor,
    read: Vec<u64>,
    left: Vec<u64>,
}

impl Observer for Reads {
    fn cta_started(&mut self, now: Cycle, kernel: KernelId, cta: Dim3, slot: CtaSlot, warps: &[WarpSlot]) {
        self.auditor.cta_started(now, kernel, cta, slot, warps);
    }
    fn decoded(&mut self, now: Cycle, seen: Seen<'_>) {
        self.auditor.decoded(now, seen);
    }
    fn issued(&mut self, now: Cycle, slot: usize, seen: Seen<'_>) {
        self.auditor.issued(now, slot, seen);
    }
    fn collected(&mut self, now: Cycle, seen: Seen<'_>) {
        self.auditor.collected(now, seen);
        self.read[seen.inst().order as usize] = now;
    }
    fn operands_read(&mut self, now: Cycle, seen: Seen<'_>) {
        self.auditor.operands_read(now, seen);
        self.left[seen.inst().order as usize] = now;
    }
    fn written_back(&mut self, now: Cycle, seen: Seen<'_>) {
        self.auditor.written_back(now, seen);
    }
}

/// Without the guard and with it: when the instruction at `reader` has read, when that at `writer` leaves
/// its collector, and how often the auditor finds that it writes too early.
fn guarded(bench: &Bench, [reader, writer]: [usize; 2]) -> [(u64, u64, u64); 2] {
    [false, true].map(|guarded| {
        let config = GhostConfig { guarded, ..GhostConfig::default() };
        let auditor = Auditor::new(<Ghost>::allowances(&config));
        let reads = Reads { auditor, read: vec![0; 32], left: vec![0; 32] };
        let Reads { auditor, read, left } = bench.run_design::<Ghost, _>(&config, reads).sm.observer;
        let found = auditor.findings();
        assert_eq!(found.total(), found.count(Violation::War), "{found}");
        (read[reader], left[writer], found.total())
    })
}

#[test]
fn a_writer_leaves_its_collector_behind_the_last_read_of_an_older_instruction() {
    // The registers of the first lie in one bank, which serves one a cycle; the second writes the last.
    for as_gpgpu_sim in [false, true] {
        let mut overtaken = 0;
        for reads in 1..14u16 {
            let sources: Vec<u16> = (1..=reads).map(|i| 8 * i).collect();
            let lines = [op(OpClass::IntMad, 1, &sources), op(OpClass::FpAdd, 8 * reads, &[3])];
            let mut bench = Bench::slow_sfu(&lines).gpu(|g| g.sm.operands.reads_per_bank = 1);
            bench.options.collectors_as_gpgpu_sim = as_gpgpu_sim;
            let [(_, free, found), (read, left, none)] = guarded(&bench, [0, 1]);
            assert_eq!((left, none), (free.max(read + 1), 0), "{reads} reads");
            overtaken += found;
        }
        assert!(overtaken > 0);
    }
}

#[test]
fn a_writer_takes_no_collector_before_an_older_reader_has_one() {
    // Two slow ones have both collectors. The third, of a pipe that is served behind that of the fourth,
    // waits for one of them, and then for the bank of the slow ones.
    let slow = |dst, class| op(class, dst, &[16, 32, 48, 64, 80, 96, 112]);
    let mut lines = vec![slow(1, OpClass::FpFma), slow(2, OpClass::Sfu)];
    lines.extend([op(OpClass::IntMad, 4, &[112]), op(OpClass::FpAdd, 112, &[3])]);
    for as_gpgpu_sim in [false, true] {
        let mut bench = Bench::slow_sfu(&lines).gpu(|g| g.sm.operands.reads_per_bank = 1);
        bench.options.collectors_as_gpgpu_sim = as_gpgpu_sim;
        let [(late, early, one), (read, left, none)] = guarded(&bench, [2, 3]);
        assert!(early < late && left > read, "{as_gpgpu_sim}: {early}, {late}, {left}, {read}");
        assert_eq!((one, none), (1, 0), "{as_gpgpu_sim}");
    }
}

#[test]
fn a_second_write_waits_for_the_first() {
    let drawn = ghost(&[late(), add(1, &[51]), add(3, &[52])]);
    assert_eq!(at(&drawn, 1, 'I'), at(&drawn, 0, 'W'));
    assert!(at(&drawn, 2, 'I') < at(&drawn, 1, 'I'));
}

#[test]
fn a_writer_waits_for_an_older_writer_that_has_not_issued() {
    let drawn = ghost(&[late(), add(2, &[1]), add(2, &[51]), add(3, &[52])]);
    assert!(at(&drawn, 3, 'I') < at(&drawn, 1, 'I'), "others pass");
    assert_eq!(at(&drawn, 2, 'I'), at(&drawn, 1, 'W'));
}

#[test]
fn an_instruction_waits_for_the_issue_of_all_that_it_depends_on() {
    // The last one reads what two others write, of which one waits for the other.
    let drawn = ghost(&[late(), add(2, &[1]), add(4, &[2]), add(6, &[2, 4])]);
    assert!(at(&drawn, 2, 'I') > at(&drawn, 1, 'I'));
    assert_eq!(at(&drawn, 3, 'I'), at(&drawn, 2, 'W'));
}

#[test]
fn an_instruction_waits_for_all_writes_in_flight() {
    let drawn = ghost(&[late(), add(2, &[51]), add(6, &[1, 2])]);
    assert!(at(&drawn, 1, 'W') < at(&drawn, 0, 'W'));
    assert_eq!(at(&drawn, 2, 'I'), at(&drawn, 0, 'W'));
}

#[test]
fn only_loads_pass_loads() {
    let (load, other) = (load(Space::Global, 2, 0, 4), load(Space::Global, 3, 0, 4));
    let drawn = ghost(&[late(), waiting(load), other]);
    assert!(at(&drawn, 2, 'I') < at(&drawn, 1, 'I'));
    for [first, second] in accesses_in_order() {
        let text = format!("{} {}", first.text, second.text);
        let drawn = ghost(&[late(), waiting(first), second]);
        assert_eq!(at(&drawn, 2, 'I'), at(&drawn, 1, 'I') + 1, "{text}");
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
fn nothing_passes_a_branch_that_waits() {
    let drawn = ghost(&[late(), waiting(branch(1, 0)), add(3, &[51]), add(4, &[52])]);
    assert_eq!(at(&drawn, 1, 'I'), at(&drawn, 0, 'W'));
    assert_eq!(at(&drawn, 2, 'I'), at(&drawn, 1, 'I') + 1);
    assert_eq!(at(&drawn, 3, 'I'), at(&drawn, 1, 'I') + 2);
}

#[test]
fn the_ghost_scheduler_sees_a_write_back_in_the_next_cycle() {
    // Others issue from the table in each cycle, so that it is filled in each; the third is the oldest and
    // waits for memory.
    let mut lines = vec![load(Space::Global, 9, 0, 4), late(), add(3, &[9]), add(4, &[1])];
    lines.extend(stream(40));
    let drawn = ghost(&lines);
    let written = at(&drawn, 1, 'W');
    assert!((4..44).any(|i| at(&drawn, i, 'I') == written), "the table has another");
    assert_eq!(at(&drawn, 3, 'I'), written + 1);
}

/// Warps 0 and 4, which share a scheduler; the others end at once. Lines from `of_second` on are warp 4's.
fn two_warps(lines: &[Line], of_second: fn(usize, usize) -> bool) -> Bench {
    Bench { skip: of_second, ..Bench::slow_sfu(lines).warps(5) }
}

#[test]
fn a_write_back_comes_before_room_in_a_table() {
    // Warp 4 issues from its table in each cycle, which has room in each. The write-back of warp 0 makes
    // another than its oldest ready, which waits for memory.
    let waits = [load(Space::Global, 9, 0, 4), add(3, &[9])];
    let mut lines = vec![waits[0].clone(), late(), waits[1].clone(), add(4, &[1])];
    lines.extend(waits);
    lines.extend(stream(60));
    let bench = two_warps(&lines, |warp, line| match warp {
        0 => (4..66).contains(&line),
        4 => line < 4,
        _ => line < 66,
    });
    let drawn = bench.draw::<Ghost>(&GhostConfig::default());
    let written = at(&drawn, 1, 'W');
    let of_other = |cycle| (0..62).any(|i| drawn.at(4, i, 'I') == Some(cycle));
    assert!((written - 8..=written).all(of_other), "one in each cycle");
    assert_eq!(at(&drawn, 3, 'I'), written + 1);
}

#[test]
fn a_table_holds_two_while_the_ghost_scheduler_looks_at_another_warp() {
    // Of each warp the second waits for memory.
    let mut lines = vec![load(Space::Global, 9, 0, 4), add(3, &[9])];
    lines.extend(stream(12));
    let bench = two_warps(&lines, |warp, line| warp % 4 != 0 && line < 14).scheduler("gto");
    let drawn = bench.draw::<Ghost>(&GhostConfig::default());
    for i in 6..13 {
        assert_eq!(at(&drawn, i + 1, 'I'), at(&drawn, i, 'I') + 1, "warp 0, {i}");
    }
}

#[test]
fn four_instructions_of_a_scheduler_are_checked_in_a_cycle() {
    // The first four warps are decoded together, two instructions of each, and the others in the next cycle: the
    // second instruction of the first is checked after the first ones of all.
    let bench = Bench::new(&[add(1, &[51]), op(OpClass::FpAdd, 2, &[51])]).warps(8).scheduler("gto").gpu(|g| {
        g.sm.issue.schedulers = 1;
        g.sm.operands.sub_cores = false;
        g.sm.frontend.fetches_per_cycle = 5;
    });
    let between = |config: &GhostConfig| {
        let drawn = bench.draw::<Ghost>(config);
        let issue = |order| drawn.at(1, order, 'I').expect("it issues");
        issue(1) - issue(0)
    };
    assert_eq!(between(&GhostConfig::default()), 2);
    assert_eq!(between(&GhostConfig { checkers: 8, ..GhostConfig::default() }), 1, "all at once");
}

#[test]
fn the_ghost_scheduler_rests_when_it_finds_nothing() {
    // One instruction becomes ready in the instruction table by a write-back; then all wait for memory.
    let lines = [load(Space::Global, 9, 0, 4), late(), add(3, &[9]), add(4, &[1]), add(5, &[9])];
    let run = Bench::slow_sfu(&lines).run_design::<Ghost, _>(&GhostConfig::default(), Timeline::default());
    assert!(run.now > 200 && run.ticks < 100, "{} of {} cycles", run.ticks, run.now);
}

#[test]
fn a_branch_that_falls_through_costs_no_cycle() {
    let lines = [add(1, &[50]), branch(1, 0), add(2, &[51]), branch(1, 0), branch(1, 0), add(3, &[2])];
    let in_order = Bench::slow_sfu(&lines).run().sm.observer;
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
fn as_the_paper_words_it_the_table_comes_before_the_oldest() {
    // Several warps share a GhOST scheduler, so that a table keeps what it has while a write-back makes the
    // oldest of its warp ready.
    let mut lines = vec![late(), op(OpClass::FpFma, 2, &[1])];
    lines.extend((3..45).map(|r| add(r, &[51])));
    let bench = Bench::slow_sfu(&lines).warps(12);
    let delays = |table_first| {
        let config = GhostConfig { table_first, ..GhostConfig::default() };
        let drawn = bench.draw::<Ghost>(&config);
        let cycle = |warp, order, letter| drawn.at(warp, order, letter).expect("it passes");
        (0..12).map(|warp| cycle(warp, 1, 'I') - cycle(warp, 0, 'W')).sum::<u64>()
    };
    assert!(delays(true) > delays(false), "{} {}", delays(true), delays(false));
}

#[test]
fn synchronisation_passes_nothing_and_nothing_passes_it() {
    for line in [sync(0, 0), arrive(0, 0), fence()] {
        let drawn = ghost(&[late(), add(2, &[1]), line, add(3, &[51])]);
        assert_eq!(at(&drawn, 2, 'I'), at(&drawn, 1, 'I') + 1);
        assert!(at(&drawn, 3, 'I') > at(&drawn, 2, 'I') + 1);
    }
}

/// Warp 0 comes to its fence at once; warp 4 has instructions that wait before its own.
#[test]
fn synchronisation_of_a_warp_waits_for_that_warp() {
    let bench = two_warps(&[late(), add(2, &[1]), fence(), add(3, &[51])], |warp, line| warp == 0 && line < 2);
    let drawn = bench.draw::<Ghost>(&GhostConfig::default());
    let fences = [at(&drawn, 0, 'I'), drawn.at(4, 2, 'I').unwrap()];
    assert!(fences[0] < drawn.at(4, 0, 'W').unwrap(), "{fences:?}");
    assert_eq!(fences[1], drawn.at(4, 1, 'I').unwrap() + 1);
}

#[test]
fn the_issue_buffer_bounds_how_far_an_instruction_passes() {
    let mut lines = vec![late()];
    lines.extend((0..6).map(|i| add(10 + i, &[1])));
    lines.push(add(3, &[51]));
    for size in [2, 4, 6, 7, 8, 16, 32, 64] {
        let drawn = Bench::slow_sfu(&lines).draw::<Ghost>(&sized(size));
        let passes = at(&drawn, 7, 'I') < at(&drawn, 1, 'I');
        assert_eq!(passes, size > 6, "issue buffer of {size}");
    }
}

#[test]
fn an_entry_has_111_bits() {
    let spec = sm::CoreSpec::new(&gpu(), isa::Form::Sass, sm::CoreOptions::default()).unwrap();
    let all = <Ghost>::new(&GhostConfig::default(), &spec).structures();
    let of = |name: &str| all.iter().find(|s| s.name == name).expect("it is there").clone();
    let (checker, bank) = (of("dependence checker"), of("issue buffer bank"));
    assert_eq!((checker.storage.bits, checker.instances), (111, 4 * spec.schedulers()));
    assert_eq!((bank.storage.bits, bank.instances, bank.storage.entries), (111, 8 * spec.schedulers(), 8));
}

/// A program of all kinds of instructions over few registers.
fn random_program(seed: u64) -> Vec<Line> {
    support::random_program(seed, &[Space::Global, Space::Shared], 16, |dice, kind, _| match kind {
        14 => branch(1, 0),
        _ => [sync(0, 0), fence()][dice.below(2) as usize].clone(),
    })
}

#[test]
fn random_programs_keep_their_order() {
    let mut overtaken = 0;
    for seed in 0..60 {
        let lines = random_program(seed);
        let mut bench =
            Bench::slow_sfu(&lines).warps(6).scheduler(["lrr", "gto", "srr", "two_level"][seed as usize % 4]);
        bench.ctas = 3;
        bench.shared_bytes = 1024;
        bench.options.collectors_as_gpgpu_sim = seed % 3 == 0;
        // Slow collectors: few of them, or banks that serve one read a cycle, for a sub-core or all.
        bench = bench.gpu(|g| match seed % 5 {
            0 => {}
            1 => g.sm.operands.reads_per_bank = 1,
            2 => g.sm.operands.collectors = 4,
            _ => (g.sm.operands.sub_cores, g.sm.operands.reads_per_bank) = (seed % 5 == 3, 1),
        });
        let plain = GhostConfig { checker_cycles: 0, reorder: false, ..GhostConfig::default() };
        for config in [sized(1), sized(4), GhostConfig::default(), sized(32), precise(), plain] {
            let findings = bench.audit::<Ghost>(&config);
            assert_eq!(findings.total(), 0, "seed {seed}, {config:?}: {findings}");
        }
        let unguarded = bench.audit::<Ghost>(&GhostConfig { guarded: false, ..GhostConfig::default() });
        assert_eq!(unguarded.total(), unguarded.count(Violation::War), "seed {seed}: {unguarded}");
        overtaken += unguarded.total();
    }
    assert!(overtaken > 0, "without the guard some writes overtake reads");
}

#[test]
fn sleeping_changes_nothing() {
    for config in [GhostConfig::default(), precise()] {
        for seed in 0..12 {
            let mut bench = Bench::slow_sfu(&random_program(seed)).warps(6);
            bench.ctas = 3;
            bench.shared_bytes = 1024;
            bench.sleeping_changes_nothing::<Ghost>(&config);
        }
    }
}
