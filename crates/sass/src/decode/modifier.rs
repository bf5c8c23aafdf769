//! Modifiers: fields with a text for each value. Where the meaning of an instruction depends on a modifier, a key names
//! it, and a row of the table gives each value of its field one of an enum too.

use super::field::{Field, Show, bits};
use std::marker::PhantomData;

/// A modifier: a field with names for its values.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Mod {
    /// Meaning of the field.
    pub name: &'static str,
    /// Key, if the meaning of the instruction depends on it.
    pub(super) key: Option<Id>,
    pub field: Field,
    /// Each value as a number of the key's type.
    pub(super) values: &'static [u8],
    /// Text of each value: with its dot; empty for the default; [`RESERVED`] for a reserved value.
    pub text: &'static [&'static str],
    /// When it is printed. Elsewhere reserved values are not an error.
    pub show: Show,
}

/// Text of a reserved value: a word with such a value is refused.
pub const RESERVED: &str = "!";

/// A modifier that only the text shows.
pub const fn modifier(name: &'static str, field: Field, text: &'static [&'static str]) -> Mod {
    Mod { name, key: None, field, values: &[], text, show: Show::Always }
}

/// The same of one bit.
pub const fn flag(name: &'static str, bit: u8, text: &'static [&'static str; 2]) -> Mod {
    modifier(name, bits(bit, 1), text)
}

impl Mod {
    /// The same modifier with a condition.
    pub const fn show(mut self, show: Show) -> Mod {
        self.show = show;
        self
    }
}

/// Names a modifier with values of type `T`.
#[derive(Clone, Copy, Debug)]
pub struct Key<T> {
    id: Id,
    name: &'static str,
    values: PhantomData<T>,
}

/// The value of a modifier.
pub trait Value: Copy {
    /// The value with a number of the table.
    #[doc(hidden)]
    fn of(number: u8) -> Option<Self>;
}

impl Value for bool {
    fn of(number: u8) -> Option<Self> {
        Some(number == 1)
    }
}

impl<T> Key<T> {
    pub(super) fn is_of(&self, modifier: &Mod) -> bool {
        modifier.key == Some(self.id)
    }

    /// Of a row: the numbers of the values of the field, and their texts.
    pub(super) const fn choice(self, field: Field, values: &'static [u8], text: &'static [&'static str]) -> Mod {
        Mod { name: self.name, key: Some(self.id), field, values, text, show: Show::Always }
    }
}

impl Key<bool> {
    /// A modifier of one bit in a row.
    pub(super) const fn bit(self, bit: u8, text: &'static [&'static str; 2]) -> Mod {
        self.choice(bits(bit, 1), &[0, 1], text)
    }
}

/// A modifier of a row by its key: `choice!(SIZE: Size, bits(73, 3), [(U8 ".U8") (S8 ".S8") _])`. The values of the
/// field are the list's in turn; `_` is reserved.
macro_rules! choice {
    (@text _) => { $crate::decode::modifier::RESERVED };
    (@text ($value:ident $text:literal)) => { $text };
    (@value $ty:ident _) => { u8::MAX };
    (@value $ty:ident ($value:ident $text:literal)) => { $crate::decode::modifier::$ty::$value as u8 };
    ($key:ident: $ty:ident, $field:expr, [$($entry:tt)*]) => {{
        const KEY: $crate::decode::modifier::Key<$crate::decode::modifier::$ty> = $crate::decode::modifier::key::$key;
        KEY.choice($field, &[$(choice!(@value $ty $entry)),*], &[$(choice!(@text $entry)),*])
    }};
}
pub(super) use choice;

macro_rules! values {
    ($($(#[$doc:meta])* $name:ident { $($value:ident),* $(,)? })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs, reason = "the names say it")]
        pub enum $name { $($value),* }

        impl Value for $name {
            fn of(number: u8) -> Option<Self> {
                [$(Self::$value),*].get(usize::from(number)).copied()
            }
        }
    )*};
}

macro_rules! keys {
    ($($key:ident $name:literal: $ty:ident,)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(non_camel_case_types, clippy::upper_case_acronyms, reason = "each is the name of a key")]
        pub(super) enum Id { $($key),* }

        /// The keys.
        #[allow(missing_docs, reason = "the names say it")]
        pub mod key {
            use crate::decode::modifier::*;
            $(pub const $key: Key<$ty> = Key { id: Id::$key, name: $name, values: PhantomData };)*
        }
    };
}

values! {
    /// Data that an access moves for a lane. `Uniform128` is an encoding of Volta and Turing for uniform addresses.
    Size { U8, S8, U16, S16, B32, B64, B128, Uniform128 }
    /// Space that a query asks about; `Distributed` is the shared memory of a cluster.
    QueriedSpace { Global, Local, Shared, Distributed }
    /// How an index into constant banks is meant.
    IndexMode { Plain, Bank, Segmented, SegmentedBank }
    /// Operation of an atomic access. The tests of `CAST` return whether they stored.
    Atomic { Add, Min, Max, Inc, Dec, And, Or, Xor, Exch, SafeAdd, Cas, Cast, CastSpin }
    /// Type of an atomic access.
    AtomicType { U32, S32, U64, S64, F32, F32x2, F32x4, F64, F16x2, F16x4, F16x8, Bf16x2, Bf16x4, Bf16x8, F16, Bf16 }
    /// Arrivals at a barrier and bytes for it: an arrival and as many expected bytes as the operand says, one of these,
    /// or only one byte; the bytes themselves (`Complete`); as many arrivals as the operand says.
    Arrival { One, OneWithoutBytes, NoneOneByte, None, Complete, Many }
    /// From which memory to which a bulk copy goes.
    CopyDirection { GlobalToShared, SharedToGlobal, SharedToShared }
    /// Dimensions of a tensor.
    Rank { One, Two, Three, Four, Five }
    /// Whether a matrix operation is the last of its group.
    GroupEnd { Last, Inner }
    /// Order of an access with others; since Ampere, with its scope.
    Order { Weak, Constant, Strong, StrongGpu, StrongSystem, Mmio }
    /// Rounding of a result; of an integral one to the nearest, floor, ceiling and towards zero.
    Round { Nearest, Down, Up, Zero }
    /// How a comparison is combined with a predicate.
    Combine { And, Or, Xor }
    /// Relation of a comparison. `Min` and `Max` choose one operand.
    Compare { Never, Lt, Eq, Le, Gt, Ne, Ge, Num, Nan, Ltu, Equ, Leu, Gtu, Neu, Geu, Always, Min, Max }
    /// Power of two by which a product is scaled.
    Scale { Eighth, Quarter, Half, One, Two, Four, Eight }
    /// Function of `MUFU`.
    Function { Cos, Sin, Ex2, Lg2, Rcp, Rsq, Rcp64H, Rsq64H, Sqrt, Tanh }
    /// Mode of a permutation of bytes.
    Permutation { Any, Forward4, Backward4, Replicate8, ClampLeft, ClampRight, Replicate16 }
    /// One of four: a byte of a register, a channel of a texture, a step of a multiplication.
    Part { First, Second, Third, Fourth }
    /// Type of a shift.
    ShiftType { S64, U64, S32, U32 }
    /// Type of a minimum.
    ExtremeType { U32, S32, U16x2, S16x2 }
    /// Source lane of a shuffle.
    Shuffle { Index, Up, Down, Butterfly }
    /// Question of a vote.
    Vote { All, Any, Equal }
    /// Operation of a reduction over the warp.
    Reduction { And, Or, Xor, Sum, Min, Max }
    /// Kind of a CTA barrier.
    Barrier { Sync, Arrive, Reduce, SyncAll }
    /// Result of a reduction at a CTA barrier.
    BarrierReduction { Popc, And, Or }
    /// Who sees the accesses before a fence.
    Scope { Cta, Sm, Gpu, System, Vc }
    /// Reason of a breakpoint.
    Breakpoint { Pause, Trap }
    /// Whether a branch depends on the convergence of the warp.
    Branch { Plain, Uniform, Diverged, Converged }
    /// Floating-point type.
    FloatType { F16, F32, F64, Bf16, Tf32 }
    /// Integer type.
    IntType { U2, S2, U4, S4, U8, S8, U16, S16, U32, S32, U64, S64 }
    /// Type of an 8-bit floating-point number.
    ByteType { E4m3, E5m2 }
    /// Shape of a matrix multiplication: m x n x k.
    MatrixShape {
        M4N4K4, M8N8K4, M8N8K16, M8N8K32, M8N8K128, M16N8K4, M16N8K8, M16N8K16, M16N8K32, M16N8K64, M16N8K128,
        M16N8K256,
    }
    /// Length of the sums of a warp group's multiplication of halves or wider numbers.
    GroupLength { K8, K16, K32 }
    /// Operation on pairs of bits.
    BitOperation { Xor, And }
    /// Order of elements in a moved matrix.
    Layout { Plain, Transposed }
    /// Number of matrices that are moved.
    Count { One, Two, Four }
    /// Source of the level of detail of a texture.
    Level { Automatic, Zero, Bias, Given, Clamped, BiasClamped }
    /// Offsets of the coordinates of a texture.
    Offsets { None, One, PerTexel }
    /// Shape of a surface.
    Surface { D1, Buffer, Array1, D2, Array2, D3 }
    /// Effect of an access outside a surface.
    Outside { Ignore, Clamp, Trap }
}

impl GroupLength {
    /// The number of elements.
    pub const fn elements(self) -> u16 {
        match self {
            Self::K8 => 8,
            Self::K16 => 16,
            Self::K32 => 32,
        }
    }
}

/// Columns of the result of a warp group's multiplication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupColumns(pub u16);

impl Value for GroupColumns {
    fn of(number: u8) -> Option<Self> {
        (number < 32).then_some(Self(8 * (u16::from(number) + 1)))
    }
}

impl MatrixShape {
    /// Rows of the result, and length of the sums; it has 8 columns, except in 4 x 4 x 4.
    pub const fn rows_and_length(self) -> [u16; 2] {
        match self {
            Self::M4N4K4 => [4, 4],
            Self::M8N8K4 => [8, 4],
            Self::M8N8K16 => [8, 16],
            Self::M8N8K32 => [8, 32],
            Self::M8N8K128 => [8, 128],
            Self::M16N8K4 => [16, 4],
            Self::M16N8K8 => [16, 8],
            Self::M16N8K16 => [16, 16],
            Self::M16N8K32 => [16, 32],
            Self::M16N8K64 => [16, 64],
            Self::M16N8K128 => [16, 128],
            Self::M16N8K256 => [16, 256],
        }
    }
}

keys! {
    // Memory.
    SIZE "size": Size, WIDE_ADDRESS "wide address": bool, ATOMIC "operation": Atomic, ATOMIC_TYPE "type": AtomicType,
    ORDER "order": Order, SCOPE "scope": Scope, SPACE "space": QueriedSpace,
    INDEX_MODE "mode": IndexMode, ZERO_FILL "zero fill": bool, TRANSACTION_COUNT "transaction count": bool,
    ARRIVAL "arrival": Arrival, TOGETHER "together": bool, DROP "drop": bool, REMOTE "remote": bool, SUSPENDS "suspends": bool,
    DIRECTION "direction": CopyDirection, MULTICAST "multicast": bool, RANK "rank": Rank, IM2COL "im2col": bool,
    MAP_PREFETCH "action": bool,
    // Arithmetic.
    ROUND "round": Round, FTZ "ftz": bool, FMZ "fmz": bool, SATURATE "saturate": bool, RELU "relu": bool,
    NAN "nan": bool, XOR_SIGN "xor sign": bool, SCALE "scale": Scale, FUNCTION "function": Function,
    COMPARE "compare": Compare, COMBINE "combine": Combine, EXTENDED "extended": bool, SIGNED "signed": bool,
    A_SIGNED "a signed": bool, B_SIGNED "b signed": bool, HIGH "high": bool, SIGN_EXTEND "sign extend": bool,
    RIGHT "right": bool, WRAP "wrap": bool, SHIFT_TYPE "type": ShiftType, SHIFT_AMOUNT "shift amount": bool,
    EXTREME_TYPE "type": ExtremeType, ACCUMULATE "accumulate": bool, PAIRS "pairs": bool,
    HALF "half": bool, BF16 "bf16": bool, F32_RESULT "f32 result": bool, BOTH_HALVES "both halves": bool,
    BOOLEAN_FLOAT "boolean float": bool,
    // Conversions.
    TO_FLOAT "d type": FloatType, FROM_FLOAT "b type": FloatType, TO_INT "d type": IntType, FROM_INT "b type": IntType,
    TO_BYTE "d type": ByteType, FROM_BYTE "b type": ByteType, PACK_ROUND "mode": Round, NAN_TO_ZERO "nan to zero": bool,
    // Moves.
    PREDICATE_AND "predicate and": bool, PERMUTATION "mode": Permutation, BYTE "byte": Part, WIDE "wide": bool,
    SHUFFLE "mode": Shuffle, VOTE "mode": Vote, ANY "any": bool, OR "or": bool, REDUCTION "operation": Reduction,
    CLEAR "clear": bool,
    // Matrices.
    SHAPE "shape": MatrixShape, STEP "step": Part, D_F32 "d type": bool, C_F32 "c type": bool,
    FACTORS "input type": FloatType, A_INT "a type": IntType, B_INT "b type": IntType, A_BYTE "a type": ByteType,
    B_BYTE "b type": ByteType, BIT_OPERATION "operation": BitOperation, SPARSE "sparse": bool, GROUP_END "end of a group": GroupEnd,
    GROUP_COLUMNS "columns": GroupColumns, GROUP_LENGTH "length": GroupLength, LAYOUT "layout": Layout, COUNT "count": Count,
    // Control flow.
    BRANCH "kind": Branch, BARRIER "mode": Barrier, BARRIER_REDUCTION "reduction": BarrierReduction,
    EXCLUSIVE "exclusive": bool, AT_MOST "at most": bool, BREAKPOINT "mode": Breakpoint,
    // Textures and surfaces.
    CHANNEL "channel": Part, LEVEL "level": Level, OFFSETS "offset": Offsets, DEPTH "compare": bool,
    MULTISAMPLE "multisample": bool, BINDLESS "bindless": bool, SCATTERED "scattered": bool, IN_BYTES "bytes": bool,
    SURFACE "shape": Surface, OUTSIDE "outside": Outside,
}

#[cfg(test)]
mod tests {
    use super::RESERVED;
    use crate::decode::table;

    #[test]
    fn a_row_has_a_key_once_and_a_value_for_each_text() {
        for row in table::rows() {
            let keys: Vec<_> = row.mods.iter().filter_map(|m| m.key).collect();
            for (at, key) in keys.iter().enumerate() {
                assert!(!keys[..at].contains(key), "{} {}: {key:?} twice", row.op, row.doc);
            }
            for m in row.mods.iter().filter(|m| m.key.is_some()) {
                assert_eq!(m.values.len(), m.text.len(), "{} {}", row.op, m.name);
                let reserved = m.text.iter().zip(m.values).all(|(text, &value)| value != u8::MAX || *text == RESERVED);
                assert!(reserved, "{} {}: a text without a value", row.op, m.name);
            }
        }
    }
}
