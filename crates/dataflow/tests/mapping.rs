//! Placement and routes of random graphs.

use crate::support::checks::{check_placement, check_routes};
use crate::support::random;
use dataflow::fabric::{Fabric, FabricSpec};
use dataflow::graph::{Dataflow, Input, Node, NodeId, NodeOp, Region};
use dataflow::map::{Options, map};
use dataflow::mapping::UnitId;
use dataflow::place::{Distances, place, wire_length};
use dataflow::resources::{kind, misfits, needs};
use dataflow::route::{Unroutable, route};
use exec::int::Int2;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn small() -> Fabric {
    Fabric::new(FabricSpec { columns: 9, rows: 6, int_dividers: 2, fp_dividers: 2, roots: 2, ..FabricSpec::DEFAULT })
        .unwrap()
}

/// The first operations of `genes` that fit.
fn fitting(genes: &[u32], fabric: &Fabric) -> Region {
    (0..=genes.len()).rev().map(|n| random::region(&genes[..n])).find(|r| misfits(r, fabric).is_empty()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn random_graphs_are_placed_and_routed(genes in prop::collection::vec(any::<u32>(), 1..50), seed: u64) {
        let fabric = small();
        let distances = Distances::of(&fabric);
        let region = fitting(&genes, &fabric);
        let units = place(&region, &fabric, &distances, seed).unwrap();
        check_placement(&region, &fabric, &units)?;
        prop_assert_eq!(&units, &place(&region, &fabric, &distances, seed).unwrap(), "the same seed, the same placement");
        match route(&region, &units, &fabric) {
            Ok(routes) => {
                check_routes(&region, &fabric, &units, &routes)?;
                prop_assert_eq!(routes, route(&region, &units, &fabric).unwrap());
            }
            // A small fabric may be full.
            Err(problem) => prop_assert!(problem.to_string().contains("missing for the results of n"), "{}", problem),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10))]
    #[test]
    fn a_seed_gives_one_mapping_and_a_failure_a_reason(
        genes in prop::collection::vec(any::<u32>(), 1..60),
        (seed, copies, is_loop) in (any::<u64>(), 0_u32..=2, any::<bool>()),
        (columns, rows) in (7_u32..=18, 5_u32..=6),
    ) {
        let spec = FabricSpec { columns, rows, int_dividers: 2, fp_dividers: 2, roots: 2, ..FabricSpec::DEFAULT };
        let fabric = Fabric::new(spec).unwrap();
        let kernel = random::dataflow(&genes, is_loop);
        let options = Options { seed, copies, ..Options::default() };
        let compiled = map(&kernel, &fabric, &options);
        prop_assert_eq!(&compiled, &map(&kernel, &fabric, &options));
        match compiled {
            Ok(compiled) => for mapping in &compiled.mapped.mappings {
                check_placement(&mapping.region, &fabric, &mapping.units)?;
                check_routes(&mapping.region, &fabric, &mapping.units, &mapping.routes)?;
            },
            Err(failure) => {
                let reason = failure.to_string();
                prop_assert!(reason.starts_with("region ") && reason.len() > 20, "{}", reason);
            }
        }
    }
}

/// Operations of all kinds until a fabric has hardly a unit left.
fn nearly_full(fabric: &Fabric) -> Region {
    let mut state = 5u32;
    let (mut genes, mut refused) = (Vec::new(), 0);
    while refused < 200 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        genes.push(state.rotate_left(11));
        if !misfits(&random::region(&genes), fabric).is_empty() {
            genes.pop();
            refused += 1;
        }
    }
    random::region(&genes)
}

#[test]
fn a_full_fabric_is_routed() {
    let fabric = Fabric::default();
    let region = nearly_full(&fabric);
    let used: usize = needs(&region.nodes).iter().sum();
    assert!(used > 90, "{used} of 108 units");
    let distances = Distances::of(&fabric);
    let units = place(&region, &fabric, &distances, 1).unwrap();
    let routes = route(&region, &units, &fabric).unwrap();
    check_placement(&region, &fabric, &units).unwrap();
    check_routes(&region, &fabric, &units, &routes).unwrap();
}

#[test]
fn annealing_shortens_the_wires_of_random_placements() {
    let fabric = Fabric::default();
    let region = nearly_full(&fabric);
    let distances = Distances::of(&fabric);
    let placed = wire_length(&region, &place(&region, &fabric, &distances, 1).unwrap(), &distances);
    let mut free: BTreeMap<_, Vec<u16>> = BTreeMap::new();
    for (i, unit) in fabric.units().iter().enumerate() {
        free.entry(unit.kind).or_default().push(i as u16);
    }
    let at_random = |(i, node): (usize, &Node)| {
        let units = free.get_mut(&kind(&node.op)?)?;
        Some(UnitId(units.swap_remove(i * 7 % units.len())))
    };
    let random: Vec<_> = region.nodes.iter().enumerate().map(at_random).collect();
    let random = wire_length(&region, &random, &distances);
    assert!(3 * placed < 2 * random, "{placed} against {random} links");
}

#[test]
fn missing_links_are_reported_with_the_results_that_need_them() {
    // Seven results for the unit in the corner: its four switches have a link to it each.
    let mut builder = random::Builder::new();
    let mut units = vec![None; 3];
    let tid = Input::Token(NodeId(0));
    for at in 0..7 {
        let sum = builder.two(Int2::Add32, tid, Input::Immediate(at));
        builder.two(Int2::Add32, sum, Input::Immediate(0));
        units.extend([Some(UnitId(40 + at as u16)), Some(UnitId(0))]);
    }
    let problem = route(&builder.region, &units, &Fabric::default()).unwrap_err();
    assert!(matches!(problem, Unroutable::Congested { missing: 3, .. }), "{problem}");
    assert_eq!(problem.to_string(), "3 links are missing for the results of n3, n5, n7, n9, …");
}

#[test]
fn a_kernel_is_mapped_region_by_region() {
    let fabric = Fabric::default();
    let genes: Vec<u32> = (0..90u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
    let kernel = random::dataflow(&genes, true);
    let options = Options::default();
    let compiled = map(&kernel, &fabric, &options).unwrap();
    let [cut] = &compiled.cuts[..] else { panic!("the first region is too large: {:?}", compiled.cuts) };
    assert_eq!(compiled.mapped.mappings.len(), cut.parts.len() + 1);
    for (mapping, report) in compiled.mapped.mappings.iter().zip(&compiled.regions) {
        check_placement(&mapping.region, &fabric, &mapping.units).unwrap();
        check_routes(&mapping.region, &fabric, &mapping.units, &mapping.routes).unwrap();
        assert_eq!(report.used, needs(&mapping.region.nodes));
        let delays = mapping.region.nodes.iter().filter(|n| matches!(n.op, NodeOp::Delay(_))).count();
        assert_eq!(delays, report.delays);
        assert!(mapping.configuration_bits > 1000);
    }
    assert!(compiled.regions.iter().any(|r| r.delays > 0));
    assert_eq!(map(&kernel, &fabric, &options).unwrap(), compiled);
    let without: Vec<_> = compiled.mapped.dataflow.regions.iter().map(|r| r.nodes.len()).collect();
    let with: Vec<_> = compiled.mapped.mappings.iter().map(|m| m.region.nodes.len()).collect();
    assert!(without.iter().zip(&with).all(|(a, b)| a <= b), "delays are in the mappings only");
}

#[test]
fn what_cannot_be_mapped_is_refused_with_a_reason() {
    let fabric = Fabric::new(FabricSpec { int_dividers: 0, ..FabricSpec::DEFAULT }).unwrap();
    let mut builder = random::Builder::new();
    builder.two(Int2::DivU32, Input::Token(NodeId(0)), Input::Immediate(7));
    let kernel = Dataflow { regions: vec![builder.region], ..Dataflow::default() };
    let failure = map(&kernel, &fabric, &Options::default()).unwrap_err();
    let expected = "region 0 has no cut that fits: from n3 on, integer divider units: 1 needed, 0 available";
    assert_eq!(failure.to_string(), expected);
}
