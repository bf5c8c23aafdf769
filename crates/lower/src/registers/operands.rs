//! The operands of operations as places, so that they can be given other registers.

use exec::access::{Address, Transfer};
use exec::kernel::{CallSite, Callee, Place};
use exec::lanes::{Pred, Reg};
use exec::op::Op;
use exec::operand::Destination;
use exec::tensor::MatrixOp;

/// A place in an operation that names a register or a predicate.
pub(super) enum Operand<'a> {
    Reg(&'a mut Reg),
    Pred(&'a mut Pred),
}

/// Tells `f` each place of `op` that it reads or writes. Those of matrices and calls are in their
/// tables: [`of_matrix`], [`of_call`].
pub(super) fn of_op(op: &mut Op, f: &mut impl FnMut(Operand<'_>)) {
    match op {
        Op::Nop
        | Op::AsyncCommit
        | Op::AsyncWait(_)
        | Op::Fence
        | Op::FenceCta
        | Op::Branch { .. }
        | Op::Call(_)
        | Op::Return
        | Op::Exit
        | Op::Trap
        | Op::Matrix(_) => {}
        // Machine code has its registers.
        Op::Sequence(..) | Op::Steer(_) => {}
        Op::Int1(_, d, s) => row(d, s, f),
        Op::Int2(_, d, s) => row(d, s, f),
        Op::Int3(_, d, s) => row(d, s, f),
        Op::Int4(_, d, s) => row(d, s, f),
        Op::Float1(_, _, d, s) => row(d, s, f),
        Op::Float2(_, _, d, s) => row(d, s, f),
        Op::Float3(_, _, d, s) => row(d, s, f),
        Op::Convert(_, d, s) => row(d, s, f),
        Op::Lop3(d, s, _) | Op::Video(_, d, s) => row(d, s, f),
        Op::Add3 { d, s, carry_in, carry_out, .. } => {
            row(d, s, f);
            predicates(carry_out, f);
            carry_in.iter_mut().for_each(|p| predicates(p, f));
        }
        Op::Carry { d, s, carry, .. } => {
            row(d, s, f);
            f(Operand::Pred(carry));
        }
        Op::Cvt(_, d, s) | Op::ReadFirst(d, s) => row(d, std::slice::from_mut(s), f),
        Op::Redux(_, d, s) => row(d, s, f),
        // Operands that a conversion does not use are others of its own: it fetches them all.
        Op::PackedCvt(_, d, s) => row(d, s, f),
        Op::Pack { d, s, parts, .. } => row(d, &mut s[..usize::from(*parts)], f),
        Op::Unpack { d, s, parts, .. } => {
            d[..usize::from(*parts)].iter_mut().flatten().for_each(|d| f(Operand::Reg(d)));
            f(Operand::Reg(s));
        }
        Op::Setp { s, d, with, .. } => {
            predicates(d, f);
            registers(s, f);
            f(Operand::Pred(&mut with.1));
        }
        Op::Set { s, d, with, .. } => {
            row(d, s, f);
            f(Operand::Pred(&mut with.1));
        }
        Op::Selp { d, s, p, .. } => {
            row(d, s, f);
            f(Operand::Pred(p));
        }
        Op::Testp { d, a, .. } | Op::Isspacep { d, a, .. } => {
            f(Operand::Pred(d));
            f(Operand::Reg(a));
        }
        Op::PredLogic(_, d, s) => {
            f(Operand::Pred(d));
            predicates(s, f);
        }
        Op::PredLut { d, s, .. } => {
            predicates(d, f);
            predicates(s, f);
        }
        Op::AnyLane(d, s) => predicates([d, s], f),
        Op::Special(_, d) | Op::FrameAddress { d, .. } | Op::ActiveMask(d) => f(Operand::Reg(d)),
        Op::Load(t) | Op::FrameLoad(t) | Op::Store(t) | Op::FrameStore(t) => {
            registers(elements(t), f);
            address(&mut t.address, f);
        }
        Op::Atomic(a) => {
            registers(&mut a.d, f);
            address(&mut a.address, f);
            f(Operand::Reg(&mut a.b));
            registers(&mut a.c, f);
        }
        Op::Fetch(fetch) => fetch.places(&mut |r| f(Operand::Reg(r))),
        Op::Surface(access) => access.places(&mut |r| f(Operand::Reg(r))),
        Op::Query(q) => row(&mut q.d, std::slice::from_mut(&mut q.handle), f),
        Op::AsyncCopy { shared, global, source_bytes, ignore, .. } => {
            address(shared, f);
            address(global, f);
            registers(source_bytes, f);
            predicates(ignore, f);
        }
        Op::Shuffle { d, p, s, .. } => {
            row(d, s, f);
            f(Operand::Pred(p));
        }
        Op::Vote { d, p, members, .. } => {
            destination(d, f);
            f(Operand::Pred(p));
            f(Operand::Reg(members));
        }
        Op::Match { d, p, a, members, .. } => {
            row(d, std::slice::from_mut(a), f);
            f(Operand::Pred(p));
            f(Operand::Reg(members));
        }
        Op::Elect { d, p, members } => {
            registers(d, f);
            f(Operand::Pred(p));
            f(Operand::Reg(members));
        }
        Op::Barrier { id, threads, d, p, .. } => {
            d.iter_mut().for_each(|d| destination(d, f));
            f(Operand::Reg(id));
            registers(threads, f);
            f(Operand::Pred(p));
        }
        Op::BranchTable { index: r, .. } | Op::Sleep(r) => f(Operand::Reg(r)),
    }
}

/// The same of a matrix operation.
pub(super) fn of_matrix(op: &mut MatrixOp, f: &mut impl FnMut(Operand<'_>)) {
    match op {
        MatrixOp::LoadTiles { address: a, d: columns, .. } | MatrixOp::StoreTiles { address: a, s: columns, .. } => {
            registers(columns, f);
            address(a, f);
        }
        MatrixOp::Transpose { d, s } => row(d, std::slice::from_mut(s), f),
        MatrixOp::Multiply { registers: lists, .. } => registers(lists.iter_mut().flatten(), f),
        MatrixOp::Step { registers: lists, .. } => registers(lists.iter_mut().flatten(), f),
        MatrixOp::Load(m) | MatrixOp::Store(m) => {
            registers(&mut m.registers, f);
            address(&mut m.address, f);
            f(Operand::Reg(&mut m.stride));
        }
    }
}

/// The same of a call.
pub(super) fn of_call(site: &mut CallSite, f: &mut impl FnMut(Operand<'_>)) {
    for place in site.args.iter_mut().chain(&mut site.results) {
        if let Place::Register(r, _) = place {
            f(Operand::Reg(r));
        }
    }
    if let Callee::Pointer(r) = &mut site.callee {
        f(Operand::Reg(r));
    }
}

/// The registers of the elements that a transfer moves.
pub(super) fn elements(t: &mut Transfer) -> &mut [Reg] {
    &mut t.registers[..usize::from(t.format.count)]
}

fn row(d: &mut Reg, s: &mut [Reg], f: &mut impl FnMut(Operand<'_>)) {
    f(Operand::Reg(d));
    registers(s, f);
}

fn registers<'a>(list: impl IntoIterator<Item = &'a mut Reg>, f: &mut impl FnMut(Operand<'_>)) {
    list.into_iter().for_each(|r| f(Operand::Reg(r)));
}

fn predicates<'a>(list: impl IntoIterator<Item = &'a mut Pred>, f: &mut impl FnMut(Operand<'_>)) {
    list.into_iter().for_each(|p| f(Operand::Pred(p)));
}

fn address(a: &mut Address, f: &mut impl FnMut(Operand<'_>)) {
    f(Operand::Reg(&mut a.base));
}

fn destination(d: &mut Destination, f: &mut impl FnMut(Operand<'_>)) {
    match d {
        Destination::Reg(r) => f(Operand::Reg(r)),
        Destination::Pred(p) => f(Operand::Pred(p)),
    }
}
