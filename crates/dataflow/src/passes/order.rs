//! The order of a thread's memory accesses goes into enable tokens (section 4.3, figure 5): an access waits by a join
//! for the older ones that it must come after, except where its operands are computed from them.
//!
//! It comes last of the passes on values: which operands depend on an access is known when they are simplified.

use crate::draft::{Draft, Uniforms, is_token};
use crate::graph::{AccessKind, Input, NodeId, NodeOp, ThreadValue};
use crate::truth::Truth;

pub(super) fn run(draft: &mut Draft, _: &mut Uniforms) {
    let mut waits = std::mem::take(&mut draft.waits);
    draft.waits = vec![Vec::new(); waits.len()];
    // By node of the old graph.
    let mut now: Vec<Option<NodeId>> = vec![None; waits.len()];
    draft.rewrite(|made, node, old| {
        let waits = std::mem::take(&mut waits[old.index()]);
        match node.op {
            NodeOp::Access(_) => {
                let waits: Vec<NodeId> = waits.into_iter().filter_map(|wait| now[wait.index()]).collect();
                let [address, data, enable] = [node.inputs[0], node.inputs[1], node.inputs[2]];
                let more = node.inputs.get(3).copied();
                let mut token = enable;
                // Where the address or the data come from it, they are the order.
                let is_operand = |made: &Draft, wait| {
                    [Some(address), Some(data), more].into_iter().flatten().any(|input| made.depends(input, wait))
                };
                for wait in waits {
                    if !is_operand(made, wait) && !made.depends(token, wait) {
                        token = after(made, token, wait);
                    }
                }
                node.inputs[2] = token;
                if !node.inputs.iter().any(is_token) {
                    node.inputs[2] = with_live(made, token);
                }
                now[old.index()] = Some(NodeId(made.region.nodes.len() as u32));
            }
            NodeOp::Next(_) if !is_token(&node.inputs[0]) => node.inputs[0] = with_live(made, node.inputs[0]),
            _ => {}
        }
        None
    });
}

/// The predicate for each thread: a unit fires when a token arrives.
fn with_live(made: &mut Draft, predicate: Input) -> Input {
    let live = made.inject(ThreadValue::Live);
    let both = made.and(Truth::of(predicate), Truth::of(live));
    made.value(both)
}

/// The value `enable`, after access `node` has been performed.
fn after(made: &mut Draft, enable: Input, node: NodeId) -> Input {
    // A store passes its own enable on: along a chain of accesses under one label.
    if passes(made, node, enable) {
        return Input::Token(node);
    }
    made.once(NodeOp::Join, vec![enable, Input::Token(node)])
}

/// Whether the result of access `node` is the value `enable`.
fn passes(made: &Draft, node: NodeId, enable: Input) -> bool {
    let mut input = Input::Token(node);
    let mut is_store = false;
    while input != enable || !is_store {
        let Some(earlier) = made.node(input) else { return false };
        input = match &earlier.op {
            NodeOp::Join if is_store => earlier.inputs[0],
            NodeOp::Access(a) if a.kind == AccessKind::Store => earlier.inputs[2],
            _ => return false,
        };
        is_store = true;
    }
    true
}
