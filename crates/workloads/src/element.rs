//! Element types of buffers, on the host's side.

use num::Rounding;
use num::half::{self, Bf16, F16};
use std::borrow::Cow;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// A type that buffers hold and Rust has.
#[allow(missing_docs, reason = "the names of some fields and variants say it all")]
pub trait Element: Copy + PartialEq + std::fmt::Debug + FromBytes + IntoBytes + Immutable {
    const BYTES: usize;
    /// Reads the value from exactly [`Self::BYTES`] bytes, little-endian as in device memory.
    fn get(bytes: &[u8]) -> Self;
}

macro_rules! elements {
    ($($t:ty)*) => {$(
        impl Element for $t {
            const BYTES: usize = size_of::<$t>();
            fn get(bytes: &[u8]) -> Self {
                Self::from_le_bytes(bytes.try_into().expect("exact size"))
            }
        }
    )*};
}
elements!(u8 i8 u16 i16 u32 i32 u64 i64 f32 f64);

/// All values as little-endian bytes.
pub fn to_bytes<T: Element>(values: &[T]) -> Cow<'_, [u8]> {
    if cfg!(target_endian = "little") {
        return Cow::Borrowed(values.as_bytes());
    }
    let reversed = values.iter().flat_map(|value| value.as_bytes().iter().rev().copied());
    Cow::Owned(reversed.collect())
}

/// `count` values whose little-endian bytes `read` fills in.
///
/// # Errors
/// Errors of `read`.
pub fn read_values<T: Element, E>(count: usize, read: impl FnOnce(&mut [u8]) -> Result<(), E>) -> Result<Vec<T>, E> {
    let mut values = vec![T::new_zeroed(); count];
    read(values.as_mut_bytes())?;
    if cfg!(target_endian = "big") {
        values.iter_mut().for_each(|value| *value = T::get(value.as_bytes()));
    }
    Ok(values)
}

/// A number of any element type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// Integers of all widths.
    Int(i128),
    /// Floating point of all widths.
    Float(f64),
}

impl Number {
    /// The nearest number of double precision.
    pub fn as_f64(self) -> f64 {
        match self {
            Number::Int(i) => i as f64,
            Number::Float(f) => f,
        }
    }
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Number::Int(i) => write!(f, "{i}"),
            Number::Float(x) if x != 0.0 && x.is_finite() && !(1e-4..1e16).contains(&x.abs()) => write!(f, "{x:e}"),
            Number::Float(x) => write!(f, "{x}"),
        }
    }
}

macro_rules! scalar_types {
    ($($variant:ident $name:literal $bytes:literal $numpy:literal,)*) => {
        /// Element types as launch files name them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[expect(missing_docs, reason = "the names say it")]
        pub enum ScalarType { $($variant,)* }

        impl ScalarType {
            /// Every type, in declaration order.
            pub const ALL: &'static [ScalarType] = &[$(ScalarType::$variant,)*];

            /// Name in launch files.
            pub const fn name(self) -> &'static str {
                match self { $(ScalarType::$variant => $name,)* }
            }
            /// Its name with the article, for sentences: an i32, a u8.
            pub fn with_article(self) -> String {
                let article = if self.name().starts_with(['f', 'i']) { "an" } else { "a" };
                format!("{article} {}", self.name())
            }
            /// Bytes of an element.
            pub const fn bytes(self) -> usize {
                match self { $(ScalarType::$variant => $bytes,)* }
            }
            /// NumPy's type descriptor; bf16 travels as 16-bit words.
            pub const fn numpy(self) -> &'static str {
                match self { $(ScalarType::$variant => $numpy,)* }
            }
        }
    };
}

scalar_types! {
    I8 "i8" 1 "|i1",
    U8 "u8" 1 "|u1",
    I16 "i16" 2 "<i2",
    U16 "u16" 2 "<u2",
    I32 "i32" 4 "<i4",
    U32 "u32" 4 "<u4",
    I64 "i64" 8 "<i8",
    U64 "u64" 8 "<u8",
    F16 "f16" 2 "<f2",
    Bf16 "bf16" 2 "<u2",
    F32 "f32" 4 "<f4",
    F64 "f64" 8 "<f8",
}

impl ScalarType {
    /// The type called `name`: also as PTX (`s32`, `b32`), as CUDA C++ (`int`, `float`).
    pub fn parse(name: &str) -> Option<Self> {
        let alias = match name {
            "s8" | "char" => "i8",
            "b8" | "uchar" | "bool" | "pred" => "u8",
            "s16" | "short" => "i16",
            "b16" | "ushort" => "u16",
            "s32" | "int" => "i32",
            "b32" | "uint" => "u32",
            "s64" | "long" => "i64",
            "b64" | "ulong" | "pointer" => "u64",
            "half" => "f16",
            "float" => "f32",
            "double" => "f64",
            other => other,
        };
        Self::ALL.iter().copied().find(|t| t.name() == alias)
    }

    /// Whether it has a fraction.
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::Bf16 | Self::F32 | Self::F64)
    }

    /// Smallest and largest value of an integer type.
    pub const fn int_range(self) -> Option<(i128, i128)> {
        Some(match self {
            Self::I8 => (i8::MIN as i128, i8::MAX as i128),
            Self::U8 => (0, u8::MAX as i128),
            Self::I16 => (i16::MIN as i128, i16::MAX as i128),
            Self::U16 => (0, u16::MAX as i128),
            Self::I32 => (i32::MIN as i128, i32::MAX as i128),
            Self::U32 => (0, u32::MAX as i128),
            Self::I64 => (i64::MIN as i128, i64::MAX as i128),
            Self::U64 => (0, u64::MAX as i128),
            Self::F16 | Self::Bf16 | Self::F32 | Self::F64 => return None,
        })
    }

    /// The number as this type, little-endian, rounded to nearest even. `None` if it does not fit:
    /// a fraction in an integer type, an integer out of range (as signed or as unsigned), or a finite
    /// number that would become infinite.
    pub fn encode(self, value: Number) -> Option<Vec<u8>> {
        if self.is_float() {
            let x = value.as_f64();
            let bytes = match self {
                Self::F16 => half::from_f64::<F16>(x, Rounding::NearestEven).to_le_bytes().to_vec(),
                Self::Bf16 => half::from_f64::<Bf16>(x, Rounding::NearestEven).to_le_bytes().to_vec(),
                Self::F32 => (x as f32).to_le_bytes().to_vec(),
                _ => x.to_le_bytes().to_vec(),
            };
            let fits = !x.is_finite() || self.decode(&bytes).as_f64().is_finite();
            return fits.then_some(bytes);
        }
        let whole = match value {
            Number::Int(i) => i,
            Number::Float(f) if f.fract() == 0.0 && f.abs() < 1e30 => f as i128,
            Number::Float(_) => return None,
        };
        let bits = 8 * self.bytes() as u32;
        let fits = whole >= -(1i128 << (bits - 1)) && whole < (1i128 << bits);
        fits.then(|| whole.to_le_bytes()[..self.bytes()].to_vec())
    }

    /// The value that exactly [`Self::bytes`] bytes hold, as text in its own precision.
    pub fn text(self, bytes: &[u8]) -> String {
        match self {
            Self::F32 => format!("{:?}", f32::get(bytes)),
            _ if self.is_float() => format!("{:?}", self.decode(bytes).as_f64()),
            _ => self.decode(bytes).to_string(),
        }
    }

    /// The number that exactly [`Self::bytes`] bytes hold.
    pub fn decode(self, bytes: &[u8]) -> Number {
        let int = |value: i128| Number::Int(value);
        match self {
            Self::I8 => int(i8::get(bytes).into()),
            Self::U8 => int(u8::get(bytes).into()),
            Self::I16 => int(i16::get(bytes).into()),
            Self::U16 => int(u16::get(bytes).into()),
            Self::I32 => int(i32::get(bytes).into()),
            Self::U32 => int(u32::get(bytes).into()),
            Self::I64 => int(i64::get(bytes).into()),
            Self::U64 => int(u64::get(bytes).into()),
            Self::F16 => Number::Float(half::to_f64::<F16>(u16::get(bytes))),
            Self::Bf16 => Number::Float(half::to_f64::<Bf16>(u16::get(bytes))),
            Self::F32 => Number::Float(f32::get(bytes).into()),
            Self::F64 => Number::Float(f64::get(bytes)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips() {
        for &ty in ScalarType::ALL {
            for value in [0, 1, 100] {
                let bytes = ty.encode(Number::Int(value)).unwrap();
                assert_eq!(bytes.len(), ty.bytes());
                assert_eq!(ty.decode(&bytes).as_f64(), value as f64, "{}", ty.name());
            }
            assert_eq!(ScalarType::parse(ty.name()), Some(ty));
        }
        let bytes = to_bytes(&[1, -2, i32::MAX]);
        assert_eq!(*bytes, [1, 0, 0, 0, 254, 255, 255, 255, 255, 255, 255, 127]);
        let read = |out: &mut [u8]| {
            out.copy_from_slice(&bytes);
            Ok::<_, ()>(())
        };
        assert_eq!(read_values(3, read), Ok(vec![1, -2, i32::MAX]));
    }

    #[test]
    fn refuses_what_does_not_fit() {
        assert_eq!(ScalarType::I32.encode(Number::Float(1.5)), None);
        assert_eq!(ScalarType::U8.encode(Number::Int(256)), None);
        assert_eq!(ScalarType::I8.encode(Number::Int(255)), Some(vec![255]));
        assert_eq!(ScalarType::U8.encode(Number::Int(-1)), Some(vec![255]));
        assert_eq!(ScalarType::U64.encode(Number::Int(1 << 64)), None);
    }
}
