//! Copies and reductions by the copy engine.

use super::function::FunctionLowering;
use super::mods::Mods;
use super::scope::Lowered;
use exec::atomic::{AtomicOp, AtomicType};
use exec::bulk::BulkCopy;
use exec::int::{Int1, Int2};
use exec::lanes::Reg;
use exec::op::Op;
use exec::tensor_copy::{MapPrefetch, TensorCopy};
use isa::{Space, TransferKind};
use ptx::Type;
use ptx::ast::{Address, AddressBase, Operand, OperandKind};

/// Operations of reductions, by atomics and by the copy engine.
pub(super) const REDUCTIONS: [(&str, AtomicOp); 8] = [
    ("and", AtomicOp::And),
    ("or", AtomicOp::Or),
    ("xor", AtomicOp::Xor),
    ("add", AtomicOp::Add),
    ("inc", AtomicOp::Inc),
    ("dec", AtomicOp::Dec),
    ("min", AtomicOp::Min),
    ("max", AtomicOp::Max),
];

/// Sources and destinations of copies.
const SPACES: [(&str, Space); 3] =
    [("shared::cluster", Space::Shared), ("shared::cta", Space::Shared), ("global", Space::Global)];

impl FunctionLowering<'_, '_> {
    /// Lowers `cp.async.bulk` and `cp.reduce.async.bulk`.
    pub(super) fn bulk(&mut self, m: &Mods<'_>, o: &[Operand]) -> Lowered<Op> {
        m.ignore(&["async", "reduce", "mbarrier::complete_tx::bytes", "bulk_group", "noftz", "read"]);
        if m.has("commit_group") {
            return Ok(Op::BulkCommit);
        }
        if m.has("wait_group") {
            self.expect(o, 1)?;
            let groups = o[0].integer().ok_or_else(|| self.problem("a number is needed here"))?;
            return Ok(Op::BulkWait { groups: groups.min(254) as u8, reads: m.has("read") });
        }
        if m.has("tensor") { self.bulk_tensor(m, o) } else { self.bulk_bytes(m, o) }
    }

    /// Lowers copies of boxes of tensors. As in machine code, the operands are in consecutive registers.
    fn bulk_tensor(&mut self, m: &Mods<'_>, o: &[Operand]) -> Lowered<Op> {
        let ranks = [("1d", 1), ("2d", 2), ("3d", 3), ("4d", 4), ("5d", 5)];
        let rank: u8 = self.need(m.one_of(&ranks), m)?;
        let is_im2col = m.has("im2col") | m.has("im2col_no_offs");
        m.ignore(&["tile", "L2"]);
        let is_prefetch = m.has("prefetch");
        let reduction = m.one_of(&REDUCTIONS);
        let kind = match (&m.all_of(&SPACES)[..], reduction) {
            ([Space::Shared, Space::Global], None) => TransferKind::GlobalToShared,
            ([Space::Global, Space::Shared], None) => TransferKind::SharedToGlobal,
            ([Space::Global, Space::Shared], Some(_)) => TransferKind::SharedReduction,
            _ => {
                self.need(is_prefetch.then_some(()), m)?;
                TransferKind::Prefetch
            }
        };
        let is_load = kind == TransferKind::GlobalToShared;
        let has_offsets = is_im2col && (is_load || is_prefetch);
        let optional = [has_offsets, m.has("multicast::cluster"), m.has("L2::cache_hint")].map(usize::from);
        let fixed = match kind {
            TransferKind::GlobalToShared => 3,
            TransferKind::Prefetch => 1,
            _ => 2,
        };
        self.expect(o, fixed + optional.iter().sum::<usize>())?;
        let OperandKind::Texture(parts) = &o[usize::from(is_load)].kind else {
            return Err(self.problem("a tensor map and coordinates in brackets are needed here"));
        };
        let [map, coordinates] = &parts[..] else {
            return Err(self.problem("a tensor map and coordinates in brackets are needed here"));
        };
        let map = self.tensor_map(map)?;
        let mut words = Vec::new();
        match kind {
            TransferKind::GlobalToShared => words.extend([self.shared_place(&o[0])?, self.shared_place(&o[2])?]),
            TransferKind::Prefetch => {}
            _ => words.push(self.shared_place(&o[1])?),
        }
        let coordinates = self.parts(coordinates);
        if coordinates.len() != usize::from(rank) {
            return Err(self.problem(format!("{rank} coordinates expected here, not {}", coordinates.len())));
        }
        for coordinate in &coordinates {
            words.push(self.src(coordinate, Type::S32)?);
        }
        let operands = self.b.new_register(words.len() as u32);
        for (k, &word) in words.iter().enumerate() {
            let text = "mov; an operand of the next instruction".into();
            self.push(Op::Int1(Int1::Mov32, Reg(operands.0 + k as u16), [word]), text);
        }
        let mut rest = o[fixed..].iter();
        let mut fields = Vec::new();
        if has_offsets {
            let offsets = rest.next().map_or_else(Vec::new, |offsets| self.parts(offsets));
            if offsets.len() + 2 != usize::from(rank) {
                return Err(self.problem(format!("{rank} dimensions have {} offsets", rank.saturating_sub(2))));
            }
            let bits = [16, 8, 5][offsets.len() - 1];
            for (k, offset) in offsets.iter().enumerate() {
                fields.push((self.src(offset, Type::U16)?, bits, bits * k as u32));
            }
        }
        let multicast = optional[1] == 1;
        if let Some(ctas) = rest.next().filter(|_| multicast) {
            fields.push((self.src(ctas, Type::U16)?, 16, 16));
        }
        if optional[2] == 1 {
            self.src(&o[o.len() - 1], Type::B64)?;
        }
        let extra = if fields.is_empty() { None } else { Some(self.packed(&fields)) };
        let copy =
            TensorCopy { kind, reduction, rank, im2col: is_im2col, map, operands, extra, multicast, once: false };
        Ok(Op::TensorCopy(copy))
    }

    /// Lowers `prefetch.tensormap`.
    pub fn map_prefetch(&mut self, m: &Mods<'_>, o: &[Operand]) -> Lowered<Op> {
        self.space_of(m);
        self.expect(o, 1)?;
        let map = self.global_place(&o[0])?;
        Ok(Op::MapPrefetch(MapPrefetch { map, once: false }))
    }

    /// The generic address of a tensor map.
    fn tensor_map(&mut self, o: &Operand) -> Lowered<Reg> {
        let (base, offset) = match o.kind {
            OperandKind::Name(name) => (name, 0),
            OperandKind::Offset(name, offset) => (name, offset),
            _ => return self.global_place(o),
        };
        let address = Address { base: AddressBase::Name(base), offset };
        self.global_place(&Operand { kind: OperandKind::Address(address), span: o.span })
    }

    /// A register of fields: their values, bits and places.
    fn packed(&mut self, fields: &[(Reg, u32, u32)]) -> Reg {
        let mut sum = self.b.constant(0, false);
        const PACKS: &str = "packs the operands of the next instruction";
        for &(value, bits, at) in fields {
            let (all, at) = (self.b.constant((1 << bits) - 1, false), self.b.constant(at.into(), false));
            let field = self.below(Int2::And32, [value, all], PACKS);
            let field = self.below(Int2::Shl32, [field, at], PACKS);
            sum = self.below(Int2::Or32, [field, sum], PACKS);
        }
        sum
    }

    fn bulk_bytes(&mut self, m: &Mods<'_>, o: &[Operand]) -> Lowered<Op> {
        let kind = match m.all_of(&SPACES)[..] {
            [Space::Shared, Space::Global] => TransferKind::GlobalToShared,
            [Space::Global, Space::Shared] => TransferKind::SharedToGlobal,
            [Space::Shared, Space::Shared] => TransferKind::SharedToShared,
            _ => {
                self.need(m.has("prefetch").then_some(()), m)?;
                m.ignore(&["L2"]);
                TransferKind::Prefetch
            }
        };
        let reduction = match m.one_of(&REDUCTIONS) {
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

/// The type of a reduction, by an atomic or by the copy engine.
pub(super) fn reduction_type(ty: Type) -> Option<AtomicType> {
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
