//! Values known when the kernel is compiled or launched are configuration: operations on immediates are computed,
//! operations on uniform values become uniform values, and selections and labels with known predicates are their
//! result. An access that no thread performs has the result 0.

use crate::draft::{Draft, Uniforms, is_token};
use crate::graph::{Input, Node, NodeOp, Uniform};
use crate::passes::dead::is_disabled;
use crate::truth::NOT;

pub(super) fn run(draft: &mut Draft, uniforms: &mut Uniforms) {
    draft.rewrite(|made, node, _| {
        for input in &mut node.inputs {
            if made.node(*input).is_some_and(is_disabled) {
                *input = Input::Immediate(0);
            }
        }
        simplified(node, uniforms)
    });
}

fn simplified(node: &mut Node, uniforms: &mut Uniforms) -> Option<Input> {
    match node.op {
        NodeOp::Apply(function) => uniforms.apply(&function, &node.inputs),
        NodeOp::Select => match node.inputs[..] {
            [Input::Immediate(condition), yes, no] => Some(if condition & 1 == 1 { yes } else { no }),
            [condition, yes, no] if !node.inputs.iter().any(is_token) => {
                Some(uniforms.get(Uniform::Select([condition, yes, no])))
            }
            _ => None,
        },
        NodeOp::Label(table) => label(table, node, uniforms),
        // Nobody continues there.
        NodeOp::Next(_) if node.inputs[0] == Input::Immediate(0) => Some(Input::Immediate(0)),
        _ => None,
    }
}

/// The label with as many of its predicates as are not known.
fn label(table: u8, node: &mut Node, uniforms: &mut Uniforms) -> Option<Input> {
    let of = |x: bool, y: bool| table >> (u8::from(x) | u8::from(y) << 1) & 1 == 1;
    let is_set = |x: u64| x & 1 == 1;
    match [node.inputs[0], node.inputs[1]] {
        [Input::Immediate(a), Input::Immediate(b)] => Some(Input::Immediate(of(is_set(a), is_set(b)).into())),
        [Input::Immediate(a), b] => of_one(b, [of(is_set(a), false), of(is_set(a), true)], node, uniforms),
        [a, Input::Immediate(b)] => of_one(a, [of(false, is_set(b)), of(true, is_set(b))], node, uniforms),
        [a, _] if of(false, false) == of(false, true) && of(true, false) == of(true, true) => {
            of_one(a, [of(false, false), of(true, false)], node, uniforms)
        }
        [_, b] if of(false, false) == of(true, false) && of(false, true) == of(true, true) => {
            of_one(b, [of(false, false), of(false, true)], node, uniforms)
        }
        [a, b] if a == b => of_one(a, [of(false, false), of(true, true)], node, uniforms),
        [a @ Input::Uniform(_), b @ Input::Uniform(_)] => {
            let [no, yes] = [false, true].map(|a| uniform_of_one(b, [of(a, false), of(a, true)], uniforms));
            Some(uniforms.get(Uniform::Select([a, yes, no])))
        }
        _ => None,
    }
}

/// A function of one predicate, by its values for false and true: what it is equal to, or a negation.
fn of_one(a: Input, values: [bool; 2], node: &mut Node, uniforms: &mut Uniforms) -> Option<Input> {
    if values == [true, false] && is_token(&a) {
        (node.op, node.inputs) = (NodeOp::Label(NOT), vec![a, Input::Immediate(0)]);
        return None;
    }
    Some(uniform_of_one(a, values, uniforms))
}

fn uniform_of_one(a: Input, values: [bool; 2], uniforms: &mut Uniforms) -> Input {
    match values {
        [false, true] => a,
        [true, false] => uniforms.get(Uniform::Select([a, Input::Immediate(0), Input::Immediate(1)])),
        [always, _] => Input::Immediate(always.into()),
    }
}
