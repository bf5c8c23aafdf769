//! C functions of Rust ones.
//!
//! ```text
//! fn NAME(arguments) { body }                  a function; the body returns `Result<()>`
//! fn NAME | NAME_ptsz(arguments) { body }      … and its variant with a default stream per thread
//! fn NAME | NAME_ptds(arguments) in O { body } a synchronous one, which runs in order `O`
//! fn NAME | NAME_ptds, NAMEAsync | NAMEAsync_ptsz(arguments) in O { body }
//!                                              … and the asynchronous one, whose last argument is a stream
//! fn NAME(arguments) = cuName;                 passes the arguments to the driver, in a context
//! fn NAME(arguments) = cuName, no context;     … without making a context
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

/// Defines C functions in the forms of this file's head.
#[doc(hidden)]
#[macro_export]
macro_rules! api {
    () => {};
    (@export $name:ident($($argument:ident: $kind:ty),*) $call:expr) => {
        // SAFETY: the name belongs to this API, which defines it once.
        #[unsafe(no_mangle)]
        extern "C" fn $name($($argument: $kind),*) -> std::ffi::c_int {
            $call
        }
    };
    (fn $name:ident $(| $per_thread:ident)? ($($argument:ident: $kind:ty),* $(,)?) = $driver:ident;
     $($rest:tt)*) => {
        $crate::api! {
            fn $name $(| $per_thread)? ($($argument: $kind),*) {
                let driver = $crate::versioned::current()?;
                driver.$driver($($crate::versioned::Argument::raw($argument)?),*)
            }
            $($rest)*
        }
    };
    (fn $name:ident($($argument:ident: $kind:ty),* $(,)?) = $driver:ident, no context;
     $($rest:tt)*) => {
        $crate::api! {
            fn $name($($argument: $kind),*) {
                let driver = $crate::driver::driver()?;
                driver.$driver($($crate::versioned::Argument::raw($argument)?),*)
            }
            $($rest)*
        }
    };
    (fn $name:ident($($argument:ident: $kind:ty),* $(,)?) $body:block $($rest:tt)*) => {
        $crate::api!(@export $name($($argument: $kind),*) $crate::versioned::enter(|| $body));
        $crate::api! { $($rest)* }
    };
    (fn $name:ident | $per_thread:ident($($argument:ident: $kind:ty),* $(,)?) $body:block
     $($rest:tt)*) => {
        $crate::api!(@export $name($($argument: $kind),*) $crate::versioned::enter(|| $body));
        $crate::api!(@export $per_thread($($argument: $kind),*)
            $name($($crate::versioned::Argument::per_thread($argument)),*));
        $crate::api! { $($rest)* }
    };
    (fn $name:ident | $per_thread:ident($($argument:ident: $kind:ty),* $(,)?) in $order:ident
     $body:block $($rest:tt)*) => {
        $crate::api! {
            fn $name($($argument: $kind),*) {
                let $order = $crate::argument::Order::synchronous($crate::argument::Stream::DEFAULT);
                $body
            }
            fn $per_thread($($argument: $kind),*) {
                let $order = $crate::argument::Order::synchronous($crate::argument::Stream::PER_THREAD);
                $body
            }
            $($rest)*
        }
    };
    (fn $name:ident | $per_thread:ident, $later:ident | $later_per_thread:ident
     ($($argument:ident: $kind:ty),* $(,)?) in $order:ident $body:block $($rest:tt)*) => {
        $crate::api! {
            fn $name | $per_thread($($argument: $kind),*) in $order $body
            fn $later | $later_per_thread($($argument: $kind,)* stream: $crate::argument::Stream) {
                let $order = $crate::argument::Order::asynchronous(stream);
                $body
            }
            $($rest)*
        }
    };
}
pub(crate) use api;
