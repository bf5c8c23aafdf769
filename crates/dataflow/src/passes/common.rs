//! One node for equal values: copies, nodes that do the same with the same inputs, and selections between equals.
//!
//! Loads are not among them: between two loads of one address another thread may store.

use crate::draft::{Draft, Uniforms, copied};
use crate::graph::{Input, Node, NodeId, NodeOp};
use exec::int::Int2;
use exec::op::Op;
use std::collections::HashMap;

pub(super) fn run(draft: &mut Draft, _: &mut Uniforms) {
    let mut known: HashMap<Vec<Input>, Vec<NodeId>> = HashMap::new();
    draft.rewrite(|made, node, _| {
        if let Some(same) = copy(node) {
            return Some(same);
        }
        if !matches!(node.op, NodeOp::Inject(_) | NodeOp::Apply(_) | NodeOp::Select | NodeOp::Label(_)) {
            return None;
        }
        if commutes(&node.op) {
            node.inputs.sort_by_key(place);
        }
        let equals = known.entry(node.inputs.clone()).or_default();
        if let Some(same) = equals.iter().find(|id| made.region.nodes[id.index()].op == node.op) {
            return Some(Input::Token(*same));
        }
        equals.push(NodeId(made.region.nodes.len() as u32));
        None
    });
}

/// The input that the node passes on.
fn copy(node: &Node) -> Option<Input> {
    match &node.op {
        NodeOp::Apply(function) => copied(function, &node.inputs),
        NodeOp::Select if node.inputs[1] == node.inputs[2] => Some(node.inputs[1]),
        _ => None,
    }
}

/// Whether the operands may change places. Of floating-point operations they may not: which NaN is the result
/// depends on them.
fn commutes(op: &NodeOp) -> bool {
    let NodeOp::Apply(function) = op else { return false };
    matches!(
        function.op(),
        Op::Int2(
            Int2::Add16
                | Int2::Add32
                | Int2::Add64
                | Int2::MulLo16
                | Int2::MulLo32
                | Int2::MulLo64
                | Int2::MulWideU16
                | Int2::MulWideS16
                | Int2::MulWideU32
                | Int2::MulWideS32
                | Int2::And32
                | Int2::And64
                | Int2::Or32
                | Int2::Or64
                | Int2::Xor32
                | Int2::Xor64
                | Int2::MinU32
                | Int2::MaxU32
                | Int2::MinS32
                | Int2::MaxS32,
            ..
        )
    )
}

/// Tokens first, immediates last: passes look for constants at the second port.
fn place(input: &Input) -> (u8, u64) {
    match *input {
        Input::Token(id) => (0, id.0.into()),
        Input::Uniform(id) => (1, id.0.into()),
        Input::Immediate(x) => (2, x),
    }
}
