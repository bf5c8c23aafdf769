//! Registers that may be written in only a part of a warp's live threads. Designs that keep one copy of a
//! register for the whole warp expect a compiler to mark these ([`isa::Traits::partial`]).
//!
//! A forward analysis of the whole kernel, to the smallest fixed point. Before each basic block it holds the
//! registers that may *vary*, that is differ between lanes that execute together, and whether live lanes may
//! be *apart*, at another program counter. A value varies if it is computed from values that do, read from a
//! thread's position or its own memory, exchanged between lanes, or written while lanes are apart. Loads from
//! global, shared and constant memory at addresses that do not vary give one value, as in LLVM's divergence
//! analysis: all lanes read at once. A branch on a value that varies sets lanes apart:
//!
//! - PTX: up to the reconvergence point that the lowering computed, and in functions called before it. Where
//!   lanes return early, to the end of the function.
//! - Machine code: until a `BSYNC` at which all live lanes certainly meet; see [`groups`].
//!
//! Lanes that have exited are not apart. Functions of PTX start with all registers varying.

mod groups;
mod steering;

use crate::cfg::{Flow, Graph};
use exec::kernel::{Callee, Guarded, Kernel, Place};
use exec::lanes::{Pred, Reg};
use exec::op::Op;
use exec::operand::{Origin, Use};
use exec::simt::NOWHERE;
use exec::tensor::MatrixOp;
use exec::uses;
pub(crate) use groups::Machine;
use groups::{Groups, Slot, State, steps};
use isa::Pc;
use kit::BitSet;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Sets [`isa::Traits::partial`] of the kernel's instructions.
pub(crate) fn mark(kernel: &mut Kernel, machine: Option<&Machine<'_>>) {
    let mut analysis = Analysis::new(kernel, machine);
    analysis.run();
    let registers = analysis.partly_written();
    Arc::make_mut(&mut kernel.program).mark_partial(&registers);
}

struct Analysis<'a> {
    kernel: &'a Kernel,
    machine: Option<Groups<'a>>,
    columns: usize,
    graph: Graph,
    /// State before each block that is reached.
    before: Vec<Option<State>>,
    /// Blocks to process again.
    due: Vec<bool>,
    /// Blocks before a reconvergence point in which lanes may be apart, by that point.
    regions: HashMap<u32, BitSet>,
    /// Blocks in any of them.
    inside: Vec<bool>,
    /// Registers that called functions write; after a call they may have any value.
    called: BitSet,
    /// Instructions that may be executed by a part of the live lanes.
    partly: BitSet,
    writes: Vec<Use>,
}

impl<'a> Analysis<'a> {
    fn new(kernel: &'a Kernel, machine: Option<&'a Machine<'a>>) -> Self {
        let (columns, predicates) = kernel.files();
        let flow: Vec<Flow> = match machine {
            Some(machine) => groups::flow(kernel, machine),
            None => kernel.code.iter().map(|g| flow(kernel, g)).collect(),
        };
        let graph = Graph::new(&flow);
        let machine = machine.map(|m| Groups::new(kernel, m, &graph));
        let mut analysis = Self {
            kernel,
            machine,
            columns,
            before: vec![None; graph.blocks()],
            due: vec![false; graph.blocks()],
            regions: HashMap::new(),
            inside: vec![false; graph.blocks()],
            called: BitSet::new(columns + predicates),
            partly: BitSet::new(kernel.code.len()),
            writes: Vec::new(),
            graph,
        };
        analysis.start(columns + predicates);
        analysis
    }

    /// State at the entries: registers of a warp start as zeros.
    fn start(&mut self, registers: usize) {
        if self.graph.blocks() == 0 {
            return;
        }
        let state = State { varying: BitSet::new(registers), apart: false, slots: [Slot::Shut; groups::BARRIERS] };
        let mut any = state.clone();
        (0..registers).for_each(|r| {
            any.varying.insert(r);
        });
        self.flow_to(0, &state);
        let kernel = self.kernel;
        let Some(first) = kernel.functions.get(1) else { return };
        for f in &kernel.functions[1..] {
            self.flow_to(self.graph.block_of(f.entry), &any);
        }
        for g in &kernel.code[first.entry as usize..] {
            uses(&g.op, &kernel.matrix, &kernel.calls, &mut |u| match u {
                Use::Write(r, n) => (r.0..r.0 + u16::from(n)).for_each(|c| {
                    self.called.insert(c.into());
                }),
                Use::WritePred(p) => p.number().into_iter().for_each(|n| {
                    self.called.insert(self.columns + usize::from(n));
                }),
                Use::Read(..) | Use::ReadPred(_) => {}
            });
        }
    }

    fn run(&mut self) {
        while self.due.contains(&true) {
            for block in 0..self.graph.blocks() {
                if std::mem::take(&mut self.due[block]) {
                    self.block(block);
                }
            }
            if self.machine.as_mut().is_some_and(Groups::less_is_sure) {
                self.due.fill(true);
            }
        }
    }

    fn block(&mut self, block: usize) {
        let Some(mut state) = self.before[block].clone() else { return };
        for at in self.graph.range(block) {
            self.step(at, block, &mut state);
        }
        if self.machine.is_some() {
            self.leave_as_group(block, &state);
        } else {
            self.leave(block, &state);
        }
    }

    fn leave(&mut self, block: usize, state: &State) {
        for k in 0..self.graph.successors(block).len() {
            self.flow_to(self.graph.successors(block)[k] as usize, state);
        }
    }

    fn flow_to(&mut self, block: usize, state: &State) {
        let changed = match &mut self.before[block] {
            Some(known) => {
                let mut changed = known.varying.union_with(&state.varying) | (state.apart && !known.apart);
                known.apart |= state.apart;
                if let Some(groups) = &mut self.machine {
                    changed |= groups.join(&mut known.slots, &state.slots);
                }
                changed
            }
            unknown => {
                *unknown = Some(state.clone());
                true
            }
        };
        self.due[block] |= changed;
    }

    fn varies(&self, state: &State, p: Pred) -> bool {
        p.number().is_some_and(|n| state.varying.contains(self.columns + usize::from(n)))
    }

    fn step(&mut self, at: u32, block: usize, state: &mut State) {
        let kernel = self.kernel;
        let Guarded { op, guard, .. } = &kernel.code[at as usize];
        let parts = self.varies(state, *guard);
        let part = parts || state.apart || self.inside[block];
        if part {
            self.partly.insert(at as usize);
        }
        let always = *guard == Pred::TRUE;
        let waits_for = if self.machine.is_none() && part { op.waits_for() } else { None };
        match *op {
            // Lanes at a reconvergence point may continue without those that poll.
            Op::Branch { polls: true, .. } if part => state.apart = true,
            Op::Branch { reconverge, .. } if parts => self.part(block, reconverge, state),
            Op::BranchTable { index, reconverge, .. } => {
                if parts || self.column_varies(state, index) {
                    self.part(block, reconverge, state);
                }
            }
            Op::Call(_) => self.call(at, op, (part, always), state),
            // Lanes that return early are live and wait for the others in the caller.
            Op::Return => state.apart |= parts && self.in_function(at),
            // Lanes at a reconvergence point may continue for those that wait. If all lanes are named, none is apart.
            _ if waits_for.is_some() => {
                let is_all = |named: Reg| kernel.constants[usize::from(named.0 - Reg::CONSTANTS)][0] == !0;
                let all = waits_for.is_some_and(|named| named.is_constant() && is_all(named));
                state.apart = !(all && always && !self.inside[block]);
                self.operate(at, op, (part, always), state);
            }
            Op::Barrier { aligned: false, .. } if part => state.apart = true,
            _ => {
                for op in steps(kernel, op) {
                    match *op {
                        Op::Steer(steer) => self.steer(at, steer, *guard, part, state),
                        _ => self.operate(at, op, (part, always), state),
                    }
                }
            }
        }
    }

    /// Records the effect of an operation on the registers that it writes. `part`: a part of the live lanes
    /// may execute it; `always`: it has no guard.
    fn operate(&mut self, at: u32, op: &Op, (part, always): (bool, bool), state: &mut State) {
        let kernel = self.kernel;
        let mut writes = std::mem::take(&mut self.writes);
        let mut varies = false;
        uses(op, &kernel.matrix, &kernel.calls, &mut |u| match u {
            Use::Read(r, _) if r.is_constant() => {}
            Use::Read(r, n) => varies |= (r.0..r.0 + u16::from(n)).any(|c| state.varying.contains(c.into())),
            Use::ReadPred(p) => varies |= self.varies(state, p),
            write => writes.push(write),
        });
        let varies = match op.origin() {
            Origin::Operands => part || varies,
            Origin::Own | Origin::Lane => true,
            // Lanes with different member masks get different values.
            Origin::Warp(members) => part || members.is_some_and(|r| self.column_varies(state, r)),
        };
        for write in writes.drain(..) {
            let (first, count) = match write {
                Use::Write(r, n) => (usize::from(r.0), usize::from(n)),
                Use::WritePred(p) => (self.columns + usize::from(p.number().unwrap_or(0)), p.number().map_or(0, |_| 1)),
                Use::Read(..) | Use::ReadPred(_) => continue,
            };
            for register in first..first + count {
                self.write(register, varies, (part, always), state);
            }
        }
        self.writes = writes;
        // In the stream, only lanes whose addresses are used execute these.
        if let Op::Matrix(number) = op
            && let MatrixOp::LoadTiles { d, .. } = &kernel.matrix[usize::from(*number)]
            && d.len() < 4
        {
            self.partly.insert(at as usize);
        }
    }

    fn write(&mut self, register: usize, varies: bool, (part, always): (bool, bool), state: &mut State) {
        let (mut anew, mut of_warp) = (always, false);
        if let Some(groups) = &mut self.machine {
            groups.overwrite(register, !part && always, &mut state.slots);
            of_warp = groups.is_of_warp(register, self.columns);
            anew |= groups.is_scratch(register, self.columns);
        }
        if varies && !of_warp {
            state.varying.insert(register);
        } else if anew {
            state.varying.remove(register);
        }
    }

    fn column_varies(&self, state: &State, r: Reg) -> bool {
        !r.is_constant() && state.varying.contains(r.0.into())
    }

    /// Lanes diverge at the end of a block, up to a reconvergence point.
    fn part(&mut self, block: usize, reconverge: u32, state: &mut State) {
        if reconverge == NOWHERE {
            state.apart = true;
            return;
        }
        let region = self.regions.entry(reconverge).or_insert_with(|| BitSet::new(self.graph.blocks()));
        let mut next: Vec<u32> = self.graph.successors(block).to_vec();
        while let Some(b) = next.pop() {
            let b = b as usize;
            if self.graph.range(b).start != reconverge && region.insert(b) {
                self.due[b] |= !self.inside[b];
                self.inside[b] = true;
                next.extend(self.graph.successors(b));
            }
        }
    }

    fn call(&mut self, at: u32, op: &Op, (part, always): (bool, bool), state: &mut State) {
        let &Op::Call(site) = op else { return };
        let callee = self.kernel.calls[site as usize].callee;
        let apart = part || matches!(callee, Callee::Pointer(r) if self.column_varies(state, r));
        if apart {
            for f in self.callees(callee) {
                let entry = self.graph.block_of(self.kernel.functions[f].entry);
                if let Some(entered) = &mut self.before[entry] {
                    self.due[entry] |= !entered.apart;
                    entered.apart = true;
                }
            }
        }
        self.operate(at, op, (part, always), state);
        state.varying.union_with(&self.called);
    }

    /// Whether an instruction is in a function of PTX that is called.
    fn in_function(&self, at: u32) -> bool {
        self.kernel.functions.get(1).is_some_and(|f| at >= f.entry)
    }

    fn callees(&self, callee: Callee) -> Range<usize> {
        match callee {
            Callee::Function(f) => f as usize..f as usize + 1,
            Callee::Pointer(_) => 1..self.kernel.functions.len(),
            Callee::Runtime(_) => 0..0,
        }
    }

    /// Numbers of the vector registers that a part of the live lanes writes.
    fn partly_written(&self) -> BitSet {
        let program = &self.kernel.program;
        let mut registers = BitSet::new(program.regs.count());
        if self.machine.as_ref().is_some_and(|m| m.unknown_target) {
            (0..program.regs.count()).for_each(|r| {
                registers.insert(r);
            });
            return registers;
        }
        let mut add = |places: &[Place]| {
            for &place in places {
                if let Place::Register(r, n) = place {
                    (r.0..r.0 + u16::from(n)).filter(|_| !r.is_constant()).for_each(|c| {
                        registers.insert(c.into());
                    });
                }
            }
        };
        // Calls write parameters, returns write results.
        for at in self.partly.iter() {
            match self.kernel.code[at].op {
                Op::Call(site) => {
                    let callees = self.callees(self.kernel.calls[site as usize].callee);
                    self.kernel.functions[callees].iter().for_each(|f| add(&f.params));
                }
                Op::Return if self.in_function(at as u32) => {
                    self.kernel.calls.iter().for_each(|site| add(&site.results))
                }
                _ => {}
            }
        }
        for at in self.partly.iter() {
            for &register in program.dsts(program.inst(Pc::from(at))) {
                registers.insert(register.index());
            }
        }
        registers
    }
}

/// Successors of an instruction of PTX within its function.
fn flow(kernel: &Kernel, g: &Guarded) -> Flow {
    let falls_through = g.guard != Pred::TRUE;
    match &g.op {
        Op::Branch { target, .. } => Flow { falls_through, targets: vec![*target] },
        Op::BranchTable { table, .. } => Flow { falls_through, targets: kernel.tables[*table as usize].clone() },
        Op::Return | Op::Exit | Op::Trap => Flow { falls_through, targets: Vec::new() },
        _ => Flow::next(),
    }
}
