//! When the SM must be ticked next.
//!
//! A tick in which no stage moves anything proves that none will before the next timed event:
//! every condition that time alone changes is entered here. So an SM ticks once more after the
//! last movement, then sleeps.

use kit::{Cycle, NEVER};

/// The earliest cycle at which a stage may have work.
#[derive(Clone, Copy, Debug)]
pub struct Agenda {
    /// The cycle behind the present one.
    soon: Cycle,
    next: Cycle,
}

impl Agenda {
    /// An agenda for the cycle `now` without entries.
    pub fn new(now: Cycle) -> Self {
        Self { soon: now + 1, next: NEVER }
    }

    /// Something moved: the next cycle may differ from this one.
    #[inline]
    pub fn moved(&mut self) {
        self.next = self.soon;
    }

    /// Something may happen at `cycle`, which lies ahead.
    #[inline]
    pub fn at(&mut self, cycle: Cycle) {
        debug_assert!(cycle >= self.soon);
        self.next = self.next.min(cycle);
    }

    /// Something from outside makes a tick at `cycle` necessary.
    pub fn put_first(&mut self, cycle: Cycle) {
        self.next = self.next.min(cycle);
    }

    /// The earliest entry.
    pub fn next(&self) -> Cycle {
        self.next
    }
}
