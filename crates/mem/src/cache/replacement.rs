//! Which line goes when a set is full.
//!
//! Lines of a set stand in lists ordered by their stamps; the victim is the lowest stamp that may
//! go. A policy says when a line gets a new stamp. To add one: a variant of
//! [`config::Replacement`] and its line in each function here.

use config::Replacement;

/// Whether a hit gives the line a new stamp, so that it goes to the back of the queue.
#[inline]
pub(super) const fn renews_on_hit(policy: Replacement) -> bool {
    match policy {
        Replacement::Lru => true,
        Replacement::Fifo => false,
    }
}
