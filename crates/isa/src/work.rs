//! Work of the lanes of an instruction: the operations by which energy is distinguished.
//!
//! Follows AccelWattch's table of machine instructions and the parts of the power model that they use
//! (Kandiah et al., MICRO 2021). The class of an instruction determines its work, except for three classes
//! with operations of different energy: for these the decoder of the instruction decides.

use crate::OpClass;

macro_rules! works {
    ($($(#[doc = $text:literal])+ $work:ident = $name:literal,)*) => {
        /// Kind of operation that a lane does.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Work { #[default] $($(#[doc = $text])+ $work,)* }

        impl Work {
            /// All kinds in the order of declaration: `ALL[w as usize] == w`.
            pub const ALL: &'static [Work] = &[$(Work::$work,)*];
            /// Number of kinds.
            pub const COUNT: usize = Self::ALL.len();
            /// The name used in reports.
            pub const fn name(self) -> &'static str {
                match self { $(Work::$work => $name,)* }
            }
            /// One sentence about the kind.
            pub const fn description(self) -> &'static str {
                match self { $(Work::$work => concat!($($text,)+).trim_ascii(),)* }
            }
        }
    };
}

works! {
    /// No arithmetic: control, barriers, fences, operations of the uniform datapath; in machine code special registers,
    /// votes, matches.
    None = "none",
    /// Access to memory other than texture; address arithmetic within it.
    Memory = "memory",
    /// Integer add, logic, shift, compare, move, select, exchange between lanes, conversion.
    IntAdd = "int_add",
    /// Integer multiply and multiply-add; in machine code also a scaled address.
    IntMul = "int_mul",
    /// Integer division as one operation (PTX).
    IntDiv = "int_div",
    /// Single or half precision add, compare, minimum, maximum; conversion from or to them.
    FpAdd = "fp_add",
    /// Single or half precision multiply and fused multiply-add.
    FpMul = "fp_mul",
    /// Single precision division as one operation (PTX).
    FpDiv = "fp_div",
    /// Double precision add, compare, minimum, maximum.
    DpAdd = "dp_add",
    /// Double precision multiply and fused multiply-add.
    DpMul = "dp_mul",
    /// Double precision division or square root as one operation (PTX).
    DpDiv = "dp_div",
    /// Square root, reciprocal square root; in PTX also reciprocal.
    Sqrt = "sqrt",
    /// Logarithm.
    Log = "log",
    /// Sine, cosine; in machine code other functions too.
    Sin = "sin",
    /// Exponential; in PTX also hyperbolic tangent, in machine code reciprocal.
    Exp = "exp",
    /// Matrix multiply-accumulate.
    Tensor = "tensor",
    /// Texture and surface access.
    Texture = "texture",
}

impl Work {
    /// Work of the lanes of every instruction of `class`; `None` for a class of several kinds of work.
    pub const fn of(class: OpClass) -> Option<Self> {
        use OpClass as C;
        Some(match class {
            C::Nop | C::Branch | C::Exit | C::Barrier | C::Fence | C::Uniform => Work::None,
            C::Load | C::Store | C::Atomic | C::AsyncCopy | C::MatrixLoad => Work::Memory,
            C::Move | C::IntAdd | C::BitScan | C::IntMinMax | C::Shuffle | C::Vote | C::Reduce | C::ConvertInt => {
                Work::IntAdd
            }
            C::IntMul | C::IntMad => Work::IntMul,
            C::IntDiv => Work::IntDiv,
            C::FpAdd | C::FpCompare | C::FpMinMax | C::ConvertWide => Work::FpAdd,
            C::FpMul | C::FpFma => Work::FpMul,
            C::FpDiv => Work::FpDiv,
            C::DpAdd | C::DpMinMax => Work::DpAdd,
            C::DpMul | C::DpFma => Work::DpMul,
            C::DpDiv => Work::DpDiv,
            C::Tensor => Work::Tensor,
            C::Texture => Work::Texture,
            C::Convert | C::Half | C::Sfu => return None,
        })
    }

    /// Work of the lanes of an instruction of `class` by its opcode with modifiers, in PTX or machine code:
    /// `cvt.rn.f32.s32`, `MUFU.RSQ`. Functions without an energy of their own count as sines, as in
    /// AccelWattch.
    pub fn of_opcode(class: OpClass, opcode: &str) -> Self {
        let opcode = opcode.to_ascii_lowercase();
        let names = |parts: &[&str]| opcode.split('.').any(|word| parts.iter().any(|part| word.contains(part)));
        match class {
            // Conversion between integers is work of the integer units (`I2I`, `cvt.u64.u32`).
            OpClass::Convert if names(&["f2", "2f", "frnd", "f16", "f32", "f64"]) => Work::FpAdd,
            OpClass::Convert => Work::IntAdd,
            // An addition on the pipe of products.
            OpClass::IntMad if names(&["viadd"]) => Work::IntAdd,
            OpClass::Half if names(&["mul", "fma", "mad"]) => Work::FpMul,
            OpClass::Half => Work::FpAdd,
            OpClass::Sfu if names(&["sqrt", "rsq", "rcp"]) => Work::Sqrt,
            OpClass::Sfu if names(&["lg2"]) => Work::Log,
            OpClass::Sfu if names(&["ex2", "tanh"]) => Work::Exp,
            _ => Work::of(class).unwrap_or(Work::Sin),
        }
    }

    /// Whether the arithmetic units do it.
    pub const fn is_arithmetic(self) -> bool {
        !matches!(self, Work::None | Work::Memory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opcodes_distinguish_operations_of_a_class() {
        let of = |class, texts: &[&str]| texts.iter().map(|t| Work::of_opcode(class, t)).collect::<Vec<_>>();
        let special = ["MUFU.RSQ", "MUFU.LG2", "ex2.approx.ftz.f32", "MUFU.COS"];
        assert_eq!(of(OpClass::Sfu, &special), [Work::Sqrt, Work::Log, Work::Exp, Work::Sin]);
        let half = ["HFMA2.MMA", "add.f16", "HSET2.BF.GT.AND"];
        assert_eq!(of(OpClass::Half, &half), [Work::FpMul, Work::FpAdd, Work::FpAdd]);
        let conversions = ["cvt.u64.u32", "cvt.rn.f32.s32", "I2F.U32", "I2I.S16", "F2I"];
        let (int, fp) = (Work::IntAdd, Work::FpAdd);
        assert_eq!(of(OpClass::Convert, &conversions), [int, fp, fp, int, fp]);
        assert_eq!(of(OpClass::Load, &["ld.global.f32"]), [Work::Memory]);
        assert_eq!(of(OpClass::IntMad, &["VIADD", "IMAD.MOV.U32"]), [Work::IntAdd, Work::IntMul]);
    }
}
