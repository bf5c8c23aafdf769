//! Matrix multiplication by a warp, and moves of fragments.
//!
//! From sm_75 on the registers of other `HMMA`, `IMMA`, `BMMA`, `DMMA` and `QMMA` are as in PTX's `mma` of the same
//! shape, and `LDSM`, `STSM` and `MOVM` are `ldmatrix`, `stmatrix` and `movmatrix`: compilers translate them one to one.
//!
//! `HMMA.884` of sm_70 and sm_75 is a step of PTX's `mma.m8n8k4` with half-precision factors: four steps with a
//! single-precision accumulator, two with a half-precision one. Its factors are the factors of the whole
//! multiplication; its accumulator is the pair of registers that the step computes. The steps divide the
//! accumulator in the order of its registers (Raihan, Goli, Aamodt, "Modeling Deep Learning Accelerator
//! Enabled GPUs", 2019; compiled code stores the results accordingly).
//!
//! Sums are rounded as described in [`exec::matrix`]. The effect of an inverted factor is not published: it
//! is refused.

use super::builder::{Builder, Lowered};
use super::float::rounding;
use super::memory::address;
use super::operand::{operands, sign_of};
use exec::lanes::Reg;
use exec::matrix::{BitOp, Element, Mma, Multiply, Order, Shape};
use exec::op::Op;
use exec::tensor::MatrixOp;
use isa::Space;
use sass::decode::modifier::{BitOperation, ByteType, Count, FloatType, IntType, Key, Layout, MatrixShape, key};
use sass::decode::operand::{Register, Sign};
use sass::decode::{SassInst, SassOperand};

/// Registers of the accumulator in a step of `HMMA.884`.
const STEP_REGISTERS: usize = 2;

/// `DMMA`.
pub(super) fn double(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let types = Multiply { round: rounding(inst), ..Multiply::plain(Element::F64, Element::F64) };
    multiply(b, inst, types)
}

/// `LDSM`.
pub(super) fn load_tiles(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [d, SassOperand::Memory(place)] = operands(inst)? else { return Err("it has an unknown form".into()) };
    let count = count(inst);
    let address = address(b, inst, Space::Shared, place)?;
    let d = in_turn(b.destination(d, count)?, count.into());
    let trans = inst.modifier(key::LAYOUT) == Some(Layout::Transposed);
    matrix_op(b, MatrixOp::LoadTiles { space: Space::Shared, address, d, trans })
}

/// `STSM`.
pub(super) fn store_tiles(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [SassOperand::Memory(place), x] = operands(inst)? else { return Err("it has an unknown form".into()) };
    let count = count(inst);
    let address = address(b, inst, Space::Shared, place)?;
    let s = in_turn(b.columns(x, count)?, count.into());
    let trans = inst.modifier(key::LAYOUT) == Some(Layout::Transposed);
    matrix_op(b, MatrixOp::StoreTiles { space: Space::Shared, address, s, trans })
}

/// `MOVM`.
pub(super) fn transpose(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [d, x] = operands(inst)?;
    let (s, d) = (b.source(x)?, b.destination(d, 1)?);
    matrix_op(b, MatrixOp::Transpose { s, d })
}

/// Number of matrices that are moved.
fn count(inst: &SassInst) -> u16 {
    match inst.modifier(key::COUNT) {
        Some(Count::Four) => 4,
        Some(Count::Two) => 2,
        Some(Count::One) | None => 1,
    }
}

fn shape(inst: &SassInst) -> Lowered<Shape> {
    let [m, k] = inst.modifier(key::SHAPE).ok_or("its shape is unknown")?.rows_and_length();
    Ok(Shape { m, n: 8, k })
}

pub(super) fn matrix_op(b: &mut Builder<'_>, op: MatrixOp) -> Lowered<()> {
    let number = u16::try_from(b.matrix.len()).map_err(|_| "the kernel has too many matrix operations")?;
    b.matrix.push(op);
    b.emit(Op::Matrix(number));
    Ok(())
}

/// `count` registers starting at `first`.
pub(super) fn in_turn(first: Reg, count: usize) -> Vec<Reg> {
    (first.0..).take(count).map(Reg).collect()
}

fn plan(b: &Builder<'_>, inst: &SassInst, types: Multiply) -> Lowered<Mma> {
    Mma::mma(shape(inst)?, types, b.sm.into()).ok_or_else(|| "this shape is not executable with these types".into())
}

/// A plan with the instruction's operands D, A, B, C.
fn multiply(b: &mut Builder<'_>, inst: &SassInst, types: Multiply) -> Lowered<()> {
    let plan = plan(b, inst, types)?;
    let [d, x, y, z] = operands(inst)?;
    let [a_count, b_count, c_count, d_count] = plan.registers();
    let mut source = |operand: SassOperand, count: usize| {
        if sign_of(operand) != Sign::default() {
            return Err("signs of matrices are not executable".to_owned());
        }
        Ok(in_turn(b.columns(operand, count as u16)?, count))
    };
    let sources = [source(x, a_count)?, source(y, b_count)?, source(z, c_count)?];
    let d = in_turn(b.destination(d, d_count as u16)?, d_count);
    let [x, y, z] = sources;
    matrix_op(b, MatrixOp::Multiply { plan: Box::new(plan), registers: [d, x, y, z] })
}

/// Whether the elements of a factor are in row or column order.
fn order(operand: SassOperand) -> Order {
    match operand {
        SassOperand::Register(Register { suffix: ".COL", .. }) => Order::Col,
        _ => Order::Row,
    }
}

/// From sm_75 on the factors have one order only.
fn check_orders(inst: &SassInst) -> Lowered<()> {
    let [_, x, y, _] = operands(inst)?;
    let usual = (order(x), order(y)) == (Order::Row, Order::Col);
    if usual { Ok(()) } else { Err("factors in other orders than .ROW and .COL are not executable".into()) }
}

/// `HMMA.884`.
pub(super) fn step(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [d, x, y, z] = operands(inst)?;
    if inst.modifier(key::SHAPE) != Some(MatrixShape::M8N8K4)
        || inst.has(key::SATURATE)
        || inst.has(key::D_F32) != inst.has(key::C_F32)
    {
        return Err("only .884 with accumulators of one type and without saturation is executable".into());
    }
    let accumulator = if inst.has(key::D_F32) { Element::F32 } else { Element::F16 };
    let types = Multiply { a_order: order(x), b_order: order(y), ..Multiply::plain(Element::F16, accumulator) };
    let whole = plan(b, inst, types)?;
    let [_, _, registers, _] = whole.registers();
    let step = inst.modifier(key::STEP).map_or(0, |step| step as usize);
    if (step + 1) * STEP_REGISTERS > registers {
        return Err("there is no such step with this accumulator".into());
    }
    if [x, y].into_iter().any(|o| sign_of(o) != Sign::default()) {
        return Err("signs of matrices are not executable".into());
    }
    let count = STEP_REGISTERS as u16;
    let [x, y, z] = [b.columns(x, count)?, b.columns(y, count)?, b.columns(z, count)?];
    let registers = [b.destination(d, count)?, x, y, z].map(|r| [r, r.next()]);
    matrix_op(b, MatrixOp::Step { plan: Box::new(whole), first: step * STEP_REGISTERS, registers })
}

/// `HMMA` of other shapes.
pub(super) fn half(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    if inst.has(key::SATURATE) {
        return Err("saturation is not executable".into());
    }
    let accumulator = if inst.has(key::D_F32) { Element::F32 } else { Element::F16 };
    multiply(b, inst, Multiply::plain(factor(inst), accumulator))
}

/// `QMMA`.
pub(super) fn bytes(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let accumulator = if inst.has(key::D_F32) { Element::F32 } else { Element::F16 };
    let types = Multiply {
        b: byte_element(inst, key::B_BYTE),
        ..Multiply::plain(byte_element(inst, key::A_BYTE), accumulator)
    };
    multiply(b, inst, types)
}

/// `IMMA`.
pub(super) fn integer(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    check_orders(inst)?;
    let types = Multiply {
        b: int_element(inst, key::B_INT),
        satfinite: inst.has(key::SATURATE),
        ..Multiply::plain(int_element(inst, key::A_INT), Element::S32)
    };
    multiply(b, inst, types)
}

/// `BMMA`.
pub(super) fn bits(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    check_orders(inst)?;
    let bit_op = match inst.modifier(key::BIT_OPERATION) {
        Some(BitOperation::And) => BitOp::And,
        Some(BitOperation::Xor) | None => BitOp::Xor,
    };
    multiply(b, inst, Multiply { bit_op, ..Multiply::plain(Element::B1, Element::S32) })
}

/// Type of the factors of halves and wider numbers.
pub(super) fn factor(inst: &SassInst) -> Element {
    match inst.modifier(key::FACTORS) {
        Some(FloatType::Bf16) => Element::Bf16,
        Some(FloatType::Tf32) => Element::Tf32,
        _ => Element::F16,
    }
}

/// Type of a factor of 8-bit floating-point numbers.
pub(super) fn byte_element(inst: &SassInst, key: Key<ByteType>) -> Element {
    if inst.modifier(key) == Some(ByteType::E5m2) { Element::E5m2 } else { Element::E4m3 }
}

/// Type of a factor of integers.
pub(super) fn int_element(inst: &SassInst, key: Key<IntType>) -> Element {
    match inst.modifier(key) {
        Some(IntType::S8) => Element::S8,
        Some(IntType::U4) => Element::U4,
        Some(IntType::S4) => Element::S4,
        _ => Element::U8,
    }
}
