//! Integer arithmetic, comparisons, conversions between integers; also of the uniform datapath.
//!
//! Facts beyond PTX (carries, `.X`, `LEA`'s overflow, clamped shifts) are those that Mesa's NAK compiler
//! tests on hardware (`src/nouveau/compiler/nak/ir.rs`, its `Foldable` operations, and `hw_tests.rs`).
//!
//! Choices where nothing is published:
//! 1. `I2I.*.SAT` leaves the clamped number in all 32 bits of the destination.
//! 2. `FLO.SH` of a number without such a bit returns all ones, as PTX's `bfind.shiftamt` does.

pub(super) mod add;
pub(super) mod bits;
pub(super) mod extreme;
pub(super) mod multiply;

use super::builder::{Builder, Lowered};
use super::float::combine;
use super::operand::{copy_predicate, no_predicate, operands};
use exec::compare::{Combine, CompareType, Comparison, Relation};
use exec::int::{Int1, Int2, Int3};
use exec::lanes::Pred;
use exec::op::Op;
use sass::decode::modifier::{Compare, IntType, key};
use sass::decode::{SassInst, SassOp};

pub(super) fn unary(b: &mut Builder<'_>, inst: &SassInst, op: Int1) -> Lowered<()> {
    let [d, s] = operands(inst)?;
    let s = b.int_source(s)?;
    let d = b.destination(d, 1)?;
    b.emit(Op::Int1(op, d, [s]));
    Ok(())
}

/// `ISETP`. The extended form takes the comparison of the low words if the operands are equal.
pub(super) fn compare(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [p, q, x, y, with, low] = operands(inst)?;
    let (p, q, with) = (b.pred(p)?, b.pred(q)?, b.pred(with)?);
    let s = [b.source(x)?, b.source(y)?];
    let ty = if inst.has(key::SIGNED) { CompareType::S32 } else { CompareType::U32 };
    let test = |relation| Comparison { relation, ty, ftz: false };
    let relation = match inst.modifier(key::COMPARE) {
        Some(Compare::Never) => Relation::Nan,
        Some(Compare::Lt) => Relation::Lt,
        Some(Compare::Eq) => Relation::Eq,
        Some(Compare::Le) => Relation::Le,
        Some(Compare::Gt) => Relation::Gt,
        Some(Compare::Ne) => Relation::Ne,
        Some(Compare::Ge) => Relation::Ge,
        _ => Relation::Num,
    };
    let combine = combine(inst);
    if !inst.has(key::EXTENDED) || matches!(relation, Relation::Nan | Relation::Num) {
        b.emit(Op::Setp { test: test(relation), s, d: [p, q], with: (combine, with) });
        return Ok(());
    }
    let low = b.pred(low)?;
    let whole = b.scratch_pred();
    let equal = (Combine::And, low);
    let strict = match relation {
        Relation::Lt | Relation::Le => Some(Relation::Lt),
        Relation::Gt | Relation::Ge => Some(Relation::Gt),
        Relation::Ne => Some(Relation::Ne),
        _ => None,
    };
    b.emit(Op::Setp { test: test(Relation::Eq), s, d: [whole, Pred::TRUE], with: equal });
    if let Some(strict) = strict {
        b.emit(Op::Setp { test: test(strict), s, d: [whole, Pred::TRUE], with: (Combine::Or, whole) });
    }
    // The predicate that is combined may be the same as the first destination.
    let second = (q != Pred::TRUE).then(|| b.scratch_pred());
    if let Some(second) = second {
        b.emit(Op::PredLogic(combine, second, [whole.not(), with]));
    }
    b.emit(Op::PredLogic(combine, p, [whole, with]));
    if let Some(second) = second {
        copy_predicate(b, q, second);
    }
    Ok(())
}

/// `VABSDIFF`: absolute difference plus a third operand. `VABSDIFF4`: differences of the bytes, or their sum
/// plus a third operand, which has no effect without the sum.
pub(super) fn difference(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [d, p, x, y, z] = operands(inst)?;
    no_predicate(b, p)?;
    let signed = inst.has(key::SIGNED);
    let bytes = inst.row.op == SassOp::VAbsDiff4;
    let s = [b.source(x)?, b.source(y)?, b.source(z)?];
    let d = b.destination(d, 1)?;
    b.emit(match (bytes, inst.has(key::ACCUMULATE), signed) {
        (false, _, true) => Op::Int3(Int3::SadS32, d, s),
        (false, _, false) => Op::Int3(Int3::SadU32, d, s),
        (true, true, true) => Op::Int3(Int3::Sad4S8, d, s),
        (true, true, false) => Op::Int3(Int3::Sad4U8, d, s),
        (true, false, true) => Op::Int2(Int2::AbsDiff4S8, d, [s[0], s[1]]),
        (true, false, false) => Op::Int2(Int2::AbsDiff4U8, d, [s[0], s[1]]),
    });
    Ok(())
}

/// `I2I`: clamps a signed integer to the range of a small one.
pub(super) fn saturate(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [d, s] = operands(inst)?;
    let (least, greatest) = match inst.modifier(key::TO_INT) {
        Some(IntType::U8) => (0, i32::from(u8::MAX)),
        Some(IntType::S8) => (i8::MIN.into(), i8::MAX.into()),
        Some(IntType::U16) => (0, u16::MAX.into()),
        _ => (i16::MIN.into(), i16::MAX.into()),
    };
    let s = b.source(s)?;
    let (least, greatest) = (b.constant(least as u32), b.constant(greatest as u32));
    let (raised, d) = (b.scratch(1), b.destination(d, 1)?);
    b.emit(Op::Int2(Int2::MaxS32, raised, [s, least]));
    b.emit(Op::Int2(Int2::MinS32, d, [raised, greatest]));
    Ok(())
}
