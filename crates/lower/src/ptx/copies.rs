//! Copies and reductions by the copy engine.

use super::function::FunctionLowering;
use super::mods::Mods;
use super::scope::Lowered;
use exec::atomic::{AtomicOp, AtomicType};
use exec::bulk::BulkCopy;
use exec::int::Int2;
use exec::lanes::Reg;
use exec::op::Op;
use isa::{Space, TransferKind};
use ptx::Type;
use ptx::ast::{Operand, OperandKind};

/// Operations of reductions.
const OPERATIONS: [(&str, AtomicOp); 8] = [
    ("and", AtomicOp::And),
    ("or", AtomicOp::Or),
    ("xor", AtomicOp::Xor),
    ("add", AtomicOp::Add),
    ("inc", AtomicOp::Inc),
    ("dec", AtomicOp::Dec),
    ("min", AtomicOp::Min),
    ("max", AtomicOp::Max),
];

impl FunctionLowering<'_, '_> {
    /// Lowers `cp.async.bulk` and `cp.reduce.async.bulk`.
    pub(super) fn bulk(&mut self, m: &Mods<'_>, o: &[Operand]) -> Lowered<Op> {
        m.ignore(&["async", "reduce", "mbarrier::complete_tx::bytes", "bulk_group", "noftz", "read"]);
        if m.has("commit_group") {
            return Ok(Op::BulkCommit);
        }
        if m.has("wait_group") {
            self.expect(o, 1)?;
            let OperandKind::Immediate(value) = o[0].kind else { return Err(self.problem("a number is needed here")) };
            let groups = self.need(value.int_bits(), m)?;
            return Ok(Op::BulkWait { groups: groups.min(254) as u8, reads: m.has("read") });
        }
        self.bulk_bytes(m, o)
    }

    fn bulk_bytes(&mut self, m: &Mods<'_>, o: &[Operand]) -> Lowered<Op> {
        let spaces = [("shared::cluster", Space::Shared), ("shared::cta", Space::Shared), ("global", Space::Global)];
        let kind = match m.all_of(&spaces)[..] {
            [Space::Shared, Space::Global] => TransferKind::GlobalToShared,
            [Space::Global, Space::Shared] => TransferKind::SharedToGlobal,
            [Space::Shared, Space::Shared] => TransferKind::SharedToShared,
            _ => {
                self.need(m.has("prefetch").then_some(()), m)?;
                m.ignore(&["L2"]);
                TransferKind::Prefetch
            }
        };
        let reduction = match m.one_of(&OPERATIONS) {
            Some(op) => Some((op, self.need(reduction_type(self.need_type(m)?), m)?)),
            None => None,
        };
        let kind = if kind == TransferKind::SharedToGlobal && reduction.is_some() {
            TransferKind::SharedReduction
        } else {
            kind
        };
        let optional = [m.has("multicast::cluster"), m.has("L2::cache_hint")].map(usize::from);
        let places = if kind == TransferKind::Prefetch { 1 } else { 2 };
        let has_barrier = matches!(kind, TransferKind::GlobalToShared | TransferKind::SharedToShared);
        self.expect(o, places + 1 + usize::from(has_barrier) + optional.iter().sum::<usize>())?;
        let (outer, shared) = match kind {
            TransferKind::GlobalToShared => (&o[1], &o[0]),
            TransferKind::Prefetch => (&o[0], &o[0]),
            _ => (&o[0], &o[1]),
        };
        let outer =
            if kind == TransferKind::SharedToShared { self.shared_place(outer)? } else { self.global_place(outer)? };
        let shared = if kind == TransferKind::Prefetch { outer } else { self.shared_place(shared)? };
        let size = self.src(&o[places], Type::U32)?;
        let barrier = if has_barrier { Some(self.shared_place(&o[places + 1])?) } else { None };
        let mut rest = o[places + 1 + usize::from(has_barrier)..].iter();
        let ctas = match rest.next().filter(|_| optional[0] == 1) {
            Some(ctas) => Some(self.src(ctas, Type::U16)?),
            None => None,
        };
        if optional[1] == 1 {
            self.src(&o[o.len() - 1], Type::B64)?;
        }
        Ok(Op::BulkCopy(BulkCopy { kind, reduction, outer, shared, barrier, size, ctas, once: false }))
    }

    /// The address of an operand in shared memory, of one column.
    pub(super) fn shared_place(&mut self, o: &Operand) -> Lowered<Reg> {
        let (address, symbol) = self.address(o)?;
        if symbol.is_some_and(|space| space != Space::Shared) {
            return Err(self.problem("the variable is not in shared memory"));
        }
        self.sum(address.base, address.offset, false)
    }

    /// The address of an operand in global memory, or a generic one, of two columns.
    pub(super) fn global_place(&mut self, o: &Operand) -> Lowered<Reg> {
        let address = self.generic_address(o)?;
        let base = if address.wide { address.base } else { self.extended(address.base, 64) };
        self.sum(base, address.offset, true)
    }

    fn sum(&mut self, base: Reg, offset: i64, wide: bool) -> Lowered<Reg> {
        if offset == 0 {
            return Ok(base);
        }
        let (d, offset) = (self.b.new_register(if wide { 2 } else { 1 }), self.b.constant(offset as u64, wide));
        let op = if wide { Int2::Add64 } else { Int2::Add32 };
        self.push(Op::Int2(op, d, [base, offset]), "add; the address of the next instruction".into());
        Ok(d)
    }
}

/// The type of a reduction by the copy engine.
fn reduction_type(ty: Type) -> Option<AtomicType> {
    Some(match ty {
        Type::B32 | Type::U32 => AtomicType::U32,
        Type::S32 => AtomicType::S32,
        Type::B64 | Type::U64 => AtomicType::U64,
        Type::S64 => AtomicType::S64,
        Type::F16 => AtomicType::F16,
        Type::Bf16 => AtomicType::Bf16,
        Type::F32 => AtomicType::F32,
        Type::F64 => AtomicType::F64,
        _ => return None,
    })
}
