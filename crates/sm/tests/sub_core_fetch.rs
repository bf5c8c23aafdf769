//! The front end of sub-cores, exact to the cycle: Huerta et al., MICRO 2025, sections 5.1.1 and 5.2.

use crate::support;

use isa::{OpClass, Space};
use kit::Cycle;
use kit::persist::Archive;
use sm::operands::{CollectorRules, Collectors};
use sm::{
    ConfigOf, CoreDesign, CoreOptions, CoreSpec, InOrder, LoadStoreUnit, Stall, SubCoreCaches, SubCoreFetch, Timeline,
    Units, With,
};
use support::*;

/// The in-order core with this front end, as the description has it.
type SubCores = With<SubCoreFetch, InOrder>;

/// The same with a stream buffer of `LINES` lines, and an L0 of one line if it `THRASHES`.
struct Streams<const LINES: u32, const THRASHES: bool = false, const PERFECT: bool = false>;

/// The same with caches that always hit.
type Perfect = Streams<8, false, true>;

impl<const LINES: u32, const THRASHES: bool, const PERFECT: bool> CoreDesign for Streams<LINES, THRASHES, PERFECT> {
    type FrontEnd = SubCoreFetch;
    type Issue = InOrder;
    type Operands = Collectors;
    type Execution = Units;
    type Memory = LoadStoreUnit;

    fn operands(_: &ConfigOf<InOrder>, spec: &CoreSpec) -> Collectors {
        Collectors::new(spec, CollectorRules::default())
    }

    fn front_end(_: &ConfigOf<InOrder>, spec: &CoreSpec) -> SubCoreFetch {
        let mut caches = SubCoreCaches { stream_buffer_lines: LINES, perfect: PERFECT, ..SubCoreCaches::of(spec) };
        if THRASHES {
            (caches.l0.sets, caches.l0.ways) = (1, 1);
        }
        SubCoreFetch::with_caches(spec, &caches)
    }
}

/// Instructions of a line.
const IN_LINE: u64 = 8;
/// From a look-up in L0 that misses to the next one, where L1 has the line: there, back, and the look-up.
const FROM_L1: Cycle = 39 + 39 + 1;
/// The same from the memory: L1 asks it in the cycle after its look-up, and the reply is there after its latency.
const FROM_MEMORY: Cycle = FROM_L1 + 1 + 200;
/// From the fetch of an instruction to its issue.
const TO_ISSUE: Cycle = 2;

/// A GPU whose instruction buffers have the paper's three entries, filled one by one.
fn bench(lines: &[Line]) -> Bench {
    Bench::new(lines).gpu(|g| (g.sm.frontend.instructions_per_fetch, g.sm.frontend.buffer_entries) = (1, 3))
}

fn issues<D: CoreDesign<Issue = InOrder>>(bench: &Bench) -> Vec<(Cycle, u16, u32)> {
    let run = bench.run_design::<D, _>(&(), Issues::default());
    assert!(!run.deadlocked, "{:?}", run.sm.describe_stalls(&run.kernels));
    run.sm.observer.0
}

/// Cycles in which the instructions of one warp issue.
fn cycles<D: CoreDesign<Issue = InOrder>>(bench: &Bench) -> Vec<Cycle> {
    issues::<D>(bench).iter().map(|issue| issue.0).collect()
}

#[test]
fn a_cold_start_takes_the_way_to_memory_and_back() {
    let lines: Vec<_> = stream(6).collect();
    let first = FROM_MEMORY + TO_ISSUE;
    assert_eq!(cycles::<SubCores>(&bench(&lines)), (first..first + 7).collect::<Vec<_>>());
    let run = bench(&lines).run_design::<SubCores, _>(&(), Timeline::default());
    // From the cycle after the miss to the cycle in which the line comes.
    assert_eq!(run.sm.account().stalled(Stall::InstructionCache), FROM_MEMORY - 1);
    assert_eq!((run.sm.counters().fetch_misses, run.sm.icache_counters().read_misses), (1, 1));
}

/// When the instructions of a straight line issue whose lines are prefetched into a stream buffer of `room` lines.
fn straight(count: u64, room: u64) -> Vec<Cycle> {
    let mut issues = Vec::new();
    let lines = count.div_ceil(IN_LINE) as usize + room as usize + 1;
    // When each line is requested.
    let mut requested = vec![None; lines];
    let mut now = 0;
    for line in 0..count.div_ceil(IN_LINE) as usize {
        let at = *requested[line].get_or_insert(now);
        if line == 0 || room == 0 {
            // The stream is filled from the next cycle on, a line in each.
            (1..=room as usize).for_each(|next| requested[next] = Some(now + next as u64));
        } else {
            // The head of the stream leaves room for another one.
            requested[line + room as usize] = Some(now + 1);
        }
        now = now.max(at + FROM_MEMORY);
        issues.extend((0..IN_LINE).map(|place| now + place + TO_ISSUE));
        now += IN_LINE;
    }
    issues.truncate(count as usize);
    issues
}

#[test]
fn a_straight_line_is_prefetched_as_far_as_the_stream_buffer_has_room() {
    let lines: Vec<_> = stream(100).collect();
    let bench = bench(&lines);
    assert_eq!(cycles::<Streams<0>>(&bench), straight(101, 0));
    assert_eq!(cycles::<Streams<1>>(&bench), straight(101, 1));
    assert_eq!(cycles::<Streams<3>>(&bench), straight(101, 3));
    assert_eq!(cycles::<Streams<8>>(&bench), straight(101, 8));
    assert_eq!(cycles::<SubCores>(&bench), straight(101, 8), "8 lines are the default");
    let two = bench.gpu(|g| g.sm.instruction_caches.stream_buffer_lines = Some(2));
    assert_eq!(cycles::<SubCores>(&two), straight(101, 2));
    // The last instruction is the fifth of the thirteenth line. Without a stream each line is waited for. With eight
    // prefetches the tenth is: it is requested when the second leaves the stream.
    let last = 4 + TO_ISSUE;
    let ends = [13 * FROM_MEMORY + 12 * IN_LINE + last, FROM_MEMORY + IN_LINE + 1 + FROM_MEMORY + 3 * IN_LINE + last];
    assert_eq!([0, 8].map(|room| straight(101, room)[100]), ends);
}

/// The statistic `name` of a front end.
fn statistic<D: CoreDesign>(run: &Run<Timeline, D>, name: &str) -> u64 {
    let mut sum = sm::SmTotals::default();
    gpu::Core::count(&run.sm, &mut sum);
    sum.design.0.iter().find(|statistic| statistic.info.name == name).expect("it is counted").count
}

#[test]
fn prefetches_are_counted() {
    let lines: Vec<_> = stream(100).collect();
    let run = bench(&lines).run_design::<SubCores, _>(&(), Timeline::default());
    let count = |name| statistic(&run, name);
    // Of 13 lines the first is missed; the last ones prefetched are not asked for.
    assert_eq!((count("prefetches"), count("prefetches_used"), count("prefetches_unused")), (20, 12, 0));
    // Three of them have yet to come to L1.
    assert_eq!((count("l1_instruction_hits"), count("l1_instruction_misses")), (0, 18));
    assert_eq!(run.sm.icache_counters().accesses() - run.sm.icache_counters().reads_missed(), 101);
}

/// The fourth line is in the stream when it is asked for, and not at its head.
#[test]
fn a_line_within_the_stream_begins_another_one() {
    let lines: Vec<_> = [branch(24, 1)].into_iter().chain(stream(40)).collect();
    let run = bench(&lines).run_design::<SubCores, _>(&(), Timeline::default());
    assert_eq!(statistic(&run, "prefetches_unused"), 8);
    assert!(at(&run.sm.observer, 1, 'I') - at(&run.sm.observer, 0, 'I') >= FROM_L1);
}

/// The third line is fetched before the second, whose stream has nothing to prefetch.
#[test]
fn a_stream_stops_at_a_line_that_is_there() {
    let mut lines: Vec<_> = [branch(16, 1)].into_iter().chain(stream(15)).collect();
    lines.push(branch(-8, 1));
    lines.extend(stream(3));
    let run = bench(&lines).run_design::<Streams<1>, _>(&(), Timeline::default());
    let counts = ["prefetches", "prefetches_used", "prefetches_unused"].map(|name| statistic(&run, name));
    // The second line is prefetched and dropped, then the fourth.
    assert_eq!(counts, [2, 0, 2]);
}

#[test]
fn a_loop_that_fits_is_fetched_once() {
    let mut lines: Vec<_> = stream(31).collect();
    lines.push(branch(-31, 9));
    let run = bench(&lines).run_design::<Streams<0>, _>(&(), Timeline::default());
    assert_eq!(run.sm.counters().warp_instructions, 321);
    // 33 instructions are five lines.
    assert_eq!((run.sm.icache_counters().read_misses, run.sm.counters().requests), (5, 5));
}

/// An L0 of one line, and a loop over two.
#[test]
fn a_line_that_l1_has_is_79_cycles_away() {
    let mut lines: Vec<_> = stream(15).collect();
    lines.push(branch(-15, 3));
    let at = cycles::<Streams<0, true>>(&bench(&lines));
    let expected = |place: usize| at[16 + place] + FROM_L1 + IN_LINE;
    // From the second turn on, each line is in L1: from one line's first instruction to the other's.
    assert_eq!(at[16 + 8], expected(0));
    assert_eq!(at[32 + 8], at[32] + FROM_L1 + IN_LINE);
    assert_eq!(FROM_L1, 79);
}

#[test]
fn sub_cores_that_miss_one_line_ask_the_memory_once() {
    let lines: Vec<_> = stream(6).collect();
    let run = bench(&lines).warps(2).run_design::<Streams<0>, _>(&(), Timeline::default());
    assert_eq!((run.sm.icache_counters().read_misses, run.sm.counters().requests), (2, 1));
    let first = |warp| run.sm.observer.at(warp, 0, 'I').expect("it issues");
    // The second request enters the path a cycle later, but the replies leave L1 one after the other.
    assert_eq!((first(0), first(1)), (FROM_MEMORY + TO_ISSUE, FROM_MEMORY + TO_ISSUE + 1));
}

#[test]
fn descriptions_since_volta_have_the_caches_of_their_generation() {
    for (name, l0_kib) in [("v100", 12), ("gv100", 12), ("rtx2060s", 16), ("a100", 32), ("a6000", 32), ("h100", 32)] {
        let gpu = config::load(name).expect("a built-in GPU");
        let spec = CoreSpec::new(&gpu, isa::Form::Sass, CoreOptions::default()).expect("a sound GPU");
        let SubCoreCaches { l0, l1, stream_buffer_lines, to_l1_cycles, from_l1_cycles, .. } = SubCoreCaches::of(&spec);
        assert_eq!((l0.capacity_bytes() >> 10, l1.capacity_bytes() >> 10, stream_buffer_lines), (l0_kib, 128, 8));
        assert_eq!(Cycle::from(to_l1_cycles + from_l1_cycles) + 1, FROM_L1, "{name}");
    }
}

#[test]
fn perfect_caches_leave_fetch_and_decode() {
    let lines: Vec<_> = stream(20).collect();
    let run = bench(&lines).run_design::<Perfect, _>(&(), Timeline::default());
    let at: Vec<_> = (0..21).map(|order| at(&run.sm.observer, order, 'I')).collect();
    assert_eq!(at, (TO_ISSUE..TO_ISSUE + 21).collect::<Vec<_>>());
    assert_eq!(run.sm.counters().requests, 0);
}

#[test]
fn the_right_path_is_fetched_in_the_cycle_after_a_taken_branch() {
    let lines: Vec<_> = [branch(2, 1)].into_iter().chain(stream(4)).collect();
    let at = cycles::<SubCores>(&bench(&lines));
    assert_eq!(at[1] - at[0], 3, "fetch, decode, issue");
    let later = bench(&lines).gpu(|g| g.sm.instruction_caches.taken_branch_cycles = Some(9));
    let at = cycles::<SubCores>(&later);
    assert_eq!(at[1] - at[0], 9);
    let not_taken: Vec<_> = [branch(2, 0)].into_iter().chain(stream(4)).collect();
    let at = cycles::<SubCores>(&bench(&not_taken));
    assert_eq!(at[1] - at[0], 1);
}

/// Figure 4a: four warps of a sub-core, lines that come one after the other.
#[test]
fn a_miss_hands_over_to_the_youngest_warp_which_runs_to_its_end() {
    let lines: Vec<_> = stream(31).collect();
    let mut bench = bench(&lines).warps(4).scheduler("gty").gpu(|g| g.sm.issue.schedulers = 1);
    (bench.request_interval, bench.tick_every_cycle) = (11, true);
    let warps: Vec<_> = issues::<SubCores>(&bench).iter().map(|issue| issue.1).collect();
    let turns: Vec<_> = warps.chunk_by(|a, b| a == b).map(|turn| (turn[0], turn.len())).collect();
    assert_eq!(turns, [(3, 8), (2, 32), (3, 24), (1, 32), (0, 32)]);
}

/// CTAs of which an SM holds one at a time.
#[test]
fn caches_lose_constants_when_a_kernel_begins_and_code_unless_it_is_kept() {
    let code: Vec<_> = stream(6).collect();
    let with_constant: Vec<_> = stream(6).map(|line| line.constant(0)).collect();
    let requests = |lines: &[Line], keeps_code, launches: &[u32]| {
        let mut bench = bench(lines).gpu(|gpu| gpu.launch.keeps_code = keeps_code);
        (bench.ctas, bench.shared_bytes) = (4, bench.gpu.sm.max_shared_bytes_per_cta);
        bench.more_launches = launches.to_vec();
        bench.run_design::<Streams<0>, _>(&(), Timeline::default()).sm.counters().requests
    };
    let in_turn = [bench(&code).gpu.sm.max_shared_bytes_per_cta];
    assert_eq!(requests(&code, None, &[]), 1, "the CTAs of one launch");
    assert_eq!(requests(&code, None, &in_turn), 4, "two launches in turn");
    assert_eq!(requests(&code, Some(true), &in_turn), 1);
    assert_eq!([None, Some(true)].map(|keeps| requests(&with_constant, keeps, &in_turn)), [8, 5]);
}

/// A cache of constant operands of one line, which two constants of different lines take turns in.
fn constants_in_turn() -> Bench {
    let lines: Vec<_> = stream(6).enumerate().map(|(at, line)| line.constant(64 * (at as u16 % 2))).collect();
    bench(&lines)
        .gpu(|g| (g.sm.instruction_caches.constant_sets, g.sm.instruction_caches.constant_ways) = (Some(1), Some(1)))
}

#[test]
fn a_missed_constant_costs_79_cycles_where_l1_has_it() {
    let bench = constants_in_turn();
    let at = cycles::<SubCores>(&bench);
    // Both offsets are in one line of L1. An instruction is looked up in the cycle after the one before it has issued.
    let first = FROM_MEMORY + TO_ISSUE + FROM_MEMORY;
    assert_eq!(at[..6], [0, 1, 2, 3, 4, 5].map(|miss| first + miss * (1 + FROM_L1)));
    assert_eq!(at[6], at[5] + 1, "the exit has no constant");
    let perfect = bench.clone().gpu(|g| g.sm.instruction_caches.perfect_constants = Some(true));
    assert_eq!(cycles::<SubCores>(&perfect), (0..7).map(|at| FROM_MEMORY + TO_ISSUE + at).collect::<Vec<_>>());
    let two_ways = bench.clone().gpu(|g| g.sm.instruction_caches.constant_ways = Some(2));
    let at = cycles::<SubCores>(&two_ways);
    assert_eq!(at[2..], [1, 2, 3, 4, 5].map(|hit| at[1] + hit));
    // Other front ends look up no constants.
    let plain = Bench { lines: stream(6).chain([exit()]).collect(), ..bench.clone() };
    assert_eq!(bench.draw::<InOrder>(&()).draw(), plain.draw::<InOrder>(&()).draw());
}

#[test]
fn constants_of_instructions_without_a_fixed_latency_are_not_looked_up() {
    let lines = [op(OpClass::Sfu, 1, &[2]).constant(0), load(Space::Global, 3, 0, 4).constant(0)];
    let at = cycles::<SubCores>(&bench(&lines));
    assert_eq!(at, [0, 1, 2].map(|order| FROM_MEMORY + TO_ISSUE + order));
}

/// Section 5.1.1: four cycles without an issue, then the youngest other warp.
#[test]
fn a_missed_constant_holds_its_sub_core_for_four_cycles() {
    for hold in [None, Some(4), Some(6)] {
        let mut lines = vec![add(20, &[]).constant(0)];
        lines.extend(stream(12));
        let mut bench = bench(&lines).warps(5).scheduler("gty");
        bench.gpu.sm.instruction_caches.constant_hold_cycles = hold;
        // The younger warp of the first sub-core reads a constant, the older one does not.
        bench.skip = |warp, line| warp != 4 && line == 0;
        let run = bench.run_design::<SubCores, _>(&(), Timeline::default());
        let at = |warp, order| run.sm.observer.at(warp, order, 'I').expect("it issues");
        let missed = FROM_MEMORY + TO_ISSUE;
        assert_eq!(at(4, 0), missed + FROM_MEMORY);
        assert_eq!(at(0, 0), missed + Cycle::from(hold.unwrap_or(4)));
        assert_eq!(at(1, 0), missed + 1, "another sub-core, whose line comes a cycle later");
    }
}

#[test]
fn two_warps_that_miss_one_constant_issue_when_it_comes() {
    let lines: Vec<_> = stream(3).map(|line| line.constant(8)).collect();
    let run = bench(&lines).warps(5).scheduler("gty").run_design::<SubCores, _>(&(), Timeline::default());
    let at = |warp| run.sm.observer.at(warp, 0, 'I').expect("it issues");
    // When the line has come, both are ready, the younger one first, and each issues its four instructions.
    let comes = FROM_MEMORY + TO_ISSUE + FROM_MEMORY;
    assert_eq!((at(4), at(0)), (comes, comes + 4));
    // Of each sub-core one request, of all together one to L2, as for the instructions and eight lines after them.
    assert_eq!(run.sm.counters().requests, 9 + 1);
}

fn drawn(seed: u64) -> Bench {
    let other = |_: &mut Dice, _: u64, [dst, a, _]: [u16; 3]| op(OpClass::FpAdd, dst, &[a]);
    let mut lines = random_program(seed, &[Space::Global, Space::Shared], 18, other);
    lines.extend(stream(seed as u16 * 7));
    let dice = &mut Dice(seed + 50);
    for line in lines.iter_mut().filter(|line| line.mem.is_none()) {
        line.constant = line.clone().constant(dice.below(2000) as u16).constant.filter(|_| dice.below(3) == 0);
    }
    bench(&lines).warps(12)
}

#[test]
fn sleeping_changes_nothing() {
    for seed in 0..8 {
        let bench = drawn(seed);
        bench.sleeping_changes_nothing::<SubCores>(&());
        bench.sleeping_changes_nothing::<Streams<0>>(&());
        bench.sleeping_changes_nothing::<Streams<2, true>>(&());
    }
}

/// Lines that are there and lines under way.
#[test]
fn a_checkpoint_holds_caches_and_what_is_under_way() {
    let bytes = |run: &mut Run<Timeline, SubCores>| {
        let mut archive = Archive::writer();
        gpu::Core::persist(&mut run.sm, &run.kernels, &mut archive).expect("it is written");
        archive.into_bytes()
    };
    // Prefetches of it are on their way to L1 when it ends.
    let lines: Vec<_> = stream(100).collect();
    let mut run = bench(&lines).run_design::<SubCores, _>(&(), Timeline::default());
    let mut other = drawn(1).run_design::<SubCores, _>(&(), Timeline::default());
    let written = bytes(&mut run);
    assert_ne!(bytes(&mut other), written);
    let mut archive = Archive::reader(written.clone());
    gpu::Core::persist(&mut other.sm, &run.kernels, &mut archive).expect("it is read");
    archive.end().expect("all of it");
    assert_eq!(bytes(&mut other), written);
}
