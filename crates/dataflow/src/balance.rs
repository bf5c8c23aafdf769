//! Delays that make paths of equal length (§4.4, figure 6).
//!
//! Where paths meet again, the tokens of the shorter one wait. If they have fewer places to wait in than the longer
//! path has cycles more, threads follow each other at less than one a cycle. A delay is a FIFO in a control unit
//! that gives them the places; delays are chained if one FIFO is too shallow, and all consumers of one result take
//! it from the same chain.
//!
//! Each node has a time at which it fires for a thread, in cycles after the injector has sent its values. Times are
//! first the earliest possible, then moved within the times of the neighbours where that needs fewer places.
//!
//! Deviations and decisions:
//! - D1: the paper counts nodes; here a path has the latencies that the caller gives (all 1: nodes).
//! - D2: places of the token buffers, which also hold tokens that wait, are subtracted (`absorbed`).
//! - D3: control units may not suffice; then the largest differences come first, and the report has the rest.

use crate::graph::{Input, Node, NodeId, NodeOp, Region};
use std::collections::BTreeSet;

/// Maximum number of passes that move nodes.
const MOST_PASSES: usize = 16;

/// Resources for delays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Control units that nodes leave.
    pub units: usize,
    /// Tokens that the FIFO of a control unit holds: the largest delay.
    pub fifo: u8,
    /// Cycles of difference that token buffers take.
    pub absorbed: u32,
}

/// A port whose tokens wait for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names of the fields say it all")]
pub struct Imbalance {
    /// Places that are missing.
    pub places: u32,
    pub from: NodeId,
    pub to: NodeId,
    pub port: u8,
}

/// A region with delays.
#[derive(Clone, Debug, PartialEq)]
pub struct Balanced {
    /// The region.
    pub region: Region,
    /// Number of delays that were inserted.
    pub delays: usize,
    /// Ports that stay unbalanced, by the ids of the region without delays; the largest difference first.
    pub left: Vec<Imbalance>,
}

/// Inserts delays within `budget`; `latency` is the number of cycles from the firing of a node to that of one that
/// waits only for it.
pub fn balance(region: &Region, budget: &Budget, latency: impl Fn(&Node) -> u32) -> Balanced {
    let latency: Vec<u32> = region.nodes.iter().map(latency).collect();
    let times = times(region, &latency, budget.absorbed);
    let mut imbalances = imbalances(region, &latency, &times, budget.absorbed);
    imbalances.sort_by_key(|i| (std::cmp::Reverse(i.places), i.from, i.to, i.port));
    let mut taps: Vec<BTreeSet<u32>> = vec![BTreeSet::new(); region.nodes.len()];
    let mut free = budget.units;
    let (done, left): (Vec<_>, Vec<_>) = imbalances.into_iter().partition(|i| {
        let chain = &mut taps[i.from.index()];
        let before = units(chain, budget.fifo);
        let is_new = chain.insert(i.places);
        let more = units(chain, budget.fifo) - before;
        if more > free {
            chain.remove(&i.places);
            return false;
        }
        debug_assert!(is_new || more == 0, "a tap that is there takes no unit");
        free -= more;
        true
    });
    Balanced { region: with_delays(region, &taps, &done, budget.fifo), delays: budget.units - free, left }
}

/// Length of the longest path, in cycles.
pub fn critical_path(region: &Region, latency: impl Fn(&Node) -> u32) -> u32 {
    let latency: Vec<u32> = region.nodes.iter().map(latency).collect();
    let times = earliest(region, &latency);
    times.iter().zip(&latency).map(|(time, latency)| time + latency).max().unwrap_or(0)
}

/// Control units of a chain of delays with these taps.
fn units(taps: &BTreeSet<u32>, fifo: u8) -> usize {
    let mut depth = 0;
    taps.iter().map(|tap| (tap - std::mem::replace(&mut depth, *tap)).div_ceil(fifo.into()) as usize).sum()
}

fn earliest(region: &Region, latency: &[u32]) -> Vec<u32> {
    let mut times = vec![0; region.nodes.len()];
    for (i, node) in region.nodes.iter().enumerate() {
        times[i] = node.tokens().map(|(_, from)| times[from.index()] + latency[from.index()]).max().unwrap_or(0);
    }
    times
}

/// A time of firing for each node, such that few places are missing.
fn times(region: &Region, latency: &[u32], absorbed: u32) -> Vec<u32> {
    let mut times = earliest(region, latency);
    let mut consumers = vec![Vec::new(); region.nodes.len()];
    for (i, node) in region.nodes.iter().enumerate() {
        node.tokens().for_each(|(_, from)| consumers[from.index()].push(i));
    }
    let places = |times: &[u32], node: usize| {
        let last = consumers[node].iter().map(|to| times[*to]).max();
        last.map_or(0, |last| (last - times[node] - latency[node]).saturating_sub(absorbed))
    };
    for _ in 0..MOST_PASSES {
        let mut moved = false;
        for (i, node) in region.nodes.iter().enumerate().rev() {
            let ready = node.tokens().map(|(_, from)| times[from.index()] + latency[from.index()]).max();
            let needed = consumers[i].iter().map(|to| times[*to]).min();
            // The injector sends all values of a thread at once; what nobody waits for stays early.
            let (Some(ready), Some(needed)) = (ready, needed) else { continue };
            let sources: BTreeSet<usize> = node.tokens().map(|(_, from)| from.index()).collect();
            let cost = |times: &mut [u32], at: u32| {
                times[i] = at;
                sources.iter().map(|from| places(times, *from)).sum::<u32>() + places(times, i)
            };
            let before = times[i];
            let best = [before, ready, needed - latency[i]]
                .into_iter()
                .min_by_key(|at| (cost(&mut times, *at), *at != before))
                .expect("there are three");
            times[i] = best;
            moved |= best != before;
        }
        if !moved {
            break;
        }
    }
    times
}

/// Ports whose tokens wait for more cycles than token buffers take.
fn imbalances(region: &Region, latency: &[u32], times: &[u32], absorbed: u32) -> Vec<Imbalance> {
    let mut all = Vec::new();
    for (i, node) in region.nodes.iter().enumerate() {
        for (port, from) in node.tokens() {
            let waits = times[i] - times[from.index()] - latency[from.index()];
            if waits > absorbed {
                let (to, port) = (NodeId(i as u32), port as u8);
                all.push(Imbalance { places: waits - absorbed, from, to, port });
            }
        }
    }
    all
}

/// The region with a chain of delays after each node that has taps.
fn with_delays(region: &Region, taps: &[BTreeSet<u32>], done: &[Imbalance], fifo: u8) -> Region {
    let mut nodes: Vec<Node> = Vec::new();
    let mut new_id = vec![NodeId(0); region.nodes.len()];
    // By node: places of each tap and the delay that it is.
    let mut tapped: Vec<Vec<(u32, NodeId)>> = vec![Vec::new(); region.nodes.len()];
    for (i, node) in region.nodes.iter().enumerate() {
        let mut node = node.clone();
        for (port, input) in node.inputs.iter_mut().enumerate() {
            let Input::Token(from) = input else { continue };
            let delayed = done.iter().find(|d| d.to.index() == i && usize::from(d.port) == port);
            *from = match delayed {
                Some(d) => tapped[from.index()].iter().find(|(places, _)| *places == d.places).expect("it is a tap").1,
                None => new_id[from.index()],
            };
        }
        let (pc, mut last) = (node.pc, NodeId(nodes.len() as u32));
        new_id[i] = last;
        nodes.push(node);
        let mut depth = 0;
        for tap in &taps[i] {
            while depth < *tap {
                let delay = (tap - depth).min(fifo.into());
                depth += delay;
                nodes.push(Node { op: NodeOp::Delay(delay as u8), inputs: vec![Input::Token(last)], pc });
                last = NodeId(nodes.len() as u32 - 1);
            }
            tapped[i].push((*tap, last));
        }
    }
    Region { nodes, ..region.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::ThreadValue;

    /// A graph of nodes with one or two tokens each; those without are injected.
    fn graph(nodes: &[&[u32]]) -> Region {
        let node = |inputs: &&[u32]| {
            let op = if inputs.is_empty() { NodeOp::Inject(ThreadValue::Tid(0)) } else { NodeOp::Join };
            Node { op, inputs: inputs.iter().map(|n| Input::Token(NodeId(*n))).collect(), pc: None }
        };
        Region { nodes: nodes.iter().map(node).collect(), ..Region::default() }
    }

    fn delays(region: &Region) -> Vec<(u32, u8)> {
        let delay = |n: &Node| match (&n.op, &n.inputs[..]) {
            (NodeOp::Delay(delay), [Input::Token(from)]) => Some((from.0, *delay)),
            _ => None,
        };
        region.nodes.iter().filter_map(delay).collect()
    }

    const AMPLE: Budget = Budget { units: 32, fifo: 16, absorbed: 0 };

    /// Figure 6: (a + x) * (b + c + x), where a + x may fire a cycle later or its result wait.
    #[test]
    fn figure_6_needs_one_delay_on_each_short_path() {
        let region = graph(&[&[], &[], &[], &[], &[0, 3], &[1, 2], &[5, 3], &[4, 6]]);
        let balanced = balance(&region, &AMPLE, |_| 1);
        assert_eq!((balanced.delays, balanced.left.len()), (2, 0));
        assert_eq!(critical_path(&balanced.region, |_| 1), 4);
        // x waits for b + c, and a + x for b + c + x.
        assert_eq!(delays(&balanced.region), [(3, 1), (5, 1)]);
        let rest = balance(&balanced.region, &AMPLE, |_| 1);
        assert_eq!(rest.region, balanced.region, "a balanced graph needs no delay");
    }

    #[test]
    fn a_node_is_moved_where_its_result_is_one_token_instead_of_two() {
        // Node 2 takes two values and is needed after five others: one delay after it, not two before.
        let region = graph(&[&[], &[], &[0, 1], &[0], &[3], &[4], &[5], &[6, 2]]);
        let balanced = balance(&region, &AMPLE, |_| 1);
        assert_eq!((balanced.delays, delays(&balanced.region)), (1, vec![(2, 3)]));
    }

    #[test]
    fn delays_are_chained_and_shared() {
        // Node 0 goes to the ends of paths of 20 and 30 cycles.
        let region = graph(&[&[], &[0], &[1, 0], &[2], &[3, 0]]);
        let latency = |at: u32| [1, 20, 1, 10, 1][at as usize];
        let ids: Vec<*const Node> = region.nodes.iter().map(std::ptr::from_ref).collect();
        let of = |node: &Node| latency(ids.iter().position(|p| std::ptr::eq(*p, node)).unwrap() as u32);
        let balanced = balance(&region, &AMPLE, of);
        assert_eq!(delays(&balanced.region), [(0, 16), (1, 4), (2, 11)]);
        let free = balance(&region, &Budget { absorbed: 31, ..AMPLE }, of);
        assert_eq!((free.delays, free.left), (0, vec![]), "token buffers take the difference");
    }

    #[test]
    fn the_largest_difference_comes_first_and_the_rest_is_reported() {
        // Paths of 1 beside 3, and of 1 beside 6.
        let region = graph(&[&[], &[0], &[1], &[2, 0], &[], &[4], &[5], &[6], &[7], &[8], &[9, 4]]);
        let balanced = balance(&region, &Budget { units: 1, ..AMPLE }, |_| 1);
        assert_eq!(delays(&balanced.region), [(4, 5)]);
        let (from, to) = (NodeId(0), NodeId(3));
        assert_eq!(balanced.left, [Imbalance { places: 2, from, to, port: 1 }]);
    }
}
