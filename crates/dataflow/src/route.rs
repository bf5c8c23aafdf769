//! Routes of a placed graph by negotiated congestion (PathFinder: McMurchie and Ebeling, FPGA 1995).
//!
//! The links of a fabric are configured statically: each carries the result of one node, or one value of the
//! injector. The routes of one result to all its takers are a tree that shares links. All results are routed as if
//! links had room for several; then those that share a link are routed again, at a price that rises with the number
//! of results that want the link now and wanted it before, until none is shared.

use crate::fabric::{End, Fabric, Link};
use crate::graph::{NodeId, Region};
use crate::mapping::{LinkId, Route, UnitId};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::fmt;

/// Maximum number of rounds.
const MOST_ROUNDS: u64 = 80;
/// Price of a link that nobody else wants.
const LINK: u64 = 8;
/// Price of a link that a tree has already, by its distance from the root: a longer tree is later.
const SHARED: u64 = 4;

/// Routing failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unroutable {
    /// There is no path at all.
    NoPath {
        /// The node whose result has no path.
        from: NodeId,
        /// The unit that it does not reach.
        to: UnitId,
    },
    /// Links stay wanted by several results.
    Congested {
        /// Links that are missing: results that want a link, without the first, over all links.
        missing: usize,
        /// Results that want such links, the one with the most of them first.
        results: Vec<NodeId>,
    },
}

impl fmt::Display for Unroutable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPath { from, to } => write!(f, "no links lead from the unit of n{} to unit {}", from.0, to.0),
            Self::Congested { missing, results } => {
                let links = if *missing == 1 { "link is" } else { "links are" };
                let some: Vec<String> = results.iter().take(4).map(|n| format!("n{}", n.0)).collect();
                let more = if results.len() > 4 { ", …" } else { "" };
                write!(f, "{missing} {links} missing for the results of {}{more}", some.join(", "))
            }
        }
    }
}

/// The result of a node with all that take it.
struct Net {
    from: NodeId,
    source: End,
    /// Each unit once, with the ports.
    sinks: Vec<(UnitId, Vec<(NodeId, u8)>)>,
    /// The tree: by end that it reaches, the link by which. Empty before the first round.
    tree: BTreeMap<End, LinkId>,
}

/// Routes a placed region. The routes are in the order of the nodes that take tokens and their ports.
///
/// # Errors
/// Links do not suffice: which results want them, and how many are missing.
pub fn route(region: &Region, units: &[Option<UnitId>], fabric: &Fabric) -> Result<Vec<Route>, Unroutable> {
    let mut router = Router::new(nets(region, units), fabric);
    for round in 0..MOST_ROUNDS {
        router.round(round)?;
        if router.missing() == 0 {
            return Ok(router.routes());
        }
    }
    Err(router.congestion())
}

fn nets(region: &Region, units: &[Option<UnitId>]) -> Vec<Net> {
    let mut sinks: Vec<BTreeMap<UnitId, Vec<(NodeId, u8)>>> = vec![BTreeMap::new(); region.nodes.len()];
    for (i, node) in region.nodes.iter().enumerate() {
        for (port, from) in node.tokens() {
            let unit = units[i].expect("what takes tokens has a unit");
            sinks[from.index()].entry(unit).or_default().push((NodeId(i as u32), port as u8));
        }
    }
    let net = |(i, sinks): (usize, BTreeMap<UnitId, Vec<(NodeId, u8)>>)| Net {
        from: NodeId(i as u32),
        source: units[i].map_or(End::Injector, End::Unit),
        sinks: sinks.into_iter().collect(),
        tree: BTreeMap::new(),
    };
    sinks.into_iter().enumerate().filter(|(_, sinks)| !sinks.is_empty()).map(net).collect()
}

struct Router<'a> {
    fabric: &'a Fabric,
    nets: Vec<Net>,
    /// By link: results that want it.
    wanted: Vec<u32>,
    /// By link: rounds after which several wanted it.
    history: Vec<u64>,
}

impl<'a> Router<'a> {
    fn new(nets: Vec<Net>, fabric: &'a Fabric) -> Self {
        let links = fabric.links().len();
        Self { fabric, nets, wanted: vec![0; links], history: vec![0; links] }
    }

    /// Links that are missing.
    fn missing(&self) -> usize {
        self.wanted.iter().map(|n| n.saturating_sub(1) as usize).sum()
    }

    fn is_shared(&self, net: &Net) -> bool {
        net.tree.values().any(|link| self.wanted[link.0 as usize] > 1)
    }

    /// Routes what is not routed yet, or shares links with others.
    fn round(&mut self, round: u64) -> Result<(), Unroutable> {
        for i in 0..self.nets.len() {
            if round > 0 && !self.is_shared(&self.nets[i]) {
                continue;
            }
            for link in std::mem::take(&mut self.nets[i].tree).values() {
                self.wanted[link.0 as usize] -= 1;
            }
            let tree = self.tree(&self.nets[i], round)?;
            for link in tree.values() {
                self.wanted[link.0 as usize] += 1;
            }
            self.nets[i].tree = tree;
        }
        for (history, wanted) in self.history.iter_mut().zip(&self.wanted) {
            *history += u64::from(wanted.saturating_sub(1));
        }
        Ok(())
    }

    /// The price of a link for one more result.
    fn price(&self, link: LinkId, round: u64) -> u64 {
        let (wanted, history) = (u64::from(self.wanted[link.0 as usize]), self.history[link.0 as usize]);
        (LINK + LINK * history) * (2 + wanted * (round + 1)) / 2
    }

    /// A tree from the source of a net to all its sinks, nearest first.
    fn tree(&self, net: &Net, round: u64) -> Result<BTreeMap<End, LinkId>, Unroutable> {
        let mut tree: BTreeMap<End, LinkId> = BTreeMap::new();
        let mut depth: BTreeMap<End, u64> = BTreeMap::from([(net.source, 0)]);
        let mut left: Vec<UnitId> = net.sinks.iter().map(|(unit, _)| *unit).collect();
        while !left.is_empty() {
            let (end, path) =
                self.nearest(&depth, &left, round).ok_or_else(|| Unroutable::NoPath { from: net.from, to: left[0] })?;
            left.retain(|unit| *unit != end);
            for link in path {
                let Link { from, to } = self.fabric.link(link);
                depth.insert(to, depth[&from] + 1);
                tree.insert(to, link);
            }
        }
        Ok(tree)
    }

    /// The sink that is cheapest to reach from a tree, and the links to it.
    fn nearest(&self, tree: &BTreeMap<End, u64>, sinks: &[UnitId], round: u64) -> Option<(UnitId, Vec<LinkId>)> {
        let mut best = vec![u64::MAX; self.fabric.ends()];
        let mut by: Vec<Option<LinkId>> = vec![None; self.fabric.ends()];
        let mut heap = BinaryHeap::new();
        for (end, depth) in tree {
            // From the source or a switch: a sink that is reached passes nothing on.
            if *depth == 0 || matches!(end, End::Switch(..)) {
                best[self.fabric.index(*end)] = depth * SHARED;
                heap.push(Reverse((depth * SHARED, *end)));
            }
        }
        while let Some(Reverse((cost, end))) = heap.pop() {
            if cost > best[self.fabric.index(end)] {
                continue;
            }
            if let End::Unit(unit) = end
                && by[self.fabric.index(end)].is_some()
            {
                return Some((unit, self.path(&by, end)));
            }
            for link in self.fabric.outgoing(end) {
                let to = self.fabric.link(*link).to;
                let is_allowed = match to {
                    End::Unit(unit) => sinks.contains(&unit),
                    End::Switch(..) => !tree.contains_key(&to),
                    End::Injector => false,
                };
                let (at, cost) = (self.fabric.index(to), cost + self.price(*link, round));
                if is_allowed && cost < best[at] {
                    best[at] = cost;
                    by[at] = Some(*link);
                    heap.push(Reverse((cost, to)));
                }
            }
        }
        None
    }

    /// The links to an end, from where its path leaves the tree.
    fn path(&self, by: &[Option<LinkId>], mut end: End) -> Vec<LinkId> {
        let mut path = Vec::new();
        while let Some(link) = by[self.fabric.index(end)] {
            path.push(link);
            end = self.fabric.link(link).from;
        }
        path.reverse();
        path
    }

    fn routes(&self) -> Vec<Route> {
        let mut routes = Vec::new();
        for net in &self.nets {
            for (unit, ports) in &net.sinks {
                let (mut links, mut end) = (Vec::new(), End::Unit(*unit));
                while let Some(link) = net.tree.get(&end) {
                    links.push(*link);
                    end = self.fabric.link(*link).from;
                }
                links.reverse();
                routes.extend(ports.iter().map(|(to, port)| Route {
                    from: net.from,
                    to: *to,
                    port: *port,
                    links: links.clone(),
                }));
            }
        }
        routes.sort_by_key(|r| (r.to, r.port));
        routes
    }

    fn congestion(&self) -> Unroutable {
        let shared = |net: &Net| net.tree.values().filter(|link| self.wanted[link.0 as usize] > 1).count();
        let mut results: Vec<(usize, NodeId)> = self.nets.iter().map(|n| (shared(n), n.from)).collect();
        results.retain(|(links, _)| *links > 0);
        results.sort_by_key(|(links, from)| (Reverse(*links), *from));
        Unroutable::Congested { missing: self.missing(), results: results.into_iter().map(|(_, from)| from).collect() }
    }
}
