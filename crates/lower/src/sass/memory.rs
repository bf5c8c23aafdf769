//! Loads, stores, atomics, asynchronous copies, constant loads.
//!
//! Addresses: with `.E` the base is a register pair. A uniform register in addition is a pair too, and the
//! base then `.64` or, zero-extended, `.U32`. From sm_80 on a set bit 76 (loads, stores) or 71 (atomics)
//! makes the uniform register a memory descriptor, which the decoder leaves out of the operands; it has no
//! effect here. Shared and local addresses are sums of 32 bits with a scaled base.
//!
//! 1. `ATOM` and `ATOMG` set a predicate where the operation was performed. Code for generic pointers
//!    continues with loops of its own where it was not, as in shared memory for types that only L2 adds (NVIDIA
//!    developer forum, topic 301822). Here every operation is performed in every space, so the predicate always
//!    holds.
//! 2. `ATOMS.CAST` returns one where it stored and zero elsewhere (same source). `.SPIN` lets hardware fail
//!    competing lanes; here only lanes with a failing comparison fail.
//! 3. `RED` takes generic addresses (CUDA binary utilities, instruction reference).
//! 4. `LDGSTS` with a predicate writes zeros where it does not hold (csarofeen/pytorch, pull request 2484).
//!    `.ZFILL`: the remainder of the global address by the size is the number of zero bytes at the end; compiled
//!    code encodes the bytes of `cp.async` this way, and uses the predicate for none.
//! 5. The effect of the predicate of a plain load is not published: it is refused.

use super::builder::{Builder, Lowered, offset_in_bank};
use super::operand::list;
use exec::access::{Address, Format, Transfer};
use exec::atomic::{Atomic, AtomicOp, AtomicType};
use exec::compare::{Combine, CompareType, Comparison, Relation};
use exec::int::{Int1, Int2, Int3};
use exec::lanes::{Pred, Reg};
use exec::op::Op;
use isa::{ALL_COPIES, Space};
use sass::decode::modifier::{self, IndexMode, QueriedSpace, Size, key};
use sass::decode::operand::{Constant, Memory, RZ, Register, URZ};
use sass::decode::{SassInst, SassOp, SassOperand};

/// The operands of a memory instruction, in the order of the row, without hidden predicates of loads.
#[derive(Default)]
struct Operands {
    predicates: Vec<SassOperand>,
    registers: Vec<SassOperand>,
    places: Vec<Memory>,
}

fn operands(inst: &SassInst) -> Operands {
    let mut found = Operands::default();
    for operand in inst.shown_operands() {
        match operand {
            SassOperand::Memory(memory) => found.places.push(memory),
            SassOperand::Register(_) => found.registers.push(operand),
            SassOperand::Predicate { .. } => found.predicates.push(operand),
            _ => {}
        }
    }
    found
}

/// The address `place` in `space`. Sums that the interpreter's form of addresses lacks are computed in a
/// scratch register first.
pub(super) fn address(b: &mut Builder<'_>, inst: &SassInst, space: Space, place: Memory) -> Lowered<Address> {
    let global = !matches!(space, Space::Shared | Space::Local);
    let wide = global && inst.modifier(key::WIDE_ADDRESS) != Some(false);
    let columns = if wide { 2 } else { 1 };
    let uniform = place.uniform.filter(|&u| u != URZ).map(Register::uniform);
    let uniform = uniform.map(|u| b.register(u, columns)).transpose()?;
    let base = if place.base == RZ {
        match uniform {
            Some(uniform) => uniform,
            None => b.register(Register::general(RZ), columns)?,
        }
    } else if wide {
        wide_sum(b, place, uniform)?
    } else {
        narrow_sum(b, place, uniform)?
    };
    Ok(Address { base, wide, frame: false, offset: place.offset.into() })
}

fn wide_sum(b: &mut Builder<'_>, place: Memory, uniform: Option<Reg>) -> Lowered<Reg> {
    let extended = place.suffix == ".U32";
    let base = b.register(Register::general(place.base), if extended { 1 } else { 2 })?;
    if !extended && uniform.is_none() {
        return Ok(base);
    }
    let d = b.scratch(2);
    let one = b.constant(1);
    b.emit(match uniform {
        None => Op::Int1(Int1::Zext64, d, [base]),
        Some(uniform) if extended => Op::Int3(Int3::MadWideU32, d, [base, one, uniform]),
        Some(uniform) => Op::Int2(Int2::Add64, d, [base, uniform]),
    });
    Ok(d)
}

fn narrow_sum(b: &mut Builder<'_>, place: Memory, uniform: Option<Reg>) -> Lowered<Reg> {
    let base = b.register(Register::general(place.base), 1)?;
    let scale = match place.suffix {
        ".X4" => 4,
        ".X8" => 8,
        ".X16" => 16,
        _ => 1,
    };
    if scale == 1 && uniform.is_none() {
        return Ok(base);
    }
    let (d, factor) = (b.scratch(1), b.constant(scale));
    b.emit(match uniform {
        None => Op::Int2(Int2::MulLo32, d, [base, factor]),
        Some(uniform) if scale == 1 => Op::Int2(Int2::Add32, d, [base, uniform]),
        Some(uniform) => Op::Int3(Int3::MadLo32, d, [base, factor, uniform]),
    });
    Ok(d)
}

/// The format that a load or store moves, and the number of columns.
pub(super) fn format(inst: &SassInst) -> Lowered<(Format, u16)> {
    let (bytes, count, signed) = match inst.modifier(key::SIZE) {
        Some(Size::U8) => (1, 1, false),
        Some(Size::S8) => (1, 1, true),
        Some(Size::U16) => (2, 1, false),
        Some(Size::S16) => (2, 1, true),
        Some(Size::B32) => (4, 1, false),
        Some(Size::B64) => (4, 2, false),
        Some(Size::B128 | Size::Uniform128) => (4, 4, false),
        None => return Err("its size is unknown".into()),
    };
    Ok((Format { bytes, count, signed, register_bits: 32 }, u16::from(count)))
}

/// `first` and the registers that follow it.
pub(super) fn consecutive(first: Reg) -> [Reg; 4] {
    [0, 1, 2, 3].map(|k| Reg(first.0 + k))
}

pub(super) fn load(b: &mut Builder<'_>, inst: &SassInst, space: Space) -> Lowered<()> {
    let Operands { predicates, registers, places } = operands(inst);
    let ([d], [place]) = (&registers[..], &places[..]) else { return Err("it has an unknown form".into()) };
    if !predicates.is_empty() {
        return Err("what the predicate of a load selects is not published".into());
    }
    let (format, columns) = format(inst)?;
    let address = address(b, inst, space, *place)?;
    let d = b.destination(*d, columns)?;
    b.emit(Op::Load(Transfer { space, format, address, registers: consecutive(d) }));
    Ok(())
}

pub(super) fn store(b: &mut Builder<'_>, inst: &SassInst, space: Space) -> Lowered<()> {
    let Operands { registers, places, .. } = operands(inst);
    let ([s], [place]) = (&registers[..], &places[..]) else { return Err("it has an unknown form".into()) };
    let (format, columns) = format(inst)?;
    let address = address(b, inst, space, *place)?;
    let s = b.columns(*s, columns)?;
    b.emit(Op::Store(Transfer { space, format, address, registers: consecutive(s) }));
    Ok(())
}

/// `LDC`, and `ULDC` with an index. Bank 0 is set by the launch; the others are in device memory.
pub(super) fn load_constant(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let operands = list(inst);
    let [d, SassOperand::Constant(Constant { bank, bindless: None, index, offset, .. })] = operands[..] else {
        return Err("it has an unknown form".into());
    };
    let index = index.filter(|r| !r.is_zero());
    if index.is_some() && !matches!(inst.modifier(key::INDEX_MODE), None | Some(IndexMode::Plain)) {
        return Err("only plain indices into constant banks are executable".into());
    }
    let within = offset.rem_euclid(4) as u32;
    if let (Format { bytes: 4, .. }, columns) = format(inst)?
        && index.is_none()
        && within != 0
    {
        return load_unaligned(b, d, (bank, offset), within, columns);
    }
    let index = index.map(|r| b.register(r, 1)).transpose()?;
    let (index, offset) = match index {
        None => (None, offset_in_bank(offset)),
        Some(index) if offset < 0 => {
            // The sum has 16 bits, as the offset, whose sign says nothing about which of the two is meant.
            let (sum, offset, all) = (b.scratch(1), b.constant(offset as u32), b.constant(0xffff));
            b.emit(Op::Int2(Int2::Add32, sum, [index, offset]));
            b.emit(Op::Int2(Int2::And32, sum, [sum, all]));
            (Some(sum), 0)
        }
        Some(index) => (Some(index), offset as u32),
    };
    let (space, address) = if bank == 0 {
        let base = index.unwrap_or_else(|| b.constant(0));
        (Space::Param, Address { base, wide: false, frame: false, offset: offset.into() })
    } else {
        let bank = b.bank_address(bank).ok_or_else(|| format!("the cubin has no constant bank {bank}"))?;
        let first = bank + u64::from(offset);
        let address = match index {
            None => Address { base: b.constant64(first), wide: true, frame: false, offset: 0 },
            Some(index) => {
                // The sum of index and offset has 32 bits. Sign extension gives the same result unless it is
                // 2 GiB or more, far outside any bank.
                let d = b.scratch(2);
                b.emit(Op::Int1(Int1::Sext64, d, [index]));
                Address { base: d, wide: true, frame: false, offset: first as i64 }
            }
        };
        (Space::Constant, address)
    };
    let (format, columns) = format(inst)?;
    let d = b.destination(d, columns)?;
    b.emit(Op::Load(Transfer { space, format, address, registers: consecutive(d) }));
    Ok(())
}

/// `LDC` of words at an address `within` bytes after a word's: the assembler loads the last parameter of one or two bytes as
/// a word, which extends beyond the parameters. Operands from a constant bank may.
fn load_unaligned(b: &mut Builder<'_>, d: SassOperand, from: (u8, i32), within: u32, columns: u16) -> Lowered<()> {
    let (bank, offset) = from;
    let words = b.bank(bank, offset - within as i32, columns + 1)?;
    let d = b.destination(d, columns)?;
    let shift = b.constant(8 * within);
    let mut at = (d, words);
    for _ in 0..columns {
        b.emit(Op::Int3(Int3::ShfRightClamp, at.0, [at.1, at.1.next(), shift]));
        at = (at.0.next(), at.1.next());
    }
    Ok(())
}

/// The operation of an atomic access; an `ATOMS.POPC.INC` has none and adds one per lane.
pub(super) fn atomic_op(operation: Option<modifier::Atomic>) -> Lowered<AtomicOp> {
    use modifier::Atomic::{Add, And, Cas, Cast, CastSpin, Dec, Exch, Inc, Max, Min, Or, SafeAdd, Xor};
    Ok(match operation {
        None | Some(Add) => AtomicOp::Add,
        Some(Min) => AtomicOp::Min,
        Some(Max) => AtomicOp::Max,
        Some(Inc) => AtomicOp::Inc,
        Some(Dec) => AtomicOp::Dec,
        Some(And) => AtomicOp::And,
        Some(Or) => AtomicOp::Or,
        Some(Xor) => AtomicOp::Xor,
        Some(Exch) => AtomicOp::Exch,
        Some(Cas | Cast | CastSpin) => AtomicOp::Cas,
        Some(SafeAdd) => return Err("atomic .SAFEADD is not executable".into()),
    })
}

/// Number of values of an atomic access.
fn atomic_count(ty: modifier::AtomicType) -> u8 {
    use modifier::AtomicType::{Bf16x4, Bf16x8, F16x4, F16x8, F32x2, F32x4};
    match ty {
        F32x2 | F16x4 | Bf16x4 => 2,
        F32x4 | F16x8 | Bf16x8 => 4,
        _ => 1,
    }
}

/// The type of each value of an atomic access, if the operation exists for it.
pub(super) fn atomic_type(ty: modifier::AtomicType, op: AtomicOp) -> Option<AtomicType> {
    let ty = match ty {
        modifier::AtomicType::U32 => AtomicType::U32,
        modifier::AtomicType::S32 => AtomicType::S32,
        modifier::AtomicType::U64 => AtomicType::U64,
        modifier::AtomicType::S64 => AtomicType::S64,
        modifier::AtomicType::F32 | modifier::AtomicType::F32x2 | modifier::AtomicType::F32x4 => AtomicType::F32,
        modifier::AtomicType::F64 => AtomicType::F64,
        modifier::AtomicType::F16x2 | modifier::AtomicType::F16x4 | modifier::AtomicType::F16x8 => AtomicType::F16x2,
        modifier::AtomicType::Bf16x2 | modifier::AtomicType::Bf16x4 | modifier::AtomicType::Bf16x8 => {
            AtomicType::Bf16x2
        }
        modifier::AtomicType::F16 => AtomicType::F16,
        modifier::AtomicType::Bf16 => AtomicType::Bf16,
    };
    let integer = matches!(ty, AtomicType::U32 | AtomicType::S32 | AtomicType::U64 | AtomicType::S64);
    let fits = match op {
        AtomicOp::Add => true,
        AtomicOp::Min | AtomicOp::Max if !integer => !matches!(ty, AtomicType::F32 | AtomicType::F64),
        AtomicOp::Inc | AtomicOp::Dec => ty == AtomicType::U32,
        _ => integer,
    };
    fits.then_some(ty)
}

/// `ATOMS.ARRIVE`; `ARRIVES.LDGSTSBAR`, which waits for the copies of its warp.
pub(super) fn arrive(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let Operands { registers, places, .. } = operands(inst);
    let ([] | [_], [place]) = (&registers[..], &places[..]) else {
        return Err("it has an unknown form".into());
    };
    if b.sm >= 90 || inst.has(key::TRANSACTION_COUNT) {
        return Err("compilers have no such arrival on this architecture".into());
    }
    let address = address(b, inst, Space::Shared, *place)?;
    let d = registers.first().copied().filter(|&d| !matches!(d, SassOperand::Register(r) if r.is_zero()));
    let d = d.map(|d| b.destination(d, 2)).transpose()?;
    let (space, op, ty, one) = (Space::Shared, AtomicOp::Arrive, AtomicType::U64, b.constant64(1));
    b.emit(Op::Atomic(Atomic { space, op, ty, count: 1, d, unused: false, address, b: one, c: None }));
    if inst.row.op == SassOp::ArriveS {
        b.emit(Op::AsyncWait(ALL_COPIES));
    }
    Ok(())
}

pub(super) fn atomic(b: &mut Builder<'_>, inst: &SassInst, space: Space) -> Lowered<()> {
    let Operands { predicates, registers, places } = operands(inst);
    let [place] = places[..] else { return Err("it has an unknown form".into()) };
    let operation = inst.modifier(key::ATOMIC);
    let op = atomic_op(operation)?;
    let ty = inst.modifier(key::ATOMIC_TYPE).and_then(|ty| atomic_type(ty, op));
    let ty = ty.ok_or_else(|| {
        let (op, ty) = (inst.text_of(key::ATOMIC), inst.text_of(key::ATOMIC_TYPE));
        format!("atomic {op} of type `{ty}` is not executable")
    })?;
    let count = inst.modifier(key::ATOMIC_TYPE).map_or(1, atomic_count);
    let columns = u16::from(ty.bytes() / 4 * count);
    let reduction = matches!(inst.row.op, SassOp::Red | SassOp::RedG);
    let (d, sources) = if reduction { (None, &registers[..]) } else { (registers.first(), &registers[1..]) };
    let sources = sources.iter().map(|&s| b.columns(s, columns)).collect::<Lowered<Vec<Reg>>>()?;
    let (operand, swapped) = match sources[..] {
        [operand] => (operand, None),
        [compared, swapped] if op == AtomicOp::Cas => (compared, Some(swapped)),
        [] if inst.row.op == SassOp::AtomSPopcInc => (b.constant(1), None),
        _ => return Err("it has an unknown form".into()),
    };
    let address = address(b, inst, space, place)?;
    let d = d.copied().filter(|&d| !matches!(d, SassOperand::Register(r) if r.is_zero()));
    let tests = matches!(operation, Some(modifier::Atomic::Cast | modifier::Atomic::CastSpin));
    let old = match d {
        None => None,
        Some(_) if tests => Some(b.scratch(columns)),
        Some(d) => Some(b.destination(d, columns)?),
    };
    b.emit(Op::Atomic(Atomic { space, op, ty, count, d: old, unused: false, address, b: operand, c: swapped }));
    if let (Some(d), Some(old), true) = (d, old, tests) {
        let ty = if columns == 2 { CompareType::U64 } else { CompareType::U32 };
        let test = Comparison { relation: Relation::Eq, ty, ftz: false };
        let d = b.destination(d, columns)?;
        b.emit(Op::Set { test, s: [old, operand], d, holds: 1, with: (Combine::And, Pred::TRUE) });
        if columns == 2 {
            let none = b.constant(0);
            b.emit(Op::Int1(Int1::Mov32, d.next(), [none]));
        }
    }
    for p in predicates {
        let done = b.pred(p)?;
        b.emit(Op::PredLogic(Combine::And, done, [Pred::TRUE, Pred::TRUE]));
    }
    Ok(())
}

pub(super) fn copy(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let Operands { predicates, places, .. } = operands(inst);
    let [shared, global] = places[..] else { return Err("it has an unknown form".into()) };
    let bytes = format(inst)?.0.total_bytes();
    let shared = address(b, inst, Space::Shared, shared)?;
    let global = address(b, inst, Space::Global, global)?;
    let (global, source_bytes) = if inst.has(key::ZERO_FILL) { filled_up(b, global, bytes) } else { (global, None) };
    let ignore = predicates.first().map(|&p| b.pred(p)).transpose()?.map(Pred::not);
    b.emit(Op::AsyncCopy { shared, global, bytes, source_bytes, ignore });
    Ok(())
}

/// The aligned address, and the number of bytes read, of a copy that is filled up with zeros.
fn filled_up(b: &mut Builder<'_>, global: Address, bytes: u8) -> (Address, Option<Reg>) {
    let [offset, within, all] = [global.offset as u32, u32::from(bytes) - 1, bytes.into()].map(|x| b.constant(x));
    let (zeros, wide, aligned, count) = (b.scratch(1), b.scratch(2), b.scratch(2), b.scratch(1));
    b.emit(Op::Int2(Int2::Add32, zeros, [global.base, offset]));
    b.emit(Op::Int2(Int2::And32, zeros, [zeros, within]));
    b.emit(Op::Int1(Int1::Zext64, wide, [zeros]));
    b.emit(Op::Int2(Int2::Sub64, aligned, [global.base, wide]));
    b.emit(Op::Int2(Int2::Sub32, count, [all, zeros]));
    (Address { base: aligned, ..global }, Some(count))
}

pub(super) fn query_space(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let Operands { predicates, registers, places } = operands(inst);
    let ([p], [place]) = (&predicates[..], &places[..]) else { return Err("it has an unknown form".into()) };
    if registers.iter().any(|&r| !matches!(r, SassOperand::Register(r) if r.is_zero())) {
        return Err("what it writes to a register is not published".into());
    }
    let space = match inst.modifier(key::SPACE) {
        Some(QueriedSpace::Global) => Space::Global,
        Some(QueriedSpace::Local) => Space::Local,
        Some(QueriedSpace::Shared | QueriedSpace::Distributed) | None => Space::Shared,
    };
    let Address { base, wide, offset, .. } = address(b, inst, Space::Generic, *place)?;
    let mut a = base;
    if !wide {
        a = b.scratch(2);
        b.emit(Op::Int1(Int1::Zext64, a, [base]));
    }
    if offset != 0 {
        let (sum, offset) = (b.scratch(2), b.constant64(offset as u64));
        b.emit(Op::Int2(Int2::Add64, sum, [a, offset]));
        a = sum;
    }
    let d = b.pred(*p)?;
    let of_cluster = inst.modifier(key::SPACE) == Some(QueriedSpace::Distributed);
    b.emit(Op::Isspacep { d, space, of_cluster, a });
    Ok(())
}
