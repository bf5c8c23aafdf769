//! Control-flow graphs: basic blocks, immediate post-dominators.
//!
//! Works on a list of successors per instruction and is independent of the front end.

use kit::BitSet;

/// Successors of an instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    /// Continues at the next instruction in memory.
    pub falls_through: bool,
    /// May jump to these instructions.
    pub targets: Vec<u32>,
}

impl Flow {
    /// Only the next instruction.
    pub const fn next() -> Self {
        Self { falls_through: true, targets: Vec::new() }
    }
}

/// The graph of one function's instructions, numbered from 0.
#[derive(Clone, Debug)]
pub struct Graph {
    /// First instruction of each block, in ascending order.
    starts: Vec<u32>,
    /// Block of each instruction.
    block_of: Vec<u32>,
    successors: Vec<Vec<u32>>,
    len: u32,
}

impl Graph {
    /// Finds the blocks of instructions with the given successors.
    pub fn new(flow: &[Flow]) -> Self {
        let len = flow.len() as u32;
        let mut leads = vec![false; flow.len() + 1];
        leads[0] = true;
        for (i, f) in flow.iter().enumerate() {
            for &t in &f.targets {
                leads[t as usize] = true;
            }
            if !f.falls_through || !f.targets.is_empty() {
                leads[i + 1] = true;
            }
        }
        let starts: Vec<u32> = (0..len).filter(|&i| leads[i as usize]).collect();
        let mut block_of = Vec::with_capacity(flow.len());
        let mut block = 0;
        for i in 0..len {
            if i > 0 && leads[i as usize] {
                block += 1;
            }
            block_of.push(block);
        }
        let last = |b: usize| starts.get(b + 1).map_or(len, |&s| s) - 1;
        let successors = (0..starts.len())
            .map(|b| {
                let f = &flow[last(b) as usize];
                let next = Some(last(b) + 1).filter(|&n| f.falls_through && n < len);
                let mut out: Vec<u32> = f.targets.iter().copied().chain(next).map(|t| block_of[t as usize]).collect();
                out.sort_unstable();
                out.dedup();
                out
            })
            .collect();
        Self { starts, block_of, successors, len }
    }

    /// Number of blocks.
    pub fn blocks(&self) -> usize {
        self.starts.len()
    }

    /// Instructions of a block.
    pub fn range(&self, block: usize) -> std::ops::Range<u32> {
        self.starts[block]..self.starts.get(block + 1).map_or(self.len, |&s| s)
    }

    /// Block of an instruction.
    pub fn block_of(&self, instruction: u32) -> usize {
        self.block_of[instruction as usize] as usize
    }

    /// Blocks that may follow a block.
    pub fn successors(&self, block: usize) -> &[u32] {
        &self.successors[block]
    }

    /// First instruction of the immediate post-dominator of each block; `None` if that is the end of the
    /// function. Infinite loops are treated as if they could end.
    pub fn post_dominators(&self) -> Vec<Option<u32>> {
        let blocks = self.blocks();
        let end = blocks;
        let mut successors: Vec<Vec<usize>> =
            self.successors.iter().map(|s| s.iter().map(|&b| b as usize).collect()).collect();
        for s in &mut successors {
            if s.is_empty() {
                s.push(end);
            }
        }
        let order = loop {
            let order = reverse_postorder_from_end(&successors);
            let Some(stuck) = (0..blocks).rev().find(|b| !order.contains(b)) else { break order };
            successors[stuck].push(end);
        };
        let ipdom = dominators(&successors, &order, end);
        (0..blocks).map(|b| Some(ipdom[b]).filter(|&d| d != end).map(|d| self.starts[d])).collect()
    }
}

/// Blocks from which the end can be reached, the end first, in reverse postorder of the reversed graph.
fn reverse_postorder_from_end(successors: &[Vec<usize>]) -> Vec<usize> {
    let end = successors.len();
    let mut predecessors = vec![Vec::new(); end + 1];
    for (b, s) in successors.iter().enumerate() {
        for &t in s {
            predecessors[t].push(b);
        }
    }
    let mut seen = BitSet::new(end + 1);
    let mut order = Vec::new();
    let mut stack = vec![(end, 0)];
    seen.insert(end);
    while let Some((block, next)) = stack.pop() {
        if let Some(&p) = predecessors[block].get(next) {
            stack.push((block, next + 1));
            if seen.insert(p) {
                stack.push((p, 0));
            }
        } else {
            order.push(block);
        }
    }
    order.reverse();
    order
}

/// Immediate dominators in the reversed graph (Cooper, Harvey and Kennedy, "A Simple, Fast
/// Dominance Algorithm").
fn dominators(successors: &[Vec<usize>], order: &[usize], end: usize) -> Vec<usize> {
    let mut position = vec![0; end + 1];
    for (i, &b) in order.iter().enumerate() {
        position[b] = i;
    }
    const UNKNOWN: usize = usize::MAX;
    let mut idom = vec![UNKNOWN; end + 1];
    idom[end] = end;
    let meet = |idom: &[usize], mut a: usize, mut b: usize| {
        while a != b {
            while position[a] > position[b] {
                a = idom[a];
            }
            while position[b] > position[a] {
                b = idom[b];
            }
        }
        a
    };
    let mut changed = true;
    while changed {
        changed = false;
        for &b in &order[1..] {
            let known = successors[b].iter().copied().filter(|&s| idom[s] != UNKNOWN);
            let Some(new) = known.reduce(|x, y| meet(&idom, x, y)) else { continue };
            if idom[b] != new {
                idom[b] = new;
                changed = true;
            }
        }
    }
    idom
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(edges: &[(bool, &[u32])]) -> Graph {
        let flow: Vec<Flow> =
            edges.iter().map(|(falls, targets)| Flow { falls_through: *falls, targets: targets.to_vec() }).collect();
        Graph::new(&flow)
    }

    fn ipdom_of(graph: &Graph, instruction: u32) -> Option<u32> {
        graph.post_dominators()[graph.block_of(instruction)]
    }

    #[test]
    fn if_else_meets_after_both() {
        // 0: @p bra 3; 1; 2: bra 4; 3; 4: ret
        let g = graph(&[(true, &[3]), (true, &[]), (false, &[4]), (true, &[]), (false, &[])]);
        assert_eq!(ipdom_of(&g, 0), Some(4));
        assert_eq!(ipdom_of(&g, 4), None);
    }

    #[test]
    fn a_loop_with_a_break_meets_behind_it() {
        // 0; 1: @p bra 4 (break); 2: @q bra 1; 3: ...; 4: ret
        let g = graph(&[(true, &[]), (true, &[4]), (true, &[1]), (true, &[]), (false, &[])]);
        assert_eq!(ipdom_of(&g, 1), Some(4));
        assert_eq!(ipdom_of(&g, 2), Some(4));
    }

    #[test]
    fn ways_that_end_apart_and_endless_loops_meet_nowhere() {
        // 0: @p bra 2; 1: exit; 2: bra 2
        let g = graph(&[(true, &[2]), (false, &[]), (false, &[2])]);
        assert_eq!(ipdom_of(&g, 0), None);
        assert_eq!(ipdom_of(&g, 2), None);
    }
}
