//! The operands of an instruction, including those in the tables of its kernel.

use crate::kernel::CallSite;
use crate::lanes::{Pred, Reg};
use crate::op::Op;
use crate::operand::{OperandUse, Use};
use crate::tensor::MatrixOp;

/// Reports to `f` all registers and predicates of an operation, including those of matrices and calls.
pub fn uses(op: &Op, matrix: &[MatrixOp], calls: &[CallSite], f: &mut impl FnMut(Use)) {
    match op {
        Op::Matrix(number) => matrix[usize::from(*number)].uses(f),
        Op::Call(site) => calls[*site as usize].uses(f),
        op => op.uses(f),
    }
}

/// Reports to `f` the places of the same operands, so that their registers and predicates can be replaced.
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
