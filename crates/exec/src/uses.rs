//! What an instruction reads and writes, the tables of its kernel consulted.

use crate::kernel::{CallSite, Callee, Place};
use crate::op::Op;
use crate::operand::Use;
use crate::tensor::MatrixOp;

/// Tells `f` all registers that an operation uses, those of matrices and calls among them.
pub fn uses(op: &Op, matrix: &[MatrixOp], calls: &[CallSite], f: &mut impl FnMut(Use)) {
    op.uses(f);
    match op {
        Op::Matrix(number) => matrix[*number as usize].uses(f),
        Op::Call(site) => {
            let site = &calls[*site as usize];
            for place in &site.results {
                if let Place::Register(r, n) = place {
                    f(Use::Write(*r, *n));
                }
            }
            for place in &site.args {
                if let Place::Register(r, n) = place {
                    f(Use::Read(*r, *n));
                }
            }
            if let Callee::Pointer(r) = site.callee {
                f(Use::Read(r, 2));
            }
        }
        _ => {}
    }
}
