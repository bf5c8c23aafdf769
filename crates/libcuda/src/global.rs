//! The driver of the process, and its lock.

use crate::process::{self, Process, SignalsElsewhere};
use cuda::{Driver, Error, Result, Settings};
use std::cell::Cell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

/// The driver; `None` before it is made and after the end of the program.
static DRIVER: Mutex<Option<Driver>> = Mutex::new(None);

/// The process that has made the first call; 0: none.
static OWNER: AtomicI32 = AtomicI32::new(0);

/// Whether the program has ended for the driver.
static ENDED: AtomicBool = AtomicBool::new(false);

/// Calls of the API so far.
static CALLS: AtomicU64 = AtomicU64::new(0);

/// A thread's state of the driver's lock.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    None,
    Waiting,
    Holding,
}

thread_local! {
    static TURN: Cell<Turn> = const { Cell::new(Turn::None) };
}

/// The thread's turn, until it is over.
struct OwnTurn;

impl Drop for OwnTurn {
    fn drop(&mut self) {
        TURN.set(Turn::None);
    }
}

/// The locked driver. The fields are dropped in this order.
pub struct Held {
    driver: MutexGuard<'static, Option<Driver>>,
    _turn: OwnTurn,
    _signals: SignalsElsewhere,
}

impl Deref for Held {
    type Target = Option<Driver>;
    fn deref(&self) -> &Option<Driver> {
        &self.driver
    }
}

impl DerefMut for Held {
    fn deref_mut(&mut self) -> &mut Option<Driver> {
        &mut self.driver
    }
}

/// Makes the driver of this process. A thread of its own does that, which has a part of the heap for itself: memory that
/// the calling thread allocates later has no remains of GPU descriptions in it, and some programs rely on zeros there.
pub fn create() {
    let make = || Driver::new(Settings::from_environment(&Process), Box::new(Process));
    let made = std::thread::scope(|scope| {
        std::thread::Builder::new().spawn_scoped(scope, make).ok().and_then(|thread| thread.join().ok())
    });
    *DRIVER.lock().unwrap_or_else(PoisonError::into_inner) = Some(made.unwrap_or_else(make));
}

/// The driver, if other threads give it up within `patience`.
pub fn lock_within(patience: Duration) -> Option<Held> {
    /// Time between two tries.
    const TRY_EVERY: Duration = Duration::from_millis(1);
    // A handler of a signal may have interrupted this thread within a call.
    if TURN.get() == Turn::Holding {
        return None;
    }
    let start = Instant::now();
    loop {
        let signals = SignalsElsewhere::new();
        match DRIVER.try_lock() {
            Ok(driver) => return Some(held(driver, signals)),
            Err(TryLockError::Poisoned(driver)) => return Some(held(driver.into_inner(), signals)),
            Err(TryLockError::WouldBlock) => {}
        }
        drop(signals);
        if start.elapsed() >= patience {
            return None;
        }
        std::thread::sleep(TRY_EVERY);
    }
}

fn held(driver: MutexGuard<'static, Option<Driver>>, signals: SignalsElsewhere) -> Held {
    TURN.set(Turn::Holding);
    Held { driver, _turn: OwnTurn, _signals: signals }
}

/// Whether the driver belongs to this process, or will: a child has none, whatever call has made it.
pub fn is_own_process() -> bool {
    let owner = OWNER.load(Ordering::Relaxed);
    owner == 0 || owner == process::number()
}

/// Makes the driver this process's, unless it belongs to another one, of which this is a child.
pub fn claim() -> Result<()> {
    let own = process::number();
    match OWNER.compare_exchange(0, own, Ordering::Relaxed, Ordering::Relaxed) {
        Err(owner) if owner != own => Err(Error::NOT_INITIALIZED),
        _ => Ok(()),
    }
}

/// Whether the program has ended for the driver: nothing is simulated any more.
pub fn has_ended() -> bool {
    ENDED.load(Ordering::Relaxed)
}

/// Ends the program for the driver. All later calls fail.
pub fn end() {
    ENDED.store(true, Ordering::Relaxed);
}

/// Whether this thread may call the API. Counts the call.
///
/// # Errors
/// The program has ended, or the call is within another one: in a function that a stream calls, or in a handler of a
/// signal.
pub fn enter() -> Result<()> {
    CALLS.fetch_add(1, Ordering::Relaxed);
    if has_ended() {
        return Err(Error::DEINITIALIZED);
    }
    if process::is_in_stream_call() || TURN.get() != Turn::None {
        return Err(Error::NOT_PERMITTED);
    }
    Ok(())
}

/// Runs `body` with the driver.
///
/// # Errors
/// As for [`enter`].
pub fn with<T>(body: impl FnOnce(&mut Driver) -> Result<T>) -> Result<T> {
    enter()?;
    let signals = SignalsElsewhere::new();
    TURN.set(Turn::Waiting);
    let mut held = held(DRIVER.lock().unwrap_or_else(PoisonError::into_inner), signals);
    held.as_mut().ok_or(Error::DEINITIALIZED).and_then(body)
}

/// Calls of the API so far: a program that makes none may wait for one of its own functions.
pub fn calls() -> u64 {
    CALLS.load(Ordering::Relaxed)
}
