//! Whether the user has asked the program to stop.
//!
//! One flag for the whole process: what takes long and has no monitor of its own polls it.

use std::io::{Error, Result};
use std::sync::atomic::{AtomicBool, Ordering};

static REQUESTED: AtomicBool = AtomicBool::new(false);
static NOTICED: AtomicBool = AtomicBool::new(false);

/// Asks the program to stop. Returns whether it had been asked before.
pub fn request() -> bool {
    REQUESTED.swap(true, Ordering::Relaxed)
}

/// Whether the program has been asked to stop.
pub fn requested() -> bool {
    let requested = REQUESTED.load(Ordering::Relaxed);
    if requested {
        NOTICED.store(true, Ordering::Relaxed);
    }
    requested
}

/// Whether something has noticed the request, so that the program is about to stop.
pub fn noticed() -> bool {
    NOTICED.load(Ordering::Relaxed)
}

/// Items between two looks of [`until_requested`].
const ITEMS_PER_LOOK: usize = 4096;

/// The items of `items` up to where the program is asked to stop: for long loops, followed by a [`check`].
pub fn until_requested<I: Iterator>(items: I) -> impl Iterator<Item = I::Item> {
    items.enumerate().take_while(|(i, _)| !i.is_multiple_of(ITEMS_PER_LOOK) || !requested()).map(|(_, item)| item)
}

/// Ends reading or writing that cannot be ended otherwise.
///
/// # Errors
/// If the program has been asked to stop.
pub fn check() -> Result<()> {
    if requested() { Err(Error::other("stopped by Ctrl-C")) } else { Ok(()) }
}
