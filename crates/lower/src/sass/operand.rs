//! Operands of instructions as registers of the interpreter.

use super::builder::{Builder, Lowered};
use exec::compare::Combine;
use exec::float::{Float1, Modifiers};
use exec::int::{Int1, Int2};
use exec::lanes::{Pred, Reg};
use exec::op::Op;
use sass::decode::operand::{Constant, PT, Register, Sign};
use sass::decode::{SassInst, SassOperand};

/// Sign modifiers of an operand.
pub(super) fn sign_of(operand: SassOperand) -> Sign {
    match operand {
        SassOperand::Register(Register { sign, .. }) | SassOperand::Constant(Constant { sign, .. }) => sign,
        _ => Sign::default(),
    }
}

impl Builder<'_> {
    /// A 32-bit source without its sign modifiers.
    pub fn source(&mut self, operand: SassOperand) -> Lowered<Reg> {
        self.columns(operand, 1)
    }

    /// A source of two columns without sign modifiers: a register pair or two words of a constant bank.
    pub fn source64(&mut self, operand: SassOperand) -> Lowered<Reg> {
        self.columns(operand, 2)
    }

    /// A source of `count` consecutive columns without sign modifiers.
    pub fn columns(&mut self, operand: SassOperand, count: u16) -> Lowered<Reg> {
        match operand {
            SassOperand::Register(register) => self.register(register, count),
            SassOperand::Immediate { bits, .. } if count == 1 => Ok(self.constant(bits as u32)),
            SassOperand::HalfPair { bits, .. } if count == 1 => Ok(self.constant(bits)),
            SassOperand::Constant(Constant { bindless: Some(_), .. }) => {
                Err("bindless constant banks are not executable".into())
            }
            SassOperand::Constant(Constant { bank, index: None, offset, .. }) => self.bank(bank, offset, count),
            _ => Err(format!("the operand {operand} is not executable here")),
        }
    }

    /// A 32-bit integer source with its negation or complement.
    pub fn int_source(&mut self, operand: SassOperand) -> Lowered<Reg> {
        let (s, sign) = (self.source(operand)?, sign_of(operand));
        let op = match (sign.negate, sign.invert) {
            (true, _) => Int1::Neg32,
            (_, true) => Int1::Not32,
            _ => return Ok(s),
        };
        let d = self.scratch(1);
        self.emit(Op::Int1(op, d, [s]));
        Ok(d)
    }

    /// A single-precision source with its absolute value and negation.
    pub fn float_source(&mut self, operand: SassOperand) -> Lowered<Reg> {
        let (s, sign) = (self.source(operand)?, sign_of(operand));
        Ok(self.signed_bits(s, sign, 0x8000_0000))
    }

    /// A word with the sign bits in `bits` cleared, flipped or both, according to `sign`.
    pub fn signed_bits(&mut self, s: Reg, sign: Sign, bits: u32) -> Reg {
        let mut s = s;
        if sign.absolute {
            let (d, keep) = (self.scratch(1), self.constant(!bits));
            self.emit(Op::Int2(Int2::And32, d, [s, keep]));
            s = d;
        }
        if sign.negate {
            let (d, flip) = (self.scratch(1), self.constant(bits));
            self.emit(Op::Int2(Int2::Xor32, d, [s, flip]));
            s = d;
        }
        s
    }

    /// A double-precision source with its absolute value and negation. An immediate is the upper word.
    pub fn double_source(&mut self, operand: SassOperand) -> Lowered<Reg> {
        let s = match operand {
            SassOperand::Immediate { bits, .. } => self.constant64(bits << 32),
            _ => self.source64(operand)?,
        };
        let sign = sign_of(operand);
        let mut s = s;
        for (op, wanted) in [(Float1::AbsF64, sign.absolute), (Float1::NegF64, sign.negate)] {
            if wanted {
                let d = self.scratch(2);
                self.emit(Op::Float1(op, Modifiers::default(), d, [s]));
                s = d;
            }
        }
        Ok(s)
    }

    /// A predicate source with its negation, or a predicate destination.
    pub fn pred(&self, operand: SassOperand) -> Lowered<Pred> {
        match operand {
            SassOperand::Predicate { index, uniform, not } => {
                let pred = match (index, uniform) {
                    (PT, _) => Pred::TRUE,
                    (n, false) => Pred(n.into()),
                    (n, true) => Pred(u16::from(n) + super::builder::UNIFORM_PREDICATES),
                };
                Ok(if not { pred.not() } else { pred })
            }
            _ => Err(format!("{operand} is not a predicate")),
        }
    }

    /// A destination of `count` columns. Results for RZ are discarded.
    pub fn destination(&mut self, operand: SassOperand, count: u16) -> Lowered<Reg> {
        match operand {
            SassOperand::Register(r) if r.is_zero() => Ok(self.sink()),
            SassOperand::Register(r) => self.register(r, count),
            _ => Err(format!("{operand} is not a destination")),
        }
    }
}

/// The operands of an instruction that has `N` of them.
pub(super) fn operands<const N: usize>(inst: &SassInst) -> Lowered<[SassOperand; N]> {
    list(inst).try_into().map_err(|_| "it has an unknown form".into())
}

/// All operands of an instruction.
pub(super) fn list(inst: &SassInst) -> Vec<SassOperand> {
    inst.operands().collect()
}

/// Whether an operand is zero without sign modifiers.
pub(super) fn is_zero(operand: SassOperand) -> bool {
    match operand {
        SassOperand::Register(r) => r.is_zero(),
        SassOperand::Immediate { bits, .. } => bits == 0,
        _ => false,
    }
}

/// Whether a destination is a register other than RZ.
pub(super) fn is_kept(operand: SassOperand) -> bool {
    matches!(operand, SassOperand::Register(r) if !r.is_zero())
}

/// Refuses a predicate destination whose meaning is not published.
pub(super) fn no_predicate(b: &Builder<'_>, operand: SassOperand) -> Lowered<()> {
    if b.pred(operand)? == Pred::TRUE { Ok(()) } else { Err("its predicate result is not executable".into()) }
}

/// `p = value`, for a predicate that may also be a source with negation.
pub(super) fn copy_predicate(b: &mut Builder<'_>, p: Pred, value: Pred) {
    b.emit(Op::PredLogic(Combine::And, p, [value, Pred::TRUE]));
}
