//! Events kept by the absolute cycle at which they are due.

use crate::{Cycle, NEVER, bits};
use std::collections::BinaryHeap;

/// How far ahead the ring reaches; later events wait in a heap. A power of two, a multiple of 64.
const SPAN: usize = 512;

/// A queue of events by due cycle. Events of one cycle come out in the order they went in.
///
/// Near events cost a push onto a bucket; the next due cycle is found by bit search. Nothing is
/// counted down: a wheel with nothing due costs nothing.
#[derive(Clone, Debug)]
pub struct EventWheel<T> {
    /// All events before this cycle have been taken.
    now: Cycle,
    buckets: Box<[Vec<T>]>,
    occupied: [u64; SPAN / 64],
    far: BinaryHeap<Far<T>>,
    sequence: u64,
}

#[derive(Clone, Debug)]
struct Far<T> {
    due: Cycle,
    sequence: u64,
    event: T,
}

impl<T> PartialEq for Far<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.due, self.sequence) == (other.due, other.sequence)
    }
}
impl<T> Eq for Far<T> {}
impl<T> PartialOrd for Far<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<T> Ord for Far<T> {
    /// Reversed, so that the standard max-heap yields the earliest event.
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (other.due, other.sequence).cmp(&(self.due, self.sequence))
    }
}

impl<T> Default for EventWheel<T> {
    fn default() -> Self {
        Self {
            now: 0,
            buckets: (0..SPAN).map(|_| Vec::new()).collect(),
            occupied: [0; SPAN / 64],
            far: BinaryHeap::new(),
            sequence: 0,
        }
    }
}

impl<T> EventWheel<T> {
    /// An empty wheel at cycle 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an event due at `due`. Panics in debug builds if that cycle has already been taken.
    #[inline]
    pub fn schedule(&mut self, due: Cycle, event: T) {
        debug_assert!(due >= self.now, "event due at {due}, wheel is at {}", self.now);
        if due - self.now < SPAN as Cycle {
            self.put_near(due, event);
        } else {
            self.sequence += 1;
            self.far.push(Far { due, sequence: self.sequence, event });
        }
    }

    #[inline]
    fn put_near(&mut self, due: Cycle, event: T) {
        let slot = due as usize % SPAN;
        self.occupied[slot / 64] |= 1 << (slot % 64);
        self.buckets[slot].push(event);
    }

    /// The cycle of the earliest event, or [`NEVER`].
    #[inline]
    pub fn next_due(&self) -> Cycle {
        let far = self.far.peek().map_or(NEVER, |f| f.due);
        let start = self.now as usize % SPAN;
        let words = SPAN / 64;
        for i in 0..=words {
            let word = (start / 64 + i) % words;
            let mut bits = self.occupied[word];
            if i == 0 {
                bits &= u64::MAX << (start % 64);
            } else if i == words {
                bits &= !(u64::MAX << (start % 64));
            }
            if let Some(bit) = bits::set_bits(bits).next() {
                let slot = word * 64 + bit;
                let ahead = (slot + SPAN - start) % SPAN;
                return far.min(self.now + ahead as Cycle);
            }
        }
        far
    }

    /// Takes the events due up to and including `now`, earliest first, into `due`.
    pub fn take_due(&mut self, now: Cycle, due: &mut Vec<T>) {
        loop {
            let next = self.next_due();
            if next > now {
                break;
            }
            // The horizon moves with `now`: far events that come near go behind none of their
            // cycle's later ones, because those were scheduled when the cycle was already near.
            self.now = next;
            self.bring_near();
            let slot = next as usize % SPAN;
            self.occupied[slot / 64] &= !(1 << (slot % 64));
            due.append(&mut self.buckets[slot]);
            self.now = next + 1;
            self.bring_near();
        }
        if self.now <= now {
            self.now = now + 1;
            self.bring_near();
        }
    }

    /// Moves far events within reach into the ring, before anything newer can be put there.
    fn bring_near(&mut self) {
        while self.far.peek().is_some_and(|f| f.due - self.now < SPAN as Cycle) {
            let Far { due, event, .. } = self.far.pop().expect("just peeked");
            self.put_near(due, event);
        }
    }

    /// Whether no event is waiting.
    pub fn is_empty(&self) -> bool {
        self.next_due() == NEVER
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn agrees_with_a_sorted_map_over_near_and_far_events() {
        let mut wheel = EventWheel::new();
        let mut model: BTreeMap<Cycle, Vec<u32>> = BTreeMap::new();
        let (mut state, mut now) = (1u64, 0);
        for event in 0..20_000u32 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let due = now + (state >> 33) % if event % 3 == 0 { 3000 } else { 40 };
            wheel.schedule(due, event);
            model.entry(due).or_default().push(event);
            assert_eq!(wheel.next_due(), *model.keys().next().unwrap());
            if event % 5 == 0 {
                let upto = now + (state >> 50) % 60;
                let mut taken = Vec::new();
                wheel.take_due(upto, &mut taken);
                let later = model.split_off(&(upto + 1));
                assert_eq!(taken, model.into_values().flatten().collect::<Vec<_>>());
                model = later;
                now = upto + 1;
            }
        }
    }
}
