//! The idealised out-of-order core: each freedom lets an instruction issue in the cycle in which it first
//! may, and not before; without it the instruction waits.

use crate::support;

use designs::ideal::{Ideal, IdealConfig};
use isa::{CacheOp, OpClass, Space, WarpSlot};
use kit::Cycle;
use sm::{IssuePolicy, Observer, Seen, Stall, Timeline};
use std::collections::HashMap;
use support::*;

const NONE: IdealConfig = IdealConfig::with(false, false, false);
const RENAMES: IdealConfig = IdealConfig::with(true, false, false);
const ADDRESSES: IdealConfig = IdealConfig::with(false, true, false);
const BRANCHES: IdealConfig = IdealConfig::with(false, false, true);
const ALL: IdealConfig = IdealConfig::with(true, true, true);

/// The columns of table V.
fn columns() -> impl Iterator<Item = IdealConfig> {
    (0..8).rev().map(|bits| IdealConfig::with(bits & 4 != 0, bits & 2 != 0, bits & 1 != 0))
}

fn bench(lines: &[Line]) -> Bench {
    Bench { memory_latency: 20, ..Bench::slow_sfu(lines) }
}

fn run(config: IdealConfig, lines: &[Line]) -> Timeline {
    let run = bench(lines).run_design::<Ideal, _>(&config, Timeline::default());
    assert!(!run.deadlocked);
    run.sm.observer
}

#[test]
fn renaming_ends_waits_for_older_reads() {
    // The third writes what the second reads, the fourth reads that.
    let lines = [late(), add(2, &[1, 5]), add(5, &[51]), add(3, &[5])];
    let (by_name, renamed) = (run(NONE, &lines), run(RENAMES, &lines));
    insta::assert_snapshot!(by_name.draw(), @r"
    from 0                  |         |         |         |         |
    w0  sfu r1, r50         DI.CE.....................W
    w0  int_add r2, r1, r5  D.........................I.CE...W
    w0  int_add r5, r51     D...........................I.CE...W
    w0  int_add r3, r5      D..................................I.CE...W
    w0  exit                D...................................I.C.E..W
    ");
    insta::assert_snapshot!(renamed.draw(), @r"
    from 0                  |         |         |         |
    w0  sfu r1, r50         DI.CE.....................W
    w0  int_add r2, r1, r5  D.........................I..CE...W
    w0  int_add r5, r51     D.I.CE...W
    w0  int_add r3, r5      D........I.CE...W
    w0  exit                D..........................ICE..W
    ");
    assert_eq!(at(&by_name, 2, 'I'), at(&by_name, 1, 'C'), "when the older one has read");
    assert_eq!(at(&renamed, 3, 'I'), at(&renamed, 2, 'W'));
    // A predicate has been read when its reader issues.
    let lines = [late(), add(2, &[1, 128]), op(OpClass::IntAdd, 128, &[51])];
    assert_eq!(at(&run(NONE, &lines), 2, 'I'), at(&run(NONE, &lines), 1, 'I') + 1);
}

#[test]
fn renaming_ends_waits_for_older_writes() {
    let lines = [late(), add(1, &[52]), add(3, &[1])];
    let (by_name, renamed) = (run(NONE, &lines), run(RENAMES, &lines));
    insta::assert_snapshot!(by_name.draw(), @r"
    from 0               |         |         |         |         |
    w0  sfu r1, r50      DI.CE.....................W
    w0  int_add r1, r52  D.........................I.CE...W
    w0  int_add r3, r1   D................................I.CE...W
    w0  exit             D.................................I.C.E..W
    ");
    insta::assert_snapshot!(renamed.draw(), @r"
    from 0               |         |         |
    w0  sfu r1, r50      DI.CE.....................W
    w0  int_add r1, r52  D.I.CE...W
    w0  int_add r3, r1   D........I.CE...W
    w0  exit             D.........I.C.E..W
    ");
    assert_eq!(at(&by_name, 1, 'I'), at(&by_name, 0, 'W'), "when the older one has written");
    assert_eq!(at(&renamed, 2, 'I'), at(&renamed, 1, 'W'), "the value of the youngest older writer");
    assert!(at(&renamed, 2, 'I') < at(&renamed, 0, 'W'));
}

#[test]
fn known_addresses_let_accesses_pass_each_other() {
    let (slow, load) = (waiting(store(Space::Global, 50, 0, 4)), |dst, at| load(Space::Global, dst, at, 4));
    let lines = [late(), slow, load(2, 128), load(3, 124), store(Space::Shared, 51, 0, 4)];
    let (by_kind, known) = (run(NONE, &lines), run(ADDRESSES, &lines));
    insta::assert_snapshot!(by_kind.draw(), @r"
    from 0             |         |         |         |         |         |         |         |         |
    w0  sfu r1, r50    DI.CE.....................W
    w0  st.global r50  D.........................I.CEW
    w0  ld.global r2   D..........................I.CE....................................................W
    w0  ld.global r3   D...........................I.CE.....................................................W
    w0  st.shared r51  D............................I.C.EW
    w0  exit           D.............................ICE..W
    ");
    insta::assert_snapshot!(known.draw(), @r"
    from 0             |         |         |         |         |         |         |         |
    w0  sfu r1, r50    DI.CE.....................W
    w0  st.global r50  D.........................I.CEW
    w0  ld.global r2   D.I.CE..............................................W
    w0  ld.global r3   D..........................I.CE..............................................W
    w0  st.shared r51  D..I.CEW
    w0  exit           D...........................ICE..W
    ");
    (2..5).for_each(|i| assert_eq!(at(&by_kind, i, 'I'), at(&by_kind, 1, 'I') + u64::from(i) - 1));
    assert_eq!(at(&known, 3, 'I'), at(&known, 1, 'I') + 1, "its first lane reads what the last one stores");
}

#[test]
fn known_branches_let_instructions_pass_them() {
    // A loop of two turns, whose branch waits.
    let lines = [late(), add(2, &[51]), waiting(branch(-1, 1)), add(3, &[52])];
    let (unknown, known) = (run(NONE, &lines), run(BRANCHES, &lines));
    insta::assert_snapshot!(unknown.draw(), @r"
    from 0               |         |         |         |
    w0  sfu r1, r50      DI.CE.....................W
    w0  int_add r2, r51  D.I.CE...W
    w0  bra              D.........................I.CE.....W
    w0  int_add r2, r51                             DI.CE...W
    w0  bra                                         D.I.C.E.....W
    w0  int_add r3, r52                             D..I.CE...W
    w0  exit                                        D...I.C.E..W
    ");
    insta::assert_snapshot!(known.draw(), @r"
    from 0               |         |         |         |
    w0  sfu r1, r50      DI.CE.....................W
    w0  int_add r2, r51  D.I.CE...W
    w0  bra              D.........................I.CE.....W
    w0  int_add r2, r51  D........I.CE...W
    w0  bra              D..........................I.C...E.....W
    w0  int_add r3, r52  D..I.C.E...W
    w0  exit             FD..........................ICE..W
    ");
    assert!(at(&unknown, 3, 'D') > at(&unknown, 2, 'I'), "not decoded before");
    assert_eq!(at(&unknown, 5, 'I'), at(&unknown, 4, 'I') + 1, "decoded, not issued before");
    assert!(at(&known, 5, 'I') < at(&known, 2, 'I'));
}

/// Whether the second of two accesses, the first of which waits, passes it.
fn passes(config: IdealConfig, first: &Line, second: &Line) -> bool {
    let drawn = run(config, &[late(), waiting(first.clone()), second.clone()]);
    let (first, second) = (at(&drawn, 1, 'I'), at(&drawn, 2, 'I'));
    assert!(second < first || second == first + 1, "in the next cycle if not before");
    second < first
}

#[test]
fn loads_alone_pass_loads_where_addresses_are_not_known() {
    let (store, other) = (store(Space::Global, 50, 512, 4), load(Space::Global, 3, 0, 4));
    let load = load(Space::Global, 2, 0, 4);
    assert!(passes(NONE, &load, &other));
    let volatile = other.cached(CacheOp::Volatile);
    for (a, b) in [(&load, &store), (&store, &load), (&store, &store), (&load, &volatile), (&volatile, &load)] {
        assert!(!passes(NONE, a, b), "{} {}", a.text, b.text);
    }
}

#[test]
fn accesses_wait_for_those_they_overlap() {
    let global = |at, stride| (store(Space::Global, 50, at, stride), load(Space::Global, 2, at, stride));
    let (first, same) = global(0, 4);
    assert!(!passes(ADDRESSES, &first, &same));
    assert!(!passes(ADDRESSES, &same, &first) && !passes(ADDRESSES, &first, &first.clone()));
    // The last byte of lane 31, by the first of lane 0; the byte behind it.
    assert!(!passes(ADDRESSES, &first, &global(127, 4).1));
    assert!(passes(ADDRESSES, &first, &global(128, 4).1));
    // Between each other: words at even and at odd places, then all.
    let (even, odd, pairs) = (global(0, 8).0, global(4, 8).1, global(4, 8).1.bytes(8));
    assert!(passes(ADDRESSES, &even, &odd));
    assert!(!passes(ADDRESSES, &even, &pairs));
    // One lane far off.
    assert!(!passes(ADDRESSES, &first, &global(64, 4).1.mask(1)));
    assert!(!passes(ADDRESSES, &first.clone().mask(1 << 9), &global(36, 0).1.mask(1 << 30)));
    assert!(passes(ADDRESSES, &first.clone().mask(1 << 9), &global(40, 0).1.mask(1 << 30)));
    assert!(passes(ADDRESSES, &first, &same.mask(0)), "no lane reads");
    assert!(passes(ADDRESSES, &load(Space::Global, 2, 0, 4), &load(Space::Global, 3, 0, 4)), "loads");
    // Spaces.
    assert!(passes(ADDRESSES, &first, &load(Space::Shared, 2, 0, 4)));
    let local = |at| (store(Space::Local, 50, at, 0), load(Space::Local, 2, at, 0));
    assert!(!passes(ADDRESSES, &local(8).0, &local(8).1));
    assert!(passes(ADDRESSES, &store(Space::Local, 50, 0, 4), &load(Space::Local, 2, 4, 4)), "each lane its own");
}

#[test]
fn atomics_and_volatile_accesses_keep_their_places() {
    let load = load(Space::Global, 2, 4096, 4);
    let atomic = atomic(3, 0, 4);
    let volatile = store(Space::Global, 50, 0, 4).cached(CacheOp::Volatile);
    for config in [ADDRESSES, ALL] {
        for kept in [atomic.clone(), volatile.clone(), support::load(Space::Global, 3, 0, 4).cached(CacheOp::Volatile)]
        {
            assert!(!passes(config, &kept, &load) && !passes(config, &load, &kept), "{}", kept.text);
        }
        assert!(passes(config, &atomic, &support::load(Space::Constant, 2, 0, 0)));
    }
}

#[test]
fn synchronisation_passes_nothing_and_nothing_passes_it() {
    for config in columns() {
        for line in [arrive(0, 64), fence(), sync(0, 0)] {
            let drawn = run(config, &[late(), add(2, &[1]), line, add(3, &[51])]);
            assert_eq!(at(&drawn, 2, 'I'), at(&drawn, 1, 'I') + 1);
            assert!(at(&drawn, 3, 'I') > at(&drawn, 2, 'I'));
        }
    }
}

#[test]
fn a_write_to_some_lanes_takes_the_others_from_the_older_value() {
    let some = || add(1, &[51]).mask(0xffff);
    let drawn = run(RENAMES, &[late(), some(), add(3, &[1])]);
    assert_eq!(at(&drawn, 1, 'I'), at(&drawn, 0, 'W'));
    // The second write of all of the lanes that the first writes needs nothing of it.
    let drawn = run(RENAMES, &[late().mask(0xff), some(), add(3, &[1])]);
    assert!(at(&drawn, 1, 'I') < at(&drawn, 0, 'W'));
    assert_eq!(at(&drawn, 2, 'I'), at(&drawn, 1, 'W'));
    // The third covers the second but not what the second has waited for.
    let drawn = run(RENAMES, &[late(), some(), some(), add(3, &[1])]);
    assert_eq!(at(&drawn, 2, 'I'), at(&drawn, 1, 'W'));
}

#[test]
fn the_window_bounds_how_far_an_instruction_passes() {
    let mut lines = vec![late()];
    lines.extend((0..62).map(|i| add(10 + i, &[1])));
    lines.push(add(3, &[100]));
    for window in [2, 8, 32, 62, 63, 64] {
        let drawn = run(IdealConfig { window, ..ALL }, &lines);
        // The first has issued: 63 from the second to the last.
        assert_eq!(at(&drawn, 63, 'I') < at(&drawn, 1, 'I'), window >= 63, "window of {window}");
    }
}

#[test]
fn the_oldest_candidate_whose_latch_has_room_issues() {
    // Loads fill the latches of the memory pipe; an addition behind them issues meanwhile.
    let mut lines: Vec<_> = (0..24).map(|i| load(Space::Global, 2 + i, 4096 * u64::from(i), 128)).collect();
    lines.push(add(40, &[50]));
    let drawn = run(NONE, &lines);
    assert!(at(&drawn, 24, 'I') < at(&drawn, 5, 'I'));
    (0..23).for_each(|i| assert!(at(&drawn, i, 'I') < at(&drawn, i + 1, 'I'), "loads by age"));
}

#[test]
fn stalls_are_those_of_the_oldest() {
    let stalled = |config, lines: &[Line]| bench(lines).run_design::<Ideal, _>(&config, sm::Silent).sm;
    let of = |config, stall, lines: &[Line]| stalled(config, lines).account().stalled(stall);
    assert!(of(ALL, Stall::Raw, &[late(), add(2, &[1])]) > 10);
    assert!(of(ALL, Stall::RawMemory, &[load(Space::Global, 1, 0, 4), add(2, &[1])]) > 10);
    assert!(of(NONE, Stall::Waw, &[late(), add(1, &[51])]) > 10);
    assert_eq!(of(ALL, Stall::Waw, &[late(), add(1, &[51])]), 0);
    assert!(of(NONE, Stall::War, &[add(2, &[51]), add(51, &[52])]) > 0);
    assert_eq!(of(ALL, Stall::War, &[add(2, &[51]), add(51, &[52])]), 0);
}

#[test]
fn reordered_instructions_are_counted() {
    let lines = [late(), add(2, &[1]), add(3, &[51]), add(4, &[52])];
    let run = bench(&lines).run_design::<Ideal, _>(&ALL, sm::Silent);
    let statistics = run.sm.policy().statistics();
    assert_eq!(statistics.iter().map(|s| s.info.name).collect::<Vec<_>>(), ["reordered", "reordered_share"]);
    assert_eq!((statistics[0].count, statistics[1].per.unwrap().count), (2, 5));
}

/// A program of all kinds of instructions over few registers, predicates (from 128) among them.
fn random_program(seed: u64) -> Vec<Line> {
    let dice = &mut Dice(seed);
    let line = |dice: &mut Dice| {
        let (dst, a, b) = (dice.below(8) as u16, dice.below(8) as u16, dice.below(8) as u16);
        let address = dice.below(64) * 4;
        let space = [Space::Global, Space::Shared, Space::Local, Space::Constant][dice.below(4) as usize];
        let mut line = match dice.below(18) {
            0..4 => add(dst, &[a, b]),
            4..6 => op(OpClass::Sfu, dst, &[a]),
            6..8 => op(OpClass::FpFma, dst, &[a, b, dst]),
            8..11 => load(space, dst, address, 4),
            11 | 12 if space != Space::Constant => store(space, a, address, 4 * dice.below(3)),
            13 => atomic(dst, address, 0),
            14 => branch(1, 0),
            15 => op(OpClass::IntAdd, 128 + dst % 2, &[a, b]),
            16 => add(dst, &[a, 128 + b % 2]),
            _ => [sync(0, 0), fence()][dice.below(2) as usize].clone(),
        };
        if line.mem.is_some() {
            line.srcs[0] = b;
        }
        if dice.below(4) == 0 && line.control == isa::Control::None {
            line.mask = (dice.below(1 << 16) << dice.below(17)) as u32;
        }
        if dice.below(16) == 0 && line.mem.is_some() {
            line = line.cached(CacheOp::Volatile);
        }
        line
    };
    let mut lines: Vec<_> = (0..40).map(|_| line(dice)).collect();
    lines.extend([waiting(branch(-20, 3)), branch(2, 1), add(3, &[4])]);
    lines
}

/// Asserts lane by lane that an instruction issues when its sources have been written.
#[derive(Default)]
struct LaneByLane {
    /// Youngest writer of each warp's register and lane, by its place in program order.
    writers: HashMap<(u16, u16, usize), u32>,
    /// Writers that each instruction waits for.
    needs: HashMap<(u16, u32), Vec<u32>>,
    written: HashMap<(u16, u32), Cycle>,
    checked: u64,
}

impl Observer for LaneByLane {
    fn cta_started(&mut self, _: Cycle, _: isa::KernelId, _: isa::Dim3, _: isa::CtaSlot, warps: &[WarpSlot]) {
        let gone = |warp: u16| warps.contains(&WarpSlot(warp));
        self.writers.retain(|key, _| !gone(key.0));
        self.needs.retain(|key, _| !gone(key.0));
        self.written.retain(|key, _| !gone(key.0));
    }
    fn decoded(&mut self, _: Cycle, seen: Seen<'_>) {
        let (inst, warp) = (seen.inst(), seen.inst().warp.0);
        let lanes = || 0..32usize;
        let writers = &self.writers;
        let of = |reg: &isa::RegId| lanes().filter_map(|l| writers.get(&(warp, reg.0, l)).copied()).collect::<Vec<_>>();
        self.needs.insert((warp, inst.order), seen.window.srcs(seen.id).iter().flat_map(of).collect());
        for reg in seen.window.dsts(seen.id) {
            lanes().filter(|l| inst.mask >> l & 1 != 0).for_each(|l| {
                self.writers.insert((warp, reg.0, l), inst.order);
            });
        }
    }
    fn issued(&mut self, now: Cycle, _: usize, seen: Seen<'_>) {
        let (inst, warp) = (seen.inst(), seen.inst().warp.0);
        for order in &self.needs[&(warp, inst.order)] {
            self.checked += 1;
            let written = self.written.get(&(warp, *order));
            assert!(written.is_some_and(|&w| w <= now), "{} needs {order}", seen.window.text(seen.id));
        }
    }
    fn written_back(&mut self, now: Cycle, seen: Seen<'_>) {
        self.written.insert((seen.inst().warp.0, seen.inst().order), now);
    }
}

fn random_bench(seed: u64) -> Bench {
    let mut bench =
        bench(&random_program(seed)).warps(6).scheduler(["lrr", "gto", "srr", "two_level"][seed as usize % 4]);
    bench.ctas = 3;
    bench.shared_bytes = 1024;
    bench
}

#[test]
fn random_programs_keep_their_order() {
    let mut checked = 0;
    for seed in 0..12 {
        let bench = random_bench(seed);
        for config in columns().chain([IdealConfig { window: 5, ..ALL }, IdealConfig { window: 1, ..NONE }]) {
            let findings = bench.audit::<Ideal>(&config);
            assert_eq!(findings.total(), 0, "seed {seed}, {config:?}: {findings}");
            checked += bench.run_design::<Ideal, _>(&config, LaneByLane::default()).sm.observer.checked;
        }
    }
    assert!(checked > 100_000);
}

#[test]
fn sleeping_changes_nothing() {
    for config in columns() {
        for seed in 0..2 {
            random_bench(seed).sleeping_changes_nothing::<Ideal>(&config);
        }
    }
}

#[test]
fn nothing_passes_an_unknown_branch_that_falls_through() {
    let lines = [late(), waiting(branch(1, 0)), add(3, &[52])];
    let (unknown, known) = (run(NONE, &lines), run(BRANCHES, &lines));
    assert_eq!(at(&unknown, 2, 'I'), at(&unknown, 1, 'I') + 1);
    assert!(at(&known, 2, 'I') < at(&known, 1, 'I'));
}

#[test]
fn the_oldest_issues_first_though_places_are_taken_again() {
    // The 62nd becomes ready while those at the first places of the window, which are younger, issue.
    let mut lines: Vec<_> = stream(60).collect();
    lines.extend([late(), op(OpClass::Sfu, 2, &[1])]);
    lines.extend(stream(60));
    let drawn = run(ALL, &lines);
    assert!(at(&drawn, 121, 'I') > at(&drawn, 60, 'W'), "others could issue");
    assert_eq!(at(&drawn, 61, 'I'), at(&drawn, 60, 'W'));
}

#[test]
fn by_name_a_writer_waits_for_reads_of_instructions_that_have_issued() {
    let mut lines = vec![op(OpClass::IntMad, 1, &[16, 32, 48, 64, 80, 96, 112])];
    lines.extend((0..20).map(|i| add(5 + i % 8, &[])));
    lines.push(op(OpClass::FpAdd, 112, &[]));
    let bench = bench(&lines).gpu(|g| g.sm.operands.reads_per_bank = 1);
    let drawn = bench.draw::<Ideal>(&NONE);
    assert!(at(&drawn, 21, 'D') > at(&drawn, 0, 'I') && at(&drawn, 21, 'D') < at(&drawn, 0, 'C'));
    assert!(at(&drawn, 21, 'I') >= at(&drawn, 0, 'C'));
}

#[test]
fn a_write_of_an_old_name_leaves_the_new_one() {
    let mut lines = vec![late(), load(Space::Global, 1, 0, 4)];
    lines.extend(stream(98));
    lines.push(add(3, &[1]));
    let drawn = Bench { memory_latency: 100, ..bench(&lines) }.draw::<Ideal>(&ALL);
    assert!(at(&drawn, 100, 'D') > at(&drawn, 0, 'W') && at(&drawn, 100, 'D') < at(&drawn, 1, 'W'));
    assert_eq!(at(&drawn, 100, 'I'), at(&drawn, 1, 'W'));
}

#[test]
fn an_access_is_compared_with_the_one_that_has_its_place_now() {
    // The accesses at orders 1 and 65 have one place of the window. The first has been compared with another.
    let slow_store = |at| waiting(store(Space::Global, 52, at, 4));
    let mut lines = vec![late(), slow_store(0), load(Space::Global, 3, 512, 4)];
    lines.extend(stream(61));
    lines.extend([late(), slow_store(4096), load(Space::Global, 5, 4096, 4)]);
    let drawn = run(ADDRESSES, &lines);
    assert!(at(&drawn, 2, 'I') < at(&drawn, 1, 'I'));
    assert_eq!(at(&drawn, 66, 'I'), at(&drawn, 65, 'I') + 1);
}
