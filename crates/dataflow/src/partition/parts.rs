//! The parts of a region that is cut, as regions.

use super::plan::Plan;
use super::shape::Shape;
use crate::graph::{
    Access, AccessKind, Dataflow, Input, LiveId, Node, NodeId, NodeOp, Region, RegionId, Target, ThreadValue, Uniform,
};
use crate::passes::dead::without_dead;
use exec::function::Width;

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

/// Makes the parts of a plan; they become regions of `dataflow`.
pub(super) fn cut(shape: &Shape<'_>, plan: &Plan, dataflow: &mut Dataflow) -> Vec<Part> {
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
        let (loads, nodes) =
            (making.loads, without_dead(making.nodes, |node| matches!(node.op, NodeOp::Access(_) | NodeOp::Next(_))));
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
