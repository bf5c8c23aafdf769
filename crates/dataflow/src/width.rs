//! Bits of the values that tokens carry: what links, buffers and pipelines move.

use crate::graph::{AccessKind, Input, Node, NodeOp, ThreadValue};
use exec::function::Width;

const PREDICATE: u8 = 1;
const WORD: u8 = 32;
const PAIR: u8 = 64;

/// Bits of the result of each of `nodes`, which are in an order in which tokens come from earlier ones.
pub fn bits(nodes: &[Node]) -> Vec<u8> {
    let mut bits = Vec::with_capacity(nodes.len());
    for node in nodes {
        let result = of(node, &bits);
        bits.push(result);
    }
    bits
}

fn of(node: &Node, before: &[u8]) -> u8 {
    match &node.op {
        NodeOp::Inject(ThreadValue::Live) | NodeOp::Label(_) | NodeOp::Next(_) => PREDICATE,
        NodeOp::Inject(_) => WORD,
        NodeOp::Apply(function) => match function.result() {
            Width::Predicate => PREDICATE,
            Width::Word => WORD,
            Width::Pair => PAIR,
        },
        NodeOp::Select => widest(&node.inputs[1..], before),
        NodeOp::Join | NodeOp::Delay(_) => widest(&node.inputs[..1], before),
        NodeOp::Access(access) => match access.kind {
            AccessKind::Store => PREDICATE,
            _ if access.register_bits == PAIR => PAIR,
            _ => WORD,
        },
    }
}

/// Bits of the widest token of `inputs`. Without tokens, those of configured values: the graph does not say of a
/// uniform value how wide it is, and a word is assumed.
fn widest(inputs: &[Input], before: &[u8]) -> u8 {
    let token = |input: &Input| match input {
        Input::Token(node) => before.get(node.index()).copied(),
        _ => None,
    };
    let is_pair = |input: &Input| matches!(input, Input::Immediate(value) if *value > u32::MAX.into());
    let configured = if inputs.iter().any(is_pair) { PAIR } else { WORD };
    inputs.iter().filter_map(token).max().unwrap_or(configured)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Access, NodeId, Target};
    use exec::float::{Float2, Modifiers};
    use exec::function::Function;
    use exec::lanes::Reg;
    use exec::op::Op;
    use isa::Space;

    #[test]
    fn results_have_the_bits_of_what_makes_them() {
        let double = Op::Float2(Float2::MulF64, Modifiers::default(), Reg(0), [Reg(2), Reg(4)]);
        let double = NodeOp::Apply(Function::of(&double).unwrap().0[0].1);
        let access = |kind, register_bits| {
            let base = [Input::Immediate(0); 2];
            let (target, signed) = (Target::Space(Space::Global), false);
            NodeOp::Access(Access { kind, target, bytes: 4, signed, register_bits, base })
        };
        let token = |node| Input::Token(NodeId(node));
        let node = |op, inputs: &[Input]| Node { op, inputs: inputs.to_vec(), pc: None };
        let nodes = [
            node(NodeOp::Inject(ThreadValue::Live), &[]),
            node(NodeOp::Inject(ThreadValue::Tid(0)), &[]),
            node(double, &[token(1), token(1)]),
            node(NodeOp::Delay(3), &[token(2)]),
            node(NodeOp::Select, &[token(0), token(1), token(3)]),
            node(NodeOp::Select, &[token(0), token(0), Input::Immediate(0)]),
            node(NodeOp::Select, &[token(0), Input::Immediate(1), Input::Immediate(1 << 40)]),
            node(NodeOp::Select, &[token(0), Input::Immediate(1), Input::Immediate(2)]),
            node(NodeOp::Join, &[token(0), token(4)]),
            node(access(AccessKind::Load, 64), &[token(4), Input::Immediate(0), token(0)]),
            node(access(AccessKind::Load, 16), &[token(4), Input::Immediate(0), token(0)]),
            node(access(AccessKind::Store, 64), &[token(4), token(9), token(0)]),
        ];
        assert_eq!(bits(&nodes), [1, 32, 64, 64, 64, 1, 64, 32, 1, 64, 32, 1]);
    }
}
