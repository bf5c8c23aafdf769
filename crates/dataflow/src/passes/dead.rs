//! Nodes whose results nobody takes are left out, and uniform values that nobody uses. A load is needed for its value
//! only; stores, atomic operations and the ends of regions for what they do, unless they never do it. What waited for
//! an access that is left out waits for what that waited for.

use crate::draft::{Draft, Program, Uniforms};
use crate::graph::{AccessKind, Input, Node, NodeId, NodeOp, Uniform, UniformId};
use std::collections::BTreeSet;

pub(super) fn run(draft: &mut Draft, _: &mut Uniforms) {
    let needed = needed(&draft.region.nodes, has_effect);
    let number = renumbered(&needed);
    for i in 0..draft.waits.len() {
        let through = |wait: &NodeId| match needed[wait.index()] {
            true => vec![*wait],
            false => draft.waits[wait.index()].clone(),
        };
        let waits: BTreeSet<NodeId> = draft.waits[i].iter().flat_map(through).collect();
        draft.waits[i] = waits.into_iter().collect();
    }
    for waits in &mut draft.waits {
        *waits = waits.iter().filter_map(|wait| number[wait.index()]).collect();
    }
    let mut is_needed = needed.iter();
    draft.waits.retain(|_| *is_needed.next().expect("one for each node"));
    draft.region.nodes = kept(std::mem::take(&mut draft.region.nodes), &number);
}

/// The nodes that `is_needed` for what they do, and those whose results they take, renumbered.
pub(crate) fn without_dead(nodes: Vec<Node>, is_needed: impl Fn(&Node) -> bool) -> Vec<Node> {
    let number = renumbered(&needed(&nodes, is_needed));
    kept(nodes, &number)
}

/// Whether a node is needed for what it does.
pub(crate) fn has_effect(node: &Node) -> bool {
    match &node.op {
        NodeOp::Next(_) => true,
        NodeOp::Access(access) => access.kind != AccessKind::Load && !is_disabled(node),
        _ => false,
    }
}

/// Whether a node is an access that is performed for no thread: its result is 0.
pub(super) fn is_disabled(node: &Node) -> bool {
    matches!(node.op, NodeOp::Access(_)) && node.inputs[2] == Input::Immediate(0)
}

fn needed(nodes: &[Node], is_needed: impl Fn(&Node) -> bool) -> Vec<bool> {
    let mut needed: Vec<bool> = nodes.iter().map(is_needed).collect();
    for i in (0..nodes.len()).rev() {
        if needed[i] {
            nodes[i].tokens().for_each(|(_, id)| needed[id.index()] = true);
        }
    }
    needed
}

fn renumbered(needed: &[bool]) -> Vec<Option<NodeId>> {
    let mut next = 0;
    let number = |is_needed: &bool| {
        next += u32::from(*is_needed);
        is_needed.then(|| NodeId(next - 1))
    };
    needed.iter().map(number).collect()
}

fn kept(nodes: Vec<Node>, number: &[Option<NodeId>]) -> Vec<Node> {
    let moved = |(node, _): (Node, &Option<NodeId>)| {
        let mut node = node;
        for input in &mut node.inputs {
            if let Input::Token(id) = input {
                *id = number[id.index()].expect("what a node takes is needed");
            }
        }
        node
    };
    nodes.into_iter().zip(number).filter(|(_, number)| number.is_some()).map(moved).collect()
}

/// Leaves out the uniform values that no graph uses.
pub(super) fn uniforms(program: &mut Program) {
    let Program { drafts, uniforms, .. } = program;
    let nodes = || drafts.iter().flat_map(|draft| &draft.region.nodes);
    let mut needed = vec![false; uniforms.list.len()];
    let mark = |needed: &mut Vec<bool>, input: &Input| {
        if let Input::Uniform(id) = input {
            needed[id.0 as usize] = true;
        }
    };
    for node in nodes() {
        let base: &[Input] = if let NodeOp::Access(access) = &node.op { &access.base } else { &[] };
        node.inputs.iter().chain(base).for_each(|input| mark(&mut needed, input));
    }
    for i in (0..needed.len()).rev() {
        if needed[i] {
            inputs(&mut uniforms.list[i].clone()).iter().for_each(|input| mark(&mut needed, input));
        }
    }
    let number: Vec<_> = renumbered(&needed).into_iter().map(|id| id.map(|id| UniformId(id.0))).collect();
    let moved = |input: &mut Input| {
        if let Input::Uniform(id) = input {
            *id = number[id.0 as usize].expect("it is used");
        }
    };
    let list = std::mem::take(&mut uniforms.list).into_iter().zip(&number).filter(|(_, n)| n.is_some());
    uniforms.list = list.map(|(uniform, _)| uniform).collect();
    uniforms.list.iter_mut().for_each(|uniform| inputs(uniform).iter_mut().for_each(moved));
    for node in drafts.iter_mut().flat_map(|draft| &mut draft.region.nodes) {
        node.inputs.iter_mut().for_each(moved);
        if let NodeOp::Access(access) = &mut node.op {
            access.base.iter_mut().for_each(moved);
        }
    }
}

/// Operands of a uniform value.
fn inputs(uniform: &mut Uniform) -> &mut [Input] {
    match uniform {
        Uniform::Apply(_, inputs) => inputs,
        Uniform::Select(inputs) => inputs,
        Uniform::Param { .. } | Uniform::Ntid(_) | Uniform::Nctaid(_) => &mut [],
    }
}
