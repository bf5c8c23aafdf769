//! The operands of an instruction, those in the tables of its kernel among them.

use crate::kernel::CallSite;
use crate::lanes::{Pred, Reg};
use crate::op::Op;
use crate::operand::{OperandUse, Use};
use crate::tensor::MatrixOp;

/// Reports to `f` all registers and predicates that an operation uses, those of matrices and calls among them.
pub fn uses(op: &Op, matrix: &[MatrixOp], calls: &[CallSite], f: &mut impl FnMut(Use)) {
    match op {
        Op::Matrix(number) => matrix[usize::from(*number)].uses(f),
        Op::Call(site) => calls[*site as usize].uses(f),
        op => op.uses(f),
    }
}

/// Reports to `f` the places of the same, so that they can be given other registers and predicates.
pub fn operands_mut(
    op: &mut Op,
    matrix: &mut [MatrixOp],
    calls: &mut [CallSite],
    f: &mut impl FnMut(OperandUse<&mut Reg, &mut Pred>),
) {
    match op {
        Op::Matrix(number) => matrix[usize::from(*number)].operands_mut(f),
        Op::Call(site) => calls[*site as usize].operands_mut(f),
        op => op.operands_mut(f),
    }
}
