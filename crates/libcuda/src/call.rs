//! What every function does: the lock, errors, waiting.

use crate::process::{self, Process};
use crate::{exit, process::message};
use driver::{Driver, Error, Result, Settings, Step, Wait};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// The driver, and the number of the process that it belongs to.
struct Global {
    driver: Mutex<Option<Driver>>,
    process: i32,
}

static GLOBAL: OnceLock<Global> = OnceLock::new();

fn global() -> &'static Global {
    GLOBAL.get_or_init(|| {
        let driver = Driver::new(Settings::from_environment(&Process), Box::new(Process));
        exit::begin();
        Global { driver: Mutex::new(Some(driver)), process: process::number() }
    })
}

/// The driver; nothing after the end of the program.
pub fn lock() -> MutexGuard<'static, Option<Driver>> {
    global().driver.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The driver, if nobody uses it.
pub fn try_lock() -> Option<MutexGuard<'static, Option<Driver>>> {
    GLOBAL.get()?.driver.try_lock().ok()
}

/// Whether this is the process that the driver belongs to, and not a child of it.
pub fn is_own_process() -> bool {
    GLOBAL.get().is_none_or(|global| global.process == process::number())
}

/// What a function of the API returns before it waits.
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
    guarded(name, || {
        let (wait, room) = with(|driver| Ok((body(driver)?.wait(), driver.backlog())))?;
        finish(wait)?;
        finish(room)
    })
}

/// Runs `body` with the driver.
pub fn with<T>(body: impl FnOnce(&mut Driver) -> Result<T>) -> Result<T> {
    if !is_own_process() {
        return Err(Error::NOT_INITIALIZED);
    }
    exit::note_call();
    lock().as_mut().ok_or(Error::DEINITIALIZED).and_then(body)
}

/// Runs `body`; no panic leaves the library.
pub fn guarded(name: &'static str, body: impl FnOnce() -> Result<()>) -> u32 {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => 0,
        Ok(Err(error)) => error.code(),
        Err(_) => {
            message(&format!("{name}: a defect of the simulator; please report it with the text above"));
            Error::UNKNOWN.code()
        }
    }
}

/// Time between two looks at what another thread has to do first.
const LOOK_EVERY: Duration = Duration::from_micros(50);

/// Waits; functions of the program are called without the lock.
pub fn finish(wait: Wait) -> Result<()> {
    while !proceed(wait)? {
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(())
}

/// Waits as long as this thread can do something about it. Returns whether the wait is over.
pub fn proceed(wait: Wait) -> Result<bool> {
    loop {
        let waited = with(|driver| driver.wait(wait));
        if waited.is_err() {
            exit::leave_if_asked();
        }
        let (device, op, call) = match waited? {
            Step::Done => return Ok(true),
            Step::Elsewhere => return Ok(false),
            Step::Call(device, op, call) => (device, op, call),
        };
        match call.stream {
            Some(stream) => process::call_callback(call.function, stream, 0, call.argument),
            None => process::call_function(call.function, call.argument),
        }
        with(|driver| {
            driver.called(device, op);
            Ok(())
        })?;
    }
}

/// A function that is not supported: named once.
pub fn unsupported(name: &'static str) -> u32 {
    guarded(name, || {
        let first = with(|driver| {
            let count = driver.notes.unsupported.entry(name).or_insert(0);
            *count += 1;
            Ok(*count == 1)
        })?;
        if first {
            message(&format!("{name} is not supported"));
        }
        Err(Error::NOT_SUPPORTED)
    })
}

/// Writes a value to the program's memory.
pub fn put<T: Plain>(driver: &Driver, address: u64, value: T) -> Result<()> {
    if driver.host().write(address, value.bytes().as_ref()) { Ok(()) } else { Err(Error::INVALID_VALUE) }
}

/// Writes a value to the program's memory if it asks for it.
pub fn put_if<T: Plain>(driver: &Driver, address: u64, value: T) -> Result<()> {
    if address == 0 { Ok(()) } else { put(driver, address, value) }
}

/// Reads `N` bytes of the program's memory.
pub fn get<const N: usize>(driver: &Driver, address: u64) -> Result<[u8; N]> {
    let mut bytes = [0; N];
    if driver.host().read(address, &mut bytes) { Ok(bytes) } else { Err(Error::INVALID_VALUE) }
}

/// Reads a number of 64 bits.
pub fn get_u64(driver: &Driver, address: u64) -> Result<u64> {
    get(driver, address).map(u64::from_le_bytes)
}

/// Reads a number of 32 bits.
pub fn get_u32(driver: &Driver, address: u64) -> Result<u32> {
    get(driver, address).map(u32::from_le_bytes)
}

/// A structure of the API as the program's memory holds it: fields by their offsets.
#[derive(Clone, Copy)]
pub struct Fields<const N: usize>(pub [u8; N]);

impl<const N: usize> Fields<N> {
    fn bytes<const M: usize>(&self, at: usize) -> [u8; M] {
        std::array::from_fn(|i| self.0[at + i])
    }

    pub fn u32(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.bytes(at))
    }

    pub fn u64(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.bytes(at))
    }
}

/// Reads a text.
pub fn get_text(driver: &Driver, address: u64) -> Result<String> {
    let text = driver::read_text(driver.host(), address).ok_or(Error::INVALID_VALUE)?;
    String::from_utf8(text).map_err(|_| Error::INVALID_VALUE)
}

/// Writes a text with its end, cut to `room` bytes.
pub fn put_text(driver: &Driver, address: u64, room: usize, text: &str) -> Result<()> {
    if room == 0 {
        return Err(Error::INVALID_VALUE);
    }
    let mut bytes = text.as_bytes()[..text.len().min(room - 1)].to_vec();
    bytes.push(0);
    if driver.host().write(address, &bytes) { Ok(()) } else { Err(Error::INVALID_VALUE) }
}

/// Numbers as the program's memory holds them.
pub trait Plain {
    type Bytes: AsRef<[u8]>;
    fn bytes(self) -> Self::Bytes;
}

macro_rules! plain {
    ($($number:ty)*) => {$(
        impl Plain for $number {
            type Bytes = [u8; size_of::<$number>()];
            fn bytes(self) -> Self::Bytes {
                self.to_le_bytes()
            }
        }
    )*};
}
plain!(u8 i32 u32 u64 usize f32);

/// Functions of the API: each has its C signature, with addresses as numbers, and a body over the driver.
///
/// Further names after `=` are other versions of the same function with the same signature. `per_thread` adds the
/// variant whose default stream is that of the thread (`_ptsz`), `per_thread_sync` that of functions without a stream
/// (`_ptds`).
#[macro_export]
macro_rules! api {
    ($(fn $name:ident $args:tt $(= $($alias:ident),+)? $($variant:ident)? |$driver:ident| $body:block)*) => {$(
        $crate::api_function! { $name $args |$driver| $body }
        $crate::api_aliases! { $name $args $($($alias)+)? }
        $crate::api_variant! { $name $args $($variant)? }
    )*};
}

/// One of the functions of [`api!`].
#[macro_export]
macro_rules! api_function {
    ($name:ident ($($arg:ident: $ty:ty),* $(,)?) |$driver:ident| $body:block) => {
        #[allow(unsafe_code, reason = "the name is part of CUDA's API")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($($arg: $ty),*) -> u32 {
            $crate::call::call(stringify!($name), |$driver: &mut driver::Driver| $body)
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

/// The variant of a function whose default stream is that of the thread.
#[macro_export]
macro_rules! api_variant {
    ($name:ident $args:tt) => {};
    ($name:ident $args:tt per_thread) => { $crate::api_variant! { $name $args "_ptsz" } };
    ($name:ident $args:tt per_thread_sync) => { $crate::api_variant! { $name $args "_ptds" } };
    ($name:ident ($($arg:ident: $ty:ty),* $(,)?) $suffix:literal) => {
        const _: () = {
            #[allow(unsafe_code, reason = "the name is part of CUDA's API")]
            #[unsafe(export_name = concat!(stringify!($name), $suffix))]
            extern "C" fn variant($($arg: $ty),*) -> u32 {
                driver::default_stream::of_thread(|| $name($($arg),*))
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
