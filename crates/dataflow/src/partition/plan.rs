//! Where a region is cut.

use super::shape::Shape;
use crate::fabric::UnitKind;
use crate::graph::{Input, NodeId};
use crate::resources::{Counts, Misfit, kind, shortages};
use std::collections::BTreeSet;

/// Nodes of each part.
pub(super) type Plan = Vec<Vec<NodeId>>;

/// Number of parts, then accesses for live values.
type Cost = (usize, usize);

pub(super) fn plan(shape: &Shape<'_>, available: &Counts) -> Result<Plan, (NodeId, Vec<Misfit>)> {
    let given = plan_in_order(shape, shape.given_order(), available);
    let depth_first = plan_in_order(shape, shape.depth_first_order(), available);
    match (given, depth_first) {
        (Ok(given), Ok(depth_first)) if depth_first.0 < given.0 => Ok(depth_first.1),
        (Ok((_, plan)), _) | (Err(_), Ok((_, plan))) => Ok(plan),
        (Err(problem), Err(_)) => Err(problem),
    }
}

/// The best cut of an order.
fn plan_in_order(
    shape: &Shape<'_>,
    order: Vec<NodeId>,
    available: &Counts,
) -> Result<(Cost, Plan), (NodeId, Vec<Misfit>)> {
    let ordered = Ordered::of(shape, order);
    let count = ordered.order.len();
    let mut best: Vec<Option<(Cost, usize)>> = vec![None; count + 1];
    best[0] = Some(((0, 0), 0));
    for begin in 0..count {
        let Some((cost, _)) = best[begin] else { continue };
        for (end, accesses) in ordered.pieces(begin, available) {
            let cost = (cost.0 + 1, cost.1 + accesses);
            if best[end].is_none_or(|(best, _)| cost < best) {
                best[end] = Some((cost, begin));
            }
        }
    }
    let Some((cost, _)) = best[count] else {
        let last = (0..count).rev().find(|at| best[*at].is_some()).expect("a piece begins at the start");
        return Err((ordered.order[last], ordered.shortest_piece(last, available)));
    };
    let (mut parts, mut end) = (Plan::new(), count);
    while end > 0 {
        let begin = best[end].expect("it was reached").1;
        parts.push(ordered.order[begin..end].to_vec());
        end = begin;
    }
    parts.reverse();
    Ok((cost, parts))
}

/// An order of the nodes, with what cuts of it cost.
struct Ordered<'a> {
    shape: &'a Shape<'a>,
    order: Vec<NodeId>,
    /// Position by node; unused for nodes of the injector.
    position: Vec<usize>,
    /// By node: the last position at which its value is used in another part, if there is a cut between.
    last_use: Vec<usize>,
    /// Positions from here on must be in one part: the ends of the region.
    ends: usize,
}

impl<'a> Ordered<'a> {
    fn of(shape: &'a Shape<'a>, order: Vec<NodeId>) -> Self {
        let mut position = vec![0; shape.region.nodes.len()];
        order.iter().enumerate().for_each(|(at, id)| position[id.index()] = at);
        let mut last_use = vec![0; shape.region.nodes.len()];
        for (at, id) in order.iter().enumerate() {
            for root in shape.taken(*id).filter_map(|from| shape.crossing(from)) {
                last_use[root.index()] = at;
            }
        }
        let ends = order.iter().position(|id| shape.node(*id).is_sink()).unwrap_or(order.len());
        Self { shape, order, position, last_use, ends }
    }

    /// The values that a node at `at` takes from parts before `begin`.
    fn imports(&self, at: usize, begin: usize) -> impl Iterator<Item = NodeId> + '_ {
        let earlier = self
            .shape
            .taken(self.order[at])
            .filter(move |from| !self.shape.is_sent(*from) && self.position[from.index()] < begin);
        earlier.filter_map(|from| self.shape.crossing(from))
    }

    /// The ends of all pieces from `begin` that fit, with the number of their accesses for live values.
    fn pieces(&self, begin: usize, available: &Counts) -> Vec<(usize, usize)> {
        let mut growing = Piece::default();
        let mut pieces = Vec::new();
        for at in begin..self.order.len() {
            self.grow(&mut growing, at, begin);
            if !shortages(&growing.counts, available).is_empty() {
                break;
            }
            let end = at + 1;
            let stores = growing.stores(self, end);
            let mut counts = growing.counts;
            counts[UnitKind::LoadStore as usize] += stores;
            let is_legal = end <= self.ends || end == self.order.len();
            if is_legal && shortages(&counts, available).is_empty() {
                pieces.push((end, growing.loads + stores));
            }
        }
        pieces
    }

    /// Shortages of the shortest piece from `begin`.
    fn shortest_piece(&self, begin: usize, available: &Counts) -> Vec<Misfit> {
        let mut growing = Piece::default();
        let end = if begin >= self.ends { self.order.len() } else { begin + 1 };
        (begin..end).for_each(|at| self.grow(&mut growing, at, begin));
        growing.counts[UnitKind::LoadStore as usize] += growing.stores(self, end);
        shortages(&growing.counts, available)
    }

    fn grow(&self, piece: &mut Piece, at: usize, begin: usize) {
        for root in self.imports(at, begin) {
            if piece.imported.insert(root) {
                let is_repeated = self.shape.is_repeated[root.index()];
                let kind = if is_repeated { UnitKind::Compute } else { UnitKind::LoadStore };
                piece.counts[kind as usize] += 1;
                piece.loads += usize::from(!is_repeated);
            }
        }
        let id = self.order[at];
        let node = self.shape.node(id);
        if let Some(kind) = kind(&node.op) {
            piece.counts[kind as usize] += 1;
        }
        // If it takes only orders with configured conditions, a label may have to make a token.
        let is_configured = |from: NodeId| !matches!(self.shape.root[from.index()], Input::Token(_));
        piece.counts[UnitKind::Control as usize] += usize::from(node.tokens().all(|(_, from)| is_configured(from)));
        if self.shape.crossing(id) == Some(id) && !self.shape.is_repeated[id.index()] {
            piece.made.push(id);
        }
    }
}

/// A piece of an order, without the stores of its live values.
#[derive(Default)]
struct Piece {
    counts: Counts,
    imported: BTreeSet<NodeId>,
    loads: usize,
    /// Values that are stored if they are used after the piece.
    made: Vec<NodeId>,
}

impl Piece {
    fn stores(&self, ordered: &Ordered<'_>, end: usize) -> usize {
        self.made.iter().filter(|id| ordered.last_use[id.index()] >= end).count()
    }
}
