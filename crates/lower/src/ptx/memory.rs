//! Loads, stores, atomics, asynchronous copies.

use super::copies::{REDUCTIONS, reduction_type};
use super::function::FunctionLowering;
use super::mods::Mods;
use super::scope::Lowered;
use exec::access::{Address, Format, Transfer};
use exec::atomic::{Atomic, AtomicOp, AtomicType};
use exec::int::Int1;
use exec::lanes::Reg;
use exec::op::Op;
use isa::{ALL_COPIES, CacheOp, Space};
use ptx::Type;
use ptx::ast::{Operand, OperandKind};

impl FunctionLowering<'_, '_> {
    /// Lowers loads, stores, atomics and asynchronous copies.
    pub fn memory(&mut self, m: &Mods<'_>, o: &[Operand]) -> Lowered<Op> {
        match m.name() {
            "ld" | "ldu" => self.load(m, o),
            "st" if m.has("async") => self.completing(m, o, Self::store),
            "red" if m.has("async") => self.completing(m, o, Self::atomic),
            "st" => self.store(m, o),
            "atom" | "red" => self.atomic(m, o),
            "createpolicy" => self.create_policy(m, o),
            "cp" if m.has("bulk") => self.bulk(m, o),
            "cp" => self.async_copy(m, o),
            "prefetch" if m.has("tensormap") => self.map_prefetch(m, o),
            // Hints to the caches.
            _ => {
                self.space_of(m);
                m.ignore_prefixed(&["L1", "L2", "evict", "uni"]);
                Ok(Op::Nop)
            }
        }
    }

    /// Accepts ordering, scope and cache modifiers; returns the number of cache-policy operands.
    fn cache_modifiers(&mut self, m: &Mods<'_>) -> usize {
        let ordered = m.has("relaxed") | m.has("acquire") | m.has("release") | m.has("acq_rel") | m.has("mmio");
        let device = m.has("gpu") | m.has("sys");
        m.ignore(&["weak", "cta", "cluster", "unified", "noftz"]);
        let operators = [
            ("ca", CacheOp::All),
            ("wb", CacheOp::All),
            ("cg", CacheOp::L2),
            ("cs", CacheOp::Streaming),
            ("lu", CacheOp::LastUse),
            ("cv", CacheOp::Volatile),
            ("wt", CacheOp::Volatile),
            ("volatile", CacheOp::Volatile),
            ("nc", CacheOp::ReadOnly),
        ];
        let found = m.all_of(&operators);
        self.cache = match found.last() {
            Some(op) => *op,
            None if ordered && device => CacheOp::L2,
            None => CacheOp::All,
        };
        let hint = usize::from(m.has("L2::cache_hint"));
        m.ignore_prefixed(&["L1::", "L2::"]);
        hint
    }

    /// The space and address of an access. The last result is true for a parameter or result of a call, which
    /// is in the frame.
    pub(super) fn target(&mut self, m: &Mods<'_>, o: &Operand) -> Lowered<(Space, Address, bool)> {
        let Some(space) = self.space_of(m) else {
            return Ok((Space::Generic, self.generic_address(o)?, false));
        };
        let (mut address, symbol) = self.address(o)?;
        let in_function = !self.is_kernel && symbol.is_none();
        if space == Space::Param && (symbol == Some(Space::Local) || in_function) {
            return Ok((Space::Local, address, true));
        }
        if !address.wide && matches!(space, Space::Global | Space::Constant) {
            (address.base, address.wide) = (self.extended(address.base, 64), true);
        }
        // The address of a variable is known; of a register only the offset is.
        let expected = if space == Space::Constant || space == Space::Global { symbol } else { Some(space) };
        if let Some(found) = symbol
            && expected != symbol
        {
            return Err(self.problem(format!("the variable is in {found:?} memory, not in {space:?} memory")));
        }
        if address.frame && space != Space::Local {
            address.frame = false;
        }
        Ok((space, address, false))
    }

    /// Checks the cache policy that a modifier announces; it has no effect.
    fn cache_policy(&mut self, o: &[Operand], hints: usize) -> Lowered<()> {
        if let [.., policy] = o
            && hints > 0
        {
            self.src(policy, Type::B64)?;
        }
        Ok(())
    }

    /// `createpolicy`: policies have no effect, so each is zero.
    fn create_policy(&mut self, m: &Mods<'_>, o: &[Operand]) -> Lowered<Op> {
        let ty = self.need_type(m)?;
        self.space_of(m);
        m.ignore(&["fractional", "range", "cvt", "L2"]);
        m.ignore_prefixed(&["L2::"]);
        for o in &o[1..] {
            match o.kind {
                OperandKind::Address(_) => drop(self.address(o)?),
                OperandKind::Immediate(_) => {}
                _ => drop(self.any_register(o)?),
            }
        }
        let d = self.dst(&o[0], ty)?;
        Ok(Op::Int1(Int1::Mov64, d, [self.b.constant(0, true)]))
    }

    /// The number of elements: 1, or from `.v2`, `.v4` or `.v8`.
    pub(super) fn vector_length(m: &Mods<'_>) -> usize {
        m.one_of(&[("v2", 2), ("v4", 4), ("v8", 8)]).unwrap_or(1)
    }

    fn format(&self, m: &Mods<'_>, ty: Type, count: usize, register_bits: u32) -> Lowered<Format> {
        let bytes = ty.bytes();
        let total = bytes * count as u32;
        if !matches!(ty.bits(), 8 | 16 | 32 | 64) || total > 16 || register_bits < ty.bits().max(16) {
            return Err(self.problem(format!("`{}` is not executable with these registers", m.text())));
        }
        Ok(Format {
            bytes: bytes as u8,
            count: count as u8,
            signed: ty.is_signed(),
            register_bits: register_bits as u8,
        })
    }

    fn load(&mut self, m: &Mods<'_>, o: &[Operand]) -> Lowered<Op> {
        let ty = self.need_type(m)?;
        let hints = self.cache_modifiers(m);
        self.expect(o, 2 + hints)?;
        self.cache_policy(o, hints)?;
        let parts = self.elements(m, &o[0])?;
        let (space, mut address, frame) = self.target(m, &o[1])?;
        if let Some((low, high)) = halves(ty, &parts, space) {
            let (format, registers) = self.loaded_parts(m, ty, low)?;
            // The second half must use the address that the first one used.
            let columns = format.columns();
            if address.wide
                && registers
                    .iter()
                    .any(|r| (r.0..r.0 + u16::from(columns)).any(|r| [address.base.0, address.base.0 + 1].contains(&r)))
            {
                let copy = self.b.new_register(2);
                self.push(Op::Int1(Int1::Mov64, copy, [address.base]), "mov; the address of both halves".into());
                address.base = copy;
            }
            self.push(Op::Load(Transfer { space, format, address, registers }), "ld; the lower 16 bytes".into());
            let (format, registers) = self.loaded_parts(m, ty, high)?;
            address.offset += 16;
            return Ok(Op::Load(Transfer { space, format, address, registers }));
        }
        let (format, registers) = self.loaded_parts(m, ty, &parts)?;
        let t = Transfer { space, format, address, registers };
        Ok(if frame { Op::FrameLoad(t) } else { Op::Load(t) })
    }

    /// The elements of a vector operand, in the number that the instruction has.
    fn elements(&self, m: &Mods<'_>, o: &Operand) -> Lowered<Vec<Operand>> {
        let (count, parts) = (Self::vector_length(m), self.parts(o));
        if parts.len() == count {
            return Ok(parts);
        }
        Err(self.problem(format!(
            "{} expected here, not {}",
            kit::text::counted(count as u64, "register"),
            parts.len()
        )))
    }

    /// The registers that a load of `ty` writes.
    pub(super) fn loaded(&mut self, m: &Mods<'_>, ty: Type, o: &Operand) -> Lowered<(Format, [Reg; 4])> {
        let parts = self.elements(m, o)?;
        self.loaded_parts(m, ty, &parts)
    }

    fn loaded_parts(&mut self, m: &Mods<'_>, ty: Type, parts: &[Operand]) -> Lowered<(Format, [Reg; 4])> {
        let (mut registers, mut bits) = ([Reg(0); 4], 0);
        for (slot, part) in registers.iter_mut().zip(parts) {
            if part.kind == OperandKind::Sink {
                continue;
            }
            let r = self.any_register(part)?;
            *slot = r.reg;
            bits = r.ty.bits().max(16);
        }
        let bits = if bits == 0 { ty.bits().max(16) } else { bits };
        for (slot, part) in registers.iter_mut().zip(parts) {
            if part.kind == OperandKind::Sink {
                *slot = self.b.new_register(bits.div_ceil(32));
            } else if self.any_register(part)?.ty.bits().max(16) != bits {
                return Err(self.problem("the registers of a vector must be of one width"));
            }
        }
        Ok((self.format(m, ty, parts.len(), bits)?, registers))
    }

    fn store(&mut self, m: &Mods<'_>, o: &[Operand]) -> Lowered<Op> {
        let ty = self.need_type(m)?;
        let hints = self.cache_modifiers(m);
        self.expect(o, 2 + hints)?;
        self.cache_policy(o, hints)?;
        let parts = self.elements(m, &o[1])?;
        let (space, mut address, frame) = self.target(m, &o[0])?;
        if space == Space::Constant || space == Space::Param {
            return Err(self.problem("constants and kernel parameters cannot be stored to"));
        }
        if let Some((low, high)) = halves(ty, &parts, space) {
            let (format, registers) = self.stored_parts(m, ty, low)?;
            self.push(Op::Store(Transfer { space, format, address, registers }), "st; the lower 16 bytes".into());
            let (format, registers) = self.stored_parts(m, ty, high)?;
            address.offset += 16;
            return Ok(Op::Store(Transfer { space, format, address, registers }));
        }
        let (format, registers) = self.stored_parts(m, ty, &parts)?;
        let t = Transfer { space, format, address, registers };
        Ok(if frame { Op::FrameStore(t) } else { Op::Store(t) })
    }

    /// The registers that a store of `ty` reads.
    pub(super) fn stored(&mut self, m: &Mods<'_>, ty: Type, o: &Operand) -> Lowered<(Format, [Reg; 4])> {
        let parts = self.elements(m, o)?;
        self.stored_parts(m, ty, &parts)
    }

    fn stored_parts(&mut self, m: &Mods<'_>, ty: Type, parts: &[Operand]) -> Lowered<(Format, [Reg; 4])> {
        let (mut registers, mut bits) = ([Reg(0); 4], ty.bits().max(16));
        for (slot, part) in registers.iter_mut().zip(parts) {
            *slot = match &part.kind {
                OperandKind::Immediate(value) => {
                    let wanted = if ty.bits() < 16 { Type::B16 } else { ty };
                    self.immediate(*value, wanted, part.span)?
                }
                OperandKind::Name(name) if self.register_named(*name, None, part.span)?.is_none() => {
                    self.src(part, ty)?
                }
                OperandKind::Offset(..) => self.src(part, ty)?,
                _ => {
                    let r = self.any_register(part)?;
                    bits = bits.max(r.ty.bits());
                    if r.ty.bits().max(16) < ty.bits() {
                        return Err(self.problem(format!("a register of {} bits is needed here", ty.bits())));
                    }
                    r.reg
                }
            };
        }
        // Only the low bits are stored, so registers may be wider than the type.
        let bits = if ty.bits() == 64 { 64 } else { bits.min(32) };
        Ok((self.format(m, ty, parts.len(), bits)?, registers))
    }

    fn atomic(&mut self, m: &Mods<'_>, o: &[Operand]) -> Lowered<Op> {
        let ty = self.need_type(m)?;
        let hints = self.cache_modifiers(m);
        let exchanges = m.one_of(&[("exch", AtomicOp::Exch), ("cas", AtomicOp::Cas)]);
        let op = self.need(exchanges.or_else(|| m.one_of(&REDUCTIONS)), m)?;
        let kind = match ty {
            Type::B16 | Type::U16 | Type::S16 => Some(AtomicType::B16),
            Type::F16x2 => Some(AtomicType::F16x2),
            Type::Bf16x2 => Some(AtomicType::Bf16x2),
            _ => reduction_type(ty),
        };
        if ty.bits() == 128 {
            return Err(self.problem(format!("`{}` is not executable: an atomic access to 128 bits", m.text())));
        }
        let count = Self::vector_length(m);
        let only_add = ty.is_float() && count == 1 && !matches!(op, AtomicOp::Add | AtomicOp::Exch);
        let kind = self.need(kind.filter(|_| !only_add), m)?;
        let returns = m.name() == "atom";
        let cas = op == AtomicOp::Cas;
        self.expect(o, 2 + usize::from(returns) + usize::from(cas) + hints)?;
        self.cache_policy(o, hints)?;
        let rest = &o[usize::from(returns)..];
        let (space, address, _) = self.target(m, &rest[0])?;
        if matches!(space, Space::Constant | Space::Param) {
            return Err(self.problem("atomics on constants and parameters do not exist"));
        }
        let results = returns.then(|| &o[0]);
        if count > 1 {
            self.need((op != AtomicOp::Exch && !cas).then_some(()), m)?;
            let results = results.map(|results| self.elements(m, results)).transpose()?;
            let operands = self.elements(m, &rest[1])?;
            return self.vector_atomic((op, kind, ty), (space, address), results.as_deref(), &operands);
        }
        let d = results.map(|d| self.dst(d, ty)).transpose()?;
        let b = self.src(&rest[1], ty)?;
        let c = if cas { Some(self.src(&rest[2], ty)?) } else { None };
        Ok(Op::Atomic(Atomic { space, op, ty: kind, count: 1, d, unused: false, address, b, c }))
    }

    /// Lowers an atomic on a vector. As in machine code, it is one access of at most 16 bytes, with its operands and
    /// results in consecutive registers, two halves in each.
    fn vector_atomic(
        &mut self,
        (op, kind, ty): (AtomicOp, AtomicType, Type),
        (space, address): (Space, Address),
        results: Option<&[Operand]>,
        operands: &[Operand],
    ) -> Lowered<Op> {
        const MOST: usize = 4;
        let (kind, parts) = match kind {
            AtomicType::F16 => (AtomicType::F16x2, 2),
            AtomicType::Bf16 => (AtomicType::Bf16x2, 2),
            _ => (kind, 1),
        };
        let columns = operands.len() / parts;
        let b = self.b.new_register(columns as u32);
        let d = results.map(|_| self.b.new_register(columns as u32));
        let at = |first: Reg, k: usize| Reg(first.0 + k as u16);
        for (k, elements) in operands.chunks(parts).enumerate() {
            let mut s = [Reg(0); 4];
            for (s, element) in s.iter_mut().zip(elements) {
                *s = self.src(element, ty)?;
            }
            let op = match parts {
                1 => Op::Int1(Int1::Mov32, at(b, k), [s[0]]),
                _ => Op::Pack { d: at(b, k), s, parts: 2, bits: 16 },
            };
            self.push(op, "mov; an operand of the access".into());
        }
        let mut ops = Vec::new();
        for k in (0..columns).step_by(MOST) {
            let address = Address { offset: address.offset + 4 * k as i64, ..address };
            let (count, d, b) = ((columns - k).min(MOST) as u8, d.map(|d| at(d, k)), at(b, k));
            ops.push(Op::Atomic(Atomic { space, op, ty: kind, count, d, unused: false, address, b, c: None }));
        }
        for (k, elements) in results.unwrap_or_default().chunks(parts).enumerate() {
            let mut to = [None; 4];
            for (to, element) in to.iter_mut().zip(elements).filter(|(_, element)| element.kind != OperandKind::Sink) {
                *to = Some(self.dst(element, ty)?);
            }
            match (d.map(|d| at(d, k)), to[0]) {
                (Some(s), _) if parts == 2 => ops.push(Op::Unpack { d: to, s, parts: 2, bits: 16 }),
                (Some(s), Some(d)) => ops.push(Op::Int1(Int1::Mov32, d, [s])),
                _ => {}
            }
        }
        let last = ops.pop().ok_or_else(|| self.problem("operands are missing"))?;
        ops.into_iter().for_each(|op| self.push(op, "atom; a part of it".into()));
        Ok(last)
    }

    fn async_copy(&mut self, m: &Mods<'_>, o: &[Operand]) -> Lowered<Op> {
        m.ignore(&["async"]);
        if m.has("commit_group") {
            return Ok(Op::AsyncCommit);
        }
        if m.has("wait_all") {
            return Ok(Op::AsyncWait(ALL_COPIES));
        }
        if m.has("mbarrier") {
            return self.copies_arrive(m, o);
        }
        if m.has("wait_group") {
            self.expect(o, 1)?;
            let groups = self.need(o[0].integer(), m)?;
            return Ok(Op::AsyncWait(groups.min(254) as u8));
        }
        let hints = self.cache_modifiers(m);
        m.ignore(&["shared", "shared::cta", "global"]);
        self.expect_between(o, 3 + hints, 4 + hints)?;
        self.cache_policy(o, hints)?;
        let bytes = self.need(o[2].integer().filter(|n| matches!(n, 4 | 8 | 16)), m)? as u8;
        let (shared, global) = (self.address(&o[0])?.0, self.address(&o[1])?.0);
        let (mut source_bytes, mut ignore) = (None, None);
        if o.len() > 3 + hints {
            match self.pred_src(&o[3]) {
                Ok(p) if !matches!(o[3].kind, OperandKind::Immediate(_)) => ignore = Some(p),
                _ => source_bytes = Some(self.src(&o[3], Type::U32)?),
            }
        }
        Ok(Op::AsyncCopy { shared, global, bytes, source_bytes, ignore })
    }
}

/// The halves of an access of 32 bytes to global memory, which is executed as two accesses of 16.
fn halves(ty: Type, parts: &[Operand], space: Space) -> Option<(&[Operand], &[Operand])> {
    let whole = ty.bytes() as usize * parts.len() == 32 && ty.bits() >= 32;
    (whole && matches!(space, Space::Global | Space::Generic)).then(|| parts.split_at(parts.len() / 2))
}
