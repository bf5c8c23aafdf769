//! Branches, convergence barriers, CTA barriers, fences, and instructions without effect here.

use super::builder::{Builder, Lowered};
use super::operand::{copy_predicate, list, operands};
use exec::compare::Combine;
use exec::int::{Int1, Int2};
use exec::kernel::{CallSite, Callee, Place, RuntimeFunction};
use exec::lanes::{Pred, Reg};
use exec::op::Op;
use exec::operand::Destination;
use exec::steer::BarrierOp;
use exec::steer::Steer;
use sass::decode::modifier::{Barrier, BarrierReduction, Branch, Breakpoint, Scope, key};
use sass::decode::operand::Register;
use sass::decode::{INSTRUCTION_BYTES, SassInst, SassOp, SassOperand};

/// `EXIT`, `KILL`.
pub(super) fn exit(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let p = first_predicate(b, &list(inst))?;
    b.emit(Op::Steer(Steer::Exit(p)));
    Ok(())
}

/// `ENDCOLLECTIVE`.
pub(super) fn end_collective(b: &mut Builder<'_>) -> Lowered<()> {
    let back = b.collective_return();
    b.emit(Op::Steer(Steer::BranchIndirect(back, 0, Pred::TRUE)));
    Ok(())
}

/// `WARPSYNC` of all lanes.
pub(super) fn warp_sync_all(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let all = b.constant(!0);
    match inst.operands().last() {
        Some(SassOperand::Target(target)) => collective(b, all, target)?,
        _ => b.emit(Op::Steer(Steer::WarpSync(all, false))),
    }
    Ok(())
}

/// `B2R`.
pub(super) fn barrier_result(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [d, p] = operands(inst)?;
    let (d, p) = (b.destination(d, 1)?, b.pred(p)?);
    let (count, holds) = b.reduction_result();
    b.emit(Op::Int1(Int1::Mov32, d, [count]));
    copy_predicate(b, p, holds);
    Ok(())
}

/// `MEMBAR`.
pub(super) fn fence(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    // `sass::meaning` gives the scope to the timing model. An SM has whole CTAs.
    let in_cta = matches!(inst.modifier(key::SCOPE), Some(Scope::Cta | Scope::Sm));
    b.emit(if in_cta { Op::FenceCta } else { Op::Fence });
    Ok(())
}

/// `DEPBAR`: with a count it waits for groups of asynchronous copies; otherwise for registers, which the scoreboard
/// guards.
pub(super) fn wait(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [_, count, _] = operands(inst)?;
    if inst.has(key::AT_MOST)
        && let SassOperand::Immediate { bits, .. } = count
    {
        b.emit(Op::AsyncWait(bits as u8));
    }
    Ok(())
}

/// `USETMAXREG`: a warp always has the registers that its code names, so that each request is granted.
pub(super) fn set_registers(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    for operand in inst.shown_operands() {
        if let SassOperand::Predicate { .. } = operand {
            let granted = b.pred(operand)?;
            b.emit(Op::PredLogic(Combine::And, granted, [Pred::TRUE, Pred::TRUE]));
        }
    }
    Ok(())
}

/// `NANOSLEEP`.
pub(super) fn sleep(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [_, time] = operands(inst)?;
    let time = b.source(time)?;
    b.emit(Op::Sleep(time));
    Ok(())
}

/// `BPT`.
pub(super) fn trap(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    if inst.modifier(key::BREAKPOINT) != Some(Breakpoint::Trap) {
        return Err("debugger stops are not executable".into());
    }
    b.emit(Op::Trap);
    Ok(())
}

/// `BSSY`, `BSYNC`, `BREAK`.
pub(super) fn convergence_barrier(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let operands = &list(inst)[..];
    let p = first_predicate(b, operands)?;
    if p != Pred::TRUE && inst.row.op != SassOp::Break {
        return Err("a second guard is not executable here".into());
    }
    let Some(number) = operands.iter().find_map(|o| if let SassOperand::Barrier(n) = o { Some(*n) } else { None })
    else {
        return Err("it names no convergence barrier".into());
    };
    let register = b.barrier(number);
    b.emit(Op::Steer(match inst.row.op {
        SassOp::BSsy => {
            let Some(&SassOperand::Target(target)) = operands.last() else {
                return Err("it has no target".into());
            };
            Steer::Gather(number, register, b.target(target)?)
        }
        SassOp::BSync => Steer::Meet(number, register),
        _ => Steer::Leave(number, register, p),
    }));
    Ok(())
}

/// `WARPSYNC` of the lanes in an operand.
pub(super) fn warp_sync(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let operands = &list(inst)[..];
    let rest: Vec<SassOperand> =
        operands.iter().copied().filter(|o| !matches!(o, SassOperand::Predicate { .. })).collect();
    match rest[..] {
        [mask] => {
            let mask = b.source(mask)?;
            b.emit(Op::Steer(Steer::WarpSync(mask, inst.has(key::EXCLUSIVE))));
        }
        [mask, SassOperand::Target(target)] => {
            let mask = b.source(mask)?;
            collective(b, mask, target)?;
        }
        _ => return Err("it has an unknown form".into()),
    }
    Ok(())
}

/// `WARPSYNC.COLLECTIVE`: the lanes of `mask` meet and run the stretch at `target` together.
fn collective(b: &mut Builder<'_>, mask: Reg, target: i64) -> Lowered<()> {
    let back = b.collective_return();
    b.target(target)?;
    b.emit(Op::Steer(Steer::Collective(mask, back, target as u32)));
    Ok(())
}

fn first_predicate(b: &Builder<'_>, operands: &[SassOperand]) -> Lowered<Pred> {
    let found = operands.iter().copied().find(|o| matches!(o, SassOperand::Predicate { .. }));
    found.map_or(Ok(Pred::TRUE), |p| b.pred(p))
}

pub(super) fn branch(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let operands = &list(inst)[..];
    let p = first_predicate(b, operands)?;
    let Some(&SassOperand::Target(target)) = operands.last() else { return Err("it has no target".into()) };
    let target = b.target(target)?;
    let kind = inst.modifier(key::BRANCH).unwrap_or(Branch::Plain);
    if matches!(kind, Branch::Plain | Branch::Uniform) {
        let any = kind == Branch::Uniform && inst.has(key::ANY);
        b.emit(Op::Steer(if any { Steer::BranchIfAny(target, p) } else { Steer::Branch(target, p) }));
        return Ok(());
    }
    if p != Pred::TRUE {
        return Err("a second guard is not executable here".into());
    }
    // The lanes that must be together; all of them, if the instruction names none.
    let lanes = match operands.iter().find_map(|o| if let SassOperand::Register(r) = o { Some(*r) } else { None }) {
        Some(Register { index, sign, .. }) => {
            let mask = b.register(Register::uniform(index), 1)?;
            if sign.invert {
                let d = b.scratch(1);
                b.emit(Op::Int1(Int1::Not32, d, [mask]));
                d
            } else {
                mask
            }
        }
        None => b.constant(!0),
    };
    b.emit(Op::Steer(Steer::BranchIfDiverged(target, lanes, kind == Branch::Diverged)));
    Ok(())
}

/// `CALL`, `BRX`, `BRXU`, `RET`: other instructions put the return address in registers.
pub(super) fn jump(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let operands = &list(inst)[..];
    let p = first_predicate(b, operands)?;
    match operands.last() {
        Some(&SassOperand::Target(target)) => {
            let target = b.target(target)?;
            b.emit(Op::Steer(Steer::Branch(target, p)));
        }
        Some(&SassOperand::Indirect { register, target }) => {
            let base = b.register(register, 1)?;
            // The text shows only the number, but these are relative to the next instruction.
            let from_next = matches!(inst.row.op, SassOp::Brx | SassOp::BrxU);
            let next = if from_next { (inst.address + INSTRUCTION_BYTES) as i64 } else { 0 };
            let target = target.wrapping_add(next);
            b.emit(Op::Steer(Steer::BranchIndirect(base, target, p)));
        }
        _ => return Err("this form of jump is not executable".into()),
    }
    Ok(())
}

/// `LEPC`: its own address, or its target's.
pub(super) fn own_address(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let operands = &list(inst)[..];
    let address = match operands {
        [_] => inst.address,
        [_, SassOperand::Target(target)] => *target as u64,
        _ => return Err("it has an unknown form".into()),
    };
    let (d, address) = (b.destination(operands[0], 2)?, b.constant64(address));
    b.emit(Op::Int1(Int1::Mov64, d, [address]));
    Ok(())
}

/// A function of the device runtime, then its return. By the ABI, arguments are in R4 and following, arguments of
/// 64 bits in aligned pairs, as is the result; R20 and R21 are the return address.
pub(super) fn runtime_function(b: &mut Builder<'_>, function: RuntimeFunction) -> Lowered<()> {
    const RETURN_ADDRESS: u8 = 20;
    /// First register and number of registers.
    type Registers = (u8, u8);
    let (args, results): (&[Registers], &[Registers]) = match function {
        RuntimeFunction::Printf => (&[(4, 2), (6, 2)], &[(4, 1)]),
        RuntimeFunction::AssertFail => (&[(4, 2), (6, 2), (8, 1), (10, 2), (12, 2)], &[]),
        RuntimeFunction::Malloc => (&[(4, 2)], &[(4, 2)]),
        RuntimeFunction::Free => (&[(4, 2)], &[]),
    };
    let place = |&(register, columns): &Registers| Place::Register(Reg(register.into()), columns);
    if b.files.general < u16::from(RETURN_ADDRESS) + 2 {
        return Err("its callers have too few registers for the ABI".into());
    }
    let (args, results) = (args.iter().map(place).collect(), results.iter().map(place).collect());
    b.call_sites.push(CallSite { callee: Callee::Runtime(function), args, results, frame_bytes: 0, save: None });
    b.emit(Op::Call(b.call_sites.len() as u32 - 1));
    b.emit(Op::Steer(Steer::BranchIndirect(Reg(RETURN_ADDRESS.into()), 0, Pred::TRUE)));
    Ok(())
}

/// `BMOV` between a convergence barrier and a register.
pub(super) fn move_barrier(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [d, s] = operands(inst)?;
    let clear = inst.has(key::CLEAR);
    match (d, s) {
        (SassOperand::Register(d), SassOperand::Barrier(number)) if clear && d.is_zero() => {
            let barrier = b.barrier(number);
            b.emit(Op::Steer(Steer::Clear(number, barrier)));
        }
        (SassOperand::Register(_), SassOperand::Barrier(number)) => {
            let (d, barrier) = (b.destination(d, 1)?, b.barrier(number));
            b.emit(Op::Int1(Int1::Mov32, d, [barrier]));
            if clear {
                let zero = b.constant(0);
                b.emit(Op::Int1(Int1::Mov32, barrier, [zero]));
            }
        }
        (SassOperand::Barrier(number), s) => {
            let (barrier, s) = (b.barrier(number), b.source(s)?);
            b.emit(Op::Int1(Int1::Mov32, barrier, [s]));
        }
        _ => return Err("this form of BMOV is not executable".into()),
    }
    Ok(())
}

pub(super) fn cta_barrier(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let operands = &list(inst)[..];
    let mode = inst.modifier(key::BARRIER).unwrap_or(Barrier::Sync);
    let op = match (mode, inst.modifier(key::BARRIER_REDUCTION)) {
        (Barrier::Sync | Barrier::SyncAll, _) => BarrierOp::Sync,
        (Barrier::Arrive, _) => BarrierOp::Arrive,
        (Barrier::Reduce, Some(BarrierReduction::Popc)) => BarrierOp::RedPopc,
        (Barrier::Reduce, Some(BarrierReduction::And)) => BarrierOp::RedAnd,
        (Barrier::Reduce, _) => BarrierOp::RedOr,
    };
    let mut id = b.constant(0);
    let mut threads = None;
    let p = first_predicate(b, operands)?;
    let numbers: Vec<SassOperand> =
        operands.iter().copied().filter(|o| !matches!(o, SassOperand::Predicate { .. })).collect();
    if mode != Barrier::SyncAll {
        match numbers[..] {
            // Unoptimised code combines both in one register: number in bits 0 to 3, threads from bit 16 on.
            [both @ SassOperand::Register(_), SassOperand::Register(_)] => {
                let (both, low, shift) = (b.source(both)?, b.constant(0xf), b.constant(16));
                let count;
                (id, count) = (b.scratch(1), b.scratch(1));
                b.emit(Op::Int2(Int2::And32, id, [both, low]));
                b.emit(Op::Int2(Int2::ShrU32, count, [both, shift]));
                threads = Some(count);
            }
            [number, count] => {
                id = b.source(number)?;
                let none = matches!(count, SassOperand::Immediate { bits: 0, .. });
                threads = if none { None } else { Some(b.source(count)?) };
            }
            _ => return Err("it has an unknown form".into()),
        }
    }
    let d = (mode == Barrier::Reduce).then(|| {
        let (count, holds) = b.reduction_result();
        match op {
            BarrierOp::RedPopc => Destination::Reg(count),
            _ => Destination::Pred(holds),
        }
    });
    b.emit(Op::Steer(Steer::CtaBarrier { op, id, threads, d, p }));
    Ok(())
}
