//! Hopper's copies by the copy engine, which a warp executes once.
//!
//! Uniform registers of `UBLKCP` and others: the address in shared memory and, in the next register, the barrier's; the
//! size in units of 16 bytes in the lower half of a register, the receiving CTAs in the upper half. `UTMALDG` and others
//! have the coordinates after the addresses, and offsets of im2col in place of the size.

use super::builder::{Builder, Lowered};
use super::memory::{atomic_op, atomic_type};
use super::operand::list;
use exec::bulk::BulkCopy;
use exec::int::Int2;
use exec::lanes::Reg;
use exec::op::Op;
use exec::tensor_copy::{MapPrefetch, TensorCopy};
use isa::TransferKind;
use sass::decode::modifier::{CopyDirection, key};
use sass::decode::operand::{Memory, Register};
use sass::decode::{SassInst, SassOp, SassOperand};

/// `count` uniform registers from the one in brackets on.
fn place(b: &mut Builder<'_>, operand: SassOperand, count: u16) -> Lowered<Reg> {
    match operand {
        SassOperand::Memory(Memory { uniform: Some(uniform), .. }) => b.register(Register::uniform(uniform), count),
        _ => Err("it has an unknown form".into()),
    }
}

/// The lower or upper half of a register.
fn half(b: &mut Builder<'_>, s: Reg, upper: bool) -> Reg {
    let d = b.scratch(1);
    let (op, by) = if upper { (Int2::ShrU32, 16) } else { (Int2::And32, 0xffff) };
    let by = b.constant(by);
    b.emit(Op::Int2(op, d, [s, by]));
    d
}

/// `UBLKCP`, `UBLKRED`, `UBLKPF`.
pub(super) fn bulk(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let operands = list(inst);
    let (&[.., last], direction) = (&operands[..], inst.modifier(key::DIRECTION)) else {
        return Err("it has an unknown form".into());
    };
    let packed = b.source(last)?;
    let (size, units) = (b.scratch(1), half(b, packed, false));
    let four = b.constant(4);
    b.emit(Op::Int2(Int2::Shl32, size, [units, four]));
    let ctas = inst.has(key::MULTICAST).then(|| half(b, packed, true));
    let reduction = match (inst.row.op, inst.modifier(key::ATOMIC_TYPE)) {
        (SassOp::UBlkRed, Some(ty)) => {
            let op = atomic_op(inst.modifier(key::ATOMIC))?;
            Some((op, atomic_type(ty, op).ok_or("its type is not executable")?))
        }
        (SassOp::UBlkRed, None) => return Err("its type is unknown".into()),
        _ => None,
    };
    let (kind, outer, shared, barrier) = match (direction, &operands[..]) {
        (None, &[global, _]) => {
            let global = place(b, global, 2)?;
            (TransferKind::Prefetch, global, global, None)
        }
        (Some(CopyDirection::GlobalToShared), &[shared, global, _]) => {
            let shared = place(b, shared, 2)?;
            (TransferKind::GlobalToShared, place(b, global, 2)?, shared, Some(shared.next()))
        }
        (Some(CopyDirection::SharedToShared), &[to, from, _]) => {
            let to = place(b, to, 2)?;
            (TransferKind::SharedToShared, to, place(b, from, 1)?, Some(to.next()))
        }
        (Some(CopyDirection::SharedToGlobal), &[global, shared, _]) => {
            let kind = if reduction.is_some() { TransferKind::SharedReduction } else { TransferKind::SharedToGlobal };
            (kind, place(b, global, 2)?, place(b, shared, 1)?, None)
        }
        _ => return Err("it has an unknown form".into()),
    };
    b.emit(Op::BulkCopy(BulkCopy { kind, reduction, outer, shared, barrier, size, ctas, once: true }));
    Ok(())
}

/// `UTMALDG`, `UTMASTG`, `UTMAREDG`, `UTMAPF`.
pub(super) fn tensor(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let (kind, head) = match inst.row.op {
        SassOp::UTmaLdG => (TransferKind::GlobalToShared, 2),
        SassOp::UTmaStG => (TransferKind::SharedToGlobal, 1),
        SassOp::UTmaRedG => (TransferKind::SharedReduction, 1),
        _ => (TransferKind::Prefetch, 0),
    };
    let rank = inst.modifier(key::RANK).ok_or("its number of dimensions is unknown")? as u8 + 1;
    let (operands, map, extra) = match list(inst)[..] {
        [operands, map] => (operands, map, None),
        [operands, map, extra] => (operands, map, Some(b.source(extra)?)),
        _ => return Err("it has an unknown form".into()),
    };
    let reduction = match inst.row.op {
        SassOp::UTmaRedG => Some(atomic_op(inst.modifier(key::ATOMIC))?),
        _ => None,
    };
    let (map, operands) = (place(b, map, 2)?, place(b, operands, head + u16::from(rank))?);
    let (im2col, multicast) = (inst.has(key::IM2COL), inst.has(key::MULTICAST));
    b.emit(Op::TensorCopy(TensorCopy { kind, reduction, rank, im2col, map, operands, extra, multicast, once: true }));
    Ok(())
}

/// `UTMACCTL`: `.PF` brings a tensor map to the engine, `.IV` has no effect.
pub(super) fn tensor_map(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    if !inst.has(key::MAP_PREFETCH) {
        return Ok(());
    }
    let &[map] = &list(inst)[..] else { return Err("it has an unknown form".into()) };
    let map = place(b, map, 2)?;
    b.emit(Op::MapPrefetch(MapPrefetch { map, once: true }));
    Ok(())
}
