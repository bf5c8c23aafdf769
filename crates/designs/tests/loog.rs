//! LOOG: each rule of the design lets an instruction leave its station in the cycle in which it first
//! may, and not before.

use crate::support;

use designs::loog::{Loog, LoogConfig};
use isa::Form;
use isa::{OpClass, RegId, Space};
use kit::Cycle;
use sm::{CoreOptions, CoreSpec, IssuePolicy, Observer, Seen, Stall, Structure, Timeline};
use support::*;

/// Accesses in collectors, and in a queue of their own.
const CONFIGS: [LoogConfig; 2] = [LoogConfig { collectors: 32, queue: 0 }, LoogConfig { collectors: 32, queue: 16 }];

/// With this many collectors each of the four sub-cores has one or two.
fn sized(collectors: u32, queue: u32) -> LoogConfig {
    LoogConfig { collectors, queue }
}

fn loog(lines: &[Line]) -> Timeline {
    Bench::slow_sfu(lines).draw::<Loog>(&LoogConfig::default())
}

#[test]
fn what_waits_in_a_station_is_passed() {
    let lines = [late(), add(2, &[1, 51]), add(3, &[2]), add(4, &[52]), add(5, &[4, 1])];
    let drawn = loog(&lines);
    insta::assert_snapshot!(drawn.draw(), @r"
    from 0                   |         |         |         |
    w0  sfu r1, r50          DI.CE.....................W
    w0  int_add r2, r1, r51  D.I.......................CE...W
    w0  int_add r3, r2         DI...........................CE...W
    w0  int_add r4, r52        D.I.CE...W
    w0  int_add r5, r4, r1       DI.....................C.E...W
    w0  exit                     D.IC.E..W
    ");
    let in_order = Bench::slow_sfu(&lines).run().sm.observer;
    assert_eq!(at(&in_order, 3, 'I'), at(&in_order, 2, 'I') + 1, "behind both");
    assert!(at(&drawn, 3, 'W') < at(&drawn, 0, 'W'));
}

#[test]
fn a_result_is_captured_in_the_cycle_of_the_write_back() {
    let drawn = loog(&[late(), add(2, &[1]), add(3, &[2])]);
    assert_eq!(at(&drawn, 1, 'I'), at(&drawn, 0, 'I') + 1, "issues without its operand");
    assert_eq!(at(&drawn, 1, 'C'), at(&drawn, 0, 'W'));
    assert_eq!(at(&drawn, 2, 'C'), at(&drawn, 1, 'W'));
}

#[test]
fn a_writer_does_not_wait_for_an_older_reader() {
    // The second has read r5 and waits for r1 when the third writes r5; the fourth reads that.
    let drawn = loog(&[late(), add(2, &[1, 5]), add(5, &[51]), add(6, &[5])]);
    assert!(at(&drawn, 2, 'W') < at(&drawn, 1, 'C'));
    assert_eq!(at(&drawn, 3, 'C'), at(&drawn, 2, 'W'));
    insta::assert_snapshot!(drawn.draw(), @r"
    from 0                  |         |         |         |
    w0  sfu r1, r50         DI.CE.....................W
    w0  int_add r2, r1, r5  D.I.......................CE...W
    w0  int_add r5, r51       DI.CE...W
    w0  int_add r6, r5        D.I.....CE...W
    w0  exit                    DIC.E..W
    ");
}

#[test]
fn a_writer_does_not_wait_for_an_older_writer() {
    // r1 has three names: the second awaits the first one's, the fourth the third one's.
    let drawn = loog(&[late(), add(2, &[1]), add(1, &[51]), add(3, &[1]), op(OpClass::Sfu, 1, &[3])]);
    assert!(at(&drawn, 2, 'W') < at(&drawn, 0, 'W'));
    assert_eq!(at(&drawn, 3, 'C'), at(&drawn, 2, 'W'));
    assert_eq!(at(&drawn, 1, 'C'), at(&drawn, 0, 'W'));
    insta::assert_snapshot!(drawn.draw(), @r"
    from 0               |         |         |         |
    w0  sfu r1, r50      DI.CE.....................W
    w0  int_add r2, r1   D.I.......................CE...W
    w0  int_add r1, r51    DI.CE...W
    w0  int_add r3, r1     D.I.....CE...W
    w0  sfu r1, r3           DI.........CE.....................W
    w0  exit                 D.ICE..W
    ");
}

#[test]
fn a_late_write_of_an_old_name_goes_unseen() {
    // The last reads r1 behind both writes, of which the older comes later.
    let mut lines = vec![late(), add(1, &[51])];
    lines.extend((0..10).map(|i| add(10 + i, &[51])));
    lines.push(add(3, &[1]));
    let drawn = loog(&lines);
    assert!(at(&drawn, 1, 'W') < at(&drawn, 12, 'I') && at(&drawn, 12, 'C') < at(&drawn, 0, 'W'));
}

#[test]
fn a_write_waits_for_older_reads_of_the_register_file() {
    // Sixteen reads of one bank, two a cycle; the second writes one of the registers, or another.
    let many: Vec<u16> = (1..=16).map(|i| 4 * i).collect();
    let writes = |reg| loog(&[op(OpClass::IntMad, 1, &many), op(OpClass::FpAdd, reg, &[])]);
    let (one_of_them, another) = (writes(64), writes(65));
    assert_eq!(at(&one_of_them, 0, 'C'), at(&another, 0, 'C'));
    assert!(at(&another, 1, 'W') < at(&another, 0, 'C'), "it could overtake the reads");
    // The last read is served in the round behind which the reader leaves in the next cycle.
    assert_eq!(at(&one_of_them, 1, 'C'), at(&one_of_them, 0, 'C'));
}

#[test]
fn only_loads_pass_accesses_whose_addresses_are_not_known() {
    let (load, other) = (load(Space::Global, 2, 0, 4), load(Space::Global, 3, 0, 4));
    let drawn = loog(&[late(), waiting(load), other]);
    assert!(at(&drawn, 2, 'C') < at(&drawn, 1, 'C'));
    for [first, second] in accesses_in_order() {
        let text = format!("{} {}", first.text, second.text);
        let drawn = loog(&[late(), waiting(first), second]);
        assert_eq!(at(&drawn, 2, 'C'), at(&drawn, 1, 'C') + 1, "{text}");
    }
}

#[test]
fn an_access_passes_another_with_known_addresses_unless_they_meet() {
    // Both have their operands with r1; stations take turns, so that the younger comes first.
    let pass = |mut access: Line| {
        access.srcs = vec![1];
        let drawn = loog(&[late(), store(Space::Global, 1, 512, 4), add(60, &[61]), access]);
        at(&drawn, 3, 'C') < at(&drawn, 1, 'C')
    };
    assert!(pass(load(Space::Global, 2, 0, 4)));
    assert!(pass(store(Space::Global, 2, 0, 4)));
    assert!(pass(load(Space::Shared, 2, 512, 4)), "another space");
    assert!(!pass(load(Space::Global, 2, 512, 4)));
    assert!(!pass(load(Space::Global, 2, 512 + 31 * 4, 0)), "the last lane's address");
    assert!(!pass(load(Space::Global, 2, 512 - 31 * 4, 4)), "its last lane's address");
    assert!(pass(load(Space::Global, 2, 512 - 32 * 4, 4)), "next to it");
    assert!(pass(load(Space::Global, 2, 512, 4).mask(0)), "no lane");
    assert!(!pass(atomic(2, 4096, 0)), "keeps its place");
}

#[test]
fn barriers_and_exits_wait_for_older_accesses_to_leave() {
    for line in [sync(0, 0), arrive(0, 0), exit()] {
        let drawn = loog(&[late(), store(Space::Shared, 1, 0, 4), line.clone()]);
        assert_eq!(at(&drawn, 2, 'I'), at(&drawn, 1, 'C'), "{}", line.text);
        let drawn = loog(&[late(), add(2, &[1]), line.clone()]);
        assert!(at(&drawn, 2, 'I') < at(&drawn, 1, 'C'), "arithmetic does not matter: {}", line.text);
    }
}

#[test]
fn branches_wait_for_their_predicate_and_others_await_it() {
    // Register 128 is the first predicate.
    let predicate = op(OpClass::Sfu, 128, &[50]);
    let steered = Line { srcs: vec![128], ..branch(1, 0) };
    let drawn = loog(&[predicate.clone(), steered]);
    assert_eq!(at(&drawn, 1, 'I'), at(&drawn, 0, 'W'));
    let drawn = loog(&[predicate, add(2, &[51, 128]), add(3, &[51])]);
    assert_eq!(at(&drawn, 1, 'I'), at(&drawn, 0, 'I') + 1);
    assert_eq!(at(&drawn, 1, 'C'), at(&drawn, 0, 'W'));
    assert!(at(&drawn, 2, 'W') < at(&drawn, 0, 'W'));
}

#[test]
fn a_station_is_kept_until_the_result_is_broadcast() {
    let lines = [late(), add(3, &[51]), add(4, &[52])];
    let run = |collectors| Bench::slow_sfu(&lines).run_design::<Loog, _>(&sized(collectors, 0), Timeline::default()).sm;
    // Of one station a sub-core, of two, of three.
    let (one, two, three) = (run(4), run(8), run(12));
    let leaves = |sm: &sm::Sm<_, Loog, Timeline>, order| at(&sm.observer, order, 'C');
    let writes = |sm: &sm::Sm<_, Loog, Timeline>, order| at(&sm.observer, order, 'W');
    assert_eq!(leaves(&one, 1), writes(&one, 0) + 1, "enters in the cycle of the broadcast, reads, leaves");
    assert_eq!(leaves(&two, 2), writes(&two, 1) + 1);
    assert!(leaves(&three, 2) < writes(&three, 1));
    assert!(one.account().stalled(Stall::CollectorFull) > 0);
    assert_eq!(three.account().stalled(Stall::CollectorFull), 0);
    insta::assert_snapshot!(one.observer.draw(), @r"
    from 0               |         |         |         |         |
    w0  sfu r1, r50      DI.CE.....................W
    w0  int_add r3, r51  D.I........................CE...W
    w0  int_add r4, r52    D.......................I......CE...W
    w0  exit               D.............................I.....CE..W
    ");
}

#[test]
fn stations_bound_the_rate() {
    // An addition keeps its station for six cycles, its unit for two.
    let lines: Vec<Line> = (0..40).map(|i| add(i % 40, &[50 + i % 3])).collect();
    for each in 1..=5 {
        let drawn = Bench::slow_sfu(&lines).draw::<Loog>(&sized(4 * each, 0));
        let last = 39 - 39 % each;
        assert_eq!(
            at(&drawn, last, 'W') - at(&drawn, 0, 'W'),
            u64::from((6 * last / each).max(2 * last)),
            "{each} a sub-core"
        );
    }
}

#[test]
fn an_access_takes_a_collector_or_an_entry_of_the_queue() {
    let lines = [load(Space::Global, 1, 0, 4), add(2, &[51]), Line { dsts: vec![3], ..load(Space::Global, 3, 0, 4) }];
    let run = |config| Bench::slow_sfu(&lines).draw::<Loog>(&config);
    let shared = run(sized(4, 0));
    assert!(at(&shared, 1, 'C') > at(&shared, 0, 'W'));
    let apart = run(sized(4, 4));
    assert!(at(&apart, 1, 'W') < at(&apart, 0, 'W'), "the load is in the queue");
    assert!(at(&apart, 2, 'C') > at(&apart, 0, 'W'), "which has one entry");
    assert!(at(&run(sized(4, 8)), 2, 'C') < at(&apart, 0, 'W'));
    // A store has no result: its entry is free when it leaves.
    let lines = [store(Space::Global, 1, 0, 4), store(Space::Global, 2, 512, 4)];
    let drawn = Bench::slow_sfu(&lines).draw::<Loog>(&sized(4, 0));
    assert!(at(&drawn, 1, 'C') < at(&drawn, 0, 'W'));
}

#[test]
fn a_warp_that_waits_keeps_others_out() {
    // Warps 0 and 4 share a sub-core: the first's four instructions take all stations for the time of a
    // load, and the second cannot go on, as it can in order.
    let lines = [load(Space::Global, 1, 0, 4), add(2, &[1]), add(3, &[1]), add(4, &[1]), add(5, &[51])];
    let mut bench = Bench::slow_sfu(&lines).warps(5).scheduler("gto");
    bench.memory_latency = 400;
    let crowded = bench.draw::<Loog>(&sized(16, 0));
    let roomy = bench.draw::<Loog>(&sized(64, 0));
    let in_order = bench.run().sm.observer;
    let started = |run: &Timeline| run.at(4, 0, 'E').expect("it passes");
    assert!(started(&crowded) > started(&in_order) + 300);
    assert!(started(&roomy) < started(&in_order) + 10);
}

fn structures(config: &LoogConfig) -> Vec<Structure> {
    let spec = CoreSpec::new(&gpu(), Form::Sass, CoreOptions::default()).unwrap();
    <Loog>::new(config, &spec).structures()
}

#[test]
fn storage() {
    let of =
        |config: &LoogConfig, name: &str| structures(config).into_iter().find(|s| s.name == name).expect("it is there");
    let default = LoogConfig::default();
    // A station captures three operands of 32 lanes: sCROOGe's collector has over four times the bits of
    // a renaming entry, which holds one result.
    let station = of(&default, "reservation station");
    let operands = of(&default, "operand of a station");
    assert_eq!((station.instances, station.storage.entries), (4, 8));
    assert_eq!((operands.instances, operands.storage.entries), (4, 3 * 8));
    assert_eq!(operands.storage.bits, 1024 + 1 + 3);
    // Eight stations of a sub-core have names of three bits.
    let table = of(&default, "register alias table");
    assert_eq!((table.instances, table.storage.entries, table.storage.bits), (32, 263, 1 + 3));
    let queue = of(&default, "load-store queue");
    assert_eq!((queue.instances * queue.storage.entries, queue.storage.bits / 49), (32, 32));
    let apart = of(&sized(32, 16), "load-store queue");
    assert_eq!(apart.instances * apart.storage.entries, 16);
    assert!(apart.storage.bits > station.storage.bits + 3 * operands.storage.bits, "it holds operands, too");
    // As docs/designs/loog.md has it.
    let stations = station.total_bits() + operands.total_bits();
    assert_eq!([table.total_bits(), stations, queue.total_bits()], [33_664, 103_072, 51_520]);
    // Bits added to an SM whose GPU has a scoreboard and eight collectors: several times the bits of GhOST.
    let added = table.total_bits() - 32 * 263 + stations * 24 / 32 + queue.total_bits();
    let spec = CoreSpec::new(&gpu(), Form::Sass, CoreOptions::default()).unwrap();
    let ghost = <designs::ghost::Ghost>::new(&Default::default(), &spec).structures();
    let of_baseline = |s: &&Structure| ["instruction buffer", "scoreboard"].contains(&s.name);
    let of_ghost: usize = ghost.iter().filter(|s| !of_baseline(s)).map(Structure::total_bits).sum();
    assert!((4 * of_ghost..6 * of_ghost).contains(&added), "{added} {of_ghost}");
}

/// A program of all kinds of instructions over few registers and predicates, by which some are guarded.
fn random_program(seed: u64) -> Vec<Line> {
    let spaces = [Space::Global, Space::Shared, Space::Local];
    let mut lines = support::random_program(seed, &spaces, 18, |dice, kind, [dst, a, _]| match kind {
        14 => Line { srcs: vec![128 + a % 2], ..branch(1, 0) },
        15 => op(OpClass::IntMad, dst, &[4, 8, 12, 16, 20, 24]),
        16 => op(OpClass::IntAdd, 128 + dst % 2, &[a]),
        _ => [sync(0, 0), fence()][dice.below(2) as usize].clone(),
    });
    let dice = &mut Dice(!seed);
    for line in &mut lines {
        if dice.below(4) == 0 {
            line.srcs.push(128 + dice.below(2) as u16);
        }
    }
    lines
}

#[test]
fn random_programs_keep_their_order() {
    for seed in 0..60 {
        let lines = random_program(seed);
        let mut bench =
            Bench::slow_sfu(&lines).warps(6).scheduler(["lrr", "gto", "srr", "two_level"][seed as usize % 4]);
        bench.ctas = 3;
        bench.shared_bytes = 1024;
        bench.gpu.sm.operands.sub_cores = seed % 3 != 0;
        for config in CONFIGS.into_iter().chain([sized(4, 0), sized(4, 4), sized(8, 0), sized(64, 0)]) {
            let findings = bench.audit::<Loog>(&config);
            assert_eq!(findings.total(), 0, "seed {seed}, {config:?}: {findings}");
        }
    }
}

/// Finds writes of registers that an older instruction of the warp, in its station, has yet to read from
/// the register file: the auditor looks for none where registers are renamed.
#[derive(Default)]
struct Reads {
    /// Warp, place in its program, register.
    unread: Vec<(u16, u32, RegId)>,
    served: u64,
    overtaken: u64,
}

impl Observer for Reads {
    fn collecting(&mut self, _: Cycle, seen: Seen<'_>, awaited: u64) {
        let sources = seen.window.vector_srcs(seen.id).iter().enumerate();
        let read = sources.filter(|(i, _)| awaited >> i & 1 == 0).map(|(_, &reg)| reg);
        self.unread.extend(read.map(|reg| (seen.inst().warp.0, seen.inst().order, reg)));
    }

    fn collected(&mut self, _: Cycle, seen: Seen<'_>) {
        self.served += 1;
        self.unread.retain(|r| (r.0, r.1) != (seen.inst().warp.0, seen.inst().order));
    }

    fn written_back(&mut self, _: Cycle, seen: Seen<'_>) {
        let older = |r: &&(u16, u32, RegId)| r.0 == seen.inst().warp.0 && r.1 < seen.inst().order;
        let writes = |r: &&(u16, u32, RegId)| seen.window.dsts(seen.id).contains(&r.2);
        self.overtaken += self.unread.iter().filter(older).filter(writes).count() as u64;
    }
}

#[test]
fn no_write_overtakes_a_read_of_the_register_file() {
    for seed in 0..20 {
        // Among others long reads of one bank, and writes of the same registers that read nothing.
        let many: Vec<u16> = (0..16).map(|i| 4 * i).collect();
        let mut lines = random_program(seed);
        for i in 0..12 {
            lines.insert(2 * i, op(OpClass::IntMad, 1, &many));
            lines.insert(2 * i + 1, op(OpClass::FpAdd, many[15 - i], &[]));
        }
        let mut bench = Bench::slow_sfu(&lines).warps(6);
        bench.shared_bytes = 1024;
        for config in CONFIGS {
            let run = bench.run_design::<Loog, _>(&config, Reads::default());
            let Reads { served, overtaken, unread } = &run.sm.observer;
            assert_eq!((*overtaken, unread.len()), (0, 0), "seed {seed}");
            assert_eq!(*served, run.sm.counters().warp_instructions, "seed {seed}");
        }
    }
}

#[test]
fn sleeping_changes_nothing() {
    for config in CONFIGS.into_iter().chain([sized(8, 0)]) {
        for seed in 0..4 {
            let mut bench = Bench::slow_sfu(&random_program(seed)).warps(6);
            bench.ctas = 3;
            bench.shared_bytes = 1024;
            bench.sleeping_changes_nothing::<Loog>(&config);
        }
    }
}

#[test]
fn a_write_of_an_old_name_leaves_the_new_one() {
    // The last issues between the writes of the first, whose register has another name by then, and of the load.
    let mut lines = vec![late(), load(Space::Global, 1, 0, 4)];
    lines.extend(stream(40));
    lines.push(add(3, &[1]));
    let drawn = loog(&lines);
    assert!(at(&drawn, 42, 'I') > at(&drawn, 0, 'W') && at(&drawn, 42, 'I') < at(&drawn, 1, 'W'));
    assert_eq!(at(&drawn, 42, 'C'), at(&drawn, 1, 'W'));
}

#[test]
fn what_is_awaited_is_not_read() {
    let run = Bench::slow_sfu(&[late(), add(2, &[1, 51])]).run_design::<Loog, _>(&sized(32, 0), Timeline::default());
    assert_eq!(run.sm.counters().register_reads, 2, "r50 and r51");
}

#[test]
fn full_stations_are_named() {
    let loads: Vec<_> = (0..4).map(|i| load(Space::Global, 1 + i, 128 * u64::from(i), 4)).collect();
    for config in [sized(4, 0), sized(4, 4)] {
        let run = Bench::new(&loads).run_design::<Loog, _>(&config, Timeline::default());
        let stalled = |stall| run.sm.account().stalled(stall);
        assert!(stalled(Stall::CollectorFull) > 150, "{config:?}");
        assert_eq!(stalled(Stall::MemoryPipeFull), 0, "{config:?}");
    }
}

#[test]
fn a_warp_that_is_passed_over_for_long_goes_first_once() {
    // Two warps of a scheduler that could issue in each cycle: the greedy scheduler would stay with one.
    let mut lines: Vec<_> = stream(20).collect();
    lines.push(branch(-20, 1500));
    let mut bench =
        Bench::new(&lines).warps(5).scheduler("gto").gpu(|g| g.sm.frontend.branches = config::BranchFetch::Oracle);
    bench.skip = |warp, line| warp % 4 != 0 && line < 21;
    let run = bench.run_design::<Loog, _>(&LoogConfig::default(), Issues::default());
    let issues: Vec<_> = run.sm.observer.0.iter().filter(|i| i.1 % 4 == 0).map(|i| i.1).collect();
    let turns: Vec<_> = (1..issues.len()).filter(|&i| issues[i] != issues[i - 1] && i > 100).collect();
    assert!(turns[0] > 8000, "it could issue for a whole period: {turns:?}");
    assert!(turns.len() > 5 && turns[..6].windows(2).all(|t| (4090..8200).contains(&(t[1] - t[0]))), "{turns:?}");
}
