//! Textures and surfaces.
//!
//! The order of coordinates is the assembler's, found by compiling each form (CUDA 11.8):
//!
//! 1. `TEX`, `TLD` and `TLD4` name two groups of consecutive registers. The first holds the layer, if there
//!    are layers, and the coordinates; the second holds the handle (with `.B`), then the level of detail.
//! 2. With `.SCR` all of these are divided between the two groups in the order layer, coordinates, handle,
//!    level; the first group gets the larger half.
//! 3. Of the channels in the mask two go to the last named destination, the others to the first.
//! 4. Surface accesses have x in bytes, y, z, and the layer last.
//! 5. Handles are words. Handles of texture and surface references follow the parameters in constant bank 0,
//!    where relocations name the references.

use super::builder::{Builder, Lowered};
use super::memory::{consecutive, format};
use super::operand::list;
use exec::image::{Fetch, FetchKind, Outside, Query, QueryKind, SurfaceAccess};
use exec::int::Int1;
use exec::lanes::Reg;
use exec::op::Op;
use isa::Shape;
use sass::decode::modifier::{self, Level, Offsets, Surface, key};
use sass::decode::operand::{PT, RZ, Register};
use sass::decode::row::bits;
use sass::decode::{SassInst, SassOp, SassOperand};

const UNKNOWN: &str = "it has an unknown form";

/// `TLD4`.
pub(super) fn gather(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    fetch(b, inst, FetchKind::Gather(inst.modifier(key::CHANNEL).map_or(0, |channel| channel as u8)))
}

/// Register number `k` from `base` on.
fn nth(b: &mut Builder<'_>, base: u8, k: usize) -> Lowered<Reg> {
    let index = if base == RZ { RZ } else { base.checked_add(k as u8).ok_or("it names registers beyond the last")? };
    b.register(Register::general(index), 1)
}

/// The handle, if it is in a constant bank or a uniform register; it then follows other operands.
fn handle(b: &mut Builder<'_>, operands: &[SassOperand]) -> Lowered<Reg> {
    match *operands {
        [SassOperand::Immediate { bits: bank, .. }, SassOperand::Immediate { bits: word, .. }, ..] => {
            b.handle(bank as u8, 4 * word as i32)
        }
        [SassOperand::Register(r), SassOperand::Immediate { bits: 0, .. }, ..] if r.uniform => b.register(r, 1),
        _ => Err(UNKNOWN.into()),
    }
}

fn shape(number: u64) -> Lowered<Shape> {
    Ok(match number {
        0 => Shape::D1,
        1 => Shape::D2,
        2 => Shape::D3,
        3 => Shape::Cube,
        4 => Shape::Layered1,
        5 => Shape::Layered2,
        7 => Shape::LayeredCube,
        _ => return Err("layers of three dimensions are not executable".into()),
    })
}

/// Destinations: up to two channels starting at `d`, the others starting at `d2`.
fn destinations(b: &mut Builder<'_>, [d2, d]: [SassOperand; 2], count: u16) -> Lowered<Vec<Reg>> {
    let mut all = Vec::new();
    for (first, columns) in [(d, count.min(2)), (d2, count.saturating_sub(2))] {
        if columns > 0 {
            let first = b.destination(first, columns)?;
            all.extend((0..columns).map(|k| Reg(first.0 + k)));
        }
    }
    Ok(all)
}

pub(super) fn fetch(b: &mut Builder<'_>, inst: &SassInst, kind: FetchKind) -> Lowered<()> {
    let operands = list(inst);
    let [
        SassOperand::Predicate { index, .. },
        d2,
        d,
        SassOperand::Register(first),
        SassOperand::Register(second),
        rest @ ..,
    ] = &operands[..]
    else {
        return Err(UNKNOWN.into());
    };
    if *index != PT {
        return Err("a predicate for unmapped memory is not executable".into());
    }
    let refused = [
        (!matches!(inst.modifier(key::OFFSETS), None | Some(Offsets::None)), "offsets"),
        (inst.has(key::DEPTH), "depth comparison"),
        (inst.has(key::MULTISAMPLE), "samples of texels"),
    ];
    if let Some((_, what)) = refused.into_iter().find(|(has, _)| *has) {
        return Err(format!("texture reads with {what} are not executable"));
    }
    let level = match inst.modifier(key::LEVEL) {
        Some(Level::Given) => true,
        None | Some(Level::Automatic | Level::Zero) => false,
        _ => return Err("a bias of the level of detail is not executable".into()),
    };
    let shape = shape(bits(61, 3).get(inst.word))?;
    let bindless = inst.has(key::BINDLESS);
    let (coordinates, of_handle, of_level) = (shape.coordinates(), usize::from(bindless), usize::from(level));
    let count = coordinates + of_handle + of_level;
    let scattered = inst.has(key::SCATTERED);
    let in_first = if scattered { count.div_ceil(2) } else { coordinates };
    let mut sources = Vec::new();
    for k in 0..count {
        let (base, k) = if k < in_first { (first.index, k) } else { (second.index, k - in_first) };
        sources.push(nth(b, base, k)?);
    }
    let handle = if bindless { sources.remove(coordinates) } else { handle(b, rest)? };
    let mut at = [Reg(0); 5];
    at[..sources.len()].copy_from_slice(&sources);
    let channels = bits(72, 4).get(inst.word) as u8;
    let results = destinations(b, [*d2, *d], channels.count_ones() as u16)?;
    let mut d = [Reg(0); 4];
    let kept = (0..4).filter(|k| channels >> k & 1 == 1);
    kept.zip(results).for_each(|(k, r): (usize, Reg)| d[k] = r);
    b.emit(Op::Fetch(Fetch { kind, shape, handle, wide: false, at, level, channels, d }));
    Ok(())
}

/// `TXQ`: width, height, depth or layers, number of levels.
pub(super) fn query(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let operands = list(inst);
    let [d2, d, _, SassOperand::Text("TEX_HEADER_DIMENSION"), rest @ ..] = &operands[..] else {
        return Err("only queries of sizes are executable here".into());
    };
    let handle = handle(b, rest)?;
    let channels = bits(72, 4).get(inst.word);
    let results = destinations(b, [*d2, *d], channels.count_ones() as u16)?;
    let kinds = [Some(QueryKind::Width), Some(QueryKind::Height), Some(QueryKind::Depth), None];
    let kept = (0..4).filter(|k| channels >> k & 1 == 1).map(|k| kinds[k]);
    for (kind, d) in kept.zip(results) {
        let one = b.constant(1);
        b.emit(match kind {
            Some(kind) => Op::Query(Query { kind, handle, wide: false, d }),
            None => Op::Int1(Int1::Mov32, d, [one]),
        });
    }
    Ok(())
}

pub(super) fn surface(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    if !inst.has(key::IN_BYTES) {
        return Err("surface accesses that count elements are not executable".into());
    }
    let operands = list(inst);
    let store = inst.row.op == SassOp::SuSt;
    let (data, place, rest) = match &operands[..] {
        [SassOperand::Memory(place), data, rest @ ..] if store => (*data, *place, rest),
        [SassOperand::Predicate { index: PT, .. }, data, SassOperand::Memory(place), rest @ ..] => {
            (*data, *place, rest)
        }
        _ => return Err(UNKNOWN.into()),
    };
    let shape = match inst.modifier(key::SURFACE) {
        Some(Surface::D1 | Surface::Buffer) => Shape::D1,
        Some(Surface::Array1) => Shape::Layered1,
        Some(Surface::D2) => Shape::D2,
        Some(Surface::Array2) => Shape::Layered2,
        Some(Surface::D3) | None => Shape::D3,
    };
    let outside = match inst.modifier(key::OUTSIDE) {
        Some(modifier::Outside::Ignore) => Outside::Zero,
        Some(modifier::Outside::Clamp) => Outside::Clamp,
        Some(modifier::Outside::Trap) | None => Outside::Trap,
    };
    let mut at = [Reg(0); 3];
    for (k, r) in at[..shape.coordinates()].iter_mut().enumerate() {
        *r = nth(b, place.base, k)?;
    }
    let handle = match rest {
        [SassOperand::Register(r)] if !r.uniform => b.register(*r, 1)?,
        _ => handle(b, rest)?,
    };
    let (format, columns) = format(inst)?;
    let first = if store { b.columns(data, columns)? } else { b.destination(data, columns)? };
    let registers = consecutive(first);
    b.emit(Op::Surface(SurfaceAccess { store, outside, shape, handle, wide: false, at, format, registers }));
    Ok(())
}
