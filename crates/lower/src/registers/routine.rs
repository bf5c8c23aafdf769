//! A function's instructions while its registers are allocated.

use super::liveness::Effects;
use crate::cfg::Flow;
use crate::listing::{Constants, Line, Names};
use exec::access::{Address, Format, Transfer};
use exec::int::Int1;
use exec::kernel::{CallSite, Callee};
use exec::lanes::{Pred, Reg};
use exec::op::Op;
use exec::operand::OperandUse;
use exec::tensor::MatrixOp;
use isa::Space;
use kit::BitSet;

/// State that the functions of a kernel share.
#[derive(Clone, Debug)]
pub(super) struct Tables {
    /// Targets of indirect branches, relative to the first instruction of their function.
    pub branches: Vec<Vec<u32>>,
    pub calls: Vec<CallSite>,
    pub matrix: Vec<MatrixOp>,
    pub constants: Constants,
}

impl Tables {
    /// Reports the registers and predicates of a line, matrices and calls included, without its guard.
    pub fn uses(&self, line: &Line, f: &mut impl FnMut(OperandUse<u32, u32>)) {
        line.uses(&self.matrix, &self.calls, f);
    }
}

/// A new virtual register of this many columns, or a new predicate, of `count` so far.
pub(super) fn take(count: &mut u32, columns: u8) -> u32 {
    *count += u32::from(columns);
    *count - u32::from(columns)
}

/// A function. Branch targets are relative to its first instruction, and its registers are numbered from 0.
#[derive(Clone, Debug, Default)]
pub(super) struct Routine {
    pub lines: Vec<Line>,
    /// Number of virtual registers, in columns; the number of predicates follows.
    pub columns: u32,
    pub predicates: u32,
    /// Registers that the caller fills.
    pub formals: Vec<(u32, u8)>,
    /// Registers that the caller reads after the return.
    pub results: Vec<(u32, u8)>,
    pub frame_bytes: u32,
    /// Registers that spilling added: written directly before they are read, or read directly after they are
    /// written.
    pub temporary: Vec<(u32, u8)>,
}

/// Columns of a list of registers.
pub(super) fn columns(list: &[(u32, u8)]) -> impl Iterator<Item = u32> + '_ {
    list.iter().flat_map(|&(first, n)| first..first + u32::from(n))
}

impl Routine {
    /// Successors of each instruction, by thread.
    pub fn flow(&self, tables: &Tables) -> Vec<Flow> {
        self.lines
            .iter()
            .map(|line| {
                let falls_through = line.guard != Pred::TRUE;
                match &line.op {
                    Op::Branch { target, .. } => Flow { falls_through, targets: vec![*target] },
                    Op::BranchTable { table, .. } => {
                        Flow { falls_through, targets: tables.branches[*table as usize].clone() }
                    }
                    Op::Return | Op::Exit | Op::Trap => Flow { falls_through, targets: Vec::new() },
                    _ => Flow::next(),
                }
            })
            .collect()
    }

    /// Effect of each instruction on vector registers, by column.
    pub fn effects(&self, tables: &Tables) -> Vec<Effects> {
        let mut temporary = BitSet::new(self.columns as usize + 1);
        columns(&self.temporary).for_each(|c| {
            temporary.insert(c as usize);
        });
        let one = |line: &Line| {
            let mut e = Effects::default();
            tables.uses(line, &mut |u| match u {
                OperandUse::Read(r, n) => e.uses.extend(columns(&[(r, n)])),
                OperandUse::Write(r, n) => e.defs.extend(columns(&[(r, n)])),
                _ => {}
            });
            if line.op == Op::Return {
                e.uses.extend(columns(&self.results));
            }
            // A temporary is read under the same guard as it is written.
            let sure = |&&d: &&u32| line.guard == Pred::TRUE || temporary.contains(d as usize);
            e.kills = e.defs.iter().filter(sure).copied().collect();
            e
        };
        self.lines.iter().map(one).collect()
    }

    /// Effect of each instruction on predicates.
    pub fn predicate_effects(&self, tables: &Tables) -> Vec<Effects> {
        let one = |line: &Line| {
            let mut e = Effects::default();
            tables.uses(line, &mut |u| match u {
                OperandUse::ReadPred(p) => e.uses.push(p),
                OperandUse::WritePred(p) => e.defs.push(p),
                _ => {}
            });
            e.uses.extend(line.guard_number());
            if line.guard == Pred::TRUE {
                e.kills.clone_from(&e.defs);
            }
            e
        };
        self.lines.iter().map(one).collect()
    }

    /// Weight of an access in each line: ten times as much in a loop, which extends from the target of a
    /// backward branch to the branch.
    pub fn weights(&self, tables: &Tables) -> Vec<f64> {
        let mut depth = vec![0_i32; self.lines.len()];
        for (i, flow) in self.flow(tables).iter().enumerate() {
            if let Some(&first) = flow.targets.iter().filter(|&&t| t as usize <= i).min() {
                depth[first as usize..=i].iter_mut().for_each(|d| *d += 1);
            }
        }
        depth.into_iter().map(|d| 10_f64.powi(d.min(6))).collect()
    }

    /// Whether the line calls a function of the module, which uses registers itself.
    pub fn calls_function(&self, line: usize, tables: &Tables) -> bool {
        match self.lines[line].op {
            Op::Call(site) => {
                matches!(tables.calls[site as usize].callee, Callee::Function(_) | Callee::Pointer(_))
            }
            _ => false,
        }
    }

    /// Applies changes. A jump to an instruction then goes to what was inserted before it.
    pub fn apply(&mut self, edits: Edits, tables: &mut Tables) {
        let old = std::mem::take(&mut self.lines);
        let mut place = Vec::with_capacity(old.len() + 1);
        let mut edits = edits.0.into_iter().peekable();
        for (i, line) in old.into_iter().enumerate() {
            place.push(self.lines.len() as u32);
            let (mut after, mut dropped) = (Vec::new(), false);
            while let Some((_, edit)) = edits.next_if(|(at, _)| *at as usize == i) {
                match edit {
                    Edit::Before(line) => self.lines.push(line),
                    Edit::After(line) => after.push(line),
                    Edit::Drop => dropped = true,
                }
            }
            if !dropped {
                self.lines.push(line);
            }
            self.lines.extend(after);
        }
        for line in &mut self.lines {
            match &mut line.op {
                Op::Branch { target, .. } => *target = place[*target as usize],
                Op::BranchTable { table, .. } => {
                    tables.branches[*table as usize].iter_mut().for_each(|t| *t = place[*t as usize]);
                }
                _ => {}
            }
        }
    }
}

/// A change to a line of a function.
#[derive(Clone, Debug)]
pub(super) enum Edit {
    Before(Line),
    After(Line),
    Drop,
}

/// Changes by line, in ascending order.
#[derive(Clone, Debug, Default)]
pub(super) struct Edits(Vec<(u32, Edit)>);

impl Edits {
    /// Adds a change at `line`, which must not be before the last one's.
    pub fn push(&mut self, line: usize, edit: Edit) {
        debug_assert!(self.0.last().is_none_or(|(at, _)| *at as usize <= line));
        self.0.push((line as u32, edit));
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// An instruction that allocation inserts for the one in `line`.
pub(super) fn added(line: &Line, (op, guard): (Op, Pred), names: Names, text: String) -> Line {
    Line { op, names, guard, source: line.source, span: line.span, text, cache: isa::CacheOp::All }
}

/// A move of one or two columns.
pub(super) fn copy(d: Reg, s: Reg, columns: u8) -> Op {
    Op::Int1(if columns == 2 { Int1::Mov64 } else { Int1::Mov32 }, d, [s])
}

/// The transfer of a register to or from its frame slot.
pub(super) fn slot(tables: &mut Tables, offset: u32, register: Reg, columns: u8) -> Transfer {
    let base = tables.constants.get(u64::from(offset), true);
    let (bytes, register_bits) = if columns == 2 { (8, 64) } else { (4, 32) };
    Transfer {
        space: Space::Local,
        format: Format { bytes, count: 1, signed: false, register_bits },
        address: Address { base, wide: true, frame: true, offset: 0 },
        registers: [register; 4],
    }
}
