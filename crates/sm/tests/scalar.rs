//! The scalar path: where instructions go, what they cost, and what divergence does to it.

use crate::support;

use config::Unit;
use designs::ghost::{Ghost, GhostConfig};
use designs::socgpu::{Socgpu, SocgpuConfig};
use isa::{OpClass, Space};
use sm::scalar::{Divergence, ScalarConfig, ScalarCounters};
use sm::{Allowances, Auditor, ConfigOf, CoreDesign, Timeline, Violation};
use support::*;

const ON: ScalarConfig = ScalarConfig::DEFAULT;

fn same(_: u32) -> u32 {
    7
}

/// One warp on one sub-core with additions of latency 6.
fn bench(lines: &[Line], scalar: Option<ScalarConfig>) -> Bench {
    let mut bench = Bench::new(lines).timing(OpClass::IntAdd, Unit::Int, 6, 2);
    bench.options.scalar = scalar;
    bench
}

fn counters(bench: &Bench) -> ScalarCounters {
    bench.run().sm.layer_counts().expect("it has a scalar path").counters.clone()
}

#[test]
fn a_chain_of_scalar_additions() {
    let lines = [add(1, &[2]).reads(same), add(3, &[1]).reads(same), add(4, &[3]).reads(same), add(5, &[6])];
    // The first compares what it reads through a vector collector; the others find it in the table. A
    // scalar ALU takes a third of the 6 cycles.
    insta::assert_snapshot!(bench(&lines, Some(ON)).run().sm.observer.draw(), @r"
    from 0              |         |         |
    w0  int_add r1, r2  DI.CE...W
    w0  int_add r3, r1  D.......ICE...W
    w0  int_add r4, r3          D.....ICE...W
    w0  int_add r5, r6          D......I.CE.......W
    w0  exit                           DI.C.E..W
    ");
    insta::assert_snapshot!(bench(&lines, None).run().sm.observer.draw(), @r"
    from 0              |         |         |         |
    w0  int_add r1, r2  DI.CE.......W
    w0  int_add r3, r1  D...........I.CE.......W
    w0  int_add r4, r3              D..........I.CE.......W
    w0  int_add r5, r6              D...........I.C.E.......W
    w0  exit                                    DI..C.E..W
    ");
}

#[test]
fn scalar_registers_are_not_read_from_the_banks() {
    let lines = [add(1, &[2]).reads(same), add(3, &[1]).reads(same), add(4, &[1, 5])];
    let run = bench(&lines, Some(ON)).run();
    let c = &run.sm.layer_counts().unwrap().counters;
    // `r2` to compare, `r5` of the vector addition; `r1` twice from the scalar file.
    assert_eq!(run.sm.counters().register_reads, 2);
    assert_eq!((c.scalar_reads, c.vector_reads_saved, c.lane_reads_saved), (2, 2, 64));
    // 32 lanes each of `r2` and `r5`; one operation each, and 32.
    assert_eq!(run.sm.counters().lane_reads, 64);
    assert_eq!(run.sm.work_counts().0[sm::Work::IntAdd as usize], 1 + 1 + 32);
    // `r4` alone is written by lanes.
    assert_eq!(run.sm.counters().lane_writes, 32);
    assert_eq!(run.sm.counters().register_writes, 1);
    assert_eq!((c.scalar_writes, c.vector_writes_saved, c.lane_writes_saved), (2, 2, 64));
    // `r2`, and `r5`, which is not the same in all lanes.
    assert_eq!((c.scalar_eligible, c.scalar_instructions, c.scalar_compared), (3, 2, 2));
    assert_eq!(c.lane_operations_saved, 2 * 31);
}

#[test]
fn a_register_that_is_named_twice_is_read_once() {
    let reads = |srcs: &[u16]| counters(&bench(&[add(1, &[2]).reads(same), add(3, srcs).reads(same)], Some(ON)));
    let [once, twice] = [reads(&[1]), reads(&[1, 1])];
    assert_eq!((once.scalar_reads, twice.scalar_reads), (1, 1));
    assert_eq!(once.lane_reads_saved, twice.lane_reads_saved);
}

#[test]
fn memory_and_control_are_never_scalar_without_a_memory_path() {
    let lines = [load(Space::Global, 1, 0x1000, 0).reads(same), store(Space::Global, 1, 0x2000, 0).reads(same)];
    let c = counters(&bench(&lines, Some(ON)));
    assert_eq!((c.scalar_seen, c.scalar_eligible), (3, 0));
    let c = counters(&bench(&lines, Some(ScalarConfig { memory: true, ..ON })));
    assert_eq!((c.scalar_eligible, c.scalar_instructions), (2, 2));
    // Local memory is each thread's own.
    let lines = [load(Space::Local, 1, 0x100, 0).reads(same)];
    assert_eq!(counters(&bench(&lines, Some(ScalarConfig { memory: true, ..ON }))).scalar_eligible, 0);
}

/// Listing 1 of section 6.3.1: one lane writes a scalar register, then all lanes read it.
fn listing_1() -> [Line; 3] {
    let one_is_6 = |lane: u32| if lane == 0 { 6 } else { 5 };
    [add(7, &[1]).reads(|_| 4), add(7, &[7]).mask(1).reads(|_| 5), add(8, &[7]).reads(one_is_6)]
}

#[test]
fn without_a_guard_a_partial_write_is_read_wrongly() {
    let run = bench(&listing_1(), Some(ScalarConfig { divergence: Divergence::Unguarded, ..ON })).run();
    let counts = run.sm.layer_counts().unwrap();
    assert_eq!(counts.counters.scalar_misreads, 1);
    let misread = counts.first_misread.expect("one was counted");
    assert_eq!((misread.pc.0, misread.reg.0, misread.lane), (2, 7, 1));
    assert_eq!((misread.read, misread.expected), (Some(6), 5));
}

#[test]
fn a_copy_guards_partial_writes_and_costs_a_bank_cycle() {
    let run = bench(&listing_1(), Some(ON)).run();
    let c = &run.sm.layer_counts().unwrap().counters;
    assert_eq!((c.scalar_misreads, c.scalar_copies, c.scalar_collected), (0, 1, 0));
    // `r1` is compared, `r7` copied, `r7` read by the last.
    assert_eq!(run.sm.counters().register_reads, 3);
}

#[test]
fn the_compiler_s_marks_guard_without_copies() {
    let mut lines = listing_1();
    lines[..2].iter_mut().for_each(|line| line.partial = true);
    let c = counters(&bench(&lines, Some(ScalarConfig { divergence: Divergence::Compiler, ..ON })));
    assert_eq!((c.scalar_misreads, c.scalar_copies, c.scalar_eligible, c.scalar_instructions), (0, 0, 1, 0));
}

#[test]
fn halves_are_scalar_each_for_itself() {
    let config = ScalarConfig { halves: true, ..ON };
    let halves = |lane: u32| lane / 16;
    let low = |lane: u32| if lane < 16 { 0 } else { lane };
    let lines = [add(1, &[2]).reads(halves), add(3, &[4]).reads(low), add(5, &[6]).reads(same), add(7, &[8])];
    let c = counters(&bench(&lines, Some(config)));
    assert_eq!((c.scalar_instructions, c.half_scalar_instructions), (2, 1));
    // Two operations instead of 32, one and 16 lanes, one.
    assert_eq!(c.lane_operations_saved, 30 + 15 + 31);
    let c = counters(&bench(&lines, Some(ON)));
    assert_eq!((c.scalar_instructions, c.half_scalar_instructions), (1, 0));
}

/// The cycles between the entries into their units of the last two of four instructions, which may pass each
/// other in their collectors.
fn last_interval(drawn: &Timeline) -> u64 {
    let mut entries = [0, 1, 2, 3].map(|i| at(drawn, i, 'E'));
    entries.sort_unstable();
    entries[3] - entries[2]
}

#[test]
fn a_half_keeps_a_vector_unit_for_half_the_interval() {
    let low = |lane: u32| if lane < 16 { 0 } else { lane };
    let lines: Vec<_> = (0..4).map(|i| add(10 + i, &[2 + i]).reads(low)).collect();
    let interval = |halves| {
        let bench = bench(&lines, Some(ScalarConfig { halves, ..ON })).timing(OpClass::IntAdd, Unit::Int, 6, 5);
        last_interval(&bench.run().sm.observer)
    };
    assert_eq!((interval(false), interval(true)), (5, 3), "rounded up");
}

#[test]
fn without_scalar_alus_scalar_work_takes_a_vector_unit() {
    let lines = [add(1, &[2]).reads(same), add(3, &[1]).reads(same)];
    let done = |scalar| bench(&lines, scalar).run().sm.observer.at(0, 1, 'W').unwrap();
    let without = done(Some(ScalarConfig { alus: 0, ..ON }));
    // The second reads no bank either way; a scalar ALU takes 2 cycles in place of 6, for it and for the
    // first.
    assert_eq!(without, done(Some(ON)) + 2 * 4);
    assert!(without <= done(None));
}

#[test]
fn early_detection_reads_no_bank() {
    let lines = [add(1, &[2]).reads(same)];
    let reads = |early| bench(&lines, Some(ScalarConfig { early, ..ON })).run().sm.counters().register_reads;
    assert_eq!((reads(false), reads(true)), (1, 0));
}

#[test]
fn a_scalar_write_waits_for_older_reads() {
    // Four read all of the bank of `r2`, two registers a cycle. The last finds its operand in the table,
    // needs no bank and a third of the time.
    let [first, second, last] = [(1, 9), (3, 1), (2, 1)].map(|(dst, src)| add(dst, &[src]).reads(same));
    let slow = |dst| op(OpClass::IntAdd, dst, &[18, 34, 50, 66, 82, 2]);
    let lines = [first, second, slow(5), slow(6), slow(7), slow(8), last];
    let bench = bench(&lines, Some(ON)).gpu(|g| g.sm.operands.collectors = 16);
    let run = bench.run_with(Auditor::new(Allowances::default()));
    let findings = run.sm.observer.findings();
    assert_eq!(findings.count(Violation::War), 0, "{findings}");
    insta::assert_snapshot!(bench.run().sm.observer.draw(), @r"
    from 0                                       |         |         |         |
    w0  int_add r1, r9                           DI.CE...W
    w0  int_add r3, r1                           D.......ICE...W
    w0  int_add r5, r18, r34, r50, r66, r82, r2          DI...CE.......W
    w0  int_add r6, r18, r34, r50, r66, r82, r2          D.I.....CE.......W
    w0  int_add r7, r18, r34, r50, r66, r82, r2            DI.......CE.......W
    w0  int_add r8, r18, r34, r50, r66, r82, r2            D.I.........CE.......W
    w0  int_add r2, r1                                       DI........CE...W
    w0  exit                                                 D.ICE..W
    ");
}

/// A program whose lanes part, with scalar and vector work on the same registers, under each design.
fn composes<P: CoreDesign>(config: &ConfigOf<P>) {
    let mut dice = Dice(7);
    let mut lines = Vec::new();
    for _ in 0..200 {
        let mut reg = || 1 + dice.below(10) as u16;
        let (dst, a, b) = (reg(), reg(), reg());
        let mask = if dice.below(4) == 0 { 0x0000_ff0f } else { u32::MAX };
        let line = match dice.below(8) {
            0 => load(Space::Global, dst, 0x1000 * u64::from(a), 4),
            1 => op(OpClass::Sfu, dst, &[a]),
            _ => add(dst, &[a, b]),
        };
        // Values need not follow from the program: what is compared is what each instruction says.
        lines.push(if dice.below(2) == 0 { line.reads(same).mask(mask) } else { line.mask(mask) });
    }
    let choices = [ON, ScalarConfig { memory: true, halves: true, ..ON }, ScalarConfig { alus: 0, early: true, ..ON }];
    for scalar in choices {
        let bench = bench(&lines, Some(scalar)).warps(4);
        let run = bench.run_design::<P, Auditor>(config, Auditor::new(P::allowances(config)));
        assert!(!run.deadlocked, "{scalar:?}");
        let findings = run.sm.observer.findings();
        assert_eq!(findings.total(), 0, "{scalar:?}: {findings:?}");
        assert_eq!(run.sm.counters().warp_instructions, 4 * 201);
        // Sleeping through idle cycles changes nothing.
        let every = Bench { tick_every_cycle: true, ..bench }.run_design::<P, Timeline>(config, Timeline::default());
        assert_eq!(every.sm.counters(), run.sm.counters(), "{scalar:?}");
        assert_eq!(every.now, run.now, "{scalar:?}");
    }
}

#[test]
fn it_goes_with_ghost() {
    composes::<Ghost>(&GhostConfig::default());
}

#[test]
fn it_goes_with_socgpu() {
    composes::<Socgpu>(&SocgpuConfig::default());
}

#[test]
fn two_scalar_halves_take_a_scalar_alu_twice() {
    let config = ScalarConfig { halves: true, clock: 1, ..ON };
    let interval = |value: fn(u32) -> u32| {
        let lines: Vec<_> = (0..4).map(|i| add(10 + i, &[2 + i]).reads(value)).collect();
        let bench = bench(&lines, Some(config)).timing(OpClass::IntAdd, Unit::Int, 6, 5);
        last_interval(&bench.run().sm.observer)
    };
    assert_eq!((interval(same), interval(|lane| lane / 16)), (5, 10));
}

#[test]
fn what_differs_by_lane_is_never_scalar() {
    let line = Line { per_lane: true, ..add(1, &[2]).reads(same) };
    assert_eq!(counters(&bench(&[line], Some(ON))).scalar_eligible, 0);
}

#[test]
fn a_write_of_the_lanes_that_have_not_exited_is_full() {
    let low = |line: Line| line.reads(same).mask(0xffff);
    let lines = [exit().mask(0xffff_0000), low(add(1, &[2])), low(add(3, &[1]))];
    let c = counters(&bench(&lines, Some(ON)));
    assert_eq!((c.scalar_writes, c.scalar_reads), (2, 1));
}
