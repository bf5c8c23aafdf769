//! Warp schedulers: who issues when, on an SM with one scheduler.

use crate::support;

use isa::{OpClass, Space};
use sm::Timeline;
use support::*;

/// Four warps on one scheduler with plenty of everything but issue slots.
fn bench(lines: &[Line], warps: u32, scheduler: &str) -> Bench {
    Bench::new(lines).warps(warps).scheduler(scheduler).gpu(|g| {
        g.sm.issue.schedulers = 1;
        g.sm.issue.width = 1;
        g.sm.operands.sub_cores = false;
        g.sm.operands.collectors = 16;
        g.sm.frontend.fetches_per_cycle = 8;
        g.sm.frontend.buffer_entries = 8;
        for unit in g.sm.units.values_mut() {
            (unit.count, unit.issue_latches, unit.dispatch_latches) = (4, 16, 16);
        }
    })
}

/// Warps in the order in which their instructions issued, in the window of cycles.
fn order(run: &Run<Timeline>, warps: u16, orders: u32) -> Vec<u16> {
    let all = (0..warps).flat_map(|w| (0..orders).map(move |o| (w, o)));
    let mut issues: Vec<_> = all.filter_map(|(w, o)| Some((run.sm.observer.at(w, o, 'I')?, w))).collect();
    issues.sort_unstable();
    issues.into_iter().map(|(_, w)| w).collect()
}

fn independent(n: u16) -> Vec<Line> {
    (0..n).map(|i| add(i + 1, &[40])).collect()
}

#[test]
fn loose_round_robin_goes_round() {
    let run = bench(&independent(6), 4, "lrr").run();
    let order = order(&run, 4, 6);
    // From the second round on every warp has a full buffer.
    assert_eq!(order[4..20], [0, 1, 2, 3].repeat(4)[..]);
}

#[test]
fn loose_round_robin_passes_over_a_warp_that_waits() {
    let mut lines = vec![add(1, &[2]), add(3, &[1])];
    lines.extend((0..4).map(|i| add(i + 10, &[40])));
    let mut bench = bench(&lines, 3, "lrr");
    // Only warp 1 has the dependence.
    bench.skip = |warp, line| warp != 1 && line < 2;
    let order = order(&bench.run(), 3, 5);
    let second_of_warp_1 = order.iter().enumerate().filter(|(_, w)| **w == 1).nth(1).unwrap().0;
    assert!(second_of_warp_1 > 6, "{order:?}");
}

#[test]
fn greedy_then_oldest_stays_until_the_warp_stalls() {
    let run = bench(&independent(6), 4, "gto").run();
    // Six additions and the exit of each warp, the oldest warp first.
    assert_eq!(order(&run, 4, 7), [[0; 7], [1; 7], [2; 7], [3; 7]].concat());
}

#[test]
fn greedy_then_oldest_returns_to_the_oldest() {
    // Warp 0 waits for its second addition while warp 1 begins; then the greedy one goes on.
    let lines = [add(1, &[40]), add(2, &[1]), add(3, &[40]), add(4, &[40]), add(5, &[40])];
    let run = bench(&lines, 3, "gto").run();
    let order = order(&run, 3, 5);
    assert_eq!(order[..3], [0, 1, 2], "{order:?}");
    assert_eq!(order[3..7], [0, 0, 0, 0], "the oldest, once it can, to its end: {order:?}");
}

#[test]
fn strict_round_robin_waits_for_the_warp_whose_turn_it_is() {
    let mut lines = vec![op(OpClass::Sfu, 1, &[2]), add(3, &[1])];
    lines.extend((0..4).map(|i| add(i + 10, &[40])));
    let mut bench = bench(&lines, 3, "srr");
    bench.skip = |warp, line| warp != 1 && line < 2;
    let run = bench.run();
    let order = order(&run, 3, 5);
    assert_eq!(order[..12], [0, 1, 2].repeat(4)[..]);
    let waited = run.sm.observer.at(1, 1, 'I').unwrap() - run.sm.observer.at(0, 1, 'I').unwrap();
    assert!(waited > 20, "warp 0's second instruction issues, then all wait for warp 1");
}

#[test]
fn strict_round_robin_passes_over_warps_at_a_barrier() {
    // The others wait at the barrier while warp 1 comes to it.
    let mut bench = bench(&[add(1, &[2]), add(2, &[4]), sync(0, 0), add(3, &[4])], 3, "srr");
    bench.skip = |warp, line| warp != 1 && line < 2;
    assert!(!bench.run().deadlocked);
}

#[test]
fn two_levels_demote_warps_that_wait_for_memory() {
    let mut lines = vec![load(Space::Global, 1, 0, 4), add(2, &[1])];
    lines.extend(independent(4).into_iter().skip(2));
    let mut bench = bench(&lines, 6, "two_level").gpu(|g| g.sm.issue.two_level_active_warps = 2);
    bench.memory_latency = 400;
    let run = bench.run();
    let load_issues: Vec<_> = (0..6).map(|w| run.sm.observer.at(w, 0, 'I').unwrap()).collect();
    // Two at a time, the others when those have been demoted: all long before the first returns.
    assert!(load_issues.iter().all(|&c| c < 60), "{load_issues:?}");
    assert!(load_issues[2] > load_issues[1], "{load_issues:?}");
}

#[test]
fn two_levels_leave_a_third_warp_waiting_while_two_can_issue() {
    let run = bench(&independent(8), 3, "two_level").gpu(|g| g.sm.issue.two_level_active_warps = 2).run();
    let order = order(&run, 3, 9);
    assert!(order[..16].iter().all(|&w| w < 2), "{order:?}");
}

#[test]
fn the_active_set_is_a_parameter_and_else_that_of_the_gpu() {
    let of_gpu = |scheduler, active| {
        let run = bench(&independent(8), 3, scheduler).gpu(|g| g.sm.issue.two_level_active_warps = active).run();
        order(&run, 3, 9)
    };
    let two = of_gpu("two_level", 2);
    assert_ne!(two, of_gpu("two_level", 3));
    assert_eq!(of_gpu("two_level:active=2", 3), two);
    assert_eq!(of_gpu("two_level:active=0", 2), two, "0: the GPU's");
}

#[test]
fn parameters_of_schedulers_are_checked() {
    let error = |text| sm::schedulers::parameters(text).unwrap_err();
    assert_eq!(error("two_level:active=65"), "warp scheduler `two_level`: `active` is 0 to 64, and `65` is not");
    assert!(error("two_level:activ=6").contains("its parameters are active"));
    assert!(error("gto:active=6").contains("it has none"));
    assert!(error("two_level:active").contains("as in `two_level:active=4`"));
    assert!(error("two_levle:active=4").contains("did you mean `two_level`?"));
    let shown = |text| sm::schedulers::parameters(text).unwrap().into_iter().map(|p| p.default).collect::<Vec<_>>();
    assert_eq!([shown("two_level"), shown("two_level:active=6"), shown("gto")], [vec!["0"], vec!["6"], vec![]]);
}

#[test]
fn every_scheduler_runs_the_same_instructions() {
    let mut lines = vec![load(Space::Global, 1, 0, 4), add(2, &[1]), sync(0, 0), store(Space::Shared, 2, 0, 8)];
    lines.extend([load(Space::Shared, 3, 0, 8), branch(-1, 3), atomic(4, 64, 0), fence()]);
    for (name, _) in sm::schedulers::NAMES {
        let mut bench = Bench::new(&lines).warps(8).scheduler(name);
        bench.ctas = 7;
        let run = bench.run();
        assert!(!run.deadlocked, "{name}");
        assert_eq!(run.sm.counters().warp_instructions, 7 * 8 * (9 + 3 * 2), "{name}");
        assert_eq!(run.finished.len(), 7);
    }
}

#[test]
fn the_warp_that_is_behind_goes_before_older_ones() {
    // Each warp is a chain, so that a greedy scheduler changes warps; the last warp starts late.
    let mut lines = vec![op(OpClass::Sfu, 1, &[2])];
    lines.extend((0..30).map(|_| add(1, &[1])));
    let issues = |scheduler| {
        let mut bench = bench(&lines, 12, scheduler);
        bench.skip = |warp, line| warp < 11 && line == 0;
        let run = bench.run();
        [0, 11].map(|w| run.sm.observer.at(w, 15, 'I').unwrap())
    };
    let ([oldest, behind], [oldest_by_age, behind_by_age]) = (issues("laggard"), issues("gto"));
    assert!(behind < behind_by_age, "{behind} {behind_by_age}");
    assert!(oldest > oldest_by_age, "{oldest} {oldest_by_age}");
}

#[test]
fn greedy_schedulers_stay_with_a_warp_when_a_better_one_is_ready() {
    // Warp 0 is older and behind; it waits, and could issue long before warp 1 is through.
    let mut lines = vec![op(OpClass::Sfu, 1, &[2]), add(3, &[1])];
    lines.extend(independent(39).into_iter().map(|line| Line { dsts: vec![line.dsts[0] + 40], ..line }));
    for scheduler in ["gto", "laggard"] {
        let mut bench = bench(&lines, 2, scheduler);
        bench.skip = |warp, line| (warp == 0) != (line < 2);
        let drawn = bench.run().sm.observer;
        let (ready, last) = (drawn.at(0, 0, 'W').unwrap(), drawn.at(1, 38, 'I').unwrap());
        assert!(ready < last, "{scheduler}");
        assert!(drawn.at(0, 1, 'I').unwrap() > last, "{scheduler}");
    }
}

#[test]
fn of_warps_with_equal_progress_the_oldest_goes_first() {
    let run = bench(&independent(6), 4, "laggard").run();
    assert_eq!(order(&run, 4, 7), [[0; 7], [1; 7], [2; 7], [3; 7]].concat());
}

#[test]
fn progress_is_what_is_complete() {
    // Warp 0 is greedy when the others become ready. Then warp 1 has three instructions complete and few
    // decoded, warp 2 one and a full buffer.
    let mut lines =
        vec![add(10, &[40]), add(11, &[40]), op(OpClass::Sfu, 1, &[2]), Line { srcs: vec![1], ..branch(1, 0) }];
    lines.push(add(2, &[1]));
    lines.extend((0..50).map(|i| add(50 + i, &[40])));
    let mut bench = bench(&lines, 3, "laggard");
    bench.skip = |warp, line| if warp == 1 { line > 3 && line < 55 } else { matches!(line, 0 | 1 | 3) };
    let drawn = bench.run().sm.observer;
    let (of_1, of_2) = (drawn.at(1, 3, 'I').unwrap(), drawn.at(2, 1, 'I').unwrap());
    assert!(of_1.min(of_2) > drawn.at(0, 50, 'I').unwrap(), "both wait for warp 0");
    assert!(of_2 < of_1);
}

#[test]
fn two_levels_promote_the_first_warp_that_does_not_wait() {
    // Warps 0 and 1 wait for global memory when warp 2, after them in the queue, has what it waits for.
    let lines = [load(Space::Global, 1, 0, 4), add(2, &[1]), load(Space::Shared, 3, 0, 4), add(4, &[3])];
    let mut bench = bench(&lines, 3, "two_level").gpu(|g| g.sm.issue.two_level_active_warps = 1);
    bench.skip = |warp, line| line < 4 && (warp == 2) != (line >= 2);
    bench.memory_latency = 400;
    let drawn = bench.run().sm.observer;
    assert_eq!(drawn.at(2, 1, 'I'), drawn.at(2, 0, 'W'));
}

#[test]
fn two_levels_demote_to_the_end_of_the_queue() {
    // Warp 0 waits for a short time, while warp 1 is active: then it is the turn of warp 2.
    let mut lines = vec![load(Space::Shared, 1, 0, 4), add(2, &[1])];
    lines.extend((0..60).map(|i| add(20 + i, &[5])));
    let mut bench = bench(&lines, 3, "two_level").gpu(|g| g.sm.issue.two_level_active_warps = 1);
    bench.skip = |warp, line| line < 62 && (warp == 0) != (line < 2);
    let drawn = bench.run().sm.observer;
    let first = [1, 2].map(|warp| drawn.at(warp, 0, 'I').unwrap());
    assert!(drawn.at(0, 0, 'W').unwrap() < first[0].max(first[1]));
    assert!(drawn.at(0, 1, 'I').unwrap() > first[0].max(first[1]));
}

#[test]
fn the_oldest_warp_is_the_one_that_came_first() {
    // The slot of the first CTA, which ends at once, is taken again by the youngest. When the greedy one ends
    // the others have long been ready.
    let mut lines = vec![op(OpClass::Sfu, 1, &[2]), add(3, &[1])];
    lines.extend((0..60).map(|i| add(20 + i, &[5])));
    let mut bench = bench(&lines, 1, "gto").gpu(|g| g.sm.max_ctas = 3);
    bench.ctas = 4;
    bench.skip = |cta, line| match cta {
        0 => line < 62,
        2 => line == 1,
        _ => (2..62).contains(&line),
    };
    let issues = bench.run_with(Issues::default()).sm.observer.0;
    let last = |warp, order| issues.iter().rposition(|i| (i.1, i.2) == (warp, order)).expect("it issues");
    assert!(last(1, 1) < last(0, 0), "slot 1 has the older one");
}
