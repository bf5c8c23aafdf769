//! Closed-form timing of matrix operations of warp groups, exact to the cycle.

use crate::support;

use config::{LatencyOf, MatrixGroups, Unit};
use isa::{Control, GroupWork, MatrixType, MatrixWork, OpClass, Space};
use sm::Stall;
use support::*;

/// A warp's quarter of `m64nNk16` on its accumulator in register 1.
fn multiply(columns: u16, a_in_registers: bool) -> Line {
    let group = Some(GroupWork { columns, a_in_registers });
    let work = MatrixWork { ty: MatrixType::F16F32, multiply_adds: 16 * 16 * u32::from(columns), group };
    Line { matrix: Some(work), ..op(OpClass::Tensor, 1, if a_in_registers { &[1, 5] } else { &[1] }) }
}

/// Closes a group, and waits until `left` are under way.
fn wait(left: u8) -> [Line; 2] {
    let line = |effect| control(OpClass::Uniform, effect, "wgmma");
    [line(Control::MatrixCommit), Line { async_groups_left: left, ..line(Control::MatrixWait) }]
}

fn run(groups: MatrixGroups, lines: &[Line]) -> Run<sm::Timeline> {
    let bench =
        Bench::new(lines).timing(OpClass::Tensor, Unit::Tensor, 30, 16).timing(OpClass::Uniform, Unit::Int, 4, 1);
    let run = bench
        .gpu(|g| {
            g.sm.latency = Some(LatencyOf::Issue);
            g.sm.matrix_groups = groups;
        })
        .run();
    assert!(!run.deadlocked, "{:?}", run.sm.describe_stalls(&run.kernels));
    run
}

/// Cycles between the issue of the first of `count` operations and of the instruction after the wait for them.
fn cycles(groups: MatrixGroups, count: usize, (columns, a_in_registers): (u16, bool)) -> u64 {
    let mut lines = vec![multiply(columns, a_in_registers); count];
    lines.extend(wait(0));
    lines.push(add(2, &[]));
    let run = run(groups, &lines);
    let last = lines.len() as u32 - 1;
    assert!(run.sm.account().stalled(Stall::MatrixGroup) > 10);
    at(&run.sm.observer, last, 'I') - at(&run.sm.observer, 0, 'I')
}

/// The figures of an H100 as they are published, from issue to the end of the wait.
#[test]
fn one_operation_takes_a_cycle_for_each_register_of_its_accumulator() {
    for (columns, expected) in [(8, 53), (16, 57), (64, 81), (256, 177)] {
        assert_eq!(cycles(MatrixGroups::default(), 1, (columns, false)), expected, "n{columns}");
        assert_eq!(cycles(MatrixGroups::default(), 1, (columns, true)), expected - 18, "n{columns}, A in registers");
    }
}

/// Operations on one accumulator follow each other at the rate of the tensor core, or as shared memory gives their
/// factors.
#[test]
fn a_chain_goes_at_the_rate_of_what_limits_it() {
    let step = |of| {
        let [few, many] = [2, 6].map(|count| cycles(MatrixGroups::default(), count, of));
        (many - few) / 4
    };
    for (columns, from_shared, from_registers) in
        [(8, 18, 13), (16, 20, 13), (32, 24, 16), (64, 32, 32), (256, 128, 128)]
    {
        assert_eq!(step((columns, false)), from_shared, "n{columns}");
        assert_eq!(step((columns, true)), from_registers, "n{columns}, A in registers");
    }
}

/// The first seven operations issue one after the other; then each waits until the seventh before it has ended.
#[test]
fn the_eighth_operation_waits_for_room_in_the_queue() {
    const COUNT: u32 = 12;
    for (columns, latency, interval) in [(16, 57, 20), (64, 81, 32)] {
        let mut lines = vec![multiply(columns, false); COUNT as usize];
        lines.extend(wait(0));
        let run = run(MatrixGroups::default(), &lines);
        let issue = |order| at(&run.sm.observer, order, 'I') - at(&run.sm.observer, 0, 'I');
        for order in 1..7 {
            assert!(issue(order) <= 2 * u64::from(order), "n{columns}: {order} at {}", issue(order));
        }
        for order in 7..COUNT {
            let expected = latency + interval * u64::from(order - 7);
            assert_eq!(issue(order), expected, "n{columns}: {order}");
        }
        assert!(run.sm.account().stalled(Stall::UnitBusy) > 30);
    }
}

/// Stores keep shared memory busy for longer than the operations take: what these read comes on top.
#[test]
fn accesses_to_shared_memory_wait_for_the_wavefronts_of_operations() {
    let time = |count: usize, (columns, a_in_registers)| {
        let mut lines = vec![multiply(columns, a_in_registers); count];
        lines.extend(vec![store(Space::Shared, 4, 0, 128); 6]);
        let bench = Bench::new(&lines).warps(4).timing(OpClass::Tensor, Unit::Tensor, 30, 16);
        let run = bench.gpu(|g| g.sm.latency = Some(LatencyOf::Issue)).run();
        assert_eq!(run.sm.counters().shared_conflict_cycles, 4 * 6 * 31);
        let last = lines.len() as u32 - 1;
        (0..4).map(|warp| run.sm.observer.at(warp, last, 'W').unwrap()).max().unwrap()
    };
    for (of, wavefronts) in [(8, 18), (16, 20), (64, 32)].map(|(n, w)| ((n, false), w)).into_iter().chain([
        ((8, true), 2),
        ((16, true), 4),
        ((64, true), 16),
    ]) {
        let added = time(5, of) - time(1, of);
        // The stores issue later, too: by a cycle for each operation.
        assert!((4 * wavefronts..=4 * wavefronts + 4).contains(&added), "{of:?}: {added}");
    }
}

/// Operations that wait in the queue leave operand collectors and latches to others.
#[test]
fn other_instructions_pass_operations_in_the_queue() {
    let mut lines = vec![multiply(256, false); 6];
    lines.extend([add(2, &[]), add(3, &[2])]);
    let run = run(MatrixGroups::default(), &lines);
    assert!(at(&run.sm.observer, 7, 'W') < at(&run.sm.observer, 1, 'E'), "{}", run.sm.observer.draw());
}

#[test]
fn a_wait_leaves_the_groups_that_it_may() {
    let mut lines = vec![];
    for _ in 0..3 {
        lines.extend([multiply(256, false), control(OpClass::Uniform, Control::MatrixCommit, "commit")]);
    }
    let ends = |left| {
        let mut lines = lines.clone();
        let [_, wait] = wait(left);
        lines.extend([wait, add(2, &[])]);
        let run = run(MatrixGroups::default(), &lines);
        at(&run.sm.observer, 7, 'I') - at(&run.sm.observer, 0, 'I')
    };
    assert_eq!([ends(0), ends(1), ends(2)], [177 + 256, 177 + 128, 177]);
    assert!(ends(3) < 20);
}

#[test]
fn each_key_of_matrix_groups_counts() {
    type Change = fn(&mut MatrixGroups);
    let keys: [(&str, Change); 6] = [
        ("multiply_adds_per_cycle", |g| g.multiply_adds_per_cycle = Some(256)),
        ("shared_bytes_per_cycle", |g| g.shared_bytes_per_cycle = Some(64)),
        ("least_cycles", |g| g.least_cycles = Some(60)),
        ("latency_cycles", |g| g.latency_cycles = Some(50)),
        ("a_in_registers_saves_cycles", |g| g.a_in_registers_saves_cycles = Some(17)),
        ("queue_entries", |g| g.queue_entries = Some(1)),
    ];
    let all = |groups: MatrixGroups| [(8, false), (8, true), (256, true)].map(|of| cycles(groups.clone(), 3, of));
    for (key, change) in keys {
        let mut groups = MatrixGroups::default();
        change(&mut groups);
        assert_ne!(all(groups), all(MatrixGroups::default()), "{key}");
    }
}
