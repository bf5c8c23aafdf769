//! C functions of Rust ones.
//!
//! ```text
//! fn NAME(arguments) { body }                  a function; the body returns `Result<()>`
//! fn NAME | NAME_ptsz(arguments) { body }      … and its variant with a default stream per thread
//! fn NAME | NAME_ptds(arguments) in S { body } a synchronous one, whose stream is called S
//! fn NAME(arguments) = cuName;                 hands the arguments to the driver in a context
//! ```

use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::{self, Error, Result};

/// Runs the body of a function of the API: its error becomes the thread's last error and the
/// function's result. A panic ends here.
pub fn enter(body: impl FnOnce() -> Result<()>) -> c_int {
    let outcome = catch_unwind(AssertUnwindSafe(body)).unwrap_or(Err(Error::UNKNOWN));
    match outcome {
        Ok(()) => 0,
        Err(error) => {
            error::keep(error);
            error.0
        }
    }
}

macro_rules! api {
    () => {};
    (fn $name:ident($($argument:ident: $kind:ty),* $(,)?) = $driver:ident; $($rest:tt)*) => {
        $crate::api::api! {
            fn $name($($argument: $kind),*) {
                let driver = $crate::context::current()?;
                driver.$driver($($crate::address::Argument::raw($argument)?),*)
            }
            $($rest)*
        }
    };
    (fn $name:ident | $per_thread:ident($($argument:ident: $kind:ty),* $(,)?) = $driver:ident;
     $($rest:tt)*) => {
        $crate::api::api! {
            fn $name | $per_thread($($argument: $kind),*) {
                let driver = $crate::context::current()?;
                driver.$driver($($crate::address::Argument::raw($argument)?),*)
            }
            $($rest)*
        }
    };
    (fn $name:ident($($argument:ident: $kind:ty),* $(,)?) $body:block $($rest:tt)*) => {
        // SAFETY: the name belongs to this API, which defines it once.
        #[unsafe(no_mangle)]
        extern "C" fn $name($($argument: $kind),*) -> std::ffi::c_int {
            $crate::api::enter(|| $body)
        }
        $crate::api::api! { $($rest)* }
    };
    (fn $name:ident | $per_thread:ident($($argument:ident: $kind:ty),* $(,)?) $body:block
     $($rest:tt)*) => {
        // SAFETY: the name belongs to this API, which defines it once.
        #[unsafe(no_mangle)]
        extern "C" fn $name($($argument: $kind),*) -> std::ffi::c_int {
            $crate::api::enter(|| $body)
        }
        // SAFETY: the name belongs to this API, which defines it once.
        #[unsafe(no_mangle)]
        extern "C" fn $per_thread($($argument: $kind),*) -> std::ffi::c_int {
            $name($($crate::address::Argument::per_thread($argument)),*)
        }
        $crate::api::api! { $($rest)* }
    };
    (fn $name:ident | $per_thread:ident($($argument:ident: $kind:ty),* $(,)?) in $stream:ident
     $body:block $($rest:tt)*) => {
        // SAFETY: the name belongs to this API, which defines it once.
        #[unsafe(no_mangle)]
        extern "C" fn $name($($argument: $kind),*) -> std::ffi::c_int {
            let $stream = $crate::address::Stream::DEFAULT;
            $crate::api::enter(|| $body)
        }
        // SAFETY: the name belongs to this API, which defines it once.
        #[unsafe(no_mangle)]
        extern "C" fn $per_thread($($argument: $kind),*) -> std::ffi::c_int {
            let $stream = $crate::address::Stream::PER_THREAD;
            $crate::api::enter(|| $body)
        }
        $crate::api::api! { $($rest)* }
    };
}
pub(crate) use api;
