//! Integer arithmetic, logic, shifts and bit fields.

use super::function::FunctionLowering;
use super::mods::Mods;
use super::scope::Lowered;
use exec::int::{Int1, Int2, Int3, Int4};
use exec::lanes::Reg;
use exec::op::{CarryOp, Op};
use ptx::Type;
use ptx::ast::Operand;

/// The choice for a type of 16, 32 or 64 bits.
pub(super) fn by_bits<T: Copy>(ty: Type, choices: [T; 3]) -> Option<T> {
    match ty.bits() {
        16 => Some(choices[0]),
        32 => Some(choices[1]),
        64 => Some(choices[2]),
        _ => None,
    }
}

/// The choice for `u16`, `s16`, `u32`, `s32`, `u64`, `s64`; untyped bits count as unsigned.
pub(super) fn by_type<T: Copy>(ty: Type, choices: [T; 6]) -> Option<T> {
    let signed = usize::from(ty.is_signed());
    by_bits(ty, [choices[signed], choices[2 + signed], choices[4 + signed]])
}

impl FunctionLowering<'_, '_> {
    /// The type in an opcode, or an error if it has none.
    pub fn need_type(&self, m: &Mods<'_>) -> Lowered<Type> {
        m.ty().ok_or_else(|| self.problem(format!("`{}` has no type", m.text())))
    }

    /// `value`, or an error that this combination of modifiers and type is not executable.
    pub fn need<T>(&self, value: Option<T>, m: &Mods<'_>) -> Lowered<T> {
        value.ok_or_else(|| self.problem(format!("`{}` is not executable", m.text())))
    }

    /// Lowers instructions that exist for integers and floating-point numbers.
    pub fn arithmetic(&mut self, m: &Mods<'_>, o: &[Operand]) -> Lowered<Op> {
        let ty = self.need_type(m)?;
        if ty.is_float() {
            return self.float(m, o);
        }
        if m.has("cc") {
            return self.carry_chain(m, o, ty, false);
        }
        match m.name() {
            "mul" | "mad" => self.multiply(m, o, ty),
            "neg" | "abs" => {
                let op = match m.name() {
                    "neg" => by_bits(ty, [Int1::Neg16, Int1::Neg32, Int1::Neg64]),
                    _ => by_bits(ty, [Int1::Abs16, Int1::Abs32, Int1::Abs64]),
                };
                self.one(m, o, ty, op)
            }
            name => {
                let op = self.binary(m, name, ty);
                self.two(m, o, ty, op)
            }
        }
    }

    fn binary(&self, m: &Mods<'_>, name: &str, ty: Type) -> Option<Int2> {
        use Int2::*;
        match (name, ty) {
            ("add", Type::S32) if m.has("sat") => return Some(AddSatS32),
            ("sub", Type::S32) if m.has("sat") => return Some(SubSatS32),
            ("min", Type::S32) if m.has("relu") => return Some(MinReluS32),
            ("max", Type::S32) if m.has("relu") => return Some(MaxReluS32),
            ("add", Type::U16x2 | Type::S16x2) => return Some(Add16x2),
            ("min", Type::U16x2) => return Some(MinU16x2),
            ("max", Type::U16x2) => return Some(MaxU16x2),
            ("min", Type::S16x2) if m.has("relu") => return Some(MinReluS16x2),
            ("max", Type::S16x2) if m.has("relu") => return Some(MaxReluS16x2),
            ("min", Type::S16x2) => return Some(MinS16x2),
            ("max", Type::S16x2) => return Some(MaxS16x2),
            (_, Type::U16x2 | Type::S16x2) => return None,
            _ => {}
        }
        match name {
            "add" => by_bits(ty, [Add16, Add32, Add64]),
            "sub" => by_bits(ty, [Sub16, Sub32, Sub64]),
            "div" => by_type(ty, [DivU16, DivS16, DivU32, DivS32, DivU64, DivS64]),
            "rem" => by_type(ty, [RemU16, RemS16, RemU32, RemS32, RemU64, RemS64]),
            "min" => by_type(ty, [MinU16, MinS16, MinU32, MinS32, MinU64, MinS64]),
            "max" => by_type(ty, [MaxU16, MaxS16, MaxU32, MaxS32, MaxU64, MaxS64]),
            _ => None,
        }
    }

    fn one(&mut self, m: &Mods<'_>, o: &[Operand], ty: Type, op: Option<Int1>) -> Lowered<Op> {
        let op = self.need(op, m)?;
        self.expect(o, 2)?;
        Ok(Op::Int1(op, self.dst(&o[0], ty)?, self.srcs(&o[1..], ty)?))
    }

    fn two(&mut self, m: &Mods<'_>, o: &[Operand], ty: Type, op: Option<Int2>) -> Lowered<Op> {
        let op = self.need(op, m)?;
        self.expect(o, 3)?;
        Ok(Op::Int2(op, self.dst(&o[0], ty)?, self.srcs(&o[1..], ty)?))
    }

    fn three(&mut self, m: &Mods<'_>, o: &[Operand], ty: Type, op: Option<Int3>) -> Lowered<Op> {
        let op = self.need(op, m)?;
        self.expect(o, 4)?;
        Ok(Op::Int3(op, self.dst(&o[0], ty)?, self.srcs(&o[1..], ty)?))
    }

    /// `mul` and `mad`: low, high and wide.
    fn multiply(&mut self, m: &Mods<'_>, o: &[Operand], ty: Type) -> Lowered<Op> {
        let mad = m.name() == "mad";
        let (high, wide) = (m.has("hi"), m.has("wide"));
        m.ignore(&["lo"]);
        if wide {
            let result = match ty {
                Type::U16 => Type::U32,
                Type::S16 => Type::S32,
                Type::U32 => Type::U64,
                Type::S32 => Type::S64,
                _ => return Err(self.problem(format!("`{}` is not executable", m.text()))),
            };
            self.expect(o, if mad { 4 } else { 3 })?;
            let d = self.dst(&o[0], result)?;
            let [a, b] = self.srcs(&o[1..3], ty)?;
            // 64-bit types have no wide product; the table's last column is never used.
            return if mad {
                use Int3::*;
                let c = self.src(&o[3], result)?;
                let op = by_type(ty, [MadWideU16, MadWideS16, MadWideU32, MadWideS32, MadWideU32, MadWideS32]);
                Ok(Op::Int3(self.need(op, m)?, d, [a, b, c]))
            } else {
                use Int2::*;
                let op = by_type(ty, [MulWideU16, MulWideS16, MulWideU32, MulWideS32, MulWideU32, MulWideS32]);
                Ok(Op::Int2(self.need(op, m)?, d, [a, b]))
            };
        }
        if mad {
            use Int3::*;
            let op = match (high, high && m.has("sat")) {
                (true, true) => Some(MadHiSatS32).filter(|_| ty == Type::S32),
                (true, false) => by_type(ty, [MadHiU16, MadHiS16, MadHiU32, MadHiS32, MadHiU64, MadHiS64]),
                _ => by_bits(ty, [MadLo16, MadLo32, MadLo64]),
            };
            self.three(m, o, ty, op)
        } else {
            use Int2::*;
            let op = if high {
                by_type(ty, [MulHiU16, MulHiS16, MulHiU32, MulHiS32, MulHiU64, MulHiS64])
            } else {
                by_bits(ty, [MulLo16, MulLo32, MulLo64])
            };
            self.two(m, o, ty, op)
        }
    }

    /// Lowers instructions that read or write the carry bit.
    fn carry_chain(&mut self, m: &Mods<'_>, o: &[Operand], ty: Type, carry_in: bool) -> Lowered<Op> {
        let carry_out = m.has("cc");
        let op = match m.name() {
            "add" | "addc" => CarryOp::Add,
            "sub" | "subc" => CarryOp::Sub,
            _ if m.has("lo") => CarryOp::MadLo,
            _ if m.has("hi") && ty.is_signed() => CarryOp::MadHiSigned,
            _ => CarryOp::MadHiUnsigned,
        };
        let multiplies = !matches!(op, CarryOp::Add | CarryOp::Sub);
        if ty.bits() < 32 {
            return Err(self.problem(format!("`{}` is not executable", m.text())));
        }
        self.expect(o, if multiplies { 4 } else { 3 })?;
        let d = self.dst(&o[0], ty)?;
        let s = if multiplies {
            self.srcs(&o[1..], ty)?
        } else {
            let [a, b] = self.srcs(&o[1..], ty)?;
            [a, b, b]
        };
        let carry = self.carry();
        Ok(Op::Carry { op, wide: ty.bits() == 64, d, s, carry, carry_in, carry_out })
    }

    /// Lowers instructions that exist only for integers.
    pub fn int(&mut self, m: &Mods<'_>, o: &[Operand]) -> Lowered<Op> {
        use Type::{B32, S32, U32, U64};
        let types = m.types();
        let ty = types.last().copied().ok_or_else(|| self.problem(format!("`{}` has no type", m.text())))?;
        match m.name() {
            "addc" | "subc" | "madc" => self.carry_chain(m, o, ty, true),
            "and" | "or" | "xor" | "not" | "cnot" => self.logic(m, o, ty),
            "shl" | "shr" => self.shift(m, o, ty),
            "mul24" | "mad24" => self.multiply24(m, o, ty),
            "sad" => {
                use Int3::*;
                self.three(m, o, ty, by_type(ty, [SadU16, SadS16, SadU32, SadS32, SadU64, SadS64]))
            }
            "dp4a" | "dp2a" => self.dot_product(m, o, &types),
            "bfe" => {
                use Int3::*;
                let op = by_type(ty, [BfeU32, BfeS32, BfeU32, BfeS32, BfeU64, BfeS64]).filter(|_| ty.bits() >= 32);
                let op = self.need(op, m)?;
                self.expect(o, 4)?;
                let [pos, len] = self.srcs(&o[2..], U32)?;
                Ok(Op::Int3(op, self.dst(&o[0], ty)?, [self.src(&o[1], ty)?, pos, len]))
            }
            "bfi" => {
                self.expect(o, 5)?;
                let op = if ty.bits() == 64 { Int4::Bfi64 } else { Int4::Bfi32 };
                let ([a, b], [pos, len]) = (self.srcs(&o[1..3], ty)?, self.srcs(&o[3..], U32)?);
                Ok(Op::Int4(op, self.dst(&o[0], ty)?, [a, b, pos, len]))
            }
            "popc" | "clz" | "brev" | "bfind" => self.bit_count(m, o, ty),
            "prmt" => {
                use Int3::*;
                let table = [
                    ("f4e", PrmtForward4),
                    ("b4e", PrmtBackward4),
                    ("rc8", PrmtReplicate8),
                    ("ecl", PrmtEdgeClampLeft),
                    ("ecr", PrmtEdgeClampRight),
                    ("rc16", PrmtReplicate16),
                ];
                self.three(m, o, B32, Some(m.one_of(&table).unwrap_or(PrmtDefault)))
            }
            "shf" => {
                use Int3::*;
                let clamp = m.has("clamp");
                let left = m.has("l");
                m.ignore(&["r", "wrap"]);
                let op = match (left, clamp) {
                    (true, true) => ShfLeftClamp,
                    (true, false) => ShfLeftWrap,
                    (false, true) => ShfRightClamp,
                    (false, false) => ShfRightWrap,
                };
                self.three(m, o, B32, Some(op))
            }
            "lop3" => self.lop3(m, o),
            "szext" | "bmsk" => {
                use Int2::*;
                let wrap = m.has("wrap");
                m.ignore(&["clamp"]);
                let op = match (m.name(), ty, wrap) {
                    ("bmsk", _, false) => BmskClamp,
                    ("bmsk", _, true) => BmskWrap,
                    (_, S32, false) => SzextClampS32,
                    (_, S32, true) => SzextWrapS32,
                    (_, _, false) => SzextClampU32,
                    (_, _, true) => SzextWrapU32,
                };
                self.two(m, o, B32, Some(op))
            }
            "fns" => self.three(m, o, B32, Some(Int3::Fns)),
            _ => Err(self.problem(format!("`{}` is not executable for {}", m.text(), U64))),
        }
    }

    fn logic(&mut self, m: &Mods<'_>, o: &[Operand], ty: Type) -> Lowered<Op> {
        use Int2::*;
        if ty == Type::Pred {
            return self.pred_logic(m, o);
        }
        match m.name() {
            "not" => self.one(m, o, ty, by_bits(ty, [Int1::Not16, Int1::Not32, Int1::Not64])),
            "cnot" => self.one(m, o, ty, by_bits(ty, [Int1::Cnot16, Int1::Cnot32, Int1::Cnot64])),
            "and" => self.two(m, o, ty, by_bits(ty, [And32, And32, And64])),
            "or" => self.two(m, o, ty, by_bits(ty, [Or32, Or32, Or64])),
            _ => self.two(m, o, ty, by_bits(ty, [Xor32, Xor32, Xor64])),
        }
    }

    fn shift(&mut self, m: &Mods<'_>, o: &[Operand], ty: Type) -> Lowered<Op> {
        use Int2::*;
        let op = if m.name() == "shl" {
            by_bits(ty, [Shl16, Shl32, Shl64])
        } else {
            by_type(ty, [ShrU16, ShrS16, ShrU32, ShrS32, ShrU64, ShrS64])
        };
        let op = self.need(op, m)?;
        self.expect(o, 3)?;
        Ok(Op::Int2(op, self.dst(&o[0], ty)?, [self.src(&o[1], ty)?, self.src(&o[2], Type::U32)?]))
    }

    fn multiply24(&mut self, m: &Mods<'_>, o: &[Operand], ty: Type) -> Lowered<Op> {
        let (high, signed) = (m.has("hi"), ty.is_signed());
        m.ignore(&["lo"]);
        if m.name() == "mul24" {
            let op = match (high, signed) {
                (false, false) => Int2::Mul24LoU,
                (false, true) => Int2::Mul24LoS,
                (true, false) => Int2::Mul24HiU,
                (true, true) => Int2::Mul24HiS,
            };
            return self.two(m, o, ty, Some(op));
        }
        let op = match (high, signed) {
            (true, true) if m.has("sat") => Int3::Mad24HiSatS,
            (false, false) => Int3::Mad24LoU,
            (false, true) => Int3::Mad24LoS,
            (true, false) => Int3::Mad24HiU,
            (true, true) => Int3::Mad24HiS,
        };
        self.three(m, o, ty, Some(op))
    }

    fn dot_product(&mut self, m: &Mods<'_>, o: &[Operand], types: &[Type]) -> Lowered<Op> {
        use Int3::*;
        let [a, b] = types else { return Err(self.problem(format!("`{}` needs two types", m.text()))) };
        let signs = usize::from(a.is_signed()) * 2 + usize::from(b.is_signed());
        let op = if m.name() == "dp4a" {
            [Dp4aUU, Dp4aUS, Dp4aSU, Dp4aSS][signs]
        } else if m.has("hi") {
            [Dp2aHiUU, Dp2aHiUS, Dp2aHiSU, Dp2aHiSS][signs]
        } else {
            m.ignore(&["lo"]);
            [Dp2aLoUU, Dp2aLoUS, Dp2aLoSU, Dp2aLoSS][signs]
        };
        self.three(m, o, Type::B32, Some(op))
    }

    fn bit_count(&mut self, m: &Mods<'_>, o: &[Operand], ty: Type) -> Lowered<Op> {
        use Int1::*;
        let wide = ty.bits() == 64;
        let shift = m.has("shiftamt");
        let op = match m.name() {
            "popc" => [Popc32, Popc64][usize::from(wide)],
            "clz" => [Clz32, Clz64][usize::from(wide)],
            "brev" => [Brev32, Brev64][usize::from(wide)],
            _ => {
                let plain = [BfindU32, BfindS32, BfindU32, BfindS32, BfindU64, BfindS64];
                let shifts = [BfindShiftU32, BfindShiftS32, BfindShiftU32, BfindShiftS32, BfindShiftU64, BfindShiftS64];
                self.need(by_type(ty, if shift { shifts } else { plain }), m)?
            }
        };
        self.expect(o, 2)?;
        let result = if op.columns().0 == 2 { Type::B64 } else { Type::U32 };
        Ok(Op::Int1(op, self.dst(&o[0], result)?, self.srcs(&o[1..], ty)?))
    }

    fn lop3(&mut self, m: &Mods<'_>, o: &[Operand]) -> Lowered<Op> {
        self.expect(o, 5)?;
        let d = self.dst(&o[0], Type::B32)?;
        let s: [Reg; 3] = self.srcs(&o[1..4], Type::B32)?;
        let table = o[4].integer().filter(|&x| x < 256);
        Ok(Op::Lop3(d, s, self.need(table, m)? as u8))
    }
}
