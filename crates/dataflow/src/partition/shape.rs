//! A region prepared for cuts.

use crate::fabric::UnitKind;
use crate::graph::{Access, AccessKind, Input, Node, NodeId, NodeOp, Region};
use crate::resources::kind;

/// A region prepared for cuts.
pub(super) struct Shape<'a> {
    pub region: &'a Region,
    /// By node: the input that has its value in a later part.
    pub root: Vec<Input>,
    /// Whether a node is computed again where its value is needed.
    pub is_repeated: Vec<bool>,
}

impl<'a> Shape<'a> {
    pub fn of(region: &'a Region) -> Self {
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

    pub fn node(&self, id: NodeId) -> &'a Node {
        &self.region.nodes[id.index()]
    }

    pub fn is_sent(&self, id: NodeId) -> bool {
        matches!(self.node(id).op, NodeOp::Inject(_))
    }

    /// Nodes whose values a node takes. The second port of a join only waits, which no part does for an earlier one.
    pub fn taken(&self, id: NodeId) -> impl Iterator<Item = NodeId> + 'a {
        let node = self.node(id);
        let waits = usize::from(node.op == NodeOp::Join);
        node.tokens().filter(move |(port, _)| waits * port == 0).map(|(_, from)| from)
    }

    /// The node whose value must be in a later part for a token of `from`; none if the injector sends it.
    pub fn crossing(&self, from: NodeId) -> Option<NodeId> {
        match self.root[from.index()] {
            Input::Token(root) if !self.is_sent(root) => Some(root),
            _ => None,
        }
    }

    /// The nodes without those of the injector, in their order, the ends of the region last.
    pub fn given_order(&self) -> Vec<NodeId> {
        let all = (0..self.region.nodes.len()).map(|i| NodeId(i as u32)).filter(|id| !self.is_sent(*id));
        let (ends, mut order): (Vec<_>, Vec<_>) = all.partition(|id| self.node(*id).is_sink());
        order.extend(ends);
        order
    }

    /// The nodes such that all operands of a sink come before those of the next one only.
    pub fn depth_first_order(&self) -> Vec<NodeId> {
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
