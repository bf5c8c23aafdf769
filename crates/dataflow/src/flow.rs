//! Control flow of a kernel: blocks, loops, and the regions that become graphs.
//!
//! A region is a set of blocks without a cycle that threads enter at one block, its head. Heads are the entry, the
//! headers of loops, what follows a loop, what follows a barrier, and every block that is reached from several
//! regions (Voitsechov and Etsion, section 4.6: initialization, loop and epilogue are kernels of their own).

use exec::kernel::Kernel;
use exec::lanes::Pred;
use exec::op::Op;
use isa::Control;
use std::ops::Range;

/// Successors of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// One block, always.
    To(usize),
    /// The first where the predicate holds, else the second; `None` is the end of the thread.
    If(Pred, [Option<usize>; 2]),
    /// The end of the thread.
    End,
}

impl Exit {
    /// Blocks that may follow.
    pub fn targets(&self) -> Vec<usize> {
        match self {
            Self::To(block) => vec![*block],
            Self::If(_, [a, b]) if a == b => a.iter().copied().collect(),
            Self::If(_, both) => both.iter().flatten().copied().collect(),
            Self::End => Vec::new(),
        }
    }
}

/// Instructions that execute one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// Without the branch or barrier at its end.
    pub code: Range<u32>,
    pub exit: Exit,
    /// It ends with a barrier.
    pub ends_at_barrier: bool,
}

/// The blocks that threads can reach, in reverse postorder, and their regions.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    pub blocks: Vec<Block>,
    pub predecessors: Vec<Vec<usize>>,
    /// Head of each region, in ascending order.
    pub heads: Vec<usize>,
    /// Region of each block.
    pub region_of: Vec<usize>,
}

impl Flow {
    /// The control flow of a kernel of PTX whose instructions all can be mapped.
    pub fn of(kernel: &Kernel) -> Self {
        let blocks = blocks(kernel);
        let mut predecessors = vec![Vec::new(); blocks.len()];
        for (b, block) in blocks.iter().enumerate() {
            block.exit.targets().into_iter().for_each(|t| predecessors[t].push(b));
        }
        let loops = loops(&blocks);
        let (mut heads, mut region_of) = (Vec::new(), Vec::new());
        for b in 0..blocks.len() {
            let joined = predecessors[b].first().and_then(|first| {
                // A predecessor that comes later is at the end of a loop, whose header this is.
                let region = *region_of.get(*first)?;
                let joins = predecessors[b]
                    .iter()
                    .all(|&p| p < b && region_of[p] == region && loops[p] == loops[b] && !blocks[p].ends_at_barrier);
                joins.then_some(region)
            });
            if joined.is_none() {
                heads.push(b);
            }
            region_of.push(joined.unwrap_or(heads.len() - 1));
        }
        Self { blocks, predecessors, heads, region_of }
    }

    /// Whether threads go from block `from` to block `to` by leaving a region.
    pub fn leaves(&self, from: usize, to: usize) -> bool {
        self.region_of[from] != self.region_of[to] || self.heads[self.region_of[to]] == to
    }
}

/// Instructions that may follow `pc`: taken, then next.
fn follow(kernel: &Kernel, pc: u32) -> (Option<Exit>, bool) {
    let code = &kernel.code[pc as usize];
    let next = Some(pc as usize + 1);
    match code.op {
        Op::Branch { target, .. } if code.guard == Pred::TRUE => (Some(Exit::To(target as usize)), false),
        Op::Branch { target, .. } => (Some(Exit::If(code.guard, [Some(target as usize), next])), false),
        Op::Exit | Op::Return if code.guard == Pred::TRUE => (Some(Exit::End), false),
        Op::Exit | Op::Return => (Some(Exit::If(code.guard, [None, next])), false),
        _ if code.op.control() == Control::BarrierSync => (next.map(Exit::To), true),
        _ => (None, false),
    }
}

/// The blocks in reverse postorder; targets are blocks.
fn blocks(kernel: &Kernel) -> Vec<Block> {
    let len = kernel.code.len();
    let mut leads = vec![false; len + 1];
    leads[0] = true;
    for pc in 0..len {
        if let (Some(exit), _) = follow(kernel, pc as u32) {
            exit.targets().into_iter().for_each(|t| leads[t] = true);
            leads[pc + 1] = true;
        }
    }
    let block_at = |first: usize| {
        let mut pc = first;
        loop {
            if let (Some(exit), barrier) = follow(kernel, pc as u32) {
                return Block { code: first as u32..pc as u32, exit, ends_at_barrier: barrier };
            }
            pc += 1;
            if pc >= len || leads[pc] {
                let exit = if pc >= len { Exit::End } else { Exit::To(pc) };
                return Block { code: first as u32..pc as u32, exit, ends_at_barrier: false };
            }
        }
    };
    // Depth first; the way that is taken last comes first in reverse postorder.
    let mut seen = vec![false; len + 1];
    let mut order: Vec<(usize, Block)> = Vec::new();
    let mut stack = vec![(0, block_at(0), 0)];
    seen[0] = true;
    while let Some((first, block, done)) = stack.pop() {
        let targets = block.exit.targets();
        match targets.get(done) {
            Some(&t) => {
                stack.push((first, block, done + 1));
                if !std::mem::replace(&mut seen[t], true) {
                    stack.push((t, block_at(t), 0));
                }
            }
            None => order.push((first, block)),
        }
    }
    order.reverse();
    let mut number = vec![0; len + 1];
    order.iter().enumerate().for_each(|(b, (first, _))| number[*first] = b);
    let renumbered = |(_, mut block): (usize, Block)| {
        match &mut block.exit {
            Exit::To(t) => *t = number[*t],
            Exit::If(_, both) => both.iter_mut().flatten().for_each(|t| *t = number[*t]),
            Exit::End => {}
        }
        block
    };
    order.into_iter().map(renumbered).collect()
}

/// The innermost loop of each block: blocks of the same loop have the same number; 0 is none.
fn loops(blocks: &[Block]) -> Vec<usize> {
    let mut of = vec![0; blocks.len()];
    let mut found = 0;
    let mut work = vec![((0..blocks.len()).collect::<Vec<_>>(), vec![false; blocks.len()])];
    // In each set, edges to the headers of the loops around are cut.
    while let Some((set, cut)) = work.pop() {
        let mut inside = vec![false; blocks.len()];
        set.iter().for_each(|&b| inside[b] = true);
        let next =
            |b: usize| blocks[b].exit.targets().into_iter().filter(|&t| inside[t] && !cut[t]).collect::<Vec<_>>();
        for component in components(&set, &next) {
            if component.len() == 1 && !next(component[0]).contains(&component[0]) {
                continue;
            }
            found += 1;
            component.iter().for_each(|&b| of[b] = found);
            let entered =
                |b: &usize| (0..blocks.len()).any(|p| !component.contains(&p) && blocks[p].exit.targets().contains(b));
            let mut headers: Vec<usize> = component.iter().copied().filter(entered).collect();
            if headers.is_empty() {
                // The entry of the kernel, or cut off by the loop around.
                headers.push(*component.iter().min().unwrap_or(&0));
            }
            let mut cut = cut.clone();
            headers.iter().for_each(|&h| cut[h] = true);
            work.push((component, cut));
        }
    }
    of
}

/// Strongly connected components (Tarjan) of the blocks in `set`.
fn components(set: &[usize], next: &impl Fn(usize) -> Vec<usize>) -> Vec<Vec<usize>> {
    let bound = set.iter().max().map_or(0, |m| m + 1);
    let (mut index, mut low, mut on) = (vec![usize::MAX; bound], vec![0; bound], vec![false; bound]);
    let (mut path, mut all, mut count) = (Vec::new(), Vec::new(), 0);
    for &root in set {
        if index[root] != usize::MAX {
            continue;
        }
        let mut work = vec![(root, 0)];
        while let Some((b, done)) = work.pop() {
            if done == 0 {
                (index[b], low[b], on[b]) = (count, count, true);
                count += 1;
                path.push(b);
            }
            match next(b).get(done) {
                Some(&t) => {
                    work.push((b, done + 1));
                    if index[t] == usize::MAX {
                        work.push((t, 0));
                    } else if on[t] {
                        low[b] = low[b].min(index[t]);
                    }
                }
                None => {
                    if low[b] == index[b] {
                        let from = path.iter().rposition(|&p| p == b).unwrap_or(0);
                        let component = path.split_off(from);
                        component.iter().for_each(|&p| on[p] = false);
                        all.push(component);
                    }
                    if let Some(&(parent, _)) = work.last() {
                        low[parent] = low[parent].min(low[b]);
                    }
                }
            }
        }
    }
    all
}
