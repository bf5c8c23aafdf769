//! The graphs of a kernel under construction: what the passes change.
//!
//! The order of memory accesses is kept beside the nodes (`waits`) until the pass `order` puts it into enable tokens:
//! passes that find an operand superfluous cannot lose an order that only the operand implied.

use crate::graph::{Input, LiveId, Node, NodeId, NodeOp, Region, ThreadValue, Uniform, UniformId};
use exec::function::{Evaluator, Function};
use exec::int::Int1;
use exec::op::Op;
use isa::Pc;

/// The uniform values of a kernel.
#[derive(Clone, Debug, Default)]
pub(crate) struct Uniforms {
    pub list: Vec<Uniform>,
    evaluator: Evaluator,
}

impl Uniforms {
    /// A uniform value; equal ones are one.
    pub fn get(&mut self, uniform: Uniform) -> Input {
        let at = self.list.iter().position(|u| *u == uniform).unwrap_or_else(|| {
            self.list.push(uniform);
            self.list.len() - 1
        });
        Input::Uniform(UniformId(at as u32))
    }

    /// The value of `function` for inputs that are immediates or uniforms; `None` if one is a token.
    pub fn apply(&mut self, function: &Function, inputs: &[Input]) -> Option<Input> {
        if let Some(same) = copied(function, inputs) {
            return (!is_token(&same)).then_some(same);
        }
        let immediates: Option<Vec<u64>> = inputs.iter().map(|i| as_immediate(*i)).collect();
        if let Some(values) = immediates {
            return Some(Input::Immediate(self.evaluator.apply(function, &values)));
        }
        (!inputs.iter().any(is_token)).then(|| self.get(Uniform::Apply(*function, inputs.to_vec())))
    }

    /// The value of `function` for immediates.
    pub fn evaluate(&mut self, function: &Function, values: &[u64]) -> u64 {
        self.evaluator.apply(function, values)
    }
}

/// Whether a port takes a token.
pub(crate) const fn is_token(input: &Input) -> bool {
    matches!(input, Input::Token(_))
}

/// The number that an input is.
pub(crate) const fn as_immediate(input: Input) -> Option<u64> {
    match input {
        Input::Immediate(x) => Some(x),
        _ => None,
    }
}

/// The input that an operation only passes on.
pub(crate) fn copied(function: &Function, inputs: &[Input]) -> Option<Input> {
    match function.op() {
        Op::Int1(Int1::Mov32 | Int1::Mov64, ..) => Some(inputs[0]),
        // A token of 64 bits, whose upper half is ignored by all that take a word.
        Op::Int1(Int1::Low32, ..) if as_immediate(inputs[0]).is_none() => Some(inputs[0]),
        _ => None,
    }
}

/// A region under construction.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Draft {
    pub region: Region,
    /// By node: the accesses that must be performed before it.
    pub waits: Vec<Vec<NodeId>>,
}

impl Draft {
    /// Adds a node.
    pub fn add(&mut self, op: NodeOp, inputs: Vec<Input>, pc: Option<Pc>) -> NodeId {
        self.push(Node { op, inputs, pc }, Vec::new())
    }

    fn push(&mut self, node: Node, waits: Vec<NodeId>) -> NodeId {
        self.region.nodes.push(node);
        self.waits.push(waits);
        NodeId(self.region.nodes.len() as u32 - 1)
    }

    /// A node without effect on memory that no instruction asks for; equal ones are one.
    pub fn once(&mut self, op: NodeOp, inputs: Vec<Input>) -> Input {
        let at = self.region.nodes.iter().position(|n| n.op == op && n.inputs == inputs);
        Input::Token(at.map_or_else(|| self.add(op, inputs, None), |i| NodeId(i as u32)))
    }

    /// A value that the injector sends.
    pub fn inject(&mut self, value: ThreadValue) -> Input {
        self.once(NodeOp::Inject(value), Vec::new())
    }

    /// An operation that no instruction asks for.
    pub fn apply(&mut self, op: &Op, inputs: Vec<Input>) -> Input {
        self.once(NodeOp::Apply(function(op)), inputs)
    }

    /// The node that makes an input, if it is a token.
    pub fn node(&self, input: Input) -> Option<&Node> {
        match input {
            Input::Token(id) => Some(&self.region.nodes[id.index()]),
            _ => None,
        }
    }

    /// The function and the inputs of the node that makes an input, if it computes.
    pub fn computed(&self, input: Input) -> Option<(&Op, &[Input])> {
        let node = self.node(input)?;
        match &node.op {
            NodeOp::Apply(function) => Some((function.op(), &node.inputs)),
            _ => None,
        }
    }

    /// Whether the input is computed from the result of `from`.
    pub fn depends(&self, input: Input, from: NodeId) -> bool {
        let Input::Token(to) = input else { return false };
        let mut seen = vec![false; self.region.nodes.len()];
        let mut work = vec![to];
        while let Some(node) = work.pop() {
            if node == from {
                return true;
            }
            if node > from && !std::mem::replace(&mut seen[node.index()], true) {
                work.extend(self.region.nodes[node.index()].tokens().map(|(_, id)| id));
            }
        }
        false
    }

    /// Number of ports that take the result of each node.
    pub fn uses(&self) -> Vec<usize> {
        let mut uses = vec![0; self.region.nodes.len()];
        self.region.nodes.iter().flat_map(Node::tokens).for_each(|(_, from)| uses[from.index()] += 1);
        uses
    }

    /// Makes the graph anew, node by node: `rule` gets the new graph so far and a node with its new inputs, which it
    /// may change. If it returns an input, the node is left out and its ports take that input. Accesses stay.
    pub fn rewrite(&mut self, mut rule: impl FnMut(&mut Self, &mut Node, NodeId) -> Option<Input>) {
        let nodes = std::mem::take(&mut self.region.nodes);
        let waits = std::mem::take(&mut self.waits);
        let mut now: Vec<Input> = Vec::with_capacity(nodes.len());
        for (i, (mut node, waits)) in nodes.into_iter().zip(waits).enumerate() {
            for input in &mut node.inputs {
                if let Input::Token(id) = *input {
                    *input = now[id.index()];
                }
            }
            let replaced = rule(self, &mut node, NodeId(i as u32));
            debug_assert!(replaced.is_none() || !matches!(node.op, NodeOp::Access(_)), "accesses stay");
            now.push(replaced.unwrap_or_else(|| {
                let new = |wait: NodeId| match now[wait.index()] {
                    Input::Token(id) => id,
                    _ => unreachable!("accesses stay"),
                };
                Input::Token(self.push(node, waits.into_iter().map(new).collect()))
            }));
        }
    }
}

/// The function of an operation that only computes and has one result.
pub(crate) fn function(op: &Op) -> Function {
    Function::of(op).expect("it only computes").0[0].1
}

/// A kernel under construction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Program {
    pub drafts: Vec<Draft>,
    pub uniforms: Uniforms,
    /// Bytes of each value that is kept in memory between regions.
    pub live: Vec<u8>,
}

impl Program {
    /// Adds a place for a live value.
    pub fn place(&mut self, bytes: u8) -> LiveId {
        self.live.push(bytes);
        LiveId(self.live.len() as u32 - 1)
    }
}
