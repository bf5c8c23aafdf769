//! `IMNMX` and Hopper's variants: the lesser where the predicate holds, otherwise the greater, of words or of
//! both 16-bit halves.
//!
//! The predicates of `VIMNMX` report whether the first operand was selected in the lower and in the upper
//! half: compiled code uses it for `__vibmax_s16x2`, whose flags the CUDA Math API defines as `a >= b`, and
//! similar functions.

use super::add;
use crate::sass::builder::{Builder, Lowered};
use crate::sass::operand::{is_kept, operands, sign_of};
use exec::compare::{Combine, CompareType, Comparison, Relation};
use exec::int::{Int1, Int2};
use exec::lanes::{Pred, Reg};
use exec::op::Op;
use sass::decode::modifier::{ExtremeType, key};
use sass::decode::{SassInst, SassOp, SassOperand};

/// One in both halves.
const ONES: u32 = 0x0001_0001;

/// Type of the comparison.
#[derive(Clone, Copy, Debug)]
struct Kind {
    signed: bool,
    halves: bool,
}

impl Kind {
    fn of(inst: &SassInst) -> Self {
        let (signed, halves) = match inst.modifier(key::EXTREME_TYPE) {
            None => (inst.has(key::SIGNED), false),
            Some(ExtremeType::U32) => (false, false),
            Some(ExtremeType::S32) => (true, false),
            Some(ExtremeType::U16x2) => (false, true),
            Some(ExtremeType::S16x2) => (true, true),
        };
        Self { signed, halves }
    }

    fn least(self) -> Int2 {
        match (self.halves, self.signed) {
            (false, false) => Int2::MinU32,
            (false, true) => Int2::MinS32,
            (true, false) => Int2::MinU16x2,
            (true, true) => Int2::MinS16x2,
        }
    }

    fn greatest(self) -> Int2 {
        match (self.halves, self.signed) {
            (false, false) => Int2::MaxU32,
            (false, true) => Int2::MaxS32,
            (true, false) => Int2::MaxU16x2,
            (true, true) => Int2::MaxS16x2,
        }
    }
}

pub(crate) fn extreme(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let list: Vec<SassOperand> = inst.operands().collect();
    let [d, ref middle @ .., p] = list[..] else { return Err("it has an unknown form".into()) };
    let (choices, sources): (Vec<SassOperand>, Vec<SassOperand>) =
        middle.iter().partition(|o| matches!(o, SassOperand::Predicate { .. }));
    let (kind, p) = (Kind::of(inst), b.pred(p)?);
    let mut sources = &sources[..];
    let mut values = Vec::new();
    if inst.row.op == SassOp::VIAddMnMx {
        let sum = b.scratch(1);
        match kind.halves {
            true => sum16x2(b, sum, [sources[0], sources[1]])?,
            false => add::sum(b, sum, &sources[..2])?,
        }
        values.push(sum);
        sources = &sources[2..];
    }
    for &operand in sources {
        values.push(b.source(operand)?);
    }
    let choices = choices.into_iter().map(|q| b.pred(q)).collect::<Lowered<Vec<Pred>>>()?;
    let chosen = choices.iter().any(|&q| q != Pred::TRUE);
    let (relu, last) = (inst.has(key::RELU), is_kept(d));
    let d = b.destination(d, 1)?;
    if !relu && !chosen {
        choose(b, kind, p, &values, d);
        return Ok(());
    }
    let result = b.scratch(1);
    choose(b, kind, p, &values, result);
    if chosen {
        if !kind.halves || relu {
            return Err("the meaning of its predicates is not published".into());
        }
        // The destination may be a source.
        let differ = b.scratch(1);
        b.emit(Op::Int2(Int2::Xor32, differ, [result, values[0]]));
        for (k, &q) in choices.iter().enumerate() {
            let (part, mask) = (b.scratch(1), b.constant(0xffff << (16 * k)));
            b.emit(Op::Int2(Int2::And32, part, [differ, mask]));
            let test = Comparison { relation: Relation::Eq, ty: CompareType::U32, ftz: false };
            let zero = b.constant(0);
            b.emit(Op::Setp { test, s: [part, zero], d: [q, Pred::TRUE], with: (Combine::And, Pred::TRUE) });
        }
    }
    if last {
        let zero = b.constant(0);
        b.emit(match relu {
            true => Op::Int2(Kind { signed: true, ..kind }.greatest(), d, [result, zero]),
            false => Op::Int1(Int1::Mov32, d, [result]),
        });
    }
    Ok(())
}

/// `d` = the least value where `p` holds, otherwise the greatest.
fn choose(b: &mut Builder<'_>, kind: Kind, p: Pred, values: &[Reg], d: Reg) {
    let of_all = |b: &mut Builder<'_>, op: Int2, d: Reg| {
        let mut value = values[0];
        for (k, &other) in values.iter().enumerate().skip(1) {
            let to = if k + 1 == values.len() { d } else { b.scratch(1) };
            b.emit(Op::Int2(op, to, [value, other]));
            value = to;
        }
    };
    if p.number().is_none() {
        of_all(b, if p.is_negated() { kind.greatest() } else { kind.least() }, d);
        return;
    }
    let pair = [b.scratch(1), b.scratch(1)];
    of_all(b, kind.least(), pair[0]);
    of_all(b, kind.greatest(), pair[1]);
    b.emit(Op::Selp { d, s: pair, wide: false, p });
}

/// `d` = sum of two operands in each half; a negation applies to each half.
fn sum16x2(b: &mut Builder<'_>, d: Reg, operands: [SassOperand; 2]) -> Lowered<()> {
    let mut s = [Reg(0); 2];
    for (s, operand) in s.iter_mut().zip(operands) {
        *s = b.source(operand)?;
        if sign_of(operand).negate {
            let (minus, ones) = (b.scratch(1), b.constant(ONES));
            b.emit(Op::Int1(Int1::Not32, minus, [*s]));
            b.emit(Op::Int2(Int2::Add16x2, minus, [minus, ones]));
            *s = minus;
        }
    }
    b.emit(Op::Int2(Int2::Add16x2, d, s));
    Ok(())
}

/// `VIADD`.
pub(crate) fn viadd(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [d, x, y] = operands(inst)?;
    let d = b.destination(d, 1)?;
    if inst.has(key::PAIRS) { sum16x2(b, d, [x, y]) } else { add::sum(b, d, &[x, y]) }
}
