//! The common part of every function: the lock, errors, waiting.

use crate::process::{Uncancelled, listen, message};
use crate::wait::finish;
use crate::{exit, global, origin, wait};
use cuda::platform::attributes::Devices;
use cuda::{Driver, Error, Result, Wait};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Once, OnceLock};

/// Runs `body` with the driver, which the first call makes.
pub fn with<T>(body: impl FnOnce(&mut Driver) -> Result<T>) -> Result<T> {
    static FIRST: Once = Once::new();
    global::claim()?;
    FIRST.call_once(|| {
        global::create();
        exit::begin();
        if wait::watch() {
            listen();
        }
    });
    global::with(body)
}

/// The devices, from the first `cuInit` on.
static DEVICES: OnceLock<Devices> = OnceLock::new();

/// `cuInit`.
pub fn init(flags: u32) -> Result<()> {
    if flags == 0 && devices().is_ok() {
        return Ok(());
    }
    with(|driver| {
        driver.platform.init(flags)?;
        DEVICES.get_or_init(|| Devices::of(&driver.platform));
        Ok(())
    })
}

/// The devices, for questions that do not wait while another thread simulates.
///
/// # Errors
/// `cuInit` has not been called, or the thread may not call the API.
pub fn devices() -> Result<&'static Devices> {
    enter()?;
    DEVICES.get().ok_or(Error::NOT_INITIALIZED)
}

/// Whether this thread may call the API.
///
/// # Errors
/// It may not, or the process is a child of the one that has made the first call.
pub fn enter() -> Result<()> {
    global::claim()?;
    global::enter()
}

/// Result of a function of the API before it waits.
pub trait Outcome {
    fn wait(self) -> Wait;
}

impl Outcome for () {
    fn wait(self) -> Wait {
        Wait::Nothing
    }
}

impl Outcome for Wait {
    fn wait(self) -> Wait {
        self
    }
}

/// Carries out a function of the API; returns its `CUresult`.
pub fn call<O: Outcome>(name: &'static str, body: impl FnOnce(&mut Driver) -> Result<O>) -> u32 {
    guarded(name, || driven(body))
}

fn driven<O: Outcome>(body: impl FnOnce(&mut Driver) -> Result<O>) -> Result<()> {
    let (wait, room) = with(|driver| Ok((body(driver)?.wait(), driver.platform.backlog())))?;
    finish(wait)?;
    finish(room)
}

/// As the body of a function that launches: what is open in the program is found out before the driver is locked,
/// because code of the program may run meanwhile.
pub fn launching<O: Outcome>(body: impl FnOnce(&mut Driver) -> Result<O>) -> Result<()> {
    let open = origin::here();
    driven(|driver| {
        driver.launched_from(open);
        let launched = body(driver);
        driver.launched_from(Vec::new());
        launched
    })
}

/// Runs `body`; no panic leaves the library, and no thread ends in it.
pub fn guarded(name: &'static str, body: impl FnOnce() -> Result<()>) -> u32 {
    let _uncancelled = Uncancelled::new();
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => 0,
        Ok(Err(error)) => error.code(),
        Err(_) => {
            message(&format!("{name}: a defect of the simulator; please report it with the text above"));
            Error::UNKNOWN.code()
        }
    }
}

/// A function that is not supported: named once.
pub fn unsupported(name: &'static str) -> u32 {
    guarded(name, || with(|driver| Err(driver.platform.unsupported(name))))
}

/// Functions of the API: each has its C signature, with addresses as numbers, and a body over the driver.
///
/// Further names after `=` are other versions of the same function with the same signature. `per_thread` adds the
/// variant whose default stream is the thread's (`_ptsz`), `per_thread_sync` the variant of functions without a stream
/// (`_ptds`).
#[macro_export]
macro_rules! api {
    ($(fn $name:ident $args:tt $(= $($alias:ident),+)? $($variant:ident)? |$driver:ident| $body:block)*) => {$(
        $crate::api_function! { $name $args |$driver| $body }
        $crate::api_aliases! { $name $args $($($alias)+)? }
        $crate::api_variants! { $args [$name $($($alias)+)?] $($variant)? }
    )*};
}

/// Functions of the API with a body without the lock, otherwise as [`api!`]: those that call functions of the program or
/// wait between two uses of the driver, and those that need none, which never wait for other threads.
#[macro_export]
macro_rules! unlocked {
    ($(fn $name:ident $args:tt $(= $($alias:ident),+)? $($variant:ident)? $body:block)*) => {$(
        $crate::unlocked_function! { $name $args $body }
        $crate::api_aliases! { $name $args $($($alias)+)? }
        $crate::api_variants! { $args [$name $($($alias)+)?] $($variant)? }
    )*};
}

/// One of the functions of [`unlocked!`].
#[macro_export]
macro_rules! unlocked_function {
    ($name:ident ($($arg:ident: $ty:ty),* $(,)?) $body:block) => {
        #[allow(unsafe_code, reason = "the name is part of CUDA's API")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($($arg: $ty),*) -> u32 {
            $crate::call::guarded(stringify!($name), || $body)
        }
    };
}

/// One of the functions of [`api!`].
#[macro_export]
macro_rules! api_function {
    ($name:ident ($($arg:ident: $ty:ty),* $(,)?) |$driver:ident| $body:block) => {
        #[allow(unsafe_code, reason = "the name is part of CUDA's API")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($($arg: $ty),*) -> u32 {
            $crate::call::call(stringify!($name), |$driver: &mut cuda::Driver| $body)
        }
    };
}

/// Further names of a function of [`api!`].
#[macro_export]
macro_rules! api_aliases {
    ($name:ident $args:tt) => {};
    ($name:ident ($($arg:ident: $ty:ty),* $(,)?) $alias:ident $($more:ident)*) => {
        #[allow(unsafe_code, reason = "the name is part of CUDA's API")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $alias($($arg: $ty),*) -> u32 {
            $name($($arg),*)
        }
        $crate::api_aliases! { $name ($($arg: $ty),*) $($more)* }
    };
}

/// The variants of a function and its further names whose default stream is the thread's.
#[macro_export]
macro_rules! api_variants {
    ($args:tt [$($name:ident)+]) => {};
    ($args:tt [$($name:ident)+] $variant:ident) => { $($crate::api_variant! { $name $args $variant })+ };
}

/// One of the variants of [`api_variants!`].
#[macro_export]
macro_rules! api_variant {
    ($name:ident $args:tt per_thread) => { $crate::api_variant! { $name $args "_ptsz" } };
    ($name:ident $args:tt per_thread_sync) => { $crate::api_variant! { $name $args "_ptds" } };
    ($name:ident ($($arg:ident: $ty:ty),* $(,)?) $suffix:literal) => {
        const _: () = {
            #[allow(unsafe_code, reason = "the name is part of CUDA's API")]
            #[unsafe(export_name = concat!(stringify!($name), $suffix))]
            extern "C" fn variant($($arg: $ty),*) -> u32 {
                cuda::stream::default_stream::of_thread(|| $name($($arg),*))
            }
        };
    };
}

/// Functions that are exported and not supported. They need no arguments: the caller removes them.
#[macro_export]
macro_rules! unsupported {
    ($($name:ident)*) => {$(
        #[allow(unsafe_code, reason = "the name is part of CUDA's API")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() -> u32 {
            $crate::call::unsupported(stringify!($name))
        }
    )*};
}
