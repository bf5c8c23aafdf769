//! Accesses of the modern core to memory, exact to the cycle: tables 1 and 2 of Huerta et al. (MICRO 2025).

use crate::modern::{CONFIG, bench, issues};
use crate::support;

use designs::modern::{Modern, ModernConfig};
use isa::{OpClass, SingleOperation, Space};
use sm::Timeline;
use support::*;

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
    // The paper has 39 cycles for the result (D10).
    assert_eq!(distances(&copy, &CONFIG, |_| {}), [13, 32]);
    let constant = |line: Line| distances(&line, &CONFIG, |_| {});
    let immediate = Line { single: Some(SingleOperation::ConstantLoad), ..op(OpClass::Move, 20, &[]) };
    // Of `LDC` the results are the paper's; its sources are read earlier than there, after 10 and 29 cycles (D11).
    assert_eq!(constant(immediate), [2, 26]);
    assert_eq!(constant(indexed_constant(20, 0)), [11, 29]);
    let direct = ModernConfig { memory_queues: false, ..CONFIG };
    assert_eq!(distances(&access(&to_global, 16, false), &direct, |_| {})[0], 2);
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

/// Cycles of a constant load that misses, besides memory latency: its stages to the cache, and from the reply to the
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
