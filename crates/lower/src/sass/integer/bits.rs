//! Shifts, bit fields and searches for bits.

use crate::sass::builder::{Builder, Lowered};
use crate::sass::operand::{no_predicate, operands};
use exec::int::{Int1, Int2, Int3};
use exec::op::Op;
use sass::decode::modifier::{ShiftType, key};
use sass::decode::{SassInst, SassOp, SassOperand};

/// `SHF`: one word of a pair that is shifted. The amount is clamped to the bits of the type, or wraps.
pub(crate) fn shift(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [d, low, amount, high] = operands(inst)?;
    let (wide, signed) = match inst.modifier(key::SHIFT_TYPE) {
        Some(ShiftType::S64) => (true, true),
        Some(ShiftType::U64) => (true, false),
        Some(ShiftType::S32) => (false, true),
        Some(ShiftType::U32) | None => (false, false),
    };
    let (right, upper, wrap) = (inst.has(key::RIGHT), inst.has(key::HIGH), inst.has(key::WRAP));
    let bits = if wide { 64 } else { 32 };
    let amount = match amount {
        SassOperand::Immediate { bits: n, .. } => b.constant(if wrap { n as u32 % bits } else { (n as u32).min(bits) }),
        amount => {
            let amount = b.source(amount)?;
            if wrap {
                let (within, keep) = (b.scratch(1), b.constant(bits - 1));
                b.emit(Op::Int2(Int2::And32, within, [amount, keep]));
                within
            } else {
                amount
            }
        }
    };
    let d = b.destination(d, 1)?;
    let pair = |b: &mut Builder<'_>| Ok::<_, String>([b.source(low)?, b.source(high)?, amount]);
    let op = match (right, upper) {
        (false, false) => Op::Int2(Int2::Shl32, d, [b.source(low)?, amount]),
        (true, true) if signed => Op::Int2(Int2::ShrS32, d, [b.source(high)?, amount]),
        (true, true) => Op::Int2(Int2::ShrU32, d, [b.source(high)?, amount]),
        (false, true) if wide => Op::Int3(Int3::ShfLeft64, d, pair(b)?),
        (false, true) => Op::Int3(Int3::ShfLeftClamp, d, pair(b)?),
        (true, false) if wide && signed => Op::Int3(Int3::ShfRightS64, d, pair(b)?),
        (true, false) if wide => Op::Int3(Int3::ShfRightU64, d, pair(b)?),
        (true, false) => Op::Int3(Int3::ShfRightClamp, d, pair(b)?),
    };
    b.emit(op);
    Ok(())
}

/// `SGXT` and `BMSK`.
pub(crate) fn field(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [d, x, y] = operands(inst)?;
    let s = [b.source(x)?, b.source(y)?];
    let mask = matches!(inst.row.op, SassOp::BMsk | SassOp::UBMsk);
    let op = match (mask, inst.has(key::SIGNED), inst.has(key::WRAP)) {
        (true, _, false) => Int2::BmskClamp,
        (true, _, true) => Int2::BmskWrap,
        (false, false, false) => Int2::SzextClampU32,
        (false, false, true) => Int2::SzextWrapU32,
        (false, true, false) => Int2::SzextClampS32,
        (false, true, true) => Int2::SzextWrapS32,
    };
    let d = b.destination(d, 1)?;
    b.emit(Op::Int2(op, d, s));
    Ok(())
}

/// `FLO`.
pub(crate) fn find(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [d, p, s] = operands(inst)?;
    no_predicate(b, p)?;
    let s = b.int_source(s)?;
    let op = match (inst.has(key::SIGNED), inst.has(key::SHIFT_AMOUNT)) {
        (false, false) => Int1::BfindU32,
        (false, true) => Int1::BfindShiftU32,
        (true, false) => Int1::BfindS32,
        (true, true) => Int1::BfindShiftS32,
    };
    let d = b.destination(d, 1)?;
    b.emit(Op::Int1(op, d, [s]));
    Ok(())
}
