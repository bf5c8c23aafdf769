//! Predicates become labels: logic on predicates leaves the compute units for the control units. A negation is in the
//! truth table or the selection that takes it, and a label of labels of the same two predicates is a label of these.

use crate::draft::{Draft, Uniforms, as_immediate};
use crate::graph::{Input, Node, NodeOp};
use crate::truth::NOT;
use exec::function::{Function, Width};
use exec::op::Op;

pub(super) fn run(draft: &mut Draft, uniforms: &mut Uniforms) {
    draft.rewrite(|made, node, _| {
        if let NodeOp::Apply(function) = node.op {
            if let Op::Selp { p, .. } = function.op()
                && let [a, b, condition] = node.inputs[..]
            {
                let [yes, no] = if p.is_negated() { [b, a] } else { [a, b] };
                (node.op, node.inputs) = (NodeOp::Select, vec![condition, yes, no]);
            } else if let Some(table) = table(&function, uniforms) {
                node.op = NodeOp::Label(table);
                node.inputs.resize(2, Input::Immediate(0));
            }
        }
        match &mut node.op {
            NodeOp::Label(table) => {
                for port in 0..2 {
                    if let Some(positive) = negated(made, node.inputs[port]) {
                        node.inputs[port] = positive;
                        *table = with_negated(*table, port);
                    }
                }
                if let Some((composed, inputs)) = composed(made, *table, &node.inputs) {
                    (*table, node.inputs) = (composed, inputs);
                }
            }
            NodeOp::Select => {
                if let Some(positive) = negated(made, node.inputs[0]) {
                    node.inputs[0] = positive;
                    node.inputs.swap(1, 2);
                }
            }
            _ => {}
        }
        None
    });
}

/// The truth table of a function of at most two predicates.
fn table(function: &Function, uniforms: &mut Uniforms) -> Option<u8> {
    let ports = function.operands();
    let is_logic = function.result() == Width::Predicate && ports.len() <= 2;
    if !is_logic || ports.iter().any(|width| *width != Width::Predicate) {
        return None;
    }
    Some((0..4).fold(0, |table, row: u64| {
        let holds = uniforms.evaluate(function, &[row & 1, row >> 1][..ports.len()]);
        table | (holds as u8 & 1) << row
    }))
}

/// Operand that the input negates.
fn negated(made: &Draft, input: Input) -> Option<Input> {
    let node = made.node(input)?;
    // With one port the table has two rows.
    let is_not =
        matches!(node.op, NodeOp::Label(table) if table & 0b11 == NOT) && node.inputs[1] == Input::Immediate(0);
    is_not.then(|| node.inputs[0])
}

/// A label of labels as one of the predicates that those take, if there are at most two.
fn composed(made: &Draft, table: u8, inputs: &[Input]) -> Option<(u8, Vec<Input>)> {
    let label = |input: Input| match made.node(input) {
        Some(Node { op: NodeOp::Label(table), inputs, .. }) => Some((*table, inputs)),
        _ => None,
    };
    inputs.iter().find_map(|input| label(*input))?;
    let mut leaves: Vec<Input> = Vec::new();
    for &input in inputs {
        let of = label(input).map_or_else(|| vec![input], |(_, inputs)| inputs.clone());
        for leaf in of.into_iter().filter(|leaf| as_immediate(*leaf).is_none()) {
            if !leaves.contains(&leaf) {
                leaves.push(leaf);
            }
        }
    }
    if leaves.len() > 2 {
        return None;
    }
    // Row of the table: bit `i` is the value of leaf `i`.
    let value = |input: Input, row: u8| match as_immediate(input) {
        Some(x) => x as u8 & 1,
        None => row >> leaves.iter().position(|leaf| *leaf == input).unwrap_or(0) & 1,
    };
    let of_port = |input: Input, row: u8| match label(input) {
        Some((table, of)) => table >> (value(of[0], row) | value(of[1], row) << 1) & 1,
        None => value(input, row),
    };
    let holds = |row: u8| table >> (of_port(inputs[0], row) | of_port(inputs[1], row) << 1) & 1;
    let table = (0..4).fold(0, |table, row| table | holds(row) << row);
    leaves.resize(2, Input::Immediate(0));
    Some((table, leaves))
}

/// The table of the same function where `port` takes the negation of what it took.
fn with_negated(table: u8, port: usize) -> u8 {
    match port {
        0 => (table & 0b0101) << 1 | (table & 0b1010) >> 1,
        _ => (table & 0b0011) << 2 | (table & 0b1100) >> 2,
    }
}
