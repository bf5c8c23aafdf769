//! Constant and uniform parts of an address go into the configuration register of the load/store unit, which adds
//! them to the token.

use crate::draft::{Draft, Uniforms, as_immediate, function};
use crate::graph::{Access, Input, NodeOp, Target};
use exec::function::Function;
use exec::int::Int2;
use exec::lanes::Reg;
use exec::op::Op;
use isa::Space;

pub(super) fn run(draft: &mut Draft, uniforms: &mut Uniforms) {
    draft.rewrite(|made, node, _| {
        if let NodeOp::Access(Access { target: Target::Space(space), base, .. }) = &mut node.op {
            let is_word = matches!(space, Space::Shared | Space::Local);
            let mut sum = Sum { constant: 0, uniform: None };
            base.iter().for_each(|part| sum.add(*part, uniforms));
            node.inputs[0] = stripped(made, node.inputs[0], is_word, &mut sum, uniforms);
            *base = [Input::Immediate(sum.constant), sum.uniform.unwrap_or(Input::Immediate(0))];
        }
        None
    });
}

/// Offset added to a token.
struct Sum {
    constant: u64,
    uniform: Option<Input>,
}

impl Sum {
    fn add(&mut self, part: Input, uniforms: &mut Uniforms) {
        match (as_immediate(part), self.uniform) {
            (Some(x), _) => self.constant = self.constant.wrapping_add(x),
            (None, None) => self.uniform = Some(part),
            (None, Some(other)) => self.uniform = uniforms.apply(&add64(), &[other, part]),
        }
    }
}

/// The address without the constants and uniform values that are added to it. An address of shared or local memory
/// has 32 bits (`is_word`): there, sums of 32 bits are as good as those of 64.
fn stripped(made: &Draft, address: Input, is_word: bool, sum: &mut Sum, uniforms: &mut Uniforms) -> Input {
    let mut token = address;
    while let Some((Op::Int2(op, ..), &[a, b])) = made.computed(token) {
        let is_sum = *op == Int2::Add64 || is_word && *op == Int2::Add32;
        let (rest, part) = match (a, b) {
            (Input::Token(_), Input::Token(_)) => return token,
            (Input::Token(_), part) => (a, part),
            (part, _) => (b, part),
        };
        if !is_sum {
            return token;
        }
        sum.add(part, uniforms);
        token = rest;
    }
    if matches!(token, Input::Token(_)) {
        return token;
    }
    sum.add(token, uniforms);
    Input::Immediate(0)
}

fn add64() -> Function {
    let sum = Op::Int2(Int2::Add64, Reg(0), [Reg(2), Reg(4)]);
    function(&sum)
}
