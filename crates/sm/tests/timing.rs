//! Closed-form timing of the pipeline, exact to the cycle.
//!
//! With two register-read rounds per cycle, an instruction that issues in cycle *I* is collected
//! in *I + 1*, leaves its collector in *I + 2*, enters its unit in *I + 3* and, with latency *L*,
//! writes back in *I + L + 5*, in time for a dependent one to issue in that cycle.

use crate::support;

use config::{HoldingAtomics, InvalidatingFences, LatencyOf, LookUpOrder, MatrixTiming, OpTable, Unit, UnitConfig};
use isa::{CacheOp, MatrixType, MatrixWork, OpClass, Space};
use sm::{Stall, Timeline};
use support::*;

/// Cycles from issue to a dependent instruction's issue, without the latency of the unit.
const OVERHEAD: u64 = 5;

/// Classes that execute in units other than memory.
fn arithmetic() -> impl Iterator<Item = OpClass> {
    let table = OpTable::of_machine_code(&gpu().sm).expect("a complete table");
    let memory = move |c: &OpClass| table.of(*c).unit == Unit::Mem;
    OpClass::ALL.iter().copied().filter(move |c| !memory(c) && *c != OpClass::Exit)
}

fn unit_of(class: OpClass) -> Unit {
    OpTable::of_machine_code(&gpu().sm).expect("a complete table").of(class).unit
}

fn issue(run: &Run<Timeline>, warp: u16, order: u32) -> u64 {
    run.sm.observer.at(warp, order, 'I').expect("it has issued")
}

#[test]
fn a_dependent_chain_of_each_class_takes_latency_plus_overhead() {
    for class in arithmetic() {
        for (latency, initiation) in [(1, 1), (4, 2), (7, 7), (100, 3)] {
            let unit = unit_of(class);
            let bench = Bench::new(&[op(class, 1, &[2, 3]), op(class, 1, &[1, 3]), op(class, 1, &[1, 2])]);
            let run = bench.timing(class, unit, latency, initiation).run();
            let times: Vec<_> = (0..3).map(|i| issue(&run, 0, i)).collect();
            let step = u64::from(latency) + OVERHEAD;
            assert_eq!(times[1] - times[0], step, "{class:?} of latency {latency}");
            assert_eq!(times[2] - times[1], step, "{class:?} of latency {latency}");
        }
    }
}

/// A dependent chain takes the latency itself where results are forwarded, and no fewer than the four cycles from
/// issue over operand collection to the unit.
#[test]
fn a_dependent_chain_takes_the_latency_where_it_counts_from_issue() {
    for class in arithmetic() {
        for (latency, step) in [(1, 4), (4, 4), (5, 5), (23, 23)] {
            let unit = unit_of(class);
            let lines = [op(class, 1, &[2, 3]), op(class, 1, &[1, 3]), op(class, 1, &[1, 2])];
            let bench = Bench::new(&lines).gpu(|g| g.sm.latency = Some(LatencyOf::Issue));
            let run = bench.timing(class, unit, latency, 1).run();
            let times: Vec<_> = (0..3).map(|i| issue(&run, 0, i)).collect();
            assert_eq!([times[1] - times[0], times[2] - times[1]], [step; 2], "{class:?} of latency {latency}");
        }
    }
}

#[test]
fn independent_instructions_enter_a_unit_every_initiation_interval() {
    for class in arithmetic() {
        for initiation in [1, 2, 4, 8] {
            let unit = unit_of(class);
            let lines: Vec<_> = (0..24).map(|i| op(class, i + 1, &[30 + i % 4])).collect();
            let run = Bench::new(&lines).timing(class, unit, 8, initiation).run();
            let entry = |i| run.sm.observer.at(0, i, 'E').unwrap();
            for i in 8..23 {
                assert_eq!(entry(i + 1) - entry(i), u64::from(initiation), "{class:?} at {i}");
            }
        }
    }
}

#[test]
fn packed_half_operations_run_at_twice_the_rate() {
    let lines: Vec<_> = (0..12).map(|i| op(OpClass::Half, i + 1, &[30])).collect();
    for (packed, interval) in [(false, 4), (true, 2)] {
        let mut bench = Bench::new(&lines).timing(OpClass::Half, Unit::Sp, 8, 4);
        bench.lines.iter_mut().for_each(|l| l.packed_half = packed);
        let run = bench.run();
        let entry = |i| run.sm.observer.at(0, i, 'E').unwrap();
        assert_eq!(entry(10) - entry(9), interval);
    }
}

/// Issue to issue of a dependent instruction of `class`, and of the same as `whole` is timed.
#[test]
fn a_class_without_timing_has_that_of_the_class_that_it_is_part_of() {
    for class in OpClass::ALL {
        let Some(whole) = class.part_of_in_machine_code() else { continue };
        let step = |bench: Bench| {
            let run = bench.run();
            issue(&run, 0, 1) - issue(&run, 0, 0)
        };
        let chain = |class| Bench::new(&[op(class, 1, &[2]), op(class, 1, &[1])]).timing(whole, unit_of(whole), 9, 1);
        assert_eq!(step(chain(*class)), 9 + OVERHEAD, "{class:?}");
        assert_eq!(step(chain(*class).timing(*class, Unit::Sfu, 30, 1)), 30 + OVERHEAD, "{class:?} of its own");
        assert_eq!(step(chain(whole).timing(*class, Unit::Sfu, 30, 1)), 9 + OVERHEAD, "{whole:?} is not {class:?}");
    }
}

/// An instruction of *w* multiply-adds on a unit of *r* per cycle occupies it for *w / r* cycles, rounded up, and takes
/// that and the fixed part until its result is there.
#[test]
fn matrix_operations_take_their_size_divided_by_the_rate_of_their_type() {
    let line = |work, dst, srcs: &[u16]| Line { matrix: work, ..op(OpClass::Tensor, dst, srcs) };
    let work = |ty, multiply_adds| Some(MatrixWork { ty, multiply_adds, group: None });
    let (f16, f32, int8) = (MatrixType::F16, MatrixType::F16F32, MatrixType::Int8);
    let rows = [
        (work(f16, 1024), 8, 12),
        (work(f16, 2048), 16, 20),
        (work(f16, 100), 1, 5),
        (work(f32, 1024), 16, 27),
        (work(f32, 1025), 17, 28),
        // No rate for the type, or no known size: the class.
        (work(int8, 1024), 30, 40),
        (None, 30, 40),
    ];
    for (work, interval, latency) in rows {
        let bench = |lines: &[Line]| {
            Bench::new(lines).timing(OpClass::Tensor, Unit::Tensor, 40, 30).gpu(|g| {
                for (ty, multiply_adds_per_cycle, latency_cycles) in [(f16, 128, 4), (f32, 64, 11)] {
                    let timing = MatrixTiming { multiply_adds_per_cycle, latency_cycles };
                    g.sm.tensor.insert(ty.name().into(), timing);
                }
            })
        };
        let chain = bench(&[line(work, 1, &[2]), line(work, 1, &[1])]).run();
        assert_eq!(issue(&chain, 0, 1) - issue(&chain, 0, 0), latency + OVERHEAD, "{work:?}");
        let row = bench(&(0..12).map(|i| line(work, i + 1, &[30])).collect::<Vec<_>>()).run();
        let entry = |i| row.sm.observer.at(0, i, 'E').unwrap();
        assert_eq!(entry(11) - entry(10), interval, "{work:?}");
    }
}

/// When each of the instructions of four warps, one of each scheduler, issued, was collected, and entered one of `count`
/// units of 16 cycles each; in the order of the latter.
fn shared_units(count: u32) -> Vec<[u64; 3]> {
    let lines: Vec<_> = (0..6).map(|i| op(OpClass::DpFma, i + 1, &[30])).collect();
    let bench = Bench::new(&lines).warps(4).timing(OpClass::DpFma, Unit::Dp, 48, 16);
    let units = UnitConfig { count, issue_latches: 4, dispatch_latches: 4 };
    let run = bench.gpu(|g| _ = g.sm.units.insert(Unit::Dp, units)).run();
    let all = (0..4).flat_map(|warp| (0..6).map(move |i| (warp, i)));
    let times = |(warp, i)| ['I', 'C', 'E'].map(|stage| run.sm.observer.at(warp, i, stage).unwrap());
    let mut entries: Vec<_> = all.map(times).collect();
    entries.sort_unstable_by_key(|[.., entered]| *entered);
    entries
}

#[test]
fn sub_cores_share_units_that_are_fewer_than_they() {
    let one = shared_units(1);
    assert!(one.windows(2).all(|e| e[1][2] - e[0][2] == 16), "one unit for all, never idle: {one:?}");
    for (at, [issued, _, entered]) in one.iter().enumerate() {
        let waiting = one[at + 1..].iter().filter(|[_, collected, _]| collected < entered);
        assert!(waiting.clone().all(|[older, ..]| issued <= older), "the oldest first, at {entered}: {one:?}");
    }
    for (count, units) in [(2, shared_units(2)), (4, shared_units(4))] {
        let never_idle = |e: &[[u64; 3]]| e[count][2] - e[0][2] == 16;
        assert!(units.windows(count + 1).skip(count).all(never_idle), "{count} units, never idle: {units:?}");
    }
}

#[test]
fn sub_cores_do_not_share_units() {
    let lines: Vec<_> = (0..16).map(|i| add(i + 1, &[30])).collect();
    let alone = Bench::new(&lines).run();
    let four = Bench::new(&lines).warps(4).run();
    let last = |run: &Run<Timeline>, warp| run.sm.observer.at(warp, 15, 'E').unwrap();
    for warp in 0..4 {
        assert!(last(&four, warp) <= last(&alone, 0) + 3, "only fetch is shared");
    }
}

#[test]
fn two_warps_of_a_sub_core_share_its_unit() {
    let lines: Vec<_> = (0..16).map(|i| add(i + 1, &[30])).collect();
    // Warps 0 and 4 belong to scheduler 0; the others do nothing.
    let mut bench = Bench::new(&lines).warps(5).timing(OpClass::IntAdd, Unit::Int, 4, 2);
    bench.skip = |warp, line| line < 16 && warp % 4 != 0;
    let run = bench.run();
    let mut entries: Vec<_> = [0, 4]
        .iter()
        .flat_map(|&w| (0..16).map(move |i| (w, i)))
        .map(|(w, i)| run.sm.observer.at(w, i, 'E').unwrap())
        .collect();
    entries.sort_unstable();
    assert!(entries.windows(2).all(|e| e[1] - e[0] >= 2), "one unit, one entry every two cycles");
    assert_eq!(entries[31] - entries[0], 31 * 2, "and never idle");
}

/// A pair in one cycle, on a GPU that issues two from a warp.
fn pair_issues_together(first: Line, second: Line, different_units: bool) -> bool {
    let lines = [add(50, &[51]), add(52, &[53]), first, second];
    let bench = Bench::new(&lines).gpu(|g| {
        g.sm.issue.width = 2;
        g.sm.issue.dual_issue_needs_different_units = different_units;
        let int = g.sm.units.get_mut(&Unit::Int).unwrap();
        (int.issue_latches, int.dispatch_latches) = (8, 8);
    });
    let run = bench.run();
    issue(&run, 0, 2) == issue(&run, 0, 3)
}

#[test]
fn dual_issue_obeys_hazards_and_units() {
    assert!(pair_issues_together(add(1, &[2]), op(OpClass::FpAdd, 3, &[4]), true));
    assert!(!pair_issues_together(add(1, &[2]), add(3, &[4]), true), "same unit");
    assert!(pair_issues_together(add(1, &[2]), add(3, &[4]), false));
    assert!(!pair_issues_together(add(1, &[2]), op(OpClass::FpAdd, 3, &[1]), true), "read after write");
    assert!(!pair_issues_together(add(1, &[2]), op(OpClass::FpAdd, 1, &[4]), true), "write after write");
}

#[test]
fn operands_in_one_bank_are_read_one_per_round() {
    // 16 banks over four sub-cores: registers four apart share a bank.
    for (srcs, rounds) in [(&[4, 5, 6][..], 1), (&[4, 8, 5], 2), (&[4, 8, 12], 3), (&[4, 8, 12, 16], 4), (&[], 0)] {
        for per_cycle in [1, 2] {
            let bench = Bench::new(&[op(OpClass::IntMad, 1, srcs)]).gpu(|g| g.sm.operands.reads_per_bank = per_cycle);
            // The exit behind it must not take its latch first, as a collected instruction may.
            let run = bench.timing(OpClass::Exit, Unit::Sp, 2, 2).run();
            // Round 0 is the one that fills the collector; one more sends the instruction on.
            let leaves = issue(&run, 0, 0) + 1 + u64::from((rounds + 1) / per_cycle);
            assert_eq!(run.sm.observer.at(0, 0, 'C'), Some(leaves), "{srcs:?}, {per_cycle} rounds per cycle");
        }
    }
}

#[test]
fn banks_turn_with_the_warp_if_the_description_says_so() {
    let turned = |by_warp, change: fn(&mut Line)| {
        // One scheduler over sixteen banks. Warp 0 reads seven registers of bank 0; warp 1 has a line of its own.
        let mut other = op(OpClass::FpAdd, 2, &[]);
        change(&mut other);
        let mut bench = Bench::new(&[op(OpClass::IntMad, 1, &[16, 32, 48, 64, 80, 96, 112]), other]).warps(2);
        bench = bench.timing(OpClass::FpAdd, Unit::Sp, 1, 1).gpu(|g| {
            (g.sm.issue.schedulers, g.sm.issue.width) = (1, 1);
            (g.sm.operands.sub_cores, g.sm.operands.reads_per_bank) = (false, 1);
            g.sm.operands.bank_uses_warp = by_warp;
        });
        bench.skip = |warp, line| line < 2 && line != warp;
        let drawn = bench.run().sm.observer;
        [0, 1].map(|warp| drawn.at(warp, 0, 'C').unwrap())
    };
    for (by_warp, same, next) in [(true, 15, 16), (false, 16, 17)] {
        // Its write to the bank that warp 0 reads costs a read of it, to the next bank none.
        let write =
            [|l: &mut Line| l.dsts = vec![15], |l: &mut Line| l.dsts = vec![16], |l: &mut Line| l.dsts = vec![17]];
        let [to_same, to_next] = [same, next].map(|reg| turned(by_warp, write[reg - 15])[0]);
        assert_eq!(to_same, to_next + 1, "{by_warp}");
    }
    for (by_warp, conflicts) in [(true, 0), (false, 1)] {
        let mut bench = Bench::new(&[add(1, &[4])]).warps(5).gpu(|g| g.sm.operands.bank_uses_warp = by_warp);
        // Warps 0 and 1 of a one-scheduler SM read the same register number.
        bench = bench.gpu(|g| {
            g.sm.issue.schedulers = 1;
            g.sm.operands.sub_cores = false;
            g.sm.issue.width = 1;
            g.sm.operands.reads_per_bank = 1;
        });
        let run = bench.run();
        assert!(run.sm.counters().bank_conflicts <= conflicts, "bank by warp: {by_warp}");
    }
}

#[test]
fn a_result_bus_per_instruction_and_cycle() {
    // Four sub-cores write back together only if there are four buses.
    for (buses, spread) in [(4, 0), (2, 1), (1, 3)] {
        let run = Bench::new(&[add(1, &[2])]).warps(4).gpu(|g| g.sm.writeback_width = buses).run();
        let mut written: Vec<_> = (0..4).map(|w| run.sm.observer.at(w, 0, 'W').unwrap()).collect();
        let issued: Vec<_> = (0..4).map(|w| issue(&run, w, 0)).collect();
        if issued.iter().all(|i| *i == issued[0]) {
            written.sort_unstable();
            assert_eq!(written[3] - written[0], spread, "{buses} buses");
        }
        written.dedup();
        assert!(written.len() >= 4 / buses as usize);
    }
}

#[test]
fn shared_memory_takes_its_latency_and_a_cycle_per_conflict() {
    for (stride, degree) in [(4, 1), (8, 2), (16, 4), (64, 16), (128, 32), (0, 1)] {
        let run = Bench::new(&[load(Space::Shared, 1, 0, stride), add(2, &[1])]).run();
        let latency = u64::from(gpu().sm.shared.latency_cycles);
        assert_eq!(issue(&run, 0, 1) - issue(&run, 0, 0), latency + 4 + degree, "stride {stride}");
        assert_eq!(run.sm.counters().shared_conflict_cycles, degree - 1);
        assert_eq!(run.sm.counters().memory_stall_cycles, degree - 1);
    }
}

#[test]
fn shared_memory_moves_its_bytes_per_cycle_where_the_description_says_so() {
    // (bytes of a lane, stride, active lanes, cycles with 64 bytes per cycle, and without a limit)
    let rows = [
        (4, 4, u32::MAX, 2, 1),
        (4, 4, 0xffff, 1, 1),
        (4, 4, 0x1_ffff, 2, 1),
        (4, 0, u32::MAX, 2, 1),
        (8, 8, u32::MAX, 4, 2),
        (16, 16, u32::MAX, 8, 4),
        // Four lanes of each bank: conflicts take longer.
        (4, 16, u32::MAX, 4, 4),
    ];
    for (bytes, stride, mask, cycles, free) in rows {
        let entries = |width: Option<u32>| {
            let lines: Vec<_> =
                (0..12).map(|i| load(Space::Shared, i + 1, 0, stride).bytes(bytes).mask(mask)).collect();
            let run = Bench::new(&lines).gpu(|g| g.sm.shared.bytes_per_cycle = width).run();
            assert_eq!(run.sm.counters().shared_conflict_cycles, 12 * (free - 1), "{bytes} bytes, stride {stride}");
            run.sm.observer.at(0, 11, 'E').unwrap() - run.sm.observer.at(0, 10, 'E').unwrap()
        };
        assert_eq!(
            [entries(Some(64)), entries(None)],
            [cycles, free],
            "{bytes} bytes, stride {stride}, lanes {mask:x}"
        );
    }
}

#[test]
fn shared_memory_serves_one_conflict_free_access_per_cycle() {
    let lines: Vec<_> = (0..16).map(|i| load(Space::Shared, i + 1, 0, 4)).collect();
    let run = Bench::new(&lines).run();
    let entry = |i| run.sm.observer.at(0, i, 'E').unwrap();
    assert_eq!(entry(15) - entry(7), 8);
    let written = |i| run.sm.observer.at(0, i, 'W').unwrap();
    assert_eq!(written(15) - written(7), 8);
}

/// Load, wait for it, load again.
fn twice(line: Line) -> [Line; 4] {
    let mut again = line.clone();
    again.dsts = vec![3];
    [line, add(2, &[1]), again, add(4, &[3])]
}

#[test]
fn an_l1_hit_takes_its_latency() {
    let run = Bench::new(&twice(load(Space::Global, 1, 0, 4))).run();
    let latency = u64::from(gpu().sm.l1d.latency_cycles);
    assert_eq!(issue(&run, 0, 3) - issue(&run, 0, 2), latency + 4);
    assert_eq!(run.sm.memory_counters().l1d.read_hits, 4);
}

#[test]
fn an_l1_miss_adds_the_memory_and_its_way() {
    for memory in [1, 50, 500] {
        let mut bench = Bench::new(&[load(Space::Global, 1, 0, 0), add(2, &[1])]);
        bench.memory_latency = memory;
        let run = bench.run();
        let latency = u64::from(gpu().sm.l1d.latency_cycles);
        assert_eq!(issue(&run, 0, 1) - issue(&run, 0, 0), latency + memory + 7);
    }
}

#[test]
fn an_access_past_l1_takes_the_memory_and_its_way() {
    let mut bench = Bench::new(&[load(Space::Global, 1, 0, 0).cached(CacheOp::L2), add(2, &[1])]);
    bench.memory_latency = 50;
    let run = bench.run();
    assert_eq!(issue(&run, 0, 1) - issue(&run, 0, 0), 50 + 6);
    assert_eq!(run.sm.memory_counters().l1d.read_misses, 0);
}

#[test]
fn an_l1_bank_takes_one_sector_per_cycle() {
    // Warm, then time: sectors 128 bytes apart lie in one of the four banks.
    for (stride, cycles) in [(0, 1), (4, 1), (32, 8), (128, 32)] {
        let run = Bench::new(&twice(load(Space::Global, 1, 0, stride))).run();
        let latency = u64::from(gpu().sm.l1d.latency_cycles);
        assert_eq!(issue(&run, 0, 3) - issue(&run, 0, 2), latency + 3 + cycles, "stride {stride}");
    }
}

#[test]
fn a_constant_that_always_hits_is_there_at_once() {
    let run = Bench::new(&[load(Space::Constant, 1, 0, 0), add(2, &[1])]).run();
    assert_eq!(issue(&run, 0, 1) - issue(&run, 0, 0), 4);
}

#[test]
fn different_words_of_constants_take_a_cycle_each_where_the_description_says_so() {
    let cycles = |stride, words| {
        let bench = Bench::new(&[load(Space::Constant, 1, 0, stride), add(2, &[1])]);
        let run = bench.gpu(|g| g.sm.constant_words_per_cycle = Some(words)).run();
        issue(&run, 0, 1) - issue(&run, 0, 0)
    };
    assert_eq!([cycles(0, 1), cycles(4, 1), cycles(4, 4), cycles(2, 1)], [4, 4 + 31, 4 + 7, 4 + 15]);
}

#[test]
fn a_constant_load_of_machine_code_takes_an_access_for_each_word() {
    let bench = |stride, words| {
        let bench = Bench::new(&[indexed_constant(1, stride), add(2, &[1])]);
        let bench = bench.timing(OpClass::Move, Unit::Int, 4, 2);
        bench.gpu(|g| g.sm.latency = Some(LatencyOf::Issue)).gpu(|g| g.sm.constant_words_per_cycle = words)
    };
    for (stride, words, more) in [(0, 1, 0), (4, 1, 31), (4, 4, 7), (2, 1, 15), (32, 1, 31)] {
        let bench = bench(stride, Some(words));
        let run = bench.run();
        assert_eq!(issue(&run, 0, 1) - issue(&run, 0, 0), 4 + more, "stride {stride}, {words} words a cycle");
        let counters = run.sm.counters();
        assert_eq!((counters.constant_accesses, counters.constant_conflict_cycles), (1, more));
        assert_eq!((counters.constant_moves, counters.register_writes), (0, 2));
        let mut totals = sm::SmTotals::default();
        gpu::Core::count(&run.sm, &mut totals);
        let activity = gpu::CoreReport::activity(&totals, run.now, &bench.gpu);
        assert_eq!(activity.events[energy::Event::ConstantHit], (1 + more) as f64, "an access for each pass");
        let longer = bench.timing(OpClass::Move, Unit::Int, 29, 2).run();
        assert_eq!(issue(&longer, 0, 1) - issue(&longer, 0, 0), 29 + more, "its class may take longer");
    }
    let of_unit = bench(4, None).run();
    assert_eq!(issue(&of_unit, 0, 1) - issue(&of_unit, 0, 0), 4, "without the key it executes as a move");
    assert_eq!(of_unit.sm.counters().constant_accesses, 0);
}

/// The constant cache has one port: loads of all sub-cores come one after the other, and keep those after them waiting.
#[test]
fn constant_loads_of_all_sub_cores_share_a_port() {
    let lines: Vec<_> = (0..6).map(|dst| indexed_constant(10 + dst, 4)).collect();
    for (warps, loads) in [(1, 6), (4, 24)] {
        let run = Bench::new(&lines).warps(warps).gpu(|g| g.sm.constant_words_per_cycle = Some(1)).run();
        let written = (0..warps as u16).map(|warp| run.sm.observer.at(warp, 5, 'W').unwrap()).max().unwrap();
        let first = (0..warps as u16).map(|warp| run.sm.observer.at(warp, 0, 'W').unwrap()).min().unwrap();
        assert_eq!(written - first, 32 * (loads - 1), "{warps} warps");
        assert!(run.sm.account().stalled(Stall::MemoryPipeFull) >= 30, "{warps} warps");
    }
}

#[test]
fn lanes_of_a_shared_atomic_at_one_word_take_cycles_each_where_the_description_says_so() {
    let cycles = |stride, each| {
        let line = Line { mem: load(Space::Shared, 1, 0, stride).mem, ..atomic(1, 0, stride) };
        let line = Line { mem: line.mem.map(|m| isa::MemAccess { access: isa::Access::Atomic, ..m }), ..line };
        let run = Bench::new(&[line, add(2, &[1])]).gpu(|g| g.sm.shared.atomic_lane_cycles = each).run();
        issue(&run, 0, 1) - issue(&run, 0, 0)
    };
    let latency = u64::from(gpu().sm.shared.latency_cycles) + 5;
    assert_eq!([cycles(0, None), cycles(0, Some(2)), cycles(4, Some(2))], [latency, latency + 62, latency]);
    assert_eq!(cycles(8, Some(2)), latency + 2, "two lanes at each bank");
}

#[test]
fn hashed_banks_of_l1_look_up_lines_side_by_side() {
    for (stride, cycles) in [(4, 1), (32, 8), (128, 8), (256, 16)] {
        let bench = Bench::new(&twice(load(Space::Global, 1, 0, stride)));
        let run = bench.gpu(|g| g.sm.l1d.bank_hash = Some(true)).run();
        let latency = u64::from(gpu().sm.l1d.latency_cycles);
        assert_eq!(issue(&run, 0, 3) - issue(&run, 0, 2), latency + 3 + cycles, "stride {stride}");
    }
}

#[test]
fn banks_of_l1_look_up_their_own_lines_in_any_order_where_the_description_says_so() {
    // Eight lines begin in each of four banks, one bank's after the other's.
    for (order, stride, cycles) in [
        (None, 132, 29),
        (Some(LookUpOrder::Address), 132, 29),
        (Some(LookUpOrder::Bank), 132, 8),
        (Some(LookUpOrder::Bank), 128, 32),
    ] {
        let bench = Bench::new(&twice(load(Space::Global, 1, 0, stride)));
        let run = bench.gpu(|g| g.sm.l1d.look_up_order = order).run();
        let latency = u64::from(gpu().sm.l1d.latency_cycles);
        assert_eq!(issue(&run, 0, 3) - issue(&run, 0, 2), latency + 3 + cycles, "{order:?}, stride {stride}");
    }
}

#[test]
fn loads_follow_each_other_at_the_width_of_l1_where_the_description_says_so() {
    let gap = |width| {
        let loads: Vec<Line> = (1..=9).map(|register| load(Space::Global, register, 0, 4)).collect();
        let run = Bench::new(&[loads.clone(), vec![add(20, &[1, 9])], loads, vec![add(21, &[1, 9])]].concat())
            .gpu(|g| g.sm.l1d.bytes_per_cycle = width)
            .run();
        issue(&run, 0, 19) - issue(&run, 0, 10)
    };
    let free = gap(None);
    assert_eq!([gap(Some(128)), gap(Some(64)), gap(Some(32))], [free, free + 8, free + 24]);
    // Data of each load come while it still holds the path.
    assert_eq!(gap(Some(4)), 9 * 32 - 1);
}

#[test]
fn nothing_waits_for_a_predicate_where_the_description_ignores_them() {
    // Register 128 is the first predicate: as a guard or source, as a result that another overwrites, and of a branch.
    let set = || op(OpClass::Sfu, 128, &[50]);
    for then in [add(2, &[51, 128]), add(128, &[51]), Line { srcs: vec![128], ..branch(1, 0) }] {
        let gap = |ignored| {
            let run = Bench::new(&[set(), then.clone()]).gpu(|g| g.sm.issue.ignore_predicates = ignored).run();
            issue(&run, 0, 1) - issue(&run, 0, 0)
        };
        let text = &then.text;
        assert!(gap(None) > 4 && gap(Some(false)) == gap(None), "{text}: {}", gap(None));
        assert_eq!(gap(Some(true)), 1, "{text}");
    }
    let vector = Bench::new(&[op(OpClass::Sfu, 1, &[50]), add(2, &[1])]);
    let [tracked, ignored] =
        [None, Some(true)].map(|ignored| vector.clone().gpu(|g| g.sm.issue.ignore_predicates = ignored).run());
    assert_eq!(issue(&tracked, 0, 1), issue(&ignored, 0, 1), "registers of 32 bits");
}

#[test]
fn a_constant_cache_serves_a_line_per_cycle() {
    let lines = twice(load(Space::Constant, 1, 0, 64));
    let run = Bench::new(&lines).gpu(|g| g.sm.perfect_instruction_and_constant_caches = false).run();
    assert_eq!(issue(&run, 0, 3) - issue(&run, 0, 2), 4 + 31, "32 lines");
    assert_eq!(run.sm.memory_counters().constant.read_hits, 32);
}

#[test]
fn an_atomic_waits_for_its_answer() {
    let mut bench = Bench::new(&[atomic(1, 0, 0), add(3, &[4]), add(2, &[1])]);
    bench.memory_latency = 100;
    // 32 lanes on one word: 32 transactions, one per cycle.
    let free = bench.run();
    assert_eq!(issue(&free, 0, 2) - issue(&free, 0, 0), 100 + 6 + 31);
    assert!(issue(&free, 0, 1) - issue(&free, 0, 0) < 5, "what does not need the result goes on");
    bench.gpu.sm.issue.atomics_hold_warp = HoldingAtomics::Global;
    let held = bench.run();
    assert_eq!(issue(&held, 0, 1), issue(&free, 0, 2));
    assert!(held.sm.account().stalled(Stall::Atomic) > 100);
}

#[test]
fn an_atomic_on_shared_memory_holds_its_warp_where_the_description_says_so() {
    let atomic = Line { mem: load(Space::Shared, 1, 0, 4).mem, ..atomic(1, 0, 4) };
    let atomic = Line { mem: atomic.mem.map(|m| isa::MemAccess { access: isa::Access::Atomic, ..m }), ..atomic };
    let next_issue = |holding, lanes| {
        let mut bench = Bench::new(&[atomic.clone().mask(lanes), add(3, &[4])]);
        bench.gpu.sm.issue.atomics_hold_warp = holding;
        let run = bench.run();
        issue(&run, 0, 1) - issue(&run, 0, 0)
    };
    let latency = u64::from(gpu().sm.shared.latency_cycles);
    for holding in [HoldingAtomics::None, HoldingAtomics::Global] {
        assert!(next_issue(holding, !0) < 5, "what does not need the result goes on");
    }
    let held = next_issue(HoldingAtomics::All, !0);
    assert!((latency..latency + 8).contains(&held), "{held} cycles, latency {latency}");
    assert_eq!(next_issue(HoldingAtomics::All, 0), 1, "no lane, nothing to wait for");
}

#[test]
fn fences_drop_what_l1_holds_as_the_description_says() {
    use InvalidatingFences::{All, Device, None};
    let cta_fence = || control(OpClass::Fence, isa::Control::FenceCta, "membar.cta");
    let hits = |invalidate, fence: Line| {
        let again = [load(Space::Global, 1, 0, 4), fence, load(Space::Global, 2, 0, 4)];
        let run = Bench::new(&again).gpu(|g| g.sm.l1d.fences_invalidate = invalidate).run();
        run.sm.memory_counters().l1d.read_hits
    };
    for (invalidate, by_device, by_cta) in [(None, false, false), (Device, true, false), (All, true, true)] {
        assert_eq!(hits(invalidate, fence()) == 0, by_device, "{invalidate:?}, of device scope");
        assert_eq!(hits(invalidate, cta_fence()) == 0, by_cta, "{invalidate:?}, of CTA scope");
    }
}

/// The store's acknowledgement takes a way through the memory system; a load's result is waited for either way, that
/// of arithmetic only with the registers.
#[test]
fn fences_wait_for_stores_as_the_description_says() {
    use config::FenceWaits::{Accesses, Registers};
    let after = |waits, before: Line| {
        let lines = [before, fence(), add(3, &[4])];
        let bench = Bench::new(&lines).gpu(|g| g.sm.issue.fences_wait_for = waits);
        assert_eq!(bench.audit::<sm::InOrder>(&()).total(), 0);
        let run = bench.run();
        issue(&run, 0, 2) - issue(&run, 0, 1)
    };
    let (store, load) = (|| store(Space::Global, 0, 1, 4), || load(Space::Global, 1, 0, 4));
    let waits = after(Some(Accesses), store());
    assert!(waits > 100, "{waits} cycles");
    assert_eq!(after(None, store()), waits);
    assert_eq!(after(Some(Registers), store()), after(Some(Accesses), add(1, &[2])));
    let waits = after(Some(Registers), add(1, &[2]));
    assert!((4..100).contains(&waits), "{waits} cycles");
    assert_eq!(after(Some(Registers), load()), after(Some(Accesses), load()));
}

#[test]
fn the_grid_limits_the_stride_of_local_memory_and_the_carve_out_where_the_description_says_so() {
    let layout = |by_grid: bool, ctas: u32| {
        let mut bench = Bench::new(&[add(1, &[2])]).gpu(|g| {
            g.sm.residency_counts_grid = by_grid;
            g.sm.local_base_kib = 7;
            g.sm_count = 4;
        });
        bench.ctas = ctas;
        let kernel = &bench.run().kernels[0];
        (kernel.local_layout.base, kernel.local_layout.ctas_per_sm, kernel.ctas_per_sm)
    };
    let most = gpu().sm.max_ctas.min(gpu().sm.max_warps);
    assert_eq!(layout(false, 1), (7 << 10, most, most));
    assert_eq!(layout(true, 1), (7 << 10, 1, 1));
    assert_eq!(layout(true, 9), (7 << 10, 3, 3));
}

#[test]
fn a_fence_waits_for_stores_and_loads() {
    let mut bench = Bench::new(&[store(Space::Global, 1, 0, 4), fence(), add(2, &[3])]);
    bench.memory_latency = 300;
    let run = bench.run();
    let wait = issue(&run, 0, 2) - issue(&run, 0, 1);
    assert!((300..350).contains(&wait), "{wait}");
    let none = Bench::new(&[add(1, &[4]), fence(), add(2, &[3])]).run();
    assert_eq!(issue(&none, 0, 2) - issue(&none, 0, 1), 1);
}

#[test]
fn asynchronous_copies_are_waited_for_by_group() {
    use isa::{Control::*, OpClass::*};
    let commit = || control(AsyncCopy, AsyncCommit, "cp.async.commit");
    let wait = |left| Line { async_groups_left: left, ..control(AsyncCopy, AsyncWait, "cp.async.wait") };
    let times = |left| {
        let lines = [copy_async(0), commit(), copy_async(4096), commit(), wait(left), add(1, &[2])];
        let run = Bench::new(&lines).run();
        issue(&run, 0, 5) - issue(&run, 0, 4)
    };
    assert_eq!(times(2), 1);
    assert!(times(1) > 200);
    assert!(times(0) > times(1));
}

#[test]
fn a_sleeping_warp_rises_in_time() {
    let sleep = Line { sleep_cycles: 77, ..control(OpClass::Nop, isa::Control::Sleep, "nanosleep") };
    let run = Bench::new(&[sleep, add(1, &[2])]).run();
    assert_eq!(issue(&run, 0, 1) - issue(&run, 0, 0), 77);
    assert!(run.ticks < 30, "the SM sleeps as well");
}

#[test]
fn a_barrier_lets_all_go_a_cycle_after_the_last_arrival() {
    let mut bench = Bench::new(&[add(1, &[2]), add(1, &[1]), sync(0, 0), add(3, &[4])]).warps(6);
    bench.skip = |warp, line| warp != 5 && line < 2;
    let run = bench.run();
    let last = issue(&run, 5, 2);
    for warp in 0..5 {
        assert!(issue(&run, warp, 0) < last);
        let next = issue(&run, warp, 1);
        // Warps 0 and 4 share a scheduler, and so do 1 and 5: one of each pair goes first.
        let second = next == last + 2 && warp != 2 && warp != 3;
        assert!(next == last + 1 || second, "warp {warp}: {next} after {last}");
    }
}

/// Arrivals are dealt with one by one, of all schedulers, and the last one lets go after the latency.
#[test]
fn a_barrier_unit_takes_warps_in_turn() {
    for (warps, interval, latency) in [(1u16, 2, 20), (4, 2, 20), (8, 2, 20), (8, 3, 20), (8, 2, 50), (32, 2, 20)] {
        let mut bench = Bench::new(&[sync(0, 0), add(3, &[4])]).warps(warps.into());
        bench.gpu.sm.barrier_warp_cycles = Some(interval);
        bench.gpu.sm.barrier_latency_cycles = Some(latency);
        let run = bench.run();
        let first = (0..warps).map(|warp| issue(&run, warp, 0)).min().unwrap();
        let next = (0..warps).map(|warp| issue(&run, warp, 1)).min().unwrap();
        // It is decoded when the barrier lets go, and issues a cycle later.
        assert_eq!(next - first, u64::from(u32::from(warps) * interval + latency + 1), "{warps} warps");
    }
    // Without a latency the last arrival lets go when it has been dealt with.
    let mut bench = Bench::new(&[sync(0, 0), add(3, &[4])]).warps(8);
    bench.gpu.sm.barrier_warp_cycles = Some(5);
    let run = bench.run();
    let first = |line| (0..8).map(|warp| issue(&run, warp, line)).min().unwrap();
    assert_eq!(first(1) - first(0), 8 * 5 + 1);
}

#[test]
fn a_taken_branch_costs_the_flush() {
    use config::BranchFetch::*;
    // The branch is the second of its fetch, with the wrong path yet to be fetched, or the first.
    let gap = |mode, lines: &[Line]| {
        let run = Bench::new(lines).gpu(|g| g.sm.frontend.branches = mode).run();
        let branch = lines.iter().position(|l| l.jump != 1).unwrap() as u32;
        (issue(&run, 0, branch + 1) - issue(&run, 0, branch), run.sm.counters().flushes)
    };
    let last_of_fetch = [add(1, &[2]), branch(2, 1), add(3, &[4]), add(5, &[6])];
    assert_eq!(gap(Oracle, &last_of_fetch), (1, 0));
    assert_eq!(gap(Stall, &last_of_fetch), (1, 0), "refetched in the cycle of the issue");
    assert_eq!(gap(SequentialFlush, &last_of_fetch), (3, 1));
    let run = Bench::new(&last_of_fetch).run();
    assert_eq!(run.sm.account().stalled(sm::Stall::Control), 1, "until the right path may be fetched");
    let first_of_fetch = [branch(2, 1), add(3, &[4]), add(5, &[6])];
    assert_eq!(gap(SequentialFlush, &first_of_fetch), (2, 1));
    let not_taken = [branch(2, 0), add(3, &[4]), add(5, &[6])];
    assert_eq!(gap(SequentialFlush, &not_taken), (1, 0));
    assert_eq!(gap(Stall, &not_taken), (1, 0));
}

#[test]
fn an_instruction_cache_miss_waits_for_the_memory() {
    let mut bench =
        Bench::new(&[add(1, &[2]), add(3, &[4])]).gpu(|g| g.sm.perfect_instruction_and_constant_caches = false);
    bench.memory_latency = 150;
    let run = bench.run();
    assert!((150..156).contains(&issue(&run, 0, 0)), "{}", issue(&run, 0, 0));
    assert_eq!(run.sm.counters().fetch_misses, 1, "one line holds all");
    let decoded = [0, 1].map(|i| run.sm.observer.at(0, i, 'D'));
    assert_eq!(decoded[0], decoded[1], "a whole fetch");
    assert!(run.sm.account().stalled(Stall::InstructionCache) >= 145);
}

#[test]
fn collectors_of_a_sub_core_take_turns() {
    // Eight warps per sub-core keep its unit busy: no instruction may wait in its collector while
    // later ones pass, whatever the other sub-cores do.
    let lines: Vec<_> = (0..64).map(|i| op(OpClass::FpFma, 20 + i % 8, &[20 + i % 8])).collect();
    let run = Bench::new(&lines).warps(32).timing(OpClass::FpFma, Unit::Sp, 5, 2).run();
    for sub_core in 0..4 {
        let mut entries = Vec::new();
        for warp in (sub_core..32).step_by(4) {
            for i in 0..64 {
                let at = |stage| run.sm.observer.at(warp, i, stage).unwrap();
                assert!(at('E') - at('I') <= 16, "warp {warp}, {i}: issued in {}, enters in {}", at('I'), at('E'));
                entries.push(at('E'));
            }
        }
        entries.sort_unstable();
        assert_eq!(entries[511] - entries[0], 511 * 2, "the unit of sub-core {sub_core} never idles");
    }
}

#[test]
fn fetch_that_stalls_waits_for_branches_that_fall_through() {
    use config::BranchFetch::*;
    let lines = [late(), waiting(branch(2, 0)), add(3, &[4]), add(5, &[6])];
    for (mode, waits) in [(Stall, true), (SequentialFlush, false), (Oracle, false)] {
        let bench = Bench::slow_sfu(&lines).gpu(|g| (g.sm.frontend.branches, g.sm.frontend.buffer_entries) = (mode, 4));
        let drawn = bench.run().sm.observer;
        assert_eq!(at(&drawn, 2, 'D') >= at(&drawn, 1, 'I'), waits, "{mode:?}");
    }
}

#[test]
fn beyond_the_end_of_a_program_nothing_is_fetched() {
    // The branch is the last of its fetch and of the program.
    let mut bench = Bench::new(&[]);
    bench.lines = vec![branch(2, 1), exit(), add(1, &[2]), branch(-2, 1)];
    let run = bench.run();
    assert_eq!(issue(&run, 0, 3) - issue(&run, 0, 2), 2);
}

#[test]
fn a_barrier_without_lanes_holds_nothing() {
    let run = Bench::new(&[sync(0, 0).mask(0), add(1, &[2])]).run();
    assert!(!run.deadlocked);
    assert_eq!(issue(&run, 0, 1) - issue(&run, 0, 0), 1);
}

#[test]
fn a_barrier_counts_a_part_of_a_warp_as_a_warp() {
    let mut bench = Bench::new(&[late(), waiting(add(2, &[])), sync(0, 40), add(3, &[4])]).warps(2);
    bench.skip = |warp, line| warp == 0 && line < 2;
    let run = bench.run();
    assert!(issue(&run, 0, 1) > issue(&run, 1, 2));
}

#[test]
fn released_warps_issue_in_the_same_cycle_if_their_scheduler_has_yet_to_come() {
    // Warp 0 waits for warp 1, whose scheduler comes first in one of four cycles.
    let same_cycle = (0..8).filter(|delay| {
        let lines = [late(), waiting(add(2, &[])), sync(0, 0), add(3, &[4])];
        let mut bench = Bench::new(&lines).warps(2).timing(OpClass::Sfu, Unit::Sfu, 20 + delay, 2);
        bench.options.decode_past_barriers = true;
        bench.skip = |warp, line| warp == 0 && line < 2;
        let run = bench.run();
        issue(&run, 0, 1) == issue(&run, 1, 2)
    });
    assert_eq!(same_cycle.count(), 2);
}

#[test]
fn schedulers_take_turns_at_a_latch_that_they_share() {
    let lines: Vec<_> = (0..12).map(|i| add(i + 1, &[])).collect();
    let bench = Bench::new(&lines).warps(2).timing(OpClass::IntAdd, Unit::Int, 4, 3).gpu(|g| {
        (g.sm.issue.schedulers, g.sm.operands.sub_cores) = (2, false);
        let int = g.sm.units.get_mut(&Unit::Int).unwrap();
        (int.count, int.issue_latches, int.dispatch_latches) = (1, 1, 1);
    });
    let run = bench.run();
    for warp in [0, 1] {
        assert!(issue(&run, warp, 3) < issue(&run, 1 - warp, 11), "warp {warp}");
    }
}

#[test]
fn nothing_issues_with_a_fence_that_holds_its_warp() {
    for before in 0..2 {
        let mut lines = vec![store(Space::Global, 1, 0, 4)];
        lines.extend((0..before).map(|i| add(10 + i, &[])));
        lines.extend([fence(), op(OpClass::FpAdd, 3, &[])]);
        let run = Bench::new(&lines).gpu(|g| g.sm.issue.width = 2).run();
        assert!(issue(&run, 0, 2 + u32::from(before)) > issue(&run, 0, 1 + u32::from(before)) + 150, "{before}");
    }
}

/// The cycles between which two independent instructions that issue together leave their collectors.
fn apart(first: OpClass, second: OpClass, ports: [u32; 2]) -> u64 {
    lines_apart(&[op(first, 1, &[]), op(second, 2, &[])], ports)
}

fn lines_apart(two: &[Line; 2], ports: [u32; 2]) -> u64 {
    let bench = Bench::new(two).gpu(|g| {
        (g.sm.issue.width, g.sm.issue.dual_issue_needs_different_units) = (2, false);
        (g.sm.operands.in_ports, g.sm.operands.out_ports) = (ports[0], ports[1]);
        g.sm.operands.reads_per_bank = 1;
        let int = g.sm.units.get_mut(&Unit::Int).unwrap();
        (int.issue_latches, int.dispatch_latches) = (8, 8);
    });
    let run = bench.run();
    assert_eq!(issue(&run, 0, 0), issue(&run, 0, 1));
    at(&run.sm.observer, 0, 'C').abs_diff(at(&run.sm.observer, 1, 'C'))
}

#[test]
fn ports_bound_what_enters_and_leaves_the_collectors_in_a_round() {
    use OpClass::{FpAdd, IntAdd};
    assert_eq!(apart(IntAdd, FpAdd, [8, 8]), 0);
    assert_eq!(apart(IntAdd, FpAdd, [8, 4]), 1, "one output port of a sub-core");
    assert_eq!(apart(IntAdd, IntAdd, [8, 8]), 0);
    assert_eq!(apart(IntAdd, IntAdd, [1, 8]), 1, "one input port");
}

/// Each reads one register, of the same bank or of another one.
#[test]
fn reads_of_a_bank_that_come_together_are_served_one_after_the_other() {
    let apart = |bank| lines_apart(&[add(1, &[4]), op(OpClass::FpAdd, 2, &[bank])], [8, 8]);
    assert_eq!([apart(8), apart(9)], [1, 0]);
}

#[test]
fn a_bank_that_is_written_serves_no_read_for_a_round() {
    // Two rounds in a cycle; the addition is written while the other reads, to the same bank or another one.
    let delay = |reads: u16| {
        let sources: Vec<_> = (2..2 + reads).map(|i| 4 * i).collect();
        let read = |dst| at(&Bench::new(&[add(dst, &[]), op(OpClass::IntMad, 1, &sources)]).run().sm.observer, 1, 'C');
        read(100) - read(101)
    };
    assert_eq!(delay(19) + delay(20), 1);
}

#[test]
fn reads_of_a_bank_queue() {
    let slow = op(OpClass::IntMad, 1, &[16, 32, 48, 64, 80, 96, 112]);
    let bench = Bench::new(&[slow, op(OpClass::FpAdd, 2, &[100])]);
    let drawn = bench.run().sm.observer;
    assert!(at(&drawn, 1, 'C') >= at(&drawn, 0, 'C'));
}

#[test]
fn the_memory_unit_waits_for_a_bank_that_a_unit_writes() {
    // One of the instructions after the load is written in its cycle.
    let written = |after: u16, dst| {
        let mut lines = vec![load(Space::Shared, 4, 0, 4)];
        lines.extend(stream(after + 1).zip(3..).map(|(line, i)| Line { dsts: vec![4 * (i % 24) + 1], ..line }));
        lines.last_mut().expect("there are some").dsts = vec![dst];
        at(&Bench::new(&lines).run().sm.observer, 0, 'W')
    };
    let delays = (0..40).map(|after| written(after, 8) - written(after, 9));
    assert_eq!(delays.sum::<u64>(), 1);
}

#[test]
fn ports_in_gpgpu_sim_s_order_go_from_sub_core_to_sub_core() {
    let lines: Vec<_> = stream(32).collect();
    let mut bench = Bench::new(&lines).warps(4).gpu(|g| {
        (g.sm.operands.out_ports, g.sm.operands.reads_per_bank) = (1, 1);
    });
    bench.options.collectors_as_gpgpu_sim = true;
    let drawn = bench.run().sm.observer;
    let mut left: Vec<_> =
        (0..4).flat_map(|w| (0..32).map(move |i| (w, i))).map(|(w, i)| (drawn.at(w, i, 'C').unwrap(), w)).collect();
    left.sort_unstable();
    for four in left[40..80].chunks(4) {
        assert_eq!(four.iter().fold(0, |set, &(_, warp)| set | 1 << warp), 0b1111, "{four:?}");
    }
}

#[test]
fn shared_stages_take_the_oldest_of_any_sub_core() {
    // Warps 1, 2 and 3 issue a cycle before warp 0. Then one of them enters in each cycle, or each interval.
    let follow = |bench: &Bench, letter| {
        let drawn = bench.run().sm.observer;
        let passed = [1, 2, 3, 0].map(|warp| drawn.at(warp, 0, letter).unwrap());
        let issued = [1, 3, 0].map(|warp| drawn.at(warp, 0, 'I').unwrap());
        assert!(issued[0] == issued[1] && issued[1] < issued[2]);
        [1, 2, 3].map(|i| passed[i] as i64 - passed[i - 1] as i64)
    };
    let mut ports = Bench::new(&[add(1, &[])]).warps(4).gpu(|g| {
        (g.sm.operands.in_ports, g.sm.operands.reads_per_bank) = (1, 1);
    });
    ports.options.collectors_as_gpgpu_sim = true;
    assert_eq!(follow(&ports, 'C'), [1; 3], "an input port");
    let unit = Bench::new(&[op(OpClass::Sfu, 1, &[])]).warps(4).timing(OpClass::Sfu, Unit::Sfu, 20, 4);
    let unit = unit.gpu(|g| g.sm.units.get_mut(&Unit::Sfu).unwrap().count = 1);
    assert_eq!(follow(&unit, 'E'), [4; 3], "a unit");
}

#[test]
fn one_instruction_ends_in_a_unit_in_a_cycle() {
    let entries = |classes: &[(OpClass, u32)]| {
        let lines: Vec<_> = classes.iter().zip(1..).map(|(&(class, _), dst)| op(class, dst, &[])).collect();
        let of = |bench: Bench, &(class, latency): &(OpClass, u32)| bench.timing(class, Unit::Int, latency, 2);
        let drawn = classes.iter().fold(Bench::new(&lines), of).run().sm.observer;
        (1..classes.len() as u32).map(|i| at(&drawn, i, 'E') - at(&drawn, i - 1, 'E')).collect::<Vec<_>>()
    };
    use OpClass::{IntAdd, IntMinMax, IntMul};
    assert_eq!(entries(&[(IntMul, 6), (IntAdd, 4)]), [3]);
    assert_eq!(entries(&[(IntMul, 20), (IntAdd, 4), (IntMinMax, 16)]), [2, 3], "one that is in it for longer");
}

#[test]
fn clients_of_the_write_back_register_take_turns() {
    let mut lines: Vec<_> = (0..60).map(|i| load(Space::Shared, i + 1, 0, 4)).collect();
    lines.push(load(Space::Global, 1, 0, 0).cached(CacheOp::L2));
    let mut bench = Bench::new(&lines).warps(2);
    bench.memory_latency = 20;
    bench.skip = |warp, line| line < 61 && (warp == 0) != (line < 60);
    let run = bench.run();
    let written = |warp, order| run.sm.observer.at(warp, order, 'W').unwrap();
    assert!(written(0, 0) < written(1, 0) + 10 && written(1, 0) < written(0, 30));
}

#[test]
fn an_access_without_lanes_goes_nowhere() {
    for space in [Space::Shared, Space::Global] {
        let run = Bench::new(&[load(space, 1, 0, 4).mask(0), add(2, &[1])]).run();
        assert_eq!(issue(&run, 0, 1) - issue(&run, 0, 0), 4, "{space:?}");
        assert_eq!((run.sm.counters().shared_accesses, run.sm.counters().global_accesses), (0, 0));
    }
}

#[test]
fn local_memory_uses_an_l1_that_global_memory_skips() {
    let hits = |space| {
        let lines = twice(load(space, 1, 0, 0));
        Bench::new(&lines).gpu(|g| g.sm.l1d.skip_global = true).run().sm.memory_counters().l1d.read_hits
    };
    assert!(hits(Space::Local) > 0);
    assert_eq!(hits(Space::Global), 0);
}

#[test]
fn local_memory_is_a_warp_s_own() {
    // Warp 1 loads when warp 0 has loaded, from the same address.
    let sleep = Line { sleep_cycles: 500, ..control(OpClass::Nop, isa::Control::Sleep, "nanosleep") };
    let mut bench = Bench::new(&[sleep, load(Space::Local, 1, 0, 0)]).warps(2);
    bench.skip = |warp, line| warp == 0 && line == 0;
    let run = bench.run();
    assert!(issue(&run, 1, 1) > run.sm.observer.at(0, 0, 'W').unwrap());
    assert_eq!(run.sm.memory_counters().l1d.read_hits, 0);
}

#[test]
fn parameters_and_constants_have_lines_of_their_own() {
    let lines = [load(Space::Constant, 1, 0, 0), add(2, &[1]), load(Space::Param, 3, 0, 0)];
    let run = Bench::new(&lines).gpu(|g| g.sm.perfect_instruction_and_constant_caches = false).run();
    assert_eq!(run.sm.memory_counters().constant.read_hits, 0);
    // Those of two launches, one after the other.
    let mut bench = Bench::new(&lines[2..]).gpu(|g| g.sm.perfect_instruction_and_constant_caches = false);
    (bench.ctas, bench.more_launches, bench.gpu.sm.max_ctas) = (2, vec![0], 1);
    assert_eq!(bench.run().sm.memory_counters().constant.read_hits, 0);
}

#[test]
fn a_kernel_beside_others_leaves_the_size_of_l1() {
    // The third CTA, of a launch with another carve-out, takes the slot of the first while the second sleeps.
    let sleep = |cycles| Line { sleep_cycles: cycles, ..control(OpClass::Nop, isa::Control::Sleep, "nanosleep") };
    let lines = [load(Space::Global, 1, 0, 4), add(2, &[1]), sleep(1000), load(Space::Global, 3, 0, 4), sleep(500)];
    let mut bench = Bench::new(&lines);
    bench.gpu.sm = config::load("accel-sim/v100").expect("a built-in GPU").sm;
    bench.gpu.sm.perfect_instruction_and_constant_caches = true;
    bench.gpu.sm.max_ctas = 2;
    (bench.ctas, bench.more_launches) = (3, vec![0, 40 << 10]);
    bench.skip = |cta, line| match cta {
        0 => line < 4,
        1 => line == 4,
        _ => line < 5,
    };
    let run = bench.run();
    assert_eq!((run.finished.len(), run.sm.memory_counters().l1d.read_hits), (3, 4));
}

#[test]
fn a_look_up_queue_of_l1_holds_as_many_as_its_latency() {
    // Two misses are under way; the loads after them wait in the queue of their bank, the next one before it.
    let lines: Vec<_> = (0..40).map(|i| load(Space::Global, 1 + i, 4096 * u64::from(i), 0)).collect();
    let bench = Bench { memory_latency: 1000, ..Bench::new(&lines) }.gpu(|g| {
        (g.sm.l1d.latency_cycles, g.sm.l1d.cache.mshr_entries) = (6, 2);
    });
    let drawn = bench.run().sm.observer;
    let entered = (0..40).filter(|&i| at(&drawn, i, 'E') < 1000).count();
    assert_eq!(entered, 2 + 6 + 1);
}

#[test]
fn the_pipe_of_shared_memory_holds_as_many_as_its_latency() {
    // Replies to warp 1 past L1 take every other turn of the write-back register, so that the pipe fills.
    let sleep = Line { sleep_cycles: 150, ..control(OpClass::Nop, isa::Control::Sleep, "nanosleep") };
    let mut lines = vec![sleep];
    lines.extend((0..80).map(|i| load(Space::Shared, 1 + i, 0, 4)));
    lines.extend((0..80).map(|i| load(Space::Global, 1 + i, 0, 0).cached(CacheOp::L2)));
    let mut bench = Bench { memory_latency: 200, ..Bench::new(&lines).warps(2) };
    bench.skip = |warp, line| line < 161 && (warp == 0) != (line < 81);
    let drawn = bench.run().sm.observer;
    let stages = gpu().sm.shared.latency_cycles;
    let ahead = (1..79 - stages).filter(|&i| at(&drawn, i + stages + 1, 'E') + 8 < at(&drawn, i, 'W'));
    assert_eq!(ahead.count(), 0);
    assert!((1..80).any(|i| at(&drawn, i, 'W') - at(&drawn, i, 'E') > u64::from(stages) + 10), "the pipe is full");
}

#[test]
fn the_port_of_a_constant_cache_serves_its_bytes_in_a_cycle() {
    for (bytes, cycles) in [(64, 1), (16, 4)] {
        let bench = Bench::new(&twice(load(Space::Constant, 1, 0, 64))).gpu(|g| {
            (g.sm.perfect_instruction_and_constant_caches, g.sm.constant_cache.port_bytes) = (false, bytes);
        });
        let run = bench.run();
        assert_eq!(issue(&run, 0, 3) - issue(&run, 0, 2), 4 + 31 * cycles, "{bytes} bytes");
    }
}

#[test]
fn a_fence_that_drops_l1_does_so_once() {
    let cta_fence = || control(OpClass::Fence, isa::Control::FenceCta, "membar.cta");
    let lines = [fence(), load(Space::Global, 1, 0, 4), cta_fence(), load(Space::Global, 2, 0, 4)];
    let run = Bench::new(&lines).gpu(|g| g.sm.l1d.fences_invalidate = InvalidatingFences::Device).run();
    assert!(run.sm.memory_counters().l1d.read_hits > 0);
}

#[test]
fn accesses_past_l1_and_misses_wait_for_room_at_the_port() {
    // 32 requests; the memory takes one in four cycles.
    let line = || load(Space::Global, 1, 0, 32);
    for line in [line().cached(CacheOp::L2), line()] {
        let mut bench = Bench { request_interval: 4, tick_every_cycle: true, ..Bench::new(&[line]) };
        bench.gpu.interconnect.input_buffer_packets = 5 * bench.gpu.sms_per_cluster;
        assert_eq!(bench.run().most_requests, 5);
    }
}
