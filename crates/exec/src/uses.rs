//! The operands of an instruction, including those in the tables of its kernel.

use crate::kernel::{CallSite, Kernel};
use crate::lanes::{Pred, Reg};
use crate::machine_code::{LaunchWord, WordSource};
use crate::op::Op;
use crate::operand::{OperandUse, Use};
use crate::tensor::MatrixOp;

/// Reports to `f` all registers and predicates of an operation, matrices and calls included.
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

impl Kernel {
    /// Whether an instruction has an address in `range` as an operand, or a launch reads a word there.
    pub(crate) fn refers_to(&self, range: &std::ops::Range<u64>) -> bool {
        let is_word = |word: &LaunchWord| matches!(word.source, WordSource::Memory(at) if range.contains(&at));
        let mut found = self.launch_words.iter().any(is_word);
        let mut look = |operand: Use| {
            if let Use::Read(reg, 2) = operand
                && reg.is_constant()
                && let [low, high, ..] = self.constants[usize::from(reg.0 - Reg::CONSTANTS)..]
            {
                found |= range.contains(&(u64::from(low[0]) | u64::from(high[0]) << 32));
            }
        };
        self.code.iter().for_each(|guarded| uses(&guarded.op, &self.matrix, &self.calls, &mut look));
        found
    }
}
