//! Hopper's barriers in shared memory.

use super::builder::{Builder, Lowered};
use super::memory::address;
use super::operand::{is_kept, list, operands};
use exec::mbarrier::{Mbarrier, MbarrierOp, MbarrierWait};
use exec::op::Op;
use isa::{ALL_COPIES, Space};
use sass::decode::modifier::{Arrival, key};
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

/// `ARRIVES.LDGSTSBAR` of sm_90, which waits for the copies of its warp: an arrival, or the byte that they count as.
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
