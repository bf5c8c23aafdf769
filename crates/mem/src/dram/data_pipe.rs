//! The data bus of a channel.

use super::NEVER_TICK;
use kit::Ring;

/// Bursts between their column command and the end of their latency, in order. One leaves per
/// cycle; while the return queue is full none does, and all are delayed.
#[derive(Clone, Debug)]
pub(super) struct DataPipe {
    queue: Ring<(u64, u16)>,
    /// When the first burst leaves, [`NEVER_TICK`] if there is none.
    first_due: u64,
    last: u64,
    /// Bursts that fit: one per cycle of the longest latency, and one.
    depth: u64,
    /// The first cycle in which nothing moves, [`NEVER_TICK`] while bursts move.
    frozen_since: u64,
}

impl DataPipe {
    pub fn new(depth: u64) -> Self {
        Self { queue: Ring::new(), first_due: NEVER_TICK, last: 0, depth, frozen_since: NEVER_TICK }
    }

    /// Cycles, `now` included, in which nothing has moved since the freeze.
    fn delay(&self, now: u64) -> u64 {
        (now + 1).saturating_sub(self.frozen_since)
    }

    pub fn freeze(&mut self, now: u64) {
        self.frozen_since = self.frozen_since.min(now);
    }

    pub fn is_full(&self, now: u64) -> bool {
        self.last + self.delay(now) > now + self.depth
    }

    pub fn push(&mut self, id: u16, now: u64, latency: u64) {
        let delay = self.delay(now);
        self.last = (now + latency).max(self.last + delay + 1) - delay;
        self.queue.push_back((self.last, id));
        self.first_due = self.first_due.min(self.last);
    }

    #[inline]
    pub fn pop(&mut self, now: u64) -> Option<u16> {
        if self.frozen_since != NEVER_TICK {
            self.thaw(now);
        }
        if self.first_due > now {
            return None;
        }
        let (_, id) = self.queue.pop_front()?;
        self.find_first();
        Some(id)
    }

    #[inline]
    fn find_first(&mut self) {
        self.first_due = self.queue.front().map_or(NEVER_TICK, |&(due, _)| due);
    }

    /// Moves on in cycle `now`, after cycles in which nothing has moved.
    #[cold]
    fn thaw(&mut self, now: u64) {
        let delay = now - std::mem::replace(&mut self.frozen_since, NEVER_TICK);
        let mut later = Ring::new();
        self.queue.iter().for_each(|&(due, id)| later.push_back((due + delay, id)));
        self.queue = later;
        self.find_first();
        self.last += delay;
    }

    #[inline]
    pub fn next_due(&self) -> u64 {
        self.first_due
    }
}

kit::persist! {
    struct DataPipe { queue, first_due, last, frozen_since; skip depth }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pops in every cycle of `cycles`; gives (cycle, burst).
    fn popped(pipe: &mut DataPipe, cycles: std::ops::Range<u64>) -> Vec<(u64, u16)> {
        cycles.filter_map(|now| pipe.pop(now).map(|id| (now, id))).collect()
    }

    #[test]
    fn bursts_leave_after_their_latency_and_in_order() {
        let mut pipe = DataPipe::new(20);
        pipe.push(1, 100, 20);
        pipe.push(2, 104, 20);
        // A write, with its shorter latency, does not overtake the reads.
        pipe.push(3, 110, 8);
        assert_eq!(pipe.next_due(), 120);
        assert_eq!(popped(&mut pipe, 105..140), [(120, 1), (124, 2), (125, 3)]);
    }

    #[test]
    fn a_frozen_pipe_delays_everything_in_it_and_what_comes_in() {
        let mut pipe = DataPipe::new(20);
        pipe.push(1, 100, 20);
        pipe.freeze(110);
        pipe.freeze(112);
        pipe.push(2, 112, 20);
        // Nothing moves in cycles 110 to 116: seven more for the first, the four after 112 for the
        // second.
        assert_eq!(popped(&mut pipe, 117..150), [(127, 1), (136, 2)]);
    }

    #[test]
    fn a_frozen_pipe_fills_up() {
        let mut pipe = DataPipe::new(3);
        pipe.push(1, 10, 3);
        assert!(!pipe.is_full(10));
        pipe.freeze(11);
        pipe.push(2, 11, 3);
        assert!(pipe.is_full(12), "one burst for each cycle of latency, and one more");
    }
}
