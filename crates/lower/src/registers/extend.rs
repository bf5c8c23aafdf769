//! Hazard-preventing allocation (Mishkin, Kim, Lipasti, "Write-after-Read Hazard Prevention in
//! GPGPUSim", section 3).
//!
//! Instructions of a warp issue in order. When an instruction that waits for the result of another one has
//! issued, the other one has read its registers. A register may therefore be given another value from the
//! first instruction on that reads or writes a result of each of its readers: until then its live range is
//! *extended*. An instruction that reads and has not reached that point is called *unfinished* here.
//!
//! If two values are one virtual register already, as in a loop, no allocation separates them, nor can it if
//! registers run out. Then a *fence* is inserted before the write, as the paper proposes: an instruction that
//! names the awaited result and has no effect (a move whose guard is false: a destination register waits on
//! the scoreboard as a source does, and is not read).
//!
//! **Deviations.**
//! - D1: the paper considers the order of a thread's instructions. A warp executes both sides of a branch one
//!   after the other, and the scoreboard does not distinguish lanes, so the warp's order is used: the end of
//!   one side leads to the other side, too ([`of_warp`]).
//! - D2: a result that no instruction reads extends no range, since the range would have no end; a fence is
//!   used.
//! - D3: instructions without a result (mainly stores) are left out, as in the paper, which leaves them to
//!   the hardware: `warpboard-stores`.

use super::interference::Interference;
use super::liveness::{Effects, walk};
use crate::cfg::{Flow, Graph};
use kit::BitSet;

/// Effect of an instruction on registers, as far as it matters for hazards. Predicates are numbered after the
/// vector registers; they are read at issue, so only vector registers can be overwritten early.
#[derive(Clone, Debug, Default)]
pub(super) struct Step {
    pub reads: Vec<u32>,
    pub writes: Vec<u32>,
    /// Vector registers and predicates written.
    pub results: Vec<u32>,
    /// Everything read or written.
    pub touched: Vec<u32>,
}

impl Step {
    /// Combines effects on vector registers with those on predicates, which are numbered from `vectors` on.
    pub fn new(vector: &Effects, predicates: &Effects, vectors: u32) -> Self {
        let behind = |list: &[u32]| list.iter().map(|p| p + vectors).collect::<Vec<u32>>();
        let results = [&vector.defs[..], &behind(&predicates.defs)].concat();
        let touched = [&vector.uses[..], &behind(&predicates.uses), &results].concat();
        Self { reads: vector.uses.clone(), writes: vector.defs.clone(), results, touched }
    }
}

/// Successors of each instruction in the order of the warp: its threads' successors, and from the end of a side
/// of a branch the other side and the point where the sides meet. `ends` reports instructions that end
/// threads.
pub(super) fn of_warp(flow: &[Flow], ends: impl Fn(usize) -> bool) -> Vec<Flow> {
    let graph = Graph::new(flow);
    let meets = graph.post_dominators();
    let mut before: Vec<Vec<u32>> = vec![Vec::new(); flow.len() + 1];
    for (i, f) in flow.iter().enumerate() {
        f.targets.iter().for_each(|&t| before[t as usize].push(i as u32));
        if f.falls_through {
            before[i + 1].push(i as u32);
        }
    }
    let ending: Vec<u32> = (0..flow.len()).filter(|&i| ends(i)).map(|i| i as u32).collect();
    let mut out = flow.to_vec();
    for (i, f) in flow.iter().enumerate() {
        let next = f.falls_through.then_some(i as u32 + 1).filter(|&n| (n as usize) < flow.len());
        let sides: Vec<u32> = f.targets.iter().copied().chain(next).collect();
        if sides.len() < 2 {
            continue;
        }
        let meet = meets[graph.block_of(i as u32)];
        let arriving = meet.map_or(&[][..], |m| &before[m as usize]);
        for &x in arriving.iter().chain(&ending) {
            out[x as usize].targets.extend(sides.iter().copied().chain(meet));
        }
    }
    for f in &mut out {
        f.targets.sort_unstable();
        f.targets.dedup();
    }
    out
}

/// Visits every instruction with the set of those that may be unfinished before it, from which the visitor
/// may remove some, and with the set when it issues.
pub(super) fn unfinished(graph: &Graph, steps: &[Step], mut visit: impl FnMut(u32, &mut BitSet, &BitSet)) {
    let pass = |i: u32, state: &mut BitSet| finish(steps, &steps[i as usize].touched, state);
    let begin = |i: u32, state: &mut BitSet| {
        let step = &steps[i as usize];
        if !step.reads.is_empty() && !step.results.is_empty() {
            state.insert(i as usize);
        }
    };
    let mut at_start = vec![BitSet::new(steps.len()); graph.blocks()];
    let mut waiting: Vec<usize> = (0..graph.blocks()).rev().collect();
    while let Some(block) = waiting.pop() {
        let mut state = at_start[block].clone();
        for i in graph.range(block) {
            pass(i, &mut state);
            begin(i, &mut state);
        }
        for &next in graph.successors(block) {
            if at_start[next as usize].union_with(&state) && !waiting.contains(&(next as usize)) {
                waiting.push(next as usize);
            }
        }
    }
    for (block, mut state) in at_start.into_iter().enumerate() {
        for i in graph.range(block) {
            let mut at_issue = state.clone();
            pass(i, &mut at_issue);
            visit(i, &mut state, &at_issue);
            pass(i, &mut state);
            begin(i, &mut state);
        }
    }
}

/// Removes from `state` the instructions that have written one of `registers`. Few are unfinished at a time, and many
/// may write a register.
fn finish(steps: &[Step], registers: &[u32], state: &mut BitSet) {
    let writes = |&i: &usize| steps[i].results.iter().any(|r| registers.contains(r));
    let written: Vec<usize> = state.iter().filter(writes).collect();
    written.into_iter().for_each(|i| _ = state.remove(i));
}

/// Adds the interference of extended live ranges: registers that an instruction writes with those that
/// unfinished instructions read. `vectors` and `predicates` are effects by thread.
pub(super) fn extend(
    flow: &[Flow],
    ends: impl Fn(usize) -> bool,
    vectors: &[Effects],
    predicates: &[Effects],
    counts: [usize; 2],
) -> Interference {
    let steps: Vec<Step> = vectors.iter().zip(predicates).map(|(v, p)| Step::new(v, p, counts[0] as u32)).collect();
    // Instructions with a result that is read.
    let mut read = vec![false; steps.len()];
    for (effects, count) in [(vectors, counts[0]), (predicates, counts[1])] {
        walk(&Graph::new(flow), effects, count, |i, after, _| {
            read[i as usize] |= effects[i as usize].defs.iter().any(|&d| after.contains(d as usize));
        });
    }
    let mut found = Interference::none(counts[0]);
    let graph = Graph::new(&of_warp(flow, ends));
    unfinished(&graph, &steps, |i, _, at_issue| {
        for &d in &steps[i as usize].writes {
            for reader in at_issue.iter().filter(|&r| read[r]) {
                steps[reader].reads.iter().for_each(|&s| found.add(d, s));
            }
        }
    });
    found.settle();
    found
}

/// An instruction that waits until a register, numbered as in [`Step`], has been written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fence {
    /// As if it wrote the register. This is preferred, since it reads nothing late.
    Writing(u32),
    /// As if it read the register.
    Reading(u32),
}

/// The necessary fences in order, each with the instruction that follows it.
pub(super) fn fences(graph: &Graph, steps: &[Step]) -> Vec<(u32, Fence)> {
    let mut fencing = Fencing { steps, found: Vec::new(), under_way: Vec::new() };
    unfinished(graph, steps, |i, before, at_issue| {
        for &d in &steps[i as usize].writes {
            fencing.settle(i, d, before, &|reader| at_issue.contains(reader));
        }
    });
    fencing.found.sort_by_key(|f| f.0);
    fencing.found
}

struct Fencing<'a> {
    steps: &'a [Step],
    found: Vec<(u32, Fence)>,
    /// Readers whose fences are being inserted.
    under_way: Vec<usize>,
}

impl Fencing<'_> {
    /// Inserts fences before instruction `at` so that no unfinished instruction reads register `d`. A fence
    /// writes a register too: readers of that one come first. If that is a cycle, which only paths that
    /// exclude each other can form, the fence reads the register.
    fn settle(&mut self, at: u32, d: u32, state: &mut BitSet, matters: &dyn Fn(usize) -> bool) {
        let readers: Vec<usize> = state.iter().filter(|&i| self.steps[i].reads.contains(&d) && matters(i)).collect();
        for reader in readers {
            // A fence for one before it may have finished it.
            if !state.contains(reader) {
                continue;
            }
            let result = self.steps[reader].results[0];
            if self.under_way.contains(&reader) {
                self.found.push((at, Fence::Reading(result)));
            } else {
                self.under_way.push(reader);
                // The fence also waits for other writers of the result.
                let steps = self.steps;
                self.settle(at, result, state, &|reader| !steps[reader].results.contains(&result));
                self.under_way.pop();
                if !state.contains(reader) {
                    continue;
                }
                self.found.push((at, Fence::Writing(result)));
            }
            finish(self.steps, &[result], state);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(writes: &[u32], reads: &[u32]) -> Step {
        let touched = [reads, writes].concat();
        Step { reads: reads.to_vec(), writes: writes.to_vec(), results: writes.to_vec(), touched }
    }

    fn straight(steps: &[Step]) -> Vec<(u32, Fence)> {
        fences(&Graph::new(&vec![Flow::next(); steps.len()]), steps)
    }

    #[test]
    fn the_snippet_of_figure_1_has_its_hazard() {
        // IMAD R5, R5, R0, R18; IADD R0, R16, c; IADD R0, R5, R0: the result of the reader is R5.
        let mut steps = vec![step(&[5], &[5, 0, 18]), step(&[0], &[16]), step(&[0], &[5, 0])];
        assert_eq!(straight(&steps), [(1, Fence::Writing(5))]);
        // With another register instead, R0 is free after the instruction that reads R5.
        steps[1] = step(&[1], &[16]);
        steps[2] = step(&[0], &[5, 1]);
        assert_eq!(straight(&steps), []);
    }

    #[test]
    fn instructions_without_a_result_are_left_to_the_hardware() {
        assert_eq!(straight(&[step(&[], &[1, 2]), step(&[1], &[3])]), []);
    }

    #[test]
    fn a_loop_that_rewrites_what_it_reads_needs_a_fence() {
        // 0: r1 = [r0]; 1: r0 = r0 + 1; 2: back to 0.
        let steps = [step(&[1], &[0]), step(&[0], &[0]), step(&[], &[])];
        let flow = [Flow::next(), Flow::next(), Flow { falls_through: true, targets: vec![0] }];
        assert_eq!(fences(&Graph::new(&flow), &steps), [(1, Fence::Writing(1))]);
        // No fence is needed if the sum waits for the load.
        let steps = [step(&[1], &[0]), step(&[2], &[1]), step(&[0], &[0])];
        assert_eq!(straight(&steps), []);
    }

    #[test]
    fn a_side_of_a_branch_follows_the_other() {
        // 0: branch to 3; 1: r1 = r0; 2: to 4; 3: r0 = r2; 4: end.
        let flow = [
            Flow { falls_through: true, targets: vec![3] },
            Flow::next(),
            Flow { falls_through: false, targets: vec![4] },
            Flow::next(),
            Flow::default(),
        ];
        let steps = [step(&[], &[]), step(&[1], &[0]), step(&[], &[]), step(&[0], &[2]), step(&[], &[])];
        assert_eq!(fences(&Graph::new(&flow), &steps), []);
        assert_eq!(fences(&Graph::new(&of_warp(&flow, |i| i == 4)), &steps), [(3, Fence::Writing(1))]);
    }
}
