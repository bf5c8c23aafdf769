//! Moves, selections, logic, bit fields, special registers, predicates; also of the uniform datapath.

use super::builder::{Builder, Lowered, UNIFORM_PREDICATES};
use super::operand::{is_kept, is_zero, operands};
use exec::compare::{Combine, CompareType, Comparison, Relation};
use exec::int::{Int1, Int2, Int3};
use exec::lanes::{Pred, Reg};
use exec::memory::{LOCAL_WINDOW, SHARED_WINDOW, WINDOW_BYTES};
use exec::op::Op;
use exec::special::{ClusterRegister, Special};
use kit::WARP_LANES;
use sass::decode::modifier::{Permutation, Size, key};
use sass::decode::operand::Constant;
use sass::decode::{SassInst, SassOperand};

/// `MOV`.
pub(super) fn copy_lanes(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [d, s, SassOperand::Immediate { bits: 15, .. }] = operands(inst)? else {
        return Err("moves of some lanes of each quad are not executable".into());
    };
    move_word(b, d, s)
}

/// `UMOV`.
pub(super) fn copy(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [d, s] = operands(inst)?;
    move_word(b, d, s)
}

/// `SEL`.
pub(super) fn select(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [d, x, y, p] = operands(inst)?;
    let (s, p) = ([b.source(x)?, b.source(y)?], b.pred(p)?);
    let d = b.destination(d, 1)?;
    b.emit(Op::Selp { d, s, wide: false, p });
    Ok(())
}

fn move_word(b: &mut Builder<'_>, d: SassOperand, s: SassOperand) -> Lowered<()> {
    let s = b.source(s)?;
    let d = b.destination(d, 1)?;
    b.emit(Op::Int1(Int1::Mov32, d, [s]));
    Ok(())
}

fn table_of(operand: SassOperand) -> Lowered<u8> {
    match operand {
        SassOperand::Immediate { bits, .. } => Ok(bits as u8),
        _ => Err("it has no truth table".into()),
    }
}

/// `LOP3`. The predicate reports whether the result is not zero, or'ed with a predicate or, with `.PAND`,
/// and'ed.
pub(super) fn logic(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [p, d, x, y, z, table, with] = operands(inst)?;
    let (p, with, table) = (b.pred(p)?, b.pred(with)?, table_of(table)?);
    let s = [b.source(x)?, b.source(y)?, b.source(z)?];
    let result = if p == Pred::TRUE { b.destination(d, 1)? } else { b.scratch(1) };
    // Most functions use only the first two operands.
    let of_two = is_zero(z).then(|| std::array::from_fn(|k| table >> (2 * k) & 1 == 1));
    b.emit(match of_two {
        Some([false, false, false, true]) => Op::Int2(Int2::And32, result, [s[0], s[1]]),
        Some([false, true, true, true]) => Op::Int2(Int2::Or32, result, [s[0], s[1]]),
        Some([false, true, true, false]) => Op::Int2(Int2::Xor32, result, [s[0], s[1]]),
        Some([true, false, true, false]) => Op::Int1(Int1::Not32, result, [s[1]]),
        Some([true, true, false, false]) => Op::Int1(Int1::Not32, result, [s[0]]),
        _ => Op::Lop3(result, s, table),
    });
    if p != Pred::TRUE {
        let combine = if inst.has(key::PREDICATE_AND) { Combine::And } else { Combine::Or };
        not_zero(b, [p, Pred::TRUE], result, (combine, with));
        if is_kept(d) {
            let d = b.destination(d, 1)?;
            b.emit(Op::Int1(Int1::Mov32, d, [result]));
        }
    }
    Ok(())
}

/// Tests whether `value` is not zero, combined with a predicate.
fn not_zero(b: &mut Builder<'_>, d: [Pred; 2], value: Reg, with: (Combine, Pred)) {
    let test = Comparison { relation: Relation::Ne, ty: CompareType::U32, ftz: false };
    let none = b.constant(0);
    b.emit(Op::Setp { test, s: [value, none], d, with });
}

pub(super) fn predicate_logic(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [p, q, x, y, z, first, second] = operands(inst)?;
    let d = [b.pred(p)?, b.pred(q)?];
    let s = [b.pred(x)?, b.pred(y)?, b.pred(z)?];
    b.emit(Op::PredLut { d, s, tables: [table_of(first)?, table_of(second)?] });
    Ok(())
}

/// `PLOP3` and `UPLOP3` of sign bits.
pub(super) fn sign_logic(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [p, q, x, y, z, first, second] = operands(inst)?;
    let none = b.constant(0);
    let test = Comparison { relation: Relation::Lt, ty: CompareType::S32, ftz: false };
    let mut s = [Pred::TRUE; 3];
    for (negative, operand) in s.iter_mut().zip([x, y, z]) {
        *negative = b.scratch_pred();
        let value = b.source(operand)?;
        b.emit(Op::Setp { test, s: [value, none], d: [*negative, Pred::TRUE], with: (Combine::And, Pred::TRUE) });
    }
    let d = [b.pred(p)?, b.pred(q)?];
    b.emit(Op::PredLut { d, s, tables: [table_of(first)?, table_of(second)?] });
    Ok(())
}

/// `PRMT`: its second operand is the selector.
pub(super) fn permute(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [d, x, selector, z] = operands(inst)?;
    let s = [b.source(x)?, b.source(z)?, b.source(selector)?];
    let d = b.destination(d, 1)?;
    // `UPRMT` has no modes.
    let mode = match inst.modifier(key::PERMUTATION).unwrap_or(Permutation::Any) {
        Permutation::Any => Int3::PrmtDefault,
        Permutation::Forward4 => Int3::PrmtForward4,
        Permutation::Backward4 => Int3::PrmtBackward4,
        Permutation::Replicate8 => Int3::PrmtReplicate8,
        Permutation::ClampLeft => Int3::PrmtEdgeClampLeft,
        Permutation::ClampRight => Int3::PrmtEdgeClampRight,
        Permutation::Replicate16 => Int3::PrmtReplicate16,
    };
    b.emit(match (mode, selector) {
        (Int3::PrmtDefault, SassOperand::Immediate { bits, .. }) if bits & 0xffff == 0x5410 => {
            Op::Int2(Int2::Pack16, d, [s[0], s[1]])
        }
        _ => Op::Int3(mode, d, s),
    });
    Ok(())
}

/// Number of predicates in a register's bits; PT and UPT have none.
const PREDICATE_BITS: u16 = 7;

/// Predicate number `n` of those that `P2R`, `R2P` and their uniform forms name.
fn predicate_of(inst: &SassInst, n: u16) -> Pred {
    Pred(if inst.row.uniform { UNIFORM_PREDICATES + n } else { n })
}

/// `P2R`, `UP2UR`: the predicates in a mask are written to a byte of the result; the rest is copied from another
/// register.
pub(super) fn predicates_to_register(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [d, _, rest, mask] = operands(inst)?;
    let shift = 8 * inst.modifier(key::BYTE).map_or(0, |byte| byte as u32);
    // A mask in a register may name any predicate.
    let named = match mask {
        SassOperand::Immediate { bits, .. } => bits as u32,
        _ => !0,
    };
    let none = b.constant(0);
    let d = b.destination(d, 1)?;
    if is_zero(rest) && named.count_ones() == 1 && named >> PREDICATE_BITS == 0 {
        let one = b.constant(named << shift);
        b.emit(Op::Selp { d, s: [one, none], wide: false, p: predicate_of(inst, named.trailing_zeros() as u16) });
        return Ok(());
    }
    let (gathered, bit) = (b.scratch(1), b.scratch(1));
    b.emit(Op::Int1(Int1::Mov32, gathered, [none]));
    for p in (0..PREDICATE_BITS).filter(|p| named >> p & 1 == 1) {
        let one = b.constant(1 << (u32::from(p) + shift));
        b.emit(Op::Selp { d: bit, s: [one, none], wide: false, p: predicate_of(inst, p) });
        b.emit(Op::Int2(Int2::Or32, gathered, [gathered, bit]));
    }
    let keep = mask_at(b, mask, shift)?;
    let other = b.source(rest)?;
    // The predicates where the mask has ones, otherwise the other register.
    const CHOOSE: u8 = 0xd8;
    b.emit(Op::Lop3(d, [other, gathered, keep], CHOOSE));
    Ok(())
}

/// The predicate mask of these at the bits of a byte.
fn mask_at(b: &mut Builder<'_>, mask: SassOperand, shift: u32) -> Lowered<Reg> {
    const BYTE: u32 = 0xff;
    if let SassOperand::Immediate { bits, .. } = mask {
        return Ok(b.constant((bits as u32 & BYTE) << shift));
    }
    let (mask, byte, amount) = (b.source(mask)?, b.constant(BYTE), b.constant(shift));
    let d = b.scratch(1);
    b.emit(Op::Int2(Int2::And32, d, [mask, byte]));
    b.emit(Op::Int2(Int2::Shl32, d, [d, amount]));
    Ok(d)
}

/// `R2P`, `UR2UP`: the predicates in a mask are set from the bits of a byte of the source.
pub(super) fn register_to_predicates(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [_, source, mask] = operands(inst)?;
    let shift = 8 * inst.modifier(key::BYTE).map_or(0, |byte| byte as u32);
    let SassOperand::Immediate { bits: mask, .. } = mask else {
        return Err("a mask of predicates in a register is not executable".into());
    };
    let source = b.source(source)?;
    let bit = b.scratch(1);
    for p in (0..PREDICATE_BITS).filter(|p| mask >> p & 1 == 1) {
        let one = b.constant(1 << (u32::from(p) + shift));
        b.emit(Op::Int2(Int2::And32, bit, [source, one]));
        not_zero(b, [predicate_of(inst, p), Pred::TRUE], bit, (Combine::And, Pred::TRUE));
    }
    Ok(())
}

/// The value of a special register.
#[derive(Clone, Copy, Debug)]
enum Reading {
    Special(Special),
    Value(u32),
    /// A word that combines parts: each with its lowest bit.
    Packed(&'static [(Special, u32)], u32),
}

/// Special registers by number. Numbers and packed layouts are from Mesa (`nak_private.h`;
/// `nak_nir_lower_system_values` extracts warp and SM from VIRTID and the SM count from VIRTCFG;
/// `nv50_ir_peephole.cpp` splits the packed TID). Warps per SM in VIRTCFG are as read on a Blackwell GPU of
/// 170 SMs and 48 warps: 0x2aa83020.
fn reading(number: u8) -> Option<Reading> {
    use Reading::{Packed, Value};
    const LOW: fn(u64) -> u32 = |x| x as u32;
    const HIGH: fn(u64) -> u32 = |x| (x >> 32) as u32;
    Some(Reading::Special(match number {
        0 => Special::Laneid,
        2 => return Some(Packed(&[(Special::Nsmid, 20), (Special::Nwarpid, 8)], WARP_LANES as u32)),
        3 => return Some(Packed(&[(Special::Smid, 20), (Special::Warpid, 8), (Special::Laneid, 0)], 0)),
        32 => return Some(Packed(&[(Special::TidZ, 26), (Special::TidY, 16), (Special::TidX, 0)], 0)),
        33 => Special::TidX,
        34 => Special::TidY,
        35 => Special::TidZ,
        37 => Special::CtaidX,
        38 => Special::CtaidY,
        39 => Special::CtaidZ,
        46 => return Some(Value(HIGH(LOCAL_WINDOW))),
        47 => return Some(Value(HIGH(SHARED_WINDOW))),
        48 => return Some(Value(LOW(SHARED_WINDOW))),
        49 | 53 => return Some(Value(WINDOW_BYTES as u32)),
        50 => Special::AllocatedSmemSize,
        52 => return Some(Value(LOW(LOCAL_WINDOW))),
        // The lowest stack pointer: unoptimised code traps below it.
        55 => return Some(Value(0)),
        56 => Special::LanemaskEq,
        57 => Special::LanemaskLt,
        58 => Special::LanemaskLe,
        59 => Special::LanemaskGt,
        60 => Special::LanemaskGe,
        67 => Special::Smid,
        80 => Special::Clock,
        81 => Special::ClockHi,
        82 => Special::GlobalTimerLo,
        83 => Special::GlobalTimerHi,
        136 => Special::Cluster(ClusterRegister::CtaRank),
        // Performance monitors read 0 here.
        100..=115 | 255 => return Some(Value(0)),
        _ => return None,
    }))
}

/// Writes a special register to `d`.
fn read_special(b: &mut Builder<'_>, number: u8, d: Reg) -> Lowered<()> {
    match reading(number).ok_or("this special register cannot be read here")? {
        Reading::Special(special) => b.emit(Op::Special(special, d)),
        Reading::Value(value) => {
            let value = b.constant(value);
            b.emit(Op::Int1(Int1::Mov32, d, [value]));
        }
        Reading::Packed(parts, rest) => {
            let (mut word, part) = (b.constant(rest), b.scratch(1));
            for (k, &(special, at)) in parts.iter().enumerate() {
                let (to, at) = (if k + 1 == parts.len() { d } else { b.scratch(1) }, b.constant(at));
                b.emit(Op::Special(special, part));
                b.emit(Op::Int3(Int3::ShlAdd32, to, [part, word, at]));
                word = to;
            }
        }
    }
    Ok(())
}

/// `S2R`.
pub(super) fn special(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [d, SassOperand::Special(number)] = operands(inst)? else { return Err("it has an unknown form".into()) };
    let d = b.destination(d, 1)?;
    read_special(b, number, d)
}

/// `CS2R`: 64 bits are two consecutive registers.
pub(super) fn wide_special(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [d, SassOperand::Special(number)] = operands(inst)? else { return Err("it has an unknown form".into()) };
    if !inst.has(key::WIDE) {
        let d = b.destination(d, 1)?;
        return read_special(b, number, d);
    }
    let d = b.destination(d, 2)?;
    match number {
        80 => b.emit(Op::Special(Special::Clock64, d)),
        82 => b.emit(Op::Special(Special::GlobalTimer, d)),
        255 => {
            let none = b.constant64(0);
            b.emit(Op::Int1(Int1::Mov64, d, [none]));
        }
        _ => return Err("this special register cannot be read in 64 bits here".into()),
    }
    Ok(())
}

/// `S2UR`: if lanes differ, the value of the first executing lane.
pub(super) fn uniform_special(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [d, SassOperand::Special(number)] = operands(inst)? else { return Err("it has an unknown form".into()) };
    let d = b.destination(d, 1)?;
    let varies = match reading(number) {
        Some(Reading::Special(special)) => special.varies(),
        Some(Reading::Packed(parts, _)) => parts.iter().any(|(special, _)| special.varies()),
        _ => false,
    };
    if !varies {
        return read_special(b, number, d);
    }
    let value = b.scratch(1);
    read_special(b, number, value)?;
    b.emit(Op::ReadFirst(d, value));
    Ok(())
}

/// `ULDC`. Its address need not be a multiple of the size: the assembler loads a parameter of one byte as a word at any
/// address and then takes the lowest byte.
pub(super) fn load_constant(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [d, SassOperand::Constant(constant)] = operands(inst)? else { return Err("it has an unknown form".into()) };
    if constant.index.is_some() {
        return super::memory::load_constant(b, inst);
    }
    let (bytes, signed) = match inst.modifier(key::SIZE) {
        Some(Size::U8) => (1, false),
        Some(Size::S8) => (1, true),
        Some(Size::U16) => (2, false),
        Some(Size::S16) => (2, true),
        Some(Size::B64) => (8, false),
        _ => (4, false),
    };
    let within = constant.offset.rem_euclid(4) as u16;
    let words = SassOperand::Constant(Constant { offset: constant.offset - i32::from(within), ..constant });
    let words = b.columns(words, (within + bytes).div_ceil(4))?;
    let extract = if signed { Int3::BfeS32 } else { Int3::BfeU32 };
    let shift = u32::from(8 * within);
    if bytes < 4 && within + bytes <= 4 {
        let s = [words, b.constant(shift), b.constant(u32::from(8 * bytes))];
        let d = b.destination(d, 1)?;
        b.emit(Op::Int3(extract, d, s));
        return Ok(());
    }
    let columns = bytes.div_ceil(4);
    let d = b.destination(d, columns)?;
    if within == 0 {
        b.emit(Op::Int1(if columns == 2 { Int1::Mov64 } else { Int1::Mov32 }, d, [words]));
        return Ok(());
    }
    let shift = b.constant(shift);
    let mut at = (d, words);
    for _ in 0..columns {
        b.emit(Op::Int3(Int3::ShfRightClamp, at.0, [at.1, at.1.next(), shift]));
        at = (at.0.next(), at.1.next());
    }
    if bytes == 2 {
        let (low, bits) = (b.constant(0), b.constant(16));
        b.emit(Op::Int3(extract, d, [d, low, bits]));
    }
    Ok(())
}
