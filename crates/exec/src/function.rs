//! Operations of one thread as functions from values to a value, without a warp: for machines that pass values in
//! other ways than through registers.

use crate::interpret::{compute, compute_rarely};
use crate::lanes::{Column, Lanes, Pred, Reg};
use crate::op::Op;
use crate::operand::{OperandUse, Use};
use isa::{OpClass, Work};
use kit::{LaneMask, WARP_LANES};

/// Maximum number of operands.
pub const MOST_OPERANDS: usize = 4;

/// Columns of an evaluation: two for each operand, then results, of which one is of interest.
const COLUMNS: usize = 2 * MOST_OPERANDS + RESULTS * 2;
const RESULTS: usize = 4;
const FIRST_RESULT: u16 = 2 * MOST_OPERANDS as u16;
/// Predicate of the first result that is one.
const FIRST_PREDICATE: u16 = MOST_OPERANDS as u16;

/// The functions of an operation, each with the register or predicate that it writes, and its operands in their order.
pub type Functions = (Vec<(Use, Function)>, Vec<Use>);

/// Width of an operand or a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Width {
    /// 0 or 1.
    Predicate,
    /// 32 bits, or fewer, zero-extended.
    Word,
    /// 64 bits.
    Pair,
}

/// A pure operation with one result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its operands are the registers and predicates of an evaluation.
    op: Op,
    operands: [Width; MOST_OPERANDS],
    count: u8,
    result: Result,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Result {
    Register(u16, Width),
    Predicate(u16),
}

impl Function {
    /// The functions that `op` computes, one for each of its results, and its operands in their order: registers
    /// (with their number of columns) and predicates (of which the function knows whether they are negated).
    /// `None` if it does more than compute, or has more operands than [`MOST_OPERANDS`] or a result of more than
    /// 64 bits.
    pub fn of(op: &Op) -> Option<Functions> {
        if !is_pure(op) {
            return None;
        }
        let (mut operands, mut results, mut fits) = (Vec::new(), Vec::new(), true);
        let mut own = *op;
        own.operands_mut(&mut |operand| {
            let (reads, writes) = (operands.len() as u16, results.len() as u16);
            match operand {
                OperandUse::Read(r, columns) => {
                    operands.push(Use::Read(*r, columns));
                    fits &= columns <= 2;
                    *r = Reg(2 * reads);
                }
                OperandUse::Write(r, columns) => {
                    let width = if columns == 2 { Width::Pair } else { Width::Word };
                    fits &= columns <= 2;
                    let to = FIRST_RESULT + 2 * writes;
                    results.push((Use::Write(*r, columns), Result::Register(to, width)));
                    *r = Reg(to);
                }
                OperandUse::ReadPred(p) => {
                    if let Some(number) = p.number() {
                        operands.push(Use::ReadPred(Pred(number)));
                        let place = Pred(reads);
                        *p = if p.is_negated() { place.not() } else { place };
                    }
                }
                OperandUse::WritePred(p) => {
                    if p.number().is_some() {
                        let to = FIRST_PREDICATE + writes;
                        results.push((Use::WritePred(*p), Result::Predicate(to)));
                        *p = Pred(to);
                    }
                }
                OperandUse::UpdatePred(p) => {
                    operands.push(Use::ReadPred(*p));
                    results.push((Use::WritePred(*p), Result::Predicate(reads)));
                    *p = Pred(reads);
                }
            }
        });
        if !fits || operands.len() > MOST_OPERANDS || results.len() > RESULTS {
            return None;
        }
        let mut widths = [Width::Word; MOST_OPERANDS];
        for (width, operand) in widths.iter_mut().zip(&operands) {
            *width = match operand {
                Use::Read(_, 2) => Width::Pair,
                Use::ReadPred(_) => Width::Predicate,
                _ => Width::Word,
            };
        }
        let count = operands.len() as u8;
        let of = |(write, result)| (write, Self { op: own, operands: widths, count, result });
        Some((results.into_iter().map(of).collect(), operands))
    }

    /// Widths of its operands.
    pub fn operands(&self) -> &[Width] {
        &self.operands[..self.count.into()]
    }

    /// Width of its result.
    pub const fn result(&self) -> Width {
        match self.result {
            Result::Register(_, width) => width,
            Result::Predicate(_) => Width::Predicate,
        }
    }

    /// The operation with the operands of an evaluation.
    pub const fn op(&self) -> &Op {
        &self.op
    }

    /// Its class for timing.
    pub const fn class(&self) -> OpClass {
        self.op.class()
    }

    /// Work of a lane, for energy.
    pub const fn work(&self) -> Work {
        self.op.work()
    }
}

/// Whether an operation only computes registers and predicates from others, in each lane by itself.
fn is_pure(op: &Op) -> bool {
    matches!(
        op,
        Op::Int1(..)
            | Op::Int2(..)
            | Op::Int3(..)
            | Op::Int4(..)
            | Op::Lop3(..)
            | Op::Add3 { .. }
            | Op::Carry { .. }
            | Op::Float1(..)
            | Op::Float2(..)
            | Op::Float3(..)
            | Op::Convert(..)
            | Op::Cvt(..)
            | Op::PackedCvt(..)
            | Op::Video(..)
            | Op::Pack { .. }
            | Op::Unpack { .. }
            | Op::Setp { .. }
            | Op::Set { .. }
            | Op::Selp { .. }
            | Op::Testp { .. }
            | Op::PredLogic(..)
            | Op::PredLut { .. }
            | Op::Isspacep { .. }
    )
}

/// Evaluates functions.
#[derive(Clone, Debug)]
pub struct Evaluator {
    regs: Box<[Column; COLUMNS]>,
    preds: [LaneMask; MOST_OPERANDS + RESULTS],
}

impl Default for Evaluator {
    fn default() -> Self {
        Self { regs: Box::new([[0; WARP_LANES]; COLUMNS]), preds: [0; MOST_OPERANDS + RESULTS] }
    }
}

impl Evaluator {
    /// The value of `function` for `operands`, each with the bits of its width. Panics if there are fewer of them
    /// than it has.
    pub fn apply(&mut self, function: &Function, operands: &[u64]) -> u64 {
        for (i, (width, &value)) in function.operands().iter().zip(&operands[..function.count.into()]).enumerate() {
            if *width == Width::Predicate {
                self.preds[i] = (value & 1) as LaneMask;
            } else {
                self.regs[2 * i][0] = value as u32;
                self.regs[2 * i + 1][0] = (value >> 32) as u32;
            }
        }
        let Self { regs, preds } = self;
        let mut file = Lanes { regs: &mut regs[..], preds, constants: &[], mask: 1 };
        let done = compute(&function.op, &mut file) || compute_rarely(&function.op, &mut file);
        debug_assert!(done, "a function only computes");
        match function.result {
            Result::Predicate(p) => u64::from(self.preds[usize::from(p)] & 1),
            Result::Register(r, width) => {
                let column = |k: u16| u64::from(self.regs[usize::from(r + k)][0]);
                if width == Width::Pair { column(0) | column(1) << 32 } else { column(0) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::int::Int2;

    /// The first 32-bit sum of the table.
    fn sum() -> Op {
        Op::Int2(Int2::Add32, Reg(7), [Reg(3), Reg(3)])
    }

    #[test]
    fn an_operation_is_a_function_of_its_operands() {
        let (functions, operands) = Function::of(&sum()).unwrap();
        assert_eq!(operands, [Use::Read(Reg(3), 1), Use::Read(Reg(3), 1)]);
        let [(to, function)] = functions[..] else { panic!("one result") };
        assert_eq!((to, function.result()), (Use::Write(Reg(7), 1), Width::Word));
        let mut evaluator = Evaluator::default();
        assert_eq!(evaluator.apply(&function, &[40, 2]), 42);
        assert_eq!(evaluator.apply(&function, &[u64::from(u32::MAX), 2]), 1);
    }

    #[test]
    fn selections_and_logic_take_predicates() {
        let op = Op::Selp { d: Reg(0), s: [Reg(2), Reg(4)], wide: true, p: Pred(9).not() };
        let (functions, operands) = Function::of(&op).unwrap();
        assert_eq!(operands, [Use::Read(Reg(2), 2), Use::Read(Reg(4), 2), Use::ReadPred(Pred(9))]);
        let (high, low) = (1 << 40, 5);
        let mut evaluator = Evaluator::default();
        assert_eq!(evaluator.apply(&functions[0].1, &[high, low, 0]), high);
        assert_eq!(evaluator.apply(&functions[0].1, &[high, low, 1]), low);
    }

    #[test]
    fn several_results_are_several_functions() {
        let op = Op::Unpack { d: [Some(Reg(0)), Some(Reg(1)), None, None], s: Reg(2), parts: 2, bits: 32 };
        let (functions, _) = Function::of(&op).unwrap();
        let mut evaluator = Evaluator::default();
        let values: Vec<u64> = functions.iter().map(|(_, f)| evaluator.apply(f, &[7 << 32 | 6])).collect();
        assert_eq!(values, [6, 7]);
    }

    #[test]
    fn what_does_more_than_compute_is_no_function() {
        for op in [Op::Fence, Op::Exit, Op::ActiveMask(Reg(0))] {
            assert!(Function::of(&op).is_none());
        }
    }
}
