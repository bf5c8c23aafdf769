//! Products: `IMAD` and its wide forms, dot products.

use super::add::{Carries, Term, add};
use crate::sass::builder::{Builder, Lowered};
use crate::sass::operand::{copy_predicate, is_zero, operands, sign_of};
use exec::int::{Int1, Int2, Int3};
use exec::lanes::{Pred, Reg};
use exec::op::{CarryOp, Op};
use sass::decode::modifier::key;
use sass::decode::{SassInst, SassOp, SassOperand};

/// `IMAD`, which compilers also use for moves, sums and shifts.
pub(crate) fn imad(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [d, x, y, z, c] = operands(inst)?;
    let carry_in = if inst.has(key::EXTENDED) { Some([b.pred(c)?, Carries::NO]) } else { None };
    let carries = Carries { carry_in, ..Carries::NONE };
    let addend = Term::read(b, z)?;
    let d = b.destination(d, 1)?;
    let factor = match y {
        SassOperand::Immediate { bits, .. } => Some(bits as u32),
        _ => None,
    };
    if is_zero(x) || is_zero(y) {
        add(b, d, &[addend], carries);
        return Ok(());
    }
    let (left, right) = (b.source(x)?, b.source(y)?);
    if factor == Some(1) {
        add(b, d, &[Term::of(left, false), addend], carries);
    } else if carry_in.is_some() || sign_of(z).negate {
        let product = b.scratch(1);
        b.emit(Op::Int2(Int2::MulLo32, product, [left, right]));
        add(b, d, &[Term::of(product, false), addend], carries);
    } else if !is_zero(z) {
        b.emit(Op::Int3(Int3::MadLo32, d, [left, right, addend.value()]));
    } else if let Some(factor) = factor.filter(|f| f.is_power_of_two()) {
        let amount = b.constant(factor.trailing_zeros());
        b.emit(Op::Int2(Int2::Shl32, d, [left, amount]));
    } else {
        b.emit(Op::Int2(Int2::MulLo32, d, [left, right]));
    }
    Ok(())
}

/// `IMAD.WIDE`.
pub(crate) fn wide(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [d, ..] = operands::<6>(inst)?;
    let d = b.destination(d, 2)?;
    product64(b, inst, d)
}

/// `IMAD.HI`: the upper word of the 64-bit sum.
pub(crate) fn high(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [d, p, x, y, z, _] = operands(inst)?;
    let signed = inst.has(key::SIGNED);
    let d = b.destination(d, 1)?;
    if b.pred(p)? == Pred::TRUE && !inst.has(key::EXTENDED) && !sign_of(z).negate {
        let (x, y) = (b.source(x)?, b.source(y)?);
        if is_zero(z) {
            b.emit(Op::Int2(if signed { Int2::MulHiS32 } else { Int2::MulHiU32 }, d, [x, y]));
        } else {
            let z = b.source64(z)?;
            b.emit(Op::Int3(if signed { Int3::MadHigh64S32 } else { Int3::MadHigh64U32 }, d, [x, y, z]));
        }
        return Ok(());
    }
    let whole = b.scratch(2);
    product64(b, inst, whole)?;
    b.emit(Op::Int1(Int1::Mov32, d, [whole.next()]));
    Ok(())
}

/// `d` = product plus a 64-bit addend, with carries.
fn product64(b: &mut Builder<'_>, inst: &SassInst, d: Reg) -> Lowered<()> {
    let [_, p, x, y, z, c] = operands(inst)?;
    let (p, signed, extended) = (b.pred(p)?, inst.has(key::SIGNED), inst.has(key::EXTENDED));
    let sign = sign_of(z);
    let (x, y) = (b.source(x)?, b.source(y)?);
    let product = if signed { Int2::MulWideS32 } else { Int2::MulWideU32 };
    let with_sum = if signed { Int3::MadWideS32 } else { Int3::MadWideU32 };
    if p == Pred::TRUE && !extended {
        if is_zero(z) {
            b.emit(Op::Int2(product, d, [x, y]));
            return Ok(());
        }
        let mut z = b.source64(z)?;
        if sign.negate {
            let negated = b.scratch(2);
            b.emit(Op::Int1(Int1::Neg64, negated, [z]));
            z = negated;
        }
        b.emit(Op::Int3(with_sum, d, [x, y, z]));
        return Ok(());
    }
    // A negation is the complement and, without `.X`, a carry.
    let (whole, carry) = (b.scratch(2), b.scratch_pred());
    let mut addend = if is_zero(z) { b.constant64(0) } else { b.source64(z)? };
    if sign.negate || sign.invert {
        let complement = b.scratch(2);
        b.emit(Op::Int1(Int1::Not64, complement, [addend]));
        addend = complement;
    }
    let carry_in = match extended {
        true => b.pred(c)?,
        false if sign.negate => Pred::TRUE,
        false => Carries::NO,
    };
    copy_predicate(b, carry, carry_in);
    b.emit(Op::Int2(product, whole, [x, y]));
    let s = [whole, addend, whole];
    b.emit(Op::Carry { op: CarryOp::Add, wide: true, d, s, carry, carry_in: true, carry_out: true });
    copy_predicate(b, p, carry);
    Ok(())
}

/// `IDP.4A` and `IDP.2A`.
pub(crate) fn dot_product(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [d, x, y, z] = operands(inst)?;
    let s = [b.source(x)?, b.source(y)?, b.int_source(z)?];
    let signs = (inst.has(key::A_SIGNED), inst.has(key::B_SIGNED));
    let op = match (inst.row.op == SassOp::Idp2, inst.has(key::HIGH), signs) {
        (false, _, (false, false)) => Int3::Dp4aUU,
        (false, _, (false, true)) => Int3::Dp4aUS,
        (false, _, (true, false)) => Int3::Dp4aSU,
        (false, _, (true, true)) => Int3::Dp4aSS,
        (true, false, (false, false)) => Int3::Dp2aLoUU,
        (true, false, (false, true)) => Int3::Dp2aLoUS,
        (true, false, (true, false)) => Int3::Dp2aLoSU,
        (true, false, (true, true)) => Int3::Dp2aLoSS,
        (true, true, (false, false)) => Int3::Dp2aHiUU,
        (true, true, (false, true)) => Int3::Dp2aHiUS,
        (true, true, (true, false)) => Int3::Dp2aHiSU,
        (true, true, (true, true)) => Int3::Dp2aHiSS,
    };
    let d = b.destination(d, 1)?;
    b.emit(Op::Int3(op, d, s));
    Ok(())
}
