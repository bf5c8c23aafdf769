//! Types of elements, scalars, and how matrices are stored and used.

use std::ffi::c_int;

use cabi::address::{Address, read};
use cabi::stand_in::not_supported;
use num::half::{Bf16, F16, to_f64};

use crate::status::{Result, Status, valid};

/// A type of elements, by its number in `cudaDataType_t`.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Type(pub c_int);

impl Type {
    pub const F32: Self = Self(0);
    pub const F64: Self = Self(1);
    pub const F16: Self = Self(2);
    pub const I8: Self = Self(3);
    pub const C32: Self = Self(4);
    pub const C64: Self = Self(5);
    pub const U8: Self = Self(8);
    pub const I32: Self = Self(10);
    pub const BF16: Self = Self(14);
    pub const E4M3: Self = Self(28);
    pub const E5M2: Self = Self(29);

    /// The type with a number that a program gives.
    pub fn of(number: i64) -> Result<Self> {
        let found = Self(c_int::try_from(number).map_err(|_| Status::INVALID_VALUE)?);
        if found.bytes().is_err() {
            return Err(not_supported(&format!("an array of type {number} (cudaDataType_t)")));
        }
        Ok(found)
    }

    /// Bytes of an element.
    pub const fn bytes(self) -> Result<usize> {
        Ok(match self {
            Self::I8 | Self::U8 | Self::E4M3 | Self::E5M2 => 1,
            Self::F16 | Self::BF16 => 2,
            Self::F32 | Self::I32 => 4,
            Self::F64 | Self::C32 => 8,
            Self::C64 => 16,
            _ => return Err(Status::NOT_SUPPORTED),
        })
    }

    /// The letter in names of kernels.
    pub fn letter(self) -> Result<char> {
        Ok(match self {
            Self::F32 => 's',
            Self::F64 => 'd',
            Self::C32 => 'c',
            Self::C64 => 'z',
            Self::F16 => 'h',
            Self::BF16 => 'b',
            Self::I32 => 'i',
            _ => return Err(not_supported(&format!("this function for type {} (cudaDataType_t)", self.0))),
        })
    }

    /// Whether its numbers are complex.
    pub const fn is_complex(self) -> bool {
        matches!(self, Self::C32 | Self::C64)
    }

    /// The type of its real part.
    pub const fn real(self) -> Self {
        match self {
            Self::C32 => Self::F32,
            Self::C64 => Self::F64,
            other => other,
        }
    }
}

/// A number of the program's as kernels get it: on the device, or a value.
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub struct Scalar {
    pub pointer: Address,
    pub re: f64,
    pub im: f64,
    pub type_: c_int,
    padding: c_int,
}
cabi::plain!(Scalar);

impl Scalar {
    /// A value.
    pub fn value(re: f64) -> Self {
        Self { re, ..Self::default() }
    }

    /// A number of `kind` at an address of the host, or of the device.
    pub fn at(address: Address, kind: Type, on_device: bool) -> Result<Self> {
        valid(address != 0)?;
        if on_device {
            return Ok(Self { pointer: address, type_: kind.0, ..Self::default() });
        }
        let (re, im) = match kind {
            Type::F32 => (f64::from(read::<f32>(address)?), 0.0),
            Type::F64 => (read(address)?, 0.0),
            Type::F16 => (to_f64::<F16>(u16::from_le_bytes(read(address)?)), 0.0),
            Type::BF16 => (to_f64::<Bf16>(u16::from_le_bytes(read(address)?)), 0.0),
            Type::I32 => (f64::from(read::<i32>(address)?), 0.0),
            Type::C32 => {
                let [re, im] = read::<[f32; 2]>(address)?;
                (re.into(), im.into())
            }
            Type::C64 => read::<[f64; 2]>(address)?.into(),
            _ => return Err(not_supported(&format!("a scalar of type {} (cudaDataType_t)", kind.0))),
        };
        Ok(Self { re, im, ..Self::default() })
    }

    /// Whether it is known to be this real value.
    pub fn is(&self, value: f64) -> bool {
        self.pointer == 0 && self.re == value && self.im == 0.0
    }
}

/// `cublasOperation_t`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Op {
    pub transposed: bool,
    pub conjugated: bool,
}

impl Op {
    pub const NONE: Self = Self { transposed: false, conjugated: false };

    pub fn of(number: i64) -> Result<Self> {
        let (transposed, conjugated) = match number {
            0 => (false, false),
            1 => (true, false),
            2 => (true, true),
            3 => (false, true),
            _ => return Err(Status::INVALID_VALUE),
        };
        Ok(Self { transposed, conjugated })
    }
}

/// Whether `cublasFillMode_t` names the upper triangle.
pub fn is_upper(fill: i64) -> Result<bool> {
    valid(fill == 0 || fill == 1)?;
    Ok(fill == 1)
}

/// Whether `cublasDiagType_t` says that the diagonal is of ones.
pub fn is_unit(diagonal: i64) -> Result<bool> {
    valid(diagonal == 0 || diagonal == 1)?;
    Ok(diagonal == 1)
}

/// Whether `cublasSideMode_t` is the right side.
pub fn is_right(side: i64) -> Result<bool> {
    valid(side == 0 || side == 1)?;
    Ok(side == 1)
}

/// Which elements of a matrix are stored, and what stands for the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    General = 0,
    Symmetric = 1,
    Hermitian = 2,
    Triangular = 3,
}

/// How a matrix is stored and used, as kernels get it (`Operand` in blas.cu).
#[repr(C)]
#[derive(Clone, Copy, Default, Debug)]
pub struct Operand {
    shape: c_int,
    storage: c_int,
    upper: c_int,
    unit: c_int,
    transposed: c_int,
    conjugated: c_int,
    below: c_int,
    above: c_int,
    rows: c_int,
}
cabi::plain!(Operand);

impl Operand {
    /// A matrix of real numbers is its own conjugate.
    pub fn of_kind(self, kind: Type) -> Self {
        if kind.is_complex() { self } else { Self { conjugated: 0, ..self } }
    }

    /// A matrix stored in full.
    pub fn general(op: Op) -> Self {
        Self { transposed: op.transposed.into(), conjugated: op.conjugated.into(), ..Self::default() }
    }

    /// One with a triangle that counts.
    pub fn triangle(shape: Shape, upper: bool, unit: bool, op: Op) -> Self {
        Self { shape: shape as c_int, upper: upper.into(), unit: unit.into(), ..Self::general(op) }
    }

    /// How a matrix stored in full is used, if no element of it is conjugated: else `None`.
    pub fn op_if_plain(&self) -> Option<Op> {
        let plain = self.shape == Shape::General as c_int && self.storage == 0 && self.conjugated == 0;
        plain.then_some(Op { transposed: self.transposed != 0, conjugated: false })
    }

    /// The transpose of a matrix stored in full.
    pub fn transposed(self) -> Self {
        Self { transposed: 1 - self.transposed, ..self }
    }

    /// The same as a band: diagonals below and above the main one.
    pub fn band(self, below: i32, above: i32) -> Self {
        Self { storage: 1, below, above, ..self }
    }

    /// The same packed: a triangle of `rows` rows.
    pub fn packed(self, rows: i32) -> Self {
        Self { storage: 2, rows, ..self }
    }
}

/// The matrices and vectors of a batch: how many, and where.
#[derive(Clone, Copy, Debug)]
pub struct Batch {
    pub count: i64,
    /// Elements from one to the next, of each of three.
    pub strides: [i64; 3],
    /// Whether addresses are of arrays of addresses.
    pub pointers: bool,
}

impl Batch {
    /// A single problem.
    pub const ONE: Self = Self { count: 1, strides: [0; 3], pointers: false };

    /// `count` problems at addresses in arrays.
    pub const fn of_pointers(count: i64) -> Self {
        Self { count, strides: [0; 3], pointers: true }
    }
}

/// A size of a problem: not negative, and small enough for an index of kernels.
pub fn size(number: i64) -> Result<i32> {
    valid(number >= 0)?;
    i32::try_from(number).map_err(|_| not_supported(&format!("a size of {number}, more than 2^31 - 1,")))
}

/// A leading dimension for columns of `rows` elements.
pub fn leading(number: i64, rows: i32) -> Result<i64> {
    valid(number >= i64::from(rows.max(1)))?;
    Ok(number)
}

/// The address of the first element of a vector, which is the last one in memory where the increment is negative.
pub fn first(address: Address, n: i64, increment: i64, kind: Type) -> Result<Address> {
    let bytes = i64::try_from(kind.bytes()?).map_err(|_| Status::INTERNAL_ERROR)?;
    let back = if increment < 0 { (n - 1).saturating_mul(increment.saturating_neg()).saturating_mul(bytes) } else { 0 };
    Ok(address.wrapping_add_signed(isize::try_from(back).map_err(|_| Status::INVALID_VALUE)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_sixteen_bits() {
        let value = |kind, bits: u16| {
            let place = bits.to_le_bytes();
            Scalar::at(cabi::driver::at(&place), kind, false).expect("the place can be read").re
        };
        let half = |bits| value(Type::F16, bits);
        assert_eq!([half(0x3c00), half(0xc100), half(1), half(0x7bff)], [1.0, -2.5, 2_f64.powi(-24), 65504.0]);
        assert!(half(0x7c01).is_nan() && half(0xfc00) == f64::NEG_INFINITY);
        assert_eq!([0x3f80, 0xc020].map(|bits| value(Type::BF16, bits)), [1.0, -2.5]);
    }

    #[test]
    fn vectors_may_run_backwards() {
        assert_eq!(first(1000, 5, -2, Type::F32), Ok(1032));
        assert_eq!(first(1000, 5, 2, Type::F32), Ok(1000));
    }
}
