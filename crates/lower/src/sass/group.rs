//! Matrix multiplication by a warp group: `HGMMA`, `QGMMA`, `IGMMA`, `BGMMA`.
//!
//! `gdesc[UR4]` is a group of four uniform registers with the descriptors of A and B. If A comes from registers, the first
//! two are not read.
//!
//! Compilers end a group of instructions by one whose result RZ discards; it has no effect.

use super::builder::{Builder, Lowered};
use super::matrix::{byte_element, factor, in_turn, int_element, matrix_op};
use super::operand::{is_kept, list, sign_of};
use exec::lanes::{Pred, Reg};
use exec::matrix::{Element, GroupMma, GroupTypes};
use exec::op::Op;
use exec::tensor::{GroupFactor, GroupMultiply, MatrixOp};
use sass::decode::modifier::{GroupColumns, key};
use sass::decode::operand::{Descriptors, Register};
use sass::decode::{SassInst, SassOp, SassOperand};

/// `WARPGROUP.ARRIVE` and `WARPGROUP.DEPBAR`, which waits for all but a number of groups.
pub(super) fn wait(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    if let Some(SassOperand::Immediate { bits, .. }) = list(inst).last() {
        b.emit(Op::MatrixWait(*bits as u8));
    }
    Ok(())
}

/// `HGMMA`, `QGMMA`, `IGMMA`, `BGMMA`.
pub(super) fn multiply(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let operands = list(inst);
    if !operands.first().is_some_and(|&d| is_kept(d)) {
        return Ok(());
    }
    // An instruction with A in shared memory lacks the operand of register A.
    let (d, a, rest) = match operands[..] {
        [d, SassOperand::Descriptors(_), ..] => (d, None, &operands[1..]),
        [d, a, ..] => (d, Some(a), &operands[2..]),
        _ => return Err("it has an unknown form".into()),
    };
    let [SassOperand::Descriptors(factors), c, accumulates, metadata, selector, ..] = rest[..] else {
        return Err("it has an unknown form".into());
    };
    let Some(GroupColumns(columns)) = inst.modifier(key::GROUP_COLUMNS) else {
        return Err("its shape is unknown".into());
    };
    let [of_a, of_b, of_d] = types(inst);
    // Bytes have one choice of lanes.
    let selector = if let SassOperand::Immediate { bits, .. } = selector { bits as u8 } else { 0 };
    let Descriptors { register, negated, transposed } = factors;
    let negated_a = a.map_or(negated[0], |a| sign_of(a).negate);
    let types = GroupTypes {
        negated: [negated_a, negated[1]],
        transposed,
        satfinite: inst.has(key::SATURATE),
        sparse: inst.has(key::SPARSE).then_some(selector),
        ..GroupTypes::plain(of_a, of_b, of_d, columns)
    };
    let length = inst.modifier(key::GROUP_LENGTH).map_or(types.length(), |length| length.elements());
    let plan = GroupMma::new(types).filter(|_| length == types.length());
    let plan = plan.ok_or("this shape is not executable with these types")?;
    let accumulates = b.pred(accumulates)?;
    let count = plan.registers();
    let in_register = |n: u8| Register { index: register.saturating_add(n), ..Register::uniform(register) };
    let descriptor = |b: &mut Builder<'_>, n: u8| {
        // Of no register both are zero.
        let zero = Register::uniform(register);
        b.register(if zero.is_zero() { zero } else { in_register(n) }, 2)
    };
    let a = match a {
        Some(a) => {
            let a = b.columns(a, 4)?;
            GroupFactor::Registers(std::array::from_fn(|i| Reg(a.0 + i as u16)))
        }
        None => GroupFactor::Shared(descriptor(b, 0)?),
    };
    let of_b = descriptor(b, 2)?;
    let metadata = if types.sparse.is_some() { Some(b.source(metadata)?) } else { None };
    let c = if accumulates == Pred::TRUE.not() { Vec::new() } else { in_turn(b.columns(c, count as u16)?, count) };
    let d = in_turn(b.destination(d, count as u16)?, count);
    matrix_op(b, MatrixOp::Group(GroupMultiply { plan, d, c, a, b: of_b, metadata, accumulates }))
}

/// Types of A, B and the accumulator.
fn types(inst: &SassInst) -> [Element; 3] {
    let accumulator = if inst.has(key::D_F32) { Element::F32 } else { Element::F16 };
    match inst.row.op {
        SassOp::IGmma => [int_element(inst, key::A_INT), int_element(inst, key::B_INT), Element::S32],
        SassOp::BGmma => [Element::B1, Element::B1, Element::S32],
        SassOp::QGmma => [byte_element(inst, key::A_BYTE), byte_element(inst, key::B_BYTE), accumulator],
        _ => [factor(inst), factor(inst), accumulator],
    }
}
