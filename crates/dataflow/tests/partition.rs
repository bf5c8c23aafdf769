//! A kernel whose regions are cut does the same.

use crate::support::evaluation::run;
use crate::support::random::{Builder, dataflow};
use dataflow::fabric::{KINDS, UnitKind};
use dataflow::graph::{Access, AccessKind, Dataflow, Input, Node, NodeOp, RegionId, Target};
use dataflow::partition::{Partitioned, partition};
use dataflow::resources::{Counts, Misfit, needs, shortages};
use exec::int::Int2;
use proptest::prelude::*;

/// Runs threads of both kernels, with ready nodes in orders that depend on `seed`.
fn check_same(before: &Dataflow, after: &Dataflow, seed: u64) -> Result<(), TestCaseError> {
    for tid in 0..4 {
        let mut state = seed | 1;
        let mut pick = |count: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize % count
        };
        let expected = run(before, tid, |_| 0);
        prop_assert_eq!(&run(before, tid, &mut pick), &expected, "the test's own graph has an order");
        prop_assert_eq!(&run(after, tid, &mut pick), &expected);
    }
    Ok(())
}

fn check_parts(before: &Dataflow, all: &Partitioned, available: &Counts) -> Result<(), TestCaseError> {
    prop_assert_eq!(all.origin.len(), all.dataflow.regions.len());
    for region in &all.dataflow.regions {
        prop_assert_eq!(shortages(&needs(&region.nodes), available), vec![]);
        for (i, node) in region.nodes.iter().enumerate() {
            prop_assert!(node.tokens().all(|(_, from)| from.index() < i), "nodes are in order");
            prop_assert!(matches!(node.op, NodeOp::Inject(_)) || node.tokens().count() > 0, "it fires: {node:?}");
        }
    }
    for cut in &all.cuts {
        prop_assert!(cut.parts.len() > 1 && !cut.reason.is_empty());
        let live = |kind: AccessKind, part: RegionId| {
            let is_one = |n: &&Node| matches!(&n.op, NodeOp::Access(Access { kind: k, target: Target::Live(_), .. }) if *k == kind);
            all.dataflow.regions[part.0 as usize].nodes.iter().filter(is_one).count()
        };
        for part in &cut.parts {
            prop_assert_eq!(live(AccessKind::Load, part.region), part.loads.len());
            prop_assert_eq!(live(AccessKind::Store, part.region), part.stores.len());
        }
    }
    let accesses = |d: &Dataflow| {
        let is_one = |n: &&Node| matches!(&n.op, NodeOp::Access(Access { target: Target::Space(_), .. }));
        d.regions.iter().flat_map(|r| &r.nodes).filter(is_one).count()
    };
    prop_assert_eq!(accesses(before), accesses(&all.dataflow), "each access is in one part");
    Ok(())
}

proptest! {
    #[test]
    fn parts_do_what_the_region_did(
        genes in prop::collection::vec(any::<u32>(), 2..60),
        is_loop: bool,
        compute in 6usize..16,
        control in 6usize..16,
        memory in 6usize..12,
        seed: u64,
    ) {
        let before = dataflow(&genes, is_loop);
        let available = [compute, control, memory, 2, 2, 2];
        if let Ok(all) = partition(&before, |_| available) {
            check_parts(&before, &all, &available)?;
            check_same(&before, &all.dataflow, seed)?;
        }
    }
}

const AMPLE: Counts = [100; KINDS];

fn with(kind: UnitKind, count: usize) -> Counts {
    let mut counts = AMPLE;
    counts[kind as usize] = count;
    counts
}

/// A sum of sums: chains of additions of the thread's position.
fn chains(lengths: &[usize]) -> Dataflow {
    let mut builder = Builder::new();
    let tid = Input::Token(dataflow::graph::NodeId(0));
    let mut ends = Vec::new();
    for length in lengths {
        let mut last = tid;
        for k in 0..*length {
            last = builder.two(Int2::MulLo32, last, if k == 0 { Input::Immediate(3) } else { tid });
        }
        ends.push(last);
    }
    let sum = ends.into_iter().reduce(|a, b| builder.two(Int2::Add32, a, b)).unwrap();
    builder.push(NodeOp::Next(RegionId(0)), vec![sum]);
    builder.region.successors = vec![RegionId(0)];
    Dataflow { regions: vec![builder.region], ..Dataflow::default() }
}

#[test]
fn a_region_that_fits_is_left_as_it_is() {
    let kernel = chains(&[4, 4]);
    let all = partition(&kernel, |_| AMPLE).unwrap();
    assert_eq!((&all.dataflow, &all.origin[..], all.cuts.len()), (&kernel, &[RegionId(0)][..], 0));
}

#[test]
fn the_cut_is_where_the_fewest_values_live() {
    // Three chains, then the two sums: in this order a cut crosses two values. If the first sum comes before the
    // third chain, it crosses one.
    let kernel = chains(&[5, 5, 5]);
    let all = partition(&kernel, |_| with(UnitKind::Compute, 11)).unwrap();
    let [cut] = &all.cuts[..] else { panic!("one region") };
    assert_eq!(cut.reason, [Misfit::Units { kind: UnitKind::Compute, needed: 17, available: 11 }]);
    let crossing: Vec<_> = cut.parts.iter().map(|p| (p.loads.len(), p.stores.len())).collect();
    assert_eq!(crossing, [(0, 1), (1, 0)]);
    assert_eq!(cut.bytes(&all.dataflow), 8);
    assert_eq!(all.dataflow.regions[0].always, Some(RegionId(1)));
    assert_eq!(all.dataflow.regions[1].always, None);
}

#[test]
fn what_no_cut_helps_is_refused_with_the_node() {
    let kernel = chains(&[3]);
    let refusal = partition(&kernel, |_| with(UnitKind::Control, 0)).unwrap_err();
    assert_eq!(refusal.to_string(), "region 0 has no cut that fits: from n6 on, control units: 1 needed, 0 available");
}
