//! Regions that do nothing are left out: threads continue where they would from there. The first one stays, unless
//! threads continue from it in what is the first one then.

use crate::draft::Program;
use crate::graph::{NodeOp, Region, RegionId};
use crate::passes::dead::{has_effect, without_dead};

pub(super) fn run(program: &mut Program) {
    let to = targets(program);
    let does_something = |r: usize| does(&program.drafts[r].region);
    let first = match to[0] {
        Some(next) if (0..next).all(|r| !does_something(r)) => next,
        _ => 0,
    };
    let kept = |r: usize| r == first || does_something(r);
    let mut number = vec![None; program.drafts.len()];
    (0..program.drafts.len()).filter(|&r| kept(r)).enumerate().for_each(|(n, r)| number[r] = Some(RegionId(n as u32)));
    let renumbered = |r: RegionId| to[r.0 as usize].and_then(|r| number[r]);
    for draft in &mut program.drafts {
        let region = &mut draft.region;
        region.always = region.always.and_then(renumbered);
        region.successors = region.successors.iter().copied().filter_map(renumbered).collect();
        region.successors.sort_unstable();
        region.successors.dedup();
        region.nodes.iter_mut().for_each(|node| {
            if let NodeOp::Next(r) = node.op {
                // Of what ends nothing must be said; the node is taken out below.
                node.op = renumbered(r).map_or(NodeOp::Join, NodeOp::Next);
            }
        });
        region.nodes = without_dead(std::mem::take(&mut region.nodes), has_effect);
        // The order is in the nodes.
        draft.waits = vec![Vec::new(); region.nodes.len()];
    }
    let mut region = 0..;
    program.drafts.retain(|_| region.next().is_some_and(|r| number[r].is_some()));
}

fn does(region: &Region) -> bool {
    !region.nodes.is_empty() || region.after_barrier
}

/// Where threads come to that continue in each region; none if they end.
fn targets(program: &Program) -> Vec<Option<usize>> {
    let region = |r: usize| &program.drafts[r].region;
    (0..program.drafts.len())
        .map(|r| {
            let mut at = Some(r);
            let mut steps = 0;
            while let Some(r) = at
                && !does(region(r))
                && steps < program.drafts.len()
            {
                at = region(r).always.map(|next| next.0 as usize);
                steps += 1;
            }
            at
        })
        .collect()
}
