//! Registers as values: which columns are one value, which values live from region to region, and which need no
//! place there because every region can make them anew.

use crate::draft::Uniforms;
use crate::fabric::UnitKind;
use crate::flow::Flow;
use crate::graph::{Input, NodeOp, ThreadValue, Uniform};
use crate::resources::kind;
use crate::truth::Truth;
use exec::function::Function;
use exec::int::Int1;
use exec::kernel::Kernel;
use exec::lanes::{Pred, Reg};
use exec::op::Op;
use exec::operand::Use;
use exec::special::Special;
use isa::Space;

/// A value that instructions read and write: one or two columns, or a predicate.
pub(crate) type GroupId = usize;

/// Source of a value in a region, without a place in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anew {
    /// It is the same for all threads.
    Uniform(Input),
    /// The injector sends it.
    Thread(ThreadValue),
    /// It is computed of such values by an instruction.
    Made {
        /// The instruction.
        pc: u32,
        /// Which of its results.
        result: u8,
        /// Operations that it takes.
        cost: u8,
    },
}

impl Anew {
    const fn cost(self) -> u8 {
        match self {
            Self::Uniform(_) | Self::Thread(_) => 0,
            Self::Made { cost, .. } => cost,
        }
    }
}

/// Maximum number of operations that make a value anew: else it has a place in memory.
const MOST_OPERATIONS: u8 = 3;

/// The values of a kernel.
#[derive(Clone, Debug, Default)]
pub(crate) struct Groups {
    /// Group of each column.
    of_column: Vec<GroupId>,
    /// First column of each group of columns; predicates come after them.
    pub first: Vec<u16>,
    /// Columns of each group: 1 or 2; 0 of predicates.
    pub columns: Vec<u8>,
    predicates: usize,
    /// Source of each group made anew.
    pub anew: Vec<Option<Anew>>,
    /// Groups that are live at the beginning of each block.
    pub live: Vec<Vec<bool>>,
}

/// The registers and predicates of an instruction, its guard among what it reads.
pub(crate) fn uses(kernel: &Kernel, pc: u32) -> Vec<Use> {
    let code = &kernel.code[pc as usize];
    let mut all = Vec::new();
    exec::uses(&code.op, &kernel.matrix, &kernel.calls, &mut |u| all.push(u));
    all.push(Use::ReadPred(code.guard));
    all
}

impl Groups {
    /// The values of `kernel`. `None` if a column is a part of two different pairs.
    pub fn of(kernel: &Kernel, flow: &Flow, uniforms: &mut Uniforms) -> Option<Self> {
        let (columns, predicates) = kernel.files();
        // Whether a column and the next one are a pair.
        let mut pair = vec![false; columns + 1];
        for pc in 0..kernel.code.len() as u32 {
            for u in uses(kernel, pc) {
                if let Use::Read(r, n) | Use::Write(r, n) = u
                    && !r.is_constant()
                {
                    if n > 2 {
                        return None;
                    }
                    pair[usize::from(r.0)] |= n == 2;
                }
            }
        }
        if pair.windows(2).any(|p| p[0] && p[1]) {
            return None;
        }
        let mut all = Self { predicates, ..Self::default() };
        let mut column = 0;
        while column < columns {
            let n = 1 + usize::from(pair[column]);
            all.of_column.extend(std::iter::repeat_n(all.first.len(), n.min(columns - column)));
            all.first.push(column as u16);
            all.columns.push(n as u8);
            column += n;
        }
        all.first.extend(std::iter::repeat_n(0, predicates));
        all.columns.extend(std::iter::repeat_n(0, predicates));
        all.anew = vec![None; all.first.len()];
        all.find_anew(kernel, flow, uniforms);
        all.find_live(kernel, flow);
        Some(all)
    }

    /// Number of groups.
    pub fn len(&self) -> usize {
        self.first.len()
    }

    /// The group of a register.
    pub fn of_register(&self, r: Reg) -> GroupId {
        self.of_column[usize::from(r.0)]
    }

    /// The group of a predicate; none of the constant.
    pub fn of_predicate(&self, p: Pred) -> Option<GroupId> {
        p.number().map(|n| self.len() - self.predicates + usize::from(n))
    }

    /// Groups that an instruction reads, and those that it writes.
    fn touched(&self, kernel: &Kernel, pc: u32) -> (Vec<GroupId>, Vec<GroupId>) {
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        for u in uses(kernel, pc) {
            match u {
                Use::Read(r, _) if !r.is_constant() => reads.push(self.of_register(r)),
                Use::Write(r, _) => writes.push(self.of_register(r)),
                Use::ReadPred(p) => reads.extend(self.of_predicate(p)),
                Use::WritePred(p) => writes.extend(self.of_predicate(p)),
                Use::Read(..) => {}
            }
        }
        (reads, writes)
    }

    /// Finds the groups that one instruction alone writes, with a value that the kernel's launch determines or the
    /// injector sends: regions have them without a place in memory.
    fn find_anew(&mut self, kernel: &Kernel, flow: &Flow, uniforms: &mut Uniforms) {
        let mut writers = vec![0; self.len()];
        let code: Vec<u32> = flow.blocks.iter().flat_map(|b| b.code.clone()).collect();
        for &pc in &code {
            self.touched(kernel, pc).1.into_iter().for_each(|g| writers[g] += 1);
        }
        // In reverse postorder a value is made before it is used, but for loops, whose values have two writers.
        for &pc in &code {
            let (_, writes) = self.touched(kernel, pc);
            let guarded = kernel.code[pc as usize].guard != Pred::TRUE;
            if guarded || writes.iter().any(|&g| writers[g] != 1) {
                continue;
            }
            for (group, anew) in self.anew_of(kernel, pc, uniforms) {
                self.anew[group] = Some(anew);
            }
        }
    }

    fn anew_of(&self, kernel: &Kernel, pc: u32, uniforms: &mut Uniforms) -> Vec<(GroupId, Anew)> {
        let op = &kernel.code[pc as usize].op;
        match op {
            Op::Special(special, d) => {
                let anew = match (special, thread_value(*special)) {
                    (_, Some(value)) => Some(Anew::Thread(value)),
                    (Special::Zero, _) => Some(Anew::Uniform(Input::Immediate(0))),
                    _ => uniform_of(*special).map(|u| Anew::Uniform(uniforms.get(u))),
                };
                anew.into_iter().map(|anew| (self.of_register(*d), anew)).collect()
            }
            Op::Load(t) if t.space == Space::Param && t.address.base.is_constant() => {
                let base = constant(kernel, t.address.base, 1 + u8::from(t.address.wide));
                let elements = t.registers.iter().take(t.format.count.into()).enumerate();
                let place = base.wrapping_add(t.address.offset as u64) as u32;
                let of = |(k, r): (usize, &Reg)| {
                    let uniform = Uniform::Param {
                        offset: place + k as u32 * u32::from(t.format.bytes),
                        bytes: t.format.bytes,
                        signed: t.format.signed,
                        register_bits: t.format.register_bits,
                    };
                    (self.of_register(*r), Anew::Uniform(uniforms.get(uniform)))
                };
                elements.map(of).collect()
            }
            op => {
                let Some((functions, operands)) = Function::of(op) else { return Vec::new() };
                let of = |u: &Use| self.operand_anew(kernel, *u);
                let Some(made) = operands.iter().map(of).collect::<Option<Vec<Anew>>>() else { return Vec::new() };
                let result = |(k, (to, function)): (usize, &(Use, Function))| {
                    let anew = result_anew(function, &made, uniforms, pc, k as u8)?;
                    Some((self.result_group(*to)?, anew))
                };
                functions.iter().enumerate().filter_map(result).collect()
            }
        }
    }

    /// Source of an operand that is made anew.
    pub fn operand_anew(&self, kernel: &Kernel, operand: Use) -> Option<Anew> {
        match operand {
            Use::Read(r, n) if r.is_constant() => Some(Anew::Uniform(Input::Immediate(constant(kernel, r, n)))),
            // A part of a pair, or two singles, is made in each region.
            Use::Read(r, n) => {
                let group = self.of_register(r);
                let whole = self.first[group] == r.0 && self.columns[group] == n;
                self.anew[group].filter(|_| whole)
            }
            Use::ReadPred(p) => self.of_predicate(p).and_then(|g| self.anew[g]),
            _ => None,
        }
    }

    /// The group that a result is the whole of.
    fn result_group(&self, to: Use) -> Option<GroupId> {
        match to {
            Use::Write(r, n) => {
                let group = self.of_register(r);
                (self.columns[group] == n).then_some(group)
            }
            Use::WritePred(p) => self.of_predicate(p),
            _ => None,
        }
    }

    /// Liveness, backwards over the blocks until nothing changes.
    fn find_live(&mut self, kernel: &Kernel, flow: &Flow) {
        self.live = vec![vec![false; self.len()]; flow.blocks.len()];
        let mut changed = true;
        while changed {
            changed = false;
            for (b, block) in flow.blocks.iter().enumerate().rev() {
                let mut now = vec![false; self.len()];
                for t in block.exit.targets() {
                    now.iter_mut().zip(&self.live[t]).for_each(|(a, b)| *a |= b);
                }
                if let crate::flow::Exit::If(p, _) = block.exit
                    && let Some(g) = self.of_predicate(p)
                {
                    now[g] = true;
                }
                for pc in block.code.clone().rev() {
                    let (reads, writes) = self.touched(kernel, pc);
                    if kernel.code[pc as usize].guard == Pred::TRUE {
                        for g in writes {
                            // A write of half a pair leaves the other half.
                            now[g] &= self.columns[g] == 2 && !self.writes_whole(kernel, pc, g);
                        }
                    }
                    reads.into_iter().for_each(|g| now[g] = true);
                }
                changed |= self.live[b] != now;
                self.live[b] = now;
            }
        }
    }

    fn writes_whole(&self, kernel: &Kernel, pc: u32, group: GroupId) -> bool {
        uses(kernel, pc).iter().any(|u| matches!(u, Use::Write(r, 2) if self.of_register(*r) == group))
    }
}

/// Source of a result of the instruction at `pc` that is made anew, by the sources of its operands.
fn result_anew(function: &Function, operands: &[Anew], uniforms: &mut Uniforms, pc: u32, result: u8) -> Option<Anew> {
    let uniform = |anew: &Anew| match anew {
        Anew::Uniform(input) => Some(*input),
        _ => None,
    };
    if let Some(inputs) = operands.iter().map(uniform).collect::<Option<Vec<_>>>() {
        return uniforms.apply(function, &inputs).map(Anew::Uniform);
    }
    if matches!(function.op(), Op::Int1(Int1::Mov32 | Int1::Mov64, ..)) {
        return Some(operands[0]);
    }
    let cost = operands.iter().map(|anew| anew.cost()).fold(1, u8::saturating_add);
    let is_cheap = cost <= MOST_OPERATIONS && kind(&NodeOp::Apply(*function)) == Some(UnitKind::Compute);
    is_cheap.then_some(Anew::Made { pc, result, cost })
}

/// The value of a constant of the kernel.
pub(crate) fn constant(kernel: &Kernel, r: Reg, columns: u8) -> u64 {
    let column = |k: u16| u64::from(kernel.constants[usize::from(r.0 - Reg::CONSTANTS + k)][0]);
    if columns == 2 { column(0) | column(1) << 32 } else { column(0) }
}

/// The value that the injector sends for a special register.
pub(crate) fn thread_value(special: Special) -> Option<ThreadValue> {
    Some(match special {
        Special::TidX => ThreadValue::Tid(0),
        Special::TidY => ThreadValue::Tid(1),
        Special::TidZ => ThreadValue::Tid(2),
        Special::CtaidX => ThreadValue::Ctaid(0),
        Special::CtaidY => ThreadValue::Ctaid(1),
        Special::CtaidZ => ThreadValue::Ctaid(2),
        _ => return None,
    })
}

/// The uniform value of a special register.
pub(crate) fn uniform_of(special: Special) -> Option<Uniform> {
    Some(match special {
        Special::NtidX => Uniform::Ntid(0),
        Special::NtidY => Uniform::Ntid(1),
        Special::NtidZ => Uniform::Ntid(2),
        Special::NctaidX => Uniform::Nctaid(0),
        Special::NctaidY => Uniform::Nctaid(1),
        Special::NctaidZ => Uniform::Nctaid(2),
        _ => return None,
    })
}

/// A predicate of the kernel as the truth of a value.
pub(crate) fn truth(p: Pred, value: Input) -> Truth {
    let truth = Truth::of(value);
    if p.is_negated() { truth.not() } else { truth }
}
