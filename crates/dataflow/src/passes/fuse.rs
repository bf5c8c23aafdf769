//! A product or a left shift that only one sum takes becomes one operation with it: a compute unit has three ports.
//!
//! Integers only. PTX lets a compiler contract `mul.f32` and `add.f32` without a rounding modifier into `fma.f32`,
//! which rounds once instead of twice. The SMs execute each of the two as it is written (`lower` contracts nothing),
//! and a fabric must leave the same bits in memory: floating-point operations stay apart. Integer operations wrap,
//! so that their order does not matter.
//!
//! Sums of three are not made: compute units are those of Fermi (section 6), which has `IMAD` and `ISCADD` and no
//! `IADD3`.

use crate::draft::{Draft, Uniforms, function};
use crate::graph::{Input, NodeId, NodeOp};
use exec::function::Function;
use exec::int::{Int2, Int3};
use exec::lanes::Reg;
use exec::op::Op;

pub(super) fn run(draft: &mut Draft, _: &mut Uniforms) {
    let uses = draft.uses();
    let before: Vec<_> = draft.region.nodes.iter().map(|node| node.inputs.clone()).collect();
    draft.rewrite(|made, node, old| {
        let NodeOp::Apply(function) = node.op else { return None };
        let Op::Int2(sum @ (Int2::Add16 | Int2::Add32 | Int2::Add64), ..) = *function.op() else { return None };
        // The later of two products: the other is there earlier, so that the path gets no longer.
        let mut ports = [0, 1];
        ports.sort_by_key(|port| std::cmp::Reverse(token(node.inputs[*port])));
        for port in ports {
            let Input::Token(product) = before[old.index()][port] else { continue };
            let Some((Op::Int2(op, ..), &[a, b])) = made.computed(node.inputs[port]) else { continue };
            if uses[product.index()] != 1 {
                continue;
            }
            let c = node.inputs[1 - port];
            if let Some((op, inputs)) = fused(sum, *op, [a, b, c]) {
                (node.op, node.inputs) = (NodeOp::Apply(of(op)), inputs);
                break;
            }
        }
        None
    });
}

fn token(input: Input) -> Option<NodeId> {
    match input {
        Input::Token(id) => Some(id),
        _ => None,
    }
}

/// The operation for `op(a, b)` plus `c`.
fn fused(sum: Int2, op: Int2, [a, b, c]: [Input; 3]) -> Option<(Int3, Vec<Input>)> {
    let mad = match (sum, op) {
        (Int2::Add16, Int2::MulLo16) => Int3::MadLo16,
        (Int2::Add32, Int2::MulLo32) => Int3::MadLo32,
        (Int2::Add64, Int2::MulLo64) => Int3::MadLo64,
        (Int2::Add64, Int2::MulWideU32) => Int3::MadWideU32,
        (Int2::Add64, Int2::MulWideS32) => Int3::MadWideS32,
        // The amount of the shift is its last operand.
        (Int2::Add32, Int2::Shl32) => return Some((Int3::ShlAdd32, vec![a, c, b])),
        _ => return None,
    };
    Some((mad, vec![a, b, c]))
}

fn of(op: Int3) -> Function {
    function(&Op::Int3(op, Reg(0), [Reg(2), Reg(4), Reg(6)]))
}
