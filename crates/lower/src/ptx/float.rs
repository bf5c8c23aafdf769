//! Floating-point arithmetic.

use super::function::FunctionLowering;
use super::mods::Mods;
use super::scope::Lowered;
use exec::float::{Float1, Float2, Float3, Modifiers};
use exec::op::Op;
use num::{Mode, Rounding};
use ptx::Type;
use ptx::ast::Operand;

/// Rounding modifiers of arithmetic.
const ROUNDINGS: [(&str, Rounding); 4] =
    [("rn", Rounding::NearestEven), ("rz", Rounding::Zero), ("rm", Rounding::Down), ("rp", Rounding::Up)];

/// The choice for f16, f16x2, bf16, bf16x2.
fn half<T: Copy>(ty: Type, choices: [T; 4]) -> Option<T> {
    match ty {
        Type::F16 => Some(choices[0]),
        Type::F16x2 => Some(choices[1]),
        Type::Bf16 => Some(choices[2]),
        Type::Bf16x2 => Some(choices[3]),
        _ => None,
    }
}

impl FunctionLowering<'_, '_> {
    /// Lowers instructions on floating-point numbers.
    pub fn float(&mut self, m: &Mods<'_>, o: &[Operand]) -> Lowered<Op> {
        let ty = self.need_type(m)?;
        let round = m.one_of(&ROUNDINGS);
        let mode = Mode { round: round.unwrap_or_default(), ftz: m.has("ftz"), sat: m.has("sat") };
        let nan = m.has("NaN");
        let xorsign_abs = m.has("xorsign") && m.has("abs");
        let modifiers = Modifiers { mode, nan, xorsign_abs, relu: m.has("relu") };
        // Only the compiler contracts operations; `.noftz` is the default.
        m.ignore(&["noftz", "rnd"]);
        match m.name() {
            "add" | "sub" | "mul" | "div" | "min" | "max" | "copysign" => {
                let op = self.binary_float(m, ty, modifiers);
                let op = self.need(op, m)?;
                self.expect(o, 3)?;
                Ok(Op::Float2(op, modifiers, self.dst(&o[0], ty)?, self.srcs(&o[1..], ty)?))
            }
            "fma" | "mad" => {
                use Float3::*;
                let plain = mode == Mode::RN;
                let op = match ty {
                    Type::F32 => Some(if plain { FmaRnF32 } else { FmaF32 }),
                    Type::F64 => Some(if plain { FmaRnF64 } else { FmaF64 }),
                    _ => half(ty, [FmaF16, FmaF16x2, FmaBf16, FmaBf16x2]),
                };
                let op = self.need(op, m)?;
                self.expect(o, 4)?;
                Ok(Op::Float3(op, modifiers, self.dst(&o[0], ty)?, self.srcs(&o[1..], ty)?))
            }
            _ => {
                let op = self.unary_float(m, ty, round.is_some());
                let op = self.need(op, m)?;
                self.expect(o, 2)?;
                Ok(Op::Float1(op, modifiers, self.dst(&o[0], ty)?, self.srcs(&o[1..], ty)?))
            }
        }
    }

    fn binary_float(&self, m: &Mods<'_>, ty: Type, modifiers: Modifiers) -> Option<Float2> {
        use Float2::*;
        let plain = modifiers.mode == Mode::RN;
        match (m.name(), ty) {
            ("add", Type::F32) => Some(if plain { AddRnF32 } else { AddF32 }),
            ("sub", Type::F32) => Some(if plain { SubRnF32 } else { SubF32 }),
            ("mul", Type::F32) => Some(if plain { MulRnF32 } else { MulF32 }),
            ("add", Type::F64) => Some(if plain { AddRnF64 } else { AddF64 }),
            ("sub", Type::F64) => Some(if plain { SubRnF64 } else { SubF64 }),
            ("mul", Type::F64) => Some(if plain { MulRnF64 } else { MulF64 }),
            ("min", Type::F32) => Some(if modifiers == Modifiers::default() { MinRnF32 } else { MinF32 }),
            ("max", Type::F32) => Some(if modifiers == Modifiers::default() { MaxRnF32 } else { MaxF32 }),
            ("min", Type::F64) => Some(MinF64),
            ("max", Type::F64) => Some(MaxF64),
            ("div", Type::F32) if m.has("approx") => Some(DivApprox),
            ("div", Type::F32) if m.has("full") => Some(DivFull),
            ("div", Type::F32) => Some(if plain { DivRnF32 } else { DivF32 }),
            ("div", Type::F64) => Some(DivF64),
            ("copysign", Type::F32) => Some(CopysignF32),
            ("copysign", Type::F64) => Some(CopysignF64),
            ("add", _) => half(ty, [AddF16, AddF16x2, AddBf16, AddBf16x2]),
            ("sub", _) => half(ty, [SubF16, SubF16x2, SubBf16, SubBf16x2]),
            ("mul", _) => half(ty, [MulF16, MulF16x2, MulBf16, MulBf16x2]),
            ("min", _) => half(ty, [MinF16, MinF16x2, MinBf16, MinBf16x2]),
            ("max", _) => half(ty, [MaxF16, MaxF16x2, MaxBf16, MaxBf16x2]),
            _ => None,
        }
    }

    fn unary_float(&self, m: &Mods<'_>, ty: Type, rounded: bool) -> Option<Float1> {
        use Float1::*;
        // Old PTX omits `.approx`.
        let approx = m.has("approx") || !rounded;
        match (m.name(), ty) {
            ("abs", Type::F32) => Some(AbsF32),
            ("neg", Type::F32) => Some(NegF32),
            ("abs", Type::F64) => Some(AbsF64),
            ("neg", Type::F64) => Some(NegF64),
            ("rcp", Type::F32) => Some(if approx { RcpApprox } else { RcpF32 }),
            ("sqrt", Type::F32) => Some(if approx { SqrtApprox } else { SqrtF32 }),
            ("rcp", Type::F64) => Some(if approx { RcpApproxF64 } else { RcpF64 }),
            ("sqrt", Type::F64) => Some(SqrtF64),
            ("rsqrt", Type::F32) => Some(RsqrtApprox),
            ("rsqrt", Type::F64) => Some(RsqrtApproxF64),
            ("ex2", Type::F32) => Some(Ex2Approx),
            ("lg2", Type::F32) => Some(Lg2Approx),
            ("sin", Type::F32) => Some(SinApprox),
            ("cos", Type::F32) => Some(CosApprox),
            ("tanh", Type::F32) => Some(TanhApprox),
            ("abs", _) => half(ty, [AbsF16, AbsF16x2, AbsBf16, AbsBf16x2]),
            ("neg", _) => half(ty, [NegF16, NegF16x2, NegBf16, NegBf16x2]),
            ("ex2", _) => half(ty, [Ex2F16, Ex2F16x2, Ex2Bf16, Ex2Bf16x2]),
            ("tanh", _) => half(ty, [TanhF16, TanhF16x2, TanhBf16, TanhBf16x2]),
            _ => None,
        }
    }
}
