//! Which instructions direct jumps reach, and whether one of them may continue beyond its function.
//!
//! Code that is cut short, or that a tool has damaged, has a last instruction that neither ends nor jumps. Compilers
//! fill the end of a function with `NOP`s, which nothing reaches. Targets of indirect jumps are not known here: where
//! they lead beyond the code, the warp faults.

use super::link::Linked;
use sass::decode::modifier::{Branch, key};
use sass::decode::{INSTRUCTION_BYTES, SassInst, SassOp, SassOperand};

/// Where the lanes that execute an instruction continue.
#[derive(Clone, Copy, Debug, Default)]
struct Next {
    /// At the next instruction in memory, which must exist.
    follows: bool,
    /// Perhaps at the next one, if there is one: callees usually return there.
    may_return: bool,
    /// At this address.
    target: Option<i64>,
}

impl Next {
    fn of(inst: &SassInst) -> Self {
        let guard = inst.guard();
        let always = |index: u8, not: bool| index == 7 && !not;
        let second = |o: SassOperand| match o {
            SassOperand::Predicate { index, not, .. } => always(index, not),
            _ => true,
        };
        let is_certain = always(guard.index, guard.not) && inst.operands().all(second);
        let target = match inst.operands().last() {
            Some(SassOperand::Target(target)) => Some(target),
            _ => None,
        };
        match inst.row.op {
            SassOp::Bra
                if matches!(inst.modifier(key::BRANCH), Some(Branch::Diverged | Branch::Converged))
                    || inst.has(key::ANY) =>
            {
                Self { follows: true, target, ..Self::default() }
            }
            SassOp::Bra => Self { follows: !is_certain, target, ..Self::default() },
            SassOp::Call => Self { follows: !is_certain, may_return: true, target },
            SassOp::WarpSync | SassOp::WarpSyncAll => Self { follows: target.is_none(), may_return: true, target },
            SassOp::Exit | SassOp::Kill | SassOp::Ret | SassOp::Brx | SassOp::BrxU | SassOp::EndCollective => {
                Self { follows: !is_certain, ..Self::default() }
            }
            // It faults.
            SassOp::Bpt => Self { follows: !is_certain, ..Self::default() },
            _ => Self { follows: true, ..Self::default() },
        }
    }
}

/// The places at which execution may leave a function without a jump, or jump into the middle of another one: one line
/// each.
pub(super) fn problems(linked: &Linked<'_>, insts: &[SassInst]) -> Vec<String> {
    let starts: Vec<usize> = linked.starts().map(|at| (at / INSTRUCTION_BYTES) as usize).collect();
    let mut problems = Vec::new();
    let mut reached = vec![false; insts.len()];
    let mut left: Vec<usize> = starts.iter().copied().filter(|&at| at < insts.len()).collect();
    while let Some(at) = left.pop() {
        let Some(inst) = insts.get(at).filter(|_| !std::mem::replace(&mut reached[at], true)) else { continue };
        let next = Next::of(inst);
        let has_next = at + 1 < insts.len() && starts.binary_search(&(at + 1)).is_err();
        let name = linked.function_at(inst.address).name;
        if next.follows && !has_next {
            problems.push(format!(
                "  {:04x}: {inst}: the last instruction of `{name}` neither ends nor jumps: is the file complete?",
                inst.address
            ));
        }
        if (next.follows || next.may_return) && has_next {
            left.push(at + 1);
        }
        // Targets beyond all code are found where the instruction is lowered.
        let target = next.target.and_then(|t| usize::try_from(t).ok()).map(|t| t / INSTRUCTION_BYTES as usize);
        let Some(target) = target.filter(|&t| t < insts.len()) else { continue };
        let to = linked.part_at(insts[target].address);
        let is_entry = starts.binary_search(&target).is_ok();
        if to.0 != linked.part_at(inst.address).0 && !is_entry {
            problems.push(format!("  {:04x}: {inst}: it jumps into the middle of `{}`", inst.address, to.1.name));
        }
        left.push(target);
    }
    problems.sort();
    problems
}
