//! Cuts regions that need more units than a fabric has into parts that run one after the other (§4.6).
//!
//! The nodes of a region are put into an order in which every token comes from an earlier node, and the order is cut
//! into pieces that fit: as few pieces as possible, and among those cuts the one with the fewest accesses for live
//! values, found by dynamic programming over all places to cut. Two orders are tried: the given one, and one that
//! completes the operands of each sink before it begins the next.
//!
//! What crosses a cut:
//! - A value is stored at the end of the part that makes it ([`Target::Live`]) and loaded in each later part that
//!   uses it; both accesses take a load/store unit and are enabled by [`ThreadValue::Live`].
//! - What the injector sends is sent again, and what is computed only from that and from configuration by one
//!   operation of a compute unit is computed again.
//! - An enable token carries a condition and an order. The order is satisfied: all threads have passed a part before
//!   the next one runs, so a join with a token of an earlier part is left out. The condition of a store's token is
//!   that of its enable port, that of a join is its first port: the node that made it is the live value.
//!
//! The paper partitions by hand, "manual and sub-optimal".

use crate::fabric::UnitKind;
use crate::graph::{
    Access, AccessKind, Dataflow, Input, LiveId, Node, NodeId, NodeOp, Region, RegionId, Target, ThreadValue, Uniform,
};
use crate::resources::{Counts, Misfit, kind, needs, shortages};
use exec::function::Width;
use std::collections::BTreeSet;
use std::fmt;

/// A kernel whose regions fit.
#[derive(Clone, Debug, PartialEq)]
pub struct Partitioned {
    /// The kernel. Parts of a region follow each other.
    pub dataflow: Dataflow,
    /// By region: the one that it is a part of, or that it is.
    pub origin: Vec<RegionId>,
    /// The regions that were cut.
    pub cuts: Vec<Cut>,
}

/// A region that was cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The region in the kernel as it was.
    pub region: RegionId,
    /// Why it does not fit.
    pub reason: Vec<Misfit>,
    /// Its parts.
    pub parts: Vec<Part>,
}

/// A part of a region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The region that it is now.
    pub region: RegionId,
    /// Live values that it loads and stores because of the cut.
    pub loads: Vec<LiveId>,
    /// Live values that it stores because of the cut.
    pub stores: Vec<LiveId>,
}

impl Cut {
    /// Bytes that each thread stores and loads because of the cut.
    pub fn bytes(&self, dataflow: &Dataflow) -> u32 {
        let live = self.parts.iter().flat_map(|p| p.loads.iter().chain(&p.stores));
        live.map(|id| u32::from(dataflow.live[id.0 as usize])).sum()
    }
}

/// A region that no cut makes fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TooLarge {
    /// The region.
    pub region: RegionId,
    /// The node from which on no part fits.
    pub node: NodeId,
    /// What a part with little more than this node lacks.
    pub reason: Vec<Misfit>,
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason: Vec<String> = self.reason.iter().map(ToString::to_string).collect();
        write!(f, "region {} has no cut that fits: from n{} on, {}", self.region.0, self.node.0, reason.join("; "))
    }
}

/// Cuts the regions that need more than the units `available` for them.
///
/// # Errors
/// No cut of a region fits.
pub fn partition(dataflow: &Dataflow, available: impl Fn(RegionId) -> Counts) -> Result<Partitioned, TooLarge> {
    let mut all = Partitioned { dataflow: dataflow.clone(), origin: Vec::new(), cuts: Vec::new() };
    all.dataflow.regions.clear();
    let mut first = Vec::new();
    for (i, region) in dataflow.regions.iter().enumerate() {
        let id = RegionId(i as u32);
        first.push(RegionId(all.dataflow.regions.len() as u32));
        let available = available(id);
        let reason = shortages(&needs(&region.nodes), &available);
        if reason.is_empty() {
            all.dataflow.regions.push(region.clone());
        } else {
            let shape = Shape::of(region);
            let plan = plan(&shape, &available).map_err(|(node, reason)| TooLarge { region: id, node, reason })?;
            let parts = cut(&shape, &plan, &mut all.dataflow);
            all.cuts.push(Cut { region: id, reason, parts });
        }
        all.origin.resize(all.dataflow.regions.len(), id);
    }
    renumber(&mut all, &first);
    Ok(all)
}

/// Successors name the first part of a region; within a region, each part names the next.
fn renumber(all: &mut Partitioned, first: &[RegionId]) {
    let origin = &all.origin;
    for (i, region) in all.dataflow.regions.iter_mut().enumerate() {
        if origin.get(i + 1) == Some(&origin[i]) {
            region.always = Some(RegionId(i as u32 + 1));
            region.successors = vec![RegionId(i as u32 + 1)];
            continue;
        }
        let next = region.nodes.iter_mut().filter_map(|n| match &mut n.op {
            NodeOp::Next(to) => Some(to),
            _ => None,
        });
        let named = region.successors.iter_mut().chain(&mut region.always).chain(next);
        named.for_each(|to| *to = first[to.0 as usize]);
    }
}

/// What a cut of a region needs to know.
struct Shape<'a> {
    region: &'a Region,
    /// By node: the input that has its value in a later part.
    root: Vec<Input>,
    /// Whether a node is computed again where its value is needed.
    is_repeated: Vec<bool>,
}

impl<'a> Shape<'a> {
    fn of(region: &'a Region) -> Self {
        let mut root: Vec<Input> = Vec::new();
        let mut is_repeated = Vec::new();
        for (i, node) in region.nodes.iter().enumerate() {
            let passed = match &node.op {
                NodeOp::Access(Access { kind: AccessKind::Store, .. }) => Some(node.inputs[2]),
                NodeOp::Join | NodeOp::Delay(_) => Some(node.inputs[0]),
                _ => None,
            };
            root.push(match passed {
                Some(Input::Token(from)) => root[from.index()],
                Some(configured) => configured,
                None => Input::Token(NodeId(i as u32)),
            });
            let is_sent = |id: NodeId| matches!(region.nodes[id.index()].op, NodeOp::Inject(_));
            let is_computed = matches!(node.op, NodeOp::Apply(_)) && kind(&node.op) == Some(UnitKind::Compute);
            is_repeated.push(is_computed && node.tokens().all(|(_, from)| is_sent(from)));
        }
        Self { region, root, is_repeated }
    }

    fn node(&self, id: NodeId) -> &'a Node {
        &self.region.nodes[id.index()]
    }

    fn is_sent(&self, id: NodeId) -> bool {
        matches!(self.node(id).op, NodeOp::Inject(_))
    }

    /// Nodes whose values a node takes. The second port of a join only waits, which no part does for an earlier one.
    fn taken(&self, id: NodeId) -> impl Iterator<Item = NodeId> + 'a {
        let node = self.node(id);
        let waits = usize::from(node.op == NodeOp::Join);
        node.tokens().filter(move |(port, _)| waits * port == 0).map(|(_, from)| from)
    }

    /// The node whose value must be in a later part for a token of `from`; none if the injector sends it.
    fn crossing(&self, from: NodeId) -> Option<NodeId> {
        match self.root[from.index()] {
            Input::Token(root) if !self.is_sent(root) => Some(root),
            _ => None,
        }
    }

    /// The nodes without those of the injector, in their order, the ends of the region last.
    fn given_order(&self) -> Vec<NodeId> {
        let all = (0..self.region.nodes.len()).map(|i| NodeId(i as u32)).filter(|id| !self.is_sent(*id));
        let (ends, mut order): (Vec<_>, Vec<_>) = all.partition(|id| self.node(*id).is_sink());
        order.extend(ends);
        order
    }

    /// The nodes such that all operands of a sink come before those of the next one only.
    fn depth_first_order(&self) -> Vec<NodeId> {
        let given = self.given_order();
        let mut is_used = vec![false; self.region.nodes.len()];
        let tokens = self.region.nodes.iter().flat_map(Node::tokens);
        tokens.for_each(|(_, from)| is_used[from.index()] = true);
        let mut is_done: Vec<bool> = self.region.nodes.iter().map(|n| matches!(n.op, NodeOp::Inject(_))).collect();
        let mut order = Vec::new();
        for sink in given.iter().filter(|id| !is_used[id.index()]) {
            let mut stack = vec![*sink];
            while let Some(&id) = stack.last() {
                let missing = self.node(id).tokens().map(|(_, from)| from).find(|from| !is_done[from.index()]);
                if let Some(from) = missing {
                    stack.push(from);
                    continue;
                }
                stack.pop();
                if !std::mem::replace(&mut is_done[id.index()], true) {
                    order.push(id);
                }
            }
        }
        order
    }
}

/// Nodes of each part.
type Plan = Vec<Vec<NodeId>>;

/// Number of parts, then accesses for live values.
type Cost = (usize, usize);

fn plan(shape: &Shape<'_>, available: &Counts) -> Result<Plan, (NodeId, Vec<Misfit>)> {
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

    /// What the shortest piece from `begin` lacks.
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

/// Makes the parts of a plan; they become regions of `dataflow`.
fn cut(shape: &Shape<'_>, plan: &Plan, dataflow: &mut Dataflow) -> Vec<Part> {
    let mut part_of = vec![0; shape.region.nodes.len()];
    for (part, nodes) in plan.iter().enumerate() {
        nodes.iter().for_each(|id| part_of[id.index()] = part);
    }
    // Values that other parts than their own need.
    let mut is_live = vec![false; shape.region.nodes.len()];
    for id in plan.iter().flatten() {
        for from in shape.taken(*id).filter(|from| !shape.is_sent(*from)) {
            let crosses = part_of[from.index()] != part_of[id.index()];
            if let Some(root) = shape.crossing(from).filter(|root| crosses && !shape.is_repeated[root.index()]) {
                is_live[root.index()] = true;
            }
        }
    }
    let mut places: Vec<Option<LiveId>> = vec![None; shape.region.nodes.len()];
    let sizes = sizes(shape.region, &dataflow.uniforms);
    for id in plan.iter().flatten().filter(|id| is_live[id.index()]) {
        places[id.index()] = Some(LiveId(dataflow.live.len() as u32));
        dataflow.live.push(sizes[id.index()]);
    }
    let mut parts = Vec::new();
    for (i, nodes) in plan.iter().enumerate() {
        let mut making = Making::new(shape, &places, &dataflow.live);
        nodes.iter().for_each(|id| making.node(*id));
        let mut stores = Vec::new();
        for id in nodes {
            if let Some(place) = places[id.index()] {
                making.store(*id, place, dataflow.live[place.0 as usize]);
                stores.push(place);
            }
        }
        let (loads, nodes) = (making.loads, without_dead(making.nodes));
        let own_entry = nodes.iter().find_map(|n| n.pc).filter(|_| i > 0);
        let entry = own_entry.unwrap_or(shape.region.entry);
        let after_barrier = shape.region.after_barrier && i == 0;
        parts.push(Part { region: RegionId(dataflow.regions.len() as u32), loads, stores });
        dataflow.regions.push(Region { nodes, entry, after_barrier, ..shape.region.clone() });
    }
    parts
}

/// A part that is being made.
struct Making<'a> {
    shape: &'a Shape<'a>,
    /// By node of the whole region: where its value is kept.
    places: &'a [Option<LiveId>],
    /// Bytes of all live values.
    bytes: &'a [u8],
    nodes: Vec<Node>,
    /// By node of the whole region: what has its value here.
    here: Vec<Option<Input>>,
    /// The node that sends whether the thread takes part.
    live: Option<NodeId>,
    loads: Vec<LiveId>,
}

impl<'a> Making<'a> {
    fn new(shape: &'a Shape<'a>, places: &'a [Option<LiveId>], bytes: &'a [u8]) -> Self {
        let here = vec![None; shape.region.nodes.len()];
        Self { shape, places, bytes, nodes: Vec::new(), here, live: None, loads: Vec::new() }
    }

    fn push(&mut self, node: Node) -> NodeId {
        self.nodes.push(node);
        NodeId(self.nodes.len() as u32 - 1)
    }

    /// A node of this part. What it computes may have been computed here for another already.
    fn node(&mut self, id: NodeId) {
        if self.here[id.index()].is_none() {
            let of = self.shape.node(id);
            let is_here = |input: &Input| match input {
                Input::Token(from) => self.shape.is_sent(*from) || self.here[from.index()].is_some(),
                _ => true,
            };
            self.here[id.index()] = Some(match of.op {
                NodeOp::Join if !is_here(&of.inputs[1]) => self.input(of.inputs[0]),
                _ => self.copy(of),
            });
        }
    }

    /// The node with inputs of this part.
    fn copy(&mut self, of: &Node) -> Input {
        let mut node = of.clone();
        node.inputs.iter_mut().for_each(|input| *input = self.input(*input));
        if node.tokens().next().is_none() {
            // Its only token was an order with a configured condition.
            let port = of.tokens().next().expect("a node takes a token").0;
            node.inputs[port] = self.timed(node.inputs[port], of);
        }
        Input::Token(self.push(node))
    }

    /// A configured condition as a token.
    fn timed(&mut self, condition: Input, of: &Node) -> Input {
        let live = Input::Token(self.live());
        if condition == Input::Immediate(1) {
            return live;
        }
        Input::Token(self.push(Node { op: NodeOp::Label(0b1000), inputs: vec![live, condition], pc: of.pc }))
    }

    fn input(&mut self, input: Input) -> Input {
        let Input::Token(from) = input else { return input };
        if let Some(here) = self.here[from.index()] {
            return here;
        }
        match self.shape.root[from.index()] {
            Input::Token(root) => self.import(root),
            configured => configured,
        }
    }

    /// A value of an earlier part or of the injector.
    fn import(&mut self, id: NodeId) -> Input {
        if let Some(here) = self.here[id.index()] {
            return here;
        }
        let of = self.shape.node(id);
        let here = match &of.op {
            NodeOp::Inject(ThreadValue::Live) => Input::Token(self.live()),
            NodeOp::Inject(_) => Input::Token(self.push(of.clone())),
            _ if self.shape.is_repeated[id.index()] => self.copy(of),
            _ => {
                let place = self.places[id.index()].expect("an earlier part has stored it");
                self.loads.push(place);
                let bytes = self.bytes[place.0 as usize];
                Input::Token(self.access(AccessKind::Load, place, bytes, Input::Immediate(0), of))
            }
        };
        self.here[id.index()] = Some(here);
        here
    }

    fn live(&mut self) -> NodeId {
        if self.live.is_none() {
            let op = NodeOp::Inject(ThreadValue::Live);
            self.live = Some(self.push(Node { op, inputs: Vec::new(), pc: None }));
        }
        self.live.expect("it was just made")
    }

    /// Stores the value of a node of this part.
    fn store(&mut self, id: NodeId, place: LiveId, bytes: u8) {
        let value = self.here[id.index()].expect("it is a node of this part");
        self.access(AccessKind::Store, place, bytes, value, self.shape.node(id));
    }

    fn access(&mut self, kind: AccessKind, place: LiveId, bytes: u8, data: Input, of: &Node) -> NodeId {
        let target = Target::Live(place);
        let register_bits = if bytes == 8 { 64 } else { 32 };
        let access = Access { kind, target, bytes, signed: false, register_bits, base: [Input::Immediate(0); 2] };
        let inputs = vec![Input::Immediate(0), data, Input::Token(self.live())];
        self.push(Node { op: NodeOp::Access(access), inputs, pc: of.pc })
    }
}

/// The nodes without those that compute or forward what nobody takes.
fn without_dead(nodes: Vec<Node>) -> Vec<Node> {
    let mut is_used = vec![false; nodes.len()];
    for (i, node) in nodes.iter().enumerate().rev() {
        is_used[i] |= matches!(node.op, NodeOp::Access(_) | NodeOp::Next(_));
        if is_used[i] {
            node.tokens().for_each(|(_, from)| is_used[from.index()] = true);
        }
    }
    let mut new_id = Vec::new();
    let mut left = 0;
    for used in &is_used {
        new_id.push(NodeId(left));
        left += u32::from(*used);
    }
    let rename = |input: &mut Input| {
        if let Input::Token(id) = input {
            *id = new_id[id.index()];
        }
    };
    let kept = nodes.into_iter().zip(is_used).filter(|(_, used)| *used);
    kept.map(|(mut node, _)| {
        node.inputs.iter_mut().for_each(rename);
        node
    })
    .collect()
}

/// Bytes that the value of each node takes in memory.
fn sizes(region: &Region, uniforms: &[Uniform]) -> Vec<u8> {
    let uniforms = sizes_of_uniforms(uniforms);
    let mut sizes: Vec<u8> = Vec::new();
    for node in &region.nodes {
        let of = |input: &Input| match input {
            Input::Token(id) => sizes[id.index()],
            Input::Uniform(id) => uniforms[id.0 as usize],
            Input::Immediate(value) => size_of_immediate(*value),
        };
        let size = match &node.op {
            NodeOp::Inject(ThreadValue::Live) | NodeOp::Label(_) | NodeOp::Next(_) => 1,
            NodeOp::Inject(_) => 4,
            NodeOp::Apply(function) => size_of_width(function.result()),
            NodeOp::Select => of(&node.inputs[1]).max(of(&node.inputs[2])),
            NodeOp::Join | NodeOp::Delay(_) => of(&node.inputs[0]),
            NodeOp::Access(Access { kind: AccessKind::Store, .. }) => 1,
            NodeOp::Access(Access { register_bits: 64, .. }) => 8,
            NodeOp::Access(_) => 4,
        };
        sizes.push(size);
    }
    sizes
}

fn sizes_of_uniforms(uniforms: &[Uniform]) -> Vec<u8> {
    let mut sizes: Vec<u8> = Vec::new();
    for uniform in uniforms {
        let of = |input: &Input| match input {
            Input::Uniform(id) => sizes[id.0 as usize],
            Input::Immediate(value) => size_of_immediate(*value),
            Input::Token(_) => unreachable!("uniform values take no tokens"),
        };
        let size = match uniform {
            Uniform::Param { register_bits: 64, .. } => 8,
            Uniform::Param { .. } | Uniform::Ntid(_) | Uniform::Nctaid(_) => 4,
            Uniform::Apply(function, _) => size_of_width(function.result()),
            Uniform::Select([_, yes, no]) => of(yes).max(of(no)),
        };
        sizes.push(size);
    }
    sizes
}

const fn size_of_immediate(value: u64) -> u8 {
    match value {
        0..=1 => 1,
        2..=0xffff_ffff => 4,
        _ => 8,
    }
}

const fn size_of_width(width: Width) -> u8 {
    match width {
        Width::Predicate => 1,
        Width::Word => 4,
        Width::Pair => 8,
    }
}
