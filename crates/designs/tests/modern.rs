//! The modern core, exact to the cycle: the experiments of Huerta et al. (MICRO 2025), by their numbers there.

use crate::support;

use config::{LatencyOf, Unit};
use designs::modern::{Dependences, Modern, ModernConfig};
use isa::{Control, CounterBound, Form, OpClass, SingleOperation, Space};
use sm::{CoreOptions, CoreSpec, Stall, Timeline, early_reads};
use support::*;

const CONFIG: ModernConfig = ModernConfig { instruction_caches: false, ..ModernConfig::DEFAULT };

/// Latencies count from issue to issue, and units take an instruction in each cycle.
pub(crate) fn bench(lines: &[Line]) -> Bench {
    let of_arithmetic = [(OpClass::IntAdd, Unit::Int), (OpClass::FpFma, Unit::Sp), (OpClass::FpMul, Unit::Sp)];
    let bench = Bench::new(lines).gpu(|g| {
        g.sm.latency = Some(LatencyOf::Issue);
        g.sm.issue.stall_counts = Some(true);
        g.sm.operands.banks = 8;
    });
    let bench = of_arithmetic.into_iter().fold(bench, |bench, (class, unit)| bench.timing(class, unit, 4, 1));
    bench.timing(OpClass::Sfu, Unit::Sfu, 20, 8)
}

fn draw(lines: &[Line]) -> Timeline {
    bench(lines).draw::<Modern>(&CONFIG)
}

/// An instruction without operands and with control bits.
fn plain(dst: u16) -> Line {
    add(dst, &[]).stall(1, false)
}

fn fma(dst: u16, srcs: &[u16]) -> Line {
    op(OpClass::FpFma, dst, srcs).stall(1, false)
}

/// Cycles from the issue of line 0 to the issues of the other lines.
fn issues(drawn: &Timeline, count: u32) -> Vec<u64> {
    (1..count).map(|order| at(drawn, order, 'I') - at(drawn, 0, 'I')).collect()
}

/// Cycles from one reading of the clock to another with `lines` between, which two other instructions enclose. The clock
/// is read in Control, from where the reader is in Allocate in the next cycle.
fn clocks(config: &ModernConfig, lines: &[Line]) -> u64 {
    let mut all = vec![plain(60), plain(61)];
    all.extend(lines.iter().cloned());
    all.extend([plain(62), plain(63)]);
    let drawn = bench(&all).draw::<Modern>(config);
    at(&drawn, all.len() as u32 - 1, 'C') - at(&drawn, 0, 'C')
}

/// Listing 1: two multiply-adds, the second with other registers R_X and R_Y.
#[test]
fn register_ports_are_reserved_for_three_cycles() {
    let second = |x, y| [fma(11, &[10, 12, 14]), fma(13, &[16, x, y])];
    for (x, y, cycles) in [(19, 21, 5), (18, 21, 6), (19, 18, 6), (18, 20, 7)] {
        assert_eq!(clocks(&CONFIG, &second(x, y)), cycles, "R{x}, R{y}");
        assert_eq!(clocks(&ModernConfig { ports: 2, ..CONFIG }, &second(x, y)), 5, "two ports, R{x}, R{y}");
    }
}

/// In a long row of the same: one cycle lost to two sources in a bank, two to three.
#[test]
fn conflicts_at_a_bank_limit_the_rate() {
    let row = |line: &dyn Fn(u16) -> Line| (0..40).map(|i| line(40 + i)).collect::<Vec<_>>();
    let per_instruction = |lines: &[Line]| {
        let drawn = draw(lines);
        (at(&drawn, 39, 'I') - at(&drawn, 9, 'I')) as f64 / 30.0
    };
    let two = |other| row(&|dst| op(OpClass::FpMul, dst, &[10, other]).stall(1, false));
    assert_eq!(per_instruction(&two(13)), 1.0);
    assert_eq!(per_instruction(&two(12)), 2.0);
    assert_eq!(per_instruction(&row(&|dst| fma(dst, &[10, 12, 14]))), 3.0);
    assert_eq!(per_instruction(&row(&|dst| fma(dst, &[10, 12, 15]))), 2.0);
}

/// Listing 2: nothing but the stall count keeps a reader from the value before.
#[test]
fn without_a_stall_count_the_old_value_is_read() {
    for stall in 1..6 {
        let lines = [op(OpClass::FpMul, 1, &[2]).stall(stall, false), fma(3, &[1])];
        assert_eq!(issues(&draw(&lines), 2), [u64::from(stall)]);
    }
    let lines = [op(OpClass::FpMul, 1, &[2]).stall(1, false), fma(3, &[1])];
    let held = ModernConfig { dependences: Dependences::Scoreboard, ..CONFIG };
    assert_eq!(issues(&bench(&lines).draw::<Modern>(&held), 2), [4]);
}

/// Listing 4: which reads the cache of operands spares.
#[test]
fn operands_are_kept_for_the_next_reader() {
    let reads = |config: &ModernConfig, lines: &[Line]| {
        bench(lines).run_design::<Modern, _>(config, Timeline::default()).sm.counters().register_reads
    };
    let line = |dst, srcs: &[u16], reused| op(OpClass::FpFma, dst, srcs).in_slots(reused);
    let rows = [
        // The second one finds R2, and does not keep it for the third.
        (vec![line(20, &[2, 7, 8], 1), line(21, &[2, 12, 13], 0), line(22, &[2, 9, 10], 0)], 1),
        (vec![line(20, &[2, 7, 8], 1), line(21, &[2, 12, 13], 1), line(22, &[2, 9, 10], 0)], 2),
        // In another position it is not found, and stays.
        (vec![line(20, &[2, 7, 8], 1), line(21, &[7, 2, 13], 0), line(22, &[2, 9, 10], 0)], 1),
        // Another register of its bank in its position makes it unavailable.
        (vec![line(20, &[2, 7, 8], 1), line(21, &[4, 12, 13], 0), line(22, &[2, 9, 10], 0)], 0),
    ];
    for (number, (lines, spared)) in rows.iter().enumerate() {
        assert_eq!(reads(&CONFIG, lines), 9 - spared, "example {}", number + 1);
        assert_eq!(reads(&ModernConfig { register_cache: false, ..CONFIG }, lines), 9, "example {}", number + 1);
    }
}

/// A kept operand of 64 bits spares a read of each bank; to another instruction, its halves are two registers.
#[test]
fn both_halves_of_an_operand_are_kept() {
    let pairs = |dst: u16, firsts: &[u16], reused| {
        let srcs: Vec<u16> = firsts.iter().flat_map(|&first| [first, first + 1]).collect();
        let mut line = op(OpClass::FpFma, dst, &srcs).stall(1, false).in_slots(reused);
        line.slots = std::array::from_fn(|i| firsts.get(i).map(|&first| first as u8));
        line
    };
    let per_instruction = |reused| {
        let drawn = draw(&(0..40).map(|i| pairs(40 + i, &[2, 4, 6], reused)).collect::<Vec<_>>());
        (at(&drawn, 39, 'I') - at(&drawn, 9, 'I')) as f64 / 30.0
    };
    assert_eq!([0, 1, 3, 7].map(per_instruction), [3.0, 2.0, 1.0, 1.0]);
    let reads = |second: Line| {
        let bench = bench(&[pairs(20, &[2, 8, 10], 1), second]);
        bench.run_design::<Modern, _>(&CONFIG, Timeline::default()).sm.counters().register_reads
    };
    let narrow = |srcs: &[u16]| op(OpClass::FpFma, 22, srcs).in_slots(0);
    assert_eq!([narrow(&[2, 8, 11]), narrow(&[3, 8, 11]), narrow(&[4, 8, 11])].map(reads), [8, 8, 9]);
}

/// Operands that are kept need no port.
#[test]
fn kept_operands_avoid_conflicts() {
    let lines = |reused| [fma(11, &[10, 12, 14]).in_slots(reused), fma(13, &[10, 12, 14]).in_slots(0)];
    assert_eq!([0, 1, 3, 7].map(|reused| clocks(&CONFIG, &lines(reused))), [7, 6, 5, 5]);
}

/// Issues of the four warps of one sub-core, by the place of each in the order of arrival, once all four have full
/// buffers and may begin: they sleep before.
fn order_of_warps(lines: &[Line], config: &ModernConfig) -> Vec<(u64, u64)> {
    let sleep =
        |cycles| Line { sleep_cycles: cycles, ..control(OpClass::Nop, Control::Sleep, "sleep").stall(1, false) };
    let all = [&[sleep(1), sleep(2)], lines].concat();
    let bench = Bench {
        // Other sub-cores have only their exits. The youngest warp sleeps twice, so that it issues last.
        skip: |warp, line| warp % 4 != 0 && line < 10 || warp != 12 && line == 1,
        per_warp: |warp, line| {
            line.sleep_cycles = match (line.sleep_cycles, warp) {
                (1, 12) => 30,
                (2, _) => 67,
                (1, _) => 89 + warp as u32 / 2,
                _ => 0,
            };
        },
        ..bench(&all)
    };
    let run = bench.warps(16).run_design::<Modern, _>(config, Issues::default());
    let issued: Vec<_> = run.sm.observer.0.iter().filter(|(_, warp, _)| warp % 4 == 0).collect();
    assert!(issued[5].0 > issued[4].0 + 50, "all wake together: {issued:?}");
    issued[5..].iter().map(|&&(now, warp, _)| (now, u64::from(warp) / 4)).collect()
}

/// Figure 4b: the second instruction of each warp has a stall count of 4.
#[test]
fn a_stall_count_passes_the_turn_to_the_youngest() {
    let lines: Vec<_> = (0..8).map(|i| if i == 1 { plain(40 + i).stall(4, false) } else { plain(40 + i) }).collect();
    let issued = order_of_warps(&lines, &CONFIG);
    let warps: Vec<_> = issued.iter().map(|&(_, warp)| warp).take(7).collect();
    assert_eq!(warps, [3, 3, 2, 2, 1, 1, 3]);
    // The last of them waits for its stall count alone: four bubbles.
    let of_last: Vec<_> = issued.iter().filter(|&&(_, warp)| warp == 0).map(|&(now, _)| now).collect();
    assert_eq!(of_last[2] - of_last[1], 4);
}

/// Figure 4c: the second instruction of each warp yields.
#[test]
fn a_yield_passes_the_turn_for_a_cycle() {
    let lines: Vec<_> = (0..8).map(|i| if i == 1 { plain(40 + i).stall(1, true) } else { plain(40 + i) }).collect();
    let issued = order_of_warps(&lines, &CONFIG);
    let warps: Vec<_> = issued.iter().map(|&(_, warp)| warp).take(6).collect();
    assert_eq!(warps, [3, 3, 2, 2, 3, 3]);
    assert_eq!(issues(&draw(&lines), 4), [1, 3, 4], "alone it is a bubble of one cycle");
}

/// Independent instructions of one warp issue back to back from a buffer of three.
#[test]
fn a_warp_alone_issues_in_each_cycle() {
    let lines: Vec<_> = (0..30).map(|i| plain(40 + i)).collect();
    assert_eq!(issues(&draw(&lines), 30), (1..30).collect::<Vec<_>>());
    let one = ModernConfig { instruction_buffer: 1, ..CONFIG };
    let drawn = bench(&lines).draw::<Modern>(&one);
    assert_eq!(at(&drawn, 29, 'I') - at(&drawn, 0, 'I'), 2 * 29, "a buffer of one runs dry");
}

/// A unit of half a warp's width takes an instruction in every second cycle; another one may issue between.
#[test]
fn units_that_are_busy_close_their_latch() {
    let lines: Vec<_> = (0..6).map(|i| fma(40 + i, &[])).collect();
    let half = bench(&lines).timing(OpClass::FpFma, Unit::Sp, 4, 2);
    assert_eq!(issues(&half.draw::<Modern>(&CONFIG), 6), [2, 4, 6, 8, 10]);
    let mixed: Vec<_> = (0..6).map(|i| if i % 2 == 0 { fma(40 + i, &[]) } else { plain(40 + i) }).collect();
    let half = bench(&mixed).timing(OpClass::FpFma, Unit::Sp, 4, 2);
    assert_eq!(issues(&half.draw::<Modern>(&CONFIG), 6), [1, 2, 3, 4, 5]);
}

/// A special function whose unit is busy waits in Control, and whatever would issue behind it.
#[test]
fn variable_latency_blocks_the_sub_core() {
    let sfu = |dst| op(OpClass::Sfu, dst, &[]).stall(1, false);
    let lines = [sfu(40), sfu(41), sfu(42), plain(43), fma(44, &[])];
    let issued = issues(&draw(&lines), 5);
    // The third one is in Control until the second has left the latch for its unit, eight cycles after the first.
    assert_eq!(issued[..3], [1, 2, 3]);
    assert!(issued[3] > 8, "{issued:?}");
}

/// A reader of the result of a special function waits for the counter; increments are seen after two cycles.
#[test]
fn dependence_counters_hold_their_readers() {
    let producer = |stall| op(OpClass::Sfu, 1, &[2]).stall(stall, false).bits(|bits| bits.write_barrier = Some(3));
    let reader = |mask| add(4, &[1]).bits(|bits| bits.wait_mask = mask);
    assert_eq!(issues(&draw(&[producer(2), reader(1 << 3)]), 2), [20]);
    assert_eq!(issues(&draw(&[producer(2), reader(1 << 2)]), 2), [2], "another counter");
    assert_eq!(issues(&draw(&[producer(1), reader(1 << 3)]), 2), [1], "too early to see it");
    let run = bench(&[producer(2), reader(1 << 3)]).run_design::<Modern, _>(&CONFIG, Timeline::default());
    assert!(run.sm.account().stalled(Stall::Raw) > 10);
}

/// `DEPBAR.LE` waits until a counter is low enough, and for others to be 0.
#[test]
fn a_bound_waits_for_the_older_ones() {
    let producer = |dst, counter| op(OpClass::Sfu, dst, &[]).bits(|bits| bits.write_barrier = Some(counter));
    let wait = |at_most, drained| {
        let line = plain(50).stall(4, false);
        Line { counter_bound: Some(CounterBound { counter: 5, at_most, drained }), ..line }
    };
    let issue = |at_most, drained| {
        let lines = [
            producer(1, 5),
            producer(2, 5).stall(2, false).bits(|b| b.write_barrier = Some(5)),
            wait(at_most, drained),
        ];
        issues(&draw(&lines), 3)[1]
    };
    // The unit takes the second one eight cycles after the first.
    assert_eq!([issue(2, 0), issue(1, 0), issue(0, 0)], [3, 20, 28]);
    assert_eq!(issue(2, 1 << 5), 28);

    // It sees what the instruction right before it counts; a wait mask does not.
    let behind =
        |wait: Line| issues(&draw(&[producer(1, 5).stall(1, false).bits(|b| b.write_barrier = Some(5)), wait]), 2)[0];
    assert_eq!([behind(wait(0, 0)), behind(wait(1, 0)), behind(wait(1, 1 << 5))], [20, 1, 20]);
    assert_eq!(behind(plain(50).bits(|bits| bits.wait_mask = 1 << 5)), 1);
}

/// An access of `bytes` a lane to `space`, whose address is in a register or uniform.
fn access(access: &Line, bytes: u8, uniform: bool) -> Line {
    let registers = u16::from(bytes / 4);
    let mut line = Line { srcs: if uniform { vec![] } else { vec![100] }, ..access.clone().bytes(bytes) };
    line.address.1 = if uniform { 0 } else { bytes.into() };
    if line.dsts.is_empty() {
        line.srcs.extend(40..40 + registers);
    } else {
        line.dsts = (20..20 + registers).collect();
    }
    line
}

/// On an RTX A6000, the cycles from the issue of `access` to the issue of a writer of its sources, and of a reader of its
/// result. Its lines are in L1.
fn distances(access: &Line, config: &ModernConfig, change: fn(&mut config::MemoryQueues)) -> [u64; 2] {
    let counted = |line: &Line| {
        line.clone().stall(2, false).bits(|bits| {
            (bits.write_barrier, bits.read_barrier, bits.wait_mask) = (Some(0), Some(1), 1);
        })
    };
    let before = counted(&load(Space::Global, 90, 0, 16));
    [1, 0].map(|counter| {
        let next = add(91, &[]).bits(|bits| bits.wait_mask = 1 << counter);
        let lines = [before.clone(), counted(access), next];
        let gpu = config::load("a6000").expect("a built-in GPU");
        let bench = Bench { gpu, ..bench(&lines) }.gpu(|g| change(&mut g.sm.memory_queues));
        let issued = issues(&bench.draw::<Modern>(config), 3);
        issued[1] - issued[0]
    })
}

/// Table 2: a write waits for the read of an older access, and a reader for its result, where the compiler has said so.
#[test]
fn accesses_take_as_long_as_in_table_2() {
    let rows = |line: &Line, uniform| {
        let all = [4, 8, 16].map(|bytes| distances(&access(line, bytes, uniform), &CONFIG, |_| {}));
        [0, 1].map(|which| all.map(|distances| distances[which]))
    };
    let [to_global, to_shared] = [Space::Global, Space::Shared].map(|space| load(space, 20, 0, 4));
    assert_eq!(rows(&to_global, true), [[9; 3], [29, 31, 35]]);
    assert_eq!(rows(&to_global, false), [[11; 3], [32, 34, 38]]);
    assert_eq!(rows(&to_shared, true), [[9; 3], [23, 23, 25]]);
    assert_eq!(rows(&to_shared, false), [[9; 3], [24, 24, 26]]);
    let [to_global, to_shared] = [Space::Global, Space::Shared].map(|space| store(space, 20, 0, 4));
    assert_eq!(rows(&to_global, true)[0], [10, 12, 16]);
    assert_eq!(rows(&to_global, false)[0], [14, 16, 20]);
    assert_eq!(rows(&to_shared, true)[0], [10, 12, 16]);
    assert_eq!(rows(&to_shared, false)[0], [12, 14, 18]);
    let copy = Line { srcs: vec![100, 101], ..copy_async(0) };
    assert_eq!(distances(&copy, &CONFIG, |_| {})[0], 13);
    let direct = ModernConfig { memory_queues: false, ..CONFIG };
    assert_eq!(distances(&access(&to_global, 16, false), &direct, |_| {})[0], 2);
}

/// What a load of constants that misses takes beside the time of memory: its stages to the cache, and from the reply to the
/// issue of a reader.
const BESIDE_MEMORY: u64 = 16;

/// Loads of constants by a register from `offsets`, each with a reader behind it, where memory takes `latency` cycles.
fn constant_loads(offsets: &[u64], stride: u64, latency: u64) -> Bench {
    let load = |&offset: &u64| {
        let load = Line { address: (offset, stride), ..indexed_constant(1, stride) };
        let load = load.stall(2, false).bits(|bits| bits.write_barrier = Some(0));
        [load, add(4, &[1]).stall(2, false).bits(|bits| bits.wait_mask = 1)]
    };
    let lines: Vec<_> = offsets.iter().flat_map(load).collect();
    let bench = bench(&lines).gpu(|g| {
        g.sm.constant_words_per_cycle = Some(1);
        g.sm.operation_latencies.indexed_constant_load_cycles = Some(29);
    });
    Bench { memory_latency: latency, ..bench }
}

/// `LDC` by a register hits in 29 cycles and a cycle for each further word, and misses as long as its line takes.
#[test]
fn constant_loads_look_up_a_cache() {
    let to_reader = |bench: &Bench, config| {
        let drawn = bench.draw::<Modern>(config);
        let loads = (0..bench.lines.len() as u32 / 2).map(|load| 2 * load);
        loads.map(|load| at(&drawn, load + 1, 'I') - at(&drawn, load, 'I')).collect::<Vec<_>>()
    };
    let looked_up = |bench: &Bench, config| {
        let run = bench.run_design::<Modern, _>(config, Timeline::default());
        let constant = run.sm.memory_counters().constant;
        (run.sm.counters().constant_accesses, constant.read_hits, constant.reads_missed())
    };
    let cached = ModernConfig::DEFAULT;
    for latency in [100, 200] {
        let bench = constant_loads(&[0, 0, 32, 64, 64], 0, latency);
        let miss = latency + BESIDE_MEMORY;
        assert_eq!(to_reader(&bench, &cached), [miss, 29, 29, miss, 29]);
        assert_eq!(looked_up(&bench, &cached), (5, 3, 2));
        // Without the caches, or without those of constants, all hit.
        let perfect = bench.clone().gpu(|g| g.sm.instruction_caches.perfect_constants = Some(true));
        for (bench, config) in [(&bench, &CONFIG), (&perfect, &cached)] {
            assert_eq!(to_reader(bench, config), [29; 5]);
            assert_eq!(looked_up(bench, config), (5, 0, 0));
        }
        bench.sleeping_changes_nothing::<Modern>(&cached);
        assert_eq!(bench.audit::<Modern>(&cached).total(), 0);
    }
    // 32 words of two lines: each line is looked up in one of the passes.
    let words = constant_loads(&[0, 0], 4, 100);
    assert_eq!(to_reader(&words, &cached)[1], 29 + 31);
    assert_eq!(looked_up(&words, &cached), (2, 2, 2));
    // Nine lines of a set of eight ways; with nine ways or eight sets they have room.
    let in_turn: Vec<u64> = (0..9).chain([0]).map(|line| 256 * line).collect();
    let in_turn = constant_loads(&in_turn, 0, 100);
    let misses = |change: fn(&mut config::InstructionCaches)| {
        looked_up(&in_turn.clone().gpu(|g| change(&mut g.sm.instruction_caches)), &cached).2
    };
    assert_eq!(misses(|_| {}), 10);
    assert_eq!(misses(|caches| caches.constant_load_ways = Some(9)), 9);
    assert_eq!(misses(|caches| caches.constant_load_sets = Some(8)), 9);
    // A kernel begins with an empty cache.
    let mut twice = constant_loads(&[0, 0], 0, 100);
    (twice.ctas, twice.more_launches) = (2, vec![twice.gpu.sm.max_shared_bytes_per_cta]);
    assert_eq!(looked_up(&twice, &cached), (4, 2, 2));
    // Loads of PTX may have been operands: they hit.
    let of_ptx = bench(&[load(Space::Constant, 1, 0, 4), add(4, &[1])]);
    assert_eq!(looked_up(&of_ptx, &cached), (1, 0, 0));
}

/// The load/store unit of other cores has no such cache, whatever its size.
#[test]
fn constant_loads_of_the_in_order_core_stay_as_they_are() {
    let drawn = |ways| {
        let bench = constant_loads(&[0, 64, 0], 4, 100);
        let bench = bench.gpu(|g| g.sm.instruction_caches.constant_load_ways = ways);
        let run = bench.run();
        assert_eq!(run.sm.memory_counters().constant.reads_missed(), 0);
        run.sm.observer.draw()
    };
    assert_eq!(drawn(None), drawn(Some(1)));
    assert_eq!(drawn(None), constant_loads(&[0, 64, 0], 4, 200).run().sm.observer.draw());
}

/// Table 1: issues of independent loads, from the first, by the sub-cores that have them.
#[test]
fn sub_cores_take_turns_at_the_shared_part() {
    let issued = |sub_cores: u32| -> Vec<Vec<u64>> {
        let lines: Vec<_> = (0..8).map(|i| load(Space::Global, 40 + i, 0, 4).stall(1, false)).collect();
        let run = bench(&lines).warps(sub_cores).run_design::<Modern, _>(&CONFIG, Issues::default());
        let of = |warp| run.sm.observer.0.iter().filter(move |issue| issue.1 == warp && issue.2 < 8);
        let first = run.sm.observer.0[0].0;
        (0..sub_cores as u16).map(|warp| of(warp).map(|issue| issue.0 - first + 2).collect()).collect()
    };
    let firsts = |of_sixth: [u64; 3]| [&[2, 3, 4, 5, 6][..], &of_sixth[..]].concat();
    assert_eq!(issued(1), [firsts([13, 17, 21])]);
    assert_eq!(issued(2), [firsts([13, 17, 21]), firsts([15, 19, 23])]);
    assert_eq!(issued(3), [firsts([13, 19, 25]), firsts([15, 21, 27]), firsts([17, 23, 29])]);
    assert_eq!(issued(4), [13, 15, 17, 19].map(|sixth| firsts([sixth, sixth + 8, sixth + 16])));
}

/// The first accesses of two sub-cores as their sizes and times change, one at a time.
#[test]
fn each_key_of_the_queues_counts() {
    let issued = |change: fn(&mut config::MemoryQueues)| -> [u64; 4] {
        let lines: Vec<_> = (0..8).map(|i| load(Space::Global, 40 + i, 0, 4).stall(1, false)).collect();
        let bench = bench(&lines).gpu(|g| change(&mut g.sm.memory_queues)).warps(2);
        let run = bench.run_design::<Modern, _>(&CONFIG, Issues::default());
        let of = |warp, order| run.sm.observer.0.iter().find(|i| (i.1, i.2) == (warp, order)).expect("it issues").0;
        let first = run.sm.observer.0[0].0;
        [of(0, 4), of(0, 5), of(1, 5), of(0, 6)].map(|now| now - first + 2)
    };
    assert_eq!(issued(|_| {}), [6, 13, 15, 17]);
    assert_eq!(issued(|q| q.accesses = Some(6)), [6, 7, 7, 13]);
    assert_eq!(issued(|q| q.unit_cycles = Some(10)), [6, 15, 17, 19]);
    assert_eq!(issued(|q| q.shared_cycles = Some(1)), [6, 13, 14, 17]);
    assert_eq!(issued(|q| q.address_cycles = Some(6)), [6, 13, 15, 19]);
    let taken = |change| {
        let loads = [access(&load(Space::Global, 20, 0, 4), 8, true), access(&load(Space::Shared, 20, 0, 4), 8, false)];
        let of = |line: &Line| distances(line, &CONFIG, change);
        [of(&loads[0])[1], of(&loads[1])[1], of(&access(&store(Space::Global, 20, 0, 4), 8, false))[0]]
    };
    assert_eq!(taken(|_| {}), [31, 24, 16]);
    assert_eq!(taken(|q| q.address_cycles = Some(6)), [30, 24, 16], "a larger half is saved");
    assert_eq!(taken(|q| q.gather_cycles = Some(3)), [29, 24, 16], "the unit has less of the latency");
    assert_eq!(taken(|q| q.register_cycles = Some(3)), [32, 24, 18]);
}

/// An access alone takes as long as without queues: the description's latency from issue to use.
#[test]
fn latencies_are_those_of_the_description() {
    let distance = |space, config: &ModernConfig| {
        let first = load(space, 1, 0, 4).stall(2, false).bits(|bits| bits.write_barrier = Some(0));
        // The line is there when the second one comes.
        let second = load(space, 2, 0, 4).stall(2, false).bits(|bits| {
            (bits.write_barrier, bits.wait_mask) = (Some(1), 1);
        });
        let reader = add(4, &[2]).bits(|bits| bits.wait_mask = 2);
        let issued = issues(&bench(&[first, second, reader]).draw::<Modern>(config), 3);
        issued[1] - issued[0]
    };
    let direct = ModernConfig { memory_queues: false, ..CONFIG };
    for space in [Space::Global, Space::Shared] {
        assert_eq!(distance(space, &CONFIG), distance(space, &direct), "{space:?}");
    }
}

/// Operations whose latencies differ from their class's, and readers that await their counters.
#[test]
fn operations_have_latencies_of_their_own() {
    let issue = |single: Option<SingleOperation>, class, srcs: &[u16], given: bool| {
        let producer = Line { single, ..op(class, 1, srcs) }.stall(2, false);
        let producer = producer.bits(|bits| bits.write_barrier = Some(0));
        let lines = [producer, add(4, &[1]).bits(|bits| bits.wait_mask = 1)];
        let bench = bench(&lines).gpu(|g| {
            let own = &mut g.sm.operation_latencies;
            if given {
                (own.constant_load_cycles, own.indexed_constant_load_cycles) = (Some(26), Some(29));
                (own.special_register_cycles, own.uniform_move_cycles) = (Some(25), Some(22));
                (own.vote_cycles, own.word_to_float_cycles) = (Some(24), Some(23));
            }
        });
        issues(&bench.draw::<Modern>(&CONFIG), 2)[0]
    };
    let rows = [
        (Some(SingleOperation::ConstantLoad), OpClass::IntAdd, vec![], 26),
        (Some(SingleOperation::ConstantLoad), OpClass::IntAdd, vec![2], 29),
        (Some(SingleOperation::SpecialRegister), OpClass::IntAdd, vec![], 25),
        (Some(SingleOperation::UniformMove), OpClass::IntAdd, vec![], 22),
        (Some(SingleOperation::Vote), OpClass::IntAdd, vec![], 24),
        (Some(SingleOperation::WordToFloat), OpClass::Sfu, vec![2], 23),
        (None, OpClass::IntAdd, vec![2], 4),
    ];
    for (single, class, srcs, cycles) in rows {
        assert_eq!(issue(single, class, &srcs, true), cycles, "{single:?}");
        let of_class = if class == OpClass::Sfu { 20 } else { 4 };
        assert_eq!(issue(single, class, &srcs, false), of_class, "{single:?}");
    }
    // By words, as the memory stage serves them: one access for each, and the latency from the first to the last.
    for (stride, words, cycles) in [(0, Some(1), 29), (4, Some(1), 29 + 31), (4, Some(2), 29 + 15), (4, None, 29)] {
        let load = indexed_constant(1, stride).stall(2, false).bits(|bits| bits.write_barrier = Some(0));
        let bench = bench(&[load, add(4, &[1]).bits(|bits| bits.wait_mask = 1)]).gpu(|g| {
            g.sm.constant_words_per_cycle = words;
            g.sm.operation_latencies.indexed_constant_load_cycles = Some(29);
        });
        for memory_queues in [true, false] {
            let config = ModernConfig { memory_queues, ..CONFIG };
            assert_eq!(issues(&bench.draw::<Modern>(&config), 2), [cycles], "stride {stride}, {words:?} words a cycle");
        }
    }
    let load = Line { single: Some(SingleOperation::ConstantLoad), ..op(OpClass::IntAdd, 1, &[]) };
    let lines = [load, add(4, &[1])];
    let in_order = [None, Some(26)].map(|cycles| {
        let bench = bench(&lines).gpu(|g| g.sm.operation_latencies.constant_load_cycles = cycles);
        issues(&bench.draw::<sm::InOrder>(&Default::default()), 2)
    });
    assert_eq!(in_order[0], in_order[1], "other designs have the latencies of classes");
}

/// Programs without control bits have scoreboards, which keep all orders; an SM that sleeps is the one that is ticked in
/// each cycle, with and without bits.
#[test]
fn random_programs_keep_their_order() {
    for seed in 0..24 {
        let other = |_: &mut Dice, _: u64, [dst, a, _]: [u16; 3]| op(OpClass::FpAdd, dst, &[a]);
        let lines = random_program(seed, &[Space::Global, Space::Shared], 18, other);
        let random = Bench { tick_every_cycle: false, ..bench(&lines) }.warps(12);
        for config in [CONFIG, ModernConfig::DEFAULT] {
            random.sleeping_changes_nothing::<Modern>(&config);
            let found = random.audit::<Modern>(&config);
            assert_eq!(found.total(), 0, "seed {seed}: {found:?}");
        }
        let dice = &mut Dice(seed + 100);
        let scheduled: Vec<_> = lines
            .iter()
            .map(|line| {
                let (stall, yields) = (dice.below(16) as u8, dice.below(4) == 0);
                let (wait_mask, reuse) = (dice.below(64) as u8, dice.below(8) as u8);
                let barrier = |dice: &mut Dice| Some(dice.below(8) as u8).filter(|&b| b < 6);
                let (write_barrier, read_barrier) = (barrier(dice), barrier(dice));
                line.clone().in_slots(reuse).stall(stall, yields).bits(|bits| {
                    (bits.wait_mask, bits.reuse) = (wait_mask, reuse);
                    (bits.write_barrier, bits.read_barrier) = (write_barrier, read_barrier);
                })
            })
            .collect();
        let random = Bench { tick_every_cycle: false, ..bench(&scheduled) }.warps(12);
        random.sleeping_changes_nothing::<Modern>(&CONFIG);
        random.sleeping_changes_nothing::<Modern>(&ModernConfig::DEFAULT);
    }
}

/// The reads of `lines` that come too early by the latencies of the bench: writer, reader, distance and the one needed.
fn early(lines: &[Line]) -> Vec<(u32, u32, u32, Option<u32>)> {
    let bench = bench(lines);
    let run = bench.run_design::<Modern, _>(&CONFIG, Issues::default());
    let spec = CoreSpec::new(&bench.gpu, Form::Sass, CoreOptions::default()).expect("a sound GPU");
    let found = early_reads(&run.kernels[0].code.program, &spec);
    found.iter().map(|e| (e.writer.0, e.reader.0, e.distance, e.needed)).collect()
}

#[test]
fn early_reads_are_found() {
    let writer = |stall| op(OpClass::FpMul, 1, &[2]).stall(stall, false);
    assert_eq!(early(&[writer(3), fma(3, &[1])]), [(0, 1, 3, Some(4))]);
    assert_eq!(early(&[writer(4), fma(3, &[1])]), []);
    // The stall counts of all between add up.
    assert_eq!(early(&[writer(1), plain(9).stall(2, false), fma(3, &[1])]), [(0, 2, 3, Some(4))]);
    assert_eq!(early(&[writer(1), plain(9).stall(3, false), fma(3, &[1])]), []);
    assert_eq!(early(&[writer(1), plain(1), fma(3, &[1]).stall(4, false), fma(4, &[3])]), [(1, 2, 1, Some(4))]);
    let load = |stall| load(Space::Global, 1, 0, 4).stall(stall, false).bits(|bits| bits.write_barrier = Some(2));
    let reader = |mask| fma(3, &[1]).bits(|bits| bits.wait_mask = mask);
    assert_eq!(early(&[load(2), reader(1 << 2)]), []);
    assert_eq!(early(&[load(2), reader(1 << 3)]), [(0, 1, 2, None)], "another counter");
    assert_eq!(early(&[load(1), reader(1 << 2)]), [(0, 1, 1, None)], "before the counter is seen");
    let bound = Line { counter_bound: Some(CounterBound { counter: 2, at_most: 0, drained: 0 }), ..plain(50) };
    assert_eq!(early(&[load(1), bound.stall(4, false), fma(3, &[1])]), []);
}

/// Texture reads that end in any order are counted off in theirs: a bounded wait is for the oldest.
#[test]
fn texture_reads_are_counted_off_in_order() {
    let texture = |dst, address, counter| {
        let line =
            load(Space::Texture, dst, address, 4).stall(2, false).bits(|bits| bits.write_barrier = Some(counter));
        Line { class: OpClass::Texture, ..line }
    };
    // The third one hits the line that the first has brought.
    let wait = plain(50).bits(|bits| bits.wait_mask = 2);
    let bound = Line { counter_bound: Some(CounterBound { counter: 0, at_most: 1, drained: 0 }), ..plain(51) };
    let lines = [texture(1, 0, 1), wait, texture(2, 4096, 0), texture(3, 0, 0), bound, add(4, &[2])];
    let drawn = draw(&lines);
    let ends = |order| at(&drawn, order, 'W');
    assert!(ends(3) < ends(2), "the younger one ends first");
    assert!(at(&drawn, 4, 'I') >= ends(2), "the wait is for the older one");
}
