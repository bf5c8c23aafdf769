//! Inputs of a crossbar whose next packet comes later.

use kit::{BitSet, NEVER};

/// When the next packets of inputs come.
#[derive(Clone, Debug)]
pub(crate) struct Coming {
    inputs: BitSet,
    at: Box<[u64]>,
    /// The earliest of them, or an earlier cycle.
    first: u64,
}

impl Coming {
    pub fn new(inputs: usize) -> Self {
        Self { inputs: BitSet::new(inputs), at: vec![NEVER; inputs].into(), first: NEVER }
    }

    /// The first cycle in which any comes: exact or early, [`NEVER`] if none does.
    #[inline]
    pub fn first(&self) -> u64 {
        self.first
    }

    /// The next packet of `input` comes in cycle `at`, or in an earlier one that is known.
    #[inline]
    pub fn insert(&mut self, input: usize, at: u64) {
        self.inputs.insert(input);
        self.at[input] = self.at[input].min(at);
        self.first = self.first.min(at);
    }

    /// Takes out the inputs whose packets have come by `now`, and calls `come` with each of them, which may return when
    /// the input is to be looked at again.
    #[inline]
    pub fn take_due(&mut self, now: u64, mut come: impl FnMut(usize) -> Option<u64>) {
        if self.first > now {
            return;
        }
        self.first = NEVER;
        let mut from = 0;
        while let Some(input) = self.inputs.next(from) {
            from = input + 1;
            let mut at = self.at[input];
            if at <= now {
                at = come(input).unwrap_or(NEVER);
                self.at[input] = at;
                if at == NEVER {
                    self.inputs.remove(input);
                }
            }
            self.first = self.first.min(at);
        }
    }
}

kit::persist! {
    struct Coming { inputs, at, first }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_taken_out_when_their_packets_have_come() {
        let mut coming = Coming::new(100);
        let due = |coming: &mut Coming, now| {
            let mut due = Vec::new();
            coming.take_due(now, |input| {
                due.push(input);
                None
            });
            (due, coming.first())
        };
        [(3, 20), (70, 10), (99, 10), (70, 15)].into_iter().for_each(|(input, at)| coming.insert(input, at));
        assert_eq!(due(&mut coming, 9), (vec![], 10));
        assert_eq!(due(&mut coming, 10), (vec![70, 99], 20));
        coming.insert(70, 30);
        coming.take_due(25, |input| (input == 3).then_some(26));
        assert_eq!(due(&mut coming, 26), (vec![3], 30));
        assert_eq!(due(&mut coming, 40), (vec![70], NEVER));
    }
}
