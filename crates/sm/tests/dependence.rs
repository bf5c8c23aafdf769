//! Latencies by reader, exact to the cycle.

use crate::support;

use config::{Dependence, LatencyOf, Unit, UnitConfig};
use isa::{OpClass, Space};
use support::*;

/// All distances are different ones, longer than the latencies.
const DISTANCES: Dependence = Dependence {
    cross_cycles: Some(5),
    to_dp_cycles: Some(6),
    to_sfu_cycles: Some(7),
    to_half_cycles: Some(8),
    to_matrix_cycles: Some(9),
    to_memory_cycles: Some(10),
    to_guard_cycles: Some(12),
    dp_to_int_cycles: Some(15),
    dp_to_sp_cycles: Some(16),
    dp_to_guard_cycles: Some(17),
};

/// `lines` where integers and single precision take 4 cycles and double precision 14.
fn bench(lines: &[Line]) -> Bench {
    use OpClass::{DpAdd, FpFma, Half, IntAdd, Sfu, Tensor};
    let rows = [
        (IntAdd, Unit::Int, 4),
        (FpFma, Unit::Sp, 4),
        (DpAdd, Unit::Dp, 14),
        (Sfu, Unit::Sfu, 20),
        (Half, Unit::Sp, 4),
        (Tensor, Unit::Tensor, 20),
    ];
    let bench = Bench::new(lines).gpu(|g| {
        g.sm.latency = Some(LatencyOf::Issue);
        g.sm.dependence = DISTANCES;
        g.sm.units.insert(Unit::Dp, UnitConfig { count: 4, issue_latches: 4, dispatch_latches: 4 });
    });
    rows.into_iter().fold(bench, |bench, (class, unit, latency)| bench.timing(class, unit, latency, 1))
}

/// From the first line's issue to that of the others.
fn issues(bench: &Bench) -> Vec<u64> {
    let run = bench.run();
    let issued = |order| at(&run.sm.observer, order, 'I');
    (1..bench.lines.len() as u32 - 1).map(|order| issued(order) - issued(0)).collect()
}

/// `line`, guarded by predicate register `by`.
fn guarded(mut line: Line, by: u16) -> Line {
    line.srcs.push(by);
    Line { guarded: true, ..line }
}

#[test]
fn each_pair_has_its_distance() {
    use OpClass::{DpAdd, FpFma, Half, IntAdd, Sfu, Tensor};
    let reads = |class| op(class, 9, &[1, 2]);
    let rows = [
        (IntAdd, reads(IntAdd), 4),
        (FpFma, reads(FpFma), 4),
        (IntAdd, reads(FpFma), 5),
        (FpFma, reads(IntAdd), 5),
        (IntAdd, reads(DpAdd), 6),
        (FpFma, reads(Sfu), 7),
        (IntAdd, reads(Half), 8),
        (FpFma, reads(Tensor), 9),
        (IntAdd, Line { srcs: vec![1], ..load(Space::Global, 9, 0, 4) }, 10),
        (FpFma, Line { srcs: vec![2, 1], ..store(Space::Shared, 1, 0, 4) }, 10),
        (IntAdd, guarded(add(9, &[2]), 1), 12),
        (IntAdd, guarded(branch(1, 0), 1), 12),
        (DpAdd, reads(DpAdd), 14),
        (DpAdd, reads(IntAdd), 15),
        (DpAdd, reads(FpFma), 16),
        (DpAdd, guarded(add(9, &[2]), 1), 17),
        (DpAdd, guarded(branch(1, 0), 1), 17),
        // Results of other units have one latency.
        (Sfu, reads(IntAdd), 20),
        (Sfu, guarded(add(9, &[2]), 1), 20),
        // A predicate that is not last guards nothing.
        (IntAdd, guarded(add(9, &[1]), 2), 4),
    ];
    for (writer, reader, distance) in rows {
        let text = format!("{writer:?} to {}", reader.text);
        assert_eq!(issues(&bench(&[op(writer, 1, &[3]), reader])), [distance], "{text}");
    }
}

/// The chains that ptxas 11.8 makes of the same for Volta: 16 cycles a link from a compare to an addition that it
/// guards and on to the next compare, 10 from a multiply-add to a logical operation and back.
#[test]
fn chains_take_the_sum_of_their_pairs() {
    let links = 6;
    let compares = (0..links).flat_map(|_| [add(1, &[2]), guarded(add(2, &[2]), 1)]);
    let issued = issues(&bench(&compares.collect::<Vec<_>>()));
    assert_eq!(issued.last(), Some(&(16 * (links - 1) + 12)));
    let mixed = (0..links).flat_map(|_| [op(OpClass::FpFma, 1, &[1]), add(1, &[1])]);
    let issued = issues(&bench(&mixed.collect::<Vec<_>>()));
    assert_eq!(issued.last(), Some(&(10 * (links - 1) + 5)));
}

/// The most demanding reader counts, less the instructions before it; a new value ends the search.
#[test]
fn the_last_of_several_readers_has_its_distance() {
    let first = || add(1, &[3]);
    let early_then_guard = [first(), add(9, &[1]), add(10, &[4]), guarded(add(11, &[5]), 1)];
    // The guard waits for 12 cycles; the two before it issue one and two cycles earlier.
    assert_eq!(issues(&bench(&early_then_guard)), [10, 11, 12]);
    // Only the instructions between the readers count.
    let later = [first(), add(10, &[4]), add(9, &[1]), guarded(add(11, &[5]), 1)];
    assert_eq!(issues(&bench(&later))[1..], [11, 12]);
    let overwritten = [first(), add(9, &[1]), add(1, &[4]), guarded(add(11, &[5]), 1)];
    assert_eq!(issues(&bench(&overwritten)), [4, 5, 17]);
    // A guarded instruction may leave the old value.
    let kept = [first(), add(9, &[1]), guarded(add(1, &[4]), 8), guarded(add(11, &[5]), 1)];
    assert!(issues(&bench(&kept))[0] > 4);
    let past_a_jump = [first(), add(9, &[1]), branch(1, 0), guarded(add(11, &[5]), 1)];
    assert_eq!(issues(&bench(&past_a_jump))[0], 4);
}

/// Stall counts, where they are honoured, hold what the compiler found to be enough.
#[test]
fn programs_with_stall_counts_have_the_latencies_of_their_classes() {
    let lines = [add(1, &[3]).stall(2, false), guarded(add(2, &[2]), 1).stall(2, false)];
    for (honours, distance) in [(Some(true), 4), (None, 12)] {
        assert_eq!(issues(&bench(&lines).gpu(|g| g.sm.issue.stall_counts = honours)), [distance]);
    }
    let by_execution = bench(&[add(1, &[3]), guarded(add(2, &[2]), 1)]).gpu(|g| g.sm.latency = None);
    let without = by_execution.clone().gpu(|g| g.sm.dependence = Dependence::default());
    assert_eq!(issues(&by_execution), issues(&without), "latencies of execution have no pairs");
}
