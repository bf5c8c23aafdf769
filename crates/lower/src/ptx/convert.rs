//! `cvt`.

use super::function::FunctionLowering;
use super::mods::Mods;
use super::scope::Lowered;
use exec::convert::{Convert1, Cvt, Numeric, PackedCvt};
use exec::int::Int1;
use exec::op::Op;
use num::convert::IntType;
use num::{Mode, Rounding};
use ptx::Type;
use ptx::ast::Operand;

/// Rounding modifiers: to the precision of the result, and whether to an integral value.
const ROUNDINGS: [(&str, (Rounding, bool)); 9] = [
    ("rn", (Rounding::NearestEven, false)),
    ("rz", (Rounding::Zero, false)),
    ("rm", (Rounding::Down, false)),
    ("rp", (Rounding::Up, false)),
    ("rna", (Rounding::NearestAway, false)),
    ("rni", (Rounding::NearestEven, true)),
    ("rzi", (Rounding::Zero, true)),
    ("rmi", (Rounding::Down, true)),
    ("rpi", (Rounding::Up, true)),
];

const fn numeric(ty: Type) -> Option<Numeric> {
    Some(match ty {
        Type::U8 | Type::B8 => Numeric::Int(IntType::U8),
        Type::U16 | Type::B16 => Numeric::Int(IntType::U16),
        Type::U32 | Type::B32 => Numeric::Int(IntType::U32),
        Type::U64 | Type::B64 => Numeric::Int(IntType::U64),
        Type::S8 => Numeric::Int(IntType::S8),
        Type::S16 => Numeric::Int(IntType::S16),
        Type::S32 => Numeric::Int(IntType::S32),
        Type::S64 => Numeric::Int(IntType::S64),
        Type::F16 => Numeric::F16,
        Type::Bf16 => Numeric::Bf16,
        Type::Tf32 => Numeric::Tf32,
        Type::F32 => Numeric::F32,
        Type::F64 => Numeric::F64,
        _ => return None,
    })
}

impl FunctionLowering<'_, '_> {
    /// `cvt` and `cvt.pack`.
    pub fn cvt(&mut self, m: &Mods<'_>, o: &[Operand]) -> Lowered<Op> {
        let types = m.types();
        if m.has("pack") {
            return self.cvt_pack(m, o, &types);
        }
        let [to, from] = types[..] else { return Err(self.problem(format!("`{}` needs two types", m.text()))) };
        let (round, integral) = m.one_of(&ROUNDINGS).unwrap_or_default();
        let mode = Mode { round, ftz: m.has("ftz"), sat: m.has("sat") };
        let (relu, satfinite) = (m.has("relu"), m.has("satfinite"));
        if let Some(packed) = packed(to, from, round, relu, satfinite) {
            let count = packed.sources();
            self.expect(o, 1 + count)?;
            let d = self.dst(&o[0], to)?;
            let first = self.src(&o[1], from)?;
            let second = if count > 1 { self.src(&o[2], from)? } else { first };
            return Ok(Op::PackedCvt(packed, d, [first, second, second]));
        }
        let (numeric_to, numeric_from) = (self.need(numeric(to), m)?, self.need(numeric(from), m)?);
        self.expect(o, 2)?;
        // Registers may be wider than the types.
        let d = self.any_register(&o[0])?;
        let (a, src_bits) = match &o[1].kind {
            ptx::ast::OperandKind::Immediate(value) => {
                let ty = if from.bits() < 16 { Type::U16 } else { from };
                (self.immediate(*value, ty, o[1].span)?, ty.bits().max(32))
            }
            _ => {
                let special = self.special_source(&o[1]);
                let r = special.map_or_else(|| self.any_register(&o[1]), Ok)?;
                (r.reg, r.ty.bits())
            }
        };
        let dst_bits = d.ty.bits().max(16);
        if dst_bits < to.bits() || src_bits < from.bits().min(32) {
            return Err(self.problem(format!("a register of `{}` is too narrow", m.text())));
        }
        let same_widths = dst_bits == to.bits().max(16) && src_bits.max(16) == from.bits().max(16);
        if same_widths
            && !relu
            && !satfinite
            && let Some(op) = frequent(numeric_to, numeric_from, mode, integral)
        {
            return Ok(op.with(d.reg, a));
        }
        let cvt = Cvt {
            from: numeric_from,
            to: numeric_to,
            mode,
            integral,
            relu,
            satfinite,
            dst_bits: dst_bits as u8,
            src_bits: src_bits as u8,
        };
        Ok(Op::Cvt(cvt, d.reg, a))
    }

    /// `cvt.pack.sat.{u16,s16}.s32 d, a, b` and `cvt.pack.sat.{u8,s8}.s32.b32 d, a, b, c`.
    fn cvt_pack(&mut self, m: &Mods<'_>, o: &[Operand], types: &[Type]) -> Lowered<Op> {
        m.ignore(&["sat"]);
        let op = match types {
            [to @ (Type::U16 | Type::S16), Type::S32] => Some(PackedCvt::PackInt16 { signed: to.is_signed() }),
            [to @ (Type::U8 | Type::S8), Type::S32, Type::B32] => Some(PackedCvt::PackInt8 { signed: to.is_signed() }),
            _ => None,
        };
        let op = self.need(op, m)?;
        self.expect(o, 1 + op.sources())?;
        let d = self.dst(&o[0], Type::B32)?;
        let [a, b] = self.srcs(&o[1..3], Type::S32)?;
        let c = if op.sources() == 3 { self.src(&o[3], Type::B32)? } else { b };
        Ok(Op::PackedCvt(op, d, [a, b, c]))
    }
}

fn packed(to: Type, from: Type, round: Rounding, relu: bool, satfinite: bool) -> Option<PackedCvt> {
    match (to, from) {
        (Type::F16x2 | Type::Bf16x2, Type::F32) => {
            Some(PackedCvt::HalvesFromF32 { bf16: to == Type::Bf16x2, round, relu, satfinite })
        }
        (Type::E4m3x2 | Type::E5m2x2, Type::F32) => Some(PackedCvt::BytesFromF32 { e5m2: to == Type::E5m2x2, relu }),
        (Type::E4m3x2 | Type::E5m2x2, Type::F16x2) => {
            Some(PackedCvt::BytesFromF16x2 { e5m2: to == Type::E5m2x2, relu })
        }
        (Type::F16x2, Type::E4m3x2 | Type::E5m2x2) => {
            Some(PackedCvt::F16x2FromBytes { e5m2: from == Type::E5m2x2, relu })
        }
        _ => None,
    }
}

/// A conversion that has a row of its own.
enum Frequent {
    Int(Int1),
    Convert(Convert1),
}

impl Frequent {
    fn with(self, d: exec::lanes::Reg, a: exec::lanes::Reg) -> Op {
        match self {
            Frequent::Int(op) => Op::Int1(op, d, [a]),
            Frequent::Convert(op) => Op::Convert(op, d, [a]),
        }
    }
}

fn frequent(to: Numeric, from: Numeric, mode: Mode, integral: bool) -> Option<Frequent> {
    use IntType::{S16, S32, S64, U16, U32, U64};
    use Numeric::{F16, F32, F64, Int};
    let plain = mode == Mode::RN && !integral;
    let truncates = mode.round == Rounding::Zero && !mode.ftz && integral;
    Some(match (to, from) {
        (Int(S64 | U64), Int(S32)) if !mode.sat => Frequent::Int(Int1::Sext64),
        (Int(S64 | U64), Int(U32)) => Frequent::Int(Int1::Zext64),
        (Int(S32 | U32), Int(S64 | U64)) if !mode.sat => Frequent::Int(Int1::Low32),
        (Int(S32 | U32), Int(S32 | U32)) if !mode.sat => Frequent::Int(Int1::Mov32),
        (Int(S64 | U64), Int(S64 | U64)) if !mode.sat => Frequent::Int(Int1::Mov64),
        (Int(S32 | U32), Int(S16)) if !mode.sat => Frequent::Int(Int1::Sext16),
        (Int(S32 | U32), Int(U16)) => Frequent::Int(Int1::Mov32),
        (Int(S16 | U16), Int(S32 | U32)) if !mode.sat => Frequent::Int(Int1::Low16),
        (F32, Int(S32)) if plain => Frequent::Convert(Convert1::S32ToF32),
        (F32, Int(U32)) if plain => Frequent::Convert(Convert1::U32ToF32),
        (F64, Int(S32)) if plain => Frequent::Convert(Convert1::S32ToF64),
        (F64, Int(U32)) if plain => Frequent::Convert(Convert1::U32ToF64),
        (F64, F32) if plain => Frequent::Convert(Convert1::F32ToF64),
        (F32, F64) if plain => Frequent::Convert(Convert1::F64ToF32),
        (F32, F16) if plain => Frequent::Convert(Convert1::F16ToF32),
        (F16, F32) if plain => Frequent::Convert(Convert1::F32ToF16),
        (Int(S32), F32) if truncates => Frequent::Convert(Convert1::F32ToS32),
        (Int(U32), F32) if truncates => Frequent::Convert(Convert1::F32ToU32),
        _ => return None,
    })
}
