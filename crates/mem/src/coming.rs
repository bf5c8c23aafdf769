//! Inputs of a crossbar whose next packet comes later.

use kit::bits::set_bits;
use kit::{BitSet, NEVER};

const SLOTS: u64 = 64;

/// When the next packets of inputs come.
#[derive(Clone, Debug)]
pub(crate) struct Coming {
    /// The inputs by the remainder of the cycle, so that only inputs of the cycles in question are looked at.
    slots: Box<[BitSet; SLOTS as usize]>,
    /// Slots that have inputs, as a mask.
    filled: u64,
    /// The cycle of each input, [`NEVER`] for those without a packet.
    at: Box<[u64]>,
    /// The earliest of them, or an earlier cycle.
    first: u64,
}

impl Coming {
    pub fn new(inputs: usize) -> Self {
        let slots = std::array::from_fn(|_| BitSet::new(inputs));
        Self { slots: Box::new(slots), filled: 0, at: vec![NEVER; inputs].into(), first: NEVER }
    }

    /// The first cycle in which any comes: exact or early, [`NEVER`] if none does.
    #[inline]
    pub fn first(&self) -> u64 {
        self.first
    }

    /// The next packet of `input`, of which that is not known, comes in cycle `at`.
    #[inline]
    pub fn insert(&mut self, input: usize, at: u64) {
        self.at[input] = at;
        let slot = at % SLOTS;
        self.slots[slot as usize].insert(input);
        self.filled |= 1 << slot;
        self.first = self.first.min(at);
    }

    /// Takes out the inputs whose packets have come by `now`, and calls `come` with each of them.
    #[inline]
    pub fn take_due(&mut self, now: u64, mut come: impl FnMut(usize)) {
        if self.first > now {
            return;
        }
        let more_cycles = (now - self.first).min(SLOTS - 1);
        let slots = (u64::MAX >> (SLOTS - 1 - more_cycles)).rotate_left((self.first % SLOTS) as u32);
        self.first = NEVER;
        for slot in set_bits(self.filled & slots) {
            for word in 0..self.slots[slot].words() {
                for input in set_bits(self.slots[slot].word(word)).map(|bit| 64 * word + bit) {
                    if self.at[input] <= now {
                        self.slots[slot].remove(input);
                        self.at[input] = NEVER;
                        come(input);
                    }
                }
            }
            if self.slots[slot].is_empty() {
                self.filled &= !(1 << slot);
            }
        }
        if self.filled != 0 {
            let soon = now + 1;
            self.first = soon + u64::from(self.filled.rotate_right((soon % SLOTS) as u32).trailing_zeros());
        }
    }
}

kit::persist! {
    struct Coming { slots, filled, at, first }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_taken_out_when_their_packets_have_come() {
        let mut coming = Coming::new(100);
        let due = |coming: &mut Coming, now| {
            let mut due = Vec::new();
            coming.take_due(now, |input| due.push(input));
            (due, coming.first())
        };
        [(3, 20), (70, 10), (99, 10)].into_iter().for_each(|(input, at)| coming.insert(input, at));
        assert_eq!(due(&mut coming, 9), (vec![], 10));
        assert_eq!(due(&mut coming, 10), (vec![70, 99], 20));
        coming.insert(70, 30);
        assert_eq!(due(&mut coming, 26), (vec![3], 30));
        assert_eq!(due(&mut coming, 40), (vec![70], NEVER));
        coming.insert(5, 300);
        coming.insert(6, 50);
        assert_eq!(due(&mut coming, 299), (vec![6], 300));
        assert_eq!(due(&mut coming, 300), (vec![5], NEVER));
    }
}
