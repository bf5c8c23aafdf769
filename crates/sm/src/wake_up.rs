//! When the SM must be ticked next.
//!
//! A tick in which no stage moves anything proves that none will before the next timed event:
//! every condition that only time changes is entered here. So an SM ticks once more after the
//! last movement, then sleeps.

use isa::WarpSlot;
use kit::{Cycle, NEVER};

/// The earliest cycle at which a stage may have work.
#[derive(Clone, Copy, Debug)]
pub struct WakeUp {
    /// Something has moved in the present cycle.
    moved: bool,
    next: Cycle,
}

impl WakeUp {
    /// No wake-up time.
    pub fn none() -> Self {
        Self { moved: false, next: NEVER }
    }

    /// Something moved: the next cycle may differ from this one.
    #[inline]
    pub fn moved(&mut self) {
        self.moved = true;
    }

    /// Something may happen at `cycle`, which is after the present one.
    #[inline]
    pub fn at(&mut self, cycle: Cycle) {
        self.next = self.next.min(cycle);
    }

    /// Something from outside makes a tick at `cycle` necessary.
    pub fn put_first(&mut self, cycle: Cycle) {
        self.next = self.next.min(cycle);
    }

    /// Whether the SM must be ticked in cycle `from`, the first one that it has not been ticked in.
    #[inline]
    pub fn is_due(&self, from: Cycle) -> bool {
        self.moved || self.next <= from
    }

    /// The wake-up time, if nothing has moved.
    #[inline]
    pub fn next(&self) -> Cycle {
        self.next
    }
}

/// Events of a warp that come by time only.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Timer {
    /// The right path may be fetched.
    Refetch(WarpSlot),
    /// Its sleep is over.
    Rise(WarpSlot),
    /// It passes a barrier.
    Pass(WarpSlot),
}

/// The timers of all warps.
#[derive(Debug)]
pub(crate) struct Timers {
    /// In no order.
    running: Vec<(Cycle, Timer)>,
    /// The cycle in which the first timer ends; [`NEVER`] without timers.
    pub next: Cycle,
}

impl Timers {
    /// No timers, with room for `warps`.
    pub fn new(warps: usize) -> Self {
        Self { running: Vec::with_capacity(warps), next: NEVER }
    }

    /// Starts a timer that ends at `due`.
    pub fn start(&mut self, due: Cycle, timer: Timer) {
        self.running.push((due, timer));
        self.next = self.next.min(due);
    }

    /// Ends the timers that are due at `now`, and gives each to `end`.
    pub fn end_due(&mut self, now: Cycle, mut end: impl FnMut(Timer)) {
        self.next = NEVER;
        let mut i = 0;
        while let Some(&(due, timer)) = self.running.get(i) {
            if due > now {
                self.next = self.next.min(due);
                i += 1;
                continue;
            }
            self.running.swap_remove(i);
            end(timer);
        }
    }
}

kit::persist! {
    struct WakeUp { moved, next }
    enum Timer { Refetch(warp) = 0, Rise(warp) = 1, Pass(warp) = 2 }
    struct Timers { running, next }
}
