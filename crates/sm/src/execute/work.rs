//! What lanes do: the operations by which their energy is told apart.
//!
//! Follows AccelWattch's table of machine instructions and the parts of the power model that they use
//! (Kandiah et al., MICRO 2021). An instruction's class says most; three classes hold operations of
//! different energy, which its text tells apart: this is looked at once per static instruction.

use isa::OpClass;

macro_rules! works {
    ($($(#[doc = $text:literal])+ $work:ident = $name:literal,)*) => {
        /// Kind of operation that a lane does.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Work { #[default] $($(#[doc = $text])+ $work,)* }

        impl Work {
            /// Every kind, in declaration order: `ALL[w as usize] == w`.
            pub const ALL: &'static [Work] = &[$(Work::$work,)*];
            /// How many kinds there are.
            pub const COUNT: usize = Self::ALL.len();
            /// The name used in reports.
            pub const fn name(self) -> &'static str {
                match self { $(Work::$work => $name,)* }
            }
            /// One sentence on what belongs to the kind.
            pub const fn description(self) -> &'static str {
                match self { $(Work::$work => concat!($($text,)+).trim_ascii(),)* }
            }
        }
    };
}

works! {
    /// No arithmetic: control, barriers, fences, operations of the uniform datapath.
    None = "none",
    /// Access to memory other than texture; address arithmetic within it.
    Memory = "memory",
    /// Integer add, logic, shift, compare, move, select, exchange between lanes, conversion.
    IntAdd = "int_add",
    /// Integer multiply and multiply-add.
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
    /// Square root, reciprocal, reciprocal square root.
    Sqrt = "sqrt",
    /// Logarithm.
    Log = "log",
    /// Sine, cosine.
    Sin = "sin",
    /// Exponential, hyperbolic tangent.
    Exp = "exp",
    /// Matrix multiply-accumulate.
    Tensor = "tensor",
    /// Texture and surface access.
    Texture = "texture",
}

impl Work {
    /// What the lanes of an instruction of `class` do whose text, of PTX, machine code or a trace, is
    /// `text`.
    pub fn of(class: OpClass, text: &str) -> Self {
        use OpClass as C;
        match class {
            C::Nop | C::Branch | C::Exit | C::Barrier | C::Fence | C::Uniform => Work::None,
            C::Load | C::Store | C::Atomic | C::AsyncCopy | C::MatrixLoad => Work::Memory,
            C::Move | C::IntAdd | C::IntMinMax | C::Shuffle => Work::IntAdd,
            C::IntMul | C::IntMad => Work::IntMul,
            C::IntDiv => Work::IntDiv,
            C::Convert => conversion(text),
            C::Half => half(text),
            C::FpAdd | C::FpMinMax => Work::FpAdd,
            C::FpMul | C::FpFma => Work::FpMul,
            C::FpDiv => Work::FpDiv,
            C::DpAdd | C::DpMinMax => Work::DpAdd,
            C::DpMul | C::DpFma => Work::DpMul,
            C::DpDiv => Work::DpDiv,
            C::Sfu => special(text),
            C::Tensor => Work::Tensor,
            C::Texture => Work::Texture,
        }
    }

    /// Whether it is one of the arithmetic units' operations.
    pub const fn is_arithmetic(self) -> bool {
        !matches!(self, Work::None | Work::Memory)
    }
}

/// Whether one of the words that `text` is made of, at blanks and dots, contains one of `parts`.
fn names(text: &str, parts: &[&str]) -> bool {
    let text = text.to_ascii_lowercase();
    text.split([' ', '.', ',']).any(|word| !word.starts_with('%') && parts.iter().any(|part| word.contains(part)))
}

/// Integer to integer is the integer units' (`I2I`, `cvt.u64.u32`).
fn conversion(text: &str) -> Work {
    let of_floats = ["f2", "2f", "frnd", "f16", "f32", "f64", "bf16"];
    if names(text, &of_floats) { Work::FpAdd } else { Work::IntAdd }
}

fn half(text: &str) -> Work {
    if names(text, &["mul", "fma", "mad"]) { Work::FpMul } else { Work::FpAdd }
}

/// Functions without an energy of their own are sines, as in AccelWattch.
fn special(text: &str) -> Work {
    let functions =
        [(Work::Sqrt, ["sqrt", "rsq", "rcp"].as_slice()), (Work::Log, &["lg2"]), (Work::Exp, &["ex2", "tanh"])];
    functions.iter().find(|(_, parts)| names(text, parts)).map_or(Work::Sin, |&(work, _)| work)
}

/// Operations of lanes by kind: active lanes of issued instructions, less those that the scalar path saves.
pub type WorkCounts = kit::ByKind<{ Work::COUNT }>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_tell_operations_of_a_class_apart() {
        let of = |class, texts: &[&str]| texts.iter().map(|t| Work::of(class, t)).collect::<Vec<_>>();
        let special =
            ["MUFU.RSQ R1, R2", "0010 1 R0 MUFU.LG2 1 R4", "@%p1 ex2.approx.ftz.f32 %f1, %f2;", "MUFU.COS R1, R2"];
        assert_eq!(of(OpClass::Sfu, &special), [Work::Sqrt, Work::Log, Work::Exp, Work::Sin]);
        let half = ["HFMA2.MMA R1, R2, R3, R4", "add.f16 %h1, %h1, %h1;", "HSET2.BF.GT.AND R1, R2, R3, PT"];
        assert_eq!(of(OpClass::Half, &half), [Work::FpMul, Work::FpAdd, Work::FpAdd]);
        let conversions =
            ["cvt.u64.u32 %rd1, %r2;", "cvt.rn.f32.s32 %f1, %r1;", "I2F.U32 R1, R2", "I2I.S16 R1, R2", "F2I R1, R2"];
        let (int, fp) = (Work::IntAdd, Work::FpAdd);
        assert_eq!(of(OpClass::Convert, &conversions), [int, fp, fp, int, fp]);
    }
}
