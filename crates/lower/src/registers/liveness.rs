//! Registers that hold a value that is read later, per thread: lanes on the other side of a branch do not
//! matter, since a write leaves the registers of other lanes unchanged.

use crate::cfg::Graph;
use kit::BitSet;

/// Effect of an instruction on registers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Effects {
    pub uses: Vec<u32>,
    pub defs: Vec<u32>,
    /// Written registers that certainly lose their old value. A guarded write may not happen: the old value
    /// may stay live.
    pub kills: Vec<u32>,
}

/// The largest number of `counted` registers that are live at once before any instruction.
pub(crate) fn max_live(graph: &Graph, effects: &[Effects], registers: usize, counted: impl Fn(u32) -> bool) -> u32 {
    let mut most = 0;
    // Of the instruction visited last; its `before` is the next one's `after` within a block.
    let mut last = None;
    walk(graph, effects, registers, |i, after, before| {
        // A destination exists while its instruction executes, even if nothing reads it.
        let dead = effects[i as usize].defs.iter().filter(|&&r| !after.contains(r as usize) && counted(r)).count();
        let live = |set: &BitSet| set.iter().filter(|&r| counted(r as u32)).count();
        let live_after = last.take().filter(|&(at, _)| at == i + 1).map_or_else(|| live(after), |(_, count)| count);
        let live_before = live(before);
        last = Some((i, live_before));
        most = most.max(live_after + dead).max(live_before);
    });
    most as u32
}

/// Visits the instructions of each block, the last one first, with the registers that are live after and
/// before them.
pub(crate) fn walk(graph: &Graph, effects: &[Effects], registers: usize, mut visit: impl FnMut(u32, &BitSet, &BitSet)) {
    let live_in = at_block_starts(graph, effects, registers);
    for block in 0..graph.blocks() {
        let mut after = live_out(graph, &live_in, block, registers);
        for i in graph.range(block).rev() {
            let mut before = after.clone();
            step(&effects[i as usize], &mut before);
            visit(i, &after, &before);
            after = before;
        }
    }
}

/// Computes the registers that are live before an instruction from those that are live after it.
fn step(e: &Effects, live: &mut BitSet) {
    for &r in &e.kills {
        live.remove(r as usize);
    }
    for &r in &e.uses {
        live.insert(r as usize);
    }
}

fn live_out(graph: &Graph, live_in: &[BitSet], block: usize, registers: usize) -> BitSet {
    let mut live = BitSet::new(registers);
    for &s in graph.successors(block) {
        live.union_with(&live_in[s as usize]);
    }
    live
}

fn at_block_starts(graph: &Graph, effects: &[Effects], registers: usize) -> Vec<BitSet> {
    let mut live_in = vec![BitSet::new(registers); graph.blocks()];
    let mut changed = true;
    while changed {
        changed = false;
        for block in (0..graph.blocks()).rev() {
            let mut live = live_out(graph, &live_in, block, registers);
            for i in graph.range(block).rev() {
                step(&effects[i as usize], &mut live);
            }
            changed |= live_in[block].union_with(&live);
        }
    }
    live_in
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cfg::Flow;

    #[test]
    fn liveness_counts_what_is_read_later() {
        let e = |uses: &[u32], defs: &[u32]| Effects { uses: uses.to_vec(), defs: defs.to_vec(), kills: defs.to_vec() };
        // r0, r1, r2 = …; r3 = r0 + r1; r3 = r3 + r2; ret
        let mut effects =
            vec![e(&[], &[0]), e(&[], &[1]), e(&[], &[2]), e(&[0, 1], &[3]), e(&[3, 2], &[3]), e(&[3], &[])];
        let mut flow = vec![Flow::next(); 5];
        flow.push(Flow::default());
        assert_eq!(max_live(&Graph::new(&flow), &effects, 4, |_| true), 3);
        // After a guarded write of r2 the old value is live from the start.
        effects[2].kills.clear();
        assert_eq!(max_live(&Graph::new(&flow), &effects, 4, |r| r == 2), 1);
        effects[2].kills.push(2);
        // In a loop back to the third instruction, r0 and r1 stay live.
        flow[5] = Flow { falls_through: false, targets: vec![2] };
        assert_eq!(max_live(&Graph::new(&flow), &effects, 4, |_| true), 4);
    }
}
