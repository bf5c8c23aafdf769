//! Which elements must be looked at in which cycle: rows of bits, one for each of the next cycles.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Rows: events further in the future wait in a heap.
const ROWS: u64 = 64;

/// An event wheel of elements.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wheel {
    /// By cycle mod [`ROWS`], `words` each.
    rows: Vec<u64>,
    words: usize,
    /// Rows that are not empty.
    occupied: u64,
    far: BinaryHeap<Reverse<(u64, u32)>>,
}

impl Wheel {
    /// An empty wheel for elements below `elements`.
    pub fn new(elements: usize) -> Self {
        let words = elements.div_ceil(64);
        Self { rows: vec![0; words * ROWS as usize], words, occupied: 0, far: BinaryHeap::new() }
    }

    /// `element` is looked at in cycle `at`, which is `now` (then it must come after the one that is looked at) or
    /// later.
    #[inline]
    pub fn wake(&mut self, now: u64, at: u64, element: u32) {
        if at - now >= ROWS {
            self.far.push(Reverse((at, element)));
            return;
        }
        let row = at % ROWS;
        self.rows[row as usize * self.words + element as usize / 64] |= 1 << (element % 64);
        self.occupied |= 1 << row;
    }

    /// The first cycle from `now` on in which an element is to be looked at.
    pub fn next(&self, now: u64) -> Option<u64> {
        let ahead = self.occupied.rotate_right((now % ROWS) as u32);
        let near = (ahead != 0).then(|| now + u64::from(ahead.trailing_zeros()));
        let far = self.far.peek().map(|&Reverse((at, _))| at);
        near.into_iter().chain(far).min()
    }

    /// Takes far events of cycle `now` into its row.
    #[inline]
    pub fn begin(&mut self, now: u64) {
        while let Some(&Reverse((at, element))) = self.far.peek()
            && at <= now
        {
            self.far.pop();
            self.wake(now, now, element);
        }
    }

    /// Takes the first element of cycle `now` that is not before `word`'s elements; `word` becomes its own.
    #[inline]
    pub fn take(&mut self, now: u64, word: &mut usize) -> Option<u32> {
        let first = (now % ROWS) as usize * self.words;
        while *word < self.words {
            let bits = &mut self.rows[first + *word];
            if *bits != 0 {
                let bit = bits.trailing_zeros();
                *bits &= *bits - 1;
                return Some(*word as u32 * 64 + bit);
            }
            *word += 1;
        }
        self.occupied &= !(1 << (now % ROWS));
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_come_in_order_and_cycles_without_any_are_skipped() {
        let mut wheel = Wheel::new(130);
        assert_eq!(wheel.next(5), None);
        for (at, element) in [(7, 129), (7, 3), (7, 3), (70, 64), (500, 1)] {
            wheel.wake(6, at, element);
        }
        let mut seen = Vec::new();
        let mut now = 6;
        while let Some(at) = wheel.next(now) {
            wheel.begin(at);
            let mut word = 0;
            while let Some(element) = wheel.take(at, &mut word) {
                seen.push((at, element));
                if element == 3 {
                    wheel.wake(at, at, 5);
                }
            }
            now = at + 1;
        }
        assert_eq!(seen, [(7, 3), (7, 5), (7, 129), (70, 64), (500, 1)]);
    }
}
