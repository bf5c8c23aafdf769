//! Requests of the user to stop the program.
//!
//! There is one flag for the process. Long operations without a monitor of their own poll it.

use std::io::{Error, Result};
use std::sync::atomic::{AtomicBool, Ordering};

static REQUESTED: AtomicBool = AtomicBool::new(false);
static NOTICED: AtomicBool = AtomicBool::new(false);

/// Requests a stop. Returns whether it had been requested before.
pub fn request() -> bool {
    REQUESTED.swap(true, Ordering::Relaxed)
}

/// Whether a stop has been requested.
pub fn requested() -> bool {
    let requested = REQUESTED.load(Ordering::Relaxed);
    if requested {
        NOTICED.store(true, Ordering::Relaxed);
    }
    requested
}

/// Whether a part of the program has seen the request, so that it is about to stop.
pub fn noticed() -> bool {
    NOTICED.load(Ordering::Relaxed)
}

/// Items between two tests of the flag by [`until_requested`].
const ITEMS_PER_LOOK: usize = 4096;

/// The items of `items` until a stop is requested, for long loops; call [`check`] afterwards.
pub fn until_requested<I: Iterator>(items: I) -> impl Iterator<Item = I::Item> {
    items.enumerate().take_while(|(i, _)| !i.is_multiple_of(ITEMS_PER_LOOK) || !requested()).map(|(_, item)| item)
}

/// Ends a read or write that has no other way to be ended.
///
/// # Errors
/// If a stop has been requested.
pub fn check() -> Result<()> {
    if requested() { Err(Error::other("stopped by Ctrl-C")) } else { Ok(()) }
}
