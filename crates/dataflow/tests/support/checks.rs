//! Invariants of every placement and all routes.

use dataflow::fabric::{End, Fabric};
use dataflow::graph::Region;
use dataflow::mapping::{Route, UnitId};
use dataflow::resources::kind;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

pub fn check_placement(region: &Region, fabric: &Fabric, units: &[Option<UnitId>]) -> Result<(), TestCaseError> {
    let mut taken = BTreeSet::new();
    for (node, unit) in region.nodes.iter().zip(units) {
        prop_assert_eq!(unit.map(|u| fabric.unit(u).kind), kind(&node.op));
        prop_assert!(unit.is_none_or(|u| taken.insert(u)), "a unit has one node");
    }
    Ok(())
}

pub fn check_routes(
    region: &Region,
    fabric: &Fabric,
    units: &[Option<UnitId>],
    routes: &[Route],
) -> Result<(), TestCaseError> {
    let end = |node: usize| units[node].map_or(End::Injector, End::Unit);
    let ports: Vec<_> = (0..region.nodes.len())
        .flat_map(|to| region.nodes[to].tokens().map(move |(port, from)| (from.index(), to, port)))
        .collect();
    let routed: Vec<_> = routes.iter().map(|r| (r.from.index(), r.to.index(), usize::from(r.port))).collect();
    prop_assert_eq!(ports, routed, "each port that takes tokens has a route");
    let mut owner = BTreeMap::new();
    let mut entered = BTreeMap::new();
    for route in routes {
        let mut at = end(route.from.index());
        for (i, id) in route.links.iter().enumerate() {
            let link = fabric.link(*id);
            prop_assert_eq!(link.from, at, "links follow each other");
            at = link.to;
            prop_assert!(i + 1 == route.links.len() || matches!(at, End::Switch(..)), "only switches pass tokens on");
            prop_assert_eq!(*owner.entry(*id).or_insert(route.from), route.from, "a link carries one result");
            prop_assert_eq!(*entered.entry((route.from, at)).or_insert(*id), *id, "the routes of a result are a tree");
        }
        prop_assert_eq!(at, end(route.to.index()));
        prop_assert!(!route.links.is_empty());
    }
    Ok(())
}
