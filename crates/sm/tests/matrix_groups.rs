//! Closed-form timing of matrix operations of warp groups, exact to the cycle.

use crate::support;

use config::{LatencyOf, MatrixGroups, Unit};
use isa::{Control, GroupWork, MatrixType, MatrixWork, OpClass};
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
    let keys: [(&str, Change); 5] = [
        ("multiply_adds_per_cycle", |g| g.multiply_adds_per_cycle = Some(256)),
        ("shared_bytes_per_cycle", |g| g.shared_bytes_per_cycle = Some(64)),
        ("least_cycles", |g| g.least_cycles = Some(60)),
        ("latency_cycles", |g| g.latency_cycles = Some(50)),
        ("a_in_registers_saves_cycles", |g| g.a_in_registers_saves_cycles = Some(17)),
    ];
    let all = |groups: MatrixGroups| [(8, false), (8, true), (256, true)].map(|of| cycles(groups.clone(), 3, of));
    for (key, change) in keys {
        let mut groups = MatrixGroups::default();
        change(&mut groups);
        assert_ne!(all(groups), all(MatrixGroups::default()), "{key}");
    }
}
