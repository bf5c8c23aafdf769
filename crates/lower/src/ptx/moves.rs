//! Moves, selections, comparisons, address conversions.

use super::function::FunctionLowering;
use super::int::by_bits;
use super::mods::Mods;
use super::operand::Symbol;
use super::scope::Lowered;
use exec::compare::{Combine, CompareType, Comparison, Relation};
use exec::int::{Int1, Int2, Int3};
use exec::lanes::{Pred, Reg};
use exec::memory::window_base;
use exec::op::Op;
use exec::special::Special;
use isa::Space;
use num::float32::TestClass;
use ptx::Type;
use ptx::ast::{Operand, OperandKind};

/// How comparisons are combined with a predicate.
pub(super) const COMBINES: [(&str, Combine); 3] = [("and", Combine::And), ("or", Combine::Or), ("xor", Combine::Xor)];

const RELATIONS: [(&str, Relation); 18] = [
    ("eq", Relation::Eq),
    ("ne", Relation::Ne),
    ("lt", Relation::Lt),
    ("le", Relation::Le),
    ("gt", Relation::Gt),
    ("ge", Relation::Ge),
    ("lo", Relation::Lt),
    ("ls", Relation::Le),
    ("hi", Relation::Gt),
    ("hs", Relation::Ge),
    ("equ", Relation::Equ),
    ("neu", Relation::Neu),
    ("ltu", Relation::Ltu),
    ("leu", Relation::Leu),
    ("gtu", Relation::Gtu),
    ("geu", Relation::Geu),
    ("num", Relation::Num),
    ("nan", Relation::Nan),
];

const fn compare_type(ty: Type) -> Option<CompareType> {
    Some(match ty {
        Type::U16 | Type::B16 => CompareType::U16,
        Type::S16 => CompareType::S16,
        Type::U32 | Type::B32 => CompareType::U32,
        Type::S32 => CompareType::S32,
        Type::U64 | Type::B64 => CompareType::U64,
        Type::S64 => CompareType::S64,
        Type::F16 => CompareType::F16,
        Type::F16x2 => CompareType::F16x2,
        Type::Bf16 => CompareType::Bf16,
        Type::Bf16x2 => CompareType::Bf16x2,
        Type::F32 => CompareType::F32,
        Type::F64 => CompareType::F64,
        _ => return None,
    })
}

impl FunctionLowering<'_, '_> {
    /// Lowers moves, selections, comparisons and address conversions.
    pub fn moves(&mut self, m: &Mods<'_>, o: &[Operand]) -> Lowered<Op> {
        match m.name() {
            "mov" => self.mov(m, o),
            "cvta" => self.cvta(m, o),
            "selp" => {
                let ty = self.need_type(m)?;
                self.expect(o, 4)?;
                let (d, s) = (self.dst(&o[0], ty)?, self.srcs(&o[1..3], ty)?);
                Ok(Op::Selp { d, s, wide: ty.bits() == 64, p: self.pred_src(&o[3])? })
            }
            "slct" => {
                let types = m.types();
                let [ty, by] = types[..] else { return Err(self.problem(format!("`{}` needs two types", m.text()))) };
                let by_type = match (by, m.has("ftz")) {
                    (Type::F32, false) => [Int3::Slct16F32, Int3::Slct32F32, Int3::Slct64F32],
                    (Type::F32, true) => [Int3::Slct16F32Ftz, Int3::Slct32F32Ftz, Int3::Slct64F32Ftz],
                    _ => [Int3::Slct16S32, Int3::Slct32S32, Int3::Slct64S32],
                };
                let op = by_bits(ty, by_type);
                let op = self.need(op, m)?;
                self.expect(o, 4)?;
                let [a, b] = self.srcs(&o[1..3], ty)?;
                Ok(Op::Int3(op, self.dst(&o[0], ty)?, [a, b, self.src(&o[3], by)?]))
            }
            "setp" | "set" => self.compare(m, o),
            "testp" => {
                let classes = [
                    ("finite", TestClass::Finite),
                    ("infinite", TestClass::Infinite),
                    ("number", TestClass::Number),
                    ("notanumber", TestClass::NotANumber),
                    ("normal", TestClass::Normal),
                    ("subnormal", TestClass::Subnormal),
                ];
                let ty = self.need_type(m)?;
                let class = self.need(m.one_of(&classes).filter(|_| matches!(ty, Type::F32 | Type::F64)), m)?;
                self.expect(o, 2)?;
                Ok(Op::Testp { d: self.pred_dst(&o[0])?, class, a: self.src(&o[1], ty)?, wide: ty == Type::F64 })
            }
            _ => {
                let of_cluster = m.has("shared::cluster");
                let space = if of_cluster { Space::Shared } else { self.space_of(m).unwrap_or(Space::Global) };
                self.expect(o, 2)?;
                Ok(Op::Isspacep { d: self.pred_dst(&o[0])?, space, of_cluster, a: self.src(&o[1], Type::U64)? })
            }
        }
    }

    /// The state space among the modifiers.
    pub fn space_of(&self, m: &Mods<'_>) -> Option<Space> {
        m.one_of(&[
            ("global", Space::Global),
            ("shared", Space::Shared),
            ("shared::cta", Space::Shared),
            ("shared::cluster", Space::Shared),
            ("local", Space::Local),
            ("const", Space::Constant),
            ("param", Space::Param),
            ("param::entry", Space::Param),
            ("param::func", Space::Param),
        ])
    }

    fn mov(&mut self, m: &Mods<'_>, o: &[Operand]) -> Lowered<Op> {
        let ty = self.need_type(m)?;
        self.expect(o, 2)?;
        if ty == Type::Pred {
            if let Some(special) = self.special_source(&o[1]) {
                let (d, zero) = (self.pred_dst(&o[0])?, self.b.constant(0, false));
                let test = Comparison { relation: Relation::Ne, ty: CompareType::U32, ftz: false };
                let with = (Combine::And, Pred::TRUE);
                return Ok(Op::Setp { test, s: [special.reg, zero], d: [d, Pred::TRUE], with });
            }
            return Ok(Op::PredLogic(Combine::And, self.pred_dst(&o[0])?, [self.pred_src(&o[1])?, Pred::TRUE]));
        }
        let count = Self::vector_length(m);
        let sources = self.vector_parts(&o[1]).or_else(|| self.special_parts(&o[1], count));
        match (self.vector_parts(&o[0]), sources) {
            (Some(d), Some(s)) if d.len() == count && s.len() == count => return self.mov_vector(ty, &d, &s),
            _ if count > 1 => return Err(self.problem(format!("two vectors of {count} elements are needed here"))),
            (Some(_), Some(_)) => return Err(self.problem("a move of vectors needs `.v2` or `.v4`")),
            (Some(d), None) => return self.unpack(ty, &d, &o[1]),
            (None, Some(s)) => return self.pack(ty, &o[0], &s),
            (None, None) => {}
        }
        if let Some(special) = self.special(&o[1]) {
            let bits = 32 * u32::from(special.columns());
            let d = self.any_register(&o[0])?;
            // Old code reads thread positions in sixteen bits.
            if d.ty.bits() != bits && !(bits == 32 && d.ty.bits() == 16) {
                return Err(self.problem(format!("this special register has {bits} bits")));
            }
            return Ok(Op::Special(special, d.reg));
        }
        if let OperandKind::Name(name) | OperandKind::Offset(name, _) = o[1].kind
            && self.register_named(name, None, o[1].span)?.is_none()
            && let Ok(Symbol::Frame { offset }) = self.module_symbol(name, o[1].span)
        {
            let more = if let OperandKind::Offset(_, more) = o[1].kind { more } else { 0 };
            let offset = u64::from(offset).wrapping_add_signed(more) as u32;
            return Ok(Op::FrameAddress { d: self.dst(&o[0], ty)?, offset, wide: ty.bits() == 64 });
        }
        let op = if ty.bits() == 64 { Int1::Mov64 } else { Int1::Mov32 };
        if ty.bits() > 64 || ty.bits() < 16 {
            return Err(self.problem(format!("`{}` is not executable", m.text())));
        }
        Ok(Op::Int1(op, self.dst(&o[0], ty)?, [self.src(&o[1], ty)?]))
    }

    /// `mov.v2.u32 {a, b}, {c, d}`: a move for each element; the last one is the instruction itself.
    fn mov_vector(&mut self, ty: Type, d: &[Operand], s: &[Operand]) -> Lowered<Op> {
        let (op, columns) = if ty.bits() == 64 { (Int1::Mov64, 2) } else { (Int1::Mov32, 1) };
        if !matches!(ty.bits(), 16 | 32 | 64) {
            return Err(self.problem(format!("a move of vectors of {ty} is not executable")));
        }
        let targets = d.iter().map(|o| self.dst(o, ty)).collect::<Lowered<Vec<Reg>>>()?;
        let mut sources = s.iter().map(|o| self.src(o, ty)).collect::<Lowered<Vec<Reg>>>()?;
        // All elements are read before the first is written.
        let overwritten = |k: usize, s: Reg| targets[..k].contains(&s);
        if sources.iter().enumerate().any(|(k, &s)| overwritten(k, s)) {
            for s in &mut sources {
                let copy = self.b.new_register(columns);
                self.push(Op::Int1(op, copy, [*s]), "mov; an element that the next instructions overwrite".into());
                *s = copy;
            }
        }
        let mut moves = targets.iter().zip(&sources).map(|(&d, &s)| Op::Int1(op, d, [s])).collect::<Vec<Op>>();
        let last = moves.pop().ok_or_else(|| self.problem("operands are missing"))?;
        moves.into_iter().for_each(|op| self.push(op, "mov; an element of the vector".into()));
        Ok(last)
    }

    /// The elements of a special register that is a vector, such as `%tid` in `mov.v4.u32 v, %tid`.
    fn special_parts(&self, o: &Operand, count: usize) -> Option<Vec<Operand>> {
        let OperandKind::Name(name) = o.kind else { return None };
        (count > 1 && self.special(o).is_some()).then(|| {
            let element = |&c: &ptx::Component| Operand { kind: OperandKind::Component(name, c), span: o.span };
            ptx::Component::ALL.iter().map(element).collect()
        })
    }

    /// The special register that an operand names.
    pub fn special(&self, o: &Operand) -> Option<Special> {
        let (name, component) = match &o.kind {
            OperandKind::Name(name) => (*name, None),
            OperandKind::Component(name, c) => (*name, Some(c.index())),
            _ => return None,
        };
        if self.resolve(name).is_some() {
            return None;
        }
        Special::from_name(self.b.scope.ast.name(name), component)
    }

    /// `mov.b64 {a, b}, x`
    fn unpack(&mut self, ty: Type, d: &[Operand], s: &Operand) -> Lowered<Op> {
        let bits = ty.bits() / d.len().max(1) as u32;
        let part = self.part_type(bits, d.len())?;
        let mut parts = [None; 4];
        for (slot, o) in parts.iter_mut().zip(d) {
            if o.kind != OperandKind::Sink {
                *slot = Some(self.dst(o, part)?);
            }
        }
        Ok(Op::Unpack { d: parts, s: self.src(s, ty)?, parts: d.len() as u8, bits: bits as u8 })
    }

    /// `mov.b64 x, {a, b}`
    fn pack(&mut self, ty: Type, d: &Operand, s: &[Operand]) -> Lowered<Op> {
        let bits = ty.bits() / s.len().max(1) as u32;
        let part = self.part_type(bits, s.len())?;
        let mut parts = [Reg(0); 4];
        for (slot, o) in parts.iter_mut().zip(s) {
            *slot = self.src(o, part)?;
        }
        Ok(Op::Pack { d: self.dst(d, ty)?, s: parts, parts: s.len() as u8, bits: bits as u8 })
    }

    fn part_type(&self, bits: u32, parts: usize) -> Lowered<Type> {
        match (bits, parts) {
            (8, 2 | 4) => Ok(Type::B8),
            (16, 2 | 4) => Ok(Type::B16),
            (32, 2 | 4) => Ok(Type::B32),
            _ => Err(self.problem(format!("a move of {parts} parts of {bits} bits is not executable"))),
        }
    }

    /// `cvta.space` and `cvta.to.space`
    fn cvta(&mut self, m: &Mods<'_>, o: &[Operand]) -> Lowered<Op> {
        let ty = self.need_type(m)?;
        let space = self.space_of(m);
        let space = self.need(space, m)?;
        let to = m.has("to");
        self.expect(o, 2)?;
        let d = self.dst(&o[0], ty)?;
        let base = window_base(space);
        if let OperandKind::Name(name) = o[1].kind
            && let Ok(Symbol::Frame { .. }) = self.symbol(name, o[1].span)
        {
            return Err(self.problem("the address of a local variable must be moved to a register first"));
        }
        let a = self.src(&o[1], ty)?;
        if base == 0 {
            return Ok(Op::Int1(if ty.bits() == 64 { Int1::Mov64 } else { Int1::Mov32 }, d, [a]));
        }
        let window = self.b.constant(base, ty.bits() == 64);
        let op = match (to, ty.bits() == 64) {
            (false, true) => Int2::Add64,
            (false, false) => Int2::Add32,
            (true, true) => Int2::Sub64,
            (true, false) => Int2::Sub32,
        };
        Ok(Op::Int2(op, d, [a, window]))
    }

    fn compare(&mut self, m: &Mods<'_>, o: &[Operand]) -> Lowered<Op> {
        let set = m.name() == "set";
        let types = m.types();
        let ty = types.last().copied().ok_or_else(|| self.problem(format!("`{}` has no type", m.text())))?;
        let relation = self.need(m.one_of(&RELATIONS), m)?;
        let test = Comparison { relation, ty: self.need(compare_type(ty), m)?, ftz: m.has("ftz") };
        let combine = m.one_of(&COMBINES);
        self.expect(o, 3 + usize::from(combine.is_some()))?;
        let s = self.srcs(&o[1..3], ty)?;
        let with = match combine {
            Some(combine) => (combine, self.pred_src(&o[3])?),
            None => (Combine::And, Pred::TRUE),
        };
        if !set {
            let d = match &o[0].kind {
                OperandKind::Pair(p, q) => {
                    let one =
                        |f: &mut Self, p: Option<ptx::Sym>| p.map_or(Ok(Pred::TRUE), |p| f.pred_named(p, o[0].span));
                    [one(self, *p)?, one(self, *q)?]
                }
                _ => [self.pred_dst(&o[0])?, Pred::TRUE],
            };
            return Ok(Op::Setp { test, s, d, with });
        }
        let result = types[0];
        let holds = match (result, test.ty.is_packed()) {
            (Type::F32, false) => 1.0_f32.to_bits(),
            (Type::U32 | Type::S32, false) => u32::MAX,
            (Type::U16 | Type::S16, false) => 0xffff,
            (Type::F16, false) => 0x3c00,
            (Type::Bf16, false) => 0x3f80,
            (Type::F16x2, true) => 0x3c00,
            (Type::Bf16x2, true) => 0x3f80,
            (Type::U32 | Type::S32, true) => 0xffff,
            _ => return Err(self.problem(format!("`{}` is not executable", m.text()))),
        };
        Ok(Op::Set { test, s, d: self.dst(&o[0], result)?, holds, with })
    }

    /// `and.pred` and the other logic on predicates.
    pub fn pred_logic(&mut self, m: &Mods<'_>, o: &[Operand]) -> Lowered<Op> {
        let d = self.pred_dst(o.first().ok_or_else(|| self.problem("operands are missing"))?)?;
        if m.name() == "not" {
            self.expect(o, 2)?;
            return Ok(Op::PredLogic(Combine::And, d, [self.pred_src(&o[1])?.not(), Pred::TRUE]));
        }
        let combine = COMBINES.iter().find(|(name, _)| *name == m.name()).map(|(_, c)| *c);
        let combine = self.need(combine, m)?;
        self.expect(o, 3)?;
        Ok(Op::PredLogic(combine, d, [self.pred_src(&o[1])?, self.pred_src(&o[2])?]))
    }
}
