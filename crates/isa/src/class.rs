//! Operation classes, which determine unit, latency and initiation interval of an instruction.

macro_rules! op_classes {
    ($($(#[doc = $text:literal])+ $class:ident = $name:literal,)*) => {
        /// The class of an instruction. A GPU description maps each class to a unit, a latency and an
        /// initiation interval.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum OpClass { $($(#[doc = $text])+ $class,)* }

        impl OpClass {
            /// All classes in the order of declaration: `ALL[c as usize] == c`.
            pub const ALL: &'static [OpClass] = &[$(OpClass::$class,)*];
            /// Number of classes.
            pub const COUNT: usize = Self::ALL.len();
            /// The name used in GPU descriptions and reports.
            pub const fn name(self) -> &'static str {
                match self { $(OpClass::$class => $name,)* }
            }
            /// One sentence about the class.
            pub const fn description(self) -> &'static str {
                match self { $(OpClass::$class => concat!($($text,)+).trim_ascii(),)* }
            }
        }
    };
}

op_classes! {
    /// Does nothing, or only steers the pipeline.
    Nop = "nop",
    /// Register moves, byte permutes, selects, predicate logic.
    Move = "move",
    /// Integer add, logic, shift, compare, bit field.
    IntAdd = "int_add",
    /// Count of ones, highest or lowest one, reversal of bits: popc, clz, bfind, brev.
    BitScan = "bit_scan",
    /// Integer minimum and maximum.
    IntMinMax = "int_min_max",
    /// Integer multiply.
    IntMul = "int_mul",
    /// Integer multiply-add, dp4a.
    IntMad = "int_mad",
    /// Integer division and remainder (PTX only; SASS expands them).
    IntDiv = "int_div",
    /// Exchange between lanes: shfl, movmatrix.
    Shuffle = "shuffle",
    /// Vote and comparison across lanes: vote, match, activemask, elect.
    Vote = "vote",
    /// Reduction over lanes: redux.
    Reduce = "reduce",
    /// Conversion from or to a floating-point type of 32 bits or fewer, or between integers with saturation.
    Convert = "convert",
    /// Conversion from or to a floating-point type where a type has 64 bits.
    ConvertWide = "convert_wide",
    /// Conversion between integers without saturation (PTX; SASS moves, shifts and permutes).
    ConvertInt = "convert_int",
    /// Packed or single half precision arithmetic.
    Half = "half",
    /// Single precision add.
    FpAdd = "fp_add",
    /// Single precision compare with the result in a predicate or a register; FSEL, the select of machine code.
    FpCompare = "fp_compare",
    /// Single precision minimum and maximum.
    FpMinMax = "fp_min_max",
    /// Single precision multiply.
    FpMul = "fp_mul",
    /// Single precision fused multiply-add.
    FpFma = "fp_fma",
    /// Single precision division (PTX only).
    FpDiv = "fp_div",
    /// Double precision add, compare.
    DpAdd = "dp_add",
    /// Double precision minimum and maximum.
    DpMinMax = "dp_min_max",
    /// Double precision multiply.
    DpMul = "dp_mul",
    /// Double precision fused multiply-add.
    DpFma = "dp_fma",
    /// Double precision division, square root, reciprocal (PTX only).
    DpDiv = "dp_div",
    /// Transcendental functions, reciprocal, square root.
    Sfu = "sfu",
    /// Matrix multiply-accumulate.
    Tensor = "tensor",
    /// Texture and surface access.
    Texture = "texture",
    /// Uniform-datapath operation (SASS sm_75 and later).
    Uniform = "uniform",
    /// Branch, call, return, convergence barrier.
    Branch = "branch",
    /// Thread exit and trap.
    Exit = "exit",
    /// CTA barrier.
    Barrier = "barrier",
    /// Memory fence.
    Fence = "fence",
    /// Load from any space.
    Load = "load",
    /// Store to any space.
    Store = "store",
    /// Atomic or reduction.
    Atomic = "atomic",
    /// Asynchronous copy from global to shared memory.
    AsyncCopy = "async_copy",
    /// Shared-memory matrix load (ldmatrix).
    MatrixLoad = "matrix_load",
}

impl OpClass {
    /// The older class that this one was a part of. A GPU description without a timing for this class
    /// means that one's.
    pub const fn part_of(self) -> Option<Self> {
        Some(match self {
            OpClass::BitScan => OpClass::IntAdd,
            OpClass::Vote | OpClass::Reduce => OpClass::Shuffle,
            OpClass::ConvertWide | OpClass::ConvertInt => OpClass::Convert,
            OpClass::FpCompare => OpClass::FpAdd,
            _ => return None,
        })
    }

    /// As [`Self::part_of`], in timings of machine code: Accel-Sim sends `REDUX` to the uniform datapath.
    pub const fn part_of_in_machine_code(self) -> Option<Self> {
        match self {
            OpClass::Reduce => Some(OpClass::Uniform),
            _ => self.part_of(),
        }
    }

    /// The older class, or this one if it is part of none.
    pub const fn whole(self) -> Self {
        match self.part_of() {
            Some(whole) => whole,
            None => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::OpClass;

    #[test]
    fn no_class_is_part_of_a_part() {
        for class in OpClass::ALL {
            for whole in [class.part_of(), class.part_of_in_machine_code()].into_iter().flatten() {
                assert_eq!(whole.part_of(), None, "{}", class.name());
            }
        }
    }
}
