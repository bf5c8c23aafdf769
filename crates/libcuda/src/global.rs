//! The driver of the process, and its lock.

use crate::process::{self, Process};
use driver::{Driver, Error, Result, Settings};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// The driver, and the number of the process that it belongs to.
struct Global {
    driver: Mutex<Option<Driver>>,
    process: i32,
}

static GLOBAL: OnceLock<Global> = OnceLock::new();

/// Calls of the API so far.
static CALLS: AtomicU64 = AtomicU64::new(0);

/// Makes the driver of this process. A thread of its own does that, which has a part of the heap for itself: memory that
/// the calling thread allocates later has no remains of GPU descriptions in it, and some programs rely on zeros there.
pub fn create() {
    let make = || Driver::new(Settings::from_environment(&Process), Box::new(Process));
    GLOBAL.get_or_init(|| {
        let made = std::thread::scope(|scope| {
            std::thread::Builder::new().spawn_scoped(scope, make).ok().and_then(|thread| thread.join().ok())
        });
        Global { driver: Mutex::new(Some(made.unwrap_or_else(make))), process: process::number() }
    });
}

/// The driver; `None` before it is made. It has none after the end of the program.
pub fn lock() -> Option<MutexGuard<'static, Option<Driver>>> {
    GLOBAL.get().map(|global| global.driver.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The driver, if nobody uses it.
pub fn try_lock() -> Option<MutexGuard<'static, Option<Driver>>> {
    GLOBAL.get()?.driver.try_lock().ok()
}

/// Whether this is the process that the driver belongs to, and not a child of it.
pub fn is_own_process() -> bool {
    GLOBAL.get().is_none_or(|global| global.process == process::number())
}

/// Runs `body` with the driver.
pub fn with<T>(body: impl FnOnce(&mut Driver) -> Result<T>) -> Result<T> {
    CALLS.fetch_add(1, Ordering::Relaxed);
    lock().as_deref_mut().and_then(Option::as_mut).ok_or(Error::DEINITIALIZED).and_then(body)
}

/// Calls of the API so far: a program that makes none may wait for one of its own functions.
pub fn calls() -> u64 {
    CALLS.load(Ordering::Relaxed)
}
