//! Hopper's barriers in shared memory, and accesses to shared memory of the cluster that complete there.

use super::builder::{Builder, Lowered};
use super::memory::{address, atomic_op, atomic_type, consecutive, format};
use super::operand::{is_kept, list, operands};
use exec::access::{Address, Transfer};
use exec::atomic::Atomic;
use exec::mbarrier::{Mbarrier, MbarrierOp, MbarrierWait};
use exec::op::Op;
use isa::{ALL_COPIES, Space};
use sass::decode::modifier::{Arrival, key};
use sass::decode::operand::{Memory, Register};
use sass::decode::{SassInst, SassOperand};

/// `SYNCS.EXCH`.
pub(super) fn exchange(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [d, SassOperand::Memory(place), state] = operands(inst)? else { return Err("it has an unknown form".into()) };
    let (address, none) = (address(b, inst, Space::Shared, place)?, b.constant(0));
    let count = b.columns(state, 2)?;
    let d = if is_kept(d) { Some(b.destination(d, 2)?) } else { None };
    change(
        b,
        Mbarrier { op: MbarrierOp::Exchange, space: Space::Shared, address, d, count, bytes: none, together: false },
    );
    Ok(())
}

/// `SYNCS.ARRIVE`.
pub(super) fn arrive(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [d, SassOperand::Memory(place), operand] = operands(inst)? else { return Err("it has an unknown form".into()) };
    let address = address(b, inst, Space::Shared, place)?;
    let [none, one] = [0, 1].map(|n| b.constant(n));
    let operand = b.source(operand)?;
    let arrival = inst.modifier(key::ARRIVAL).ok_or("its kind of arrival is unknown")?;
    let op = match (arrival, inst.has(key::DROP)) {
        (Arrival::Complete, _) => MbarrierOp::Complete,
        (_, false) => MbarrierOp::Arrive,
        (_, true) => MbarrierOp::ArriveDrop,
    };
    let [count, bytes] = match arrival {
        Arrival::One => [one, operand],
        Arrival::OneWithoutBytes => [one, none],
        Arrival::NoneOneByte => [none, one],
        Arrival::None | Arrival::Complete => [none, operand],
        Arrival::Many => [operand, none],
    };
    let d = if is_kept(d) { Some(b.destination(d, 2)?) } else { None };
    let together = inst.has(key::TOGETHER);
    change(b, Mbarrier { op, space: Space::Shared, address, d, count, bytes, together });
    Ok(())
}

fn change(b: &mut Builder<'_>, barrier: Mbarrier) {
    b.emit(Op::Mbarrier(barrier));
}

/// `SYNCS.PHASECHK`.
pub(super) fn check(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [p, SassOperand::Memory(place), phase] = operands(inst)? else { return Err("it has an unknown form".into()) };
    let address = address(b, inst, Space::Shared, place)?;
    let (d, phase) = (b.pred(p)?, b.source(phase)?);
    let suspends = inst.has(key::SUSPENDS);
    b.emit(Op::MbarrierWait(MbarrierWait { space: Space::Shared, address, d, phase, suspends }));
    Ok(())
}

/// `STAS`.
pub(super) fn store(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [SassOperand::Memory(place), s] = operands(inst)? else { return Err("it has an unknown form".into()) };
    let ((format, columns), [address, barrier]) = (format(inst)?, pair(b, place)?);
    let s = b.columns(s, columns)?;
    b.emit(Op::Store(Transfer { space: Space::Shared, format, address, registers: consecutive(s) }));
    complete(b, barrier, format.total_bytes());
    Ok(())
}

/// `REDAS`.
pub(super) fn reduce(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [SassOperand::Memory(place), s] = operands(inst)? else { return Err("it has an unknown form".into()) };
    let op = atomic_op(inst.modifier(key::ATOMIC))?;
    let ty = inst.modifier(key::ATOMIC_TYPE).and_then(|ty| atomic_type(ty, op)).ok_or("its type is not executable")?;
    let [address, barrier] = pair(b, place)?;
    let operand = b.columns(s, u16::from(ty.bytes() / 4))?;
    b.emit(Op::Atomic(Atomic {
        space: Space::Shared,
        op,
        ty,
        count: 1,
        d: None,
        unused: false,
        address,
        b: operand,
        c: None,
    }));
    complete(b, barrier, ty.bytes());
    Ok(())
}

/// The addresses of data and barrier in a pair of registers.
fn pair(b: &mut Builder<'_>, place: Memory) -> Lowered<[Address; 2]> {
    if place.offset != 0 {
        return Err("an offset added to its pair of addresses is not executable: no compiler writes one".into());
    }
    let base = b.register(Register::general(place.base), 2)?;
    Ok([base, base.next()].map(|base| Address { base, wide: false, frame: false, offset: 0 }))
}

/// The barrier at `address` counts `bytes`.
fn complete(b: &mut Builder<'_>, address: Address, bytes: u8) {
    let [none, bytes] = [0, bytes.into()].map(|n| b.constant(n));
    let op = MbarrierOp::Complete;
    change(b, Mbarrier { op, space: Space::Shared, address, d: None, count: none, bytes, together: false });
}

/// `ARRIVES.LDGSTSBAR` of sm_90, which waits for the copies of its warp: an arrival, or the byte that counts as one.
pub(super) fn copies_arrive(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let Some(&SassOperand::Memory(place)) = list(inst).last() else { return Err("it has an unknown form".into()) };
    let address = address(b, inst, Space::Shared, place)?;
    let [none, one] = [0, 1].map(|n| b.constant(n));
    let (op, [count, bytes]) = if inst.has(key::TRANSACTION_COUNT) {
        (MbarrierOp::Complete, [none, one])
    } else {
        (MbarrierOp::Arrive, [one, none])
    };
    change(b, Mbarrier { op, space: Space::Shared, address, d: None, count, bytes, together: false });
    b.emit(Op::AsyncWait(ALL_COPIES));
    Ok(())
}
