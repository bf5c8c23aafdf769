//! From a kernel to the first graphs of its regions.
//!
//! Both sides of a branch are in the graph and compute (section 4.5). What differs is chosen where they meet, by
//! selections for the phi nodes of static single assignment; a label, the condition under which a thread reaches a
//! block, enables the block's memory accesses. Values that live from region to region are stored to memory and
//! loaded again (section 4.6). The passes make better graphs of these.

mod builder;
mod control;
mod instruction;
mod leave;
mod registers;
mod values;

use crate::draft::{Draft, Program, copied};
use crate::flow::{Exit, Flow};
use crate::graph::{AccessKind, Input, NodeOp, Region, ThreadValue};
use crate::groups::{Anew, Groups};
use crate::refusal::{Refusal, refusal};
use crate::truth::Truth;
use builder::{Builder, Ending};
use exec::function::Function;
use exec::kernel::Kernel;
use exec::operand::Use;
use isa::Pc;
use std::collections::HashMap;

/// The first graphs of `kernel`, which must be of PTX.
///
/// # Errors
/// All reasons why it cannot be mapped.
pub(crate) fn program(kernel: &Kernel) -> Result<Program, Vec<Refusal>> {
    if kernel.is_machine_code() {
        return Err(vec![Refusal::new(kernel, 0, "graphs are made of PTX, not of machine code")]);
    }
    let flow = Flow::of(kernel);
    let reached = flow.blocks.iter().flat_map(|b| b.code.start..b.code.end + u32::from(b.ends_at_barrier));
    let refusals: Vec<Refusal> = reached.filter_map(|pc| refusal(kernel, pc)).collect();
    if !refusals.is_empty() {
        return Err(refusals);
    }
    let mut program = Program::default();
    let Some(groups) = Groups::of(kernel, &flow, &mut program.uniforms) else {
        return Err(vec![Refusal::new(
            kernel,
            0,
            "a register is a part of two different pairs: map virtual registers",
        )]);
    };
    let mut places = HashMap::new();
    for (region, &full) in full_regions(&flow).iter().enumerate() {
        let builder = Builder {
            kernel,
            flow: &flow,
            groups: &groups,
            places: &mut places,
            program: &mut program,
            draft: Draft::default(),
            region,
            enabled: Truth::TRUE,
            conditions: HashMap::new(),
            ends: HashMap::new(),
            loaded: HashMap::new(),
        };
        let draft = builder.region(full);
        program.drafts.push(draft);
    }
    Ok(program)
}

/// Regions that all threads pass that have not ended, exactly once: what is before the first branch out of a region.
fn full_regions(flow: &Flow) -> Vec<bool> {
    let mut full = vec![false; flow.heads.len()];
    let entered_from = |head: usize| &flow.predecessors[head];
    full[0] = entered_from(flow.heads[0]).is_empty();
    for r in 1..full.len() {
        if let [p] = entered_from(flow.heads[r])[..] {
            let from = flow.region_of[p];
            let blocks = || (0..flow.blocks.len()).filter(|&b| flow.region_of[b] == from);
            let leaves = |b: usize| flow.blocks[b].exit.targets().into_iter().filter(move |&t| flow.leaves(b, t));
            let ends = |b: usize| matches!(flow.blocks[b].exit, Exit::End | Exit::If(_, [None, _] | [_, None]));
            full[r] = from < r && full[from] && blocks().flat_map(leaves).count() == 1 && !blocks().any(ends);
        }
    }
    full
}

impl Builder<'_> {
    fn region(mut self, full: bool) -> Draft {
        if !full {
            self.enabled = Truth::of(self.draft.inject(ThreadValue::Live));
        }
        let head = self.flow.heads[self.region];
        let blocks: Vec<usize> =
            (head..self.flow.blocks.len()).filter(|&b| self.flow.region_of[b] == self.region).collect();
        for &b in &blocks {
            let mut now = if b == head { self.entry(head) } else { self.merged(b) };
            let here = self.absolute(b);
            for pc in self.flow.blocks[b].code.clone() {
                self.instruction(pc, here, &mut now);
            }
            self.ends.insert(b, now);
        }
        let (successors, always) = self.leave(&blocks);
        let at = &self.flow.blocks[head];
        let after_barrier = self.flow.predecessors[head].iter().any(|&p| self.flow.blocks[p].ends_at_barrier);
        let nodes = std::mem::take(&mut self.draft.region.nodes);
        self.draft.region = Region { nodes, successors, always, after_barrier, entry: Pc(at.code.start) };
        self.draft
    }

    /// Values at the head: loaded from memory, or made anew.
    fn entry(&mut self, head: usize) -> Ending {
        let mut now = Ending::default();
        if self.flow.predecessors[head].is_empty() {
            return now;
        }
        for group in (0..self.groups.len()).filter(|&g| self.groups.live[head][g]) {
            let value = match self.groups.anew[group] {
                Some(anew) => self.made_anew(anew),
                None => {
                    let access = self.live_access(AccessKind::Load, group);
                    let enable = self.draft.inject(ThreadValue::Live);
                    let inputs = vec![Input::Immediate(0), Input::Immediate(0), enable];
                    let node = self.draft.add(NodeOp::Access(access), inputs, None);
                    self.loaded.insert(group, node);
                    Input::Token(node)
                }
            };
            self.set_group(&mut now.values, group, value);
        }
        now
    }

    /// A value that has no place in memory. What is made twice is one after the pass `common`.
    fn made_anew(&mut self, anew: Anew) -> Input {
        let (pc, result) = match anew {
            Anew::Uniform(input) => return input,
            Anew::Thread(value) => return self.draft.inject(value),
            Anew::Made { pc, result, .. } => (pc, result),
        };
        let (functions, operands) = Function::of(&self.kernel.code[pc as usize].op).expect("it only computes");
        let made = |operand: &Use| {
            let anew = self.groups.operand_anew(self.kernel, *operand).expect("its operands are made anew");
            self.made_anew(anew)
        };
        let inputs: Vec<Input> = operands.iter().map(made).collect();
        let function = functions[usize::from(result)].1;
        copied(&function, &inputs)
            .unwrap_or_else(|| Input::Token(self.draft.add(NodeOp::Apply(function), inputs, Some(Pc(pc)))))
    }
}
