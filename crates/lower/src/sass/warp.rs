//! Exchange between lanes, and between lanes and uniform registers.
//!
//! The lanes that execute an instruction are its group: members of a `.sync` mask have met there by a
//! `WARPSYNC`, or by branches that the compiler knows to be uniform.

use super::builder::{Builder, Lowered};
use super::operand::{is_kept, operands};
use exec::compare::{Combine, CompareType, Comparison, Relation};
use exec::lanes::Pred;
use exec::op::Op;
use exec::operand::Destination;
use exec::shuffle::{Redux, ShuffleMode, Vote};
use sass::decode::modifier::{self, Reduction, Shuffle, key};
use sass::decode::operand::{Register, URZ};
use sass::decode::{SassInst, SassOp, SassOperand};

pub(super) fn shuffle(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [p, d, value, lane, segment] = operands(inst)?;
    let mode = match inst.modifier(key::SHUFFLE) {
        Some(Shuffle::Index) => ShuffleMode::Index,
        Some(Shuffle::Up) => ShuffleMode::Up,
        Some(Shuffle::Down) => ShuffleMode::Down,
        Some(Shuffle::Butterfly) | None => ShuffleMode::Butterfly,
    };
    let s = [b.source(value)?, b.source(lane)?, b.source(segment)?];
    let (p, d) = (b.pred(p)?, b.destination(d, 1)?);
    b.emit(Op::Shuffle { mode, d, p, s, members: None });
    Ok(())
}

/// `VOTE`: the ballot to a register and the result to a predicate; `VOTEU`: to uniform ones.
pub(super) fn vote(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [ballot, answer, votes] = operands(inst)?;
    let kind = match inst.modifier(key::VOTE) {
        Some(modifier::Vote::All) => Vote::All,
        Some(modifier::Vote::Any) => Vote::Any,
        Some(modifier::Vote::Equal) | None => Vote::Uniform,
    };
    let uniform = inst.row.op == SassOp::VoteU;
    let (answer, votes) = (b.pred(answer)?, b.pred(votes)?);
    let members = b.constant(!0);
    if is_kept(ballot) {
        let d = b.destination(ballot, 1)?;
        let value = if uniform { b.scratch(1) } else { d };
        b.emit(Op::Vote { kind: Vote::Ballot, d: Destination::Reg(value), p: votes, members, waits: false });
        if uniform {
            b.emit(Op::ReadFirst(d, value));
        }
    }
    if answer != Pred::TRUE {
        let value = if uniform { b.scratch_pred() } else { answer };
        b.emit(Op::Vote { kind, d: Destination::Pred(value), p: votes, members, waits: false });
        if uniform {
            b.emit(Op::AnyLane(answer, value));
        }
    }
    Ok(())
}

pub(super) fn match_lanes(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let all = !inst.has(key::ANY);
    let (p, [d, value]) = if all {
        let [p, d, value] = operands(inst)?;
        (b.pred(p)?, [d, value])
    } else {
        (Pred::TRUE, operands(inst)?)
    };
    let wide = inst.has(key::WIDE);
    let a = if wide { b.source64(value)? } else { b.source(value)? };
    let d = b.destination(d, 1)?;
    let members = b.constant(!0);
    b.emit(Op::Match { all, wide, d, p, a, members });
    Ok(())
}

/// `R2UR`.
pub(super) fn to_uniform(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [p, d, s] = operands(inst)?;
    let (p, s, d) = (b.pred(p)?, b.source(s)?, b.destination(d, 1)?);
    b.emit(Op::ReadFirst(d, s));
    if p != Pred::TRUE {
        // The lanes with another value, for compilers' loops over the values of lanes.
        let test = Comparison { relation: Relation::Ne, ty: CompareType::U32, ftz: false };
        let with = if inst.has(key::OR) { (Combine::Or, p) } else { (Combine::And, Pred::TRUE) };
        b.emit(Op::Setp { test, s: [s, d], d: [p, Pred::TRUE], with });
    }
    Ok(())
}

pub(super) fn elect(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [p, d, candidates] = operands(inst)?;
    let members = match candidates {
        SassOperand::Register(Register { index, sign, .. }) if index == URZ && sign.invert => b.constant(!0),
        SassOperand::Register(_) => b.int_source(candidates)?,
        _ if b.pred(candidates)? == Pred::TRUE => b.constant(!0),
        _ => return Err("candidates by a predicate are not executable here".into()),
    };
    let (p, value) = (b.pred(p)?, b.scratch(1));
    b.emit(Op::Elect { d: Some(value), p, members });
    if is_kept(d) {
        let d = b.destination(d, 1)?;
        b.emit(Op::ReadFirst(d, value));
    }
    Ok(())
}

pub(super) fn reduce(b: &mut Builder<'_>, inst: &SassInst) -> Lowered<()> {
    let [d, s] = operands(inst)?;
    let op = match (inst.modifier(key::REDUCTION), inst.has(key::SIGNED)) {
        (Some(Reduction::And), _) => Redux::And,
        (Some(Reduction::Or), _) => Redux::Or,
        (Some(Reduction::Xor), _) => Redux::Xor,
        (Some(Reduction::Sum), _) => Redux::Add,
        (Some(Reduction::Min), false) => Redux::MinU32,
        (Some(Reduction::Min), true) => Redux::MinS32,
        (Some(Reduction::Max), false) => Redux::MaxU32,
        (Some(Reduction::Max), true) => Redux::MaxS32,
        (None, _) => return Err("it has an unknown operation".into()),
    };
    let s = b.source(s)?;
    let (value, d) = (b.scratch(1), b.destination(d, 1)?);
    let members = b.constant(!0);
    b.emit(Op::Redux(op, value, [s, members]));
    b.emit(Op::ReadFirst(d, value));
    Ok(())
}
