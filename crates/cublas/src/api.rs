//! C functions of Rust ones.
//!
//! ```text
//! fn(arguments) = module::body, for Sname(values), Dname(values) …;
//! ```
//!
//! makes `cublasSname` and `cublasSname_64`, whose sizes (`Int`) have 32 and 64 bits, of
//! `fn body(call, values …, arguments …) -> Result<()>`, where all integers are `i64`. The first argument of the C
//! function is the handle.

use std::ffi::c_int;

use cabi::address::Address;

/// An argument of a C function as a body gets it.
pub trait Take {
    type As;
    fn take(self) -> Self::As;
}

impl Take for c_int {
    type As = i64;
    fn take(self) -> i64 {
        self.into()
    }
}

impl Take for i64 {
    type As = Self;
    fn take(self) -> Self {
        self
    }
}

impl Take for Address {
    type As = Self;
    fn take(self) -> Self {
        self
    }
}

/// Makes C functions, as at the head of this file.
macro_rules! blas {
    (@one $name:ident, $suffix:literal, $int:ty, $wide:literal, $body:path, ($($value:expr),*),
     ($($argument:ident: $kind:ty),*)) => {
        const _: () = {
            #[allow(dead_code, reason = "not each function has sizes")]
            type Int = $int;
            // SAFETY: the name belongs to this API, which defines it once.
            #[unsafe(export_name = concat!("cublas", stringify!($name), $suffix))]
            extern "C" fn exported(handle: cabi::address::Address $(, $argument: $kind)*) -> std::ffi::c_int {
                cabi::stand_in::enter::<$crate::status::Status>(|| {
                    let call = $crate::handle::Call::new(handle, $wide)?;
                    $body(&call, $($value,)* $($crate::api::Take::take($argument)),*)
                })
            }
        };
    };
    (@each $body:path, $arguments:tt, $($name:ident $values:tt),*) => {
        $(
            $crate::api::blas!(@one $name, "", std::ffi::c_int, false, $body, $values, $arguments);
            $crate::api::blas!(@one $name, "_64", i64, true, $body, $values, $arguments);
        )*
    };
    ($(fn $arguments:tt = $body:path, for $($name:ident $values:tt),* $(,)?;)*) => {
        $( $crate::api::blas!(@each $body, $arguments, $($name $values),*); )*
    };
}
pub(crate) use blas;

/// An enumeration of C.
pub type Enum = c_int;
/// A distance between matrices of a batch: of 64 bits in both forms.
pub type Stride = i64;
