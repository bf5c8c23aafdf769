//! Matrix operations as timing sees them: the types that set the rate of a matrix unit, and the number of
//! multiply-adds.

macro_rules! matrix_types {
    ($($(#[doc = $text:literal])+ $ty:ident = $name:literal, $most:literal;)*) => {
        /// Types of a matrix multiply-accumulate, as far as hardware has rates of their own for them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum MatrixType { $($(#[doc = $text])+ $ty,)* }

        impl MatrixType {
            /// All types in the order of declaration: `ALL[t as usize] == t`.
            pub const ALL: &'static [MatrixType] = &[$(MatrixType::$ty,)*];
            /// The name used in GPU descriptions.
            pub const fn name(self) -> &'static str {
                match self { $(MatrixType::$ty => $name,)* }
            }
            /// One sentence about the type.
            pub const fn description(self) -> &'static str {
                match self { $(MatrixType::$ty => concat!($($text,)+).trim_ascii(),)* }
            }
            /// Multiply-adds of the largest instruction of a warp of the type.
            pub const fn most_multiply_adds(self) -> u32 {
                match self { $(MatrixType::$ty => $most,)* }
            }
        }
    };
}

matrix_types! {
    /// f16 factors, accumulated in f16.
    F16 = "f16", 4096;
    /// f16 factors, accumulated in f32.
    F16F32 = "f16_f32", 4096;
    /// bf16 factors, accumulated in f32.
    Bf16 = "bf16", 4096;
    /// tf32 factors, accumulated in f32.
    Tf32 = "tf32", 2048;
    /// f64 factors and accumulator.
    F64 = "f64", 2048;
    /// 8-bit floating-point factors, accumulated in f16.
    Fp8 = "fp8", 4096;
    /// 8-bit floating-point factors, accumulated in f32.
    Fp8F32 = "fp8_f32", 4096;
    /// 8-bit integer factors, accumulated in s32.
    Int8 = "int8", 4096;
    /// 4-bit integer factors, accumulated in s32.
    Int4 = "int4", 8192;
    /// Single bits, accumulated in s32.
    B1 = "b1", 32_768;
}

/// Work of a matrix operation for a matrix unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatrixWork {
    /// Its types.
    pub ty: MatrixType,
    /// Products of two elements that it adds up, over the whole warp: m·n·k of its shape. A sparse operation
    /// counts half of k, which is what hardware multiplies: it selects the factors that meet a stored element.
    pub multiply_adds: u32,
    /// For a part of a warp group's operation (`wgmma`): the properties that its time depends on.
    pub group: Option<GroupWork>,
}

/// An operation of a warp group, of which each of four warps executes a quarter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupWork {
    /// N of its shape.
    pub columns: u16,
    /// Factor A comes from registers, not from shared memory. Not known of an opcode without its operands.
    pub a_in_registers: bool,
}
