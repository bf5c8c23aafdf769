//! The load slice core: what goes through queue B, what it may pass, and how slices are learned.

use crate::support;

use config::Unit;
use designs::load_slice::{LoadSlice, LoadSliceConfig};
use isa::Form;
use isa::{OpClass, Space};
use sm::{CoreDesign, CoreOptions, CoreSpec, IssuePolicy, Stall, Timeline};
use support::*;

fn bench(lines: &[Line]) -> Bench {
    Bench { memory_latency: 5, ..Bench::slow_sfu(lines) }
}

/// [`late`] is later.
fn slower(bench: Bench) -> Bench {
    bench.timing(OpClass::Sfu, Unit::Sfu, 60, 2)
}

fn drawn(lines: &[Line], config: &LoadSliceConfig) -> Timeline {
    bench(lines).draw::<LoadSlice>(config)
}

fn load_slice(lines: &[Line]) -> Timeline {
    drawn(lines, &LoadSliceConfig::default())
}

/// A load of `dst` at the address in `address`.
fn load_at(dst: u16, address: u16) -> Line {
    Line { srcs: vec![address], ..load(Space::Global, dst, 0, 4) }
}

/// A store of `data` at the address in `address`.
fn store_at(address: u16, data: u16) -> Line {
    Line { srcs: vec![address, data], ..store(Space::Global, data, 512, 4) }
}

#[test]
fn a_load_passes_a_stalled_instruction() {
    let lines = [late(), add(2, &[1]), load_at(3, 100), add(4, &[51]), add(5, &[3])];
    let drawn = load_slice(&lines);
    insta::assert_snapshot!(drawn.draw(), @r"
    from 0               |         |         |         |         |
    w0  sfu r1, r50      DI.CE.....................W
    w0  int_add r2, r1   D.........................I.CE...W
    w0  ld.global r3     D.I.CE...............................W
    w0  int_add r4, r51  D..........................I.C.E...W
    w0  int_add r5, r3   D....................................I.CE...W
    w0  exit             D.....................................I.C.E..W
    ");
    assert!(at(&drawn, 2, 'I') < at(&drawn, 1, 'I'), "the load is in queue B");
    assert_eq!(at(&drawn, 3, 'I'), at(&drawn, 1, 'I') + 1, "queue A is in order");
}

#[test]
fn of_two_that_are_ready_the_older_goes_first() {
    let drawn = load_slice(&[add(2, &[50]), load_at(3, 100), add(4, &[51])]);
    assert_eq!([1, 2].map(|i| at(&drawn, i, 'I') - at(&drawn, 0, 'I')), [1, 2]);
}

#[test]
fn queue_b_is_in_order() {
    let drawn = load_slice(&[late(), load_at(2, 1), load_at(3, 100), add(4, &[51])]);
    assert_eq!(at(&drawn, 2, 'I'), at(&drawn, 1, 'I') + 1);
    assert!(at(&drawn, 3, 'I') < at(&drawn, 1, 'I'), "and queue A does not wait for it");
}

/// An iteration: r1 comes late and stalls queue A; r11 is made of r10 and r12 of r11, which is the address of a
/// load. Another one, of an instruction that makes no address, follows.
fn slice() -> Vec<Line> {
    vec![late(), add(2, &[1]), add(11, &[10]), add(12, &[11]), load_at(3, 12), add(4, &[51]), branch(-6, 3)]
}

/// Whether the instruction at `line` of a loop passes the stalled one, which waits until the loads of the iteration
/// before have come, by iteration.
fn passes(lines: &[Line], config: &LoadSliceConfig, line: u32) -> Vec<bool> {
    let drawn = slower(bench(lines)).draw::<LoadSlice>(config);
    let length = lines.len() as u32;
    (0..4).map(|i| at(&drawn, i * length + line, 'I') < at(&drawn, i * length + 1, 'I')).collect()
}

#[test]
fn slices_are_learned_one_step_back_in_each_iteration() {
    let (lines, config) = (slice(), LoadSliceConfig::default());
    let three_times = [&lines[..6], &[branch(-6, 2)]].concat();
    insta::assert_snapshot!(drawn(&three_times, &config).draw(), @r"
    from 0                |         |         |         |         |         |         |         |         |         |         |         |         |
    w0  sfu r1, r50       DI.CE.....................W
    w0  int_add r2, r1    D.........................I.CE...W
    w0  int_add r11, r10  D..........................I.C.E...W
    w0  int_add r12, r11  D..................................I.CE...W
    w0  ld.global r3      D.........................................I.CE...............................W
    w0  int_add r4, r51   D...................................I.C.E...W
    w0  bra               FD...................................ICE.....W
    w0  sfu r1, r50                                             DI.CE.....................W
    w0  int_add r2, r1                                          D.........................I.CE...W
    w0  int_add r11, r10                                        D..........................I.C.E...W
    w0  int_add r12, r11                                        D..................................I.CE...W
    w0  ld.global r3                                            D.........................................I.CE....................W
    w0  int_add r4, r51                                         D...........................I..C.E...W
    w0  bra                                                     FD...........................ICE.....W
    w0  sfu r1, r50                                                                           DI.CE.....................W
    w0  int_add r2, r1                                                                        D.........................I.CE...W
    w0  int_add r11, r10                                                                      D............I.CE...W
    w0  int_add r12, r11                                                                      D...................I.CE...W
    w0  ld.global r3                                                                          D...................................I.CE....................W
    w0  int_add r4, r51                                                                       D..........................I.C.E...W
    w0  bra                                                                                   FD..........................ICE.....W
    w0  exit                                                                                  FD...................................ICE..W
    ");
    // The first producer enters the IST when the load is decoded in the first iteration; the second one when the
    // first is decoded as part of the slice, in the second.
    assert_eq!(passes(&lines, &config, 2), [false, false, true, true]);
    // In the second iteration the other one waits for it in queue B, and the load behind that.
    assert_eq!(passes(&lines, &config, 3), [false, false, true, true]);
    assert_eq!(passes(&lines, &config, 4), [false, false, true, true]);
    assert_eq!(passes(&lines, &config, 5), [false; 4], "it makes no address");
    // A slice of one instruction is known after one iteration.
    let mut short = slice();
    short[2] = add(13, &[10]);
    assert_eq!(passes(&short, &config, 3), [false, true, true, true]);
    assert_eq!(passes(&short, &config, 2), [false; 4]);
}

#[test]
fn without_learning_only_loads_pass() {
    let config = LoadSliceConfig { learning: false, ..LoadSliceConfig::default() };
    for line in 2..6 {
        assert_eq!(passes(&slice(), &config, line), [false; 4], "line {line}");
    }
    assert!(at(&drawn(&[late(), add(2, &[1]), load_at(3, 100)], &config), 2, 'I') < 10);
}

#[test]
fn what_makes_the_address_of_a_store_is_in_a_slice_and_its_data_is_not() {
    let lines = [late(), add(2, &[1]), add(11, &[10]), add(12, &[51]), store_at(11, 12), branch(-5, 3)];
    let config = LoadSliceConfig::default();
    assert_eq!(passes(&lines, &config, 2), [false, true, true, true]);
    assert_eq!(passes(&lines, &config, 3), [false; 4]);
    assert_eq!(passes(&lines, &config, 4), [false; 4], "the store itself is in queue A");
}

#[test]
fn a_full_set_of_the_table_forgets_what_was_used_least_recently() {
    // Two slices of one instruction each: one entry is taken by each in turn, before it has been of use.
    let lines = [late(), add(2, &[1]), add(11, &[10]), load_at(3, 11), add(12, &[10]), load_at(4, 12), branch(-6, 3)];
    let of = |ist_entries, ist_ways| LoadSliceConfig { ist_entries, ist_ways, ..LoadSliceConfig::default() };
    for line in [2, 4] {
        assert_eq!(passes(&lines, &of(2, 2), line), [false, true, true, true]);
        assert_eq!(passes(&lines, &of(1, 1), line), [false; 4]);
        assert_eq!(passes(&lines, &of(2, 1), line), [false; 4], "both are in the set of even places");
        assert_eq!(passes(&lines, &of(4, 1), line), [false, true, true, true]);
    }
}

#[test]
fn a_warp_without_rows_in_the_table_of_dependences_uses_what_others_learn() {
    let bench = slower(bench(&slice()).warps(2));
    let passes = |warp: u16, rdt_warps| {
        let drawn = bench.draw::<LoadSlice>(&LoadSliceConfig { rdt_warps, ..LoadSliceConfig::default() });
        let at = |order| drawn.at(warp, order, 'I').expect("it issues");
        (0..4).map(|i| at(i * 7 + 4) < at(i * 7 + 1)).collect::<Vec<_>>()
    };
    assert_eq!(passes(0, 1), [false, false, true, true], "as a warp by itself");
    assert_eq!(passes(1, 1)[2..], [true, true]);
}

#[test]
fn dependences_between_the_queues_keep_order() {
    // In each the third, in queue B, depends on the second, in queue A, which waits for the first.
    for (rule, second, third) in [
        ("RAW", add(2, &[1]), load_at(3, 2)),
        ("WAW", add(2, &[1]), load_at(2, 100)),
        ("WAR", add(2, &[1, 5]), load_at(5, 100)),
        (
            "RAW of a predicate",
            Line { dsts: vec![130], ..add(2, &[1]) },
            Line { srcs: vec![100, 130], ..load_at(3, 100) },
        ),
    ] {
        let drawn = load_slice(&[late(), second, third, add(60, &[61])]);
        assert!(at(&drawn, 2, 'I') > at(&drawn, 1, 'I'), "{rule}");
        assert!(rule == "WAR" || at(&drawn, 2, 'I') >= at(&drawn, 1, 'W'), "{rule}");
    }
    // The third, in queue A, depends on the second, in queue B.
    for (rule, second, third) in [
        ("RAW", load_at(2, 1), add(3, &[2])),
        ("WAW", load_at(2, 1), add(2, &[51])),
        ("WAR", Line { srcs: vec![1, 5], ..load_at(2, 1) }, add(5, &[51])),
    ] {
        let drawn = load_slice(&[late(), second, third]);
        assert!(at(&drawn, 2, 'I') > at(&drawn, 1, 'I'), "{rule}");
        assert!(rule == "WAR" || at(&drawn, 2, 'I') >= at(&drawn, 1, 'W'), "{rule}");
    }
}

#[test]
fn a_dependence_on_an_older_instruction_than_the_last_ends_when_that_has_issued() {
    // The load reads r2; the last of queue A, which does not concern it, waits longer.
    let lines = [late(), add(2, &[1]), op(OpClass::Sfu, 6, &[2]), add(7, &[6]), load_at(3, 2)];
    let drawn = load_slice(&lines);
    assert_eq!(at(&drawn, 4, 'I'), at(&drawn, 1, 'W') + 1, "after the special function, which is older");
    assert!(at(&drawn, 4, 'I') < at(&drawn, 3, 'I'));
}

#[test]
fn accesses_of_the_two_queues_keep_their_order() {
    for [first, second] in accesses_in_order() {
        let text = format!("{} {}", first.text, second.text);
        let drawn = load_slice(&[late(), waiting(first), second]);
        assert_eq!(at(&drawn, 2, 'I'), at(&drawn, 1, 'I') + 1, "{text}");
        assert!(at(&drawn, 2, 'E') > at(&drawn, 1, 'E'), "{text}");
    }
}

#[test]
fn nothing_passes_a_branch_and_synchronisation_waits_for_both_queues() {
    let stalled = || Line { srcs: vec![1], ..branch(1, 0) };
    let drawn = load_slice(&[late(), stalled(), load_at(3, 100)]);
    assert!(at(&drawn, 2, 'I') > at(&drawn, 1, 'I'));
    for line in [arrive(0, 64), fence(), sync(0, 0)] {
        let drawn = load_slice(&[late(), load_at(3, 1), line.clone(), load_at(4, 100)]);
        assert!(at(&drawn, 2, 'I') > at(&drawn, 1, 'I'), "{}", line.text);
        assert!(at(&drawn, 3, 'I') > at(&drawn, 2, 'I'), "{}", line.text);
    }
    // One that is predicted is passed, taken or not; synchronisation is not.
    let predicts = LoadSliceConfig { branches: true, ..LoadSliceConfig::default() };
    let issues = |line: Line| {
        let bench = bench(&[late(), line, load_at(3, 100)]);
        assert_eq!(bench.audit::<LoadSlice>(&predicts).total(), 0);
        let drawn = bench.draw::<LoadSlice>(&predicts);
        (at(&drawn, 2, 'I'), at(&drawn, 1, 'I'))
    };
    for line in [stalled(), Line { times: 1, ..stalled() }] {
        let (load, branch) = issues(line);
        assert!(load < branch);
    }
    let (load, barrier) = issues(waiting(arrive(0, 64)));
    assert!(load > barrier);
    // A branch passes what it does not depend on.
    let drawn = load_slice(&[late(), load_at(3, 1), branch(1, 0), add(4, &[51])]);
    assert!(at(&drawn, 3, 'I') < at(&drawn, 1, 'I'));
}

#[test]
fn a_full_queue_holds_up_decode() {
    // Instructions behind a stalled one fill queue A; the load behind them does not come before one has issued.
    let lines: Vec<Line> = [late(), add(2, &[1])].into_iter().chain((3..11).map(|i| add(i, &[51]))).collect();
    let lines = [lines, vec![load_at(20, 100)]].concat();
    let issue = |queue_a| {
        let drawn = drawn(&lines, &LoadSliceConfig { queue_a, ..LoadSliceConfig::default() });
        (at(&drawn, 10, 'I'), at(&drawn, 1, 'I'))
    };
    let (load, stalled) = issue(4);
    assert!(load > stalled);
    let (load, stalled) = issue(12);
    assert!(load < stalled);
    // So do loads behind a stalled one.
    let loads: Vec<Line> = [late(), load_at(2, 1)].into_iter().chain((3..11).map(|i| load_at(i, 100))).collect();
    let lines = [loads, vec![add(20, &[51])]].concat();
    let issue = |queue_b| {
        let drawn = drawn(&lines, &LoadSliceConfig { queue_b, ..LoadSliceConfig::default() });
        at(&drawn, 10, 'I') < at(&drawn, 1, 'I')
    };
    assert_eq!([4, 12].map(issue), [false, true]);
}

#[test]
fn both_heads_are_candidates() {
    // The older one is a load, whose pipe is full: the younger one issues.
    let mut lines: Vec<Line> = (0..12).map(|i| Line { address: (0, 128), ..load_at(20 + i, 100) }).collect();
    lines.extend([add(50, &[60]), add(51, &[60])]);
    let drawn = drawn(&lines, &LoadSliceConfig { queue_b: 16, ..LoadSliceConfig::default() });
    assert!(at(&drawn, 12, 'I') < at(&drawn, 11, 'I'));
}

#[test]
fn slots_are_lost_to_the_registers_of_the_oldest() {
    let run = Bench::slow_sfu(&[late(), add(2, &[1]), load_at(3, 2)])
        .run_design::<LoadSlice, _>(&LoadSliceConfig::default(), Timeline::default());
    assert!(run.sm.account().stalled(Stall::Raw) > 10);
    assert_eq!(run.sm.account().stalled(Stall::Design), 0);
}

#[test]
fn statistics_count_what_went_through_queue_b() {
    let run = Bench::slow_sfu(&slice()).run_design::<LoadSlice, _>(&LoadSliceConfig::default(), Timeline::default());
    let statistics = run.sm.policy().statistics();
    let of = |name: &str| {
        let found = statistics.iter().find(|s| s.info.name == name).expect("it is counted");
        (found.count, found.per.expect("a share").count)
    };
    // Four loads, three of the first producer, two of the second, of 4 x 7 instructions and an exit.
    assert_eq!(of("bypass_share"), (9, 29));
    // Loads, branches and the exit are not looked up.
    assert_eq!(of("ist_hit_share"), (5, 20));
    assert_eq!(of("reordered_share").1, 29);
}

#[test]
fn sizes_fit() {
    let spec = CoreSpec::new(&gpu(), Form::Sass, CoreOptions::default()).expect("a sound GPU");
    let config = |ist_entries, ist_ways| LoadSliceConfig { ist_entries, ist_ways, ..LoadSliceConfig::default() };
    assert!(<LoadSlice as IssuePolicy>::check(&config(128, 2), &spec).is_ok());
    let refused = <LoadSlice as IssuePolicy>::check(&config(128, 3), &spec).unwrap_err();
    assert_eq!(refused, "`ist_ways` = 3 does not divide `ist_entries` = 128");
    // Queues smaller than a fetch have the size of one.
    let smallest = LoadSliceConfig { queue_a: 1, queue_b: 1, ..LoadSliceConfig::default() };
    assert!(!Bench::slow_sfu(&slice()).run_design::<LoadSlice, _>(&smallest, Timeline::default()).deadlocked);
}

#[test]
fn random_programs_keep_their_order() {
    for seed in 0..60 {
        let lines = random_program(seed, &[Space::Global, Space::Shared], 14, |_, _, _| unreachable!("no others"));
        let bench = Bench { memory_latency: 40, ..Bench::slow_sfu(&lines).warps(3) };
        for (queue_a, queue_b, branches) in [(2, 2, false), (8, 8, false), (16, 4, false), (16, 16, true)] {
            let config = LoadSliceConfig { queue_a, queue_b, branches, ..LoadSliceConfig::default() };
            assert_eq!(LoadSlice::<u64>::allowances(&config).passes_branches, branches);
            let findings = bench.audit::<LoadSlice>(&config);
            assert_eq!(findings.total(), 0, "{seed}, {queue_a}, {queue_b}: {findings}");
        }
        if seed < 10 {
            bench.sleeping_changes_nothing::<LoadSlice>(&LoadSliceConfig::default());
        }
    }
}
