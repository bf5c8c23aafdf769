//! Live values that no region needs to keep: a store of what is in the place already, and places that no region loads.

use crate::draft::{Draft, Program};
use crate::graph::{Access, AccessKind, Input, LiveId, Node, NodeOp, Target};
use crate::passes::dead;

pub(super) fn run(program: &mut Program) {
    loop {
        let loaded = loaded(program);
        let mut removed = false;
        for draft in &mut program.drafts {
            removed |= without_stores(draft, &loaded);
            dead::run(draft, &mut program.uniforms);
        }
        if !removed {
            break;
        }
    }
    renumber(program);
}

/// By place, whether a region loads it.
fn loaded(program: &Program) -> Vec<bool> {
    let mut loaded = vec![false; program.live.len()];
    for node in program.drafts.iter().flat_map(|draft| &draft.region.nodes) {
        if let Some((AccessKind::Load, place)) = live(node) {
            loaded[place.0 as usize] = true;
        }
    }
    loaded
}

fn live(node: &Node) -> Option<(AccessKind, LiveId)> {
    match node.op {
        NodeOp::Access(Access { kind, target: Target::Live(place), .. }) => Some((kind, place)),
        _ => None,
    }
}

/// Takes out the stores that change nothing or that no region sees.
fn without_stores(draft: &mut Draft, loaded: &[bool]) -> bool {
    let mut removed = false;
    // Nobody takes the result of a store of a live value: it goes with what is dead.
    let nodes = &draft.region.nodes;
    let superfluous: Vec<bool> = nodes
        .iter()
        .map(|node| match live(node) {
            Some((AccessKind::Store, place)) => {
                let value = match node.inputs[1] {
                    Input::Token(id) => live(&nodes[id.index()]),
                    _ => None,
                };
                !loaded[place.0 as usize] || value == Some((AccessKind::Load, place))
            }
            _ => false,
        })
        .collect();
    for (node, _) in draft.region.nodes.iter_mut().zip(&superfluous).filter(|(_, is)| **is) {
        removed = true;
        // It is left out with what is dead.
        node.inputs[2] = Input::Immediate(0);
    }
    removed
}

/// Places that are left get consecutive numbers.
fn renumber(program: &mut Program) {
    let loaded = loaded(program);
    let mut number = vec![LiveId(0); loaded.len()];
    let mut kept = Vec::new();
    for (place, _) in loaded.iter().enumerate().filter(|(_, is)| **is) {
        number[place] = LiveId(kept.len() as u32);
        kept.push(program.live[place]);
    }
    program.live = kept;
    for node in program.drafts.iter_mut().flat_map(|draft| &mut draft.region.nodes) {
        if let NodeOp::Access(Access { target: Target::Live(place), .. }) = &mut node.op {
            *place = number[place.0 as usize];
        }
    }
}
