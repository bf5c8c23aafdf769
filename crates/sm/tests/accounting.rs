//! Sleeping changes nothing, slots add up, runs repeat, deadlocks are told.

use crate::support;

use config::HoldingAtomics;
use isa::{CacheOp, OpClass, Space};
use kit::CounterGroup;
use proptest::prelude::*;
use sm::{Stall, Timeline};
use support::*;

/// Everything that a run has to say for itself.
fn figures(run: &Run<Timeline>) -> impl PartialEq + std::fmt::Debug + use<> {
    let account = run.sm.account();
    let stalls: Vec<_> = Stall::ALL.iter().map(|&s| (s.name(), account.stalled(s))).collect();
    let caches = run.sm.memory_counters().l1d.values();
    (
        run.now,
        run.sm.counters().values(),
        (account.issued(), stalls),
        caches,
        *run.sm.class_counts(),
        run.sm.observer.draw(),
    )
}

/// Any line; register numbers are few, so that hazards are many.
fn any_line() -> impl Strategy<Value = Line> {
    let reg = || 1u16..8;
    let class =
        prop::sample::select(vec![OpClass::IntAdd, OpClass::FpFma, OpClass::Sfu, OpClass::DpAdd, OpClass::Tensor]);
    let space = prop::sample::select(vec![Space::Global, Space::Shared, Space::Local, Space::Constant]);
    let address = || (0u64..32).prop_map(|a| a * 128);
    let stride = || prop::sample::select(vec![0u64, 4, 8, 32, 128]);
    let mask = prop::sample::select(vec![u32::MAX, 0, 1, 0xffff]);
    let line = prop_oneof![
        6 => (class, reg(), reg(), reg()).prop_map(|(c, d, a, b)| op(c, d, &[a, b])),
        3 => (space, reg(), address(), stride()).prop_map(|(s, d, a, st)| load(s, d, a, st)),
        1 => (reg(), address(), stride()).prop_map(|(d, a, st)| load(Space::Global, d, a, st).cached(CacheOp::L2)),
        2 => (reg(), address(), stride()).prop_map(|(s, a, st)| store(Space::Global, s, a, st)),
        1 => (reg(), stride()).prop_map(|(s, st)| store(Space::Shared, s, 0, st)),
        1 => (reg(), address()).prop_map(|(d, a)| atomic(d, a, 0)),
        1 => (reg(), address()).prop_map(|(d, a)| atomic(d, a, 0).held()),
        1 => address().prop_map(copy_async),
        1 => Just(sync(0, 0)),
        1 => Just(fence()),
        1 => Just(fence().held()),
        1 => (2i32..4, 0u32..2).prop_map(|(jump, times)| branch(jump, times)),
        1 => (1u32..90).prop_map(|n| Line {
            sleep_cycles: n,
            ..control(OpClass::Nop, isa::Control::Sleep, "nanosleep")
        }),
    ];
    (line, mask).prop_map(|(line, mask)| if line.mem.is_some() { line.mask(mask) } else { line })
}

fn any_bench() -> impl Strategy<Value = Bench> {
    let scheduler = prop::sample::select(sm::schedulers::NAMES.iter().map(|n| n.0).collect::<Vec<_>>());
    let branches = prop::sample::select(vec![
        config::BranchFetch::Oracle,
        config::BranchFetch::SequentialFlush,
        config::BranchFetch::Stall,
    ]);
    let lines = prop::collection::vec(any_line(), 1..24);
    (lines, 1u32..9, 1u32..5, scheduler, branches, any::<[bool; 4]>(), (1u64..600, 1u64..90)).prop_map(
        |(mut lines, warps, ctas, scheduler, branches, [perfect, sub_cores, hold, dual], (latency, window))| {
            // Jumps must not leave the program or divide a warp from its CTA's barriers.
            let end = lines.len();
            lines.iter_mut().enumerate().for_each(|(i, l)| l.jump = l.jump.min((end - i) as i32));
            let mut bench = Bench::new(&lines).warps(warps).scheduler(scheduler).gpu(|g| {
                g.sm.frontend.branches = branches;
                g.sm.perfect_instruction_and_constant_caches = perfect;
                g.sm.operands.sub_cores = sub_cores;
                g.sm.issue.width = if dual { 2 } else { 1 };
            });
            bench.ctas = ctas;
            bench.memory_latency = latency;
            bench.window = window;
            bench.gpu.sm.issue.atomics_hold_warp = if hold { HoldingAtomics::All } else { HoldingAtomics::None };
            bench
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    /// The SM that sleeps until its next event does what the one that is ticked every cycle does.
    #[test]
    fn sleeping_changes_nothing(bench in any_bench()) {
        let mut bench = bench;
        let asleep = bench.run();
        prop_assert!(!asleep.deadlocked, "{:?}", asleep.sm.describe_stalls(&asleep.kernels));
        bench.tick_every_cycle = true;
        let awake = bench.run();
        prop_assert_eq!(figures(&asleep), figures(&awake));
        prop_assert!(asleep.ticks <= awake.ticks);
    }
}

#[test]
fn a_run_repeats_itself() {
    let lines = [load(Space::Global, 1, 0, 4), add(2, &[1]), sync(0, 0), store(Space::Global, 2, 4096, 4)];
    let mut bench = Bench::new(&lines).warps(8).scheduler("gto");
    bench.ctas = 20;
    assert_eq!(figures(&bench.run()), figures(&bench.run()));
}

#[test]
fn a_waiting_sm_sleeps() {
    let mut bench = Bench::new(&[load(Space::Global, 1, 0, 4), add(2, &[1])]);
    bench.memory_latency = 10_000;
    let run = bench.run();
    assert!(run.now > 10_000 && run.ticks < 60, "{} ticks", run.ticks);
    assert!(run.sm.account().stalled(Stall::RawMemory) > 9_900);
}

#[test]
fn a_warp_that_waits_for_the_exchange_decodes_nothing_until_then() {
    for (line, stall) in [(atomic(1, 0, 0), Stall::Atomic), (fence(), Stall::Fence)] {
        let run = |line: Line, window| {
            let mut bench = Bench::new(&[add(2, &[3]), line, add(4, &[5]), add(6, &[7])]);
            bench.window = window;
            bench.memory_latency = 1;
            bench.run()
        };
        let (free, held) = (run(line.clone(), 1000), run(line.held(), 1000));
        let fetched = at(&free.sm.observer, 2, 'D');
        assert!(fetched < 100, "{fetched}");
        assert_eq!(at(&held.sm.observer, 1, 'I'), at(&free.sm.observer, 1, 'I'), "it issues itself");
        // The rest of the fetch is decoded in the cycle of the boundary; without any it is fetched in that cycle.
        assert!((1000..1003).contains(&at(&held.sm.observer, 2, 'D')), "{}", held.sm.observer.draw());
        let stalled = |run: &Run<Timeline>| run.sm.account().stalled(stall);
        assert!(stalled(&held) > 900 && stalled(&free) < 100, "{} {}", stalled(&held), stalled(&free));
    }
}

#[test]
fn stalls_have_their_names() {
    let stalled = |lines: &[Line], stall| Bench::new(lines).run().sm.account().stalled(stall);
    assert!(stalled(&[op(OpClass::Sfu, 1, &[2]), add(3, &[1])], Stall::Raw) >= 20);
    assert!(stalled(&[op(OpClass::Sfu, 1, &[2]), add(1, &[3])], Stall::Waw) >= 20);
    let stores: Vec<_> = (0..12).map(|_| store(Space::Shared, 1, 0, 128)).collect();
    assert!(stalled(&stores, Stall::MemoryPipeFull) > 100);
    let doubles: Vec<_> = (0..8).map(|i| op(OpClass::DpFma, 10 + i, &[2])).collect();
    assert!(stalled(&doubles, Stall::UnitBusy) > 100);
    assert!(stalled(&[store(Space::Global, 1, 0, 4)], Stall::Drain) > 150);
    let idle = Bench::new(&[add(1, &[2])]).run();
    assert!(idle.sm.account().stalled(Stall::Idle) >= 3 * idle.now, "three schedulers have no warp");
    let one_bank: Vec<_> = (0..12).map(|i| op(OpClass::Move, 60 + i, &[4, 8, 12, 16, 20, 24, 28, 32])).collect();
    assert!(stalled(&one_bank, Stall::CollectorFull) > 10);
    let mut waits = Bench::new(&[op(OpClass::Sfu, 1, &[2]), add(3, &[1]), sync(0, 0)]).warps(2);
    waits.skip = |warp, line| warp != 0 && line < 2;
    assert!(waits.run().sm.account().stalled(Stall::Barrier) > 20);
}

#[test]
fn a_deadlock_names_warps_instructions_and_what_they_wait_for() {
    let mut bench = Bench::new(&[add(1, &[2]), sync(0, 0), add(3, &[4])]).warps(3);
    bench.per_warp = |warp, line| line.barrier.id = if warp == 1 { 5 } else { 0 };
    let run = bench.run();
    assert!(run.deadlocked);
    let report: Vec<_> = run.sm.describe_stalls(&run.kernels).iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(report.join("\n"), @r"
    SM 0, warp slot 0: warp 0 of CTA (0,0,0) of `scripted` at `bar.sync 0` waits for barrier 0: 2 warps have arrived, and not warp 1
    SM 0, warp slot 1: warp 1 of CTA (0,0,0) of `scripted` at `bar.sync 0` waits for barrier 5: 1 warp has arrived, and not warps 0, 2
    SM 0, warp slot 2: warp 2 of CTA (0,0,0) of `scripted` at `bar.sync 0` waits for barrier 0: 2 warps have arrived, and not warp 1
    ");
}

#[test]
fn ctas_come_and_go_and_all_resources_return() {
    let mut bench = Bench::new(&[load(Space::Global, 1, 0, 4), add(2, &[1])]).warps(3);
    (bench.ctas, bench.shared_bytes, bench.registers) = (50, 9000, 40);
    let run = bench.run();
    assert!(!run.deadlocked);
    assert_eq!(run.finished.len(), 50);
    assert_eq!(run.sm.counters().ctas_finished, 50);
    assert_eq!(run.sm.counters().ctas_started, 50);
    assert_eq!(run.sm.counters().warp_instructions, 50 * 3 * 3);
    assert_eq!(run.sm.resident_warps(), 0);
}
