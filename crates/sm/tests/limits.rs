//! The designs of the limit study: the in-order core with one stage that has no limits. Each is that core in all
//! but the stage.

use crate::support;

use designs::boards::NoDependences;
use isa::{OpClass, Space};
use sm::operands::PerfectOperands;
use sm::{
    Allowances, Auditor, CoreDesign, InOrder, IssuePolicy, PerfectExecution, PerfectFetch, PerfectMemory, Stall,
    Timeline, With,
};
use support::*;

/// The in-order core with the stage `S`.
type Perfect<S> = With<S, InOrder>;

fn draw<D: CoreDesign<Issue: IssuePolicy<Config = ()>>>(bench: &Bench) -> Run<Timeline, D> {
    let run = bench.run_design::<D, _>(&(), Timeline::default());
    assert!(!run.deadlocked, "{:?}", run.sm.describe_stalls(&run.kernels));
    run
}

/// The cycles in which warp `warp` has its first `count` instructions at the stage with `letter`.
fn cycles<D: CoreDesign>(run: &Run<Timeline, D>, warp: u16, count: u32, letter: char) -> Vec<u64> {
    (0..count).map(|order| run.sm.observer.at(warp, order, letter).expect("it passes")).collect()
}

/// Arithmetic, memory, a barrier, and a loop.
fn mixed() -> Vec<Line> {
    let some = [load(Space::Global, 1, 0, 4), add(2, &[1]), sync(0, 0), op(OpClass::Sfu, 3, &[2]), branch(-2, 3)];
    some.into_iter().chain([store(Space::Shared, 3, 0, 4), add(4, &[3])]).collect()
}

/// Asserts that `D` does what the in-order core does in fewer cycles, also if it sleeps.
fn is_only_faster<D: CoreDesign<Issue: IssuePolicy<Config = ()>>>(bench: &Bench) {
    let (perfect, usual) = (draw::<D>(bench), draw::<InOrder>(bench));
    assert!(perfect.now < usual.now, "{} cycles, and {} in order", perfect.now, usual.now);
    let issued = |run: &sm::SmCounters| (run.decoded, run.warp_instructions, run.barrier_arrivals, run.flushes);
    assert_eq!(issued(perfect.sm.counters()), issued(usual.sm.counters()));
    bench.sleeping_changes_nothing::<D>(&());
}

/// Warps on an SM that fetches for one of them in each cycle, through an instruction cache.
fn slow_fetch(lines: &[Line]) -> Bench {
    Bench::new(lines).gpu(|g| {
        g.sm.frontend.fetches_per_cycle = 1;
        g.sm.perfect_instruction_and_constant_caches = false;
    })
}

#[test]
fn a_perfect_front_end_lets_each_scheduler_issue_in_each_cycle() {
    let bench = slow_fetch(&stream(8).collect::<Vec<_>>()).warps(4);
    let run = draw::<Perfect<PerfectFetch>>(&bench);
    for warp in 0..4 {
        assert_eq!(cycles(&run, warp, 8, 'I'), [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(cycles(&run, warp, 8, 'D'), [0, 0, 2, 2, 4, 4, 6, 6], "as soon as the buffer of two is empty");
    }
    let usual = draw::<InOrder>(&bench);
    let first: Vec<u64> = (0..4).map(|warp| cycles(&usual, warp, 1, 'D')[0]).collect();
    assert!(first.iter().all(|&cycle| cycle > 200), "the first fetch misses: {first:?}");
    assert!(first.windows(2).all(|two| two[0] != two[1]), "one warp at a time: {first:?}");
    let lost = [Stall::InstructionCache, Stall::EmptyBuffer].map(|stall| run.sm.account().stalled(stall));
    assert_eq!((run.sm.counters().fetch_misses, lost), (0, [0, 4]), "in the first cycle");
    assert!(usual.sm.counters().fetch_misses > 0 && usual.sm.account().stalled(Stall::InstructionCache) > 0);
}

#[test]
fn a_branch_costs_a_perfect_front_end_what_the_description_says() {
    let lines = [add(1, &[]), branch(2, 1), add(2, &[]), add(3, &[])];
    let gap = |bench: Bench| {
        let issued = cycles(&draw::<Perfect<PerfectFetch>>(&bench), 0, 3, 'I');
        issued[2] - issued[1]
    };
    let bench = || Bench::new(&lines);
    // The branch ends a fetch: the path after it is fetched, found to be wrong, and left two cycles after the issue.
    assert_eq!(gap(bench()), 3);
    assert_eq!(gap(bench().gpu(|g| g.sm.frontend.branches = config::BranchFetch::Stall)), 1);
    assert_eq!(gap(bench().gpu(|g| g.sm.frontend.branches = config::BranchFetch::Oracle)), 1);
}

#[test]
fn a_perfect_front_end_changes_only_when_instructions_are_decoded() {
    is_only_faster::<Perfect<PerfectFetch>>(&slow_fetch(&mixed()).warps(8));
}

#[test]
fn perfect_operands_are_there_in_the_cycle_after_issue() {
    // Ten registers of one bank, which serves one read in a cycle; the second instruction writes one of them.
    let lines = [op(OpClass::IntMad, 1, &[4, 8, 12, 16, 20, 24, 28, 32, 36, 40]), op(OpClass::FpAdd, 40, &[3])];
    let bench = Bench::new(&lines).gpu(|g| g.sm.operands.reads_per_bank = 1);
    let run = draw::<Perfect<PerfectOperands>>(&bench);
    assert_eq!(['I', 'C', 'E'].map(|letter| cycles(&run, 0, 2, letter)), [[1, 2], [2, 3], [3, 4]]);
    assert_eq!(bench.audit::<Perfect<PerfectOperands>>(&()).total(), 0);
    let counters = run.sm.counters();
    assert_eq!((counters.register_reads, counters.bank_conflicts), (11, 0));
    let usual = draw::<InOrder>(&bench);
    assert!(at(&usual.sm.observer, 0, 'C') > 10, "a cycle for each read");
}

#[test]
fn perfect_operands_keep_none_that_waits_for_its_unit_in_the_path_of_others() {
    let lines: Vec<Line> = (20..32).map(|dst| op(OpClass::Sfu, dst, &[50])).chain([add(1, &[2])]).collect();
    let bench = Bench::slow_sfu(&lines);
    let run = draw::<Perfect<PerfectOperands>>(&bench);
    assert_eq!(cycles(&run, 0, 13, 'I'), (1..14).collect::<Vec<_>>());
    let entered = cycles(&run, 0, 12, 'E');
    assert_eq!(entered, (0..12).map(|i| 3 + 2 * i).collect::<Vec<_>>(), "in order, at the pace of the unit");
    assert_eq!(at(&run.sm.observer, 12, 'E'), 15);
    let usual = draw::<InOrder>(&bench);
    assert!(at(&usual.sm.observer, 12, 'I') > 13, "collectors are taken");
    assert!(usual.sm.account().stalled(Stall::UnitBusy) > run.sm.account().stalled(Stall::UnitBusy));
}

#[test]
fn results_of_loads_find_perfect_operands_without_conflicts() {
    // Each arithmetic instruction writes the bank of the load's register, one in each cycle.
    let arithmetic = |i: u16| op([OpClass::IntAdd, OpClass::FpAdd][usize::from(i) % 2], 5 + 4 * (i % 20), &[]);
    let lines: Vec<Line> = [load(Space::Shared, 1, 0, 4)].into_iter().chain((0..60).map(arithmetic)).collect();
    let bench = Bench::new(&lines);
    fn taken<D: CoreDesign>(run: &Run<Timeline, D>) -> u64 {
        at(&run.sm.observer, 0, 'W') - at(&run.sm.observer, 0, 'E')
    }
    let usual = draw::<InOrder>(&bench);
    let without: u64 = 2 + u64::from(gpu().sm.shared.latency_cycles);
    assert_eq!(taken(&draw::<Perfect<PerfectOperands>>(&bench)), without);
    assert!(taken(&usual) > without, "the load waits for its bank");
}

#[test]
fn perfect_operands_hold_a_bounded_number_of_instructions() {
    let line = Line { dsts: vec![], ..op(OpClass::Sfu, 1, &[]) };
    let bench = Bench::new(&vec![line; 1100]).timing(OpClass::Sfu, config::Unit::Sfu, 20, 20);
    let run = draw::<Perfect<PerfectOperands>>(&bench);
    let issued = cycles(&run, 0, 1100, 'I');
    assert_eq!(issued[1023], 1024, "an instruction in each cycle");
    assert!(issued[1090..].windows(2).all(|two| two[1] - two[0] == 20), "at the pace of the unit");
    assert!(run.sm.account().stalled(Stall::CollectorFull) > 0);
}

#[test]
fn perfect_operands_change_only_when_instructions_leave() {
    let bench = Bench::new(&mixed()).warps(8).gpu(|g| g.sm.operands.reads_per_bank = 1);
    is_only_faster::<Perfect<PerfectOperands>>(&bench);
}

/// Cycles from the unit's begin to write-back of the instruction at `order`.
fn taken<D: CoreDesign<Issue = InOrder>>(bench: &Bench, order: u32) -> u64 {
    let run = draw::<D>(bench);
    at(&run.sm.observer, order, 'W') - at(&run.sm.observer, order, 'E')
}

#[test]
fn a_perfect_memory_takes_the_time_of_a_hit_whatever_the_addresses() {
    // The first load brings the line, the second one hits.
    let twice = |line: fn(u16) -> Line| [line(1), add(2, &[1]), Line { srcs: vec![2], ..line(3) }];
    let hits = |bench: Bench| {
        let usual = taken::<InOrder>(&bench, 2);
        assert_eq!([0, 2].map(|order| taken::<Perfect<PerfectMemory>>(&bench, order)), [usual; 2]);
        usual
    };
    let l1 = hits(Bench::new(&twice(|dst| load(Space::Global, dst, 0, 4))));
    assert_eq!(l1, 1 + u64::from(gpu().sm.l1d.latency_cycles));
    assert_eq!(hits(Bench::new(&twice(|dst| load(Space::Local, dst, 0, 0)))), l1);
    let shared = hits(Bench::new(&twice(|dst| load(Space::Shared, dst, 0, 4))));
    assert_eq!(shared, 2 + u64::from(gpu().sm.shared.latency_cycles));
    hits(Bench::new(&twice(|dst| load(Space::Constant, dst, 0, 0))));
    let perfect = |line: Line| taken::<Perfect<PerfectMemory>>(&Bench::new(&[line]), 0);
    let global = [load(Space::Global, 1, 0, 128), store(Space::Global, 2, 0, 128), atomic(1, 0, 0), copy_async(0)];
    assert_eq!(global.map(perfect), [l1; 4]);
    assert_eq!(perfect(load(Space::Shared, 1, 0, 128)), shared, "no bank conflicts");
    let at_once = [store(Space::Shared, 2, 0, 128), fence(), load(Space::Global, 1, 0, 4).mask(0)];
    for line in at_once {
        assert_eq!(taken::<InOrder>(&Bench::new(&[Line { address: (0, 4), ..line.clone() }]), 0), perfect(line));
    }
}

#[test]
fn a_perfect_memory_takes_an_access_in_each_cycle_and_asks_nothing() {
    let run = draw::<Perfect<PerfectMemory>>(&Bench::new(&[load(Space::Global, 1, 0, 128)]).warps(8));
    let mut began: Vec<u64> = (0..8).map(|warp| cycles(&run, warp, 1, 'E')[0]).collect();
    began.sort_unstable();
    assert!(began.windows(2).all(|two| two[1] - two[0] == 1), "{began:?}");
    assert_eq!((run.most_requests, run.sm.counters().requests, run.sm.counters().global_accesses), (0, 0, 8));
}

#[test]
fn fences_wait_for_a_perfect_memory() {
    let run = draw::<Perfect<PerfectMemory>>(&Bench::new(&[store(Space::Global, 1, 0, 4), fence(), add(2, &[3])]));
    assert_eq!(at(&run.sm.observer, 2, 'I'), at(&run.sm.observer, 0, 'W'));
}

#[test]
fn a_perfect_memory_brings_instructions_from_beyond_the_sm() {
    let mut bench = Bench::new(&mixed()).warps(8);
    bench.gpu.sm.perfect_instruction_and_constant_caches = false;
    bench.ctas = 3;
    let run = draw::<Perfect<PerfectMemory>>(&bench);
    assert!(run.sm.counters().fetch_misses > 0 && run.sm.counters().requests > 0);
    assert!(cycles(&run, 0, 1, 'D')[0] > bench.memory_latency);
    is_only_faster::<Perfect<PerfectMemory>>(&bench);
}

#[test]
fn without_dependences_a_warp_issues_in_each_cycle() {
    let lines = [late(), waiting(add(2, &[])), add(2, &[2]), add(50, &[2]), waiting(store(Space::Global, 2, 0, 4))];
    let bench = Bench::slow_sfu(&lines);
    let run = draw::<InOrder<NoDependences>>(&bench);
    assert_eq!(cycles(&run, 0, 6, 'I'), [1, 2, 3, 4, 5, 6]);
    assert!(at(&run.sm.observer, 1, 'C') < at(&run.sm.observer, 0, 'W'), "it reads what has yet to come");
    assert_eq!(bench.audit::<InOrder<NoDependences>>(&()).total(), 0);
    let strict = bench.run_design::<InOrder<NoDependences>, _>(&(), Auditor::new(Allowances::default()));
    assert!(strict.sm.observer.findings().total() > 0);
}

#[test]
fn without_dependences_barriers_and_branches_hold_as_before() {
    // A branch whose guard comes late, and a barrier at which the second warp is late.
    let lines = [late(), waiting(branch(2, 1)), add(2, &[]), add(3, &[]), sync(0, 0), add(4, &[])];
    let mut bench = Bench::slow_sfu(&lines).warps(2);
    bench.skip = |warp, line| warp == 0 && line == 0;
    let run = draw::<InOrder<NoDependences>>(&bench);
    let branch = cycles(&run, 1, 2, 'I');
    assert_eq!(branch, [1, 2], "it does not wait for its guard");
    let after = run.sm.observer.at(1, 2, 'I').expect("it passes");
    assert!(after >= branch[1] + 2, "what follows it is fetched after its issue");
    let arrived = run.sm.observer.at(1, 3, 'I').expect("it passes");
    assert!(run.sm.observer.at(0, 3, 'I').expect("it passes") > arrived);
}

#[test]
fn without_dependences_no_slot_is_lost_to_a_hazard() {
    let bench = Bench::slow_sfu(&mixed()).warps(8);
    is_only_faster::<InOrder<NoDependences>>(&bench);
    let run = draw::<InOrder<NoDependences>>(&bench);
    let hazards = [Stall::Raw, Stall::RawMemory, Stall::War, Stall::Waw, Stall::MemoryOrder];
    assert_eq!(hazards.map(|stall| run.sm.account().stalled(stall)), [0; 5]);
}

/// The cycles from one instruction of a sub-core's special unit to the next, and from the begin of the first to its end.
fn special<D: CoreDesign<Issue = InOrder>>(bench: &Bench) -> (Vec<u64>, u64) {
    let run = draw::<D>(bench);
    let mut began: Vec<u64> = (0..16).step_by(4).map(|warp| cycles(&run, warp, 1, 'E')[0]).collect();
    began.sort_unstable();
    (began.windows(2).map(|two| two[1] - two[0]).collect(), taken::<D>(bench, 0))
}

#[test]
fn a_perfect_execution_begins_an_instruction_in_each_cycle_and_keeps_its_latency() {
    let bench = Bench::new(&[op(OpClass::Sfu, 1, &[2])]).warps(16);
    let interval = u64::from(bench.gpu.sm.sass_timing["sfu"].initiation_cycles);
    assert!(interval > 1);
    let (usual, latency) = special::<InOrder>(&bench);
    assert_eq!(usual, [interval; 3]);
    assert_eq!(special::<Perfect<PerfectExecution>>(&bench), (vec![1; 3], latency));
    is_only_faster::<Perfect<PerfectExecution>>(&bench);
    assert_eq!(bench.audit::<Perfect<PerfectExecution>>(&()).total(), 0);
}

/// Instructions of different latencies that end in one cycle: there is a bus for each.
#[test]
fn results_of_a_perfect_execution_wait_for_no_bus() {
    let mut bench = Bench::new(&mixed()).warps(16);
    bench.ctas = 2;
    is_only_faster::<Perfect<PerfectExecution>>(&bench);
}
