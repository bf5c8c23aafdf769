//! Lowered instructions of PTX before they are described to the timing model. Register allocation works on
//! them.

use exec::kernel::{CallSite, CalledFunction, Place};
use exec::lanes::{Column, Pred, Reg};
use exec::op::Op;
use exec::operand::{OperandUse, Use};
use exec::tensor::MatrixOp;
use isa::Source;
use ptx::Span;
use std::collections::HashMap;

/// Virtual registers and predicates. A kernel may have any number of them, but an operation has 16 bits for each: until
/// [`settle`] it has positions in these lists instead.
///
/// The columns of a register are consecutive in the list and in the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Names {
    /// Columns.
    pub registers: Vec<u32>,
    pub predicates: Vec<u32>,
}

impl Names {
    /// The maximum number of columns, and of predicates.
    pub const MOST: usize = 0x7fff;

    /// The register that starts at column `first`, as an operand.
    pub fn register(&mut self, first: u32, columns: u32) -> Reg {
        let last = columns as usize - 1;
        let is_here =
            |at: usize| self.registers[at] == first && self.registers.get(at + last) == Some(&(first + columns - 1));
        let at = (0..self.registers.len()).find(|&at| is_here(at)).unwrap_or_else(|| {
            self.registers.extend(first..first + columns);
            self.registers.len() - columns as usize
        });
        Reg(at.min(Self::MOST - 4) as u16)
    }

    /// A predicate, as an operand.
    pub fn predicate(&mut self, number: u32) -> Pred {
        let at = self.predicates.iter().position(|&predicate| predicate == number).unwrap_or_else(|| {
            self.predicates.push(number);
            self.predicates.len() - 1
        });
        Pred(at.min(Self::MOST - 1) as u16)
    }

    /// The first column of an operand; `None` for a constant.
    pub fn column(&self, register: Reg) -> Option<u32> {
        (!register.is_constant()).then(|| self.registers[usize::from(register.0)])
    }

    /// The number of an operand; `None` for the predicate that always holds.
    pub fn number(&self, predicate: Pred) -> Option<u32> {
        predicate.number().map(|n| self.predicates[usize::from(n)])
    }

    /// The registers among places of arguments or results: first column and number of columns.
    pub fn in_registers(&self, places: &[Place]) -> Vec<(u32, u8)> {
        let register = |p: &Place| if let Place::Register(r, n) = *p { Some((self.column(r)?, n)) } else { None };
        places.iter().filter_map(register).collect()
    }

    /// Whether there are too many for one instruction.
    pub fn overflow(&self) -> bool {
        self.registers.len() > Self::MOST - 4 || self.predicates.len() > Self::MOST - 1
    }

    /// Those that the operands of an instruction name, to which it is changed.
    pub fn of_instruction(
        &self,
        op: &mut Op,
        guard: &mut Pred,
        (matrix, calls): (&mut [MatrixOp], &mut [CallSite]),
    ) -> Self {
        let mut own = Self::default();
        let predicate = |own: &mut Self, p: &mut Pred| {
            if let Some(number) = self.number(*p) {
                let named = own.predicate(number);
                *p = if p.is_negated() { named.not() } else { named };
            }
        };
        exec::operands_mut(op, matrix, calls, &mut |operand| match operand {
            OperandUse::Read(r, n) | OperandUse::Write(r, n) => {
                *r = self.column(*r).map_or(*r, |first| own.register(first, n.into()));
            }
            OperandUse::ReadPred(p) | OperandUse::WritePred(p) | OperandUse::UpdatePred(p) => predicate(&mut own, p),
        });
        predicate(&mut own, guard);
        own
    }

    /// Gives an operand its final number.
    fn settle(&self, operand: OperandUse<&mut Reg, &mut Pred>) {
        match operand {
            OperandUse::Read(r, _) | OperandUse::Write(r, _) => r.0 = self.column(*r).map_or(r.0, |c| c as u16),
            OperandUse::ReadPred(p) | OperandUse::WritePred(p) | OperandUse::UpdatePred(p) => self.settle_predicate(p),
        }
    }

    fn settle_predicate(&self, p: &mut Pred) {
        if let Some(number) = self.number(*p) {
            let settled = Pred(number as u16);
            *p = if p.is_negated() { settled.not() } else { settled };
        }
    }
}

/// Gives all operands of a kernel's instructions their final numbers, which must be below [`Names::MOST`].
pub(crate) fn settle(
    code: &mut [Line],
    functions: &mut [LoweredFunction],
    (matrix, calls): (&mut [MatrixOp], &mut [CallSite]),
) {
    for line in code {
        let names = std::mem::take(&mut line.names);
        exec::operands_mut(&mut line.op, matrix, calls, &mut |operand| names.settle(operand));
        names.settle_predicate(&mut line.guard);
    }
    for f in functions {
        for place in f.function.params.iter_mut().chain(&mut f.function.returns) {
            if let Place::Register(r, n) = place {
                f.names.settle(OperandUse::Write(r, *n));
            }
        }
    }
}

/// An instruction as lowered, before the register files have their sizes.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub op: Op,
    /// Registers and predicates of the operation and its guard.
    pub names: Names,
    pub guard: Pred,
    pub source: Source,
    pub span: Span,
    pub text: String,
    pub cache: isa::CacheOp,
}

impl Line {
    /// Reports the virtual registers, by first column, and predicates of the operation, without its guard.
    pub fn uses(&self, matrix: &[MatrixOp], calls: &[CallSite], f: &mut impl FnMut(OperandUse<u32, u32>)) {
        exec::uses(&self.op, matrix, calls, &mut |used| {
            let found = match used {
                Use::Read(r, n) => self.names.column(r).map(|c| OperandUse::Read(c, n)),
                Use::Write(r, n) => self.names.column(r).map(|c| OperandUse::Write(c, n)),
                Use::ReadPred(p) => self.names.number(p).map(OperandUse::ReadPred),
                Use::WritePred(p) => self.names.number(p).map(OperandUse::WritePred),
            };
            found.into_iter().for_each(&mut *f);
        });
    }

    /// The number of the guard; `None` if the instruction has none.
    pub fn guard_number(&self) -> Option<u32> {
        self.names.number(self.guard)
    }
}

/// The constants of a kernel.
#[derive(Clone, Debug, Default)]
pub(crate) struct Constants {
    pub columns: Vec<Column>,
    by_value: HashMap<(u64, bool), Reg>,
}

impl Constants {
    /// A constant of one column, or two.
    pub fn get(&mut self, value: u64, wide: bool) -> Reg {
        let value = if wide { value } else { value & 0xffff_ffff };
        if let Some(&reg) = self.by_value.get(&(value, wide)) {
            return reg;
        }
        let reg = self.add(value, wide);
        self.by_value.insert((value, wide), reg);
        reg
    }

    /// A constant that no other use shares.
    pub fn add(&mut self, value: u64, wide: bool) -> Reg {
        let index = self.columns.len().min(usize::from(Reg::CONSTANTS) - 4) as u16;
        self.columns.push([value as u32; 32]);
        if wide {
            self.columns.push([(value >> 32) as u32; 32]);
        }
        Reg::constant(index)
    }
}

/// Result of lowering one function.
pub(crate) struct LoweredFunction {
    pub function: CalledFunction,
    /// Registers of its parameters and results.
    pub names: Names,
    /// Its first register and predicate, and the next function's.
    pub registers: [(u32, u32); 2],
    /// Its instructions: first, and one beyond the last.
    pub range: (u32, u32),
    /// Functions that it calls, by index in the kernel.
    pub callees: Vec<u32>,
    pub calls_pointers: bool,
}

/// The call graph of a kernel's functions. Functions that may call each other in a cycle are a group.
pub(crate) struct Groups {
    /// Their members in ascending order. A group precedes those that it calls.
    pub members: Vec<Vec<usize>>,
    /// By function. The last entry represents all functions whose address is taken.
    group: Vec<usize>,
    is_cycle: Vec<bool>,
}

impl Groups {
    /// Finds the groups (Tarjan's algorithm).
    pub fn of(functions: &[LoweredFunction]) -> Self {
        const UNSEEN: usize = usize::MAX;
        let pointer = functions.len();
        let mut groups = Self { members: Vec::new(), group: vec![UNSEEN; pointer + 1], is_cycle: Vec::new() };
        let (mut number, mut low) = (vec![UNSEEN; pointer + 1], vec![UNSEEN; pointer + 1]);
        let (mut open, mut path, mut next) = (Vec::new(), Vec::new(), 0);
        for root in 0..=pointer {
            if number[root] == UNSEEN {
                path.push((root, 0));
            }
            while let Some((node, edge)) = path.last_mut() {
                let node = *node;
                if *edge == 0 {
                    (number[node], low[node]) = (next, next);
                    next += 1;
                    open.push(node);
                }
                if let Some(callee) = Self::callee(functions, node, *edge) {
                    *edge += 1;
                    if number[callee] == UNSEEN {
                        path.push((callee, 0));
                    } else if groups.group[callee] == UNSEEN {
                        low[node] = low[node].min(number[callee]);
                    }
                    continue;
                }
                path.pop();
                if let Some(&(caller, _)) = path.last() {
                    low[caller] = low[caller].min(low[node]);
                }
                if low[node] == number[node] {
                    let first = open.iter().rposition(|&n| n == node).expect("it is open");
                    groups.close(functions, open.split_off(first));
                }
            }
        }
        // Tarjan's algorithm finds callees first.
        groups.members.reverse();
        groups.is_cycle.reverse();
        let last = groups.members.len() - 1;
        groups.group.iter_mut().for_each(|g| *g = last - *g);
        groups
    }

    /// A callee of a function; `None` if there are no more.
    fn callee(functions: &[LoweredFunction], node: usize, edge: usize) -> Option<usize> {
        let Some(f) = functions.get(node) else { return (1..functions.len()).nth(edge) };
        let pointer = (f.calls_pointers && edge == f.callees.len()).then_some(functions.len());
        f.callees.get(edge).map(|&callee| callee as usize).or(pointer)
    }

    fn close(&mut self, functions: &[LoweredFunction], mut members: Vec<usize>) {
        let calls_itself = |&f: &usize| functions.get(f).is_some_and(|own| own.callees.contains(&(f as u32)));
        self.is_cycle.push(members.len() > 1 || members.iter().any(calls_itself));
        members.iter().for_each(|&f| self.group[f] = self.members.len());
        members.retain(|&f| f < functions.len());
        members.sort_unstable();
        self.members.push(members);
    }

    /// The group of a function.
    pub fn group(&self, function: usize) -> usize {
        self.group[function]
    }

    /// The groups that a function calls.
    pub fn called<'a>(&'a self, functions: &'a [LoweredFunction], f: usize) -> impl Iterator<Item = usize> + 'a {
        (0..).map_while(move |edge| Self::callee(functions, f, edge)).map(|callee| self.group[callee])
    }

    /// The group of the functions that a call through a pointer may reach, as one.
    pub fn pointer(&self) -> usize {
        self.group[self.group.len() - 1]
    }

    /// Whether a call of the function may call it again.
    pub fn is_recursive(&self, function: usize) -> bool {
        self.is_cycle[self.group[function]]
    }
}

/// A kernel and the functions that it calls, lowered.
pub(crate) struct Listing<'a> {
    pub code: &'a mut Vec<Line>,
    pub branches: &'a mut Vec<Vec<u32>>,
    pub calls: &'a mut Vec<CallSite>,
    pub matrix: &'a mut Vec<MatrixOp>,
    pub constants: &'a mut Constants,
    pub functions: &'a mut [LoweredFunction],
    /// Numbers of columns and predicates; allocation updates them.
    pub columns: &'a mut u32,
    pub predicates: &'a mut u32,
}
