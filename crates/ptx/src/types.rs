//! Types and state spaces by their PTX names.

macro_rules! named {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[doc = $doc:literal])* $variant:ident = $text:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[doc = $doc])* $variant,)* }

        impl $name {
            /// All of them, in the order of declaration.
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];

            /// The PTX name, without the dot.
            pub const fn name(self) -> &'static str {
                match self { $($name::$variant => $text,)* }
            }

            /// The one with this PTX name (without the dot).
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($text => Some($name::$variant),)* _ => None }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, ".{}", self.name())
            }
        }
    };
}

named! {
    /// A scalar or packed type. Displays with its dot.
    #[allow(missing_docs, reason = "the names say it")]
    pub enum Type {
        /// One bit: a predicate register.
        Pred = "pred",
        B1 = "b1",
        B8 = "b8",
        B16 = "b16",
        B32 = "b32",
        B64 = "b64",
        B128 = "b128",
        /// Unsigned integer (matrix operands).
        U4 = "u4",
        U8 = "u8",
        U16 = "u16",
        /// Two packed unsigned integers.
        U16x2 = "u16x2",
        U32 = "u32",
        U64 = "u64",
        /// Signed integer (matrix operands).
        S4 = "s4",
        S8 = "s8",
        S16 = "s16",
        /// Two packed signed integers.
        S16x2 = "s16x2",
        S32 = "s32",
        S64 = "s64",
        F16 = "f16",
        /// Two packed halves.
        F16x2 = "f16x2",
        Bf16 = "bf16",
        /// Two packed bfloat16.
        Bf16x2 = "bf16x2",
        /// TensorFloat-32, in a 32-bit register.
        Tf32 = "tf32",
        /// Eight-bit float, 4 exponent bits.
        E4m3 = "e4m3",
        /// Two packed eight-bit floats, 4 exponent bits.
        E4m3x2 = "e4m3x2",
        /// Eight-bit float, 5 exponent bits.
        E5m2 = "e5m2",
        /// Two packed eight-bit floats, 5 exponent bits.
        E5m2x2 = "e5m2x2",
        F32 = "f32",
        /// Two packed single precision values.
        F32x2 = "f32x2",
        F64 = "f64",
        /// Reference to a texture.
        Texref = "texref",
        /// Reference to a sampler.
        Samplerref = "samplerref",
        /// Reference to a surface.
        Surfref = "surfref",
    }
}

impl Type {
    /// Width in bits. References have the width of a 64-bit handle.
    pub const fn bits(self) -> u32 {
        match self {
            Type::Pred | Type::B1 => 1,
            Type::U4 | Type::S4 => 4,
            Type::B8 | Type::U8 | Type::S8 | Type::E4m3 | Type::E5m2 => 8,
            Type::B16 | Type::U16 | Type::S16 | Type::F16 | Type::Bf16 | Type::E4m3x2 | Type::E5m2x2 => 16,
            Type::B32 | Type::U32 | Type::S32 | Type::F32 | Type::Tf32 => 32,
            Type::U16x2 | Type::S16x2 | Type::F16x2 | Type::Bf16x2 => 32,
            Type::B64 | Type::U64 | Type::S64 | Type::F64 | Type::F32x2 => 64,
            Type::Texref | Type::Samplerref | Type::Surfref => 64,
            Type::B128 => 128,
        }
    }

    /// Width in memory in bytes; at least 1.
    pub const fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }

    /// Whether values are floating-point numbers, packed or not.
    pub const fn is_float(self) -> bool {
        use Type::*;
        matches!(self, F16 | F16x2 | Bf16 | Bf16x2 | Tf32 | E4m3 | E4m3x2 | E5m2 | E5m2x2 | F32 | F32x2 | F64)
    }

    /// Whether values are signed integers, packed or not.
    pub const fn is_signed(self) -> bool {
        matches!(self, Type::S4 | Type::S8 | Type::S16 | Type::S16x2 | Type::S32 | Type::S64)
    }

    /// Whether values are unsigned integers, packed or not.
    pub const fn is_unsigned(self) -> bool {
        matches!(self, Type::U4 | Type::U8 | Type::U16 | Type::U16x2 | Type::U32 | Type::U64)
    }

    /// Whether values are untyped bits.
    pub const fn is_bits(self) -> bool {
        matches!(self, Type::B1 | Type::B8 | Type::B16 | Type::B32 | Type::B64 | Type::B128)
    }
}

named! {
    /// A state space of variables. Displays with its dot.
    #[allow(missing_docs, reason = "the names say it")]
    pub enum StateSpace {
        Reg = "reg",
        /// Special registers, such as `%tid`.
        Sreg = "sreg",
        Const = "const",
        Global = "global",
        /// Memory of one thread.
        Local = "local",
        /// Parameters of kernels and functions.
        Param = "param",
        /// Memory of one CTA.
        Shared = "shared",
        /// Texture references (deprecated form).
        Tex = "tex",
    }
}

named! {
    /// Visibility of a module-level name. Displays with its dot.
    pub enum Linkage {
        /// Defined in another module.
        Extern = "extern",
        /// Visible to other modules.
        Visible = "visible",
        /// Replaced by another module's definition, if there is one.
        Weak = "weak",
        /// Merged with definitions of the same name in other modules.
        Common = "common",
    }
}

named! {
    /// An element of a vector register. Displays with its dot.
    #[allow(missing_docs, reason = "the names say it")]
    pub enum Component {
        X = "x",
        Y = "y",
        Z = "z",
        W = "w",
    }
}

impl Component {
    /// The element with this name in `x y z w` or `r g b a`.
    pub fn from_any_name(name: &str) -> Option<Self> {
        match name {
            "r" => Some(Component::X),
            "g" => Some(Component::Y),
            "b" => Some(Component::Z),
            "a" => Some(Component::W),
            _ => Component::from_name(name),
        }
    }

    /// Position in the vector: 0 to 3.
    pub const fn index(self) -> usize {
        self as usize
    }
}
