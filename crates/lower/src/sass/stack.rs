//! The stack of a thread.

use super::builder::Lowered;
use super::link::Linked;
use crate::loaded::{DEFAULT_STACK_BYTES, LowerOptions};
use exec::memory::MAX_LOCAL_BYTES;
use sass::decode::{SassInst, SassOp, SassOperand};
use sass::elf::ElfFunction;

/// Value in `.nv.info` for a stack without a bound.
const UNBOUNDED: u32 = !0;

/// Size of a thread's stack in bytes: the cubin's value. For recursion, calls through pointers and calls of
/// separate functions, at least the size in the options.
pub(super) fn bytes(linked: &Linked<'_>, insts: &[SassInst], options: LowerOptions) -> Lowered<u32> {
    let least = |f: &ElfFunction<'_>| {
        let known = [f.min_stack_bytes, f.frame_bytes].into_iter().filter(|&n| n != UNBOUNDED).max();
        known.unwrap_or(0)
    };
    let known = linked.functions().map(least).fold(0, u32::saturating_add);
    let ends = linked.functions().all(|f| f.min_stack_bytes != UNBOUNDED);
    let bounded = ends && linked.functions().count() == 1 && !calls_may_recur(insts);
    let chosen = if bounded { 0 } else { options.stack_bytes.unwrap_or(DEFAULT_STACK_BYTES) };
    let bytes = known.max(chosen);
    match bytes.checked_next_multiple_of(16).filter(|&n| n <= MAX_LOCAL_BYTES) {
        Some(bytes) => Ok(bytes),
        None => Err(format!("  a stack of {bytes} bytes a thread: there are at most {MAX_LOCAL_BYTES}")),
    }
}

/// Whether a call uses a pointer, or a procedure calls itself, directly or indirectly: CUDA 12.9 reports no
/// stack for such kernels. A procedure extends from the target of a call to the next one.
fn calls_may_recur(insts: &[SassInst]) -> bool {
    let mut calls = Vec::new();
    for inst in insts.iter().filter(|inst| inst.row.op == SassOp::Call) {
        match inst.operands().last() {
            Some(SassOperand::Target(target)) => calls.push((inst.address as i64, target)),
            _ => return true,
        }
    }
    let mut entries: Vec<i64> = calls.iter().map(|call| call.1).collect();
    entries.sort_unstable();
    entries.dedup();
    let procedure = |address| entries.partition_point(|&entry| entry <= address);
    // Procedures that call none certainly end, then those that only call such procedures.
    let mut callers: Vec<Vec<usize>> = vec![Vec::new(); entries.len() + 1];
    let mut open = vec![0; entries.len() + 1];
    for &(at, target) in &calls {
        callers[procedure(target)].push(procedure(at));
        open[procedure(at)] += 1;
    }
    let mut ending: Vec<usize> = (0..open.len()).filter(|&p| open[p] == 0).collect();
    let mut ended = 0;
    while let Some(p) = ending.pop() {
        ended += 1;
        for &caller in &callers[p] {
            open[caller] -= 1;
            if open[caller] == 0 {
                ending.push(caller);
            }
        }
    }
    ended < open.len()
}
