//! Placement of a graph: which unit executes which node, by simulated annealing.
//!
//! The cost is the wire length: for each pair of a node and one that takes its result, the number of links of the
//! shortest route. The schedule is that of VPR (Betz and Rose, 1997): the temperature starts at twenty times the
//! deviation of the cost of random moves and falls slowest while about half of the moves are accepted. The same seed
//! gives the same placement on every host.

use crate::fabric::{End, Fabric, KINDS};
use crate::graph::{NodeId, Region};
use crate::mapping::UnitId;
use crate::resources::{Misfit, kind, misfits};
use std::collections::{BTreeSet, VecDeque};

/// A generator of pseudo-random numbers (splitmix64).
#[derive(Clone, Debug)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    /// Below `bound`.
    fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }

    /// From 0 to 1.
    fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Links of the shortest route from each unit and the injector to each unit.
#[derive(Clone, Debug)]
pub struct Distances {
    units: usize,
    /// By end that sends (the injector last) and unit.
    links: Vec<u16>,
}

impl Distances {
    /// Those of a fabric.
    pub fn of(fabric: &Fabric) -> Self {
        let units = fabric.units().len();
        let mut links = Vec::with_capacity((units + 1) * units);
        let sources = (0..units).map(|u| End::Unit(UnitId(u as u16))).chain([End::Injector]);
        for source in sources {
            links.extend(from(fabric, source));
        }
        Self { units, links }
    }

    /// Links from a unit, or from the injector, to a unit.
    #[inline]
    pub fn between(&self, from: Option<UnitId>, to: UnitId) -> u32 {
        let from = from.map_or(self.units, |unit| usize::from(unit.0));
        self.links[from * self.units + usize::from(to.0)].into()
    }
}

/// Links from an end to each unit. A route passes through switches only; a unit reaches itself through a switch.
fn from(fabric: &Fabric, source: End) -> Vec<u16> {
    let mut links = vec![u16::MAX; fabric.ends()];
    let mut queue = VecDeque::from([(source, 0)]);
    while let Some((end, distance)) = queue.pop_front() {
        for link in fabric.outgoing(end) {
            let to = fabric.link(*link).to;
            let at = &mut links[fabric.index(to)];
            if *at == u16::MAX {
                *at = distance + 1;
                if matches!(to, End::Switch(..)) {
                    queue.push_back((to, distance + 1));
                }
            }
        }
    }
    links.truncate(fabric.units().len());
    links
}

/// Places a region.
///
/// # Errors
/// The fabric has too few units of a kind, or none with enough ports: all reasons.
pub fn place(
    region: &Region,
    fabric: &Fabric,
    distances: &Distances,
    seed: u64,
) -> Result<Vec<Option<UnitId>>, Vec<Misfit>> {
    let misfits = misfits(region, fabric);
    if !misfits.is_empty() {
        return Err(misfits);
    }
    let mut annealing = Annealing::new(region, fabric, distances, seed);
    annealing.run();
    Ok(annealing.unit)
}

/// Sum over all pairs of a node and one that takes its result of the links between their units.
pub fn wire_length(region: &Region, units: &[Option<UnitId>], distances: &Distances) -> u32 {
    let mut sum = 0;
    for (node, unit) in region.nodes.iter().zip(units) {
        let Some(unit) = unit else { continue };
        let senders: BTreeSet<NodeId> = node.tokens().map(|(_, from)| from).collect();
        sum += senders.iter().map(|from| distances.between(units[from.index()], *unit)).sum::<u32>();
    }
    sum
}

struct Annealing<'a> {
    distances: &'a Distances,
    random: Random,
    unit: Vec<Option<UnitId>>,
    /// By unit.
    node: Vec<Option<NodeId>>,
    /// Units of each kind.
    of_kind: [Vec<UnitId>; KINDS],
    kind: Vec<Option<usize>>,
    /// Nodes that have a unit.
    placed: Vec<NodeId>,
    /// By node: those that it takes tokens from, and those that take its result, each once.
    senders: Vec<Vec<NodeId>>,
    takers: Vec<Vec<NodeId>>,
}

impl<'a> Annealing<'a> {
    /// A random placement.
    fn new(region: &Region, fabric: &Fabric, distances: &'a Distances, seed: u64) -> Self {
        let count = region.nodes.len();
        let mut of_kind: [Vec<UnitId>; KINDS] = Default::default();
        for (i, unit) in fabric.units().iter().enumerate() {
            of_kind[unit.kind as usize].push(UnitId(i as u16));
        }
        let (mut senders, mut takers) = (vec![Vec::new(); count], vec![Vec::new(); count]);
        for (i, node) in region.nodes.iter().enumerate() {
            for from in node.tokens().map(|(_, from)| from).collect::<BTreeSet<_>>() {
                senders[i].push(from);
                takers[from.index()].push(NodeId(i as u32));
            }
        }
        let kind: Vec<_> = region.nodes.iter().map(|n| kind(&n.op).map(|k| k as usize)).collect();
        let placed = (0..count).filter(|i| kind[*i].is_some()).map(|i| NodeId(i as u32)).collect();
        let (unit, node) = (vec![None; count], vec![None; fabric.units().len()]);
        let random = Random(seed);
        let mut own = Self { distances, random, unit, node, of_kind, kind, placed, senders, takers };
        own.scatter();
        own
    }

    fn scatter(&mut self) {
        let mut left = self.of_kind.clone();
        for id in self.placed.clone() {
            let free = &mut left[self.kind[id.index()].expect("it has a unit")];
            let unit = free.swap_remove(self.random.below(free.len()));
            self.settle(id, unit);
        }
    }

    fn settle(&mut self, node: NodeId, unit: UnitId) {
        self.unit[node.index()] = Some(unit);
        self.node[usize::from(unit.0)] = Some(node);
    }

    /// Links of all routes of a node.
    fn cost(&self, node: NodeId) -> i64 {
        let unit = self.unit[node.index()].expect("it has a unit");
        let to_self = self.senders[node.index()].iter();
        let to_self = to_self.map(|from| self.distances.between(self.unit[from.index()], unit));
        let from_self = self.takers[node.index()].iter();
        let from_self =
            from_self.map(|to| self.distances.between(Some(unit), self.unit[to.index()].expect("it has a unit")));
        to_self.chain(from_self).map(i64::from).sum()
    }

    /// Exchanges what is in two units.
    fn exchange(&mut self, node: NodeId, with: UnitId) {
        let from = self.unit[node.index()].expect("it has a unit");
        let other = self.node[usize::from(with.0)];
        self.node[usize::from(from.0)] = None;
        self.settle(node, with);
        if let Some(other) = other {
            self.settle(other, from);
        }
    }

    /// Tries a random move at a temperature. The change of the cost, if it was accepted.
    fn step(&mut self, temperature: f64) -> Option<i64> {
        let node = self.placed[self.random.below(self.placed.len())];
        let legal = &self.of_kind[self.kind[node.index()].expect("it has a unit")];
        let with = legal[self.random.below(legal.len())];
        let from = self.unit[node.index()].expect("it has a unit");
        if with == from {
            return None;
        }
        let other = self.node[usize::from(with.0)];
        // Routes between the two are counted twice before and after. Their length is the same both ways.
        let before = self.cost(node) + other.map_or(0, |o| self.cost(o));
        self.exchange(node, with);
        let change = self.cost(node) + other.map_or(0, |o| self.cost(o)) - before;
        if change <= 0 || self.random.fraction() < libm::exp(-(change as f64) / temperature) {
            return Some(change);
        }
        self.exchange(node, from);
        None
    }

    fn run(&mut self) {
        let count = self.placed.len();
        let routes: usize = self.senders.iter().map(Vec::len).sum();
        if count == 0 || routes == 0 {
            return;
        }
        let moves = (10.0 * libm::pow(count as f64, 4.0 / 3.0)) as usize;
        let changes: Vec<f64> = (0..count.max(20)).filter_map(|_| self.step(f64::INFINITY)).map(|c| c as f64).collect();
        let square: f64 = changes.iter().map(|c| c * c).sum();
        let mut temperature = 20.0 * libm::sqrt(square / changes.len().max(1) as f64);
        // The cost of a route is a whole number: below this temperature only free moves are accepted.
        while temperature > 0.05 {
            let accepted = (0..moves).filter(|_| self.step(temperature).is_some()).count();
            temperature *= match accepted as f64 / moves as f64 {
                share if share > 0.96 => 0.5,
                share if share > 0.8 => 0.9,
                share if share > 0.15 => 0.95,
                _ => 0.8,
            };
        }
        (0..moves).for_each(|_| {
            self.step(0.0);
        });
    }
}
